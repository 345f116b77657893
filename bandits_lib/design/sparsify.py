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

from bandits_lib.design.certificate import inverse_root, value_of
from bandits_lib.numerics.ordered import outside_projector, product, squares, total, transposed
from bandits_lib.numerics.ties import argmax, ranked

BATCH = 16  # rows beyond the limit that are worked on at a time, at least
BITS = 19  # binary digits of a weight beyond those of 1e-3 / tol


@njit(cache=True, error_model="numpy")
def drop_small_leverages(arms, weights, eta):
    """Weights (K,), renormalised, without the atoms of least leverage, which add up to at most `eta`."""
    support = np.flatnonzero(weights)
    leverages = weights[support] * squares(product(arms[support], transposed(inverse_root(arms, weights))))
    kept, dropped = weights.copy(), 0.0
    for k in ranked(leverages):
        dropped += leverages[k]
        if not dropped <= eta:
            break
        kept[support[k]] = 0.0
    return kept / total(kept)


@njit(cache=True, error_model="numpy")
def basic_weights(arms, weights):
    """Weights (K,) on at most r(r+1)/2 of the atoms, with A at least that of `weights`, summing to one."""
    rank = arms.shape[1]
    limit = rank * (rank + 1) // 2
    support = np.flatnonzero(weights)
    if len(support) <= limit:
        return weights
    measured = product(arms[support], transposed(inverse_root(arms, weights)))
    atoms, column = np.empty((len(support), limit)), 0
    for i in range(rank):
        for j in range(i, rank):
            atoms[:, column] = weights[support] * measured[:, i] * measured[:, j]
            column += 1
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
    n = len(projector)
    u, step, room = np.ones(n), np.empty(n), np.empty(n)
    least = 1e-9 * np.sqrt(total(cost**2))
    for _ in range(dimension):
        axis = argmax(np.diag(projector))
        _downhill(projector[axis], np.sqrt(projector[axis, axis]), cost, least, step)
        for i in range(n):
            room[i] = -(u[i] / -step[i]) if step[i] < -1e-12 else -1e300
        gone = argmax(room)
        far = -room[gone]
        for i in range(n):
            u[i] = max(u[i] + far * step[i], 0.0)
        u[gone] = 0.0
        _leave(projector, gone, step)
    return u


@njit(cache=True, error_model="numpy")
def _downhill(axis, length, cost, least, step):
    """Into `step` (n,): `axis` (n,) over its length, or the opposite, so that no cost grows and an entry falls."""
    slope, falls = 0.0, False
    for i in range(len(step)):
        step[i] = -axis[i] / length
        slope += cost[i] * step[i]
        falls = falls or step[i] < 0
    if slope > least or not falls:
        for i in range(len(step)):
            step[i] = -step[i]


@njit(cache=True, error_model="numpy")
def _leave(projector, gone, leaving):
    """Take from the projector's range what moves entry `gone`. Scratch: leaving (n,)."""
    n, length = len(projector), np.sqrt(projector[gone, gone])
    for i in range(n):
        leaving[i] = projector[gone, i] / length
    for i in range(n):
        for j in range(n):
            projector[i, j] -= leaving[i] * leaving[j]
    projector[gone] = 0.0
    projector[:, gone] = 0.0


@njit(cache=True, error_model="numpy")
def snapped(weights, tol):
    """Weights (K,) to 20 binary digits at tol = 1e-3, finer below, summing to one."""
    bits, out = BITS + max(0, math.frexp(1e-3 / tol)[1]), np.empty_like(weights)
    for k in range(len(weights)):
        mantissa, exponent = math.frexp(weights[k])
        out[k] = math.ldexp(np.rint(mantissa * 2.0**bits), exponent - bits)
    return out / total(out)


def on_few_atoms(arms, weights, tol):
    """Weights (K,) on r(r+1)/2 atoms at most, to so many digits; the value grows by tol / 10 or so."""
    return snapped(basic_weights(arms, drop_small_leverages(arms, weights, tol / 10)), tol)


def fewer_atoms(arms, weights, directions, tol, bound):
    """The weights on few atoms, to so many digits; every reduction must keep value <= (1 + tol) bound."""
    weights = on_few_atoms(arms, weights, tol)
    order = ranked(weights)
    # what the linear algebra cannot decide is tried: atoms of negligible weight go if the value allows it
    slight = order[(weights[order] > 0) & (weights[order] < tol / np.count_nonzero(weights))]
    for atoms in [slight, *slight[: 2 * arms.shape[1], None]]:
        lighter = weights.copy()
        lighter[atoms] = 0.0
        lighter = snapped(lighter / total(lighter), tol)
        if len(atoms) and value_of(arms, lighter, directions) <= (1 + tol) * bound:
            weights = lighter
            if len(atoms) == len(slight):
                break
    return weights
