"""Hashes that tell one experiment from another, so that a log or checkpoint never continues a different one."""

import functools
import hashlib
import inspect
import types
from pathlib import Path

import joblib
import numpy as np

PACKAGE = __name__.partition(".")[0]


def fingerprint(*parts):
    """A short hash of arguments: arrays, numbers, strings, containers, functions, partials, rngs.

    parts : any number of them. Returns 16 hex digits.
    Functions of this package count by name; a user's function by its code, defaults and the values it refers to,
    so that editing a parameter in a notebook changes the hash. Equal in every process. Raises nothing.

    >>> fingerprint(1, "a") == fingerprint(1, "a"), fingerprint(1, "a") == fingerprint(1, "b")
    (True, False)
    """
    return hashlib.sha256("\n".join(_describe(part, ()) for part in parts).encode()).hexdigest()[:16]


@functools.cache
def source_fingerprint():
    """A hash of this package's own source files: results drawn by other code are never resumed.

    Returns 16 hex digits.

    >>> len(source_fingerprint())
    16
    """
    files = sorted(Path(__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


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
    """Names that a function's code refers to, lambdas and comprehensions within it included."""
    inner = (item for item in code.co_consts if isinstance(item, types.CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _code(code):
    constants = [_code(item) if isinstance(item, types.CodeType) else repr(item) for item in code.co_consts]
    return code.co_code.hex() + repr(constants) + repr(code.co_names)
