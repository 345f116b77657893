"""Compute the G-optimal designs that azizi2022 compares: FWG, Wynn's method, Wolfe and Atwood's, and clusters.

Each step moves weight onto one arm, pi <- (1 - gamma) pi + gamma e_x. With V = V(pi), q_i = x_i'V^-1x_i and
r_i = x_i'V^-1x the norms after the step are (q_i - gamma r_i^2 / (1 - gamma + gamma q_x)) / (1 - gamma).

FWG (Algorithm 2) moves towards argmax r_i^2, with r_i taken at the arm of largest q, and can stall above the optimum:
see notebook azizi2022_6_g_optimal. Wynn's method moves to the arm of largest q, with the step (q/r - 1) / (q - 1) that
is exact for log det V (Fedorov 1972). Wolfe and Atwood's also takes weight off arms of smallest q, if that q is farther
from r. The code of azizi2022 computes OD-LinBAI's designs by it (`minvol` of Todd); `away=False` is its Corollary 2.
"""

import numpy as np

from bandits_lib.checks import check_arms, check_option
from bandits_lib.design.cache import cached
from bandits_lib.design.certificate import Design, snapped
from bandits_lib.design.g_optimal import inverse_and_norms, spanning_arms
from bandits_lib.design.solvers import design_value
from bandits_lib.numerics.kernels import along_all, compiled, merged, times
from bandits_lib.numerics.linear_algebra import apply, product, transposed
from bandits_lib.numerics.span import basis, span
from bandits_lib.numerics.ties import argmax

REFRESH = 200  # steps between two fresh inversions


def wynn(arms, tol, most):
    """Return weights (K,), value and steps, with max_x x'V^-1x <= (1 + tol) r, on arms (K, r) of rank r."""
    weights, steps = exchanged(arms, np.full(len(arms), 1 / len(arms)), tol, most, False)
    return weights, inverse_and_norms(arms, weights)[1].max(), steps


@compiled
def exchanged(arms, weights, tol, most, away):
    """Return weights (K,) and the steps: onto the arm of largest norm or, if `away`, off the one of smallest."""
    K, rank = arms.shape
    weights, columns, along, ray = weights.copy(), transposed(arms), np.empty(K), np.empty(rank)
    inverse, norms = inverse_and_norms(arms, weights)
    for step in range(most):
        arm, least = argmax(norms), -1
        for k in range(K):
            if away and weights[k] > 0.0 and (least < 0 or norms[k] < norms[least]):
                least = k
        if norms[arm] <= (1 + tol) * rank and (not away or norms[least] >= (1 - tol) * rank):
            return weights, step
        if away and norms[arm] + norms[least] <= 2 * rank:
            arm = least
        norm, weight = norms[arm], weights[arm]
        drop = -weight / (1 - weight) if weight < 1 else -np.inf
        gamma = (norm / rank - 1) / (norm - 1) if norm > 1 else drop
        if gamma <= drop:  # all of its weight goes
            gamma, left = drop, 0.0
        else:
            left = (1 - gamma) * weight + gamma
        loss = gamma / (1 - gamma + gamma * norm)
        if away:
            ray = apply(inverse, arms[arm])
            along = apply(arms, ray)
        else:  # sums in this order take half the time; away steps keep the order of the published designs
            times(inverse, columns, arm, ray)
            along_all(columns, ray, along)
        for k in range(K):
            norms[k] = (norms[k] - loss * along[k] * along[k]) / (1 - gamma)
            weights[k] *= 1 - gamma
        weights[arm] = left
        for i in range(rank):
            for j in range(rank):
                inverse[i, j] = (inverse[i, j] - loss * ray[i] * ray[j]) / (1 - gamma)
        if (step + 1) % REFRESH == 0:
            inverse, norms = inverse_and_norms(arms, weights)
    return weights, most


STEPS = 100  # number of steps of FWG in the published code
MOST_STEPS = 100_000  # largest number of steps of Wynn's method
DIGITS = 1e-3  # weights are kept to as many digits as those of a design certified to this gap
GOLDEN = 0.6180339887498949


def fwg_design(arms: np.ndarray, *, steps: int = STEPS, line_search: str = "exact") -> Design:
    """Return the design that Frank-Wolfe reaches from uniform weights on max_x ||x||^2_{V^-1} (azizi2022, Algorithm 2).

    Parameters
    ----------
    arms : (K, d) array_like
        Arms, one per row, not all zero.
    steps : int, default 100
        The paper's N, 100 in the published code. The solver ends earlier if a step is 0.
    line_search : {"exact", "grid"}, default "exact"
        Exact, or the best of 0 and 0.75^i, i < 24, as in the published code.

    Returns
    -------
    Design
        Its value is at least `lower_bound`, the rank of the arms, and equal to it at the optimum.

    Examples
    --------
    >>> design = fwg_design(np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]]))
    >>> design.weights.round(2).tolist(), design.lower_bound
    ([0.33, 0.33, 0.33], 2.0)
    """
    arms = check_arms(arms)
    check_option("line_search", line_search, ("exact", "grid"))
    if not steps >= 1:
        raise ValueError(f"steps must be at least 1; got {steps}: the published code takes 100")
    return _fwg_design(arms, int(steps), line_search)


def wynn_design(arms: np.ndarray, *, tol: float = 1e-3) -> Design:
    """Return a G-optimal design by Wynn's method, from uniform weights (Wynn 1970; Fedorov 1972).

    Parameters
    ----------
    arms : (K, d) array_like
        Arms, one per row, not all zero.
    tol : float, default 1e-3
        The solver ends when the relative distance of the value from the rank is at most this, in (0, 1).

    Returns
    -------
    Design
        `value` <= (1 + tol) rank, `lower_bound` = rank. The solver takes about 1 / tol steps, at most 100,000.

    Examples
    --------
    >>> wynn_design(np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]]), tol=0.1).value < 2.2
    True
    """
    arms = check_arms(arms)
    if not 0 < tol < 1:
        raise ValueError(f"tol must lie in (0, 1); got {tol}: try 1e-3, which certifies the value to 0.1 %")
    return _wynn_design(arms, float(tol))


@cached
def _fwg_design(arms, steps, line_search):
    arms = span(arms).arms
    if arms.shape[1] == 1 and line_search == "exact":
        return _longest(arms)
    weights, _, taken = frank_wolfe_g(arms, steps, line_search == "grid")
    return _to_the_digits(arms, weights, taken)


@cached
def _wynn_design(arms, tol):
    arms = span(arms).arms
    if arms.shape[1] == 1:
        return _longest(arms)
    weights, taken = exchanged(arms, np.full(len(arms), 1 / len(arms)), tol, MOST_STEPS, False)
    return _to_the_digits(arms, weights, taken)


def _to_the_digits(arms, weights, steps):
    weights, rank = snapped(weights, DIGITS), float(arms.shape[1])
    return Design(weights, max(float(inverse_and_norms(arms, weights)[1].max()), rank), rank, steps)


def _longest(arms):
    """Return the optimum in one dimension, where the first step is 1: all weight on the longest arm."""
    weights = np.zeros(len(arms))
    weights[argmax(np.abs(arms[:, 0]))] = 1.0
    return Design(weights, 1.0, 1.0, 1)


@compiled
def frank_wolfe_g(arms, most, grid):
    """Return weights (K,), value max_x x'V^-1x and steps, on arms (K, r) of rank r."""
    weights = np.full(arms.shape[0], 1 / arms.shape[0])
    inverse, norms = inverse_and_norms(arms, weights)
    for step in range(most):
        worst = argmax(norms)
        vertex = argmax(apply(arms, apply(inverse, arms[worst])) ** 2)  # Alg. 2, line 4
        ray = apply(inverse, arms[vertex])
        squares = apply(arms, ray) ** 2
        gamma = _best_on_grid(norms, squares, vertex) if grid else _best_step(norms, squares, vertex)  # line 5
        if gamma <= 0.0:
            return weights, norms[worst], step
        _move_towards(arms, weights, inverse, norms, vertex, ray, squares, gamma)  # line 6
        if (step + 1) % REFRESH == 0:
            inverse, norms = inverse_and_norms(arms, weights)
    return weights, norms.max(), most


@merged
def _move_towards(arms, weights, inverse, norms, vertex, ray, squares, gamma):
    """Set pi to (1 - gamma) pi + gamma e_vertex, and update V^-1 and the norms (Sherman and Morrison), in place."""
    loss = gamma / (1 - gamma + gamma * norms[vertex])
    norms -= loss * squares
    norms /= 1 - gamma
    weights *= 1 - gamma
    weights[vertex] += gamma
    for i in range(ray.shape[0]):
        for j in range(ray.shape[0]):
            inverse[i, j] = (inverse[i, j] - loss * ray[i] * ray[j]) / (1 - gamma)


@merged
def value_after(norms, squares, vertex, gamma):
    """Return max q after a step gamma in [0, 1) towards `vertex`; squares (K,) are the r_i^2."""
    loss, most = gamma / (1 - gamma + gamma * norms[vertex]), 0.0
    for k in range(norms.shape[0]):
        after = norms[k] - loss * squares[k]
        if after > most:
            most = after
    return most / (1 - gamma)


@merged
def _best_step(norms, squares, vertex):
    """Return the step that minimises `value_after`, which is convex in it, by golden section; 0 if no step gains."""
    low, high = 0.0, 1.0
    left, right = 1 - GOLDEN, GOLDEN
    at_left, at_right = value_after(norms, squares, vertex, left), value_after(norms, squares, vertex, right)
    for _ in range(50):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = value_after(norms, squares, vertex, left)
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = value_after(norms, squares, vertex, right)
    gamma, reached = (left, at_left) if at_left <= at_right else (right, at_right)
    return gamma if reached < norms.max() * (1 - 1e-9) else 0.0


@merged
def _best_on_grid(norms, squares, vertex):
    """Return the best step among 0.75^i, 1 <= i < 24; 0 if none gains. (0.75^0 = 1 puts all weight on one arm.)"""
    best, least, gamma = 0.0, norms.max() * (1 - 1e-9), 1.0
    for _ in range(1, 24):
        gamma *= 0.75
        reached = value_after(norms, squares, vertex, gamma)
        if reached < least:
            best, least = gamma, reached
    return best


def wolfe_atwood_design(arms: np.ndarray, *, tol: float = 1e-6, steps: int = 100_000, away: bool = True) -> Design:
    """Return a G-optimal design by Frank-Wolfe with away steps (azizi2022's code, appendix C).

    Parameters
    ----------
    arms : (K, d) array_like
        Arms, one per row, not all zero.
    tol : float, default 1e-6
        The solver ends when no squared norm exceeds the rank by more than this share, in (0, 1). With `away`, moreover,
        no arm with weight may have a norm that is below the rank by more than this share.
    steps : int, default 100_000
        Largest number of steps, at least 0; with 0 the design is the start of Kumar and Yildirim (2005).
    away : bool, default True
        Whether a step may take weight off an arm. Without such steps it is Khachiyan's algorithm, which
        needs many more steps.

    Returns
    -------
    Design
        `value` <= (1 + tol) rank, unless `steps` ran out, and `lower_bound` = rank.

    Examples
    --------
    >>> design = wolfe_atwood_design(np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]]))
    >>> design.weights.round(2).tolist(), round(design.value, 4)
    ([0.5, 0.5, 0.0], 2.0)
    """
    arms = check_arms(arms)
    if not 0 < tol < 1:
        raise ValueError(f"tol must lie in (0, 1); got {tol}: 1e-6 certifies the value to a millionth")
    if not steps >= 0:
        raise ValueError(f"steps must be at least 0; got {steps}: 100000 is the published code's limit")
    return _wolfe_atwood_design(arms, float(tol), int(steps), bool(away))


@cached
def _wolfe_atwood_design(arms, tol, steps, away):
    spanned = span(arms).arms
    rank = spanned.shape[1]
    inside = arms if rank == arms.shape[1] else spanned  # the start depends on the coordinates
    weights, taken = kumar_yildirim_start(inside), 0
    if rank > 1:
        weights, taken = exchanged(inside, weights, tol, steps, away)
    weights = snapped(weights, tol)
    value = float(inverse_and_norms(inside, weights)[1].max())
    return Design(weights, max(value, float(rank)), float(rank), taken)


def kumar_yildirim_start(arms):
    """Return weights (K,): 1/r on r of the arms (K, r), each the farthest orthogonally to those before."""
    rank = arms.shape[1]
    chosen, frame = np.zeros(len(arms)), np.eye(rank)
    for j in range(rank):
        arm = argmax(np.abs(apply(arms, frame[:, j].copy())))
        chosen[arm] = 1.0
        z = apply(frame.T.copy(), arms[arm])  # Householder: the first j + 1 columns span the arms chosen
        z[:j] = 0.0
        size = np.sqrt((z**2).sum()) * (-1.0 if z[j] < 0 else 1.0)
        z[j] += size
        frame -= apply(frame, z)[:, None] * (z / (size * z[j]))[None, :]
    return chosen / rank


MOST = 100  # largest number of Lloyd's iterations


def clusters_design(arms: np.ndarray) -> Design:
    """Return the design that shares pulls equally between clusters of arms, and within them (azizi2022, appendix H).

    Parameters
    ----------
    arms : (K, d) array_like
        Arms, one per row, not all zero.

    Returns
    -------
    Design
        The design for r clusters found by k-means; its lower bound is r, the rank of the arms.

    Examples
    --------
    >>> arms = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]])
    >>> clusters_design(arms).weights.tolist()
    [0.25, 0.25, 0.5]
    """
    return _clusters_design(check_arms(arms))


@cached
def _clusters_design(arms):
    axes = basis(arms)
    label = k_means(arms, arms[spanning_arms(product(arms, axes))])
    sizes = np.bincount(label)
    weights = 1 / (np.count_nonzero(sizes) * sizes[label])
    return Design(weights, design_value(arms, weights, arms), float(axes.shape[1]), 0)


def k_means(points, centres):
    """Return the cluster (m,) of each point (m, d) by Lloyd's iteration from `centres` (c, d); empty ones stay so."""
    centres, label = centres.copy(), np.full(len(points), -1)
    for _ in range(MOST):
        distances = ((points[:, None] - centres[None]) ** 2).sum(axis=2)
        before, label = label, np.array([argmax(-row) for row in distances])
        if (label == before).all():
            break
        for c in np.unique(label):
            centres[c] = points[label == c].mean(axis=0)
    return label
