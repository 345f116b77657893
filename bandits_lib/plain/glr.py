"""Stopping rule of Lazy Track-and-Stop, LinGame, FWS and L-T3C (Jedra and Proutiere 2020, sections 3.2 to 3.4).

u is 1. As Proposition 2 allows, delta is the same at all t; section 5 takes 6 delta / (pi t)^2 at the t-th pull.
Items can be eliminated as by Tirinzoni and Degenne (2022), but at the times of `eliminates` only.
"""

import numpy as np

from bandits_lib.numerics.ties import argmax


def least_squares(arms, N, S):
    """Return A_t (d, d), A_t^-1 and mu_hat_t (d,) from pulls N and sums of rewards S, (K,) each (section 3.2)."""
    A = (arms.T * N) @ arms
    A_inv = np.linalg.inv(A)
    return A, A_inv, A_inv @ (arms.T @ S)


def Z_ab(items, a, mu, A_inv, left=None):
    """Return Z_{a,b}(t) of one item a against every b, (M,) (Lemma 7); it is infinite for b = a and for b not left."""
    Z = np.full(len(items), np.inf)
    for b in range(len(items)):
        if b != a and (left is None or b in left):
            y = items[a] - items[b]
            Z[b] = np.sign(mu @ y) * (mu @ y) ** 2 / (2 * y @ A_inv @ y)
    return Z


def beta(A, c, delta, sigma):
    """Return the exploration threshold beta(delta, t) (eq. 9); c : smallest eigenvalue of the sum of aa' over A_0."""
    u = 1
    _, logdet = np.linalg.slogdet(A / (u * c) + np.eye(len(A)))
    return (1 + u) * sigma**2 * (logdet / 2 - np.log(delta))


def remaining(left, items, mu, A_inv, beta, t, eliminate):
    """Return those of the rows `left` that are not eliminated after t pulls: only the best item if the rule stops."""
    rows = left if eliminate == "sample" else np.arange(len(items))
    best = rows[argmax(items[rows] @ mu)]
    Z = Z_ab(items, best, mu, A_inv, left)
    if Z.min() > beta:  # eq. (8)
        return np.array([best])
    return left[(Z[left] <= beta) | (left == best)] if eliminate != "none" and eliminates(t) else left


def eliminates(t):
    """Return whether items are eliminated after t pulls: at all t < 128, every second t < 256, every fourth, ..."""
    return t % 2 ** max(0, int(t).bit_length() - 7) == 0
