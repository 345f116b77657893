"""Designs of smallest Gaussian width (Katz-Samuels, Jain, Karnin and Jamieson 2020): the gamma of peace.py.

The published solver takes stochastic gradient steps. This file repeats the library's `width_design`: entropic descent
on a fixed batch of normals and their negatives.
"""

import numpy as np


def width_design(arms, items, normals):
    """Return lambda (K,) and gamma, squared width of items (M, d), to 1 % or after 200 steps; normals (d, n)."""
    K = len(arms)
    lam, power, before = np.full(K, 1 / K), 0.5, np.inf
    best, gamma, bound = lam, np.inf, 0.0
    for _ in range(200):
        mixed = (1 - 1e-4) * lam + 1e-4 / K  # keeps A regular
        width, gradient = gaussian_width(arms, items, normals, mixed)
        h = -2 * gradient / width  # its mean under lambda is 1; at the optimum it is at most 1
        if width**2 < gamma:
            best, gamma = mixed, width**2
        bound = max(bound, width**2 / h.max())  # lower bound for every design, as the width is convex
        power = power * (0.6 if width > before else 1.05)
        if gamma <= 1.01 * bound or power < 1e-3:
            break
        before = width
        lam = lam * np.maximum(h, 1e-3) ** (np.rint(4096 * power) / 4096)  # powers that square roots can compute
        lam = lam / lam.sum()
    return best, gamma


def gaussian_width(arms, items, normals, lam):
    """Return E max over z, z' of (z - z')'A(lambda)^-1/2 eta / 2, eta : columns of normals, and its gradient (K,)."""
    R = np.linalg.inv(np.linalg.cholesky((arms.T * lam) @ arms))  # any root will do: R'R = A^-1
    z = items @ R.T
    heights = z @ normals  # (M, n)
    width = (heights.max(axis=0) - heights.min(axis=0)).mean() / 2
    v = (z[heights.argmax(axis=0)] - z[heights.argmin(axis=0)]) / 2
    T = np.tril(normals @ v / normals.shape[1])  # mean of eta v', the lower triangle, the diagonal halved
    T = T - np.diag(np.diag(T)) / 2
    return width, np.array([-b @ T @ b for b in arms @ R.T])
