"""Peace: the search for a prefix, budgets, and the approximation of azizi2022; its pulls are in tests/plain."""

import re
from math import ceil

import numpy as np
import pytest
from test_width import ADAPTIVE, PROBLEMS, SPHERE, TRANSDUCTIVE, prepared

from bandits_lib import LinearBandit, play
from bandits_lib.design.gaussian_width import solve_width
from bandits_lib.fixed_budget import peace
from bandits_lib.fixed_budget.peace import longest_prefix
from bandits_lib.numerics.least_squares import weighted_least_squares


@pytest.mark.parametrize("name", ["adaptive", "sphere"])
def test_bisection_finds_the_longest_prefix_of_a_scan(name):
    arms, points, normals = prepared(PROBLEMS[name])
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(points))
        ranked = np.ascontiguousarray(points[order])
        lam = solve_width(arms, ranked, normals)
        limit = max(ceil(lam.value / 2), 1)
        kept, design = longest_prefix(arms, ranked, normals, lam)
        assert 1 < kept < len(points) and design.value <= 1.001 * limit
        longer = solve_width(arms, ranked[: kept + 1], normals, tol=1e-4, most=400)
        assert longer.value > 0.99 * limit


def epochs_of(problem, budget, seed=0, **options):
    """A run, and the Samples it was told."""
    told, rng = [], np.random.default_rng(seed)
    rule = peace(problem.arms, problem.items, budget=budget, rng=np.random.default_rng(seed + 50), **options)
    reply = None
    while True:
        try:
            reply = problem.pull(rule.send(reply), rng)
        except StopIteration as stop:
            return stop.value, told
        told.append(reply)


def test_the_noise_level_has_no_effect_but_its_ratios_do():
    plain, loud = (epochs_of(ADAPTIVE, 160, sigma=sigma)[0] for sigma in (1.0, 7.0))
    assert plain.recommendation == loud.recommendation
    for one, other in zip(plain.history, loud.history, strict=True):
        np.testing.assert_array_equal(one.counts, other.counts)
    uneven = epochs_of(ADAPTIVE, 160, sigma=np.array([1.0, 1, 1, 1, 5, 1, 1, 1]))[0]
    assert uneven.history[0].counts[4] > 2 * plain.history[0].counts[4]


def test_a_small_budget_is_refused_and_the_smallest_named_one_runs():
    with pytest.raises(ValueError, match="at least 28 here .4 epochs of 7 pulls, the rank of the arms.; got 27"):
        next(peace(ADAPTIVE.arms, budget=27, rng=np.random.default_rng(0)))
    rule = peace(ADAPTIVE.arms, budget=28, sigma=ADAPTIVE.sigma, rng=np.random.default_rng(0))
    run = play(rule, ADAPTIVE, np.random.default_rng(0))
    assert run.counts.sum() == 28 and run.stopped
    with pytest.raises(ValueError, match="at least 21 here .3 stages of 7 pulls"):
        next(peace(ADAPTIVE.arms, budget=20, objective="ratio", rng=np.random.default_rng(0)))


def test_items_all_alike_and_copies_of_the_best():
    arms = np.eye(2)
    run = play(peace(arms, np.ones((3, 2)), budget=10, rng=np.random.default_rng(0)), LinearBandit(arms, theta=[1, 0]),
               np.random.default_rng(0))  # fmt: skip
    assert run.result.recommendation == 0 and run.counts.sum() == 0
    problem = LinearBandit([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [-1.0, 0.0]], theta=[1.0, 0.0], sigma=0.1)
    for objective in ("width", "ratio"):
        answers = {epochs_of(problem, 100, seed, objective=objective)[0].recommendation for seed in range(10)}
        assert answers <= {0, 1, 3}


@pytest.mark.parametrize("objective", ["width", "ratio"])
def test_the_smallest_budget_named_runs_whatever_the_arms(objective):
    """Random integer arms: copies, arms at the origin, any rank; with items of their own in every other case."""
    named = 0
    for seed in range(60):
        g = np.random.default_rng(seed)
        arms = g.integers(-1, 2, (g.integers(2, 9), g.integers(1, 5))).astype(float)
        arms[0, 0] = 1.0
        items = g.standard_normal((5, len(arms))) @ arms if seed % 2 else None
        problem = LinearBandit(arms, items, theta=g.standard_normal(arms.shape[1]))
        for budget in (1, 200):
            rule = peace(arms, items, budget=budget, objective=objective, draws=64, rng=np.random.default_rng(seed))
            try:
                run = play(rule, problem, g)
            except ValueError as error:
                named, budget = named + 1, int(re.search(r"at least (\d+) here", str(error)).group(1))
                rule = peace(arms, items, budget=budget, objective=objective, draws=64, rng=np.random.default_rng(seed))
                run = play(rule, problem, g)
            assert run.stopped and run.counts.sum() <= budget
    assert named > 40


# ---- azizi2022's approximation


def test_the_ratio_runs_the_stages_of_gse():
    result, told = epochs_of(SPHERE, 203, objective="ratio")
    assert [len(entry.active) for entry in result.history] == [20, 10, 5, 3, 2]
    assert [sample.counts.sum() for sample in told] == [40] * 5
    for entry, sample, after in zip(result.history, told, [*result.history[1:], None], strict=True):
        assert set(np.flatnonzero(sample.counts)) <= set(entry.active)
        fit = weighted_least_squares(SPHERE.arms, sample, 1.0)
        best = entry.active[np.argsort(-(SPHERE.arms[entry.active] @ fit.theta_hat), kind="stable")]
        kept = {result.recommendation} if after is None else set(after.active)
        assert kept == set(best[: len(kept)])


def test_the_ratio_design_minimises_the_ratio():
    """E max_z (z_0 - z)'A^-1/2 eta / (b + gap), computed directly, is no lower at 200 random designs."""
    result, told = epochs_of(TRANSDUCTIVE, 300, objective="ratio")
    entry, arms = result.history[1], TRANSDUCTIVE.arms
    scores = TRANSDUCTIVE.items[entry.active] @ result.history[0].theta_hat
    away = TRANSDUCTIVE.items[entry.active][np.argmax(scores)] - TRANSDUCTIVE.items[entry.active]
    ratios = away / (1 + scores.max() - scores)[:, None]
    normals = np.random.default_rng(0).standard_normal((3, 20_000))

    def value(weights):
        root = np.linalg.inv(np.linalg.cholesky((arms.T * weights) @ arms))
        return (ratios @ root.T @ normals).max(axis=0).mean()

    n = told[1].counts.sum()
    ours = value(np.maximum(told[1].counts / n, 1e-6))
    others = [value(w) for w in np.random.default_rng(1).dirichlet(np.ones(len(arms)), 200)]
    assert ours < 1.03 * min(others) and ours**2 == pytest.approx(entry.design_value, rel=0.2)
