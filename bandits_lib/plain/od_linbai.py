"""OD-LinBAI, halving by dimension with G-optimal designs (Yang and Tan 2021, Algorithm 1; azizi2022, section 7).

`g_design` has at most d(d+1)/2 atoms, as the first phase requires. For d = 1 the formula has no phase; the library then
has one.
"""

from math import ceil

import numpy as np

from bandits_lib.design import g_design
from bandits_lib.numerics.ties import top
from bandits_lib.plain.spanning import in_their_span
from bandits_lib.protocol import Result


def od_linbai(arms, budget):
    """Return the row of the best of arms (K, d) within `budget` pulls; the arms span R^d, d >= 2."""
    K, d = arms.shape
    R = (d - 1).bit_length()  # ceil(log2 d)
    m = (budget - min(K, d * (d + 1) // 2) - sum(ceil(d / 2**r) for r in range(1, R))) / R
    A = np.arange(K)
    for r in range(1, R + 1):
        a = in_their_span(arms[A])  # a_r(i), in d_r dimensions
        pi = g_design(a).weights
        T = np.zeros(K, dtype=int)
        T[A] = np.ceil(pi * m - 1e-9)  # 5.000000000001 counts as 5
        sample = yield T
        V = (a.T * sample.counts[A]) @ a
        theta = np.linalg.inv(V) @ (a.T @ sample.sums[A])
        A = A[top(a @ theta, ceil(d / 2**r))]  # the ceil(d / 2^r) arms of largest estimates
    return Result(int(A[0]))
