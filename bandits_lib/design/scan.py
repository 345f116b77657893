"""Far pairs among n points, which are never all listed.

If c is any centre, |w_i - w_j| <= |w_i - c| + |w_j - c|, so pairs whose radii add up to less than the level are
skipped, with c the midpoint of a walk from far point to far point; the rest is scanned block by block, from the outside
in, through a Gram matrix. That is a filter, which errs on the safe side by SAFE of its largest entry: what passes is
measured again from the differences themselves. Of points as far as the farthest, to the tie, the first as given counts.
Time O(n^2 r) at worst, memory O(BLOCK).
"""

import numpy as np
from numba import njit

from bandits_lib.numerics.kernels import kernel
from bandits_lib.numerics.ordered import squares
from bandits_lib.numerics.ties import TIE, argmax, ranked

BLOCK = 1 << 18  # entries of the distance matrix held at a time
SAFE = 8e-9  # of the largest squared radius: more than the rounding errors of a Gram matrix, and than a tie


def walk(points):
    """Farthest-point walk: indices i, j and their squared distance, once it stops growing from one to the other."""
    j = argmax(squares(points - points.mean(axis=0)))
    i, reached = j, 0.0
    while True:
        norms = squares(points - points[j])
        k = argmax(norms)
        if norms[k] <= reached * (1 + 1e-9):
            return i, j, reached
        i, j, reached = j, k, norms[k]


def scan(points, level, far, near, every=False, once=False):
    """Pairs (i, j) that may have a squared distance above `level`: every one, or the farthest of each row i.

    A row sees the points of its block and those further in; with `once` only those further in, so no pair comes twice.
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
    """Of centred points those that matter, the farthest first: indices, points, radii, what two radii must reach."""
    radius = np.sqrt(squares(points))
    reach = np.sqrt(max(level, 0.0)) - 2 * SAFE * radius.max()
    order = np.flatnonzero(radius >= reach - radius.max())
    order = order[ranked(-radius[order])]
    return order, points[order], np.minimum.accumulate(radius[order]), reach  # equal to the tie, and sorted


def later(radius, start, reach):
    """The end of those whose radius and that of point `start` add up to `reach`."""
    return int(np.searchsorted(-radius, radius[start] - reach, side="right"))


def _all_above(gram, floor, start):
    """Entries of a block (rows `start`...) above `floor` per row."""
    row, column = np.nonzero(gram > floor[:, None])
    later = column > row
    return row[later] + start, column[later] + start


@njit(cache=True, error_model="numpy")
def _farthest_above(gram, top, floor, start, slack, points, order):
    """Of each row of a block (rows `start`...) whose largest entry `top` is above `floor`: the farthest point."""
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


@kernel
def distance(points, i, j):
    """Squared."""
    out = 0.0
    for c in range(points.shape[1]):
        step = points[i, c] - points[j, c]
        out += step * step
    return out
