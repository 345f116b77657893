"""LinGapE at a budget: the compiled loop pulls what a plain-numpy twin pulls; its program is the signed one."""

import sys

import numpy as np
import pytest
from scipy.optimize import linprog

from bandits_lib import LinearBandit, instances, play
from bandits_lib.design import allocations
from bandits_lib.design.allocations import Allocations
from bandits_lib.fixed_budget import lingape_budget
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import unroll

PROBLEMS = {
    "adaptive": instances.benchmark(5, angle=0.1, scale=1.0, sigma=np.sqrt(10)),
    "sphere": instances.sphere(30, np.random.default_rng(1), d=4, mix=0.01),
    "duplicates": LinearBandit(np.repeat(np.eye(3), 2, axis=0), theta=[0.5, 0.0, 0.0]),
}


def twin(problem, rng, budget, delta, rule, weights, ridge=1e-8, sigma=1.0, theta_bound=1.0):
    """LinGapE in plain numpy with a fresh inversion at every pull, one of each arm first: counts, leader."""
    arms = problem.arms
    K, d = arms.shape
    counts, sums = np.ones(K, dtype=np.int64), problem.pull(np.ones(K, dtype=np.int64), rng).sums
    while True:
        information = ridge * np.eye(d) + (arms.T * counts) @ arms
        inverse = np.linalg.inv(information)
        values = arms @ (inverse @ (arms.T @ sums))
        i = argmax(values)
        if counts.sum() == budget:
            return counts, i
        logdet = np.linalg.slogdet(information)[1] - d * np.log(ridge)
        radius = sigma * np.sqrt(2 * np.log(K**2 / delta) + logdet) + np.sqrt(ridge) * theta_bound
        y = arms - arms[i]
        leads = values - values[i] + radius * np.sqrt(np.maximum(0, np.einsum("md,de,me->m", y, inverse, y)))
        leads[i] = -np.inf
        j = argmax(leads)
        if rule == "greedy":
            gains = (arms @ inverse @ (arms[i] - arms[j])) ** 2
            arm = argmax(gains / (1 + np.einsum("kd,de,ke->k", arms, inverse, arms)))
        else:
            lack = np.full(K, -np.inf)
            np.divide(-counts, weights(i, j), out=lack, where=weights(i, j) > 0)
            arm = argmax(lack)
        counts[arm] += 1
        sums[arm] += problem.means[arm] + problem.sigma[arm] * rng.standard_normal()


def table_weights(problem):
    """weights(i, j) -> (K,), from a table of allocations of its own."""
    table = Allocations(problem.arms)

    def weights(i, j):
        table.solve(i, j)
        row, dense = table.rows[i, j], np.zeros(len(problem.arms))
        used = table.shares[row] > 0
        dense[table.support[row][used]] = table.shares[row][used]
        return dense

    return weights


@pytest.mark.parametrize("rule", ["ratio", "greedy"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_compiled_loop_pulls_what_the_twin_pulls(name, rule, monkeypatch):
    problem = PROBLEMS[name]
    monkeypatch.setattr(allocations, "_tables", type(allocations._tables)())
    monkeypatch.setattr(
        sys.modules[lingape_budget.__module__], "basis", lambda arms: np.eye(arms.shape[1])
    )  # the same coordinates
    for seed in range(2):
        make = lingape_budget(problem.arms, budget=600, delta=0.1, rule=rule)
        run = play(make, problem, np.random.default_rng(seed))
        counts, leader = twin(problem, np.random.default_rng(seed), 600, 0.1, rule, table_weights(problem))
        np.testing.assert_array_equal(run.counts, counts)
        assert run.result.recommendation == leader and run.counts.sum() == 600


PROGRAMS = {f"normal {seed}": np.random.default_rng(seed).standard_normal((15, 4)) for seed in range(3)}
PROGRAMS |= {
    "adaptive": instances.benchmark(9, angle=0.1).arms,
    "independent": instances.sphere(7, np.random.default_rng(0), d=7).arms,
}


@pytest.mark.parametrize("arms", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_allocations_solve_the_signed_program(arms):
    """||w||_1 is least among all signed w with X'w = x_i - x_j (HiGHS), and more pairs make the table grow."""
    (K, r), table = arms.shape, Allocations(arms)
    for i in range(K):
        for j in range(i):
            table.solve(i, j)
            row = table.rows[i, j]
            used = table.shares[row] > 0
            signed, y = np.hstack([arms.T, -arms.T]), arms[i] - arms[j]
            least = linprog(np.ones(2 * K), A_eq=signed, b_eq=y).fun
            support = arms[table.support[row][used]]
            inverse = np.linalg.pinv((support.T * table.shares[row][used]) @ support)
            assert used.sum() <= r and table.shares[row][used].sum() == pytest.approx(1)
            assert y @ inverse @ y == pytest.approx(least**2, rel=1e-6), "Elfving's theorem"
    assert table.solved == K * (K - 1) // 2 <= len(table.support)


def test_most_pairs_have_no_solution_of_positive_amounts():
    """Why the published program, w >= 0, is not the one that is analysed."""
    arms = instances.sphere(16, np.random.default_rng(0), d=10).arms
    signed = [linprog(np.ones(16), A_eq=arms.T, b_eq=arms[i] - arms[j]).status for i in range(16) for j in range(i)]
    assert np.mean(np.array(signed) == 2) > 0.5, "status 2: infeasible"


def test_nearly_parallel_arms_fall_back_on_a_general_solver(monkeypatch):
    def singular(arms, direction):
        raise np.linalg.LinAlgError

    arms = np.random.default_rng(0).standard_normal((9, 3))
    exact = Allocations(arms)
    exact.solve(2, 5)
    monkeypatch.setattr(allocations, "single_direction", singular)
    general = Allocations(arms)
    general.solve(2, 5)
    np.testing.assert_array_equal(general.support, exact.support)
    np.testing.assert_allclose(general.shares, exact.shares)


@pytest.mark.parametrize("rows", [1, 64])
def test_tables_shared_or_not_make_the_same_pulls(rows, monkeypatch):
    problem = PROBLEMS["sphere"]
    monkeypatch.setattr(allocations, "ROWS", rows)
    monkeypatch.setattr(allocations, "_tables", type(allocations._tables)())
    alone = []
    for seed in range(4):
        allocations.allocations_clear()
        run = play(lingape_budget(problem.arms, budget=300, delta=0.1), problem, np.random.default_rng(seed))
        alone.append(run.counts)
    shared = [
        play(lingape_budget(problem.arms, budget=300, delta=0.1), problem, np.random.default_rng(seed)).counts
        for seed in range(4)
    ]
    np.testing.assert_array_equal(alone, shared)
    for seed in range(9):  # tables are forgotten, the least recently used first
        arms = instances.sphere(8, np.random.default_rng(seed), d=3).arms
        next(lingape_budget(arms, budget=50, delta=0.1))
        play(lingape_budget(arms, budget=50, delta=0.1), LinearBandit(arms, theta=np.ones(3)), np.random.default_rng(0))
    assert len(allocations._tables) == allocations.TABLES


def test_two_runs_side_by_side_do_not_disturb_each_other(monkeypatch):
    """A table that grows under another run's hands must not be read beyond its old end."""
    problem = PROBLEMS["sphere"]
    monkeypatch.setattr(allocations, "ROWS", 1)
    monkeypatch.setattr(allocations, "_tables", type(allocations._tables)())

    def fresh():
        return unroll(lingape_budget(problem.arms, budget=200, delta=0.1))

    alone = [play(fresh(), problem, np.random.default_rng(seed)).counts for seed in range(2)]
    allocations.allocations_clear()
    runs, rngs, counts = [fresh(), fresh()], [np.random.default_rng(seed) for seed in range(2)], [0, 0]
    asked = [next(run) for run in runs]
    for _ in range(171):  # the first request is of one pull for each of the 30 arms
        for n in range(2):
            counts[n] = counts[n] + asked[n]
            try:
                asked[n] = runs[n].send(problem.pull(asked[n], rngs[n]))
            except StopIteration:
                pass
    np.testing.assert_array_equal(counts, alone)


def test_more_budget_more_accuracy():
    problem = instances.benchmark(7, angle=0.5, scale=1.0)
    right = [
        np.mean(
            [
                play(
                    lingape_budget(problem.arms, budget=B, delta=0.1), problem, np.random.default_rng(s)
                ).result.recommendation
                == problem.best_item
                for s in range(200)
            ]
        )
        for B in (16, 800)
    ]
    assert right[1] - right[0] > 4 * np.sqrt(0.5 / 200)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"budget": 2}, r"budget must be a whole number of pulls, at least 3 here \(each arm once\)"),
        ({"delta": 1.0}, "delta must lie strictly between 0 and 1"),
        ({"rule": "random"}, "rule must be one of"),
        ({"theta_bound": 0.0}, "theta_bound must be positive"),
        ({"ridge": 0.0}, "ridge must be positive"),
        ({"sigma": -1.0}, "sigma must be"),
    ],
)
def test_bad_arguments_are_refused_before_any_pull(arguments, words):
    with pytest.raises(ValueError, match=words):
        next(lingape_budget(np.eye(3), **({"budget": 10, "delta": 0.1} | arguments)))
