"""LinGapE: the table of allocations, epsilon. Its pulls are checked in plain/ and in design/test_gaps.py."""

import numpy as np

from bandits_lib import instances, play
from bandits_lib.design import pair_allocations
from bandits_lib.fixed_confidence import lingape

PROBLEMS = {
    "benchmark": instances.benchmark(4, angle=0.3),
    "sphere": instances.sphere(25, np.random.default_rng(1), d=3),
}


def test_the_table_of_allocations_grows(monkeypatch):
    problem = PROBLEMS["sphere"]
    make = {"delta": 0.05, "theta_bound": 1.0}
    before = play(lingape(problem.arms, **make), problem, np.random.default_rng(3), max_pulls=5000)
    monkeypatch.setattr(pair_allocations, "ROWS", 1)
    after = play(lingape(problem.arms, **make), problem, np.random.default_rng(3), max_pulls=5000)
    np.testing.assert_array_equal(before.counts, after.counts)


def test_epsilon_stops_earlier():
    problem = instances.benchmark(3, angle=0.3)
    exact, loose = (
        play(lingape(problem.arms, delta=0.05, theta_bound=2.0, epsilon=e), problem, np.random.default_rng(0))
        for e in (0.0, 0.3)
    )
    assert loose.counts.sum() < exact.counts.sum() and problem.gaps[loose.result.recommendation] <= 0.3
