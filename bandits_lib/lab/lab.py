"""A person or a laboratory in the place of the simulator: ask what to pull, tell what came back."""

import os
import warnings
from collections.abc import Iterable

import numpy as np

from bandits_lib.lab import entries, saving
from bandits_lib.lab import log as logs
from bandits_lib.lab.experiment import identify
from bandits_lib.lab.noise import SigmaWarning, Watch
from bandits_lib.lab.replay import replay
from bandits_lib.protocol import Algorithm, Result, Sample, checked_batch, total, unroll

HOW = "lab.tell(Sample.of(pulled_arms, rewards, K={K})) or lab.tell(Sample(counts, sums, squares))"


class ReplayWarning(UserWarning):
    """A log was replayed, but not all is as when it was written.

    Parameters
    ----------
    message : str
        Which, where, and why, as a rule.

    Notes
    -----
    The algorithm computes other requests here than the log holds, or the log's last entry was cut short.

    Examples
    --------
    >>> import warnings
    >>> warnings.simplefilter("error", ReplayWarning)
    """

    def __init__(self, message):
        super().__init__(message)


class Lab:
    """Drive any algorithm by hand. The log is the state: `Lab(algorithm, log)` continues where you stopped.

    Parameters
    ----------
    algorithm : generator
        Fresh generator of a rule, for example `rage(arms, delta=0.05)`.
    log : iterable of Sample, or path, default ()
        Samples told before, or the path of a csv written by `save`; replayed into the algorithm.

    Attributes
    ----------
    log : list of Sample
        What was told so far.
    requests : list of int
        Number of the request that each of them answered.
    result : Result or None
        None until the algorithm is done.
    experiment : Experiment
        Rule and arguments.

    Raises
    ------
    ValueError
        For an algorithm that is no fresh generator, a log of another experiment (it says what differs), a row that
        cannot be right (with its line number), and pulls that the rule cannot use in the place of those it asks for.
    FileNotFoundError
        If there is no file at the path.

    Warns
    -----
    ReplayWarning
        If a log is replayed and not all is as when it was written.
    SigmaWarning
        If the replicates told so far contradict the rule's `sigma`.

    Notes
    -----
    The log holds what was asked. Where the algorithm, on another machine, asks for other pulls than it did there, what
    the log says was asked and told holds, the rule fits that, and a ReplayWarning says where.

    Examples
    --------
    >>> from bandits_lib.fixed_confidence import rage
    >>> Lab(rage(np.eye(2), delta=0.05)).ask().tolist()
    [86, 86]
    """

    def __init__(self, algorithm: Algorithm, log: "Iterable[Sample] | str | os.PathLike" = ()):
        self.experiment = identify(algorithm)
        self.log: list[Sample] = []
        self.requests: list[int] = []
        self.result: Result | None = None
        self._request = 0
        self._parts: list[Sample] = []
        self._missing: np.ndarray | None = None
        self._refusal = ""
        self._algorithm = unroll(algorithm)
        self._head, self._texts = logs.head(self.experiment), list[str]()
        self._watch = Watch(self.experiment.arguments)
        self._advance(None)
        if isinstance(log, str | os.PathLike):
            for message in replay(self, logs.read(log), log):
                warnings.warn(message, ReplayWarning, stacklevel=2)
            self._look()
        else:
            self._write()
            for sample in log:
                self.tell(sample)

    def ask(self):
        """What to pull next.

        Returns
        -------
        (K,) int array or None
            Pulls still wanted of each arm; None when the algorithm is done.

        Examples
        --------
        >>> from bandits_lib.fixed_confidence import rage
        >>> Lab(rage(np.eye(3), delta=0.05)).ask().tolist()
        [101, 100, 100]
        """
        return None if self._missing is None else self._missing.copy()

    def tell(self, sample: Sample):
        """Hand over rewards: a Sample of some or all of the pulls asked for; partial answers are welcome.

        Parameters
        ----------
        sample : Sample
            Counts (K,), at most those asked for, with sums and squares in units of reward and its square.

        Raises
        ------
        ValueError
            For pulls that were not asked for or numbers that cannot be rewards: nothing is changed. For rewards that
            the algorithm refuses: they stay out of the log (make the Lab again from it).

        Warns
        -----
        SigmaWarning
            If the replicates told so far contradict the rule's `sigma`, once for each direction; the Sample is taken.

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
        sample, request = self._check(sample), self._request
        self._take(sample)
        if sample.counts.any():
            self._write(request, sample)
        self._look()

    def save(self, path):
        """Write the log as a csv that a person can read (`bandits_lib.lab.log` shows one), or add to it what is new.

        Parameters
        ----------
        path : path or str
            The file. What stands in it is never replaced: it must be the beginning of this log.

        Raises
        ------
        ValueError
            If the file holds what this Lab was not told (another Lab has saved there), another experiment, or no log;
            it is left as it is.
        FileNotFoundError, PermissionError, TimeoutError
            If it cannot be written.

        Notes
        -----
        A kill at any byte loses nothing that was saved before.

        Examples
        --------
        >>> from bandits_lib import Sample
        >>> from bandits_lib.fixed_confidence import rage
        >>> lab = Lab(rage(np.eye(2), delta=0.05))
        >>> lab.tell(Sample.of([0, 0, 1], [1.8, 2.3, 0.1], 2))
        >>> lab.save("log.csv")
        >>> Lab(rage(np.eye(2), delta=0.05), "log.csv").ask().tolist()
        [84, 85]
        """
        saving.save(path, self.experiment, self._head, self._texts)

    def standings(self, **options):
        """What is known now: who leads, who may still be the best, with intervals; it prints and plots itself.

        Parameters
        ----------
        **options
            `names` of the items, and what else `lab.standings.standings` takes.

        Returns
        -------
        Standings
            Table, leader and lead.

        Raises
        ------
        ValueError
            As `lab.standings.standings`.

        Examples
        --------
        >>> from bandits_lib.fixed_confidence import rage
        >>> Lab(rage(np.eye(2), delta=0.05)).standings().pulls
        0
        """
        from bandits_lib.lab.standings import standings

        return standings(self, **options)

    def _write(self, request=0, sample=None):
        """Enter a Sample that has just been taken in, and the request or the end that it led to."""
        new = self._request > request
        done = self.result is not None and not new
        self._texts.append(entries.text(entries.entry(request, sample, self._missing if new else None, done)))

    def _take(self, sample):
        """Add a Sample to the answer of the open request, and go on if that is complete."""
        missing, request = self._missing - sample.counts, self._request
        self._parts.append(sample)
        if missing.any():
            self._missing = missing
        else:
            self._advance(total(self._parts))
        self.log.append(sample)
        self.requests.append(request)
        self._watch.take(sample)

    def _look(self):
        """Warn if the replicates contradict the rule's sigma."""
        if message := self._watch.message():
            warnings.warn(message, SigmaWarning, stacklevel=3)

    def _advance(self, reply):
        """Send `reply` and take the next request; one that asks for no pulls is answered at once."""
        try:
            while not (request := checked_batch(self._algorithm.send(reply))).any():
                reply = Sample(request, np.zeros(len(request)), np.zeros(len(request)))
        except StopIteration as stop:
            self._missing, self.result = None, stop.value
        except Exception as error:
            self._refusal = str(error)
            raise
        else:
            self._missing, self._parts = request, []
            self._request += 1

    def _check(self, sample):
        if self._refusal:
            raise ValueError(
                f"the algorithm refused what it was told last ({self._refusal}) and cannot go on: "
                "make the Lab again from its log, which is without it"
            )
        if self._missing is None:
            raise ValueError("told rewards but the algorithm is done: nothing was asked for")
        K = len(self._missing)
        try:
            counts, sums, squares = (np.asarray(field) for field in (sample.counts, sample.sums, sample.squares))
        except AttributeError:
            raise ValueError(f"tell takes a Sample: {HOW.format(K=K)}; got {type(sample).__name__}") from None
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
