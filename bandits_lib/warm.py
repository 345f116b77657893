"""Compile the numba kernels once, into the shared cache, so that no first run pays for it."""

import numpy as np

from bandits_lib import instances
from bandits_lib.design import frank_wolfe_design, g_design, pairs, round_design, xy_design
from bandits_lib.fixed_confidence import lingape, xy_adaptive
from bandits_lib.problem import LinearBandit
from bandits_lib.protocol import play


def compile_kernels():
    """Solve one design of each kind and play every per-pull rule for a few pulls, with either noise."""
    _designs()
    gaussian = instances.benchmark(2)
    bernoulli = LinearBandit(np.eye(2), theta=[0.4, 0.6], noise="bernoulli")
    for problem in (gaussian, instances.sphere(70, np.random.default_rng(0), d=3)):  # all pairs in view, and not
        play(xy_adaptive(problem.arms, delta=0.1), problem, np.random.default_rng(0), 50)
    for problem in (gaussian, bernoulli):
        for rule in ("ratio", "greedy"):
            play(lingape(problem.arms, delta=0.1, theta_bound=1.0, rule=rule), problem, np.random.default_rng(0), 50)


def _designs():
    for arms in (np.eye(2), np.random.default_rng(0).standard_normal((50, 4))):
        for weights in (g_design(arms).weights, xy_design(arms, pairs(arms)).weights):
            round_design(weights, 100)
        xy_design(arms, (arms[0] - arms[1])[None, :])
        frank_wolfe_design(arms, pairs(arms))
