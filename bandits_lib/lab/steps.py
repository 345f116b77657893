"""What happens in a laboratory beside results: mistakes, arms that run out, pulls that fail, earlier measurements.

Every step is tried on a copy, made once more from the log, which takes the Lab's place when all went well.
"""

import warnings

import numpy as np

from bandits_lib.lab import entries
from bandits_lib.lab import log as logs
from bandits_lib.lab.drive import Drive, checked_sample
from bandits_lib.lab.dropping import check_left, checked_arms
from bandits_lib.lab.guarantees import UNPROVED, after, going_on
from bandits_lib.lab.replay import replay
from bandits_lib.lab.stock import rows_of


class Steps(Drive):
    """The steps of a `Lab` that are no results."""

    def undo(self, reason=""):
        """Take the last step back: what was told last, or a drop, a closed request, or what was measured before.

        Parameters
        ----------
        reason : str, default ""
            Why, for the log.

        Returns
        -------
        str
            What was taken back.

        Raises
        ------
        ValueError
            If there is nothing to take back.

        Notes
        -----
        For an error that is found in the records, such as a typing error, not for a result that one does not like:
        which results stand must not depend on what they are. The step stays in the log, with its sign turned after it.

        Examples
        --------
        >>> from bandits_lib import Sample
        >>> from bandits_lib.fixed_confidence import rage
        >>> lab = Lab(rage(np.eye(2), delta=0.05))
        >>> lab.tell(Sample.of([0, 1], [18.0, 2.3], 2))
        >>> lab.undo("1.8 was meant")
        'taken back: 2 pulls told in answer to request 1'
        >>> lab.ask().tolist()
        [78, 77]
        """
        self._check_going()
        standing = entries.standing(self._log_so_far().entries)
        last = next((i for i in range(len(standing) - 1, 0, -1) if not (standing[i].told and standing[i].stock)), 0)
        if last == 0:
            raise ValueError("nothing was told: there is nothing to undo")
        text = entries.text(entries.undoing(standing[last:], _one_line(reason)))
        if self._recipe.obstacle:
            self._texts.append(text)
            self._refusal = f"it was taken back in the log, but {self._recipe.obstacle}"
            warnings.warn(
                f"the last step is taken back in the log, but this Lab cannot go on: {self._recipe.obstacle}. Save it, "
                "and open the log with Lab(algorithm, path) and a fresh algorithm",
                stacklevel=2,
            )
        else:
            self._become(self._again(text))
        return f"taken back: {_told(standing[last:])}"

    def drop(self, arms, reason=""):
        """Ask for some arms no more; the open request is planned anew without them, and what was told of it counts.

        Parameters
        ----------
        arms : int or (n,) sequence of int
            Rows of the arms that are not available any more. They are still ranked, by what the others tell of them.
        reason : str, default ""
            Why, for the log.

        Raises
        ------
        ValueError
            For a rule whose guarantee would fall or that cannot go on (`bandits_lib.lab.guarantees` has all of them),
            and where the arms left cannot tell the items in play apart: it says what is known. Nothing is changed.

        Warns
        -----
        UserWarning
            If the rule promises no confidence that could stand.

        Notes
        -----
        For reasons that have nothing to do with the rewards: a bottle broke, a page was taken down. An arm that is
        dropped because it did badly takes the guarantee with it.

        Examples
        --------
        >>> from bandits_lib.fixed_confidence import rage
        >>> lab = Lab(rage(np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]), delta=0.05))
        >>> lab.drop(1, "out of stock")
        >>> lab.ask()[1].item()
        0
        """
        self._check_open()
        found = going_on(self.experiment, self._request)
        gone = checked_arms(arms, self._K, self.dropped)
        check_left(self, (*self.dropped, *gone))
        lab = self._again()
        before, request = lab._missing, lab._request
        lab._plan_without(gone)
        lab._changed(request, before, dropped=gone, reason=_one_line(reason))
        self._become(lab)
        self._warn_unproved(found)

    def close(self, reason=""):
        """Answer the open request with the pulls that were told: the others can never be made.

        Parameters
        ----------
        reason : str, default ""
            Why, for the log.

        Raises
        ------
        ValueError
            If nothing was told in answer to it, if the rule needs all of its pulls, or cannot use those it has. Nothing
            is changed.

        Warns
        -----
        UserWarning
            If the rule promises no confidence that could stand.

        Notes
        -----
        That they are missing must not depend on what they would have been: readings beyond the range of an instrument
        are not missing, they are large.

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
        found = after(self.experiment, self._request)
        if not found.closes:
            raise ValueError(f"{self.experiment.rule} needs all pulls of this request: {found.why}")
        if not self._parts:
            raise ValueError(
                f"nothing was told in answer to request {self._request}: there is nothing to close it with"
            )
        lab = self._again()
        before, request = lab._missing, lab._request
        lab._missing = np.zeros_like(before)
        lab._changed(request, before, reason=_one_line(reason))
        self._become(lab)
        self._warn_unproved(found)

    def tell_history(self, samples, *, planned=False):
        """Hand over measurements made before the experiment; each answers a request that asks for it, once.

        Parameters
        ----------
        samples : Sample or iterable of Sample
            Single rewards in the order in which they were made, none left out (`measurements.read_each`), or sums.
        planned : bool, default False
            The number of pulls of every arm was fixed before the first of them. Sums of several pulls need that.

        Raises
        ------
        ValueError
            After the first result of the experiment itself, for numbers that cannot be rewards, and for sums whose
            numbers were not planned. Nothing is changed.

        Warns
        -----
        UserWarning
            For sums, if the rule asks for one pull at a time: it cannot use them.

        Notes
        -----
        Any rule keeps its guarantee: it reads the rewards of an arm one after the other, whoever measured them when.
        The conditions: the same arms, the same noise, and neither the rule nor its arguments were chosen by what the
        rewards were. What no request asks for is not used; a sum is told whole, when it fits.

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
            raise ValueError("measurements made before come first: make a new Lab, and tell them before other results")
        rows = rows_of(samples, self._K, planned, checked_sample)
        if not rows:
            raise ValueError("there is no measurement in what was handed over")
        lab = self._again(entries.text(entries.Entry((), stock=rows)))
        lab._fill()
        self._become(lab)
        if self._missing is not None and self._missing.sum() == 1 and any(row.count > 1 for row in rows):
            warnings.warn(
                f"{self.experiment.rule} asks for one pull at a time and cannot use sums of several: they are kept, "
                "unused. Rules that take them from the beginning have an argument history=",
                stacklevel=2,
            )

    # --- steps on a copy, which takes this Lab's place when all went well

    def _log_so_far(self, more=""):
        return logs.parse((self._head + "".join(self._texts) + more).encode())

    def _again(self, more=""):
        """This Lab once more, from its log and perhaps an entry more."""
        lab = object.__new__(type(self))
        Drive.__init__(lab, self._recipe.make(), self.experiment)
        replay(lab, self._log_so_far(more), "the log")
        return lab

    def _become(self, lab):
        lab._watch.message()
        lab._watch.said &= self._watch.said  # what still holds was said before, what is new was not
        self.__dict__ = lab.__dict__
        self._look(above=2)

    def _look(self, above=1):
        """Warn of what the measurements contradict: a Lab does."""

    def _changed(self, request, before, dropped=(), reason=""):
        """Enter what the open request wants more or less than `before`, and go on if nothing is missing."""
        missing = np.zeros_like(before) if self._missing is None else self._missing
        if not missing.any() and self._missing is not None:
            self._end()
        changed = entries.changes(request, missing - before, dropped)
        self._write(request, changed=changed, dropped=tuple(dropped), reason=reason)
        self._fill()

    # --- what is refused, and what is warned of

    def _check_going(self):
        if self._refusal:
            self._check(None)

    def _check_open(self):
        self._check_going()
        if self._missing is None:
            raise ValueError(self.ended or "the algorithm is done: nothing is asked for")

    def _warn_unproved(self, found):
        if found.why in UNPROVED:
            warnings.warn(f"{self.experiment.rule} goes on; {found.why}", stacklevel=3)


def _told(steps):
    """What entries of a log that belong together say, in words."""
    told = [row for entry in steps if not entry.stock for row in entry.told]
    before = [row for entry in steps if not entry.told for row in entry.stock]
    if told:
        return f"{sum(row.count for row in told)} pulls told in answer to request {told[0].request}"
    pulls = sum(row.count for row in before)
    return f"{pulls} pulls measured before" if pulls else "a step that changed what is asked"


def _one_line(reason):
    return " ".join(str(reason).split())
