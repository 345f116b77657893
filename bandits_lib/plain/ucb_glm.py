"""UCB-GLM for rewards 0 and 1, stopped at a budget (Li, Lu and Zhou 2017, Algorithm 1; azizi2022, section 8).

One pull of each arm comes first; Li et al. draw several arms at random. The library's default alpha is that of their
Theorem 2. The code published with azizi2022 adds ||x||^2 / 2 instead of alpha ||x||.
"""

import numpy as np

from bandits_lib.numerics.ties import argmax
from bandits_lib.plain.logistic import logistic_regression
from bandits_lib.protocol import Result, one_pull


def ucb_glm(arms, budget, alpha):
    """Return the row of arms (K, d) that was pulled most in `budget` pulls; of ties, that of the largest estimate."""
    K = len(arms)
    sample = yield np.ones(K, dtype=int)
    T, S = sample.counts, sample.sums
    theta = logistic_regression(arms, T, S)
    while T.sum() < budget:
        V_inv = np.linalg.pinv((arms.T * T) @ arms)
        a = argmax(np.array([x @ theta + alpha * np.sqrt(x @ V_inv @ x) for x in arms]))
        sample = yield one_pull(a, K)
        T, S = T + sample.counts, S + sample.sums
        theta = logistic_regression(arms, T, S, start=theta)
    most = np.flatnonzero(T == T.max())
    return Result(int(most[argmax(arms[most] @ theta)]))
