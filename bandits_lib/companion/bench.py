"""A laboratory in a folder, for the simulated users: rewards are measured, written to files, told, and the log saved.

What was measured is counted here as well, without the Lab, so that a measurement that is lost, or counted twice, shows.
"""

import os
import warnings

import numpy as np
import pandas as pd

from bandits_lib.companion.versions import ARMS, DELTA, NAMES, SIGMA, world
from bandits_lib.fixed_confidence import rage
from bandits_lib.lab import log as logs
from bandits_lib.lab.lab import Lab
from bandits_lib.lab.measurements import read
from bandits_lib.protocol import total
from bandits_lib.simulate.correct import best_item

PLATE = 50  # pulls in a row of a file that has more than SINGLE pulls
PLATES = 20  # rows of an arm in one file, at most: larger plates then
SINGLE = 200  # up to so many pulls a row is one pull
PATIENCE = 5_000  # steps after which an experiment is given up


class Bench:
    """A person at work, in a folder of her own.

    Parameters
    ----------
    stream : numpy.random.Generator
        Draws the truth, the rewards and what happens.
    folder : pathlib.Path
        Empty folder.
    rule : callable, default rage
        Function (arms, delta=, ...) -> a fresh algorithm.
    told : float or None, default 1.0
        The sigma that the rule is told, over the true one; None for a rule without.
    truth : dict, optional
        Options of `world`.
    **options
        Of the rule; its `rng` as a function that makes one.

    Attributes
    ----------
    problem : LinearBandit
        The truth.
    lab : Lab
        The experiment.
    path : pathlib.Path
        Its log.
    counts, sums : (K,) array
        What was measured for it, counted by hand.
    heard : list of warnings
        What was warned of.
    refused : list of str
        Messages of what was refused.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     bench = Bench(np.random.default_rng(0), Path(folder))
    ...     bench.finish()
    ...     bench.record("honest")["lost"]
    0
    """

    def __init__(self, stream, folder, *, rule=rage, told=1.0, truth=None, **options):
        self.rng, self.folder, self.path = stream, folder, folder / "log.csv"
        self.problem, self.options = world(stream, **(truth or {})), {"delta": DELTA, **options}
        self.rule, self.units = rule, 1.0
        if told is not None:
            self.options["sigma"] = told * SIGMA
        self.counts, self.sums = np.zeros(len(ARMS), np.int64), np.zeros(len(ARMS))
        self.heard: list = []
        self.refused: list[str] = []
        self.files = 0
        with self.listening():
            self.lab = Lab(self.make())

    def make(self, arms=None):
        """A fresh algorithm."""
        options = {key: value() if key == "rng" else value for key, value in self.options.items()}
        return self.rule(self.problem.arms if arms is None else arms, **options)

    def listening(self):
        """A context that keeps what is warned of."""
        return _Listening(self.heard)

    def measure(self, counts, *, keep=True):
        """Rewards of so many pulls (K,), as a table in an order of its own; counted if they are to be kept."""
        if counts.sum() <= SINGLE:
            arm = np.repeat(np.arange(len(counts)), counts)
            size = np.ones(len(arm), np.int64)
        else:
            plates = np.minimum(-(-counts // PLATE), PLATES)
            arm = np.repeat(np.arange(len(counts)), plates)
            size = np.concatenate(
                [np.diff(np.linspace(0, n, p + 1).astype(int)) for n, p in zip(counts, plates, strict=True)]
            )
        sums, squares = self._pull(arm, size)
        frame = pd.DataFrame({"arm": arm, "count": size, "sum": sums, "squares": squares})
        frame = frame.iloc[self.rng.permutation(len(frame))].reset_index(drop=True)
        return self.enter(frame) if keep else frame

    def _pull(self, arm, n):
        """Sums and squares of n pulls (rows,) of arms (rows,)."""
        mean = self.problem.means[arm]
        if self.problem.noise == "bernoulli":
            sums = squares = self.rng.binomial(n, mean).astype(float)
        else:
            sums = n * mean + np.sqrt(n) * SIGMA * self.rng.standard_normal(len(n))
            squares = sums**2 / n + SIGMA**2 * 2 * self.rng.standard_gamma((n - 1) / 2)
        return self.units * sums, self.units**2 * squares

    def enter(self, frame, sign=1):
        """Count the rows of a table as measured, or with sign=-1 as not."""
        np.add.at(self.counts, frame["arm"], sign * frame["count"])
        np.add.at(self.sums, frame["arm"], sign * frame["sum"])
        return frame

    def file(self, frame, **how):
        """A table as a file, a row per pull if there are no plates; `how` it is written (`DataFrame.to_csv`)."""
        self.files += 1
        path, named = self.folder / f"day {self.files}.csv", frame.assign(arm=[NAMES[a] for a in frame["arm"]])
        if (frame["count"] == 1).all() and len(frame):
            named = named[["arm", "sum"]].rename(columns={"sum": "reward"})
        named.to_csv(path, index=False, **how)
        return path

    def tell(self, path, names=NAMES):
        """Read a file, tell it and save the log; whether it was taken."""
        with self.listening():
            try:
                self.lab.tell(read(path, names, self.lab.ask()))
            except ValueError as error:
                self.refused.append(str(error))
                return False
        self.lab.save(self.path)
        return True

    def step(self):
        """Answer what is asked for now."""
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
        """Make the Lab again from its log."""
        with self.listening():
            self.lab = Lab(self.make(arms), self.path)

    def heard_since(self, start, text):
        """Whether a warning with this text was heard after the first `start` ones."""
        return any(text in str(found.message) for found in self.heard[start:])

    def record(self, kind):
        """What came of it: see `simulate_users`."""
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
        """A message without the folder."""
        return text.replace(f"{self.folder}{os.sep}", "")


class _Listening(warnings.catch_warnings):
    """Every warning, once for each time, into a list."""

    def __init__(self, heard):
        super().__init__(record=True)
        self.heard = heard

    def __enter__(self):
        self.found = super().__enter__()
        warnings.simplefilter("always")
        return self.found

    def __exit__(self, *why):
        super().__exit__(*why)
        self.heard.extend(self.found)
