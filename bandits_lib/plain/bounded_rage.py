"""RAGE by betting, for rewards in [0, 1]. The rule is ours; the notebook companion_your_own_arms proves its guarantee.

The wealth of the best item is at most an average of supermartingales that start at 1. So the probability
that it ever reaches 1 / delta is at most delta. They are supermartingales because E[1 + s (X - q)] = 1 + s (p - q) <=
exp(s (p - q)) and the sum of s p is at most 0.
"""

from math import ceil, log, log1p, sqrt

import numpy as np

from bandits_lib.design import pairs, round_design, weighted_design
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import Result


def bounded_rage(arms, items, delta):
    """Return the row of the best of items (M, d), with probability 1 - delta, by pulls of arms (K, d)."""
    K, rank, t = len(arms), np.linalg.matrix_rank(arms, rtol=1e-10), 1
    Z, values, unit = list(range(len(items))), np.zeros(len(items)), None
    weights = np.array([1 / (1 + abs(j - 5)) ** 2 for j in range(1, 41)])  # of bets on a lead of unit / 2^j
    wealth = np.tile(weights / weights.sum(), (len(items), 1))
    q, var = np.full(K, 0.5), np.full(K, 0.25)  # guesses: means and variances
    counts, sums, squares = np.zeros(K), np.zeros(K), np.zeros(K)
    while len(Z) > 1:
        design = weighted_design(arms, pairs(items[Z]), np.sqrt(var))
        lam, rho = design.weights, design.value
        unit = unit or sqrt(rho / rank)
        n = ceil(2 * rho * (1 + log(1 / delta)) * 2**t / unit**2)
        n = max(n, 2 * np.count_nonzero(lam))
        sample = yield round_design(lam, n)
        A_inv = np.linalg.pinv((arms.T * (sample.counts / var)) @ arms, rcond=1e-10)
        leader = Z[argmax(values[Z])]
        second = [z for z in Z if z != leader]
        second = second[argmax(values[second])]
        for z in Z:
            y = items[second if z == leader else leader] - items[z]
            c, V = arms @ A_inv @ y / var, y @ A_inv @ y  # sum of c x over the pulls is y
            for j in range(1, 41):
                wealth[z, j - 1] *= growth(unit / 2**j / V, c, q, sample)
        counts, sums, squares = counts + sample.counts, sums + sample.sums, squares + sample.squares
        theta = np.linalg.pinv((arms.T * (counts / var)) @ arms, rcond=1e-10) @ (arms.T @ (sums / var))
        values = items @ theta
        rate = (sums.sum() + 1) / (counts.sum() + 2)
        q = np.clip(arms @ theta, rate / 4, 1 - (1 - rate) / 4)
        seen, binary = (squares - 2 * q * sums + counts * q**2).sum(), (counts * q * (1 - q)).sum()
        var = q * (1 - q) * (1 + seen) / (1 + binary)
        left = [z for z in Z if wealth[z].sum() < 1 / delta]
        Z, t = left or [Z[argmax(values[Z])]], t + 1
    return Result(Z[0])


def growth(lam, c, q, sample):
    """Return a lower bound on prod (1 + s (X - q)) exp(s q), s = lam c, over a phase; no pull loses more than half."""
    pulled = sample.counts > 0
    lam = min(lam, 0.5 / np.maximum(c * q, -c * (1 - q))[pulled].max())
    log_growth = 0.0
    for s, mean, n, total, square in zip(lam * c, q, sample.counts, sample.sums, sample.squares, strict=True):
        f = max(s * mean, -s * (1 - mean))
        if n > 0:
            chord = total * log1p(s * (1 - mean)) + (n - total) * log1p(-s * mean)
            seen = square - 2 * mean * total + n * mean**2
            parabola = s * (total - n * mean) - s**2 * seen * (1 / 2 + f / 3 + f**2 / 2)
            log_growth += max(chord, parabola) + s * mean * n
    return np.exp(log_growth)
