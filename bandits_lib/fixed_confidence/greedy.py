"""Greedy pulls against the worst difference of items, one arm at a time, exact for any number of items.

With A the sum of xx' over the pulls so far, the next arm is  argmin_x max_y y'(A + xx')^-1 y  over all differences y
of m items. There are m(m-1)/2 of them and one choice looks at Km(m-1)/2 values; two bounds spare nearly all of it.

In one choice (`least_worst`): a few y bound from below what each arm leaves; only the arm of least bound is tested
on every y, and the worst y it leaves joins the few, until nothing is worse than its bound. These are cutting planes.

From one choice to the next (`relisted`): norms only fall. A difference whose norm is below what every arm leaves of
some other decides nothing, now or later, until that bound has fallen to its level. So a list of about LIST
differences does for many pulls; when the bound reaches the level of those left out, the list is made again.

Often no arm alone lowers the largest norm, since several differences share it (e_i - e_j, on the benchmark). Then all
arms tie. Ties go to the arm that takes most from the worst difference (the first, row by row), then to the first arm:
the first arm at once would be pulled for ever.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from bandits_lib.design.d_optimal import spanning_arms
from bandits_lib.numerics.kernels import along_all, inlined, invert, kernel, largest, times
from bandits_lib.numerics.ties import TIE, argmax

REFRESH = 1_000  # pulls between two fresh inversions, fewer at the beginning of a phase
LIST = 2_016  # differences in view: all those of 64 items, or the worst of more
STEPS = 64  # levels tried, from the bound down to half of it, for a list of about that length
SLACK = 1e-12  # relative, within which a bound is attained
DONE, SHORT, FULL = 0, 1, 2  # why `pull_greedily` came back


class Phase(NamedTuple):
    """What the compiled loop of one phase reads and writes; scalars that change sit in short arrays."""

    columns: np.ndarray  # (r, K), the arms
    points: np.ndarray  # (r, m), the active items
    base: np.ndarray  # (r, r), A before the first pull that is counted in `counts`
    counts: np.ndarray  # (K,), pulls of this phase, the spanning ones included
    clock: np.ndarray  # n, n at the next refresh, n at the start
    inverse: np.ndarray  # (r, r), A^-1
    arm_squares: np.ndarray  # (K,), x'A^-1x
    pairs: np.ndarray  # (2, n), the pairs of active items in view ...
    squares: np.ndarray  # (n,), ... and their squared norms
    level: np.ndarray  # (1,), pairs out of view have squared norms of at most this
    bound: np.ndarray  # what every arm leaves at least: at the last choice, at the last listing
    left: np.ndarray  # (K,), scratch: minus the largest norm that an arm is known to leave
    taken: np.ndarray  # (K,), scratch: what an arm takes from the worst pair
    step: np.ndarray  # (r,), scratch: A^-1 x of the arm chosen
    arms_along: np.ndarray  # (K,), scratch: x'A^-1 y, x over the arms
    items_along: np.ndarray  # (m,), scratch: z'A^-1 x, z over the active items


def begin(arms, items, start, d):
    """A phase for arms (K, r) of rank r and active items (m, r), before its first greedy pull.

    start : "pull", one pull each of r spanning arms, or "ridge", the identity, which counts as d pulls.
    """
    K, r = arms.shape
    counts = np.zeros(K, dtype=np.int64)
    if start == "pull":
        counts[spanning_arms(arms)] = 1
    n = r if start == "pull" else d
    phase = Phase(
        columns=arms.T.copy(),
        points=items.T.copy(),
        base=np.zeros((r, r)) if start == "pull" else np.eye(r),
        counts=counts,
        clock=np.array([n, 0, n]),
        inverse=np.empty((r, r)),
        arm_squares=np.empty(K),
        pairs=np.empty((2, 0), dtype=np.int64),
        squares=np.empty(0),
        level=np.empty(1),
        bound=np.zeros(2),
        left=np.empty(K),
        taken=np.empty(K),
        step=np.empty(r),
        arms_along=np.empty(K),
        items_along=np.empty(len(items)),
    )
    refresh(phase)
    return relisted(phase)


@kernel
def pull_greedily(phase, target, per_pull, limit):
    """Pull the arm of `least_worst` until the value is below `target`, the list too short, or n at `limit`.

    The value is the largest squared norm, or that over n (per_pull); it is looked at after every pull.
    Returns DONE, SHORT or FULL; everything else is in `phase`.
    """
    # Fields are taken out once: handing on the tuple at every pull would cost a third of the speed.
    columns, points, inverse, arm_squares = phase.columns, phase.points, phase.inverse, phase.arm_squares
    pairs, squares, counts, clock = phase.pairs, phase.squares, phase.counts, phase.clock
    left, taken, bound, level = phase.left, phase.taken, phase.bound, phase.level[0]
    scratch = phase.step, phase.arms_along, phase.items_along
    while True:
        arm = least_worst(columns, points, inverse, arm_squares, pairs, squares, left, taken, scratch)
        bound[0] = -left[arm]
        if bound[0] < level:
            return SHORT
        top = largest(squares)
        if clock[0] > clock[2] and (top / clock[0] if per_pull else top) < target * (1 - TIE):
            return DONE
        if clock[0] >= limit:
            return FULL
        counts[arm] += 1
        clock[0] += 1
        if clock[0] >= clock[1]:
            refresh(phase)
        else:
            add_pull(arm, columns, inverse, arm_squares, pairs, squares, scratch)


@inlined
def least_worst(columns, points, inverse, arm_squares, pairs, squares, left, taken, scratch):
    """argmin over arms x of max over the pairs y in view of y'(A + xx')^-1 y, by cutting planes.

    One pull of x takes (y'A^-1x)^2 / (1 + x'A^-1x) from y'A^-1y. The worst pair bounds from below what every arm
    leaves; the arm of least bound is tested on all pairs, the worst it leaves joins in, until that bound is
    attained: then no arm leaves less. `left`, `step` and `items_along` are then those of the arm returned.
    """
    step, arms_along, items_along = scratch
    worst = argmax(squares)
    take(worst, columns, points, inverse, arm_squares, pairs, step, arms_along, taken)
    for k in range(left.shape[0]):
        left[k] = taken[k] - squares[worst]
    while True:
        arm = first_choice(left, taken)
        times(inverse, columns, arm, step)
        along_all(points, step, items_along)
        share, most = 1 / (1 + arm_squares[arm]), -np.inf
        for n in range(squares.shape[0]):
            along = items_along[pairs[0, n]] - items_along[pairs[1, n]]
            square = squares[n] - along * along * share
            if square > most:
                worst, most = n, square
        if not most > -left[arm] * (1 + SLACK):
            return arm
        take(worst, columns, points, inverse, arm_squares, pairs, step, arms_along, arms_along)
        for k in range(left.shape[0]):
            left[k] = min(left[k], arms_along[k] - squares[worst])
        left[arm] = min(left[arm], -most)  # known now: no arm is tested twice, whatever the rounding


@inlined
def first_choice(left, taken):
    """The shared argmax of `left` (K,); of arms that tie there, that of `taken` (K,)."""
    top, most = -np.inf, -np.inf
    for k in range(left.shape[0]):
        top = max(top, left[k])
    floor = top - TIE * abs(top)
    for k in range(left.shape[0]):
        if left[k] >= floor:
            most = max(most, taken[k])
    floor_taken = most - TIE * abs(most)
    for k in range(left.shape[0]):
        if left[k] >= floor and taken[k] >= floor_taken:
            return k
    return 0


@inlined
def take(pair, columns, points, inverse, arm_squares, pairs, step, arms_along, taken):
    """What one pull of each arm takes from the squared norm of this pair, into `taken` (K,)."""
    i, j = pairs[0, pair], pairs[1, pair]
    for c in range(step.shape[0]):
        along = 0.0
        for b in range(step.shape[0]):
            along += inverse[c, b] * (points[b, i] - points[b, j])
        step[c] = along
    along_all(columns, step, arms_along)
    for k in range(taken.shape[0]):
        taken[k] = arms_along[k] * arms_along[k] / (1 + arm_squares[k])


@inlined
def add_pull(arm, columns, inverse, arm_squares, pairs, squares, scratch):
    """Sherman-Morrison for one pull of `arm`, whose `step` and `items_along` are at hand."""
    step, arms_along, items_along = scratch
    share = 1 / (1 + arm_squares[arm])
    for c in range(step.shape[0]):
        scaled = step[c] * share
        for b in range(step.shape[0]):
            inverse[c, b] -= scaled * step[b]
    along_all(columns, step, arms_along)
    for k in range(arm_squares.shape[0]):
        arm_squares[k] = max(0.0, arm_squares[k] - arms_along[k] * arms_along[k] * share)
    for n in range(squares.shape[0]):
        along = items_along[pairs[0, n]] - items_along[pairs[1, n]]
        squares[n] -= along * along * share


@kernel
def refresh(phase):
    """Compute the inverse and all norms afresh from the counts; next at twice the pulls, at most REFRESH later."""
    columns, points, pairs, r = phase.columns, phase.points, phase.pairs, phase.base.shape[0]
    inverse, counts, arm_squares, squares = phase.inverse, phase.counts, phase.arm_squares, phase.squares
    for c in range(r):
        for b in range(r):
            inverse[c, b] = phase.base[c, b]
            for k in range(columns.shape[1]):
                inverse[c, b] += counts[k] * columns[c, k] * columns[b, k]
    invert(inverse)
    phase.clock[1] = min(2 * phase.clock[0], phase.clock[0] + REFRESH)
    for k in range(arm_squares.shape[0]):
        arm_squares[k] = 0.0
    for n in range(squares.shape[0]):
        squares[n] = 0.0
    for c in range(r):
        for b in range(r):
            weight = inverse[c, b]
            for k in range(columns.shape[1]):
                arm_squares[k] += weight * columns[c, k] * columns[b, k]
            for n in range(pairs.shape[1]):
                i, j = pairs[0, n], pairs[1, n]
                squares[n] += weight * (points[c, i] - points[c, j]) * (points[b, i] - points[b, j])


def relisted(phase):
    """The phase with new pairs in view, row by row: all those with squared norms of at least a new `level`.

    The level lies between `bound` and half of it, where the list has about LIST pairs. A list that is longer even at
    the bound, and the very first one, the pairs of a few outlying items, only serve to find a better bound.
    """
    m, (bound, before) = phase.points.shape[1], phase.bound
    every = m * (m - 1) // 2
    if every <= LIST:
        level, pairs = -np.inf, np.array(np.triu_indices(m, 1))
    else:
        whitened = phase.points.T @ np.linalg.cholesky(phase.inverse)  # distances are norms of differences
        radius = np.linalg.norm(whitened - whitened.mean(axis=0), axis=1)
        order = np.argsort(-radius, kind="stable")
        if before == 0 and bound == 0:
            level, pairs = np.inf, order[np.array(np.triu_indices(int(np.sqrt(LIST)), 1))]
        else:
            level = _level(whitened[order], radius[order], max(bound, np.finfo(float).tiny))
            pairs = order[collect_pairs(whitened[order], radius[order], level * (1 - 10 * TIE))]
        pairs = np.sort(pairs, axis=0)
        pairs = pairs[:, np.lexsort(pairs[::-1])]
        if pairs.shape[1] == every:
            level = -np.inf
        elif pairs.shape[1] > LIST and bound > 1.01 * before:
            level = np.inf
    phase = phase._replace(
        pairs=np.ascontiguousarray(pairs),
        squares=np.empty(pairs.shape[1]),
        level=np.array([level]),
        bound=np.array([bound, bound]),
    )
    refresh(phase)
    return phase


def _level(points, radius, bound):
    """The lowest of STEPS levels from `bound` to half of it that LIST pairs or fewer reach, or else `bound`."""
    found = count_pairs(points, radius, bound).cumsum()
    steps = max(0, int(np.searchsorted(found, LIST, side="right")) - 1)
    return bound * (1 - steps / (2 * STEPS))


@njit(cache=True)
def count_pairs(points, radius, bound):
    """(STEPS + 1,) numbers of pairs by squared distance: at least `bound`, then in STEPS steps down to half of it.

    points : (m, r), the farthest from their mean first; radius : (m,), how far. Pairs whose radii add up to less
    than the least distance that counts are skipped.
    """
    found, least = np.zeros(STEPS + 1, np.int64), 0.5 * bound
    reach = np.sqrt(least) * (1 - 1e-9)
    for i in range(len(points)):
        for j in range(i):
            if radius[i] + radius[j] < reach:
                break
            square = _squared_distance(points, i, j)
            if square >= least:
                found[max(0, int(np.ceil(2 * STEPS * (1 - square / bound))))] += 1
    return found


@njit(cache=True)
def collect_pairs(points, radius, level):
    """(2, n) pairs of `points` (m, r) whose squared distance is at least `level`; arguments as in `count_pairs`."""
    pairs, n, reach = np.empty((2, LIST), np.int64), 0, np.sqrt(level) * (1 - 1e-9)
    for i in range(len(points)):
        for j in range(i):
            if radius[i] + radius[j] < reach:
                break
            if _squared_distance(points, i, j) >= level:
                if n == pairs.shape[1]:
                    pairs = np.hstack((pairs, np.empty_like(pairs)))
                pairs[0, n], pairs[1, n] = j, i
                n += 1
    return pairs[:, :n]


@njit(cache=True, forceinline=True)
def _squared_distance(points, i, j):
    square = 0.0
    for c in range(points.shape[1]):
        square += (points[i, c] - points[j, c]) ** 2
    return square
