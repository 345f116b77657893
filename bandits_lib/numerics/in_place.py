"""Run the loops of `linear_algebra` and write into given arrays.

Inner loops run along rows, over independent entries: they vectorise, and no sum is reordered.
"""

import numpy as np

from bandits_lib.numerics.kernels import kernel, merged

COLUMNS = 256  # columns treated at a time: they fit in the first-level cache


@merged
def add(out, x, a):
    for j in range(out.shape[0]):
        out[j] += a * x[j]


@merged
def add_four(out, x, y, z, w, a, b, c, d):
    """Add a x + b y + c z + d w to `out`, in this order."""
    for j in range(out.shape[0]):
        out[j] = (((out[j] + a * x[j]) + b * y[j]) + c * z[j]) + d * w[j]


@merged
def add_four_to_two(out, next, x, y, z, w, a, b, c, d, A, B, C, D):
    """Apply `add_four` to `out` with a, b, c, d and to `next` with A, B, C, D."""
    for j in range(out.shape[0]):
        xj, yj, zj, wj = x[j], y[j], z[j], w[j]
        out[j] = (((out[j] + a * xj) + b * yj) + c * zj) + d * wj
        next[j] = (((next[j] + A * xj) + B * yj) + C * zj) + D * wj


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


@kernel
def add_product(out, left, right, lower):
    """Add left (n, k) times right (k, m) to `out` (n, m); if `lower`, only to its lower triangle and a little above."""
    n, k = left.shape
    whole = k - k % 4
    for low in range(0, right.shape[1], COLUMNS):
        high = min(low + COLUMNS, right.shape[1])
        first = low if lower else 0
        for c in range(0, whole, 4):
            x, y, z, w = right[c, low:high], right[c + 1, low:high], right[c + 2, low:high], right[c + 3, low:high]
            for i in range(first, n - 1, 2):
                end = min(high, i + 2) if lower else high
                p, q = left[i, c : c + 4], left[i + 1, c : c + 4]
                add_four_to_two(
                    out[i, low:end], out[i + 1, low:end], x, y, z, w, p[0], p[1], p[2], p[3], q[0], q[1], q[2], q[3]
                )
            if (n - first) % 2 and n > first:
                p = left[n - 1, c : c + 4]
                add_four(out[n - 1, low:high], x, y, z, w, p[0], p[1], p[2], p[3])
        for c in range(whole, k):
            for i in range(first, n):
                end = min(high, i + 1) if lower else high
                add(out[i, low:end], right[c, low:high], left[i, c])


@kernel
def apply(matrix, vector, out):
    for i in range(matrix.shape[0]):
        out[i] = inner(matrix[i], vector)


@kernel
def add_combination(out, vector, matrix):
    for i in range(matrix.shape[0]):
        add(out, matrix[i], vector[i])


@kernel
def row_products(left, right, out):
    for i in range(left.shape[0]):
        out[i] = inner(left[i], right[i])


@kernel
def symmetric_products(left, right, out):
    """Set `out` (r, r) to the inner products of the rows of left (r, n) and right (r, n), known to be symmetric."""
    for i in range(left.shape[0]):
        for j in range(i + 1):
            out[i, j] = out[j, i] = inner(left[i], right[j])


@kernel
def factor(upper, least):
    """Replace A (n, n) by Cholesky's R, R'R = A; set rows of pivot <= least (n,) to 0; return how many."""
    n, skipped = upper.shape[0], 0
    for start in range(0, n, 4):
        stop = min(start + 4, n)
        skipped += _factor_rows(upper, start, stop, least)
        if stop < n:
            _take_four(upper, start)
    for i in range(n):
        upper[i, :i] = 0.0
    return skipped


@merged
def _factor_rows(upper, start, stop, least):
    skipped = 0
    for k in range(start, stop):
        if upper[k, k] > least[k]:
            pivot = np.sqrt(upper[k, k])
            for j in range(k, upper.shape[0]):
                upper[k, j] /= pivot
            for i in range(k + 1, stop):
                add(upper[i, i:], upper[k, i:], -upper[k, i])
        else:
            upper[k, k:] = 0.0
            skipped += 1
    return skipped


@merged
def _take_four(upper, start):
    n = upper.shape[0]
    x, y, z, w = upper[start], upper[start + 1], upper[start + 2], upper[start + 3]
    i = start + 4
    while i + 1 < n:
        add_four_to_two(
            upper[i, i:], upper[i + 1, i:], x[i:], y[i:], z[i:], w[i:],
            -x[i], -y[i], -z[i], -w[i], -x[i + 1], -y[i + 1], -z[i + 1], -w[i + 1],
        )  # fmt: skip
        i += 2
    if i < n:
        add_four(upper[i, i:], x[i:], y[i:], z[i:], w[i:], -x[i], -y[i], -z[i], -w[i])


@kernel
def invert_triangle(upper, out):
    """Set the upper triangle of `out` (n, n) to the inverse of the triangular `upper`."""
    n = upper.shape[0]
    for i in range(n - 1, -1, -1):
        out[i, i] = 1.0 / upper[i, i]
        for k in range(i + 1, n):
            add(out[i, k:], out[k, k:], -upper[i, k] / upper[i, i])


@kernel
def solve_transposed(upper, x):
    """Solve R'x = b for R upper triangular (n, n), in the place of b (n,); x is 0 where R has no pivot."""
    for k in range(upper.shape[0]):
        x[k] = x[k] / upper[k, k] if upper[k, k] != 0.0 else 0.0
        add(x[k + 1 :], upper[k, k + 1 :], -x[k])


@kernel
def solve_upper(upper, x):
    """Solve R x = b for R upper triangular (n, n), in the place of b (n,)."""
    for k in range(upper.shape[0] - 1, -1, -1):
        x[k] = (x[k] - inner(upper[k, k + 1 :], x[k + 1 :])) / upper[k, k]


@kernel
def mirror(columns):
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


@kernel
def take_away(columns, unit, lengths, along):
    """Subtract from columns (k, n) their parts along `unit` (k,); set squared `lengths` (n,) anew. Scratch: along."""
    for low in range(0, columns.shape[1], COLUMNS):
        high = min(low + COLUMNS, columns.shape[1])
        part, left = along[low:high], lengths[low:high]
        part[:] = 0.0
        for c in range(unit.shape[0]):
            add(part, columns[c, low:high], unit[c])
        left[:] = 0.0
        for c in range(unit.shape[0]):
            add(columns[c, low:high], part, -unit[c])
            add_squares(left, columns[c, low:high])


@merged
def add_squares(out, x):
    for j in range(out.shape[0]):
        out[j] += x[j] * x[j]


@kernel
def unit_outside(vector, basis, unit):
    """Set `unit` to the part of `vector` outside the span of the orthonormal rows of `basis`, scaled to length one."""
    for c in range(unit.shape[0]):
        unit[c] = vector[c]
    for _ in range(2):
        for i in range(basis.shape[0]):
            add(unit, basis[i], -inner(unit, basis[i]))
        length = np.sqrt(inner(unit, unit))
        for c in range(unit.shape[0]):
            unit[c] /= length
