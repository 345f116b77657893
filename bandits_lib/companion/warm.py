"""Compile the numba kernels once, into the shared cache, so that no first run pays for it."""

from functools import partial

import numpy as np

from bandits_lib import papers as instances
from bandits_lib.design import frank_wolfe_design, g_design, pairs, round_design, xy_design
from bandits_lib.design.far_pairs import ManyDifferences
from bandits_lib.design.g_optimal import fwg_design, wynn_design
from bandits_lib.fixed_budget import bayes_gap, gse, lingape_budget, linucb, peace, peps, ucb_glm
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


def compile_kernels():
    """Solve one design of each kind and play every per-pull rule for a few pulls, with the noise of the notebooks."""
    _designs()
    gaussian = instances.benchmark(2)
    bernoulli = LinearBandit(np.eye(2), theta=[0.4, 0.6], noise="bernoulli")
    play(xy_adaptive(gaussian.arms, delta=0.1), gaussian, np.random.default_rng(0), 50)
    for tracking in (lazy_track_and_stop, lin_game, fws, partial(l_t3c, rng=np.random.default_rng(0))):
        play(tracking(gaussian.arms, delta=0.1), gaussian, np.random.default_rng(0), 50)
    play(peps(gaussian.arms, budget=50, rng=np.random.default_rng(0)), gaussian, np.random.default_rng(0))
    for rule in ("ratio", "greedy"):
        play(lingape(gaussian.arms, delta=0.1, theta_bound=1.0, rule=rule), gaussian, np.random.default_rng(0), 50)
        play(lingape_budget(gaussian.arms, budget=50, delta=0.1, rule=rule), gaussian, np.random.default_rng(0))
    for mode in ("shared", "disjoint"):
        play(linucb(gaussian.arms, budget=50, mode=mode), gaussian, np.random.default_rng(0))
    for problem in (gaussian, bernoulli):
        play(bayes_gap(problem.arms, budget=50), problem, np.random.default_rng(0))
    play(lazy_track_and_stop(bernoulli.arms, delta=0.1), bernoulli, np.random.default_rng(0), 50)
    for model in ("linear", "logistic"):
        play(gse(bernoulli.arms, budget=50, design="greedy", model=model), bernoulli, np.random.default_rng(0))
    play(sphere_track_and_stop(3, epsilon=0.5, delta=0.1), gaussian, np.random.default_rng(0), 50)
    play(peace(gaussian.arms, budget=50, rng=np.random.default_rng(0)), gaussian, np.random.default_rng(0))
    play(ucb_glm(bernoulli.arms, budget=50, alpha=1.0), bernoulli, np.random.default_rng(0))


def _designs():
    """Solve one design of each kind, in two dimensions and in four."""
    for arms in (np.eye(2), np.random.default_rng(0).standard_normal((50, 4))):
        for weights in (g_design(arms).weights, xy_design(arms, pairs(arms)).weights):
            round_design(weights, 100)
        xy_design(arms, (arms[0] - arms[1])[None, :])
        frank_wolfe_design(arms, pairs(arms))
        ManyDifferences(arms).value(np.eye(arms.shape[1]))
        wynn_design(arms)
        for line_search in ("exact", "grid"):
            fwg_design(arms, line_search=line_search)
