"""The Separate Arm Estimator, which HEAD is compared with (weltz2023, appendix C, Algorithm 4).

Nobody finds the best of all subsets: as in the published code it is the best of 1000 random ones, of the longest arms.
The paper prints U* = argmax zeta_min(Phi_U^-1), the shortest arms; its bound needs a large zeta_min(Phi_U), as here.
The phi span R^M; where they do not, the library takes as many arms as they span dimensions.
"""

import numpy as np

from bandits_lib.design import round_design
from bandits_lib.numerics.ties import argmax
from bandits_lib.plain.quadratic import features, regression, squared_residuals
from bandits_lib.protocol import Result


def separate_arm_estimator(arms, budget, sigma_min, sigma_max, rng):
    """VarianceEstimate for arms (K, d) from Gamma = `budget` pulls; rng draws the subsets of arms."""
    U = best_subset(arms, rng)  # line 3
    share = np.zeros(len(arms))
    share[U] = 1 / len(U)
    sample = yield round_design(share, budget)  # line 4
    y_bar = sample.sums / np.maximum(sample.counts, 1)  # line 5
    return Result(regression(arms, sample.counts, squared_residuals(sample, y_bar), sigma_min, sigma_max))  # line 7


def best_subset(arms, rng):
    """U* (M,): of random subsets of the longest arms, the one whose Phi_U has the largest least singular value."""
    phi = features(arms)
    K, M = phi.shape
    longest = np.argsort(-np.linalg.norm(arms, axis=1), kind="stable")[: max(K // 10, M + 20)]
    subsets = longest[rng.random((1000, len(longest))).argsort(axis=1)[:, :M]]
    zeta_min = np.array([np.linalg.svd(phi[U], compute_uv=False)[-1] for U in subsets])
    return subsets[argmax(zeta_min)]
