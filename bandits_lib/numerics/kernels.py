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


@merged
def add(out, x, a):
    for j in range(out.shape[0]):
        out[j] += a * x[j]


@kernel
def add_rows(out, factors, rows, start=0, sign=1.0):
    """Add sign times the sum of factors_c rows_c to `out` (n,), in order; rows (k, m) are read from column `start` on.

    Terms of factor 0 are left out. Without the four terms in one pass, XY-designs take up to 1.2 times as long.
    """
    k, n, stop = 0, factors.shape[0], start + out.shape[0]
    while k < n:
        a = sign * factors[k]
        if k + 3 < n and a * factors[k + 1] * factors[k + 2] * factors[k + 3] != 0.0:
            b, c, d = sign * factors[k + 1], sign * factors[k + 2], sign * factors[k + 3]
            x, y, z, w = rows[k, start:stop], rows[k + 1, start:stop], rows[k + 2, start:stop], rows[k + 3, start:stop]
            for j in range(out.shape[0]):
                out[j] = (((out[j] + a * x[j]) + b * y[j]) + c * z[j]) + d * w[j]
            k += 4
        else:
            if a != 0.0:
                add(out, rows[k, start:stop], a)
            k += 1


@kernel
def inner(x, y):
    """Return x'y as eight sums over every eighth entry, which are added at the end."""
    n = x.shape[0]
    if n < 8:
        out = 0.0
        for i in range(n):
            out += x[i] * y[i]
        return out
    a, b, c, d, e, f, g, h = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for block in range(n // 8):
        i = 8 * block
        a += x[i] * y[i]
        b += x[i + 1] * y[i + 1]
        c += x[i + 2] * y[i + 2]
        d += x[i + 3] * y[i + 3]
        e += x[i + 4] * y[i + 4]
        f += x[i + 5] * y[i + 5]
        g += x[i + 6] * y[i + 6]
        h += x[i + 7] * y[i + 7]
    for i in range(8 * (n // 8), n):
        a += x[i] * y[i]
    return ((a + e) + (b + f)) + ((c + g) + (d + h))


@inlined
def along_all(columns, vector, products):
    """Set `products` (n,) to the inner products of `vector` (r,) with every column of `columns` (r, n)."""
    for k in range(products.shape[0]):
        products[k] = 0.0
    add_rows(products, vector, columns)


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
    """Set `product` (n,) to matrix (n, r) times `vector` (r,): each sum in order, four of them side by side."""
    i, n, r = 0, matrix.shape[0], vector.shape[0]
    while i + 3 < n:
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for j in range(r):
            a += matrix[i, j] * vector[j]
            b += matrix[i + 1, j] * vector[j]
            c += matrix[i + 2, j] * vector[j]
            d += matrix[i + 3, j] * vector[j]
        product[i], product[i + 1], product[i + 2], product[i + 3] = a, b, c, d
        i += 4
    for k in range(i, n):
        along = 0.0
        for j in range(r):
            along += matrix[k, j] * vector[j]
        product[k] = along


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
    """Return the first index of the smallest of finite `values` (n,), n >= 1."""
    least, k = values[0], 0
    for i in range(values.shape[0]):
        least = values[i] if values[i] < least else least
    while values[k] > least:
        k += 1
    return k


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
def cholesky(matrix, scale, shift, upper, flat=0.0):
    """Set `upper` (d, d) to R, R'R = A = matrix / scale + shift I, of which the lower triangle is read.

    Return log det A. If a pivot is at most `flat` times its entry of `matrix`, its row is 0 and -inf is returned.
    """
    d, logdet = matrix.shape[0], 0.0
    for i in range(d):
        for j in range(d):
            upper[i, j] = matrix[j, i] / scale if j >= i else 0.0
        upper[i, i] += shift
    for k in range(d):
        add_rows(upper[k, k:], upper[:k, k], upper, k, -1.0)
        pivot = upper[k, k]
        if pivot > flat * matrix[k, k]:
            logdet += np.log(pivot)
            root = np.sqrt(pivot)
            for j in range(k, d):
                upper[k, j] /= root
        else:
            logdet = -np.inf
            for j in range(k, d):
                upper[k, j] = 0.0
    return logdet


@kernel
def regularised_cholesky(matrix, upper):
    """Apply `cholesky` to `matrix` (d, d) itself; raise its diagonal if rounding has made it indefinite."""
    trace, shift = 0.0, 0.0
    for i in range(matrix.shape[0]):
        trace += matrix[i, i]
    logdet = cholesky(matrix, 1.0, 0.0, upper)
    for _ in range(7):
        if logdet > -np.inf:
            break
        shift = max(1e-16 * trace, 100 * shift)
        logdet = cholesky(matrix, 1.0, shift, upper)
    return logdet


@kernel
def inverse_from(upper, inverse):
    """Set `inverse` (d, d) to that of R'R for R upper triangular (d, d)."""
    d = upper.shape[0]
    for k in range(d):
        for i in range(d):
            rest = 1.0 if i == k else 0.0
            for j in range(i):
                rest -= upper[j, i] * inverse[j, k]
            inverse[i, k] = rest / upper[i, i]
        for i in range(d - 1, -1, -1):
            rest = inverse[i, k]
            for j in range(i + 1, d):
                rest -= upper[i, j] * inverse[j, k]
            inverse[i, k] = rest / upper[i, i]


@merged
def solve_transposed_in_place(upper, columns):
    """Replace `columns` (d, n) by R'^-1 columns for R upper triangular (d, d)."""
    for i in range(upper.shape[0]):
        for j in range(i):
            for k in range(columns.shape[1]):
                columns[i, k] -= upper[j, i] * columns[j, k]
        for k in range(columns.shape[1]):
            columns[i, k] /= upper[i, i]
