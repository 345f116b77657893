"""L-T3C: the compiled loop against a plain-numpy twin, its randomness, rate and errors."""

import numpy as np
import pytest
from glr_twin import Twin

from bandits_lib import LinearBandit, instances, monte_carlo, play
from bandits_lib.complexity import characteristic_time
from bandits_lib.fixed_confidence import l_t3c
from bandits_lib.fixed_confidence._l_t3c import DRAWS
from bandits_lib.numerics.ties import argmax

PROBLEMS = {
    "benchmark": instances.benchmark(4, angle=0.3),
    "sphere": instances.sphere(25, np.random.default_rng(1), d=3),
    "items": LinearBandit(
        np.eye(3), items=[[1.0, 0.2, 0.0], [0.3, 1.0, 0.4], [0.5, 0.5, 1.0]], theta=[1.0, 0.2, 0.1], sigma=0.7
    ),
}


def twin(problem, rng, rule_rng, delta, most, sigma, leader):
    world, drawn = Twin(problem, rng, delta, sigma), []
    while not world.stopped() and world.t < most:
        i = world.leader
        if leader == "sample":
            drawn = drawn or list(rule_rng.standard_normal((DRAWS, len(world.theta))))
            i = argmax(world.items @ (world.theta + sigma * np.linalg.cholesky(world.inverse) @ drawn.pop(0)))
        y = world.items[i] - world.items
        with np.errstate(invalid="ignore"):
            gap = y @ world.theta
            costs = np.sign(gap) * gap**2 / np.einsum("md,de,me->m", y, world.inverse, y)
        costs[i] = np.finfo(float).max
        direction = world.inverse @ (world.items[i] - world.items[argmax(-costs)])
        norms = np.einsum("kd,de,ke->k", world.arms, world.inverse, world.arms)
        world.pull(argmax((world.arms @ direction) ** 2 / (1 + norms)))
    return world.counts, world.leader


@pytest.mark.parametrize("leader", ["sample", "best"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_compiled_loop_pulls_what_the_twin_pulls(name, leader):
    problem = PROBLEMS[name]
    sigma = problem.sigma[0]
    for seed in range(2):
        rule_rng = np.random.default_rng(seed + 100)
        rule = l_t3c(problem.arms, problem.items, delta=0.05, sigma=sigma, leader=leader, rng=rule_rng)
        run = play(rule, problem, np.random.default_rng(seed), max_pulls=1500)
        other = np.random.default_rng(seed + 100)
        counts, best = twin(problem, np.random.default_rng(seed), other, 0.05, 1500, sigma, leader)
        np.testing.assert_array_equal(run.counts, counts)
        assert run.result is None or run.result.recommendation == best
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


def test_looks_are_taken_every_trace_pulls_and_change_nothing():
    problem = PROBLEMS["benchmark"]
    plain, looked = (
        play(l_t3c(problem.arms, delta=1e-9, trace=n, rng=np.random.default_rng(5)), problem, np.random.default_rng(0))
        for n in (0, 50)
    )
    assert (plain.counts == looked.counts).all() and plain.result.history == ()
    assert [look.pulls for look in looked.result.history[:3]] == [4, 54, 104]


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
    table = monte_carlo(rules, lambda rng: hard, runs=runs, progress=False)
    return 1 - table["correct"].mean(), 4 * np.sqrt(delta * (1 - delta) / runs)


def test_errors_are_rarer_than_delta_and_not_with_an_understated_sigma():
    rate, slack = error_rate(1.0)
    assert rate <= 0.2 + slack
    rate, slack = error_rate(0.1)
    assert rate > 0.2 + slack
