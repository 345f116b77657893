"""RAGE from end to end: beside the plain rule, with peak memory, and what drives its cost.

python benchmarks/bench_rage.py

The plain rule (bandits_lib/plain) has the published designs here: Frank-Wolfe on all pairs, each formed. It and ours
run one after the other in this process; the ratio is what counts. The published column quotes what the authors' code
took on another machine. Peak memory is that of a fresh process, imports included.
"""

import subprocess
import sys
from time import perf_counter
from types import SimpleNamespace

import numpy as np
from bench_design import all_differences, xy_frank_wolfe
from tables import show

from bandits_lib import LinearBandit, instances, play
from bandits_lib.design import cache_clear
from bandits_lib.fixed_confidence import rage
from bandits_lib.plain import rage as plain

PUBLISHED = {"K = 1,000": "1.85 s", "K = 30,000": "needs more than 14 GB"}


def seconds(function, *args, repeat=3):
    """Least wall time of `repeat` calls, designs forgotten before each."""
    times = []
    for _ in range(repeat):
        cache_clear()
        start = perf_counter()
        function(*args)
        times.append(perf_counter() - start)
    return min(times)


def run(problem, seed=0):
    return play(rage(problem.arms, problem.items, delta=0.05), problem, np.random.default_rng(seed))


def run_plain(problem):
    plain.pairs, plain.xy_design = all_differences, published_design
    return play(plain.rage(problem.arms, problem.items, 0.05), problem, np.random.default_rng(0))


def published_design(arms, directions):
    weights = xy_frank_wolfe(arms, directions)
    inverse = np.linalg.pinv((arms.T * weights) @ arms)
    return SimpleNamespace(weights=weights, value=np.einsum("nd,nd->n", directions @ inverse, directions).max())


def many_arms(n):
    return instances.many_arms(n, np.random.default_rng(1), "code")


PEAK = """
import sys
sys.path.insert(0, sys.argv[2])
import memory
from bench_rage import many_arms, run
run(many_arms(int(sys.argv[1])))
print(memory.peak_megabytes())
"""


def peak_megabytes(n):
    """Peak resident memory of one run on `n` arms in a fresh process, imports included."""
    command = [sys.executable, "-c", PEAK, str(n), sys.path[0]]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def against_the_published_way():
    yield ["many arms, d = 2", "plain s", "ours s", "ratio", "peak MB", "published (other machine)"]
    for n in (100, 300, 1_000, 10_000, 30_000):
        problem = many_arms(n)
        theirs = seconds(run_plain, problem, repeat=1) if n <= 1_000 else np.nan
        ours = seconds(run, problem)
        label = f"K = {n:,}"
        yield label, theirs, ours, theirs / ours, peak_megabytes(n), PUBLISHED.get(label, "")


def against_items_and_dimension():
    """Seconds of a run on n arms of a sphere."""
    sizes = (100, 1_000, 10_000, 30_000)
    yield ["sphere, seconds of a run, d", *(f"n = {n:,}" for n in sizes)]
    for d in (2, 5, 10, 20):
        yield d, *(seconds_on_the_sphere(n, d) for n in sizes)


def seconds_on_the_sphere(n, d):
    problem = instances.sphere(n, np.random.default_rng(1), d=d, mix=0.0)
    gap = np.sort(problem.gaps)[1]
    if gap < 1e-15:  # of 30,000 arms on a circle two are equal to rounding: there is no best one
        return np.nan
    sharper = LinearBandit(problem.arms, theta=problem.theta / gap)  # gaps of one and above: few phases
    return seconds(run, sharper, repeat=1)


def against_pulls():
    """Ever smaller gaps: the pulls grow by 100 a row, the time by two or three phases."""
    yield ["angle", "phases", "pulls of the largest phase", "pulls", "ms", "ms per phase"]
    for angle in (0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003):
        problem = instances.benchmark(5, angle=angle, scale=1.0)
        made = run(problem)
        largest = max(phase.counts.sum() for phase in made.result.history)
        phases = len(made.result.history)
        time = seconds(run, problem)
        yield angle, phases, largest, made.counts.sum(), 1e3 * time, 1e3 * time / phases


def against_the_size_of_one_batch():
    """The world alone: time to draw a batch on 1,000 arms, which does not grow with its pulls."""
    yield ["pulls of the batch", "microseconds"]
    problem, rng = many_arms(1_000), np.random.default_rng(0)
    for pulls in (10**3, 10**5, 10**7, 10**9, 10**12):
        counts = np.full(1_000, pulls // 1_000)
        yield f"{pulls:.0e}", 1e6 * seconds(problem.pull, counts, rng, repeat=20)


if __name__ == "__main__":
    run(many_arms(50))
    for table in (
        against_the_published_way(),
        against_items_and_dimension(),
        against_pulls(),
        against_the_size_of_one_batch(),
    ):
        show(table)
