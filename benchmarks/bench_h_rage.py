"""H-RAGE from end to end: flat in the number of pulls, and beside the plain rule.

python benchmarks/bench_h_rage.py

The plain rule (bandits_lib/plain) has the library's designs; both run one after the other in this process (CPU
seconds). The published column quotes what the authors' code, which keeps every reward, took on another machine. Memory
is the peak that tracemalloc sees during the run.
"""

import tracemalloc
from time import process_time

import numpy as np
from tables import show

from bandits_lib import instances, play
from bandits_lib.design import cache_clear
from bandits_lib.fixed_confidence import h_rage, rage_halving
from bandits_lib.plain.h_rage import h_rage as plain_h_rage

PUBLISHED = {10**6: "7 s and 1.1 GB per 10^6 pulls"}


def h_rage_told(make, problem, **options):
    """A run of the library's rule or of the plain one: how many pulls there were."""
    bounds = {"sigma_min": problem.sigma.min(), "sigma_max": problem.sigma.max()}
    rule = make(problem.arms, problem.items, delta=0.05, **bounds, **options)
    return int(play(rule, problem, np.random.default_rng(0)).counts.sum())


def measured(*told, **options):
    """CPU seconds, peak megabytes (in a second run, since tracing takes time) and pulls."""
    cache_clear()
    start = process_time()
    pulls = h_rage_told(*told, **options)
    seconds = process_time() - start
    tracemalloc.start()
    h_rage_told(*told, **options)
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return seconds, peak, pulls


def against_pulls():
    """Ever longer burn-ins on experiment 1 with a wide angle, so that the burn-in is most of it."""
    yield ["pulls", "ms", "MB", "published (other machine)"]
    problem = instances.signal_to_noise(angle=0.3)
    for burn_in in (10**4, 10**5, 10**6, 10**7, 10**9, 10**12):
        seconds, peak, pulls = measured(h_rage, problem, burn_in=burn_in)
        yield f"{pulls:.3g}", 1e3 * seconds, peak, PUBLISHED.get(burn_in, "")


def against_the_plain_rule():
    yield ["angle", "pulls", "plain ms", "ours ms", "ratio"]
    for angle in (0.3, 0.03):
        problem = instances.signal_to_noise(angle=angle)
        plain, ours = (measured(make, problem) for make in (plain_h_rage, h_rage))
        yield angle, ours[2], 1e3 * plain[0], 1e3 * ours[0], plain[0] / ours[0]


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
    h_rage_told(h_rage, instances.signal_to_noise(angle=0.3), burn_in=1_000)  # compile
    for table in (against_pulls(), against_the_plain_rule(), against_the_gap()):
        show(table)
