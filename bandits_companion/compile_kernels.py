"""Compile the numba kernels once, into the shared cache, so that no first run pays for it."""

from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np
from joblib import cpu_count
from tqdm import tqdm

from bandits_lib import papers as instances
from bandits_lib.design import frank_wolfe_design, g_design, pairs, round_design, wolfe_atwood_design, xy_design
from bandits_lib.design.far_pairs import ManyDifferences
from bandits_lib.design.published_designs import fwg_design, wynn_design
from bandits_lib.fixed_budget import bayes_gap, gse, lingape_budget, linucb, peace, ucb_glm
from bandits_lib.fixed_confidence import (
    fws,
    l_t3c,
    lazy_track_and_stop,
    lin_game,
    lingape,
    sphere_track_and_stop,
    xy_adaptive,
)
from bandits_lib.problem import LinearBandit
from bandits_lib.simulate.play import play

GAUSSIAN = instances.benchmark(2)
BERNOULLI = LinearBandit(np.eye(2), theta=[0.4, 0.6], noise="bernoulli")
BUDGET: dict[str, Any] = {"budget": 50}
SURE: dict[str, Any] = {"delta": 0.1}
BAR: dict[str, Any] = {"desc": "kernels", "unit": "group", "disable": None}  # a bar in a terminal, nothing in a file
RANDOM = l_t3c, peace  # rules that draw
RULES = (
    *((bayes_gap, problem, BUDGET) for problem in (GAUSSIAN, BERNOULLI)),
    (ucb_glm, BERNOULLI, BUDGET | {"alpha": 1.0}),
    *((linucb, GAUSSIAN, BUDGET | {"mode": mode}) for mode in ("shared", "disjoint")),
    *((rule, GAUSSIAN, SURE) for rule in (lin_game, fws, l_t3c)),
    *((lingape, GAUSSIAN, SURE | {"theta_bound": 1.0, "rule": rule}) for rule in ("greedy", "ratio")),
    *((lingape_budget, GAUSSIAN, BUDGET | SURE | {"rule": rule}) for rule in ("greedy", "ratio")),
    (lingape_budget, GAUSSIAN, BUDGET | SURE | {"formula": "code"}),
    (sphere_track_and_stop, GAUSSIAN, SURE | {"epsilon": 0.5}),
    *((gse, BERNOULLI, BUDGET | {"design": "greedy", "model": model}) for model in ("linear", "logistic")),
    *((lazy_track_and_stop, problem, SURE) for problem in (GAUSSIAN, BERNOULLI)),
    (peace, GAUSSIAN, BUDGET),
    (xy_adaptive, GAUSSIAN, SURE),
)


def compile_kernels(processes=None):
    """Solve one design of each kind and play every per-pull rule for a few pulls, in `processes` processes."""
    processes = min(2, cpu_count()) if processes is None else processes
    if processes == 1:
        for part in tqdm(list(parts()), **BAR):
            part()
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        waiting = [pool.submit(part) for part in parts()]
        for done in tqdm(as_completed(waiting), total=len(waiting), **BAR):
            done.result()


def parts():
    """Yield calls that compile something, the longest first."""
    yield _designs
    for name, problem, options in RULES:
        yield partial(_play, name, problem, options)


def _play(rule, problem, options):
    if rule in RANDOM:
        options = options | {"rng": np.random.default_rng(0)}
    first = 3 if rule is sphere_track_and_stop else problem.arms
    play(rule(first, **options), problem, np.random.default_rng(0), 50)


def _designs():
    """Solve one design of each kind, in two dimensions and in four."""
    for arms in (np.eye(2), np.random.default_rng(0).standard_normal((50, 4))):
        for weights in (g_design(arms).weights, xy_design(arms, pairs(arms)).weights):
            for method in ("pukelsheim", "regret"):
                round_design(weights, 100, method, arms)
        xy_design(arms, (arms[0] - arms[1])[None, :])
        frank_wolfe_design(arms, pairs(arms))
        ManyDifferences(arms).value(np.eye(arms.shape[1]))
        wynn_design(arms)
        wolfe_atwood_design(arms)
        for line_search in ("exact", "grid"):
            fwg_design(arms, line_search=line_search)
