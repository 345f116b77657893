"""Pulls per second of the rules that choose arm by arm, beside the plain rules.

python benchmarks/bench_per_pull.py

The plain rules (bandits_lib/plain) compute per pull what the published code computes: LinGapE all widths anew;
XY-adaptive the norms of all pairs, each formed, and their products with all arms. Both sides run on the same core one
after the other, the plain rule for fewer pulls, in CPU seconds, best of three; the ratio is what counts. The last
column quotes what the authors' code did on another machine.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from itertools import combinations  # noqa: E402
from time import process_time  # noqa: E402

import numpy as np  # noqa: E402

from bandits_lib import instances, play  # noqa: E402
from bandits_lib.design import cache_clear  # noqa: E402
from bandits_lib.fixed_confidence import lingape, xy_adaptive  # noqa: E402
from bandits_lib.fixed_confidence.xy_adaptive import pull_greedily  # noqa: E402
from bandits_lib.plain.lingape import lingape as plain_lingape  # noqa: E402
from bandits_lib.plain.xy_adaptive import greedy  # noqa: E402

BENCHMARK = instances.benchmark(5)
LARGEST = instances.benchmark(35)  # of fiez2019, Figure 1a
SPHERE = instances.sphere(1000, np.random.default_rng(1))
MANY = instances.many_arms(1000, np.random.default_rng(1), "code")


# ---- the plain rules


def run_plain_lingape(problem, pulls):
    rule = plain_lingape(problem.arms, problem.items, 0.05, np.linalg.norm(problem.theta))
    play(rule, problem, np.random.default_rng(0), max_pulls=len(problem.arms) + pulls)


def pull_plainly(problem, items, pulls):
    """So many greedy pulls from the identity."""
    directions, information = np.array([z - w for z, w in combinations(items, 2)]), np.eye(problem.arms.shape[1])
    for _ in range(pulls):
        x = problem.arms[greedy(problem.arms, directions, np.linalg.inv(information))]
        information += np.outer(x, x)


# ---- ours


def run_lingape(problem, pulls):
    """The first so many pulls of a run beyond one of each arm, in the compiled loop. Returns how many there were."""
    rule = lingape(problem.arms, delta=0.05, theta_bound=np.linalg.norm(problem.theta))
    run = play(rule, problem, np.random.default_rng(0), max_pulls=len(problem.arms) + pulls)
    return run.counts.sum() - len(problem.arms)


def greedy_pulls(problem, items, pulls):
    """So many greedy pulls from the identity."""
    d = problem.arms.shape[1]
    cache_clear()
    none = np.zeros(len(problem.arms), int)
    pull_greedily(problem.arms, items - items[0], none, (d, 0.0, False, pulls))


def run_xy_adaptive(problem, **options):
    """A whole run, its allocations computed afresh. Returns its pulls."""
    cache_clear()
    return play(xy_adaptive(problem.arms, delta=0.05, **options), problem, np.random.default_rng(0)).counts.sum()


# ---- the table


def speed(function, *arguments, pulls=None, repeat=3):
    """Pulls per CPU second, best of `repeat`; function(*arguments, pulls), or one that returns its pulls."""
    best = 0.0
    for _ in range(repeat):
        start = process_time()
        made = function(*arguments) if pulls is None else function(*arguments, pulls)
        best = max(best, (made or pulls) / (process_time() - start))
    return best


def row(name, plain, ours, quotation=""):
    """One line of pulls per second; plain None: it cannot run."""
    shown = (
        f"{'-':>10s} {ours:12,.0f} {'-':>7s}" if plain is None else f"{plain:10,.0f} {ours:12,.0f} {ours / plain:7,.0f}"
    )
    print(f"{name:44s} {shown}  {quotation}", flush=True)


def both(name, plain, ours, *arguments, pulls, quotation=""):
    """Compile, then time the plain rule for the first and ours for the second number of pulls."""
    ours(*arguments, 10)
    row(name, speed(plain, *arguments, pulls=pulls[0]), speed(ours, *arguments, pulls=pulls[1]), quotation)


def alone(name, *arguments, pulls):
    """Ours only: the plain rule would multiply 499,500 pairs with 1,000 arms at every pull."""
    greedy_pulls(*arguments, 10)
    row(name, None, speed(greedy_pulls, *arguments, pulls=pulls), "cannot start: a 10^6 x 10^6 matrix")


if __name__ == "__main__":
    print(f"{'pulls per second':44s} {'plain':>10s} {'ours':>12s} {'ratio':>7s}  published code (quoted)")
    both("LinGapE, benchmark d=5", run_plain_lingape, run_lingape, BENCHMARK, pulls=(3_000, 500_000),
         quotation="17,300")  # fmt: skip
    both("LinGapE, sphere K=1000 d=9", run_plain_lingape, run_lingape, SPHERE, pulls=(100, 20_000))
    two = BENCHMARK.arms[[0, 5]]
    both("XY-adaptive, benchmark d=5, all 6 active", pull_plainly, greedy_pulls, BENCHMARK, BENCHMARK.arms,
         pulls=(5_000, 500_000))  # fmt: skip
    both("XY-adaptive, benchmark d=5, 2 active", pull_plainly, greedy_pulls, BENCHMARK, two, pulls=(5_000, 500_000))
    published = {"ratio": "per_pull", "start": "ridge"}
    run_xy_adaptive(instances.benchmark(5, angle=0.5), **published)
    whole = speed(run_xy_adaptive, BENCHMARK)
    row("XY-adaptive, benchmark d=5, a whole run", None, whole, "23,100")
    both("XY-adaptive, benchmark d=35, all 36 active", pull_plainly, greedy_pulls, LARGEST, LARGEST.arms,
         pulls=(200, 200_000))  # fmt: skip
    row("XY-adaptive, benchmark d=35, a whole run", None, speed(run_xy_adaptive, LARGEST, repeat=1))
    alone("XY-adaptive, sphere K=1000 d=9, all active", SPHERE, SPHERE.arms, pulls=500)
    alone("XY-adaptive, many arms K=1000 d=2, all active", MANY, MANY.arms, pulls=500)
    both("XY-adaptive, sphere K=1000 d=9, 30 active", pull_plainly, greedy_pulls, SPHERE, SPHERE.arms[:30],
         pulls=(100, 20_000))  # fmt: skip
    for name, problem in (("sphere K=1000 d=9", SPHERE), ("many arms K=1000 d=2", MANY)):
        start = process_time()
        pulls = run_xy_adaptive(problem, **published)
        print(f"a whole run of XY-adaptive, {name}: {pulls:,} pulls in {process_time() - start:.2f} s")
