"""H-RAGE (Weltz, Fiez, Volfovsky, Laber, Mason, Nassif and Jain 2023, Algorithm 2), for the best item.

The burn-in solves kappa (A + B + C) = 1/2 with the bounds of appendix D.2 on A, B and C, as multiples of sigma_max^2.
All three contain log(12 |X| / delta), and C is doubled, as its definition requires. The burn-in with the printed
C' = 2000 (1 + 6 epsilon) is ten times as long. Line 8 prints q(Z_l), but the proof of Lemma E.1 uses q(Y(Z_l)). The
library also sets a minimum for Gamma, for designs of many arms; it has no effect in the paper's experiments.
"""

from math import ceil, log, sqrt

import numpy as np

from bandits_lib.design import pairs, weighted_design
from bandits_lib.plain.head import head
from bandits_lib.protocol import Result


def h_rage(arms, items, delta, sigma_min, sigma_max):
    """Return the row of the best of items (M, d), with probability 1 - delta; arms (K, d) have unknown noise."""
    (K, d), kappa = arms.shape, sigma_max**2 / sigma_min**2
    S, L = 1 + 6 / 60, log(12 * K / delta)  # epsilon = 1 / 60
    A_and_C = 4 * S * d * L + 4 * S * sqrt(40 * d**3 * L * (d * log(6) + L))  # A + C is this over Gamma
    B = 128 * S * d**2 * L  # B is the square root of this over Gamma
    Gamma = ceil((kappa * (sqrt(B) + sqrt(B + 2 * A_and_C / kappa))) ** 2)
    ell, Z = 1, list(range(len(items)))  # line 3
    sigma = (yield from head(arms, Gamma, sigma_min, sigma_max)).recommendation.sigma  # line 5
    while len(Z) > 1:  # line 6
        design = weighted_design(arms, pairs(items[Z]), sigma)
        lam, q = design.weights, design.value  # line 7
        epsilon = 2.0**-ell
        tau = 3 * epsilon**-2 * q * log(8 * ell**2 * len(items) / delta)  # line 8
        sample = yield np.ceil(tau * lam).astype(int)  # line 9
        A = (arms.T * (sample.counts / sigma**2)) @ arms
        b = arms.T @ (sample.sums / sigma**2)
        theta = np.linalg.pinv(A, rcond=1e-10) @ b  # line 11; the pulled arms need not span R^d
        values = items @ theta
        Z = [z for z in Z if max(values[Z]) - values[z] <= epsilon]  # line 13
        ell += 1  # line 23
    return Result(Z[0])
