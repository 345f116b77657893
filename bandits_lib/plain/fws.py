"""FWS, Frank-Wolfe sampling (Wang, Tzeng and Proutiere 2021, Algorithm 1), for linear bandits.

The stopping rule is that of Jedra and Proutiere (glr.py). The paper begins with one pull of each arm. Here spanning
arms are pulled first, and the forced exploration at floor(t / K) = 0 pulls the other arms.
"""

import numpy as np
from scipy.optimize import linprog

from bandits_lib.numerics.ties import argmax
from bandits_lib.plain.glr import Z_ab, beta, least_squares, remaining
from bandits_lib.plain.spanning import spanning_arms
from bandits_lib.protocol import Result, one_pull


def fws(arms, items, delta, sigma=1.0, eliminate="none"):
    """Return the row of the best of items (M, d), with probability 1 - delta, by pulls of arms (K, d)."""
    K, left = len(arms), np.arange(len(items))
    A_0 = spanning_arms(arms)
    c = np.linalg.eigvalsh(arms[A_0].T @ arms[A_0])[0]
    sample = yield np.bincount(A_0, minlength=K)
    N, S = sample.counts, sample.sums
    x = N / N.sum()
    while True:
        A, A_inv, theta = least_squares(arms, N, S)
        left = remaining(left, items, theta, A_inv, beta(A, c, delta, sigma), N.sum(), eliminate)
        if len(left) == 1:
            return Result(left[0])

        rows, t = left if eliminate == "sample" else np.arange(len(items)), N.sum() + 1
        values = items[rows] @ theta
        if np.sqrt(t // K) % 1 == 0 or (values == values.max()).sum() > 1:
            z = np.full(K, 1 / K)  # forced exploration
        else:
            Ax_inv = np.linalg.inv((arms.T * x) @ arms)
            best, r = rows[argmax(values)], t**-0.9 / K
            f = Z_ab(items, best, theta, Ax_inv, rows) / sigma**2
            H = [gradient(arms, items[best] - items[j], theta, Ax_inv, sigma) for j in np.flatnonzero(f < f.min() + r)]
            z = maximin(np.array([h - h @ x for h in H]))
        x = ((t - 1) * x + z) / t
        sample = yield one_pull(argmax(-N / x), K)  # argmax of x_k / N_k
        N, S = N + sample.counts, S + sample.sums


def gradient(arms, y, theta, A_inv, sigma):
    """Return grad f_j (K,) of f_j(x) = (y'theta)^2 / (2 sigma^2 ||y||^2), with the norm in A(x)^-1."""
    return (arms @ A_inv @ y * (y @ theta) / (y @ A_inv @ y)) ** 2 / (2 * sigma**2)


def maximin(payoffs):
    """Return the z in the simplex that maximises the minimum of payoffs @ z, for payoffs (J, K): a matrix game."""
    J, K = payoffs.shape
    if J == 1:
        return np.eye(K)[argmax(payoffs[0])]
    program = linprog(
        c=[*np.zeros(K), -1],  # maximise v ...
        A_ub=np.column_stack([-payoffs, np.ones(J)]),  # with payoffs @ z >= v
        b_ub=np.zeros(J),
        A_eq=[[*np.ones(K), 0]],
        b_eq=[1],
        bounds=[(0, None)] * K + [(None, None)],
    )
    return program.x[:K]
