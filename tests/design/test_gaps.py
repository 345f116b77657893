"""LinGapE's choices by fresh inversions at every pull: what plain/ does not show, greedy pulls and copies."""

import numpy as np
import pytest

from bandits_lib import LinearBandit, instances
from bandits_lib.design.elfving import signed_program
from bandits_lib.design.pair_allocations import allocate
from bandits_lib.fixed_budget import lingape_budget
from bandits_lib.fixed_confidence import lingape
from bandits_lib.numerics.ties import argmax

PROBLEMS = {
    "benchmark": instances.benchmark(4, angle=0.3),
    "sphere": instances.sphere(25, np.random.default_rng(1), d=3),
    "items": LinearBandit(np.eye(3), items=[[1.0, 0.2, 0.0], [0.3, 1.0, 0.4], [0.5, 0.5, 1.0]], theta=[1.0, 0.2, 0.1]),
    "adaptive": instances.benchmark(5, angle=0.1, scale=1.0, sigma=np.sqrt(10)),
    "copies": LinearBandit(np.repeat(np.eye(3), 2, axis=0), theta=[0.5, 0.0, 0.0]),
}


def confident(problem, rule):
    return lingape(problem.arms, problem.items, delta=0.1, theta_bound=1.0, rule=rule), 1.0


def budgeted(problem, rule):
    return lingape_budget(problem.arms, budget=600, delta=0.1, rule=rule), 1e-8


def pulls(algorithm, problem, most):
    """(state, arm, counts before, sums before) of every single pull."""
    rng, counts = np.random.default_rng(0), next(algorithm)
    sample = problem.pull(counts, rng)
    loop, sums = algorithm.send(sample), sample.sums
    for _ in range(most):
        while (arm := loop.choose(loop.state)) < 0:
            try:
                loop = algorithm.send(None)
            except StopIteration:
                return
        yield loop.state, arm, counts, sums
        reward = problem.means[arm] + problem.sigma[arm] * rng.standard_normal()
        loop.update(loop.state, arm, reward)
        one = np.arange(len(counts)) == arm
        counts, sums = counts + one, sums + one * reward


def pair(problem, counts, sums, ridge, theta_bound=1.0, delta=0.1):
    """Leader, rival, its largest lead, and the inverse."""
    arms, items = problem.arms, problem.items
    information = ridge * np.eye(arms.shape[1]) + (arms.T * counts) @ arms
    inverse = np.linalg.inv(information)
    logdet = np.linalg.slogdet(information)[1] - len(inverse) * np.log(ridge)
    width = np.sqrt(2 * np.log(len(items) ** 2 / delta) + logdet) + np.sqrt(ridge) * theta_bound
    values = items @ inverse @ arms.T @ sums
    i = argmax(values)
    y = items - items[i]
    leads = values - values[i] + width * np.sqrt(np.maximum(0, np.einsum("md,de,me->m", y, inverse, y)))
    leads[i] = -np.inf
    return i, argmax(leads), leads.max(), inverse


@pytest.mark.parametrize(
    ("make", "name"),
    [
        *((confident, name) for name in list(PROBLEMS)[:3]),
        *((budgeted, name) for name in ("sphere", "adaptive", "copies")),
    ],
)
def test_the_greedy_arm_leaves_the_direction_shortest(make, name):
    problem = PROBLEMS[name]
    algorithm, ridge = make(problem, "greedy")
    pulled = []
    for state, arm, counts, sums in pulls(algorithm, problem, 300):
        i, j, lead, inverse = pair(problem, counts, sums, ridge)
        status, y = state.status, problem.items[i] - problem.items[j]
        assert (status.leader, status.rival) == (i, j) and status.lead == pytest.approx(lead, rel=1e-6)
        along = problem.arms @ inverse @ y
        left = y @ inverse @ y - along**2 / (1 + np.einsum("kd,de,ke->k", problem.arms, inverse, problem.arms))
        assert left[arm] <= left.min() + 1e-9 * (y @ inverse @ y)
        pulled.append(arm)
    assert len(pulled) > 100 and len(set(pulled)) > 1


@pytest.mark.parametrize("name", ["sphere", "adaptive", "copies"])
def test_the_ratio_rule_pulls_what_the_allocation_lacks(name):
    problem = PROBLEMS[name]
    algorithm, ridge = budgeted(problem, "ratio")
    program, solved, seen = signed_program(problem.arms), {}, set()
    for state, arm, counts, sums in pulls(algorithm, problem, 500):
        i, j, lead, _ = pair(problem, counts, sums, ridge)
        assert (state.status.leader, state.status.rival) == (i, j)
        i, j = min(i, j), max(i, j)
        weights = solved.setdefault((i, j), allocate(program, i, j))
        lack = np.full(len(counts), -np.inf)
        np.divide(-counts, weights, out=lack, where=weights > 0)
        assert arm == argmax(lack)
        seen.add((i, j, arm))
    assert len(seen) > 2
