"""Find far pairs of very many items: a list found by one scan also serves the next norms.

If a list holds every pair of squared norm above `floor` in A^-1, and A'^-1 <= c A^-1, every other pair has a squared
norm of at most c floor in A'^-1. The answers equal those of `scan` with `once=True` to the last bit.

In up to FEW dimensions a tree of balls finds the pairs, otherwise blocks of a Gram matrix do. Let two nodes have the
centres a and b, the reaches R and R', and radii of sum s. Their points are at most |a - b| + s apart, and at most the
root of 2R^2 + 2R'^2 - (|a + b| - s)^2 if |a + b| > s.
"""

from typing import NamedTuple

import numpy as np

from bandits_lib.design.directions import SAFE, Differences, distance, later, outside_in, scan
from bandits_lib.design.g_optimal import spanning_arms
from bandits_lib.numerics.kernels import kernel, merged
from bandits_lib.numerics.linear_algebra import squares, transposed
from bandits_lib.numerics.ties import TIE, ranked

LEAF = 16


class Tree(NamedTuple):
    """A binary tree stored as a heap: node k has the children 2k + 1 and 2k + 2; the last half of nodes are leaves."""

    low: np.ndarray  # index of the first point of every node
    high: np.ndarray  # index after its last point
    centre: np.ndarray  # (nodes, d)
    radius: np.ndarray
    reach: np.ndarray  # largest distance of a point from the origin


def ball_tree(points):
    """Return an order (n,) of the points (n, d) in which nodes hold neighbours, and the `Tree`."""
    n = len(points)
    depth = max(0, int(np.ceil(np.log2(n / LEAF))))
    order = np.arange(n)
    for level in range(depth):
        low, high = _segments(n, level)
        sorted_points, node = points[order], np.repeat(np.arange(len(low)), high - low)
        spread = np.maximum.reduceat(sorted_points, low) - np.minimum.reduceat(sorted_points, low)
        along = sorted_points[np.arange(n), spread.argmax(axis=1)[node]]
        order = order[np.lexsort((along, node))]
    levels = [_nodes(points[order], *_segments(n, level)) for level in range(depth + 1)]
    return order, Tree(*(np.concatenate(part) for part in zip(*levels, strict=True)))


def _segments(n, level):
    ends = n * np.arange(2**level + 1) // 2**level
    return ends[:-1], ends[1:]


def _nodes(points, low, high):
    centre = (np.maximum.reduceat(points, low) + np.minimum.reduceat(points, low)) / 2
    radius = np.maximum.reduceat(squares(points - np.repeat(centre, high - low, axis=0)), low)
    return Tree(low, high, centre, np.sqrt(radius), np.sqrt(np.maximum.reduceat(squares(points), low)))


def pairs_in_tree(points, level, first, second):
    """Put pairs of squared distance above `level` into `first`, `second` (room,); return how many, -1 if too many."""
    order, tree = ball_tree(points)
    stack, row = np.empty(2 * len(tree.low), np.int64), np.empty(LEAF)
    found = _descend(transposed(points[order]), tree, level, stack, row, first, second)
    for half in (first, second):
        half[: max(found, 0)] = order[half[: max(found, 0)]]
    return found


@kernel
def _descend(columns, tree, level, stack, row, first, second):
    """Find `pairs_in_tree` of columns (d, n) in the order of the tree: compare each leaf with itself and later ones."""
    inner, found = len(tree.low) // 2, 0
    for leaf in range(inner, len(tree.low)):
        stack[0], size = 0, 1
        while size > 0:
            size -= 1
            node = stack[size]
            if tree.high[node] <= tree.low[leaf] or _bound(tree, leaf, node) < level:
                continue
            if node < inner:
                stack[size], stack[size + 1] = 2 * node + 1, 2 * node + 2
                size += 2
            else:
                found = _compare(columns, tree, leaf, node, level, row, first, second, found)
                if found < 0:
                    return found
    return found


@merged
def _bound(tree, i, j):
    """Return a bound on the squared distance between the points of node i and those of node j."""
    apart, across, spread = 0.0, 0.0, tree.radius[i] + tree.radius[j]
    for c in range(tree.centre.shape[1]):
        apart += (tree.centre[i, c] - tree.centre[j, c]) ** 2
        across += (tree.centre[i, c] + tree.centre[j, c]) ** 2
    gap = max(0.0, np.sqrt(across) - spread)
    return min((np.sqrt(apart) + spread) ** 2, 2 * (tree.reach[i] ** 2 + tree.reach[j] ** 2) - gap**2)


@merged
def _compare(columns, tree, leaf, node, level, row, first, second, found):
    """Compare the points of a leaf with the later ones of another; return how many pairs are found, -1 if too many."""
    low, high = tree.low[node], tree.high[node]
    for i in range(tree.low[leaf], tree.high[leaf]):
        row[:] = 0.0
        for c in range(columns.shape[0]):
            for j in range(high - low):
                row[j] += (columns[c, i] - columns[c, low + j]) ** 2
        for j in range(max(low, i + 1), high):
            if row[j - low] > level:
                if found == len(first):
                    return -1
                first[found], second[found] = i, j
                found += 1
    return found


KEPT = 500_000  # number of pairs that a list should hold
ROOM = 4 * KEPT  # number of pairs that it can hold
DEEPEST = 0.7  # no floor is below this share of the largest squared norm
TILE = (256, 1024)  # rows and columns of the distance matrix held at a time
SAMPLE = 1 << 22  # distances from which the floor is chosen, of some points to all
FEW = 6  # dimensions up to which the tree of balls is faster
MARGIN = 1e-6  # relative distance of a floor from what a list guarantees: above rounding errors and ties


class FarPairs(NamedTuple):
    """All pairs (first, second) of items whose squared norm is above `floor` under `root`."""

    root: np.ndarray  # (r, r)
    inverse: np.ndarray  # (r, r), its inverse
    floor: float
    first: np.ndarray
    second: np.ndarray

    def stretch(self, root):
        """Return c with |S y|^2 <= c |S' y|^2 for all y; S is `root`, S' the list's. Rounding of SS'^-1 is covered."""
        if root.shape != self.root.shape or not np.isfinite(root).all():
            return np.inf
        across = root @ self.inverse
        left = np.linalg.norm(root - across @ self.root) * np.linalg.norm(self.inverse)
        return (np.linalg.svd(across, compute_uv=False)[0] + left) ** 2

    def farthest(self, root, points, level, far, near, most):
        """Return the same as `Differences.farthest`, or None if the answer may need pairs outside the list."""
        floor = self.floor * self.stretch(root) * (1 + MARGIN)
        points = points - (points[far] + points[near]) / 2
        order = ranked(-np.sqrt(squares(points)))
        position = np.empty_like(order)
        position[order] = np.arange(len(order))
        reached, partner = np.zeros(len(points)), np.full(len(points), -1)
        _farthest(points, position, self.first, self.second, np.empty(len(self.first)), reached, partner)
        if floor > level and np.count_nonzero(reached > floor) < most:
            return None
        rows = order[reached[order] > max(level * (1 - MARGIN), floor if floor > level else 0.0)]
        return rows, partner[rows]


@kernel
def _farthest(points, position, first, second, lengths, reached, partner):
    """Set for each row the largest squared length of its pairs with later positions, and the partner as in `scan`."""
    for pair in range(len(first)):
        lengths[pair] = distance(points, first[pair], second[pair])
        row = first[pair] if position[first[pair]] < position[second[pair]] else second[pair]
        reached[row] = max(reached[row], lengths[pair])
    for pair in range(len(first)):
        row, other = first[pair], second[pair]
        if position[row] > position[other]:
            row, other = other, row
        if lengths[pair] >= reached[row] * (1 - TIE) and (partner[row] < 0 or other < partner[row]):
            partner[row] = other


def at_equal_steps(rows, number):
    """Return the indices of about `number` rows, and of some that span all rows."""
    return np.union1d(np.arange(0, len(rows), max(1, len(rows) // number)), spanning_arms(rows))


class ManyDifferences(Differences):
    """`Differences` that keep a list of `FarPairs` from one norm to the next."""

    kept: FarPairs | None = None

    def part(self, number):
        return Differences(self.items[at_equal_steps(self.items, number)])

    def farthest(self, root, points, level, far, near, most):
        found = self.kept and self.kept.farthest(root, points, level, far, near, most)
        if not found:
            self.kept = far_pairs(root, points - (points[far] + points[near]) / 2)
            found = self.kept and self.kept.farthest(root, points, level, far, near, most)
        return found or scan(points, level, far, near, once=True)


def far_pairs(root, points):
    """Return the `FarPairs` of centred points (n, r) under `root`; None if `root` is singular or pairs are too many."""
    if root.shape[0] != root.shape[1] or not np.isfinite(points).all():
        return None
    floor = _floor(points)
    level = floor - SAFE * squares(points).max()
    first, second = np.empty(ROOM, np.int32), np.empty(ROOM, np.int32)
    find = pairs_in_tree if points.shape[1] <= FEW else _pairs_in_tiles
    found = find(points, level, first, second)
    if found < 0:
        return None
    return FarPairs(root, np.linalg.inv(root), floor, first[:found].copy(), second[:found].copy())  # noqa: TID251  bounds only


def _floor(points):
    """Return a squared distance that about KEPT pairs exceed, or DEEPEST of the largest in the sample if larger."""
    n = len(points)
    some = min(n, max(1, SAMPLE // n))
    rows = points[np.arange(some) * n // some]
    sampled = np.matmul(rows * -2.0, points.T)
    sampled += squares(points)
    sampled += squares(rows)[:, None]
    largest = float(sampled.max())
    place = max(0, sampled.size - max(1, 2 * KEPT * some // n))
    sampled = sampled.reshape(-1)
    sampled.partition(place)
    return max(float(sampled[place]), DEEPEST * largest)


def _pairs_in_tiles(points, level, first, second):
    """Return the same as `pairs_in_tree`, in any dimension; some of the pairs may be slightly below `level`.

    A product in single precision is |x|^2 + |y|^2 - 2x'y, at radii up to 1; its error is below d + 8 roundings of 4.
    """
    order, points, radius, reach = outside_in(points, level)
    size = 2.0 ** -np.frexp(radius[0])[1]
    level = level * size**2 - (points.shape[1] + 8) * 4 * 2.0**-24
    points = points * size
    square, one = squares(points), np.ones(len(points))
    left = np.column_stack([-2.0 * points, square, one]).astype(np.float32)
    right = np.ascontiguousarray(np.column_stack([points, one, square]).astype(np.float32).T)
    found, room = 0, np.empty(TILE, np.float32)
    for start in range(0, len(points), TILE[0]):
        rows = left[start : start + TILE[0]]
        for low in range(start, later(radius, start, reach), TILE[1]):
            columns = right[:, low : low + TILE[1]]
            tile = np.matmul(rows, columns, out=room[: len(rows), : columns.shape[1]])
            i, j = _above(tile, level)
            i, j = order[i[j + low > i + start] + start], order[j[j + low > i + start] + low]
            if found + len(i) > len(first):
                return -1
            first[found : found + len(i)], second[found : found + len(i)] = i, j
            found += len(i)
    return found


def _above(tile, level):
    rows = np.flatnonzero(tile.max(axis=1) > level)
    i, j = np.nonzero(tile[rows] > level)
    return rows[i], j
