"""LinUCB stopped at a budget (Li, Chu, Langford, Schapire 2010), a baseline of azizi2022 (Azizi et al., section 8).

The rule pulls argmax x'theta_hat + alpha ||x||_{A^-1}, A = ridge I + sum xx', until the budget is spent, and recommends
the arm pulled most often. It minimises regret and has no guarantee for best-arm identification. mode="disjoint" fits a
separate regression to every arm, as Algorithm 1 of Li et al. and the published code of azizi2022 do.
"""

from math import log, sqrt
from typing import Any, NamedTuple

import numpy as np

from bandits_lib.checks import check_budget, check_noisy, check_option, check_positive, check_ridge
from bandits_lib.numerics.kernels import inlined, record
from bandits_lib.numerics.ridge import learn, ridge_regression
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import NONE, PULLS, Algorithm, Loop, Result, Row, rule


@rule(
    label="LinUCB",
    row=Row(PULLS, "rewards should be good on the way, too", "Li et al. 2010", NONE),
)
def linucb(
    arms: np.ndarray,
    *,
    budget: int,
    sigma: float | np.ndarray = 1.0,
    mode: str = "shared",
    alpha: float | None = None,
    ridge: float = 1.0,
) -> Algorithm:
    """Find the arm that LinUCB pulls most in `budget` pulls (Li et al. 2010; azizi2022, appendix F).

    Parameters
    ----------
    arms, budget, sigma : (K, d) array_like, int, and float or (K,) array_like
        As for `gse`.
    mode : {"shared", "disjoint"}
        One regression for all arms, or one for each arm (the published code of azizi2022).
    alpha : float, optional
        Factor of the norm, in units of reward; by default sigma (1 + sqrt(log(2 / 0.001) / 2)) (Li et al., Algorithm
        1). The published code of azizi2022 has 0.513.
    ridge : float
        Positive regulariser (Li et al.: 1).

    Yields
    ------
    (K,) int array or Loop
        Pulls to make next: a batch, or a `Loop` of single pulls. The rule returns a `Result`: the most pulled arm (int;
        ties go to the largest estimate). A `Trace` has the largest upper bound as statistic and the threshold inf. A
        single arm needs no pull.

    Examples
    --------
    >>> from bandits_lib import instances, play
    >>> problem = instances.benchmark(2, angle=1.0)
    >>> play(linucb(problem.arms, budget=60), problem, np.random.default_rng(0)).result.recommendation
    0
    """
    arms, sigma = check_noisy(arms, sigma)
    budget = check_budget(budget, 1, "one pull")
    check_option("mode", mode, ("shared", "disjoint"))
    ridge = check_positive("ridge", ridge)
    # alpha of Li et al., 1 + sqrt(log(2 / delta) / 2), at delta = 0.001 as in the code of azizi2022
    factor = sigma * (1 + sqrt(log(2 / 0.001) / 2)) if alpha is None else check_positive("alpha", alpha)
    if len(arms) == 1:
        return Result(0)
    check_ridge(arms, ridge)

    make, update = (ridge_regression, learn) if mode == "shared" else (disjoint, learn_disjoint)
    counts, bounds = np.zeros(len(arms), dtype=np.int64), np.empty(len(arms))
    state = State(counts, record(pulls=0, due=budget), make(arms, ridge), bounds, float(factor))
    yield Loop(choose, update, state, look)
    return Result(most_pulled(counts, state.fit.values))


def most_pulled(counts, values):
    """Return the arm of most pulls; of ties, that of the largest estimated value (`values`, (K,)), then the first."""
    most = np.flatnonzero(counts == counts.max())
    return int(most[argmax(values[most])])


class State(NamedTuple):
    counts: np.ndarray  # (K,)
    status: np.record  # pulls; due, the budget
    fit: Any  # Ridge or Disjoint
    bounds: np.ndarray  # (K,), scratch: upper confidence bounds
    alpha: float


class Disjoint(NamedTuple):
    """Separate regressions of the arms."""

    values: np.ndarray  # (K,), x'theta_x
    squares: np.ndarray  # (K,), x'A_x^-1 x
    sums: np.ndarray  # (K,), of rewards
    lengths: np.ndarray  # (K,), x'x
    ridge: float


def disjoint(arms, ridge):
    """Return the `Disjoint` of arms (K, d) before any pull."""
    lengths = (arms**2).sum(axis=1)
    return Disjoint(np.zeros(len(arms)), lengths / ridge, np.zeros(len(arms)), lengths, ridge)


def look(state):
    """Return the largest bound, no threshold and the most pulled arm."""
    choose(state)  # sets the bounds
    return float(state.bounds.max()), np.inf, most_pulled(state.counts, state.fit.values)


@inlined
def choose(state):
    """Return argmax x'theta_hat + alpha ||x||_{A^-1}; -1 at the budget."""
    status, values, squares, bounds = state.status, state.fit.values, state.fit.squares, state.bounds
    for k in range(bounds.shape[0]):
        bounds[k] = values[k] + state.alpha * np.sqrt(squares[k])  # Alg. 1, line 9
    return argmax(bounds) if status.pulls < status.due else -1  # Alg. 1, line 11


@inlined
def learn_disjoint(state, arm, reward):
    """Update the arm's own regression by one reward: x'theta_x = |x|^2 S / (ridge + T |x|^2), T pulls of sum S."""
    status, fit = state.status, state.fit
    state.counts[arm] += 1
    status.pulls += 1
    fit.sums[arm] += reward
    fit.squares[arm] = fit.lengths[arm] / (fit.ridge + state.counts[arm] * fit.lengths[arm])
    fit.values[arm] = fit.sums[arm] * fit.squares[arm]
