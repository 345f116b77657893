"""Rounding by regret minimisation (Allen-Zhu, Li, Singh and Wang 2017): ROUND in azizi2022, Algorithm 2, line 9.

The library's `round_design(weights, n, "regret", arms)` is the same; it also accepts arms that do not span R^d.
"""

import numpy as np

from bandits_lib.numerics.ties import argmax


def regret_rounding(arms, weights, n, epsilon=0.1):
    """Return whole pulls (K,) of sum n >= d from weights (K,) of sum 1 on arms (K, d) that span R^d."""
    counts = largest_remainders(weights, n)
    spectrum, axes = np.linalg.eigh((arms.T * (n * weights)) @ arms)
    v = arms @ (axes / np.sqrt(spectrum)) @ axes.T  # v_i = (sum_j n pi_j x_j x_j')^-1/2 x_i
    alpha = np.sqrt(arms.shape[1]) / epsilon
    for _ in range(10 * n):  # at most 10 n swaps
        spectrum, axes = np.linalg.eigh((v.T * counts) @ v)  # of Z = sum_i n_i v_i v_i'
        if spectrum[0] >= 1 - 3 * epsilon:
            return counts
        root = 1 / (regulariser(alpha * spectrum) + alpha * spectrum)  # the spectrum of P^1/2, P = (cI + alpha Z)^-2
        along = (v @ axes) ** 2
        quadratic, linear = along @ root**2, 2 * alpha * along @ root  # v'Pv and 2 alpha v'P^1/2 v
        gain = quadratic / (1 + linear)  # B+, the gain of one more pull
        loss = np.full(len(arms), np.inf)  # B-, the loss of one pull less
        can_go = (counts > 0) & (linear < 1)
        loss[can_go] = quadratic[can_go] / (1 - linear[can_go])
        leaving, entering = argmax(-loss), argmax(gain)
        if loss[leaving] >= gain[entering]:
            return counts
        counts[leaving] -= 1
        counts[entering] += 1
    return counts


def regulariser(spectrum):
    """Return the c with trace (cI + alpha Z)^-2 = 1, from the spectrum (d,) of alpha Z, by bisection."""
    low, high = -spectrum.min(), -spectrum.min() + np.sqrt(len(spectrum))
    for _ in range(100):
        c = (low + high) / 2
        low, high = (c, high) if (1 / (c + spectrum) ** 2).sum() > 1 else (low, c)
    return high


def largest_remainders(weights, n):
    """Return floors of n pi_i and one more pull each where the remainder is largest: (K,) of sum n."""
    counts = np.floor(n * weights + 1e-9).astype(int)
    remainder = n * weights - counts
    while counts.sum() < n:
        k = argmax(remainder)
        counts[k] += 1
        remainder[k] -= 1
    return counts
