"""The decorator of every rule that is played, and what it says of a rule beside its pulls.

A decorated function makes a `Rule`: a generator that keeps the function and its arguments, so that it can be made
again. The sentences below are those that several rules share; the others stand in the rules' own files.
"""

import copy
import inspect
from collections.abc import Callable, Generator
from functools import partial, wraps
from typing import Any, NamedTuple, ParamSpec, Protocol, cast, overload

import numpy as np

__all__ = ["rule"]

P = ParamSpec("P")

# --- how a rule asks, what it takes of the noise, which rule it is for, and what it promises
BATCHES, PULLS = "batches", "pull by pull"
LARGEST, EACH, RATIOS, OWN = "largest", "each", "ratios", "0/1 rewards"
SEQUENTIAL = "as lazy_track_and_stop"
DELTA = "wrong with probability at most delta"
OPTIMAL = f"{DELTA}; no rule needs fewer as delta falls to 0 (a limit: at delta .05 rage is often shorter)"
FALLS = "probability of error that falls exponentially with the budget"
ELSEWHERE = f"{FALLS}, proved for other constants than these"
NONE = "none for the best arm"


class Row(NamedTuple):
    """What README's table and `rules_for` say of a rule."""

    asks: str  # BATCHES or PULLS
    noise: str  # of several sigma: LARGEST, EACH, RATIOS; or OWN
    situation: str
    paper: str
    promise: str


# --- how a rule goes on without an arm, and what stands then
#
# In every line it is supposed that a drop or a closed request has nothing to do with the rewards: a bottle broke, a
# page was taken down. Then the pulls of a phase are as fixed as if they had been planned that way, and so is what can
# be pulled from then on. An arm that is dropped because it did badly, or a reading that is missing because it was too
# high, voids all of them.
HALVING = "stands: a phase decides by 2^-l or by the widths of the pulls that were made, whichever is wider"
STOPPING = "stands: eq. 9 of jedra2020 holds at all times for any choice of arms, with all pulls so far"
ENDS = "stands: the end is told by the widths of all pulls made, whose number does not depend on rewards"
SPENT = "no confidence is promised with a budget, and the probability of error grows with every pull that is not made"
ENTRIES = "it measures every entry of a matrix of variances, and few arms can stand in for another there"
ONE_BY_ONE = "it asks arm by arm, and would ask for the one that is dropped for ever"


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
        What README's table says of it.
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

    told = {"label": label or function.__name__, "row": row, "guarantee": guarantee, "gone": gone or {}, "check": check}
    vars(played).update(told)
    return played
