"""A floor under designs: its value is that of its weights, it costs what it says, and rules with it keep their word."""

import numpy as np
import pytest

from bandits_lib import LinearBandit, play
from bandits_lib.design import design_value, frank_wolfe_design, g_design, pairs, weighted_design, xy_design
from bandits_lib.design.rounding import evenly, floored, scattered
from bandits_lib.elimination import basel_delta
from bandits_lib.fixed_budget import gse, od_linbai
from bandits_lib.fixed_confidence import h_rage, rage, rage_halving, xy_static

RNG = np.random.default_rng
SPHERE = RNG(0).standard_normal((25, 4))
SDS = RNG(1).uniform(0.5, 2.0, 25)
DESIGNS = {
    "xy": (xy_design(SPHERE, pairs(SPHERE)), pairs(SPHERE), 1.0),
    "weighted": (weighted_design(SPHERE, pairs(SPHERE), SDS), pairs(SPHERE), SDS),
    "g": (g_design(SPHERE), SPHERE, 1.0),
    "level": (xy_design(SPHERE, SPHERE[:3]), SPHERE[:3], 1.0),
    "lost mass": (frank_wolfe_design(SPHERE, SPHERE[:3], pruned="lost", value_at="before"), SPHERE[:3], 1.0),
}


@pytest.mark.parametrize("floor", [1e-9, 0.1, 0.5, 0.99])
@pytest.mark.parametrize(("design", "directions", "sigma"), DESIGNS.values(), ids=DESIGNS)
def test_the_value_is_that_of_the_weights_and_within_the_price(design, directions, sigma, floor):
    found = floored(design, floor, SPHERE, directions, sigma)
    assert found.weights.sum() == pytest.approx(1) and found.weights.min() >= floor / 25 * (1 - 1e-12)
    assert found.value == design_value(SPHERE, found.weights, directions, sigma)
    before = design_value(SPHERE, design.weights / design.weights.sum(), directions, sigma)
    assert found.value <= before / (1 - floor) * (1 + 1e-12)
    assert found.lower_bound == design.lower_bound <= found.value * (1 + 1e-12)


def test_the_price_is_paid_in_full_where_the_other_arms_tell_nothing():
    arms, ahead = np.vstack([np.eye(2), np.zeros((98, 2))]), np.array([[1.0, -1.0]])
    design = xy_design(arms, ahead)
    assert floored(design, 0.5, arms, ahead).value == pytest.approx(2 * design.value, rel=0.02)


def test_no_floor_is_the_same_design():
    for design, directions, sigma in DESIGNS.values():
        assert floored(design, 0.0, SPHERE, directions, sigma) is design


def test_pulls_are_spread_evenly_and_the_rest_goes_where_there_are_fewest():
    assert evenly(7, np.array([9, 0, 3])).tolist() == [2, 3, 2]
    assert evenly(2, np.array([5, 1, 1, 0])).tolist() == [0, 1, 0, 1]
    assert evenly(0, np.array([5, 1])).tolist() == [0, 0]


def test_of_very_many_arms_some_get_the_floor_and_the_next_phase_takes_others():
    """All combinations of 12, 10, 4 and 3 levels: the arms of a floor have all levels of each factor."""
    levels = np.array(list(np.ndindex(12, 10, 4, 3)))
    first = scattered(60, np.zeros(1440, int))
    assert first.sum() == 60 and all(len(np.unique(column)) == column.max() + 1 for column in levels[first > 0].T)
    second = scattered(60, first)
    assert second.sum() == 60 and not (first * second).any()
    arms = np.column_stack([np.ones(1440), RNG(0).uniform(-1, 1, (1440, 2))])
    rule, plain = (rage(arms, delta=0.05, sigma=1.0, scale=None, **told) for told in ({"floor": 0.1}, {}))
    request = next(rule)
    assert next(plain).sum() < request.sum() <= next(rage(arms, delta=0.05, scale=None)).sum() / 0.9**2 + 2
    later = rule.send(LinearBandit(arms, theta=[0.0, 1.0, 0.5]).pull(request, RNG(1)))
    for asked, fresh in ((request, request > 0), (later, (later > 0) & (request == 0))):
        assert np.count_nonzero(fresh) >= 0.08 * asked.sum()


RULES = {
    "rage": lambda arms, **told: rage(arms, delta=0.05, **told),
    "rage_halving": lambda arms, **told: rage_halving(arms, delta=0.05, **told),
    "rage_halving (level)": lambda arms, **told: rage_halving(
        arms, delta=0.05, objective="level", threshold=0.31, **told
    ),
    "h_rage": lambda arms, **told: h_rage(arms, delta=0.05, sigma_min=0.5, sigma_max=1.5, burn_in=2000, **told),
    "xy_static": lambda arms, **told: xy_static(arms, delta=0.05, rng=RNG(3), **told),
    "gse": lambda arms, **told: gse(arms, budget=1200, **told),
    "gse (greedy)": lambda arms, **told: gse(arms, budget=1200, design="greedy", **told),
    "od_linbai": lambda arms, **told: od_linbai(arms, budget=1200, **told),
}
each_rule = pytest.mark.parametrize("make", RULES.values(), ids=RULES)
THETA = np.array([1.0, 0.4, -0.2])
WORLD = LinearBandit(np.vstack([np.eye(3), RNG(5).uniform(-0.4, 0.4, (9, 3))]), theta=THETA)


def batches(rule, problem, seed=0):
    """The Samples of a run, and its result."""
    rng, samples, request = RNG(seed), [], next(rule)
    while True:
        samples.append(problem.pull(request, rng))
        try:
            request = rule.send(samples[-1])
        except StopIteration as stop:
            return samples, stop.value


@each_rule
def test_every_arm_has_its_share_of_a_batch_and_the_answer_is_right(make):
    samples, result = batches(make(WORLD.arms, floor=0.2), WORLD)
    first = samples[2 if result.history[0].index < 0 else -1 if make is RULES["xy_static"] else 0].counts
    share = 0.2 * first.sum() / 12
    drawn = 5 * np.sqrt(share) if make is RULES["xy_static"] else 1
    assert first.min() >= share - drawn and first.min() > 0
    assert np.array_equal(result.recommendation, WORLD.item_values > 0.31) or result.recommendation == 0


@each_rule
def test_without_a_floor_nothing_changes(make):
    runs = [play(make(WORLD.arms, **told), WORLD, RNG(0)) for told in ({}, {"floor": 0.0}, {"floor": 0})]
    for run in runs[1:]:
        np.testing.assert_array_equal(run.counts, runs[0].counts)
        for one, other in zip(run.result.history, runs[0].result.history, strict=True):
            assert one.design_value == other.design_value and (one.theta_hat == other.theta_hat).all()


@pytest.mark.parametrize("floor", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("budget", [100, 251, 1200])
def test_a_budget_is_kept(floor, budget):
    for rule in (gse(WORLD.arms, budget=budget, floor=floor), od_linbai(WORLD.arms, budget=budget, floor=floor)):
        assert budget / 2 < play(rule, WORLD, RNG(0)).counts.sum() <= budget


@each_rule
@pytest.mark.parametrize("floor", [1.0, -0.1, np.nan, "0.1", None])
def test_a_floor_that_is_no_share_is_refused_before_the_first_pull(make, floor):
    with pytest.raises(ValueError, match=r"floor must lie in \[0, 1\)"):
        next(make(WORLD.arms, floor=floor))


def test_the_smallest_budget_beside_a_floor_runs_and_one_less_does_not():
    for floor in (0.0, 0.3, 0.5, 0.75):
        with pytest.raises(ValueError, match="at least (\\d+) here") as refused:
            next(gse(WORLD.arms, budget=1, floor=floor))
        least = int(str(refused.value).partition("at least ")[2].partition(" ")[0])
        assert play(gse(WORLD.arms, budget=least, floor=floor), WORLD, RNG(0)).counts.sum() <= least
        with pytest.raises(ValueError, match="at least"):
            next(gse(WORLD.arms, budget=least - 1, floor=floor))


@pytest.mark.parametrize("sigma", [0.001, 0.3, 3.0])
@pytest.mark.parametrize("floor", [0.01, 0.1, 0.5])
def test_the_counts_of_rage_are_worth_what_the_proof_needs(floor, sigma):
    """Squared norms are at most (1 + epsilon) value / N_t, with N_t the formula's, from the value with the floor."""
    for epsilon in (0.1, 0.5):
        counts = next(rage(SPHERE, delta=0.05, sigma=sigma, epsilon=epsilon, floor=floor))
        value = floored(xy_design(SPHERE, pairs(SPHERE)), floor, SPHERE, pairs(SPHERE)).value
        N = 2 * (2 * sigma) ** 2 * (1 + epsilon) * value * np.log(25**2 / basel_delta(0.05, 1))
        assert design_value(SPHERE, counts, pairs(SPHERE)) <= (1 + epsilon) * value / N * (1 + 1e-9)
