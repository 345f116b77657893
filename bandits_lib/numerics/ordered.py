"""Dense linear algebra whose sums are taken in one order: the same bits on every processor.

BLAS and LAPACK choose the order of their sums, and whether a product is fused with the sum it goes into, by processor.
That moves the last bit, and where two arms tie, the last bit chooses. Here every sum runs in the order in which it is
written and nothing is fused: compiled without leave to reorder, IEEE 754 then fixes every bit. Inner loops run along
rows, over independent entries, so that they are vectorised all the same.
"""

import numpy as np
from numba import njit

from bandits_lib.kernels import kernel
from bandits_lib.numerics.ties import argmax

INDEPENDENT = 1e-9  # relative (squared) length below which what is left of a vector is taken for a rounding error
COLUMNS = 256  # columns of the right factor worked on at a time: they stay in the first cache


@njit(cache=True, error_model="numpy")
def product(left, right):
    """left (n, k) times right (k, m), both C-contiguous."""
    out = np.zeros((left.shape[0], right.shape[1]))
    _add_product(out, left, right, False)
    return out


@njit(cache=True, error_model="numpy")
def lower_product(left, right):
    """The lower triangle of left (n, k) times right (k, n); above the diagonal entries are not to be used."""
    out = np.zeros((left.shape[0], right.shape[1]))
    _add_product(out, left, right, True)
    return out


@njit(cache=True, error_model="numpy")
def _add_product(out, left, right, lower):
    """out += left times right, four terms at a time; from the diagonal to the left only if `lower`."""
    n, k = left.shape
    whole = k - k % 4
    for low in range(0, right.shape[1], COLUMNS):
        high = min(low + COLUMNS, right.shape[1])
        first = low if lower else 0
        for c in range(0, whole, 4):
            x, y, z, w = right[c, low:high], right[c + 1, low:high], right[c + 2, low:high], right[c + 3, low:high]
            for i in range(first, n):
                end = min(high, i + 1) if lower else high
                _add_four(out[i, low:end], x, y, z, w, left[i, c], left[i, c + 1], left[i, c + 2], left[i, c + 3])
        for c in range(whole, k):
            x = right[c, low:high]
            for i in range(first, n):
                end = min(high, i + 1) if lower else high
                _add(out[i, low:end], x, left[i, c])


@kernel
def _add_four(out, x, y, z, w, a, b, c, d):
    """out += a x + b y + c z + d w, in this order."""
    for j in range(out.shape[0]):
        out[j] = (((out[j] + a * x[j]) + b * y[j]) + c * z[j]) + d * w[j]


@kernel
def _add(out, x, a):
    """out += a x."""
    for j in range(out.shape[0]):
        out[j] += a * x[j]


@njit(cache=True, error_model="numpy")
def transposed(matrix):
    """A C-contiguous copy of the transpose."""
    out = np.empty((matrix.shape[1], matrix.shape[0]))
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            out[j, i] = matrix[i, j]
    return out


@njit(cache=True, error_model="numpy")
def apply(matrix, vector):
    """matrix (n, k) times vector (k,)."""
    out = np.empty(matrix.shape[0])
    for i in range(matrix.shape[0]):
        out[i] = inner(matrix[i], vector)
    return out


def along(rows, vector):
    """Inner products (n,) of `rows` (n, k) with `vector` (k,), whatever their layout and type."""
    return apply(np.ascontiguousarray(rows, dtype=float), np.ascontiguousarray(vector, dtype=float))


@njit(cache=True, error_model="numpy")
def combine(vector, matrix):
    """vector (n,) times matrix (n, k)."""
    out = np.zeros(matrix.shape[1])
    for i in range(matrix.shape[0]):
        _add(out, matrix[i], vector[i])
    return out


@njit(cache=True, error_model="numpy")
def total(values):
    """The sum of values (n,), from the first to the last."""
    out = 0.0
    for value in values:
        out += value
    return out


@njit(cache=True, error_model="numpy")
def squares(rows):
    """Squared lengths (n,) of rows (n, k)."""
    return row_products(rows, rows)


@njit(cache=True, error_model="numpy")
def row_products(left, right):
    """Inner products (n,) of the rows of left (n, k) with those of right (n, k)."""
    out = np.empty(left.shape[0])
    for i in range(left.shape[0]):
        out[i] = inner(left[i], right[i])
    return out


@njit(cache=True, error_model="numpy")
def information(rows, weights):
    """The sum of weights_i rows_i rows_i', (r, r), over the rows of non-zero weight."""
    support = np.flatnonzero(weights)
    inside = transposed(rows[support])
    scaled = inside * weights[support]
    r = inside.shape[0]
    out = np.empty((r, r))
    for i in range(r):
        for j in range(i + 1):
            out[i, j] = out[j, i] = inner(scaled[i], inside[j])
    return out


@njit(cache=True, error_model="numpy")
def cholesky(matrix):
    """Upper triangular R with R'R = matrix, of which the lower triangle is read; and whether there is one.

    Four pivots at a time, so that the rest of the matrix is passed through a quarter as often.
    """
    n = matrix.shape[0]
    upper = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            upper[j, i] = matrix[i, j]
    for start in range(0, n, 4):
        stop = min(start + 4, n)
        for k in range(start, stop):
            if not upper[k, k] > 0.0:
                return upper, False
            upper[k, k:] /= np.sqrt(upper[k, k])
            for i in range(k + 1, stop):
                _add(upper[i, i:], upper[k, i:], -upper[k, i])
        if stop == start + 4:
            a, b, c, d = upper[start], upper[start + 1], upper[start + 2], upper[start + 3]
            for i in range(stop, n):
                _add_four(upper[i, i:], a[i:], b[i:], c[i:], d[i:], -a[i], -b[i], -c[i], -d[i])
    return upper, True


@njit(cache=True, error_model="numpy")
def inverse_triangle(upper):
    """The inverse of an upper triangular matrix (n, n)."""
    n = upper.shape[0]
    out = np.zeros((n, n))
    for i in range(n - 1, -1, -1):
        out[i, i] = 1.0 / upper[i, i]
        for k in range(i + 1, n):
            _add(out[i, k:], out[k, k:], -upper[i, k] / upper[i, i])
    return out


@njit(cache=True, error_model="numpy")
def solve_factored(upper, vector):
    """x (n,) with R'R x = vector for R upper triangular."""
    n = upper.shape[0]
    x = vector.copy()
    for k in range(n):
        x[k] /= upper[k, k]
        _add(x[k + 1 :], upper[k, k + 1 :], -x[k])
    for k in range(n - 1, -1, -1):
        x[k] = (x[k] - inner(upper[k, k + 1 :], x[k + 1 :])) / upper[k, k]
    return x


@njit(cache=True, error_model="numpy")
def solve(matrix, vector):
    """x (n,) with matrix x = vector, by elimination with the largest pivot of each column; NaN if there is none."""
    n = matrix.shape[0]
    rows, x = matrix.copy(), vector.copy()
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(rows[i, k]) > abs(rows[best, k]):
                best = i
        if rows[best, k] == 0.0:
            x[:] = np.nan
            return x
        if best != k:
            for j in range(k, n):
                rows[k, j], rows[best, j] = rows[best, j], rows[k, j]
            x[k], x[best] = x[best], x[k]
        for i in range(k + 1, n):
            factor = rows[i, k] / rows[k, k]
            if factor != 0.0:
                for j in range(k, n):
                    rows[i, j] -= factor * rows[k, j]
                x[i] -= factor * x[k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            x[k] -= rows[k, j] * x[j]
        x[k] /= rows[k, k]
    return x


@njit(cache=True, error_model="numpy")
def triangle(rows):
    """Upper triangular R (r, r), non-negative diagonal, with R'R = rows'rows for rows (n, r), n >= r (Householder)."""
    a = transposed(rows)  # columns lie along memory
    r, n = a.shape
    for k in range(r):
        mirror = a[k, k:]
        length = np.sqrt(inner(mirror, mirror))
        if length > 0.0:
            sign = 1.0 if mirror[0] >= 0.0 else -1.0
            mirror[0] += sign * length
            scale = length * abs(mirror[0])  # half the squared length of the mirror's normal
            for j in range(k + 1, r):
                _add(a[j, k:], mirror, -inner(mirror, a[j, k:]) / scale)
                a[j, k] *= -sign
            mirror[0] = length
    out = np.zeros((r, r))
    for i in range(r):
        for j in range(i + 1):
            out[j, i] = a[i, j]
    return out


@njit(cache=True, error_model="numpy")
def independent(rows, tol):
    """Indices (m,) of independent rows of `rows` (n, k), and an orthonormal basis (m, k) of their span.

    Each is the first of those farthest from the span of the ones before, by the shared rule for ties; it ends when
    nothing is farther than `tol` times the longest row.
    """
    n, k = rows.shape
    rest, lengths = transposed(rows), squares(rows)
    chosen, basis = np.empty(min(n, k), np.int64), np.empty((min(n, k), k))
    floor = (tol * np.sqrt(lengths.max())) ** 2
    for m in range(min(n, k)):
        best = argmax(lengths)
        if not lengths[best] > floor:
            return chosen[:m], basis[:m]
        chosen[m] = best
        _unit_outside(rest[:, best].copy(), basis[:m], basis[m])
        for low in range(0, n, COLUMNS):
            _take_away(rest, low, min(low + COLUMNS, n), basis[m], lengths)
        lengths[best] = 0.0
    return chosen, basis


@njit(cache=True, error_model="numpy")
def _take_away(columns, low, high, unit, lengths):
    """Columns low to high less their parts along `unit`, in place, and the squared lengths of what is left."""
    along, left = np.zeros(high - low), lengths[low:high]
    for c in range(unit.shape[0]):
        _add(along, columns[c, low:high], unit[c])
    left[:] = 0.0
    for c in range(unit.shape[0]):
        _add(columns[c, low:high], along, -unit[c])
        _add_squares(left, columns[c, low:high])


@kernel
def _add_squares(out, x):
    """out += x^2, entry by entry."""
    for j in range(out.shape[0]):
        out[j] += x[j] * x[j]


@njit(cache=True, error_model="numpy")
def _unit_outside(vector, basis, unit):
    """Into `unit`: the part of `vector` outside the span of the orthonormal `basis`, of length one."""
    unit[:] = vector
    for _ in range(2):
        for row in basis:
            unit -= inner(unit, row) * row
        unit /= np.sqrt(inner(unit, unit))


@kernel
def inner(x, y):
    """x'y, as eight sums over every eighth entry, added in the end."""
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


@njit(cache=True, error_model="numpy")
def outside_projector(columns):
    """(P, m): the orthogonal projector (n, n) onto what is orthogonal to all `columns` (n, k), of dimension m.

    Cholesky's factor of the Gram matrix, twice, makes them orthonormal; where they depend on each other, `independent`.
    """
    n, k = columns.shape
    basis = columns
    for _ in range(2):
        across = transposed(basis)
        gram = lower_product(across, basis)
        upper, regular = cholesky(gram)
        for i in range(k):
            regular = regular and upper[i, i] ** 2 > INDEPENDENT * gram[i, i]
        if not regular:
            basis = transposed(independent(transposed(columns), INDEPENDENT)[1])
            break
        basis = product(basis, inverse_triangle(upper))
    return np.eye(n) - product(basis, transposed(basis)), n - basis.shape[1]
