"""RAGE (Fiez, Jain, Jamieson and Ratliff 2019, Algorithm 1; "Initialize" is line 1).

The norms in rho are squared, as in the proof. The noise of the paper has sigma = 1.
"""

from math import ceil, log, sqrt

import numpy as np

from bandits_lib.design import pairs, round_design, xy_design
from bandits_lib.protocol import Result


def rage(arms, items, delta, sigma=1.0, epsilon=0.1):
    """Return the row of the best of items (M, d), with probability 1 - delta, by pulls of arms (K, d)."""
    Z, t = np.arange(len(items)), 1  # line 1
    while len(Z) > 1:  # line 2
        delta_t = delta / t**2  # line 3
        design = xy_design(arms, pairs(items[Z]))
        lam, rho = design.weights, design.value  # lines 4 and 5
        r = 2 * np.count_nonzero(lam) / epsilon  # r(epsilon) = 2p / epsilon, section 2.3
        log_union = log(len(items) ** 2 / delta_t)
        N = ceil(max(2 * (sigma * 2**t) ** 2 * rho * (1 + epsilon) * log_union, r))  # line 6
        sample = yield round_design(lam, N)  # lines 7 and 8
        A, b = (arms.T * sample.counts) @ arms, arms.T @ sample.sums
        A_inv = np.linalg.pinv(A, rcond=1e-10)  # the pulled arms need not span R^d
        theta = A_inv @ b  # line 9
        y = items[Z] - items[Z][:, None]  # z' - z for all z and z' of Z, (m, m, d)
        widths = sigma * np.sqrt((y @ A_inv * y).sum(axis=-1)) * sqrt(2 * log_union)
        Z, t = Z[~(widths < y @ theta).any(axis=1)], t + 1  # lines 10 and 11
    return Result(int(Z[0]))
