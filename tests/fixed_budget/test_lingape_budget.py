"""LinGapE at a budget: tables, the published formula. Its pulls: plain/test_fixed_budget.py, design/test_gaps.py."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from bandits_lib import LinearBandit, instances, play
from bandits_lib.design import pair_allocations
from bandits_lib.design.pair_allocations import OrderedPairs
from bandits_lib.fixed_budget import lingape_budget
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import unroll

SPHERE = instances.sphere(30, np.random.default_rng(1), d=4, mix=0.01)


@pytest.mark.parametrize("rows", [1, 64])
def test_tables_shared_or_not_make_the_same_pulls(rows, monkeypatch):
    problem = SPHERE
    monkeypatch.setattr(pair_allocations, "ROWS", rows)
    monkeypatch.setattr(pair_allocations, "_remembered", pair_allocations.Remembered())
    alone = []
    for seed in range(4):
        pair_allocations.allocations_clear()
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
    assert len(pair_allocations._remembered.tables) == pair_allocations.TABLES


def test_two_runs_side_by_side_do_not_disturb_each_other(monkeypatch):
    """A table that grows under another run's hands must not be read beyond its old end."""
    problem = SPHERE
    monkeypatch.setattr(pair_allocations, "ROWS", 1)
    monkeypatch.setattr(pair_allocations, "_remembered", pair_allocations.Remembered())

    def fresh():
        return unroll(lingape_budget(problem.arms, budget=200, delta=0.1))

    alone = [play(fresh(), problem, np.random.default_rng(seed)).counts for seed in range(2)]
    pair_allocations.allocations_clear()
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


@pytest.mark.parametrize("formula", ["paper", "code"])
@pytest.mark.usefixtures("often_switched")
def test_runs_in_threads_do_not_disturb_each_other(formula, monkeypatch):
    """The threads of a worker meet new pairs at the same time, and their tables grow."""
    monkeypatch.setattr(pair_allocations, "ROWS", 1)
    monkeypatch.setattr(pair_allocations, "_remembered", pair_allocations.Remembered())

    def counts(seed):
        rule = lingape_budget(SPHERE.arms, budget=100, delta=0.1, formula=formula)
        return play(rule, SPHERE, np.random.default_rng(seed)).counts

    alone = [counts(seed) for seed in range(8)]
    for _ in range(5):
        pair_allocations.allocations_clear()
        with ThreadPoolExecutor(4) as threads:
            np.testing.assert_array_equal(list(threads.map(counts, range(8))), alone)


def as_published(problem, rng, budget, delta, sigma, ridge=1e-8):
    """The published LinGapE with fresh inversions at every pull: counts and leader."""
    arms, pairs = problem.arms, OrderedPairs(problem.arms)
    K, d = arms.shape
    counts = np.ones(K, dtype=np.int64)
    sums = problem.pull(counts, rng).sums
    while True:
        inverse = np.linalg.inv(ridge * np.eye(d) + (arms.T * counts) @ arms)
        values = arms @ inverse @ arms.T @ sums
        leader, t = argmax(values), counts.sum()
        if t == budget:
            return counts, leader
        width = sigma**2 * np.sqrt(d * np.log(K**2 * (1 + t) / ridge / delta)) + 2 * np.sqrt(ridge)
        y = arms - arms[leader]
        leads = values - values[leader] + width * np.sqrt(np.einsum("kd,de,ke->k", y, inverse, y))
        leads[leader] = -np.inf
        share = pairs.solve(leader, argmax(leads))
        arm = argmax(-np.where(share > 0, counts / np.where(share > 0, share, 1), np.inf))
        counts[arm] += 1
        sums[arm] += problem.means[arm] + problem.sigma[arm] * rng.standard_normal()


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    "problem", [instances.benchmark(5, angle=0.1, scale=1.0, sigma=np.sqrt(10)), SPHERE], ids=["adaptive", "sphere"]
)
def test_formula_code_pulls_what_the_published_code_pulls(problem, seed):
    sigma = problem.sigma[0]
    rule = lingape_budget(problem.arms, budget=200, delta=0.4, sigma=sigma, formula="code")
    run = play(rule, problem, np.random.default_rng(seed), trace=50)
    counts, leader = as_published(problem, np.random.default_rng(seed), 200, 0.4, sigma)
    np.testing.assert_array_equal(run.counts, counts)
    assert run.result.recommendation == leader
