"""Directions as the solvers see them: a list of vectors, or all differences of a set of items, never formed.

Both answer the same questions about a norm ||y||_{A^-1} = |S y|: the largest squared norm, and which
directions exceed a level. Differences of items are pairs of points S z_i that are far from each other (`scan`).
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from bandits_lib.checks import check_matrix
from bandits_lib.design.scan import scan, walk
from bandits_lib.numerics.ordered import product, squares, transposed
from bandits_lib.numerics.ties import argmax, largest_first

START = 0.8  # first directions: squared norm at least START times the largest found by a walk


class Pairs(NamedTuple):
    """All differences z_i - z_j, i < j, of the rows of `items` (n, d)."""

    items: np.ndarray


def pairs(items):
    """All differences of rows of `items`, as directions for `xy_design`, `weighted_design`, `frank_wolfe_design`.

    Parameters
    ----------
    items : (n, d) array_like
        Items, one per row. Their n(n-1)/2 differences are never formed.

    Returns
    -------
    Pairs
        To be handed to a design, which refuses pairs of fewer than two distinct items.

    Raises
    ------
    ValueError
        If `items` is not a finite, non-empty 2-D array.

    Examples
    --------
    >>> from bandits_lib.design import xy_design
    >>> round(xy_design(np.eye(3), pairs(np.eye(3))).value, 2)
    6.0
    """
    return Pairs(check_matrix("items", items))


class Listed(NamedTuple):
    """Directions given one by one: `rows` (n, r) in coordinates of the span."""

    rows: np.ndarray

    def spanning(self):
        """Vectors that span the directions, and the length that errors are relative to."""
        return self.rows, np.sqrt(squares(self.rows))

    def value(self, root):
        """Largest squared norm."""
        return squared_norms(self.rows, root).max()

    def beyond(self, root, level, most):
        """Largest squared norm, and up to `most` directions (m, r) with squared norm above `level`, worst first."""
        return _listed_beyond(self.rows, root, level, most)

    def first(self, root, most):
        """Up to `most` directions to start with: the longest."""
        return self.beyond(root, -1.0, most)[1]

    def unit(self):
        """Largest squared length: in other units of the directions it is another number, and nothing else moves it."""
        return float(squares(self.rows).max())

    def all_among(self, rows):
        """Whether there are no directions but `rows`, which are some of them."""
        return len(rows) == len(self.rows)

    def worst(self, root):
        """The first direction of largest squared norm, by the shared rule for ties, and that norm."""
        norms = squared_norms(self.rows, root)
        row = argmax(norms)
        return self.rows[row], float(norms[row])


@njit(cache=True, error_model="numpy")
def squared_norms(rows, root):
    """Squared norms (n,) of rows (n, r)."""
    return squares(product(rows, transposed(root)))


@njit(cache=True, error_model="numpy")
def _listed_beyond(rows, root, level, most):
    """As `Listed.beyond`; most often there is nothing above the level, and nothing is sorted."""
    norms = squared_norms(rows, root)
    above = np.flatnonzero(norms > level)
    if len(above) == 0:
        return norms.max(), rows[:0]
    order = largest_first(norms, most)
    return norms.max(), rows[order[norms[order] > level]]


class Differences(NamedTuple):
    """All differences of `items` (n, r), in coordinates of the span."""

    items: np.ndarray

    def spanning(self):
        """Vectors that span the directions, and the length that errors are relative to."""
        rows = self.items - self.items[0]
        return rows, np.full(len(rows), np.sqrt(squares(rows).max()))

    def value(self, root):
        """Largest squared norm, to the tie: the squared diameter of the rotated items."""
        points = product(self.items, transposed(root))
        i, j, reached = walk(points)
        first, second = self.farthest(root, points, reached, i, j, len(points))
        return float(max(reached, _squared(points, first, second).max(initial=0.0)))

    def beyond(self, root, level, most):
        """Largest squared norm, and up to `most` differences (m, r) with squared norm above `level`, worst first."""
        points = product(self.items, transposed(root))
        i, j, _ = walk(points)
        i, j = self.farthest(root, points, level, i, j, most)
        norms = _squared(points, i, j)
        i, j, norms = (values[norms > level] for values in (i, j, norms))
        order = largest_first(norms, most)
        return float(norms.max(initial=level)), self.items[i[order]] - self.items[j[order]]

    def farthest(self, root, points, level, far, near, most):
        """As `scan`, of the items' `points` under `root`; rows that are not among the `most` worst may be missing."""
        return scan(points, level, far, near)

    def listed(self):
        """The same directions one by one, row by row of pairs i < j, without zeros; for few items."""
        i, j = np.triu_indices(len(self.items), 1)
        rows = self.items[i] - self.items[j]
        return Listed(rows[rows.any(axis=1)])

    def first(self, root, most):
        """Up to `most` differences to start with, all nearly as long as the longest."""
        points = product(self.items, transposed(root))
        return self.beyond(root, START * walk(points)[2], most)[1]

    def unit(self):
        """Largest squared distance of an item from their mean, which takes the place of a longest difference."""
        return float(squares(self.items - self.items.mean(axis=0)).max())

    def all_among(self, rows):
        """False: there are more than can be listed."""
        return False

    def worst(self, root):
        """The first pair (i < j, row by row) of largest squared norm, by the shared rule for ties."""
        points = product(self.items, transposed(root))
        i, j, reached = walk(points)
        first, second = scan(points, reached * (1 - 1e-6), i, j, every=True)
        first, second = np.minimum(first, second), np.maximum(first, second)
        order = np.lexsort((second, first))
        first, second = first[order], second[order]
        norms = _squared(points, first, second)
        pair = argmax(norms)
        return self.items[first[pair]] - self.items[second[pair]], float(norms[pair])


def _squared(points, i, j):
    return squares(points[i] - points[j])
