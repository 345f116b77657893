"""Estimators on aggregated samples, and rank-one updates.

For a finite set of arms, least squares sees the rewards only through the count and the sum per arm
(`Sample`), so every estimator here works on those, whatever the number of pulls.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from bandits_lib.numerics.ordered import combine, product, row_products, squares, transposed
from bandits_lib.numerics.span import RANK_TOL, outside, quick_inverse_root
from bandits_lib.numerics.ties import TIE, argmax, top  # noqa: F401


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


@njit(cache=True, forceinline=True, error_model="numpy")
def rank_one_update(inverse, theta, arm, reward, u):
    """Sherman-Morrison: add one pull of `arm` (d,) with `reward` to inverse (d, d) and theta (d,), in place.

    reward : in the units of theta' arm. Leaves inverse @ arm (before the update) in `u` (d,) and returns the gain 1 +
    arm'u: the log-determinant of the information matrix grows by log(gain), and y'inverse y falls by (y'u)^2 / gain for
    every y.

    >>> inverse, theta, u = np.eye(2), np.zeros(2), np.zeros(2)
    >>> rank_one_update(inverse, theta, np.array([1.0, 0.0]), 3.0, u), theta.tolist(), inverse.tolist()
    (2.0, [1.5, 0.0], [[0.5, 0.0], [0.0, 1.0]])
    """
    d = theta.shape[0]
    gain, residual = 1.0, reward
    for i in range(d):
        along = 0.0
        for j in range(d):
            along += inverse[i, j] * arm[j]
        u[i] = along
        gain += along * arm[i]
        residual -= theta[i] * arm[i]
    for i in range(d):
        scaled = u[i] / gain
        theta[i] += scaled * residual
        for j in range(d):
            inverse[i, j] -= scaled * u[j]
    return gain


@njit(cache=True, error_model="numpy")
def cholesky(matrix, scale, shift, factor):
    """Cholesky's factor of matrix / scale + shift I, in place in `factor` (d, d), lower triangle.

    matrix : (d, d), symmetric; scale, shift : floats. Returns the log-determinant, -inf if the matrix is not positive
    definite. In compiled loops this and `inverse_from` stand in for LAPACK, whose wrappers take most of the time to
    compile one.

    >>> factor = np.zeros((2, 2))
    >>> round(cholesky(np.diag([8.0, 2.0]), 2.0, 0.0, factor), 6), factor.tolist()
    (1.386294, [[2.0, 0.0], [0.0, 1.0]])
    """
    d = matrix.shape[0]
    logdet = 0.0
    for i in range(d):
        for j in range(i + 1):
            rest = matrix[i, j] / scale
            if i == j:
                rest += shift
            for k in range(j):
                rest -= factor[i, k] * factor[j, k]
            if j < i:
                factor[i, j] = rest / factor[j, j]
            elif rest > 0:
                factor[i, i] = np.sqrt(rest)
                logdet += np.log(rest)
            else:
                return -np.inf
    return logdet


@njit(cache=True, error_model="numpy")
def inverse_from(factor, inverse):
    """The inverse of the matrix whose Cholesky factor is given: two triangular systems.

    factor : (d, d), lower triangular; inverse : (d, d), written in place.

    >>> inverse = np.zeros((2, 2))
    >>> inverse_from(np.diag([2.0, 1.0]), inverse)
    >>> inverse.tolist()
    [[0.25, 0.0], [0.0, 1.0]]
    """
    d = factor.shape[0]
    for k in range(d):
        for i in range(d):
            rest = 1.0 if i == k else 0.0
            for j in range(i):
                rest -= factor[i, j] * inverse[j, k]
            inverse[i, k] = rest / factor[i, i]
        for i in range(d - 1, -1, -1):
            rest = inverse[i, k]
            for j in range(i + 1, d):
                rest -= factor[j, i] * inverse[j, k]
            inverse[i, k] = rest / factor[i, i]
