"""Efficient design apportionment (Pukelsheim 2006, chapter 12), as fiez2019 restates it in appendix B.

It is the default of the library, `round_design(weights, n)`. With fewer pulls than atoms the library gives them to the
largest remainders.
"""

import numpy as np

from bandits_lib.numerics.ties import argmax


def pukelsheim(weights, n):
    """Return N (K,), whole pulls of sum n, from weights (K,) of sum 1 that have at most n atoms."""
    support = np.flatnonzero(weights)
    lam, p = weights[support], len(support)
    N = np.maximum(np.ceil((n - p / 2) * lam - 1e-9), 1).astype(int)  # phase 1, at least 1; 5.000000000001 counts as 5
    while N.sum() < n:  # phase 2
        N[argmax(-N / lam)] += 1
    while N.sum() > n:
        N[argmax((N - 1) / lam)] -= 1
    counts = np.zeros(len(weights), dtype=int)
    counts[support] = N
    return counts
