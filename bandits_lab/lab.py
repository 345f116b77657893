"""Run a rule by hand: ask what to pull, tell the rewards, and keep a log.

A Lab also has steps for mistakes and for earlier measurements. Every such step is tried on a copy, which is made from
the log and replaces the Lab if the step succeeds. A log whose requests the rule does not reproduce is refused; a new
Lab can take over its measurements with `tell_history`.
"""

import os
import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bandits_lab import diagnosis
from bandits_lab import log as logs
from bandits_lab.diagnosis import LinearityWarning
from bandits_lab.experiment import differences, identify
from bandits_lab.measurements import far_off, label, positions, raw_rows, several, told_before
from bandits_lab.noise import DriftWarning, SigmaWarning
from bandits_lab.requests import Drive, Stock, checked_sample, following, rows_of, surplus_rows
from bandits_lib.protocol import Rule, Sample, total, unroll

if TYPE_CHECKING:
    from bandits_lab.anytime_intervals import Standings


def replay(lab, log, path):
    """Replay a `Log` into a `Lab` without results, and return the warnings; a ValueError names the line in `path`."""
    try:
        logs.check_same(log, lab.experiment)
        here, there = lab.experiment, log.experiment
        lab._name(here._replace(names=here.names or there.names, unit=here.unit or there.unit))
        lab._head, standing = log.head, logs.standing(log.entries)
        for entry in standing:
            _repeat(lab, entry)
    except ValueError as error:
        raise ValueError(f"{path}, {error}") from None
    lab._texts = list(map(logs.text, log.entries))
    if not standing:
        lab._write()
    return [f"{path}: {message}" for message in (_torn(log), _changed(log)) if message]


def _repeat(lab, entry):
    """Tell a Lab what an entry of a log holds, and refuse an entry that the rule does not reproduce."""
    lab._stock.move(entry.stock)
    lab._by_hand = lab._by_hand or bool(entry.told and not entry.stock)
    if entry.changed:
        raise _refusal(entry.line, "here an arm was dropped or a request was closed, which is no longer possible")
    if lab.result is not None:
        raise _refusal(entry.line, f"the log goes on, but here the algorithm is done after request {lab._request}")
    if entry.told:
        row = entry.told[0]
        if row.request != lab._request:
            raise _refusal(row.line, f"the row answers request {row.request}, but this is request {lab._request}")
        sample = _sample(entry.told, lab._K)
        try:
            lab._take(lab._check(sample))
        except ValueError as error:
            raise ValueError(f"line {row.line}: {error}") from None
    if entry.asked:
        _check_asked(lab, entry.asked)
    if entry.done is not None and lab.result is None:
        raise _refusal(entry.line, f"the log ends after request {entry.done}, but here the algorithm asks for more")
    if entry.marks:
        lab._told.add(entry.marks, entry.told[0].request if entry.told else 0)


def _check_asked(lab, rows):
    """Refuse a request in a log that differs from the open request."""
    line, request = rows[0].line, rows[0].request
    if lab.result is not None:
        raise _refusal(line, f"the log has a request {request}, but here the algorithm is done")
    asked = _dense(rows, "asked", lab._K)
    if request != lab._request or lab._parts:
        raise _refusal(line, f"the log has a request {request}, but here request {lab._request} is open")
    if apart := max(np.maximum(asked - lab._missing, 0).sum(), np.maximum(lab._missing - asked, 0).sum()):
        differ = f"{apart} of its {asked.sum()} measurements differ"
        raise _refusal(line, f"request {request} in the log differs from the one computed here ({differ})")


def _refusal(line, what):
    return ValueError(
        f"line {line}: {what}, so this log cannot be continued. Likely causes: {logs.MACHINE}. The log is left as it "
        "is; begin another with lab = Lab(algorithm), and hand over the measurements in this one with "
        "lab.tell_history(path)"
    )


def _changed(log):
    lines = [str(entry.line) for entry in log.entries if entry.changed_since]
    if not lines:
        return ""
    return (
        f"the entry in line {', '.join(lines)} was changed after it was written, by hand or by a spreadsheet that "
        "rounds: it counts as it stands now"
    )


def _torn(log):
    if not log.torn:
        return ""
    return (
        f"its end, {log.torn!r}, is left out: no '# end' follows, so the save that wrote it was cut short. "
        "Tell again the measurements that are still wanted, see ask(); the next save turns the end into a remark"
    )


def _measurements(path, experiment, K):
    """Return what a log of the same arms holds: earlier measurements that are left, and one Sample for each request."""
    log, stock, requests = logs.read(path), Stock(), dict[int, list[logs.Row]]()
    if clauses := differences(_only_arms(log.experiment), _only_arms(experiment)):
        raise ValueError(f"{path} holds measurements of other arms: {'; '.join(clauses)}")
    for entry in logs.standing(log.entries):
        stock.move(entry.stock)
        for row in entry.told:
            requests.setdefault(row.request, []).append(row)
    left = ([logs.Row(0, 0, arm, 0, *piece)] for arm, pieces in stock.pieces.items() for piece in pieces)
    return [_sample(rows, K) for rows in (*left, *requests.values())]


def _only_arms(experiment):
    arms = {name: value for name, value in experiment.arguments.items() if name in ("arms", "d")}
    return experiment._replace(rule="", arguments=arms, defaults={})


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
    return several(sum(row.count for row in before), "earlier measurement")


def _one_line(reason):
    """Return a reason as one line that no spreadsheet changes."""
    text = label(" ".join(str(reason or "").replace("\0", "").split())).replace('"', "'").rstrip(",; ")
    return text.encode("utf-8", "backslashreplace").decode()


class ReplayWarning(UserWarning):
    """The warning that a replayed log was cut short or changed.

    Parameters
    ----------
    message : str
        What was left out or changed, and where.

    Notes
    -----
    Either the last entry of the log was cut short, or an entry was changed after it was written.

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
        that cannot be right (with its line number), and a log with other requests than the rule makes.
    FileNotFoundError
        If there is no file at the path.

    Warns
    -----
    ReplayWarning
        If a replayed log was cut short or changed.
    SigmaWarning
        If the replicates told so far contradict the rule's `sigma`.
    DriftWarning
        If rewards of the same arm, told at different times, differ by more than the noise explains.
    LinearityWarning
        When the algorithm is done, if the measurements contradict a linear model, or cannot test it.

    Notes
    -----
    The log is the state of the experiment: it holds all requests and rewards. If the rule makes other requests than the
    log holds, for example another version of the rule, the log is refused and left as it is; a new Lab can take over
    its measurements with `tell_history`.

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
            far from all others, such as a typing error.

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
            said = [f"done with {pulls} measurements, the answer is lab.result.recommendation"]
        else:
            here, wanted = sum(int(part.counts.sum()) for part in self._parts), int(self._missing.sum())
            said = [f"request {self._request} is open, {here} of its {here + wanted} measurements are told"]
            said += [f"lab.ask() says which {wanted} are wanted", f"{pulls} told in all"]
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
        """Take back the last step: the last Sample, or earlier measurements.

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

    def tell_history(self, samples: "Sample | Iterable[Sample] | str | os.PathLike", *, planned: bool = False) -> None:
        """Hand over measurements made before the experiment, each of which answers one request for its arm.

        Parameters
        ----------
        samples : Sample, iterable of Sample, or path
            Single rewards in the order in which they were made, none left out (`measurements.read_each`); or sums; or
            the path of another log of the same arms, of which the sums of each request are used.
        planned : bool, default False
            Whether the number of pulls of every sum was fixed before the first of its pulls. Sums need that; those of a
            log have it.

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
        batches: Any = samples
        if isinstance(samples, str | os.PathLike):
            batches, planned = _measurements(samples, self.experiment, self._K), True
        if not isinstance(batches, Iterable):
            kind = type(samples).__name__
            raise ValueError(f"samples must be a Sample, an iterable of Samples or the path of a log; got {kind}")
        batches = [batches] if isinstance(batches, Sample) else list(batches)
        rows = rows_of(batches, self._K, planned)
        if not rows:
            raise ValueError("there is no measurement in samples: give at least one pull")
        self._keep(rows, [row for sample in batches for row in raw_rows(sample)], total(batches))
        if self._missing is not None and self._missing.sum() == 1 and any(row.count > 1 for row in rows):
            warnings.warn(
                f"{self.experiment.rule} asks for one measurement at a time and cannot use sums of several, so they "
                "stay unused: give single rewards in the order in which they were made",
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

    # --- refusals and warnings

    def _check_going(self):
        if self._refusal:
            self._check(None)

    def _check_open(self):
        self._check_going()
        if self._missing is None:
            raise ValueError("the algorithm is done: nothing is asked for")

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
