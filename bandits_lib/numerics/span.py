"""The estimable span: only directions in the span of the arms can be estimated.

Arms that do not span R^d are normal (eliminated sets, indicator features). Every solver here works in
coordinates of the span: with V (d, r) an orthonormal basis from a thin SVD, x -> R^-T V'x where
R'R = (XV)'(XV). In these coordinates the arms have orthonormal columns, so a change of basis or of
units in the input changes nothing, and norms ||y||_{A(lambda)^-1} are those of the original problem.
The basis is taken from arms scaled to length one: what is estimable does not depend on their lengths.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from bandits_lib.estimate import RANK_TOL


def triangle(rows):
    """Upper triangular R (r, r) with R'R = rows'rows, for `rows` (n, r), n >= r, without forming that product."""
    return np.asarray(np.linalg.qr(rows, mode="r"))


def basis(vectors):
    """Orthonormal basis (d, r) of the row space of `vectors` (n, d), lengths disregarded."""
    lengths = np.linalg.norm(vectors, axis=1)
    unit = vectors[lengths > 0] / lengths[lengths > 0, None]
    if len(unit) > 4 * unit.shape[1]:
        unit = triangle(unit)
    _, singular, rows = np.linalg.svd(unit, full_matrices=False)
    return rows[singular > RANK_TOL * singular[0]].T


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
        return np.linalg.norm(vectors - (vectors @ self.basis) @ self.basis.T, axis=1)

    def require(self, name, vectors, scale):
        """Raise unless every row of `vectors` lies in the span, up to RANK_TOL times its `scale` (n,)."""
        outside = self.outside(vectors)
        worst = int(np.argmax(outside - RANK_TOL * scale))
        if outside[worst] > RANK_TOL * scale[worst]:
            raise ValueError(
                f"{name} must lie in the span of the arms (rank {self.basis.shape[1]} in R^{self.basis.shape[0]}), but "
                f"number {worst} is at distance {outside[worst]:.3g} from it: add arms that measure it, or drop it"
            )


def span(arms):
    """The `Span` of `arms` (K, d), which must not all be zero."""
    directions = basis(arms)
    projected = arms @ directions
    scale = triangle(projected)
    return Span(solve_triangular(scale, projected.T, trans="T").T.copy(), directions, scale)
