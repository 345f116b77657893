"""What a Lab does inside: an algorithm, the request that is open, and what has come of it.

How to make an algorithm once more: a generator cannot be copied, but a fresh one tells its function and arguments.

Random generators are copied in the state in which they were handed over, before the first draw; arrays are not copied.
"""

import copy
import inspect
import types
from typing import Any, NamedTuple

import numpy as np

from bandits_lab import log as logs
from bandits_lab.dropping import TABLE, CannotGoOn, after, following, in_play, led, left_out, restarted
from bandits_lab.experiment import identify
from bandits_lab.measurements import Stock, nothing, sample_of
from bandits_lab.noise import Watch
from bandits_lib.fixed_confidence._bounded_rage import check_fractions
from bandits_lib.protocol import Algorithm, Result, Sample, total, unroll


class Recipe(NamedTuple):
    """What makes an algorithm."""

    function: types.FunctionType
    arguments: dict[str, Any]
    obstacle: str = ""  # why it cannot be made again

    def make(self, **changes) -> Algorithm:
        """A fresh algorithm, with some arguments changed; ValueError if it cannot be made."""
        if self.obstacle:
            raise ValueError(
                f"{self.function.__name__} cannot be made once more: {self.obstacle}. Save the log, and open it with "
                "Lab(algorithm, path) with a fresh algorithm"
            )
        return _call(self.function, {name: _copied(value) for name, value in self.arguments.items()} | changes)


def recipe(algorithm):
    """The `Recipe` of a fresh generator."""
    code, arguments = algorithm.gi_code, dict(inspect.getgeneratorlocals(algorithm))
    cells = tuple(types.CellType(arguments[name]) for name in code.co_freevars)
    own = {name: arguments[name] for name in _parameters(code)}
    function = types.FunctionType(code, algorithm.gi_frame.f_globals, code.co_name, None, cells)
    try:
        return Recipe(function, {name: _copied(value) for name, value in own.items()})
    except Exception as error:  # whatever a user's object raises that cannot be copied
        return Recipe(function, own, f"an argument cannot be copied ({error})")


def _copied(value):
    return value if isinstance(value, np.ndarray) else copy.deepcopy(value)


def _parameters(code):
    """Names of all parameters, *args and **kwargs last."""
    stars = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + stars]


def _call(function, arguments):
    code, names = function.__code__, list(_parameters(function.__code__))
    more = arguments[names.pop()] if code.co_flags & inspect.CO_VARKEYWORDS else {}
    rest = arguments[names.pop()] if code.co_flags & inspect.CO_VARARGS else ()
    positional = [arguments[name] for name in names[: code.co_argcount]]
    return function(*positional, *rest, **{name: arguments[name] for name in names[code.co_argcount :]}, **more)


HOW = "lab.tell(Sample.of(pulled_arms, rewards, K={K})) or lab.tell(Sample(counts, sums, squares))"


class Drive:
    """An algorithm on its way, and its log."""

    def __init__(self, algorithm: Algorithm, experiment=None):
        self.experiment = experiment or identify(algorithm)
        self.log: list[Sample] = []
        self.requests: list[int] = []
        self.result: Result | None = None
        self.dropped: tuple[int, ...] = ()
        self.ended = ""
        self._drops: list[tuple[int, tuple[int, ...]]] = []  # in which request, which arms
        self._stock = Stock()
        self._by_hand = False  # whether anything was told that was not measured before
        self._request = 0
        self._parts: list[Sample] = []
        self._missing: Any = None  # (K,), None when the algorithm is done
        self._refusal = ""
        self._recipe: Recipe = recipe(algorithm)
        self._algorithm: Any = unroll(algorithm)
        self._head, self._texts = logs.head(self.experiment), list[str]()
        self._watch = Watch(self.experiment.arguments)
        self._advance(None)

    def _write(self, request=0, sample=None, **more):
        """Enter a Sample that has just been taken in, or another step, and the request or the end that it led to."""
        new = self._request > request
        done = self.result is not None and not new
        entry = logs.entry(request, sample, self._missing if new else None, done, **more)
        self._texts.append(logs.text(entry))

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

    def _end(self):
        """Answer the open request with what came of it."""
        self._advance(total(self._parts) if self._parts else nothing(self._K))

    def _advance(self, reply):
        """Send `reply` and take the next request; one that asks for no pulls is answered at once."""
        try:
            request = following(self._algorithm, reply, self._left_out if self.dropped else None)
        except StopIteration as stop:
            self._missing, self.result = None, stop.value
        except CannotGoOn as end:
            self._missing, self.ended = None, str(end)
        except Exception as error:
            self._refusal = str(error)
            raise
        else:
            self._missing, self._parts = request, []
            self._request += 1

    @property
    def _K(self):
        """Number of arms, of an algorithm that is not done."""
        return len(self._missing)

    def _plan_without(self, arms):
        """Drop arms, and plan the open request anew: `_missing` is what it wants now, perhaps nothing."""
        how, K = after(self.experiment, self._request).how, self._K
        self.dropped = tuple(sorted({*self.dropped, *arms}))
        self._drops.append((self._request, tuple(arms)))
        try:
            if how in ("anew", "as if"):
                told = self.log, self.requests, self._drops, self._request
                self._algorithm, request = led(self._recipe, *told, from_start=how == "as if")
                had = total([nothing(K), *self._parts]).counts
                self._missing = np.maximum(request - had, 0)
            elif how == "restart":
                self._algorithm, self._parts = restarted(self._recipe, self.log, self.dropped, K), []
                self._missing = following(self._algorithm, None)
            else:
                self._missing = self._left_out(self._missing, total([nothing(K), *self._parts]).counts)
        except StopIteration as stop:
            self._missing, self.result = None, stop.value

    def _left_out(self, request, had=0):
        """A request without the arms that were dropped."""
        rule, arms = self.experiment.rule, self._recipe.arguments.get("arms")
        if rule not in TABLE or arms is None:
            return left_out(request, had, self.dropped)
        arms, every = np.asarray(arms, dtype=float), np.arange(len(request))
        may = in_play(self, arms, arms) if rule in ("gse", "od_linbai") else every
        return left_out(request, had, self.dropped, arms, may)

    def _fill(self):
        """Answer what can be answered by what was measured before."""
        while self._missing is not None and (rows := self._stock.fitting(self._missing)):
            sample, request = sample_of(rows, self._K), self._request
            self._take(sample)
            self._stock.move(rows)
            self._write(request, sample, stock=rows)

    def _check(self, sample):
        if self._refusal:
            raise ValueError(
                f"the algorithm refused what it was told last ({self._refusal}) and cannot go on: make the Lab again "
                "from its log, which is without it; if what is wrong was told before it, lab.undo() there takes it back"
            )
        if self._missing is None:
            raise ValueError(self.ended or "told rewards but the algorithm is done: nothing was asked for")
        counts, sums, squares = checked_sample(sample, self._K)
        if self.experiment.rule == "bounded_rage":  # now, and not when its request is full
            check_fractions(Sample(counts, sums, squares))
        if (surplus := np.flatnonzero(counts > self._missing)).size:
            arm = int(surplus[0])
            gone = f" (arm {arm} was dropped)" if arm in self.dropped else ""
            raise ValueError(
                f"told {counts[arm]} pulls of arm {arm} but only {self._missing[arm]} were asked for{gone}: "
                "leave the surplus out"
            )
        return Sample(counts, sums, squares)


def checked_sample(sample, K):
    """A Sample of K arms as arrays of its own; ValueError for what cannot be one."""
    try:
        counts, sums, squares = (np.asarray(field) for field in (sample.counts, sample.sums, sample.squares))
    except AttributeError:
        raise ValueError(f"tell takes a Sample: {_how(sample, K)}; got {type(sample).__name__}") from None
    if not counts.shape == sums.shape == squares.shape == (K,):
        shapes = counts.shape, sums.shape, squares.shape
        raise ValueError(f"a Sample has counts, sums and squares of shape ({K},); got {shapes}")
    if not np.issubdtype(counts.dtype, np.integer) or (counts < 0).any():
        raise ValueError(f"counts must be non-negative integers; got {counts}")
    sums, squares = sums.astype(float), squares.astype(float)
    _check_rewards(counts, sums, squares)
    return Sample(counts.astype(np.int64), sums, squares)


def _how(given, K):
    """The right call for what was given in the place of a Sample."""
    columns = [name for name in ("arm", "reward") if name in getattr(given, "columns", ())]
    if len(columns) == 2:
        return f"lab.tell(Sample.of(table['arm'], table['reward'], K={K})), with arms 0..{K - 1}"
    if isinstance(given, str | bytes) or hasattr(given, "__fspath__"):
        return "lab.tell(read(path, names, lab.ask())), with `read` of bandits_lab.measurements"
    return HOW.format(K=K)


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
