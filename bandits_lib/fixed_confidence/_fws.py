"""FWS: Frank-Wolfe based sampling (Wang, Tzeng, Proutiere 2021, Algorithm 1), linear bandits.

One Frank-Wolfe step a pull on the concave F(x) = min_j f_j(x), f_j(x) = (y_j'theta)^2 / (2 ||y_j||^2) in the norm of
A(x)^-1, whose maximum over the simplex is 1 / T*. F has kinks, so the step looks at all f_j within r_t of the least:
z maximises the least of (z - x)'grad f_j over them, a matrix game (one such j: a vertex, the usual step). The iterate
is the mean of all z, and the arm pulled is the one that its counts lag behind most.

Exploration is forced: at every t for which floor(t / K) is a perfect square, and while two items share the lead, z is
uniform. That makes K pulls in a row at t = 0, K, 4 K, 9 K, ...

Departures: the stopping rule is that of jedra2020 (`stopping`), for comparison at equal terms. The start is one pull
each of spanning arms; the first forced exploration, floor(t / K) = 0, then pulls the other arms once each, which is
the paper's start. The game is solved by the simplex method in the compiled loop. Other items are allowed (ours).
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from bandits_lib.checks import check_arms, check_items, check_sigma
from bandits_lib.fixed_confidence.comparisons import compare, invert, times_vector
from bandits_lib.fixed_confidence.stopping import Evidence, begin, check_stopping, leading, look, opening, stopped, tell
from bandits_lib.numerics.kernels import along_all
from bandits_lib.numerics.ties import TIE, argmax
from bandits_lib.protocol import Loop, Result, Trace

REFRESH = 1_000  # pulls between two fresh inversions of the iterate's information


class State(NamedTuple):
    """What the compiled loop reads and writes."""

    counts: np.ndarray  # (K,), those of the evidence
    evidence: Evidence
    columns: np.ndarray  # (r, K), the arms
    iterate: np.ndarray  # (K,), t x, the sum of all steps z so far
    information: np.ndarray  # (r, r), t A(x)
    inverse: np.ndarray  # (r, r), of `information`
    values: np.ndarray  # (M,), scratch: f_j
    along: np.ndarray  # (K,), scratch
    step: np.ndarray  # (K,), scratch: z
    direction: np.ndarray  # (r,), scratch
    sigma2: np.ndarray  # (1,)


def fws(arms, items=None, *, delta, sigma=1.0, u=1.0, delta_schedule="anytime", threshold="determinant", trace=0):
    """Best item with probability at least 1 - delta, by a Frank-Wolfe step a pull (Wang et al. 2021, Algorithm 1).

    Parameters
    ----------
    arms : (K, d); items : (M, d), default the arms; delta : error probability allowed.
    sigma : standard deviation of the noise; of several the largest is used.
    u, delta_schedule, threshold : of the stopping rule, see `stopping.check_stopping`.
    trace : record a Trace every `trace` pulls; 0, never.

    Returns Result(item (int), history of Trace). One item: at once. Raises ValueError for bad input.

    >>> from bandits_lib import instances, play
    >>> problem = instances.benchmark(2, angle=1.0)
    >>> rule = fws(problem.arms, delta=0.05)
    >>> play(rule, problem, np.random.default_rng(0)).result.recommendation
    0
    """
    arms = check_arms(arms)
    items = check_items(items, arms)
    sigma = check_sigma(sigma, len(arms)).max()
    rule = check_stopping(delta=delta, sigma=sigma, u=u, delta_schedule=delta_schedule, threshold=threshold)
    if len(items) == 1:
        return Result(0)

    start = opening(arms, items)
    sample = yield start.counts
    evidence = begin(start, sample, rule, trace)
    K = len(arms)
    state = State(
        counts=evidence.counts,
        evidence=evidence,
        columns=np.ascontiguousarray(evidence.arms.T),
        iterate=evidence.counts.astype(float),
        information=evidence.information.copy(),
        inverse=evidence.inverse.copy(),
        values=np.empty(len(items)),
        along=np.empty(K),
        step=np.empty(K),
        direction=np.empty(len(evidence.theta)),
        sigma2=np.array([sigma**2]),
    )
    history: list[Trace] = []
    while True:
        yield Loop(choose, update, state)
        if evidence.clock[0] >= evidence.clock[1]:
            history.append(look(evidence))
            evidence.clock[1] += trace
        if evidence.done[0]:
            return Result(int(evidence.best[0]), tuple(history))


@njit(cache=True, forceinline=True, error_model="numpy")
def choose(state):
    """One Frank-Wolfe step, then the arm whose count lags behind the iterate most; -1 when done or at a look."""
    evidence = state.evidence
    if stopped(evidence) or evidence.clock[0] >= evidence.clock[1]:
        return -1
    K, t = state.iterate.shape[0], evidence.clock[0] + 1
    leader = leading(evidence.items, evidence.theta, evidence.costs)
    if is_square(t // K) or tied(evidence.costs, leader):
        for k in range(K):
            state.step[k] = 1.0 / K
    else:
        frank_wolfe_step(state, leader, t)
    move(state)
    for k in range(K):
        state.along[k] = -evidence.counts[k] / state.iterate[k] if state.iterate[k] > 0 else -np.inf
    return argmax(state.along)


@njit(cache=True, error_model="numpy")
def frank_wolfe_step(state, leader, t):
    """z into `step`: the best vertex for one gradient, or the maximin mixture for those of all f_j near the least."""
    K, along, step = state.step.shape[0], state.along, state.step
    near, n = near_minimum(state, leader, (t - 1) * t**-0.9 / K), 0
    payoffs = np.empty((near, K))
    for m in range(state.values.shape[0]):
        if state.values[m] < np.inf:
            gradient(state, leader, m, along)
            for k in range(K):  # x'grad f_j = f_j(x), since f_j is homogeneous
                payoffs[n, k] = along[k] - state.values[m] / (t - 1)
            n += 1
    if near > 1:
        maximin(payoffs, step)
        return
    for k in range(K):
        step[k] = 0.0
    step[argmax(along)] = 1.0


@njit(cache=True)
def is_square(n):
    """Whether the integer n >= 0 is a perfect square."""
    root = int(np.sqrt(n) + 0.5)
    return root * root == n


@njit(cache=True)
def tied(values, leader):
    """Whether another item has the leader's value (by the shared rule of ties)."""
    floor = values[leader] - TIE * max(1e-300, abs(values[leader]))
    for m in range(values.shape[0]):
        if m != leader and values[m] >= floor:
            return True
    return False


@njit(cache=True, error_model="numpy")
def near_minimum(state, leader, slack):
    """How many t f_j are the least or below it plus `slack`; these into `values` (M,), and infinity for the others."""
    items, theta, inverse, values = state.evidence.items, state.evidence.theta, state.inverse, state.values
    y, least, near = state.evidence.step, np.inf, 0
    for m in range(items.shape[0]):
        gap, square = compare(items, leader, m, theta, inverse, y)
        values[m] = gap * gap / (2 * square * state.sigma2[0]) if m != leader else np.inf
        least = min(least, values[m])
    for m in range(values.shape[0]):
        if values[m] <= least * (1 + TIE) or values[m] < least + slack:
            near += 1
        else:
            values[m] = np.inf
    return near


@njit(cache=True, error_model="numpy")
def gradient(state, leader, rival, along):
    """grad f_j (K,) into `along`: (x_k'(theta - lambda_j))^2 / (2 sigma^2), lambda_j the nearest tie in A(x)."""
    evidence, y = state.evidence, state.evidence.step
    gap, square = compare(evidence.items, leader, rival, evidence.theta, state.inverse, y)
    times_vector(state.inverse, y, state.direction)
    along_all(state.columns, state.direction, along)
    for k in range(along.shape[0]):
        along[k] = (gap / square * along[k]) ** 2 / (2 * state.sigma2[0])


@njit(cache=True, error_model="numpy")
def move(state):
    """Add z to the iterate: a rank-one update for every arm in it, and every REFRESH pulls a fresh inversion."""
    information, inverse, columns, u = state.information, state.inverse, state.columns, state.direction
    r, K = columns.shape
    for k in range(K):
        weight = state.step[k]
        if weight > 0:
            state.iterate[k] += weight
            gain = 1.0
            for i in range(r):
                u[i] = 0.0
                for j in range(r):
                    information[i, j] += weight * columns[i, k] * columns[j, k]
                    u[i] += inverse[i, j] * columns[j, k]
                gain += weight * u[i] * columns[i, k]
            for i in range(r):
                for j in range(r):
                    inverse[i, j] -= weight * u[i] * u[j] / gain
    if (state.evidence.clock[0] + 1) % REFRESH == 0:
        invert(information, inverse)


@njit(cache=True, error_model="numpy")
def maximin(payoffs, z):
    """The mixture z (K,) of columns that maximises the least of payoffs @ z over the rows (J, K): a matrix game.

    The simplex method (Bland's rule, so it ends) on the opponent's program: maximise sum q, payoffs'q <= 1, q >= 0,
    for payoffs shifted to be positive; z is proportional to its dual solution.
    """
    J, K = payoffs.shape
    table = simplex_table(payoffs)
    rows, columns = np.arange(J, J + K), np.arange(J)  # names of the basic and of the non-basic variables
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
    total = 0.0
    for k in range(K):
        z[k] = 0.0
    for j in range(J):
        if columns[j] >= J:
            z[columns[j] - J] = table[K, j]
            total += table[K, j]
    for k in range(K):
        z[k] /= total


@njit(cache=True, error_model="numpy")
def simplex_table(payoffs):
    """The condensed tableau (K + 1, J + 1): constraints with bounds in the last column, objective in the last row."""
    J, K = payoffs.shape
    low, high = np.inf, -np.inf
    for j in range(J):
        for k in range(K):
            low, high = min(low, payoffs[j, k]), max(high, payoffs[j, k])
    unit, table = high - low if high > low else 1.0, np.empty((K + 1, J + 1))
    for j in range(J):
        for k in range(K):
            table[k, j] = (payoffs[j, k] - low) / unit + 1.0
            table[k, J] = 1.0
        table[K, j] = -1.0
    table[K, J] = 0.0
    return table


@njit(cache=True, error_model="numpy")
def leaving(table, rows, enter):
    """The row that leaves: the least ratio of bound to coefficient, the variable of least name among equals."""
    J, leave, least = table.shape[1] - 1, -1, np.inf
    for k in range(table.shape[0] - 1):
        if table[k, enter] > 1e-12:
            ratio = table[k, J] / table[k, enter]
            if ratio < least or (ratio == least and rows[k] < rows[leave]):
                leave, least = k, ratio
    return leave


@njit(cache=True, error_model="numpy")
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


@njit(cache=True, forceinline=True, error_model="numpy")
def update(state, arm, reward):
    """Tell one reward."""
    tell(state.evidence, arm, reward)
