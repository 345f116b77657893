"""Rules with a fixed budget beside the plain rules.

python benchmarks/bench_fixed_budget.py

The plain rule (bandits_lib/plain) and ours take turns in this process and CPU time is measured; the ratio is what
counts. The published column quotes what the authors' code took on another machine.
"""

from time import process_time

import numpy as np
from tables import show

from bandits_lib import instances, play
from bandits_lib.design import cache_clear, cache_off, g_design
from bandits_lib.design.published_designs import fwg_design, wynn_design
from bandits_lib.fixed_budget import gse
from bandits_lib.fixed_budget.logistic import logistic_fit
from bandits_lib.plain import gse as plain_gse
from bandits_lib.plain.fwg import fwg
from bandits_lib.plain.fwg import fwg_design as plain_fwg
from bandits_lib.plain.logistic import logistic_regression
from bandits_lib.protocol import Sample

RUNS = 100


def cpu_seconds(function, *args, repeat=3):
    """Least CPU time of `repeat` calls, designs forgotten before each."""
    times = []
    for _ in range(repeat):
        cache_clear()
        start = process_time()
        function(*args)
        times.append(process_time() - start)
    return min(times)


# --- GSE-Lin-FWG, section 8.1 of azizi2022


def runs_of_ours(problem, budget):
    for seed in range(RUNS):
        play(gse(problem.arms, budget=budget, sigma=problem.sigma, design="fwg"), problem, np.random.default_rng(seed))


def plain_runs(problem, budget, runs=5):
    for seed in range(runs):
        play(plain_gse.gse(problem.arms, budget, explore=fwg), problem, np.random.default_rng(seed))


def gse_against_the_published_way():
    yield "GSE-Lin-FWG, 8.1, K", "plain s / 100 runs", "ours s / 100 runs", "ratio", "published (other machine)"
    for K in (8, 16, 32):
        problem = instances.benchmark(K - 1, angle=0.1, scale=1.0, sigma=np.sqrt(10))
        ours = cpu_seconds(runs_of_ours, problem, 20 * K)
        plain = RUNS / 5 * cpu_seconds(plain_runs, problem, 20 * K, repeat=1)
        yield K, plain, ours, plain / ours, "2.3 s" if K == 8 else ""


def gse_by_design():
    """Random instances (8.3): no two runs share a design, so this is what the designs themselves cost."""
    yield "ms a run, d = 10, K", "uniform", "fwg", "wynn", "greedy", "certified"
    for K in (8, 16, 32, 64, 128):
        problems = [instances.sphere(K, np.random.default_rng(r), d=10, mix=0.01) for r in range(20)]
        row = [K]
        for design in ("uniform", "fwg", "wynn", "greedy", "certified"):
            row.append(1e3 * cpu_seconds(one_run_each, problems, 20 * K, design, repeat=2) / len(problems))
        yield row


def one_run_each(problems, budget, design):
    for problem in problems:
        algorithm = gse(problem.arms, budget=budget, design=design, rng=np.random.default_rng(0))
        play(algorithm, problem, np.random.default_rng(0))


# --- designs and the logistic fit


def designs_against_the_published_way():
    solvers = ["fwg (grid)", "fwg", "wynn", "certified"]
    yield "arms", "plain fwg s", *(f"{s} {unit}" for s in solvers for unit in ("ms", "% above")), "published"
    for n, d, published in ((8, 7, ""), (64, 10, ""), (128, 10, ""), (200, 10, "0.34 s to 14.8 %"), (1_000, 20, "")):
        arms = np.random.default_rng(0).standard_normal((n, d))
        yield designs_on(f"n = {n}, d = {d}", arms / np.linalg.norm(arms, axis=1, keepdims=True), published)
    yield designs_on("8.1, K = 128", instances.benchmark(127, angle=0.1, scale=1.0).arms, "")


def designs_on(name, arms, published):
    row = [name, cpu_seconds(plain_fwg, arms, repeat=1)]
    with cache_off():
        for make in (lambda a: fwg_design(a, line_search="grid"), fwg_design, wynn_design, g_design):
            row += [1e3 * cpu_seconds(make, arms), 100 * (make(arms).value / arms.shape[1] - 1)]
    return (*row, published)


def plain_fit(arms, sample):
    return logistic_regression(arms, sample.counts, sample.sums)


def fits(fit, arms, samples):
    return [fit(arms, sample) for sample in samples]


def logistic_against_numpy():
    yield "logistic fit, K = 8, d", "plain us", "ours us", "ratio", "largest difference"
    for d in (5, 12):
        problem, rng = instances.logistic(d, np.random.default_rng(0)), np.random.default_rng(1)
        samples = [problem.pull(np.full(8, 5), rng) for _ in range(300)]
        ours, plain = (cpu_seconds(fits, fit, problem.arms, samples) / 300 for fit in (logistic_fit, plain_fit))
        theta = [fit.theta_hat for fit in fits(logistic_fit, problem.arms, samples)]
        error = np.abs(np.subtract(theta, fits(plain_fit, problem.arms, samples))).max()
        yield d, 1e6 * plain, 1e6 * ours, plain / ours, error


TABLES = [
    gse_against_the_published_way,
    gse_by_design,
    designs_against_the_published_way,
    logistic_against_numpy,
]

if __name__ == "__main__":
    warm = instances.sphere(8, np.random.default_rng(0), d=3)
    one_run_each([warm], 100, "fwg")
    logistic_fit(np.eye(2), Sample(np.ones(2, int), np.ones(2), np.ones(2)))
    for table in TABLES:
        show(table())
