"""Independent arms, pulled first so that matrices are invertible; the library begins in the same way."""

import numpy as np

from bandits_lib.numerics.ties import argmax


def spanning_arms(arms):
    """Return rows (list of d) of arms (K, d) that span R^d: each is the farthest from the span of those before."""
    rest, chosen = np.array(arms, dtype=float), []
    for _ in range(arms.shape[1]):
        chosen.append(argmax((rest**2).sum(axis=1)))
        direction = rest[chosen[-1]] / np.linalg.norm(rest[chosen[-1]])
        rest -= np.outer(rest @ direction, direction)
    return chosen


def in_their_span(arms):
    """Return arms (m, d) as (m, r), in an orthonormal basis of the r dimensions that they span."""
    _, lengths, axes = np.linalg.svd(arms, full_matrices=False)
    return arms @ axes[lengths > 1e-7 * lengths[0]].T
