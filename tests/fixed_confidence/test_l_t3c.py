"""L-T3C: the empirical leader and its randomness; its rate is in test_lower_bound.py."""

import numpy as np
import pytest

from bandits_lib import LinearBandit, instances, play
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
