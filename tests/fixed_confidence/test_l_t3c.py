"""L-T3C: the empirical leader, its randomness, rate and errors."""

import numpy as np
import pytest

from bandits_lib import LinearBandit, instances, monte_carlo, play
from bandits_lib.complexity import characteristic_time
from bandits_lib.fixed_confidence import l_t3c
from bandits_lib.plain.l_t3c import l_t3c as plain

PROBLEMS = {
    "benchmark": instances.benchmark(4, angle=0.3),
    "sphere": instances.sphere(25, np.random.default_rng(1), d=3),
    "items": LinearBandit(
        np.eye(3), items=[[1.0, 0.2, 0.0], [0.3, 1.0, 0.4], [0.5, 0.5, 1.0]], theta=[1.0, 0.2, 0.1], sigma=0.7
    ),
}


class Still:
    """Draws nothing but zeros: the posterior sample is the estimate."""

    standard_normal = staticmethod(np.zeros)


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_empirical_leader_is_that_of_a_posterior_sample_without_noise(name):
    problem = PROBLEMS[name]
    told = {"delta": 0.05, "sigma": problem.sigma[0]}
    for seed in range(2):
        fast = l_t3c(problem.arms, problem.items, leader="best", rng=None, **told)
        slow = plain(problem.arms, problem.items, rng=Still(), **told)
        run, expected = (play(rule, problem, np.random.default_rng(seed), max_pulls=1500) for rule in (fast, slow))
        np.testing.assert_array_equal(run.counts, expected.counts)
        assert run.stopped == expected.stopped
    assert run.counts.sum() > 200


def test_only_the_sampled_leader_draws():
    problem, rng = PROBLEMS["sphere"], np.random.default_rng(0)
    before = rng.bit_generator.state["state"]
    play(l_t3c(problem.arms, delta=0.05, leader="best", rng=rng), problem, np.random.default_rng(1), max_pulls=100)
    assert rng.bit_generator.state["state"] == before
    one, other = (
        play(l_t3c(problem.arms, delta=0.05, rng=np.random.default_rng(s)), problem, np.random.default_rng(1), 3000)
        for s in (0, 1)
    )
    assert (one.counts != other.counts).any()


@pytest.mark.parametrize("leader", ["sample", "best"])
def test_pulls_are_near_what_the_lower_bound_asks_at_this_threshold(leader):
    """N / (T* beta); no proof says that it tends to 1."""
    problem = PROBLEMS["benchmark"]
    time, ratios = characteristic_time(problem.arms, theta=problem.theta), []
    for seed in range(8):
        rule = l_t3c(problem.arms, delta=1e-40, leader=leader, rng=np.random.default_rng(seed))
        run = play(rule, problem, np.random.default_rng(seed))
        logdet = np.linalg.slogdet((problem.arms.T * run.counts) @ problem.arms + np.eye(4))[1]
        ratios.append(run.counts.sum() / (time * 2 * (logdet / 2 + 40 * np.log(10))))
    assert 0.9 < np.mean(ratios) < 1.3


def error_rate(told, delta=0.2, runs=150):
    rules = {"l_t3c": lambda p, rng: l_t3c(p.arms, delta=delta, sigma=told, rng=rng)}
    hard = LinearBandit([[1.0, 0.0], [0.0, 1.0], [0.8, 0.8]], theta=[1.0, 0.4])
    table = monte_carlo(rules, lambda rng: hard, runs=runs, misspecified=told != 1, progress=False)
    return 1 - table["correct"].mean(), 4 * np.sqrt(delta * (1 - delta) / runs)


def test_errors_are_rarer_than_delta_and_not_with_an_understated_sigma():
    rate, slack = error_rate(1.0)
    assert rate <= 0.2 + slack
    rate, slack = error_rate(0.1)
    assert rate > 0.2 + slack
