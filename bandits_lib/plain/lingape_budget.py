"""LinGapE stopped at a budget (Xu, Honda and Sugiyama 2018, Algorithm 1; azizi2022, section 8 and appendix F).

This rule differs from lingape.py in two ways: only the budget stops it, and lambda is 1e-8, as in the code published
with azizi2022 (Xu et al.: 1). The library computes p* to full precision, `xy_design` to 20 binary digits. If several w
have the smallest |w|_1, the library may choose another one.
"""

import numpy as np

from bandits_lib.design import xy_design
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import Result, one_pull


def lingape_budget(arms, budget, delta, sigma=1.0, theta_bound=1.0, ridge=1e-8):
    """Return the row of the leader of distinct arms (K, d) after `budget` pulls; delta sets the width of its rivals."""
    K, d = arms.shape
    R, S, lam = sigma, theta_bound, ridge
    sample = yield np.ones(K, dtype=int)  # pull each arm once
    T, sums = sample.counts, sample.sums
    while True:
        A, b = lam * np.eye(d) + (arms.T * T) @ arms, arms.T @ sums
        A_inv = np.linalg.inv(A)
        theta = A_inv @ b
        i = argmax(arms @ theta)  # Select-direction: the leader,
        if T.sum() == budget:
            return Result(int(i))
        logdet = np.linalg.slogdet(A)[1] - d * np.log(lam)  # log det A minus log det lambda I
        C = R * np.sqrt(2 * np.log(K**2 / delta) + logdet) + np.sqrt(lam) * S
        lead = np.full(K, -np.inf)
        for j in range(K):
            if j != i:
                y = arms[j] - arms[i]
                lead[j] = y @ theta + np.sqrt(y @ A_inv @ y) * C
        j = argmax(lead)  # and its most ambiguous rival
        p = xy_design(arms, (arms[i] - arms[j])[None, :]).weights  # p* = |w| / |w|_1, w = argmin |w|_1 with X'w = y
        support = np.flatnonzero(p)
        a = support[argmax(-T[support] / p[support])]
        sample = yield one_pull(a, K)
        T, sums = T + sample.counts, sums + sample.sums
