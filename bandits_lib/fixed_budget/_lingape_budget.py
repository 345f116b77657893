"""LinGapE stopped at a budget (Xu, Honda, Sugiyama 2018, Algorithm 1), a baseline of azizi2022, section 8.

Each arm once; then the leader i and its most ambiguous rival j are compared, and the arm is pulled that the optimal
allocation for the direction x_i - x_j lacks most ("ratio") or that shrinks its norm most ("greedy"), until the budget
is spent; the answer is the leader then. There is no stop on the way and no guarantee at the end: `delta` only sets how
much width a rival gets.

Departures: the program min |w|_1 subject to X'w = x_i - x_j is solved for w of either sign, as the analysis has it.
The published code of azizi2022 restricts it to w >= 0, which has no solution for most pairs. Its width, too, is
another: it multiplies by the variance where the deviation is meant (pass sigma=10 for noise of variance 10).
"""

from math import log, sqrt
from typing import NamedTuple

import numpy as np
from numba import njit

from bandits_lib.checks import (
    check_arms,
    check_budget,
    check_delta,
    check_option,
    check_positive,
    check_ridge,
    check_sigma,
)
from bandits_lib.design.allocations import Allocations, allocations
from bandits_lib.numerics.ridge import Ridge, learn, products, ridge_regression
from bandits_lib.numerics.span import basis
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import NO_LIMIT, Loop, Result, Trace


class State(NamedTuple):
    """What the compiled loop reads and writes."""

    counts: np.ndarray  # (K,)
    clock: np.ndarray  # pulls so far, pulls at the next look, budget
    fit: Ridge
    pair: np.ndarray  # leader i and rival j
    leads: np.ndarray  # (K,), upper bounds on the lead of each arm over the leader; scratch
    toward: np.ndarray  # (2, K), scratch: x_i'A^-1 X', x_j'A^-1 X'
    rows: np.ndarray  # (K, K), row of each pair in the table of allocations, -1: not solved yet
    support: np.ndarray  # (C, r + 1), arms of the allocations
    shares: np.ndarray  # (C, r + 1), the arms' shares; -1 after the last
    limits: np.ndarray  # sigma, log(K^2 / delta), sqrt(ridge) theta_bound


def lingape_budget(arms, *, budget, delta, sigma=1.0, theta_bound=1.0, ridge=1e-8, rule="ratio", trace=0):
    """The leader of LinGapE after `budget` pulls (Xu et al. 2018, Algorithm 1; azizi2022, section 8).

    Parameters
    ----------
    arms : (K, d); budget : pulls, at least K; all are made.
    delta : sets the width of the rivals, and no error probability (azizi2022 tunes it on a grid).
    sigma : standard deviation of the noise; of several the largest is used.
    theta_bound : bound on the norm of theta; it enters the width times sqrt(ridge), next to nothing by default.
    ridge : regulariser lambda (azizi2022's code: 1e-8).
    rule : "ratio" or "greedy"; trace : record a Trace every `trace` pulls; 0, never.

    Returns Result(arm (int), history of Trace): statistic minus the rival's largest lead, threshold inf. One arm: at
    once. Raises ValueError for bad input.

    >>> from bandits_lib import instances, play
    >>> problem = instances.benchmark(2, angle=1.0)
    >>> rule = lingape_budget(problem.arms, budget=60, delta=0.1)
    >>> play(rule, problem, np.random.default_rng(0)).result.recommendation
    0
    """
    arms = check_arms(arms)
    budget, delta = check_budget(budget, len(arms), "each arm once"), check_delta(delta)
    sigma = check_sigma(sigma, len(arms)).max()
    theta_bound, ridge = check_positive("theta_bound", theta_bound), check_positive("ridge", ridge)
    check_option("rule", rule, ("ratio", "greedy"))
    if len(arms) == 1:
        return Result(0)
    check_ridge(arms, ridge)

    sample = yield np.ones(len(arms), dtype=np.int64)  # Alg. 1: pull each arm once
    arms = arms @ basis(arms)
    table = allocations(arms) if rule == "ratio" else Allocations(arms[:0])  # greedy needs none
    limits = np.array([sigma, log(len(arms) ** 2 / delta), sqrt(ridge) * theta_bound])
    state, history = _start(arms, sample, budget, limits, ridge, table, trace), []
    choose = choose_ratio if rule == "ratio" else choose_greedy
    while True:
        yield Loop(choose, update, state)
        if trace and state.clock[0] >= state.clock[1]:
            history.append(_look(state))
            state.clock[1] += trace
        if state.clock[0] >= budget:
            return Result(int(argmax(state.fit.values)), tuple(history))
        if rule == "ratio":
            state = _with_allocation(state, table)


def _start(arms, sample, budget, limits, ridge, table, trace):
    K, pulls = len(arms), int(sample.counts.sum())
    return State(
        counts=sample.counts.astype(np.int64),
        clock=np.array([pulls, max(pulls, trace) if trace else NO_LIMIT, budget]),
        fit=ridge_regression(arms, ridge, sample),
        pair=np.array([-1, -1]),
        leads=np.empty(K),
        toward=np.empty((2, K)),
        rows=table.rows,
        support=table.support,
        shares=table.shares,
        limits=limits,
    )


def _look(state):
    return Trace(
        int(state.clock[0]), state.counts.copy(), -float(state.leads[state.pair[1]]), np.inf, int(state.pair[0])
    )


def _with_allocation(state, table):
    """The state with the allocation p* of the pair at hand."""
    table.solve(*map(int, state.pair))
    return state._replace(support=table.support, shares=table.shares)


@njit(cache=True, forceinline=True, error_model="numpy")
def select_pair(state):
    """Leader i and rival j = argmax (x_j - x_i)'theta + ||x_j - x_i||_{A^-1} C_t (Alg. 1, select-direction).

    C_t = sigma sqrt(2 log(K^2 det(A)^(1/2) det(ridge I)^(-1/2) / delta)) + sqrt(ridge) theta_bound.
    """
    values, squares, leads, limits = state.fit.values, state.fit.squares, state.leads, state.limits
    leader = argmax(values)
    products(state.fit, leader, state.toward[0])
    width = limits[0] * np.sqrt(2 * (limits[1] + 0.5 * state.fit.logdet[0])) + limits[2]
    for k in range(leads.shape[0]):
        square = max(0.0, squares[k] + squares[leader] - 2 * state.toward[0, k])
        leads[k] = values[k] - values[leader] + np.sqrt(square) * width
    leads[leader] = -np.inf
    state.pair[0], state.pair[1] = leader, argmax(leads)


@njit(cache=True, forceinline=True, error_model="numpy")
def choose_ratio(state):
    """The arm of the pair's allocation with the least counts / share; -1 at the budget, a look or a new pair."""
    select_pair(state)
    if state.clock[0] >= state.clock[1] or state.clock[0] >= state.clock[2]:
        return -1
    row = state.rows[state.pair[0], state.pair[1]]
    if row < 0 or row >= state.support.shape[0]:
        return -1
    counts, support, shares, lack = state.counts, state.support, state.shares, state.leads
    lack[:] = -np.inf
    n = 0
    while shares[row, n] > 0:
        lack[n] = -counts[support[row, n]] / shares[row, n]
        n += 1
    return support[row, argmax(lack)]


@njit(cache=True, forceinline=True, error_model="numpy")
def choose_greedy(state):
    """The arm that shrinks ||x_i - x_j|| most: argmax (y'A^-1 x)^2 / (1 + x'A^-1 x); -1 at the budget or a look."""
    select_pair(state)
    if state.clock[0] >= state.clock[1] or state.clock[0] >= state.clock[2]:
        return -1
    squares, gains, toward = state.fit.squares, state.leads, state.toward
    products(state.fit, state.pair[1], toward[1])
    for k in range(gains.shape[0]):
        gains[k] = (toward[0, k] - toward[1, k]) ** 2 / (1 + squares[k])
    return argmax(gains)


@njit(cache=True, forceinline=True, error_model="numpy")
def update(state, arm, reward):
    """Tell one reward: rank-one update of the regression."""
    state.counts[arm] += 1
    state.clock[0] += 1
    learn(state.fit, state.counts, arm, reward, state.clock[0])
