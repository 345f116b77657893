"""HEAD, heteroskedasticity estimation by adaptive designs (weltz2023, Algorithm 1).

Both halves are rounded to whole pulls that add up to Gamma, as in the library; line 5 rounds every share up.
"""

import numpy as np

from bandits_lib.design import g_design, round_design
from bandits_lib.plain.quadratic import features, regression, squared_residuals
from bandits_lib.protocol import Result


def head(arms, budget, sigma_min, sigma_max):
    """Return the VarianceEstimate of arms (K, d) from Gamma = `budget` pulls, for sigma_min <= sigma_x <= sigma_max."""
    lam = g_design(arms).weights  # line 4
    first = yield round_design(lam, budget // 2)  # line 5
    A, b = (arms.T * first.counts) @ arms, arms.T @ first.sums
    theta = np.linalg.inv(A) @ b  # line 7
    lam_dagger = g_design(features(arms)).weights  # line 9
    second = yield round_design(lam_dagger, budget - budget // 2)  # line 10
    residuals = squared_residuals(second, arms @ theta)
    estimate = regression(arms, second.counts, residuals, sigma_min, sigma_max)  # lines 12 and 13
    return Result(estimate._replace(counts=first.counts + second.counts))
