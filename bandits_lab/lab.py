"""Run a rule by hand: ask what to pull, tell the rewards, and keep a log.

A Lab also has steps for mistakes, arms that run out, pulls that fail, and earlier measurements. Every such step is
tried on a copy, which is made from the log and replaces the Lab if the step succeeds. The requests and rewards in a log
count as they were written, even if the algorithm would ask for other pulls today.
"""

import os
import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bandits_lab import diagnosis
from bandits_lab import log as logs
from bandits_lab.diagnosis import LinearityWarning
from bandits_lab.dropping import UNPROVED, check_left, checked_arms, following, going_on
from bandits_lab.experiment import identify
from bandits_lab.measurements import far_off, label, positions, raw_rows, several, told_before
from bandits_lab.noise import DriftWarning, SigmaWarning
from bandits_lab.requests import Drive, checked_sample, rows_of, surplus_rows
from bandits_lib.protocol import Rule, Sample, total, unroll

if TYPE_CHECKING:
    from bandits_lab.anytime_intervals import Standings


def replay(lab, log, path):
    """Replay a `Log` into a `Lab` without results, and return the warnings; a ValueError names the line in `path`."""
    story = _Story(lab, log)
    try:
        logs.check_same(log, lab.experiment)
        here, there = lab.experiment, log.experiment
        lab._name(here._replace(names=here.names or there.names, unit=here.unit or there.unit))
        standing = logs.standing(log.entries)
        for entry in standing:
            story.take(entry)
        if len(standing) < len(log.entries):
            lab._texts = list(map(logs.text, log.entries))
    except ValueError as error:
        raise ValueError(f"{path}, {error}") from None
    return [f"{path}: {message}" for message in story.finish()]


class _Story:
    """The replay of a log into a Lab, with the places where the algorithm differs from the log."""

    def __init__(self, lab, log):
        self.lab, self.log = lab, log
        self.differing: list[tuple[int, int, int]] = []  # (request, pulls that differ, pulls asked for)
        self.outlived: int | None = None  # pulls in the log after the algorithm was done here
        self.undone = False  # whether the algorithm was done in the log, but not here
        self.asked = 0  # the last request in the log
        lab._head = log.head

    def take(self, entry):
        """Replay one entry: what was told or changed, then what was asked."""
        lab = self.lab
        lab._stock.move(entry.stock)
        lab._by_hand = lab._by_hand or bool(entry.told and not entry.stock)
        if lab.result is not None:
            self._outlive(entry)
        elif entry.told:
            self._tell(entry.told)
        elif entry.changed:
            self._change(entry)
        if entry.asked and lab.result is None:
            self._hold(entry)
        elif entry.asked:
            self.outlived = self.outlived or 0
        self.undone = entry.done is not None and lab.result is None
        if entry.marks:
            lab._told.add(entry.marks, entry.told[0].request if entry.told else 0)
        lab._texts.append(logs.text(entry))

    def _tell(self, rows):
        self._check_request(rows)
        try:
            self.lab._take(self.lab._check(_sample(rows, len(self.lab._missing))))
        except ValueError as error:
            cause = (
                f" (the log's requests differ from those computed here; likely causes: {logs.MACHINE})"
                if self.differing
                else ""
            )
            raise ValueError(f"line {rows[0].line}: {error}{cause}") from None

    def _change(self, entry):
        """Change the pulls of the open request, after arms were dropped or the request was closed."""
        self._check_request(entry.changed)
        lab, line = self.lab, entry.changed[0].line
        held = lab._missing + _dense(entry.changed, "asked", lab._K)
        if (held < 0).any():
            raise ValueError(
                f"line {line}: asks for {held.min()} measurements of arm {int(np.argmin(held))}, a negative number"
            )
        try:
            if entry.dropped:
                lab._plan_without(entry.dropped)
            if lab.result is None:
                self._compare(held, np.zeros_like(held) if not entry.dropped else lab._missing)
                lab._missing = held
                if not held.any():
                    lab._end()
        except ValueError as error:
            raise ValueError(f"line {line}: {error}") from None

    def _compare(self, held, computed):
        """Record by how much a request in the log differs from the one computed here."""
        apart = max(np.maximum(held - computed, 0).sum(), np.maximum(computed - held, 0).sum())
        if apart:
            self.differing.append((self.lab._request, int(apart), int(held.sum())))

    def _hold(self, entry):
        """Replace the request computed here by the one in the log."""
        lab, rows = self.lab, entry.asked
        self._check_request(rows)
        computed, asked = lab._missing, _dense(rows, "asked", len(lab._missing))
        self._compare(asked, computed)
        lab._missing, self.asked = asked, lab._request

    def _check_request(self, rows):
        row = next((row for row in rows if row.request != self.lab._request), None)
        if row is not None:
            verb = "answers" if row.count > 0 else "makes"
            at = self.lab._request
            raise ValueError(
                f"line {row.line}: the row {verb} request {row.request}, but the algorithm is at request {at}"
            )

    def _outlive(self, entry):
        """Keep the rewards that were told after the algorithm was done."""
        if entry.told:
            log = self.lab.log
            sample = _sample(entry.told, len(log[0].counts) if log else 1 + max(row.arm for row in entry.told))
            log.append(sample)
            self.lab.requests.append(entry.told[0].request)
            self.outlived = (self.outlived or 0) + int(sample.counts.sum())

    def finish(self):
        """Enter the request or the end that the log lacks, and return the warnings."""
        lab = self.lab
        if lab.result is None and self.asked < lab._request:
            lab._texts.append(logs.text(logs.entry(lab._request - 1, asked=lab._missing)))
        elif lab.result is not None and lab._request and not any(e.done is not None for e in self.log.entries):
            if self.outlived is None:
                lab._texts.append(logs.text(logs.entry(lab._request, done=True)))
        return [message for message in (self._torn(), self._changed(), self._differs(), self._ends()) if message]

    def _changed(self):
        lines = [str(entry.line) for entry in self.log.entries if entry.changed_since]
        if not lines:
            return ""
        return (
            f"the entry in line {', '.join(lines)} was changed after it was written, by hand or by a spreadsheet that "
            "rounds: it counts as it stands now"
        )

    def _torn(self):
        if not self.log.torn:
            return ""
        return (
            f"its end, {self.log.torn!r}, is left out: no '# end' follows, so the save that wrote it was cut short. "
            "Tell again the measurements that are still wanted, see ask(); the next save turns the end into a remark"
        )

    def _differs(self):
        if not self.differing:
            return ""
        (request, apart, pulls), *later = self.differing
        more = f", and {len(later)} later requests differ too" if later else ""
        return (
            f"request {request} in the log differs from the one that the algorithm computes here ({apart} of its "
            f"{pulls} measurements differ{more}). The requests and rewards in the log count, and the rule fits those. "
            f"Likely causes: {logs.MACHINE}"
        )

    def _ends(self):
        end = f"after request {self.lab._request}"
        if self.outlived is not None:
            return (
                f"here the algorithm is done {end}, though the log goes on: its {self.outlived} further measurements "
                f"are kept and have no part in the result. Likely causes: {logs.MACHINE}"
            )
        if self.undone:
            before = f"after request {self.asked}"
            return f"the algorithm was done {before}, but here it asks for more. Likely causes: {logs.MACHINE}"
        return ""


def _sample(rows, K):
    counts = _dense(rows, "count", K)
    return Sample(counts, _dense(rows, "sum", K), _dense(rows, "squares", K))


def _dense(rows, field, K):
    """Return the sums of one field of rows as an array (K,)."""
    values = np.zeros(K, np.int64 if field in ("asked", "count") else float)
    for row in rows:
        if row.arm >= K:
            raise ValueError(f"line {row.line}: arm {row.arm} is not one of 0..{K - 1}")
        values[row.arm] += getattr(row, field)
    return values


def _told(steps):
    """Return in words what entries of a log that belong together did."""
    told = [row for entry in steps if not entry.stock for row in entry.told]
    before = [row for entry in steps if not entry.told for row in entry.stock]
    if told:
        return f"{several(sum(row.count for row in told), 'measurement')} told in answer to request {told[0].request}"
    pulls = sum(row.count for row in before)
    return several(pulls, "earlier measurement") if pulls else "a step that changed what is asked"


def _one_line(reason):
    """Return a reason as one line that no spreadsheet changes."""
    text = label(" ".join(str(reason or "").replace("\0", "").split())).replace('"', "'").rstrip(",; ")
    return text.encode("utf-8", "backslashreplace").decode()


class ReplayWarning(UserWarning):
    """The warning that a replayed log differs from what the algorithm computes here, or was cut short or changed.

    Parameters
    ----------
    message : str
        What differs, where, and the likely cause.

    Notes
    -----
    Either the algorithm computes other requests than the log holds, or the last entry of the log was cut short, or an
    entry was changed after it was written.

    Examples
    --------
    >>> import warnings
    >>> warnings.simplefilter("error", ReplayWarning)
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)


SHOWN = ("delta", "budget", "sigma")
MANY = 10  # a Lab warns if the first request asks for more than so many times the pulls asked for with scale=None


class Lab(Drive):
    """A rule that you run by hand, with its log; `Lab(algorithm, log)` continues where you stopped.

    Parameters
    ----------
    algorithm : Rule
        A rule, for example `rage(arms, delta=0.05)`. A function of your own needs the decorator `bandits_lib.rule`.
    log : iterable of Sample, or path, default ()
        Samples told before, or the path of a csv written by `save`. They are replayed into the rule.
    names : sequence of str, optional
        Labels of the K arms. A log keeps the labels with which it begins, and cannot be opened with others.
    unit : str, default ""
        Unit of the reward. A log keeps the unit with which it begins, and cannot be opened with another.

    Attributes
    ----------
    log : list of Sample
        The Samples that were told so far.
    requests : list of int
        For each Sample, the number of the request that it answered.
    result : Result or None
        The answer of the algorithm; None until it is done.
    dropped : tuple of int
        Arms that are not asked for any more.
    ended : str
        Why there will be no result, if arms were dropped and the others do not suffice; empty otherwise.
    experiment : Experiment
        The rule and its arguments.
    names : list of str or None
        Labels of the arms, as given or as in the log.
    unit : str
        Unit of the reward.

    Raises
    ------
    ValueError
        For an algorithm that is not a fresh rule, a log of another experiment (the message says what differs), a row
        that cannot be right (with its line number), and pulls other than those asked for, if the rule cannot use them.
    FileNotFoundError
        If there is no file at the path.

    Warns
    -----
    ReplayWarning
        If a replayed log differs from what the algorithm computes here, or was cut short or changed.
    SigmaWarning
        If the replicates told so far contradict the rule's `sigma`.
    DriftWarning
        If rewards of the same arm, told at different times, differ by more than the noise explains.
    LinearityWarning
        When the algorithm is done, if the measurements contradict a linear model, or cannot test it.

    Notes
    -----
    The log is the state of the experiment: it holds all requests and rewards. If the rule asks for other pulls on
    another machine, those in the log are used, with their rewards, and a ReplayWarning says where the pulls differ.

    Examples
    --------
    >>> from bandits_lib.fixed_confidence import rage
    >>> Lab(rage(np.eye(2), delta=0.05)).ask().tolist()
    [78, 77]
    """

    def __init__(
        self,
        algorithm: Rule,
        log: "Iterable[Sample] | str | os.PathLike" = (),
        *,
        names: Sequence | None = None,
        unit: str = "",
    ) -> None:
        labels = () if names is None else tuple(positions(names))
        super().__init__(algorithm, identify(algorithm)._replace(names=labels, unit=_one_line(unit)))
        if labels and self._missing is not None and len(labels) != self._K:
            raise ValueError(f"there must be one name for each of the {self._K} arms; got {len(labels)} names")
        if isinstance(log, str | os.PathLike):
            for message in replay(self, logs.read(log), log):
                warnings.warn(message, ReplayWarning, stacklevel=2)
            self._fill()
            self._look()
        else:
            self._warn_of_unit()
            self._write()
            for sample in log:
                self.tell(sample)

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

    def tell(self, sample: Sample, *, keep: bool = False) -> None:
        """Hand over the rewards of some or all pulls that were asked for.

        Parameters
        ----------
        sample : Sample
            Counts (K,), at most those asked for unless `keep` is set, sums in units of reward, and sums of squares in
            squared units of reward.
        keep : bool, default False
            Whether to keep single rewards beyond those asked for, in the order of `read_measurements`, for later
            requests.
            The guarantee stands: the rule has not seen them, and reads the rewards of an arm one after the other.

        Raises
        ------
        ValueError
            If pulls were not asked for, or if numbers cannot be rewards; nothing is changed. Also if the algorithm
            refuses the rewards; the log does not contain them, and you can make the Lab again from the log.

        Warns
        -----
        SigmaWarning
            If the replicates told so far contradict the rule's `sigma`: once if it is too small, and once if it is too
            large. The Sample is taken.
        LinearityWarning
            With the last Sample, if the measurements contradict a linear model, or cannot test it.
        UserWarning
            If rows were told before and chance does not explain it, such as a file read twice; if a single reward lies
            far from all others, such as a typing error; if the experiment ends without a result.

        Examples
        --------
        >>> from bandits_lib import Sample
        >>> from bandits_lib.fixed_confidence import rage
        >>> lab = Lab(rage(np.eye(2), delta=0.05))
        >>> n = lab.ask()
        >>> lab.tell(Sample(n, n * [2.0, 0.0], n * [5.0, 1.0]))
        >>> lab.result.recommendation
        0
        """
        if keep and self._missing is not None:
            checked = checked_sample(sample, self._K)
            if (checked.counts > self._missing).any():
                self._keep(surplus_rows(sample), raw_rows(sample), checked)
                return
        given, sample, request = sample, self._check(sample), self._request
        rows = raw_rows(given)
        messages = self._doubts(rows, sample)
        self._take(sample)
        if sample.counts.any():
            marks = tuple(row.mark for row in rows)
            self._told.add(marks, request)
            self._write(request, sample, marks=marks)
            self._by_hand = True
            for message in messages:
                warnings.warn(message, stacklevel=2)
            self._fill()
        self._look()
        if self.ended:
            warnings.warn(self.ended, stacklevel=2)

    def save(self, path: str | os.PathLike) -> None:
        """Write the log as a csv that a person can read, or add the new entries to it.

        Parameters
        ----------
        path : path or str
            The file. Its entries are never replaced; the entries that are missing there are appended.

        Raises
        ------
        ValueError
            If the file holds results that this Lab was not told (another Lab has saved there), another experiment, or
            no log. The file is left as it is.
        FileNotFoundError, PermissionError, TimeoutError
            If the file cannot be written.

        Notes
        -----
        If the program is killed while it writes, nothing that was saved before is lost. The docstring of
        `bandits_lab.log` shows a file.

        Examples
        --------
        >>> from bandits_lib import Sample
        >>> from bandits_lib.fixed_confidence import rage
        >>> lab = Lab(rage(np.eye(2), delta=0.05))
        >>> lab.tell(Sample.of([0, 0, 1], [1.8, 2.3, 0.1], 2))
        >>> lab.save("log.csv")
        >>> Lab(rage(np.eye(2), delta=0.05), "log.csv").ask().tolist()
        [76, 76]
        """
        logs.save(path, self.experiment, self._head, self._texts)

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
        given = self.experiment.arguments
        rule = ", ".join(f"{name}={given[name]}" for name in SHOWN if isinstance(given.get(name), int | float))
        pulls = sum(int(sample.counts.sum()) for sample in self.log)
        if self._missing is None:
            said = [self.ended or f"done with {pulls} measurements, the answer is lab.result.recommendation"]
        else:
            here, wanted = sum(int(part.counts.sum()) for part in self._parts), int(self._missing.sum())
            said = [f"request {self._request} is open, {here} of its {here + wanted} measurements are told"]
            said += [f"lab.ask() says which {wanted} are wanted", f"{pulls} told in all"]
        said += [f"arms dropped: {', '.join(map(str, self.dropped))}"] if self.dropped else []
        said += [f"{len(self._stock)} earlier measurements are left"] if len(self._stock) else []
        return f"<Lab of {self.experiment.rule}({rule}): {'; '.join(said)}>"

    def __reduce__(self):
        raise TypeError(
            "a Lab cannot be pickled or copied: use lab.save(path), and make it again with Lab(algorithm, path)"
        )

    def _look(self, above=1):
        """Warn if the rewards contradict the rule's sigma, drift, or at the end are not linear, `above` callers up."""
        if message := self._watch.message():
            warnings.warn(message, SigmaWarning, stacklevel=2 + above)
        if message := self._watch.drift():
            warnings.warn(message, DriftWarning, stacklevel=2 + above)
        if self.result is not None and (message := diagnosis.message(self.experiment, self.log, self.result)):
            warnings.warn(message, LinearityWarning, stacklevel=2 + above)

    def undo(self, reason: str = "") -> str:
        """Take back the last step: the last Sample, a drop, a closed request, or earlier measurements.

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
        invalidates the guarantee. The step stays in the log, followed by the same rows with opposite signs.

        Examples
        --------
        >>> from bandits_lib import Sample
        >>> from bandits_lib.fixed_confidence import rage
        >>> lab = Lab(rage(np.eye(2), delta=0.05))
        >>> lab.tell(Sample.of([0, 1], [18.0, 2.3], 2))
        >>> lab.undo("1.8 was meant")
        'taken back: 2 measurements told in answer to request 1'
        >>> lab.ask().tolist()
        [78, 77]
        """
        self._check_going()
        standing = logs.standing(self._log_so_far().entries)
        last = next((i for i in range(len(standing) - 1, 0, -1) if not (standing[i].told and standing[i].stock)), 0)
        if last == 0:
            raise ValueError("nothing was told: there is nothing to undo")
        text = logs.text(logs.undoing(standing[last:], _one_line(reason)))
        if self._obstacle:
            self._texts.append(text)
            self._refusal = f"they were taken back in the log, but {self._obstacle}"
            warnings.warn(
                f"the last step is taken back in the log, but this Lab cannot go on: {self._obstacle}. Save it, "
                "and open the log with Lab(algorithm, path) and a fresh algorithm",
                stacklevel=2,
            )
        else:
            self._become(self._again(text))
        return f"taken back: {_told(standing[last:])}"

    def drop(self, arms: int | Sequence[int], reason: str = "") -> None:
        """Stop asking for some arms, and plan the open request again without them; its rewards so far count.

        Parameters
        ----------
        arms : int or (n,) sequence of int
            Rows of the arms that are not available any more. They are still ranked, from all rewards.
        reason : str, default ""
            The reason, for the log.

        Raises
        ------
        ValueError
            If the rule cannot go on or would lose its guarantee, and if the arms left cannot distinguish the items in
            play; the message then says what is known. Nothing is changed.

        Warns
        -----
        UserWarning
            If no guarantee covers what the rule does from now on.

        Notes
        -----
        The reason must not depend on the rewards: a bottle broke, or a page was taken down. If you drop an arm because
        its rewards were low, the guarantee is void.

        Examples
        --------
        >>> from bandits_lib.fixed_confidence import rage
        >>> lab = Lab(rage(np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]), delta=0.05))
        >>> lab.drop(1, "out of stock")
        >>> lab.ask()[1].item()
        0
        """
        self._check_open()
        found = going_on(self)
        gone = checked_arms(arms, self._K, self.dropped)
        check_left(self, (*self.dropped, *gone))
        lab = self._again()
        before, request = lab._missing, lab._request
        lab._plan_without(gone)
        lab._changed(request, before, dropped=gone, reason=_one_line(reason))
        self._become(lab)
        self._warn_unproved(found)

    def close(self, reason: str = "") -> None:
        """Close the open request with the pulls told so far, when the others can never be made.

        Parameters
        ----------
        reason : str, default ""
            The reason, for the log.

        Raises
        ------
        ValueError
            If nothing was told in answer to the request, if the rule needs all of its pulls, or if the rule cannot use
            the pulls that were told. Nothing is changed.

        Warns
        -----
        UserWarning
            If no guarantee covers what the rule does from now on.

        Notes
        -----
        Whether a pull is missing must not depend on its reward. A reading beyond the range of an instrument is not
        missing; it is large.

        Examples
        --------
        >>> from bandits_lib import Sample
        >>> from bandits_lib.fixed_confidence import rage
        >>> lab = Lab(rage(np.eye(2), delta=0.05))
        >>> lab.tell(Sample(np.array([78, 71]), np.array([156.0, 0.0]), np.array([390.0, 71.0])))
        >>> lab.close("six wells spilt")
        >>> lab.result.recommendation
        0
        """
        self._check_open()
        found = self._after
        if not found.closes:
            raise ValueError(f"{self.experiment.rule} needs all measurements of this request: {found.why}")
        if not self._parts:
            raise ValueError(
                f"nothing was told in answer to request {self._request}: tell some of its measurements before you "
                "close it"
            )
        lab = self._again()
        before, request = lab._missing, lab._request
        lab._missing = np.zeros_like(before)
        lab._changed(request, before, reason=_one_line(reason))
        self._become(lab)
        self._warn_unproved(found)

    def tell_history(self, samples: Sample | Iterable[Sample], *, planned: bool = False) -> None:
        """Hand over measurements made before the experiment, each of which answers one request for its arm.

        Parameters
        ----------
        samples : Sample or iterable of Sample
            Single rewards in the order in which they were made, none left out (`measurements.read_each`); or sums.
        planned : bool, default False
            Whether the number of pulls of every arm was fixed before the first pull. Sums of several pulls need that.

        Raises
        ------
        ValueError
            If the experiment already has a result of its own, for numbers that cannot be rewards, and for sums of
            pulls whose numbers were not planned. Nothing is changed.

        Warns
        -----
        UserWarning
            For sums, if the rule asks for one pull at a time and therefore cannot use them.

        Notes
        -----
        Every rule keeps its guarantee, because it reads the rewards of an arm one after the other, whoever measured
        them. The arms and the noise must be the same, and the rule and its arguments must have been chosen without
        regard to these rewards. Rewards that no request asks for are not used. A sum is used whole, when it fits.

        Examples
        --------
        >>> from bandits_lib import Sample
        >>> from bandits_lib.fixed_confidence import rage
        >>> lab = Lab(rage(np.eye(2), delta=0.05))
        >>> lab.tell_history(Sample.of([0, 0, 1], [1.8, 2.3, 0.1], 2), planned=True)
        >>> lab.ask().tolist()
        [76, 76]
        """
        self._check_open()
        if self._by_hand:
            raise ValueError(
                "earlier measurements must come first: make a new Lab, and pass them to tell before any other results"
            )
        if not isinstance(samples, Iterable):
            raise ValueError(f"samples must be a Sample or an iterable of Samples; got {type(samples).__name__}")
        several = [samples] if isinstance(samples, Sample) else list(samples)
        rows = rows_of(several, self._K, planned)
        if not rows:
            raise ValueError("there is no measurement in samples: give at least one pull")
        self._keep(rows, [row for sample in several for row in raw_rows(sample)], total(several))
        if self._missing is not None and self._missing.sum() == 1 and any(row.count > 1 for row in rows):
            warnings.warn(
                f"{self.experiment.rule} asks for one measurement at a time and cannot use sums of several, so they "
                "stay unused. Some rules take sums from the beginning, through their argument history=",
                stacklevel=2,
            )

    def _keep(self, rows, raw, sample):
        """Add rows of the log to the stock of earlier measurements, and answer requests from it."""
        messages = self._doubts(raw, sample)
        lab = self._again(logs.text(logs.new(stock=rows, marks=tuple(row.mark for row in raw))))
        lab._fill()
        self._become(lab)
        for message in messages:
            warnings.warn(message, stacklevel=3)

    def _doubts(self, rows, sample):
        """Return warnings about rows that were told before, or that lie far from all others."""
        before, told = self._told.sample, told_before(rows, sample, self._told, self._watch.sigma)
        return [text for text in (told, far_off(rows, before, self.names)) if text]

    # --- steps on a copy, which replaces this Lab if the step succeeds

    def _log_so_far(self, more=""):
        return logs.parse(logs.to_bytes(self._head + "".join(self._texts) + more))

    def _again(self, more=""):
        """Return a copy of this Lab, made from its log and perhaps one more entry."""
        lab = object.__new__(type(self))
        Drive.__init__(lab, self._fresh.again(), self.experiment)
        replay(lab, self._log_so_far(more), "the log")
        return lab

    def _become(self, lab):
        lab._watch.message(), lab._watch.drift()
        lab._watch.said &= self._watch.said  # warnings that still hold are not repeated
        self.__dict__ = lab.__dict__
        self._look(above=2)

    def _changed(self, request, before, dropped=(), reason=""):
        """Enter the changes of the open request since `before`, and advance the rule if no pull is missing."""
        missing = np.zeros_like(before) if self._missing is None else self._missing
        if not missing.any() and self._missing is not None:
            self._end()
        changed = logs.changes(request, missing - before, dropped)
        self._write(request, changed=changed, dropped=tuple(dropped), reason=reason)
        self._fill()

    # --- refusals and warnings

    def _check_going(self):
        if self._refusal:
            self._check(None)

    def _check_open(self):
        self._check_going()
        if self._missing is None:
            raise ValueError(self.ended or "the algorithm is done: nothing is asked for")

    def _warn_of_unit(self):
        """Warn if the first request of RAGE needs far more pulls than with an accuracy in units of the noise."""
        scale = self.experiment.arguments.get("scale")
        if scale is None or self._missing is None:
            return
        first, others = self._missing.sum(), following(unroll(self._fresh.again(scale=None)), None).sum()
        if first > MANY * others:
            warnings.warn(
                f"the first request asks for {first:,} measurements, but would ask for {others:,} with scale=None: "
                f"{self.experiment.rule} begins with an accuracy of scale / 2 = {scale / 2:g} "
                "units of reward, which is small compared with the noise. Are rewards in percent, or in mV? Pass the "
                "largest lead that you expect as scale=..., or scale=None, which sets the accuracy from the noise",
                stacklevel=3,
            )

    def _warn_unproved(self, found):
        if found.why in UNPROVED:
            warnings.warn(f"{self.experiment.rule} goes on; {found.why}", stacklevel=3)
