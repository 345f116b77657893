"""Simulated users: experiments of a laboratory in which something goes wrong.

Each user works through files in a folder (`Bench`). The Bench counts each measurement once, as the person enters it and
without the Lab, so that a lost or repeated measurement shows. A user who keeps the assumptions must be right with
probability 1 - delta. A user who breaks one must be warned whenever the answer is wrong (`must`), or a sentence of the
program or of its documents must say that this cannot be seen (`stated`).
"""

import csv
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
from scipy import signal, stats

from bandits_lab import log as logs
from bandits_lab.lab import Lab
from bandits_lab.measurements import read_each, read_measurements
from bandits_lab.noise import sigma_upper
from bandits_lab.plate_layout import plates
from bandits_lib.fixed_confidence import bounded_rage, rage, xy_static
from bandits_lib.problem import LinearBandit
from bandits_lib.protocol import total
from bandits_lib.simulate.monte_carlo import best_item, in_parallel

HALVES = np.array([[1, 1, 1, 1], [1, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1]]) / 2
ARMS = np.vstack([np.eye(4), HALVES])
NAMES = [f"version {letter}" for letter in "ABCDEFGH"]
DELTA, SIGMA = 0.1, 0.5


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


PLATE = 50  # pulls in a row of a file that has more than SINGLE pulls
PLATES = 20  # rows of an arm in one file, at most; for more pulls the plates are larger
SINGLE = 200  # up to so many pulls a row is one pull
PATIENCE = 5_000  # steps after which an experiment is given up
MOST = 500_000  # an experiment is given up if one request has more single pulls


class Bench:
    """A person at work in a folder; `told` is the stated sigma over the true one, `options` are those of the rule."""

    def __init__(self, stream, folder, *, rule=rage, told=1.0, truth=None, units=1.0, nature=None, rows="", **options):
        self.rng, self.folder, self.path = stream, folder, folder / "log.csv"
        self.problem, self.options = world(stream, **(truth or {})), {"delta": DELTA, **options}
        self.rule, self.units, self.names = rule, units, NAMES
        self.nature = nature  # (bench, arm (n,)) -> rewards (n,) in the order of time; None: `_pull`
        self.rows = rows  # "sorted": the order of time is not random; "single": a row of a file for every pull
        self.day = 0.0  # level of today's rewards
        self.second = np.argsort(self.problem.means)[-2]
        if told is not None:
            self.options["sigma"] = told * SIGMA
        self.counts, self.sums = np.zeros(len(ARMS), np.int64), np.zeros(len(ARMS))
        self.heard: list = []
        self.refused: list[str] = []
        self.files = 0
        with self.listening():
            self.lab = Lab(self.make(), names=NAMES)

    def make(self):
        options = {key: value() if key == "rng" else value for key, value in self.options.items()}
        return self.rule(self.problem.arms, **options)

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
        if self.nature:
            frame = self._one_by_one(counts)
            return self.enter(frame) if keep else frame
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

    def _one_by_one(self, counts):
        arm = np.repeat(np.arange(len(counts)), counts)
        arm = arm if self.rows == "sorted" else self.rng.permutation(arm)
        reward = self.units * self.nature(self, arm)
        frame = pd.DataFrame({"arm": arm, "count": 1, "sum": reward, "squares": reward**2})
        if self.rows == "single" or len(arm) <= SINGLE:
            return frame
        plate = frame.groupby("arm").cumcount() // np.maximum(PLATE, -(-counts[arm] // PLATES))
        return frame.groupby(["arm", plate]).sum().reset_index("arm")

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

    def tell(self, path, names=None, *, keep=False):
        """Read a file, tell it to the Lab and save the log; return whether it was accepted."""
        with self.listening():
            try:
                wanted = None if keep else self.lab.ask()
                self.lab.tell(read_measurements(path, names or self.names, wanted), keep=keep)
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
            if (wanted := self.lab.ask()) is None or self.nature and wanted.sum() > MOST:
                break
            (each or Bench.step)(self)
        self.lab.save(self.path)

    def reopen(self):
        with self.listening():
            self.lab = Lab(self.make(), self.path, names=self.names)

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


def tell_again(bench, parts, other=lambda rng, rows: rows):
    """Tell every file twice, the second time in an `other` order; undo it if there is a warning."""
    frame = bench.measure(bench.lab.ask())
    for rows in np.array_split(np.arange(len(frame)), parts):
        path = bench.file(frame.iloc[rows])
        bench.tell(path)
        tell_warily(bench, bench.file(frame.iloc[other(bench.rng, rows)]))


def tell_warily(bench, path):
    """Tell a file and undo it if rows were told before; return whether it stands."""
    start = len(bench.heard)
    told = bench.tell(path)
    if again := told and any("has the same file been read twice" in str(w.message) for w in bench.heard[start:]):
        bench.lab.undo("read twice")
        bench.lab.save(bench.path)
    return told and not again


def cumulative_files(bench):
    """Tell files that repeat the rows of earlier days; if there is a warning, undo it and tell the new rows alone."""
    frame = bench.measure(bench.lab.ask())
    days = np.array_split(np.arange(len(frame)), 3)
    for day in range(3):
        if not tell_warily(bench, bench.file(frame.iloc[np.concatenate(days[: day + 1])])) and len(days[day]):
            bench.tell(bench.file(frame.iloc[days[day]]))


def undone_by_mistake(bench):
    """Undo a file and tell the same file again."""
    path = bench.file(bench.measure(half(bench.lab.ask())))
    if bench.tell(path) and bench.lab.ask() is not None:
        bench.lab.undo("thought to be wrong")
        bench.lab.save(bench.path)
        bench.tell(path)


def shuffled_days(bench):
    frame = bench.measure(bench.lab.ask())
    days = bench.rng.integers(0, 4, len(frame))
    for path in [bench.file(frame[days == day]) for day in bench.rng.permutation(4) if (days == day).any()]:
        bench.tell(path)


def restart(bench):
    """Open the log again after every file."""
    wanted = bench.lab.ask()
    bench.tell(bench.file(bench.measure(half(wanted) if bench.rng.random() < 0.5 else wanted)))
    bench.reopen()


def two_people(bench, share=half):
    """Tell parts to two Labs of one log: the second save is refused, and its part is told once more."""
    if not bench.path.exists():
        bench.lab.save(bench.path)
    bench.reopen()
    with bench.listening():
        other = Lab(bench.make(), bench.path, names=NAMES)
    wanted = bench.lab.ask()
    n = share(wanted)
    mine, theirs = (bench.file(bench.measure(counts)) for counts in (n, np.minimum(wanted - n, n)))
    bench.tell(mine)
    if not (wanted - n).any():
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


def row_by_row(bench):
    """Tell a single result, often an equal one, to each of two Labs of one log."""
    two_people(bench, share=lambda wanted: np.eye(len(wanted), dtype=np.int64)[np.argmax(wanted)])
    if bench.lab.ask() is not None:
        bench.step()


def spreadsheet(bench):
    """Save the log again as a spreadsheet does, then open it."""
    if bench.path.exists():
        rows = list(filter(None, csv.reader(bench.path.read_text(encoding="utf-8").splitlines())))
        with bench.path.open("w", encoding="utf-8", newline="") as file:
            end = bench.rng.choice(["\n", "\r\n", "\r"])
            writer = csv.writer(file, delimiter=bench.rng.choice([",", ";", "\t"]), lineterminator=end)
            writer.writerows(row + [""] * (max(map(len, rows)) - len(row)) for row in rows)
        bench.reopen()
    bench.tell(bench.file(bench.measure(half(bench.lab.ask()))))


def names_swapped(bench):
    """Swap two names in the csv of the arms after the first day, until the log is refused."""
    bench.tell(bench.file(bench.measure(half(bench.lab.ask()))))
    bench.names = [NAMES[1], NAMES[0], *NAMES[2:]]
    try:
        bench.reopen()
    except ValueError as error:
        bench.refused.append(str(error))
        bench.names = NAMES
        bench.reopen()
    bench.finish()


def surplus(bench):
    """Measure each arm up to five times more than it was asked for, and keep the surplus."""
    bench.tell(bench.file(bench.measure(bench.lab.ask() + bench.rng.integers(0, 6, len(ARMS)))), keep=True)


def pilot_first(bench):
    """Bound sigma from a pilot with a tenth of delta, and tell the pilot in sums."""
    pilot = read_measurements(bench.file(bench.measure(np.full(len(ARMS), 20))), NAMES)
    bench.options |= {"sigma": sigma_upper(pilot, 0.1 * DELTA), "delta": 0.9 * DELTA}
    with bench.listening():
        bench.lab = Lab(bench.make(), names=NAMES)
        bench.lab.tell_history(pilot, planned=True)
    bench.finish()


def on_days(bench, parts, sd=0.15):
    """Measure parts of a request on days of their own, whose levels have this standard deviation."""
    for counts in parts(bench, bench.lab.ask()):
        bench.day = sd * bench.rng.standard_normal()
        bench.tell(bench.file(bench.measure(counts)))


def by_plates(bench, wanted):
    layout = plates(wanted, NAMES, size=384, rng=bench.rng)
    return [some.value_counts().reindex(NAMES, fill_value=0).to_numpy() for _, some in layout.groupby("plate")["arm"]]


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


HEAVY = partial(steady, noise=lambda rng, size: rng.standard_t(3, size) / np.sqrt(3))
UNEQUAL = favouring(lambda rng, size: 4 * rng.standard_normal(size))
BEST_OF_THREE = favouring(lambda rng, size: rng.standard_normal((3, size)).max(axis=0))
NOT_WORST_TENTH = favouring(lambda rng, size: stats.norm.isf(0.9 * rng.random(size)))
NATURES = {
    "drift": lambda bench, arm: steady(bench, arm) + SIGMA / 1000 * (bench.counts.sum() + np.arange(len(arm))),
    "typing": lambda bench, arm: steady(bench, arm) * np.where(bench.rng.random(len(arm)) < 0.01, 10, 1),
    "rounding": lambda bench, arm: 3 * SIGMA * np.round(steady(bench, arm) / (3 * SIGMA)),
    "clipping": lambda bench, arm: np.minimum(steady(bench, arm), bench.problem.means[bench.second] + 0.1 * SIGMA),
    "copies": lambda bench, arm: steady(bench, arm)[in_groups(arm, 16)],
}
CLOSE = {"size": 0.05, "least": 0.05}  # gaps among which half a sigma is fatal
FAR = {"size": 0.8, "least": 0.8}  # gaps for rules that pull one by one
BENT = {"size": 0.2, "least": 0.2, "curved": 0.3}
ODD = {"odd": 1.0}
LEVEL, ALL = 0.95, "all kinds"  # of an interval; the row of all records


class User(NamedTuple):
    """A kind of user. Without `must` and `stated`, its answer may be wrong with probability delta."""

    play: Callable  # works at a `Bench` until its experiment is over
    setup: dict = {}
    must: tuple = ()  # beginnings of warnings and refusals of which a wrong answer must have one
    stated: str = ""  # what says that a wrong answer cannot be seen: beginning of a warning, or piece of a document


SIGMA_SAID, DRIFT_SAID, LINEARITY_SAID = ("SigmaWarning",), ("DriftWarning",), ("LinearityWarning: rewards are not",)
REFUSED, UNSEEN = ("refused",), "LinearityWarning: whether"
DAY_SAID = DRIFT_SAID + LINEARITY_SAID  # days of the arms look like means that are not linear
GAUSSIAN = "None means unknown Gaussian noise that is the same for all arms"  # rage
GIVEN_THE_PAST = "with means x'theta in [0, 1] given the past"  # bounded_rage
PHASE_SHARES = "An offset that all rewards of a phase share breaks the guarantee"  # bounded_rage
NO_PROGRAM = "one reading was entered as several replicates, or that results were left out or repeated"
NO_LEVEL = "A random order protects the comparison of arms only if the features have a column of ones"  # the notebook
BERNOULLI = {"rule": bounded_rage, "told": None, "truth": {"size": 0.1, "least": 0.2, "noise": "bernoulli"}}
STATIC = {"rule": xy_static, "rng": partial(np.random.default_rng, 0)}
UNKNOWN = {"told": None, "sigma": None}
CLICKS = {**BERNOULLI, "truth": {"size": 0.05, "least": 0.05, "noise": "bernoulli"}}
DAYS = {"truth": {**CLOSE, "level": True}, "nature": steady}  # among features that have a level
FATAL, LEVELLED, SORTED = {"truth": CLOSE}, {"truth": {"level": True}}, {"rows": "sorted"}
ROWS = {"nature": steady, "rows": "single"}
FINISH, SHUFFLE = Bench.finish, partial(tell_again, other=np.random.Generator.permutation)
BY_ARMS = each_time(on_days, parts=lambda bench, wanted: [n for n in np.diag(wanted) if n.any()])
BY_PLATES, BY_PHASES = each_time(on_days, parts=by_plates), each_time(on_days, parts=lambda bench, wanted: [wanted])
KINDS = {
    "honest": User(FINISH),
    "sigma told half": User(FINISH, {"told": 0.5, "truth": CLOSE}, SIGMA_SAID),
    "sigma told a quarter": User(FINISH, {"told": 0.25, "truth": CLOSE}, SIGMA_SAID),
    "sigma told twice": User(FINISH, {"told": 2.0, "truth": FAR}),
    "millivolts from the second day": User(change_units, {}, SIGMA_SAID),
    "percent told as shares": User(FINISH, {"units": 100.0}, SIGMA_SAID),
    "quadratic truth, floor .1": User(FINISH, {"truth": BENT, "floor": 0.1}, LINEARITY_SAID, UNSEEN),
    "quadratic truth, no floor": User(FINISH, {"truth": BENT}, LINEARITY_SAID, UNSEEN),
    "one version unlike its features, floor .1": User(
        Bench.finish, {"truth": ODD, "floor": 0.1}, LINEARITY_SAID, UNSEEN
    ),
    "one version unlike its features, no floor": User(FINISH, {"truth": ODD}, LINEARITY_SAID, UNSEEN),
    "names in another order": User(other_order, {"floor": 0.1}, LINEARITY_SAID, UNSEEN),
    "whole files told twice": User(each_time(tell_again, parts=1)),
    "parts told twice": User(each_time(tell_again, parts=3)),
    "shuffled files of several days": User(each_time(shuffled_days)),
    "restarts": User(each_time(restart)),
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
    "two people, equal clicks": User(each_time(row_by_row), BERNOULLI),
    "files told twice, shuffled": User(each_time(SHUFFLE, parts=1), ROWS),
    "parts told twice, shuffled": User(each_time(SHUFFLE, parts=3), ROWS),
    "cumulative files": User(each_time(cumulative_files), ROWS),
    "undone and told again": User(each_time(undone_by_mistake)),
    "log saved by a spreadsheet": User(each_time(spreadsheet)),
    "names of two arms swapped": User(names_swapped, {}, REFUSED),
    "surplus kept": User(each_time(surplus), ROWS),
    "costs": User(FINISH, {"cost": np.linspace(1, 8, len(ARMS))}),
    "sigma unknown, rage": User(FINISH, UNKNOWN),
    "sigma unknown, xy_static": User(FINISH, {**STATIC, **UNKNOWN}),
    "sigma from a pilot": User(pilot_first),
    "percent, scale 1": User(FINISH, {"units": 100.0, "told": 100.0}),
    "percent, no scale": User(FINISH, {"units": 100.0, "told": 100.0, "scale": None}),
    "unequal noise, sigma unknown": User(FINISH, {**UNKNOWN, **FATAL, "nature": UNEQUAL}, (), GAUSSIAN),
    "heavy tails": User(FINISH, {**FATAL, "nature": HEAVY}),
    "heavy tails, sigma unknown": User(FINISH, {**UNKNOWN, **FATAL, "nature": HEAVY}, (), GAUSSIAN),
    "one in 100 typed ten times too large": User(FINISH, {**FATAL, "nature": NATURES["typing"]}, SIGMA_SAID),
    "rounded to three sigma": User(FINISH, {**FATAL, "nature": NATURES["rounding"]}, SIGMA_SAID),
    "clipped above the second best": User(FINISH, {"nature": NATURES["clipping"]}, LINEARITY_SAID, UNSEEN),
    "clicks in series": User(FINISH, {**CLICKS, "nature": in_series, "rows": "sorted"}, DRIFT_SAID, GIVEN_THE_PAST),
    "days arm by arm, bounded_rage": User(BY_ARMS, {**CLICKS, "nature": steady}, DAY_SAID),
    "days arm by arm, rage": User(BY_ARMS, DAYS, DAY_SAID),
    "days arm by arm, sigma unknown": User(BY_ARMS, {**DAYS, **UNKNOWN}, DAY_SAID),
    "days arm by arm, xy_static": User(BY_ARMS, {**STATIC, **DAYS}, DAY_SAID),
    "days as plates, rage": User(BY_PLATES, DAYS),
    "days as plates, sigma unknown": User(BY_PLATES, {**DAYS, **UNKNOWN}),
    "phases on days, rage": User(BY_PHASES, DAYS),
    "phases on days, bounded_rage": User(BY_PHASES, {**CLICKS, "nature": steady}, DRIFT_SAID, PHASE_SHARES),
    "drift, random order": User(FINISH, {**LEVELLED, "nature": NATURES["drift"]}),
    "drift, arms in order": User(FINISH, {**LEVELLED, **SORTED, "nature": NATURES["drift"]}, DAY_SAID),
    "correlated noise, random order": User(FINISH, {**LEVELLED, "nature": correlated}),
    "correlated noise, random order, no level": User(FINISH, {"nature": correlated}, LINEARITY_SAID, NO_LEVEL),
    "correlated noise, arms in order": User(FINISH, {**LEVELLED, **SORTED, "nature": correlated}, DAY_SAID),
    "worst tenth left out": User(FINISH, {**FATAL, "nature": NOT_WORST_TENTH}, LINEARITY_SAID, NO_PROGRAM),
    "best of three": User(FINISH, {"nature": BEST_OF_THREE}, LINEARITY_SAID, NO_PROGRAM),
    "one reading as sixteen": User(FINISH, {**SORTED, **FATAL, "nature": NATURES["copies"]}, DAY_SAID, NO_PROGRAM),
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
        A row for each kind and one for all kinds: the number of `experiments`, and how many of them were `wrong`. The
        wrong ones are divided into `contradicted` (with a warning or refusal that the kind must get), `caveated` (the
        program or a document says that it cannot be seen) and `silent`. `bound` is the upper end of the 95 %
        Clopper-Pearson interval of `silent`, `warned` the number of experiments with a warning or refusal that the kind
        must get, and `lost` the number of pulls lost.

    Examples
    --------
    >>> from bandits_companion.simulated_users import simulate_users
    >>> table(simulate_users(2, kinds=["honest"]))["silent"].tolist()
    [0, 0]
    """
    rows = {kind: _counts(some) for kind, some in records.groupby("kind", sort=False)} | {ALL: _counts(records)}
    columns = ["experiments", "wrong", "contradicted", "caveated", "silent", "bound", "warned", "lost"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("kind")


def _counts(records):
    wrong, heard, stated = ~records["right"].to_numpy(), [], []
    for kind, texts in zip(records["kind"], _texts(records), strict=True):
        must, sentence = KINDS[kind].must, KINDS[kind].stated
        heard.append(any(text.startswith(must) for text in texts))
        stated.append(any(text.startswith(UNSEEN) for text in texts) if sentence == UNSEEN else bool(sentence))
    contradicted, caveated = wrong & heard, wrong & ~np.array(heard) & stated
    silent = int((wrong & ~contradicted & ~caveated).sum())
    bound = stats.binomtest(silent, len(wrong)).proportion_ci(LEVEL, method="exact").high
    some = len(wrong), wrong.sum(), contradicted.sum(), caveated.sum(), silent, bound
    return *some, sum(heard), records["lost"].sum()


def _texts(records):
    """Return the warnings and refusals of each experiment."""
    rows = zip(records["said"], records["refused"], strict=True)
    return [[*said, *(f"refused: {text}" for text in refused)] for said, refused in rows]
