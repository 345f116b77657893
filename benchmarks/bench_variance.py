"""HEAD from end to end: flat in the number of pulls; and its design over phi beside Frank-Wolfe.

python benchmarks/bench_variance.py

Times are CPU times of this process's one thread. Peak memory is that of a fresh process, imports included. The paper
solves its designs by Frank-Wolfe; that of bench_design.py runs in turn with ours, and the ratio is what counts.
"""

import subprocess
import sys
from time import process_time

import numpy as np
from bench_design import xy_frank_wolfe
from tables import show

from bandits_lib import instances, play
from bandits_lib.design import cache_clear, design_value, g_design
from bandits_lib.variance import features, head, separate_arm_estimator, uniform_estimator

PULLS = (10**5, 10**6, 10**7, 10**8, 10**9)
ESTIMATORS = ("head", "uniform", "separate arms")
D = 15


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
    yield [f"pulls (K = 2,000, d = {D})", *(f"{name} ms" for name in ESTIMATORS), "peak MB"]
    problem = paper_problem()
    for vectors in (problem.arms, features(problem.arms)):
        g_design(vectors)
    for pulls in PULLS:
        milliseconds = [1e3 * seconds(run, name, problem, pulls) for name in ESTIMATORS]
        yield f"{pulls:.0e}", *milliseconds, peak_megabytes(pulls)


def against_dimension():
    """The design over phi, 2,000 arms in M = d(d+1)/2 dimensions: gap = value / M - 1, ours certified to 0.1 %."""
    yield ["d", "M", "Frank-Wolfe s", "its gap %", "ours s", "ours gap %", "support", "ratio"]
    for d in (3, 6, 9, 12, 15):
        phi = features(paper_problem(d).arms)
        theirs, ours = seconds(xy_frank_wolfe, phi, phi, repeat=1), seconds(solve, phi)
        gap = design_value(phi, xy_frank_wolfe(phi, phi), phi) / phi.shape[1] - 1
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
