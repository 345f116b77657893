"""Clusters as a design: the example of appendix H, and what k-means ends with."""

import numpy as np
from arrangements import sphere

from bandits_lib.design import clusters_design, round_design
from bandits_lib.design.published_designs import k_means


def test_clusters_share_as_in_appendix_h():
    """K arms almost at e_1 and one at e_2, budget 2K: one pull for each of the first, K for the last."""
    K = 10
    near = 1 + np.random.default_rng(0).normal(0, np.sqrt(0.001), K)
    arms = np.vstack([np.column_stack([near, np.zeros(K)]), [[0.0, 1.0]]])
    counts = round_design(clusters_design(arms).weights, 2 * K, "regret", arms)
    assert (counts == [1] * K + [K]).all()


def test_k_means_ends_with_every_point_nearest_to_its_own_mean():
    points = sphere(50, 3)
    label = k_means(points, points[:4])
    means = np.array([points[label == c].mean(axis=0) for c in range(4)])
    distances = np.linalg.norm(points[:, None] - means[None], axis=2)
    assert (distances[np.arange(50), label] <= distances.min(axis=1) + 1e-12).all() and len(set(label)) == 4
