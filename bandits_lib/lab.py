"""A person or a laboratory in the place of the simulator: ask what to pull, tell what came back."""

import csv
import inspect
import json
import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from bandits_lib.fingerprint import fingerprint
from bandits_lib.protocol import Algorithm, Result, Sample, checked_batch, one_pull, total, unroll

COLUMNS = ("request", "arm", "count", "sum", "squares")


class Lab:
    """Drive any algorithm by hand. The log is the state: `Lab(algorithm, log)` continues where you stopped.

    Parameters
    ----------
    algorithm : a fresh generator, for example `rage(arms, delta=0.05)`.
    log : Samples told before, or the path of a csv written by `save`; replayed into the algorithm.

    Attributes
    ----------
    log : list of the Samples told so far; requests : list of the number of the request each of them answered;
    result : Result, None until the algorithm is done; identity : hash of algorithm, arguments and rng.

    Raises ValueError for a log of another experiment, with the line number of the first misfit.

    >>> from bandits_lib.fixed_confidence import rage
    >>> Lab(rage(np.eye(2), delta=0.05)).ask().tolist()
    [86, 86]
    """

    def __init__(self, algorithm: Algorithm, log: "Iterable[Sample] | str | os.PathLike" = ()):
        self.name, self.identity = _identify(algorithm)
        self.log: list[Sample] = []
        self.requests: list[int] = []
        self.result: Result | None = None
        self._request = 0
        self._parts: list[Sample] = []
        self._missing: np.ndarray | None = None
        self._algorithm = unroll(algorithm)
        self._advance(None)
        entries = _read(log, self) if isinstance(log, str | os.PathLike) else ((None, None, s) for s in log)
        for line, request, sample in entries:
            self._replay(line, request, sample)

    def ask(self):
        """What to pull next: returns counts (K,) of pulls still wanted of each arm, or None when the algorithm is done.

        >>> from bandits_lib.fixed_confidence import rage
        >>> Lab(rage(np.eye(3), delta=0.05)).ask().tolist()
        [101, 100, 100]
        """
        return None if self._missing is None else self._missing.copy()

    def tell(self, sample: Sample):
        """Hand over rewards: a Sample of some or all of the pulls asked for; partial answers are welcome.

        sample : Sample, counts (K,) at most those asked for, sums and squares in units of reward and its square.
        Raises ValueError, and changes nothing, for pulls that were not asked for or numbers that cannot be rewards.

        >>> from bandits_lib import Sample
        >>> from bandits_lib.fixed_confidence import rage
        >>> lab = Lab(rage(np.eye(2), delta=0.05))
        >>> n = lab.ask()
        >>> lab.tell(Sample(n, n * [2.0, 0.0], n * [4.0, 0.0]))
        >>> lab.result.recommendation
        0
        """
        sample = self._check(sample)
        self.log.append(sample)
        self.requests.append(self._request)
        self._parts.append(sample)
        self._missing = left = self._missing - sample.counts
        if not left.any():
            self._advance(total(self._parts))

    def save(self, path):
        """Write the log as a csv: a first line that names the experiment, then request, arm, count, sum, squares.

        path : the file, which is replaced as a whole, so a kill leaves the old log or the new one.

        >>> from bandits_lib import Sample
        >>> from bandits_lib.fixed_confidence import rage
        >>> lab = Lab(rage(np.eye(2), delta=0.05))
        >>> lab.tell(Sample.of([0, 0, 1], [1.8, 2.3, 0.1], 2))
        >>> lab.save("log.csv")
        >>> Lab(rage(np.eye(2), delta=0.05), "log.csv").ask().tolist()
        [84, 85]
        """
        path = Path(path)
        draft = path.with_name(path.name + ".part")
        with open(draft, "w", newline="") as file:
            file.write(f"# bandits_lib log of {self.name}, experiment {self.identity}\n")
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(COLUMNS)
            for request, sample in zip(self.requests, self.log, strict=True):
                for arm in np.flatnonzero(sample.counts):
                    numbers = sample.sums[arm], sample.squares[arm]
                    writer.writerow([request, arm, sample.counts[arm], *(f"{x:.17g}" for x in numbers)])
        os.replace(draft, path)

    def _advance(self, reply):
        """Send `reply` and take the next request; one that asks for no pulls is answered at once."""
        try:
            while not (request := checked_batch(self._algorithm.send(reply))).any():
                reply = Sample(request, np.zeros(len(request)), np.zeros(len(request)))
        except StopIteration as stop:
            self._missing, self.result = None, stop.value
        else:
            self._missing, self._parts = request, []
            self._request += 1

    def _check(self, sample):
        if self._missing is None:
            raise ValueError("told rewards but the algorithm is done: nothing was asked for")
        K = len(self._missing)
        counts, sums, squares = (np.asarray(field) for field in sample)
        if not counts.shape == sums.shape == squares.shape == (K,):
            shapes = counts.shape, sums.shape, squares.shape
            raise ValueError(f"a Sample has counts, sums and squares of shape ({K},); got {shapes}")
        if not np.issubdtype(counts.dtype, np.integer) or (counts < 0).any():
            raise ValueError(f"counts must be non-negative integers; got {counts}")
        if (surplus := np.flatnonzero(counts > self._missing)).size:
            arm = int(surplus[0])
            raise ValueError(
                f"told {counts[arm]} pulls of arm {arm} but only {self._missing[arm]} were asked for: "
                "leave the surplus out"
            )
        sums, squares = sums.astype(float), squares.astype(float)
        _check_rewards(counts, sums, squares)
        return Sample(counts.astype(np.int64), sums, squares)

    def _replay(self, line, request, sample):
        where = "" if line is None else f"line {line}: "
        if request is not None and request != self._request:
            raise ValueError(f"{where}answers request {request} where the algorithm is at request {self._request}")
        try:
            self.tell(sample)
        except ValueError as error:
            raise ValueError(f"{where}{error}") from None


def _check_rewards(counts, sums, squares):
    """Refuse sums that no `counts` real rewards have: NaN, rewards of arms not pulled, squares below sum^2 / n."""
    if not (np.isfinite(sums).all() and np.isfinite(squares).all()):
        raise ValueError(f"sums and squares must be finite; got sums {sums}")
    if ((counts == 0) & ((sums != 0) | (squares != 0))).any():
        arm = int(np.argmax((counts == 0) & ((sums != 0) | (squares != 0))))
        raise ValueError(f"arm {arm} has rewards but a count of 0")
    least = sums**2 / np.maximum(counts, 1)
    if (squares < least * (1 - 1e-9) - 1e-300).any():
        arm = int(np.argmax(least - squares))
        raise ValueError(f"squares of arm {arm} is {squares[arm]:.6g}, below sum^2 / count = {least[arm]:.6g}")


def _identify(algorithm):
    """Name and hash of a fresh generator: function, arguments (arms, items, ...) and the state of its rng."""
    if not inspect.isgenerator(algorithm):
        raise ValueError(
            f"algorithm must be a generator such as rage(arms, delta=0.05); got {type(algorithm).__name__}"
        )
    if inspect.getgeneratorstate(algorithm) != inspect.GEN_CREATED:
        raise ValueError("algorithm must be fresh: this generator has already been advanced; make a new one")
    arguments = inspect.getgeneratorlocals(algorithm)
    return algorithm.__name__, fingerprint(algorithm.__qualname__, dict(sorted(arguments.items())))


def _read(path, lab):
    """(line, request, Sample) for every row of a saved log; ValueError with the line number for any misfit."""
    with open(path, newline="") as file:
        header = file.readline()
        if lab.identity not in header:
            raise ValueError(
                f"line 1: the log {path} is of another experiment: it says {header.strip()!r}, "
                f"this is {lab.name}, experiment {lab.identity} (same arms, items, arguments and rng seed are needed)"
            )
        reader = csv.reader(file)
        if tuple(next(reader, ())) != COLUMNS:
            raise ValueError(f"line 2: the columns must be {','.join(COLUMNS)}")
        for line, row in enumerate(reader, start=3):
            yield _parse(line, row, lab)


def _parse(line, row, lab):
    missing = lab.ask()
    if missing is None:
        raise ValueError(f"line {line}: the algorithm was done before this row")
    try:
        request, arm, count = (json.loads(field) for field in row[:3])
        sums, squares = (float(field) for field in row[3:])
        if not all(isinstance(number, int) for number in (request, arm, count)) or count < 1 or arm < 0:
            raise ValueError
        counts = one_pull(arm, len(missing)) * count
    except (ValueError, TypeError, IndexError):
        wanted = f"{','.join(COLUMNS)} of an arm 0..{len(missing) - 1}"
        raise ValueError(f"line {line}: {','.join(row)!r} is not {wanted}") from None
    sample = Sample(counts, np.where(counts > 0, sums, 0.0), np.where(counts > 0, squares, 0.0))
    return line, request, sample
