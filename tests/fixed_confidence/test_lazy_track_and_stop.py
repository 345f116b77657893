"""Lazy Track-and-Stop: when it computes allocations, and how it tracks them."""

import sys
from functools import partial

import numpy as np
import pytest

from bandits_lib import LinearBandit, complexity, instances, play
from bandits_lib.design import frank_wolfe_design, xy_design
from bandits_lib.fixed_confidence import fws, lazy_track_and_stop

EASY = LinearBandit(instances.sphere(25, np.random.default_rng(1), d=3).arms, theta=[2.0, 1.0, 0.0])


def updates(monkeypatch, problem, **options):
    """Pulls of a run, and (arms, directions, options, design) of each design that it computed."""
    solved, module = [], sys.modules[lazy_track_and_stop.__module__]
    for solver in (xy_design, frank_wolfe_design):
        monkeypatch.setattr(module, solver.__name__, partial(keep, solver, solved))
    run = play(lazy_track_and_stop(problem.arms, delta=0.1, **options), problem, np.random.default_rng(0))
    return run.counts.sum(), solved


def keep(solver, solved, arms, directions, **options):
    solved.append((arms, directions, options, solver(arms, directions, **options)))
    return solved[-1][-1]


@pytest.mark.parametrize("averaging", [True, False])
@pytest.mark.parametrize(
    ("update", "times"),
    [("doubling", [2**k for k in range(2, 20)]), (7, range(8, 10**6, 7)), ([2, 16, 4, 5, 2**64], [4, 5, 16])],
    ids=["doubling", "every 7", "list"],
)
def test_the_allocation_is_computed_anew_at_the_times_given(monkeypatch, update, times, averaging):
    pulls, solved = updates(monkeypatch, EASY, update=update, averaging=averaging)
    assert len(solved) == sum(t < pulls for t in times) > 1


@pytest.mark.parametrize("warm_start", [True, False])
def test_frank_wolfe_begins_at_the_allocation_before_unless_told_not_to(monkeypatch, warm_start):
    _, solved = updates(monkeypatch, EASY, design="frank_wolfe", warm_start=warm_start)
    for (*_, options, _), (*_, before) in zip(solved[1:], solved, strict=False):
        assert np.array_equal(options.get("start"), before.weights) == warm_start
    for arms, directions, _, design in solved:
        assert design.value <= 1.5 * xy_design(arms, directions).value
    assert len(solved) > 2


# ---- what it tracks


def test_proportions_approach_the_optimal_allocation():
    """Proposition 1 on an instance whose optimum is unique, after some ten thousand pulls."""
    problem = instances.benchmark(2, angle=0.1)
    optimum = complexity.oracle_design(problem.arms, theta=problem.theta).weights
    for averaging, tolerance in ((True, 0.02), (False, 0.002)):
        rule = lazy_track_and_stop(problem.arms, delta=1e-9, averaging=averaging)
        history = play(rule, problem, np.random.default_rng(0), trace=1000).trace
        assert history[-1].pulls > 10_000
        assert np.abs(history[-1].counts / history[-1].pulls - optimum).max() < tolerance


def test_the_least_eigenvalue_follows_f():
    """Lemma 5: on the benchmark the optimum neglects e_3, so only forced pulls keep f(t) within reach."""
    problem = instances.benchmark(3, angle=0.2)
    history = play(lazy_track_and_stop(problem.arms, delta=0.05), problem, np.random.default_rng(0), trace=50).trace
    for look in history:
        least = np.linalg.eigvalsh((problem.arms.T * look.counts) @ problem.arms)[0]
        assert least >= np.sqrt(max(look.pulls - 4, 0) / 3) * (1 - 1e-9)  # c = 1; a turn through A_0 may be due
    assert history[-1].counts[2] < 2.5 * np.sqrt(history[-1].pulls / 3)


def test_an_allocation_given_is_tracked_to_the_pull():
    problem = instances.benchmark(3, angle=0.5)
    weights = np.array([0.2, 0.3, 0.1, 0.4])
    rule = lazy_track_and_stop(problem.arms, delta=0.05, allocation=5 * weights)
    history = play(rule, problem, np.random.default_rng(0), trace=10).trace
    assert all(np.abs(look.counts - look.pulls * weights).max() <= 4 for look in history) and len(history) > 10


def test_the_statistic_exceeds_the_threshold_at_the_stop_alone():
    *before, last = play(lazy_track_and_stop(EASY.arms, delta=0.05), EASY, np.random.default_rng(0), trace=50).trace
    assert [look.pulls for look in before[:3]] == [3, 53, 103]
    assert all(look.statistic <= look.threshold for look in before) and last.statistic > last.threshold


def test_an_estimate_without_a_unique_best_item_leaves_the_allocation_as_it_was():
    problem = LinearBandit(np.eye(2), theta=[1.0, 0.0], sigma=0.0)
    problem.means[:] = 0.0  # nothing but ties
    run = play(lazy_track_and_stop(problem.arms, delta=0.05), problem, np.random.default_rng(0), max_pulls=40)
    assert run.counts.tolist() == [20, 20]


# ---- a person in the place of the simulator


# ---- where Frank-Wolfe begins


def test_frank_wolfe_begins_where_it_is_told():
    """One step from `start` moves 2/3 of the mass to one vertex; uniform weights are the default."""
    problem = instances.benchmark(3, angle=0.5)
    y = problem.arms[:1] - problem.arms[1:]
    start = np.array([0.1, 0.2, 0.3, 0.4])
    moved = frank_wolfe_design(problem.arms, y, max_iter=1, start=7 * start).weights - start / 3
    assert np.sort(moved) == pytest.approx([0, 0, 0, 2 / 3])
    plain, uniform = (frank_wolfe_design(problem.arms, y, start=begin) for begin in (None, np.ones(4)))
    np.testing.assert_array_equal(plain.weights, uniform.weights)


@pytest.mark.parametrize("start", [np.ones(3), [1, 1, np.nan, 1], [1, 1, -1, 1], [1, 1, 0, 0]], ids=str)
def test_a_start_that_does_not_span_or_is_no_weight_is_refused(start):
    problem = instances.benchmark(3, angle=0.5)
    with pytest.raises(ValueError, match="start must be"):
        frank_wolfe_design(problem.arms, problem.arms[:1] - problem.arms[1:], start=start)


def test_where_worse_arms_tie_a_run_can_be_stuck_with_rewards_with_which_fws_stops():
    """The run of companion_other_papers: two arms of equal means get most pulls, the best arm almost none."""
    problem, runs = instances.tied_arms(), {}
    for name, rule in {"lazy": lazy_track_and_stop, "fws": fws}.items():
        rewards = np.random.SeedSequence(20261128, spawn_key=(4,)).spawn(3)[2]
        going = rule(problem.arms, delta=0.01, threshold="log_pulls")
        runs[name] = play(going, problem, np.random.default_rng(rewards), 300_000)
    assert runs["fws"].stopped and runs["fws"].result.recommendation == 0
    counts = runs["lazy"].counts
    two = np.argsort(counts)[-2:]
    assert not runs["lazy"].stopped and counts[two].sum() > 0.8 * counts.sum() and counts[0] < 100
    assert problem.means[two].tolist() == [0.9, 0.9]
