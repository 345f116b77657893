"""Every plain rule with a fixed budget makes the pulls that the fast one makes at its defaults."""

import sys
from functools import partial
from importlib import import_module
from inspect import signature

import numpy as np
import pytest

from bandits_lib import LinearBandit, fixed_budget, instances, play
from bandits_lib.design.gaussian_width import solve_width
from bandits_lib.plain import gse_explorers
from bandits_lib.plain.gse import gse, logistic
from bandits_lib.plain.linucb import linucb
from bandits_lib.plain.peace import peace
from bandits_lib.plain.ucb_glm import ucb_glm

RNG = np.random.default_rng
PROBLEMS = {
    "benchmark": instances.benchmark(4, angle=0.3, scale=1.0, sigma=1.5),
    "sphere": instances.sphere(12, RNG(1), d=3, mix=0.01),
    "basis": LinearBandit(np.eye(5), theta=[0.6, 0.5, 0.3, 0.0, -0.2]),
}
LOGISTIC = {d: instances.logistic(d, RNG(d)) for d in (3, 5, 10, 12)}
ELSEWHERE = {
    "more dimensions than arms": LinearBandit(RNG(2).standard_normal((4, 7)), theta=np.ones(7)),
    "duplicates": LinearBandit(np.repeat(np.eye(3), 2, axis=0), theta=[0.5, 0.0, 0.0]),
    "sphere": instances.sphere(30, RNG(1), d=4, mix=0.01),
}
each_elsewhere = pytest.mark.parametrize("problem", ELSEWHERE.values(), ids=ELSEWHERE.keys())
each_problem = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS.keys())
each_logistic = pytest.mark.parametrize("problem", LOGISTIC.values(), ids=LOGISTIC.keys())


def same(plain, fast, problem):
    """Play both with the same rewards: the same counts and the same recommendation."""
    slow, quick = (play(rule, problem, RNG(0), misspecified=True) for rule in (plain, fast))
    np.testing.assert_array_equal(slow.counts, quick.counts)
    assert slow.stopped and slow.result.recommendation == quick.result.recommendation
    return slow


TOLD = {  # what a rule is told beside arms, budget and rng, by the name of its argument
    "sigma": lambda problem: problem.sigma.max(),
    "delta": lambda problem: 0.1,
    "alpha": lambda problem: problem.sigma.max() * (1 + np.sqrt(np.log(2 / 0.001) / 2)),
}
APART = {"peace", "ucb_glm"}  # tested below
RULES = [name for name in fixed_budget.__all__ if name not in APART]


def versions(name):
    """The plain and the fast rule."""
    return getattr(import_module(f"bandits_lib.plain.{name}"), name), getattr(fixed_budget, name)


def told(name, problem):
    return {argument: TOLD[argument](problem) for argument in TOLD.keys() & signature(versions(name)[0]).parameters}


@pytest.mark.parametrize("budget", [60, 301])
@each_problem
@pytest.mark.parametrize("name", RULES)
def test_the_pulls_are_those_of_the_fast_rule(name, problem, budget):
    rules = []
    for make in versions(name):
        rng = {"rng": RNG(100)} if "rng" in signature(versions(name)[0]).parameters else {}
        rules.append(make(problem.arms, budget=budget, **told(name, problem), **rng))
    run = same(*rules, problem)
    assert budget / 2 < run.counts.sum() <= budget


@each_elsewhere
def test_linucb_where_arms_are_few_or_alike(problem):
    given = {"budget": 400, "alpha": 1.3}
    same(linucb(problem.arms, **given), fixed_budget.linucb(problem.arms, **given), problem)


# ---- GSE: explorers, survivors that span less, eta, the logistic model


def explorer(design):
    """The plain explorer of this name."""
    explore = getattr(gse_explorers, design)
    return partial(explore, rng=RNG(5)) if design == "uniform" else explore


@pytest.mark.parametrize("design", [name for name in gse_explorers.__all__ if name != "g_optimal"])
@each_problem
def test_gse_explores_as_it_is_told(design, problem):
    plain = gse(problem.arms, 120, explore=explorer(design))
    same(plain, fixed_budget.gse(problem.arms, budget=120, design=design, rng=RNG(5)), problem)


@pytest.mark.parametrize("eta", [2, 3, 7])
def test_gse_where_arms_span_a_plane_and_eta_is_another(eta):
    plane = instances.sphere(9, RNG(3), d=2).arms @ np.array([[1.0, 0.0, 2.0], [0.0, 1.0, -1.0]])
    problem = LinearBandit(plane, theta=[1.0, 0.5, 0.0])
    same(gse(plane, 90, eta), fixed_budget.gse(plane, budget=90, eta=eta), problem)


@pytest.mark.parametrize("budget", [64, 400])
@each_logistic
def test_gse_with_the_logistic_model(budget, problem):
    plain = gse(problem.arms, budget, estimate=logistic)
    same(plain, fixed_budget.gse(problem.arms, budget=budget, model="logistic"), problem)


@each_logistic
def test_ucb_glm(problem):
    given = {"budget": 120, "alpha": 0.7}
    same(ucb_glm(problem.arms, **given), fixed_budget.ucb_glm(problem.arms, **given), problem)


# ---- Peace, whose designs begin afresh here and keep their atoms


def fresh(arms, points, normals, *start_and_target):
    return solve_width(arms, points, normals, most=200)


@each_problem
def test_peace_but_for_the_short_cuts_of_the_fast_rule(problem, monkeypatch):
    """With all designs from uniform weights, none by linear program, and no atom dropped, the pulls are the same."""
    module = sys.modules[fixed_budget.peace.__module__]
    monkeypatch.setattr(module, "least_width", fresh)
    monkeypatch.setattr(module, "without_slight_atoms", lambda arms, weights, points: weights)
    plain = peace(problem.arms, 200, RNG(50))
    run = same(plain, fixed_budget.peace(problem.arms, budget=200, rng=RNG(50)), problem)
    assert len(np.unique(run.counts)) > 1


@each_problem
def test_peace_spends_as_much_as_the_fast_rule(problem):
    plain = play(peace(problem.arms, 200, RNG(50)), problem, RNG(0))
    fast = play(fixed_budget.peace(problem.arms, budget=200, sigma=problem.sigma, rng=RNG(50)), problem, RNG(0))
    assert plain.counts.sum() == fast.counts.sum()


# ---- the comparison can fail


@pytest.mark.parametrize("name", ["bayes_gap", "linucb", "lingape_budget"])
def test_a_rule_told_otherwise_pulls_otherwise(name):
    problem = PROBLEMS["sphere"]
    right = told(name, problem)
    wrong = {argument: 2 * value if argument in ("alpha", "sigma") else value for argument, value in right.items()}
    plain, fast = versions(name)
    with pytest.raises(AssertionError):
        same(plain(problem.arms, budget=301, **wrong), fast(problem.arms, budget=301, **right), problem)
