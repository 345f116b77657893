"""Simulated users: a thousand experiments of a laboratory in which something goes wrong.

Each user works through files in a folder (`Bench`). Measurements are counted there without the Lab, so that a lost or
repeated measurement shows. A user who keeps the assumptions must be right with probability 1 - delta. A user who breaks
one must be warned whenever the answer is wrong: `must` names the warnings.
"""

import os
import tempfile
import warnings
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np
import pandas as pd
from scipy import stats

from bandits_lab import log as logs
from bandits_lab.lab import Lab
from bandits_lab.measurements import read_each, read_measurements
from bandits_lib.design import xy_design
from bandits_lib.fixed_confidence import bounded_rage, lazy_track_and_stop, rage, xy_static
from bandits_lib.problem import LinearBandit
from bandits_lib.protocol import total
from bandits_lib.simulate.monte_carlo import best_item, in_parallel

HALVES = np.array([[1, 1, 1, 1], [1, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1]]) / 2
ARMS = np.vstack([np.eye(4), HALVES])
NAMES = [f"version {letter}" for letter in "ABCDEFGH"]
DELTA, SIGMA = 0.1, 0.5
MACHINE = np.zeros(len(ARMS))  # by how much this machine computes other weights than the first


def design_here(arms, directions, **more):
    """Return `xy_design` as this machine computes it: weights off by up to 0.3 %, a value that allows for it."""
    found = xy_design(arms, directions, **more)
    weights = found.weights * (1 + MACHINE[: len(arms)])
    return found._replace(weights=weights / weights.sum(), value=found.value * (1 + 2 * np.abs(MACHINE).max()))


def world(rng, size=0.2, least=0.2, curved=0.0, odd=0.0, noise="gaussian"):
    """Draw eight versions in four dimensions whose best one leads by `least`; `curved` and `odd` break linearity."""
    arms = np.column_stack([ARMS, np.ones(len(ARMS))]) if noise == "bernoulli" else ARMS
    while True:
        theta = size * rng.standard_normal(4)
        form = curved * rng.standard_normal((4, 4))
        means = ARMS @ theta + np.einsum("ki,ij,kj->k", ARMS, form, ARMS) + 0.5 * (noise == "bernoulli")
        one = rng.integers(len(ARMS)) if odd else np.argmax(means)
        means[one] += odd
        inside = noise == "gaussian" or 0 < means.min() < means.max() < 1
        if inside and np.argmax(means) == one and np.subtract(*np.sort(means)[:-3:-1]) >= least:
            return LinearBandit(arms, means=means, sigma=SIGMA, noise=noise)


PLATE = 50  # pulls in a row of a file that has more than SINGLE pulls
PLATES = 20  # rows of an arm in one file, at most: larger plates then
SINGLE = 200  # up to so many pulls a row is one pull
PATIENCE = 5_000  # steps after which an experiment is given up


class Bench:
    """A person at work in a folder; `told` is the stated sigma over the true one, `options` are those of the rule."""

    def __init__(self, stream, folder, *, rule=rage, told=1.0, truth=None, units=1.0, **options):
        self.rng, self.folder, self.path = stream, folder, folder / "log.csv"
        self.problem, self.options = world(stream, **(truth or {})), {"delta": DELTA, **options}
        self.rule, self.units = rule, units
        if told is not None:
            self.options["sigma"] = told * SIGMA
        self.counts, self.sums = np.zeros(len(ARMS), np.int64), np.zeros(len(ARMS))
        self.heard: list = []
        self.refused: list[str] = []
        self.files = 0
        with self.listening():
            self.lab = Lab(self.make())

    def make(self, arms=None):
        options = {key: value() if key == "rng" else value for key, value in self.options.items()}
        return self.rule(self.problem.arms if arms is None else arms, **options)

    @contextmanager
    def listening(self):
        """Keep every warning, each time that it is given."""
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            try:
                yield
            finally:
                self.heard.extend(found)

    def measure(self, counts, *, keep=True):
        """Return the rewards of so many pulls (K,) as a table in random order; count them if they are kept."""
        if counts.sum() <= SINGLE:
            arm = np.repeat(np.arange(len(counts)), counts)
            size = np.ones(len(arm), np.int64)
        else:
            plates = np.minimum(-(-counts // PLATE), PLATES)
            arm = np.repeat(np.arange(len(counts)), plates)
            ends = [np.linspace(0, n, p + 1).astype(int) for n, p in zip(counts, plates, strict=True)]
            size = np.concatenate(list(map(np.diff, ends)))
        sums, squares = self._pull(arm, size)
        frame = pd.DataFrame({"arm": arm, "count": size, "sum": sums, "squares": squares})
        frame = frame.iloc[self.rng.permutation(len(frame))].reset_index(drop=True)
        return self.enter(frame) if keep else frame

    def _pull(self, arm, n):
        mean = self.problem.means[arm]
        if self.problem.noise == "bernoulli":
            sums = squares = self.rng.binomial(n, mean).astype(float)
        else:
            sums = n * mean + np.sqrt(n) * SIGMA * self.rng.standard_normal(len(n))
            squares = sums**2 / n + SIGMA**2 * 2 * self.rng.standard_gamma((n - 1) / 2)
        return self.units * sums, self.units**2 * squares

    def enter(self, frame):
        np.add.at(self.counts, frame["arm"], frame["count"])
        np.add.at(self.sums, frame["arm"], frame["sum"])
        return frame

    def file(self, frame, **how):
        """Write a table as a csv, one row per pull if there are no plates; `how` goes to `DataFrame.to_csv`."""
        self.files += 1
        path, named = self.folder / f"day {self.files}.csv", frame.assign(arm=[NAMES[a] for a in frame["arm"]])
        if (frame["count"] == 1).all() and len(frame):
            named = named[["arm", "sum"]].rename(columns={"sum": "reward"})
        named.to_csv(path, index=False, **how)
        return path

    def tell(self, path, names=NAMES):
        """Read a file, tell it to the Lab and save the log; return whether it was accepted."""
        with self.listening():
            try:
                self.lab.tell(read_measurements(path, names, self.lab.ask()))
            except ValueError as error:
                self.refused.append(str(error))
                return False
        self.lab.save(self.path)
        return True

    def step(self):
        wanted = self.lab.ask()
        if wanted.sum() == 1:
            (arm,) = np.flatnonzero(wanted)
            row = self.measure(wanted).iloc[0]
            fields = np.zeros((2, len(ARMS)))
            fields[:, arm] = row["sum"], row["squares"]
            with self.listening():
                self.lab.tell(total([self.lab.log[0]._replace(counts=wanted, sums=fields[0], squares=fields[1])]))
            return
        self.tell(self.file(self.measure(wanted)))

    def finish(self, each=None):
        """Answer all requests, by `each` or as they are."""
        for _ in range(PATIENCE):
            if self.lab.ask() is None:
                break
            (each or Bench.step)(self)
        self.lab.save(self.path)

    def reopen(self, arms=None):
        with self.listening():
            self.lab = Lab(self.make(arms), self.path)

    def record(self, kind):
        """Return the result of the experiment, as in `simulate_users`."""
        found, result = pd.read_csv(self.path, comment="#"), self.lab.result
        there = found.groupby("arm")[["count", "sum"]].sum().reindex(range(len(ARMS)), fill_value=0)
        lost = int(np.abs(there["count"].to_numpy() - self.counts).sum())
        if not np.allclose(there["sum"], self.sums, rtol=1e-9, atol=1e-6 * self.units):
            lost = max(lost, 1)
        logs.read(self.path)
        return {
            "kind": kind,
            "right": result is None or best_item(self.problem, result.recommendation),
            "ended": result is not None,
            "warned": sorted({found.category.__name__ for found in self.heard}),
            "said": [self._said(f"{found.category.__name__}: {found.message}") for found in self.heard],
            "lost": lost,
            "refused": list(map(self._said, self.refused)),
            "pulls": int(self.counts.sum()),
        }

    def _said(self, text):
        return text.replace(f"{self.folder}{os.sep}", "")


def half(wanted):
    return -(-wanted // 2)


def each_time(step, **options):
    """Return a user who answers every request by `step`."""
    return partial(Bench.finish, each=partial(step, **options))


def change_units(bench):
    """Enter millivolts instead of volts from the second file on."""
    bench.tell(bench.file(bench.measure(half(bench.lab.ask()))))
    bench.units = 1000.0
    bench.finish()


def drop_an_arm(bench):
    """Drop a random arm at a random time."""
    for _ in range(int(bench.rng.integers(0, 3 if bench.lab.ask().sum() > 8 else 30))):
        if bench.lab.ask() is not None:
            bench.step()
    if (wanted := bench.lab.ask()) is not None:
        if wanted.sum() > 1 and bench.rng.random() < 0.7:
            bench.tell(bench.file(bench.measure(half(wanted))))
        with bench.listening():
            try:
                bench.lab.drop(int(bench.rng.integers(len(ARMS))), "out of stock")
            except ValueError as error:
                bench.refused.append(str(error))
        bench.lab.save(bench.path)
        bench.reopen()
    bench.finish()


def tell_again(bench, parts):
    """Tell every file twice; undo the second if there is a warning."""
    frame = bench.measure(bench.lab.ask())
    for rows in np.array_split(np.arange(len(frame)), parts):
        path = bench.file(frame.iloc[rows])
        bench.tell(path)
        start = len(bench.heard)
        told = bench.tell(path)
        if told and any("has the same file been read twice" in str(found.message) for found in bench.heard[start:]):
            bench.lab.undo("read twice")
            bench.lab.save(bench.path)


def shuffled_days(bench):
    frame = bench.measure(bench.lab.ask())
    days = bench.rng.integers(0, 4, len(frame))
    for path in [bench.file(frame[days == day]) for day in bench.rng.permutation(4) if (days == day).any()]:
        bench.tell(path)


def restart(bench):
    """Open the log after every file on another machine: last digits of the arms and the designs differ."""

    def each(bench):
        wanted = bench.lab.ask()
        bench.tell(bench.file(bench.measure(half(wanted) if bench.rng.random() < 0.5 else wanted)))
        MACHINE[:] = 3e-3 * bench.rng.uniform(-1, 1, len(MACHINE))
        bench.reopen(bench.problem.arms * (1 + 1e-14 * bench.rng.standard_normal(ARMS.shape)))

    try:
        bench.finish(each)
    finally:
        MACHINE[:] = 0


def two_people(bench):
    """Tell parts to two Labs of one log: the second save is refused, and its part is told once more."""
    if not bench.path.exists():
        bench.lab.save(bench.path)
    bench.reopen()
    with bench.listening():
        other = Lab(bench.make(), bench.path)
    wanted = bench.lab.ask()
    mine, theirs = (bench.file(bench.measure(n)) for n in (half(wanted), wanted - half(wanted)))
    bench.tell(mine)
    if not (wanted - half(wanted)).any():
        return
    with bench.listening():
        other.tell(read_measurements(theirs, NAMES, other.ask()))
    try:
        other.save(bench.path)
    except ValueError as error:
        bench.refused.append(str(error))
        bench.reopen()
        bench.tell(theirs)


def killed_save(bench):
    """Cut a save at a random byte; tell the file once more if pulls are missing."""
    if not bench.path.exists():
        bench.lab.save(bench.path)
    wanted = bench.lab.ask()
    path = bench.file(bench.measure(half(wanted) if bench.rng.random() < 0.5 else wanted))
    before = bench.path.read_bytes()
    bench.tell(path)
    after = bench.path.read_bytes()
    bench.path.write_bytes(after[: bench.rng.integers(len(before), len(after) + 1)])
    bench.reopen()
    if sum(sample.counts.sum() for sample in bench.lab.log) < bench.counts.sum():
        bench.tell(path)


def empty_cells(bench):
    """Leave one cell in ten empty."""
    frame = bench.measure(bench.lab.ask(), keep=False)
    failed = bench.rng.random(len(frame)) < 0.1
    bench.enter(frame[~failed])
    frame.loc[failed, ["sum", "squares"]] = np.nan
    bench.tell(bench.file(frame))


def typing_error(bench):
    """Type a number ten times too large, tell it, undo it, and tell the right one."""
    frame = bench.measure(bench.lab.ask())
    wrong, row = frame.copy(), int(bench.rng.integers(len(frame)))
    wrong.loc[row, ["sum", "squares"]] *= [10, 100]
    if bench.tell(bench.file(wrong)):
        bench.lab.undo("a point was forgotten")
        bench.tell(bench.file(frame))


def history_first(bench, units=1.0):
    """Tell single rewards of a pilot, in any unit, before the experiment."""
    bench.units = units
    pilot = bench.measure(np.full(len(ARMS), 20))
    bench.units = 1.0
    with bench.listening():
        bench.lab.tell_history(read_each(bench.file(pilot), NAMES))
    bench.lab.save(bench.path)
    bench.reopen()
    bench.finish()


def other_order(bench):
    """Swap two names when reading files, until a file is refused."""
    one, other = bench.rng.choice(len(ARMS), 2, replace=False)
    names, wrong = list(NAMES), [True]
    names[one], names[other] = names[other], names[one]

    def each(bench):
        wanted = bench.lab.ask()
        frame = bench.measure(half(wanted), keep=False)
        path = bench.file(frame)
        if wrong[0] and bench.tell(path, names):
            bench.enter(frame.assign(arm=[names.index(NAMES[a]) for a in frame["arm"]]))
            return
        wrong[0] = False
        if bench.tell(path):
            bench.enter(frame)

    bench.finish(each)


def squares_left_out(bench):
    """Write zeros in the column of squares; fill them in if the file is refused."""
    frame = bench.measure(bench.lab.ask())
    if not (frame["count"].max() > 1 and bench.tell(bench.file(frame.assign(squares=0.0)))):
        bench.tell(bench.file(frame))


def decimal_commas(bench):
    """Write files with semicolons and decimal commas."""
    bench.tell(bench.file(bench.measure(bench.lab.ask()), sep=";", decimal=","))


def made_up_squares(bench):
    """Enter means, with squares computed from them."""
    frame = bench.measure(bench.lab.ask()).groupby("arm", as_index=False).sum()
    bench.tell(bench.file(frame.assign(squares=frame["sum"] ** 2 / frame["count"])))


CLOSE = {"size": 0.05, "least": 0.05}  # gaps among which half a sigma is fatal
FAR = {"size": 0.8, "least": 0.8}  # gaps for rules that pull one by one
BENT = {"size": 0.2, "least": 0.2, "curved": 0.3}
ODD = {"odd": 1.0}
LEVEL, WIDTH = 0.95, 70  # of an interval; of a message, in characters


class User(NamedTuple):
    """A kind of user: how it works, options of `Bench`, and warnings of which a wrong answer must have one."""

    play: Callable  # works at a `Bench` until its experiment is over
    setup: dict = {}
    must: tuple = ()  # without any, the answer may be wrong with probability delta


SIGMA_SAID, LINEARITY_SAID = ("SigmaWarning",), ("LinearityWarning",)
BERNOULLI = {"rule": bounded_rage, "told": None, "truth": {"size": 0.1, "least": 0.2, "noise": "bernoulli"}}
STATIC = {"rule": xy_static, "rng": partial(np.random.default_rng, 0)}
ONE_BY_ONE = {"rule": lazy_track_and_stop, "truth": FAR}
KINDS = {
    "honest": User(Bench.finish),
    "sigma told half": User(Bench.finish, {"told": 0.5, "truth": CLOSE}, SIGMA_SAID),
    "sigma told a quarter": User(Bench.finish, {"told": 0.25, "truth": CLOSE}, SIGMA_SAID),
    "sigma told twice": User(Bench.finish, {"told": 2.0, "truth": FAR}),
    "millivolts from the second day": User(change_units, {}, SIGMA_SAID),
    "percent told as shares": User(Bench.finish, {"units": 100.0}, SIGMA_SAID),
    "quadratic truth, floor .1": User(Bench.finish, {"truth": BENT, "floor": 0.1}, LINEARITY_SAID),
    "quadratic truth, no floor": User(Bench.finish, {"truth": BENT}, LINEARITY_SAID),
    "one version unlike its features, floor .1": User(Bench.finish, {"truth": ODD, "floor": 0.1}, LINEARITY_SAID),
    "one version unlike its features, no floor": User(Bench.finish, {"truth": ODD}, LINEARITY_SAID),
    "names in another order": User(other_order, {"floor": 0.1}, LINEARITY_SAID),
    "arm dropped, rage": User(drop_an_arm),
    "arm dropped, xy_static": User(drop_an_arm, STATIC),
    "arm dropped, bounded_rage": User(drop_an_arm, BERNOULLI),
    "arm dropped, lazy_track_and_stop": User(drop_an_arm, ONE_BY_ONE),
    "whole files told twice": User(each_time(tell_again, parts=1)),
    "parts told twice": User(each_time(tell_again, parts=3)),
    "shuffled files of several days": User(each_time(shuffled_days)),
    "restarts on another machine": User(restart, {"design": design_here}),
    "two people, one log": User(each_time(two_people)),
    "saves that were killed": User(each_time(killed_save)),
    "empty cells": User(each_time(empty_cells)),
    "a typing error taken back": User(each_time(typing_error)),
    "history told first": User(history_first),
    "history told in millivolts": User(partial(history_first, units=1000.0), {}, SIGMA_SAID),
    "clicks, files told twice": User(each_time(tell_again, parts=1), BERNOULLI),
    "half of sigma, squares made up": User(each_time(made_up_squares), {"told": 0.5, "truth": CLOSE}, SIGMA_SAID),
    "squares left out": User(each_time(squares_left_out)),
    "decimal commas": User(each_time(decimal_commas)),
}


def one_user(number, kind, seed):
    """Return the record of one experiment."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(crc32(kind.encode()), number)))
    user = KINDS[kind]
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(rng, Path(folder), **user.setup)
        user.play(bench)
        return {"run": number, **bench.record(kind)}


def simulate_users(runs: int, seed: int = 0, *, kinds: Sequence[str] | None = None, n_jobs: int = 1) -> pd.DataFrame:
    """Simulate `runs` experiments of every kind of user.

    Parameters
    ----------
    runs : int
        Number of experiments of each kind.
    seed : int, default 0
        Seed; each experiment has its own random stream, whatever other kinds and experiments are simulated.
    kinds : sequence of str, optional
        Kinds of users from KINDS; all by default.
    n_jobs : int, default 1
        Number of processes.

    Returns
    -------
    DataFrame
        One row per experiment: kind, run, right (also without an answer), ended (with an answer), warned (names of
        warnings), said (their texts), lost (pulls missing from the log or counted twice), refused (messages), pulls.

    Raises
    ------
    ValueError
        If a kind is unknown.

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


def table(records: pd.DataFrame) -> pd.DataFrame:
    """Summarise the records by kind of user.

    Parameters
    ----------
    records : DataFrame
        Records as `simulate_users` returns them.

    Returns
    -------
    DataFrame
        Per kind: experiments, wrong, silent (wrong without a warning that the kind must get), bound (upper end of the
        95 % Clopper-Pearson interval of silent), warned (number warned so), caveat (number warned that linearity could
        hardly be checked), lost (pulls), said (the beginning of a warning or refusal).

    Examples
    --------
    >>> from bandits_companion.simulated_users import simulate_users
    >>> table(simulate_users(2, kinds=["honest"]))["silent"].tolist()
    [0]
    """
    rows = {}
    for kind, some in records.groupby("kind", sort=False):
        wrong, heard = ~some["right"], some["warned"].map(lambda names, must=KINDS[kind].must: bool({*must} & {*names}))
        silent = int((wrong & ~heard).sum())
        bound = stats.binomtest(silent, len(some)).proportion_ci(LEVEL, method="exact").high
        caveat = sum(any(text.startswith("LinearityWarning: whether") for text in said) for said in some["said"])
        counts = (len(some), wrong.sum(), silent, bound, heard.sum(), caveat, some["lost"].sum())
        rows[kind] = (*counts, _example(kind, some))
    columns = ["experiments", "wrong", "silent", "bound", "warned", "caveat", "lost", "said"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("kind")


def _example(kind, records):
    """Return the beginning of a warning that the kind must get, or of any other, or of a refusal."""
    texts = [text for found in records["said"] for text in found]
    of_note = [text for text in texts if text.startswith(KINDS[kind].must or ("LinearityWarning: r", "User", "Replay"))]
    refused = [f"refused: {text}" for found in records["refused"] for text in found]
    text = next(iter(of_note + refused + texts), "")
    return text if len(text) <= WIDTH else f"{text[:WIDTH]}..."
