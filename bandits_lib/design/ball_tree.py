"""All pairs of points in few dimensions that are farther from each other than a level, without looking at most others.

The points are halved at the median of their widest coordinate until LEAF or fewer are left. A node knows the centre and
radius of a ball around its points, and how far they reach from the origin. Of two nodes with centres a, b, radii adding
up to s and reaches R, R', no two points are farther than |a - b| + s; nor, since
    |x - y|^2 = 2 |x|^2 + 2 |y|^2 - |x + y|^2,
than the root of 2R^2 + 2R'^2 - (|a + b| - s)^2 where |a + b| > s. The second is sharp among points on a sphere, whose
far pairs are nearly antipodal.
"""

from typing import NamedTuple

import numpy as np

from bandits_lib.numerics.kernels import kernel
from bandits_lib.numerics.ordered import squares, transposed

LEAF = 16


class Tree(NamedTuple):
    """A binary tree as a heap: the children of node k are 2k + 1 and 2k + 2, the last half of the nodes are leaves."""

    low: np.ndarray  # of every node, the first of its points
    high: np.ndarray  # and the one after the last
    centre: np.ndarray  # (nodes, d)
    radius: np.ndarray
    reach: np.ndarray  # largest distance of a point from the origin


def ball_tree(points):
    """An order (n,) of the points (n, d) in which nodes hold neighbours, and the `Tree`."""
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
    """Where the 2^level nodes begin and end."""
    ends = n * np.arange(2**level + 1) // 2**level
    return ends[:-1], ends[1:]


def _nodes(points, low, high):
    """The `Tree` of one level."""
    centre = (np.maximum.reduceat(points, low) + np.minimum.reduceat(points, low)) / 2
    radius = np.maximum.reduceat(squares(points - np.repeat(centre, high - low, axis=0)), low)
    return Tree(low, high, centre, np.sqrt(radius), np.sqrt(np.maximum.reduceat(squares(points), low)))


def pairs_in_tree(points, level, first, second):
    """Pairs of squared distance above `level`, of indices into `first`, `second` (room,): how many; -1: no room."""
    order, tree = ball_tree(points)
    stack, row = np.empty(2 * len(tree.low), np.int64), np.empty(LEAF)
    found = _descend(transposed(points[order]), tree, level, stack, row, first, second)
    for half in (first, second):
        half[: max(found, 0)] = order[half[: max(found, 0)]]
    return found


@kernel
def _descend(columns, tree, level, stack, row, first, second):
    """`pairs_in_tree` of the columns (d, n) in the order of the tree: every leaf against itself and later ones."""
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


@kernel
def _bound(tree, i, j):
    """No point of node i is at a larger squared distance from one of node j."""
    apart, across, spread = 0.0, 0.0, tree.radius[i] + tree.radius[j]
    for c in range(tree.centre.shape[1]):
        apart += (tree.centre[i, c] - tree.centre[j, c]) ** 2
        across += (tree.centre[i, c] + tree.centre[j, c]) ** 2
    gap = max(0.0, np.sqrt(across) - spread)
    return min((np.sqrt(apart) + spread) ** 2, 2 * (tree.reach[i] ** 2 + tree.reach[j] ** 2) - gap**2)


@kernel
def _compare(columns, tree, leaf, node, level, row, first, second, found):
    """Every point of one leaf against every later one of another; returns how many are found, -1 without room."""
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
