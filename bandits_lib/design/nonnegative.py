"""Allocations for the difference of two arms as azizi2022's code has them: min |w|_1, X'w = x_i - x_j, w >= 0.

LinGapE's program has w of either sign (`allocations`). With w >= 0 there may be no solution: the difference must lie in
the cone of the arms. The published code hands the program to SLSQP, which starts from equal weights, takes its last
iterate for the solution whether it is one or not, and normalises. The answer is a pure function of the arms and of the
ordered pair, and not of the difference alone: i against j is another program than j against i.

Where there is no solution SLSQP stops when its line search fails or its iterations are spent, and rounding errors grow
on the way: some of these pairs have another last iterate where products are added in another order. So the iterations
are those of Kraft's own program, which the published code had from SciPy of its time: in PySLSQP it has no linear
algebra that differs from processor to processor. SciPy's present one stands in where there is no PySLSQP (it has no
wheels for systems other than Linux on x86-64); both end alike where there is a solution.

Departures: derivatives are exact in place of finite differences; pairs that a relabelling of the arms carries into each
other are solved once, and arms that a pair does not distinguish have equal weights, not equal up to rounding.
"""

from collections import OrderedDict

import numpy as np
from scipy.optimize import minimize

from bandits_lib.design.allocations import TABLES, Allocations, key_of
from bandits_lib.numerics import kraft

ROUNDED = 9  # digits to which inner products are the same

_tables: OrderedDict = OrderedDict()


class Directed(Allocations):
    """The `Allocations` of ordered pairs."""

    def key(self, i, j):
        """One number for a pair, another for the pair turned round."""
        return i * self.M + j


def nonnegative_allocations(arms):
    """The allocations of ordered pairs of arms (K, d) that this process remembers, or new ones."""
    if (key := key_of(arms)) not in _tables:
        _tables[key] = Directed(Pairs(arms).solve, len(arms), len(arms))
        if len(_tables) > TABLES:
            _tables.popitem(last=False)
    _tables.move_to_end(key)
    return _tables[key]


class Pairs:
    """The ordered pairs of arms (K, d); those of one shape are solved once."""

    def __init__(self, arms):
        self.arms, self.products = arms, np.round(arms @ arms.T, ROUNDED) + 0.0  # no -0
        self.kinds = _ranks(np.sort(self.products, axis=1))
        self.solved = {}  # shape of a pair -> (the products, in the order of the kinds of arms; weights in that order)

    def solve(self, i, j):
        """Weights (K,) for x_i - x_j."""
        K = len(self.arms)
        seen = np.column_stack([self.kinds, self.products[i], self.products[j], np.arange(K) == i, np.arange(K) == j])
        kinds, order = _ranks(seen), np.lexsort(seen.T)
        shape, products = seen[order].tobytes(), self.products[np.ix_(order, order)]
        before, weights = self.solved.get(shape, (None, None))
        if before is None or not np.array_equal(before, products):
            weights = _averaged(least_weights(self.arms, self.arms[i] - self.arms[j]), kinds)[order]
            self.solved.setdefault(shape, (products, weights))
        found = np.empty(K)
        found[order] = weights
        return found


def least_weights(arms, direction):
    """Weights (K,), sum 1: SLSQP's last point for min |w|_1, X'w = direction, w >= 0, from equal weights 1 / K."""
    last = (_last_of_kraft if kraft.is_here() else _last_of_scipy)(arms, direction)
    return np.abs(last) / np.abs(last).sum()


def _norm(w):
    return np.abs(w).sum()


def _slope(w):
    """A subgradient of |w|_1, 1 at 0."""
    return np.sign(w) + (w == 0)


def _last_of_kraft(arms, direction):
    """(K,); X'w is summed arm by arm, in one order on all processors."""
    K = len(arms)
    return kraft.last_point(
        np.full(K, 1 / K), _norm, _slope, lambda w: (arms * w[:, None]).sum(axis=0) - direction, arms.T
    )


def _last_of_scipy(arms, direction):
    K = len(arms)
    equal = {"type": "eq", "fun": lambda w: arms.T @ w - direction, "jac": lambda w: arms.T}
    start, bounds = np.full(K, 1 / K), [(0, None)] * K
    return minimize(_norm, start, jac=_slope, method="SLSQP", bounds=bounds, constraints=equal).x


def _ranks(rows):
    """(n,) which of the different rows of (n, m) each is."""
    return np.unique(rows, axis=0, return_inverse=True)[1].ravel()


def _averaged(weights, kinds):
    """Weights (K,), those of one kind replaced by their mean."""
    return (np.bincount(kinds, weights) / np.bincount(kinds))[kinds]
