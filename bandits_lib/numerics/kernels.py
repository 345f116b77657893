"""What the compiled loops of the per-pull rules share.

`kernel` compiles a function without reference counts. Numba counts references to every array that is taken out of a
NamedTuple or sliced, atomically, dozens of times a pull: with them, a pull of LinGapE takes seven times as long at
d = 5. Whoever calls a kernel holds on to the arrays that it is given (those of a Loop belong to its state), so there is
nothing to count. A kernel cannot make arrays: numba refuses to compile it.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numba import njit

kernel: Callable[..., Any] = partial(njit, cache=True, error_model="numpy", _nrt=False)
inlined: Callable[..., Any] = partial(kernel, forceinline=True)


@inlined
def along_all(columns, vector, products):
    """Inner products (n,) of `vector` (r,) with every column of `columns` (r, n), into `products`."""
    for k in range(products.shape[0]):
        products[k] = 0.0
    for c in range(vector.shape[0]):
        for k in range(products.shape[0]):
            products[k] += columns[c, k] * vector[c]


@inlined
def times(matrix, columns, k, product):
    """matrix (r, r) times column k of `columns` (r, n), into `product` (r,)."""
    for c in range(product.shape[0]):
        along = 0.0
        for b in range(product.shape[0]):
            along += matrix[c, b] * columns[b, k]
        product[c] = along


@inlined
def largest(values):
    """The largest of `values` (n,), n >= 1.

    Returns a float.
    """
    top = values[0]
    for k in range(values.shape[0]):
        top = max(top, values[k])
    return top


@kernel
def invert(matrix):
    """Put the inverse of a positive definite matrix (r, r) in its place; returns its log-determinant (Gauss-Jordan)."""
    r, logdet = matrix.shape[0], 0.0
    for k in range(r):
        pivot = matrix[k, k]
        logdet += np.log(pivot)
        matrix[k, k] = 1.0
        for j in range(r):
            matrix[k, j] /= pivot
        for i in range(r):
            if i != k:
                factor = matrix[i, k]
                matrix[i, k] = 0.0
                for j in range(r):
                    matrix[i, j] -= factor * matrix[k, j]
    return logdet


@njit(cache=True, forceinline=True, error_model="numpy")
def rank_one_update(inverse, theta, arm, reward, u):
    """Sherman-Morrison: add one pull of `arm` (d,) with `reward` to inverse (d, d) and theta (d,), in place.

    reward : in the units of theta' arm. Leaves inverse @ arm (before the update) in `u` (d,) and returns the gain 1 +
    arm'u: the log-determinant of the information matrix grows by log(gain), and y'inverse y falls by (y'u)^2 / gain for
    every y.

    >>> inverse, theta, u = np.eye(2), np.zeros(2), np.zeros(2)
    >>> rank_one_update(inverse, theta, np.array([1.0, 0.0]), 3.0, u), theta.tolist(), inverse.tolist()
    (2.0, [1.5, 0.0], [[0.5, 0.0], [0.0, 1.0]])
    """
    d = theta.shape[0]
    gain, residual = 1.0, reward
    for i in range(d):
        along = 0.0
        for j in range(d):
            along += inverse[i, j] * arm[j]
        u[i] = along
        gain += along * arm[i]
        residual -= theta[i] * arm[i]
    for i in range(d):
        scaled = u[i] / gain
        theta[i] += scaled * residual
        for j in range(d):
            inverse[i, j] -= scaled * u[j]
    return gain


@njit(cache=True, error_model="numpy")
def cholesky(matrix, scale, shift, factor):
    """Cholesky's factor of matrix / scale + shift I, in place in `factor` (d, d), lower triangle.

    matrix : (d, d), symmetric; scale, shift : floats. Returns the log-determinant, -inf if the matrix is not positive
    definite. In compiled loops this and `inverse_from` stand in for LAPACK, whose wrappers take most of the time to
    compile one.

    >>> factor = np.zeros((2, 2))
    >>> round(cholesky(np.diag([8.0, 2.0]), 2.0, 0.0, factor), 6), factor.tolist()
    (1.386294, [[2.0, 0.0], [0.0, 1.0]])
    """
    d = matrix.shape[0]
    logdet = 0.0
    for i in range(d):
        for j in range(i + 1):
            rest = matrix[i, j] / scale
            if i == j:
                rest += shift
            for k in range(j):
                rest -= factor[i, k] * factor[j, k]
            if j < i:
                factor[i, j] = rest / factor[j, j]
            elif rest > 0:
                factor[i, i] = np.sqrt(rest)
                logdet += np.log(rest)
            else:
                return -np.inf
    return logdet


@njit(cache=True, error_model="numpy")
def inverse_from(factor, inverse):
    """The inverse of the matrix whose Cholesky factor is given: two triangular systems.

    factor : (d, d), lower triangular; inverse : (d, d), written in place.

    >>> inverse = np.zeros((2, 2))
    >>> inverse_from(np.diag([2.0, 1.0]), inverse)
    >>> inverse.tolist()
    [[0.25, 0.0], [0.0, 1.0]]
    """
    d = factor.shape[0]
    for k in range(d):
        for i in range(d):
            rest = 1.0 if i == k else 0.0
            for j in range(i):
                rest -= factor[i, j] * inverse[j, k]
            inverse[i, k] = rest / factor[i, i]
        for i in range(d - 1, -1, -1):
            rest = inverse[i, k]
            for j in range(i + 1, d):
                rest -= factor[j, i] * inverse[j, k]
            inverse[i, k] = rest / factor[i, i]
