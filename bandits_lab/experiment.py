"""Describe a rule and its arguments as the first line of a log does, and compare two such experiments.

Numbers are the same up to a relative difference of 1e-12. Arrays, lists and data frames of the same numbers are the
same. Functions and other objects are compared by their qualified names alone. If a log does not name an argument, its
value here must be the default.
"""

import inspect
from math import isclose, isnan
from typing import Any, NamedTuple

import numpy as np

from bandits_lib import fixed_budget, fixed_confidence, variance
from bandits_lib.protocol import Played, Rule

PLAYED: dict[str, Played] = {
    name: getattr(package, name)
    for package in (fixed_confidence, fixed_budget, variance)
    for name in package.__all__
    if hasattr(getattr(package, name), "label")
}

CLOSE = 1e-12  # relative difference of two numbers that are the same
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
    defaults = {p.name: describe(p.default) for p in parameters if p.default is not p.empty}
    return Experiment(algorithm.function.__qualname__, describe(algorithm.arguments), defaults)


def describe(value):
    """Return a value as JSON holds it: numbers, texts, lists and dicts; a function or an object as its name."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, dict):
        return {str(key): describe(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [describe(item) for item in value]
    if hasattr(value, "__array__"):
        return describe(np.asarray(value).tolist())
    if isinstance(value, Rule):
        return {"rule": value.function.__qualname__, "arguments": describe(value.arguments)}
    if inspect.isgenerator(value):
        raise ValueError(UNDECORATED.format(value.__name__))
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"{named.__module__}.{named.__qualname__}"


def differences(logged, here):
    """Return the differences of two `Experiment`s as a list of clauses, which is empty if they are the same."""
    if logged.rule != here.rule:
        return [f"the rule is {logged.rule} in the log and {here.rule} here"]
    known, named, units = here.defaults | logged.arguments, (logged.names, here.names), (logged.unit, here.unit)
    clauses = [_apart("names", *map(list, named))] if all(named) else []
    clauses += [_apart("unit", *units)] if all(units) else []
    for name in {**known, **here.arguments}:
        if name in known and name in here.arguments:
            clauses.append(_apart(name, known[name], here.arguments[name]))
        else:
            clauses.append(f"there is no {name} {'here' if name in known else 'in the log'}")
    return [*filter(None, clauses)]


def _apart(name, one, other):
    """Return where two values differ, or an empty text."""
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = enumerate(zip(one, other, strict=True))
        return next((said for i, pair in pairs if (said := _apart(f"{name}[{i}]", *pair))), "")
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return next((said for key in one if (said := _apart(f"{name}'s {key}", one[key], other[key]))), "")
    if isinstance(one, list) and isinstance(other, list):
        return f"{name} has {len(one)} entries in the log and {len(other)} here"
    return "" if _same(one, other) else f"{name} is {_short(one)} in the log and {_short(other)} here"


def _same(one, other):
    if one == other or not all(isinstance(value, float | int) for value in (one, other)):
        return one == other
    return isclose(one, other, rel_tol=CLOSE) or (isnan(one) and isnan(other))


def _short(value):
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
