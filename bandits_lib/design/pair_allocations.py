"""Compute allocations for the difference of two arms when first asked for; a thread's runs on the same arms share them.

`allocations`: min |w|_1 subject to X'w = x_i - x_j, w of either sign, the program of LinGapE (Xu et al. 2018).
`nonnegative_allocations`: the same with w >= 0, as in the code of azizi2022. That code passes the program to SLSQP,
starts from equal weights, takes the last iterate as the solution even if it is not one, and normalises.

If there is no solution, rounding errors grow from iterate to iterate. The last iterate is therefore computed by Kraft's
program of 1988 (PySLSQP), whose own linear algebra gives the same digits on all processors. If PySLSQP is not
installed, the current program of SciPy is used.
Departures: derivatives are exact instead of finite differences; of the pairs that a relabelling of the arms maps onto
each other the first alone is solved; and arms that a pair does not distinguish have equal weights.
"""

import os
import sys
import threading
import warnings
from collections import OrderedDict
from functools import cache, partial
from hashlib import blake2b
from importlib.util import find_spec
from types import ModuleType
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog, minimize

from bandits_lib.design.elfving import signed_program, solve_pair
from bandits_lib.numerics.kernels import kernel, merged
from bandits_lib.numerics.linear_algebra import ordered_sum


@cache
def is_here():
    """Return whether PySLSQP is installed, as on Linux on x86-64 with Python below 3.13."""
    return find_spec("pyslsqp") is not None


@cache
def _optimize():
    """Return PySLSQP's function without its module of pictures, which would choose a backend for all figures."""
    pictures = ModuleType("pyslsqp.visualize")
    pictures.Visualizer = None  # type: ignore[attr-defined]
    sys.modules.setdefault(pictures.__name__, pictures)
    from pyslsqp import optimize

    if sys.modules[pictures.__name__] is pictures:
        del sys.modules[pictures.__name__]
    return optimize


def last_point(start, objective, gradient, constraint, jacobian):
    """Return SLSQP's last iterate (n,), solution or not, for min objective, constraint = 0, x >= 0, default options."""
    functions = {"obj": objective, "grad": gradient, "con": constraint, "jac": lambda x: jacobian}
    warnings.filterwarnings("ignore", module="pyslsqp")  # of points clipped to the bounds and of its own counters
    silent = {"iprint": 0, "summary_filename": os.devnull}
    return _optimize()(np.array(start), **functions, meq=len(jacobian), xl=0.0, **silent)["x"]


ROWS = 64  # pairs for which a new table has room
NO_PAIR = np.iinfo(np.int64).max
TABLES = 4  # tables that a thread remembers; the least recently used is removed first


class Remembered(threading.local):
    """The tables of one thread: runs in several threads, as in a dask worker, would write into each other's tables."""

    def __init__(self):
        self.tables = OrderedDict()


_remembered = Remembered()


class Table(NamedTuple):
    """The allocations that compiled loops read: the pair i < j of M arms has the key i M + j."""

    known: np.ndarray  # (1,), number of pairs
    keys: np.ndarray  # (C,), increasing, NO_PAIR where there is room for more
    rows: np.ndarray  # (C,), row of each key in the next two
    support: np.ndarray  # (C, r + 1), the arms of each allocation
    shares: np.ndarray  # (C, r + 1), their shares, -1 after the last


class Allocations:
    """The `table` of allocations solved so far; `solve(i, j)`, i < j < M, returns weights (K,), at most r positive."""

    def __init__(self, solve, M, r, program=None):
        self.solve, self.M, self.program, self.table = solve, M, program, _room(ROWS, r)

    def key(self, i, j):
        return min(i, j) * self.M + max(i, j)

    def enter(self, i, j):
        """Return the row of the pair i, j, solved now if it is new; if there was no room, `table` is a larger one."""
        row = find(self.table, key := self.key(i, j))
        if row >= 0:
            return row
        if self.table.known[0] == len(self.table.keys):
            known, *columns = self.table
            _, *more = _room(known[0], self.table.shares.shape[1] - 1)
            self.table = Table(known.copy(), *map(np.concatenate, zip(columns, more, strict=True)))
        weights = self.solve(*divmod(key, self.M))
        return put(self.table, key, atoms := np.flatnonzero(weights), weights[atoms])


def _room(C, r):
    support, shares = np.zeros((C, r + 1), dtype=np.int64), np.full((C, r + 1), -1.0)
    return Table(np.zeros(1, dtype=np.int64), np.full(C, NO_PAIR), np.zeros(C, dtype=np.int64), support, shares)


@merged
def place(table, key):
    low, high = 0, table.known[0]
    while low < high:
        middle = (low + high) // 2
        if table.keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def find(table, key):
    at = place(table, key)
    return table.rows[at] if at < table.known[0] and table.keys[at] == key else -1


@kernel
def put(table, key, arms, shares):
    """Enter the shares (n,) of `arms` (n,) for a new pair into a table with room, and return its row."""
    row, at, atom = table.known[0], place(table, key), 0
    for n in range(arms.shape[0]):
        if shares[n] != 0.0:
            table.support[row, atom], table.shares[row, atom] = arms[n], shares[n]
            atom += 1
    for n in range(row, at, -1):
        table.keys[n], table.rows[n] = table.keys[n - 1], table.rows[n - 1]
    table.keys[at], table.rows[at] = key, row
    table.known[0] += 1
    return row


@kernel
def enter(table, program, i, j):
    """Return the row of a new pair i, j; -1 if there is no room, or no solution by this program."""
    low, high = min(i, j), max(i, j)
    if table.known[0] == table.keys.shape[0] or not solve_pair(program, low, high):
        return -1
    size = 0.0
    for b in range(program.amounts.shape[0]):
        size += program.amounts[b]
    for b in range(program.amounts.shape[0]):
        program.amounts[b] /= size
    return put(table, low * program.prices.shape[0] + high, program.basis, program.amounts)


def allocate(program, i, j):
    if not solve_pair(program, i, j):  # a basis of nearly parallel arms
        return general(program.columns.T, program.columns[:, i] - program.columns[:, j])
    weights, used = np.zeros(program.columns.shape[1]), program.amounts > 0
    weights[program.basis[used]] = program.amounts[used] / ordered_sum(program.amounts)
    return weights


def general(arms, direction):
    """Return weights (K,) for a direction (r,), by a general solver of linear programs."""
    signed = np.hstack([arms.T, -arms.T])
    amounts = linprog(np.ones(signed.shape[1]), A_eq=signed, b_eq=direction, method="highs-ds").x
    weights = amounts[: len(arms)] + amounts[len(arms) :]
    return weights / weights.sum()


def key_of(arms):
    return blake2b(str(arms.shape).encode() + np.ascontiguousarray(arms).tobytes(), digest_size=24).digest()


def allocations(arms):
    """Return the `Allocations` of arms (K, r) of rank r that this thread remembers, or new ones."""
    return _recall(_signed, arms)


def _signed(arms):
    program, (K, r) = signed_program(arms), arms.shape
    return Allocations(partial(allocate, program), K, r, program)


def _recall(make, arms):
    """Return make(arms), or the earlier one if it is among the last TABLES."""
    tables = _remembered.tables
    if (key := (make, key_of(arms))) not in tables:
        tables[key] = make(arms)
        if len(tables) > TABLES:
            tables.popitem(last=False)
    tables.move_to_end(key)
    return tables[key]


def allocations_clear():
    _remembered.tables.clear()


class Directed(Allocations):
    def key(self, i, j):
        """Return one number for a pair, and another for the reversed pair."""
        return i * self.M + j


def nonnegative_allocations(arms):
    """Return the allocations of ordered pairs of arms (K, d) that this thread remembers, or new ones."""
    return _recall(_directed, arms)


def _directed(arms):
    return Directed(OrderedPairs(arms).solve, len(arms), len(arms))


ROUNDED = 9  # inner products that agree to this many decimals count as equal, where the largest is about 1


class OrderedPairs:
    """The ordered pairs of arms (K, d); those of the same shape have the weights of the first, solved once."""

    def __init__(self, arms):
        products = arms @ arms.T
        scaled = np.ldexp(products, -np.frexp(products.diagonal().max())[1])  # exact
        self.arms, self.products = arms, np.round(scaled, ROUNDED) + 0.0  # no -0
        self.kinds = _ranks(np.sort(self.products, axis=1))
        self.solved = {}  # digest of a shape -> weights (K,), in the order of the shape

    def solve(self, i, j):
        order, shape = self.shape(i, j)
        if shape not in self.solved:
            first, second = self.first(i, j)
            weights = least_weights(self.arms, self.arms[first] - self.arms[second])
            self.solved[shape] = _averaged(weights, _ranks(self.seen(first, second)))[self.shape(first, second)[0]]
        found = np.empty(len(self.arms))
        found[order] = self.solved[shape]
        return found

    def first(self, i, j):
        """Return the first pair of the shape of i, j."""
        alike = np.outer(self.kinds == self.kinds[i], self.kinds == self.kinds[j])
        candidates = zip(*np.nonzero(alike & (self.products == self.products[i, j])), strict=True)
        shape = self.shape(i, j)[1]
        return next(pair for pair in candidates if self.shape(*pair)[1] == shape)

    def shape(self, i, j):
        """Return an order of the arms (K,), and a digest of what the pair and the products look like in it."""
        seen = self.seen(i, j)
        order = np.lexsort(seen.T)
        return order, key_of(np.hstack([seen[order], self.products[np.ix_(order, order)]]))

    def seen(self, i, j):
        """Return one row for each arm, equal for arms that the pair does not distinguish."""
        k = np.arange(len(self.arms))
        return np.column_stack([self.kinds, self.products[i], self.products[j], k == i, k == j])


def least_weights(arms, direction):
    """Return weights (K,), sum 1: SLSQP's last point for min |w|_1, X'w = direction, w >= 0, from weights 1 / K."""
    last = (_last_of_kraft if is_here() else _last_of_scipy)(arms, direction)
    return np.abs(last) / np.abs(last).sum()


def _norm(w):
    return np.abs(w).sum()


def _slope(w):
    """Return a subgradient of |w|_1, 1 at 0."""
    return np.sign(w) + (w == 0)


def _last_of_kraft(arms, direction):
    """Return the last point (K,); X'w is summed arm by arm, in one order on all processors."""
    K = len(arms)
    return last_point(np.full(K, 1 / K), _norm, _slope, lambda w: (arms * w[:, None]).sum(axis=0) - direction, arms.T)


def _last_of_scipy(arms, direction):
    K = len(arms)
    equal = {"type": "eq", "fun": lambda w: arms.T @ w - direction, "jac": lambda w: arms.T}
    start, bounds = np.full(K, 1 / K), [(0, None)] * K
    return minimize(_norm, start, jac=_slope, method="SLSQP", bounds=bounds, constraints=equal).x


def _ranks(rows):
    return np.unique(rows, axis=0, return_inverse=True)[1].ravel()


def _averaged(weights, kinds):
    return (np.bincount(kinds, weights) / np.bincount(kinds))[kinds]
