"""Eigenvectors that are a function of the matrix: those of a multiple eigenvalue are taken from its projector.

Principal axes whose eigenvalues differ by less than SAME of the largest are rows of that projector, each less what the
ones before span, in their order: the axis with the first coordinate comes first. Of each the entry of largest size is
positive.
"""

import numpy as np
from numba import njit

from bandits_lib.numerics.ordered import information, lower_product, product, transposed
from bandits_lib.numerics.ties import ranked

SWEEPS = 60
SAME = 1e-9  # relative difference below which two eigenvalues are one
SHORT = 1e-6  # squared length of what is left of a projector's row that makes no axis


@njit(cache=True, error_model="numpy")
def jacobi(matrix):
    """Eigenvalues (r,) and eigenvectors, the rows of (r, r), of a symmetric matrix, by Jacobi's rotations in turn."""
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


@njit(cache=True, error_model="numpy")
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
    """Eigenvalues (d,) of rows'rows for `rows` (n, d), and eigenvectors, the rows of (d, d), in no order."""
    return jacobi(information(rows, np.ones(len(rows))))


def principal_axes(rows, most):
    """The first `most` principal axes of `rows` (n, d), by falling eigenvalue of rows'rows: orthonormal (most, d)."""
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


@njit(cache=True, error_model="numpy")
def axes_in_order(projector, rank):
    """Orthonormal axes (rank, d) of a projector (d, d): its rows in their order, each less its part in those before."""
    axes, m = np.zeros((rank, len(projector))), 0
    for row in projector:
        rest = row.copy()
        for _ in range(2):
            for axis in axes[:m]:
                inside = 0.0
                for k in range(len(rest)):
                    inside += rest[k] * axis[k]
                for k in range(len(rest)):
                    rest[k] -= inside * axis[k]
        length = 0.0
        for value in rest:
            length += value * value
        if m < rank and length > SHORT:
            axes[m] = rest / np.sqrt(length)
            m += 1
    return axes[:m]
