"""Compute the value of a design, prove that no design is much better, and reduce a design to few atoms.

Lower bound: let M = sum v_y yy' for weights v on directions, and H >= 0 with x'Hx <= 1 for all arms. For every design
lambda' and A' = A(lambda'), tr(HA') <= 1, so by Cauchy-Schwarz
    rho(lambda') >= tr(A'^-1 M) >= tr(A'^-1 M) tr(H A') >= ( tr (M^1/2 H M^1/2)^1/2 )^2,
and H = A^-1 M A^-1 / max_x x'A^-1MA^-1x gives rho* >= tr(A^-1 M)^2 / max_x x'A^-1 M A^-1 x for any A and v.
The pressures h_x = x'A^-1MA^-1x / tr(A^-1 M) are at most 1 at an optimum, and 1 on its support.

Atoms are arms of positive weight. Dropping atoms whose leverages lambda_x x'A^-1x sum to eta multiplies the value by at
most 1 / (1 - eta). More than r(r+1)/2 atoms are linearly dependent as matrices xx' (Caratheodory), so weights move in
the null space, given by its projector, until one is zero. `snapped` keeps few digits, so that rounding errors vanish.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from bandits_lib.numerics import span
from bandits_lib.numerics.kernels import compiled, merged
from bandits_lib.numerics.linear_algebra import (
    INDEPENDENT,
    information,
    lower_product,
    normalised,
    ordered_sum,
    outside_projector,
    product,
    row_products,
    squares,
    transposed,
    upper_factor,
)
from bandits_lib.numerics.span import RANK_TOL, basis, outside
from bandits_lib.numerics.ties import argmax, ranked


class Design(NamedTuple):
    """A design and its certificate.

    Attributes
    ----------
    weights : (K,) float array
        Shares of the pulls: non-negative, sum 1 (less with some options of `frank_wolfe_design`); often read-only.
    value : float
        Maximum over directions of ||y||^2_{A(weights)^-1}; for `width_design` a squared width.
    lower_bound : float
        Lower bound on the value of every design on these arms.
    iterations : int
        Number of steps of the solver.

    Examples
    --------
    >>> Design(np.array([0.5, 0.5]), 2.0, 2.0, 1).weights.sum().item()
    1.0
    """

    weights: np.ndarray
    value: float
    lower_bound: float
    iterations: int


def root_of_design(arms, weights):
    """Return S (r', r) with ||S y||^2 = ||y||^2_{A(weights)^-1} on the span, of rank r', of the arms with weight."""
    support = np.flatnonzero(weights > 0)
    return span.inverse_root(arms[support], weights[support])[0]


def estimable(arms, weights, vectors, scale):
    """Return whether all `vectors` are in the span of the arms of positive weight, up to RANK_TOL `scale`."""
    distance = outside(vectors, basis(arms[weights > 0]))
    return bool((distance <= RANK_TOL * scale).all())


def value_of(arms, weights, directions):
    """Return max over directions of ||y||^2_{A(weights)^-1}; infinite if some direction cannot be estimated."""
    support = np.flatnonzero(weights > 0)
    root, axes = span.inverse_root(arms[support], weights[support])
    vectors, scale = directions.spanning()
    if len(root) < arms.shape[1] and (outside(vectors, axes) > RANK_TOL * scale).any():
        return np.inf
    return directions.value(root)


@njit(cache=True, error_model="numpy")
def bound_of_masses(arms, root, rotated, masses):
    """Return the bound from masses (q,) on directions y, and h (K,). `rotated` (q, r') : root y; A^-1 = root'root."""
    shares = masses / ordered_sum(masses)
    trace = ordered_sum(shares * squares(rotated))
    measured = product(arms, transposed(root))
    pressure = row_products(product(measured, information(rotated, shares)), measured)
    return trace * (trace / pressure.max()), pressure / trace


BATCH = 16  # rows beyond the limit that are treated at a time, at least
LARGE = 136  # r(r+1)/2 from which on groups of atoms are reduced first, without entries that depend on others
BITS = 19  # binary digits of a weight beyond those of 1e-3 / tol


def drop_small_leverages(arms, weights, eta, root=None):
    """Return weights (K,) of sum one without atoms of small leverage, up to `eta` in all. root : `root_of_design`."""
    return _dropped(arms, weights, root_of_design(arms, weights) if root is None else root, eta)


def basic_weights(arms, weights):
    """Return weights (K,) on at most r(r+1)/2 of the atoms, with A at least that of `weights`, summing to one."""
    limit = arms.shape[1] * (arms.shape[1] + 1) // 2
    while (atoms := np.count_nonzero(weights)) > limit:
        groups = atoms if limit < LARGE else min(atoms, limit + limit // 4)
        weights = _basic(arms, weights, root_of_design(arms, weights), limit, groups)
    return weights


@compiled
def _dropped(arms, weights, root, eta):
    support = np.flatnonzero(weights)
    leverages = squares(product(arms[support], transposed(root)))
    for k in range(len(support)):
        leverages[k] *= weights[support[k]]
    kept, dropped = weights.copy(), 0.0
    for k in ranked(leverages):
        dropped += leverages[k]
        if not dropped <= eta:
            break
        kept[support[k]] = 0.0
    return normalised(kept)


@compiled
def _basic(arms, weights, root, limit, groups):
    """Return weights (K,) on fewer atoms: groups of atoms whose ratios stay take the place of single atoms."""
    support = np.flatnonzero(weights)
    measured, n = product(arms[support], transposed(root)), len(support)
    atoms, cost, basic = np.zeros((groups, limit)), np.zeros(groups), np.zeros(len(weights))
    for k in range(n):
        group, weight, column = k % groups, weights[support[k]], 0
        cost[group] += weight
        for i in range(measured.shape[1]):
            for j in range(i, measured.shape[1]):
                atoms[group, column] += weight * measured[k, i] * measured[k, j]
                column += 1
    if limit >= LARGE:
        upper = upper_factor(lower_product(transposed(atoms), atoms), INDEPENDENT)[0]
        atoms = transposed(transposed(atoms)[np.diag(upper) > 0])
    share = _eliminate(atoms, cost, limit)
    for k in range(n):
        basic[support[k]] = share[k % groups] * weights[support[k]]
    return normalised(basic)


@merged
def _eliminate(atoms, cost, limit):
    """Return multipliers u >= 0 with atoms'u = atoms'1, cost'u <= cost'1 and at most `limit` of them non-zero."""
    n, width = atoms.shape
    most, left, begun = limit + max(BATCH, limit // 4), 0, 0
    share, batch = np.ones(n), np.empty(most, np.int64)  # the first `left` of `batch` are in use
    while n - begun + left > limit:
        while left < most and begun < n:
            batch[left] = begun
            left, begun = left + 1, begun + 1
        rows, costs = np.empty((left, width)), np.empty(left)
        for i in range(left):
            costs[i] = cost[batch[i]] * share[batch[i]]
            for c in range(width):
                rows[i, c] = atoms[batch[i], c] * share[batch[i]]
        projector, dimension = outside_projector(rows)
        moved, kept = _walk_to_zeros(projector, dimension, costs), 0
        for i in range(left):
            share[batch[i]] *= moved[i]
            if share[batch[i]] > 0:
                batch[kept] = batch[i]
                kept += 1
        left = kept
    return share


@merged
def _walk_to_zeros(projector, dimension, cost):
    """Return multipliers (n,): from 1, make `dimension` moves in a projector's range, each until an entry is zero."""
    n = len(projector)
    u, step, room, squared, square = np.ones(n), np.empty(n), np.empty(n), np.empty(n), 0.0
    for i in range(n):
        square += cost[i] * cost[i]
    least = 1e-9 * np.sqrt(square)
    for _ in range(dimension):
        for i in range(n):
            squared[i] = projector[i, i]
        axis = argmax(squared)
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


@merged
def _downhill(axis, length, cost, least, step):
    """Set `step` (n,) to `axis` (n,) of length one, or minus that: the cost does not grow, and an entry falls."""
    slope, falls = 0.0, False
    for i in range(len(step)):
        step[i] = -axis[i] / length
        slope += cost[i] * step[i]
        falls = falls or step[i] < 0
    if slope > least or not falls:
        for i in range(len(step)):
            step[i] = -step[i]


@merged
def _leave(projector, gone, leaving):
    """Remove from the projector's range the axis that moves entry `gone`. Scratch: leaving (n,)."""
    n, length = len(projector), np.sqrt(projector[gone, gone])
    for i in range(n):
        leaving[i] = projector[gone, i] / length
    for i in range(n):
        for j in range(n):
            projector[i, j] -= leaving[i] * leaving[j]
    for i in range(n):
        projector[gone, i] = projector[i, gone] = 0.0


@compiled
def snapped(weights, tol):
    """Return weights (K,) to 20 binary digits at tol = 1e-3, to more below, summing to one."""
    bits, out = BITS + max(0, math.frexp(1e-3 / tol)[1]), np.empty_like(weights)
    for k in range(len(weights)):
        mantissa, exponent = math.frexp(weights[k])
        out[k] = math.ldexp(np.rint(mantissa * 2.0**bits), exponent - bits)
    return normalised(out)


def on_few_atoms(arms, weights, tol, root=None):
    """Return weights (K,) on at most r(r+1)/2 atoms, with few digits; the value grows by about tol / 10."""
    return snapped(basic_weights(arms, drop_small_leverages(arms, weights, tol / 10, root)), tol)


def fewer_atoms(arms, weights, directions, tol, bound, root=None):
    """Return the weights on few atoms, with few digits; every reduction must keep value <= (1 + tol) bound."""
    weights = on_few_atoms(arms, weights, tol, root)
    order = ranked(weights)
    # The linear algebra cannot decide on atoms of negligible weight, so they are dropped if the value allows it.
    slight = order[(weights[order] > 0) & (weights[order] < tol / np.count_nonzero(weights))]
    for atoms in [slight, *slight[: 2 * arms.shape[1], None]]:
        lighter = weights.copy()
        lighter[atoms] = 0.0
        lighter = snapped(lighter / ordered_sum(lighter), tol)
        if len(atoms) and value_of(arms, lighter, directions) <= (1 + tol) * bound:
            weights = lighter
            if len(atoms) == len(slight):
                break
    return weights
