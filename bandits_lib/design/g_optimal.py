"""The G-optimal designs that azizi2022 compares: Frank-Wolfe (FWG, its Algorithm 2) and Wynn's method.

Both start from the uniform design and move weight onto one arm at a time, pi <- (1 - gamma) pi + gamma e_x; they keep
every arm in the support. With V = V(pi), q_i = x_i'V^-1x_i and r_i = x_i'V^-1x, the norms after the step are
    (q_i - gamma r_i^2 / (1 - gamma + gamma q_x)) / (1 - gamma),
so a line search costs O(K) a point and no matrix.

FWG moves along the gradient of g = max q, towards x = argmax r_i^2 with r_i taken at the arm of largest q. That maximum
is not smooth, so FWG can stall above the optimum, and its text's count of steps is of another method: Khachiyan's, on
the smooth problem log det V. Wynn's method is that one. It goes to the arm of largest q itself, with the step
(q/r - 1) / (q - 1), r the rank, which is the exact line search for log det V (Fedorov 1972), and does converge.
"""

import numpy as np
from numba import njit

from bandits_lib.checks import check_arms, check_option
from bandits_lib.design.cache import cached
from bandits_lib.design.certificate import Design
from bandits_lib.design.d_optimal import inverse_and_norms
from bandits_lib.design.fedorov import wynn
from bandits_lib.design.sparsify import snapped
from bandits_lib.numerics.ordered import apply
from bandits_lib.numerics.span import span
from bandits_lib.numerics.ties import argmax

STEPS = 100  # of FWG, as in the published code
MOST_STEPS = 100_000  # of Wynn's method
DIGITS = 1e-3  # weights are kept to as many digits as those of a design certified to this gap
REFRESH = 200  # steps between two fresh inversions
GOLDEN = 0.6180339887498949


def fwg_design(arms, *, steps=STEPS, line_search="exact"):
    """G-optimal design by Frank-Wolfe on max_x ||x||^2_{V^-1} itself, from uniform (azizi2022, Algorithm 2).

    Parameters
    ----------
    arms : (K, d) array_like
        Arms, one per row, not all zero.
    steps : int, default 100
        The paper's N, as in the published code; fewer are taken if a step is 0 (it stalls).
    line_search : {"exact", "grid"}, default "exact"
        How far a step goes: "exact", or "grid", the best of 0 and .75^i, i < 24, as the published code has it.

    Returns
    -------
    Design
        Its value is at least, and at the optimum equals, `lower_bound`, the rank of the arms.

    Raises
    ------
    ValueError
        As `check_arms`, and if `steps` is below 1 or `line_search` unknown.

    References
    ----------
    .. [1] Azizi, Kveton, Ghavamzadeh. "Fixed-budget best-arm identification in structured bandits". IJCAI 2022.
       Algorithm 2.

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


def wynn_design(arms, *, tol=1e-3):
    """G-optimal design by Wynn's method, from uniform (Wynn 1970; Fedorov 1972).

    Parameters
    ----------
    arms : (K, d) array_like
        Arms, one per row, not all zero.
    tol : float, default 1e-3
        Relative distance of the value from the rank at which it ends, in (0, 1).

    Returns
    -------
    Design
        `value` <= (1 + tol) rank and `lower_bound` = rank.

    Raises
    ------
    ValueError
        As `check_arms`, and if `tol` is outside (0, 1).

    Notes
    -----
    Unlike `g_design` it never takes weight off an arm entirely. It needs about 1 / tol steps, 100 000 at most.

    References
    ----------
    .. [1] Wynn. "The sequential generation of D-optimum experimental designs". Ann. Math. Statist. 41, 1970.
    .. [2] Fedorov. "Theory of optimal experiments". Academic Press 1972.

    Examples
    --------
    >>> wynn_design(np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]]), tol=0.1).value < 2.2
    True
    """
    arms = check_arms(arms)
    if not 0 < tol < 1:
        raise ValueError(f"tol must lie in (0, 1); got {tol}: 1e-3 certifies the value to .1 %")
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
    weights, _, taken = wynn(arms, tol, MOST_STEPS)
    return _to_the_digits(arms, weights, taken)


def _to_the_digits(arms, weights, steps):
    """The `Design` of these weights, snapped, with the value that they have then."""
    weights, rank = snapped(weights, DIGITS), float(arms.shape[1])
    return Design(weights, max(float(inverse_and_norms(arms, weights)[1].max()), rank), rank, steps)


def _longest(arms):
    """In one dimension the first step is 1: all weight on the longest arm, which is optimal."""
    weights = np.zeros(len(arms))
    weights[argmax(np.abs(arms[:, 0]))] = 1.0
    return Design(weights, 1.0, 1.0, 1)


@njit(cache=True, error_model="numpy")
def frank_wolfe_g(arms, most, grid):
    """Weights (K,), value max_x x'V^-1x and steps taken, on arms (K, r) of rank r."""
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


@njit(cache=True, error_model="numpy")
def _move_towards(arms, weights, inverse, norms, vertex, ray, squares, gamma):
    """pi <- (1 - gamma) pi + gamma e_vertex, with V^-1 and the norms along (Sherman and Morrison), in place."""
    loss = gamma / (1 - gamma + gamma * norms[vertex])
    for k in range(arms.shape[0]):
        norms[k] = (norms[k] - loss * squares[k]) / (1 - gamma)
        weights[k] *= 1 - gamma
    weights[vertex] += gamma
    for i in range(ray.shape[0]):
        for j in range(ray.shape[0]):
            inverse[i, j] = (inverse[i, j] - loss * ray[i] * ray[j]) / (1 - gamma)


@njit(cache=True, error_model="numpy")
def value_after(norms, squares, vertex, gamma):
    """max q after a step gamma in [0, 1) towards `vertex`; squares (K,) are the r_i^2."""
    loss, most = gamma / (1 - gamma + gamma * norms[vertex]), 0.0
    for k in range(norms.shape[0]):
        after = norms[k] - loss * squares[k]
        if after > most:
            most = after
    return most / (1 - gamma)


@njit(cache=True, error_model="numpy")
def _best_step(norms, squares, vertex):
    """The step that minimises `value_after`, convex in it, by golden section; 0 if none gains."""
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


@njit(cache=True, error_model="numpy")
def _best_on_grid(norms, squares, vertex):
    """The best step among .75^i, 1 <= i < 24; 0 if none gains. (.75^0 = 1 puts all weight on one arm.)"""
    best, least, gamma = 0.0, norms.max() * (1 - 1e-9), 1.0
    for _ in range(1, 24):
        gamma *= 0.75
        reached = value_after(norms, squares, vertex, gamma)
        if reached < least:
            best, least = gamma, reached
    return best
