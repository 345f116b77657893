"""Logs of version 1, which are read and go on as version 2: rows of what was told, under a hash of the experiment.

# bandits_lib log of rage, experiment 06f2b8ed2503880b
request,arm,count,sum,squares
1,0,27,28.795708136846553,47.854322562297744

What was asked is not in them. But a request is only followed by another when it has been answered, so what was told of
all requests but the last is what they asked. The hash is that of the library as it was, arrays to the last bit.
"""

import functools
import hashlib
import inspect
import types

import joblib
import numpy as np

from bandits_lib.lab.entries import fields

HEAD = "# bandits_lib log of "
COLUMNS = "request,arm,count,sum,squares"
PACKAGE = __name__.partition(".")[0]


def told(lines):
    """[(line, request, arm, count, sum, squares), ...] of the lines after the first two; lines count from 1."""
    kinds = (int, int, int, float, float)
    texts = ((line, text.strip().split(",")) for line, text in enumerate(lines, start=3) if text.strip())
    return [(line, *fields(line, found, COLUMNS, kinds)) for line, found in texts]


def identity(rule, arguments):
    """The hash, 16 hex digits, by which a log of version 1 knows its experiment: a rule's name and its arguments."""
    parts = (_describe(part, ()) for part in (rule, dict(sorted(arguments.items()))))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _describe(value, seen):
    if id(value) in seen:
        return "<seen>"
    seen = (*seen, id(value))
    if isinstance(value, np.ndarray):
        digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return f"array{value.shape}{value.dtype}{digest}"
    if isinstance(value, np.generic):
        return repr(value.item())
    if isinstance(value, np.random.Generator):
        return _describe(value.bit_generator.state, seen)
    if isinstance(value, functools.partial):
        return "partial" + _describe((value.func, value.args, value.keywords), seen)
    if isinstance(value, dict):
        return "{" + ",".join(f"{key!r}:{_describe(item, seen)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "(" + ",".join(_describe(item, seen) for item in value) + ")"
    if isinstance(value, set | frozenset):
        return "{" + ",".join(sorted(_describe(item, seen) for item in value)) + "}"
    if inspect.isgenerator(value):
        return value.__qualname__ + _describe(dict(sorted(inspect.getgeneratorlocals(value).items())), seen)
    if inspect.ismethod(value):
        return "method" + _describe((value.__self__, value.__func__), seen)
    if inspect.isroutine(value) or inspect.isclass(value) or hasattr(value, "py_func"):
        return _describe_code(value, seen)
    return _describe_object(value, seen)


def _describe_object(value, seen):
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return repr(value)
    name = type(value).__qualname__
    if hasattr(value, "__array__") or not getattr(value, "__dict__", None):
        return name + joblib.hash(value)
    return name + _describe(vars(value), seen)


def _describe_code(function, seen):
    function = getattr(function, "py_func", inspect.unwrap(function))
    name = f"{getattr(function, '__module__', '')}.{function.__qualname__}"
    if not isinstance(function, types.FunctionType) or name.startswith(PACKAGE + "."):
        return name
    referred = {key: function.__globals__[key] for key in _names(function.__code__) if key in function.__globals__}
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    referred |= {key: cell.cell_contents for key, cell in cells}
    values = {key: item for key, item in sorted(referred.items()) if not isinstance(item, types.ModuleType)}
    return name + _code(function.__code__) + _describe((function.__defaults__, function.__kwdefaults__, values), seen)


def _names(code):
    inner = (item for item in code.co_consts if isinstance(item, types.CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _code(code):
    constants = [_code(item) if isinstance(item, types.CodeType) else repr(item) for item in code.co_consts]
    return code.co_code.hex() + repr(constants) + repr(code.co_names)
