"""Allocations for the difference of two arms, solved when first asked for and shared by all runs on the same arms.

min |w|_1 subject to X'w = x_i - x_j, w of either sign: the program of LinGapE (Xu et al. 2018). By Elfving's
theorem |w| / |w|_1 is the XY-design of that one direction, and a basic solution has at most r arms. Each solution is a
pure function of the arms and the pair, so runs that share a table pull what they would pull with tables of their own.
"""

from collections import OrderedDict
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from bandits_lib.design.d_optimal import spanning_arms
from bandits_lib.design.single import SLACK, single_direction

ROWS = 64  # pairs a table holds at first
NEGLIGIBLE = 1e-12  # amounts relative to their sum that are rounding errors
NO_PAIR = np.iinfo(np.int64).max
TABLES = 4  # tables remembered, the least recently used goes first

_tables: OrderedDict = OrderedDict()


class Table(NamedTuple):
    """What compiled loops read of the allocations: the pairs i < j of M are known by the key i M + j."""

    keys: np.ndarray  # (C,), increasing, NO_PAIR where there is room for more
    rows: np.ndarray  # (C,), of each key in the next two
    support: np.ndarray  # (C, r + 1), the arms of each allocation
    shares: np.ndarray  # (C, r + 1), their shares, -1 after the last


class Allocations:
    """The `table` of allocations solved so far; `solve(i, j)` -> weights (K,), at most r of them, for i < j below M."""

    def __init__(self, solve, M, r):
        self.solve, self.M, self.known = solve, M, 0
        self.table = _room(ROWS, r)

    def enter(self, i, j):
        """The row of the pair i, j, solved now if it was not before; where there was no room the table is a new one."""
        key, known = min(i, j) * self.M + max(i, j), self.known
        if known == len(self.table.keys):
            more = _room(known, self.table.shares.shape[1] - 1)
            self.table = Table(*map(np.concatenate, zip(self.table, more, strict=True)))
        keys, rows, support, shares = self.table
        place = int(keys.searchsorted(key))
        if keys[place] == key:
            return int(rows[place])
        weights = self.solve(*divmod(key, self.M))
        atoms = np.flatnonzero(weights)
        support[known, : len(atoms)], shares[known, : len(atoms)] = atoms, weights[atoms]
        for column, entry in ((keys, key), (rows, known)):
            column[place + 1 : known + 1] = column[place:known]
            column[place] = entry
        self.known += 1
        return known


def _room(C, r):
    """A Table of C pairs that are not there yet."""
    support, shares = np.zeros((C, r + 1), dtype=np.int64), np.full((C, r + 1), -1.0)
    return Table(np.full(C, NO_PAIR), np.zeros(C, dtype=np.int64), support, shares)


def signed_program(arms):
    """The function (i, j) -> weights (K,) that solves the program for arms (K, r) of rank r."""
    basis = spanning_arms(arms)
    inverse = np.linalg.inv(arms[basis].T)

    def solve(i, j):
        direction = arms[i] - arms[j]
        if not direction.any():  # copies: nothing can tell them apart, and any arm is as good
            return np.eye(len(arms))[i]
        amounts = inverse @ direction
        amounts[np.abs(amounts) <= NEGLIGIBLE * np.abs(amounts).sum()] = 0.0
        if np.abs(arms @ (inverse.T @ np.sign(amounts))).max() <= 1 + SLACK:  # a dual solution of equal value
            weights = np.zeros(len(arms))
            weights[basis] = np.abs(amounts) / np.abs(amounts).sum()
            return weights
        try:
            return single_direction(arms, direction)[0]
        except np.linalg.LinAlgError:  # a basis of nearly parallel arms
            return general(arms, direction)

    return solve


def general(arms, direction):
    """Weights (K,) for a direction (r,), by a general solver of linear programs."""
    signed = np.hstack([arms.T, -arms.T])
    amounts = linprog(np.ones(signed.shape[1]), A_eq=signed, b_eq=direction, method="highs-ds").x
    weights = amounts[: len(arms)] + amounts[len(arms) :]
    return weights / weights.sum()


def allocations(arms):
    """The `Allocations` of arms (K, r) of rank r that this process remembers, or new ones."""
    key = blake2b(str(arms.shape).encode() + np.ascontiguousarray(arms).tobytes(), digest_size=24).digest()
    if key not in _tables:
        _tables[key] = Allocations(signed_program(arms), *arms.shape)
        if len(_tables) > TABLES:
            _tables.popitem(last=False)
    _tables.move_to_end(key)
    return _tables[key]


def allocations_clear():
    """Forget every table."""
    _tables.clear()
