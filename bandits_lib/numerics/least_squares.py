"""Compute least squares from the counts and sums of arms, and eliminate items by the confidence widths of the fit.

If the pulled arms do not span R^d, the fit is the solution of smallest norm. It lies in the span of these arms, which
is determined by the rank rule (`span`).
"""

from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import stdtrit

from bandits_lib.numerics.linear_algebra import along, combine, product, row_products, squares, transposed
from bandits_lib.numerics.span import RANK_TOL, outside, quick_inverse_root
from bandits_lib.numerics.ties import argmax

EPSILON = float(np.finfo(float).eps)
MANY_ITEMS = 5_000  # above this number, items are compared with the leader only
FIRST = 64  # number of leading items with which all are compared first
BLOCK = 1_000  # rows of the pairwise comparison that are computed at once with the first items,
NEIGHBOURS = 100  # and with all near items


class LeastSquares(NamedTuple):
    """A least-squares fit: an estimable y'theta_hat has variance `variances(y)` (times sigma^2 for OLS)."""

    theta_hat: np.ndarray  # (d,)
    inverse: np.ndarray  # (d, d), of the information matrix, or its pseudo-inverse
    root: np.ndarray | None = None  # (r, d), root'root = inverse; None if only the inverse is known
    axes: np.ndarray | None = None  # (d, r), an orthonormal basis of the span of the pulled arms

    def whitened(self, directions):
        """Return directions (n, r) in coordinates in which their squared lengths are their variances."""
        if self.root is not None:
            return product(np.ascontiguousarray(directions, dtype=float), transposed(self.root))
        values, vectors = np.linalg.eigh(self.inverse)
        return directions @ (vectors * np.sqrt(np.maximum(values, 0)))

    def variances(self, directions):
        """Return the squared norms y'inverse y (n,) of the rows y of `directions` (n, d)."""
        return squares(self.whitened(directions))

    def estimable(self, directions):
        """Return which directions (n, d) lie in the span of the pulled arms, so that their values can be estimated."""
        axes = self.axes
        if axes is None:
            values, vectors = np.linalg.eigh(self.inverse)
            axes = vectors[:, values > RANK_TOL**2 * values[-1]]
        if axes.shape[0] == axes.shape[1]:
            return np.ones(len(directions), dtype=bool)
        return outside(directions, axes) <= RANK_TOL * np.linalg.norm(directions, axis=1)


def least_squares(arms, sample):
    """Return the ordinary `LeastSquares` of a Sample with a pull (fiez2019, section 2.2): inverse (sum n_x xx')^+."""
    return weighted_least_squares(arms, sample, 1.0)


def weighted_least_squares(arms, sample, sigma):
    """Return `LeastSquares` with weights 1 / sigma_x^2 (weltz2023, section 4): inverse (sum n_x xx' / sigma_x^2)^+."""
    pulled = np.flatnonzero(sample.counts)
    rows, sd = arms[pulled], np.broadcast_to(sigma, len(arms))[pulled]
    root, axes = quick_inverse_root(rows, sample.counts[pulled] / sd**2)
    across = transposed(root)
    theta_hat = combine(combine(sample.sums[pulled] / sd**2, product(rows, across)), root)
    return LeastSquares(theta_hat, product(across, root), root, axes)


def information_inverse(rows, weights):
    """Return the pseudo-inverse (d, d) of sum_i weights_i rows_i rows_i', whose range is the span of the rows."""
    root, _ = quick_inverse_root(rows, weights)
    return product(transposed(root), root)


def norms(inverse, directions):
    directions = np.ascontiguousarray(directions, dtype=float)
    return row_products(product(directions, np.array(inverse, order="C")), directions)


class Within(NamedTuple):
    """The sum of squares of rewards within arms."""

    squares: float  # W, in units of reward^2
    df: int  # degrees of freedom
    blur: float  # largest effect of rounding on W


def within(sample, scale=1.0):
    """Return the `Within` of a Sample, with rewards divided by `scale` (a number or (K,))."""
    again = sample.counts > 1
    counts, sums, squares = (np.asarray(field)[again] for field in sample)
    scale = np.broadcast_to(scale, again.shape)[again]
    inside = np.maximum(squares - sums * (sums / counts), 0.0) / scale**2
    return Within(
        float(inside.sum()), int((counts - 1).sum()), float((rounding_error(counts, squares) / scale**2).sum())
    )


def rounding_error(count, square):
    """Return the largest effect of rounding on the squares within `count` pulls whose squares add up to `square`."""
    return 4 * EPSILON * count**0.5 * square * (count > 1)


def squares_within(sample):
    """Return squares within arms plus what rounding may have hidden, 0 if they are no larger than that, and df."""
    squares, df, blur = within(sample)
    return squares + blur if squares > blur else 0.0, df


def student_radius(sample, union_log, wait=0):
    """Return s times the quantile of Student's t: the width of a comparison per unit of its norm, if sigma is unknown.

    It is exceeded with probability exp(-union_log) (companion_sigma_costs), and inf while no replicates differ."""
    squares, df = squares_within(sample)
    if df >= wait and not squares:
        raise ValueError(
            f"there are {df} replicates beyond the first of an arm, and no two differ: sigma cannot be learned from "
            "them. Pass sigma, the standard deviation of one measurement"
        )
    quantile = -stdtrit(df, np.exp(-union_log))  # scipy's quantile has the wrong sign where it overflows
    return float(np.sqrt(squares / df) * quantile) if squares and quantile > 0 else np.inf


def behind(items, theta_hat):
    """Return how far the estimates of items (m, d) are behind the leader's, (m,), and items minus leader, (m, d)."""
    values = along(items, theta_hat)
    leader = argmax(values)
    return values[leader] - values, items - items[leader]


def eliminated_by(items, fit, radius, comparison=None):
    """Return which items stay (RAGE, line 10), (m,) of bool, and the largest width of a comparison with the leader."""
    gaps, away = behind(items, fit.theta_hat)
    whitened = fit.whitened(away)  # distances are norms of differences
    widths = radius * np.sqrt(np.einsum("md,md->m", whitened, whitened))
    kept = gaps <= widths
    if comparison == "pairs" or (comparison is None and len(items) <= MANY_ITEMS):
        place = whitened[:, np.argmax(np.ptp(whitened, axis=0))]
        first, order = np.argsort(gaps)[:FIRST], np.argsort(place)
        for size in (BLOCK, NEIGHBOURS):  # leaders eliminate most items before near items are compared
            for rows in np.array_split(left := order[kept[order]], 1 + len(left) // size):
                rivals = first if size == BLOCK else _near(gaps, rows, place, radius)
                beaten = gaps[rows, None] - gaps[rivals] > radius * cdist(whitened[rows], whitened[rivals])
                kept[rows] = ~beaten.any(axis=1)
    return kept, float(widths.max())


def _near(gaps, rows, place, radius):
    """Return the items that may beat one of `rows`, which are sorted by the coordinate `place`; others are too far."""
    if not len(rows):
        return rows
    away = np.maximum(np.maximum(place[rows[0]] - place, place - place[rows[-1]]), 0.0)
    return np.flatnonzero(gaps[rows].max() - gaps > (1 - 1e-9) * radius * away)


def basel_delta(delta, t):
    """Return 6 delta / (pi^2 t^2), the share of `delta` for phase t = 1, 2, ...; they sum to delta (Basel problem)."""
    return 6 * delta / (np.pi * t) ** 2
