"""One direction: an exact design from a linear program (Elfving 1952).

For a single y,  min over lambda of y'A(lambda)^-1 y = min { ||w||_1^2 : X'w = y },  reached at lambda = |w| / ||w||_1,
and the dual  max { (y'c)^2 : |x'c| <= 1 for all arms }  proves it: for any c, (y'c)^2 / max_x (x'c)^2 is a lower bound.
Revised simplex over bases of r signed arms: c solves x'c = sign on the basis, the arm of largest |x'c| enters. ||w||_1
falls at first; an amount that passes through zero adds twice its rate to the slope (Barrodale and Roberts 1973) and
changes sign, and the way is followed until the slope is no longer negative. A pivot costs O(Kr + r^3). Differences of
items often lie in a face (e_1 - x' needs two of d arms): such ties are broken by moving the direction by PERTURBATION
along the first basis; amounts and value are those of the direction itself.
"""

import numpy as np
from numba import njit

from bandits_lib.design.d_optimal import spanning_arms
from bandits_lib.numerics.ordered import apply, solve, total
from bandits_lib.numerics.ties import argmax

SLACK = 1e-10  # |x'c| <= 1 + SLACK is feasible
PERTURBATION = 1e-10  # relative to ||w||_1


@njit(cache=True)
def _leaving(w, rate, slope):
    """Position that leaves as w - t rate, t >= 0, grows until ||w||_1 stops falling, and those that change sign."""
    rising = np.flatnonzero(rate > 1e-12)
    ratio = np.maximum(w[rising], 0.0) / rate[rising]
    order = np.argsort(ratio, kind="mergesort")  # the perturbation has left no ties
    passed = np.zeros(len(w), np.bool_)
    for at in order:
        position = rising[at]
        slope += 2.0 * rate[position]
        if slope >= 0.0:
            return position, passed
        passed[position] = True
    return -1, passed


@njit(cache=True)
def signed_basis(arms, direction, most):
    """Arms (r,), amounts w (r,) with sum w x = direction and least ||w||_1 = direction'c, dual c (r,), and pivots."""
    basis = spanning_arms(arms)
    signed = arms[basis].T.copy()
    w = solve(signed, direction)
    sign = np.where(w < 0, -1.0, 1.0)
    signed *= sign
    golden = (0.6180339887498949 * np.arange(1, len(w) + 1)) % 1.0  # no two alike
    moved = direction + apply(signed, PERTURBATION * total(np.abs(w)) * (0.5 + golden))
    pivot = 0
    while True:
        w = solve(signed, moved)
        dual = solve(signed.T.copy(), np.ones(len(w)))
        prices = apply(arms, dual)
        prices[basis] = 0.0
        enter = argmax(np.abs(prices))
        if abs(prices[enter]) <= 1.0 + SLACK or pivot == most:
            break
        side = 1.0 if prices[enter] > 0 else -1.0
        rate = solve(signed, side * arms[enter])
        position, passed = _leaving(w, rate, 1.0 - abs(prices[enter]))
        if position < 0:
            break
        signed *= np.where(passed, -1.0, 1.0)
        basis[position] = enter
        signed[:, position] = side * arms[enter]
        pivot += 1
    return basis, solve(signed, direction), dual, pivot


def single_direction(arms, direction):
    """Weights (K,), lower bound and pivots for the one `direction` (r,), exact to rounding if it did not give up."""
    unit = direction / np.sqrt(total(direction**2))
    basis, w, dual, pivots = signed_basis(arms, unit, 100 + 20 * arms.shape[1])
    if not (np.isfinite(w).all() and np.isfinite(dual).all()):
        raise np.linalg.LinAlgError("singular basis")
    weights = np.zeros(len(arms))
    w = np.abs(w)
    weights[basis] = np.where(w > 1e-12 * total(w), w, 0.0)
    bound = total(direction * dual) ** 2 / (apply(arms, dual) ** 2).max()
    return weights / total(weights), bound, pivots
