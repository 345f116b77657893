"""Allocations for the difference of two arms, solved when first asked for and shared by all runs on the same arms.

min |w|_1 subject to X'w = x_i - x_j, w of either sign: the program of LinGapE (Xu et al. 2018). By Elfving's
theorem |w| / |w|_1 is the XY-design of that one direction, and a basic solution has at most r arms. Each solution is a
pure function of the arms and the pair, so runs that share a table pull what they would pull with tables of their own.
"""

from collections import OrderedDict
from hashlib import blake2b

import numpy as np
from scipy.optimize import linprog

from bandits_lib.design.d_optimal import spanning_arms
from bandits_lib.design.single import SLACK, single_direction

ROWS = 64  # pairs a table holds at first
NEGLIGIBLE = 1e-12  # amounts relative to their sum that are rounding errors
TABLES = 4  # tables remembered, the least recently used goes first

_tables: OrderedDict = OrderedDict()


class Allocations:
    """The allocations solved so far for the pairs of `arms` (K, r), r = rank.

    rows : (K, K), the row of each pair in support and shares, -1 if it is not solved yet;
    support : (C, r + 1), the arms of each allocation; shares : (C, r + 1), their shares, -1 after the last.
    """

    def __init__(self, arms):
        K, r = arms.shape
        self.arms, self.solved = arms, 0
        self.basis = spanning_arms(arms) if K else np.zeros(0, dtype=np.int64)
        self.inverse = np.linalg.inv(arms[self.basis].T) if K else np.zeros((0, 0))
        self.rows = np.full((K, K), -1)
        self.support, self.shares = np.zeros((ROWS, r + 1), dtype=np.int64), np.full((ROWS, r + 1), -1.0)

    def solve(self, i, j):
        """Enter the pair of arms i and j; support and shares are new arrays when they had to grow."""
        if self.rows[i, j] >= 0:
            return
        if self.solved == len(self.support):
            self.support = np.concatenate([self.support, np.zeros_like(self.support)])
            self.shares = np.concatenate([self.shares, np.full_like(self.shares, -1.0)])
        weights = self._weights(min(i, j), max(i, j))
        atoms = np.flatnonzero(weights)
        self.support[self.solved, : len(atoms)] = atoms
        self.shares[self.solved, : len(atoms)] = weights[atoms]
        self.rows[i, j] = self.rows[j, i] = self.solved
        self.solved += 1

    def _weights(self, i, j):
        """The allocation (K,) for arms i < j, from the spanning arms if these prove to be enough, or by the program."""
        arms, direction = self.arms, self.arms[i] - self.arms[j]
        if not direction.any():  # copies: nothing can tell them apart, and any arm is as good
            return np.eye(len(arms))[i]
        amounts = self.inverse @ direction
        amounts[np.abs(amounts) <= NEGLIGIBLE * np.abs(amounts).sum()] = 0.0
        if np.abs(arms @ (self.inverse.T @ np.sign(amounts))).max() <= 1 + SLACK:  # a dual solution of equal value
            weights = np.zeros(len(arms))
            weights[self.basis] = np.abs(amounts) / np.abs(amounts).sum()
            return weights
        try:
            return single_direction(arms, direction)[0]
        except np.linalg.LinAlgError:  # a basis of nearly parallel arms
            signed = np.hstack([arms.T, -arms.T])
            amounts = linprog(np.ones(signed.shape[1]), A_eq=signed, b_eq=direction, method="highs-ds").x
            weights = amounts[: len(arms)] + amounts[len(arms) :]
            return weights / weights.sum()


def allocations(arms):
    """The `Allocations` of arms (K, r) of rank r that this process remembers, or new ones."""
    key = blake2b(str(arms.shape).encode() + np.ascontiguousarray(arms).tobytes(), digest_size=24).digest()
    if key not in _tables:
        _tables[key] = Allocations(arms)
        if len(_tables) > TABLES:
            _tables.popitem(last=False)
    _tables.move_to_end(key)
    return _tables[key]


def allocations_clear():
    """Forget every table."""
    _tables.clear()
