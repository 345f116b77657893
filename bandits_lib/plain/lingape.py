"""LinGapE (Xu, Honda and Sugiyama 2018, Algorithm 1), in the form that the paper analyses, with its lambda = 1.

The paper ranks the arms. Here M items are ranked, and C_t contains M^2 instead of K^2. Items can be eliminated as by
Tirinzoni and Degenne (2022).
"""

import numpy as np

from bandits_lib.design import xy_design
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import Result, one_pull


def lingape(arms, items, delta, theta_bound, sigma=1.0, epsilon=0.0, eliminate="none"):
    """Return the row of the best of items (M, d), up to epsilon, with probability 1 - delta, pulling arms (K, d)."""
    (K, d), M = arms.shape, len(items)
    R, S, lam = sigma, theta_bound, 1.0
    sample = yield np.ones(K, dtype=int)  # pull each arm once
    T, sums, left = sample.counts, sample.sums, np.arange(M)
    while True:
        A, b = lam * np.eye(d) + (arms.T * T) @ arms, arms.T @ sums
        A_inv = np.linalg.inv(A)
        theta = A_inv @ b
        C = R * np.sqrt(2 * np.log(M**2 * np.sqrt(np.linalg.det(A) / lam**d) / delta)) + np.sqrt(lam) * S

        rows = left if eliminate == "sample" else np.arange(M)
        i = rows[argmax(items[rows] @ theta)]  # Select-direction: the leader,
        lead = np.full(M, -np.inf)
        for j in rows:
            if j != i:
                y = items[j] - items[i]
                lead[j] = y @ theta + np.sqrt(y @ A_inv @ y) * C
        j = argmax(lead)  # and its most ambiguous rival
        if lead[left].max() <= epsilon:  # B(t) <= epsilon
            return Result(i)
        if eliminate != "none":
            left = left[(lead[left] >= 0) | (left == i)]

        p = xy_design(arms, (items[i] - items[j])[None, :]).weights  # p* = |w| / |w|_1, w = argmin |w|_1 with X'w = y
        support = np.flatnonzero(p)
        arm = support[argmax(-T[support] / p[support])]
        sample = yield one_pull(arm, K)
        T, sums = T + sample.counts, sums + sample.sums
