"""LinGapE at a budget: tables, accuracy, refusals. Its pulls: in plain/test_fixed_budget.py, design/test_gaps.py."""

import numpy as np
import pytest

from bandits_lib import LinearBandit, instances, play
from bandits_lib.design import allocations
from bandits_lib.fixed_budget import lingape_budget
from bandits_lib.protocol import unroll

SPHERE = instances.sphere(30, np.random.default_rng(1), d=4, mix=0.01)


@pytest.mark.parametrize("rows", [1, 64])
def test_tables_shared_or_not_make_the_same_pulls(rows, monkeypatch):
    problem = SPHERE
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
    problem = SPHERE
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
