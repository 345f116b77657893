"""LinGame (Degenne, Menard, Shang and Valko 2020, Algorithm 1), with AdaHedge as the learner.

The stopping rule is that of Jedra and Proutiere (glr.py); the paper's rule needs a bound on |theta|. Spanning arms are
pulled first. A(w) is computed at w + 1e-12 / K, because weights of a learner underflow.
"""

from math import log

import numpy as np
from scipy.special import logsumexp, softmax

from bandits_lib.numerics.ties import argmax
from bandits_lib.plain.glr import Z_ab, beta, least_squares, remaining
from bandits_lib.plain.spanning import spanning_arms
from bandits_lib.protocol import Result, one_pull


def lin_game(arms, items, delta, sigma=1.0, eliminate="none"):
    """Return the row of the best of items (M, d), with probability 1 - delta, by pulls of arms (K, d)."""
    K, M = len(arms), len(items)
    A_0 = spanning_arms(arms)
    c = np.linalg.eigvalsh(arms[A_0].T @ arms[A_0])[0]
    sample = yield np.bincount(A_0, minlength=K)
    N, S, W, left = sample.counts, sample.sums, np.zeros(K), np.arange(M)
    loss, gap = np.zeros((M, K)), np.full(M, 0.01)  # one AdaHedge for each item: losses and mixability gaps so far
    while True:
        A, A_inv, theta = least_squares(arms, N, S)
        left = remaining(left, items, theta, A_inv, beta(A, c, delta, sigma), N.sum(), eliminate)
        if len(left) == 1:
            return Result(left[0])

        rows = left if eliminate == "sample" else np.arange(M)
        best = rows[argmax(items[rows] @ theta)]
        eta = log(K) / gap[best]
        w = softmax(-eta * loss[best])  # the agent plays first
        Aw_inv = np.linalg.inv((arms.T * (w + 1e-12 / K)) @ arms)
        y = items[best] - items[argmax(-Z_ab(items, best, theta, Aw_inv, rows))]
        lam = theta - (y @ theta) / (y @ Aw_inv @ y) * Aw_inv @ y  # nature answers: the nearest tie with another item

        log_t, U = log(N.sum()), np.zeros(K)
        for k in range(K):  # optimistic gains
            x = arms[k]
            U[k] = min((abs(x @ (theta - lam)) / sigma + np.sqrt(2 * log_t * x @ A_inv @ x)) ** 2 / 2, log_t)
        mix_loss = (logsumexp(-eta * loss[best]) - logsumexp(-eta * (loss[best] - U))) / eta
        gap[best] += max(0.0, -w @ U - mix_loss)  # AdaHedge: mean loss minus mix loss
        loss[best] -= U

        W = W + w
        sample = yield one_pull(argmax(W - N), K)  # tracking
        N, S = N + sample.counts, S + sample.sums
