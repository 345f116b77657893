"""Cache designs, stages and allocations in bounded memory, for all runs of a process.

Keys are digests of the solver's name and the bytes of its arguments. Values are NamedTuples with read-only arrays.
"""

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from hashlib import blake2b
from threading import Lock

import numpy as np

MAX_BYTES = 1 << 25  # of all arrays; the least recently used designs are removed first

_designs: OrderedDict = OrderedDict()
_state = {"off": 0, "bytes": 0}  # how many contexts are open in which nothing is remembered; size of the designs
_lock = Lock()  # of both; designs are computed without it


def _digest(name, arguments):
    digest = blake2b(name.encode(), digest_size=24)
    for argument in arguments:
        array = np.ascontiguousarray(argument)
        digest.update(f"{type(argument).__name__}{array.dtype.str}{array.shape}".encode())
        digest.update(array.data if array.dtype != object else repr(argument).encode())
    return digest.digest()


def cached(solver):
    """Decorate a solver to remember its designs; it takes arrays, numbers, strings, None or NamedTuples of arrays."""

    @wraps(solver)
    def remembered(*arguments):
        if _state["off"]:
            return _frozen(solver(*map(_writable, arguments)))
        key = _digest(solver.__name__, arguments)
        with _lock:
            if key in _designs:
                _designs.move_to_end(key)
                return _designs[key]
        design = _frozen(solver(*map(_writable, arguments)))
        with _lock:
            if key not in _designs:  # no other thread was faster
                _designs[key] = design
                _state["bytes"] += _size(design)
            while _state["bytes"] > MAX_BYTES:
                _state["bytes"] -= _size(_designs.popitem(last=False)[1])
        return design

    return remembered


def _writable(argument):
    """Return a writable copy of a read-only array, because kernels would be compiled again for read-only arrays."""
    frozen = isinstance(argument, np.ndarray) and not argument.flags.writeable
    return argument.copy() if frozen else argument


def _arrays(design):
    return [field for field in design if isinstance(field, np.ndarray)]


def _frozen(design):
    for array in _arrays(design):
        array.flags.writeable = False
    return design


def _size(design):
    return sum(array.nbytes for array in _arrays(design)) + 500


def cache_clear() -> None:
    """Forget every design.

    Examples
    --------
    >>> from bandits_lib.design import g_design
    >>> first = g_design(np.eye(2))
    >>> cache_clear()
    >>> g_design(np.eye(2)) is first
    False
    """
    with _lock:
        _designs.clear()
        _state["bytes"] = 0


@contextmanager
def cache_off() -> Iterator[None]:
    """Return a context manager within which every design is computed anew and none is remembered.

    Yields
    ------
    None
        The context has no value.

    Examples
    --------
    >>> from bandits_lib.design import g_design
    >>> with cache_off():
    ...     g_design(np.eye(2)) is g_design(np.eye(2))
    False
    """
    with _lock:
        _state["off"] += 1
    try:
        yield
    finally:
        with _lock:
            _state["off"] -= 1
