"""When to stop, whatever the sampling rule: the generalised likelihood ratio test of jedra2020, section 3.4.

With A the sum of xx' over the pulls and theta the least-squares estimate, the statistic is (Lemma 7)
    Z = min over items z other than the leader of  ((leader - z)'theta)^2 / (2 ||leader - z||^2),   norms in A^-1,
and a rule stops when Z exceeds a threshold beta. With c no larger than the least eigenvalue of A, and any u > 0,
    beta = (1 + u) sigma^2 log( det(A / (u c) + I)^(1/2) / delta )                                  (eq. 9)
makes every sampling rule delta-correct: A^-1 <= (1 + u) (A + u c I)^-1, and Z <= ||theta - theta_star||^2 / 2 in the
norm of A when the leader is wrong, which a self-normalised bound controls for all t at once. Here A begins with one
pull each of spanning arms (A_0 in the paper) and c is the least eigenvalue of their sum, so A >= c I always holds.

How a rule uses this file:
    start = opening(arms, items)                             # coordinates of the span, the first arms, c
    sample = yield start.counts                              # pulled and counted
    evidence = begin(start, sample, check_stopping(delta=delta, sigma=1.0), trace=0)
    stopped(evidence)                                        # in numba or in Python, after every pull
    tell(evidence, arm, reward)                              # in numba or in Python, for every pull after the opening
    look(evidence)                                           # the Trace of this moment; evidence.best[0] is the leader
A rule's own state holds the evidence in a field, and `counts=evidence.counts` for the protocol.

Departures and readings:
- Section 5 takes beta at 6 delta / (pi^2 t^2) ("union"). Proposition 2 already holds for all t together, so plain delta
  will do ("anytime").
- The published code begins with the sum of A_0 without pulling it. Here A_0 is pulled, and counted.
- A pull costs O(d^2), not O(M d). If at some parameter two items tie for the best, then whichever item leads, one of
  the two is an alternative to it, so Z <= ||theta - tie||^2 / 2 in the norm of A, always. The nearest tie of the last
  full look is kept, and the items are looked at again only when that bound exceeds the threshold. The rule stops at
  the same pull as if it had looked every time.
- Items other than the arms are allowed (ours), and arms that do not span R^d: all is done in coordinates of their span,
  orthonormal unless the arms' scales are decades apart. A change of coordinates makes one linear bandit of another,
  with the same values: eq. 9 holds in any, with c the least eigenvalue of A_0 there.
"""

from math import inf, log
from typing import NamedTuple

import numpy as np
from numba import njit

from bandits_lib.checks import check_delta, check_option, check_positive, check_told
from bandits_lib.design.d_optimal import spanning_arms
from bandits_lib.numerics import ordered
from bandits_lib.numerics.axes import squared_extents
from bandits_lib.numerics.kernels import cholesky, inverse_from, rank_one_update
from bandits_lib.numerics.ordered import apply, combine, information, inverse_triangle, product, transposed
from bandits_lib.numerics.span import RANK_TOL, scaled_axes
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import NO_LIMIT, Trace

REFRESH = 1_000  # pulls between two fresh inversions
CANCELLED = 1e3  # a pull that shrinks a squared norm this many times leaves mostly rounding errors: invert afresh
SLACK = 1e-9  # relative: a bound this close to the threshold is not relied on
THRESHOLDS = ("determinant", "logarithm", "loglog")


class Opening(NamedTuple):
    """Where a rule begins: all arrays in coordinates of the arms' span, of dimension r (`scaled_axes`).

    arms : (K, r); items : (M, r), up to a common shift; first : (r,) spanning arms, A_0; counts : (K,) one pull each;
    c : least eigenvalue of the sum of xx' over `first`; axes : (d, r), the coordinates.
    """

    arms: np.ndarray
    items: np.ndarray
    first: np.ndarray
    counts: np.ndarray
    c: float
    axes: np.ndarray


class Stopping(NamedTuple):
    """What the threshold depends on besides the data: sigma (standard deviation), delta, u, union (0 or 1), kind."""

    sigma: float
    delta: float
    u: float
    union: float
    kind: float


class Evidence(NamedTuple):
    """What the rewards say so far; scalars that change sit in short arrays."""

    arms: np.ndarray  # (K, r)
    items: np.ndarray  # (M, r)
    counts: np.ndarray  # (K,)
    clock: np.ndarray  # pulls so far, pulls at the next look (NO_LIMIT: none)
    information: np.ndarray  # (r, r), A
    inverse: np.ndarray  # (r, r), A^-1
    theta: np.ndarray  # (r,), least squares
    response: np.ndarray  # (r,), sum of x times reward
    best: np.ndarray  # leader and nearest rival at the last full look, rows of items
    level: np.ndarray  # the statistic Z at the last full look; the threshold when it was last computed
    tie: np.ndarray  # (r,), the parameter nearest to theta, at the last full look, at which leader and rival tie
    done: np.ndarray  # (1,), of bool: Z exceeded the threshold
    limits: np.ndarray  # (1 + u) sigma^2, u c, log(1 / delta), union, kind, u, sigma^2
    step: np.ndarray  # (r,), scratch
    square: np.ndarray  # (r, r), scratch: Cholesky's factor
    costs: np.ndarray  # (M,), scratch: minus the cost of each rival


def check_stopping(*, delta, sigma, u=1.0, delta_schedule="anytime", threshold="determinant"):
    """The arguments of the stopping rule, checked, as a `Stopping`.

    delta : error probability allowed; sigma : standard deviation of the noise, of several the largest is used;
    u : positive (jedra2020: 1; its published code: .1); delta_schedule : "anytime", delta, or "union",
    6 delta / (pi^2 t^2) at the t-th pull (jedra2020, section 5);
    threshold : "determinant", eq. 9, or one of two that no proof covers here, for comparison:
        "logarithm", (1 + u) sigma^2 (log(1 / delta) + log(t) / 2 + r log(1 + 1 / u) / 2), of the published code;
        "loglog", sigma^2 log((1 + log t) / delta), of published experiments with LinGame and FWS.
    Raises ValueError for values out of range.
    """
    delta, u = check_delta(delta), check_positive("u", u)
    check_option("delta_schedule", delta_schedule, ("anytime", "union"))
    check_option("threshold", threshold, THRESHOLDS)
    largest = float(np.max(sigma))
    return Stopping(largest, delta, u, float(delta_schedule == "union"), float(THRESHOLDS.index(threshold)))


def opening(arms, items, initial="spanning", rng=None):
    """The spanning arms A_0 that are pulled first, one pull each (jedra2020, Lemma 5), as an `Opening`.

    arms : (K, d) and items : (M, d), checked; initial : "spanning", each arm the farthest from the span of those
    before, or "random" (jedra2020, section 5): in an order drawn by `rng`, each not in the span of those before.
    """
    axes = scaled_axes(arms)
    inside = product(arms, axes)
    first = spanning_arms(inside) if initial == "spanning" else _random_basis(inside, rng)
    counts = np.zeros(len(arms), dtype=np.int64)
    counts[first] = 1
    return Opening(inside, product(items - items[0], axes), first, counts, _least(inside[first]), axes)


def _least(arms):
    """The least eigenvalue of the sum of xx' over arms (n, r)."""
    return float(squared_extents(arms)[0].min())


def _random_basis(arms, rng):
    chosen, axes = [], np.zeros((arms.shape[1], 0))
    for k in rng.permutation(len(arms)):
        rest = arms[k] - axes @ (axes.T @ arms[k])
        if np.linalg.norm(rest) > RANK_TOL * np.linalg.norm(arms[k]):
            chosen.append(k)
            axes = np.column_stack([axes, rest / np.linalg.norm(rest)])
        if len(chosen) == arms.shape[1]:
            break
    return np.array(chosen)


def opened(start, sample):
    """The `Opening` that was pulled: `start`, or where a log holds other pulls, spanning arms among these, and their c.

    Raises ValueError if these do not span what the arms span.
    """
    if check_told(start.counts, sample, start.arms, start.arms):
        return start
    pulled = np.flatnonzero(sample.counts)
    first = pulled[spanning_arms(start.arms[pulled])]
    return start._replace(first=first, counts=sample.counts, c=_least(start.arms[first]))


def begin(start, sample, stopping, trace=0):
    """The `Evidence` after the opening's pulls. sample : their Sample; trace : pulls between looks, 0 for none."""
    start, (_, r), pulls = opened(start, sample), start.arms.shape, int(sample.counts.sum())
    pulled = information(start.arms, sample.counts.astype(float))
    root, response = inverse_triangle(ordered.cholesky(pulled)[0]), combine(sample.sums, start.arms)
    inverse = product(root, transposed(root))
    sigma, delta, u, union, kind = stopping
    evidence = Evidence(
        start.arms,
        start.items,
        counts=sample.counts.astype(np.int64),
        clock=np.array([pulls, pulls if trace else NO_LIMIT]),
        information=pulled,
        inverse=inverse,
        theta=apply(inverse, response),
        response=response,
        best=np.zeros(2, dtype=np.int64),
        level=np.array([0.0, -inf]),
        tie=np.zeros(r),
        done=np.zeros(1, dtype=np.bool_),
        limits=np.array([(1 + u) * sigma**2, u * start.c, -log(delta), union, kind, u, sigma**2]),
        step=np.empty(r),
        square=np.empty((r, r)),
        costs=np.empty(len(start.items)),
    )
    scan(evidence)
    return evidence


def look(evidence):
    """The `Trace` of this moment, statistic and threshold computed now."""
    scan(evidence)
    beta = threshold(evidence)
    return Trace(
        int(evidence.clock[0]), evidence.counts.copy(), float(evidence.level[0]), float(beta), int(evidence.best[0])
    )


@njit(cache=True, error_model="numpy")
def tell(evidence, arm, reward):
    """One reward of `arm`: A, its inverse, theta and the counts, in O(r^2)."""
    x, information, response = evidence.arms[arm], evidence.information, evidence.response
    r = response.shape[0]
    evidence.counts[arm] += 1
    evidence.clock[0] += 1
    for i in range(r):
        response[i] += reward * x[i]
        for j in range(r):
            information[i, j] += x[i] * x[j]
    gain = rank_one_update(evidence.inverse, evidence.theta, x, reward, evidence.step)
    if evidence.clock[0] % REFRESH == 0 or gain > CANCELLED:
        refresh(evidence)


@njit(cache=True, error_model="numpy")
def refresh(evidence):
    """A^-1 and theta afresh, from A and the response."""
    r = evidence.theta.shape[0]
    cholesky(evidence.information, 1.0, 0.0, evidence.square)
    inverse_from(evidence.square, evidence.inverse)
    for i in range(r):
        evidence.theta[i] = 0.0
        for j in range(r):
            evidence.theta[i] += evidence.inverse[i, j] * evidence.response[j]


@njit(cache=True, error_model="numpy")
def stopped(evidence):
    """Whether Z > beta now. O(r^2) while the kept tie proves the contrary, else a full look, O(M r^2)."""
    if not _may_stop(evidence, evidence.level[1]) or not _may_stop(evidence, threshold(evidence)):
        return False
    scan(evidence)
    evidence.done[0] = evidence.level[0] > evidence.level[1]
    return evidence.done[0]


@njit(cache=True, forceinline=True, error_model="numpy")
def _may_stop(evidence, beta):
    theta, tie, information = evidence.theta, evidence.tie, evidence.information
    distance = 0.0
    for i in range(theta.shape[0]):
        along = 0.0
        for j in range(theta.shape[0]):
            along += information[i, j] * (theta[j] - tie[j])
        distance += along * (theta[i] - tie[i])
    return 0.5 * distance > beta * (1 - SLACK)


@njit(cache=True, error_model="numpy")
def threshold(evidence):
    """beta(delta, t) now; kept in `level[1]`. It never falls as pulls come in."""
    factor, uc, log_delta, union, kind, u, sigma2 = evidence.limits
    t, r = evidence.clock[0], evidence.theta.shape[0]
    if union:
        log_delta += np.log((np.pi * t) ** 2 / 6)
    if kind == 0:
        beta = factor * (0.5 * cholesky(evidence.information, uc, 1.0, evidence.square) + log_delta)
    elif kind == 1:
        beta = factor * (log_delta + 0.5 * np.log(t) + 0.5 * r * np.log(1 + 1 / u))
    else:
        beta = sigma2 * (np.log(1 + np.log(t)) + log_delta)
    evidence.level[1] = beta
    return beta


@njit(cache=True, error_model="numpy")
def scan(evidence):
    """Leader, nearest rival, Z and the tie between them, from all items: O(M r^2)."""
    theta, items, inverse = evidence.theta, evidence.items, evidence.inverse
    r = theta.shape[0]
    leader = leading(items, theta, evidence.costs)
    rival, cost = nearest_rival(items, theta, inverse, leader, evidence.costs, evidence.step)
    evidence.best[0], evidence.best[1], evidence.level[0] = leader, rival, cost
    gap, square = 0.0, 0.0
    for i in range(r):
        along = 0.0
        for j in range(r):
            along += inverse[i, j] * (items[leader, j] - items[rival, j])
        evidence.step[i] = along
        gap += theta[i] * (items[leader, i] - items[rival, i])
        square += along * (items[leader, i] - items[rival, i])
    for i in range(r):
        evidence.tie[i] = theta[i] - max(gap, 0.0) / square * evidence.step[i]


@njit(cache=True, error_model="numpy")
def leading(items, theta, values):
    """Row of the item of largest value, the first of equals; leaves the values in `values` (M,)."""
    for m in range(items.shape[0]):
        value = 0.0
        for i in range(theta.shape[0]):
            value += items[m, i] * theta[i]
        values[m] = value
    return argmax(values)


@njit(cache=True, error_model="numpy")
def nearest_rival(items, theta, inverse, leader, costs, y):
    """The rival z != leader of least cost Z_{leader, z} = (y'theta)_+^2 / (2 ||y||^2), y = leader - z, and that cost.

    items : (M, r), M >= 2; theta : (r,); inverse : (r, r), A^-1; scratch: costs (M,), y (r,). Ties go to the first.
    """
    r = theta.shape[0]
    for m in range(items.shape[0]):
        gap, square = 0.0, 0.0
        for i in range(r):
            y[i] = items[leader, i] - items[m, i]
            gap += y[i] * theta[i]
            half = 0.5 * inverse[i, i] * y[i]
            for j in range(i):
                half += inverse[i, j] * y[j]
            square += 2 * half * y[i]
        costs[m] = -(max(gap, 0.0) ** 2) / (2 * square)
    costs[leader] = -np.inf
    rival = argmax(costs)
    return rival, -costs[rival]
