"""XY-oracle: a rule that knows theta_star and only verifies its best item (Fiez et al. 2019, eq. 1, appendix F)."""

from itertools import count
from math import ceil, log, sqrt

import numpy as np

from bandits_lib.design import frank_wolfe_design
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import Result


def xy_oracle(arms, items, delta, theta_star, rng, sigma=1.0, gamma=1.1):
    """Return the row of the best of items (M, d), known from theta_star (d,), once pulls of arms (K, d) verify it."""
    M, d = items.shape
    best = argmax(items @ theta_star)  # z*
    y = items[best] - np.delete(items, best, axis=0)  # Y*(Z)
    gaps = y @ theta_star
    lam = frank_wolfe_design(arms, y / gaps[:, None]).weights  # eq. (1), weights below 1e-5 set to 0 (appendix F)
    A, b = np.zeros((d, d)), np.zeros(d)
    for t in count(1):
        sample = yield rng.multinomial(ceil(gamma**t), lam)  # gamma^t samples from the allocation
        A, b = A + (arms.T * sample.counts) @ arms, b + arms.T @ sample.sums
        if np.linalg.matrix_rank(A) < d:
            continue
        A_inv = np.linalg.inv(A)
        theta = A_inv @ b
        radius = sigma * sqrt(2 * log(2 * t**2 * M / delta))  # |Z| comparisons, all with z*
        if all(sqrt(y[z] @ A_inv @ y[z]) * radius <= y[z] @ theta for z in range(M - 1)):
            return Result(best)
