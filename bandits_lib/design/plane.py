"""Differences of items in the plane: only the vertices of the difference body can be longest.

A norm is convex, so it is largest over conv{z_i - z_j} = conv(Z) - conv(Z) at a vertex of that polygon, and its
vertices are z_top(u) - z_bottom(u) for the outward directions u between two successive edge normals of conv(Z) and
-conv(Z): at most n up to sign. They are the same in every norm, so they are listed once (and on a line they
are the one difference of the two ends).
"""

import numpy as np
from numba import njit

from bandits_lib.numerics.ordered import squares
from bandits_lib.numerics.ties import argmax

PARALLEL = 2.0**-36  # angles between edges, a quarter turn being one, that are this small are rounding errors
COLLINEAR = 1e-10  # points whose spread across is this small beside their spread along lie on a line


@njit(cache=True)
def _chain(x, y, order):
    """Andrew's (1979) monotone chain: the indices in `order` that turn left, from the first to the last."""
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
    """Indices of the vertices of the convex hull of `points` (n, 2), counter-clockwise."""
    x, y = np.ascontiguousarray(points.T)
    order = np.lexsort((y, x))
    return np.concatenate([_chain(x, y, order)[:-1], _chain(x, y, order[::-1])[:-1]])


def difference_vertices(points):
    """The vertices, one of each pair +-y, of the difference body of `points` (n, r), r = 1 or 2: an (m, r) array."""
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
    """Indices (m,), (m,) of the points farthest in the directions u and -u, for every u between two edge normals."""
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
    """Where vectors (n, 2) point: grows counter-clockwise as the angle does, from 0 to 4, by divisions alone."""
    x, y = vectors[:, 0], vectors[:, 1]
    part = y / (np.abs(x) + np.abs(y))
    return np.where(x < 0, 2 - part, np.where(y < 0, 4 + part, part)) % 4
