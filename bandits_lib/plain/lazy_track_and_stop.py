"""Lazy Track-and-Stop (Jedra and Proutiere 2020, Algorithm 1), with T = {1, 2, 4, ...} and averaging.

Algorithm 1 has no allocation to track at t = 0. Here A_0 is pulled first, and w is uniform on A_0 until the first time
in T. A_0 consists of arms that lie far apart (spanning.py); section 5 draws them at random. The threshold has delta
itself (glr.py). w is certified; section 5 improves the previous w by Frank-Wolfe. If two items tie, w stays.
"""

import numpy as np

from bandits_lib.design import xy_design
from bandits_lib.numerics.ties import argmax
from bandits_lib.plain.glr import beta, least_squares, remaining
from bandits_lib.plain.spanning import spanning_arms
from bandits_lib.protocol import Result, one_pull

T = {2**k for k in range(60)}


def lazy_track_and_stop(arms, items, delta, sigma=1.0, eliminate="none"):
    """Return the row of the best of items (M, d), with probability 1 - delta, by pulls of arms (K, d)."""
    (K, d), left = arms.shape, np.arange(len(items))
    A_0, i = spanning_arms(arms), 0
    c = np.linalg.eigvalsh(arms[A_0].T @ arms[A_0])[0]
    sample = yield np.bincount(A_0, minlength=K)
    t, N, S = d, sample.counts, sample.sums
    w = N / d
    W = (d - 1) * w  # the sum of w(s) over s < t
    while True:
        A, A_inv, mu = least_squares(arms, N, S)
        left = remaining(left, items, mu, A_inv, beta(A, c, delta, sigma), t, eliminate)
        if len(left) == 1:  # eq. (8); A >= c I since A_0 was pulled
            return Result(left[0])
        rows = left if eliminate == "sample" else np.arange(len(items))
        best = rows[argmax(items[rows] @ mu)]
        y = items[best] - items[rows[rows != best]]
        gaps = y @ mu
        if t in T and gaps.min() > 0:
            w = xy_design(arms, y * (gaps.min() / gaps)[:, None]).weights  # argmax of psi, eq. (3)
        W = W + w
        f = c / np.sqrt(d) * np.sqrt(t)  # Lemma 5
        if np.linalg.eigvalsh(A)[0] < f * (1 - 1e-9):  # eq. (5); at t = d the two are equal
            arm, i = A_0[i], (i + 1) % d
        else:
            arm = argmax(np.where(W > 0, t + W - N, -np.inf))  # eq. (6); t is added so that ties are relative to t
        sample = yield one_pull(arm, K)
        t, N, S = t + 1, N + sample.counts, S + sample.sums
