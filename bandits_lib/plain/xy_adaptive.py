"""XY-adaptive allocation (Soare, Lazaric and Munos 2014, section 5), greedy, as Fiez et al. (2019) describe it.

See their section 5 and appendix F. Their code divides norms by the pulls of the phase and begins with A = I; here norms
are not divided, and spanning arms come first. The pulls of a phase do not depend on its rewards, so they are one batch.
The papers do not say how to break ties. As in the library, the arm that reduces the largest norm most is pulled.
"""

from itertools import combinations, count
from math import log, pi, sqrt

import numpy as np

from bandits_lib.numerics.ties import argmax
from bandits_lib.plain.spanning import spanning_arms
from bandits_lib.protocol import Result


def xy_adaptive(arms, items, delta, sigma=1.0, alpha=0.1):
    """Return the row of the best of items (M, d), with probability 1 - delta, by pulls of arms (K, d)."""
    (K, d), M = arms.shape, len(items)
    Z, norm = list(range(M)), 1 / (d * (d + 1) + 1)  # rho_0 / n_0 of Soare et al.
    for j in count(1):
        if len(Z) == 1:
            return Result(Z[0])
        Y = np.array([items[z] - items[other] for z, other in combinations(Z, 2)])
        counts = np.bincount(spanning_arms(arms), minlength=K)
        norm_before, norm = norm, np.inf  # of the phase before
        while norm >= alpha * norm_before:
            counts[greedy(arms, Y, np.linalg.inv((arms.T * counts) @ arms))] += 1
            A_inv = np.linalg.inv((arms.T * counts) @ arms)
            norm = norms(Y, A_inv).max()
        sample = yield counts
        theta = A_inv @ (arms.T @ sample.sums)
        radius = sigma * sqrt(2 * log(pi**2 * M**2 * j**2 / (3 * delta)))
        beaten = set()
        for z in Z:
            for other in Z:
                y = items[other] - items[z]
                if sqrt(y @ A_inv @ y) * radius < y @ theta:
                    beaten.add(z)
        Z = [z for z in Z if z not in beaten]


def greedy(arms, Y, A_inv):
    """Return argmin over x of max over y of y'(A + xx')^-1 y, a row of arms (K, d), for directions Y (n, d)."""
    before = norms(Y, A_inv)
    taken = (Y @ A_inv @ arms.T) ** 2 / (1 + norms(arms, A_inv))  # reduction of y by x (Sherman-Morrison), (n, K)
    left = (before[:, None] - taken).max(axis=0)
    tied = left <= left.min() * (1 + 1e-9)
    return argmax(np.where(tied, taken[argmax(before)], -1.0))


def norms(V, A_inv):
    """Return squared norms (n,) of the rows of V (n, d), in A^-1."""
    return np.einsum("nd,de,ne->n", V, A_inv, V)
