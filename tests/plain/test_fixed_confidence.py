"""Every plain rule with fixed confidence makes the pulls that the fast one makes at its defaults."""

import sys
from functools import partial
from inspect import signature

import numpy as np
import pytest

from bandits_lib import LinearBandit, fixed_confidence, instances, play
from bandits_lib.design import frank_wolfe_design
from bandits_lib.plain.alba import alba
from bandits_lib.plain.bounded_rage import bounded_rage
from bandits_lib.plain.fws import fws
from bandits_lib.plain.h_rage import h_rage
from bandits_lib.plain.l_t3c import l_t3c
from bandits_lib.plain.lazy_track_and_stop import lazy_track_and_stop
from bandits_lib.plain.level_sets import level_sets
from bandits_lib.plain.lin_game import lin_game
from bandits_lib.plain.lingape import lingape
from bandits_lib.plain.rage import rage
from bandits_lib.plain.rage_halving import rage_halving
from bandits_lib.plain.sphere import sphere, sphere_direct
from bandits_lib.plain.xy_adaptive import xy_adaptive
from bandits_lib.plain.xy_oracle import xy_oracle
from bandits_lib.plain.xy_static import xy_static

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
MOST = 1_500  # pulls of the rules that choose one by one


# ---- the fast rules, by the names that the plain ones give their arguments


def fast_level_sets(*told, alpha, **options):
    return fixed_confidence.rage_halving(*told, objective="level", threshold=alpha, **options)


# ---- what rules are told beside arms, items, delta and rng


def nothing(problem):
    return {}


def noise(problem):
    return {"sigma": problem.sigma.max()}


def norm_and_noise(problem):
    return noise(problem) | {"theta_bound": float(np.linalg.norm(problem.theta))}


def truth_and_noise(problem):
    return noise(problem) | {"theta_star": problem.theta}


def threshold_and_noise(problem):
    return noise(problem) | {"alpha": float(np.median(problem.item_values)) + 0.05}


def bounds(problem):
    return {"sigma_min": problem.sigma.min(), "sigma_max": problem.sigma.max()}


with_threshold = partial(fixed_confidence.xy_oracle, design=frank_wolfe_design)  # as appendix F of fiez2019 has it
RULES = {  # plain, fast, what both are told, the most pulls, the problems
    "bounded_rage": (bounded_rage, fixed_confidence.bounded_rage, nothing, None, IN_THE_UNIT_INTERVAL),
    "rage": (rage, fixed_confidence.rage, noise, None, PROBLEMS),
    "rage_halving": (rage_halving, fixed_confidence.rage_halving, noise, None, PROBLEMS),
    "level_sets": (level_sets, fast_level_sets, threshold_and_noise, None, PROBLEMS),
    "h_rage": (h_rage, fixed_confidence.h_rage, bounds, None, PROBLEMS | HARD),
    "xy_static": (xy_static, fixed_confidence.xy_static, noise, None, PROBLEMS),
    "xy_oracle": (xy_oracle, with_threshold, truth_and_noise, None, PROBLEMS),
    "xy_adaptive": (xy_adaptive, fixed_confidence.xy_adaptive, noise, None, PROBLEMS),
    "lingape": (lingape, fixed_confidence.lingape, norm_and_noise, MOST, PROBLEMS),
    "lazy_track_and_stop": (lazy_track_and_stop, fixed_confidence.lazy_track_and_stop, noise, MOST, PROBLEMS),
    "lin_game": (lin_game, fixed_confidence.lin_game, noise, MOST, ONE_BY_ONE),
    "fws": (fws, fixed_confidence.fws, noise, 800, ONE_BY_ONE),
    "l_t3c": (l_t3c, fixed_confidence.l_t3c, noise, MOST, ONE_BY_ONE),
}


def same(plain, fast, problem, seed, max_pulls=None):
    """Play both with the same rewards: the same counts and the same recommendation, or both were cut off."""
    slow, quick = (play(rule, problem, np.random.default_rng(seed), max_pulls) for rule in (plain, fast))
    np.testing.assert_array_equal(slow.counts, quick.counts)
    assert slow.stopped == quick.stopped
    if slow.stopped:
        np.testing.assert_allclose(slow.result.recommendation, quick.result.recommendation, rtol=1e-12)
    return quick


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("rule, name", [(rule, name) for rule in RULES for name in RULES[rule][-1]])
def test_the_pulls_are_those_of_the_fast_rule(rule, name, seed):
    plain, fast, told, most, _ = RULES[rule]
    problem, draws = (PROBLEMS | HARD | ONE_BY_ONE | IN_THE_UNIT_INTERVAL)[name], "rng" in signature(plain).parameters
    rules = []
    for make in (plain, fast):
        rng = {"rng": np.random.default_rng(seed + 100)} if draws else {}
        rules.append(make(problem.arms, problem.items, delta=0.1, **told(problem), **rng))
    run = same(*rules, problem, seed, most)
    assert run.counts.sum() > 20


def lengths_as_published(s, L, d):
    """l_s of the published code of fiez2019: epsilon_s is about 4 / 1.1^s."""
    return 4 * max(4 * L**2, 3) * (2 + (6 + 4 / 1.1**s) * d) * (1.1**s / 4) ** 2


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("growth", [2, 1.1])
@pytest.mark.parametrize("name", ["benchmark", "sphere", "sphere of 20"])
def test_alba(name, growth, seed, monkeypatch):
    problem = (PROBLEMS | HARD)[name]
    if growth == 1.1:
        monkeypatch.setattr(sys.modules[alba.__module__], "length", lengths_as_published)
    told = {"delta": 0.1, "theta_bound": float(np.linalg.norm(problem.theta))}
    plain = alba(problem.arms, **told, rng=np.random.default_rng(7))
    fast = fixed_confidence.alba(problem.arms, **told, growth=growth, rng=np.random.default_rng(7))
    same(plain, fast, problem, seed)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("d, sigma", [(2, 1.0), (4, 0.6)])
@pytest.mark.parametrize("plain", [sphere, sphere_direct])
def test_the_sphere(plain, d, sigma, seed):
    problem = LinearBandit(np.eye(d), theta=np.linspace(0.3, 1.0, d), sigma=sigma)
    told = {"epsilon": 2.0 if plain is sphere else 0.3, "delta": 0.05, "sigma": sigma}
    options = {"stop": "paper", "delta_schedule": "union"} if plain is sphere else {}
    fast = fixed_confidence.sphere_track_and_stop(d, **told, **options)
    run = same(plain(d, **told), fast, problem, seed, max_pulls=20_000)
    assert run.stopped and run.counts.sum() > 3 * d
