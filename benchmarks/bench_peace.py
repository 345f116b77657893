"""Peace and BayesGap with a budget: CPU time beside the plain rules.

python benchmarks/bench_peace.py

The plain rules are those of bandits_lib/plain. Peace's minimises widths the published way: by Adam on softmax logits,
step 0.01, one normal draw a step, 500 steps, and evaluated on 1,000 draws; it solves one at every probe of its
bisection. The gradient has a closed form here, so that the ratio compares solvers and not ways to differentiate.
BayesGap's inverts the posterior afresh at every pull. Both sides run on the same core one after the other, in CPU
seconds; the ratio is what counts. The last column quotes azizi2022, section 8.1, another machine.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from time import process_time  # noqa: E402
from types import SimpleNamespace  # noqa: E402

import numpy as np  # noqa: E402

from bandits_lib import instances, play  # noqa: E402
from bandits_lib.design.gaussian_width import batch, points_in, solve_width, width_and_pressures  # noqa: E402
from bandits_lib.fixed_budget import bayes_gap, peace  # noqa: E402
from bandits_lib.numerics.span import span  # noqa: E402
from bandits_lib.plain import bayes_gap as plain_bayes_gap  # noqa: E402
from bandits_lib.plain import peace as plain_peace  # noqa: E402

SIGMA = np.sqrt(10)
PUBLISHED = {16: "530 s", 32: "14 hours"}


def adaptive(K):
    """azizi2022 section 8.1: e_1 ... e_d and (cos 0.1, sin 0.1), d = K - 1."""
    return instances.benchmark(K - 1, angle=0.1, scale=1.0, sigma=SIGMA)


# ---- the published way


def published_width(arms, points, rng, steps=500, draws=1_000):
    """Design and squared width by single-draw Adam on softmax logits; arms (K, r), points (m, r)."""
    logits, first, second = (np.zeros(len(arms)) for _ in range(3))
    for step in range(1, steps + 1):
        weights = np.exp(logits - logits.max())
        weights /= weights.sum()
        spectrum, axes = np.linalg.eigh((arms.T * weights) @ arms)
        root = np.sqrt(np.maximum(spectrum, 1e-12))
        eta = rng.standard_normal(arms.shape[1])
        z = points[np.argmax(points @ (axes / root) @ (axes.T @ eta))]
        z = z - points[np.argmin(points @ (axes / root) @ (axes.T @ eta))]
        product = np.outer(axes.T @ z, axes.T @ eta)
        turned = axes @ (-(product + product.T) / (root[:, None] * root * (root[:, None] + root)) / 4) @ axes.T
        gradient = np.einsum("kd,de,ke->k", arms, turned, arms)
        gradient = weights * (gradient - weights @ gradient)
        first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
        logits = logits - 0.01 * first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    heights = points @ (axes / root) @ axes.T @ rng.standard_normal((arms.shape[1], draws))
    return weights, (np.ptp(heights, axis=0).mean() / 2) ** 2


# ---- ours


def run_peace(problem, budget, seed, **options):
    rule = peace(problem.arms, budget=budget, sigma=SIGMA, rng=np.random.default_rng(seed), **options)
    return play(rule, problem, np.random.default_rng(1_000 + seed)).result.recommendation


def published_design(arms, points, rng):
    weights, value = published_width(arms, points, rng)
    return SimpleNamespace(weights=weights, value=value)


def run_plain_peace(problem, budget, seed):
    plain_peace.width_design = published_design
    play(plain_peace.peace(problem.arms, budget, np.random.default_rng(seed)), problem, np.random.default_rng(seed))


def run_bayes_gap(rule, problem, budget):
    play(rule(problem.arms, budget=budget, sigma=SIGMA), problem, np.random.default_rng(0))


# ---- the tables


def seconds(function, *arguments):
    """CPU seconds of one call."""
    start = process_time()
    function(*arguments)
    return process_time() - start


def per_hundred(function, problem, budget, runs, **options):
    """CPU seconds per 100 runs, from `runs` of them with seeds 0, 1, ..."""
    start = process_time()
    for seed in range(runs):
        function(problem, budget, seed, **options)
    return 100 / runs * (process_time() - start)


def peace_table():
    print("Peace, adaptive instance, B / K = 20: CPU seconds per 100 runs; the last of ours with the ratio objective")
    print(f"{'K':>4s} {'plain':>10s} {'ours':>8s} {'ratio':>7s} {'ours, ratio':>16s}  azizi2022 (quoted)")
    for K, runs, few in ((8, 100, 10), (16, 100, 5), (32, 100, 3), (64, 20, 0), (128, 20, 0)):
        problem = adaptive(K)
        run_peace(problem, 20 * K, 0)
        ours = per_hundred(run_peace, problem, 20 * K, runs)
        approximate = per_hundred(run_peace, problem, 20 * K, runs, objective="ratio")
        line = f"{'-':>10s} {ours:8.1f} {'-':>7s}"
        if few:
            plain = per_hundred(run_plain_peace, problem, 20 * K, few)
            line = f"{plain:10.1f} {ours:8.1f} {plain / ours:7.0f}"
        print(f"{K:4d} {line} {approximate:16.1f}  {PUBLISHED.get(K, '')}", flush=True)


def width_table():
    print("\nOne width design, all items of the adaptive instance: CPU seconds; squared width gamma on a common batch")
    print(f"{'K':>4s} {'Adam':>9s} {'ours':>9s} {'ratio':>7s} {'its gamma':>11s} {'our gamma':>10s} {'bound':>8s}")
    for K in (8, 16, 32, 64, 128):
        space = span(adaptive(K).arms)
        points = points_in(space, adaptive(K).arms)
        normals, judge = (batch(n, K - 1, np.random.default_rng(n)) for n in (1_024, 20_000))
        design = solve_width(space.arms, points, normals)
        ours = seconds(solve_width, space.arms, points, normals)
        start = process_time()
        weights, _ = published_width(space.arms, points, np.random.default_rng(0))
        adam = process_time() - start
        values = [width_and_pressures(space.arms, points, judge, w)[0] ** 2 for w in (weights, design.weights)]
        bound = solve_width(space.arms, points, judge, most=100).lower_bound
        print(f"{K:4d} {adam:9.3f} {ours:9.3f} {adam / ours:7.0f} {values[0]:11.1f} {values[1]:10.1f} {bound:8.1f}",
              flush=True)  # fmt: skip


def per_pull_table():
    print("\nPulls per CPU second, adaptive instance")
    print(f"{'':14s} {'K':>4s} {'plain':>10s} {'ours':>12s} {'ratio':>7s}")
    for K in (8, 32, 128):
        problem = adaptive(K)
        run_bayes_gap(bayes_gap, problem, 2 * K)
        fast = 100 * K / min(seconds(run_bayes_gap, bayes_gap, problem, 100 * K) for _ in range(3))
        slow = 1_000 / seconds(run_bayes_gap, plain_bayes_gap.bayes_gap, problem, K + 1_000)
        print(f"{'BayesGap-Lin':14s} {K:4d} {slow:10,.0f} {fast:12,.0f} {fast / slow:7.0f}", flush=True)


if __name__ == "__main__":
    peace_table()
    width_table()
    per_pull_table()
