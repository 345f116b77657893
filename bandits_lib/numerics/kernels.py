"""What the compiled loops of the per-pull rules share.

`kernel` compiles a function without reference counts. Numba counts references to every array that is taken out of a
NamedTuple or sliced, atomically, dozens of times a pull: with them, a pull of LinGapE takes seven times as long at
d = 5. Whoever calls a kernel holds on to the arrays that it is given (those of a Loop belong to its state), so there is
nothing to count. A kernel cannot make arrays: numba refuses to compile it.

What a rule remembers is a NamedTuple: arrays, numbers that never change, and one `record` of those that do.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numba import njit

kernel: Callable[..., Any] = partial(njit, cache=True, error_model="numpy", _nrt=False)
inlined: Callable[..., Any] = partial(kernel, forceinline=True)


def record(**values):
    """Numbers that change, by name in Python and in kernels alike: a numpy record of integers, floats and bools.

    values : a number for each name. Returns an np.record; whoever is handed it, a kernel too, writes into this one.

    >>> now = record(pulls=2, done=False)
    >>> now.pulls += 1
    >>> now.pulls.item(), now.done.item()
    (3, False)
    """
    fields = np.dtype([(name, np.asarray(value).dtype) for name, value in values.items()], align=True)
    return np.array([tuple(values.values())], dtype=fields).view(np.recarray)[0]


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
def times_vector(matrix, vector, product):
    """matrix (n, r) times vector (r,), into `product` (n,)."""
    for i in range(matrix.shape[0]):
        along = 0.0
        for j in range(vector.shape[0]):
            along += matrix[i, j] * vector[j]
        product[i] = along


@inlined
def squared_distance(x, y, matrix):
    """(x - y)'matrix (x - y) of vectors x, y (r,) and a matrix (r, r)."""
    square = 0.0
    for i in range(x.shape[0]):
        along = 0.0
        for j in range(x.shape[0]):
            along += matrix[i, j] * (x[j] - y[j])
        square += along * (x[i] - y[i])
    return square


@inlined
def squared_norms(columns, inverse, squares):
    """x'inverse x of every column x of `columns` (r, n), into `squares` (n,)."""
    for k in range(squares.shape[0]):
        squares[k] = 0.0
    for i in range(inverse.shape[0]):
        for j in range(inverse.shape[0]):
            weight = inverse[i, j]
            for k in range(squares.shape[0]):
                squares[k] += weight * columns[i, k] * columns[j, k]


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


@kernel
def inverse_of(matrix, inverse):
    """The inverse of a positive definite matrix (r, r), into `inverse` (r, r); the matrix stays as it is."""
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[0]):
            inverse[i, j] = matrix[i, j]
    invert(inverse)


@inlined
def add_outer(matrix, vector, weight):
    """Add weight times vector vector' to `matrix` (r, r), in place."""
    for i in range(vector.shape[0]):
        scaled = weight * vector[i]
        for j in range(vector.shape[0]):
            matrix[i, j] += scaled * vector[j]


@inlined
def shrink(inverse, u, weight, gain):
    """Sherman and Morrison: A^-1 (r, r) becomes (A + weight xx')^-1; u = A^-1 x, gain = 1 + weight x'u."""
    for i in range(u.shape[0]):
        scaled = weight * u[i] / gain
        for j in range(u.shape[0]):
            inverse[i, j] -= scaled * u[j]


@inlined
def shrink_squares(squares, along, gain):
    """What that leaves of squared norms (n,) in A^-1, for weight 1; along : (n,), the vectors' products with u."""
    for k in range(squares.shape[0]):
        squares[k] = max(0.0, squares[k] - along[k] * along[k] / gain)


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
    gain, residual = 1.0, reward
    times_vector(inverse, arm, u)
    for i in range(theta.shape[0]):
        gain += u[i] * arm[i]
        residual -= theta[i] * arm[i]
    for i in range(theta.shape[0]):
        theta[i] += u[i] / gain * residual
    shrink(inverse, u, 1.0, gain)
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
