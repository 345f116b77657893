"""What rules that pull one by one ask beside the evidence of `stopping`: norms of arms, comparisons of two items."""

import numpy as np
from numba import njit

from bandits_lib.fixed_confidence.stopping import CANCELLED, REFRESH
from bandits_lib.numerics import kernels
from bandits_lib.numerics.kernels import along_all


def arm_norms(evidence):
    """(K,) squared norms x'A^-1x of the arms now."""
    squares = np.empty(len(evidence.arms))
    measure(evidence, np.ascontiguousarray(evidence.arms.T), squares)
    return squares


@njit(cache=True, error_model="numpy")
def measure(evidence, columns, squares):
    """Compute the norms afresh from the inverse, into `squares` (K,); columns : (r, K), the arms."""
    inverse = evidence.inverse
    squares[:] = 0.0
    for i in range(inverse.shape[0]):
        for j in range(inverse.shape[0]):
            weight = inverse[i, j]
            for k in range(squares.shape[0]):
                squares[k] += weight * columns[i, k] * columns[j, k]


@njit(cache=True, forceinline=True, error_model="numpy")
def compare(items, one, other, theta, inverse, y):
    """y'theta and y'inverse y of y = items[one] - items[other], which is left in `y` (r,)."""
    gap, square = 0.0, 0.0
    for i in range(theta.shape[0]):
        y[i] = items[one, i] - items[other, i]
        gap += y[i] * theta[i]
        half = 0.5 * inverse[i, i] * y[i]
        for j in range(i):
            half += inverse[i, j] * y[j]
        square += 2 * half * y[i]
    return gap, square


@njit(cache=True, forceinline=True, error_model="numpy")
def follow(evidence, arm, columns, squares, along):
    """Take in the pull of `arm` that `tell` has just reported: Sherman-Morrison, or afresh when `tell` was afresh.

    columns : (r, K), the arms; squares : (K,), in place; along : (K,), scratch.
    """
    u, gain = evidence.step, 1.0
    for i in range(u.shape[0]):
        gain += columns[i, arm] * u[i]
    if evidence.clock[0] % REFRESH == 0 or gain > CANCELLED:
        measure(evidence, columns, squares)
        return
    along_all(columns, u, along)
    for k in range(squares.shape[0]):
        squares[k] = max(0.0, squares[k] - along[k] * along[k] / gain)


@njit(cache=True, error_model="numpy")
def invert(matrix, inverse):
    """The inverse of a positive definite matrix (r, r), into `inverse` (r, r); the matrix stays as it is."""
    r = matrix.shape[0]
    for i in range(r):
        for j in range(r):
            inverse[i, j] = matrix[i, j]
    kernels.invert(inverse)


@njit(cache=True, error_model="numpy")
def times_vector(matrix, vector, product):
    """matrix (r, r) times vector (r,), into `product` (r,)."""
    for i in range(vector.shape[0]):
        along = 0.0
        for j in range(vector.shape[0]):
            along += matrix[i, j] * vector[j]
        product[i] = along
