"""Characteristic times and bounds against closed forms, and the fixed-design rules that rest on them."""

from math import ceil, log

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

from bandits_lib import LinearBandit, instances, play
from bandits_lib.complexity import (
    binary_divergence,
    characteristic_time,
    closest,
    hardest,
    lower_bound,
    oracle_design,
    oracle_directions,
    rage_upper_bound,
)
from bandits_lib.design import Design, frank_wolfe_design, xy_design
from bandits_lib.fixed_confidence import xy_oracle, xy_static
from bandits_lib.fixed_confidence.xy_static import others_from, separated
from bandits_lib.numerics.least_squares import LeastSquares


def test_two_orthogonal_arms_need_eight_over_the_gap_squared():
    """psi* = (1/w + 1/(1-w)) / gap^2 is least at w = 1/2: 4 / gap^2; T* = 2 psi*; sigma enters squared."""
    for gap, sigma in ((1.0, 1.0), (0.1, 2.0)):
        time = characteristic_time(np.eye(2), theta=[gap, 0.0], sigma=sigma)
        assert time == pytest.approx(8 * sigma**2 / gap**2, rel=1e-3)
    assert characteristic_time(np.eye(2), theta=[1.0, 0.0], convention="fiez2019") == pytest.approx(4, rel=1e-3)


def test_unequal_noise_is_sampled_in_proportion_to_its_standard_deviation():
    design = oracle_design(np.eye(2), theta=[1.0, 0.0], sigma=[1.0, 3.0])
    np.testing.assert_allclose(design.weights, [0.25, 0.75], atol=1e-3)
    assert design.value == pytest.approx(16, rel=1e-3)


def test_lower_bounds_in_both_conventions():
    args = {"arms": np.eye(2), "theta": [0.5, 0.0], "delta": 0.05}
    assert lower_bound(**args) == pytest.approx(32 * 0.9 * log(19), rel=1e-3)
    assert lower_bound(**args, convention="fiez2019") == pytest.approx(16 * log(1 / 0.12), rel=1e-3)
    assert binary_divergence(0.05) == pytest.approx(0.9 * log(19))


def test_the_benchmark_is_as_hard_as_its_closest_direction():
    """e_1 - x' alone bounds psi* from below, and the other arms cost little more (fiez2019, section 5)."""
    problem = instances.benchmark(5)
    design = oracle_design(problem.arms, theta=problem.theta)
    alone = xy_design(problem.arms, (problem.arms[0] - problem.arms[5])[None, :]).value / np.sort(problem.gaps)[1] ** 2
    assert alone <= design.value <= 1.05 * alone and np.argmax(design.weights) == 1


def test_the_bound_of_theorem_2_is_its_formula():
    problem = instances.benchmark(3, angle=0.5)
    bound = rage_upper_bound(problem.arms, theta=problem.theta, delta=0.05)
    assert len(bound) == ceil(np.log2(4 / np.sort(problem.gaps)[1]))
    alone = xy_design(problem.arms, (problem.arms[0] - problem.arms[3])[None, :]).value
    t = len(bound) - 1  # in the last phase only the best item is left in view
    assert bound[t] == 0 and bound[t - 1] == ceil(2 * 4**t * 1.1 * alone * log(16 * t**2 / 0.05))
    with pytest.raises(ValueError, match="gaps of at most 2"):
        rage_upper_bound(np.eye(2), theta=[3.0, 0.0], delta=0.05)


@pytest.mark.parametrize(
    "told, said",
    [
        ({"theta": [1.0, 1.0]}, "two items share the largest value"),
        ({"theta": [1.0, 0.5, 0.0]}, "theta"),
        ({"theta": [1.0, 0.5], "epsilon": 0.0}, "epsilon"),
    ],
)
def test_theorem_2_refuses_what_it_says_nothing_about(told, said):
    with pytest.raises(ValueError, match=said):
        rage_upper_bound(np.eye(2), delta=0.05, **told)


def test_theorem_2_needs_no_pulls_for_one_item():
    assert len(rage_upper_bound(np.eye(2), np.eye(2)[:1], theta=[1.0, 0.5], delta=0.05)) == 0


def test_oracle_directions_are_differences_over_gaps():
    items = np.array([[0.0, 1.0], [2.0, 0.0], [1.0, 1.0]])
    np.testing.assert_allclose(oracle_directions(items, [1.0, 0.5]), [[4 / 3, -2 / 3], [2.0, -2.0]])


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"theta": [1.0, 1.0]}, "unique"),
        ({"theta": [1.0, np.nan]}, "theta must be"),
        ({"theta": [1.0, 0.0], "items": [[1.0, 0.0]]}, "at least two"),
    ],
)
def test_no_complexity_for_what_has_none(kwargs, words):
    with pytest.raises(ValueError, match=words):
        oracle_design(np.eye(2), **kwargs)


def test_phases_grow_as_the_papers_say_and_as_the_code_does():
    problem = instances.benchmark(3, angle=0.5)
    for phases, step in (("every", 1), ("odd", 2)):
        rule = xy_static(problem.arms, delta=0.05, phases=phases, rng=np.random.default_rng(0))
        history = play(rule, problem, np.random.default_rng(0)).result.history
        assert [h.index for h in history[:4]] == [1, 1 + step, 1 + 2 * step, 1 + 3 * step]
        assert all(h.counts.sum() == ceil(1.35**h.index) for h in history)


def test_the_code_counts_d_pulls_that_it_never_makes():
    problem = instances.benchmark(3, angle=0.5)
    plain, counted = (
        play(
            xy_static(problem.arms, delta=0.05, start=s, rng=np.random.default_rng(0)),
            problem,
            np.random.default_rng(0),
        )
        for s in (0, "d")
    )
    assert counted.counts.sum() == sum(h.counts.sum() for h in counted.result.history)
    assert counted.result.history[0].counts.sum() == plain.result.history[0].counts.sum() + 3
    assert plain.counts.sum() == sum(h.counts.sum() for h in plain.result.history)


def test_a_leader_is_separated_only_in_directions_that_were_measured():
    items = np.eye(3)
    fit = LeastSquares(np.array([9.0, 0.0, 0.0]), np.diag([1.0, 1.0, 0.0]))
    assert separated(others_from(items, 0), fit, 1.0) == (False, np.inf)
    fit = LeastSquares(np.array([9.0, 0.0, 0.0]), np.diag([1.0, 1.0, 1.0]))
    assert separated(others_from(items, 0), fit, 1.0) == (True, pytest.approx(np.sqrt(2)))
    assert not separated(others_from(items, 0), fit, 9.0)[0]


def test_the_design_decides_what_the_oracle_needs():
    """Certified weights starve the arms of large gaps, and i.i.d. draws then cost the oracle more."""
    problem = instances.benchmark(5, angle=0.05)
    pulls = {}
    for name, design in {"default": {}, "certified": {"design": xy_design}}.items():
        told, runs = {"theta_star": problem.theta, "delta": 0.05} | design, []
        for s in range(60):
            rule = xy_oracle(problem.arms, **told, rng=np.random.default_rng(s))
            runs.append(play(rule, problem, np.random.default_rng(1000 + s)))
        assert all(run.result.recommendation == 0 for run in runs)
        pulls[name] = np.mean([run.counts.sum() for run in runs])
    assert pulls["certified"] > pulls["default"]


def test_a_design_may_be_given():
    problem = LinearBandit(np.eye(2), theta=[1.0, 0.0])
    lopsided = Design(np.array([0.9, 0.1]), 1.0, 0.5, 0)
    rule = xy_static(problem.arms, delta=0.1, design=lambda arms, directions: lopsided, rng=np.random.default_rng(0))
    counts = play(rule, problem, np.random.default_rng(0)).counts
    assert counts[0] > 4 * counts[1]
    assert frank_wolfe_design(np.eye(2), np.array([[1.0, -1.0]])).value == pytest.approx(4, rel=0.01)


# --- the guess that stands for a smallest gap

PAGES = np.array([[1, *head, *rest] for head in ((0, 0), (1, 0), (0, 1)) for rest in np.ndindex(2, 2)], dtype=float)
CLOUD = np.random.default_rng(0).normal(size=(15, 3))
SETS = {"basis": np.eye(4), "pages": PAGES, "cloud": CLOUD, "line": np.column_stack([np.ones(5), np.arange(5.0)])}


def most(items, leads_of):
    """No parameter takes longer: the time if each gap were, by itself, the least that any parameter allows."""
    times = []
    for leads in leads_of:
        free, enough = [(None, None)] * leads.shape[1], -0.5 * np.ones(len(leads))
        least = [linprog(lead, A_ub=-leads, b_ub=enough, bounds=free) for lead in leads]
        if all(found.success for found in least):
            times.append(2 * xy_design(items, leads / np.array([found.fun for found in least])[:, None]).value)
    return max(times)


@pytest.mark.parametrize("items", SETS.values(), ids=SETS)
def test_the_guess_has_the_least_gaps_and_takes_longest(items):
    """Against a general solver; where there is no solution, the item is a mixture of the others."""
    all_leads = [items[best] - np.delete(items, best, axis=0) for best in range(len(items))]
    times = []
    for best, leads in enumerate(all_leads):
        if (theta := closest(items, best, 0.5)) is None:
            end = np.append(np.zeros(leads.shape[1]), 1.0)
            assert linprog(np.zeros(len(leads)), A_eq=np.vstack([leads.T, np.ones(len(leads))]), b_eq=end).success
            continue
        gaps = leads @ theta
        assert gaps.min() == pytest.approx(0.5)
        enough = {"type": "ineq", "fun": lambda x, leads=leads: leads @ x - 0.5}
        other = minimize(lambda x, leads=leads: np.sum((leads @ x) ** 2), theta * 1.5, constraints=enough)
        assert np.sum(gaps**2) <= other.fun * (1 + 1e-6)
        times.append(characteristic_time(items, theta=theta))
    found, bound = hardest(items, gap=0.5).time, most(items, all_leads)
    assert found == pytest.approx(max(times), rel=2e-3) and bound / 1.5 < found <= bound * 1.002
    if items is not CLOUD:
        assert found == pytest.approx(bound, rel=2e-3)


def test_units_and_noise_of_the_guess():
    units = np.array([1e-2, 1.0, 1e2])
    one, other = hardest(CLOUD, gap=0.3), hardest(CLOUD * units, gap=0.3)
    assert one.best == other.best and one.time == pytest.approx(other.time, rel=2e-3)
    np.testing.assert_allclose(CLOUD @ one.theta, CLOUD * units @ other.theta, rtol=1e-6, atol=1e-6)
    for gap in (1e-6, 1e6):
        np.testing.assert_allclose(hardest(CLOUD, gap=1.0).theta * gap, hardest(CLOUD, gap=gap).theta, rtol=1e-9)
    assert np.ptp(np.sort(hardest(np.eye(5), gap=0.2).theta)[:-1]) < 1e-12
    quiet, noisy = hardest(np.eye(4), gap=1.0), hardest(np.eye(4), gap=1.0, sigma=np.array([1.0, 1, 10, 1]))
    assert noisy.best == 2 and noisy.time > quiet.time


def test_the_guess_has_no_digits_that_depend_on_rounding_errors():
    features = np.random.default_rng(0).integers(0, 3, (12, 5)).astype(float)
    thetas = set()
    for seed in range(20):  # another order of the rows has other rounding errors
        order = np.random.default_rng(seed).permutation(12)
        thetas.add(tuple(closest(features[order], int(np.argmax(order == 5)), 0.04)))
    assert len(thetas) == 1
