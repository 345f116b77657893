"""Rows that were told before: a file read twice, yesterday's rows in today's file, a sorted copy, a part.

The log keeps the arm and a hash of every row. A Lab warns of rows that agree with earlier ones if chance does not
explain them. Two bounds on that chance hold for rewards of an arm that are independent:

By number. In any order, so many of m rows agree with a binomial probability. A row agrees with one of n earlier rows of
its arm with probability at most 1 - exp(-n p), where p = step / (sqrt(2 pi) s) bounds the chance of any one value: the
rewards are whole multiples of `step`, and s is the smaller of the rule's sigma and the standard deviation of the
replicates. Rows of reward 0, and those for which p is above COARSE, do not count. If rows of one arm agree within a
file, p is at least (ties + 1) / (pairs + 1). Unequal chances have a smaller tail than equal ones with their mean
(Hoeffding 1956).

By order. An earlier file in the new one, or the new one in it, row by row. Whatever the distributions, the chance of
this file is at most that under the frequencies of the values of each arm in it; it is multiplied by the number of
places at which it could lie.
"""

from collections import Counter, defaultdict
from math import exp, log, pi, sqrt
from typing import NamedTuple
from zlib import crc32

import numpy as np
from scipy.special import bdtrc

from bandits_lab.noise import within
from bandits_lib.protocol import Sample, total

CHANCE = 1e-3  # of a warning without a cause, of each file; half of it for each bound
LEAST = 3  # pulls in the rows that agree
COARSE = 0.1  # chance that two rows agree, above which only their order tells
RUN = 6  # rows of the shortest file that is looked for by its order
TENS = 10.0 ** np.arange(16)
PARTS = np.concatenate([[1e-3, 1e-2, 0.1, 0.2, 0.5], np.arange(1.0, 1001.0), TENS[4:]])
MANY = 500  # values that are enough to find their step


class Raw(NamedTuple):
    """One row as it was told."""

    arm: int
    count: int  # type: ignore[assignment]
    sum: float
    squares: float
    more: str = ""  # what other columns say

    @property
    def mark(self) -> str:
        """Arm and hash, as the log keeps them."""
        said = f"{self.count},{self.sum + 0.0:.17g},{self.squares + 0.0:.17g},{self.more}"
        return f"{self.arm}:{crc32(said.encode('utf-8', 'backslashreplace')):08x}"


class Measured(Sample):
    """A Sample that knows the rows of its file."""

    rows: tuple[Raw, ...] = ()


def raw_rows(sample):
    """Return the rows of a file, or one for each arm of a Sample that was told directly."""
    if rows := getattr(sample, "rows", ()):
        return rows
    counts, sums, squares = map(np.asarray, sample)
    return tuple(Raw(int(k), int(counts[k]), float(sums[k]), float(squares[k])) for k in np.flatnonzero(counts))


class Told:
    """All rows that were told and not taken back."""

    def __init__(self):
        self.requests = defaultdict(list)  # {mark: numbers of the requests that its rows answered}
        self.rows: Counter[int] = Counter()  # {arm: its rows}
        self.pairs = self.ties = 0  # of rows of one arm in one file; those that agree
        self.files: list[tuple[int, list[str]]] = []  # request and marks
        self.places = defaultdict(list)  # {hash of RUN marks: (file, first row)}
        self.lengths: Counter[int] = Counter()  # {rows: files}
        self.sample = None  # Sample of everything

    def take(self, sample):
        """Add a Sample to the replicates."""
        self.sample = sample if self.sample is None else total([self.sample, sample])

    def add(self, marks, request):
        """Add the rows of a file."""
        arms = Counter(arm_of(mark) for mark in marks)
        self.rows += arms
        self.pairs += twos(arms)
        self.ties += twos(Counter(marks))
        for mark in marks:
            self.requests[mark].append(request)
        if len(marks) >= RUN:
            for i, run in enumerate(runs(marks)):
                self.places[run].append((len(self.files), i))
            self.files.append((request, list(marks)))
            self.lengths[len(marks)] += 1


def arm_of(mark):
    return int(mark.partition(":")[0])


def twos(numbers):
    """Return how many pairs there are within groups."""
    return sum(n * (n - 1) // 2 for n in numbers.values())


def runs(marks):
    return [hash(tuple(marks[i : i + RUN])) for i in range(len(marks) - RUN + 1)]


def told_before(rows, sample, told, sigma):
    """Return a warning if rows were told before, which chance does not explain; or an empty text."""
    marks = [row.mark for row in rows]
    new: Counter[str] = Counter()
    agree = np.zeros(len(rows), bool)
    requests: set[int] = set()
    for i, mark in enumerate(marks):
        new[mark] += 1
        agree[i] = new[mark] <= len(told.requests.get(mark, ()))
        if agree[i]:
            requests.add(told.requests[mark][new[mark] - 1])
    if sum(row.count for row, again in zip(rows, agree, strict=True) if again) < LEAST:
        return ""
    if by_number(rows, agree, sample, told, sigma) > CHANCE / 2:
        agree, requests = by_order(rows, marks, told)
    if not agree.any():
        return ""
    return (
        f"{agree.sum()} of these {len(rows)} rows were told before ({answered(requests)}): "
        "has the same file been read twice? Then lab.undo() takes them back"
    )


def answered(requests):
    """Return in words which requests rows answered."""
    numbers = [str(request) for request in sorted(requests) if request]
    before = ["before the experiment"] if 0 in requests else []
    said = [f"in answer to request{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}"] if numbers else []
    return " and ".join(before + said)


def by_number(rows, agree, sample, told, sigma):
    """Return the chance that so many rows agree with earlier ones, in any order."""
    counts, sums = (np.array([getattr(row, name) for row in rows], float) for name in ("count", "sum"))
    s = spread(sample, told, sigma)
    if not s:
        return 1.0
    p = step(sums) / (sqrt(2 * pi) * s * np.sqrt(counts))
    arms = Counter(row.arm for row in rows)
    fine = (p <= COARSE) & (sums != 0)
    if ties := told.ties + twos(Counter(row[:4] for row in rows)):
        p = np.maximum(p, (ties + 1) / (told.pairs + twos(arms) + 1))
    pulls = counts[fine & agree].sum()
    if pulls < LEAST:
        return 1.0
    met = -np.expm1(-p * [told.rows[row.arm] for row in rows])
    return float(bdtrc(int((fine & agree).sum()) - 1, int(fine.sum()), met[fine].mean()))


def spread(sample, told, sigma):
    """Return the smaller of sigma and the standard deviation of the replicates; 0 if both are unknown."""
    parts = [within(part) for part in (sample, told.sample) if part is not None]
    squares, df, _ = map(sum, zip(*parts, strict=True))
    known = [sigma] if sigma else []
    return min([*known, sqrt(squares / df)] if df else known, default=0.0)


def step(values):
    """Return the largest step, down to thousandths and below these a power of ten, of which all values are rounded."""
    values = np.unique(np.abs(values[values != 0]))[:MANY]
    if not len(values):
        return 1.0
    exact = (_off(values, TENS) <= 0).all(axis=0)
    blur = 0.5 / TENS[np.argmax(exact)] if exact.any() else 0.0  # half a unit of the last digit
    fits = (_off(values, PARTS) <= PARTS * blur).all(axis=0)
    return float(1 / PARTS[np.argmax(fits)]) if fits.any() else float(np.spacing(values[-1]))


def _off(values, parts):
    """How far values are from whole multiples of 1 / parts, in these, beyond what rounding explains."""
    scaled = values[:, None] * parts
    return np.abs(scaled - np.rint(scaled)) - 1e-12 * np.maximum(scaled, 1.0)


def by_order(rows, marks, told):
    """Return which rows lie in a file told before, or hold one, in its order; and the requests these answered."""
    found = np.zeros(len(rows), bool)
    requests: set[int] = set()
    if len(rows) < RUN or likelihood(rows) > CHANCE / 2:
        return found, requests
    places = sum(files * (abs(len(rows) - length) + 1) for length, files in told.lengths.items())
    for i, run in enumerate(runs(marks)):
        for file, first in told.places.get(run, ()):
            request, earlier = told.files[file]
            inside = earlier[first : first + len(marks)] == marks if i == 0 else False
            around = marks[i : i + len(earlier)] == earlier if first == 0 else False
            end = len(marks) if inside else i + len(earlier)
            if (inside or around) and places * likelihood(rows[i:end]) < CHANCE / 2:
                found[i:end] = True
                requests.add(request)
    return found, requests


def likelihood(rows):
    """Return the chance of the rewards of rows, under the frequencies with which they occur in each arm."""
    arms, values = Counter(row.arm for row in rows), Counter(row[:4] for row in rows)
    return exp(sum(n * log(n) for n in values.values()) - sum(n * log(n) for n in arms.values()))
