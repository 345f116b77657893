"""A person or a laboratory in the place of the simulator: ask what to pull, tell what came back."""

import os
import warnings
from collections.abc import Iterable

from bandits_lib.lab import copies, linearity, saving
from bandits_lib.lab import log as logs
from bandits_lib.lab.linearity import LinearityWarning
from bandits_lib.lab.noise import SigmaWarning
from bandits_lib.lab.replay import replay
from bandits_lib.lab.steps import Steps
from bandits_lib.protocol import Algorithm, Sample


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


SHOWN = ("delta", "budget", "sigma")


class Lab(Steps):
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
    dropped : tuple of int
        Arms that are asked for no more.
    ended : str
        Why there will be no result, if arms were dropped and the others do not do; empty otherwise.
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
    LinearityWarning
        When the algorithm is done, if the measurements contradict a linear model, or could not have done so.

    Notes
    -----
    The log holds what was asked. Where the algorithm, on another machine, asks for other pulls than it did there, what
    the log says was asked and told holds, the rule fits that, and a ReplayWarning says where.

    Examples
    --------
    >>> from bandits_lib.fixed_confidence import rage
    >>> Lab(rage(np.eye(2), delta=0.05)).ask().tolist()
    [78, 77]
    """

    def __init__(self, algorithm: Algorithm, log: "Iterable[Sample] | str | os.PathLike" = ()):
        super().__init__(algorithm)
        if isinstance(log, str | os.PathLike):
            for message in replay(self, logs.read(log), log):
                warnings.warn(message, ReplayWarning, stacklevel=2)
            self._fill()
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
        [91, 92, 92]
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
        LinearityWarning
            With the last Sample, if the measurements contradict a linear model, or could not have done so.
        UserWarning
            If the same pulls were told before, digit by digit: a file that was read twice? If the experiment ends
            without a result.

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
        message = copies.message(sample, self.log, self.requests)
        self._take(sample)
        if sample.counts.any():
            self._write(request, sample)
            self._by_hand = True
            if message:
                warnings.warn(message, stacklevel=2)
            self._fill()
        self._look()
        if self.ended:
            warnings.warn(self.ended, stacklevel=2)

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
        [76, 76]
        """
        saving.save(path, self.experiment, self._head, self._texts)

    undo, drop, close, tell_history = Steps.undo, Steps.drop, Steps.close, Steps.tell_history

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

    def __repr__(self):
        given = self.experiment.arguments
        rule = ", ".join(f"{name}={given[name]}" for name in SHOWN if isinstance(given.get(name), int | float))
        pulls = sum(int(sample.counts.sum()) for sample in self.log)
        if self._missing is None:
            said = [self.ended or f"done with {pulls} pulls, the answer is lab.result.recommendation"]
        else:
            here, wanted = sum(int(part.counts.sum()) for part in self._parts), int(self._missing.sum())
            said = [f"request {self._request} is open, {here} of its {here + wanted} pulls are told"]
            said += [f"lab.ask() says which {wanted} are wanted", f"{pulls} told in all"]
        said += [f"arms dropped: {', '.join(map(str, self.dropped))}"] if self.dropped else []
        said += [f"{len(self._stock)} pulls measured before are left"] if len(self._stock) else []
        return f"<Lab of {self.experiment.rule}({rule}): {'; '.join(said)}>"

    def __reduce__(self):
        raise TypeError("a Lab cannot be pickled or copied: lab.save(path) it, and Lab(algorithm, path) makes it again")

    def _look(self, above=1):
        """Warn if what was told contradicts the rule's sigma, or at the end its linear model; `above`: callers."""
        if message := self._watch.message():
            warnings.warn(message, SigmaWarning, stacklevel=2 + above)
        if self.result is not None and (message := linearity.message(self.experiment, self.log, self.result)):
            warnings.warn(message, LinearityWarning, stacklevel=2 + above)
