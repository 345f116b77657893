"""The guess that stands for a smallest gap: feasible, as tight as can be, independent of units, and the hardest."""

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

from bandits_lab.planning import closest, hardest
from bandits_lib.complexity import characteristic_time
from bandits_lib.design import xy_design

RNG = np.random.default_rng(0)
PAGES = np.array([[1, *head, *rest] for head in ((0, 0), (1, 0), (0, 1)) for rest in np.ndindex(2, 2)], dtype=float)
CLOUD = RNG.normal(size=(15, 3))
SETS = {"basis": np.eye(4), "pages": PAGES, "cloud": CLOUD, "line": np.column_stack([np.ones(5), np.arange(5.0)])}
each_set = pytest.mark.parametrize("items", SETS.values(), ids=SETS)


def leads_of(items, best):
    return items[best] - np.delete(items, best, axis=0)


@each_set
def test_closest_has_the_least_gaps_that_are_at_least_the_one_asked_for(items):
    """Against a general solver; where there is no solution, the item is a mixture of the others."""
    for best in range(len(items)):
        leads, theta = leads_of(items, best), closest(items, best, 0.5)
        if theta is None:
            end = np.append(np.zeros(leads.shape[1]), 1.0)
            mixed = linprog(np.zeros(len(leads)), A_eq=np.vstack([leads.T, np.ones(len(leads))]), b_eq=end)
            assert mixed.success
            continue
        gaps = leads @ theta
        assert gaps.min() == pytest.approx(0.5)
        enough = {"type": "ineq", "fun": lambda x, leads=leads: leads @ x - 0.5}
        other = minimize(lambda x, leads=leads: np.sum((leads @ x) ** 2), theta * 1.5, constraints=enough)
        assert np.sum(gaps**2) <= other.fun * (1 + 1e-6)


def test_units_of_the_features_change_nothing():
    units = np.array([1e-2, 1.0, 1e2])
    one, other = hardest(CLOUD, gap=0.3), hardest(CLOUD * units, gap=0.3)
    assert one.best == other.best and one.time == pytest.approx(other.time, rel=2e-3)
    np.testing.assert_allclose(CLOUD @ one.theta, CLOUD * units @ other.theta, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("gap", [1e-6, 1e6])
def test_the_gap_scales_the_guess(gap):
    one, other = hardest(CLOUD, gap=1.0), hardest(CLOUD, gap=gap)
    np.testing.assert_allclose(one.theta * gap, other.theta, rtol=1e-9)


@each_set
def test_hardest_is_the_hardest_of_the_candidates(items):
    times = [
        characteristic_time(items, theta=theta)
        for best in range(len(items))
        if (theta := closest(items, best, 0.5)) is not None
    ]
    assert hardest(items, gap=0.5).time == pytest.approx(max(times), rel=2e-3)


def most(items, gap):
    """No parameter takes longer: the time if each gap were, by itself, the least that any parameter allows."""
    times = []
    for best in range(len(items)):
        leads = leads_of(items, best)
        free, enough = [(None, None)] * leads.shape[1], -gap * np.ones(len(leads))
        least = [linprog(lead, A_ub=-leads, b_ub=enough, bounds=free) for lead in leads]
        if all(found.success for found in least):
            times.append(2 * xy_design(items, leads / np.array([found.fun for found in least])[:, None]).value)
    return max(times)


@each_set
def test_none_is_harder_where_features_have_structure_and_none_much_harder_in_a_cloud(items):
    found, bound = hardest(items, gap=0.5).time, most(items, 0.5)
    assert bound / 1.5 < found <= bound * 1.002
    if items is not CLOUD:
        assert found == pytest.approx(bound, rel=2e-3)


def test_without_structure_all_others_are_exactly_the_gap_behind():
    guess = hardest(np.eye(5), gap=0.2)
    np.testing.assert_allclose(np.sort(np.eye(5) @ guess.theta)[:-1], np.max(guess.theta) - 0.2)


def test_noise_decides_which_item_is_hard():
    loud = np.ones(4)
    loud[2] = 10.0
    quiet, noisy = hardest(np.eye(4), gap=1.0), hardest(np.eye(4), gap=1.0, sigma=loud)
    assert noisy.best == 2 and noisy.time > quiet.time


def test_items_other_than_the_arms():
    items = np.array([[1.0, 1.0], [1.0, -1.0], [0.0, 0.0]])
    guess = hardest(np.eye(2), items, gap=0.1)
    values = items @ guess.theta
    assert np.argmax(values) == guess.best and np.diff(np.sort(values))[-1] == pytest.approx(0.1)


def test_what_cannot_be_guessed_is_refused():
    with pytest.raises(ValueError, match="at least two"):
        hardest(np.ones((1, 1)), gap=1.0)
    with pytest.raises(ValueError, match="rows 0 and 1 are identical"):
        hardest(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), gap=1.0)
    for gap in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="gap must be positive"):
            hardest(np.eye(2), gap=gap)
