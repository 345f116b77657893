"""Estimators on aggregated samples.

For a finite set of arms, least squares sees the rewards only through the count and the sum per arm
(`Sample`), so every estimator here works on those, whatever the number of pulls.
"""

from typing import NamedTuple

import numpy as np

from bandits_lib.numerics.ordered import combine, product, row_products, squares, transposed
from bandits_lib.numerics.span import RANK_TOL, outside, quick_inverse_root


class LeastSquares(NamedTuple):
    """A least-squares fit: theta_hat (d,), inverse (d, d) of the information matrix (its pseudo-inverse).

    For y in the span of the pulled arms, y'theta_hat has variance `variances(y)` (times sigma^2 for OLS).
    root : (r, d) with root'root = inverse, axes : (d, r), an orthonormal basis of the span of the pulled arms; None
    where the inverse alone is known. Where arms differ in length by decades only the root holds all digits.

    >>> LeastSquares(np.zeros(2), np.eye(2)).variances(np.array([[1.0, -1.0]])).tolist()
    [2.0]
    """

    theta_hat: np.ndarray
    inverse: np.ndarray
    root: np.ndarray | None = None
    axes: np.ndarray | None = None

    def whitened(self, directions):
        """Directions in coordinates in which their squared lengths are their variances.

        directions : (n, d). Returns (n, r), r = d where only the inverse is known.

        >>> LeastSquares(np.zeros(2), np.diag([4.0, 1.0])).whitened(np.array([[1.0, 0.0]])).round(6).tolist()
        [[0.0, 2.0]]
        """
        if self.root is not None:
            return product(np.ascontiguousarray(directions, dtype=float), transposed(self.root))
        values, vectors = np.linalg.eigh(self.inverse)
        return directions @ (vectors * np.sqrt(np.maximum(values, 0)))

    def variances(self, directions):
        """Squared norms y'inverse y of the rows y of `directions`.

        directions : (n, d). Returns (n,).

        >>> LeastSquares(np.zeros(2), np.diag([4.0, 1.0])).variances(np.array([[1.0, 1.0]])).tolist()
        [5.0]
        """
        return squares(self.whitened(directions))

    def estimable(self, directions):
        """Which directions lie in the span of the pulled arms, so that rewards say something of their values.

        directions : (n, d). Returns (n,) of bool.

        >>> LeastSquares(np.zeros(2), np.diag([4.0, 0.0])).estimable(np.eye(2)).tolist()
        [True, False]
        """
        axes = self.axes
        if axes is None:
            values, vectors = np.linalg.eigh(self.inverse)
            axes = vectors[:, values > RANK_TOL**2 * values[-1]]
        return outside(directions, axes) <= RANK_TOL * np.linalg.norm(directions, axis=1)


def least_squares(arms, sample):
    """Ordinary least squares from aggregated rewards (fiez2019, section 2.2).

    arms : (K, d); sample : Sample with at least one pull. Returns LeastSquares(theta_hat, (sum n_x xx')^+):
    the minimum-norm solution where the pulled arms do not span R^d.

    >>> from bandits_lib import Sample
    >>> sample = Sample(np.array([4, 1]), np.array([4.0, 3.0]), np.array([6.0, 9.0]))
    >>> least_squares(np.eye(2), sample).theta_hat.round(6).tolist()
    [1.0, 3.0]
    """
    return weighted_least_squares(arms, sample, 1.0)


def weighted_least_squares(arms, sample, sigma):
    """Weighted least squares from aggregated rewards, weight 1 / sigma_x^2 (weltz2023, section 4).

    arms : (K, d); sample : Sample; sigma : standard deviation of the noise, one or (K,).
    Returns LeastSquares(theta_hat, inverse) with inverse = (sum n_x xx' / sigma_x^2)^+, the covariance of theta_hat.

    >>> from bandits_lib import Sample
    >>> sample = Sample(np.array([4, 1]), np.array([4.0, 3.0]), np.array([6.0, 9.0]))
    >>> weighted_least_squares(np.eye(2), sample, [2.0, 1.0]).inverse.round(6).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    pulled = np.flatnonzero(sample.counts)
    rows, sd = arms[pulled], np.broadcast_to(sigma, len(arms))[pulled]
    root, axes = quick_inverse_root(rows, sample.counts[pulled] / sd**2)
    across = transposed(root)
    theta_hat = combine(combine(sample.sums[pulled] / sd**2, product(rows, across)), root)
    return LeastSquares(theta_hat, product(across, root), root, axes)


def information_inverse(rows, weights):
    """The pseudo-inverse of sum_i weights_i rows_i rows_i', whose range is the span of the rows by the rank rule.

    rows : (n, d); weights : (n,), positive. Returns (d, d). Neither the lengths of the rows nor their weights decide
    the rank; where they differ by more than eight decades `inverse_root` keeps digits that the inverse cannot.

    >>> information_inverse(np.array([[2.0, 0.0]]), np.array([1.0])).tolist()
    [[0.25, 0.0], [0.0, 0.0]]
    """
    root, _ = quick_inverse_root(rows, weights)
    return product(transposed(root), root)


def norms(inverse, directions):
    """Squared norms y' inverse y of the rows y of `directions`.

    inverse : (d, d); directions : (n, d). Returns (n,).

    >>> norms(np.diag([1.0, 0.5]), np.array([[1.0, 1.0], [0.0, 2.0]])).tolist()
    [1.5, 2.0]
    """
    directions = np.ascontiguousarray(directions, dtype=float)
    return row_products(product(directions, np.ascontiguousarray(inverse)), directions)


def basel_delta(delta, t):
    """6 delta / (pi^2 t^2): the share of `delta` for phase t, which adds up to delta (Basel problem).

    delta : error probability allowed; t : phase, 1, 2, ... Returns a float.

    >>> round(sum(basel_delta(0.05, t) for t in range(1, 1000)), 4)
    0.05
    """
    return 6 * delta / (np.pi * t) ** 2
