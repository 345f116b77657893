"""LinGapE: the compiled loop pulls what a plain-numpy twin pulls, one by one."""

import sys

import numpy as np
import pytest

from bandits_lib import LinearBandit, instances, play
from bandits_lib.design import xy_design
from bandits_lib.fixed_confidence import lingape
from bandits_lib.numerics.ties import argmax


def twin(problem, rng, delta, theta_bound, rule, ridge=1.0, sigma=1.0, most=10**6):
    """LinGapE in plain numpy with a fresh inversion at every pull: counts and recommendation."""
    arms, items = problem.arms, problem.items
    K, d = arms.shape
    counts, sums = np.ones(K, dtype=np.int64), problem.pull(np.ones(K, dtype=np.int64), rng).sums
    allocations = {}
    while counts.sum() < most:
        information = ridge * np.eye(d) + (arms.T * counts) @ arms
        inverse = np.linalg.inv(information)
        theta = inverse @ arms.T @ sums
        logdet = np.linalg.slogdet(information)[1] - d * np.log(ridge)
        radius = sigma * np.sqrt(2 * (np.log(len(items) ** 2 / delta) + logdet / 2)) + np.sqrt(ridge) * theta_bound
        values = items @ theta
        i = argmax(values)
        y = items - items[i]
        leads = values - values[i] + radius * np.sqrt(np.maximum(0, np.einsum("md,de,me->m", y, inverse, y)))
        leads[i] = -np.inf
        j = argmax(leads)
        if leads[j] <= 0:
            break
        y = items[i] - items[j]
        if rule == "greedy":
            arm = argmax((arms @ inverse @ y) ** 2 / (1 + np.einsum("kd,de,ke->k", arms, inverse, arms)))
        else:
            key = (min(i, j), max(i, j))
            if key not in allocations:
                allocations[key] = xy_design(arms, (items[key[0]] - items[key[1]])[None, :]).weights
            with np.errstate(divide="ignore"):
                arm = argmax(-counts / allocations[key])
        counts[arm] += 1
        sums[arm] += problem.means[arm] + problem.sigma[arm] * rng.standard_normal()
    return counts, int(i)


PROBLEMS = {
    "benchmark": instances.benchmark(4, angle=0.3),
    "sphere": instances.sphere(25, np.random.default_rng(1), d=3),
    "items": LinearBandit(np.eye(3), items=[[1.0, 0.2, 0.0], [0.3, 1.0, 0.4], [0.5, 0.5, 1.0]], theta=[1.0, 0.2, 0.1]),
}


@pytest.mark.parametrize("rule", ["ratio", "greedy"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_compiled_loop_pulls_what_the_twin_pulls(name, rule):
    problem = PROBLEMS[name]
    for seed in range(2):
        make = lingape(problem.arms, problem.items, delta=0.05, theta_bound=1.0, rule=rule)
        run = play(make, problem, np.random.default_rng(seed), max_pulls=4000)
        counts, leader = twin(problem, np.random.default_rng(seed), 0.05, 1.0, rule, most=4000)
        np.testing.assert_array_equal(run.counts, counts)
        assert run.result is None or run.result.recommendation == leader
    assert run.counts.sum() > 150


def test_looks_are_taken_every_trace_pulls_and_change_nothing():
    problem = PROBLEMS["benchmark"]
    plain = play(lingape(problem.arms, delta=0.05, theta_bound=2.0), problem, np.random.default_rng(0))
    looked = play(lingape(problem.arms, delta=0.05, theta_bound=2.0, trace=100), problem, np.random.default_rng(0))
    assert (plain.counts == looked.counts).all() and plain.result.history == ()
    looks = looked.result.history
    assert [look.pulls for look in looks[:3]] == [5, 105, 205] and looks[-1].counts.sum() == looks[-1].pulls
    assert all(look.statistic < look.threshold for look in looks[:-1])


def test_the_table_of_allocations_grows(monkeypatch):
    problem = PROBLEMS["sphere"]
    make = {"delta": 0.05, "theta_bound": 1.0}
    before = play(lingape(problem.arms, **make), problem, np.random.default_rng(3), max_pulls=5000)
    monkeypatch.setattr(sys.modules[lingape.__module__], "TABLE", 1)
    after = play(lingape(problem.arms, **make), problem, np.random.default_rng(3), max_pulls=5000)
    np.testing.assert_array_equal(before.counts, after.counts)


def test_epsilon_stops_earlier():
    problem = instances.benchmark(3, angle=0.3)
    exact, loose = (
        play(lingape(problem.arms, delta=0.05, theta_bound=2.0, epsilon=e), problem, np.random.default_rng(0))
        for e in (0.0, 0.3)
    )
    assert loose.counts.sum() < exact.counts.sum() and problem.gaps[loose.result.recommendation] <= 0.3
