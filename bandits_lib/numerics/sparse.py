"""Replace `linear_algebra` for matrices with many zeros, which are skipped: the same bits with fewer terms."""

import numpy as np

from bandits_lib.numerics import in_place, linear_algebra
from bandits_lib.numerics.kernels import compiled, kernel, merged

SPARSE = 4  # zeros are skipped if the matrix has at least so many entries for each entry that is not zero
LANES = 8  # number of sums of `in_place.inner`


@compiled
def product(left, right):
    if not sparse(left):
        return linear_algebra.product(left, right)
    out = np.zeros((left.shape[0], right.shape[1]))
    for i in range(left.shape[0]):
        add_rows(out[i], left[i], right)
    return out


@merged
def sparse(matrix):
    count = 0
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            count += matrix[i, j] != 0.0
    return SPARSE * count <= matrix.size


@kernel
def add_rows(out, factors, rows):
    for c in range(factors.shape[0]):
        if factors[c] != 0.0:
            in_place.add(out, rows[c], factors[c])


@compiled
def inverse_factor(arms, weights):
    """Return the upper triangular S (r, r) with SS' = A(weights)^-1, for arms (K, r)."""
    if not sparse(arms):
        return linear_algebra.inverse_triangle(linear_algebra.cholesky(linear_algebra.information(arms, weights))[0])
    support = np.flatnonzero(weights)
    rows = arms if len(support) == len(arms) else arms[support]
    inside = linear_algebra.transposed(rows)
    upper, out = np.empty((len(inside), len(inside))), np.zeros((len(inside), len(inside)))
    upper_products(inside * weights[support], inside, np.empty(len(rows), np.int64), np.empty(LANES), upper)
    factor(upper)
    invert_triangle(upper, out)
    return out


@kernel
def upper_products(left, right, there, lanes, out):
    """Set the upper triangle of `out` (r, r) to the inner products of the rows of right (r, n) and left (r, n)."""
    for i in range(left.shape[0]):
        count = 0
        for n in range(left.shape[1]):
            if left[i, n] != 0.0:
                there[count] = n
                count += 1
        for j in range(i + 1):
            out[j, i] = inner_at(there[:count], left[i], right[j], lanes)


@merged
def inner_at(there, x, y, lanes):
    """Return x'y over the entries `there`, where x is not zero, with the sums of `in_place.inner`."""
    n = x.shape[0]
    if there.shape[0] == 1 or n < LANES:
        out = 0.0
        for t in range(there.shape[0]):
            out += x[there[t]] * y[there[t]]
        return out
    for lane in range(LANES):
        lanes[lane] = 0.0
    for t in range(there.shape[0]):
        i = there[t]
        lanes[i % LANES if i < LANES * (n // LANES) else 0] += x[i] * y[i]
    return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) + ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]))


@kernel
def factor(upper):
    n = upper.shape[0]
    for k in range(n):
        pivot = np.sqrt(upper[k, k])
        for j in range(k, n):
            upper[k, j] /= pivot
        for i in range(k + 1, n):
            if upper[k, i] != 0.0:
                in_place.add(upper[i, i:], upper[k, i:], -upper[k, i])


@kernel
def invert_triangle(upper, out):
    """Set the upper triangle of `out` (n, n) to the inverse of the triangular `upper`."""
    n = upper.shape[0]
    for i in range(n - 1, -1, -1):
        out[i, i] = 1.0 / upper[i, i]
        for k in range(i + 1, n):
            if upper[i, k] != 0.0:
                in_place.add(out[i, k:], out[k, k:], -upper[i, k] / upper[i, i])
