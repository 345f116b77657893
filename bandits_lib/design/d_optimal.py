"""D-optimal designs by exchanges of weight: they are the G-optimal ones (Kiefer and Wolfowitz 1960).

Maximise log det A(lambda). Its derivative along arm x is q_x = x'A^-1x, sum lambda_x q_x = r always, and lambda is
optimal for D and for G exactly when max q = r: max q / r - 1 is the duality gap. Moving weight a from
arm l to arm k multiplies det A by  1 + a (q_k - q_l) - a^2 (q_k q_l - q_kl^2),  q_kl = x_k'A^-1x_l, so the best move is
    a = (q_k - q_l) / (2 (q_k q_l - q_kl^2)),  at most lambda_l
(Boehning 1986). A sweep pairs the arms of largest q with the arms of the support of least q, the best with the
worst, and makes the best move for each pair in turn, with A^-1 kept up to date: O(r^2) a move, O(Kr^2) a sweep
(in the manner of the randomised exchanges of Harman, Filova and Richtarik 2020, without the randomness). The start is r
spanning arms, so the support stays small (Kumar and Yildirim 2005).
"""

import numpy as np
from numba import njit

from bandits_lib.numerics.in_place import inner
from bandits_lib.numerics.ordered import (
    apply,
    cholesky,
    independent,
    information,
    inverse_triangle,
    product,
    squares,
    transposed,
)
from bandits_lib.numerics.ties import TIE, largest_first

PAIRS = 4  # exchanges in a sweep, per dimension


@njit(cache=True, error_model="numpy")
def spanning_arms(arms):
    """Indices (r,) of r = arms.shape[1] independent arms, each the farthest from the span of the ones before."""
    return independent(arms, 0.0)[0]


@njit(cache=True, error_model="numpy")
def inverse_and_norms(arms, weights):
    """A(weights)^-1 (r, r) and q_x = x'A^-1x (K,) for arms (K, r) of rank r with weights (K,)."""
    root = inverse_triangle(cholesky(information(arms, weights))[0])
    return product(root, transposed(root)), squares(product(arms, root))


@njit(cache=True, error_model="numpy")
def _move(arms, inverse, weights, first, second):
    """The best exchange of weight between two arms, in place on the weights and on A^-1."""
    ray, other = apply(inverse, arms[first]), apply(inverse, arms[second])
    q, q_other, cross = inner(ray, arms[first]), inner(other, arms[second]), inner(ray, arms[second])
    if q < q_other:
        first, second, ray, other, q, q_other = second, first, other, ray, q_other, q
    if q - q_other <= TIE * q:  # copies, for example: nothing to gain
        return
    curvature = 2.0 * (q * q_other - cross * cross)
    mass = weights[second]
    if curvature * mass > q - q_other:
        mass = (q - q_other) / curvature
        weights[second] -= mass
    else:
        weights[second] = 0.0
    weights[first] += mass
    gain = mass / (1.0 + mass * q)  # Sherman and Morrison, first for one arm, then for the other
    loss = mass / (1.0 - mass * (q_other - gain * cross * cross))
    other -= gain * cross * ray
    for i in range(len(inverse)):
        for j in range(len(inverse)):
            inverse[i, j] += loss * other[i] * other[j] - gain * ray[i] * ray[j]


@njit(cache=True, error_model="numpy")
def d_optimal(arms, tol, most):
    """Weights (K,) with max_x x'A^-1x <= (1 + tol) r on arms (K, r) of rank r, and the sweeps, `most` at most."""
    rank = arms.shape[1]
    weights = np.zeros(len(arms))
    weights[spanning_arms(arms)] = 1.0 / rank
    for sweep in range(most):
        inverse, norms = inverse_and_norms(arms, weights)
        if norms.max() <= (1.0 + tol) * rank:
            return weights, sweep
        support = np.flatnonzero(weights)
        low = support[largest_first(-norms[support], PAIRS * rank)]
        high = largest_first(norms, len(low))
        for i in range(len(low)):
            if high[i] != low[i]:
                _move(arms, inverse, weights, high[i], low[i])
    return weights, most
