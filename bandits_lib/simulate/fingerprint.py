"""Compute hashes that distinguish experiments, so that a log or checkpoint never continues a different one.

The hash is computed from a text that describes the values and is the same in every process. Numbers and arrays are
described by their digits, and other objects by what pickle would keep of them. Functions and classes of a library, of
Python or of this project are described by name. Those of the user are described by their code and everything that its
names lead to, and the user's modules by their file.
"""

import dis
import functools
import hashlib
import inspect
import sys
import sysconfig
import types
from pathlib import Path
from typing import Any

import numpy as np

from bandits_lib.numerics.kernel_cache import HOME, digest, digest_of
from bandits_lib.protocol import Rule

PACKAGES = ("bandits_lib", "bandits_lab", "bandits_companion")  # of this project, installed together
STDLIB = sysconfig.get_path("stdlib")
LIBRARIES = {"site-packages", "dist-packages"}
PLAIN = (bool, int, float, complex, str, bytes)
GLOBAL_RANDOM = getattr(np.random.normal, "__self__", None)  # its state differs from process to process
NAMED = (
    type,
    types.ModuleType,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.WrapperDescriptorType,
    types.MethodWrapperType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
)
UNTOLD = frozenset(  # attributes of a class that say where and how it was written, not what it does
    "__annotate__ __annotate_func__ __annotations__ __annotations_cache__ __dict__ __doc__ __firstlineno__ __module__"
    " __static_attributes__ __weakref__".split()
)


def fingerprint(*parts: Any) -> str:
    """Return a short hash of any number of values, 16 hex digits, equal in every process."""
    described = map(_Description(), parts)
    return hashlib.sha256("\n".join(described).encode()).hexdigest()[:16]


@functools.cache
def source_fingerprint() -> str:
    """Return a hash of the project's own packages, so that results of other code are never resumed."""
    return digest_of(sorted(file for package in PACKAGES for file in (HOME.parent / package).rglob("*.py")))


class _Description:
    """The text of a value. A function, class or module is described at its first occurrence, later by its number."""

    def __init__(self, met=(), above=()):
        self.met = dict(met)  # id: (number, object); the object keeps its id from being used again
        self.above = list(above)  # ids of the values that contain the current one

    def __call__(self, value):
        if id(value) in self.above:
            return "<seen>"
        self.above.append(id(value))
        text = self.text(value)
        self.above.pop()
        return text

    def text(self, value):
        if isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray):
            return self.array(value)
        if isinstance(value, np.generic):
            return repr(value.item())
        if isinstance(value, np.random.Generator):
            return self(value.bit_generator.state)
        if value is GLOBAL_RANDOM:
            return "np.random"
        if isinstance(value, functools.partial):
            return "partial" + self((value.func, value.args, value.keywords))
        if isinstance(value, Rule):
            value = value.generator
        if inspect.isgenerator(value):
            return self.generator(value)
        owner = getattr(value, "__self__", None) if inspect.isroutine(value) else None
        if not isinstance(owner, types.ModuleType | None):
            return "method" + self((owner, getattr(value, "__func__", value.__name__)))
        if isinstance(value, property):
            return "property" + self((value.fget, value.fset, value.fdel))
        if isinstance(value, NAMED) or hasattr(value, "py_func") or hasattr(value, "__wrapped__"):
            return self.named(value)
        return self.object(value)

    def array(self, value):
        digits = np.ascontiguousarray(value).tobytes()
        content = self(value.tolist()) if value.dtype.hasobject else hashlib.sha256(digits).hexdigest()
        return f"array{value.shape}{value.dtype}{content}"

    def generator(self, value):
        held = self(dict(sorted(inspect.getgeneratorlocals(value).items())))
        if value.gi_frame is None or not _of_user(value.gi_frame.f_globals.get("__name__")):
            return value.__qualname__ + held
        return value.__qualname__ + held + self.code(value.gi_code, value.gi_frame.f_globals, {})

    def object(self, value):
        """Describe built-in containers and scalars by their content, and all else by what pickle would keep of it."""
        content = self.content(value)
        if content is not None and type(value).__module__ == "builtins":
            return content
        return self(type(value)) + (content or "") + self.kept(value)

    def content(self, value):
        if isinstance(value, dict | types.MappingProxyType):
            return "{" + ",".join(f"{self(key)}:{self(item)}" for key, item in value.items()) + "}"
        if isinstance(value, list | tuple):
            return "(" + ",".join(map(self, value)) + ")"
        if isinstance(value, set | frozenset):
            apart = [_Description(self.met, self.above)(item) for item in value]  # numbers must not depend on the order
            return "{" + ",".join(sorted(apart)) + "}"
        kinds = [kind for kind in PLAIN if isinstance(value, kind)]
        return repr(value) if value is None else kinds[0].__repr__(value) if kinds else None

    def kept(self, value):
        try:
            reduced = value.__reduce_ex__(2)
        except Exception:  # it cannot be pickled, such as a lock
            return self(getattr(value, "__dict__", None))
        if isinstance(reduced, str):
            return reduced
        make, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
        return self((make, arguments, state, list(items or ()), list(pairs or ())))

    def named(self, value):
        """Describe a function, class or module: by name if it is of a library, else in full, once."""
        home = value.__name__ if inspect.ismodule(value) else getattr(value, "__module__", None)
        name = home if inspect.ismodule(value) else f"{home or ''}.{getattr(value, '__qualname__', type(value))}"
        if not _of_user(home):
            return name
        if id(value) in self.met:
            return f"<{self.met[id(value)][0]}>"
        self.met[id(value)] = len(self.met), value
        if inspect.ismodule(value):
            return name + _file_digest(value)
        if inspect.isclass(value):
            own = {key: item for key, item in sorted(vars(value).items()) if key not in UNTOLD}
            return name + self((type(value), value.__bases__, own))
        if isinstance(value, types.FunctionType):
            return name + self.function(value)
        inner = getattr(value, "py_func", getattr(value, "__wrapped__", None))  # of numba, staticmethod, lru_cache, ...
        return name + self((type(value), inner, getattr(value, "targetoptions", None)))

    def function(self, value):
        cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
        closure = {key: cell.cell_contents for key, cell in cells if cell != types.CellType()}  # without the empty ones
        attributes = {key: item for key, item in sorted(vars(value).items()) if not key.startswith("__")}
        text = self.code(value.__code__, value.__globals__, closure)
        return text + self((value.__defaults__, value.__kwdefaults__, attributes))

    def code(self, code, namespace, closure):
        """Describe the code of a function and every value that its names lead to."""
        return self.steps(code) + self(dict(sorted(_reached(code, namespace, closure).items())))

    def steps(self, code):
        signature = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
        arguments = code.co_varnames[: sum(signature[:3:2])]
        constants = [self.steps(item) if isinstance(item, types.CodeType) else self(item) for item in code.co_consts]
        caught = code.co_exceptiontable.hex()
        return code.co_code.hex() + caught + repr((signature, arguments, constants, code.co_names))


def _reached(code, namespace, closure):
    """Return {dotted name: value} of the globals and closure of a function, and of attributes of the user's modules."""
    names = sorted(_names(code))
    reached = {name: namespace[name] for name in names if name in namespace} | _imported(code, namespace) | closure
    todo, opened = list(reached.items()), set()
    while todo:
        name, module = todo.pop(0)
        if not isinstance(module, types.ModuleType) or id(module) in opened or not _of_user(module.__name__):
            continue
        opened.add(id(module))
        inside = {f"{name}.{key}": vars(module)[key] for key in names if key in vars(module)}
        reached |= inside
        todo += inside.items()
    return reached


def _names(code):
    """Return the names that a function's code refers to, including lambdas and comprehensions within it."""
    inner = (item for item in code.co_consts if isinstance(item, types.CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _imported(code, namespace):
    """Return {name: module} of the import statements within a function."""
    found, steps = {}, list(dis.get_instructions(code))
    for level, wanted, step in zip(steps, steps[1:], steps[2:], strict=False):
        if step.opname == "IMPORT_NAME":
            try:
                found[step.argval] = __import__(step.argval, namespace, None, wanted.argval or (), level.argval)
            except Exception:  # the function raises the same error when it is called
                continue
    for item in code.co_consts:
        found |= _imported(item, namespace) if isinstance(item, types.CodeType) else {}
    return found


def _of_user(name):
    """Return whether a module, by name, is neither of this project nor of Python nor of an installed library."""
    top = name.partition(".")[0] if isinstance(name, str) else ""
    if top in (*PACKAGES, "__main__"):
        return top == "__main__"
    file = getattr(sys.modules.get(name), "__file__", None)
    if file is None:
        return top not in sys.stdlib_module_names
    return not (LIBRARIES & set(Path(file).parts) or Path(file).is_relative_to(STDLIB))


def _file_digest(module):
    file = Path(getattr(module, "__file__", None) or "")
    return digest(file) if module.__name__ != "__main__" and file.is_file() else ""
