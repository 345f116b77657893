"""Noise model of HEAD and its baselines: sigma_x^2 = x'Sigma x = phi_x'vech(Sigma) (weltz2023, section 3).

If the phi do not span R^M, vech(Sigma) is the shortest of several solutions; that of the library has the smallest
Frobenius norm. The variances of the arms that HEAD and the uniform estimator find are the same.
"""

import numpy as np

from bandits_lib.variance import VarianceEstimate


def features(arms):
    """Return phi_x (K, M) of arms (K, d), M = d(d+1)/2: squares of the coordinates, and twice their products."""
    i, j = np.triu_indices(arms.shape[1])
    return np.where(i == j, 1, 2) * arms[:, i] * arms[:, j]


def squared_residuals(sample, means):
    """Return sums (K,) of (y - mean)^2 over the pulls of each arm, for means (K,)."""
    return sample.squares - 2 * means * sample.sums + sample.counts * means**2


def regression(arms, counts, residuals, sigma_min, sigma_max):
    """Return the VarianceEstimate of arms (K, d) from counts (K,) and sums of squared residuals (K,)."""
    phi = features(arms)
    A, b = (phi.T * counts) @ phi, phi.T @ residuals
    vech = np.linalg.pinv(A, rcond=1e-10) @ b
    Sigma = np.empty((arms.shape[1],) * 2)
    i, j = np.triu_indices(arms.shape[1])
    Sigma[i, j] = Sigma[j, i] = vech
    sigma = np.sqrt(np.clip(phi @ vech, sigma_min**2, sigma_max**2))  # clipped, as in Algorithm 2, line 5
    return VarianceEstimate(sigma, Sigma, np.linalg.matrix_rank(phi[counts > 0]), counts)
