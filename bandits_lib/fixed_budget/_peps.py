"""PEPS: exploration by posterior samples, played to a budget (Li, Jamieson and Jain 2024). Beyond the four papers.

A game of two players, one pull at a time. The first draws theta~ from the posterior of theta_hat, conditioned on an
answer other than the present one: a world in which we would be wrong. The second holds weights lambda on the arms and
multiplies them by exp(step (x'(theta_hat - theta~))^2): arms that would tell the two worlds apart. The pull is drawn
from lambda, mixed with a fixed design by t^(-1/4). Only samples and argmaxes are needed, so items may be many.

What is ours, since the paper's steps are constants times T^(-1/2): the posterior is sampled at its own scale; the step
is sqrt(log K / T) over the largest gain met so far; the fixed design is the certified XY-design of the items; T is the
budget, so there are no restarts of doubling length; r independent arms are pulled first. Where no sample of `tries`
is expected to change the answer, or none did, theta~ is the nearest point in which two answers tie.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from bandits_lib.checks import check_arms, check_budget, check_items, check_sigma, check_told
from bandits_lib.design import pairs, xy_design
from bandits_lib.design.d_optimal import spanning_arms
from bandits_lib.design.width import points_in
from bandits_lib.numerics.span import span
from bandits_lib.numerics.ties import TIE, argmax
from bandits_lib.protocol import NO_LIMIT, Loop, Result, Trace

REFRESH = 1_000  # pulls between two fresh factorisations


class State(NamedTuple):
    """What the compiled loop reads and writes, in coordinates in which the posterior of theta is a standard normal.

    With RR' = V^-1, V = sum xx' over the pulls: arms and items are held as R'x and R'z, theta_hat as R^-1 theta_hat.
    Scalars that change sit in arrays of length one.
    """

    arms: np.ndarray  # (K, r), in coordinates of their span
    points: np.ndarray  # (M, r), items
    white_arms: np.ndarray  # (K, r), arms @ R
    white_points: np.ndarray  # (M, r), points @ R
    counts: np.ndarray  # (K,)
    clock: np.ndarray  # pulls so far, pulls at the next look (trace), budget
    response: np.ndarray  # (r,), sum of x times reward
    theta: np.ndarray  # (r,), R^-1 theta_hat = R' response
    apart: np.ndarray  # (r,), R^-1 (theta_hat - theta~)
    values: np.ndarray  # (M,), of the items under theta_hat
    others: np.ndarray  # (M,), of the items under theta~
    weights: np.ndarray  # (K,), lambda
    fixed: np.ndarray  # (K,), the design that is mixed in
    gains: np.ndarray  # (K,), scratch
    nearest: np.ndarray  # the leader and its nearest rival
    distance: np.ndarray  # (1,), squared standardised lead over that rival
    limits: np.ndarray  # sigma, tries, sqrt(log K / budget)
    largest: np.ndarray  # (1,), gain met so far
    rng: Any  # draws samples and arms


def peps(arms, items=None, *, budget, sigma=1.0, tries=100, trace=0, rng):
    """Best item after exactly `budget` pulls, by sampling worlds with another answer (Li et al. 2024).

    Parameters
    ----------
    arms : (K, d); items : (M, d), default the arms; copies allowed.
    budget : pulls, at least the rank of the arms.
    sigma : standard deviation of the noise, the scale of the posterior; of several the largest is used.
    tries : samples drawn for a world with another answer, before the nearest tie is taken.
    trace : record a Trace every `trace` pulls; 0, never. rng : draws samples and arms.

    Returns Result(item (int), history of Trace): the statistic is the least (y'theta_hat)^2 / (2 sigma^2 ||y||^2) over
    the differences y from the leader, the threshold inf. One item, or items all alike: at once, without a pull.
    Raises ValueError for bad input and a budget below the rank.

    >>> from bandits_lib import instances, play
    >>> problem = instances.benchmark(2, angle=1.0)
    >>> rule = peps(problem.arms, budget=60, rng=np.random.default_rng(1))
    >>> play(rule, problem, np.random.default_rng(0)).result.recommendation
    0
    """
    arms = check_arms(arms)
    items = check_items(items, arms, distinct=False)
    sigma = check_sigma(sigma, len(arms)).max()
    if isinstance(tries, bool) or not isinstance(tries, int | np.integer) or tries < 0:
        raise ValueError(f"tries must be an integer of at least 0 (samples for another answer); got {tries}")
    space = span(arms)
    rank = space.arms.shape[1]
    budget = check_budget(budget, rank, "one pull of each of so many independent arms, the rank")
    if (items == items[0]).all():
        return Result(0)

    first = np.zeros(len(arms), dtype=np.int64)
    first[spanning_arms(space.arms)] = 1
    sample = yield first
    check_told(first, sample, space.arms, space.arms)
    fixed = xy_design(arms, pairs(items)).weights
    limits = np.array([sigma, tries, np.sqrt(np.log(max(2, len(arms))) / budget)])
    state, history = _start(space.arms, points_in(space, items), sample, fixed, limits, budget, trace, rng), []
    while True:
        yield Loop(choose, update, state)
        if state.clock[0] >= state.clock[1]:
            history.append(_look(state))
            state.clock[1] += trace
        if state.clock[0] >= budget:
            return Result(int(state.nearest[0]), tuple(history))


def _start(arms, points, sample, fixed, limits, budget, trace, rng):
    (K, r), pulls = arms.shape, int(sample.counts.sum())
    state = State(
        arms,
        points,
        white_arms=np.empty_like(arms),
        white_points=np.empty_like(points),
        counts=sample.counts.astype(np.int64),
        clock=np.array([pulls, pulls if trace else NO_LIMIT, budget]),
        response=arms.T @ sample.sums,
        theta=np.empty(r),
        apart=np.empty(r),
        values=np.empty(len(points)),
        others=np.empty(len(points)),
        weights=0.5 * fixed + 0.5 / K,  # an arm of weight 0 would never be learnt about
        fixed=np.array(fixed),
        gains=np.empty(K),
        nearest=np.array([0, 0]),
        distance=np.zeros(1),
        limits=limits,
        largest=np.zeros(1),
        rng=rng,
    )
    refresh(state)
    return state


def _look(state):
    leader = int(state.nearest[0])
    return Trace(int(state.clock[0]), state.counts.copy(), float(state.distance[0]) / 2, np.inf, leader)


@njit(cache=True, error_model="numpy")
def refresh(state):
    """Compute R = L^-T, V = LL', and all that is held in its coordinates, afresh from counts and responses."""
    root = np.linalg.inv(np.linalg.cholesky(np.dot(state.arms.T * state.counts, state.arms))).T.copy()
    state.white_arms[:] = np.dot(state.arms, root)
    state.white_points[:] = np.dot(state.points, root)
    state.theta[:] = np.dot(root.T.copy(), state.response)


@njit(cache=True, forceinline=True, error_model="numpy")
def products(rows, vector, values):
    """rows (n, r) times vector (r,), into values (n,)."""
    for m in range(rows.shape[0]):
        values[m] = 0.0
        for i in range(rows.shape[1]):
            values[m] += rows[m, i] * vector[i]


@njit(cache=True, forceinline=True, error_model="numpy")
def compare(state):
    """The leader, its rival of least standardised lead, and that lead squared."""
    points, values, nearest, distance = state.white_points, state.values, state.nearest, state.distance
    products(points, state.theta, values)
    leader, closest = argmax(values), np.inf
    nearest[0] = leader
    for m in range(points.shape[0]):
        square, lead = 0.0, values[leader] - values[m]
        for i in range(points.shape[1]):
            square += (points[leader, i] - points[m, i]) ** 2
        if square > 0.0 and lead * lead < closest * square * (1 - TIE):
            nearest[1], closest = m, lead * lead / square
    distance[0] = closest / state.limits[0] ** 2


@njit(cache=True, forceinline=True, error_model="numpy")
def find_other(state):
    """A theta~ with another answer: a sample of the posterior, or the nearest tie."""
    points, theta, apart, others, limits = state.white_points, state.theta, state.apart, state.others, state.limits
    leader, rival, r = state.nearest[0], state.nearest[1], theta.shape[0]
    tries = int(limits[1])
    if 0.5 * state.distance[0] > np.log(1.0 + points.shape[0] * tries):  # less than one sample in `tries`
        tries = 0
    for _ in range(tries):
        for i in range(r):
            apart[i] = -limits[0] * state.rng.standard_normal()
        products(points, apart, others)
        for m in range(points.shape[0]):
            others[m] = state.values[m] - others[m]
        if argmax(others) != leader:
            return
    square = 0.0
    for i in range(r):
        apart[i] = points[leader, i] - points[rival, i]
        square += apart[i] * apart[i]
    for i in range(r):
        apart[i] *= (state.values[leader] - state.values[rival]) / square


@njit(cache=True, forceinline=True, error_model="numpy")
def reweigh(state):
    """lambda_x <- lambda_x exp(step (x'(theta_hat - theta~))^2) / norm, step = sqrt(log K / T) / largest gain."""
    weights, gains, largest, total = state.weights, state.gains, state.largest[0], 0.0
    products(state.white_arms, state.apart, gains)
    for k in range(gains.shape[0]):
        gains[k] *= gains[k]
        largest = max(largest, gains[k])
    state.largest[0] = largest
    if largest == 0.0:
        return
    for k in range(gains.shape[0]):
        weights[k] *= np.exp(state.limits[2] * gains[k] / largest)
        total += weights[k]
    for k in range(gains.shape[0]):
        weights[k] /= total


@njit(cache=True, forceinline=True, error_model="numpy")
def choose(state):
    """An arm from (1 - t^(-1/4)) lambda + t^(-1/4) fixed; -1 at the budget or a look."""
    compare(state)
    if state.clock[0] >= state.clock[2] or state.clock[0] >= state.clock[1]:
        return -1
    find_other(state)
    reweigh(state)
    mixed, level, K = float(state.clock[0]) ** -0.25, state.rng.random(), state.counts.shape[0]
    for k in range(K):
        level -= (1 - mixed) * state.weights[k] + mixed * state.fixed[k]
        if level < 0:
            return k
    return K - 1


@njit(cache=True, forceinline=True, error_model="numpy")
def update(state, arm, reward):
    """Tell one reward: R <- R (I - a bb'), b = R'x, a = (1 - (1 + b'b)^-1/2) / b'b; O((K + M) r)."""
    r, square = state.theta.shape[0], 0.0
    state.counts[arm] += 1
    state.clock[0] += 1
    for i in range(r):
        state.response[i] += reward * state.arms[arm, i]
    if state.clock[0] % REFRESH == 0:
        refresh(state)
        return
    b, theta, along = state.apart, state.theta, 0.0
    for i in range(r):
        b[i] = state.white_arms[arm, i]
        square += b[i] * b[i]
        theta[i] += reward * b[i]
        along += theta[i] * b[i]
    share = (1 - 1 / np.sqrt(1 + square)) / square if square > 0 else 0.0
    for i in range(r):
        theta[i] -= share * along * b[i]
    shrink(state.white_arms, b, share)
    shrink(state.white_points, b, share)


@njit(cache=True, forceinline=True, error_model="numpy")
def shrink(rows, b, share):
    """rows (n, r) <- rows (I - share bb'), in place."""
    for m in range(rows.shape[0]):
        along = 0.0
        for i in range(rows.shape[1]):
            along += rows[m, i] * b[i]
        for i in range(rows.shape[1]):
            rows[m, i] -= share * along * b[i]
