"""How an algorithm and the world talk: an algorithm is a generator that yields what to pull.

- counts (K,), integers: a batch; arm k is pulled counts[k] times, the reply is one `Sample`
- `InPlay(counts, active)`: a batch, and the items that are in play
- `Loop(choose, update, state)`: pull by pull, until `choose` returns -1; the reply is None

It returns `Result(recommendation, history)`. The world counts the pulls, so no algorithm can misreport
its sample complexity. `bandits_lib.play` is the simulator; `bandits_lab.Lab` puts a person in its place. The
decorator `rule` keeps the function and its arguments, so that a rule can be made again.
"""

import copy
import inspect
from collections.abc import Callable, Generator, Iterable
from functools import partial, wraps
from typing import Any, NamedTuple, ParamSpec, Protocol, cast, overload

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
        return cls(*(np.bincount(where, weights, minlength=K) for weights in (None, rewards, rewards**2)))


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


Algorithm = Generator[Any, Any, Result]


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


def one_pull(arm: int | np.ndarray, K: int) -> np.ndarray:
    """Return the batch (K,) that asks for a single pull of `arm`, or of each of several."""
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
            if sample.counts.sum() != 1:
                raise ValueError(
                    f"{sample.counts.sum()} pulls at once, where this rule pulls one by one: they cannot be replayed"
                )
            if sample.counts[arm] != 1:  # a log that is replayed may hold another one
                arm = int(np.argmax(sample.counts))
            request.update(request.state, arm, float(sample.sums[arm]))
        reply = None


def checked_batch(request, K=None):
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


P = ParamSpec("P")

# --- what `@rule` is told beside the generator: here what several rules share, the rest in each rule's file
#
# how a rule asks, what it takes of the noise, which rule it is for, and what it promises
BATCHES, PULLS = "batches", "pull by pull"
LARGEST, EACH, OWN = "largest", "each", "0/1 rewards"
SEQUENTIAL = "as lazy_track_and_stop"
DELTA = "wrong with probability at most delta"
OPTIMAL = f"{DELTA}; no rule needs fewer as delta falls to 0 (a limit: at delta .05 rage is often shorter)"
FALLS = "probability of error that falls exponentially with the budget"
ELSEWHERE = f"{FALLS}, proved for other constants than these"
NONE = "none for the best arm"


class Row(NamedTuple):
    """What the table in docs/rules.md and `rules_for` say of a rule."""

    asks: str  # BATCHES or PULLS
    situation: str
    paper: str
    promise: str
    noise: str = LARGEST  # of several sigma: LARGEST, EACH or "ratios" count; OWN: rewards 0 and 1 have theirs


# --- how a rule goes on without an arm, and what stands then
#
# In every line it is supposed that a drop or a closed request has nothing to do with the rewards: a bottle broke, a
# page was taken down. Then the pulls of a phase are as fixed as if they had been planned that way, and so is what can
# be pulled from then on. An arm that is dropped because it did badly, or a reading that is missing because it was too
# high, voids all of them.


class After(NamedTuple):
    """How a rule goes on after a drop or an early end of a request, and what stands of its guarantee."""

    # "anew": the open request and all later ones are designed for the arms that are left
    # "as if": the one design of the rule is made as if the arm had never been there; what was pulled counts
    # "restart": the rule begins again with the arms that are left and all pulls so far, and, if the arms left do not
    # measure what some items differ in, without those that the same bound has put out
    # "without": it asks as before, and the arm is left out of what it asks; others get its pulls where it is needed
    # "in play": the same, and only arms in play may get its pulls

    how: str  # one of these; "" if it cannot go on
    why: str  # what stands, or why it cannot go on
    closes: bool = True  # whether a request may be closed with fewer pulls


HALVING = After("anew", "stands: a phase decides by 2^-l or by the widths of the pulls made, whichever is wider")
STOPPING = After(
    "restart", "stands: eq. 9 of jedra2020 holds at all times for any choice of arms, with all pulls so far"
)
ENDS = After(
    "as if", "stands: the end is told by the widths of all pulls made, whose number does not depend on rewards"
)
ENTRIES = After("", "it measures every entry of a matrix of variances, and few arms can stand in for another there")
ONE_BY_ONE = After("", "it asks arm by arm, and would ask for the one that is dropped for ever")
SPENT = "no confidence is promised with a budget, and the probability of error grows with every pull that is not made"
UNKNOWN = After("without", "whether its guarantee stands is not known, for its @rule names no guarantee")


class InPlay(NamedTuple):
    """A request with the rows of the items that are in play when it is made; a rule in phases yields it."""

    # `Rule` keeps the rows and hands on the counts. So they pass through the `yield from` of a rule's own generators,
    # the world is asked for the same counts as ever, and loops are not touched. A rule that another one calls keeps its
    # rows to itself: its items may be others.

    counts: np.ndarray  # (K,)
    active: np.ndarray  # (m,)


class Rule(Generator[Any, Any, Any]):
    """A rule on its way, which can be made again. It is used like the generator that the rule's function returns."""

    # `active` (m,): rows of the items in play at the open request; None for a rule that does not say

    active: np.ndarray | None = None

    def __init__(self, function: "Played", generator: Generator, args: tuple, kwargs: dict[str, Any]) -> None:
        self.function, self.generator, self._args, self._kwargs = function, generator, args, kwargs
        drawing = (value for value in (*args, *kwargs.values()) if isinstance(value, np.random.Generator))
        self._states = [(rng, rng.bit_generator.state) for rng in drawing]

    def send(self, value: Any) -> Any:
        return self._published(self.generator.send(value))

    def throw(self, *error: Any) -> Any:
        return self._published(self.generator.throw(*error))

    def close(self) -> None:
        self.generator.close()

    def _published(self, request):
        if isinstance(request, InPlay):
            request, self.active = request
        return request

    @property
    def fresh(self) -> bool:
        """Whether nothing has been asked yet."""
        return inspect.getgeneratorstate(self.generator) == inspect.GEN_CREATED

    @property
    def arguments(self) -> dict[str, Any]:
        """Everything that the function was called with, by name, defaults included."""
        bound = inspect.signature(self.function).bind(*self._args, **self._kwargs)
        bound.apply_defaults()
        return dict(bound.arguments)

    def guarantee(self, request: int) -> After:
        """What comes after a drop or an early end of the request of this number, 1 for the first."""
        given = self.function.guarantee
        return given if isinstance(given, After) else given(self.arguments, request)

    def again(self, **changes: Any) -> "Rule":
        """Make the rule once more, with some arguments changed and copies of the others.

        Random generators begin in the state in which they were when the function was called; arrays are not copied.
        """
        name, signature = self.function.__name__, inspect.signature(self.function)
        if unknown := [key for key in changes if key not in signature.parameters]:
            raise ValueError(f"{name} has no argument {unknown[0]}; it has {', '.join(signature.parameters)}")
        try:
            args, kwargs = [*map(self._copied, self._args)], {k: self._copied(v) for k, v in self._kwargs.items()}
        except Exception as error:  # whatever a user's object raises that cannot be copied
            raise ValueError(f"{name} cannot be made once more: an argument cannot be copied ({error})") from error
        bound = signature.bind(*args, **kwargs)
        bound.arguments.update(changes)
        return self.function(*bound.args, **bound.kwargs)

    def _copied(self, value):
        """A copy of an argument, a random generator in its state at the call; arrays are not copied."""
        if isinstance(value, np.ndarray):
            return value
        found = copy.deepcopy(value)
        for rng, state in self._states:
            if rng is value:
                found.bit_generator.state = state
        return found


class Played(Protocol[P]):
    """A decorated function: what makes a `Rule`, with what the decorator was told."""

    __name__: str
    __qualname__: str
    label: str
    row: Row | None
    guarantee: After | Callable[[dict[str, Any], int], After]
    gone: dict[str, Any]
    check: Callable | None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Rule: ...


@overload
def rule(function: Callable[P, Generator[Any, Any, Any]], /) -> Played[P]: ...
@overload
def rule(
    *,
    label: str = ...,
    row: Row | None = ...,
    guarantee: After | Callable[[dict[str, Any], int], After] = ...,
    gone: dict[str, Any] | None = ...,
    check: Callable | None = ...,
) -> Callable[[Callable[P, Generator[Any, Any, Any]]], Played[P]]: ...
def rule(
    function: Callable | None = None,
    /,
    *,
    label: str | None = None,
    row: Row | None = None,
    guarantee: After | Callable[[dict[str, Any], int], After] = UNKNOWN,
    gone: dict[str, Any] | None = None,
    check: Callable | None = None,
) -> Any:
    """Decorate a generator function, a rule: what it returns is a `Rule`, which can be made again.

    Parameters
    ----------
    function : generator function
        The rule. It keeps its name, signature and docstring.
    label : str, optional
        Its name in figures and tables; by default that of the function.
    row : Row, optional
        What the table in docs/rules.md says of it.
    guarantee : After or callable, optional
        What stands of its guarantee when an arm is dropped or a request is closed, or a function of the rule's
        arguments (dict) and the number of the request that says so. By default that is not known.
    gone : dict, optional
        Arguments that the rule had once, at the values by which it still goes: a log may hold them.
    check : callable, optional
        Function (Sample) that refuses, with a ValueError, rewards that the rule cannot use.

    Returns
    -------
    callable
        The function as it was called before. It has `label`, `row`, `guarantee`, `gone` and `check`.

    Raises
    ------
    ValueError
        For what is no generator function.

    Examples
    --------
    >>> from bandits_lib import Result
    >>> @rule
    ... def first(arms):
    ...     yield np.ones(len(arms), int)
    ...     return Result(0)
    >>> next(first(np.eye(2)).again()).tolist()
    [1, 1]
    """
    if function is None:
        return partial(rule, label=label, row=row, guarantee=guarantee, gone=gone, check=check)
    if not inspect.isgeneratorfunction(function):
        name = getattr(function, "__name__", type(function).__name__)
        raise ValueError(f"@rule decorates a generator function, which has `yield`; {name} is none")

    @wraps(function)
    def played(*args, **kwargs):
        return Rule(cast(Played, played), function(*args, **kwargs), args, kwargs)

    label = label or function.__name__
    vars(played).update(label=label, row=row, guarantee=guarantee, gone=gone or {}, check=check)
    return played
