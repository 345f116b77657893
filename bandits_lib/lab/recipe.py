"""How to make an algorithm once more: a generator cannot be copied, but a fresh one tells its function and arguments.

Random generators are copied in the state in which they were handed over, before the first draw; arrays are not copied.
"""

import copy
import inspect
import types
from typing import Any, NamedTuple

import numpy as np

from bandits_lib.protocol import Algorithm


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
