"""The certified G-design of any size: the D-optimal one, which is the same, on few atoms.

Up to MANY_ARMS arms all take part; of more a working set does (`many_arms`). The value is that of all arms.
"""

import warnings

import numpy as np

from bandits_lib.design._pairs import Listed
from bandits_lib.design.certificate import Design, value_of
from bandits_lib.design.d_optimal import d_optimal
from bandits_lib.design.many_arms import norms_of_all, working_set
from bandits_lib.design.sparsify import on_few_atoms
from bandits_lib.numerics.span import span

MAX_SWEEPS = 20_000
MANY_ARMS = 40_000


def solve_g(arms, tol):
    """`Design` for arms (K, d)."""
    solve = _of_all if len(arms) < MANY_ARMS else _of_many
    weights, value, rank, sweeps = solve(arms, tol)
    if not value <= (1 + tol) * rank:
        warnings.warn(f"design certified to {value / rank - 1:.2g} only, not tol={tol}", RuntimeWarning, stacklevel=4)
    return Design(weights, max(value, float(rank)), float(rank), sweeps)


def _of_all(arms, tol):
    """Weights (K,), their value, the rank of the arms and sweeps."""
    inside = span(arms).arms
    weights, sweeps = d_optimal(inside, 0.8 * tol, MAX_SWEEPS)
    weights = on_few_atoms(inside, weights, tol)
    return weights, value_of(inside, weights, Listed(inside)), inside.shape[1], sweeps


def _of_many(arms, tol):
    """As `_of_all`, by way of a working set."""
    chosen, space, few, sweeps = working_set(arms, 0.8 * tol, MAX_SWEEPS)
    few = on_few_atoms(space.arms, few, tol)
    weights = np.zeros(len(arms))
    weights[chosen] = few
    return weights, norms_of_all(arms, space, few).max(), space.arms.shape[1], sweeps
