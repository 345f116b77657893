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
from bandits_lib.numerics.kernels import merged
from bandits_lib.numerics.ordered import apply, solve, total, transposed
from bandits_lib.numerics.ties import argmax

SLACK = 1e-10  # |x'c| <= 1 + SLACK is feasible
PERTURBATION = 1e-10  # relative to ||w||_1


@merged
def _leaving(w, rate, slope, passed):
    """Position that leaves as w - t rate, t >= 0, grows until ||w||_1 stops falling; who changes sign: `passed`."""
    for k in range(len(w)):
        passed[k] = False
    while True:
        position, least = -1, np.inf
        for k in range(len(w)):  # the perturbation has left no ties
            if rate[k] > 1e-12 and not passed[k] and max(w[k], 0.0) / rate[k] < least:
                position, least = k, max(w[k], 0.0) / rate[k]
        if position < 0:
            return -1
        slope += 2.0 * rate[position]
        if slope >= 0.0:
            return position
        passed[position] = True


@njit(cache=True, error_model="numpy")
def signed_basis(arms, direction, most):
    """Arms (r,), amounts w (r,) with sum w x = direction and least ||w||_1 = direction'c, dual c (r,), and pivots."""
    basis, r = spanning_arms(arms), arms.shape[1]
    ones, side, passed, size = np.ones(r), np.empty(r), np.zeros(r, np.bool_), 0.0
    signed = transposed(arms[basis])
    w = solve(signed, direction)
    for k in range(r):
        _turn(signed, k, w[k] < 0)
        size += abs(w[k])
    for k in range(r):
        side[k] = PERTURBATION * size * (0.5 + (0.6180339887498949 * (k + 1)) % 1.0)  # no two alike
    moved, pivot = apply(signed, side), 0
    for k in range(r):
        moved[k] = direction[k] + moved[k]
    while True:
        w, dual = solve(signed, moved), solve(transposed(signed), ones)
        enter, price = _entering(apply(arms, dual), basis)
        if abs(price) <= 1.0 + SLACK or pivot == most:
            break
        for k in range(r):
            side[k] = arms[enter, k] if price > 0 else -arms[enter, k]
        position = _leaving(w, solve(signed, side), 1.0 - abs(price), passed)
        if position < 0:
            break
        for k in range(r):
            _turn(signed, k, passed[k])
        basis[position] = enter
        for k in range(r):
            signed[k, position] = side[k]
        pivot += 1
    return basis, solve(signed, direction), dual, pivot


@merged
def _entering(prices, basis):
    """The arm of largest price in size, those of the basis (r,) apart, and its price."""
    sizes = np.empty(len(prices))
    for k in basis:
        prices[k] = 0.0
    for k in range(len(prices)):
        sizes[k] = abs(prices[k])
    enter = argmax(sizes)
    return enter, prices[enter]


@merged
def _turn(signed, k, turn):
    """Change the sign of column k if it is to `turn`."""
    if turn:
        for i in range(signed.shape[0]):
            signed[i, k] *= -1.0


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
