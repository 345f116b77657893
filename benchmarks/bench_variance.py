"""HEAD from end to end: flat in the number of pulls, beside a twin that keeps every reward; and its design over phi.

python benchmarks/bench_variance.py

Twin and ours run one after the other in this process, and times are CPU times of its one thread; the ratio is what
counts. Peak memory is that of a fresh process, imports included. The twin solves its designs as the paper does, by
Frank-Wolfe with 1,000 steps, and stores one row of phi per pull.
"""

import subprocess
import sys
from time import process_time

import numpy as np
from tables import show

from bandits_lib import instances, play
from bandits_lib.design import cache_clear, design_value, g_design
from bandits_lib.variance import features, head, separate_arm_estimator, uniform_estimator

PULLS = (10**5, 10**6, 10**7, 10**8, 10**9)
ESTIMATORS = ("head", "uniform", "separate arms")
TWIN_UP_TO = 10**6  # its rows of phi take 1 GB per million pulls at d = 15
D = 15


def twin_design(vectors, steps=1_000):
    """Frank-Wolfe with step 2 / (k + 2) from the uniform design, as in the paper's experiments."""
    weights = np.full(len(vectors), 1 / len(vectors))
    for k in range(1, steps + 1):
        inverse = np.linalg.pinv((vectors.T * weights) @ vectors)
        worst = np.argmax(np.einsum("kd,kd->k", vectors @ inverse, vectors))
        weights *= 1 - 2 / (k + 2)
        weights[worst] += 2 / (k + 2)
    return weights


def twin(problem, pulls, designs, rng):
    """Algorithm 1 with one row per pull: (K,) variances."""
    half = pulls // 2
    arm = rng.choice(len(problem.arms), half, p=designs[0])
    rewards = problem.means[arm] + problem.sigma[arm] * rng.standard_normal(half)
    theta = np.linalg.lstsq(problem.arms[arm], rewards, rcond=None)[0]
    arm = rng.choice(len(problem.arms), half, p=designs[1])
    rewards = problem.means[arm] + problem.sigma[arm] * rng.standard_normal(half)
    phi = features(problem.arms)
    rows = phi[arm]
    vech = np.linalg.solve(rows.T @ rows, rows.T @ (rewards - problem.arms[arm] @ theta) ** 2)
    return phi @ vech


def rule(name, problem, pulls):
    bounds = {"budget": pulls, "sigma_min": problem.sigma.min(), "sigma_max": problem.sigma.max()}
    if name == "head":
        return head(problem.arms, **bounds)
    make = {"uniform": uniform_estimator, "separate arms": separate_arm_estimator}[name]
    return make(problem.arms, rng=np.random.default_rng(0), **bounds)


def run(name, problem, pulls):
    return play(rule(name, problem, pulls), problem, np.random.default_rng(0))


def paper_problem(d=D):
    return instances.two_spheres(d, np.random.default_rng(1))


def seconds(function, *args, repeat=3):
    """Least CPU time of `repeat` calls."""
    times = []
    for _ in range(repeat):
        start = process_time()
        function(*args)
        times.append(process_time() - start)
    return min(times)


PEAK = """
import sys
sys.path.insert(0, sys.argv[2])
import memory
from bench_variance import paper_problem, run
run("head", paper_problem(), int(sys.argv[1]))
print(memory.peak_megabytes())
"""


def peak_megabytes(pulls):
    """Peak resident memory of one HEAD in a fresh process, imports included."""
    command = [sys.executable, "-c", PEAK, str(pulls), sys.path[0]]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def against_pulls():
    """Designs and the choice of arms are made once, before the clock starts; then only the pulls grow."""
    yield [f"pulls (K = 2,000, d = {D})", "twin ms", *(f"{name} ms" for name in ESTIMATORS), "twin / head", "peak MB"]
    problem = paper_problem()
    designs = [g_design(vectors).weights for vectors in (problem.arms, features(problem.arms))]
    for pulls in PULLS:
        ours = {name: seconds(run, name, problem, pulls) for name in ESTIMATORS}
        rng = np.random.default_rng(0)
        theirs = seconds(twin, problem, pulls, designs, rng, repeat=1) if pulls <= TWIN_UP_TO else np.nan
        milliseconds = [1e3 * time for time in ours.values()]
        yield f"{pulls:.0e}", 1e3 * theirs, *milliseconds, theirs / ours["head"], peak_megabytes(pulls)


def against_dimension():
    """The design over phi, 2,000 arms in M = d(d+1)/2 dimensions: gap = value / M - 1, ours certified to .1 %."""
    yield ["d", "M", "twin s", "twin gap %", "ours s", "ours gap %", "support", "ratio"]
    for d in (3, 6, 9, 12, 15):
        phi = features(paper_problem(d).arms)
        theirs, ours = seconds(twin_design, phi, repeat=1), seconds(solve, phi)
        gap = design_value(phi, twin_design(phi), phi) / phi.shape[1] - 1
        design = g_design(phi)
        support = np.count_nonzero(design.weights)
        certified = design.value / design.lower_bound - 1
        yield d, phi.shape[1], theirs, 100 * gap, ours, 100 * certified, support, theirs / ours


def solve(phi):
    cache_clear()
    return g_design(phi)


def figure_2():
    """One simulation of Figure 2a: 19 budgets, three estimators, d = 15, designs included."""
    problem, budgets = paper_problem(), range(5_000, 100_000, 5_000)
    yield ["estimator, 19 budgets", "s"]
    for name in ESTIMATORS:
        cache_clear()
        yield name, seconds(lambda name=name: [run(name, problem, b) for b in budgets], repeat=1)


if __name__ == "__main__":
    run("head", paper_problem(3), 10_000)
    for table in (against_pulls(), against_dimension(), figure_2()):
        show(table)
