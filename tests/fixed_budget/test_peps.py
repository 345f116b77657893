"""PEPS: the compiled loop against a plain-numpy twin that draws the same numbers."""

import numpy as np
import pytest

from bandits_lib import LinearBandit, instances, play
from bandits_lib.design import pairs, xy_design
from bandits_lib.design.g_optimal import spanning_arms
from bandits_lib.fixed_budget import peps
from bandits_lib.numerics.span import span
from bandits_lib.numerics.ties import argmax


def twin(problem, rng, rule_rng, budget, sigma, tries):
    """PEPS in plain numpy, the root of the inverse by rank-one updates as the sampler needs it; also its changes."""
    space = span(problem.arms)
    arms, points = space.arms, space.coordinates(problem.items - problem.items[0])
    K, r = arms.shape
    counts = np.zeros(K, dtype=np.int64)
    counts[spanning_arms(arms)] = 1
    response = arms.T @ problem.pull(counts, rng).sums
    root = np.linalg.inv(np.linalg.cholesky((arms.T * counts) @ arms)).T
    fixed = xy_design(problem.arms, pairs(problem.items)).weights
    weights, largest, changed = 0.5 * fixed + 0.5 / K, 0.0, 0
    while True:
        inverse = np.linalg.inv((arms.T * counts) @ arms)
        theta = inverse @ response
        leader = argmax(points @ theta)
        if counts.sum() == budget:
            return counts, leader, changed
        differences = points[leader] - points
        squares = np.einsum("md,de,me->m", differences, inverse, differences)
        leads = np.full(len(points), -np.inf)
        apart = squares > 1e-12
        leads[apart] = -((differences[apart] @ theta) ** 2) / squares[apart] / sigma**2
        rival, other = argmax(leads), None
        if -leads[rival] / 2 <= np.log(1 + len(points) * tries):
            for _ in range(tries):
                sampled = theta + root @ (sigma * rule_rng.standard_normal(r))
                if argmax(points @ sampled) != leader:
                    other, changed = sampled, changed + 1
                    break
        if other is None:
            y = differences[rival]
            other = theta - (y @ theta) / squares[rival] * inverse @ y
        gains = (arms @ (theta - other)) ** 2
        largest = max(largest, gains.max())
        weights = weights * np.exp(np.sqrt(np.log(K) / budget) * gains / largest)
        weights /= weights.sum()
        mixed = counts.sum() ** -0.25
        cumulative = np.cumsum((1 - mixed) * weights + mixed * fixed)
        arm = min(int(np.searchsorted(cumulative, rule_rng.random(), side="right")), K - 1)
        counts[arm] += 1
        response += arms[arm] * (problem.means[arm] + problem.sigma[arm] * rng.standard_normal())
        if counts.sum() % 1_000 == 0:
            root = np.linalg.inv(np.linalg.cholesky((arms.T * counts) @ arms)).T
            continue
        b = root.T @ arms[arm]
        root -= (1 - 1 / np.sqrt(1 + b @ b)) / (b @ b) * np.outer(root @ b, b)


PROBLEMS = {
    "adaptive": instances.benchmark(5, angle=0.1, scale=1.0, sigma=2.0),
    "sphere": instances.sphere(20, np.random.default_rng(1), d=4, mix=0.01),
    "items": LinearBandit(np.eye(3), items=[[1.0, 0.2, 0.0], [0.3, 1.0, 0.4], [0.5, 0.5, 1.0]], theta=[1.0, 0.2, 0.1]),
    "easy": LinearBandit(np.eye(3), theta=[6.0, 0.0, 0.0]),
    "plane in space": LinearBandit(
        instances.sphere(9, np.random.default_rng(3), d=2).arms @ np.array([[1.0, 0.0, 2.0], [0.0, 1.0, -1.0]]),
        theta=[1.0, 0.5, 0.0],
    ),
}


@pytest.mark.parametrize("tries", [0, 20])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_compiled_loop_pulls_what_the_twin_pulls(name, tries):
    problem = PROBLEMS[name]
    sigma = float(problem.sigma[0])
    for seed in range(2):
        rng = np.random.default_rng(seed + 100)
        rule = peps(problem.arms, problem.items, budget=200, sigma=sigma, tries=tries, rng=rng)
        run = play(rule, problem, np.random.default_rng(seed))
        rule_rng = np.random.default_rng(seed + 100)
        counts, leader, changed = twin(problem, np.random.default_rng(seed), rule_rng, 200, sigma, tries)
        np.testing.assert_array_equal(run.counts, counts)
        assert run.result.recommendation == leader
        assert (changed > 0) == (tries > 0 and name != "easy")  # there no sample changes the answer


def test_the_root_is_still_exact_after_thousands_of_pulls():
    problem = PROBLEMS["adaptive"]
    rule = peps(problem.arms, budget=2_900, sigma=2.0, rng=np.random.default_rng(1))
    run = play(rule, problem, np.random.default_rng(0))
    counts, leader, _ = twin(problem, np.random.default_rng(0), np.random.default_rng(1), 2_900, 2.0, 100)
    np.testing.assert_array_equal(run.counts, counts)
    assert run.result.recommendation == leader


def test_looks_change_nothing():
    problem = PROBLEMS["sphere"]
    plain, looked = (
        play(peps(problem.arms, budget=150, trace=n, rng=np.random.default_rng(4)), problem, np.random.default_rng(3))
        for n in (0, 20)
    )
    assert (plain.counts == looked.counts).all() and plain.result.history == ()
    assert [look.pulls for look in looked.result.history] == list(range(4, 150, 20))
    assert all(look.statistic >= 0 for look in looked.result.history)


def test_the_weights_move_towards_arms_that_tell_the_answers_apart():
    """e_1 against (cos .1, sin .1): the second coordinate decides, and e_2 gets more pulls than the fixed design."""
    problem = instances.benchmark(6, angle=0.1, scale=3.0, sigma=0.3)
    runs = [
        play(peps(problem.arms, budget=3_000, sigma=0.3, rng=np.random.default_rng(s)), problem,
             np.random.default_rng(s))
        for s in range(5)
    ]  # fmt: skip
    share = np.mean([run.counts[1] / run.counts.sum() for run in runs])
    assert share > 1.5 * xy_design(problem.arms, pairs(problem.arms)).weights[1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tries": -1}, "tries must be an integer of at least 0"),
        ({"tries": 1.5}, "tries must be an integer of at least 0"),
        ({"budget": 5}, "budget must be a whole number of pulls, at least 6 here"),
        ({"sigma": 0.0}, "sigma must be positive"),
    ],
)
def test_bad_input_is_refused_before_any_pull(options, words):
    arms = instances.benchmark(6).arms
    with pytest.raises(ValueError, match=words):
        next(peps(arms, **({"budget": 100, "rng": np.random.default_rng(0)} | options)))
