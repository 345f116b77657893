"""UCB-GLM: the norm squared, alpha, and which rewards it takes."""

import numpy as np
import pytest

from bandits_lab import Lab
from bandits_lib import instances
from bandits_lib.fixed_budget import ucb_glm
from bandits_lib.numerics.ties import argmax
from bandits_lib.plain.logistic import logistic_regression
from bandits_lib.protocol import Sample, one_pull

PROBLEMS = {
    "section 8.4": instances.logistic(5, np.random.default_rng(1)),
    "more dimensions than arms": instances.logistic(12, np.random.default_rng(2)),
}


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS.keys())
def test_with_the_norm_squared_the_next_arm_is_that_of_the_formula(problem):
    """One step, after rewards of every kind; longer runs and the norm itself are in tests/plain."""
    arms, chosen = problem.arms, set()
    squares = np.einsum("kd,de,ke->k", arms, np.linalg.pinv(arms.T @ arms), arms)
    for seed in range(30):
        rule = ucb_glm(arms, budget=80, alpha=0.5, width="squared")
        sample = problem.pull(next(rule), np.random.default_rng(seed))
        loop = rule.send(sample)
        values = arms @ logistic_regression(arms, sample.counts, sample.sums)
        chosen.add(loop.choose(loop.state))
        assert loop.choose(loop.state) == argmax(values + 0.5 * squares)
    assert len(chosen) > 1


def test_default_alpha_is_the_theorem_s():
    problem = PROBLEMS["section 8.4"]
    algorithm = ucb_glm(problem.arms, budget=100, theta_bound=1.5, delta=0.1)
    loop = algorithm.send(problem.pull(next(algorithm), np.random.default_rng(0)))
    reach = 2.5 * np.linalg.norm(problem.arms, axis=1).max()
    kappa = np.exp(-reach) / (1 + np.exp(-reach)) ** 2
    expected = 0.5 / kappa * np.sqrt(5 / 2 * np.log(1 + 2 * 100 / 5) + np.log(1 / 0.1))
    assert loop.state.alpha == pytest.approx(expected)


def test_an_arm_that_never_lost_is_no_reason_to_fail():
    """All rewards 1: the likelihood has no maximum, the penalised one has."""
    arms = np.eye(3)
    lab = Lab(ucb_glm(arms, budget=30, alpha=1.0))
    while (wanted := lab.ask()) is not None:
        lab.tell(Sample(wanted, wanted.astype(float), wanted.astype(float)))
    assert lab.result.recommendation in range(3)


def test_rewards_that_are_not_0_or_1_are_refused():
    lab = Lab(ucb_glm(np.eye(2), budget=30, alpha=1.0))
    with pytest.raises(ValueError, match="rewards must be 0 or 1"):
        lab.tell(Sample(np.ones(2, dtype=np.int64), np.array([0.5, 1.0]), np.array([0.25, 1.0])))
    lab = Lab(ucb_glm(np.eye(2), budget=30, alpha=1.0))
    lab.tell(Sample(np.ones(2, dtype=np.int64), np.array([0.0, 1.0]), np.array([0.0, 1.0])))
    arm = int(np.argmax(lab.ask()))
    with pytest.raises(ValueError, match="rewards must be 0 or 1"):
        lab.tell(Sample(one_pull(arm, 2), 0.5 * one_pull(arm, 2), 0.25 * one_pull(arm, 2)))
