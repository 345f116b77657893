"""FWS: the compiled loop against a plain-numpy twin, the matrix game against a linear program, rate and errors."""

import numpy as np
import pytest
from glr_twin import Twin
from scipy.optimize import linprog

from bandits_lib import LinearBandit, instances, monte_carlo, play
from bandits_lib.complexity import characteristic_time
from bandits_lib.fixed_confidence import fws
from bandits_lib.fixed_confidence._fws import is_square, maximin
from bandits_lib.numerics.ties import argmax

PROBLEMS = {
    "benchmark": instances.benchmark(4, angle=0.3),
    "sphere": instances.sphere(12, np.random.default_rng(1), d=3),
    "items": LinearBandit(
        np.eye(3), items=[[1.0, 0.2, 0.0], [0.3, 1.0, 0.4], [0.5, 0.5, 1.0]], theta=[1.0, 0.2, 0.1], sigma=0.7
    ),
}


def game(payoffs):
    """Value and a best mixture of the columns, by HiGHS: maximise v with payoffs @ z >= v."""
    J, K = payoffs.shape
    program = linprog(
        np.append(np.zeros(K), -1.0),
        A_ub=np.column_stack([-payoffs, np.ones(J)]),
        b_ub=np.zeros(J),
        A_eq=np.append(np.ones(K), 0.0)[None, :],
        b_eq=[1.0],
        bounds=[(0, None)] * K + [(None, None)],
    )
    return -program.fun, program.x[:-1]


def twin(problem, rng, delta, most, sigma):
    """Returns counts, leader and how many games had more than one row."""
    world, K, games = Twin(problem, rng, delta, sigma), len(problem.arms), 0
    total = world.counts.astype(float)
    while not world.stopped() and world.t < most:
        t, i = world.t + 1, world.leader
        x = total / (t - 1)
        z = np.full(K, 1 / K)
        if np.sqrt(t // K) % 1 != 0:
            inverse = np.linalg.inv((world.arms.T * x) @ world.arms)
            f = world.costs(i, inverse) / sigma**2
            near = np.flatnonzero(f < f.min() + t**-0.9 / K)
            y = world.items[i] - world.items[near]
            shift = ((y @ world.theta) / np.einsum("jd,de,je->j", y, inverse, y))[:, None] * (y @ inverse)
            gradients = (shift @ world.arms.T) ** 2 / (2 * sigma**2)
            games += len(near) > 1
            z = np.eye(K)[argmax(gradients[0])] if len(near) == 1 else game(gradients - (gradients @ x)[:, None])[1]
        total += z
        with np.errstate(divide="ignore", invalid="ignore"):
            world.pull(argmax(np.where(total > 0, -world.counts / total, -np.inf)))
    return world.counts, world.leader, games


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_compiled_loop_pulls_what_the_twin_pulls(name):
    problem, games = PROBLEMS[name], 0
    sigma = problem.sigma[0]
    for seed in range(2):
        rule = fws(problem.arms, problem.items, delta=0.05, sigma=sigma)
        run = play(rule, problem, np.random.default_rng(seed), max_pulls=800)
        counts, leader, several = twin(problem, np.random.default_rng(seed), 0.05, 800, sigma)
        np.testing.assert_array_equal(run.counts, counts)
        assert run.result is None or run.result.recommendation == leader
        games += several
    assert run.counts.sum() > 200 and games > 5


@pytest.mark.parametrize("shape", [(1, 4), (2, 2), (2, 30), (5, 5), (7, 3), (12, 40)])
def test_the_matrix_game_has_the_value_of_the_linear_program(shape):
    rng, z = np.random.default_rng(0), np.empty(shape[1])
    for payoffs in (
        rng.standard_normal(shape),
        rng.integers(-2, 3, shape).astype(float),
        1e-7 * rng.random(shape) + 5,
        np.repeat(rng.random((1, shape[1])), shape[0], axis=0),
        np.zeros(shape),
    ):
        maximin(payoffs, z)
        assert (z >= 0).all() and z.sum() == pytest.approx(1)
        unit = max(np.ptp(payoffs), 1e-300)
        assert abs((payoffs @ z).min() - game((payoffs - payoffs.min()) / unit)[0] * unit - payoffs.min()) < 1e-6 * unit


def test_exploration_is_forced_at_perfect_squares():
    assert [n for n in range(30) if is_square(n)] == [0, 1, 4, 9, 16, 25]
    problem = PROBLEMS["sphere"]
    K = len(problem.arms)
    run = play(fws(problem.arms, delta=1e-9), problem, np.random.default_rng(0), max_pulls=17 * K)
    assert run.counts.sum() == 17 * K and run.counts.min() >= 4
    first = play(fws(problem.arms, delta=1e-9), problem, np.random.default_rng(0), max_pulls=K)
    assert (first.counts == 1).all()


def test_looks_are_taken_every_trace_pulls_and_change_nothing():
    problem = PROBLEMS["benchmark"]
    plain, looked = (play(fws(problem.arms, delta=0.05, trace=n), problem, np.random.default_rng(0)) for n in (0, 50))
    assert (plain.counts == looked.counts).all() and plain.result.history == ()
    assert [look.pulls for look in looked.result.history[:3]] == [4, 54, 104]


def test_pulls_approach_what_the_lower_bound_asks_at_this_threshold():
    """N / (T* beta) tends to 1 as delta falls."""
    problem = PROBLEMS["benchmark"]
    time, ratios = characteristic_time(problem.arms, theta=problem.theta), []
    for seed in range(8):
        run = play(fws(problem.arms, delta=1e-40), problem, np.random.default_rng(seed))
        logdet = np.linalg.slogdet((problem.arms.T * run.counts) @ problem.arms + np.eye(4))[1]
        ratios.append(run.counts.sum() / (time * 2 * (logdet / 2 + 40 * np.log(10))))
    assert 0.9 < np.mean(ratios) < 1.2


def error_rate(told, delta=0.2, runs=150):
    rules = {"fws": lambda p, rng: fws(p.arms, delta=delta, sigma=told)}
    hard = LinearBandit([[1.0, 0.0], [0.0, 1.0], [0.8, 0.8]], theta=[1.0, 0.4])
    table = monte_carlo(rules, lambda rng: hard, runs=runs, progress=False)
    return 1 - table["correct"].mean(), 4 * np.sqrt(delta * (1 - delta) / runs)


def test_errors_are_rarer_than_delta_and_not_with_an_understated_sigma():
    rate, slack = error_rate(1.0)
    assert rate <= 0.2 + slack
    rate, slack = error_rate(0.1)
    assert rate > 0.2 + slack
