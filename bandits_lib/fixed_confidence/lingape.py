"""LinGapE: linear gap-based exploration (Xu, Honda, Sugiyama 2018, Algorithm 1), as run in fiez2019.

The most ambiguous rival j of the leader i maximises (z_j - z_i)'theta + ||z_j - z_i|| C_t, and B is the maximum. Here
    C_t = sigma sqrt(2 log(M^2 det(A)^(1/2) det(ridge I)^(-1/2) / delta)) + sqrt(ridge) theta_bound,
norms are in A^-1, and A = ridge I + sum xx'. The optimal allocation for z_i - z_j solves min |w|_1 subject to
X'w = z_i - z_j. By Elfving's theorem it is the XY-design of that direction. Departures:
- Items other than the arms are allowed: i and j are items, and the union bound contains M^2.
- Distances are updated from the differences themselves, since differences of norms would lose all digits.

Selective elimination (Tirinzoni and Degenne 2022): an item m is eliminated once its upper bound on the lead over the
leader i is negative, and the rule stops when no item that is left has one above epsilon. With probability 1 - delta,
the ellipsoid ||theta_hat - theta||_A <= C_t contains theta at all t. Then each bound is at least (z_m - z_i)'theta,
for all pairs, whatever is pulled. So the bound of a best item is never negative, and no best item is ever eliminated.
Bounds up to epsilon do not eliminate, because a chain of leaders could add them up.
"""

from collections.abc import Callable
from functools import partial
from math import log, sqrt
from typing import Any, NamedTuple

import numpy as np

from bandits_lib.checks import check_option, check_positive, check_problem, check_ridge
from bandits_lib.design import xy_design
from bandits_lib.design.pair_allocations import Allocations, Table, find
from bandits_lib.glr import ELIMINATE
from bandits_lib.numerics.kernels import along_all, inlined, invert, kernel, rank_one_update, read, record
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import DELTA, NO_LIMIT, PULLS, SEQUENTIAL, Algorithm, Loop, Result, Row, rule


class State(NamedTuple):
    counts: np.ndarray  # (K,)
    # pulls; due, the budget; leader and rival; row, the pair's in the table of allocations, or -1 if it is not there;
    # lead, the upper bound B on the lead of the rival
    status: np.record
    fit: Any  # the regression
    table: Table
    program: Any  # solver for new pairs in the loop; None: the loop ends at a pair that is not in the table
    leads: np.ndarray  # (M,), upper bounds on the lead of each item over the leader
    left: np.ndarray  # (M,), whether the item is not eliminated
    gains: np.ndarray  # (K,), scratch of the greedy rule
    lack: np.ndarray  # (r + 1,), scratch: -counts / shares of the arms of an allocation
    sigma: float
    union: float  # log(M^2 / delta)
    bias: float  # sqrt(ridge) theta_bound
    epsilon: float  # the lead that is accepted
    greedy: bool


def begin(sample, fit, allocations, rule, *, sigma, delta, bias, epsilon):
    """Return the State after a first Sample, which `fit` contains; `allocations` : Allocations."""
    M = len(fit.values)
    return State(
        counts=sample.counts.astype(np.int64),
        status=record(pulls=sample.counts.sum(), due=NO_LIMIT, leader=-1, rival=-1, row=-1, lead=np.inf),
        fit=fit,
        table=allocations.table,
        program=allocations.program,
        leads=np.empty(M),
        left=np.ones(M, dtype=bool),
        gains=np.empty(len(sample.counts)),
        lack=np.empty(allocations.table.shares.shape[1]),
        sigma=float(sigma),
        union=log(M**2 / delta),
        bias=bias,
        epsilon=float(epsilon),
        greedy=rule == "greedy",
    )


def explore(choose, update, state, allocations, *, budget=NO_LIMIT):
    """Play Loops and return the Result when no rival leads by more than epsilon, or the budget is spent."""
    status = state.status
    status.due = budget
    while True:
        yield Loop(choose, update, state, partial(look, choose))
        current = read(status)
        if current.lead <= state.epsilon or current.pulls >= budget:
            return Result(current.leader)
        if current.row < 0 and not state.greedy:
            status.row = allocations.enter(current.leader, current.rival)
            state = state._replace(table=allocations.table)


def look(choose, state):
    """Return minus the lead of the rival, minus the lead that is accepted, the leader, and the number of items left."""
    choose(state)  # sets all of them for this moment
    return -float(state.status.lead), -state.epsilon, int(state.status.leader), int(state.left.sum())


@inlined
def compare(state, leader, apart):
    """Set the rival j, argmax of (z_j - z_i)'theta + sqrt(apart_j) C_t, and its maximum B; return whether to go on."""
    status, values, leads = state.status, state.fit.values, state.leads
    width = state.sigma * np.sqrt(2 * (state.union + 0.5 * state.fit.logdet[0])) + state.bias  # C_t
    largest = values[leader]
    for m in range(leads.shape[0]):
        leads[m] = values[m] - largest + np.sqrt(max(0.0, apart[m])) * width
    leads[leader] = -np.inf
    rival = argmax(leads)  # Alg. 1, Select-direction
    if status.leader != leader or status.rival != rival:
        status.row = find(state.table, min(leader, rival) * leads.shape[0] + max(leader, rival))
    status.leader, status.rival, status.lead = leader, rival, leads[rival]
    return status.lead > state.epsilon and status.pulls < status.due  # Alg. 1 stops when B(t) <= epsilon


@kernel
def compare_left(state):
    """Eliminate the items whose bound is negative, and set B to the maximum of those left; return as `compare`."""
    fit, status, leads, left, largest = state.fit, state.status, state.leads, state.left, -np.inf
    for m in range(leads.shape[0]):
        if left[m] and m != status.leader:
            if leads[m] >= 0:
                largest = max(largest, leads[m])
            else:
                left[m] = False
                if fit.eliminate == 2:  # "sample"
                    fit.values[m] = fit.left_out[m] = -np.inf
    status.lead = largest
    return status.lead > state.epsilon


@inlined
def lagging(state):
    """Return the arm of the pair's allocation with the smallest counts / share; -1 if the pair is not in the table."""
    row, n, counts, lack, shares = state.status.row, 0, state.counts, state.lack, state.table.shares
    if row < 0:
        return -1
    while n < lack.shape[0] and shares[row, n] > 0:
        lack[n] = -counts[state.table.support[row, n]] / shares[row, n]  # -T_a / p*_a
        n += 1
    return state.table.support[row, argmax(lack[:n])]


@inlined
def shrinking(state, norms):
    """Return the arm that shrinks ||z_i - z_j|| most: argmax gains^2 / (1 + norms), gains y'A^-1x, norms x'A^-1x."""
    gains = state.gains
    for k in range(gains.shape[0]):
        gains[k] = gains[k] * gains[k] / (1 + norms[k])
    return argmax(gains)


REFRESH = 1_000  # pulls between two fresh inversions


class Distances(NamedTuple):
    """Arrays of the regression; the log-determinant changes, so it is in an array of length one."""

    arms: np.ndarray  # (K, d)
    columns: np.ndarray  # (d, M), the items
    response: np.ndarray  # (d,), sum of x times reward
    arm_columns: np.ndarray  # (d, K), the arms; empty, as `norms` and `arms_along`, if norms are not needed
    ridge: float
    inverse: np.ndarray  # (d, d), A^-1
    theta: np.ndarray  # (d,)
    values: np.ndarray  # (M,), of the items
    apart: np.ndarray  # (M,), squared distances from the leader
    along: np.ndarray  # (M,), scratch: z'A^-1 x, x the arm pulled
    norms: np.ndarray  # (K,), x'A^-1 x
    arms_along: np.ndarray  # (K,), scratch: `along` of the arms
    logdet: np.ndarray  # (1,), log det(A / ridge)
    step: np.ndarray  # (d,), scratch: A^-1 x
    left_out: np.ndarray  # (M,), -inf for the items that the sampling rule leaves out, and 0 for the others
    eliminate: int  # index in ELIMINATE


def distances(arms, items, ridge, sample, norms=False, eliminate="none"):
    """Return the `Distances` of items (M, d) after a first Sample of arms (K, d), with norms of arms if `norms`."""
    (M, d), of_arms = items.shape, len(arms) if norms else 0
    fit = Distances(
        arms=arms,
        columns=items.T.copy(),
        response=arms.T @ sample.sums,
        arm_columns=arms[:of_arms].T.copy(),
        ridge=ridge,
        inverse=np.empty((d, d)),
        theta=np.empty(d),
        values=np.empty(M),
        apart=np.empty(M),
        along=np.empty(M),
        norms=np.empty(of_arms),
        arms_along=np.empty(of_arms),
        logdet=np.empty(1),
        step=np.empty(d),
        left_out=np.zeros(M),
        eliminate=ELIMINATE.index(eliminate),
    )
    refresh(fit, sample.counts.astype(np.int64))
    return fit


@kernel
def refresh(fit, counts):
    """Compute inverse, theta, values, distances and norms afresh from the counts (K,) and the response."""
    (K, d), arms, inverse = fit.arms.shape, fit.arms, fit.inverse
    for i in range(d):
        for j in range(d):
            inverse[i, j] = fit.ridge if i == j else 0.0
    for k in range(K):
        if counts[k] > 0:
            for i in range(d):
                for j in range(d):
                    inverse[i, j] += counts[k] * arms[k, i] * arms[k, j]
    fit.logdet[0] = invert(inverse) - d * np.log(fit.ridge)
    along_all(inverse, fit.response, fit.theta)
    along_all(fit.columns, fit.theta, fit.values)
    for m in range(fit.values.shape[0]):
        fit.values[m] += fit.left_out[m]
    measure(fit, argmax(fit.values))
    for i in range(d):
        fit.step[i] = 0.0
    square(fit.arm_columns, fit.step, inverse, fit.norms)


@inlined
def measure(fit, leader):
    """Compute the distances from the leader afresh."""
    for i in range(fit.step.shape[0]):
        fit.step[i] = fit.columns[i, leader]
    square(fit.columns, fit.step, fit.inverse, fit.apart)


@kernel
def square(columns, centre, inverse, squares):
    """Write squared norms of columns (d, n) - centre (d,), in the norm of the inverse (d, d), into `squares` (n,)."""
    d, n = centre.shape[0], squares.shape[0]
    for k in range(n):
        squares[k] = 0.0
    for i in range(d):
        for j in range(d):
            weight, first, second = inverse[i, j], centre[i], centre[j]
            for k in range(n):
                squares[k] += weight * (columns[i, k] - first) * (columns[j, k] - second)


@inlined
def toward(fit, i, j, products):
    """Write x'A^-1 (z_i - z_j) for all arms x into `products` (K,)."""
    direction, inverse, columns = fit.step, fit.inverse, fit.columns
    for c in range(direction.shape[0]):
        direction[c] = 0.0
        for b in range(direction.shape[0]):
            direction[c] += inverse[c, b] * (columns[b, i] - columns[b, j])
    along_all(fit.arm_columns, direction, products)


@inlined
def learn(state, arm, reward):
    """Update state.fit, state.counts (K,) and state.status by one reward of `arm`; state.status has the leader."""
    fit, status = state.fit, state.status
    state.counts[arm] += 1
    status.pulls += 1
    arms, theta, values, apart, along = fit.arms, fit.theta, fit.values, fit.apart, fit.along
    residual = reward
    for i in range(theta.shape[0]):
        fit.response[i] += reward * arms[arm, i]
        residual -= theta[i] * arms[arm, i]
    if status.pulls % REFRESH == 0:
        refresh(fit, state.counts)
        return
    gain = rank_one_update(fit.inverse, theta, arms[arm], reward, fit.step)
    fit.logdet[0] += np.log(gain)
    share = 1 / gain
    along_all(fit.columns, fit.step, along)
    leading = along[status.leader]
    for m in range(values.shape[0]):
        values[m] += along[m] * share * residual
        apart[m] -= (along[m] - leading) * (along[m] - leading) * share
    norms, along = fit.norms, fit.arms_along
    if norms.shape[0] > 0:
        along_all(fit.arm_columns, fit.step, along)
        share = 1 / (1 + along[arm])
        for k in range(norms.shape[0]):
            norms[k] -= along[k] * along[k] * share


@rule(
    label="LinGapE",
    row=Row(PULLS, f"{SEQUENTIAL}, with a bound on theta", "Xu et al. 2018", DELTA),
)
def lingape(
    arms: np.ndarray,
    items: np.ndarray | None = None,
    *,
    delta: float,
    theta_bound: float,
    sigma: float | np.ndarray = 1.0,
    epsilon: float = 0.0,
    ridge: float = 1.0,
    rule: str = "ratio",
    eliminate: str = "none",
    design: Callable = xy_design,
) -> Algorithm:
    """Find the best item (up to epsilon) with probability at least 1 - delta, pull by pull (Xu et al. 2018, Alg. 1).

    Parameters
    ----------
    arms, items, delta, theta_bound, sigma : (K, d) and (M, d) array_like, float, float, and float or (K,) array_like
        As for `rage`. `theta_bound` is a bound on the Euclidean norm of theta.
    epsilon, ridge : float
        Accepted distance from the best value, in units of reward, and regulariser lambda > 0 (fiez2019: 0 and 1).
    rule : {"ratio", "greedy"}
        Pull the arm that lags most behind the optimal allocation of the pair, which the paper analyses, or the arm that
        shrinks the width of the pair most.
    eliminate : {"none", "stop", "sample"}
        As for `lazy_track_and_stop`, with the widths of this rule (see the head of this file).
    design : callable
        Function (arms, directions) -> `Design`; "ratio" calls it with the single direction of the pair.

    Yields
    ------
    (K,) int array or Loop
        As for `lazy_track_and_stop`. A `Trace` has the statistic -B and the threshold -epsilon.

    Examples
    --------
    >>> from bandits_lib import instances, play
    >>> problem = instances.benchmark(2, angle=1.0)
    >>> rule = lingape(problem.arms, delta=0.05, theta_bound=2.0)
    >>> play(rule, problem, np.random.default_rng(0)).result.recommendation
    0
    """
    arms, items, delta, sigma = check_problem(arms, items, delta, sigma)
    theta_bound, ridge = check_positive("theta_bound", theta_bound), check_positive("ridge", ridge)
    check_option("rule", rule, ("ratio", "greedy"))
    check_option("eliminate", eliminate, ELIMINATE)
    if not epsilon >= 0:
        raise ValueError(f"epsilon must be at least 0 (accepted distance from the best value); got {epsilon}")
    if len(items) == 1:
        return Result(0)
    check_ridge(arms, ridge)

    def allocate(i, j):
        return design(arms, (items[i] - items[j])[None, :]).weights

    sample = yield np.ones(len(arms), dtype=np.int64)  # Alg. 1: pull each arm once
    fit = distances(arms, items, ridge, sample, norms=rule == "greedy", eliminate=eliminate)
    table = Allocations(allocate, len(items), arms.shape[1])
    bias = sqrt(ridge) * theta_bound
    state = begin(sample, fit, table, rule, sigma=sigma, delta=delta, bias=bias, epsilon=epsilon)
    return (yield from explore(choose, learn, state, table))


@inlined
def choose(state):
    """Return the arm to pull; -1 when done, or at a pair whose allocation is not known."""
    fit, status = state.fit, state.status
    leader = argmax(fit.values)
    if leader != status.leader:
        measure(fit, leader)
    going = compare(state, leader, fit.apart)
    if fit.eliminate > 0:
        going = compare_left(state)
    if not going:
        return -1
    if not state.greedy:
        return lagging(state)
    toward(fit, leader, status.rival, state.gains)
    return shrinking(state, fit.norms)
