"""RAGE as Weltz, Fiez, Volfovsky, Laber, Mason, Nassif and Jain (2023) print it, Algorithm 5, for the best item.

The accuracy 2^-l is halved, not the set. Line 6 prints q(Z_l), but the proof of Algorithm 2 (Lemma E.1) uses q(Y(Z_l)).
"""

from math import log

import numpy as np

from bandits_lib.design import pairs, xy_design
from bandits_lib.protocol import Result


def rage_halving(arms, items, delta, sigma=1.0):
    """Return the row of the best of items (M, d) with probability 1 - delta, pulling arms (K, d); sigma = sigma_max."""
    ell, Z = 1, list(range(len(items)))  # line 3
    while len(Z) > 1:  # line 4
        design = xy_design(arms, pairs(items[Z]))
        lam, q = design.weights, design.value  # line 5
        epsilon = 2.0**-ell
        tau = 2 * epsilon**-2 * sigma**2 * q * log(8 * ell**2 * len(items) / delta)  # line 6
        sample = yield np.ceil(tau * lam).astype(int)  # line 7
        A, b = (arms.T * sample.counts) @ arms, arms.T @ sample.sums
        theta = np.linalg.pinv(A, rcond=1e-10) @ b  # line 9; the pulled arms need not span R^d
        values = items @ theta
        Z = [z for z in Z if max(values[Z]) - values[z] <= epsilon]  # line 11
        ell += 1  # line 21
    return Result(Z[0])
