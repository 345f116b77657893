"""Compute dense linear algebra with sums in one order, which gives the same bits on every processor.

BLAS and LAPACK choose the order of their sums by processor. That changes the last bit, and where two arms tie, the last
bit decides. Only the lower triangle of a symmetric matrix is read. Inner loops run along rows, over independent
entries: they vectorise, and no sum is reordered. Factors 0 are passed by, which adds the same finite terms.

Independent rows are chosen one by one: the next is the row farthest from the span of the previous ones, by the shared
rule for ties. Eigenvalues that differ by less than SAME of the largest count as equal. Their principal axes are rows of
their common projector, each minus its part in the span of the previous ones, so that the axes depend on the matrix
alone. The largest entry of each axis is positive.
"""

import numpy as np

from bandits_lib.numerics.kernels import add, add_rows, along_all, cholesky, compiled, inner, kernel, merged
from bandits_lib.numerics.ties import argmax, ranked

INDEPENDENT = 1e-9  # relative (squared) length below which the rest of a vector is a rounding error
MILD = 1e3  # ratio of pivots below which `mild` holds
SQRT2 = np.sqrt(2.0)
BLOCK = 256  # columns that a product treats at a time: they fit in the first-level cache
NARROW = 64  # columns below which a tall product is formed as its transpose, whose rows are long


@compiled
def product(left, right):
    if right.shape[1] < min(left.shape[0], NARROW):
        return transposed(_product(transposed(right), transposed(left)))
    return _product(left, right)


@merged
def _product(left, right):
    out = np.zeros((left.shape[0], right.shape[1]))
    add_product(out, left, right, False)
    return out


@compiled
def lower_product(left, right):
    """Return the lower triangle of left (n, k) times right (k, n); entries above the diagonal must not be used."""
    out = np.zeros((left.shape[0], right.shape[1]))
    add_product(out, left, right, True)
    return out


@kernel
def add_product(out, left, right, lower):
    """Add left (n, k) times right (k, m) to `out` (n, m); if `lower`, only to its lower triangle and a little above.

    Two rows and four terms in one pass take half of the time that `add_rows` takes for each row.
    """
    n, whole = left.shape[0], left.shape[1] - left.shape[1] % 4
    for low in range(0, right.shape[1], BLOCK):
        high, first = min(low + BLOCK, right.shape[1]), low if lower else 0
        for c in range(0, whole, 4):
            x, y, z, w = right[c, low:high], right[c + 1, low:high], right[c + 2, low:high], right[c + 3, low:high]
            for i in range(first, n - 1, 2):
                end = min(high, i + 2) if lower else high
                p, q, a, b = out[i, low:end], out[i + 1, low:end], left[i, c : c + 4], left[i + 1, c : c + 4]
                a0, a1, a2, a3, b0, b1, b2, b3 = a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]
                for j in range(end - low):
                    xj, yj, zj, wj = x[j], y[j], z[j], w[j]
                    p[j] = (((p[j] + a0 * xj) + a1 * yj) + a2 * zj) + a3 * wj
                    q[j] = (((q[j] + b0 * xj) + b1 * yj) + b2 * zj) + b3 * wj
            if first < n and (n - first) % 2:
                add_rows(out[n - 1, low:high], left[n - 1, c : c + 4], right[c : c + 4], low)
        for i in range(first, n):
            end = min(high, i + 1) if lower else high
            add_rows(out[i, low:end], left[i, whole:], right[whole:], low)


@compiled
def transposed(matrix):
    out = np.empty((matrix.shape[1], matrix.shape[0]))
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            out[j, i] = matrix[i, j]
    return out


@merged
def scaled_rows(matrix, factors):
    out = np.empty(matrix.shape)
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            out[i, j] = factors[i] * matrix[i, j]
    return out


@merged
def scaled_columns(matrix, factors):
    out = np.empty(matrix.shape)
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            out[i, j] = matrix[i, j] * factors[j]
    return out


@compiled
def apply(matrix, vector):
    out = np.empty(matrix.shape[0])
    _apply(matrix, vector, out)
    return out


@kernel
def _apply(matrix, vector, out):
    for i in range(matrix.shape[0]):
        out[i] = inner(matrix[i], vector)


def along(rows, vector):
    """Return the inner products (n,) of `rows` (n, k) with `vector` (k,), for any layout and type of these."""
    return apply(np.ascontiguousarray(rows, dtype=float), np.ascontiguousarray(vector, dtype=float))


@compiled
def combine(vector, matrix):
    out = np.zeros(matrix.shape[1])
    add_rows(out, vector, matrix)
    return out


@compiled
def ordered_sum(values):
    out = 0.0
    for value in values:
        out += value
    return out


@merged
def normalised(values):
    return values / ordered_sum(values)


@compiled
def squares(rows):
    return row_products(rows, rows)


@compiled
def row_products(left, right):
    """Return the inner products (n,) of the rows of left (n, k) with those of right (n, k)."""
    out = np.empty(left.shape[0])
    _row_products(left, right, out)
    return out


@kernel
def _row_products(left, right, out):
    for i in range(left.shape[0]):
        out[i] = inner(left[i], right[i])


@compiled
def information(rows, weights):
    """Return the sum of weights_i rows_i rows_i', (r, r), over the rows of non-zero weight."""
    r, n = rows.shape[1], len(np.flatnonzero(weights))
    inside, weighted, out, k = np.empty((r, n)), np.empty((r, n)), np.empty((r, r)), 0
    for i in range(len(weights)):
        if weights[i] != 0.0:
            for c in range(r):
                inside[c, k], weighted[c, k] = rows[i, c], rows[i, c] * weights[i]
            k += 1
    _symmetric_products(weighted, inside, out)
    return out


@kernel
def _symmetric_products(left, right, out):
    """Set `out` (r, r) to the inner products of the rows of left (r, n) and right (r, n), known to be symmetric.

    Zeros at both ends of a row are passed by, eight at a time, so that the sums of `inner` stay the same.
    """
    for i in range(left.shape[0]):
        low, high = 0, left.shape[1]
        while low < high and left[i, low] == 0.0:
            low += 1
        while high > low and left[i, high - 1] == 0.0:
            high -= 1
        low, high = low - low % 8, min(left.shape[1], high + -high % 8)
        for j in range(i + 1):
            out[i, j] = out[j, i] = inner(left[i, low:high], right[j, low:high])


@compiled
def upper_factor(matrix, flat=0.0):
    """Return upper triangular R, R'R = matrix, and whether no pivot was at most `flat` times its diagonal entry."""
    upper = np.empty(matrix.shape)
    return upper, cholesky(matrix, 1.0, 0.0, upper, flat) > -np.inf


@merged
def symmetric_squares(rows):
    """Return svec(xx') (n, r(r+1)/2) of rows x (n, r): x_i x_j for i >= j, times sqrt(2) off the diagonal."""
    out = np.empty((rows.shape[0], rows.shape[1] * (rows.shape[1] + 1) // 2))
    for n in range(rows.shape[0]):
        k = 0
        for i in range(rows.shape[1]):
            for j in range(i):
                out[n, k] = rows[n, i] * rows[n, j] * SQRT2
                k += 1
            out[n, k] = rows[n, i] * rows[n, i]
            k += 1
    return out


@compiled
def inverse_triangle(upper):
    out = np.zeros(upper.shape)
    _invert_triangle(upper, out)
    return out


@kernel
def _invert_triangle(upper, out):
    for i in range(upper.shape[0] - 1, -1, -1):
        out[i, i] = 1.0 / upper[i, i]
        for k in range(i + 1, upper.shape[0]):
            if upper[i, k] != 0.0:
                add(out[i, k:], out[k, k:], -upper[i, k] / upper[i, i])


@merged
def solve_transposed(upper, vector):
    """Return x (n,) with R'x = vector for R upper triangular; x is 0 where R has no pivot."""
    x = vector.copy()
    _substitute_forward(upper, x)
    return x


@kernel
def _substitute_forward(upper, x):
    for k in range(upper.shape[0]):
        x[k] = x[k] / upper[k, k] if upper[k, k] != 0.0 else 0.0
        add(x[k + 1 :], upper[k, k + 1 :], -x[k])


@merged
def solve_upper(upper, vector):
    """Return x (n,) with R x = vector for R upper triangular."""
    x = vector.copy()
    _substitute_back(upper, x)
    return x


@kernel
def _substitute_back(upper, x):
    for k in range(upper.shape[0] - 1, -1, -1):
        x[k] = (x[k] - inner(upper[k, k + 1 :], x[k + 1 :])) / upper[k, k]


@merged
def solve_factored(upper, vector):
    return solve_upper(upper, solve_transposed(upper, vector))


@compiled
def solve(matrix, vector):
    """Return x (n,) with matrix x = vector, by elimination with the largest pivot of each column; NaN if none."""
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


@compiled
def triangle(rows):
    """Return upper triangular R (r, r), diagonal >= 0, with R'R = rows'rows for rows (n, r), n >= r (Householder)."""
    a = transposed(rows)  # columns lie along memory
    _reflect(a)
    r = a.shape[0]
    out = np.zeros((r, r))
    for i in range(r):
        for j in range(i + 1):
            out[j, i] = a[i, j]
    return out


@kernel
def _reflect(columns):
    """Apply Householder reflections to columns stored along memory (r, n), n >= r; leave R' in their lower triangle."""
    r = columns.shape[0]
    for k in range(r):
        normal = columns[k, k:]
        length = np.sqrt(inner(normal, normal))
        if length > 0.0:
            sign = 1.0 if normal[0] >= 0.0 else -1.0
            normal[0] += sign * length
            scale = length * abs(normal[0])  # half its squared length
            for j in range(k + 1, r):
                add(columns[j, k:], normal, -inner(normal, columns[j, k:]) / scale)
                columns[j, k] *= -sign
            normal[0] = length


@compiled
def independent(rows, tol):
    """Return indices (m,) of independent rows of `rows` (n, k), and an orthonormal basis (m, k) of their span."""
    n, k = rows.shape
    rest, lengths = transposed(rows), squares(rows)
    chosen, basis = np.empty(min(n, k), np.int64), np.empty((min(n, k), k))
    floor, along = (tol * np.sqrt(lengths.max())) ** 2, np.empty(n)
    for m in range(min(n, k)):
        best = argmax(lengths)
        if not lengths[best] > floor:
            return chosen[:m], basis[:m]
        chosen[m] = best
        basis[m] = rest[:, best]
        _make_orthonormal(basis, m)
        _take_away(rest, basis[m], lengths, along)
        lengths[best] = 0.0
    return chosen, basis


@kernel
def _make_orthonormal(basis, m):
    """Take from row m of `basis` its parts along the orthonormal rows before, and scale it to length one."""
    unit = basis[m]
    for _ in range(2):
        for i in range(m):
            add(unit, basis[i], -inner(unit, basis[i]))
        length = np.sqrt(inner(unit, unit))
        for c in range(unit.shape[0]):
            unit[c] /= length


@kernel
def _take_away(columns, unit, lengths, along):
    """Subtract from columns (k, n) their parts along `unit` (k,); set squared `lengths` (n,) anew. Scratch: along."""
    along_all(columns, unit, along)
    for j in range(lengths.shape[0]):
        lengths[j] = 0.0
    for c in range(unit.shape[0]):
        for j in range(lengths.shape[0]):
            columns[c, j] += -unit[c] * along[j]
            lengths[j] += columns[c, j] * columns[c, j]


@merged
def mild(upper):
    """Return whether the Cholesky factor makes columns orthonormal at once: pivots differ by a factor below MILD."""
    pivots = np.abs(np.diag(upper))
    return pivots.max() < MILD * pivots.min()


@compiled
def outside_projector(columns):
    """Return the orthogonal projector (n, n) onto the complement of `columns` (n, k), and its dimension."""
    n, k = columns.shape
    basis = columns
    for _ in range(2):
        across = transposed(basis)
        gram = lower_product(across, basis)
        upper, regular = upper_factor(gram)
        for i in range(k):
            regular = regular and upper[i, i] ** 2 > INDEPENDENT * gram[i, i]
        if not regular:
            basis = transposed(independent(transposed(columns), INDEPENDENT)[1])
            break
        basis = product(basis, inverse_triangle(upper))
        if mild(upper):
            break
    return np.eye(n) - product(basis, transposed(basis)), n - basis.shape[1]


SWEEPS = 60
SAME = 1e-9  # relative difference below which two eigenvalues are one
SHORT = 1e-6  # squared length below which the rest of a projector's row makes no axis


@compiled
def jacobi(matrix):
    """Return eigenvalues (r,) and eigenvectors, the rows of (r, r), of a symmetric matrix, by Jacobi's rotations."""
    r = len(matrix)
    a, rows = matrix.copy(), np.eye(r)
    for _ in range(SWEEPS):
        largest = 0.0
        for i in range(r):
            for j in range(i):
                if a[i, j] != 0.0:
                    largest = max(largest, abs(a[i, j]) / np.sqrt(max(1e-300, abs(a[i, i] * a[j, j]))))
                    _rotate(a, rows, j, i)
        if largest < 1e-15:
            break
    return np.diag(a).copy(), rows


@merged
def _rotate(a, rows, i, j):
    """Make a[i, j] zero (Rutishauser's formulas), in place."""
    half = (a[j, j] - a[i, i]) / (2 * a[i, j])
    tangent = (1.0 if half >= 0 else -1.0) / (abs(half) + np.sqrt(1 + half * half))
    cosine = 1 / np.sqrt(1 + tangent * tangent)
    sine = tangent * cosine
    for k in range(len(a)):
        first, second = a[k, i], a[k, j]
        a[k, i], a[k, j] = cosine * first - sine * second, sine * first + cosine * second
    for k in range(len(a)):
        first, second = a[i, k], a[j, k]
        a[i, k], a[j, k] = cosine * first - sine * second, sine * first + cosine * second
        first, second = rows[i, k], rows[j, k]
        rows[i, k], rows[j, k] = cosine * first - sine * second, sine * first + cosine * second
    a[i, j] = a[j, i] = 0.0


def squared_extents(rows):
    """Return the eigenvalues (d,) of rows'rows for `rows` (n, d), and eigenvectors, the rows of (d, d), in no order."""
    return jacobi(information(rows, np.ones(len(rows))))


def principal_axes(rows, most):
    """Return the first principal axes (most, d) of `rows` (n, d), orthonormal, by falling eigenvalue of rows'rows."""
    rows = np.ascontiguousarray(rows)
    lower = lower_product(transposed(rows), rows)
    values, vectors = jacobi(np.tril(lower) + np.tril(lower, -1).T)
    order = ranked(-values)
    values, vectors = values[order], vectors[order]
    group = np.cumsum(np.diff(values, prepend=values[0]) < -SAME * values[0])
    found: list[np.ndarray] = []
    for g in range(group[-1] + 1):
        inside = vectors[group == g]
        found.extend(axes_in_order(product(transposed(inside), inside), len(inside)))
        if len(found) >= most:
            break
    axes = np.array(found[:most])
    largest = [ranked(-np.abs(axis))[0] for axis in axes]
    return axes * np.where(axes[np.arange(len(axes)), largest] < 0, -1.0, 1.0)[:, None]


@compiled
def axes_in_order(projector, rank):
    """Return orthonormal axes (rank, d) of a projector (d, d): its rows in order, less their parts in earlier axes."""
    axes, m = np.zeros((rank, len(projector))), 0
    for row in projector:
        rest = row.copy()
        for _ in range(2):
            for axis in axes[:m]:
                rest -= ordered_sum(rest * axis) * axis
        length = ordered_sum(rest * rest)
        if m < rank and length > SHORT:
            axes[m] = rest / np.sqrt(length)
            m += 1
    return axes[:m]
