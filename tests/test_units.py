"""Features in raw units that hide a dimension from the rank rule are refused, and scaled ones are not."""

import numpy as np
import pytest

from bandits_lib import LinearBandit, play
from bandits_lib.checks import check_arms
from bandits_lib.fixed_confidence import rage

RPM, PASCAL = (grid.ravel() for grid in np.meshgrid(np.linspace(1000, 3000, 5), np.linspace(1.5e5, 2.5e5, 5)))
RAW = np.column_stack([np.ones(25), RPM, PASCAL, RPM**2, PASCAL**2])
YEARS = np.arange(2020.0, 2025)
ARMS = np.vstack([np.eye(3), [0.5, 0.5, 0.0]])


def scaled(column):
    return (column - column.mean()) / ((column.max() - column.min()) / 2)


@pytest.mark.parametrize("arms", [RAW, np.column_stack([np.ones(5), YEARS, YEARS**2]), 1e-9 * RAW])
def test_units_that_hide_a_dimension_are_refused(arms):
    with pytest.raises(
        ValueError, match=r"units so different .*rank is \d instead of \d\): column \d is .* times as large"
    ):
        rage(arms, delta=0.05).send(None)


@pytest.mark.parametrize("k", range(10))
def test_units_that_hide_none_are_taken(k):
    assert check_arms(np.diag([1.0, 10.0**-k])).shape == (2, 2)
    assert check_arms(np.column_stack([np.eye(3), np.zeros(3)]) * [1, 1, 10.0**k, 1]).shape == (3, 4)


def test_scaled_features_name_the_best():
    rpm, pascal = scaled(RPM), scaled(PASCAL)
    arms = np.column_stack([np.ones(25), rpm, pascal, rpm**2, pascal**2])
    problem = LinearBandit(arms, theta=[0.8, 0.1, -0.1, -0.5, -0.4], sigma=0.05)
    runs = [play(rage(arms, delta=0.05, sigma=0.05), problem, np.random.default_rng(seed)) for seed in range(10)]
    assert {run.result.recommendation for run in runs} == {problem.best_item}


def sizes(found):
    return [int(phase.counts.sum()) for phase in found.result.history]


@pytest.mark.parametrize("options", [{"scale": None}, {"sigma": None, "scale": None}, {"scale": 1.0}])
def test_percent_and_shares_ask_for_the_same_pulls(options):
    asked = []
    for unit in (1.0, 128.0):  # a power of two, so that rounding errors are the same
        scaled = {"sigma": 0.05 * unit} | options
        if options.get("scale"):
            scaled["scale"] = unit
        problem = LinearBandit(ARMS, theta=unit * np.array([0.5, 0.47, 0.3]), sigma=0.05 * unit)
        asked.append(sizes(play(rage(ARMS, delta=0.05, **scaled), problem, np.random.default_rng(0))))
    assert asked[0] == asked[1] and len(asked[0]) > 1


def test_without_a_scale_the_first_phase_is_what_rounding_needs_and_later_ones_are_four_times_as_large():
    problem = LinearBandit(np.eye(2), theta=[0.5, 0.499], sigma=5.0)
    first, *later = sizes(play(rage(np.eye(2), delta=0.05, sigma=5.0, scale=None), problem, np.random.default_rng(0)))
    assert first == 2 * 2 / 0.1
    grown = np.array(later) / np.array([first, *later[:-1]])
    assert len(later) > 3 and (grown > 3.9).all() and (grown < 6).all()  # delta_t falls with 1 / t^2


def test_a_scale_that_is_none_is_refused():
    for wrong in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="scale must be positive"):
            rage(ARMS, delta=0.05, scale=wrong).send(None)
