"""H-RAGE from end to end: beside a plain-numpy twin that keeps every reward, as the published code does.

python benchmarks/bench_h_rage.py

Twin and ours run one after the other in this process (CPU seconds); the ratio is what counts. The published column
quotes what the authors' code took on another machine. Memory is the peak that tracemalloc sees during the run.
"""

import tracemalloc
from math import ceil, log
from time import process_time

import numpy as np
from tables import show

from bandits_lib import instances, play
from bandits_lib.design import cache_clear, g_design, pairs, weighted_design
from bandits_lib.fixed_confidence import h_rage, rage_halving
from bandits_lib.variance import features

PUBLISHED = {10**6: "7 s and 1.1 GB per 10^6 pulls"}


def regression(rows, values):
    return np.linalg.lstsq(rows, values, rcond=1e-12)[0]


def pull(problem, weights, n, rng):
    """One row per pull: arm, features and reward."""
    arm = np.repeat(np.arange(len(weights)), np.ceil(n * weights).astype(int))
    return arm, problem.arms[arm], problem.means[arm] + problem.sigma[arm] * rng.standard_normal(len(arm))


def twin(problem, burn_in, delta, rng):
    """HEAD and H-RAGE with a row for every pull, in plain numpy; the designs are this library's. Best item, pulls."""
    phi, made = features(problem.arms), burn_in
    _, x, y = pull(problem, g_design(problem.arms).weights, burn_in // 2, rng)
    theta = regression(x, y)
    arm, x, y = pull(problem, g_design(phi).weights, burn_in // 2, rng)
    estimated = phi @ regression(phi[arm], (y - x @ theta) ** 2)
    sigma2 = np.clip(estimated, problem.sigma.min() ** 2, problem.sigma.max() ** 2)
    active, phase = np.arange(len(problem.items)), 0
    while len(active) > 1:
        phase += 1
        lam = weighted_design(problem.arms, pairs(problem.items[active]), np.sqrt(sigma2))
        tau = ceil(3 * 4**phase * lam.value * log(8 * phase**2 * len(problem.items) / delta))
        arm, x, y = pull(problem, lam.weights, tau, rng)
        root = 1 / np.sqrt(sigma2[arm])
        scores = problem.items[active] @ regression(x * root[:, None], y * root)
        active, made = active[scores.max() - scores <= 2.0**-phase], made + len(arm)
    return int(active[0]), made


def ours(problem, burn_in, delta, rng):
    bounds = {"sigma_min": problem.sigma.min(), "sigma_max": problem.sigma.max()}
    rule = h_rage(problem.arms, problem.items, delta=delta, burn_in=burn_in, **bounds)
    run = play(rule, problem, rng)
    return run.result.recommendation, int(run.counts.sum())


def measured(function, *args):
    """CPU seconds, peak megabytes (in a second run, since tracing takes time) and what came out."""
    cache_clear()
    start = process_time()
    found = function(*args, np.random.default_rng(0))
    seconds = process_time() - start
    tracemalloc.start()
    function(*args, np.random.default_rng(0))
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return seconds, peak, found


def against_a_row_for_every_pull():
    """Ever longer burn-ins on experiment 1 with a wide angle, so that the burn-in is most of it."""
    yield ["pulls", "twin s", "ours ms", "ratio", "twin MB", "ours MB", "published (other machine)"]
    problem = instances.signal_to_noise(angle=0.3)
    for burn_in in (10**4, 10**5, 10**6, 10**7, 10**9, 10**12):
        mine = measured(ours, problem, burn_in, 0.05)
        theirs = measured(twin, problem, burn_in, 0.05) if burn_in <= 10**6 else (np.nan, np.nan, None)
        quoted = PUBLISHED.get(burn_in, "")
        yield f"{mine[2][1]:.3g}", theirs[0], 1e3 * mine[0], theirs[0] / mine[0], theirs[1], mine[1], quoted


def against_the_gap():
    """Ever smaller gaps: pulls grow a hundredfold a row, time by the number of phases."""
    yield ["angle", "H-RAGE pulls", "rounds", "ms", "RAGE pulls", "rounds ", "ms "]
    for angle in (0.3, 0.1, 0.03, 0.01, 0.003, 0.001):
        problem = instances.signal_to_noise(angle=angle)
        times = {}
        for name, rule in (
            ("H-RAGE", lambda p: h_rage(p.arms, delta=0.05, sigma_min=p.sigma.min(), sigma_max=1.0, burn_in="code")),
            ("RAGE", lambda p: rage_halving(p.arms, delta=0.05, sigma=p.sigma)),
        ):
            cache_clear()
            start = process_time()
            run = play(rule(problem), problem, np.random.default_rng(0))
            times[name] = (run.counts.sum(), len(run.result.history), 1e3 * (process_time() - start))
        yield angle, *times["H-RAGE"], *times["RAGE"]


if __name__ == "__main__":
    ours(instances.signal_to_noise(angle=0.3), 1_000, 0.05, np.random.default_rng(0))  # compile
    for table in (against_a_row_for_every_pull(), against_the_gap()):
        show(table)
