"""Define directions of a design: a list of vectors, or all differences of a set of items, which are never formed.

`scan` finds pairs of points that are far apart. With any centre c, |w_i - w_j| <= |w_i - c| + |w_j - c|, so it skips
pairs whose radii add up to less than the distance sought. A Gram matrix filters the others block by block, and the
distances of pairs that pass are computed again from the differences. Time is O(n^2 r) at worst, memory O(BLOCK).

In the plane the longest difference in any norm is a vertex of the difference body conv(Z) - conv(Z), which has at most
n vertices up to sign.
"""

from typing import NamedTuple

import numpy as np

from bandits_lib.checks import check_matrix
from bandits_lib.numerics.kernels import compiled, merged
from bandits_lib.numerics.linear_algebra import product, squares, transposed
from bandits_lib.numerics.ties import TIE, argmax, largest_first, ranked

BLOCK = 1 << 18  # entries of the distance matrix held at a time
SAFE = 8e-9  # share of the largest squared radius: above the rounding errors of a Gram matrix, and above a tie


def walk(points):
    """Return indices i, j of two far points and their squared distance, by walking from point to farthest point."""
    j = argmax(squares(points - points.mean(axis=0)))
    i, reached = j, 0.0
    while True:
        norms = squares(points - points[j])
        k = argmax(norms)
        if norms[k] <= reached * (1 + 1e-9):
            return i, j, reached
        i, j, reached = j, k, norms[k]


def scan(points, level, far, near, every=False, once=False):
    """Return pairs (i, j) that may have a squared distance above `level`: every one, or the farthest of each row i.

    A row is compared with the points of its block and those further in; `once` leaves out pairs that came before.
    """
    order, points, radius, reach = outside_in(points - (points[far] + points[near]) / 2, level)
    square = squares(points)
    slack = SAFE * square.max(initial=0.0)
    found = [(np.empty(0, int), np.empty(0, int))]
    start, n = 0, len(order)
    room = np.empty(max(BLOCK, n))
    while start < n:
        stop = later(radius, start, reach)
        if stop <= start:
            break
        end = min(start + max(1, BLOCK // (stop - start)), stop)
        gram = room[: (end - start) * (stop - start)].reshape(end - start, stop - start)
        np.matmul(points[start:end] * -2.0, points[start:stop].T, out=gram)
        gram += square[start:stop]
        if once:
            gram[np.tril_indices(len(gram))] = -np.inf
        floor = level - square[start:end] - slack
        if every:
            found.append(_all_above(gram, floor, start))
        else:
            found.append(_farthest_above(gram, gram.max(axis=1), floor, start, slack, points, order))
        start = end
    first, second = (np.concatenate(part) for part in zip(*found, strict=True))
    return order[first], order[second]


def outside_in(points, level):
    """Return indices, points, radii of centred points that matter, farthest first, and the least sum of two radii."""
    radius = np.sqrt(squares(points))
    reach = np.sqrt(max(level, 0.0)) - 2 * SAFE * radius.max()
    order = np.flatnonzero(radius >= reach - radius.max())
    order = order[ranked(-radius[order])]
    return order, points[order], np.minimum.accumulate(radius[order]), reach  # `ranked` sorts up to ties only


def later(radius, start, reach):
    return int(np.searchsorted(-radius, radius[start] - reach, side="right"))


def _all_above(gram, floor, start):
    row, column = np.nonzero(gram > floor[:, None])
    later = column > row
    return row[later] + start, column[later] + start


@compiled
def _farthest_above(gram, top, floor, start, slack, points, order):
    """Return rows of a block (from `start`) whose largest entry `top` is above `floor`, and their farthest points."""
    rows, columns, found = np.empty(len(gram), np.int64), np.empty(len(gram), np.int64), 0
    for i in range(len(gram)):
        if top[i] > floor[i]:
            reached, chosen = 0.0, -1
            for j in range(gram.shape[1]):
                if gram[i, j] >= top[i] - slack:
                    reached = max(reached, distance(points, start + i, start + j))
            for j in range(gram.shape[1]):
                if gram[i, j] >= top[i] - slack and distance(points, start + i, start + j) >= reached * (1 - TIE):
                    if chosen < 0 or order[start + j] < order[chosen]:
                        chosen = start + j
            rows[found], columns[found] = start + i, chosen
            found += 1
    return rows[:found], columns[:found]


@merged
def distance(points, i, j):
    out = 0.0
    for c in range(points.shape[1]):
        step = points[i, c] - points[j, c]
        out += step * step
    return out


START = 0.8  # the first directions have squared norms of at least START times the largest that a walk finds


class Pairs(NamedTuple):
    """All differences z_i - z_j, i < j, of the rows of `items` (n, d)."""

    items: np.ndarray


def pairs(items: np.ndarray) -> Pairs:
    """Return all differences of rows of `items`, as directions for a design.

    Parameters
    ----------
    items : (n, d) array_like
        Items, one per row. Their n(n-1)/2 differences are never formed.

    Returns
    -------
    Pairs
        The `directions` argument of `xy_design`, `weighted_design` and `frank_wolfe_design`.

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
        """Return vectors that span the directions, and the lengths to which errors are relative."""
        return self.rows, np.sqrt(squares(self.rows))

    def value(self, root):
        return squared_norms(self.rows, root).max()

    def beyond(self, root, level, most):
        """Return the largest squared norm, and up to `most` directions (m, r) above `level`, largest first."""
        return _listed_beyond(self.rows, root, level, most)

    def first(self, root, most):
        return self.beyond(root, -1.0, most)[1]

    def unit(self):
        """Return the largest squared length, which changes with the units of the directions and with nothing else."""
        return float(squares(self.rows).max())

    def all_among(self, rows):
        return len(rows) == len(self.rows)

    def worst(self, root):
        """Return the first direction of largest squared norm, by the shared rule for ties, and that norm."""
        norms = squared_norms(self.rows, root)
        row = argmax(norms)
        return self.rows[row], float(norms[row])


@compiled
def squared_norms(rows, root):
    return squares(product(rows, transposed(root)))


@compiled
def _listed_beyond(rows, root, level, most):
    """Return the same as `Listed.beyond`; in most calls no norm is above the level, and nothing is sorted."""
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
        rows = self.items - self.items[0]
        return rows, np.full(len(rows), np.sqrt(squares(rows).max()))

    def value(self, root):
        """Return the largest squared norm to within a tie: the squared diameter of the rotated items."""
        points = product(self.items, transposed(root))
        i, j, reached = walk(points)
        first, second = self.farthest(root, points, reached, i, j, len(points))
        return float(max(reached, _squared(points, first, second).max(initial=0.0)))

    def beyond(self, root, level, most):
        """Return the largest squared norm, and up to `most` differences (m, r) above `level`, largest first."""
        points = product(self.items, transposed(root))
        i, j, _ = walk(points)
        i, j = self.farthest(root, points, level, i, j, most)
        norms = _squared(points, i, j)
        i, j, norms = (values[norms > level] for values in (i, j, norms))
        order = largest_first(norms, most)
        return float(norms.max(initial=level)), self.items[i[order]] - self.items[j[order]]

    def farthest(self, root, points, level, far, near, most):
        """Return pairs as `scan` does for the items' `points` under `root`; those beyond `most` may be missing."""
        return scan(points, level, far, near)

    def listed(self):
        """Return the same directions as a list, row by row of pairs i < j, without zeros; for few items."""
        i, j = np.triu_indices(len(self.items), 1)
        rows = self.items[i] - self.items[j]
        return Listed(rows[rows.any(axis=1)])

    def first(self, root, most):
        """Return up to `most` differences to start with, all nearly as long as the longest."""
        points = product(self.items, transposed(root))
        return self.beyond(root, START * walk(points)[2], most)[1]

    def unit(self):
        return float(squares(self.items - self.items.mean(axis=0)).max())

    def all_among(self, rows):
        return False

    def worst(self, root):
        """Return the first difference (i < j, row by row) of largest squared norm, to within a tie, and that norm."""
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


PARALLEL = 2.0**-36  # smaller angles between edges, in quarter turns, are rounding errors
COLLINEAR = 1e-10  # points lie on a line if their spread across it is at most this share of their spread along it


@compiled
def _chain(x, y, order):
    """Return the indices in `order` that turn left, from the first to the last, by Andrew's (1979) monotone chain."""
    kept = np.empty(len(order), np.int64)
    n = 0
    for k in order:
        while n >= 2:
            i, j = kept[n - 2], kept[n - 1]
            if (x[j] - x[i]) * (y[k] - y[i]) - (y[j] - y[i]) * (x[k] - x[i]) > 0:
                break
            n -= 1
        kept[n] = k
        n += 1
    return kept[:n]


def hull(points):
    """Return the indices of the vertices of the convex hull of `points` (n, 2), counter-clockwise."""
    x, y = np.ascontiguousarray(points.T)
    order = np.lexsort((y, x))
    return np.concatenate([_chain(x, y, order)[:-1], _chain(x, y, order[::-1].copy())[:-1]])


def difference_vertices(points):
    """Return the vertices (m, r), one of each pair +-y, of the difference body of `points` (n, r), r = 1 or 2."""
    if points.shape[1] == 1:
        return np.ptp(points, axis=0, keepdims=True)
    centred = points - points.mean(axis=0)
    length = np.sqrt(squares(centred))
    axis = centred[argmax(length)] / length.max()
    along = centred[:, 0] * axis[0] + centred[:, 1] * axis[1]
    across = centred[:, 1] * axis[0] - centred[:, 0] * axis[1]
    if np.abs(across).max() <= COLLINEAR * length.max():
        return points[[argmax(along)]] - points[[argmax(-along)]]
    shape = np.stack([along / length.max(), across / np.abs(across).max()], axis=1)  # angles are well apart
    top, bottom = _opposite(shape)
    rows = points[top] - points[bottom]
    return rows[rows.any(axis=1)]


def _opposite(points):
    """Return indices (m,), (m,) of the points farthest along u and -u, for one u between any two edge normals."""
    vertices = hull(points)
    angles = _turn(points[np.roll(vertices, -1)] - points[vertices])
    first = argmax(-angles)
    vertices, angles = np.roll(vertices, -first), np.roll(angles, -first)
    breaks = np.sort(angles % 2)
    breaks = breaks[np.diff(breaks, prepend=breaks[-1] - 2) > PARALLEL]  # parallel edges of both sides are one break
    between = (breaks + np.append(breaks[1:], breaks[0] + 2)) / 2
    top = np.searchsorted(angles, between % 4, side="right")
    bottom = np.searchsorted(angles, (between + 2) % 4, side="right")
    return vertices[top % len(vertices)], vertices[bottom % len(vertices)]


def _turn(vectors):
    x, y = vectors[:, 0], vectors[:, 1]
    part = y / (np.abs(x) + np.abs(y))
    return np.where(x < 0, 2 - part, np.where(y < 0, 4 + part, part)) % 4
