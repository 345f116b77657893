"""Of many optimal designs the one that is returned is defined, and not found on the way."""

import sys
from itertools import product

import numpy as np
import pytest

from bandits_lib import instances
from bandits_lib.design import pairs, xy_design, xy_optimal
from bandits_lib.numerics.span import span

solvers = sys.modules["bandits_lib.design.solvers"]


def sphere(n, d, seed=0):
    x = np.random.default_rng(seed).standard_normal((n, d))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def chosen(arms, items):
    """Weights before they are put on few atoms, which of ties takes the first."""
    space = span(arms)
    directions = solvers._few(solvers.in_span(space, items - items[0], "items"))
    return xy_optimal._column_generation(space.arms, directions, 8e-4)[0]


ARMS = {
    "sphere": sphere(60, 5),
    "many on a sphere": sphere(300, 7),
    "lengths differ": np.random.default_rng(3).standard_normal((250, 6)),
    "cube": np.array(list(product([-1.0, 1.0], repeat=6))),
    "multivariate": instances.multivariate(7, np.random.default_rng(3), weights="code").arms,
}


@pytest.mark.parametrize("name", ARMS)
def test_the_order_of_arms_and_items_does_not_matter(name):
    arms, rng = ARMS[name], np.random.default_rng(1)
    expected = chosen(arms, arms)
    for _ in range(2):
        order = rng.permutation(len(arms))
        found = chosen(arms[order], arms[rng.permutation(len(arms))])
        assert np.abs(found - expected[order]).max() < 1e-4 * expected.max()


@pytest.mark.parametrize("factor", [1e-3, 0.3, 7.0])
def test_units_of_the_directions_do_not_matter(factor):
    arms = ARMS["sphere"]
    np.testing.assert_allclose(
        xy_design(arms, factor * (arms[1:] - arms[0])).weights, xy_design(arms, arms[1:] - arms[0]).weights, atol=1e-6
    )


@pytest.mark.parametrize("seed", range(30))
def test_the_chosen_design_is_reached_where_some_dimension_is_hardly_needed(seed, monkeypatch):
    """Four differences of corners of a cube: the one who leaves out a direction loses its dimension."""
    corners, rng = np.array(list(product([-1.0, 1.0], repeat=7))), np.random.default_rng([seed, 0])
    directions = corners[rng.integers(128, size=4)] - corners[rng.integers(128, size=4)]
    directions, refused = directions[directions.any(axis=1)], []
    real = xy_optimal._chosen

    def watched(arms, directions, found, *rest):
        here = real(arms, directions, found, *rest)
        refused.append(here[0] is found)
        return here

    monkeypatch.setattr(xy_optimal, "_chosen", watched)
    design = xy_design(corners, directions)
    assert design.value <= 1.001 * design.lower_bound and not any(refused)


@pytest.mark.parametrize("seed", [3, 9, 11])
def test_a_stall_on_a_working_set_is_noticed(seed, monkeypatch):
    """128 arms, few items: all arms come in, and the interior point ends within a few rounds."""
    problem, calls = instances.multivariate(7, np.random.default_rng(seed), weights="code"), []
    items = problem.arms[np.argsort(-(problem.arms @ problem.theta))[:8]]
    real = xy_optimal.interior_point
    monkeypatch.setattr(xy_optimal, "interior_point", lambda *given: calls.append(1) or real(*given))
    design = xy_design(problem.arms, pairs(items))
    assert len(calls) < 30 and design.value <= 1.001 * design.lower_bound


def test_many_arms_side_by_side_are_centred():
    """Fiez et al., Figure 1b, with the text's angles: all arms are nearly tight, and the last step is exact."""
    arms = instances.many_arms(3_000, np.random.default_rng(0), "variance.09").arms
    expected, order = chosen(arms, arms), np.random.default_rng(1).permutation(len(arms))
    assert np.abs(chosen(arms[order], arms[order]) - expected[order]).max() < 1e-6 * expected.max()
