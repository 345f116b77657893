"""Run the solver of the papers: Frank-Wolfe on max over directions of y'A(lambda)^-1 y (fiez2019, appendix F).

From uniform weights, step k moves 2/(k+2) of the mass to the arm of largest (y'A^-1x)^2 for the worst direction y. The
maximum is not smooth, so the steps need not approach the optimum. Departure: a lower bound is added (`certificate`). It
uses the running average of the visited directions, in which the k-th has mass 2(k+1)/((n+1)(n+2)).
"""

from typing import NamedTuple

import numpy as np

from bandits_lib.checks import check_option
from bandits_lib.design.cache import cached
from bandits_lib.design.certificate import Design, bound_of_masses, root_of_design, value_of
from bandits_lib.design.directions import Differences, Listed, Pairs, difference_vertices, scan, squared_norms, walk
from bandits_lib.design.far_pairs import MARGIN, FarPairs
from bandits_lib.design.solvers import in_span, problem
from bandits_lib.numerics.kernels import along_all, compiled, inner, merged
from bandits_lib.numerics.linear_algebra import (
    apply,
    combine,
    information,
    inverse_triangle,
    ordered_sum,
    product,
    squares,
    transposed,
    upper_factor,
)
from bandits_lib.numerics.span import basis, span
from bandits_lib.numerics.ties import argmax

LIST = 150  # differences of up to this many items are listed
FAR, LONGEST = 0.9, 0.95  # directions above these shares of the largest squared norm are listed
CLEAR = 1e-8  # relative: numbers further apart than this are not equal up to rounding errors
SURELY = 0.999  # a margin for rounding errors
NARROW = 8  # in fewer dimensions sums have fewer terms than `inner` adds side by side
KEPT, ITEMS = 200_000, 10_000  # largest number of pairs that are kept, and of items for which pairs are kept


def frank_wolfe_design(
    arms: np.ndarray,
    directions: np.ndarray | Pairs,
    *,
    sigma: float | np.ndarray | None = None,
    prune: float = 1e-5,
    pruned: str = "rescaled",
    value_at: str = "last",
    stop: float = 0.01,
    max_iter: int = 5000,
    start: np.ndarray | None = None,
) -> Design:
    """Return the Frank-Wolfe XY-design of fiez2019 appendix F, which fiez2019, weltz2023 and jedra2020 use.

    Parameters
    ----------
    arms, directions, sigma : array_like or Pairs
        As for `weighted_design`.
    prune : float, default 1e-5
        Weights below this are set to zero at the end (1e-5 in the text); 0 keeps all.
    pruned : {"rescaled", "lost", "largest"}, default "rescaled"
        Where the mass of the pruned weights goes: to all others in proportion (the text), nowhere (fiez2019's code of
        RAGE), or to the largest weight (fiez2019's code of XY-static and the oracle).
    value_at : {"last", "before"}, default "last"
        Whether the value is that of the returned weights or that before the last step (fiez2019's code).
    stop : float, default 0.01
        The solver ends when the relative change of the weights, in Euclidean norm, is below this.
    max_iter : int, default 5000
        Largest number of steps, at least 1.
    start : (K,) array_like, optional
        First weights: non-negative, and positive on arms that span all arms; by default uniform. jedra2020 starts from
        the previous allocation.

    Returns
    -------
    Design
        `value` is inf if pruning left a direction that cannot be estimated. `lower_bound` is usually well below the
        optimum.

    Raises
    ------
    ValueError
        As for `weighted_design`, and if an option is out of range.

    Examples
    --------
    >>> arms = np.vstack([np.eye(2), [np.cos(0.1), np.sin(0.1)]])
    >>> frank_wolfe_design(arms, arms[:1] - arms[2:]).weights.round(2).tolist()
    [0.05, 0.95, 0.0]
    """
    arms, vectors, name, sigma = problem(arms, directions, 1.0 if sigma is None else sigma)
    check_option("pruned", pruned, ("rescaled", "lost", "largest"))
    check_option("value_at", value_at, ("last", "before"))
    if not 0 <= stop < np.inf:
        raise ValueError(f"stop must be a non-negative number but is {stop}; the papers use 0.01")
    if not max_iter >= 1:
        raise ValueError(f"max_iter must be at least 1 but is {max_iter}; the papers use 5000")
    if not 0 <= prune < 2 / (max_iter + 2):
        raise ValueError(f"prune must lie in [0, 2/(max_iter + 2)) but is {prune}; more would prune the last step")
    options = float(prune), pruned, value_at, float(stop), int(max_iter), _first_weights(start, arms)
    return _frank_wolfe_design(arms, vectors, name, sigma, *options)


def _first_weights(start, arms):
    if start is None:
        return np.full(len(arms), 1 / len(arms))
    start = np.asarray(start, dtype=float)
    fits = start.shape == (len(arms),) and np.isfinite(start).all() and (start >= 0).all()
    if not fits or basis(arms[start > 0]).shape != basis(arms).shape:
        raise ValueError(
            f"start must be {len(arms)} non-negative weights, one for each arm, and the arms of those above 0 must "
            f"span all arms; got {start}"
        )
    return start / ordered_sum(start)


class Steps(NamedTuple):
    """The end of the steps: weights (K,), the directions visited (n, r), and the value before the last step (1,)."""

    weights: np.ndarray
    visited: np.ndarray
    value: np.ndarray


@cached
def _frank_wolfe_design(arms, vectors, name, sigma, prune, pruned, value_at, stop, max_iter, first):
    space = span(arms / sigma[:, None])
    weights, visited, (value,) = _last_steps(arms, vectors, name, sigma, stop, max_iter, first)
    bound = _running_bound(space.arms, weights, visited)
    kept = np.where(weights < prune, 0.0, weights)
    if pruned == "rescaled":
        kept /= kept.sum()
    elif pruned == "largest":
        kept[argmax(kept)] += weights.sum() - kept.sum()
    if value_at == "last":
        value = value_of(space.arms, kept, _visible(in_span(space, vectors, name)))
    return Design(kept, float(value), min(bound, float(value)), len(visited))


@cached
def _last_steps(arms, vectors, name, sigma, stop, max_iter, first):
    space = span(arms / sigma[:, None])
    weights, visited, value = frank_wolfe(space.arms, _visible(in_span(space, vectors, name)), first, stop, max_iter)
    return Steps(weights, visited, np.array([value]))


def _visible(directions):
    """Return differences of few items as a list, in order; for many items in the plane, those that can be longest."""
    if isinstance(directions, Listed):
        return directions
    if len(directions.items) <= LIST:
        return directions.listed()
    if directions.items.shape[1] <= 2:
        return Listed(difference_vertices(directions.items))
    return Remembered(directions.items) if len(directions.items) <= ITEMS else directions


class Remembered(Differences):
    """`Differences` that look first at the far pairs of previous norms; the answers are the same."""

    kept: FarPairs | None = None
    longest: FarPairs | None = None  # those of `kept` that were nearly longest: a shorter list, looked at first
    far = FAR

    def worst(self, root):
        points = product(self.items, transposed(root))
        if not (found := self._among(self.longest, root, points) or self._among(self.kept, root, points)):
            self.kept = self._far_pairs(root, points)
            found = self._among(self.kept, root, points)
        return found or super().worst(root)

    def _far_pairs(self, root, points):
        """Return a list of the far pairs, row by row; None if they are too many, and then ask for fewer next time."""
        if self.far > 1 - 1e-6:
            return None
        i, j, reached = walk(points)
        pairs = np.sort(scan(points, reached * self.far, i, j, every=True), axis=0)
        if pairs.shape[1] > KEPT or root.shape[0] != root.shape[1]:
            self.far = 1 - (1 - self.far) / 4
            return None
        return FarPairs(root, np.linalg.inv(root), reached * self.far, *pairs[:, np.lexsort(pairs[::-1])])  # noqa: TID251  bounds

    def _among(self, kept, root, points):
        """Return the longest difference in a list and its squared norm, or None if one outside may be as long."""
        if kept is None:
            return None
        norms = squares(points[kept.first] - points[kept.second])
        pair, floor = argmax(norms), kept.floor * kept.stretch(root) * (1 + MARGIN)
        if floor >= norms[pair]:
            return None
        if kept is not self.longest:  # make it anew; its floor must also bound the pairs that are not in `kept`
            floor = max(floor, LONGEST * norms[pair])
            some = np.flatnonzero(norms > floor)
            self.longest = FarPairs(root, np.linalg.inv(root), floor, kept.first[some], kept.second[some])  # noqa: TID251  bounds
        return self.items[kept.first[pair]] - self.items[kept.second[pair]], float(norms[pair])


def frank_wolfe(arms, directions, weights, stop, max_iter):
    """Return weights (K,), the directions visited (n, r), and the value before the last step."""
    matrix, weights = information(arms, weights), weights.copy()
    if isinstance(directions, Listed):
        rows = np.empty(max_iter, np.int64)
        n, value = _steps(arms, directions.rows, matrix, weights, stop**2, rows)
        return weights, directions.rows[rows[:n]], value
    columns, room, visited = transposed(arms), np.empty(len(arms)), []
    for k in range(1, max_iter + 1):
        across = inverse_triangle(upper_factor(matrix)[0])
        worst, value = directions.worst(transposed(across))
        visited.append(worst)
        vertex = farthest_along(arms, columns, apply(across, combine(worst, across)), room)
        step = 2 / (k + 2)
        small = _moved(weights, vertex, step, stop**2)
        matrix = (1 - step) * matrix + step * np.outer(arms[vertex], arms[vertex])
        if small:
            break
    return weights, np.array(visited), value


@compiled
def _steps(arms, directions, matrix, weights, small, visited):
    """Move the weights (K,) by the steps of `frank_wolfe` for `directions` (m, r); return how many, and the value.

    `visited` (max_iter,) gets the rows of the worst directions. A step multiplies squared norms by 1 / (1 - step) or
    less. Thus those that are not `listed` stay below `floor`, and most steps need not look at them.
    """
    columns, room, listed, floor, n, value = transposed(arms), np.empty(len(arms)), np.arange(1), np.inf, 0, 0.0
    whole = _laid_out(directions)
    close = _laid_out(directions[:1])
    while n < len(visited):
        across = inverse_triangle(upper_factor(matrix)[0])
        norms = _norms_under(transposed(across), close)
        place = argmax(norms)
        row, value = listed[place], norms[place]
        if floor >= value * SURELY:  # a direction that is not listed may be as long
            norms = _norms_under(transposed(across), whole)
            row = argmax(norms)
            value = norms[row]
            floor = FAR * value
            listed = np.flatnonzero(norms >= floor)
            close = _laid_out(directions[listed])
        visited[n] = row
        n += 1
        vertex = farthest_along(arms, columns, apply(across, combine(directions[row], across)), room)
        step = 2 / (n + 2)
        floor /= 1 - step
        for i in range(len(matrix)):
            for j in range(len(matrix)):
                matrix[i, j] = (1 - step) * matrix[i, j] + step * (arms[vertex, i] * arms[vertex, j])
        if _moved(weights, vertex, step, small):
            break
    return n, value


@merged
def _laid_out(rows):
    """Return rows (n, r) as `_norms_under` reads them: as columns if r < NARROW."""
    return transposed(rows) if rows.shape[1] < NARROW else rows


@compiled
def _norms_under(root, rows):
    """Return |root y|^2 for directions y that are laid out by `_laid_out`, with the sums of `Listed.worst`."""
    if len(root) >= NARROW:
        return squared_norms(rows, root)
    squares, along = np.zeros(rows.shape[1]), np.empty(rows.shape[1])
    for i in range(len(root)):
        along_all(rows, root[i], along)
        for k in range(len(squares)):
            squares[k] += along[k] * along[k]
    return squares


@compiled
def farthest_along(arms, columns, vector, squares):
    """Return the argmax of (x'vector)^2 over arms x (K, r), also given as `columns`; leave the values in `squares`."""
    if len(vector) < NARROW:  # the same sums as `apply`, side by side
        along_all(columns, vector, squares)
    else:
        squares[:] = apply(arms, vector)
    for k in range(len(squares)):
        squares[k] = squares[k] * squares[k]
    return argmax(squares)


@compiled
def _moved(weights, vertex, step, small):
    """Move `step` of the mass to the vertex; return whether this changes less than `small` of the squared length."""
    length = inner(weights, weights)
    moved, whole = step * step * (length + 1 - 2 * weights[vertex]), small * length
    if abs(moved - whole) <= CLEAR * (whole + step * step):  # then the order of the sums decides
        moved, whole = 0.0, 0.0
        for k in range(len(weights)):
            change = step - step * weights[k] if k == vertex else -step * weights[k]
            moved += change * change
            whole += weights[k] * weights[k]
        whole *= small
    last = weights[vertex]
    for k in range(len(weights)):
        weights[k] += -step * weights[k]
    weights[vertex] = last + (-step * last + step)
    return moved < whole


def _running_bound(arms, weights, visited):
    root, masses = root_of_design(arms, weights), np.arange(2.0, len(visited) + 2)
    return float(bound_of_masses(arms, root, product(visited.copy(), transposed(root)), masses)[0])
