"""Define decorators for compiled functions, and what the compiled loops of the pull-by-pull rules share.

A `compiled` function may create arrays. A `kernel` cannot, and does not count references: with reference counts, a pull
of LinGapE takes seven times as long at d = 5. An `inlined` kernel is compiled first and then inlined into its callers.
A `merged` function is inlined into its callers before they are compiled, which compiles faster. In the loop of a rule
it is slower, because long functions are optimised less well.

The state of a rule is a NamedTuple: arrays, constants, and one `record` of the numbers that change.

Sherman and Morrison: let u = A^-1 x before a pull of x, and gain = 1 + x'u. The pull raises log det A by log(gain), and
lowers y'A^-1 y by (y'u)^2 / gain for every y. `cholesky` and `inverse_from` replace LAPACK, whose wrappers take most of
the time to compile a loop.
"""

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from numba import njit

compiled: Callable[..., Any] = partial(njit, cache=True, error_model="numpy", no_cfunc_wrapper=True, _nrt=True)
kernel: Callable[..., Any] = partial(compiled, _nrt=False)
inlined: Callable[..., Any] = partial(kernel, forceinline=True)
merged: Callable[..., Any] = partial(compiled, inline="always")


def record(**values):
    """Return numbers that change, with names in Python and in kernels: a numpy record of integers, floats and bools."""
    fields = np.dtype([(name, np.asarray(value).dtype) for name, value in values.items()], align=True)
    return np.array([tuple(values.values())], dtype=fields).view(np.recarray)[0]


def read(record):
    """Return the fields of a record as Python numbers, all at once, because numpy looks up single fields slowly."""
    return SimpleNamespace(**dict(zip(record.dtype.names, record.item(), strict=True)))


@inlined
def along_all(columns, vector, products):
    """Set `products` (n,) to the inner products of `vector` (r,) with every column of `columns` (r, n)."""
    for k in range(products.shape[0]):
        products[k] = 0.0
    for c in range(vector.shape[0]):
        for k in range(products.shape[0]):
            products[k] += columns[c, k] * vector[c]


@inlined
def times(matrix, columns, k, product):
    """Set `product` (r,) to matrix (r, r) times column k of `columns` (r, n)."""
    for c in range(product.shape[0]):
        along = 0.0
        for b in range(product.shape[0]):
            along += matrix[c, b] * columns[b, k]
        product[c] = along


@inlined
def times_vector(matrix, vector, product):
    for i in range(matrix.shape[0]):
        along = 0.0
        for j in range(vector.shape[0]):
            along += matrix[i, j] * vector[j]
        product[i] = along


@inlined
def squared_distance(x, y, matrix):
    """Return (x - y)'matrix (x - y) for vectors x, y (r,) and a matrix (r, r)."""
    square = 0.0
    for i in range(x.shape[0]):
        along = 0.0
        for j in range(x.shape[0]):
            along += matrix[i, j] * (x[j] - y[j])
        square += along * (x[i] - y[i])
    return square


@inlined
def squared_norms(columns, inverse, squares):
    """Set `squares` (n,) to x'inverse x of every column x of `columns` (r, n)."""
    for k in range(squares.shape[0]):
        squares[k] = 0.0
    for i in range(inverse.shape[0]):
        for j in range(inverse.shape[0]):
            weight = inverse[i, j]
            for k in range(squares.shape[0]):
                squares[k] += weight * columns[i, k] * columns[j, k]


@kernel
def lowest(values):
    """Return the first index of the smallest of `values` (n,), n >= 1, by four comparisons side by side."""
    n, k = values.shape[0], 0
    a, b, c, d = values[0], values[0], values[0], values[0]
    for i in range(0, n - 3, 4):
        a = values[i] if values[i] < a else a
        b = values[i + 1] if values[i + 1] < b else b
        c = values[i + 2] if values[i + 2] < c else c
        d = values[i + 3] if values[i + 3] < d else d
    for i in range(n - n % 4, n):
        a = values[i] if values[i] < a else a
    least = min(min(a, b), min(c, d))
    while values[k] > least:
        k += 1
    return k


@inlined
def largest(values):
    top = values[0]
    for k in range(values.shape[0]):
        top = max(top, values[k])
    return top


@inlined
def smallest(values):
    """Return the smallest of `values` (n,), n >= 1; NaN if there is one."""
    least = values[0]
    for k in range(values.shape[0]):
        if values[k] < least or values[k] != values[k]:
            least = values[k]
    return least


@kernel
def invert(matrix):
    """Replace a positive definite matrix (r, r) by its inverse; return its log-determinant (Gauss-Jordan)."""
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


@merged
def inverse_of(matrix, inverse):
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[0]):
            inverse[i, j] = matrix[i, j]
    invert(inverse)


@inlined
def add_outer(matrix, vector, weight):
    for i in range(vector.shape[0]):
        scaled = weight * vector[i]
        for j in range(vector.shape[0]):
            matrix[i, j] += scaled * vector[j]


@inlined
def shrink(inverse, u, weight, gain):
    """Replace A^-1 (r, r) by (A + weight xx')^-1 (Sherman and Morrison); u = A^-1 x, gain = 1 + weight x'u."""
    for i in range(u.shape[0]):
        if u[i] != 0.0:
            scaled = weight * u[i] / gain
            for j in range(u.shape[0]):
                inverse[i, j] -= scaled * u[j]


@inlined
def shrink_squares(squares, along, gain):
    """Update squared norms (n,) in A^-1 as `shrink` does A^-1, for weight 1; `along` (n,) are the products with u."""
    for k in range(squares.shape[0]):
        squares[k] = max(0.0, squares[k] - along[k] * along[k] / gain)


@inlined
def rank_one_update(inverse, theta, arm, reward, u):
    """Add a pull to `inverse` (d, d) and `theta` (d,), in place; set u = inverse @ arm first, and return the gain."""
    gain, residual = 1.0, reward
    times_vector(inverse, arm, u)
    for i in range(theta.shape[0]):
        gain += u[i] * arm[i]
        residual -= theta[i] * arm[i]
    for i in range(theta.shape[0]):
        theta[i] += u[i] / gain * residual
    shrink(inverse, u, 1.0, gain)
    return gain


@kernel
def cholesky(matrix, scale, shift, factor):
    """Set `factor` (d, d) to the lower Cholesky factor of matrix / scale + shift I; return log det, or -inf."""
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


@kernel
def regularised_cholesky(matrix, factor):
    """Apply `cholesky` to `matrix` (d, d) itself; raise its diagonal if rounding has made it indefinite."""
    trace, shift = 0.0, 0.0
    for i in range(matrix.shape[0]):
        trace += matrix[i, i]
    logdet = cholesky(matrix, 1.0, 0.0, factor)
    for _ in range(7):
        if logdet > -np.inf:
            break
        shift = max(1e-16 * trace, 100 * shift)
        logdet = cholesky(matrix, 1.0, shift, factor)
    return logdet


@kernel
def inverse_from(factor, inverse):
    """Set `inverse` (d, d) to that of the matrix whose Cholesky factor, lower triangular, is given."""
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


@merged
def forward(factor, columns):
    """Replace `columns` (d, n) by L^-1 columns, where L is the lower triangular `factor` (d, d)."""
    for i in range(factor.shape[0]):
        for j in range(i):
            for k in range(columns.shape[1]):
                columns[i, k] -= factor[i, j] * columns[j, k]
        for k in range(columns.shape[1]):
            columns[i, k] /= factor[i, i]
