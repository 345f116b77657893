"""Compile the numba kernels once, into the shared cache, so that no first run pays for it."""

import inspect
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np
from joblib import cpu_count
from tqdm import tqdm

from bandits_lib import fixed_budget, fixed_confidence, variance
from bandits_lib import papers as instances
from bandits_lib.design import frank_wolfe_design, g_design, pairs, round_design, wolfe_atwood_design, xy_design
from bandits_lib.design.far_pairs import ManyDifferences
from bandits_lib.design.published_designs import fwg_design, wynn_design
from bandits_lib.problem import LinearBandit
from bandits_lib.protocol import OWN
from bandits_lib.simulate.play import play

PACKAGES = fixed_confidence, fixed_budget, variance
GAUSSIAN = instances.benchmark(2)
BERNOULLI = LinearBandit(np.eye(3), theta=[0.2, 0.4, 0.6], noise="bernoulli")
PULLS = 50
ARGUMENTS: dict[str, Any] = {  # values of the arguments that rules require
    "delta": 0.1,
    "budget": PULLS,
    "epsilon": 0.5,
    "sigma_min": 0.1,
    "sigma_max": 1.0,
    "theta_bound": 1.0,
    "d": 3,
}
VARIANTS: dict[str, list[dict]] = {  # options of the rules that run other kernels with other options
    "gse": [{}, {"projection": "first3"}, {"design": "greedy"}, {"design": "greedy", "model": "logistic"}],
    "l_t3c": [{}, {"leader": "best"}],
    "lingape": [{}, {"rule": "greedy"}],
    "lingape_budget": [{}, {"rule": "greedy"}, {"formula": "code"}],
    "linucb": [{}, {"mode": "disjoint"}],
    "ucb_glm": [{"alpha": 1.0}],
}
BAR: dict[str, Any] = {"desc": "kernels", "unit": "group", "disable": None}  # a bar in a terminal, nothing in a file


def compile_kernels(processes=None):
    """Solve one design of each kind and play every public rule for a few pulls, in `processes` processes."""
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
    for design in DESIGNS:
        yield partial(_solve, design)
    for rule in rules():
        for options in VARIANTS.get(rule.__name__, [{}]):
            yield partial(_play, rule, options)


def rules():
    """Return every public rule."""
    return [f for package in PACKAGES for f in map(vars(package).get, package.__all__) if hasattr(f, "row")]


def _play(rule, options):
    """Play a rule on Gaussian rewards, unless it takes none, and on Bernoulli rewards."""
    binary = options.get("model") == "logistic" or (rule.row and rule.row.noise == OWN)
    for problem in [BERNOULLI] if binary else [GAUSSIAN, BERNOULLI]:
        of_problem = {"arms": problem.arms, "theta_star": problem.theta, "rng": np.random.default_rng(0)}
        values = ARGUMENTS | of_problem | options
        required = [name for name, of in inspect.signature(rule).parameters.items() if of.default is of.empty]
        if unknown := [name for name in required if name not in values]:
            raise ValueError(f"{rule.__name__} requires {unknown[0]}: add a value of {unknown[0]} to ARGUMENTS")
        play(rule(**{name: values[name] for name in [*required, *options]}), problem, np.random.default_rng(0), PULLS)


def _solve(design):
    """Solve one kind of design for two arms in two dimensions, and for 50 in four."""
    for arms in (np.eye(2), np.random.default_rng(0).standard_normal((50, 4))):
        design(arms)


def _g_optimal(arms):
    _rounded(g_design(arms).weights, arms)


def _xy_optimal(arms):
    _rounded(xy_design(arms, pairs(arms)).weights, arms)


def _rounded(weights, arms):
    for method in ("pukelsheim", "regret"):
        round_design(weights, 100, method, arms)


def _one_direction(arms):
    xy_design(arms, (arms[0] - arms[1])[None, :])


def _by_frank_wolfe(arms):
    frank_wolfe_design(arms, pairs(arms))
    ManyDifferences(arms).value(np.eye(arms.shape[1]))


def _published(arms):
    wynn_design(arms)
    wolfe_atwood_design(arms)
    for line_search in ("exact", "grid"):
        fwg_design(arms, line_search=line_search)


def _factorial(arms):
    """Solve the design of a factorial, whatever the arms."""
    levels = np.indices((6, 6, 6)).reshape(3, -1)
    factorial = np.hstack([np.eye(6)[column] for column in levels])
    xy_design(factorial, pairs(factorial))


DESIGNS = (_xy_optimal, _factorial, _by_frank_wolfe, _g_optimal, _published, _one_direction)
