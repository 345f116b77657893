"""Compute XY-designs with very many nearly tight pairs, such as those of factorials, where a working set is too small.

Nearly half of all pairs of a full factorial are tight, and a design for some of them violates the others. Therefore
all pairs take part, by the exponential method of multipliers (Tseng and Bertsekas 1993). The masses of the pairs are
    v_y ~ exp(y'Cy),   C = B + SHARP A^-1 / a,   a = tr(A^-1 M),   M = sum v_y yy',
and C replaces B when the weights have settled, so that a matrix stands for the multipliers of all pairs. The weights
have settled where f_x = lambda_x (h_x - 1) is zero, h the pressures. Their steps are those of Anderson (1965) in the
norm |f|^2 = sum f_x^2 / lambda_x. They need few steps if the derivative of f has few different eigenvalues, as in a
factorial. The exponential is a power, because no standard fixes its last bit.
"""

import numpy as np

from bandits_lib.design.certificate import root_of_design
from bandits_lib.design.directions import Differences, walk
from bandits_lib.numerics.kernels import compiled, kernel
from bandits_lib.numerics.linear_algebra import (
    add_product,
    combine,
    information,
    ordered_sum,
    product,
    row_products,
    scaled_columns,
    solve_upper,
    squares,
    transposed,
    triangle,
    upper_factor,
)

RANK = 16  # smallest rank for which all pairs take part,
MANY = 1.5  # with at least so many arms and items per r(r+1)/2,
ENOUGH = 300  # or at least so many,
MOST = 10_000  # for at most so many items,
SPREAD = 0.25  # if the masses for equal weights are spread over at least this share of the items
STEPS = 160
SHARP = 64.0  # relative decrease of the mass of a pair with the relative decrease of its squared norm
MIXED = 0.3  # share of f in a step
MEMORY = 20  # number of earlier steps that a step combines
SETTLED = 0.005  # length of f at which B is replaced for the first time,
CLOSER = 0.25  # and what this length is multiplied by each time
LEAST = 0.2  # share of its weight that an arm keeps in a step
DEPENDENT = 1e-8  # relative length below which a change of f counts as a combination of others
TILE = 64  # rows and columns of the matrix of masses that are held at a time


def all_pairs(arms, directions, tol):
    """Return weights (K,), value <= (1 + tol) bound, bound, steps, and the root; None if there are few tight pairs."""
    K, r = arms.shape
    many = min(ENOUGH, MANY * r * (r + 1) / 2)
    if type(directions) is not Differences or r < RANK or K < many or not many <= len(directions.items) <= MOST:
        return None
    items, bound, close, before = directions.items - directions.items[0], 0.0, SETTLED, None
    weights, moves, changes = np.full(K, 1 / K), np.empty((0, K)), np.empty((0, K))
    best, value, B = weights, np.inf, np.zeros((r, r))
    for steps in range(1, STEPS + 1):
        root = root_of_design(arms, weights)
        inverse = product(transposed(root), root)
        if steps == 1:
            mean = walk(product(items, transposed(root)))[2]
        C = B + SHARP / mean * inverse
        points = product(items, transposed(upper_factor(C)[0]))
        M, masses = moment(items, points, walk(points)[2])
        if steps == 1 and ordered_sum(masses) ** 2 < SPREAD * len(items) * ordered_sum(masses * masses):
            return None
        mean, pressure = _pressures(arms, inverse, M)
        bound = max(bound, mean / pressure.max())
        if mean <= (1 + tol) * bound:
            here = directions.value(root)
            if here < value:
                best, value, best_root = weights, here, root
            if value <= (1 + tol) * bound:
                return best, value, bound, steps, best_root
        f = weights * (pressure - 1)
        if before is not None:
            moves = np.vstack([moves[1 - MEMORY :], weights - before[0]])
            changes = np.vstack([changes[1 - MEMORY :], f - before[1]])
        before = weights, f
        if ordered_sum(f * f / weights) < close**2:
            B, close, before = C, close * CLOSER, None
        weights = np.maximum(weights + _step(weights, f, moves, changes), LEAST * weights)
        weights /= ordered_sum(weights)
    return None


@compiled
def moment(items, points, top):
    """Return M (r, r) of the differences of `items` (n, r), of sum one, and masses of items, (n,).

    The mass of a pair is exp(|its difference of points|^2 - top), divided by the sum of all in M.
    """
    half, masses, sums = squares(points) - top / 2, np.zeros(len(items)), np.zeros(items.shape)
    for low in range(0, len(items), TILE):
        across, columns = transposed(points[low : low + TILE]), slice(low, low + TILE)
        for first in range(low, len(items), TILE):
            rows = slice(first, first + TILE)
            tile = product(points[rows], across)
            _to_masses(tile, half[rows], half[columns], first == low, masses[rows], masses[columns])
            add_product(sums[rows], tile, items[columns], False)
    crossed = product(transposed(items), sums)
    return (information(items, masses) - crossed - transposed(crossed)) / (ordered_sum(masses) / 2), masses


@kernel
def _to_masses(tile, rows, columns, on_diagonal, row_masses, column_masses):
    """Replace inner products x'y by the masses exp(rows + columns - 2 x'y) of pairs, each once, and add these up."""
    for i in range(tile.shape[0]):
        for j in range(tile.shape[1]):
            mass = max(0.0, 1.0 + (rows[i] + columns[j] - 2.0 * tile[i, j]) / 1024)
            for _ in range(10):
                mass *= mass
            tile[i, j] = mass
        if on_diagonal:
            for j in range(i, tile.shape[1]):
                tile[i, j] = 0.0
        for j in range(tile.shape[1]):
            row_masses[i] += tile[i, j]
            column_masses[j] += tile[i, j]


@compiled
def _pressures(arms, inverse, M):
    """Return tr(A^-1 M) and the pressures (K,)."""
    measured, mean = product(arms, inverse), ordered_sum(row_products(inverse, M))
    return mean, row_products(product(measured, M), measured) / mean


@compiled
def _step(weights, f, moves, changes):
    """Return Anderson's step, from the last moves (k, K) of the weights and the changes (k, K) of f."""
    k, scale = len(moves), 1 / np.sqrt(weights)
    if k == 0:
        return MIXED * f
    rows = np.zeros((len(f) + k, k + 1))
    rows[: len(f), :k], rows[: len(f), k] = transposed(scaled_columns(changes, scale)), scale * f
    for j in range(k):
        rows[len(f) + j, j] = DEPENDENT * np.sqrt(ordered_sum((changes[j] * scale) ** 2))
    upper = triangle(rows)
    share = solve_upper(upper[:k, :k].copy(), upper[:k, k].copy())
    return MIXED * f - combine(share, moves + MIXED * changes)
