"""Lazy Track-and-Stop: pulls per second beside the plain rule, and the cost of a pull.

python benchmarks/bench_track_and_stop.py

The plain rule (bandits_lib/plain) does per pull what the published code does: least squares and the statistic over all
arms anew, the least eigenvalue, the determinant, and the lag of every arm in the support. Both sides run on the same
core one after the other, in CPU seconds, best of three, updates of the allocation included; the ratio is what counts.
The last column quotes what the authors' code did on another machine. The plain rule has the certified allocation too,
which at K = 1000 is as fast as the papers' Frank-Wolfe (last table).
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from functools import partial  # noqa: E402
from time import process_time  # noqa: E402

import numpy as np  # noqa: E402

from bandits_lib import LinearBandit, instances, play  # noqa: E402
from bandits_lib.complexity import oracle_directions  # noqa: E402
from bandits_lib.design import cache_clear, frank_wolfe_design, xy_design  # noqa: E402
from bandits_lib.fixed_confidence import lazy_track_and_stop  # noqa: E402
from bandits_lib.plain import lazy_track_and_stop as plain  # noqa: E402

DELTA = 0.05


def ours(problem, pulls=None, **options):
    """A run, or its first so many pulls. Returns how many there were."""
    rule = lazy_track_and_stop(problem.arms, delta=DELTA, **options)
    return play(rule, problem, np.random.default_rng(0), max_pulls=pulls).counts.sum()


def plain_rule(problem, delta):
    return partial(plain.lazy_track_and_stop, problem.arms, problem.arms, delta)


def play_for(rule, problem, pulls):
    """So many pulls of rule()."""
    play(rule(), problem, np.random.default_rng(0), max_pulls=pulls)


def seconds(function, *arguments, repeat=3, **options):
    """CPU seconds, best of `repeat`, with no design remembered from before."""
    times = []
    for _ in range(repeat):
        cache_clear()
        start = process_time()
        function(*arguments, **options)
        times.append(process_time() - start)
    return min(times)


def row(name, problem, pulls, quotation=""):
    """Pulls per second of a whole run, the plain one cut at so many pulls, and of pulls alone: ours updates nothing."""
    made = ours(problem)
    few = min(pulls, made)
    theirs, mine = few / seconds(play_for, plain_rule(problem, DELTA), problem, few), made / seconds(ours, problem)
    show(f"{name}, a run", made, theirs, mine, quotation)
    fixed = xy_design(problem.arms, oracle_directions(problem.arms, problem.theta)).weights
    rule = partial(lazy_track_and_stop, problem.arms, delta=1e-300, allocation=fixed)
    play_for(rule, problem, 10)
    theirs = pulls / seconds(play_for, plain_rule(problem, 1e-300), problem, pulls)
    show(f"{name}, pulls alone", 300_000, theirs, 300_000 / seconds(play_for, rule, problem, 300_000))


def show(name, pulls, theirs, mine, quotation=""):
    print(f"{name:36s} {pulls:10,} {theirs:10,.0f} {mine:12,.0f} {mine / theirs:7,.0f}  {quotation}", flush=True)


def against_the_published_way():
    print(f"{'pulls per second':36s} {'pulls':>10s} {'plain':>10s} {'ours':>12s} {'ratio':>7s}  published (quoted)")
    row("benchmark d=5", instances.benchmark(5), 5_000, "6,700")
    row("many arms K=1000 d=2", many(1_000), 300, "600")
    sphere = instances.sphere(1000, np.random.default_rng(1), d=5)
    row("sphere K=1000 d=5", LinearBandit(sphere.arms, theta=2 * sphere.theta), 300)


def many(K):
    return instances.many_arms(K, np.random.default_rng(1), "code")


def against_arms():
    """A whole run at delta = 0.05, and one pull alone: nobody stops, and nothing but the pulls is done."""
    print(f"\n{'many arms, d=2':>14s} {'pulls of a run':>16s} {'ms of a run':>12s} {'us of a pull alone':>19s}")
    for K in (100, 1_000, 10_000, 100_000):
        problem = many(K)
        made = ours(problem)
        fixed = np.bincount([0, K - 1], [0.3, 0.7], K)
        alone = partial(lazy_track_and_stop, problem.arms, delta=1e-300, u=1e-9, allocation=fixed)
        few, more = (seconds(play_for, alone, problem, n, repeat=5) for n in (1_000, 4_001_000))
        print(f"{K:14,} {made:16,} {1e3 * seconds(ours, problem):12.1f} {(more - few) / 4:19.3f}", flush=True)


def against_laziness():
    print(f"\n{'benchmark d=5, first 3,000 pulls':36s} {'updates':>8s} {'ms':>8s}")
    problem = instances.benchmark(5)
    for update, updates in (("doubling", 9), (100, 30), (10, 300), (1, 2_996)):
        spent = seconds(ours, problem, 3_000, update=update, repeat=1)
        print(f"update={update!r:29} {updates:8,} {1e3 * spent:8.0f}")


def allocations():
    print(f"\n{'one allocation, K=1000 d=2':36s} {'ms':>8s} {'above the optimum':>18s}")
    problem = many(1_000)
    directions = oracle_directions(problem.arms, problem.theta + 0.1)
    bound = xy_design(problem.arms, directions).lower_bound
    for name, solver in (("certified", xy_design), ("Frank-Wolfe", frank_wolfe_design)):
        spent = seconds(solver, problem.arms, directions)
        print(f"{name:36s} {1e3 * spent:8.1f} {solver(problem.arms, directions).value / bound - 1:18.1e}")


if __name__ == "__main__":
    against_the_published_way()
    against_arms()
    against_laziness()
    allocations()
