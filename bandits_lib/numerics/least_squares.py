"""Compute least squares from the counts and sums of arms, and the noise from what repeated pulls of an arm returned.

If the pulled arms do not span R^d, the fit is the solution of smallest norm. It lies in the span of these arms, which
is determined by the rank rule (`span`).
"""

from typing import NamedTuple

import numpy as np

from bandits_lib.numerics.linear_algebra import combine, product, row_products, squares, transposed
from bandits_lib.numerics.span import RANK_TOL, outside, quick_inverse_root

EPSILON = float(np.finfo(float).eps)


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
