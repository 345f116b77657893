"""Compute the span of the arms, and decide its dimension by one rule.

The rule: scale the arms to length one, then take the arm farthest from the span of those taken before, until all lie
within RANK_TOL of it. Designs work in coordinates of the span: x -> R^-T V'x, with an orthonormal basis V (d, r) and
R'R = (XV)'(XV). The arms then have orthonormal columns, so a change of basis or of units changes nothing.
"""

from typing import NamedTuple

import numpy as np

from bandits_lib.numerics.kernels import compiled, merged
from bandits_lib.numerics.linear_algebra import (
    independent,
    information,
    inverse_triangle,
    ordered_sum,
    product,
    scaled_rows,
    squares,
    transposed,
    triangle,
    upper_factor,
)
from bandits_lib.numerics.ties import ranked

RANK_TOL = 1e-7  # smaller distances from a subspace, relative to a vector's own scale, count as rounding errors
EASY = 1e4  # condition number up to which weighted arms need no care
CLEAR = 1e-3  # pivots of unit vectors above which these are independent beyond doubt
GRADED = 1e3  # ratio of lengths above which QR takes the long rows first


@compiled
def graded_triangle(rows):
    """Return `triangle` of the rows, long ones first if lengths differ by decades: QR is then accurate row by row."""
    longest = row_maxima(rows)
    least = np.inf
    for length in longest:
        least = min(least, length if length > 0 else np.inf)
    if longest.max() <= GRADED * least:
        return triangle(rows)
    return triangle(rows[ranked(-longest)])


def basis(vectors):
    """Return an orthonormal basis (d, r) of the row space of `vectors` (n, d), by the rank rule; (d, 0) if all zero."""
    return basis_of(_writable(vectors))


def _writable(matrix):
    matrix = np.ascontiguousarray(matrix, dtype=float)
    return matrix if matrix.flags.writeable else matrix.copy()


@compiled
def basis_of(vectors):
    lengths, (many, d), n = squares(vectors), vectors.shape, 0
    unit = np.empty((len(np.flatnonzero(lengths)), d))
    for i in range(many):
        if lengths[i] > 0:
            length = np.sqrt(lengths[i])
            for c in range(d):
                unit[n, c] = vectors[i, c] / length
            n += 1
    if n == 0:
        return np.zeros((d, 0))
    if n >= d and clearly_independent(unit):
        return np.eye(d)
    axes = independent(unit, RANK_TOL)[1]
    return np.eye(d) if len(axes) == d else transposed(axes)


@merged
def clearly_independent(unit):
    """Return whether vectors of length one (n, d) span R^d beyond doubt: no pivot of their Gram matrix is small."""
    upper, regular = upper_factor(information(unit, np.ones(len(unit))))
    for i in range(len(upper)):
        regular = regular and upper[i, i] > CLEAR
    return regular


class Span(NamedTuple):
    """Coordinates of the span of the arms: the `arms` (K, r) in them, its `basis` (d, r), and the `scale` (r, r)."""

    arms: np.ndarray
    basis: np.ndarray
    scale: np.ndarray

    def coordinates(self, vectors):
        inside = product(np.ascontiguousarray(vectors, dtype=float), self.basis)
        return product(inside, inverse_triangle(self.scale))

    def outside(self, vectors):
        return outside(vectors, self.basis)

    def require(self, name, vectors, scale):
        """Raise ValueError unless every row of `vectors` lies in the span, up to RANK_TOL times its `scale` (n,)."""
        distance = self.outside(vectors)
        worst = int(np.argmax(distance - RANK_TOL * scale))
        if distance[worst] > RANK_TOL * scale[worst]:
            raise ValueError(
                f"{name} must lie in the span of the arms (rank {self.basis.shape[1]} in R^{self.basis.shape[0]}), but "
                f"row {worst} is at distance {distance[worst]:.3g} from the span: add arms that measure it, or "
                "drop the row"
            )


def span(arms):
    """Return the `Span` of `arms` (K, d), which must not all be zero."""
    directions = basis(arms)
    projected = product(arms, directions)
    scale = graded_triangle(projected)
    return Span(product(projected, inverse_triangle(scale)), directions, scale)


def far_apart(rows):
    """Return whether the condition number of `rows` (n, r) of rank r, by Frobenius norms, exceeds EASY."""
    upper = graded_triangle(rows)
    return bool(ordered_sum(squares(upper)) * ordered_sum(squares(inverse_triangle(upper))) > EASY**2)


def scaled_axes(arms):
    """Return axes (d, r) of coordinates x -> axes'x for rules that keep A and A^-1: A then has no scales far apart."""
    space = span(arms)
    if not far_apart(space.scale):
        return space.basis
    return product(space.basis, inverse_triangle(space.scale))


def outside(vectors, axes):
    """Return the distance (n,) of each row of `vectors` (n, d) from the span of orthonormal `axes` (d, r)."""
    return outside_of(_writable(vectors), _writable(axes))


@compiled
def outside_of(vectors, axes):
    if axes.shape[0] == axes.shape[1]:
        return np.zeros(len(vectors))
    return np.sqrt(squares(vectors - product(product(vectors, axes), transposed(axes))))


def inverse_root(rows, weights):
    """Return a root S (r, d) of the inverse of A = sum_i weights_i rows_i rows_i' on its range, and a basis (d, r)."""
    axes = basis_of(rows)
    return _root(rows, weights, axes), axes


@compiled
def _root(rows, weights, axes):
    weighted = scaled_rows(product(rows, axes), np.sqrt(weights))
    upper = triangle(weighted[ranked(-row_maxima(weighted))])
    return transposed(product(axes, inverse_triangle(upper)))


@merged
def row_maxima(rows):
    out = np.zeros(len(rows))
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            out[i] = max(out[i], abs(rows[i, j]))
    return out


def quick_inverse_root(rows, weights):
    """Return the same as `inverse_root`, from the weighted rows alone if these leave the rank in no doubt."""
    n, d = rows.shape
    if not rows.any():
        return np.zeros((0, d)), np.zeros((d, 0))
    if n >= d:
        upper = triangle(np.sqrt(weights)[:, None] * rows)
        if np.diag(upper).min() * EASY > np.diag(upper).max():
            inverse = inverse_triangle(upper)
            if ordered_sum(squares(upper)) * ordered_sum(squares(inverse)) < EASY**2:
                return transposed(inverse), np.eye(d)
    return inverse_root(np.ascontiguousarray(rows, dtype=float), np.ascontiguousarray(weights, dtype=float))
