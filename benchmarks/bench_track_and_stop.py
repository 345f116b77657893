"""Lazy Track-and-Stop: pulls per second beside a plain-numpy twin of the published way, and the cost of a pull.

python benchmarks/bench_track_and_stop.py

The twin is ours, written from the paper, and does per pull what the published code does: least squares and the
statistic over all arms anew, the least eigenvalue, the determinant, and the lag of every arm in the support. Both sides
run on the same core one after the other, in CPU seconds, best of three, updates of the allocation included; the ratio
is what counts. The last column quotes what the authors' code did on another machine. The twin has the certified
allocation too, which at K = 1000 is as fast as the papers' Frank-Wolfe (last table).
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
from bandits_lib.glr import opening  # noqa: E402

DELTA = 0.05


def twin(problem, pulls, delta=DELTA, allocation=None):
    """Algorithm 1 for so many pulls, everything over all arms at every pull; doubling updates, or one allocation."""
    arms, rng = problem.arms, np.random.default_rng(0)
    K, d = arms.shape
    first = opening(arms, arms).first
    counts = np.bincount(first, minlength=K)
    information, response = arms[first].T @ arms[first], arms.T @ problem.pull(counts, rng).sums
    c = np.linalg.eigvalsh(information)[0]
    w, drawn, turn = counts / d if allocation is None else allocation, counts.astype(float), 0
    for t in range(d, pulls):
        inverse = np.linalg.inv(information)
        theta = inverse @ response
        values = arms @ theta
        best = int(np.argmax(values))
        y = np.delete(arms[best] - arms, best, axis=0)
        statistic = ((y @ theta) ** 2 / (2 * np.einsum("nd,de,ne->n", y, inverse, y))).min()
        if statistic > 2 * (0.5 * np.log(np.linalg.det(information / c + np.eye(d))) - np.log(delta)):
            return
        if allocation is None and t & (t - 1) == 0:
            w = xy_design(arms, oracle_directions(arms, theta)).weights
        if np.linalg.eigvalsh(information)[0] < c * np.sqrt(t / d):
            arm, turn = first[turn], (turn + 1) % d
        else:
            arm = int(np.argmin(np.where(drawn > 0, counts - drawn, np.inf)))
        x = arms[arm]
        information += np.outer(x, x)
        response += x * (problem.means[arm] + rng.standard_normal())
        counts[arm] += 1
        drawn += w


def ours(problem, pulls=None, **options):
    """A run, or its first so many pulls. Returns how many there were."""
    rule = lazy_track_and_stop(problem.arms, delta=DELTA, **options)
    return play(rule, problem, np.random.default_rng(0), max_pulls=pulls).counts.sum()


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
    """Pulls per second of a whole run, the twin's cut at so many pulls, and of pulls alone: nothing is updated."""
    made = ours(problem)
    theirs, mine = min(pulls, made) / seconds(twin, problem, min(pulls, made)), made / seconds(ours, problem)
    show(f"{name}, a run", made, theirs, mine, quotation)
    fixed = xy_design(problem.arms, oracle_directions(problem.arms, problem.theta)).weights
    rule = partial(lazy_track_and_stop, problem.arms, delta=1e-300, allocation=fixed)
    play_for(rule, problem, 10)
    theirs = pulls / seconds(twin, problem, pulls, 1e-300, fixed)
    show(f"{name}, pulls alone", 300_000, theirs, 300_000 / seconds(play_for, rule, problem, 300_000))


def show(name, pulls, theirs, mine, quotation=""):
    print(f"{name:36s} {pulls:10,} {theirs:10,.0f} {mine:12,.0f} {mine / theirs:7,.0f}  {quotation}", flush=True)


def against_the_published_way():
    print(f"{'pulls per second':36s} {'pulls':>10s} {'twin':>10s} {'ours':>12s} {'ratio':>7s}  published code (quoted)")
    row("benchmark d=5", instances.benchmark(5), 5_000, "6,700")
    row("many arms K=1000 d=2", many(1_000), 3_000, "600")
    sphere = instances.sphere(1000, np.random.default_rng(1), d=5)
    row("sphere K=1000 d=5", LinearBandit(sphere.arms, theta=2 * sphere.theta), 2_000)


def many(K):
    return instances.many_arms(K, np.random.default_rng(1), "code")


def against_arms():
    """A whole run at delta = .05, and one pull alone: nobody stops, and nothing but the pulls is done."""
    print(f"\n{'many arms, d=2':>14s} {'pulls of a run':>16s} {'ms of a run':>12s} {'us of a pull alone':>19s}")
    for K in (100, 1_000, 10_000, 100_000):
        problem = many(K)
        made = ours(problem)
        fixed = np.bincount([0, K - 1], [0.3, 0.7], K)
        alone = partial(lazy_track_and_stop, problem.arms, delta=1e-300, u=1e-9, allocation=fixed)
        few, more = (seconds(play_for, alone, problem, n, repeat=5) for n in (1_000, 401_000))
        print(f"{K:14,} {made:16,} {1e3 * seconds(ours, problem):12.1f} {(more - few) / 0.4:19.2f}", flush=True)


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
