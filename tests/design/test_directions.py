"""All differences of items, never formed: what the scan finds, and the difference body in the plane."""

import numpy as np
import pytest
from arrangements import certified, differences, many_arms, norms, sphere

from bandits_lib.design import design_value, pairs, xy_design
from bandits_lib.design.directions import Differences, Listed, difference_vertices


@pytest.mark.parametrize("d", [1, 2, 3, 6])
@pytest.mark.parametrize("n", [2, 3, 30, 90])
def test_pairs_are_all_differences(n, d):
    arms, items = sphere(20, d, 1), np.random.default_rng(n).normal(size=(n, d))
    formed, implied = xy_design(arms, differences(items)), xy_design(arms, pairs(items))
    certified(implied)
    assert implied.value == pytest.approx(norms(arms, implied.weights, differences(items)).max(), rel=1e-9)
    assert implied.value == pytest.approx(formed.value, rel=1e-3)


@pytest.mark.parametrize("items", [sphere(400, 3), many_arms(300), np.random.default_rng(2).normal(size=(700, 5)) ** 3])
def test_scan_finds_every_row_beyond_the_level(items):
    """The blocked, pruned scan against the full matrix: value, and the set of differences above the level."""
    points = items @ np.diag(np.geomspace(1, 5, items.shape[1]))
    everything = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    seen = Differences(points)
    root = np.eye(points.shape[1])
    assert seen.value(root) == pytest.approx(everything.max(), rel=1e-12)
    level = 0.8 * everything.max()
    top, rows = seen.beyond(root, level, 10**9)
    assert top == pytest.approx(everything.max(), rel=1e-12)
    found = np.sort((rows**2).sum(axis=1))[::-1]
    each_row = everything.max(axis=1)
    assert found[0] == pytest.approx(everything.max()) and found[-1] > level
    assert len(found) >= (each_row > level).sum() / 2
    i, j = np.triu_indices(len(items), 1)
    worst, norm = seen.worst(root)
    by_list, norm_by_list = Listed(points[i] - points[j]).worst(root)
    assert norm == pytest.approx(norm_by_list, rel=1e-12)
    np.testing.assert_array_equal(worst, by_list)


@pytest.mark.parametrize("seed", range(5))
def test_difference_body_in_the_plane(seed):
    """Its vertices reach the farthest pair in every norm, also for arcs, duplicates and points on a line."""
    rng = np.random.default_rng(seed)
    line = np.outer(rng.normal(size=20), [1.0, 2.0])
    for points in (rng.normal(size=(50, 2)), many_arms(80, seed), line, np.repeat(sphere(7, 2, seed), 2, axis=0)):
        rows = difference_vertices(points)
        assert len(rows) <= len(points)
        for _ in range(20):
            root = rng.normal(size=(2, 2)) * 10 ** rng.uniform(-1, 1, (2, 1))
            far = ((differences(points) @ root) ** 2).sum(axis=1).max()
            assert ((rows @ root) ** 2).sum(axis=1).max() == pytest.approx(far, rel=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_items_on_a_line_in_the_plane(seed):
    """Collinear up to rounding: arms (1, u), the items of a linear regression in one variable."""
    rng = np.random.default_rng(seed)
    arms = np.column_stack([np.ones(7), rng.normal(size=7).round(4)])
    across, listed = xy_design(arms, pairs(arms)), xy_design(arms, differences(arms))
    certified(across)
    assert across.value == pytest.approx(listed.value, rel=2e-3)
    assert design_value(arms, across.weights, differences(arms)) == pytest.approx(across.value, rel=1e-9)
