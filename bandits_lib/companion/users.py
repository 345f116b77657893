"""Simulated users: a thousand experiments in which things go wrong as they do in laboratories.

Each kind of user works in a folder, through files, as a person would (`Bench`). At the end it is known whether the
answer is right, what was warned of, and whether a measurement is missing from the log or counted twice. Where a kind
keeps all conditions of a rule's promise, it is to be right with probability 1 - delta, whatever was warned of. Where it
breaks one, `must` names the warnings one of which is to be heard whenever it is wrong.
"""

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np
import pandas as pd
from scipy import stats

from bandits_lib.companion import mishaps
from bandits_lib.companion.bench import Bench
from bandits_lib.companion.versions import design_here
from bandits_lib.fixed_confidence import bounded_rage, lazy_track_and_stop, xy_static
from bandits_lib.simulate.cluster import in_parallel

CLOSE = {"size": 0.05, "least": 0.05}  # gaps among which half a sigma is fatal
FAR = {"size": 0.8, "least": 0.8}  # gaps for rules that pull one by one
BENT = {"size": 0.2, "least": 0.2, "curved": 0.3}
ODD = {"odd": 1.0}
LEVEL = 0.95


class User(NamedTuple):
    """A kind of user.

    Attributes
    ----------
    play : callable
        Function (bench) -> None: works until the experiment is over.
    setup : dict
        Options of `Bench`.
    must : tuple of str
        Warnings of which one must be heard if the answer is wrong; none: it must not be wrong more often than delta.

    Examples
    --------
    >>> KINDS["honest"].must
    ()
    """

    play: Callable
    setup: dict = {}
    must: tuple = ()


SIGMA_SAID, LINEARITY_SAID = ("SigmaWarning",), ("LinearityWarning",)
BERNOULLI = {"rule": bounded_rage, "told": None, "truth": {"size": 0.1, "least": 0.2, "noise": "bernoulli"}}
STATIC = {"rule": xy_static, "rng": partial(np.random.default_rng, 0)}
ONE_BY_ONE = {"rule": lazy_track_and_stop, "truth": FAR}
KINDS = {
    "honest": User(mishaps.steadily),
    "sigma told half": User(mishaps.steadily, {"told": 0.5, "truth": CLOSE}, SIGMA_SAID),
    "sigma told a quarter": User(mishaps.steadily, {"told": 0.25, "truth": CLOSE}, SIGMA_SAID),
    "sigma told twice": User(mishaps.steadily, {"told": 2.0, "truth": FAR}),
    "millivolts from the second day": User(mishaps.change_units, {}, SIGMA_SAID),
    "percent told as shares": User(partial(mishaps.from_the_first_day, units=100.0), {}, SIGMA_SAID),
    "quadratic truth, floor .1": User(mishaps.steadily, {"truth": BENT, "floor": 0.1}, LINEARITY_SAID),
    "quadratic truth, no floor": User(mishaps.steadily, {"truth": BENT}, LINEARITY_SAID),
    "one version unlike its features, floor .1": User(mishaps.steadily, {"truth": ODD, "floor": 0.1}, LINEARITY_SAID),
    "one version unlike its features, no floor": User(mishaps.steadily, {"truth": ODD}, LINEARITY_SAID),
    "names in another order": User(mishaps.other_order, {"floor": 0.1}, LINEARITY_SAID),
    "arm dropped, rage": User(mishaps.drop_an_arm),
    "arm dropped, xy_static": User(mishaps.drop_an_arm, STATIC),
    "arm dropped, bounded_rage": User(mishaps.drop_an_arm, BERNOULLI),
    "arm dropped, lazy_track_and_stop": User(mishaps.drop_an_arm, ONE_BY_ONE),
    "whole files told twice": User(partial(mishaps.tell_again, parts=1)),
    "parts told twice": User(partial(mishaps.tell_again, parts=3)),
    "shuffled files of several days": User(mishaps.shuffled_days),
    "restarts on another machine": User(mishaps.restart, {"design": design_here}),
    "two people, one log": User(mishaps.two_people),
    "saves that were killed": User(mishaps.killed_save),
    "empty cells": User(mishaps.empty_cells),
    "a typing error taken back": User(mishaps.typing_error),
    "history told first": User(mishaps.history_first),
    "history told in millivolts": User(partial(mishaps.history_in, units=1000.0), {}, SIGMA_SAID),
    "clicks, files told twice": User(partial(mishaps.tell_again, parts=1), BERNOULLI),
    "half of sigma, squares made up": User(mishaps.made_up_squares, {"told": 0.5, "truth": CLOSE}, SIGMA_SAID),
    "squares left out": User(mishaps.squares_left_out),
    "decimal commas": User(mishaps.decimal_commas),
}


def one_user(number, kind, seed):
    """One experiment of a kind of user, as a record."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(crc32(kind.encode()), number)))
    user = KINDS[kind]
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(rng, Path(folder), **user.setup)
        user.play(bench)
        return {"run": number, **bench.record(kind)}


def simulate_users(runs, seed=0, *, kinds=None, n_jobs=1):
    """`runs` experiments of every kind of user, a row each.

    Parameters
    ----------
    runs : int
        Experiments of each kind.
    seed : int, default 0
        Experiment r of a kind has a stream of its own, so other kinds or more experiments change none of it.
    kinds : sequence of str, optional
        Some of KINDS; by default all.
    n_jobs : int, default 1
        Number of processes.

    Returns
    -------
    pandas.DataFrame
        Columns kind, run, right (no answer is no wrong one), ended (with an answer), warned (names of warnings), said
        (their texts), lost (pulls that were measured and are missing from the log, or are in it twice), refused
        (messages), pulls.

    Raises
    ------
    ValueError
        For a kind that is none.

    Examples
    --------
    >>> found = simulate_users(2, kinds=["honest"])
    >>> found["right"].all(), found["lost"].sum()
    (np.True_, np.int64(0))
    """
    kinds = list(KINDS) if kinds is None else list(kinds)
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise ValueError(f"{unknown[0]!r} is no kind of user; they are {', '.join(KINDS)}")
    tasks = [(number, kind, seed) for kind in kinds for number in range(runs)]
    rows = sorted(in_parallel(one_user, tasks, n_jobs=n_jobs), key=lambda row: (kinds.index(row["kind"]), row["run"]))
    return pd.DataFrame(rows)


def table(records):
    """Of every kind of user how often it was wrong, and wrong without a word, with a bound to hold against delta.

    Parameters
    ----------
    records : pandas.DataFrame
        As `simulate_users` returns it.

    Returns
    -------
    pandas.DataFrame
        Per kind: experiments, wrong, silent (wrong without a warning that the kind must hear; for kinds that keep the
        conditions of the promise, wrong), bound (the upper end of the 95 % Clopper-Pearson interval of silent), warned
        (of those), caveat (experiments that ended with the remark that linearity could not be seen, or hardly: a
        warning where the truth is not linear), lost (pulls), said (the beginning of a warning or of a refusal).

    Examples
    --------
    >>> table(simulate_users(2, kinds=["honest"]))["silent"].tolist()
    [0]
    """
    rows = []
    for kind, some in records.groupby("kind", sort=False):
        heard = some["warned"].map(lambda names, must=KINDS[kind].must: bool({*must} & {*names}))
        silent = int((~some["right"] & ~heard).sum())
        row = {"kind": kind, "experiments": len(some), "wrong": int((~some["right"]).sum()), "silent": silent}
        bound = stats.binomtest(silent, len(some)).proportion_ci(LEVEL, method="exact").high
        row |= {
            "bound": bound,
            "warned": int(heard.sum()),
            "caveat": int(some["said"].map(_has_caveat).sum()),
            "lost": int(some["lost"].sum()),
            "said": _example(kind, some),
        }
        rows.append(row)
    return pd.DataFrame(rows).set_index("kind")


def _has_caveat(said):
    return any(text.startswith("LinearityWarning: whether") for text in said)


def _example(kind, records, width=70):
    """The beginning of a warning that the kind must hear, or else of any, or of a refusal."""
    texts = [text for found in records["said"] for text in found]
    of_note = [text for text in texts if text.startswith(KINDS[kind].must or ("LinearityWarning: r", "User", "Replay"))]
    refused = [f"refused: {text}" for found in records["refused"] for text in found]
    text = next(iter(of_note + refused + texts), "")
    return text if len(text) <= width else f"{text[:width]}..."
