"""RAGE: pulls, widths and shares of delta of its phases, and both comparisons eliminate what they may."""

from functools import partial
from math import ceil, log

import numpy as np
import pytest

from bandits_lib import LinearBandit, Sample, elimination, instances, play
from bandits_lib.complexity import rage_upper_bound
from bandits_lib.design import pairs, round_design, xy_design
from bandits_lib.elimination import basel_delta, eliminated_by, good_enough
from bandits_lib.fixed_confidence import rage
from bandits_lib.numerics.least_squares import LeastSquares, least_squares


def test_pulls_stay_below_the_bound_of_theorem_2():
    problem = instances.benchmark(5, angle=0.1)
    bound = rage_upper_bound(problem.arms, theta=problem.theta, delta=0.05).sum()
    pulls = [play(rage(problem.arms, delta=0.05), problem, np.random.default_rng(s)).counts.sum() for s in range(50)]
    assert max(pulls) <= bound


def all_pairs_elimination(items, fit, radius):
    """The letter of Algorithm 1, one comparison at a time."""
    gone = set()
    for i, z in enumerate(items):
        for better in items:
            y = better - z
            if radius * np.sqrt(max(0.0, y @ fit.inverse @ y)) < y @ fit.theta_hat:
                gone.add(i)
    return np.array([i not in gone for i in range(len(items))])


@pytest.mark.parametrize("seed", range(8))
def test_pairs_eliminate_to_the_letter_and_the_leader_no_more(seed):
    rng = np.random.default_rng(seed)
    items = rng.standard_normal((30, 4))
    counts = rng.integers(1, 20, 30)
    fit = least_squares(items, Sample(counts, rng.standard_normal(30) * counts, counts * 3.0))
    by_pairs, _ = eliminated_by(items, fit, 0.4, "pairs")
    by_leader, width = eliminated_by(items, fit, 0.4, "leader")
    np.testing.assert_array_equal(by_pairs, all_pairs_elimination(items, fit, 0.4))
    assert (by_pairs <= by_leader).all() and by_pairs[np.argmax(items @ fit.theta_hat)] and 0 < width
    assert not by_leader.all()


@pytest.mark.parametrize("comparison", ["pairs", "leader"])
def test_an_item_at_its_width_from_the_leader_stays_and_one_beyond_it_goes(comparison):
    """The width is 5 without rounding errors, the long side of a triangle of sides 3 and 4."""
    root = np.diag([3.0, 4.0])
    for gap, stays in ((5.0, True), (np.nextafter(5.0, 6.0), False)):
        fit = LeastSquares(np.array([gap, 0.0]), root @ root, root)
        kept, width = eliminated_by(np.eye(2), fit, 1.0, comparison)
        assert kept.tolist() == [True, stays] and width == 5.0


def test_pairs_are_compared_in_blocks_to_the_same_end(monkeypatch):
    rng = np.random.default_rng(1)
    items = rng.standard_normal((200, 3))
    fit = LeastSquares(rng.standard_normal(3), np.diag([0.1, 2.0, 0.01]))
    monkeypatch.setattr(elimination, "NEIGHBOURS", 1_000)  # all are asked
    whole = eliminated_by(items, fit, 1.5, "pairs")[0]
    for name, size in (("BLOCK", 7), ("NEIGHBOURS", 3), ("LEADERS", 2)):
        monkeypatch.setattr(elimination, name, size)
    np.testing.assert_array_equal(eliminated_by(items, fit, 1.5, "pairs")[0], whole)
    assert 1 < whole.sum() < 200


def test_up_to_5000_items_are_compared_in_pairs():
    items, fit = rng(0).standard_normal((5_001, 2)), LeastSquares(np.array([1.0, 0.3]), np.diag([0.1, 2.0]))
    for n, comparison in ((5_000, "pairs"), (5_001, "leader")):
        kept = {by: eliminated_by(items[:n], fit, 1.5, by)[0].sum() for by in (None, "pairs", "leader")}
        assert kept[None] == kept[comparison] and kept["pairs"] < kept["leader"]


@pytest.mark.parametrize("log_items", ["paper", "code"])
def test_pulls_and_width_of_a_phase_with_more_items_than_arms(log_items):
    """K = 3 arms, M = 5 items, so that K and M cannot stand for each other; sigma = 2 and not its square."""
    arms, items, sigma, delta = np.eye(3), np.vstack([np.eye(3), [[0.2, 0.3, 0.4], [0.6, 0.0, 0.3]]]), 2.0, 0.05
    problem = LinearBandit(arms, items=items, theta=[0.9, 0.8, 0.0], sigma=sigma)
    rule = rage(arms, items, delta=delta, sigma=sigma, log_items=log_items)
    history = play(rule, problem, np.random.default_rng(0)).result.history
    assert len(history) > 2
    for t, phase in enumerate(history, start=1):
        share = delta / t**2
        pulls_log, width_log = {
            "paper": (log(5**2 / share), log(5**2 / share)),
            "code": (log(2 * 5**2 / share), log(2 * 3**2 / share)),
        }[log_items]
        assert phase.counts.sum() == ceil(2 * 4**t * sigma**2 * 1.1 * phase.design_value * pulls_log)
        leader = items[phase.active[np.argmax(items[phase.active] @ phase.theta_hat)]]
        norms = ((leader - items[phase.active]) ** 2 @ np.linalg.pinv(np.diag(phase.counts))).sum(axis=1)
        assert phase.width == pytest.approx(sigma * np.sqrt(2 * width_log * norms.max()))


def test_a_phase_of_little_noise_has_the_pulls_that_rounding_needs():
    """2 p / epsilon, p arms of positive weight, where the confidence widths ask for less."""
    problem = instances.sphere(30, np.random.default_rng(0), d=4, sigma=1e-3)
    for epsilon in (0.1, 0.35):
        rule = rage(problem.arms, delta=0.05, sigma=1e-3, epsilon=epsilon)
        first = play(rule, problem, np.random.default_rng(0)).result.history[0]
        support = np.count_nonzero(xy_design(problem.arms, pairs(problem.arms)).weights)
        assert 4 <= support < 30 and first.counts.sum() == ceil(2 * support / epsilon)
        for floor in (0.1, 0.4):  # the design still has 2 p / epsilon pulls beside those of the floor
            floored = next(rage(problem.arms, delta=0.05, sigma=1e-3, epsilon=epsilon, floor=floor))
            n = ceil(2 * support / epsilon / (1 - floor))
            spread = 30 * ceil(floor * n / 30)
            if spread <= 3 * floor * n:
                assert floored.sum() == n - int(floor * n) + spread
                assert floored.sum() - 30 * floored.min() >= 2 * support / epsilon
            else:
                assert floored.sum() == n + ceil(floor * n)


SPENT = {"fiez2019": lambda t: 0.05 / t**2, "basel": partial(basel_delta, 0.05)}


@pytest.mark.parametrize("schedule", SPENT)
def test_phase_t_spends_its_share_of_delta(schedule):
    problem = instances.benchmark(3, angle=0.1)
    history = play(rage(problem.arms, delta=0.05, delta_schedule=schedule), problem, rng(0)).result.history
    assert len(history) > 2
    for t, phase in enumerate(history, start=1):
        wanted = ceil(2 * 4**t * 1.1 * phase.design_value * log(4**2 / SPENT[schedule](t)))
        assert phase.counts.sum() == max(wanted, 20 * np.count_nonzero(phase.counts))


@pytest.mark.parametrize("eliminate", ["pairs", "leader"])
@pytest.mark.parametrize("accept", [0.02, 0.1, 0.4])
def test_with_the_exit_the_answer_is_good_enough_and_comes_in_time(accept, eliminate):
    """Section 6 of fiez2019. Where the widths of z* - z hold, the leader is at most `accept` behind."""
    problem = instances.sphere(50, rng(0), d=4)
    for seed in range(15):
        options = {"delta": 0.05, "eliminate": eliminate}
        whole = play(rage(problem.arms, **options), problem, rng(seed))
        run = play(rage(problem.arms, accept=accept, **options), problem, rng(seed))
        phases = len(run.result.history)
        assert problem.gaps[run.result.recommendation] <= accept
        assert 1 <= phases <= min(len(whole.result.history), ceil(np.log2(1 / accept)))
        for early, late in zip(run.result.history, whole.result.history, strict=False):
            np.testing.assert_array_equal(early.counts, late.counts)


def test_the_exit_waits_for_the_widths_of_all_that_may_be_ahead():
    """Items of values 1, .9 and .2; accept lies on either side of the largest (z - leader)'theta_hat + width."""
    items, fit = np.eye(3), LeastSquares(np.array([1.0, 0.9, 0.2]), np.diag([0.01, 0.04, 0.01]))
    loss = 2 * np.sqrt(0.05) - 0.1
    assert loss > 2 * np.sqrt(0.02) - 0.8
    assert good_enough(items, fit, 2.0, loss + 1e-9) == 0 and good_enough(items, fit, 2.0, loss - 1e-9) is None


def test_the_exit_ends_runs_whose_best_items_tie():
    problem = LinearBandit(np.eye(2), theta=[1.0, 1.0 - 1e-12])
    run = play(rage(problem.arms, delta=0.05, accept=0.1), problem, rng(0))
    assert len(run.result.history) <= 4 and run.result.recommendation in (0, 1)


def test_the_rounding_is_the_one_that_is_named():
    problem = instances.sphere(30, np.random.default_rng(0), d=4)
    design = xy_design(problem.arms, pairs(problem.arms))
    for method in ("pukelsheim", "largest_remainder"):
        rule = rage(problem.arms, delta=0.05, rounding=method)
        first = play(rule, problem, rng(0)).result.history[0].counts
        np.testing.assert_array_equal(first, round_design(design.weights, first.sum(), method))


def test_sigma_scales_pulls_by_its_square_and_leaves_answers_alone():
    arms, theta = np.eye(2), [1.0, 0.5]
    quiet = play(rage(arms, delta=0.1), LinearBandit(arms, theta=theta), np.random.default_rng(0))
    noisy = rage(arms, delta=0.1, sigma=[3.0, 1.0])
    loud = play(noisy, LinearBandit(arms, theta=theta, sigma=[3.0, 1.0]), np.random.default_rng(0))
    assert loud.result.history[0].counts.sum() == pytest.approx(9 * quiet.result.history[0].counts.sum(), rel=0.01)


def rng(seed):
    return np.random.default_rng(seed)
