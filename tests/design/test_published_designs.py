"""FWG, the methods of Wynn and of Wolfe and Atwood, clusters: what they promise, where they stall; see tests/plain."""

import numpy as np
import pytest
from arrangements import sphere

from bandits_lib.design import (
    clusters_design,
    design_value,
    fwg_design,
    g_design,
    round_design,
    wolfe_atwood_design,
    wynn_design,
)
from bandits_lib.design.published_designs import k_means, kumar_yildirim_start


def test_what_the_designs_promise_is_what_they_hold():
    arms = sphere(60, 6)
    for make in (fwg_design, wynn_design, wolfe_atwood_design, g_design, clusters_design):
        design = make(arms)
        assert design.weights.sum() == pytest.approx(1) and (design.weights >= 0).all()
        assert design.value == pytest.approx(design_value(arms, design.weights, arms), rel=1e-9)
        assert design.value >= design.lower_bound == 6


def test_frank_wolfe_stalls_where_wynn_arrives():
    """200 arms, d = 10: the published code's grid stalls 14.8 % above the optimum, the text's exact search at 22 %."""
    arms = sphere(200, 10)
    exact, grid, wynn = fwg_design(arms), fwg_design(arms, line_search="grid"), wynn_design(arms)
    assert exact.iterations < 100 and grid.iterations < 100 and wynn.value <= 1.001 * 10
    assert grid.value / 10 - 1 == pytest.approx(0.148, abs=0.0005)
    assert exact.value / 10 - 1 == pytest.approx(0.22, abs=0.005)


def test_the_designs_do_not_depend_on_coordinates_or_units():
    arms, mix = sphere(20, 4), np.random.default_rng(1).standard_normal((4, 4))
    for make in (fwg_design, wynn_design):
        np.testing.assert_allclose(make(1e6 * arms @ mix).weights, make(arms).weights, atol=1e-6)


def test_away_steps_arrive_with_few_arms_and_forward_steps_alone_do_not():
    arms = sphere(64, 10)
    away, forward = (wolfe_atwood_design(arms, away=away, steps=5_000) for away in (True, False))
    assert away.value <= (1 + 1.1e-6) * 10 and away.iterations < 5_000
    assert forward.value > (1 + 1e-5) * 10 and forward.iterations == 5_000
    support = away.weights > 0
    assert 10 < support.sum() < 55 < (wynn_design(arms).weights > 0).sum() == 64
    norms = np.einsum("ki,ij,kj->k", arms, np.linalg.inv((arms.T * away.weights) @ arms), arms)
    np.testing.assert_allclose(norms[support], 10, rtol=1e-5)  # the equivalence theorem


def test_the_start_of_kumar_and_yildirim():
    arms = np.array([[1.0, 0.0, 0.0], [3.0, 1.0, 0.0], [0.0, 2.0, 0.0], [0.0, -1.0, -4.0], [2.9, 5.0, 1.0]])
    # farthest along e_1: row 1; orthogonal to it, (0, 0, 1) or (1, -3, 0): the direction is Householder's second column
    start = kumar_yildirim_start(arms)
    assert start[1] == pytest.approx(1 / 3) and np.count_nonzero(start) == 3
    assert np.linalg.matrix_rank(arms[start > 0]) == 3
    assert wolfe_atwood_design(arms, steps=0).weights == pytest.approx(start)
    two = np.array([[1.0, 0.0], [2.0, 2.0], [-1.0, 1.5], [0.0, -1.0]])
    np.testing.assert_array_equal(kumar_yildirim_start(two), [0, 0.5, 0.5, 0])  # along (1, -1): row 2, 2.5


@pytest.mark.parametrize(
    "call",
    [
        lambda: fwg_design(np.eye(2), steps=0),
        lambda: wynn_design(np.eye(2), tol=0.0),
        lambda: wolfe_atwood_design(np.eye(2), tol=1.0),
        lambda: fwg_design(np.zeros((2, 2))),
    ],
)
def test_bad_input_is_refused(call):
    with pytest.raises(ValueError, match="must"):
        call()


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
