"""Level sets by RAGE (Weltz, Fiez, Volfovsky, Laber, Mason, Nassif and Jain 2023, Algorithm 5 with OBJ = LS).

In the library it is rage_halving(..., objective="level"). Line 18 is corrected: G and B only grow, so the differences
that it removes from Z_l are empty. Lemma F.3 needs Z_(l+1) = Z_l minus (G_(l+1) u B_(l+1)).
"""

from math import log

import numpy as np

from bandits_lib.design import xy_design
from bandits_lib.protocol import Result


def level_sets(arms, items, delta, alpha, sigma=1.0):
    """Return which of items (M, d) have a value above alpha, (M,) bool, by pulls of arms (K, d); sigma : sigma_max."""
    ell, Z, G, B = 1, set(range(len(items))), set(), set()  # line 3
    while len(Z) > 0:  # line 4
        design = xy_design(arms, items[sorted(Z)])
        lam, q = design.weights, design.value  # line 5
        epsilon = 2.0**-ell
        tau = 2 * epsilon**-2 * sigma**2 * q * log(8 * ell**2 * len(items) / delta)  # line 6
        sample = yield np.ceil(tau * lam).astype(int)  # line 7
        information, b = (arms.T * sample.counts) @ arms, arms.T @ sample.sums
        theta = np.linalg.pinv(information, rcond=1e-10) @ b  # line 9; the pulled arms need not span R^d
        G = G | {z for z in Z if items[z] @ theta - epsilon > alpha}  # line 14
        B = B | {z for z in Z if items[z] @ theta + epsilon < alpha}  # line 16
        Z = Z - (G | B)  # line 18, corrected
        ell += 1  # line 21
    return Result(np.isin(np.arange(len(items)), list(G)))
