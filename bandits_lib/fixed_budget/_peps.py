"""PEPS: exploration by posterior samples, stopped at a budget (Li, Jamieson and Jain 2024); not in the four papers.

The first player draws theta~ from the posterior of theta, on the condition that the best item changes. The second
player has weights lambda on the arms and multiplies them by exp(step (x'(theta_hat - theta~))^2). The pull
is drawn from a mixture of lambda and a fixed design, which has the weight t^(-1/4). Departures:
- The posterior is sampled at its own scale; the step is sqrt(log K / T) divided by the largest gain so far.
- The fixed design is the certified XY-design of the items; r independent arms are pulled first.
- T is the budget, so there are no restarts of doubling length.
- If none of `tries` samples changes the answer, theta~ is the nearest point at which two answers tie.

With RR' = V^-1 and V = sum xx', the arrays hold R'x and R'z for arms and items, and R^-1 theta_hat for the estimate.
"""

from typing import Any, NamedTuple

import numpy as np

from bandits_lib.checks import check_budget, check_items, check_noisy, check_told
from bandits_lib.design import pairs, xy_design
from bandits_lib.design.g_optimal import spanning_arms
from bandits_lib.design.gaussian_width import points_in
from bandits_lib.numerics.kernels import (
    along_all,
    compiled,
    forward,
    merged,
    record,
    regularised_cholesky,
    weighted_gram,
)
from bandits_lib.numerics.span import span
from bandits_lib.numerics.ties import TIE, argmax
from bandits_lib.protocol import ELSEWHERE, ONE_BY_ONE, PULLS, Algorithm, Result, Row, one_pull, rule, spend

REFRESH = 1_000  # pulls between two fresh factorisations


class Whitened(NamedTuple):
    """Arrays of the regression."""

    given_arms: np.ndarray  # (K, r)
    given_points: np.ndarray  # (M, r)
    response: np.ndarray  # (r,), sum of x times reward
    arms: np.ndarray  # (r, K), R'x
    points: np.ndarray  # (r, M), R'z
    theta: np.ndarray  # (r,), R^-1 theta_hat = R' response
    pulled: np.ndarray  # (r,), scratch: R'x of the arm pulled
    along_arms: np.ndarray  # (K,), scratch
    along_points: np.ndarray  # (M,), scratch


def whitened(arms, points, sample):
    """Return the `Whitened` of items, `points` (M, r), after a first Sample of arms (K, r) that span R^r."""
    (K, r), M = arms.shape, len(points)
    arrays = np.empty((r, K)), np.empty((r, M)), np.empty(r), np.empty(r), np.empty(K), np.empty(M)
    fit = Whitened(arms, points, arms.T @ sample.sums, *arrays)
    refresh(fit, sample.counts.astype(np.int64))
    return fit


@compiled
def refresh(fit, counts):
    """Compute R = L^-T, V = LL', and all arrays in its coordinates, afresh from counts (K,) and response."""
    arms, points, theta = fit.arms, fit.points, fit.theta
    r = len(theta)
    V, factor = np.empty((r, r)), np.empty((r, r))
    for i in range(r):  # numba compiles 40 more functions for the assignment of a whole array
        for k in range(arms.shape[1]):
            arms[i, k] = fit.given_arms[k, i]
        for m in range(points.shape[1]):
            points[i, m] = fit.given_points[m, i]
    weighted_gram(arms, counts, V)
    regularised_cholesky(V, factor)
    forward(factor, arms)
    forward(factor, points)
    for i in range(r):
        theta[i] = fit.response[i]
        for j in range(i):
            theta[i] -= factor[i, j] * theta[j]
        theta[i] /= factor[i, i]


@merged
def learn(state, arm, reward):
    """Update state.fit, state.counts (K,) and state.now by one reward of `arm`."""
    fit, now = state.fit, state.now
    state.counts[arm] += 1
    now.pulls += 1
    for i in range(fit.response.shape[0]):
        fit.response[i] += reward * fit.given_arms[arm, i]
    if now.pulls % REFRESH == 0:
        refresh(fit, state.counts)
    else:
        shift(fit, arm, reward)


@merged
def shift(fit, arm, reward):
    """Update the arrays by one reward of `arm`: R <- R (I - a bb'), b = R'x, a = (1 - (1 + b'b)^-1/2) / b'b."""
    b, theta, square, along = fit.pulled, fit.theta, 0.0, 0.0
    for i in range(b.shape[0]):
        b[i] = fit.arms[i, arm]
        square += b[i] * b[i]
        theta[i] += reward * b[i]
        along += theta[i] * b[i]
    share = (1 - 1 / np.sqrt(1 + square)) / square if square > 0 else 0.0
    for i in range(b.shape[0]):
        theta[i] -= share * along * b[i]
    shrink(fit.arms, b, share, fit.along_arms)
    shrink(fit.points, b, share, fit.along_points)


@merged
def shrink(columns, b, share, along):
    """Multiply columns (r, n) by I - share bb' from the left, in place; along : (n,), scratch."""
    along_all(columns, b, along)
    for i in range(b.shape[0]):
        for k in range(along.shape[0]):
            columns[i, k] -= share * along[k] * b[i]


@rule(
    label="PEPS",
    row=Row(PULLS, "each result comes at once; very many items", "Li et al. 2024", ELSEWHERE),
    guarantee=ONE_BY_ONE,
)
def peps(
    arms: np.ndarray,
    items: np.ndarray | None = None,
    *,
    budget: int,
    sigma: float | np.ndarray = 1.0,
    tries: int = 100,
    trace: int = 0,
    rng: np.random.Generator,
) -> Algorithm:
    """Find the best item with a fixed budget, by sampling parameters with another answer (Li et al. 2024).

    Parameters
    ----------
    arms, items : (K, d) and (M, d) array_like
        Arms that can be pulled, and items that are ranked, by default the arms.
    budget, sigma : int, and float or (K,) array_like
        Number of pulls, at least the rank of the arms, and standard deviation of the noise. If each arm has its own,
        the largest is used.
    tries : int
        Number of samples drawn in search of another answer, before the nearest tie is taken.
    trace : int
        Pulls between two records (`Trace`); 0 records none.
    rng : numpy.random.Generator
        Generator that draws samples and arms.

    Yields
    ------
    (K,) int array or Loop
        Pulls to make next, as for `linucb`. The rule returns a `Result`: the best item (int) and the history of
        `Trace`, with the leader's smallest (y'theta_hat)^2 / (2 sigma^2 ||y||^2) as statistic and threshold inf.

    Raises
    ------
    ValueError
        If an argument is invalid, or if the budget is below the rank of the arms.

    Examples
    --------
    >>> from bandits_lib import instances, play
    >>> problem = instances.benchmark(2, angle=1.0)
    >>> rule = peps(problem.arms, budget=60, rng=np.random.default_rng(1))
    >>> play(rule, problem, np.random.default_rng(0)).result.recommendation
    0
    """
    arms, sigma = check_noisy(arms, sigma)
    items = check_items(items, arms, distinct=False)
    if isinstance(tries, bool) or not isinstance(tries, int | np.integer) or tries < 0:
        raise ValueError(
            f"tries must be an integer of at least 0 (samples drawn to find another answer); got {tries}: try 100"
        )
    space = span(arms)
    rank = space.arms.shape[1]
    budget = check_budget(budget, rank, "one pull for each dimension that the arms span")
    if (items == items[0]).all():
        return Result(0)

    first = one_pull(spanning_arms(space.arms), len(arms))
    sample = yield first
    check_told(first, sample, space.arms, space.arms)
    fixed = xy_design(arms, pairs(items)).weights
    fit = whitened(space.arms, points_in(space, items), sample)
    state = _start(fit, sample, fixed, rng, sigma, tries, budget)
    history = yield from spend(choose, learn, state, _look, budget=budget, trace=trace)
    return Result(int(state.now.leader), history)


@merged
def choose(state):
    """Draw an arm from (1 - t^(-1/4)) lambda + t^(-1/4) fixed; return -1 at the budget or a look."""
    now = state.now
    compare(state)
    if now.pulls >= now.due:
        return -1
    find_other(state)
    reweigh(state)
    mixed, level, K = float(now.pulls) ** -0.25, state.rng.random(), state.counts.shape[0]
    for k in range(K):
        level -= (1 - mixed) * state.weights[k] + mixed * state.fixed[k]
        if level < 0:
            return k
    return K - 1


@merged
def compare(state):
    """Set the leader, its rival of smallest standardised lead, and that lead squared."""
    now, points, values, squares = state.now, state.fit.points, state.values, state.others
    along_all(points, state.fit.theta, values)
    leader, closest = argmax(values), np.inf
    for m in range(values.shape[0]):
        squares[m] = 0.0
    for i in range(points.shape[0]):
        for m in range(values.shape[0]):
            squares[m] += (points[i, leader] - points[i, m]) ** 2
    for m in range(values.shape[0]):
        lead = values[leader] - values[m]
        if squares[m] > 0.0 and lead * lead < closest * squares[m] * (1 - TIE):
            now.rival, closest = m, lead * lead / squares[m]
    now.leader, now.distance = leader, closest / state.sigma**2


@merged
def find_other(state):
    """Set a theta~ with another answer: a sample of the posterior, or the nearest tie."""
    now, points, apart, others = state.now, state.fit.points, state.apart, state.others
    tries = state.tries
    if 0.5 * now.distance > np.log(1.0 + others.shape[0] * tries):  # a sample with another answer is unlikely
        tries = 0
    for _ in range(tries):
        for i in range(apart.shape[0]):
            apart[i] = -state.sigma * state.rng.standard_normal()
        along_all(points, apart, others)
        for m in range(others.shape[0]):
            others[m] = state.values[m] - others[m]
        if argmax(others) != now.leader:
            return
    square = 0.0
    for i in range(apart.shape[0]):
        apart[i] = points[i, now.leader] - points[i, now.rival]
        square += apart[i] * apart[i]
    for i in range(apart.shape[0]):
        apart[i] *= (state.values[now.leader] - state.values[now.rival]) / square


@merged
def reweigh(state):
    """Set lambda_x to lambda_x exp(step (x'(theta_hat - theta~))^2) / norm, step = sqrt(log K / T) / largest gain."""
    now, weights, gains, total = state.now, state.weights, state.gains, 0.0
    along_all(state.fit.arms, state.apart, gains)
    for k in range(gains.shape[0]):
        gains[k] *= gains[k]
        now.largest = max(now.largest, gains[k])
    if now.largest == 0.0:
        return
    for k in range(gains.shape[0]):
        weights[k] *= np.exp(state.step * gains[k] / now.largest)
        total += weights[k]
    for k in range(gains.shape[0]):
        weights[k] /= total


class State(NamedTuple):
    counts: np.ndarray  # (K,)
    now: np.record  # pulls, due; leader, its nearest rival, their squared distance; largest gain so far
    fit: Whitened  # in its coordinates the posterior of theta is sigma times a standard normal
    weights: np.ndarray  # (K,), lambda
    fixed: np.ndarray  # (K,), the design that is mixed in
    rng: Any  # draws samples and arms
    sigma: float
    tries: int
    step: float  # sqrt(log K / T)
    apart: np.ndarray  # (r,), theta_hat - theta~
    values: np.ndarray  # (M,), of the items under theta_hat
    others: np.ndarray  # (M,), of the items under theta~; scratch
    gains: np.ndarray  # (K,), scratch


def _start(fit, sample, fixed, rng, sigma, tries, budget):
    """Return the state after one pull of each spanning arm."""
    (r, M), K, counts = fit.points.shape, len(fixed), sample.counts.astype(np.int64)
    now = record(pulls=counts.sum(), due=0, leader=0, rival=0, distance=0.0, largest=0.0)
    weights = 0.5 * fixed + 0.5 / K  # a weight of 0 would stay 0
    constants = rng, float(sigma), int(tries), float(np.sqrt(np.log(max(2, K)) / budget))
    return State(counts, now, fit, weights, np.array(fixed), *constants, *map(np.empty, (r, M, M, K)))


def _look(state):
    return float(state.now.distance) / 2, np.inf, int(state.now.leader)
