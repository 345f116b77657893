"""Define how an algorithm asks for pulls and is answered: an algorithm is a generator that yields what to pull.

- counts (K,), integers: a batch; arm k is pulled counts[k] times, the reply is one `Sample`
- `Loop(choose, update, state)`: pull by pull, or batch by batch, until `choose` returns -1; the reply is None

It returns a `Result`. The caller counts the pulls, so that no algorithm can misreport its sample complexity.
`bandits_lib.play` answers with simulated rewards, `bandits_lab.Lab` with rewards that a person measured.
"""

import copy
import inspect
from collections.abc import Callable, Generator, Iterable
from functools import partial, wraps
from typing import Any, NamedTuple, ParamSpec, Protocol, cast, overload

import numpy as np

NO_LIMIT = np.iinfo(np.int64).max


class Sample(NamedTuple):
    """Rewards of a batch, aggregated per arm: all that least squares needs, for any number of pulls.

    Attributes
    ----------
    counts, sums, squares : (K,) int array, and (K,) arrays
        Pulls of each arm, the sum of their rewards, and the sum of the squared rewards.

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
        """Return the Sample of raw rewards: pull i was of arm `pulled_arms[i]` and returned `rewards[i]`.

        Parameters
        ----------
        pulled_arms, rewards, K : (n,) array_like of int, (n,) array_like, and int
            Rows of the arms pulled, in [0, K), the finite rewards of these pulls, and the number of arms.

        Returns
        -------
        Sample
            Counts, sums and sums of squares of the rewards.

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
        rows = pulled_arms.astype(np.int64)
        return cls(*(np.bincount(rows, weights, minlength=K) for weights in (None, rewards, rewards**2)))


class Loop(NamedTuple):
    """A request for single pulls of `choose(state)` until it returns -1; each reward is passed to `update`.

    With `batches`, `choose` sets `state.batch` (K,), how often each arm is pulled next, and `update(state)` finds the
    sums of the rewards in `state.rewards` (K,).
    """

    choose: Callable  # compiled by numba: (state) -> arm, or -1 when this loop is over
    update: Callable  # compiled by numba: (state, arm, reward) -> None
    state: Any  # a NamedTuple that both functions change; one of its fields is `counts` (K,)
    look: Callable | None = None  # (state) -> (statistic, threshold, leader, ...) of this moment, as in a Trace
    batches: bool = False


class Round(NamedTuple):
    """One phase of a phased rule, as kept in `Result.history`."""

    index: int  # type: ignore[assignment]  # from 1 (0 and below: a burn-in before the phases)
    active: np.ndarray  # (m,) rows of the items still in play when the phase began
    counts: np.ndarray  # (K,) pulls of each arm in this phase
    design_value: float  # value of the phase's design, a squared norm per unit of pulls
    lower_bound: float  # certificate of the design's value
    width: float  # largest confidence width of a comparison with the leader, in units of reward
    theta_hat: np.ndarray  # (d,) the phase's estimate

    @classmethod
    def of(cls, index, active, sample, design, width, theta_hat):
        """Return the Round of a phase that pulled `sample` by a `Design`."""
        return cls(
            index=index,
            active=active,
            counts=sample.counts,
            design_value=design.value,
            lower_bound=design.lower_bound,
            width=float(width),
            theta_hat=theta_hat,
        )


class Trace(NamedTuple):
    """The state of a pull-by-pull rule at one moment, as `play(..., trace=n)` records it every n pulls."""

    pulls: int  # pulls so far
    counts: np.ndarray  # (K,) pulls of each arm so far
    statistic: float  # of the stopping rule, in units of that rule, which stops when this exceeds the threshold
    threshold: float
    leader: int  # row of the leading item; on the sphere a unit vector
    left: int | None = None  # items that are not eliminated, for a rule with `eliminate`


class Result(NamedTuple):
    """What an algorithm returns: its recommendation and the history of its run.

    Attributes
    ----------
    recommendation, history : int, (M,) bool array, (d,) array or VarianceEstimate, and tuple of Round
        The row of an item; for level sets a mask, True for each item in the set; on the sphere a unit vector; for
        variance estimators a `VarianceEstimate`. A rule in phases also returns its records.

    Examples
    --------
    >>> Result(3).history
    ()
    """

    recommendation: Any
    history: tuple = ()


class Run(NamedTuple):
    """One simulated run, as `play` returns it."""

    result: Result | None  # None if the run was cut off
    counts: np.ndarray  # (K,) pulls of each arm
    stopped: bool  # whether the algorithm stopped by itself
    trace: tuple[Trace, ...] = ()  # of a pull-by-pull rule, if `play` was asked for it


Algorithm = Generator[Any, Any, Result]


def total(samples: Iterable[Sample]) -> Sample:
    """Return the Sample of several batches together (`+` on two Samples would concatenate the tuples).

    Parameters
    ----------
    samples : iterable of Sample
        At least one Sample.

    Returns
    -------
    Sample
        The sums of their counts, sums and squares.

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
    """Return the batch (K,) that asks for a single pull of `arm`, or of each arm of an array."""
    counts = np.zeros(K, dtype=np.int64)
    counts[arm] = 1
    return counts


def unroll(algorithm: Algorithm) -> Algorithm:
    """Return the same algorithm with every Loop opened, so that it asks for batches only."""
    reply = None
    while True:
        try:
            request = algorithm.send(reply)
        except StopIteration as stop:
            return stop.value
        if not isinstance(request, Loop):
            reply = yield request
            continue
        state = request.state
        while (arm := request.choose(state)) >= 0:
            if request.batches:
                sample = yield state.batch.copy()
                state.rewards[:] = sample.sums
                request.update(state)
            else:
                sample = yield one_pull(arm, len(state.counts))
                request.update(state, arm, float(sample.sums[arm]))
        reply = None


def checked_batch(request, K=None):
    """Return a request as (K,) int64 counts; raise ValueError unless it holds non-negative integers."""
    batch = np.asarray(request)
    right_shape = batch.ndim == 1 and (K is None or len(batch) == K)
    if not right_shape or not np.issubdtype(batch.dtype, np.integer) or (batch < 0).any():
        raise ValueError(
            f"an algorithm must yield a Loop or (K,) non-negative integers; got {request!r}"
            " (a generator here means that `yield from` was forgotten)"
        )
    return batch.astype(np.int64, copy=False)


P = ParamSpec("P")

# --- arguments of `@rule` that several rules share; the others are in each rule's file
#
# how a rule asks, which sigma it uses, in which situation it is used, and what it promises
BATCHES, PULLS = "batches", "pull by pull"
LARGEST, EACH, OWN = "largest", "each", "0/1 rewards"
SEQUENTIAL = "as fws"
DELTA = "wrong with probability at most delta"
OPTIMAL = f"{DELTA}; no rule needs fewer as delta falls to 0 (a limit: at delta 0.05 rage is often shorter)"
FALLS = "probability of error that falls exponentially with the budget"
ELSEWHERE = f"{FALLS}, proved for other constants than these"
NONE = "none for the best arm"


class Row(NamedTuple):
    """The line of one rule in the table of docs/rules.md and in the answer of `rules_for`."""

    asks: str  # BATCHES or PULLS
    situation: str
    paper: str
    promise: str
    noise: str = LARGEST  # which of several sigma it uses: LARGEST, EACH or "ratios"; OWN: 0/1 rewards need no sigma


class Rule(Generator[Any, Any, Any]):
    """A running rule that can be made again. Use it like the generator that the rule's function returns."""

    def __init__(self, function: "Played", generator: Generator, args: tuple, kwargs: dict[str, Any]) -> None:
        self.function, self.generator, self._args, self._kwargs = function, generator, args, kwargs
        generators = (value for value in (*args, *kwargs.values()) if isinstance(value, np.random.Generator))
        self._states = [(rng, rng.bit_generator.state) for rng in generators]

    def send(self, value: Any) -> Any:
        return self.generator.send(value)

    def throw(self, *error: Any) -> Any:
        return self.generator.throw(*error)

    def close(self) -> None:
        self.generator.close()

    @property
    def fresh(self) -> bool:
        """Return whether nothing has been asked yet."""
        return inspect.getgeneratorstate(self.generator) == inspect.GEN_CREATED

    @property
    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the function by name, defaults included."""
        bound = inspect.signature(self.function).bind(*self._args, **self._kwargs)
        bound.apply_defaults()
        return dict(bound.arguments)

    def again(self, **changes: Any) -> "Rule":
        """Return a new instance of the rule, with some arguments changed and copies of the others.

        Random generators start in the state that they had when the function was called; arrays are not copied.
        """
        name, signature = self.function.__name__, inspect.signature(self.function)
        if unknown := [key for key in changes if key not in signature.parameters]:
            raise ValueError(f"{name} has no argument {unknown[0]}; it has {', '.join(signature.parameters)}")
        try:
            args, kwargs = [*map(self._copied, self._args)], {k: self._copied(v) for k, v in self._kwargs.items()}
        except Exception as error:  # an object of the user may raise anything when it is copied
            raise ValueError(f"{name} cannot be made again: an argument cannot be copied ({error})") from error
        bound = signature.bind(*args, **kwargs)
        bound.arguments.update(changes)
        return self.function(*bound.args, **bound.kwargs)

    def _copied(self, value):
        """Return a copy of an argument, but an array itself, and a random generator in its state at the call."""
        if isinstance(value, np.ndarray):
            return value
        copied = copy.deepcopy(value)
        for rng, state in self._states:
            if rng is value:
                copied.bit_generator.state = state
        return copied


class Played(Protocol[P]):
    """A decorated function, which makes a `Rule`, and the arguments of the decorator."""

    __name__: str
    __qualname__: str
    label: str
    row: Row | None
    check: Callable | None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Rule: ...


@overload
def rule(function: Callable[P, Generator[Any, Any, Any]], /) -> Played[P]: ...
@overload
def rule(
    *, label: str = ..., row: Row | None = ..., check: Callable | None = ...
) -> Callable[[Callable[P, Generator[Any, Any, Any]]], Played[P]]: ...
def rule(
    function: Callable | None = None,
    /,
    *,
    label: str | None = None,
    row: Row | None = None,
    check: Callable | None = None,
) -> Any:
    """Decorate the generator function of a rule, so that it returns a `Rule`, which can be made again.

    Parameters
    ----------
    function : generator function
        The rule. It keeps its name, signature and docstring.
    label : str, optional
        Name of the rule in figures and tables, by default that of the function.
    row : Row, optional
        Line of the rule in the table in docs/rules.md.
    check : callable, optional
        Function (Sample) that raises ValueError for rewards that the rule cannot use.

    Returns
    -------
    callable
        The function, which is called as before, with the attributes `label`, `row` and `check`.

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
        return partial(rule, label=label, row=row, check=check)
    if not inspect.isgeneratorfunction(function):
        name = getattr(function, "__name__", type(function).__name__)
        raise ValueError(f"@rule decorates a generator function, which has `yield`; {name} has none: yield requests")

    @wraps(function)
    def played(*args, **kwargs):
        return Rule(cast(Played, played), function(*args, **kwargs), args, kwargs)

    attributes = {"label": label or function.__name__, "row": row, "check": check}
    vars(played).update(attributes, __signature__=inspect.signature(function))  # once, not at every run
    return played
