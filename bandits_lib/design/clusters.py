"""Clusters of arms as a design (azizi2022, appendix H): equal shares for the clusters, and equal shares within them."""

import numpy as np

from bandits_lib.checks import check_arms
from bandits_lib.design.cache import cached
from bandits_lib.design.certificate import Design
from bandits_lib.design.d_optimal import spanning_arms
from bandits_lib.design.solvers import design_value
from bandits_lib.numerics.ordered import product
from bandits_lib.numerics.span import basis
from bandits_lib.numerics.ties import argmax

MOST = 100  # of Lloyd's iterations


def clusters_design(arms):
    """Equal shares for clusters of arms, and equal shares within them (azizi2022, appendix H): no optimality claimed.

    Parameters
    ----------
    arms : (K, d) array_like
        Arms, one per row, not all zero; r is their rank.

    Returns
    -------
    Design
        Its value is computed, its lower bound is r.

    Raises
    ------
    ValueError
        If `arms` is not a finite, non-empty 2-D array with a non-zero row.

    Notes
    -----
    k-means looks for r clusters, from r arms each the farthest from the span of those before.

    References
    ----------
    .. [1] Azizi, Kveton, Ghavamzadeh. "Fixed-budget best-arm identification in structured bandits". IJCAI 2022.
       Appendix H.

    Examples
    --------
    >>> arms = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]])
    >>> clusters_design(arms).weights.tolist()
    [0.25, 0.25, 0.5]
    """
    return _clusters_design(check_arms(arms))


@cached
def _clusters_design(arms):
    axes = basis(arms)
    label = k_means(arms, arms[spanning_arms(product(arms, axes))])
    sizes = np.bincount(label)
    weights = 1 / (np.count_nonzero(sizes) * sizes[label])
    return Design(weights, design_value(arms, weights, arms), float(axes.shape[1]), 0)


def k_means(points, centres):
    """Cluster (m,) of each point (m, d) by Lloyd's iteration from `centres` (c, d); an empty cluster stays empty."""
    centres, label = centres.copy(), np.full(len(points), -1)
    for _ in range(MOST):
        distances = ((points[:, None] - centres[None]) ** 2).sum(axis=2)
        before, label = label, np.array([argmax(-row) for row in distances])
        if (label == before).all():
            break
        for c in np.unique(label):
            centres[c] = points[label == c].mean(axis=0)
    return label
