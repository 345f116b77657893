"""OD-LinBAI: its phases, and a budget that holds. Its pulls: tests/plain."""

from math import ceil, log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandits_lib import LinearBandit, instances, play
from bandits_lib.design import g_design, wolfe_atwood_design, wynn_design
from bandits_lib.fixed_budget import od_linbai
from bandits_lib.fixed_budget.od_linbai import phases

RNG = np.random.default_rng


@pytest.mark.parametrize(("K", "d"), [(30, 10), (100, 10), (3, 2), (5, 5), (200, 16)])
def test_phases_are_those_of_the_paper(K, d):
    kept, m = phases(K, d, 1_000)
    R = ceil(log2(d))
    assert kept == [ceil(d / 2**r) for r in range(1, R + 1)] and kept[-1] == 1
    assert m == pytest.approx((1_000 - min(K, d * (d + 1) / 2) - sum(ceil(d / 2**r) for r in range(1, R))) / R)


def test_the_first_phase_leaves_half_the_dimension():
    problem = instances.sphere(64, RNG(0), d=10)
    history = play(od_linbai(problem.arms, budget=500), problem, RNG(0)).result.history
    assert [len(phase.active) for phase in history] == [64, 5, 3, 2]
    assert all(phase.lower_bound <= phase.design_value <= 1.001 * phase.lower_bound for phase in history)


problems = st.tuples(st.integers(2, 40), st.integers(1, 6), st.integers(0, 80), st.integers(0, 10**6))


@settings(max_examples=150, deadline=None)
@given(problems, st.booleans())
def test_the_budget_is_kept_and_one_arm_is_left(problem, coarse):
    K, d, spare, seed = problem
    rng = RNG(seed)
    arms = rng.integers(-2, 3, (K, d)).astype(float) if coarse else rng.standard_normal((K, d))
    arms[0, 0] += not arms.any()
    world = LinearBandit(arms, theta=rng.standard_normal(d))
    with pytest.raises(ValueError, match="budget must be a whole number of pulls, at least") as refused:
        next(od_linbai(arms, budget=1))
    budget = int(str(refused.value).split("at least ")[1].split()[0]) + spare
    run = play(od_linbai(arms, budget=budget), world, rng)
    assert run.stopped and sum(phase.counts.sum() for phase in run.result.history) == run.counts.sum() <= budget
    for phase in run.result.history:
        assert np.linalg.matrix_rank(arms[phase.counts > 0]) == np.linalg.matrix_rank(arms[phase.active])


def test_the_smallest_budget_that_runs_is_named():
    arms = instances.sphere(64, RNG(0), d=10).arms
    least = 55 + 5 + 3 + 2 + 1
    with pytest.raises(ValueError, match=f"at least {least} here .OD-LinBAI sets .*got {least - 1}: raise it"):
        next(od_linbai(arms, budget=least - 1))
    assert next(od_linbai(arms, budget=least)).sum() <= least


def test_a_dense_design_passes_the_budget_by_its_surplus_of_atoms():
    problem = instances.sphere(128, RNG(0), d=5)
    sparse, dense = (
        play(od_linbai(problem.arms, budget=100, design=design), problem, RNG(0)).counts.sum()
        for design in (g_design, wynn_design)
    )
    assert sparse <= 100 < dense <= 100 + 128 - 15


def test_the_published_design_keeps_the_budget_with_64_arms_and_mostly_passes_it_with_128():
    def pulls(K, seed):
        problem = instances.sphere(K, RNG(seed), d=10)
        return play(od_linbai(problem.arms, budget=100, design=wolfe_atwood_design), problem, RNG(0)).counts.sum()

    assert max(pulls(64, seed) for seed in range(6)) <= 80
    assert np.mean([pulls(128, seed) > 100 for seed in range(12)]) == pytest.approx(7 / 12)


def test_one_dimension_is_one_phase():
    problem = LinearBandit([[1.0], [2.0], [-1.0]], theta=[-1.0], sigma=0.1)
    run = play(od_linbai(problem.arms, budget=10, sigma=0.1), problem, RNG(0))
    assert run.result.recommendation == 2 and len(run.result.history) == 1 and run.counts.sum() == 9
