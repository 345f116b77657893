"""Every plain rule with fixed confidence makes the pulls that the fast one makes at its defaults."""

import sys
from functools import partial
from importlib import import_module
from inspect import signature

import numpy as np
import pytest

from bandits_lib import LinearBandit, fixed_confidence, instances, play
from bandits_lib.design import frank_wolfe_design
from bandits_lib.plain.alba import alba
from bandits_lib.plain.level_sets import level_sets
from bandits_lib.plain.sphere import sphere, sphere_direct
from bandits_lib.protocol import OWN, PULLS

PROBLEMS = {
    "benchmark": instances.benchmark(4, angle=0.3),
    "sphere": LinearBandit(instances.sphere(12, np.random.default_rng(1), d=3).arms, theta=[2.0, 1.0, 0.0]),
    "items": LinearBandit(
        np.eye(3), items=[[1.0, 0.2, 0.0], [0.3, 1.0, 0.4], [0.5, 0.5, 1.0]], theta=[1.0, 0.2, 0.1], sigma=0.7
    ),
    "noisy": instances.bent_benchmark(angle=0.8, alpha2=0.3, beta2=0.1),
}
HARD = {  # for rules in phases of any size
    "signal to noise": instances.signal_to_noise(angle=0.1),
    "bent": instances.bent_benchmark(angle=0.1),
    "sphere of 20": instances.sphere(20, np.random.default_rng(1), d=3),
}
ONE_BY_ONE = PROBLEMS | {"close": instances.sphere(25, np.random.default_rng(1), d=3)}
PAGES = [[1.0, a == 0, a == 1, b, c] for a in range(3) for b in (0, 1) for c in (1, 0)]  # headline, picture, button
IN_THE_UNIT_INTERVAL = {  # rewards 0 and 1
    "two pages": LinearBandit([[1.0, 0.0], [1.0, 1.0]], theta=[0.1, 0.08], noise="bernoulli"),
    "shop": LinearBandit(PAGES, theta=[0.1, 0.08, -0.03, -0.04, 0.05], noise="bernoulli"),
    "binary items": LinearBandit(
        np.eye(3), items=[[1.0, 0.2, 0.0], [0.3, 1.0, 0.4], [0.5, 0.5, 1.0]], theta=[0.9, 0.3, 0.1], noise="bernoulli"
    ),
    "plane": LinearBandit(
        np.vstack([np.eye(3)[:2], [0.5, 0.5, 0.0], [0.3, 0.6, 0.0]]), theta=[0.97, 0.6, 0.0], noise="bernoulli"
    ),
}
MOST = {"fws": 800}  # pulls of the rules that choose one by one, 1,500 for the others
TOLD = {  # what a rule is told beside arms, items, delta and rng, by the name of its argument
    "sigma": lambda problem: problem.sigma.max(),
    "sigma_min": lambda problem: problem.sigma.min(),
    "sigma_max": lambda problem: problem.sigma.max(),
    "theta_bound": lambda problem: float(np.linalg.norm(problem.theta)),
    "theta_star": lambda problem: problem.theta,
    "threshold": lambda problem: float(np.median(problem.item_values)) + 0.05,
}
APART = {"alba", "sphere_track_and_stop"}  # tested below


def plain_level_sets(arms, items, *, threshold, delta, sigma):
    return level_sets(arms, items, delta, threshold, sigma)


PLAIN = {
    name: getattr(import_module(f"bandits_lib.plain.{name}"), name) for name in {*fixed_confidence.__all__} - APART
}
FAST = {name: getattr(fixed_confidence, name) for name in PLAIN}
FAST["xy_oracle"] = partial(FAST["xy_oracle"], design=frank_wolfe_design)  # as appendix F of fiez2019 has it
PLAIN["level_sets"], FAST["level_sets"] = plain_level_sets, partial(FAST["rage_halving"], objective="level")


def one_by_one(name):
    return name in fixed_confidence.__all__ and getattr(fixed_confidence, name).row.asks == PULLS


def problems(name):
    """The problems on which a rule is compared: with rewards of its kind, and as many as its pulls allow."""
    if name in fixed_confidence.__all__ and getattr(fixed_confidence, name).row.noise == OWN:
        return IN_THE_UNIT_INTERVAL
    return ONE_BY_ONE if one_by_one(name) else PROBLEMS | (HARD if name == "h_rage" else {})


def same(plain, fast, problem, max_pulls=None):
    """Play both with the same rewards: the same counts and the same recommendation, or both were cut off."""
    slow, quick = (play(rule, problem, np.random.default_rng(0), max_pulls) for rule in (plain, fast))
    np.testing.assert_array_equal(slow.counts, quick.counts)
    assert slow.stopped == quick.stopped
    if slow.stopped:
        np.testing.assert_allclose(slow.result.recommendation, quick.result.recommendation, rtol=1e-12)
    return quick


@pytest.mark.parametrize("name, problem", [(name, problem) for name in sorted(PLAIN) for problem in problems(name)])
def test_the_pulls_are_those_of_the_fast_rule(name, problem):
    problem, arguments = problems(name)[problem], signature(PLAIN[name]).parameters
    told = {argument: TOLD[argument](problem) for argument in TOLD.keys() & arguments}
    rules = []
    for make in (PLAIN[name], FAST[name]):
        rng = {"rng": np.random.default_rng(100)} if "rng" in arguments else {}
        rules.append(make(problem.arms, problem.items, delta=0.1, **told, **rng))
    run = same(*rules, problem, MOST.get(name, 1_500) if one_by_one(name) else None)
    assert run.counts.sum() > 20


def lengths_as_published(s, L, d):
    """l_s of the published code of fiez2019: epsilon_s is about 4 / 1.1^s."""
    return 4 * max(4 * L**2, 3) * (2 + (6 + 4 / 1.1**s) * d) * (1.1**s / 4) ** 2


@pytest.mark.parametrize("growth", [2, 1.1])
@pytest.mark.parametrize("name", ["benchmark", "sphere", "sphere of 20"])
def test_alba(name, growth, monkeypatch):
    problem = (PROBLEMS | HARD)[name]
    if growth == 1.1:
        monkeypatch.setattr(sys.modules[alba.__module__], "length", lengths_as_published)
    told = {"delta": 0.1, "theta_bound": float(np.linalg.norm(problem.theta))}
    plain = alba(problem.arms, **told, rng=np.random.default_rng(7))
    fast = fixed_confidence.alba(problem.arms, **told, growth=growth, rng=np.random.default_rng(7))
    same(plain, fast, problem)


@pytest.mark.parametrize("d, sigma", [(2, 1.0), (4, 0.6)])
@pytest.mark.parametrize("plain", [sphere, sphere_direct])
def test_the_sphere(plain, d, sigma):
    problem = LinearBandit(np.eye(d), theta=np.linspace(0.3, 1.0, d), sigma=sigma)
    told = {"epsilon": 2.0 if plain is sphere else 0.3, "delta": 0.05, "sigma": sigma}
    options = {"stop": "paper", "delta_schedule": "union"} if plain is sphere else {}
    fast = fixed_confidence.sphere_track_and_stop(d, **told, **options)
    run = same(plain(d, **told), fast, problem, max_pulls=20_000)
    assert run.stopped and run.counts.sum() > 3 * d
