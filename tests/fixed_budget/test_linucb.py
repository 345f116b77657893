"""LinUCB, its disjoint form, its regression, and that it recommends what it pulled most."""

import numpy as np
import pytest

from bandits_lib import LinearBandit, instances, play
from bandits_lib.fixed_budget import linucb
from bandits_lib.fixed_budget.linucb import most_pulled
from bandits_lib.plain.linucb import linucb as plain
from bandits_lib.protocol import Loop

PROBLEMS = {
    "adaptive": instances.benchmark(5, angle=0.1, scale=1.0, sigma=np.sqrt(10)),
    "sphere": instances.sphere(30, np.random.default_rng(1), d=4, mix=0.01),
    "more dimensions than arms": LinearBandit(np.random.default_rng(2).standard_normal((4, 7)), theta=np.ones(7)),
    "duplicates": LinearBandit(np.repeat(np.eye(3), 2, axis=0), theta=[0.5, 0.0, 0.0]),
}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS.keys())
def test_a_regression_for_each_arm_is_one_in_which_no_two_arms_share_a_coordinate(problem, seed):
    apart = np.array([np.kron(e, x) for e, x in zip(np.eye(len(problem.arms)), problem.arms, strict=True)])
    rule = linucb(problem.arms, budget=400, sigma=problem.sigma, mode="disjoint", alpha=1.3)
    run, slow = (play(each, problem, np.random.default_rng(seed)) for each in (rule, plain(apart, 400, 1.3)))
    np.testing.assert_array_equal(run.counts, slow.counts)
    assert run.result.recommendation == slow.result.recommendation


def test_a_long_run_keeps_to_the_fresh_solution():
    """Between two fresh solutions the rank-one updates stay within 1e-9 of what an inversion gives."""
    problem = PROBLEMS["sphere"]
    make = linucb(problem.arms, budget=2_999)
    loop = next(make)
    rng = np.random.default_rng(0)
    for _ in range(2_999):
        arm = loop.choose(loop.state)
        loop.update(loop.state, arm, problem.means[arm] + rng.standard_normal())
    fit, counts = loop.state.fit, loop.state.counts
    inverse = np.linalg.inv(np.eye(4) + (problem.arms.T * counts) @ problem.arms)
    np.testing.assert_allclose(fit.gram, inverse @ problem.arms.T, rtol=0, atol=1e-9)
    np.testing.assert_allclose(fit.values, problem.arms @ inverse @ fit.response, rtol=0, atol=1e-9)
    np.testing.assert_allclose(fit.squares, np.einsum("kd,kd->k", problem.arms @ inverse, problem.arms), atol=1e-9)
    assert fit.logdet[0] == pytest.approx(-np.linalg.slogdet(inverse)[1])


def test_both_modes_are_one_on_orthogonal_arms():
    problem = instances.static(0.5, K=6, sigma2=1.0)
    shared, disjoint = (
        play(linucb(problem.arms, budget=500, mode=mode), problem, np.random.default_rng(3))
        for mode in ("shared", "disjoint")
    )
    np.testing.assert_array_equal(shared.counts, disjoint.counts)


def test_default_alpha_is_that_of_the_paper_in_units_of_sigma():
    arms = PROBLEMS["sphere"].arms
    loop = next(linucb(arms, budget=10, sigma=2.0))
    assert isinstance(loop, Loop) and loop.state.alpha == pytest.approx(2 * (1 + np.sqrt(np.log(2 / 0.001) / 2)))


def test_most_pulled_breaks_ties_by_value_then_by_index():
    assert most_pulled(np.array([3, 5, 5, 5]), np.array([9.0, 0.1, 0.2, 0.2])) == 2
    assert most_pulled(np.array([5, 5]), np.array([0.3, 0.3])) == 0
