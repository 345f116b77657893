"""Rows that were told before: a file read twice, yesterday's rows in today's file, a sorted copy, a part.

The log keeps the arm and a hash of every row. A Lab warns of rows that agree with earlier ones if chance does not
explain them, in one of two ways. Both suppose that the rewards of an arm are independent.

By number. A row agrees with one of n others of its arm with probability at most 1 - exp(-n p), where p = step / (sqrt(2
pi) s) bounds the chance of any one value: the rewards are whole multiples of `step`, and s is the smaller of the rule's
sigma and the standard deviation of the replicates (of a sum of n pulls sqrt(n) times that of these). Rows of reward 0,
and those for which p is above COARSE (of sums: 5 COARSE), do not count. If rows of one arm agree within one of the
files compared, p is at least (ties + 1) / (pairs + 1). So the number of rows that agree, in any order, has a binomial
bound (unequal chances have a smaller tail than equal ones with their mean, Hoeffding 1956): of the rows of the new file
those that agree with any earlier one, or with one file; and of the rows of one file those that agree with the new.

By order. An earlier file in the new one, or the new one in it, row by row. Given the earlier one, the chance of its
values follows from Dirichlet priors of each arm around the frequencies of all arms, with concentrations SPREADS: arms
whose rewards never change keep to themselves. It is shared out to the places at which a file could lie, half of it to
those where both begin.
"""

from collections import Counter, defaultdict
from math import pi, sqrt
from typing import NamedTuple
from zlib import crc32

import numpy as np
from scipy.special import bdtrc, gammaln, logsumexp

from bandits_lab.noise import within
from bandits_lib.protocol import Sample, total

CHANCE = 1e-3  # of a warning without a cause, for each file
LEAST = 3  # pulls in the rows that agree
COARSE = 0.1  # chance that two rows agree, above which only their order tells
RUN = 6  # rows of the shortest file that is looked for by its order
TENS = 10.0 ** np.arange(16)
PARTS = np.concatenate([[1e-3, 1e-2, 0.1, 0.2, 0.5], np.arange(1.0, 1001.0), TENS[4:]])
FEW, MANY = 3, 500  # values that may be tens by chance, and that are enough to find their step
SPREADS = np.array([[0.01], [0.1], [1.0], [3.0], [10.0], [100.0]])
NEAREST = 10  # of the files, those that share most rows with the new one


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
        self.of = defaultdict(list)  # {mark: files of its rows}
        self.rows: Counter[int] = Counter()  # {arm: its rows}
        self.files: list[tuple[int, list[str]]] = []  # number of the request and marks
        self.places = defaultdict(list)  # {hash of RUN marks: (file, first row)}
        self.lengths: Counter[int] = Counter()  # {rows: files}
        self.sample = None  # Sample of everything

    def take(self, sample):
        """Add a Sample to the replicates."""
        self.sample = sample if self.sample is None else total([self.sample, sample])

    def add(self, marks, request):
        """Add the rows of a file."""
        self.rows.update(map(arm_of, marks))
        for mark in marks:
            self.of[mark].append(len(self.files))
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
    agree, files = np.zeros(len(rows), bool), set()
    for i, mark in enumerate(marks):
        new[mark] += 1
        if new[mark] <= len(told.of.get(mark, ())):
            agree[i] = True
            files.add(told.of[mark][new[mark] - 1])
    if sum(row.count for row, again in zip(rows, agree, strict=True) if again) < LEAST:
        return ""
    if by_number(rows, agree, sample, told, sigma) > CHANCE:
        agree, files = by_order(rows, marks, told)
    if not agree.any():
        return ""
    return (
        f"{agree.sum()} of these {len(rows)} rows were told before ({answered({told.files[f][0] for f in files})}): "
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
    counts, sums, squares = np.array([row[1:4] for row in rows], float).T
    if not (s := spread(sample, told, sigma)):
        return 1.0
    own = np.sqrt(np.maximum(squares - sums * (sums / counts), 0.0) / np.maximum(counts - 1, 1.0))
    width = np.sqrt(2 * pi * counts) * np.where(counts > 1, np.minimum(own, s), s)
    p = step(sums) / np.maximum(width, 1e-300)
    fine = (p <= np.where(counts > 1, 5 * COARSE, COARSE)) & (sums != 0)
    if counts[fine & agree].sum() < LEAST:
        return 1.0
    rest, p = [row for row, is_fine in zip(rows, fine, strict=True) if is_fine], p[fine]
    arms, new = Counter(row.arm for row in rest), Counter(row.mark for row in rest)
    shared = Counter(file for mark in new for file in told.of.get(mark, ()))
    nearest = [told.files[file][1] for file, _ in shared.most_common(NEAREST)]
    if ties := twos(Counter(row[:4] for row in rest)) + sum(twos(Counter(marks)) for marks in nearest):
        pairs = twos(arms) + sum(twos(Counter(map(arm_of, marks))) for marks in nearest)
        p = np.maximum(p, (ties + 1) / (pairs + 1))
    chance = 2 * _tail((fine & agree).sum(), p, [told.rows[row.arm] for row in rest])
    for marks in nearest:
        there, same = Counter(map(arm_of, marks)), (new & Counter(marks)).total()
        one = _tail(same, p, [there[row.arm] for row in rest])
        other = _tail(same, p.max(), [arms[arm_of(mark)] for mark in marks])
        chance = min(chance, 4 * len(told.files) * one, 4 * len(told.files) * other)
    return chance


def _tail(same, p, others):
    """The chance that so many rows agree with others of their arms, of which there are `others`."""
    met = -np.expm1(-p * np.array(others))
    return float(bdtrc(int(same) - 1, len(met), met.mean()))


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
    parts = PARTS if len(values) >= FEW else PARTS[PARTS >= 1]
    fits = (_off(values, parts) <= np.where(parts * blur < 0.2, parts * blur, 0.0)).all(axis=0)
    return float(1 / parts[np.argmax(fits)]) if fits.any() else float(np.spacing(values[-1]))


def _off(values, parts):
    """How far values are from whole multiples of 1 / parts, in these, beyond what rounding explains."""
    scaled = values[:, None] * parts
    return np.abs(scaled - np.rint(scaled)) - 1e-12 * np.maximum(scaled, 1.0)


def by_order(rows, marks, told):
    """Return which rows lie in a file told before, or hold one, in its order; and these files."""
    found = np.zeros(len(rows), bool)
    files: set[int] = set()
    if len(rows) < RUN or likelihood(rows) > CHANCE:
        return found, files
    places = sum(number * (abs(len(rows) - length) + 1) for length, number in told.lengths.items())
    for i, run in enumerate(runs(marks)):
        for file, first in told.places.get(run, ()):
            _, earlier = told.files[file]
            inside = i == 0 and earlier[first : first + len(marks)] == marks
            around = first == 0 and marks[i : i + len(earlier)] == earlier
            end = len(marks) if inside else i + len(earlier)
            share = 2 * (len(told.files) if i == first == 0 else places)
            if (inside or around) and share * likelihood(rows[i:end]) < CHANCE:
                found[i:end] = True
                files.add(file)
    return found, files


def likelihood(rows):
    """Return the chance that the rewards of rows come once more in their order, given that they came once."""
    arms, cells = Counter(row.arm for row in rows), Counter(row[:4] for row in rows)
    values = Counter(row[1:4] for row in rows)
    n, c = np.array([*arms.values()]), np.array([*cells.values()])
    base = SPREADS * np.array([values[cell[1:]] / len(rows) for cell in cells])

    def chance(times):  # that they come so many times
        inside = (gammaln(base + times * c) - gammaln(base)).sum(axis=1)
        return logsumexp(inside + (gammaln(SPREADS) - gammaln(SPREADS + times * n)).sum(axis=1))

    return float(np.exp(chance(2) - chance(1)))
