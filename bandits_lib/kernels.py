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
