"""Compute certified G-optimal designs, which are D-optimal too (Kiefer and Wolfowitz 1960), for any number of arms.

Let q_x = x'A^-1x; max q / r - 1 is the duality gap of log det A. Moving weight a from arm l to arm k multiplies det A
by 1 + a (q_k - q_l) - a^2 (q_k q_l - q_kl^2), so the best move is a = (q_k - q_l) / (2 (q_k q_l - q_kl^2)), at most
lambda_l (Boehning 1986). A sweep pairs the arms of largest q with arms of the support of smallest q and moves weight in
each pair, in O(Kr^2) (Harman, Filova and Richtarik 2020, without the randomness). The first weights are on r spanning
arms (Kumar and Yildirim 2005). From MANY_ARMS arms on, a working set is solved, tested on all arms and enlarged until
no arm violates the bound.
"""

import warnings
from typing import NamedTuple

import numpy as np

from bandits_lib.design.certificate import Design, on_few_atoms, root_of_design, value_of
from bandits_lib.design.directions import Listed, squared_norms
from bandits_lib.numerics.kernels import compiled, inner, merged
from bandits_lib.numerics.linear_algebra import (
    apply,
    independent,
    information,
    inverse_triangle,
    product,
    squares,
    transposed,
    upper_factor,
)
from bandits_lib.numerics.span import RANK_TOL, Span, outside, span
from bandits_lib.numerics.ties import TIE, largest_first

PAIRS = 4  # exchanges in a sweep, per dimension


@compiled
def spanning_arms(arms):
    """Return indices (r,) of r = arms.shape[1] independent arms, each the farthest from the span of those before."""
    return independent(arms, 0.0)[0]


@compiled
def inverse_and_norms(arms, weights):
    """Return A(weights)^-1 (r, r) and q_x = x'A^-1x (K,) for arms (K, r) of rank r with weights (K,)."""
    root = inverse_triangle(upper_factor(information(arms, weights))[0])
    return product(root, transposed(root)), squares(product(arms, root))


@merged
def _move(arms, inverse, weights, first, second):
    """Make the best exchange of weight between two arms, in place in the weights and in A^-1."""
    ray, other = apply(inverse, arms[first]), apply(inverse, arms[second])
    q, q_other, cross = inner(ray, arms[first]), inner(other, arms[second]), inner(ray, arms[second])
    if q < q_other:
        first, second, ray, other, q, q_other = second, first, other, ray, q_other, q
    if q - q_other <= TIE * q:  # equal arms, for example: nothing to gain
        return
    curvature = 2.0 * (q * q_other - cross * cross)
    mass = weights[second]
    if curvature * mass > q - q_other:
        mass = (q - q_other) / curvature
        weights[second] -= mass
    else:
        weights[second] = 0.0
    weights[first] += mass
    gain = mass / (1.0 + mass * q)  # Sherman and Morrison, first for one arm, then for the other
    loss = mass / (1.0 - mass * (q_other - gain * cross * cross))
    other -= gain * cross * ray
    for i in range(len(inverse)):
        for j in range(len(inverse)):
            inverse[i, j] += loss * other[i] * other[j] - gain * ray[i] * ray[j]


@compiled
def d_optimal(arms, tol, most):
    """Return weights (K,) with max_x x'A^-1x <= (1 + tol) r on arms (K, r) of rank r, and the sweeps, up to `most`."""
    rank = arms.shape[1]
    weights = np.zeros(len(arms))
    weights[spanning_arms(arms)] = 1.0 / rank
    for sweep in range(most):
        inverse, norms = inverse_and_norms(arms, weights)
        if norms.max() <= (1.0 + tol) * rank:
            return weights, sweep
        support = np.flatnonzero(weights)
        low = support[largest_first(-norms[support], PAIRS * rank)]
        high = largest_first(norms, len(low))
        for i in range(len(low)):
            if high[i] != low[i]:
                _move(arms, inverse, weights, high[i], low[i])
    return weights, most


BLOCK = 4096  # arms whose norms are computed at a time
PART = 5_000  # arms in the first working set, at least
PER_ATOM = 8  # arms in the first working set for each atom that an optimum can need, at least
COMING = 1_000  # largest number of arms that enter the set at a time,
SHARE = 4  # unless the size of the set divided by SHARE is more


class WorkingSet(NamedTuple):
    """The arms `chosen` (k,), their `Span`, their `weights` (k,), and the number of sweeps."""

    chosen: np.ndarray
    space: Span
    weights: np.ndarray
    sweeps: int


def working_set(arms, tol, most):
    """Return the `WorkingSet` of a design with x'A^-1x <= (1 + tol) r for all arms (K, d); `most` sweeps per set."""
    chosen, sweeps = _spanning_part(arms), 0
    while True:
        space = span(arms[chosen])
        weights, more = d_optimal(space.arms, tol / 2, most)
        sweeps += more
        norms, rank = norms_of_all(arms, space, weights), space.arms.shape[1]
        wider = np.union1d(chosen, _first(norms, (1 + tol / 2) * rank, max(COMING, len(chosen) // SHARE)))
        if norms.max() <= (1 + tol) * rank or len(wider) == len(chosen):
            return WorkingSet(chosen, space, weights, sweeps)
        chosen = wider


def norms_of_all(arms, space, weights):
    """Return x'A^-1x (K,) of all arms, with A from weights (k,) on those of the `Span`; infinite if A is singular."""
    root = root_of_design(space.arms, weights)
    if len(root) < space.arms.shape[1]:
        return np.full(len(arms), np.inf)
    root = product(root, transposed(product(space.basis, inverse_triangle(space.scale))))
    return _by_blocks(arms, lambda block: squared_norms(block, root))


def _by_blocks(arms, measure):
    return np.concatenate([measure(arms[low : low + BLOCK]) for low in range(0, len(arms), BLOCK)])


def _first(values, level, most):
    above = np.flatnonzero(values > level)
    return above[largest_first(values[above], most)]


def _spanning_part(arms):
    """Return the indices of arms at equal steps, and of as many others as it takes for these to span all arms."""
    rank = min(arms.shape)
    part = np.arange(0, len(arms), max(1, len(arms) // max(PART, PER_ATOM * rank * (rank + 1) // 2)))
    if not arms[part].any():
        part = np.append(part, np.argmax(arms.any(axis=1)))  # noqa: TID251  of booleans
    while True:
        axes = span(arms[part]).basis
        if axes.shape[1] == arms.shape[1]:
            return part
        missing = _first(_by_blocks(arms, lambda block: _angle(block, axes)), RANK_TOL, COMING)  # noqa: B023
        wider = np.union1d(part, missing)
        if len(wider) == len(part):
            return part
        part = wider


def _angle(vectors, axes):
    """Return the distances (n,) of vectors (n, d) from the span of `axes`, relative to their lengths."""
    return outside(vectors, axes) / np.maximum(np.sqrt(squares(vectors)), 1e-300)


MAX_SWEEPS = 20_000
MANY_ARMS = 40_000


def solve_g(arms, tol):
    solve = _of_all if len(arms) < MANY_ARMS else _of_many
    weights, value, rank, sweeps = solve(arms, tol)
    if not value <= (1 + tol) * rank:
        warnings.warn(
            f"the design is certified only to a relative gap of {value / rank - 1:.2g}, which is above tol={tol}; "
            "its value and lower bound are still valid",
            RuntimeWarning,
            stacklevel=4,
        )
    return Design(weights, max(value, float(rank)), float(rank), sweeps)


def _of_all(arms, tol):
    inside = span(arms).arms
    weights, sweeps = d_optimal(inside, 0.8 * tol, MAX_SWEEPS)
    weights = on_few_atoms(inside, weights, tol)
    return weights, value_of(inside, weights, Listed(inside)), inside.shape[1], sweeps


def _of_many(arms, tol):
    """Return the same as `_of_all`, from a working set."""
    chosen, space, few, sweeps = working_set(arms, 0.8 * tol, MAX_SWEEPS)
    few = on_few_atoms(space.arms, few, tol)
    weights = np.zeros(len(arms))
    weights[chosen] = few
    return weights, norms_of_all(arms, space, few).max(), space.arms.shape[1], sweeps
