"""Wynn's method step by step (Wynn 1970; Fedorov 1972): `g_optimal` says what it is for.

pi <- (1 - gamma) pi + gamma e_x is done without scaling: weights w of sum W, pi = w / W, of which one grows by
gamma / (1 - gamma) W. Then V(w) grows by a multiple of xx', and norms in V(pi)^-1 are W times those in V(w)^-1. A step
costs O(Kr + r^2), or O(K^2) with few arms per dimension, whose products in V(w)^-1 are then kept in its place; arms
orthogonal in it cost nothing.
"""

import numpy as np
from numba import njit

from bandits_lib.design.d_optimal import inverse_and_norms
from bandits_lib.numerics import zeros
from bandits_lib.numerics.kernels import along_all, kernel, shrink, times
from bandits_lib.numerics.ordered import product, squares, transposed
from bandits_lib.numerics.ties import argmax

REFRESH = 200  # steps between two fresh inversions
FEW = 2  # arms per dimension up to which their products are kept


@njit(cache=True, error_model="numpy")
def wynn(arms, tol, most):
    """Weights (K,), value and steps taken until max_x x'V^-1x <= (1 + tol) r, on arms (K, r) of rank r."""
    K, rank = arms.shape
    weights, columns, along, ray = np.full(K, 1 / K), transposed(arms), np.empty(K), np.empty(rank)
    for start in range(0, most, REFRESH):
        root = zeros.inverse_factor(arms, weights)
        white = zeros.product(arms, root)
        norms, inverse, gram = squares(white), np.empty((0, 0)), np.empty((0, 0))
        if K <= FEW * rank:
            gram = zeros.product(white, transposed(white))
        else:
            inverse = product(root, transposed(root))
        steps = min(REFRESH, most - start)
        value, taken = _wynn_steps(columns, weights, norms, inverse, gram, (1 + tol) * rank, steps, along, ray)
        if taken < steps:
            return weights, value, start + taken
    return weights, inverse_and_norms(arms, weights)[1].max(), most


@kernel
def _wynn_steps(columns, weights, norms, inverse, gram, enough, most, along, ray):
    """Steps on the arms as `columns` (r, K), in place, until the value is `enough`: (value, steps)."""
    rank, total, g = columns.shape[0], 1.0, np.inf
    for step in range(most + 1):
        vertex = argmax(norms)
        g = norms[vertex] * total
        if g <= enough or step == most:
            break
        gamma = (g / rank - 1) / (g - 1)
        mass = gamma / (1 - gamma) * total
        loss = mass / (1 + mass * norms[vertex])
        if gram.shape[0]:
            for k in range(along.shape[0]):
                along[k] = gram[vertex, k]
            shrink(gram, along, loss, 1.0)
        else:
            times(inverse, columns, vertex, ray)
            along_all(columns, ray, along)
            shrink(inverse, ray, loss, 1.0)
        for k in range(along.shape[0]):
            norms[k] -= loss * along[k] * along[k]
        weights[vertex] += mass
        total += mass
    for k in range(weights.shape[0]):
        weights[k] /= total
    return g, step
