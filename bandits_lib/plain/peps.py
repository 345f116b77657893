"""PEPS, exploration by posterior samples, stopped at a budget (Li, Jamieson and Jain 2024).

These choices are ours, as in the library. Steps are sqrt(log K / T) over the largest gain, where T is the budget, so
there are no restarts of doubling length. The posterior is sampled at its own scale. The fixed design is the XY-design.
Half of lambda is uniform at first, since a weight of 0 stays 0. The first pulls are of d independent arms. If no sample
changes the answer, the nearest tie replaces the sample. (The library recomputes the root of V^-1 every 1,000 pulls.)
"""

import numpy as np

from bandits_lib.design import pairs, xy_design
from bandits_lib.numerics.ties import argmax
from bandits_lib.plain.spanning import spanning_arms
from bandits_lib.protocol import Result, one_pull


def peps(arms, budget, rng, sigma=1.0, tries=100):
    """Return the row of the best of distinct arms (K, d) spanning R^d, after `budget` pulls; rng : samples and arms."""
    K = len(arms)
    lam_fixed = xy_design(arms, pairs(arms)).weights  # the fixed design that is mixed in
    lam, largest = (lam_fixed + 1 / K) / 2, 0.0
    whitened = arms @ np.linalg.inv(np.linalg.cholesky(arms.T @ arms)).T
    sample = yield np.bincount(spanning_arms(whitened), minlength=K)
    T, S = sample.counts, sample.sums
    root = np.linalg.inv(np.linalg.cholesky((arms.T * T) @ arms)).T  # of V^-1 = root root'
    while True:
        theta = root @ root.T @ (arms.T @ S)
        if T.sum() == budget:
            return Result(int(argmax(arms @ theta)))
        other = another_world(arms, theta, sigma * root, tries, rng)  # the player of theta
        gains = (arms @ (theta - other)) ** 2
        largest = max(largest, gains.max())
        lam = lam * np.exp(np.sqrt(np.log(K) / budget) * gains / largest)  # the player of lambda
        lam = lam / lam.sum()
        gamma = T.sum() ** -0.25
        shares = np.cumsum((1 - gamma) * lam + gamma * lam_fixed)
        a = min(np.searchsorted(shares, rng.random(), side="right"), K - 1)
        sample = yield one_pull(a, K)
        T, S = T + sample.counts, S + sample.sums
        u = root.T @ arms[a]  # V grows by xx', so the root shrinks along u
        root = root - (1 - 1 / np.sqrt(1 + u @ u)) / (u @ u) * np.outer(root @ u, u)


def another_world(arms, theta, root, tries, rng):
    """Return a sample (d,) of N(theta, root root') with another best arm; the nearest tie if `tries` have none."""
    best = argmax(arms @ theta)
    y = arms[best] - np.delete(arms, best, axis=0)
    distances = (y @ theta) ** 2 / ((y @ root) ** 2).sum(axis=1)
    rival = y[argmax(-distances)]
    if distances.min() / 2 <= np.log(1 + len(arms) * tries):  # else `tries` samples are too few
        for _ in range(tries):
            other = theta + root @ rng.standard_normal(len(theta))
            if argmax(arms @ other) != best:
                return other
    u = root.T @ rival
    return theta - (rival @ theta) / (u @ u) * root @ u
