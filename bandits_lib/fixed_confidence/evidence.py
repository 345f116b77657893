"""What the rewards say so far, kept pull by pull in O(r^2): least squares, the leader, and its nearest rival.

With A the sum of xx' over the pulls and theta the least-squares estimate, item z costs, to be above the leader,
    Z_{leader, z} = ((leader - z)'theta)_+^2 / (2 ||leader - z||^2),   the norm in A^-1 (jedra2020, Lemma 7).
If several are equally near, the first counts. A^-1 and theta follow each pull by Sherman and Morrison, and are computed
afresh now and then.
"""

from math import inf
from typing import NamedTuple

import numpy as np

from bandits_lib.fixed_confidence.first_arms import opened
from bandits_lib.numerics import ordered
from bandits_lib.numerics.kernels import (
    add_outer,
    along_all,
    cholesky,
    inlined,
    inverse_from,
    kernel,
    rank_one_update,
    record,
    shrink_squares,
    squared_norms,
    times_vector,
)
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import NO_LIMIT

REFRESH = 1_000  # pulls between two fresh inversions
CANCELLED = 1e3  # a pull that shrinks a squared norm this many times leaves mostly rounding errors: invert afresh


class Stopping(NamedTuple):
    """What the threshold depends on besides the data; sigma is a standard deviation, sigma2 its square."""

    sigma: float
    sigma2: float
    u: float
    log_confidence: float  # log(1 / delta)
    power: float  # p of delta_t = 6 delta / (pi^2 t^p); 0 for delta itself
    kind: int  # place in `stopping.THRESHOLDS`


class Evidence(NamedTuple):
    """What the rewards say so far."""

    arms: np.ndarray  # (K, r)
    columns: np.ndarray  # (r, K), the arms once more
    items: np.ndarray  # (M, r)
    first: np.ndarray  # (r,), A_0
    c: float  # least eigenvalue of the sum of xx' over A_0
    stopping: Stopping
    counts: np.ndarray  # (K,)
    information: np.ndarray  # (r, r), A
    inverse: np.ndarray  # (r, r), A^-1
    theta: np.ndarray  # (r,), least squares
    response: np.ndarray  # (r,), sum of x times reward
    tie: np.ndarray  # (r,), the parameter nearest to theta, at the last full look, at which leader and rival tie
    now: np.record  # see `begin`
    step: np.ndarray  # (r,), scratch
    square: np.ndarray  # (r, r), scratch: Cholesky's factor
    values: np.ndarray  # (M,), scratch


def begin(start, sample, stopping, trace=0, earlier=None):
    """The `Evidence` after the opening's pulls. sample : their Sample; trace : pulls between looks, 0 for none."""
    start, r, pulls = opened(start, sample) if earlier is None else start, start.arms.shape[1], int(sample.counts.sum())
    counts, response = sample.counts.astype(np.int64), ordered.combine(sample.sums, start.arms)
    information = ordered.information(start.arms, sample.counts.astype(float))
    if earlier is not None:
        counts, pulls = counts + earlier.counts, pulls + earlier.pulls
        information, response = information + earlier.information, response + earlier.response
        if np.linalg.eigvalsh(information)[0] < start.c * (1 - 1e-9):
            raise ValueError(f"pulls of arms {np.flatnonzero(sample.counts)} cannot stand in for {start.first}")
    root = ordered.inverse_triangle(ordered.cholesky(information)[0])
    inverse = ordered.product(root, ordered.transposed(root))
    evidence = Evidence(
        start.arms,
        columns=ordered.transposed(start.arms),
        items=start.items,
        first=start.first,
        c=start.c,
        stopping=stopping,
        counts=counts,
        information=information,
        inverse=inverse,
        theta=ordered.apply(inverse, response),
        response=response,
        tie=np.zeros(r),
        now=record(
            pulls=pulls,
            next_look=pulls if trace else NO_LIMIT,  # a number of pulls
            leader=0,  # of the last full look, as the next two: rows of items
            rival=0,
            statistic=0.0,  # Z
            threshold=-inf,  # when it was last computed
            done=False,  # Z exceeded the threshold
        ),
        step=np.empty(r),
        square=np.empty((r, r)),
        values=np.empty(len(start.items)),
    )
    scan(evidence)
    return evidence


@kernel
def tell(evidence, arm, reward):
    """One reward of `arm`: A, its inverse, theta and the counts; returns 1 + x'A^-1x, or 0 if A was inverted afresh."""
    x, response, now = evidence.arms[arm], evidence.response, evidence.now
    evidence.counts[arm] += 1
    now.pulls += 1
    for i in range(x.shape[0]):
        response[i] += reward * x[i]
    add_outer(evidence.information, x, 1.0)
    gain = rank_one_update(evidence.inverse, evidence.theta, x, reward, evidence.step)
    if now.pulls % REFRESH == 0 or gain > CANCELLED:
        refresh(evidence)
        return 0.0
    return gain


@kernel
def refresh(evidence):
    """A^-1 and theta afresh, from A and the response."""
    cholesky(evidence.information, 1.0, 0.0, evidence.square)
    inverse_from(evidence.square, evidence.inverse)
    times_vector(evidence.inverse, evidence.response, evidence.theta)


@inlined
def update(state, arm, reward):
    """Tell one reward: the `update` of a rule that keeps nothing but the evidence up to date."""
    tell(state.evidence, arm, reward)


@inlined
def update_norms(state, arm, reward):
    """The same of a rule that keeps the squared norms of the arms in A^-1 too, `arm_squares` (K,); scratch: `gains`."""
    evidence, squares, along = state.evidence, state.arm_squares, state.gains
    gain = tell(evidence, arm, reward)
    if gain == 0:
        squared_norms(evidence.columns, evidence.inverse, squares)
    else:
        along_all(evidence.columns, evidence.step, along)
        shrink_squares(squares, along, gain)


def arm_norms(evidence):
    """(K,) squared norms x'A^-1x of the arms now."""
    squares = np.empty(len(evidence.arms))
    squared_norms(evidence.columns, evidence.inverse, squares)
    return squares


@kernel
def scan(evidence):
    """Leader, nearest rival, Z and the tie between them, from all items: O(M r^2)."""
    items, theta, inverse, now = evidence.items, evidence.theta, evidence.inverse, evidence.now
    tie, values, step = evidence.tie, evidence.values, evidence.step
    now.leader = leading(items, theta, values)
    now.rival, now.statistic = nearest_rival(items, theta, inverse, now.leader, values, step)
    gap, square = toward(items, now.leader, now.rival, theta, inverse, tie, step)
    for i in range(theta.shape[0]):
        tie[i] = theta[i] - max(gap, 0.0) / square * step[i]


@inlined
def leading(items, theta, values):
    """Row of the item of largest value, the first of equals; leaves the values in `values` (M,)."""
    times_vector(items, theta, values)
    return argmax(values)


@kernel
def nearest_rival(items, theta, inverse, leader, costs, y):
    """The rival z of least Z_{leader, z}, and that cost, among items (M, r), M >= 2. Scratch: costs (M,), y (r,)."""
    for m in range(items.shape[0]):
        if m == leader:
            costs[m] = -np.inf
        else:
            gap, square = compare(items, leader, m, theta, inverse, y)
            costs[m] = -(max(gap, 0.0) ** 2) / (2 * square)
    rival = argmax(costs)
    return rival, -costs[rival]


@inlined
def compare(items, one, other, theta, inverse, y):
    """y'theta and y'inverse y of y = items[one] - items[other], which is left in `y` (r,)."""
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
    """`compare`, and inverse y into `direction` (r,): theta - gap / square direction is the nearest tie of the two."""
    gap, square = compare(items, one, other, theta, inverse, y)
    times_vector(inverse, y, direction)
    return gap, square
