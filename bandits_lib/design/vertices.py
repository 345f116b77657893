"""One direction after another over the same arms: the program of `single` from the best vertex known.

The duals c of `single` are the vertices of the polytope |x'c| <= 1, whatever the direction y; the optimum is the vertex
of largest y'c. So the simplex begins at the best of the last MEMORY vertices at which a direction ended, or at that of
the spanning arms, with the inverse of the basis at hand: a pivot costs O(Kr + r^2), and few are left. Nearby
directions have nearby vertices: those of LinGapE's pairs share arms.

The direction is moved by a little along the spanning arms, as in `single`: its basis is unique if the vertex is.
Amounts are solved for anew from the basis in the order of the arms. So they depend on arms and direction alone, and on
no direction before. Where the vertex may not be unique, an arm out of the basis nearly tight, there is no answer.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from bandits_lib.numerics.in_place import add
from bandits_lib.numerics.kernels import along_all, kernel, times, times_vector
from bandits_lib.numerics.ordered import transposed

MEMORY = 64  # vertices
SLACK = 1e-10  # |x'c| <= 1 + SLACK is feasible
LEAST = 1e-12  # a rate that counts
UNIQUE = 1e-7  # below 1 by less than that, an arm out of the basis is nearly tight
PIVOTS = 20  # at most, per dimension


class Vertices(NamedTuple):
    """The arms, and the vertices at which directions ended."""

    columns: np.ndarray  # (r, K), the arms
    duals: np.ndarray  # (MEMORY, r)
    bases: np.ndarray  # (MEMORY, r), arms
    ends: np.ndarray  # (1,), how many directions ended at a vertex


def vertices(arms, basis):
    """The `Vertices` of arms (K, r) before the first direction, which begins at the spanning arms `basis` (r,)."""
    r, bases = arms.shape[1], np.zeros((MEMORY, arms.shape[1]), np.int64)
    bases[0] = basis
    return Vertices(transposed(arms), np.zeros((MEMORY, r)), bases, np.zeros(1, np.int64))


@njit(cache=True, error_model="numpy")
def basis_for(known, direction, moved):
    """The arms (r,), in order, of least sum |w| with sum w x = `moved`, next to `direction`; none if not unique."""
    (r, K), basis = known.columns.shape, known.bases[_nearest(known, direction)].copy()
    inverse, w, dual, prices, rate = np.empty((r, r)), np.empty(r), np.empty(r), np.empty(K), np.empty(r)
    _invert(known.columns[:, basis].copy(), inverse)
    times_vector(inverse, moved, w)
    _flip(inverse, w)
    for _ in range(PIVOTS * r):
        _column_sums(inverse, dual)
        along_all(known.columns, dual, prices)
        enter = _largest_outside(prices, basis)
        if abs(prices[enter]) <= 1.0 + SLACK:
            break
        times(inverse, known.columns, enter, rate)
        if not _pivot(inverse, w, basis, rate, prices[enter], enter):
            break
    if not abs(prices[enter]) < 1.0 - UNIQUE:
        return basis[:0]
    basis = np.sort(basis)
    row = known.ends[0] % MEMORY
    known.duals[row], known.bases[row] = dual, basis
    known.ends[0] += 1
    return basis


@kernel
def _nearest(known, direction):
    """The row of the vertex c of largest |direction'c|."""
    row, most = 0, -1.0
    for n in range(min(known.ends[0], known.duals.shape[0])):
        along = 0.0
        for c in range(direction.shape[0]):
            along += known.duals[n, c] * direction[c]
        if abs(along) > most:
            row, most = n, abs(along)
    return row


@kernel
def _invert(matrix, inverse):
    """Into `inverse` (r, r): that of `matrix`, which is lost (Gauss-Jordan, the largest pivot of each column)."""
    r = matrix.shape[0]
    for i in range(r):
        for j in range(r):
            inverse[i, j] = 1.0 if i == j else 0.0
    for k in range(r):
        best = k
        for i in range(k + 1, r):
            if abs(matrix[i, k]) > abs(matrix[best, k]):
                best = i
        for j in range(r):
            matrix[k, j], matrix[best, j] = matrix[best, j], matrix[k, j]
            inverse[k, j], inverse[best, j] = inverse[best, j], inverse[k, j]
        share = 1 / matrix[k, k]
        for j in range(r):
            matrix[k, j] *= share
            inverse[k, j] *= share
        for i in range(r):
            if i != k:
                add(inverse[i], inverse[k], -matrix[i, k])
                add(matrix[i], matrix[k], -matrix[i, k])


@kernel
def _flip(inverse, w):
    """Take arms whose amount is negative with the other sign."""
    for i in range(w.shape[0]):
        if w[i] < 0.0:
            w[i] = -w[i]
            for j in range(w.shape[0]):
                inverse[i, j] = -inverse[i, j]


@kernel
def _column_sums(inverse, dual):
    """Into `dual` (r,): c with x'c = 1 for the signed arms of the basis."""
    for j in range(dual.shape[0]):
        dual[j] = 0.0
    for i in range(dual.shape[0]):
        add(dual, inverse[i], 1.0)


@kernel
def _largest_outside(prices, basis):
    """The arm out of the basis with the largest |x'c|; `prices` (K,) are x'c, 0 in the basis afterwards."""
    arm = 0
    for i in range(basis.shape[0]):
        prices[basis[i]] = 0.0
    for k in range(prices.shape[0]):
        if abs(prices[k]) > abs(prices[arm]):
            arm = k
    return arm


@kernel
def _pivot(inverse, w, basis, rate, price, enter):
    """The arm `enter` comes into the basis, signs follow; False if nothing leaves. `rate` (r,): inverse times it."""
    side = 1.0 if price > 0 else -1.0
    for i in range(w.shape[0]):
        rate[i] *= side
    leaves = _leaving(w, rate, 1.0 - abs(price))
    if leaves < 0:
        return False
    length = w[leaves] / rate[leaves]
    for j in range(w.shape[0]):
        inverse[leaves, j] /= rate[leaves]
    for i in range(w.shape[0]):
        if i != leaves:
            w[i] -= length * rate[i]
            add(inverse[i], inverse[leaves], -rate[i])
    w[leaves], basis[leaves] = length, enter
    _flip(inverse, w)
    return True


@kernel
def _leaving(w, rate, slope):
    """Position that leaves as w - t rate, t >= 0, grows until ||w||_1 stops falling; -1 if it never does."""
    last = -1.0
    while True:
        at, ratio = -1, np.inf
        for i in range(w.shape[0]):
            if rate[i] > LEAST and last < w[i] / rate[i] < ratio:
                at, ratio = i, w[i] / rate[i]
        if at < 0:
            return -1
        slope, last = slope + 2.0 * rate[at], ratio
        if slope >= 0.0:
            return at
