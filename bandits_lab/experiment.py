"""Describe a rule and its arguments as the first lines of a log do, and compare two such experiments.

Numbers are written to 17 digits and compared within a tolerance, because the last bit of a number can change a hash of
rounded numbers. Two arrays are the same if no entry differs by more than 1e-12 of the largest entry of its column (each
feature has its own unit) or 1e-15 of the largest entry of all (rounding errors in a column that should be zero).
Arrays, lists and data frames of the same numbers are the same. Functions of this project are compared by name, a user's
function by its source, its defaults and the values that it refers to. If the log does not name an argument, its
value here must be the default. If the rule no longer has an argument, its value in the log must be that in GONE.
"""

import hashlib
import inspect
import json
import textwrap
import types
from functools import partial
from typing import Any, NamedTuple

import joblib
import numpy as np

from bandits_lib import fixed_budget, fixed_confidence, variance
from bandits_lib.protocol import Played, Rule
from bandits_lib.simulate.fingerprint import PACKAGES

PLAYED: dict[str, Played] = {
    name: getattr(package, name)
    for package in (fixed_confidence, fixed_budget, variance)
    for name in package.__all__
    if hasattr(getattr(package, name), "label")
}

COLUMN, WHOLE = 1e-12, 1e-15  # tolerances, relative to the largest number in the column and in the array
# arguments that rules no longer have, which an old log may hold, with the only values that are still accepted
GONE: dict[str, dict[str, Any]] = {name: {"history": None, "trace": 0} for name in PLAYED}
GONE["rage"] |= {"rule": "widths", "objective": "best", "threshold": None}
GONE["peace"] |= {"offset": 1.0}
GONE["separate_arm_estimator"] |= {"ddof": 0}
UNDECORATED = (
    "the generator {0} cannot be made again, which a Lab needs: write @rule above `def {0}`, after "
    "`from bandits_lib import rule`"
)


class Experiment(NamedTuple):
    """A rule and its arguments, as values that JSON can hold."""

    rule: str  # name of the generator function
    arguments: dict[str, Any]  # all arguments, arrays as lists
    defaults: dict[str, Any] = {}  # of the arguments that have a default
    names: tuple[str, ...] = ()  # names of the arms, if they are known
    unit: str = ""  # unit of the reward, if it is known


def identify(algorithm):
    """Return the `Experiment` of a fresh rule, such as `rage(arms, delta=0.05)`; ValueError for anything else."""
    if inspect.isgenerator(algorithm):
        raise ValueError(UNDECORATED.format(algorithm.__name__))
    if not isinstance(algorithm, Rule):
        raise ValueError(
            f"algorithm must be a generator such as rage(arms, delta=0.05); got {type(algorithm).__name__}"
        )
    if not algorithm.fresh:
        raise ValueError("algorithm must be fresh, but this generator has already been advanced: make a new one")
    parameters = inspect.signature(algorithm.function).parameters.values()
    defaults = {p.name: _describe(p.default) for p in parameters if p.default is not p.empty}
    arguments = algorithm.arguments | _cells(inspect.unwrap(algorithm.function))
    return Experiment(algorithm.function.__qualname__, _describe(arguments), defaults)


def differences(logged, here):
    """Return the differences of two `Experiment`s as a list of clauses, which is empty if they are the same."""
    if logged.rule != here.rule:
        return [f"the rule is {logged.rule} in the log and {here.rule} here"]
    gone = _describe(GONE.get(here.rule, {}))
    known, now = gone | here.defaults | logged.arguments, gone | here.arguments
    return _labels_differ(logged, here) + [c for name in {**known, **now} for c in _compare(name, known, now)]


def _labels_differ(logged, here):
    """Return clauses on the first name that differs and on the unit, where both experiments have them."""
    clauses, one, other = [], logged.names, here.names
    if one and other and one != other:
        k = next((k for k, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), None)
        clauses += [f"{len(one)} arms have names in the log and {len(other)} here"] if k is None else []
        clauses += [] if k is None else [f"arm {k} is {one[k]!r} in the log and {other[k]!r} here"]
    if logged.unit and here.unit and logged.unit != here.unit:
        clauses.append(f"rewards are in {logged.unit!r} in the log and in {here.unit!r} here")
    return clauses


# --- the differences of two arguments


def _compare(name, logged, here):
    """Return clauses on the differences of the entry `name` of two dicts."""
    if name not in logged or name not in here:
        return [f"there is no {name} {'in the log' if name in here else 'here'}"]
    return _differ(name, logged[name], here[name])


def _differ(name, logged, here):
    one, other = _numbers(logged), _numbers(here)
    if one is not None and other is not None:
        return _numbers_differ(name, one, other)
    if isinstance(logged, dict) and isinstance(here, dict) and logged.keys() == here.keys():
        if "rng" in logged:
            state = f"{name} is in another state than in the log: another seed, or numbers were drawn from it"
            return [] if logged == here else [state]
        return [clause for key in logged for clause in _differ(_inside(name, key), logged[key], here[key])]
    if isinstance(logged, list) and isinstance(here, list) and len(logged) == len(here):
        pairs = enumerate(zip(logged, here, strict=True))
        return [clause for i, pair in pairs for clause in _differ(f"{name}[{i}]", *pair)]
    return [] if logged == here else [f"{name} is {_short(logged)} in the log and {_short(here)} here"]


def _inside(name, key):
    return name if key in ("function", "arguments") else f"{name}'s {key}"


def _numbers(value):
    """Return a number or nested lists of numbers as an array; None for anything else."""
    if isinstance(value, bool | str | dict) or value is None:
        return None
    try:
        array = np.asarray(value)
    except ValueError:  # ragged lists
        return None
    return array if array.dtype.kind in "iuf" and array.size else None


def _numbers_differ(name, logged, here):
    if logged.shape != here.shape:
        return [f"{name} has shape {logged.shape} in the log and {here.shape} here"]
    wrong = ~_close(logged, here)
    if not wrong.any():
        return []
    if logged.ndim == 0:
        return [f"{name} is {logged.item()!r} in the log and {here.item()!r} here"]
    at = tuple(map(int, np.unravel_index(np.argmax(wrong), wrong.shape)))
    entry = f"{name}[{', '.join(map(str, at))}] is {logged[at].item()!r} in the log and {here[at].item()!r} here"
    return [f"{entry} ({wrong.sum()} of {wrong.size} numbers differ)"]


def _close(one, other):
    """Return which numbers of two arrays of equal shape are the same, where integers must be equal."""
    if one.dtype.kind in "iu" and other.dtype.kind in "iu":
        return one == other
    size = np.maximum(np.abs(one), np.abs(other))
    size = np.where(np.isfinite(size), size, 0.0)
    column = size.max(axis=0) if size.ndim > 1 else size
    with np.errstate(invalid="ignore"):
        near = np.abs(one - other) <= np.maximum(COLUMN * column, WHOLE * size.max())
    return near | (one == other) | (np.isnan(one) & np.isnan(other))


def _short(value):
    if isinstance(value, dict) and "function" in value:
        return _short(value["function"])
    text = value if isinstance(value, str) else str(value) if value is None else json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


# --- arguments as values that JSON can hold


def _describe(value, seen=()):
    """Return `value` as numbers, strings, lists and dicts."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return float(value)
    if isinstance(value, np.generic):
        return _describe(value.item())
    if id(value) in seen:
        return "<seen>"
    seen = (*seen, id(value))
    if isinstance(value, np.ndarray) or hasattr(value, "__array__"):
        array = np.asarray(value)
        return array.tolist() if array.dtype.kind in "biuf" else _describe(array.tolist(), seen)
    if isinstance(value, list | tuple):
        return [_describe(item, seen) for item in value]
    if isinstance(value, set | frozenset):
        return {"set": sorted(json.dumps(_describe(item, seen)) for item in value)}
    if isinstance(value, dict):
        return {str(key): _describe(item, seen) for key, item in value.items()}
    if isinstance(value, np.random.Generator):
        return {"rng": _describe(value.bit_generator.state)}
    return _describe_code(value, seen)


def _describe_code(value, seen):
    if isinstance(value, partial):
        bound = {"positional": _describe(value.args, seen), **_describe(value.keywords, seen)}
        return {"function": _describe(value.func, seen), "bound": bound}
    if isinstance(value, Rule):
        return {"function": value.function.__qualname__, "arguments": _describe(value.arguments, seen)}
    if inspect.isgenerator(value):
        raise ValueError(UNDECORATED.format(value.__name__))
    if inspect.ismethod(value):
        return {"function": _describe(value.__func__, seen), "object": _describe(value.__self__, seen)}
    if inspect.isroutine(value) or inspect.isclass(value) or hasattr(value, "py_func"):
        return _describe_function(value, seen)
    name = type(value).__qualname__
    if getattr(value, "__dict__", None):
        return {"object": name, "fields": _describe(vars(value), seen)}
    return {"object": name, "hash": joblib.hash(value)}


def _describe_function(function, seen):
    function = getattr(function, "py_func", inspect.unwrap(function))
    home, name = str(getattr(function, "__module__", "")).partition(".")[0], function.__qualname__
    if not isinstance(function, types.FunctionType) or home in PACKAGES:
        return {"function": name, "package": home}
    names = sorted(_names(function.__code__) & function.__globals__.keys())
    values = {key: function.__globals__[key] for key in names} | _cells(function)
    values = {key: value for key, value in values.items() if not isinstance(value, types.ModuleType)}
    defaults = _describe([function.__defaults__, function.__kwdefaults__], seen)
    used = {"defaults": defaults, **_describe(values, seen)}
    return {"function": name, "source": _source(function), "values": used}


def _cells(function):
    """Return {name: value} of the variables of enclosing functions that a function uses."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {name: cell.cell_contents for name, cell in cells}


def _names(code):
    inner = (item for item in code.co_consts if isinstance(item, types.CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _source(function):
    """Return a hash of a function's source, or of its compiled code if it has no source."""
    try:
        text = textwrap.dedent(inspect.getsource(function)).encode()
    except (OSError, TypeError):
        text = function.__code__.co_code + repr(function.__code__.co_names).encode()
    return hashlib.sha256(text).hexdigest()[:16]
