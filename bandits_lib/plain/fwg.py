"""FWG, Frank-Wolfe G-optimal allocation (Azizi, Kveton and Ghavamzadeh 2022, Algorithm 2).

Line 5 asks for the exact minimum but names no method. Here, as in the library's `fwg_design`, golden-section search
finds it. N is that of the published code. The library rounds weights to 20 binary digits and keeps only the longest of
several arms on a line. Its GSE has a certified design by default, because FWG can stall above the optimum.
"""

import numpy as np

from bandits_lib.design import round_design
from bandits_lib.numerics.ties import argmax


def fwg(arms, n, N=100):
    """Return Pi_t (m,), whole pulls of sum n, for arms (m, d) that span R^d."""
    return round_design(fwg_design(arms, N), n, "regret", arms)  # line 9


def fwg_design(arms, N=100):
    """Return pi_N (m,) for arms (m, d) that span R^d."""
    m = len(arms)
    pi = np.full(m, 1 / m)  # line 2
    for _ in range(N):  # line 3
        norms, V_inv = g_t(arms, pi)
        x_max = arms[argmax(norms)]
        gradient = -((arms @ V_inv @ x_max) ** 2)  # n times the paper's (Danskin, section 6), as V = V_t / n
        vertex = np.eye(m)[argmax(-gradient)]  # line 4: pi'_i
        gamma = line_search(arms, pi, vertex)  # line 5
        if gamma == 0:  # no progress: all later iterations would be the same
            break
        pi = pi + gamma * (vertex - pi)  # line 6
    return pi


def g_t(arms, pi):
    """Return g_t(pi, x_i) = ||x_i||^2 in V^-1 (m,), and V^-1 (d, d), for the design pi (m,) of arms (m, d)."""
    V_inv = np.linalg.inv((arms.T * pi) @ arms)
    return np.array([x @ V_inv @ x for x in arms]), V_inv


def line_search(arms, pi, vertex):
    """Return the gamma in [0, 1] of smallest max_i g_t (convex) at pi + gamma (vertex - pi), or 0 if none improves."""

    def g(gamma):
        return g_t(arms, pi + gamma * (vertex - pi))[0].max()

    low, high, golden = 0.0, 1.0, (np.sqrt(5) - 1) / 2
    for _ in range(50):
        left, right = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, right) if g(left) <= g(right) else (left, high)
    gamma = (low + high) / 2
    return gamma if g(gamma) < g(0.0) * (1 - 1e-9) else 0.0
