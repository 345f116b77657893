"""GSE, generalised successive elimination (Azizi, Kveton and Ghavamzadeh 2022, Algorithm 1).

Pi_t comes from gse_explorers.py; by default it is a certified G-optimal design, as in the library. For rewards 0 and 1,
pass `estimate=logistic`.
"""

from math import ceil

import numpy as np

from bandits_lib.numerics.ties import top
from bandits_lib.plain.gse_explorers import g_optimal
from bandits_lib.plain.logistic import logistic_regression
from bandits_lib.plain.spanning import in_their_span
from bandits_lib.protocol import Result


def linear(X, counts, sums):
    """Return mu_hat (m,) of arms X (m, d_t) from counts (m,) and sums of rewards (m,), eq. (1)."""
    V, b = (X.T * counts) @ X, X.T @ sums
    return X @ np.linalg.inv(V) @ b


def logistic(X, counts, sums):
    """Return mu_hat (m,) of arms X (m, d_t) from counts (m,) and successes (m,), eq. (4), with a ridge, without h."""
    return X @ logistic_regression(X, counts, sums)


def gse(arms, budget, eta=2, explore=g_optimal, estimate=linear):
    """Return the row of the best of arms (K, d) within `budget` pulls; explore(X, n) -> Pi_t (m,) for X (m, d_t)."""
    K = len(arms)
    A = np.arange(K)
    s = next(s for s in range(K) if eta**s >= K)  # ceil(log_eta K), in whole numbers
    n = budget // s
    for _ in range(s):  # line 1
        X = in_their_span(arms[A])  # line 2
        Pi = np.zeros(K, dtype=int)
        Pi[A] = explore(X, n)  # line 3
        sample = yield Pi
        mu_hat = estimate(X, sample.counts[A], sample.sums[A])  # line 4
        A = A[top(mu_hat, ceil(len(A) / eta))]  # line 5
    return Result(int(A[0]))  # line 8
