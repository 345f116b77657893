"""The Separate Arm Estimator, a baseline of HEAD (weltz2023, appendix C, Algorithm 4).

There are too many subsets to try them all. As in the published code, U* is the best of 1000 random subsets of the
longest arms. The paper prints U* = argmax zeta_min(Phi_U^-1), which favours short arms. Its bound needs a large
zeta_min(Phi_U), as here. The phi must span R^M; otherwise the library chooses as many arms as the phi span dimensions.
"""

import numpy as np

from bandits_lib.design import round_design
from bandits_lib.numerics.ties import argmax
from bandits_lib.plain.quadratic import features, regression, squared_residuals
from bandits_lib.protocol import Result


def separate_arm_estimator(arms, budget, sigma_min, sigma_max, rng):
    """Return the VarianceEstimate of arms (K, d) from Gamma = `budget` pulls; rng draws the subsets of arms."""
    U = best_subset(arms, rng)  # line 3
    share = np.zeros(len(arms))
    share[U] = 1 / len(U)
    sample = yield round_design(share, budget)  # line 4
    y_bar = sample.sums / np.maximum(sample.counts, 1)  # line 5
    return Result(regression(arms, sample.counts, squared_residuals(sample, y_bar), sigma_min, sigma_max))  # line 7


def best_subset(arms, rng):
    """Return U* (M,): of random subsets of the longest arms, the one with the largest zeta_min(Phi_U)."""
    phi = features(arms)
    K, M = phi.shape
    longest = np.argsort(-np.linalg.norm(arms, axis=1), kind="stable")[: max(K // 10, M + 20)]
    subsets = longest[rng.random((1000, len(longest))).argsort(axis=1)[:, :M]]
    zeta_min = np.array([np.linalg.svd(phi[U], compute_uv=False)[-1] for U in subsets])
    return subsets[argmax(zeta_min)]
