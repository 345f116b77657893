"""FWS: Frank-Wolfe based sampling (Wang, Tzeng, Proutiere 2021, Algorithm 1), for linear bandits.

Before every pull, the rule makes one Frank-Wolfe step on F(x) = min_j f_j(x), where f_j(x) = (y_j'theta)^2 /
(2 ||y_j||^2) with the norm in A(x)^-1. The step z maximises the minimum of (z - x)'grad f_j over all f_j within r_t of
the smallest, which is a matrix game. The iterate is the mean of all z. The rule pulls the arm whose count lags behind
the iterate most. Departures:
- The stopping rule is that of jedra2020 (`glr`), and items other than the arms are allowed.
- The rule pulls d spanning arms once each; forced exploration at floor(t / K) = 0 pulls the others. After K pulls,
  K x is 1 + (K - d) / K on each spanning arm and (K - d) / K on each other arm; in the paper it is 1 on every arm.
- The game is solved by the simplex method (Bland's rule), with payoffs shifted so that they are positive.
"""

from typing import NamedTuple

import numpy as np

from bandits_lib.glr import Evidence, compare, leading, stop_by_glr, stopped, toward, update
from bandits_lib.numerics.kernels import (
    add_outer,
    along_all,
    compiled,
    inverse_of,
    kernel,
    merged,
    shrink,
    times_vector,
)
from bandits_lib.numerics.ties import TIE, argmax
from bandits_lib.protocol import OPTIMAL, PULLS, Algorithm, Row, rule


@compiled
def maximin(payoffs, z):
    """Write into z (K,) the mixture of columns that maximises the smallest of payoffs @ z, for payoffs (J, K)."""
    J, K = payoffs.shape
    table = simplex_table(payoffs)
    rows, columns = np.arange(J, J + K), np.arange(J)  # indices of the basic and of the non-basic variables
    while True:
        enter = -1
        for j in range(J):
            if table[K, j] < -1e-12 and (enter < 0 or columns[j] < columns[enter]):
                enter = j
        if enter < 0:
            break
        leave = leaving(table, rows, enter)
        exchange(table, leave, enter)
        rows[leave], columns[enter] = columns[enter], rows[leave]
    total, z[:] = 0.0, 0.0
    for j in range(J):
        if columns[j] >= J:
            z[columns[j] - J] = table[K, j]
            total += table[K, j]
    z /= total


@compiled
def simplex_table(payoffs):
    """Return the condensed tableau (K + 1, J + 1), bounds in the last column and the objective in the last row."""
    J, K = payoffs.shape
    low, high = payoffs.min(), payoffs.max()
    unit, table = high - low if high > low else 1.0, np.empty((K + 1, J + 1))
    for j in range(J):
        for k in range(K):
            table[k, j] = (payoffs[j, k] - low) / unit + 1.0
            table[k, J] = 1.0
        table[K, j] = -1.0
    table[K, J] = 0.0
    return table


@merged
def leaving(table, rows, enter):
    """Return the row that leaves: that of the smallest ratio of bound to coefficient; ties go to the smallest index."""
    J, leave, least = table.shape[1] - 1, -1, np.inf
    for k in range(table.shape[0] - 1):
        if table[k, enter] > 1e-12:
            ratio = table[k, J] / table[k, enter]
            if ratio < least or (ratio == least and rows[k] < rows[leave]):
                leave, least = k, ratio
    return leave


@merged
def exchange(table, row, column):
    """Exchange a basic and a non-basic variable in a condensed simplex tableau, in place."""
    p = table[row, column]
    for j in range(table.shape[1]):
        table[row, j] = table[row, j] / p if j != column else 1 / p
    for k in range(table.shape[0]):
        if k != row:
            factor = table[k, column]
            for j in range(table.shape[1]):
                table[k, j] = table[k, j] - factor * table[row, j] if j != column else -factor / p


REFRESH = 1_000  # pulls between two fresh inversions of the iterate's information


@rule(label="FWS", row=Row(PULLS, "each result comes at once", "Wang et al. 2021", OPTIMAL))
def fws(
    arms: np.ndarray,
    items: np.ndarray | None = None,
    *,
    delta: float,
    sigma: float | np.ndarray = 1.0,
    u: float = 1.0,
    delta_schedule: str | float = "anytime",
    threshold: str = "determinant",
    eliminate: str = "none",
) -> Algorithm:
    """Find the best item with probability at least 1 - delta, by Frank-Wolfe steps (Wang et al. 2021, Algorithm 1).

    Parameters
    ----------
    arms, items, delta, sigma : (K, d) and (M, d) array_like, float, and float or (K,) array_like
        As for `rage`.
    u, delta_schedule, threshold, eliminate : float, str or float, str, and str
        As for `lazy_track_and_stop`.

    Examples
    --------
    >>> from bandits_lib import instances, play
    >>> problem = instances.benchmark(2, angle=1.0)
    >>> play(fws(problem.arms, delta=0.05), problem, np.random.default_rng(0)).result.recommendation
    0
    """
    stopping = delta, sigma, u, delta_schedule, threshold, eliminate
    return (yield from stop_by_glr(arms, items, stopping, choose, update, first_state))


@merged
def choose(state):
    """Make one Frank-Wolfe step and return the arm that lags behind the iterate most; -1 when done."""
    evidence = state.evidence
    if stopped(evidence):
        return -1
    K, t = state.iterate.shape[0], evidence.status.pulls + 1
    leader = leading(evidence.items, evidence.theta, evidence.values)
    if is_square(t // K) or tied(evidence.values, leader):
        state.step[:] = 1.0 / K  # forced exploration
    else:
        frank_wolfe_step(state, leader, t)
    move(state, t)
    for k in range(K):
        state.along[k] = -evidence.counts[k] / state.iterate[k] if state.iterate[k] > 0 else -np.inf  # max x_k / N_k
    return argmax(state.along)


@compiled
def frank_wolfe_step(state, leader, t):
    """Write z into `step`: the best vertex for one gradient, or the maximin mixture for all f_j near the minimum."""
    K, along, step, values = state.step.shape[0], state.along, state.step, state.evidence.values
    near, n = near_minimum(state, leader, (t - 1) * t**-0.9 / K), 0  # r_t = t^-0.9 / K
    payoffs = np.empty((near, K))
    for m in range(values.shape[0]):
        if values[m] < np.inf:
            gradient(state, leader, m, along)
            for k in range(K):  # x'grad f_j = f_j(x), since f_j is homogeneous of degree 1
                payoffs[n, k] = along[k] - values[m] / (t - 1)
            n += 1
    if near > 1:
        maximin(payoffs, step)
    else:
        step[:] = 0.0
        step[argmax(along)] = 1.0


@kernel
def near_minimum(state, leader, slack):
    """Count the t f_j within `slack` of the smallest, or tied; write them to `evidence.values`, and inf for others."""
    evidence, values, least, near = state.evidence, state.evidence.values, np.inf, 0
    for m in range(values.shape[0]):
        gap, square = compare(evidence.items, leader, m, evidence.theta, state.inverse, evidence.step)
        values[m] = gap * gap / (2 * square * evidence.stopping.sigma2) if m != leader else np.inf
        least = min(least, values[m])
    for m in range(values.shape[0]):
        if values[m] <= least * (1 + TIE) or values[m] < least + slack:
            near += 1
        else:
            values[m] = np.inf
    return near


@kernel
def gradient(state, leader, rival, along):
    """Write grad f_j (K,) into `along`: (x_k'(theta - lambda_j))^2 / (2 sigma^2), lambda_j the nearest tie in A(x)."""
    evidence, direction = state.evidence, state.direction
    gap, square = toward(evidence.items, leader, rival, evidence.theta, state.inverse, evidence.step, direction)
    along_all(evidence.columns, direction, along)
    for k in range(along.shape[0]):
        along[k] = (gap / square * along[k]) ** 2 / (2 * evidence.stopping.sigma2)


@kernel
def move(state, t):
    """Add z to the iterate by a rank-one update per arm; invert afresh every REFRESH pulls."""
    arms, information, inverse, u = state.evidence.arms, state.information, state.inverse, state.direction
    for k in range(arms.shape[0]):
        weight, x = state.step[k], arms[k]
        if weight > 0:
            state.iterate[k] += weight
            add_outer(information, x, weight)
            times_vector(inverse, x, u)
            gain = 1.0
            for i in range(u.shape[0]):
                gain += weight * u[i] * x[i]
            shrink(inverse, u, weight, gain)
    if t % REFRESH == 0:
        inverse_of(information, inverse)


@kernel
def is_square(n):
    """Return whether the integer n >= 0 is a perfect square."""
    root = int(np.sqrt(n) + 0.5)
    return root * root == n


@kernel
def tied(values, leader):
    """Return whether another item has the leader's value (by the rule of `ties`)."""
    floor = values[leader] - TIE * max(1e-300, abs(values[leader]))
    for m in range(values.shape[0]):
        if m != leader and values[m] >= floor:
            return True
    return False


class State(NamedTuple):
    counts: np.ndarray  # (K,), those of the evidence
    evidence: Evidence
    iterate: np.ndarray  # (K,), t x, the sum of all steps z so far
    information: np.ndarray  # (r, r), t A(x)
    inverse: np.ndarray  # (r, r), of `information`
    along: np.ndarray  # (K,), scratch
    step: np.ndarray  # (K,), scratch: z
    direction: np.ndarray  # (r,), scratch


def first_state(evidence):
    """Return the state after the opening, with the iterate at the proportions of its pulls."""
    K, r = evidence.arms.shape
    return State(
        counts=evidence.counts,
        evidence=evidence,
        iterate=evidence.counts.astype(float),
        information=evidence.information.copy(),
        inverse=evidence.inverse.copy(),
        along=np.empty(K),
        step=np.empty(K),
        direction=np.empty(r),
    )
