"""Factorials: nearly half of all pairs are tight, and all pairs take part in the design."""

import numpy as np
import pytest
from arrangements import certified, differences, norms, sphere

from bandits_lib.design import design_value, pairs, xy_design, xy_optimal
from bandits_lib.design.directions import Differences
from bandits_lib.design.exponential_multipliers import all_pairs, moment
from bandits_lib.numerics.span import span


def factorial(*levels, missing=0.0):
    """A column of 0 and 1 for every level of every factor, without a random share of the combinations."""
    arms = np.hstack([np.eye(n)[level.ravel()] for n, level in zip(levels, np.indices(levels), strict=True)])
    kept = np.random.default_rng(0).permutation(len(arms))[round(missing * len(arms)) :]
    return arms[np.sort(kept)]


def solved(arms, tol=8e-4):
    space = span(arms)
    return all_pairs(space.arms, Differences(space.coordinates(arms - arms[0])), tol)


def test_a_full_factorial_has_twice_the_number_of_levels():
    arms = factorial(10, 8, 4, 3)
    design = xy_design(arms, pairs(arms))
    certified(design)
    assert design.lower_bound <= 50 <= design.value * (1 + 1e-12)
    assert np.count_nonzero(design.weights) <= 22 * 23 / 2
    assert design.iterations == 1


@pytest.mark.parametrize("missing", [0.01, 0.05, 0.2])
def test_missing_combinations(missing, monkeypatch):
    monkeypatch.delattr(xy_optimal, "_column_generation")
    arms = factorial(10, 8, 4, 3, missing=missing)
    design = xy_design(arms, pairs(arms))
    certified(design)
    assert norms(arms, design.weights, differences(arms)).max() == pytest.approx(design.value, rel=1e-9)
    assert np.count_nonzero(design.weights) <= 22 * 23 / 2


def test_two_factors_have_fewer_arms_than_pairs_of_unknowns(monkeypatch):
    """12 + 30 levels: 353 arms, and 41 * 42 / 2 = 861 entries of A."""
    monkeypatch.delattr(xy_optimal, "_column_generation")
    certified(xy_design(arms := factorial(12, 30, missing=0.02), pairs(arms)))


def test_a_smaller_tolerance_is_reached():
    arms = factorial(10, 8, 4, 3, missing=0.03)
    certified(xy_design(arms, pairs(arms), tol=2e-4), tol=2e-4)


def test_bounds_agree_with_those_of_a_working_set():
    arms = factorial(6, 6, 6, missing=0.05)
    space = span(arms)
    weights, value, bound, *_ = solved(arms)
    _, other_value, other_bound, *_ = xy_optimal._column_generation(
        space.arms, Differences(space.coordinates(arms - arms[0])), 8e-4
    )
    assert bound <= other_value and other_bound <= value
    assert design_value(arms, weights, pairs(arms)) == pytest.approx(value, rel=1e-9)


def test_the_moment_of_all_pairs():
    items, points = sphere(150, 5, 1), 3 * sphere(150, 5, 2)
    found, of_items = moment(items, points, 30.0)
    first, second = np.triu_indices(150, 1)
    masses = np.exp(((points[first] - points[second]) ** 2).sum(axis=1) - 30)
    expected = (differences(items).T * masses) @ differences(items) / masses.sum()
    np.testing.assert_allclose(found, expected, rtol=0.02, atol=0.02 * np.abs(expected).max())
    assert of_items.sum() == pytest.approx(2 * masses.sum(), rel=0.2)


def test_few_tight_pairs_are_left_to_the_working_set():
    """A sphere, a factorial with a number for each arm, few arms, and a low rank."""
    numbers = np.random.default_rng(0).uniform(-1, 1, (960, 2))
    for arms in (sphere(300, 16), np.hstack([factorial(10, 8, 4, 3), numbers]), factorial(6, 6, 5), sphere(900, 8)):
        assert solved(arms) is None


@pytest.mark.slow
def test_two_thousand_pairs_of_words(monkeypatch):
    monkeypatch.delattr(xy_optimal, "_column_generation")
    arms = factorial(22, 100, missing=31 / 2200)
    certified(xy_design(arms, pairs(arms)))


@pytest.mark.slow
@pytest.mark.parametrize("missing", [0.0, 0.03])
def test_a_factorial_of_four_thousand_arms(missing, monkeypatch):
    monkeypatch.delattr(xy_optimal, "_column_generation")
    arms = factorial(24, 16, 4, 3, missing=missing)
    design = xy_design(arms, pairs(arms))
    certified(design)
    assert design.lower_bound <= 94 <= design.value * (1 + 1e-12)
    assert np.count_nonzero(design.weights) <= 44 * 45 / 2
