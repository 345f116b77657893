"""How an algorithm and the world talk: an algorithm is a generator that yields what to pull.

- counts (K,), integers: a batch; arm k is pulled counts[k] times, the reply is one `Sample`
- `Loop(choose, update, state)`: pull by pull, until `choose` returns -1; the reply is None

It returns `Result(recommendation, history)`. The world counts the pulls, so no algorithm can misreport
its sample complexity. `bandits_lib.play` is the simulator; `bandits_lab.Lab` puts a person in its place.
"""

from collections.abc import Callable, Generator, Iterable
from typing import Any, NamedTuple

import numpy as np

NO_LIMIT = np.iinfo(np.int64).max


class Sample(NamedTuple):
    """Rewards of a batch, aggregated per arm: all that least squares needs, whatever the number of pulls.

    Attributes
    ----------
    counts : (K,) int array
        Pulls of each arm.
    sums : (K,) array
        Sum of the rewards of each arm.
    squares : (K,) array
        Sum of the squared rewards of each arm.

    Examples
    --------
    >>> Sample(np.array([2, 0]), np.array([3.0, 0.0]), np.array([5.0, 0.0])).counts.tolist()
    [2, 0]
    """

    counts: np.ndarray
    sums: np.ndarray
    squares: np.ndarray

    @classmethod
    def of(cls, pulled_arms, rewards, K):
        """Aggregate raw rewards: pull i was of arm `pulled_arms[i]` and returned `rewards[i]`.

        Parameters
        ----------
        pulled_arms : (n,) array_like of int
            Rows of the arms pulled, in [0, K).
        rewards : (n,) array_like
            Finite rewards of these pulls.
        K : int
            Number of arms.

        Returns
        -------
        Sample
            Their counts, sums and squares.

        Raises
        ------
        ValueError
            For lengths that differ, arms that are no integers or out of range, and rewards that are not finite.

        Examples
        --------
        >>> Sample.of([0, 0, 1], [1.0, 2.0, 0.5], 3).sums.tolist()
        [3.0, 0.5, 0.0]
        """
        pulled_arms, rewards = np.atleast_1d(pulled_arms), np.atleast_1d(np.asarray(rewards, dtype=float))
        if pulled_arms.shape != rewards.shape or pulled_arms.ndim != 1:
            raise ValueError(
                f"pulled_arms and rewards must be equally long; got shapes {pulled_arms.shape} and {rewards.shape}"
            )
        if not np.isfinite(rewards).all():
            raise ValueError(f"rewards must be finite; reward {int(np.argmin(np.isfinite(rewards)))} is not")
        if pulled_arms.size and not (np.issubdtype(pulled_arms.dtype, np.integer)):
            raise ValueError(f"pulled_arms must be integers (rows of arms); got {pulled_arms.dtype}")
        if ((pulled_arms < 0) | (pulled_arms >= K)).any():
            raise ValueError(f"pulled_arms must lie in 0..{K - 1}; got {pulled_arms.min()}..{pulled_arms.max()}")
        where = pulled_arms.astype(np.int64)
        return cls(
            np.bincount(where, minlength=K),
            np.bincount(where, rewards, minlength=K),
            np.bincount(where, rewards**2, minlength=K),
        )


class Loop(NamedTuple):
    """Pull `choose(state)` until it is negative, telling each reward to `update(state, arm, reward)`.

    Then the generator decides what comes next. A log that is replayed may hold another arm than `choose` has returned.
    """

    choose: Callable  # compiled by numba: (state) -> arm, or -1 when this loop is over
    update: Callable  # compiled by numba: (state, arm, reward) -> None
    state: Any  # a NamedTuple that both work on, among its fields `counts` (K,)


class Round(NamedTuple):
    """One phase of a phased rule, as kept in `Result.history`."""

    index: int  # type: ignore[assignment]  # from 1 (0 and below: a burn-in before the phases)
    active: np.ndarray  # (m,) rows of the items still in play when the phase began
    counts: np.ndarray  # (K,) pulls of each arm in this phase
    design_value: float  # of the phase's design, a squared norm per unit of pulls
    lower_bound: float  # certificate of the design's value
    width: float  # largest confidence width of a comparison with the leader, in units of reward
    theta_hat: np.ndarray  # (d,) the phase's estimate


class Trace(NamedTuple):
    """A look at a per-pull rule, as kept in `Result.history` when `trace=` asks for it."""

    pulls: int  # made so far
    counts: np.ndarray  # (K,) pulls of each arm so far
    statistic: float  # of the stopping rule, which stops when this passes the threshold; the units are the rule's
    threshold: float
    leader: int  # row of the leading item; on the sphere a unit vector


class Result(NamedTuple):
    """What an algorithm returns: its recommendation and how it came about.

    Attributes
    ----------
    recommendation : int, (M,) bool array, (d,) array or VarianceEstimate
        Row of an item, as a rule; of level sets whether each item is in, on the sphere a unit vector, of variance
        estimators a `VarianceEstimate`.
    history : tuple of Round or Trace, default ()
        What the algorithm kept of its way.

    Examples
    --------
    >>> Result(3).history
    ()
    """

    recommendation: Any
    history: tuple = ()


class Run(NamedTuple):
    """One played experiment, as `play` returns it."""

    result: Result | None  # None if the experiment was cut off
    counts: np.ndarray  # (K,) pulls of each arm
    stopped: bool  # whether the algorithm returned by itself


Algorithm = Generator[Any, Sample | None, Result]


def total(samples: Iterable[Sample]) -> Sample:
    """The Sample of several batches together (`+` on two Samples would concatenate the tuples).

    Parameters
    ----------
    samples : iterable of Sample
        At least one.

    Returns
    -------
    Sample
        The sum of their fields.

    Examples
    --------
    >>> from bandits_lib import Sample
    >>> day = Sample.of([0, 1], [1.0, 2.0], 2)
    >>> total([day, day]).counts.tolist()
    [2, 2]
    """
    first, *rest = samples
    counts, sums, squares = (np.array(field) for field in first)
    for sample in rest:
        counts, sums, squares = counts + sample.counts, sums + sample.sums, squares + sample.squares
    return Sample(counts, sums, squares)


def one_pull(arm: int, K: int) -> np.ndarray:
    """Return the batch (K,) that asks for a single pull of `arm`."""
    counts = np.zeros(K, dtype=np.int64)
    counts[arm] = 1
    return counts


def unroll(algorithm: Algorithm) -> Algorithm:
    """Return the same algorithm with every Loop opened into single pulls, so that batches are all it asks for."""
    reply = None
    while True:
        try:
            request = algorithm.send(reply)
        except StopIteration as stop:
            return stop.value
        if not isinstance(request, Loop):
            reply = yield request
            continue
        while (arm := request.choose(request.state)) >= 0:
            sample = yield one_pull(arm, len(request.state.counts))
            assert sample is not None
            if sample.counts[arm] != 1 or sample.counts.sum() != 1:
                arm = _pulled(sample)
            request.update(request.state, arm, float(sample.sums[arm]))
        reply = None


def _pulled(sample):
    """The arm of a single pull."""
    if sample.counts.sum() != 1:
        raise ValueError(
            f"{sample.counts.sum()} pulls at once, where this rule pulls one by one: they cannot be replayed"
        )
    return int(np.argmax(sample.counts))


def checked_batch(request: Any, K: int | None = None) -> np.ndarray:
    """Return a request as (K,) int64 counts; raise ValueError for anything but non-negative integers."""
    batch = np.asarray(request)
    right_shape = batch.ndim == 1 and (K is None or len(batch) == K)
    if not right_shape or not np.issubdtype(batch.dtype, np.integer) or (batch < 0).any():
        raise ValueError(
            f"an algorithm must yield a Loop or (K,) non-negative integers, got {request!r}"
            " (a generator here means that `yield from` was forgotten)"
        )
    return batch.astype(np.int64, copy=False)


def spend(choose, update, state, look, *, budget, trace, first=0):
    """Pull until the budget is spent, or `choose` will not go on; returns the Traces of every `trace` pulls."""
    history, now = [], state.now
    ahead = max(first, now.pulls) if trace else NO_LIMIT
    while True:
        now.due = min(ahead, budget)
        yield Loop(choose, update, state)
        if now.pulls >= ahead:
            history.append(Trace(int(now.pulls), state.counts.copy(), *look(state)))
            ahead += trace
        if now.pulls >= budget or now.pulls < now.due:
            return tuple(history)
