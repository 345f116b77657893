"""Simulated users: a table of experiments in which something goes wrong (KINDS), and what plays them.

A user works through files in a folder (`Bench`). Rows of single pulls have the tickets of the Lab. The Bench counts
each measurement once, as the person enters it and without the Lab, so that a lost or repeated measurement shows.
"""

import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from re import DOTALL, search
from typing import NamedTuple
from zlib import crc32

import numpy as np
import pandas as pd
from scipy import signal, stats

from bandits_lab import Lab, plates, read_measurements, sigma_upper
from bandits_lab import log as logs
from bandits_lib.fixed_confidence import bounded_rage, rage, xy_static
from bandits_lib.problem import LinearBandit
from bandits_lib.simulate.monte_carlo import best_item

HALVES = np.array([[1, 1, 1, 1], [1, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1]]) / 2
ARMS = np.vstack([np.eye(4), HALVES])
NAMES = [f"version {letter}" for letter in "ABCDEFGH"]
DELTA, SIGMA = 0.1, 0.5
PLATE = 50  # pulls in a row of a file that has more than SINGLE pulls
PLATES = 20  # rows of an arm in one file, at most; for more pulls the plates are larger
SINGLE = 200  # up to so many pulls a row is one pull
PATIENCE = 5_000  # steps after which an experiment is given up
MOST = 2_000_000  # an experiment is given up if one request has more pulls


def world(rng, size=0.2, least=0.2, curved=0.0, odd=0.0, noise="gaussian", level=False):
    """Draw eight versions, in four dimensions and perhaps a level of all, whose best one leads by `least`."""
    arms = np.column_stack([ARMS, np.ones(len(ARMS))]) if level or noise == "bernoulli" else ARMS
    while True:
        theta = size * rng.standard_normal(4)
        form = curved * rng.standard_normal((4, 4))
        means = ARMS @ theta + np.einsum("ki,ij,kj->k", ARMS, form, ARMS) + 0.5 * (noise == "bernoulli")
        one = rng.integers(len(ARMS)) if odd else np.argmax(means)
        means[one] += odd
        inside = noise == "gaussian" or 0 < means.min() < means.max() < 1
        if inside and np.argmax(means) == one and np.subtract(*np.sort(means)[:-3:-1]) >= least:
            return LinearBandit(arms, means=means, sigma=SIGMA, noise=noise)


# --- the nature of single rewards, for arms in the order of time


def steady(bench, arm, noise=np.random.Generator.standard_normal):
    """Return rewards whose means have the level of the day."""
    means = bench.problem.means[arm] + bench.day
    if bench.problem.noise == "bernoulli":
        return bench.rng.binomial(1, np.clip(means, 0, 1)).astype(float)
    return means + SIGMA * noise(bench.rng, size=len(arm))


def correlated(bench, arm, rho=0.9):
    """The noise of a pull has the correlation `rho` with that of the pull before."""
    fresh = np.sqrt(1 - rho**2) * bench.rng.standard_normal(len(arm))
    return bench.problem.means[arm] + SIGMA * signal.lfilter([1], [1, -rho], fresh)


def in_series(bench, arm, alike=0.2):
    """A visitor clicks on a series of ten pages, with a rate of their own (beta-binomial)."""
    mean, size = bench.problem.means[arm], 1 / alike - 1
    return bench.rng.binomial(1, bench.rng.beta(mean * size, (1 - mean) * size)[in_groups(arm, 10)]).astype(float)


def in_groups(arm, size):
    """Return for each pull the first pull of its group: `size` successive pulls of one arm; `arm` is sorted."""
    i = np.arange(len(arm))
    return i - (i - np.searchsorted(arm, arm)) % size


def favouring(noise):
    """Return a nature in which the second best arm has different noise."""
    return lambda bench, arm: np.where(arm == bench.second, steady(bench, arm, noise), steady(bench, arm))


NATURES = {
    "best of three": favouring(lambda rng, size: rng.standard_normal((3, size)).max(axis=0)),
    "clipping": lambda bench, arm: np.minimum(steady(bench, arm), bench.problem.means[bench.second] + 0.1 * SIGMA),
    "copies": lambda bench, arm: steady(bench, arm)[in_groups(arm, 16)],
    "drift": lambda bench, arm: steady(bench, arm) + SIGMA / 1000 * (bench.counts.sum() + np.arange(len(arm))),
    "heavy tails": partial(steady, noise=lambda rng, size: rng.standard_t(3, size) / np.sqrt(3)),
    "no worst tenth": favouring(lambda rng, size: stats.norm.isf(0.9 * rng.random(size))),
    "rounding": lambda bench, arm: 3 * SIGMA * np.round(steady(bench, arm) / (3 * SIGMA)),
    "typing": lambda bench, arm: steady(bench, arm) * np.where(bench.rng.random(len(arm)) < 0.01, 10, 1),
    "unequal": favouring(lambda rng, size: 4 * rng.standard_normal(size)),
}


class Bench:
    """A person at work in a folder; `options` are those of the rule, and `heard` lists the warnings of the Lab."""

    def __init__(self, rng, folder, heard, *, rule=rage, truth=None, units=1.0, nature=steady, rows="", **options):
        self.rng, self.folder, self.path, self.heard = rng, folder, folder / "log.jsonl", heard
        self.problem, self.options = world(rng, **(truth or {})), {"delta": DELTA, "sigma": SIGMA, **options}
        self.rule, self.units, self.names = rule, units, NAMES
        self.nature = nature  # (bench, arm (n,)) -> rewards (n,) in the order of time
        self.rows = rows  # "sorted": the order of time is not random; "single": a row of a file for every pull
        self.day = 0.0  # level of today's rewards
        self.second = np.argsort(self.problem.means)[-2]
        self.counts, self.sums = np.zeros(len(ARMS), np.int64), np.zeros(len(ARMS))
        self.refused: list[str] = []
        self.files = 0
        self.given: set[str] = set()  # tickets of measurements
        self.lab = Lab(self.make(), self.path, names=NAMES)

    def make(self):
        return self.rule(self.problem.arms, **self.options)

    def measure(self, counts, *, keep=True):
        """Return the rewards of so many pulls (K,) as a table; count them if they are kept."""
        arm = np.repeat(np.arange(len(counts)), counts)
        arm = arm if self.rows == "sorted" else self.rng.permutation(arm)
        reward = self.units * self.nature(self, arm)
        frame = pd.DataFrame({"arm": arm, "count": 1, "sum": reward, "squares": reward**2})
        if self.rows == "single" or len(arm) <= SINGLE:
            frame["ticket"] = self.tickets(arm)
        if self.rows != "single" and len(arm) > SINGLE:
            plate = frame.groupby("arm").cumcount() // np.maximum(PLATE, -(-counts[arm] // PLATES))
            frame = frame.groupby(["arm", plate]).sum().reset_index("arm").reset_index(drop=True)
            frame = frame if self.rows == "sorted" else frame.iloc[self.rng.permutation(len(frame))]
        return self.enter(frame) if keep else frame

    def tickets(self, arm):
        """Return a ticket for each pull that was asked for, and "" for the others."""
        left = {k: [t for t, of in self.lab.tickets() if of == k and t not in self.given] for k in range(len(ARMS))}
        found = [left[k].pop(0) if left[k] else "" for k in arm.tolist()]
        self.given |= {*found}
        return found

    def enter(self, frame):
        np.add.at(self.counts, frame["arm"], frame["count"])
        np.add.at(self.sums, frame["arm"], frame["sum"])
        return frame

    def file(self, frame, **how):
        """Write a table as a csv, one row per pull if there are no plates; `how` goes to `DataFrame.to_csv`."""
        self.files += 1
        path, named = self.folder / f"day {self.files}.csv", frame.assign(arm=[NAMES[a] for a in frame["arm"]])
        if (frame["count"] == 1).all() and len(frame):
            named = named.filter(["ticket", "arm", "sum"]).rename(columns={"sum": "reward"})
        named.to_csv(path, index=False, **how)
        return path

    def tell(self, path, names=None, *, extra=False):
        """Read a file and tell it to the Lab; return whether it was accepted."""
        try:
            told = self.lab.tell(read_measurements(path, names or self.names), extra=extra)
        except ValueError as error:
            self.refused.append(f"refused: {error}")
            return False
        self.refused += [f"said: {told.before} rows were told before"] if told.before else []
        return True

    def answer(self, counts=None):
        """Measure what the Lab asks for, or so many pulls (K,), and tell it in one file."""
        self.tell(self.file(self.measure(self.lab.ask() if counts is None else counts)))

    def finish(self, each=answer):
        """Answer all requests."""
        for _ in range(PATIENCE):
            if (wanted := self.lab.ask()) is None or wanted.sum() > MOST:
                break
            each(self)

    def reopen(self):
        self.lab = Lab(self.make(), self.path, names=self.names)

    def lost(self):
        """Return how many pulls are missing from the saved log or in it twice, at least 1 if rewards differ."""
        rows = [row[1:4] for one in logs.standing(logs.read(self.path)[0]) for row in one["rows"]]
        there = pd.DataFrame(rows, columns=["arm", "count", "sum"]).groupby("arm").sum()
        there = there.reindex(NAMES, fill_value=0)
        lost = int(np.abs(there["count"].to_numpy() - self.counts).sum())
        return max(lost, int(not np.allclose(there["sum"], self.sums, rtol=1e-9, atol=1e-6 * self.units)))


# --- what users do


def half(wanted):
    return -(-wanted // 2)


def each_time(step, **options):
    """Return a user who answers every request by `step`."""
    return partial(Bench.finish, each=partial(step, **options))


def change_units(bench):
    """Enter millivolts instead of volts from the second file on."""
    bench.answer(half(bench.lab.ask()))
    bench.units = 1000.0
    bench.finish()


def tell_again(bench, parts, shuffled=False):
    """Tell every file twice, the second time perhaps in another order."""
    frame = bench.measure(bench.lab.ask())
    for rows in np.array_split(np.arange(len(frame)), parts):
        bench.tell(bench.file(frame.iloc[rows]))
        bench.tell(bench.file(frame.iloc[bench.rng.permutation(rows) if shuffled else rows]))


def retyped(bench):
    """Tell every file twice, the second time with another reward in one row."""
    frame = bench.measure(bench.lab.ask())
    bench.tell(bench.file(frame))
    frame = frame.copy()
    frame.loc[bench.rng.choice(frame.index), "sum"] += 0.25
    bench.tell(bench.file(frame))


def cumulative_files(bench):
    """Tell files that repeat the rows of earlier days."""
    frame = bench.measure(bench.lab.ask())
    days = np.array_split(np.arange(len(frame)), 3)
    for day in range(3):
        bench.tell(bench.file(frame.iloc[np.concatenate(days[: day + 1])]))


def undone_by_mistake(bench):
    """Undo a file and tell the same file again."""
    path = bench.file(bench.measure(half(bench.lab.ask())))
    if bench.tell(path) and bench.lab.ask() is not None:
        bench.lab.undo("thought to be wrong")
        bench.tell(path)


def shuffled_days(bench):
    frame = bench.measure(bench.lab.ask())
    days = bench.rng.integers(0, 4, len(frame))
    for path in [bench.file(frame[days == day]) for day in bench.rng.permutation(4) if (days == day).any()]:
        bench.tell(path)


def all_or_half(bench):
    wanted = bench.lab.ask()
    return half(wanted) if bench.rng.random() < 0.5 else wanted


def restart(bench):
    """Open the log again after every file."""
    bench.answer(all_or_half(bench))
    bench.reopen()


def two_people(bench, share=half, same=False):
    """Tell parts to two Labs of one log; with `same`, both people tell all of it."""
    other, wanted = Lab(bench.make(), bench.path, names=NAMES), bench.lab.ask()
    n = share(wanted)
    mine, theirs = (bench.file(bench.measure(counts)) for counts in (n, np.minimum(wanted - n, n)))
    bench.tell(mine)
    for path in [mine, theirs] if same else [theirs]:
        if not (wanted - n).any() and path == theirs:
            return
        bench.lab, other = other, bench.lab
        bench.tell(path)


def killed_tell(bench):
    """Cut the last record of the log at a random byte, and tell the file once more."""
    bench.lab.tickets()
    path = bench.file(bench.measure(all_or_half(bench)))
    before = bench.path.read_bytes()
    bench.tell(path)
    after = bench.path.read_bytes()
    bench.path.write_bytes(after[: bench.rng.integers(len(before), len(after) + 1)])
    bench.reopen()
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
    wrong, row = frame.copy(), bench.rng.choice(frame.index)
    wrong.loc[row, ["sum", "squares"]] *= [10, 100]
    if bench.tell(bench.file(wrong)):
        bench.lab.undo("a point was forgotten")
        bench.tell(bench.file(frame))


def history_first(bench, units=1.0):
    """Tell single rewards of a pilot, in any unit, before the experiment."""
    bench.units = units
    pilot = bench.measure(np.full(len(ARMS), 20))
    bench.units = 1.0
    bench.lab.tell_history(read_measurements(bench.file(pilot), NAMES))
    bench.reopen()
    bench.finish()


def other_order(bench):
    """Swap two names when reading files, until a file is refused."""
    one, other = bench.rng.choice(len(ARMS), 2, replace=False)
    names, wrong = list(NAMES), [True]
    names[one], names[other] = names[other], names[one]

    def each(bench):
        frame = bench.measure(half(bench.lab.ask()), keep=False)
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
    frame = bench.measure(bench.lab.ask()).groupby("arm", as_index=False)[["count", "sum", "squares"]].sum()
    bench.tell(bench.file(frame.assign(squares=frame["sum"] ** 2 / frame["count"])))


def row_by_row(bench):
    """Tell a single result, often an equal one, to each of two Labs of one log."""
    two_people(bench, share=lambda wanted: np.eye(len(wanted), dtype=np.int64)[np.argmax(wanted)])
    if bench.lab.ask() is not None:
        bench.answer()


def names_swapped(bench):
    """Swap two names in the csv of the arms after the first day, until the log is refused."""
    bench.answer(half(bench.lab.ask()))
    bench.names = [NAMES[1], NAMES[0], *NAMES[2:]]
    try:
        bench.reopen()
    except ValueError as error:
        bench.refused.append(f"refused: {error}")
        bench.names = NAMES
        bench.reopen()
    bench.finish()


def surplus(bench):
    """Measure each arm up to five times more than it was asked for, and keep the surplus."""
    bench.tell(bench.file(bench.measure(bench.lab.ask() + bench.rng.integers(0, 6, len(ARMS)))), extra=True)


def pilot_first(bench):
    """Bound sigma from a pilot with a tenth of delta, and tell the pilot reading by reading."""
    frame = bench.measure(np.full(len(ARMS), 20)).assign(ticket="")
    pilot = read_measurements(bench.file(frame), NAMES)
    bench.options |= {"sigma": sigma_upper(pilot, 0.1 * DELTA), "delta": 0.9 * DELTA}
    bench.path.unlink()
    bench.reopen()
    bench.lab.tell_history(pilot)
    bench.finish()


def on_days(bench, parts, sd=0.15):
    """Measure parts of a request on days of their own, whose levels have this standard deviation."""
    for counts in parts(bench, bench.lab.ask()):
        bench.day = sd * bench.rng.standard_normal()
        bench.answer(counts)


def by_plates(bench, wanted):
    layout = plates(wanted, NAMES, size=384, rng=bench.rng)
    return [some.value_counts().reindex(NAMES, fill_value=0).to_numpy() for _, some in layout.groupby("plate")["arm"]]


FINISH = Bench.finish
BY_ARMS = each_time(on_days, parts=lambda bench, wanted: [n for n in np.diag(wanted) if n.any()])
BY_PLATES, BY_PHASES = each_time(on_days, parts=by_plates), each_time(on_days, parts=lambda bench, wanted: [wanted])


# --- the table


class User(NamedTuple):
    """A kind of user."""

    play: Callable  # works at a `Bench` until its experiment is over
    setup: dict = {}
    says: str = ""  # pattern of a warning or refusal
    often: float = 0.0  # the least share of these users who must get it, whether their answer is right or wrong
    wrong: str = "promised"  # what holds of a wrong answer, see below


# Without a word, an answer may be wrong with probability delta. It is not without a word if `wrong` is
WARNED = "warned"  # and the user got `says`
UNSEEN = "LinearityWarning: whether"  # and the user got `says`, or this warning: the program cannot see such an error
# or a sentence, and the user got `says`; this sentence of a document says that such an error cannot be seen:
GAUSSIAN = "None means unknown Gaussian noise that is the same for all arms"  # rage
GIVEN_THE_PAST = "with means x'theta in [0, 1] given the past"  # bounded_rage
PHASE_SHARES = "An offset that all rewards of a phase share breaks the guarantee"  # bounded_rage
NO_PROGRAM = "one reading was entered as several replicates, or that results were left out or repeated"  # the notebook
NO_LEVEL = "A random order protects the comparison of arms only if the features have a column of ones"  # the notebook

NOISE = "SigmaWarning: replicates have"
MILLIVOLTS = "SigmaWarning.*mV told as V"
BENDS = "LinearityWarning: rewards are not"
DRIFTS = "DriftWarning"
DAYS_SAID = f"{DRIFTS}|{BENDS}"  # days of the arms look like means that are not linear
TWICE = "rows were told before"


def clicks(arms, delta, sigma):
    """`bounded_rage`, which takes no sigma."""
    return bounded_rage(arms, delta=delta)


def fixed_shares(arms, **options):
    return xy_static(arms, rng=np.random.default_rng(0), **options)


CLOSE = {"truth": {"size": 0.05, "least": 0.05}}  # gaps among which half a sigma is fatal
FAR = {"truth": {"size": 0.8, "least": 0.8}}  # gaps of rules that take a sigma twice too large
BENT, ODD = {"truth": {"size": 0.2, "least": 0.2, "curved": 0.3}}, {"truth": {"odd": 1.0}}
BERNOULLI = {"rule": clicks, "truth": {"size": 0.1, "least": 0.2, "noise": "bernoulli"}}
CLICKS = {"rule": clicks, "truth": {"size": 0.05, "least": 0.05, "noise": "bernoulli"}}
STATIC, UNKNOWN, ROWS, SORTED = {"rule": fixed_shares}, {"sigma": None}, {"rows": "single"}, {"rows": "sorted"}
LEVEL = {"truth": {"level": True}}  # features that have a level
DAYS = {"truth": {"size": 0.05, "least": 0.05, "level": True}}


def nature(name, **setup):
    return {**setup, "nature": NATURES[name]}


KINDS = {
    # users who keep the conditions of the guarantee
    "honest": User(FINISH),
    "costs": User(FINISH, {"cost": np.linspace(1, 8, len(ARMS))}),
    "sigma unknown, rage": User(FINISH, UNKNOWN),
    "sigma unknown, xy_static": User(FINISH, {**STATIC, **UNKNOWN}),
    "sigma from a pilot": User(pilot_first),
    "sigma told twice": User(FINISH, {**FAR, "sigma": 2 * SIGMA}, "The answer is as sure as promised", 0.75),
    "percent, scale 1": User(FINISH, {"units": 100.0, "sigma": 100 * SIGMA}, "for [0-9,]+ with scale=None", 0.75),
    "percent, no scale": User(FINISH, {"units": 100.0, "sigma": 100 * SIGMA, "scale": None}),
    "days as plates, rage": User(BY_PLATES, DAYS),
    "days as plates, sigma unknown": User(BY_PLATES, {**DAYS, **UNKNOWN}),
    "phases on days, rage": User(BY_PHASES, DAYS),
    "drift, random order": User(FINISH, nature("drift", **LEVEL)),
    "correlated noise, random order": User(FINISH, {**LEVEL, "nature": correlated}),
    "heavy tails": User(FINISH, nature("heavy tails", **CLOSE)),
    # users who have trouble with files and people
    "whole files told twice": User(each_time(tell_again, parts=1), {}, TWICE, 0.75),
    "parts told twice": User(each_time(tell_again, parts=3), {}, TWICE, 0.75),
    "clicks, files told twice": User(each_time(tell_again, parts=1), BERNOULLI, TWICE, 0.75),
    "files retyped": User(each_time(retyped), ROWS, "was told with the reward", 0.75),
    "files told twice, shuffled": User(each_time(tell_again, parts=1, shuffled=True), ROWS, TWICE, 0.75),
    "parts told twice, shuffled": User(each_time(tell_again, parts=3, shuffled=True), ROWS, TWICE, 0.75),
    "cumulative files": User(each_time(cumulative_files), ROWS, TWICE, 0.75),
    "shuffled files of several days": User(each_time(shuffled_days)),
    "undone and told again": User(each_time(undone_by_mistake)),
    "a typing error taken back": User(each_time(typing_error)),
    "empty cells": User(each_time(empty_cells), {}, "has no reward in", 0.75),
    "squares left out": User(each_time(squares_left_out), {}, "squares is 0, below", 0.75),
    "decimal commas": User(each_time(decimal_commas)),
    "surplus kept": User(each_time(surplus), ROWS),
    "history told first": User(history_first),
    "restarts": User(each_time(restart)),
    "killed while telling": User(each_time(killed_tell), {}, "ReplayWarning: .* has no end", 0.5),
    "two people, one log": User(each_time(two_people)),
    "two people, one form": User(each_time(two_people, same=True), {}, TWICE, 0.75),
    "two people, equal clicks": User(each_time(row_by_row), BERNOULLI),
    "names of two arms swapped": User(
        names_swapped, {}, "is the log of another experiment: names.0. is 'version A'", 1.0, WARNED
    ),
    # users who state the noise or the unit wrongly
    "sigma told half": User(FINISH, {**CLOSE, "sigma": SIGMA / 2}, NOISE, 0.75, WARNED),
    "sigma told a quarter": User(FINISH, {**CLOSE, "sigma": SIGMA / 4}, NOISE, 0.75, WARNED),
    "half of sigma, squares made up": User(
        each_time(made_up_squares), {**CLOSE, "sigma": SIGMA / 2}, "all equal say nothing about the noise", 0.75, WARNED
    ),
    "millivolts from the second day": User(change_units, {}, MILLIVOLTS, 0.75, WARNED),
    "percent told as shares": User(FINISH, {"units": 100.0}, MILLIVOLTS, 0.75, WARNED),
    "history told in millivolts": User(partial(history_first, units=1000.0), {}, MILLIVOLTS, 0.75, WARNED),
    "unequal noise, sigma unknown": User(FINISH, nature("unequal", **UNKNOWN, **CLOSE), wrong=GAUSSIAN),
    "heavy tails, sigma unknown": User(FINISH, nature("heavy tails", **UNKNOWN, **CLOSE), wrong=GAUSSIAN),
    "one in 100 typed ten times too large": User(FINISH, nature("typing", **CLOSE), NOISE, 0.75, WARNED),
    "rounded to three sigma": User(FINISH, nature("rounding", **CLOSE), NOISE, 0.75, WARNED),
    # users whose features miss something
    "quadratic truth, floor .1": User(FINISH, {**BENT, "floor": 0.1}, BENDS, 0.6, UNSEEN),
    "quadratic truth, no floor": User(FINISH, BENT, BENDS, 0.6, UNSEEN),
    "one version unlike its features, floor .1": User(FINISH, {**ODD, "floor": 0.1}, BENDS, 0.75, UNSEEN),
    "one version unlike its features, no floor": User(FINISH, ODD, BENDS, 0.6, UNSEEN),
    "names in another order": User(other_order, {"floor": 0.1}, BENDS, 0.0, UNSEEN),
    "clipped above the second best": User(FINISH, nature("clipping"), BENDS, 0.0, UNSEEN),
    # users whose days differ
    "days arm by arm, rage": User(BY_ARMS, DAYS, DAYS_SAID, 0.75, WARNED),
    "days arm by arm, sigma unknown": User(BY_ARMS, {**DAYS, **UNKNOWN}, DAYS_SAID, 0.75, WARNED),
    "days arm by arm, xy_static": User(BY_ARMS, {**STATIC, **DAYS}, DAYS_SAID, 0.75, WARNED),
    "days arm by arm, bounded_rage": User(BY_ARMS, CLICKS, DAYS_SAID, 0.75, WARNED),
    "phases on days, bounded_rage": User(BY_PHASES, CLICKS, DRIFTS, 0.6, PHASE_SHARES),
    "clicks in series": User(FINISH, {**CLICKS, **SORTED, "nature": in_series}, DRIFTS, 0.0, GIVEN_THE_PAST),
    "drift, arms in order": User(FINISH, nature("drift", **LEVEL, **SORTED), DAYS_SAID, 0.0, WARNED),
    "correlated noise, arms in order": User(FINISH, {**LEVEL, **SORTED, "nature": correlated}, DAYS_SAID, 0.6, WARNED),
    "correlated noise, random order, no level": User(FINISH, {"nature": correlated}, BENDS, 0.0, NO_LEVEL),
    # users who choose their results
    "worst tenth left out": User(FINISH, nature("no worst tenth", **CLOSE), BENDS, 0.3, NO_PROGRAM),
    "best of three": User(FINISH, nature("best of three"), BENDS, 0.4, NO_PROGRAM),
    "one reading as sixteen": User(FINISH, nature("copies", **SORTED, **CLOSE), DAYS_SAID, 0.6, NO_PROGRAM),
}


def simulate_users(runs, seed=0, kinds=None):
    """Simulate `runs` experiments of every kind of user; return a table with a row per experiment."""
    return pd.DataFrame([one_user(number, kind, seed) for kind in kinds or KINDS for number in range(runs)])


def one_user(number, kind, seed):
    """Return the row of one experiment, whose random stream depends on seed, kind and number alone."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(crc32(kind.encode()), number)))
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        bench = Bench(rng, Path(folder), heard, **KINDS[kind].setup)
        KINDS[kind].play(bench)
        result = bench.lab.result
        return {
            "kind": kind,
            "wrong": result is not None and not best_item(bench.problem, result.recommendation),
            "ended": result is not None,
            "texts": [*(f"{one.category.__name__}: {one.message}" for one in heard), *bench.refused],
            "lost": bench.lost(),
            "pulls": int(bench.counts.sum()),
        }


def judged(records):
    """Add whether each user was warned as the table demands, and whether a wrong answer came without a word."""
    warned = [got(KINDS[kind].says, texts) for kind, texts in zip(records["kind"], records["texts"], strict=True)]
    excused = [
        user.wrong not in ("promised", WARNED) and (user.wrong != UNSEEN or got(UNSEEN, texts))
        for user, texts in zip(map(KINDS.get, records["kind"]), records["texts"], strict=True)
    ]
    contradicted = np.array(warned) & (records["kind"].map(lambda kind: KINDS[kind].wrong) != "promised")
    return records.assign(warned=warned, silent=records["wrong"] & ~contradicted & ~np.array(excused))


def got(pattern, texts):
    return bool(pattern) and any(search(pattern, text, DOTALL) for text in texts)
