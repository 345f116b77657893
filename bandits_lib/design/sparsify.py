"""Fewer atoms, the same information; and weights to so many digits that rounding errors end here.

1. Dropping atoms whose leverages lambda_x x'A^-1x add up to eta leaves A' >= (1 - eta) A, since the largest eigenvalue
   of what goes, relative to A, is at most its trace: the value grows by at most 1 / (1 - eta). No absolute threshold.
2. Caratheodory: more than r(r+1)/2 atoms are linearly dependent as matrices xx', so weights can move within the null
   space, never raising their sum, until one of them is zero, with A unchanged. Renormalising then only helps.
   The null space is given by its orthogonal projector, so that no choice of a basis enters: a move is the projection of
   the axis nearest to it, and the space then loses the directions that leave the zero.
"""

import math

import numpy as np
from numba import njit

from bandits_lib.design.certificate import inverse_root
from bandits_lib.numerics.ordered import outside_projector, product, squares, total, transposed
from bandits_lib.numerics.ties import argmax, ranked

BATCH = 16  # rows beyond the limit that are worked on at a time, at least
BITS = 19  # binary digits of a weight beyond those of 1e-3 / tol


def drop_small_leverages(arms, weights, eta):
    """Weights (K,), renormalised, without the atoms of least leverage, which add up to at most `eta`."""
    support = np.flatnonzero(weights)
    leverages = weights[support] * squares(product(arms[support], transposed(inverse_root(arms, weights))))
    order = ranked(leverages)
    gone = support[order[np.cumsum(leverages[order]) <= eta]]
    kept = weights.copy()
    kept[gone] = 0.0
    return kept / total(kept)


def basic_weights(arms, weights):
    """Weights (K,) on at most r(r+1)/2 of the atoms, with A at least that of `weights`, summing to one."""
    rank = arms.shape[1]
    limit = rank * (rank + 1) // 2
    support = np.flatnonzero(weights)
    if len(support) <= limit:
        return weights
    measured = product(arms[support], transposed(inverse_root(arms, weights)))
    i, j = np.triu_indices(rank)
    atoms = weights[support, None] * measured[:, i] * measured[:, j]
    share = _eliminate(atoms, weights[support], limit)
    basic = np.zeros_like(weights)
    basic[support] = share * weights[support]
    return basic / total(basic)


@njit(cache=True, error_model="numpy")
def _eliminate(atoms, cost, limit):
    """Multipliers u >= 0 with atoms'u = atoms'1, cost'u <= cost'1 and at most `limit` of them non-zero."""
    share, batch, begun = np.ones(len(atoms)), np.empty(0, np.int64), 0
    while len(atoms) - begun + len(batch) > limit:
        more = min(len(atoms), begun + limit + max(BATCH, limit // 4) - len(batch))
        batch, begun = np.append(batch, np.arange(begun, more)), more
        projector, dimension = outside_projector(atoms[batch] * share[batch].reshape(-1, 1))
        share[batch] *= _walk_to_zeros(projector, dimension, cost[batch] * share[batch])
        batch = batch[share[batch] > 0]
    return share


@njit(cache=True, error_model="numpy")
def _walk_to_zeros(projector, dimension, cost):
    """Multipliers (n,) from one, after `dimension` moves in a projector's range, each until an entry is zero."""
    u, least = np.ones(len(projector)), 1e-9 * np.sqrt(total(cost**2))
    for _ in range(dimension):
        axis = argmax(np.diag(projector))
        step = -projector[axis] / np.sqrt(projector[axis, axis])
        if total(cost * step) > least or step.min() >= 0:
            step = -step
        room = np.where(step < -1e-12, u / np.maximum(-step, 1e-300), 1e300)
        gone = argmax(-room)
        u = np.maximum(u + room[gone] * step, 0.0)
        u[gone] = 0.0
        leaving = projector[gone] / np.sqrt(projector[gone, gone])
        for i in range(len(u)):
            projector[i] -= leaving[i] * leaving
        projector[gone] = 0.0
        projector[:, gone] = 0.0
    return u


def snapped(weights, tol):
    """Weights (K,) to 20 binary digits at tol = 1e-3, finer below, summing to one."""
    bits = BITS + max(0, math.frexp(1e-3 / tol)[1])
    mantissa, exponent = np.frexp(weights)
    weights = np.ldexp(np.rint(mantissa * 2.0**bits), exponent - bits)
    return weights / total(weights)
