"""Noise that is quadratic in the arm, sigma_x^2 = x'Sigma x = phi_x'vech(Sigma), and its regression (weltz2023).

The regression uses the span of the phi's, of dimension `rank` <= M = d(d+1)/2, and returns the Sigma of smallest
Frobenius norm; the published code adds the identity to a singular matrix.
"""

from typing import NamedTuple

import numpy as np

from bandits_lib.checks import check_positive
from bandits_lib.numerics.linear_algebra import combine, product, row_products, transposed
from bandits_lib.numerics.span import quick_inverse_root


class VarianceEstimate(NamedTuple):
    """Recommendation of a variance estimator (weltz2023, Algorithms 1, 3 and 4).

    Attributes
    ----------
    sigma : (K,) array
        Standard deviation of each arm, clipped to [sigma_min, sigma_max].
    Sigma : (d, d) array
        Symmetric matrix of smallest Frobenius norm among the fits. It is not clipped and need not be semidefinite.
    rank : int
        Dimension of the span of phi_x over the pulled arms x, which is d (d + 1) / 2 if Sigma is identified.
    counts : (K,) int array
        Pulls of each arm.

    Examples
    --------
    >>> VarianceEstimate(np.ones(2), np.eye(2), 2, np.array([50, 50])).rank
    2
    """

    sigma: np.ndarray
    Sigma: np.ndarray
    rank: int
    counts: np.ndarray


class QuadraticFit(NamedTuple):
    """Fitted Sigma; the variance of x'Sigma x is |root isometric(x)|^2 times that of a single squared residual."""

    Sigma: np.ndarray  # (d, d), of smallest Frobenius norm among the fits
    root: np.ndarray  # (rank, M), of the inverse of the information on Sigma
    rank: int


def features(arms: np.ndarray) -> np.ndarray:
    """Return the features phi_x of every arm, with x'Sigma x = phi_x'vech(Sigma) (weltz2023, section 3).

    Parameters
    ----------
    arms : (K, d) array
        Feature vectors of the arms.

    Returns
    -------
    (K, M) array
        Rows phi_x, M = d(d+1)/2, over the upper triangle row by row: x_i^2 on the diagonal, 2 x_i x_j off it.

    Examples
    --------
    >>> features(np.array([[1.0, 2.0]])).tolist()
    [[1.0, 4.0, 4.0]]
    """
    i, j = np.triu_indices(arms.shape[1])
    return np.where(i == j, 1.0, 2.0) * arms[:, i] * arms[:, j]


def isometric(arms):
    """Return phi_x (K, M) with off-diagonal entries / sqrt(2): |phi_x| = |x|^2 and |vech| is the Frobenius norm."""
    return np.ascontiguousarray(features(arms) / off_diagonal_lengths(arms.shape[1]))


def off_diagonal_lengths(d):
    """Return the Frobenius norm (M,) of each entry of vech(Sigma): 1 on the diagonal, sqrt(2) off it."""
    i, j = np.triu_indices(d)
    return np.where(i == j, 1.0, np.sqrt(2.0))


def squared_residuals(means, sample):
    """Return sums (K,) of (reward - mean)^2, which is squares - sums^2 / n + n (sums / n - mean)^2; means : (K,)."""
    n = np.maximum(sample.counts, 1)
    averages = sample.sums / n
    within = np.maximum(sample.squares - sample.sums * averages, 0.0)
    return within + sample.counts * (averages - means) ** 2


def fit_quadratic(arms, counts, squares):
    """Return the `QuadraticFit` of `squares` (K,), sums of squared residuals, on phi (weltz2023, Alg. 1, line 12)."""
    pulled = np.flatnonzero(counts)
    phi = isometric(arms[pulled])
    root, _ = quick_inverse_root(phi, counts[pulled])
    i, j = np.triu_indices(arms.shape[1])
    vech = combine(combine(squares[pulled], product(phi, transposed(root))), root) / off_diagonal_lengths(arms.shape[1])
    Sigma = np.empty((arms.shape[1],) * 2)
    Sigma[i, j] = Sigma[j, i] = vech
    return QuadraticFit(Sigma, root, len(root))


def variances(arms, Sigma):
    """Return x'Sigma x of every arm, (K,)."""
    return row_products(product(arms, Sigma), arms)


def estimate(arms, fit, counts, sigma_min, sigma_max):
    """Return the `VarianceEstimate` of a QuadraticFit, clipped to the bounds."""
    sigma = np.sqrt(np.clip(variances(arms, fit.Sigma), sigma_min**2, sigma_max**2))
    return VarianceEstimate(sigma, fit.Sigma, fit.rank, counts)


def check_bounds(sigma_min, sigma_max):
    """Return both bounds as positive floats in order."""
    low, high = check_positive("sigma_min", sigma_min), check_positive("sigma_max", sigma_max)
    if low > high:
        raise ValueError(f"sigma_min must not exceed sigma_max (standard deviations); got {low} and {high}: swap them")
    return low, high
