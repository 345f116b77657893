"""Rules that pull one by one to a budget, beside plain-numpy twins of the published way.

python benchmarks/bench_budget_per_pull.py

Twins invert afresh at every pull, and LinGapE's solves its linear program with a general solver at every new pair.
Both sides run in this process in turn and CPU time is measured; the ratio is what counts. The published column quotes
what the authors' code took on another machine. Ours makes 100 runs; on the fixed instances of 8.1 they share the
programs they solve, on the random ones of 8.3, d = 10, every run solves its own.
"""

from functools import partial
from time import process_time

import numpy as np
from scipy.optimize import linprog
from tables import show

from bandits_lib import instances, play
from bandits_lib.design.pair_allocations import allocations_clear
from bandits_lib.fixed_budget import lingape_budget, linucb, ucb_glm
from bandits_lib.fixed_budget.logistic import logistic_fit
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import Sample

DELTA = 0.1


def twin_lingape(problem, budget, rng, ridge=1e-8):
    """LinGapE for `budget` pulls, one of each arm first; the program of a pair is solved once in a run."""
    arms, sigma, K = problem.arms, problem.sigma[0], len(problem.arms)
    counts, solved = np.ones(K), {}
    response = arms.T @ problem.pull(np.ones(K, dtype=int), rng).sums
    for _ in range(budget - K):
        information = ridge * np.eye(arms.shape[1]) + (arms.T * counts) @ arms
        inverse = np.linalg.inv(information)
        values = arms @ (inverse @ response)
        i = argmax(values)
        y = arms - arms[i]
        width = np.sqrt(2 * np.log(K**2 / DELTA) + np.linalg.slogdet(information / ridge)[1])
        leads = values - values[i] + sigma * width * np.sqrt(np.maximum(0, ((y @ inverse) * y).sum(axis=1)))
        leads[i] = -np.inf
        j = argmax(leads)
        if (i, j) not in solved:
            w = linprog(np.ones(2 * K), A_eq=np.hstack([arms.T, -arms.T]), b_eq=arms[i] - arms[j]).x
            solved[i, j] = w[:K] + w[K:]
        arm = int(np.argmin(counts / (solved[i, j] + 1e-10)))
        counts[arm] += 1
        response += arms[arm] * (problem.means[arm] + sigma * rng.standard_normal())


def twin_linucb(problem, budget, rng):
    """Shared LinUCB for `budget` pulls."""
    arms, sigma = problem.arms, problem.sigma[0]
    information, response = np.eye(arms.shape[1]), np.zeros(arms.shape[1])
    for _ in range(budget):
        inverse = np.linalg.inv(information)
        width = np.sqrt(((arms @ inverse) * arms).sum(axis=1))
        arm = argmax(arms @ (inverse @ response) + 2.95 * sigma * width)
        information += np.outer(arms[arm], arms[arm])
        response += arms[arm] * (problem.means[arm] + sigma * rng.standard_normal())


def twin_ucb_glm(problem, budget, rng):
    """UCB-GLM for `budget` pulls, one of each arm first; every regression starts from zero."""
    arms, K = problem.arms, len(problem.arms)
    counts, sums = np.ones(K, dtype=int), rng.binomial(1, problem.means).astype(float)
    for _ in range(budget - K):
        theta = logistic_fit(arms, Sample(counts, sums, sums)).theta_hat
        inverse = np.linalg.pinv((arms.T * counts) @ arms)
        arm = argmax(arms @ theta + 0.5 * np.sqrt(((arms @ inverse) * arms).sum(axis=1)))
        counts[arm] += 1
        sums[arm] += rng.binomial(1, problem.means[arm])


def compared(name, twin, make, problems, budget, runs, quotation=""):
    """A row: seconds of 100 runs, twin (scaled up from `runs`, 0 for none) and ours, their ratio, ours per pull."""
    first = problems[0]
    twin(first, len(first.arms) + 2, np.random.default_rng(0))  # compiled
    play(make(first), first, np.random.default_rng(0))
    start = process_time()
    for seed in range(runs):
        twin(problems[seed % len(problems)], budget, np.random.default_rng(seed))
    twins = (process_time() - start) * 100 / runs if runs else np.nan
    ours = min(seconds(make, problems) for _ in range(3))
    return name, budget, twins, ours, twins / ours, 1e4 * ours / budget, quotation


def seconds(make, problems):
    """CPU seconds of 100 runs, programs forgotten before."""
    allocations_clear()
    start = process_time()
    for seed in range(100):
        problem = problems[seed % len(problems)]
        play(make(problem), problem, np.random.default_rng(seed))
    return process_time() - start


def pull_by_pull():
    yield ["100 runs of", "budget", "twin s", "ours s", "ratio", "ours us a pull", "published (other machine)"]
    sd = np.sqrt(10)
    for K, runs, quotation in ((8, 5, "28.5 s"), (32, 1, ""), (128, 0, "")):
        problems, B = [instances.benchmark(K - 1, angle=0.1, scale=1.0, sigma=sd)], 20 * K
        yield compared(f"LinGapE, 8.1, K = {K}", twin_lingape, partial(lingape_at, B), problems, B, runs, quotation)
        yield compared(f"LinUCB, 8.1, K = {K}", twin_linucb, partial(linucb_at, B), problems, B, runs)
    for K, runs in ((16, 2), (128, 0)):
        problems = [instances.sphere(K, np.random.default_rng(seed), d=10, mix=0.01) for seed in range(100)]
        yield compared(f"LinGapE, 8.3, K = {K}", twin_lingape, partial(lingape_at, 20 * K), problems, 20 * K, runs)
    for d in (5, 12):
        problems = [instances.logistic(d, np.random.default_rng(seed)) for seed in range(100)]
        yield compared(f"UCB-GLM, 8.4, d = {d}", twin_ucb_glm, ucb_glm_at_400, problems, 400, 3)


def lingape_at(budget, problem):
    return lingape_budget(problem.arms, budget=budget, delta=DELTA, sigma=problem.sigma[0])


def linucb_at(budget, problem):
    return linucb(problem.arms, budget=budget, sigma=problem.sigma[0])


def ucb_glm_at_400(problem):
    return ucb_glm(problem.arms, budget=400, alpha=0.5)


if __name__ == "__main__":
    show(pull_by_pull())
