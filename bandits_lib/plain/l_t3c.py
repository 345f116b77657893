"""L-T3C: T3C (Shang, de Heide, Kaufmann, Menard and Valko 2020), top-two sampling by transportation cost.

The form for linear bandits is that of published code. The rule begins with spanning arms. The stopping rule is that of
Jedra and Proutiere (glr.py). Challengers that beat a sampled leader all have cost 0. The paper draws one of them; here
it is the challenger that leads by the most standard deviations.
"""

import numpy as np

from bandits_lib.numerics.ties import argmax
from bandits_lib.plain.glr import Z_ab, beta, least_squares, remaining
from bandits_lib.plain.spanning import spanning_arms
from bandits_lib.protocol import Result, one_pull


def l_t3c(arms, items, delta, rng, sigma=1.0, eliminate="none"):
    """Return the row of the best of items (M, d) with probability 1 - delta, pulling arms (K, d); rng draws leaders."""
    (K, d), left = arms.shape, np.arange(len(items))
    A_0 = spanning_arms(arms)
    c = np.linalg.eigvalsh(arms[A_0].T @ arms[A_0])[0]
    sample = yield np.bincount(A_0, minlength=K)
    N, S = sample.counts, sample.sums
    while True:
        A, A_inv, theta = least_squares(arms, N, S)
        left = remaining(left, items, theta, A_inv, beta(A, c, delta, sigma), N.sum(), eliminate)
        if len(left) == 1:
            return Result(left[0])

        posterior = theta + sigma * np.linalg.cholesky(A_inv) @ rng.standard_normal(d)  # N(theta_hat, sigma^2 A^-1)
        rows = left if eliminate == "sample" else np.arange(len(items))
        leader = rows[argmax(items[rows] @ posterior)]
        challenger = argmax(-Z_ab(items, leader, theta, A_inv, rows))  # of smallest transportation cost, with its sign
        y = items[leader] - items[challenger]
        shrinks = np.array([(y @ A_inv @ x) ** 2 / (1 + x @ A_inv @ x) for x in arms])  # ||y||^2 falls by this
        sample = yield one_pull(argmax(shrinks), K)
        N, S = N + sample.counts, S + sample.sums
