"""Allocations for the difference of two arms, solved when first asked for and shared by all runs on the same arms.

min |w|_1 subject to X'w = x_i - x_j, w of either sign: the program of LinGapE (Xu et al. 2018). By Elfving's
theorem |w| / |w|_1 is the XY-design of that one direction, and a basic solution has at most r arms. Each solution is a
pure function of the arms and the pair, so runs that share a table pull what they would pull with tables of their own.
"""

from collections import OrderedDict
from functools import partial
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from bandits_lib.design.vertices import signed_program, solve_pair
from bandits_lib.numerics.kernels import kernel
from bandits_lib.numerics.ordered import total

ROWS = 64  # pairs a table holds at first
NO_PAIR = np.iinfo(np.int64).max
TABLES = 4  # tables remembered, the least recently used goes first

_tables: OrderedDict = OrderedDict()


class Table(NamedTuple):
    """What compiled loops read of the allocations: the pairs i < j of M are known by the key i M + j."""

    known: np.ndarray  # (1,), how many there are
    keys: np.ndarray  # (C,), increasing, NO_PAIR where there is room for more
    rows: np.ndarray  # (C,), of each key in the next two
    support: np.ndarray  # (C, r + 1), the arms of each allocation
    shares: np.ndarray  # (C, r + 1), their shares, -1 after the last


class Allocations:
    """The `table` of allocations solved so far; `solve(i, j)` -> weights (K,), at most r of them, for i < j below M."""

    def __init__(self, solve, M, r, program=None):
        self.solve, self.M, self.program, self.table = solve, M, program, _room(ROWS, r)

    def key(self, i, j):
        """One number for a pair, whichever comes first."""
        return min(i, j) * self.M + max(i, j)

    def enter(self, i, j):
        """The row of the pair i, j, solved now if it was not before; where there was no room the table is a new one."""
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
    """A Table of C pairs that are not there yet."""
    support, shares = np.zeros((C, r + 1), dtype=np.int64), np.full((C, r + 1), -1.0)
    return Table(np.zeros(1, dtype=np.int64), np.full(C, NO_PAIR), np.zeros(C, dtype=np.int64), support, shares)


@kernel
def place(table, key):
    """The number of keys below `key`, by bisection."""
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
    """The row of a pair, -1 if it is not there."""
    at = place(table, key)
    return table.rows[at] if at < table.known[0] and table.keys[at] == key else -1


@kernel
def put(table, key, arms, shares):
    """Enter the shares (n,) of `arms` (n,) for a pair that is not there, where there is room; its row."""
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
    """The row of the pair i, j, which is not there; -1 where there is no room, or no solution by this program."""
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
    """Weights (K,) for x_i - x_j, at most r of them."""
    if not solve_pair(program, i, j):  # a basis of nearly parallel arms
        return general(program.columns.T, program.columns[:, i] - program.columns[:, j])
    weights, used = np.zeros(program.columns.shape[1]), program.amounts > 0
    weights[program.basis[used]] = program.amounts[used] / total(program.amounts)
    return weights


def general(arms, direction):
    """Weights (K,) for a direction (r,), by a general solver of linear programs."""
    signed = np.hstack([arms.T, -arms.T])
    amounts = linprog(np.ones(signed.shape[1]), A_eq=signed, b_eq=direction, method="highs-ds").x
    weights = amounts[: len(arms)] + amounts[len(arms) :]
    return weights / weights.sum()


def key_of(arms):
    """What tells arms (K, r) from others, to the last bit."""
    return blake2b(str(arms.shape).encode() + np.ascontiguousarray(arms).tobytes(), digest_size=24).digest()


def allocations(arms):
    """The `Allocations` of arms (K, r) of rank r that this process remembers, or new ones."""
    if (key := key_of(arms)) not in _tables:
        program, (K, r) = signed_program(arms), arms.shape
        _tables[key] = Allocations(partial(allocate, program), K, r, program)
        if len(_tables) > TABLES:
            _tables.popitem(last=False)
    _tables.move_to_end(key)
    return _tables[key]


def allocations_clear():
    """Forget every table."""
    _tables.clear()
