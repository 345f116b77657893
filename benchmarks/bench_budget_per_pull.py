"""Rules that pull one by one to a budget, beside the plain rules.

python benchmarks/bench_budget_per_pull.py

The plain rules (bandits_lib/plain) invert afresh at every pull, and LinGapE's looks up its design at every pull. Both
sides run in this process in turn and CPU time is measured; the ratio is what counts. The published column quotes what
the authors' code took on another machine. Ours makes 100 runs; on the fixed instances of 8.1 they share the
programs they solve, on the random ones of 8.3, d = 10, every run solves its own.
"""

from functools import partial
from time import process_time

import numpy as np
from tables import show

from bandits_lib import instances, play
from bandits_lib.design import cache_clear
from bandits_lib.design.pair_allocations import allocations_clear
from bandits_lib.fixed_budget import lingape_budget, linucb, ucb_glm
from bandits_lib.plain import lingape_budget as plain_lingape
from bandits_lib.plain import linucb as plain_linucb
from bandits_lib.plain import ucb_glm as plain_ucb_glm

DELTA = 0.1


def compared(name, plain, make, problems, budget, runs, quotation=""):
    """A row: seconds of 100 runs, plain (scaled up from `runs`, 0 for none) and ours, their ratio, ours per pull."""
    play(make(problems[0]), problems[0], np.random.default_rng(0))  # compiled
    slow = seconds(plain, problems, runs) * 100 / runs if runs else np.nan
    ours = min(seconds(make, problems, 100) for _ in range(3))
    return name, budget, slow, ours, slow / ours, 1e4 * ours / budget, quotation


def seconds(make, problems, runs):
    """CPU seconds of so many runs, programs forgotten before."""
    allocations_clear()
    cache_clear()
    start = process_time()
    for seed in range(runs):
        problem = problems[seed % len(problems)]
        play(make(problem), problem, np.random.default_rng(seed))
    return process_time() - start


def pull_by_pull():
    yield ["100 runs of", "budget", "plain s", "ours s", "ratio", "ours us a pull", "published (other machine)"]
    sd = np.sqrt(10)
    for K, runs, quotation in ((8, 5, "28.5 s"), (32, 1, ""), (128, 0, "")):
        problems, B = [instances.benchmark(K - 1, angle=0.1, scale=1.0, sigma=sd)], 20 * K
        plain, ours = partial(plain_lingape_at, B), partial(lingape_at, B)
        yield compared(f"LinGapE, 8.1, K = {K}", plain, ours, problems, B, runs, quotation)
        plain, ours = partial(plain_linucb_at, B), partial(linucb_at, B)
        yield compared(f"LinUCB, 8.1, K = {K}", plain, ours, problems, B, runs)
    for K, runs in ((16, 2), (128, 0)):
        problems = [instances.sphere(K, np.random.default_rng(seed), d=10, mix=0.01) for seed in range(100)]
        plain, ours = partial(plain_lingape_at, 20 * K), partial(lingape_at, 20 * K)
        yield compared(f"LinGapE, 8.3, K = {K}", plain, ours, problems, 20 * K, runs)
    for d in (5, 12):
        problems = [instances.logistic(d, np.random.default_rng(seed)) for seed in range(100)]
        yield compared(f"UCB-GLM, 8.4, d = {d}", plain_ucb_glm_at_400, ucb_glm_at_400, problems, 400, 3)


def lingape_at(budget, problem):
    return lingape_budget(problem.arms, budget=budget, delta=DELTA, sigma=problem.sigma[0])


def plain_lingape_at(budget, problem):
    return plain_lingape.lingape_budget(problem.arms, budget, DELTA, problem.sigma[0])


def linucb_at(budget, problem):
    return linucb(problem.arms, budget=budget, sigma=problem.sigma[0])


def plain_linucb_at(budget, problem):
    return plain_linucb.linucb(problem.arms, budget, 2.95 * problem.sigma[0])


def ucb_glm_at_400(problem):
    return ucb_glm(problem.arms, budget=400, alpha=0.5)


def plain_ucb_glm_at_400(problem):
    return plain_ucb_glm.ucb_glm(problem.arms, 400, 0.5)


if __name__ == "__main__":
    show(pull_by_pull())
