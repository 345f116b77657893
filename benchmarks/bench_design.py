"""Designs: plain NumPy as published beside the library, in the same minute on the same core.

    python benchmarks/bench_design.py [--full]

Plain NumPy is ours, written from the papers: Frank-Wolfe that forms all directions, with the stop rule of fiez2019
appendix F; FWG (azizi2022 Algorithm 2) with 64 steps tried per line search; REX (Harman, Filova and Richtarik
2020). All gaps are relative to the library's certified lower bound. The last column quotes what the authors' public
code, or a conic solver, took on another machine.
`--full` also runs plain NumPy where it needs more than half a minute or a gigabyte.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
from pathlib import Path  # noqa: E402
from time import perf_counter, process_time  # noqa: E402

import numpy as np  # noqa: E402

from bandits_lib import instances  # noqa: E402
from bandits_lib.design import cache_off, frank_wolfe_design, g_design, pairs, xy_design  # noqa: E402


def sphere(n, d):
    x = np.random.default_rng(0).normal(size=(n, d))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def soare(d):
    return np.vstack([np.eye(d), np.r_[np.cos(0.01), np.sin(0.01), np.zeros(d - 2)]])


def many_arms(n):
    angles = np.r_[0, 3 * np.pi / 4, 0.78 + np.random.default_rng(0).uniform(0, 0.1, n - 2)]
    return np.c_[np.cos(angles), np.sin(angles)]


def head_features(n=2000, d=15):
    """weltz2023 Figure 2: 200 arms on the sphere, the others at radius 0.1; features of x'Sigma x, 120 of them."""
    x = sphere(n, d)
    x[200:] *= 0.1
    i, j = np.triu_indices(d, 1)
    return np.hstack([2 * x[:, i] * x[:, j], x * x])


# ---- the published ways


def all_differences(items):
    i, j = np.triu_indices(len(items), 1)
    return items[i] - items[j]


def xy_frank_wolfe(arms, directions):
    """Step 2/(k+2); stops when the weights move by less than 1 %; weights below 1e-5 go."""
    weights = np.full(len(arms), 1 / len(arms))
    for k in range(1, 5001):
        inverse = np.linalg.inv((arms.T * weights) @ arms)
        y = directions[((directions @ inverse) * directions).sum(axis=1).argmax()]
        vertex = np.zeros(len(arms))
        vertex[((arms @ (inverse @ y)) ** 2).argmax()] = 1
        new = weights + 2 / (k + 2) * (vertex - weights)
        small = np.linalg.norm(new - weights) < 0.01 * np.linalg.norm(weights)
        weights = new
        if small:
            break
    weights = np.where(weights < 1e-5, 0, weights)
    return weights / weights.sum()


def xy_value(arms, weights):
    """Largest squared norm of a difference of arms, block by block."""
    root = np.linalg.inv(np.linalg.cholesky((arms.T * weights) @ arms))
    points = arms @ root.T
    square = (points**2).sum(axis=1)
    blocks = range(0, len(arms), 500)
    return max((square[b : b + 500, None] + square - 2 * points[b : b + 500] @ points.T).max() for b in blocks)


def g_frank_wolfe(arms, steps=100):
    """azizi2022 Algorithm 2: vertex of largest (x_j'A^-1 x_max)^2, best of 64 steps on the G value itself."""
    weights = np.full(len(arms), 1 / len(arms))
    for _ in range(steps):
        inverse = np.linalg.inv((arms.T * weights) @ arms)
        products = arms @ inverse
        q = (products * arms).sum(axis=1)
        vertex = ((products @ arms[q.argmax()]) ** 2).argmax()
        r = products @ arms[vertex]
        step = np.linspace(0, 0.999, 64)[:, None]
        step = float(step[((q - step * r**2 / (1 - step + step * q[vertex])) / (1 - step)).max(axis=1).argmin(), 0])
        weights *= 1 - step
        weights[vertex] += step
    return weights


def g_rex(arms, tol=1e-3, per_dimension=4):
    """Randomised exchange: leading pair first, then support against the best arms in random order."""
    rng = np.random.default_rng(1)
    rank = arms.shape[1]
    weights = np.zeros(len(arms))
    weights[rng.permutation(len(arms))[: 2 * rank]] = 1 / (2 * rank)
    while True:
        inverse = np.linalg.inv((arms.T * weights) @ arms)
        q = ((arms @ inverse) * arms).sum(axis=1)
        if q.max() <= (1 + tol) * rank:
            return weights
        support = np.flatnonzero(weights)
        top = np.argsort(-q)[: per_dimension * rank]
        couples = [(top[0], support[q[support].argmin()])]
        couples += [(k, low) for low in rng.permutation(support) for k in rng.permutation(top)[:4]]
        for k, low in couples:
            x = arms[[k, low]]
            g = x @ inverse @ x.T
            curvature = 2 * (g[0, 0] * g[1, 1] - g[0, 1] ** 2)
            if k == low or curvature <= 1e-12:
                continue
            move = np.clip((g[0, 0] - g[1, 1]) / curvature, -weights[k], weights[low])
            if move == 0:
                continue
            weights[k] += move
            weights[low] -= move
            rays = inverse @ x.T
            inverse -= rays @ np.linalg.solve(np.diag([1 / move, -1 / move]) + g, rays.T)


def g_value(arms, weights):
    return ((arms @ np.linalg.inv((arms.T * weights) @ arms)) * arms).sum(axis=1).max()


# ---- the tables


def timed(call, repeat=3):
    """The least of a few times, in seconds, and what was returned."""
    times = []
    while True:
        start = perf_counter()
        result = call()
        times.append(perf_counter() - start)
        if len(times) == repeat or sum(times) > 5:
            return min(times), result


def row(name, plain, value, ours, quotation, skip=False):
    """One line: seconds and gaps of plain NumPy and of the library."""
    with cache_off():
        ours()
        seconds, design = timed(ours)
    gap = 100 * (design.value / design.lower_bound - 1)
    if skip:
        print(f"{name:38s} {'(--full)':>10s} {'':>8s} {seconds:10.4f} {gap:7.3f} % {'':>8s}  {quotation}", flush=True)
        return
    plain_seconds, weights = timed(plain, repeat=1)
    plain_gap = 100 * (value(weights) / design.lower_bound - 1)
    print(
        f"{name:38s} {plain_seconds:10.4f} {plain_gap:6.2f} % {seconds:10.4f} {gap:7.3f} % "
        f"{plain_seconds / seconds:8.0f}  {quotation}",
        flush=True,
    )


def xy_row(name, arms, quotation="", skip=False):
    def value(weights):
        return xy_value(arms, weights)

    def published():
        return xy_frank_wolfe(arms, all_differences(arms))

    row(name, published, value, lambda: xy_design(arms, pairs(arms)), quotation, skip)


def g_row(name, arms, plain, tol, quotation="", skip=False):
    row(name, lambda: plain(arms), lambda w: g_value(arms, w), lambda: g_design(arms, tol), quotation, skip)


def compare(full):
    print(f"{'':38s} {'plain':>10s} {'gap':>8s} {'ours':>10s} {'gap':>9s} {'ratio':>8s}  published code (quoted)")
    small, large, nine = sphere(200, 10), sphere(1000, 20), sphere(2000, 9)
    xy_row("XY pairs, n=200 d=10", small, "authors 0.83 s to 1.3 %; conic solver 28 s")
    xy_row("XY pairs, n=1000 d=20", large, "142 s to 1.1 %, 524 MB", skip=not full)
    xy_row("XY pairs, n=2000 d=9", nine, skip=not full)
    for d in (5, 10, 35):
        xy_row(f"XY pairs, benchmark d={d}", soare(d))
    xy_row("XY pairs, many arms n=1000 d=2", many_arms(1000), "RAGE, all phases: 1.85 s")
    xy_row("XY pairs, many arms n=30,000 d=2", many_arms(30_000), "needs > 14 GB", skip=True)
    spread = instances.many_arms(30_000, np.random.default_rng(0), "variance.09").arms  # nearly all nearly tight
    xy_row("XY pairs, text's angles n=30,000 d=2", spread, "needs > 14 GB", skip=True)
    g_row("G, FWG, n=200 d=10", small, g_frank_wolfe, 1e-2, "0.34 s to 14.8 %")
    g_row("G, FWG, n=1000 d=20", large, g_frank_wolfe, 1e-3, "7 s to 0.4 %; conic solver 3.8 s")
    g_row("G, REX, n=200 d=10", small, g_rex, 1e-3)
    g_row("G, REX, n=1000 d=20", large, g_rex, 1e-3)
    g_row("G, REX, HEAD features K=2000 M=120", head_features(), g_rex, 1e-3, skip=not full)
    g_row("G, REX, sphere n=2000 d=120", sphere(2000, 120), g_rex, 1e-3, skip=not full)


def frank_wolfe_row():
    """The library's own replication of the papers' solver, to show what it costs."""
    print("\nfrank_wolfe_design, all pairs")
    sets = {"n=200 d=10": sphere(200, 10), "benchmark d=10": soare(10), "n=1000 d=20": sphere(1000, 20)}
    for name, arms in sets.items():
        with cache_off():
            seconds, design = timed(lambda arms=arms: frank_wolfe_design(arms, pairs(arms)))
            bound = xy_design(arms, pairs(arms)).lower_bound
        above = 100 * (design.value / bound - 1)
        print(f"{name:38s} {seconds:10.4f} s, {design.iterations} steps, {above:.2f} % above")


MILLION = """
import sys
sys.path[:0] = [{here!r}]
import memory, time
import numpy as np
from bandits_lib.design import cache_off, g_design
arms, rng = np.empty((10**6, {d})), np.random.default_rng(0)
for block in np.split(arms, 100):
    block[:] = rng.normal(size=block.shape)
    block /= np.linalg.norm(block, axis=1, keepdims=True)
with cache_off():
    g_design(arms[:50_000])
    start = time.process_time()
    design = g_design(arms)
    print(time.process_time() - start, design.value / design.lower_bound - 1, memory.peak_megabytes())
"""


def many():
    """Hundreds of thousands and millions of arms: CPU seconds, gap over all pairs or arms, memory of the process."""
    print("\nVery many arms on the sphere: CPU seconds, certified gap, peak memory of the process")
    for d in (5, 20):
        arms = sphere(100_000, d)
        with cache_off():
            start = process_time()
            design = xy_design(arms, pairs(arms))
            seconds = process_time() - start
        gap = 100 * (design.value / design.lower_bound - 1)
        print(f"XY pairs, n=100,000 d={d:<18d} {seconds:10.2f} s {gap:7.3f} %", flush=True)
    for d in (10, 50):
        script = MILLION.format(here=str(Path(__file__).parent), d=d)
        answer = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
        seconds, gap, megabytes = map(float, answer.split())
        print(f"G, n=1,000,000 d={d:<21d} {seconds:10.2f} s {100 * gap:7.3f} % {megabytes:6.0f} MB", flush=True)


def growth():
    print("\nSeconds of xy_design over all pairs of n items on the sphere, certified gap 1e-3")
    sizes = [100, 300, 1000, 3000, 10_000, 30_000]
    print(f"{'d':>5s}" + "".join(f"{n:>10,d}" for n in sizes))
    for d in (2, 3, 5, 9, 20):
        print(f"{d:5d}", end="", flush=True)
        for n in sizes:
            arms = sphere(n, d)
            with cache_off():
                seconds, design = timed(lambda arms=arms: xy_design(arms, pairs(arms)))
            assert design.value <= 1.001 * design.lower_bound
            print(f"{seconds:10.4f}", end="", flush=True)
        print()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="also what takes minutes")
    full = parser.parse_args().full
    compare(full)
    frank_wolfe_row()
    growth()
    many()
