"""ALBA with Y-ElimTil (Tao, Blanco and Zhou 2018), as Fiez et al. (2019) run it (section 5 and appendix F).

As in the paper, arms have length at most 1 and the noise has variance 1; the library scales both. The widths are those
of the code of Fiez et al. The lengths n_s are those of the paper, as in the library by default (growth=2).
"""

from itertools import count
from math import ceil, log, pi, sqrt

import numpy as np

from bandits_lib.design import g_design
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import Result


def alba(arms, delta, theta_bound, rng):
    """Return the row of the best of arms (K, d), with probability 1 - delta; |theta| <= theta_bound, rng draws arms."""
    S, d = list(range(len(arms))), arms.shape[1]
    for r in count():
        if len(S) == 1:
            return Result(S[0])
        delta_r = 6 * delta / (pi * (r + 1)) ** 2
        S = yield from y_elim_til(arms, S, max(1, d // 2**r), delta_r, theta_bound, rng)


def y_elim_til(arms, S, most, delta, L, rng):
    """Eliminate from S, rows of arms (K, d), until `most` or fewer are left; return these rows."""
    (K, d), size = arms.shape, len(S)
    for s in count(1):
        if len(S) <= most:
            return S
        delta_s, epsilon, ell = 6 * delta / (pi * s) ** 2, 2.0**-s, length(s, L, d)
        n = ceil(ell * log(5 * size**2 / (2 * delta_s)))
        rank = np.linalg.matrix_rank(arms[S])
        X_S = [x for x in range(K) if np.linalg.matrix_rank(arms[[*S, x]]) == rank]  # the arms in the span of S
        lam, counts = np.zeros(K), np.zeros(K, dtype=int)
        lam[X_S] = g_design(arms[X_S]).weights
        counts[X_S] = rng.multinomial(n, lam[X_S])
        sample = yield counts
        A_inv = np.linalg.pinv((arms.T * lam) @ arms, rcond=1e-10)
        theta = A_inv @ (arms.T @ sample.sums) / n  # by the expected information matrix, n A(lambda)
        best = S[argmax(arms[S] @ theta)]
        y = arms[best] - arms
        S = [x for x in S if width(y[x], arms, lam, A_inv, theta, ell, L, epsilon / 2) >= y[x] @ theta]


def length(s, L, d):
    """Return l_s, the pulls of phase s without their logarithmic factor, epsilon_s = 2^-s; L bounds |theta| in R^d."""
    epsilon = 2.0**-s
    return max(4 * L**2, 3) * (2 + (6 + epsilon / 2) * d) / (epsilon / 2) ** 2


def width(y, arms, lam, A_inv, theta, ell, L, slack):
    """Return the confidence width of y'theta for y (d,): the smaller of one from L and one from estimated means."""
    d, v = len(y), sqrt(y @ A_inv @ y)
    noise = sqrt(2 * v**2 / ell * (sqrt(3 * d / ell) + 1))
    blind = L * v * sqrt(2 / ell) + 2 * L * (np.linalg.norm(y) + v * sqrt(d)) / (3 * ell)
    E = lam @ ((arms @ A_inv @ y) ** 2 * (np.abs(arms @ theta) + slack) ** 2)
    informed = sqrt(2 * E / ell) + (2 * (abs(y @ theta) + slack) + L * v * sqrt(d)) / (3 * ell)
    return min(blind, informed) + noise
