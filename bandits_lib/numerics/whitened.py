"""Least squares in coordinates in which the estimate has independent errors of one size, kept pull by pull.

With RR' = V^-1, V = sum xx' over the pulls, arms and items are held as R'x and R'z, the estimate as R^-1 theta_hat.
A pull costs O((K + M) r); everything is computed afresh from counts and rewards every REFRESH pulls.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from bandits_lib.numerics.kernels import along_all, forward, inlined, regularised_cholesky, weighted_gram

REFRESH = 1_000  # pulls between two fresh factorisations


class Whitened(NamedTuple):
    """The regression's arrays."""

    given_arms: np.ndarray  # (K, r)
    given_points: np.ndarray  # (M, r)
    response: np.ndarray  # (r,), sum of x times reward
    arms: np.ndarray  # (r, K), R'x
    points: np.ndarray  # (r, M), R'z
    theta: np.ndarray  # (r,), R^-1 theta_hat = R' response
    pulled: np.ndarray  # (r,), scratch: R'x of the arm pulled
    along_arms: np.ndarray  # (K,), scratch
    along_points: np.ndarray  # (M,), scratch


def whitened(arms, points, sample):
    """The `Whitened` of items, `points` (M, r), after a first Sample of arms (K, r) that span R^r."""
    (K, r), M = arms.shape, len(points)
    arrays = np.empty((r, K)), np.empty((r, M)), np.empty(r), np.empty(r), np.empty(K), np.empty(M)
    fit = Whitened(arms, points, arms.T @ sample.sums, *arrays)
    refresh(fit, sample.counts.astype(np.int64))
    return fit


@njit(cache=True, error_model="numpy")
def refresh(fit, counts):
    """Compute R = L^-T, V = LL', and all that is held in its coordinates, afresh from counts (K,) and response."""
    arms, points, theta = fit.arms, fit.points, fit.theta
    r = len(theta)
    V, factor = np.empty((r, r)), np.empty((r, r))
    for i in range(r):
        for k in range(arms.shape[1]):
            arms[i, k] = fit.given_arms[k, i]
        for m in range(points.shape[1]):
            points[i, m] = fit.given_points[m, i]
    weighted_gram(arms, counts, V)
    regularised_cholesky(V, factor)
    forward(factor, arms)
    forward(factor, points)
    for i in range(r):
        theta[i] = fit.response[i]
        for j in range(i):
            theta[i] -= factor[i, j] * theta[j]
        theta[i] /= factor[i, i]


@njit(cache=True, forceinline=True, error_model="numpy")
def learn(state, arm, reward):
    """Tell one reward of `arm` to state.fit, and count it in state.counts (K,) and in the pulls of state.now."""
    fit, now = state.fit, state.now
    state.counts[arm] += 1
    now.pulls += 1
    for i in range(fit.response.shape[0]):
        fit.response[i] += reward * fit.given_arms[arm, i]
    if now.pulls % REFRESH == 0:
        refresh(fit, state.counts)
    else:
        shift(fit, arm, reward)


@inlined
def shift(fit, arm, reward):
    """One reward of `arm`: R <- R (I - a bb'), b = R'x, a = (1 - (1 + b'b)^-1/2) / b'b."""
    b, theta, square, along = fit.pulled, fit.theta, 0.0, 0.0
    for i in range(b.shape[0]):
        b[i] = fit.arms[i, arm]
        square += b[i] * b[i]
        theta[i] += reward * b[i]
        along += theta[i] * b[i]
    share = (1 - 1 / np.sqrt(1 + square)) / square if square > 0 else 0.0
    for i in range(b.shape[0]):
        theta[i] -= share * along * b[i]
    shrink(fit.arms, b, share, fit.along_arms)
    shrink(fit.points, b, share, fit.along_points)


@inlined
def shrink(columns, b, share, along):
    """columns (r, n) <- (I - share bb') columns, in place; along : (n,), scratch."""
    along_all(columns, b, along)
    for i in range(b.shape[0]):
        for k in range(along.shape[0]):
            columns[i, k] -= share * along[k] * b[i]
