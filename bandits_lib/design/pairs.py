"""Directions as the solvers see them: a list of vectors, or all differences of a set of items, never formed.

Both answer the same questions about a norm ||y||_{A^-1} = |S y|: the largest squared norm, and which
directions exceed a level. For differences of n items these are far pairs among the points w_i = S z_i. If c is
any centre, |w_i - w_j| <= |w_i - c| + |w_j - c|, so pairs whose radii add up to less than the level are
skipped; the rest is scanned block by block through a Gram matrix, and what is found is recomputed from the
differences themselves. Time O(n^2 r) at worst, memory O(BLOCK).
"""

from typing import NamedTuple

import numpy as np

from bandits_lib.design import check
from bandits_lib.estimate import argmax

BLOCK = 1 << 18  # entries of the distance matrix held at a time
START = 0.8  # first directions: squared norm at least START times the largest found by a walk


class Pairs(NamedTuple):
    """All differences z_i - z_j, i < j, of the rows of `items` (n, d)."""

    items: np.ndarray


def pairs(items):
    """All differences of rows of `items`, as directions for `xy_design`, `weighted_design`, `frank_wolfe_design`.

    Parameters
    ----------
    items : (n, d) array. The n(n-1)/2 differences are never formed.

    Returns
    -------
    Pairs
        To be handed to a design.

    Raises
    ------
    ValueError
        If `items` is not a finite 2-D array. Designs refuse pairs of fewer than two distinct items.

    >>> from bandits_lib.design import xy_design
    >>> round(xy_design(np.eye(3), pairs(np.eye(3))).value, 2)
    6.0
    """
    return Pairs(check.matrix("items", items))


class Listed(NamedTuple):
    """Directions given one by one: `rows` (n, r) in coordinates of the span."""

    rows: np.ndarray

    def spanning(self):
        """Vectors that span the directions, and the length that errors are relative to."""
        return self.rows, np.linalg.norm(self.rows, axis=1)

    def value(self, root):
        """Largest squared norm."""
        return float(((self.rows @ root.T) ** 2).sum(axis=1).max())

    def beyond(self, root, level, most):
        """Largest squared norm, and up to `most` directions (m, r) with squared norm above `level`, worst first."""
        norms = ((self.rows @ root.T) ** 2).sum(axis=1)
        order = _largest(norms, most)
        return float(norms.max()), self.rows[order[norms[order] > level]]

    def first(self, root, most):
        """Up to `most` directions to start with: the longest."""
        return self.beyond(root, -1.0, most)[1]

    def worst(self, root):
        """The first direction of largest squared norm, by the shared rule for ties, and that norm."""
        norms = ((self.rows @ root.T) ** 2).sum(axis=1)
        row = argmax(norms)
        return self.rows[row], float(norms[row])


class Differences(NamedTuple):
    """All differences of `items` (n, r), in coordinates of the span."""

    items: np.ndarray

    def spanning(self):
        """Vectors that span the directions, and the length that errors are relative to."""
        rows = self.items - self.items[0]
        return rows, np.full(len(rows), np.linalg.norm(rows, axis=1).max())

    def value(self, root):
        """Largest squared norm: the squared diameter of the rotated items."""
        points = self.items @ root.T
        i, j = _walk(points)
        reached = _squared(points, i, j)
        first, second = _scan(points, reached * (1 + 1e-9), i, j)
        return float(max(reached, _squared(points, first, second).max(initial=0.0)))

    def beyond(self, root, level, most):
        """Largest squared norm, and up to `most` differences (m, r) with squared norm above `level`, worst first."""
        points = self.items @ root.T
        i, j = _scan(points, level, *_walk(points))
        norms = _squared(points, i, j)
        order = _largest(norms, most)
        order = order[norms[order] > level]
        return float(norms.max(initial=level)), self.items[i[order]] - self.items[j[order]]

    def listed(self):
        """The same directions one by one, row by row of pairs i < j, without zeros; for few items."""
        i, j = np.triu_indices(len(self.items), 1)
        rows = self.items[i] - self.items[j]
        return Listed(rows[rows.any(axis=1)])

    def first(self, root, most):
        """Up to `most` differences to start with, all nearly as long as the longest."""
        points = self.items @ root.T
        return self.beyond(root, START * _squared(points, *_walk(points)), most)[1]

    def worst(self, root):
        """The first pair (i < j, row by row) of largest squared norm, by the shared rule for ties."""
        points = self.items @ root.T
        i, j = _walk(points)
        reached = _squared(points, i, j)
        first, second = _scan(points, reached * (1 - 1e-6), i, j, every=True)
        first, second = np.minimum(first, second), np.maximum(first, second)
        order = np.lexsort((second, first))
        first, second = first[order], second[order]
        norms = _squared(points, first, second)
        pair = argmax(norms)
        return self.items[first[pair]] - self.items[second[pair]], float(norms[pair])


def _largest(values, most):
    """Indices of the `most` largest values, in decreasing order."""
    chosen = np.argpartition(-values, most)[:most] if len(values) > most else np.arange(len(values))
    return chosen[np.argsort(-values[chosen], kind="stable")]


def _squared(points, i, j):
    difference = points[i] - points[j]
    return (difference**2).sum(axis=-1)


def _walk(points):
    """Farthest-point walk: from i to the farthest j, from j to the farthest, until the distance stops growing."""
    j = int(((points - points.mean(axis=0)) ** 2).sum(axis=1).argmax())
    i, reached = j, 0.0
    while True:
        norms = ((points - points[j]) ** 2).sum(axis=1)
        k = int(norms.argmax())
        if norms[k] <= reached * (1 + 1e-12):
            return i, j
        i, j, reached = j, k, norms[k]


def _scan(points, level, far, near, every=False):
    """Pairs (i, j) of squared distance above `level`: the farthest j for each row i, or `every` one.

    The midpoint of the walk's pair (far, near) is the centre; rows go outwards in, so both ends of every
    pair that is skipped have radii adding up to less than sqrt(level).
    """
    points = points - (points[far] + points[near]) / 2
    radius = np.sqrt((points**2).sum(axis=1))
    reach = np.sqrt(max(level, 0.0)) * (1 - 1e-9)
    order = np.flatnonzero(radius >= reach - radius.max())
    order = order[np.argsort(-radius[order], kind="stable")]
    points, radius = points[order], radius[order]
    square = radius**2
    found = [(np.empty(0, int), np.empty(0, int))]
    start, n = 0, len(order)
    while start < n:
        stop = int(np.searchsorted(-radius, radius[start] - reach, side="right"))  # radius_j >= reach - radius_i
        if stop <= start:
            break
        end = min(start + max(1, BLOCK // (stop - start)), stop)
        gram = points[start:end] @ points[start:stop].T
        gram *= -2.0
        gram += square[start:stop]
        found.append(_above(gram, level - square[start:end], every, start))
        start = end
    first, second = (np.concatenate(part) for part in zip(*found, strict=True))
    return order[first], order[second]


def _above(gram, floor, every, start):
    """Entries of a block (rows `start`...) above `floor` (1 - 1e-12) per row: the largest of each row, or all."""
    floor = floor - 1e-12 * np.abs(floor)
    if every:
        row, column = np.nonzero(gram > floor[:, None])
        later = column > row
        return row[later] + start, column[later] + start
    column = gram.argmax(axis=1)
    row = np.flatnonzero(gram[np.arange(len(gram)), column] > floor)
    return row + start, column[row] + start
