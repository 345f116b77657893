"""Compute designs of smallest Gaussian width (Katz-Samuels, Jain, Karnin and Jamieson 2020), for Peace.

    width(Z, lambda) = E max over z, z' in Z of (z - z')'R'eta / 2,   eta ~ N(0, I),  R'R = A(lambda)^-1,
    gamma(Z) = min over lambda of width^2.

E is the mean over a fixed batch of eta, each with its negative. With A = LL', R = L^-1, b_x = Rx and
v_m = R(z_m - z_m')/2 for the pair that eta_m picks, the gradient is
    d width / d lambda_x = -b_x'T b_x,   T = lower triangle, diagonal halved, of  mean_m eta_m v_m'.
The width is convex in lambda (Sudakov and Fernique) and homogeneous of degree -1/2. With the pressures
h_x = -2 (d width / d lambda_x) / width, gamma(Z) >= width^2 / max h_x for any lambda, up to the error of the batch.

Descent is entropic: lambda_x <- lambda_x h_x^p / norm, and p falls whenever the width rose. With a `target` it ends as
soon as the smallest value is known to be above or below the target.
"""

import numpy as np

from bandits_lib.checks import check_arms, check_matrix, check_same_dimension
from bandits_lib.design.certificate import Design, basic_weights, estimable, root_of_design
from bandits_lib.numerics.kernels import add, compiled, kernel, merged
from bandits_lib.numerics.linear_algebra import (
    information,
    inverse_triangle,
    ordered_sum,
    product,
    row_products,
    squared_extents,
    transposed,
    triangle,
    upper_factor,
)
from bandits_lib.numerics.span import basis, span
from bandits_lib.numerics.ties import ranked

MIX = 1e-4  # share spread over all arms, so that A stays regular where some directions are not needed
POWER, LOWER, RAISE = 0.5, 0.6, 1.05  # first power; its factor after a step that raised the width, and otherwise
FLAT = 1e-3  # power below which the batch allows no further progress
LEAST = 1e-3  # smaller pressures are raised to this, because those of a batch may be negative
WARM = 0.05  # share of a warm start that is spread over all arms
PRUNED = 0.01  # relative growth of variances that is allowed when atoms are dropped


def width_design(arms: np.ndarray, items: np.ndarray, *, draws: int = 1024, rng: np.random.Generator) -> Design:
    """Return a design that minimises the Gaussian width of the items (Katz-Samuels et al. 2020).

    Parameters
    ----------
    arms : (K, d) array_like
        Arms, one per row, not all zero.
    items : (M, d) array_like
        Items, one per row, with differences in the span of the arms.
    draws : int, default 1024
        Number of normals in the batch, even.
    rng : numpy.random.Generator
        Source of the batch.

    Returns
    -------
    Design
        Certified to 1 %, or the best of 200 steps. `value` and `lower_bound` are means over the batch.

    Raises
    ------
    ValueError
        As for `xy_design`, and for `draws` that are not even and positive.

    Examples
    --------
    >>> design = width_design(np.eye(2), np.eye(2), draws=64, rng=np.random.default_rng(0))
    >>> design.lower_bound <= design.value, design.weights.sum().round(6).item()
    (True, 1.0)
    """
    arms, items = check_arms(arms), check_matrix("items", items)
    check_same_dimension("items", items, arms)
    if (items == items[0]).all():
        raise ValueError(
            f"items must hold two distinct rows, or there is nothing to compare; got {len(items)} row(s), all "
            "equal: add another item"
        )
    space = span(arms)
    points = points_in(space, items)
    return solve_width(space.arms, points, batch(draws, points.shape[1], rng), most=200)


def points_in(space, items):
    """Return items (M, d) as points (M, r) of the `Span`, the first at the origin; refuse differences outside it."""
    differences = items - items[0]
    lengths = np.linalg.norm(differences, axis=1)
    space.require("differences of items", differences, np.full(len(items), max(lengths.max(), 1e-300)))
    return np.ascontiguousarray(space.coordinates(differences))


def batch(draws, r, rng):
    """Return (r, draws / 2) standard normals; each stands for itself and its negative."""
    if isinstance(draws, bool) or not isinstance(draws, int | np.integer) or draws < 2 or draws % 2:
        raise ValueError(
            f"draws must be an even integer of at least 2, because each normal is used with its negative; got {draws}"
        )
    return rng.standard_normal((r, draws // 2))


def solve_width(arms, points, normals, start=None, target=0.0, tol=0.01, most=60):
    """Return the `Design` of arms (K, r), rank r, for points (m, r), m >= 2, and `normals` (r, n), without pruning."""
    K = len(arms)
    first = np.full(K, 1 / K) if start is None else (1 - WARM) * start + WARM / K
    return Design(*descend(arms, points, normals, first, float(target), tol, most))


@compiled
def descend(arms, points, normals, weights, target, tol, most):
    """Return the best weights (K,) of entropic descent, their squared width, the best lower bound and the steps."""
    K, draws = len(arms), transposed(normals)
    best, value, bound, last, power = weights, np.inf, 0.0, np.inf, POWER
    for step in range(1, most + 1):
        mixed = (1 - MIX) * weights + MIX / K
        width, pressures = _on_batch(arms, points, normals, draws, mixed)
        if width**2 < value:
            best, value = mixed, width**2
        bound = max(bound, width**2 / pressures.max())
        decided = value <= target or (target > 0 and bound > target)
        power = power * (LOWER if width > last else RAISE)
        if decided or value <= (1 + tol) * bound or power < FLAT:
            return best, value, bound, step
        last = width
        weights = weights * powers(np.maximum(pressures, LEAST), power)
        weights /= ordered_sum(weights)
    return best, value, bound, most


@merged
def powers(values, exponent):
    """Return values (n,) to the power `exponent` >= 0 in steps of 2^-12, by square roots, whose bits are standard."""
    out, root, left = np.ones(len(values)), values.copy(), np.rint(exponent * 4096)
    while left >= 4096:
        out *= values
        left -= 4096
    place = 2048
    while place >= 1:
        root = np.sqrt(root)
        if left >= place:
            out *= root
            left -= place
        place //= 2
    return out


@compiled
def width_and_pressures(arms, points, normals, weights):
    """Return mean width of the points over the batch, and its pressures h (K,) = -2 (d width / d weights) / width."""
    return _on_batch(arms, points, normals, transposed(normals), weights)


@merged
def _on_batch(arms, points, normals, draws, weights):
    across = inverse_triangle(upper_factor(information(arms, weights))[0])
    white = product(points, across)
    width, torque = _extremes(product(white, normals), draws, white)
    for i in range(len(torque)):
        torque[i, i] *= 0.5
        for j in range(i + 1, len(torque)):
            torque[i, j] = 0.0
    measured = product(arms, across)
    return width, row_products(product(measured, torque), measured) * (2 / width)


@merged
def _extremes(heights, draws, white):
    """Return half the mean spread of `heights` (m, n) over the points, and mean_m eta_m v_m' (r, r)."""
    m, n = heights.shape
    top, bottom, high, low = heights[0].copy(), heights[0].copy(), np.zeros(n, np.int64), np.zeros(n, np.int64)
    for k in range(1, m):
        raise_to(heights[k], k, top, high)
        lower_to(heights[k], k, bottom, low)
    picked = np.zeros((m, draws.shape[1]))
    gather(picked, draws, high, low)
    return ordered_sum(top - bottom) / (2 * n), transposed(product(transposed(white), picked)) / (2 * n)


@merged
def raise_to(values, k, top, high):
    """Replace `top` by `values` (n,) where these are larger, and there `high` by their number k."""
    for c in range(values.shape[0]):
        more = values[c] > top[c]
        top[c] = values[c] if more else top[c]
        high[c] = k if more else high[c]


@merged
def lower_to(values, k, bottom, low):
    for c in range(values.shape[0]):
        less = values[c] < bottom[c]
        bottom[c] = values[c] if less else bottom[c]
        low[c] = k if less else low[c]


@kernel
def gather(picked, draws, high, low):
    """Add every draw to the row of its highest point in `picked` (m, r), and subtract it from that of its lowest."""
    for c in range(high.shape[0]):
        add(picked[high[c]], draws[c], 1.0)
        add(picked[low[c]], draws[c], -1.0)


def without_slight_atoms(arms, weights, points):
    """Return weights (K,) on fewer atoms, with which no variance of a difference of points grows by more than 1 %."""
    weights = basic_weights(arms, weights)
    needed = basis(points[1:] - points[0])
    before = inverse_triangle(triangle(product(root_of_design(arms, weights), needed)))
    order = ranked(weights)
    order = order[weights[order] > 0]
    gone, stays = 0, len(order)
    while stays - gone > 1:
        middle = (gone + stays) // 2
        if _growth(arms, _without(weights, order[:middle]), needed, before) <= 1 + PRUNED:
            gone = middle
        else:
            stays = middle
    return _without(weights, order[:gone])


def _without(weights, atoms):
    lighter = weights.copy()
    lighter[atoms] = 0.0
    return lighter / ordered_sum(lighter)


def _growth(arms, weights, needed, before):
    """Return the largest growth of a variance in the span of `needed` (r, q); `before` (q, q) made all of them 1."""
    if np.count_nonzero(weights) < needed.shape[1]:
        return np.inf
    if not estimable(arms, weights, transposed(needed), np.ones(needed.shape[1])):
        return np.inf
    relative = product(product(root_of_design(arms, weights), needed), before)
    return float(squared_extents(relative)[0].max())
