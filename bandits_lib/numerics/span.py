"""The estimable span, and the one rule that decides its dimension: only directions in it can be estimated.

Arms that do not span R^d are normal (eliminated sets, indicator features). The rule: scale the arms to length one,
since what is estimable does not depend on their lengths; the span is that of the fewest principal axes (singular
vectors) within RANK_TOL of which all these arms lie. So every arm lies in the span of the arms.

Designs work in coordinates of the span: with V (d, r) an orthonormal basis, x -> R^-T V'x where R'R = (XV)'(XV). In
these coordinates the arms have orthonormal columns, so a change of basis or of units in the input changes nothing, and
norms ||y||_{A(lambda)^-1} are those of the original problem. Least squares rests on the same: `inverse_root` takes
R from the weighted arms. No matrix A is formed or inverted there, which would square the ratio of their scales.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

RANK_TOL = 1e-7  # distance from a subspace, relative to a vector's own scale, that counts as rounding errors
EASY = 1e4  # condition number up to which weighted arms need no care
GRADED = 1e3  # ratio of lengths above which QR takes the long rows first


def triangle(rows):
    """Upper triangular R (r, r) with R'R = rows'rows, for `rows` (n, r), n >= r, without forming that product."""
    return np.asarray(np.linalg.qr(rows, mode="r"))


def graded_triangle(rows):
    """As `triangle`; of rows whose lengths differ by decades the long ones first: QR is then accurate row by row."""
    longest = np.abs(rows).max(axis=1)
    if longest.max() <= GRADED * longest[longest > 0].min():
        return triangle(rows)
    return triangle(rows[np.argsort(-longest, kind="stable")])


def basis(vectors):
    """Orthonormal basis (d, r) of the row space of `vectors` (n, d), by the rank rule; (d, 0) if all are zero."""
    lengths = np.linalg.norm(vectors, axis=1)
    unit = vectors[lengths > 0] / lengths[lengths > 0, None]
    n, d = unit.shape
    if n == 0:
        return np.zeros((d, 0))
    _, singular, axes = np.linalg.svd(triangle(unit) if n > 4 * d else unit, full_matrices=False)
    if singular[-1] > RANK_TOL * np.sqrt(n):
        return axes.T
    squares = (unit @ axes.T) ** 2
    beyond = squares[:, ::-1].cumsum(axis=1)[:, ::-1].max(axis=0)  # squared distance from the span of the axes before
    return axes[: np.count_nonzero(beyond > RANK_TOL**2)].T


class Span(NamedTuple):
    """Coordinates of the span of the arms: `arms` (K, r) are the arms in it, `basis` (d, r), `scale` (r, r)."""

    arms: np.ndarray
    basis: np.ndarray
    scale: np.ndarray

    def coordinates(self, vectors):
        """(n, d) -> (n, r)."""
        return solve_triangular(self.scale, (vectors @ self.basis).T, trans="T").T

    def outside(self, vectors):
        """Distance (n,) of each row of `vectors` (n, d) from the span."""
        return outside(vectors, self.basis)

    def require(self, name, vectors, scale):
        """Raise unless every row of `vectors` lies in the span, up to RANK_TOL times its `scale` (n,)."""
        distance = self.outside(vectors)
        worst = int(np.argmax(distance - RANK_TOL * scale))
        if distance[worst] > RANK_TOL * scale[worst]:
            raise ValueError(
                f"{name} must lie in the span of the arms (rank {self.basis.shape[1]} in R^{self.basis.shape[0]}), but "
                f"number {worst} is at distance {distance[worst]:.3g} from it: add arms that measure it, or drop it"
            )


def span(arms):
    """The `Span` of `arms` (K, d), which must not all be zero."""
    directions = basis(arms)
    projected = arms @ directions
    scale = graded_triangle(projected)
    return Span(solve_triangular(scale, projected.T, trans="T").T.copy(), directions, scale)


def far_apart(rows):
    """Whether the singular values of `rows` (n, r) of rank r differ by more than EASY."""
    singular = np.linalg.svd(graded_triangle(rows), compute_uv=False)
    return bool(singular[0] > EASY * singular[-1])


def scaled_axes(arms):
    """Coordinates (d, r) for rules that keep A and its inverse: x -> axes'x, A then has no scales far apart.

    arms : (K, d), not all zero. An orthonormal basis V of the span where singular values of the arms are within EASY
    of each other; else VR^-1, the coordinates of `Span`. Values z'theta and norms ||z|| in A^-1 do not depend on it.
    """
    space = span(arms)
    if not far_apart(space.scale):
        return space.basis
    return np.ascontiguousarray(solve_triangular(space.scale, space.basis.T, trans="T").T)


def outside(vectors, axes):
    """Distance (n,) of each row of `vectors` (n, d) from the span of orthonormal `axes` (d, r); 0 if r = d."""
    if axes.shape[0] == axes.shape[1]:
        return np.zeros(len(vectors))
    return np.linalg.norm(vectors - (vectors @ axes) @ axes.T, axis=1)


def inverse_root(rows, weights):
    """Root S (r, d) of the inverse of A = sum_i weights_i rows_i rows_i' on its range, and a basis (d, r) of that.

    rows : (n, d); weights : (n,), positive. The range is the span of the rows by the rank rule: neither their lengths
    nor their weights matter to it. ||S y||^2 is the squared norm of y in A^-1, for y in that span.
    """
    axes = basis(rows)
    if axes.shape[1] == axes.shape[0]:
        axes = np.eye(len(axes))
    weighted = np.sqrt(weights)[:, None] * (rows @ axes)
    order = np.argsort(-np.abs(weighted).max(axis=1), kind="stable")
    return solve_triangular(triangle(weighted[order]), axes.T, trans="T"), axes


def quick_inverse_root(rows, weights):
    """As `inverse_root`, by one SVD of the weighted rows where this leaves no doubt about the rank; rank 0 allowed."""
    if not rows.any():
        return np.zeros((0, rows.shape[1])), np.zeros((rows.shape[1], 0))
    weighted = rows * np.sqrt(weights)[:, None]
    _, singular, axes = np.linalg.svd(weighted, full_matrices=False)
    rank = np.count_nonzero(singular > singular[0] / EASY)
    if rank < len(singular):
        lengths = np.linalg.norm(weighted, axis=1)
        if singular[rank] > 0.1 * RANK_TOL * lengths[lengths > 0].min():  # at length one, rows may reach further
            return inverse_root(rows, weights)
    return axes[:rank] / singular[:rank, None], axes[:rank].T
