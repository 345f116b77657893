"""Keep the state of a Lab: its rule, the open request, and the answers so far.

A measurement made before the experiment is kept until a request asks for its arm, and is then used once. The rewards of
an arm are independent, so a rule may read single rewards in the order in which they were made, if none is left out. A
sum of several pulls is only used whole, so its number of pulls must have been fixed beforehand.
"""

import copy
from typing import Any

import numpy as np

from bandits_lab import log as logs
from bandits_lab.experiment import Experiment, identify
from bandits_lab.log import Row
from bandits_lab.measurements import Told, nothing, raw_rows
from bandits_lab.noise import Watch
from bandits_lib.protocol import Result, Rule, Sample, checked_batch, total, unroll

HOW = "lab.tell(Sample.of(pulled_arms, rewards, K={K})) or lab.tell(Sample(counts, sums, squares))"


class Drive:
    """A running rule with its open request and its log."""

    def __init__(self, algorithm: Rule, experiment=None):
        self._name(experiment or identify(algorithm))
        self.log: list[Sample] = []
        self.requests: list[int] = []
        self.result: Result | None = None
        self._stock = Stock()
        self._by_hand = False  # whether results of the experiment itself were told
        self._request = 0
        self._parts: list[Sample] = []
        self._missing: Any = None  # (K,), None when the algorithm is done
        self._refusal = ""
        self._rule = self._fresh = algorithm  # the running rule, and a copy that is never advanced
        self._obstacle = ""  # why the rule cannot be made again
        streams = {name: v for name, v in algorithm.arguments.items() if isinstance(v, np.random.Generator)}
        try:  # copy streams: running the rule draws from them
            self._fresh = algorithm.again(**copy.deepcopy(streams))
        except ValueError as error:
            self._obstacle = str(error)
        self._algorithm: Any = unroll(algorithm)
        self._head, self._texts = logs.head(self.experiment), list[str]()
        self._watch, self._told = Watch(self.experiment.arguments), Told()
        self._advance(None)

    def _name(self, experiment):
        self.experiment: Experiment = experiment
        self.names: list[str] | None = list(experiment.names) or None
        self.unit: str = experiment.unit

    def _write(self, request=0, sample=None, **more):
        """Write a Sample or another step into the log, with the next request or the end of the rule."""
        new = self._request > request
        done = self.result is not None and not new
        entry = logs.entry(request, sample, self._missing if new else None, done, **more)
        self._texts.append(logs.text(entry))

    def _take(self, sample):
        """Add a Sample to the answer to the open request, and advance the rule if the answer is complete."""
        missing, request = self._missing - sample.counts, self._request
        self._parts.append(sample)
        if missing.any():
            self._missing = missing
        else:
            self._advance(total(self._parts))
        self.log.append(sample)
        self.requests.append(request)
        self._watch.take(sample)
        self._told.take(sample)

    def _advance(self, reply):
        """Send `reply` to the rule and keep its next request; a request without pulls is answered at once."""
        try:
            request = following(self._algorithm, reply)
        except StopIteration as stop:
            self._missing, self.result = None, stop.value
        except Exception as error:
            self._refusal = str(error)
            raise
        else:
            self._missing, self._parts = request, []
            self._request += 1

    @property
    def _K(self):
        """Return the number of arms; the algorithm must not be done."""
        return len(self._missing)

    def _fill(self):
        """Answer requests with earlier measurements as long as some of them fit."""
        while self._missing is not None and (rows := self._stock.fitting(self._missing)):
            sample, request = sample_of(rows, self._K), self._request
            self._take(sample)
            self._stock.move(rows)
            self._write(request, sample, stock=rows)

    def _check(self, sample):
        if self._refusal:
            raise ValueError(
                f"the algorithm refused the last measurements ({self._refusal}) and cannot go on: make the Lab again "
                "from its log, which lacks these measurements; if an earlier entry is wrong, remove it with undo"
            )
        if self._missing is None:
            raise ValueError("the algorithm is done and asks for nothing: leave these rewards out")
        counts, sums, squares = checked_sample(sample, self._K)
        if self._rule.function.check:  # refuse now, not when the request is complete
            self._rule.function.check(Sample(counts, sums, squares))
        if (surplus := np.flatnonzero(counts > self._missing)).size:
            arm = int(surplus[0])
            raise ValueError(
                f"told {counts[arm]} measurements of arm {arm} but only {self._missing[arm]} were asked for: "
                "leave the surplus out"
            )
        return Sample(counts, sums, squares)


def following(algorithm, reply):
    """Return the next request (K,) with pulls; requests without pulls are answered at once."""
    while not (request := checked_batch(algorithm.send(reply))).any():
        reply = nothing(len(request))
    return request


def checked_sample(sample, K):
    """Return a Sample of K arms with checked copies of its arrays; ValueError for anything else."""
    try:
        counts, sums, squares = (np.asarray(field) for field in (sample.counts, sample.sums, sample.squares))
    except AttributeError:
        raise ValueError(f"tell takes a Sample: {_how(sample, K)}; got {type(sample).__name__}") from None
    if not counts.shape == sums.shape == squares.shape == (K,):
        shapes = counts.shape, sums.shape, squares.shape
        raise ValueError(f"counts, sums and squares of a Sample must have shape ({K},); got {shapes}")
    if not np.issubdtype(counts.dtype, np.integer) or (counts < 0).any():
        raise ValueError(f"counts must be non-negative integers; got {counts}")
    sums, squares = sums.astype(float), squares.astype(float)
    _check_rewards(counts, sums, squares)
    return Sample(counts.astype(np.int64), sums, squares)


def _how(given, K):
    """Return the call that turns the object given, a table or a path, into a Sample."""
    columns = [name for name in ("arm", "reward") if name in getattr(given, "columns", ())]
    if len(columns) == 2:
        return f"lab.tell(Sample.of(table['arm'], table['reward'], K={K})), with arms 0..{K - 1}"
    if isinstance(given, str | bytes) or hasattr(given, "__fspath__"):
        return "lab.tell(bandits_lab.read_measurements(path, names, lab.ask()))"
    return HOW.format(K=K)


def _check_rewards(counts, sums, squares):
    """Refuse impossible sums: not finite, of an arm that was not pulled, or squares below sum^2 / count."""
    if not (np.isfinite(sums).all() and np.isfinite(squares).all()):
        large = ", and squares too large: choose a larger unit of the reward" if np.isfinite(sums).all() else ""
        raise ValueError(f"sums and squares must be finite; got sums {sums}{large}")
    if ((counts == 0) & ((sums != 0) | (squares != 0))).any():
        arm = int(np.argmax((counts == 0) & ((sums != 0) | (squares != 0))))
        raise ValueError(f"arm {arm} has rewards but a count of 0: give the number of its pulls")
    least = sums**2 / np.maximum(counts, 1)
    if (squares < least * (1 - 1e-9) - 1e-300).any():
        arm = int(np.argmax(least - squares))
        raise ValueError(
            f"squares of arm {arm} is {squares[arm]:.6g}, below sum^2 / count = {least[arm]:.6g}: "
            "give the sum of the squared rewards"
        )


# --- measurements made before the experiment

WAY_OUT = (
    "give single rewards in the order in which they were made (`measurements.read_each`), or pass planned=True if the "
    "number of measurements of every sum was fixed before the first of them"
)


class Stock:
    """Earlier measurements that have not answered a request yet."""

    def __init__(self):
        self.pieces: dict[int, list[tuple[int, float, float]]] = {}  # {arm: [(count, sum, squares), ...]}

    def __len__(self):
        return sum(count for pieces in self.pieces.values() for count, *_ in pieces)

    def move(self, rows):
        """Add rows, or remove those with a negative count."""
        for row in rows:
            pieces = self.pieces.setdefault(row.arm, [])
            if row.count > 0:
                pieces.append((row.count, row.sum, row.squares))
                continue
            piece = (-row.count, 0 - row.sum, 0 - row.squares)
            if piece not in pieces:
                raise ValueError(f"line {row.line}: the row takes back measurements that no earlier row has")
            pieces.remove(piece)

    def fitting(self, missing):
        """Return the pieces that answer a request for `missing` (K,) pulls, as rows with opposite signs."""
        rows = []
        for arm in sorted(self.pieces):
            wanted = missing[arm]
            for count, added, squares in self.pieces[arm]:
                if wanted == 0:
                    break
                if count <= wanted:
                    rows.append(Row(0, 0, arm, 0, -count, 0 - added, 0 - squares))
                    wanted -= count
        return tuple(rows)


def rows_of(samples, K, planned):
    """Return the log rows of Samples that were measured before the experiment."""
    rows = []
    for sample in samples:
        counts, sums, squares = checked_sample(sample, K)
        for arm in np.flatnonzero(counts):
            if counts[arm] > 1 and not planned:
                raise ValueError(
                    f"a sum of several measurements ({counts[arm]} of arm {arm}) is used only if their number was "
                    f"planned: {WAY_OUT}"
                )
            rows.append(Row(0, 0, int(arm), 0, int(counts[arm]), float(sums[arm]), float(squares[arm])))
    return tuple(rows)


def surplus_rows(sample):
    """Return the log rows of single rewards, of which there are more than were asked for; refuse sums."""
    raw = raw_rows(sample)
    if several := next((row for row in raw if row.count > 1), None):
        raise ValueError(
            f"there are more measurements than were asked for, and {several.count} of them come as one sum, which "
            "cannot be split: tell single rewards, or leave the surplus out"
        )
    return tuple(Row(0, 0, row.arm, 0, row.count, row.sum, row.squares) for row in raw)


def sample_of(rows, K):
    """Return the Sample of rows whose signs were turned by `Stock.fitting`."""
    sample = nothing(K)
    for row in rows:
        for field, number in zip(sample, (-row.count, -row.sum, -row.squares), strict=True):
            field[row.arm] += number
    return sample
