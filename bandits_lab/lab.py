"""Run a rule by hand: ask what to pull, tell the rewards, and keep a log.

All rewards that are told form one pool. The rule is run from its beginning, and each of its requests is answered with
the rows of the pool, arm by arm and in the order in which they were told; what is missing is the open request. This is
valid because the rewards of an arm are independent, and because the rule reads them in their order and leaves none out.
A sum of several pulls is only used whole, so its number of pulls must have been fixed beforehand. The log holds the
pool, and therefore the state: `undo` adds a record and runs the rule again.
"""

import os
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bandits_lab import diagnosis
from bandits_lab import log as logs
from bandits_lab.diagnosis import LinearityWarning
from bandits_lab.log import describe, identify
from bandits_lab.measurements import Raw, checked_sample, far_off, label, nothing, positions, raw_rows, several, summed
from bandits_lab.noise import DriftWarning, SigmaWarning, Watch
from bandits_lib.files import locked
from bandits_lib.protocol import Result, Rule, Sample, checked_batch, total, unroll

if TYPE_CHECKING:
    from bandits_lab.anytime_intervals import Standings

LETTERS = "CDFGHKLMNPRTVWXZ"  # of tickets
MANY = 10  # a Lab warns if the first request asks for more than so many times the pulls asked for with scale=None


class ReplayWarning(UserWarning):
    """The warning that a log was cut short, or that the rule now makes other requests than the log holds.

    Examples
    --------
    >>> import warnings
    >>> warnings.simplefilter("error", ReplayWarning)
    """


class Told(NamedTuple):
    """What `Lab.tell` did with the measurements that it was given."""

    counted: int
    before: int  # were told before, and do not count again
    without: int  # counted measurements without a ticket


class Lab:
    """A rule that you run by hand, with its log; `Lab(algorithm, path)` continues where you stopped.

    Parameters
    ----------
    algorithm : Rule
        A rule, for example `rage(arms, delta=0.05)`. A function of your own needs the decorator `bandits_lib.rule`.
    path : path, optional
        The log. Every result is written into it before `tell` returns; an existing log is continued. Without a path,
        nothing is written.
    names : sequence, optional
        Labels of the K arms. A log keeps the labels with which it begins, and cannot be opened with others.
    unit : str, default ""
        Unit of the reward. A log keeps the unit with which it begins, and cannot be opened with another.

    Attributes
    ----------
    watch : Watch
        What the replicates among the used measurements say about the noise.
    log : list of Sample
        The measurements that have answered requests; those told together are one Sample for each request.
    requests : list of int
        For each Sample, the number of the request that it answered.
    result : Result or None
        The answer of the algorithm; None until it is done.
    all_told : Sample or None
        All measurements that were told, also those that no request has used.
    told_tickets : dict
        The tickets that were told, with their rewards.
    told_files : set of str
        The SHA-256 of the files that were told and not taken back.
    experiment : Experiment
        The rule and its arguments.
    names : list of str or None
        Labels of the arms, as given or as in the log.
    unit : str
        Unit of the reward.

    Raises
    ------
    ValueError
        For an algorithm that is not a fresh rule or cannot be made again, for a log of another experiment (the message
        says what differs), and for a line of a log that cannot be read (with its number).

    Warns
    -----
    ReplayWarning
        If the last line of the log was cut short, or if the rule now makes other requests than the log holds. The log
        counts, and the experiment goes on.
    SigmaWarning
        If the replicates told so far contradict the rule's `sigma`.
    DriftWarning
        If rewards of the same arm, told at different times, differ by more than the noise explains.
    LinearityWarning
        When the algorithm is done, if the measurements contradict a linear model, or cannot test it.

    Notes
    -----
    Several programs may write to the same log. Each takes in what the others have written before it writes.

    Examples
    --------
    >>> from bandits_lib.fixed_confidence import rage
    >>> Lab(rage(np.eye(2), delta=0.05)).ask().tolist()
    [78, 77]
    """

    def __init__(
        self,
        algorithm: Rule,
        path: "str | os.PathLike | None" = None,
        *,
        names: Sequence | None = None,
        unit: str = "",
    ) -> None:
        labels = () if names is None else tuple(positions(names))
        self._name(identify(algorithm)._replace(names=labels, unit=_one_line(unit)))
        self._rule = algorithm  # is never advanced
        self._path: Any = None if path is None else Path(os.path.realpath(path))
        self._records, self._size, self._torn = [logs.first(self.experiment)], 0, b""
        self.watch = Watch(self.experiment.arguments)
        self._restart()
        if labels and self._K and len(labels) != self._K:
            raise ValueError(f"there must be one name for each of the {self._K} arms; got {len(labels)} names")
        if self._path is not None and self._path.exists():
            self._catch_up()
            self._look()
        else:
            self._warn_of_unit()

    @property
    def unused(self) -> int:
        """Return how many measurements no request has used yet."""
        return sum(row.count for rows in self._pool.values() for row in rows)

    def ask(self) -> Any:  # with a union with None, mypy would want a check from every caller
        """Return what to pull next.

        Returns
        -------
        (K,) int array or None
            Pulls of each arm that are still wanted; None when the algorithm is done.

        Examples
        --------
        >>> from bandits_lib.fixed_confidence import rage
        >>> Lab(rage(np.eye(3), delta=0.05)).ask().tolist()
        [91, 92, 92]
        """
        return None if self._missing is None else self._missing.copy()

    def tickets(self, order: Callable[[np.ndarray], Iterable[int]] | None = None) -> list[tuple[str, int]]:
        """Return a ticket for each measurement that is wanted; a row with a ticket counts once, however often told.

        Parameters
        ----------
        order : callable, optional
            Puts the pulls (K,) into an order: it returns the arm of each pull. By default, arm by arm.

        Returns
        -------
        list of (str, int)
            Ticket and arm of each pull that is wanted. Tickets that were given out for this request come first.

        Examples
        --------
        >>> from bandits_lib.fixed_confidence import rage
        >>> len(Lab(rage(np.eye(3), delta=0.05)).tickets())
        275
        """
        with self._writing():
            if self._missing is None:
                return []
            lacking, found = self._missing.copy(), []
            for ticket, (request, arm) in self._issued.items():
                if request == self._request and ticket not in self.told_tickets and lacking[arm]:
                    found.append((ticket, arm))
                    lacking[arm] -= 1
            if lacking.any():
                arms: Any = np.repeat(np.arange(self._K), lacking) if order is None else order(lacking)
                start = sum(request == self._request for request, _ in self._issued.values()) + 1
                key = f"{''.join(LETTERS[int(digit, 16)] for digit in self._records[0]['id'][:2])}{self._request}"
                new = [(f"{key}-{number:04d}", int(arm)) for number, arm in enumerate(arms, start)]
                self._append([self._asked(new)])
                self._repeat(self._records[-1:])
                found += new
            return found

    def tell(self, sample: Sample, *, extra: bool = False) -> Told:
        """Hand over the rewards of some or all pulls that were asked for.

        Parameters
        ----------
        sample : Sample
            Counts (K,), sums in units of reward, and sums of squares in squared units of reward; or what
            `read_measurements` returns, whose rows count one by one.
        extra : bool, default False
            Whether to take more pulls than were asked for. The surplus is kept for later requests. The guarantee
            stands: the rule has not seen it, and reads the rewards of an arm one after the other.

        Returns
        -------
        Told
            The numbers of measurements that count, that were told before and do not count again, and that count but
            have no ticket.

        Raises
        ------
        ValueError
            If pulls were not asked for, if numbers cannot be rewards, if a ticket is unknown or was told with another
            reward, or if the algorithm refuses the rewards; nothing is changed.
        OSError
            If the log cannot be written; nothing is changed.

        Warns
        -----
        SigmaWarning
            If the replicates told so far contradict the rule's `sigma`: once if it is too small, and once if it is too
            large. The Sample is taken.
        LinearityWarning
            With the last Sample, if the measurements contradict a linear model, or cannot test it.
        UserWarning
            If rows were told before, which do not count again, and if a single reward lies far from all others, such as
            a typing error.

        Examples
        --------
        >>> from bandits_lib import Sample
        >>> from bandits_lib.fixed_confidence import rage
        >>> lab = Lab(rage(np.eye(2), delta=0.05))
        >>> n = lab.ask()
        >>> lab.tell(Sample(n, n * [2.0, 0.0], n * [5.0, 1.0])).counted
        155
        >>> lab.result.recommendation
        0
        """
        with self._writing():
            told = self._hand_over(self._rows(sample), sample, lambda new: self._check_asked(new, extra))
        self._look()
        return told

    def tell_history(self, samples: Sample | Iterable[Sample], *, planned: bool = False) -> None:
        """Hand over measurements made before the experiment, each of which answers one request for its arm.

        Parameters
        ----------
        samples : Sample or iterable of Sample
            Single rewards in the order in which they were made, none left out, such as the rows of
            `read_measurements`; or sums, such as those in the `log` of another Lab.
        planned : bool, default False
            Whether the number of pulls of every sum was fixed before the first of its pulls. Sums need that; those of a
            log have it.

        Raises
        ------
        ValueError
            For numbers that cannot be rewards, for sums of pulls whose numbers were not planned, and if the algorithm
            is done. Nothing is changed.

        Warns
        -----
        UserWarning
            As for `tell`.

        Notes
        -----
        Every rule keeps its guarantee, because it reads the rewards of an arm one after the other, whoever measured
        them. The arms and the noise must be the same, and the rule and its arguments must have been chosen without
        regard to these rewards. Rewards that no request asks for are not used. A sum is used whole, when it fits, so
        rules that ask for one pull at a time do not use sums.

        Examples
        --------
        >>> from bandits_lib import Sample
        >>> from bandits_lib.fixed_confidence import rage
        >>> lab = Lab(rage(np.eye(2), delta=0.05))
        >>> lab.tell_history(Sample.of([0, 0, 1], [1.8, 2.3, 0.1], 2), planned=True)
        >>> lab.ask().tolist()
        [76, 76]
        """
        parts = [samples] if isinstance(samples, Sample) or not isinstance(samples, Iterable) else samples
        with self._writing():
            rows = [row for part in parts for row in self._rows(part)]
            self._hand_over(rows, samples, lambda new: _check_planned(new, planned))
        self._look()

    def undo(self, reason: str = "") -> str:
        """Take back the measurements that were told last.

        Parameters
        ----------
        reason : str, default ""
            The reason, for the log.

        Returns
        -------
        str
            What was taken back, in words.

        Raises
        ------
        ValueError
            If there is nothing to take back.

        Notes
        -----
        Use `undo` for errors in the records only, such as a typing error. Discarding a result because of its value
        invalidates the guarantee. The measurements stay in the log, followed by a record that takes them back.

        Examples
        --------
        >>> from bandits_lib import Sample
        >>> from bandits_lib.fixed_confidence import rage
        >>> lab = Lab(rage(np.eye(2), delta=0.05))
        >>> lab.tell(Sample.of([0, 1], [18.0, 2.3], 2)).counted
        2
        >>> lab.undo("1.8 was meant")
        'taken back: 2 measurements'
        >>> lab.ask().tolist()
        [78, 77]
        """
        with self._writing():
            if not (standing := logs.standing(self._records)):
                raise ValueError("nothing was told: there is nothing to undo")
            last = standing[-1]
            self._append([logs.record("undone", last["id"], _one_line(reason))])
            self._restart()
        self._look()
        said = several(sum(count for _, _, count, *_ in last["rows"]), "measurement")
        return f"taken back: {said}{last['file'] and ' of ' + last['file']}"

    def standings(self, **options: Any) -> "Standings":
        """Return the current leader, the items that may still be the best, and their intervals.

        Parameters
        ----------
        **options
            Options of `bandits_lab.standings`, such as `names`.

        Returns
        -------
        Standings
            Table, leader and lead.

        Raises
        ------
        ValueError
            As for `bandits_lab.standings`.

        Examples
        --------
        >>> from bandits_lib.fixed_confidence import rage
        >>> Lab(rage(np.eye(2), delta=0.05)).standings().pulls
        0
        """
        from bandits_lab.anytime_intervals import standings

        return standings(self, **options)

    def __repr__(self):
        used = f"{sum(int(sample.counts.sum()) for sample in self.log)} measurements used, {self.unused} kept for later"
        if self._missing is None:
            return f"<Lab of {self.experiment.rule}: done, the answer is lab.result.recommendation; {used}>"
        wanted = f"request {self._request} wants {self._missing.sum()} more, lab.ask() says which"
        return f"<Lab of {self.experiment.rule}: {wanted}; {used}>"

    # --- the state, which follows from the records

    def _name(self, experiment):
        self.experiment = experiment
        self.names: list[str] | None = list(experiment.names) or None
        self.unit: str = experiment.unit
        self._index = {name: row for row, name in enumerate(experiment.names)}

    def _restart(self):
        """Run the rule again from its beginning, and answer its requests from the records."""
        self.log: list[Sample] = []
        self.requests: list[int] = []
        self.result: Result | None = None
        self.all_told: Any = None  # Sample, None before the first
        self._pool: Any = defaultdict(list)  # {arm: its unused rows}; their `line` is the number of the record
        self._issued: dict[str, tuple[int, int]] = {}  # {ticket: (request, arm)}
        self.told_tickets: dict[str, float] = {}
        self.told_files: set[str] = set()
        self._asked_for = self._request = self._records_read = 0
        self._parts: list[Sample] = []
        self._missing: Any = None  # (K,), None when the algorithm is done
        self._parted = 0  # the first request of the log that the rule does not make
        said, self.watch = self.watch.said, Watch(self.experiment.arguments)
        self._algorithm = unroll(self._rule.again())
        self._K = 0
        self._advance(None)
        self._repeat(self._records)
        self.watch.message(), self.watch.drift()
        self.watch.said &= said  # warnings that still hold are not repeated

    def _repeat(self, records):
        """Take in records; what was asked while rows counted that were taken back later is not compared."""
        taken_back, void = {one["of"] for one in records if one["kind"] == "undone"}, set()
        for one in records:
            if one["kind"] == "told" and one["id"] not in taken_back:
                self._use(one)
            elif one["kind"] == "told":
                void.add(one["id"])
            elif one["kind"] == "undone":
                void.discard(one["of"])
            elif one["kind"] == "asked":
                for ticket, arm in one["tickets"]:
                    self._issued[ticket] = one["request"], self._row(arm)
                if not void:
                    self._compare(one)
            elif one["kind"] == "done" and not void and self._missing is not None:
                self._parted = self._parted or self._request

    def _compare(self, asked):
        wanted = np.zeros(self._K, np.int64)
        for arm, count in asked["wanted"]:
            wanted[self._row(arm)] = count
        same = asked["request"] == self._request and self._missing is not None and (wanted == self._missing).all()
        self._parted = self._parted or (0 if same else asked["request"])
        self._asked_for = asked["request"]

    def _use(self, told):
        """Add the rows of a record to the pool, and answer requests with it."""
        self._records_read += 1
        new = []
        for ticket, name, *row in told["rows"]:
            if ticket not in self.told_tickets:
                new.append(Raw._make((ticket, self._row(name), *row, self._records_read)))
                self._pool[new[-1].arm].append(new[-1])
            if ticket:
                self.told_tickets.setdefault(ticket, row[1])
        added = summed(new, self._K)
        self.all_told = added if self.all_told is None else total([self.all_told, added])
        if told["sha256"]:
            self.told_files.add(told["sha256"])
        self._fill()

    def _fill(self):
        """Answer requests with rows of the pool as long as some of them fit; rows told together are one Sample."""
        while self._missing is not None:
            rows = [row for arm in np.flatnonzero(self._missing).tolist() for row in self._fitting(arm)]
            if not rows:
                return
            for _, together in groupby(sorted(rows, key=attrgetter("line")), attrgetter("line")):
                part = summed(list(together), self._K)
                self._missing -= part.counts
                self.log.append(part)
                self.requests.append(self._request)
                self.watch.take(part)
                self._parts.append(part)
            if not self._missing.any():
                self._advance(total(self._parts))

    def _fitting(self, arm):
        """Take out of the pool the rows of an arm that answer the open request, and return them."""
        wanted, rows = self._missing[arm], iter(self._pool[arm])
        used: list[Raw] = []
        kept: list[Raw] = []
        while wanted and (row := next(rows, None)):
            fits = row.count <= wanted
            (used if fits else kept).append(row)
            wanted -= row.count * fits
        self._pool[arm] = [*kept, *rows]
        return used

    def _advance(self, reply):
        """Send `reply` to the rule and keep its next request; a request without pulls is answered at once."""
        try:
            request = following(self._algorithm, reply)
        except StopIteration as stop:
            self._missing, self.result = None, stop.value
        else:
            self._missing, self._parts, self._K = request.copy(), [], len(request)
            self._request += 1

    def _row(self, name):
        """Return the row of an arm, which a record has by its label or number."""
        row = self._index.get(name, name)
        if isinstance(row, int) and 0 <= row < self._K:
            return row
        raise ValueError(f"{self._path or 'the log'} has an arm {name!r}, which is not one of the arms here")

    def _label(self, arm):
        return self.names[arm] if self.names else int(arm)

    # --- writing

    @contextmanager
    def _writing(self):
        """Hold the lock of the log, and take in what others have written."""
        if self._path is None:
            yield
            return
        with locked(self._path):
            self._catch_up()
            yield

    def _catch_up(self):
        """Take in the records that are in the file and not here yet."""
        if not self._path.exists():
            if self._size:
                raise FileNotFoundError(f"{self._path} is gone: restore it, or begin another log")
            return
        new, size, torn = logs.read(self._path, self._size)
        if torn and torn != self._torn:
            warnings.warn(
                f"{self._path}: its last line, which begins with {torn[:40]!r}, has no end: no program has said that "
                "this was taken, so it does not count. If nobody else is telling results now, tell it again",
                ReplayWarning,
                stacklevel=3,
            )
        before, self._torn = self._parted, torn
        if self._size == 0 and new:
            logged, here = logs.check_same(self._path, new[0], self.experiment), self.experiment
            self._name(here._replace(names=here.names or logged.names, unit=here.unit or logged.unit))
            self._records = []
        self._records += new
        self._size = size
        if any(one["kind"] == "undone" for one in new):
            self._restart()
        else:
            self._repeat(new)
        if self._parted and not before:
            warnings.warn(
                f"{self._path}: from request {self._parted} on, the rule asks for something else than it did when the "
                "log was written (likely causes: another version of the library, rounded arms, or a changed file that "
                "the rule reads). The measurements in the log count, and the experiment goes on",
                ReplayWarning,
                stacklevel=3,
            )

    def _append(self, records):
        """Write records; the caller is in `_writing`."""
        if self._path is not None:
            new = self._records + records if self._size == 0 else records
            self._size, self._torn = logs.append(self._path, new, self._size), b""
        self._records += records

    def _asked(self, tickets=()):
        wanted = [[self._label(arm), int(self._missing[arm])] for arm in np.flatnonzero(self._missing)]
        return logs.record("asked", self._request, wanted, [[ticket, self._label(arm)] for ticket, arm in tickets])

    def _rows(self, sample):
        """Return the rows of a Sample, which `read_measurements` or the user made."""
        if not self._K:
            self._check_open()
        return getattr(sample, "rows", ()) or raw_rows(checked_sample(sample, self._K))

    def _hand_over(self, rows, given, check):
        """Take the rows that are new, if they pass a check; the caller is in `_writing`."""
        file, sha256 = getattr(given, "file", ""), getattr(given, "sha256", "")
        new = self._new(rows, sha256)
        if new:
            self._check_open()
        check(new)
        doubt, counted = far_off(new, self.all_told, self.names), sum(row.count for row in new)
        self._take(new, file, sha256)
        told = Told(counted, sum(row.count for row in rows) - counted, sum(row.count for row in new if not row.ticket))
        if told.before:
            were = f"{several(told.before, 'row')} {'was' if told.before == 1 else 'were'}"
            warnings.warn(f"{were} told before, and count once", stacklevel=3)
        if doubt:
            warnings.warn(doubt, stacklevel=3)
        return told

    def _new(self, rows, sha256):
        """Return the rows that were not told before."""
        new, told = [], dict(self.told_tickets)
        for row in rows:
            where = f"line {row.line}: " if row.line else ""
            if not row.ticket:
                new += [] if sha256 in self.told_files else [row]
                continue
            if self._issued.get(row.ticket, (0, -1))[1] != row.arm:
                raise ValueError(f"{where}{self._wrong_ticket(row)}")
            if row.count != 1:
                raise ValueError(f"{where}the ticket {row.ticket} is for one measurement; got {row.count}")
            if told.get(row.ticket, row.sum) != row.sum:
                raise ValueError(
                    f"{where}{row.ticket} was told with the reward {told[row.ticket]:.12g}, and has {row.sum:.12g} "
                    "here: correct the one that is wrong. If it is the one told before, take its file back with undo"
                )
            new += [] if row.ticket in told else [row]
            told[row.ticket] = row.sum
        return new

    def _wrong_ticket(self, row):
        if row.ticket in self._issued:
            asked, got = (self._label(arm) for arm in (self._issued[row.ticket][1], row.arm))
            return f"the ticket {row.ticket} is of {asked!r}, not of {got!r}: correct the arm or the ticket"
        return (
            f"the ticket {row.ticket} is not one of this experiment: correct it; or, if this is another measurement "
            "of the same arm, leave the ticket empty"
        )

    def _check_open(self):
        if self._missing is None:
            raise ValueError("the algorithm is done and asks for nothing: leave these rewards out")

    def _check_asked(self, rows, extra):
        """Refuse rows without a ticket that were not asked for, unless they are `extra`, and sums that do not fit."""
        left = self.ask()
        for row in sorted(rows, key=lambda row: not row.ticket):
            left[row.arm] -= row.count
            if left[row.arm] >= 0 or row.ticket:
                continue
            if not extra:
                told = sum(other.count for other in rows if other.arm == row.arm)
                raise ValueError(
                    f"told {several(told, 'measurement')} of arm {self._label(row.arm)} but only "
                    f"{self._missing[row.arm]} were asked for: leave the surplus out, or keep it for later requests "
                    "with extra=True"
                )
            if row.count > 1:
                raise ValueError(
                    f"there are more measurements than were asked for, and {row.count} of them come as one sum, which "
                    "cannot be split: tell single rewards, or leave the surplus out"
                )

    def _take(self, rows, file, sha256):
        """Use new rows and write them into the log; if the rule or the disk refuses them, nothing is changed."""
        if not rows:
            return
        told = [[row.ticket, self._label(row.arm), int(row.count), float(row.sum), float(row.squares)] for row in rows]
        records = [logs.record("told", file, sha256, told)]
        if self._asked_for != self._request:
            records.insert(0, self._asked())
        try:
            if self._rule.function.check:  # refuse now, not when the request is complete
                self._rule.function.check(summed(rows, self._K))
            self._repeat(records)
            self._append(records)
        except BaseException:
            self._restart()
            raise
        if self.result is not None:
            with suppress(OSError):  # the rows are in the log, and the result follows from them
                self._append([logs.record("done", describe(self.result.recommendation))])

    # --- warnings

    def _look(self):
        """Warn if the rewards contradict the rule's sigma, drift, or at the end are not linear; each warning once."""
        if message := self.watch.message():
            warnings.warn(message, SigmaWarning, stacklevel=3)
        if message := self.watch.drift():
            warnings.warn(message, DriftWarning, stacklevel=3)
        if self.result is not None and (message := diagnosis.message(self.experiment, self.log, self.result)):
            warnings.warn(message, LinearityWarning, stacklevel=3)

    def _warn_of_unit(self):
        """Warn if the first request of RAGE needs far more pulls than with an accuracy in units of the noise."""
        scale = self.experiment.arguments.get("scale")
        if scale is None or self._missing is None:
            return
        first, others = self._missing.sum(), following(unroll(self._rule.again(scale=None)), None).sum()
        if first > MANY * others:
            warnings.warn(
                f"the first request asks for {first:,} measurements, but would ask for {others:,} with scale=None: "
                f"{self.experiment.rule} begins with an accuracy of scale / 2 = {scale / 2:g} "
                "units of reward, which is small compared with the noise. Are rewards in percent, or in mV? Pass the "
                "largest lead that you expect as scale=..., or scale=None, which sets the accuracy from the noise",
                stacklevel=3,
            )


def following(algorithm, reply):
    """Return the next request (K,) with pulls; requests without pulls are answered at once."""
    while not (request := checked_batch(algorithm.send(reply))).any():
        reply = nothing(len(request))
    return request


def _check_planned(rows, planned):
    if large := next((row for row in rows if row.count > 1 and not planned), None):
        raise ValueError(
            f"a sum of several measurements ({large.count} of arm {large.arm}) is used only if their number "
            "was planned: give single rewards in the order in which they were made, or pass planned=True if "
            "the number of measurements of every sum was fixed before the first of them"
        )


def _one_line(reason):
    return label(" ".join(str(reason or "").replace("\0", "").split()))
