"""Decide when to stop, whatever the sampling rule: the generalised likelihood ratio test of jedra2020, section 3.4.

With A the sum of xx' over the pulls and theta the least-squares estimate, the statistic is (Lemma 7)
    Z = min over items z other than the leader of  ((leader - z)'theta)^2 / (2 ||leader - z||^2),   norms in A^-1,
and a rule stops when Z exceeds a threshold beta. With c no larger than the smallest eigenvalue of A, and any u > 0,
    beta = (1 + u) sigma^2 log( det(A / (u c) + I)^(1/2) / delta )                                  (eq. 9)
makes every sampling rule delta-correct (Proposition 2). So a rule only says what to pull next: it gives `stop_by_glr`
the `choose` and `update` of its Loop, and first_state(evidence) and next_state(state), the states of the Loops.

Departures and readings:
- "anytime" uses delta itself at all t, as Proposition 2 covers all t together. Section 5 takes 6 delta / (pi^2 t^2)
  ("union"); 6 delta / (pi^2 t^p) is proved for any p > 0. The paper uses u = 1, its code 0.1.
- "simple" (Remark 1): (1 + u) sigma^2 log(max(t, 1 + t / (u r))^(r/2) / delta) with c = max ||a||^2. The rule waits
  until A >= c I.
- No proof covers "logarithm", (1 + u) sigma^2 (log(1 / delta) + log(t) / 2 + r log(1 + 1 / u) / 2), of the published
  code, nor "loglog", sigma^2 log((1 + log t) / delta), of published experiments with LinGame and FWS, nor "log_pulls",
  sigma^2 log((1 + t) / delta), of the experiments of Tirinzoni and Degenne (2022).
- The published code begins with the sum of the spanning arms A_0 (Lemma 5) without pulling them; here they are pulled.
  "spanning" adds the arm that is farthest from the span of the previous ones; "random" (section 5) draws arms.
- All items are compared only when half the squared distance to the tie of the last full look, which bounds Z, exceeds
  the threshold. A rule stops at the same pull (notebook jedra2020_3_track_and_stop), and a pull costs O(d^2).
- Items may differ from the arms, and the arms need not span R^d: all computations use coordinates of their span.

Selective elimination (Tirinzoni and Degenne 2022): an item m is eliminated once Z_{leader, m} > beta, and a rule stops
when one item is left. Let theta be the true parameter and ||theta_hat - theta||_A^2 / 2 <= beta for all t, which has
probability 1 - delta for eq. (9), since A + u c I <= (1 + u) A (Abbasi-Yadkori et al. 2011, Theorem 1). If
m'theta >= leader'theta at some t, then Z_{leader, m} is at most that distance, because theta is one of the parameters
over which Lemma 7 takes the minimum. So no best item is eliminated, at any t and by any leader, and the item that is
left at the end is best. "sample" changes the pulls, but this event does not depend on the sampling rule. Departures:
- With "sample" the leader is one of the items that are left. With "stop" it may have been eliminated, as in the
  paper; if it beats all that are left, it is the answer (the paper's program draws an arm then). As long as no
  eliminated item leads, "stop" stops no later than "none" with the same rewards.
- Items are eliminated 64 times while t doubles, not after every pull (`next_look`). If an eliminated item leads,
  which this event excludes, the bound by the tie may fail, and the rule stops at the next of these times.
- If a threshold without a proof loses the best item and the items that are left tie, "sample" never stops.
"""

from math import inf, log
from typing import NamedTuple

import numpy as np

from bandits_lib.checks import (
    check_delta,
    check_option,
    check_positive,
    check_problem,
)
from bandits_lib.design.g_optimal import spanning_arms
from bandits_lib.numerics import linear_algebra
from bandits_lib.numerics.kernels import (
    add_outer,
    along_all,
    cholesky,
    inlined,
    inverse_from,
    kernel,
    merged,
    rank_one_update,
    record,
    shrink_squares,
    squared_distance,
    squared_norms,
    times_vector,
)
from bandits_lib.numerics.linear_algebra import product, squared_extents
from bandits_lib.numerics.span import RANK_TOL, scaled_axes
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import NO_LIMIT, Loop, Result, one_pull


class Opening(NamedTuple):
    """The first pulls of a rule; all arrays are in coordinates of the arms' span, of dimension r (`scaled_axes`)."""

    arms: np.ndarray  # (K, r)
    items: np.ndarray  # (M, r), up to a common shift
    first: np.ndarray  # (r,), spanning arms, A_0
    counts: np.ndarray  # (K,), one pull each of `first`
    c: float  # smallest eigenvalue of the sum of xx' over `first`


def opening(arms, items, initial="spanning", rng=None):
    """Return the `Opening` of checked arms (K, d) and items (M, d); `rng` draws the arms if `initial` is "random"."""
    axes = scaled_axes(arms)
    coordinates = product(arms, axes)
    first = spanning_arms(coordinates) if initial == "spanning" else random_basis(coordinates, rng)
    c = float(squared_extents(coordinates[first])[0].min())  # c_A0 sqrt(d) of Lemma 5
    return Opening(coordinates, product(items - items[0], axes), first, one_pull(first, len(arms)), c)


def random_basis(arms, rng):
    """Return rows of arms (K, r) in random order, each outside the span of the previous ones."""
    chosen, axes = [], np.zeros((arms.shape[1], 0))
    for k in rng.permutation(len(arms)):
        residual = arms[k] - axes @ (axes.T @ arms[k])
        if np.linalg.norm(residual) > RANK_TOL * np.linalg.norm(arms[k]):
            chosen.append(k)
            axes = np.column_stack([axes, residual / np.linalg.norm(residual)])
        if len(chosen) == arms.shape[1]:
            break
    return np.array(chosen)


REFRESH = 1_000  # pulls between two fresh inversions
CANCELLED = 1e3  # a pull that divides a squared norm by more than this leaves mostly rounding errors: invert afresh


class Stopping(NamedTuple):
    """Parameters of the threshold that do not depend on the data; sigma is a standard deviation, sigma2 its square."""

    sigma: float
    sigma2: float
    u: float
    log_confidence: float  # log(1 / delta)
    power: float  # p of delta_t = 6 delta / (pi^2 t^p); 0 for delta itself
    kind: int  # index in THRESHOLDS
    eliminate: int  # index in ELIMINATE


class Evidence(NamedTuple):
    """All that a rule knows from the rewards so far."""

    arms: np.ndarray  # (K, r)
    columns: np.ndarray  # (r, K), the arms once more
    items: np.ndarray  # (n, r), those among which the sampling rule chooses: all, or with "sample" those that are left
    rows: np.ndarray  # (n,), their rows in the items of the rule
    left: np.ndarray  # (n,), whether the item is not eliminated
    first: np.ndarray  # (r,), A_0
    c: float  # smallest eigenvalue of the sum of xx' over A_0
    stopping: Stopping
    counts: np.ndarray  # (K,)
    information: np.ndarray  # (r, r), A
    inverse: np.ndarray  # (r, r), A^-1
    theta: np.ndarray  # (r,), least squares
    response: np.ndarray  # (r,), sum of x times reward
    tie: np.ndarray  # (r,), at the last full look the parameter nearest to theta for which leader and rival tie
    # pulls so far; leader and rival (rows of items) and statistic (Z) of the last full look; threshold, as last
    # computed; done, whether Z exceeded it; due, the pull at which items are eliminated next
    status: np.record
    step: np.ndarray  # (r,), scratch
    square: np.ndarray  # (r, r), scratch: Cholesky's factor
    values: np.ndarray  # (n,), scratch; after a full look minus Z_{leader, item}, and -inf for eliminated items


def begin(opened, sample, stopping):
    """Return the `Evidence` after the first pulls of an `Opening`; sample : their Sample."""
    arms, items = opened.arms, opened.items
    r, response = arms.shape[1], linear_algebra.combine(sample.sums, arms)
    information = linear_algebra.information(arms, sample.counts.astype(float))
    root = linear_algebra.inverse_triangle(linear_algebra.upper_factor(information)[0])
    inverse = linear_algebra.product(root, linear_algebra.transposed(root))
    pulls = int(sample.counts.sum())
    due = next_look(pulls - 1) if stopping.eliminate else NO_LIMIT
    evidence = Evidence(
        arms=arms,
        columns=linear_algebra.transposed(arms),
        items=items,
        rows=np.arange(len(items)),
        left=np.ones(len(items), dtype=bool),
        first=opened.first,
        c=opened.c,
        stopping=stopping,
        counts=sample.counts.astype(np.int64),
        information=information,
        inverse=inverse,
        theta=linear_algebra.apply(inverse, response),
        response=response,
        tie=np.zeros(r),
        status=record(pulls=pulls, leader=0, rival=0, statistic=0.0, threshold=-inf, done=False, due=due),
        step=np.empty(r),
        square=np.empty((r, r)),
        values=np.empty(len(items)),
    )
    scan(evidence)
    return evidence


@kernel
def add_reward(evidence, arm, reward):
    """Add one reward of `arm` to the evidence; return 1 + x'A^-1x, or 0 if A was inverted afresh."""
    x, response, status = evidence.arms[arm], evidence.response, evidence.status
    evidence.counts[arm] += 1
    status.pulls += 1
    for i in range(x.shape[0]):
        response[i] += reward * x[i]
    add_outer(evidence.information, x, 1.0)
    gain = rank_one_update(evidence.inverse, evidence.theta, x, reward, evidence.step)
    if status.pulls % REFRESH == 0 or gain > CANCELLED:
        refresh(evidence)
        return 0.0
    return gain


@kernel
def refresh(evidence):
    """Compute A^-1 and theta afresh from A and the response."""
    cholesky(evidence.information, 1.0, 0.0, evidence.square)
    inverse_from(evidence.square, evidence.inverse)
    times_vector(evidence.inverse, evidence.response, evidence.theta)


@merged
def update(state, arm, reward):
    """Add one reward: the `update` of a rule that keeps only the evidence."""
    add_reward(state.evidence, arm, reward)


@inlined
def update_norms(state, arm, reward):
    """Add one reward, and update the squared norms of the arms in A^-1, `arm_squares` (K,); scratch: `gains`."""
    evidence, squares, along = state.evidence, state.arm_squares, state.gains
    gain = add_reward(evidence, arm, reward)
    if gain == 0:
        squared_norms(evidence.columns, evidence.inverse, squares)
    else:
        along_all(evidence.columns, evidence.step, along)
        shrink_squares(squares, along, gain)


def arm_norms(evidence):
    """Return the current squared norms x'A^-1x of the arms, (K,)."""
    squares = np.empty(len(evidence.arms))
    squared_norms(evidence.columns, evidence.inverse, squares)
    return squares


@kernel
def scan(evidence):
    """Find the leader, its nearest rival, Z and the tie between them from all items, in O(n r^2)."""
    items, theta, inverse, status = evidence.items, evidence.theta, evidence.inverse, evidence.status
    tie, values, step = evidence.tie, evidence.values, evidence.step
    status.leader = leading(items, theta, values)
    status.rival, status.statistic = nearest_rival(items, theta, inverse, status.leader, values, step)
    if evidence.stopping.eliminate == 1:  # "stop"
        for m in range(values.shape[0]):
            if not evidence.left[m]:
                values[m] = -np.inf
        status.rival = argmax(values)
        status.statistic = -values[status.rival]
    gap, square = toward(items, status.leader, status.rival, theta, inverse, tie, step)
    for i in range(theta.shape[0]):
        tie[i] = theta[i] - max(gap, 0.0) / square * step[i]


@inlined
def leading(items, theta, values):
    """Return the row of the item of largest value, the first of equals; leave the values in `values` (M,)."""
    times_vector(items, theta, values)
    return argmax(values)


@kernel
def nearest_rival(items, theta, inverse, leader, costs, y):
    """Return the rival z of smallest Z_{leader, z}, and that value, of M >= 2 items. Scratch: costs (M,), y (r,)."""
    for m in range(items.shape[0]):
        if m == leader:
            costs[m] = -np.inf
        else:
            gap, square = compare(items, leader, m, theta, inverse, y)
            costs[m] = -(max(gap, 0.0) ** 2) / (2 * square)  # Lemma 7
    rival = argmax(costs)
    return rival, -costs[rival]


@inlined
def compare(items, one, other, theta, inverse, y):
    """Return y'theta and y'inverse y of y = items[one] - items[other], which is left in `y` (r,)."""
    gap, square = 0.0, 0.0
    for i in range(theta.shape[0]):
        y[i] = items[one, i] - items[other, i]
        gap += y[i] * theta[i]
        half = 0.5 * inverse[i, i] * y[i]
        for j in range(i):
            half += inverse[i, j] * y[j]
        square += 2 * half * y[i]
    return gap, square


@inlined
def toward(items, one, other, theta, inverse, y, direction):
    """Return what `compare` returns; put inverse y into `direction`. Nearest tie: theta - gap / square direction."""
    gap, square = compare(items, one, other, theta, inverse, y)
    times_vector(inverse, y, direction)
    return gap, square


LOOKS = 64  # so often items are eliminated while t doubles
SLACK = 1e-9  # relative: a bound this close to the threshold is not relied on
THRESHOLDS = ("determinant", "logarithm", "loglog", "simple", "log_pulls")
ELIMINATE = ("none", "stop", "sample")
POWERS = {"anytime": 0.0, "union": 2.0}  # p of delta_t


def check_stopping(delta, sigma, u=1.0, delta_schedule="anytime", threshold="determinant", eliminate="none"):
    """Return the checked arguments of the stopping rule as a `Stopping`, with the largest of several sigmas."""
    delta, u, largest = check_delta(delta), check_positive("u", u), float(np.max(sigma))
    check_option("threshold", threshold, THRESHOLDS)
    check_option("eliminate", eliminate, ELIMINATE)
    if isinstance(delta_schedule, str):
        power = POWERS[check_option("delta_schedule", delta_schedule, tuple(POWERS))]
    else:
        power = check_positive("delta_schedule", delta_schedule)
    return Stopping(
        sigma=largest,
        sigma2=largest**2,
        u=u,
        log_confidence=-log(delta),
        power=power,
        kind=THRESHOLDS.index(threshold),
        eliminate=ELIMINATE.index(eliminate),
    )


def stop_by_glr(arms, items, stopping, choose, update, first_state, next_state=None, *, first_arms=opening):
    """Pull what `choose` says until one item is left, and return the Result. stopping : those of `check_stopping`."""
    delta, sigma, *options = stopping
    arms, items, delta, sigma = check_problem(arms, items, delta, sigma)
    stopping = check_stopping(delta, sigma, *options)
    if len(items) == 1:
        return Result(0)

    opened = first_arms(arms, items)
    evidence = begin(opened, (yield opened.counts), stopping)
    state, status = first_state(evidence), evidence.status
    while True:
        yield Loop(choose, update, state, look)
        if status.done:
            evidence = state.evidence
            kept = unbeaten(evidence)
            if kept.sum() <= 1:  # the decision rule of section 3.2
                return Result(int(evidence.rows[kept][0] if kept.any() else evidence.rows[status.leader]))
            status.done, state = False, state._replace(evidence=restricted(evidence, kept))
        state = next_state(state) if next_state else state


def unbeaten(evidence):
    """Return after a full look which items are left (n,), without the items m of Z_{leader, m} > beta."""
    kept = evidence.left & (-evidence.values <= evidence.status.threshold)
    kept[evidence.status.leader] = evidence.left[evidence.status.leader]
    return kept


def restricted(evidence, kept):
    """Return the evidence in which only the items `kept` are left."""
    if evidence.stopping.eliminate == 1:  # "stop"
        return evidence._replace(left=kept)
    return evidence._replace(**{name: getattr(evidence, name)[kept] for name in ("items", "rows", "left", "values")})


def look(state):
    """Return Z, the threshold, the leader of this moment, and the number of items that are left."""
    evidence, status = state.evidence, state.evidence.status
    scan(evidence)
    beta = threshold(evidence)
    leader = int(evidence.rows[status.leader])
    return float(status.statistic), float(beta), leader, int(evidence.left.sum())


@kernel
def stopped(evidence):
    """Return whether Z > beta: in O(r^2) if the last tie rules it out, otherwise by a full look in O(n r^2).

    When items are to be eliminated, return whether one is: the loop ends, and the driver removes it.
    """
    status = evidence.status
    if status.pulls >= status.due:
        status.due = next_look(status.pulls)
        threshold(evidence)
        scan(evidence)
        beaten = highest_statistic(evidence)
    elif not may_stop(evidence, status.threshold) or not may_stop(evidence, threshold(evidence)):
        return False
    else:
        scan(evidence)
        beaten = status.statistic
    # eq. (8); A >= c I since A_0 was pulled, except for "simple", which has another c
    status.done = beaten > status.threshold and (evidence.stopping.kind != 3 or explored(evidence))
    return status.done


@merged
def next_look(t):
    """Return the first t' > t at which items are eliminated: the multiples of the largest 2^k <= max(1, t' / LOOKS)."""
    period = 1
    while 2 * period * LOOKS <= t:
        period *= 2
    return t + period - t % period


@kernel
def highest_statistic(evidence):
    """Return the largest Z_{leader, m} of the items that are left, after a full look."""
    largest = 0.0
    for m in range(evidence.values.shape[0]):
        if evidence.left[m] and m != evidence.status.leader:
            largest = max(largest, -evidence.values[m])
    return largest


@inlined
def may_stop(evidence, beta):
    """Return whether the bound on Z that the last tie gives exceeds `beta`, up to rounding errors."""
    return 0.5 * squared_distance(evidence.theta, evidence.tie, evidence.information) > beta * (1 - SLACK)


@kernel
def explored(evidence):
    """Return whether A >= c I with c = max ||a||^2, the condition of "simple"."""
    largest = 0.0
    for k in range(evidence.arms.shape[0]):
        square = 0.0
        for i in range(evidence.arms.shape[1]):
            square += evidence.arms[k, i] ** 2
        largest = max(largest, square)
    return cholesky(evidence.information, 1.0, -largest * (1 - SLACK), evidence.square) > -np.inf


@kernel
def threshold(evidence):
    """Return beta(delta, t), also in `status.threshold`. It must not fall with t: `stopped` tries the old one first."""
    stopping, t, r = evidence.stopping, evidence.status.pulls, evidence.theta.shape[0]
    u, log_confidence = stopping.u, stopping.log_confidence
    if stopping.power == 2:
        log_confidence += np.log((np.pi * t) ** 2 / 6)  # section 5
    elif stopping.power > 0:
        log_confidence += np.log(np.pi**2 / 6) + stopping.power * np.log(t)
    if stopping.kind == 0:  # "determinant", eq. (9)
        log_root = 0.5 * cholesky(evidence.information, u * evidence.c, 1.0, evidence.square)
        beta = (1 + u) * stopping.sigma2 * (log_root + log_confidence)
    elif stopping.kind == 1:  # "logarithm"
        beta = (1 + u) * stopping.sigma2 * (log_confidence + 0.5 * np.log(t) + 0.5 * r * np.log(1 + 1 / u))
    elif stopping.kind == 2:  # "loglog"
        beta = stopping.sigma2 * (np.log(1 + np.log(t)) + log_confidence)
    elif stopping.kind == 4:  # "log_pulls"
        beta = stopping.sigma2 * (np.log(1 + t) + log_confidence)
    else:  # "simple", Remark 1
        beta = (1 + u) * stopping.sigma2 * (0.5 * r * np.log(max(t, 1 + t / (u * r))) + log_confidence)
    evidence.status.threshold = beta
    return beta
