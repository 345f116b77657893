"""LinGapE: linear gap-based exploration (Xu, Honda, Sugiyama 2018), as analysed there and run in fiez2019.

Pull by pull: the leader i and its most ambiguous rival j are compared, and the arm is pulled that the optimal
allocation for the single direction z_i - z_j lacks most ("ratio", the analysed rule) or that shrinks the width of
that direction most ("greedy", the rule of the original experiments). The optimal allocation solves
min |w|_1 subject to X'w = z_i - z_j, which by Elfving's theorem is the XY-design of that one direction.

Departures: items other than the arms are allowed, with i and j among the items and M^2 in the union bound (ours;
the paper has arms only). The compiled loop keeps the values of the items, their squared distances from the leader and
the inverse by rank-one updates, and computes them afresh every 1,000 pulls and, the distances, at a new leader.
"""

from math import log, sqrt
from typing import NamedTuple

import numpy as np

from bandits_lib.checks import (
    check_arms,
    check_delta,
    check_items,
    check_option,
    check_positive,
    check_ridge,
    check_sigma,
)
from bandits_lib.design import xy_design
from bandits_lib.numerics.kernels import along_all, inlined, invert, kernel, rank_one_update
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import NO_LIMIT, Loop, Result, Trace

REFRESH = 1_000  # pulls between two fresh inversions
TABLE = 16  # pairs the table of allocations holds at first


class State(NamedTuple):
    """What the compiled loop reads and writes; scalars that change sit in arrays of length one."""

    arms: np.ndarray  # (K, d)
    items: np.ndarray  # (M, d)
    columns: np.ndarray  # (d, M), the items once more
    counts: np.ndarray  # (K,)
    clock: np.ndarray  # pulls so far, pulls at the next look (trace)
    inverse: np.ndarray  # (d, d), of ridge I + sum xx'
    theta: np.ndarray  # (d,)
    response: np.ndarray  # (d,), sum of x times reward
    values: np.ndarray  # (M,), items @ theta
    squares: np.ndarray  # (M,), squared norms of the differences from the leader, in the norm of the inverse
    along: np.ndarray  # (M,), scratch: z' inverse x, x the arm pulled
    arm_columns: np.ndarray  # (d, K), the arms; empty for the ratio rule, as the next two
    arm_squares: np.ndarray  # (K,), x' inverse x
    arms_along: np.ndarray  # (K,), scratch: what `along` is for the items, and the gains of the choice
    logdet: np.ndarray  # (1,), log det(I + sum xx' / ridge)
    pair: np.ndarray  # leader i and rival j, rows of items
    leads: np.ndarray  # (M,), upper bounds on the lead of each item over the leader
    known: np.ndarray  # number of pairs in the table, row of the pair at hand (-1: not in the table)
    pairs: np.ndarray  # (C, 2), the table: pairs i < j whose allocation has been solved
    support: np.ndarray  # (C, d + 1), arms of their allocations
    shares: np.ndarray  # (C, d + 1), the arms' shares; -1 after the last
    bound: np.ndarray  # B, the upper bound on the rival's lead; C_t
    limits: np.ndarray  # sigma, log(M^2 / delta), sqrt(ridge) theta_bound, epsilon, ridge
    step: np.ndarray  # (d,), scratch: inverse x, x the arm pulled, or inverse (z_i - z_j)
    lack: np.ndarray  # (d + 1,), scratch: minus counts over share, along an allocation


def lingape(
    arms, items=None, *, delta, theta_bound, sigma=1.0, epsilon=0.0, ridge=1.0, rule="ratio", design=xy_design, trace=0
):
    """Best item (up to epsilon) with probability at least 1 - delta, pull by pull (Xu et al. 2018, Algorithm 1).

    Parameters
    ----------
    arms : (K, d); items : (M, d), default the arms; delta : error probability allowed.
    theta_bound : bound on the Euclidean norm of theta, which the confidence width needs.
    sigma : standard deviation of the noise; of several the largest is used.
    epsilon : accepted distance from the best value (fiez2019: 0); ridge : regulariser lambda (fiez2019: 1).
    rule : "ratio" or "greedy"; design : solver for the single direction of the ratio rule.
    trace : record a Trace every `trace` pulls; 0, never.

    Returns Result(item (int), history of Trace). One item: at once. Raises ValueError for bad input.

    >>> from bandits_lib import instances, play
    >>> problem = instances.benchmark(2, angle=1.0)
    >>> rule = lingape(problem.arms, delta=0.05, theta_bound=2.0)
    >>> play(rule, problem, np.random.default_rng(0)).result.recommendation
    0
    """
    arms = check_arms(arms)
    items = check_items(items, arms)
    delta, sigma = check_delta(delta), check_sigma(sigma, len(arms)).max()
    theta_bound, ridge = check_positive("theta_bound", theta_bound), check_positive("ridge", ridge)
    check_option("rule", rule, ("ratio", "greedy"))
    if not epsilon >= 0:
        raise ValueError(f"epsilon must be at least 0 (accepted distance from the best value); got {epsilon}")
    if len(items) == 1:
        return Result(0)
    check_ridge(arms, ridge)

    sample = yield np.ones(len(arms), dtype=np.int64)  # Alg. 1: pull each arm once
    limits = np.array([sigma, log(len(items) ** 2 / delta), sqrt(ridge) * theta_bound, epsilon, ridge])
    state, history = _start(arms, items, sample, limits, rule, trace), []
    choose, update = (choose_ratio, update_ratio) if rule == "ratio" else (choose_greedy, update_greedy)
    while True:
        yield Loop(choose, update, state)
        if state.clock[0] >= state.clock[1]:
            history.append(_look(state))
            state.clock[1] += trace
        if state.bound[0] <= epsilon:
            return Result(int(state.pair[0]), tuple(history))
        if rule == "ratio" and state.known[1] < 0:
            state = _with_allocation(state, design)


def _start(arms, items, sample, limits, rule, trace):
    (K, d), (M, _), pulls = arms.shape, items.shape, int(sample.counts.sum())
    looked_at = K if rule == "greedy" else 0
    state = State(
        arms,
        items,
        columns=items.T.copy(),
        counts=sample.counts.astype(np.int64),
        clock=np.array([pulls, pulls if trace else NO_LIMIT]),
        inverse=np.empty((d, d)),
        theta=np.empty(d),
        response=arms.T @ sample.sums,
        values=np.empty(M),
        squares=np.empty(M),
        along=np.empty(M),
        arm_columns=arms[:looked_at].T.copy(),
        arm_squares=np.empty(looked_at),
        arms_along=np.empty(looked_at),
        logdet=np.empty(1),
        pair=np.array([-1, -1]),
        leads=np.empty(M),
        known=np.array([0, -1]),
        pairs=np.full((TABLE, 2), -1),
        support=np.zeros((TABLE, d + 1), dtype=np.int64),
        shares=np.full((TABLE, d + 1), -1.0),
        bound=np.full(2, np.inf),
        limits=limits,
        step=np.empty(d),
        lack=np.empty(d + 1),
    )
    refresh(state)
    return state


def _look(state):
    """The Trace of this moment: statistic -B, the leader's certified lead, which must reach -epsilon."""
    return Trace(
        int(state.clock[0]), state.counts.copy(), -float(state.bound[0]), -float(state.limits[3]), int(state.pair[0])
    )


def _with_allocation(state, design):
    """Solve the allocation p* of the pair at hand and enter it into the table, which grows when it is full."""
    row, (i, j) = int(state.known[0]), sorted(state.pair)
    if row == len(state.pairs):
        grown = (np.concatenate([old, old]) for old in (state.pairs, state.support, state.shares))
        state = state._replace(**dict(zip(("pairs", "support", "shares"), grown, strict=True)))
    weights = design(state.arms, (state.items[i] - state.items[j])[None, :]).weights
    support = np.flatnonzero(weights)
    state.pairs[row] = i, j
    state.support[row, : len(support)] = support
    state.shares[row] = -1.0
    state.shares[row, : len(support)] = weights[support]
    state.known[:] = row + 1, row
    return state


@kernel
def refresh(state):
    """Compute inverse, theta, values, distances and log-determinant afresh from counts and responses."""
    (K, d), inverse, counts, arms = state.arms.shape, state.inverse, state.counts, state.arms
    for i in range(d):
        for j in range(d):
            inverse[i, j] = state.limits[4] if i == j else 0.0
    for k in range(K):
        if counts[k] > 0:
            for i in range(d):
                for j in range(d):
                    inverse[i, j] += counts[k] * arms[k, i] * arms[k, j]
    state.logdet[0] = invert(inverse) - d * np.log(state.limits[4])
    along_all(inverse, state.response, state.theta)
    along_all(state.columns, state.theta, state.values)
    distances(state.columns, argmax(state.values), inverse, state.squares)
    arm_squares, arm_columns = state.arm_squares, state.arm_columns
    for k in range(arm_squares.shape[0]):
        arm_squares[k] = 0.0
    for i in range(d):
        for j in range(d):
            for k in range(arm_squares.shape[0]):
                arm_squares[k] += inverse[i, j] * arm_columns[i, k] * arm_columns[j, k]


@kernel
def distances(columns, leader, inverse, squares):
    """Squared norms (M,) of the differences of the items, columns (d, M), from the leader, into `squares`."""
    d, M = columns.shape
    for m in range(M):
        squares[m] = 0.0
    for i in range(d):
        for j in range(d):
            weight, first, second = inverse[i, j], columns[i, leader], columns[j, leader]
            for m in range(M):
                squares[m] += weight * (columns[i, m] - first) * (columns[j, m] - second)


@inlined
def select_pair(state):
    """Leader i, rival j = argmax (z_j - z_i)'theta + ||z_j - z_i|| C_t and B, that maximum (Alg. 1, select-direction).

    C_t = sigma sqrt(2 log(M^2 det(A)^(1/2) det(ridge I)^(-1/2) / delta)) + sqrt(ridge) theta_bound.
    """
    values, squares, leads, pair = state.values, state.squares, state.leads, state.pair
    leader = argmax(values)
    if leader != pair[0]:
        distances(state.columns, leader, state.inverse, squares)
    width = state.limits[0] * np.sqrt(2 * (state.limits[1] + 0.5 * state.logdet[0])) + state.limits[2]
    ahead = values[leader]
    for m in range(leads.shape[0]):
        leads[m] = values[m] - ahead + np.sqrt(max(0.0, squares[m])) * width
    leads[leader] = -np.inf
    rival = argmax(leads)
    if pair[0] != leader or pair[1] != rival:
        state.known[1] = find_pair(state, min(leader, rival), max(leader, rival))
    pair[0], pair[1] = leader, rival
    state.bound[0], state.bound[1] = leads[rival], width


@kernel
def find_pair(state, i, j):
    """Row of the pair i < j in the table, -1 if it is new."""
    for row in range(state.known[0]):
        if state.pairs[row, 0] == i and state.pairs[row, 1] == j:
            return row
    return -1


@inlined
def choose_ratio(state):
    """The arm of the pair's allocation with the least counts / share; -1 when done, at a new pair or a look."""
    select_pair(state)
    row = state.known[1]
    if state.bound[0] <= state.limits[3] or state.clock[0] >= state.clock[1] or row < 0:
        return -1
    counts, support, shares, lack = state.counts, state.support, state.shares, state.lack
    for s in range(lack.shape[0]):
        lack[s] = -counts[support[row, s]] / shares[row, s] if shares[row, s] > 0 else -np.inf
    return support[row, argmax(lack)]


@inlined
def choose_greedy(state):
    """The arm that shrinks ||z_i - z_j|| most: argmax (y'A^-1 x)^2 / (1 + x'A^-1 x); -1 when done or at a look."""
    select_pair(state)
    if state.bound[0] <= state.limits[3] or state.clock[0] >= state.clock[1]:
        return -1
    i, j = state.pair
    direction, inverse, columns = state.step, state.inverse, state.columns
    for c in range(direction.shape[0]):
        direction[c] = 0.0
        for b in range(direction.shape[0]):
            direction[c] += inverse[c, b] * (columns[b, i] - columns[b, j])
    gains, arm_squares = state.arms_along, state.arm_squares
    along_all(state.arm_columns, direction, gains)
    for k in range(gains.shape[0]):
        gains[k] = gains[k] * gains[k] / (1 + arm_squares[k])
    return argmax(gains)


@inlined
def update_ratio(state, arm, reward):
    """Tell one reward: rank-one update of inverse, theta, values and distances."""
    state.counts[arm] += 1
    state.clock[0] += 1
    arms, response, theta, step = state.arms, state.response, state.theta, state.step
    values, squares, along = state.values, state.squares, state.along
    residual = reward
    for i in range(theta.shape[0]):
        response[i] += reward * arms[arm, i]
        residual -= theta[i] * arms[arm, i]
    if state.clock[0] % REFRESH == 0:
        refresh(state)
        return
    gain = rank_one_update(state.inverse, theta, arms[arm], reward, step)
    state.logdet[0] += np.log(gain)
    along_all(state.columns, step, along)
    leading, share = along[state.pair[0]], 1 / gain
    for m in range(values.shape[0]):
        values[m] += along[m] * share * residual
        squares[m] -= (along[m] - leading) * (along[m] - leading) * share


@inlined
def update_greedy(state, arm, reward):
    """As `update_ratio`, with the norms of the arms as well."""
    update_ratio(state, arm, reward)
    if state.clock[0] % REFRESH == 0:
        return
    along, arm_squares = state.arms_along, state.arm_squares
    along_all(state.arm_columns, state.step, along)
    share = 1 / (1 + along[arm])
    for k in range(arm_squares.shape[0]):
        arm_squares[k] -= along[k] * along[k] * share
