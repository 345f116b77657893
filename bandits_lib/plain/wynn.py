"""Wynn's method for the G-optimal design (Wynn 1970), with the step of Fedorov (1972): GSE-Lin-Wynn of azizi2022.

The library's `wynn_design` rounds weights to 20 binary digits and keeps only the longest of several arms on a line. The
default of its GSE is a certified design with few atoms.
"""

import numpy as np

from bandits_lib.design import round_design
from bandits_lib.numerics.ties import argmax


def wynn(arms, n):
    """Return Pi_t (m,), whole pulls of sum n, for arms (m, d) that span R^d."""
    return round_design(wynn_design(arms), n, "regret", arms)


def wynn_design(arms, epsilon=1e-3):
    """Return pi (m,) with max_i ||x_i||^2 <= (1 + epsilon) d in V^-1, for arms (m, d) that span R^d."""
    m, d = arms.shape
    pi = np.full(m, 1 / m)
    while True:
        V_inv = np.linalg.inv((arms.T * pi) @ arms)
        norms = np.array([x @ V_inv @ x for x in arms])
        worst, g = argmax(norms), norms.max()
        if g <= (1 + epsilon) * d:  # g >= d for every design (Kiefer and Wolfowitz 1960)
            return pi
        gamma = (g / d - 1) / (g - 1)  # the exact line search for log det V
        pi = pi + gamma * (np.eye(m)[worst] - pi)
