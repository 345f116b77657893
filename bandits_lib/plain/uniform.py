"""The Uniform Estimator, a baseline of HEAD (weltz2023, appendix C, Algorithm 3).

theta and Sigma are fitted to the same rewards. The variances are clipped, although Algorithm 3 does not say so.
"""

import numpy as np

from bandits_lib.plain.quadratic import regression, squared_residuals
from bandits_lib.protocol import Result


def uniform_estimator(arms, budget, sigma_min, sigma_max, rng):
    """Return the VarianceEstimate of arms (K, d) from Gamma = `budget` pulls; rng draws the arms."""
    K = len(arms)
    sample = yield rng.multinomial(budget, np.full(K, 1 / K))  # line 3
    A, b = (arms.T * sample.counts) @ arms, arms.T @ sample.sums
    theta = np.linalg.inv(A) @ b  # line 5
    residuals = squared_residuals(sample, arms @ theta)
    return Result(regression(arms, sample.counts, residuals, sigma_min, sigma_max))  # line 6
