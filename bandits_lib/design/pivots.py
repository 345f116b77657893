"""Pivots of the signed program, with the inverse of the basis kept: what `vertices` does to it, in place.

`current` (r, r) is the inverse of the matrix whose columns are the arms of the basis, each with the sign that makes its
amount positive. The step and the way it is followed are those of `single`.
"""

import numpy as np

from bandits_lib.numerics.in_place import add
from bandits_lib.numerics.kernels import inlined, kernel

NEGLIGIBLE = 1e-12  # amounts relative to their sum, and rates, that are rounding errors


@kernel
def pivot(current, amounts, basis, rate, price, enter):
    """The arm `enter` comes into the basis, and signs follow the amounts; False if nothing leaves."""
    if price < 0:
        for b in range(rate.shape[0]):
            rate[b] = -rate[b]
    leaves = leaving(amounts, rate, 1.0 - abs(price))
    if leaves < 0:
        return False
    length = amounts[leaves] / rate[leaves]
    for c in range(rate.shape[0]):
        current[leaves, c] /= rate[leaves]
    for b in range(rate.shape[0]):
        if b != leaves:
            amounts[b] -= length * rate[b]
            add(current[b], current[leaves], -rate[b])
    amounts[leaves], basis[leaves] = length, enter
    flip(current, amounts)
    return True


@inlined
def leaving(amounts, rate, slope):
    """The position that leaves as amounts - t rate, t >= 0, until their |.|_1 stops falling; -1 if it never does."""
    last = -1.0
    for _ in range(rate.shape[0]):
        at, ratio = -1, np.inf
        for b in range(rate.shape[0]):
            if rate[b] > NEGLIGIBLE and last < amounts[b] / rate[b] < ratio:  # the perturbation has left no ties
                at, ratio = b, amounts[b] / rate[b]
        if at < 0:
            return -1
        slope, last = slope + 2.0 * rate[at], ratio
        if slope >= 0.0:
            return at
    return -1


@kernel
def flip(current, amounts):
    """Take arms whose amount is negative with the other sign."""
    for b in range(amounts.shape[0]):
        if amounts[b] < 0.0:
            amounts[b] = -amounts[b]
            for c in range(amounts.shape[0]):
                current[b, c] = -current[b, c]


@kernel
def invert(matrix, inverse):
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
        share = 1 / matrix[best, k]
        for j in range(r):
            matrix[k, j], matrix[best, j] = matrix[best, j], matrix[k, j]
            inverse[k, j], inverse[best, j] = inverse[best, j], inverse[k, j]
            matrix[k, j] *= share
            inverse[k, j] *= share
        for i in range(r):
            if i != k:
                factor = -matrix[i, k]
                add(inverse[i], inverse[k], factor)
                add(matrix[i, k:], matrix[k, k:], factor)


@inlined
def in_order(basis, amounts):
    """Sort the basis by arm, with its amounts."""
    for b in range(1, basis.shape[0]):
        c = b
        while c > 0 and basis[c - 1] > basis[c]:
            basis[c - 1], basis[c] = basis[c], basis[c - 1]
            amounts[c - 1], amounts[c] = amounts[c], amounts[c - 1]
            c -= 1


@kernel
def absolute(amounts):
    """Make amounts positive, or 0 if negligible; False if they are not finite."""
    size = 0.0
    for b in range(amounts.shape[0]):
        amounts[b] = abs(amounts[b])
        size += amounts[b]
    for b in range(amounts.shape[0]):
        if amounts[b] <= NEGLIGIBLE * size:
            amounts[b] = 0.0
    return 0.0 < size < np.inf
