"""XY-static allocation (Soare, Lazaric and Munos 2014), as Fiez et al. (2019) describe it: section 5, appendix F."""

from itertools import count
from math import ceil, log, sqrt

import numpy as np

from bandits_lib.design import frank_wolfe_design, pairs
from bandits_lib.protocol import Result


def xy_static(arms, items, delta, rng, sigma=1.0, gamma=1.35):
    """Return the row of the best of items (M, d), with probability 1 - delta, by draws of arms (K, d) from rng."""
    M, d = items.shape
    lam = frank_wolfe_design(arms, pairs(items)).weights  # on Y(Z), by the paper's own solver
    A, b = np.zeros((d, d)), np.zeros(d)
    for t in count(1):
        sample = yield rng.multinomial(ceil(gamma**t), lam)  # gamma^t samples from the allocation
        A, b = A + (arms.T * sample.counts) @ arms, b + arms.T @ sample.sums
        if np.linalg.matrix_rank(A) < d:
            continue
        A_inv = np.linalg.inv(A)
        theta = A_inv @ b
        radius = sigma * sqrt(2 * log(2 * t**2 * M**2 / delta))
        for winner in range(M):  # the stopping condition: some z' is ahead of every z
            y = items[winner] - items
            if all(sqrt(y[z] @ A_inv @ y[z]) * radius <= y[z] @ theta for z in range(M)):
                return Result(winner)
