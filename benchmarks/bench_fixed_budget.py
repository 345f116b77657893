"""Rules with a fixed budget beside plain-numpy twins of the published way.

python benchmarks/bench_fixed_budget.py

Twin and ours take turns in this process and CPU time is measured; the ratio is what counts. The published column quotes
what the authors' code took on another machine.
"""

from time import process_time

import numpy as np
from tables import show

from bandits_lib import instances, play
from bandits_lib.design import cache_clear, cache_off, g_design
from bandits_lib.design.published_designs import fwg_design, wynn_design
from bandits_lib.fixed_budget import gse
from bandits_lib.fixed_budget.logistic import logistic_fit
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


def twin_fwg(arms, ridge=1e-6):
    """FWG as published, in plain numpy: 100 steps at most, 24 step sizes, a fresh inverse for each of them."""
    K, d = arms.shape
    design, value = np.full(K, 1 / K), np.inf
    for _ in range(100):
        inverse = np.linalg.inv((arms.T * design) @ arms + ridge * np.eye(d))
        norms = np.einsum("kd,kd->k", arms @ inverse, arms)
        vertex = np.eye(K)[np.argmax((arms @ inverse @ arms[np.argmax(norms)]) ** 2)]
        steps = [design + 0.75**i * (vertex - design) for i in range(24)]
        values = [twin_value(arms, step, ridge) for step in steps]
        if min(values) > value - 1e-6:
            break
        design, value = steps[int(np.argmin(values))], min(values)
    return design


def twin_value(arms, design, ridge):
    inverse = np.linalg.inv((arms.T * design) @ arms + ridge * np.eye(arms.shape[1]))
    return np.einsum("kd,kd->k", arms @ inverse, arms).max()


def twin_gse(problem, budget, rng):
    """GSE as published: every design anew, every share taken up, one normal number per pull."""
    active, stages = np.arange(len(problem.arms)), int(np.ceil(np.log2(len(problem.arms))))
    while len(active) > 1:
        _, _, axes = np.linalg.svd(problem.arms[active], full_matrices=False)
        arms = problem.arms[active] @ axes.T
        counts = np.ceil(budget // stages * twin_fwg(arms)).astype(int)
        rows = np.repeat(np.arange(len(active)), counts)
        rewards = problem.means[active][rows] + problem.sigma[0] * rng.standard_normal(len(rows))
        information = arms[rows].T @ arms[rows] + 1e-8 * np.eye(arms.shape[1])
        values = arms @ np.linalg.solve(information, arms[rows].T @ rewards)
        active = active[np.argsort(-values)[: max(1, len(active) // 2)]]
    return int(active[0])


def runs_of_ours(problem, budget):
    for seed in range(RUNS):
        play(gse(problem.arms, budget=budget, sigma=problem.sigma, design="fwg"), problem, np.random.default_rng(seed))


def runs_of_twin(problem, budget):
    for seed in range(RUNS):
        twin_gse(problem, budget, np.random.default_rng(seed))


def gse_against_the_published_way():
    yield "GSE-Lin-FWG, 8.1, K", "twin s / 100 runs", "ours s / 100 runs", "ratio", "published (other machine)"
    for K in (8, 16, 32):
        problem = instances.benchmark(K - 1, angle=0.1, scale=1.0, sigma=np.sqrt(10))
        ours, twin = cpu_seconds(runs_of_ours, problem, 20 * K), cpu_seconds(runs_of_twin, problem, 20 * K, repeat=1)
        yield K, twin, ours, twin / ours, "2.3 s" if K == 8 else ""


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
    yield "arms", "twin of fwg (grid) s", *(f"{s} {unit}" for s in solvers for unit in ("ms", "% above")), "published"
    for n, d, published in ((8, 7, ""), (64, 10, ""), (128, 10, ""), (200, 10, ".34 s to 14.8 %"), (1_000, 20, "")):
        arms = np.random.default_rng(0).standard_normal((n, d))
        yield designs_on(f"n = {n}, d = {d}", arms / np.linalg.norm(arms, axis=1, keepdims=True), published)
    yield designs_on("8.1, K = 128", instances.benchmark(127, angle=0.1, scale=1.0).arms, "")


def designs_on(name, arms, published):
    row = [name, cpu_seconds(twin_fwg, arms, repeat=1)]
    with cache_off():
        for make in (lambda a: fwg_design(a, line_search="grid"), fwg_design, wynn_design, g_design):
            row += [1e3 * cpu_seconds(make, arms), 100 * (make(arms).value / arms.shape[1] - 1)]
    return (*row, published)


def twin_logistic(arms, sample, ridge=1e-3):
    """Newton's method with halved steps, in plain numpy."""

    def objective(theta):
        eta = arms @ theta
        return sample.sums @ eta - sample.counts @ np.logaddexp(0, eta) - ridge / 2 * theta @ theta

    theta = np.zeros(arms.shape[1])
    for _ in range(100):
        p = 1 / (1 + np.exp(-arms @ theta))
        gradient = arms.T @ (sample.sums - sample.counts * p) - ridge * theta
        hessian = (arms.T * (sample.counts * p * (1 - p))) @ arms + ridge * np.eye(len(theta))
        direction = np.linalg.solve(hessian, gradient)
        if direction @ gradient < 1e-12:
            break
        length = 1.0
        while objective(theta + length * direction) < objective(theta) and length > 1e-10:
            length /= 2
        theta = theta + length * direction
    return theta


def fits(fit, arms, samples):
    return [fit(arms, sample) for sample in samples]


def logistic_against_numpy():
    yield "logistic fit, K = 8, d", "twin us", "ours us", "ratio", "largest difference"
    for d in (5, 12):
        problem, rng = instances.logistic(d, np.random.default_rng(0)), np.random.default_rng(1)
        samples = [problem.pull(np.full(8, 5), rng) for _ in range(300)]
        ours, twin = (cpu_seconds(fits, fit, problem.arms, samples) / 300 for fit in (logistic_fit, twin_logistic))
        theta = [fit.theta_hat for fit in fits(logistic_fit, problem.arms, samples)]
        error = np.abs(np.subtract(theta, fits(twin_logistic, problem.arms, samples))).max()
        yield d, 1e6 * twin, 1e6 * ours, twin / ours, error


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
