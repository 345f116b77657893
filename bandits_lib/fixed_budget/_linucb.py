"""LinUCB stopped at a budget (Li, Chu, Langford, Schapire 2010), a baseline of azizi2022, section 8.

Pull argmax x'theta_hat + alpha ||x||_{A^-1}, A = ridge I + sum xx', until the budget is spent, and recommend the arm
pulled most often (azizi2022, appendix F). The rule minimises regret: as an identification rule it has no guarantee.

The published code of azizi2022 runs the *disjoint* form of Li et al.'s Algorithm 1, a regression of its own for every
arm, which makes no use of what the arms have in common; mode="disjoint". The default shares one regression, as the
cited analysis does. On arms that are orthogonal both are the same. The code's alpha is .513 (its formula has the
reciprocal of Li et al.'s square root), for rewards in [0, 1].
"""

from math import log, sqrt
from typing import NamedTuple

import numpy as np
from numba import njit

from bandits_lib.checks import check_arms, check_budget, check_option, check_positive, check_ridge, check_sigma
from bandits_lib.numerics.ridge import Ridge, learn, ridge_regression
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import NO_LIMIT, Loop, Result, Trace

DELTA = 0.001  # of Li et al.'s alpha: the azizi2022 code's


class State(NamedTuple):
    """What the compiled loop reads and writes."""

    counts: np.ndarray  # (K,)
    clock: np.ndarray  # pulls so far, pulls at the next look, budget
    fit: Ridge  # disjoint: only its columns, values, squares, response (K,) and ridge are used
    lengths: np.ndarray  # (K,), x'x
    bounds: np.ndarray  # (K,), scratch: upper confidence bounds
    alpha: np.ndarray  # (1,)


def linucb(arms, *, budget, sigma=1.0, mode="shared", alpha=None, ridge=1.0, trace=0):
    """The arm that LinUCB has pulled most after `budget` pulls (Li et al. 2010; azizi2022, appendix F).

    Parameters
    ----------
    arms : (K, d); budget : pulls, at least 1; all are made.
    sigma : standard deviation of the noise; of several the largest is used.
    mode : "shared", one regression for all arms, or "disjoint", one for each (the published code of azizi2022).
    alpha : factor of the norm, in units of reward; None: sigma (1 + sqrt(log(2 / delta) / 2)) with delta = .001
        (Li et al., Algorithm 1). The published code of azizi2022: .513.
    ridge : regulariser (Li et al.: 1); trace : record a Trace every `trace` pulls; 0, never.

    Returns Result(arm (int), history of Trace): of several most pulled, the one of largest estimated value. The
    statistic of a Trace is the largest upper bound (units of reward), its threshold inf: the rule never stops early.
    One arm: at once. Raises ValueError for bad input.

    >>> from bandits_lib import instances, play
    >>> problem = instances.benchmark(2, angle=1.0)
    >>> rule = linucb(problem.arms, budget=60)
    >>> play(rule, problem, np.random.default_rng(0)).result.recommendation
    0
    """
    arms = check_arms(arms)
    budget, sigma = check_budget(budget, 1, "one pull"), check_sigma(sigma, len(arms)).max()
    check_option("mode", mode, ("shared", "disjoint"))
    ridge = check_positive("ridge", ridge)
    alpha = sigma * (1 + sqrt(log(2 / DELTA) / 2)) if alpha is None else check_positive("alpha", alpha)
    if len(arms) == 1:
        return Result(0)
    check_ridge(arms, ridge)

    state, history = _start(arms, budget, alpha, ridge, mode, trace), []
    choose, update = (choose_arm, update_shared) if mode == "shared" else (choose_arm, update_disjoint)
    while True:
        yield Loop(choose, update, state)
        if trace and state.clock[0] >= state.clock[1]:
            history.append(_look(state))
            state.clock[1] += trace
        if state.clock[0] >= budget:
            return Result(most_pulled(state.counts, state.fit.values), tuple(history))


def most_pulled(counts, values):
    """The arm of most pulls; of several, that of the largest estimated value (`values`, (K,)), then the first."""
    most = np.flatnonzero(counts == counts.max())
    return int(most[argmax(values[most])])


def _start(arms, budget, alpha, ridge, mode, trace):
    K = len(arms)
    lengths = (arms**2).sum(axis=1)
    if mode == "shared":
        fit = ridge_regression(arms, ridge)
    else:
        none = np.empty((0, K))
        fit = Ridge(none, none, np.zeros(K), np.zeros(K), lengths / ridge, np.zeros(1), np.empty(0), np.array([ridge]))
    return State(
        counts=np.zeros(K, dtype=np.int64),
        clock=np.array([0, trace or NO_LIMIT, budget]),
        fit=fit,
        lengths=lengths,
        bounds=np.empty(K),
        alpha=np.array([alpha]),
    )


def _look(state):
    return Trace(
        int(state.clock[0]),
        state.counts.copy(),
        float(state.bounds.max()),
        np.inf,
        most_pulled(state.counts, state.fit.values),
    )


@njit(cache=True, forceinline=True, error_model="numpy")
def choose_arm(state):
    """argmax x'theta_hat + alpha ||x||_{A^-1} (Li et al. 2010, Alg. 1, lines 9 and 11); -1 at the budget or a look."""
    values, squares, bounds, alpha = state.fit.values, state.fit.squares, state.bounds, state.alpha[0]
    for k in range(bounds.shape[0]):
        bounds[k] = values[k] + alpha * np.sqrt(squares[k])
    if state.clock[0] >= state.clock[1] or state.clock[0] >= state.clock[2]:
        return -1
    return argmax(bounds)


@njit(cache=True, forceinline=True, error_model="numpy")
def update_shared(state, arm, reward):
    """Tell one reward to the regression of all arms."""
    state.counts[arm] += 1
    state.clock[0] += 1
    learn(state.fit, state.counts, arm, reward, state.clock[0])


@njit(cache=True, forceinline=True, error_model="numpy")
def update_disjoint(state, arm, reward):
    """Tell one reward to the arm's own regression: x'theta_a = |x|^2 S / (ridge + T |x|^2) after T pulls of sum S."""
    state.counts[arm] += 1
    state.clock[0] += 1
    state.fit.response[arm] += reward
    square = state.lengths[arm] / (state.fit.ridge[0] + state.counts[arm] * state.lengths[arm])
    state.fit.squares[arm] = square
    state.fit.values[arm] = state.fit.response[arm] * square
