"""Allocations for line 3 of GSE (Azizi, Kveton and Ghavamzadeh 2022, sections 6 and 8, appendix H).

`explore(arms, n)` takes arms (m, d) that span R^d and returns Pi_t (m,), whole pulls of sum n. `uniform` also needs a
random generator: pass `partial(uniform, rng=rng)`. An allocation that does not span R^d is not valid (Theorem 4.1). The
library then pulls d independent arms and allocates the other pulls again.
"""

import numpy as np

from bandits_lib.design import g_design, round_design
from bandits_lib.numerics.ties import argmax
from bandits_lib.plain.fwg import fwg
from bandits_lib.plain.spanning import spanning_arms
from bandits_lib.plain.wynn import wynn

__all__ = ["clusters", "fwg", "g_optimal", "greedy", "uniform", "wynn"]


def uniform(arms, n, rng):
    """Return Pi_t (m,), n // m pulls of each of arms (m, d), and one more of arms that rng draws: GSE-Lin."""
    m = len(arms)
    Pi = np.full(m, n // m)
    Pi[rng.permutation(m)[: n % m]] += 1
    return Pi


def g_optimal(arms, n):
    """Return Pi_t (m,), the rounded G-optimal design of arms (m, d), argmin max_i g_t(pi, x_i) (section 6)."""
    return round_design(g_design(arms).weights, n, "regret", arms)


def greedy(arms, n):
    """Return Pi_t (m,): each pull goes to the arm that leaves the smallest max_i ||x_i|| in V^-1 (Soare et al. 2014).

    Among arms that tie, the arm of largest norm in V^-1 is pulled: if the arms are a basis, one pull cannot lower the
    maximum while several arms have the fewest pulls. Soare et al. begin with V = I, and this function with one pull of
    each of r arms that span all arms.
    """
    Pi = np.zeros(len(arms), dtype=int)
    Pi[spanning_arms(arms)] = 1
    while Pi.sum() < n:
        V_inv = np.linalg.inv((arms.T * Pi) @ arms)
        norms = np.array([x @ V_inv @ x for x in arms])
        left = np.array([(norms - (arms @ V_inv @ x) ** 2 / (1 + x @ V_inv @ x)).max() for x in arms])
        Pi[argmax(np.where(left <= left.min() * (1 + 1e-9), norms, -1.0))] += 1
    return Pi


def clusters(arms, n):
    """Return Pi_t (m,): equal shares for d clusters (k-means) of arms (m, d), and within each (paper: m clusters)."""
    centres, label = arms[spanning_arms(arms)], None
    while True:
        before, label = label, np.array([argmax(-((x - centres) ** 2).sum(axis=1)) for x in arms])
        if before is not None and (label == before).all():
            break
        for c in set(label):
            centres[c] = arms[label == c].mean(axis=0)
    sizes = np.bincount(label)
    pi = 1 / (np.count_nonzero(sizes) * sizes[label])
    return round_design(pi, n, "regret", arms)
