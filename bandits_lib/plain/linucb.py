"""LinUCB stopped at a budget (Li, Chu, Langford and Schapire 2010; azizi2022, section 8 and appendix F).

There is one regression for all arms, as in the library by default. In Algorithm 1 of Li et al., and in the code
published with azizi2022, each arm has its own. The library's alpha is that of Li et al. with delta = 0.001, times
sigma: sigma (1 + sqrt(log(2 / 0.001) / 2)). The code of azizi2022 has alpha = 0.513.
"""

import numpy as np

from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import Result, one_pull


def linucb(arms, budget, alpha):
    """Return the row of arms (K, d) that was pulled most in `budget` pulls; of ties, that of the largest estimate."""
    K, d = arms.shape
    A, b, counts = np.eye(d), np.zeros(d), np.zeros(K, dtype=int)
    for _ in range(budget):
        A_inv = np.linalg.inv(A)
        theta = A_inv @ b
        p = np.array([x @ theta + alpha * np.sqrt(x @ A_inv @ x) for x in arms])
        a = argmax(p)
        sample = yield one_pull(a, K)
        A = A + np.outer(arms[a], arms[a])
        b = b + sample.sums[a] * arms[a]
        counts[a] += 1
    most = np.flatnonzero(counts == counts.max())
    return Result(int(most[argmax(arms[most] @ np.linalg.inv(A) @ b)]))
