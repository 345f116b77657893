"""Greedy pulls against the worst difference of items, one arm at a time (Soare, Lazaric, Munos 2014, section 5).

With A the sum of xx' over the pulls so far, the next arm is  argmin_x max_y y'(A + xx')^-1 y  over all differences y
of m items. One pull of x takes (y'A^-1x)^2 / (1 + x'A^-1x) from y'A^-1y (Sherman and Morrison), so that a choice looks
at K m(m-1)/2 numbers. A y whose norm is below what every arm leaves of the worst one decides nothing: it is passed by.
All norms are kept, so that beside 1,000 items a pull takes milliseconds, beside 36 (fiez2019, Figure 1a) microseconds.

A phase begins with one pull each of r spanning arms ("pull"), or with the identity for A, which counts as d pulls
("ridge"). It ends when its value is below a target, after one pull at least: the largest squared norm, or that over n
("per pull"), where n counts all pulls of the phase, those it began with included.

Often no arm alone lowers the largest norm, since several differences share it (e_i - e_j, on the benchmark). Then all
arms tie. Ties go to the arm that takes most from the worst difference (the first, row by row), then to the first arm:
the first arm at once would be pulled for ever.
"""

from typing import NamedTuple

import numpy as np

from bandits_lib.design.d_optimal import spanning_arms
from bandits_lib.numerics.kernels import along_all, inlined, kernel, largest, shrink, shrink_squares, times
from bandits_lib.numerics.ordered import cholesky, information, inverse_triangle, product, squares, transposed
from bandits_lib.numerics.ties import TIE, argmax

REFRESH = 1_000  # pulls between two fresh inversions, fewer at the beginning of a phase


class Phase(NamedTuple):
    """What a phase begins with, and its pulls so far."""

    arms: np.ndarray  # (K, r)
    items: np.ndarray  # (m, r), those still active
    base: np.ndarray  # (r, r), A before the first pull that is counted in `counts`
    counts: np.ndarray  # (K,), pulls of this phase, the spanning ones included
    uncounted: int  # pulls that the base stands for


def begin(arms, items, start, d):
    """The `Phase` of arms (K, r) of rank r and active items (m, r) before its greedy pulls, from `start`."""
    counts, identity = np.zeros(len(arms), dtype=np.int64), np.eye(arms.shape[1])
    if start == "ridge":
        return Phase(arms, items, identity, counts, uncounted=d)
    counts[spanning_arms(arms)] = 1
    return Phase(arms, items, np.zeros_like(identity), counts, uncounted=0)


def pull_greedily(phase, target, per_pull, most):
    """Pulls, 1 to `most`, until the value is below `target`: the largest squared norm, n, and whether the value is."""
    pairs, columns = np.array(np.triu_indices(len(phase.items), 1)), transposed(phase.arms)
    n = phase.uncounted + int(phase.counts.sum())
    end, below = n + most, False
    while True:
        norms = norms_of(phase, pairs)
        if below or n == end:
            return float(norms.pairs.max()), n, below
        until = min(2 * n, n + REFRESH, end)
        n, below = pull_until(norms, pairs, columns, phase.counts, n, until, target * (1 - TIE), per_pull)


class Norms(NamedTuple):
    """Squared norms in A^-1, and what the next pull takes from them."""

    inverse: np.ndarray  # (r, r), A^-1
    pairs: np.ndarray  # (n,), y'A^-1y of all differences y of items
    arms: np.ndarray  # (K,), x'A^-1x
    across: np.ndarray  # (m, K), z'A^-1x of all items z and arms x
    step: np.ndarray  # (r,), scratch: A^-1 x of the arm pulled
    along: np.ndarray  # (K,), scratch: x'A^-1 x of the arm pulled and all others
    share: np.ndarray  # (K,), scratch: 1 / (1 + x'A^-1x)
    left: np.ndarray  # (K,), scratch: the largest squared norm of a pair that one pull of each arm leaves
    taken: np.ndarray  # (K,), scratch: what that pull takes from the worst pair


def norms_of(phase, pairs):
    """The `Norms` of a phase, computed afresh from its counts."""
    root = inverse_triangle(cholesky(phase.base + information(phase.arms, phase.counts.astype(float)))[0])
    items, arms = product(phase.items, root), product(phase.arms, root)
    inverse, across = product(root, transposed(root)), product(items, transposed(arms))
    scratch = np.empty((4, len(arms)))
    norms = Norms(inverse, np.empty(pairs.shape[1]), squares(arms), across, np.empty(len(root)), *scratch)
    distances(items, pairs, norms.pairs)
    return norms


@kernel
def distances(points, pairs, squares):
    """Squared distances of pairs (2, n) of points (m, r), into `squares` (n,)."""
    for n in range(squares.shape[0]):
        i, j, square = pairs[0, n], pairs[1, n], 0.0
        for c in range(points.shape[1]):
            square += (points[i, c] - points[j, c]) ** 2
        squares[n] = square


@kernel
def pull_until(norms, pairs, columns, counts, n, until, target, per_pull):
    """Greedy pulls until the value is below `target` or n at `until`: n, and whether the value is."""
    while n < until:
        arm = least_worst(norms, pairs)
        counts[arm] += 1
        n += 1
        add_pull(norms, pairs, columns, arm)
        top = largest(norms.pairs)
        if (top / n if per_pull else top) < target:
            return n, True
    return n, False


@inlined
def least_worst(norms, pairs):
    """argmin over arms x of max over pairs y of y'(A + xx')^-1 y; of arms that tie, the one that `taken` says."""
    squares, across, share, left, taken = norms.pairs, norms.across, norms.share, norms.left, norms.taken
    worst, least = argmax(squares), np.inf
    i, j = pairs[0, worst], pairs[1, worst]
    for k in range(share.shape[0]):
        share[k] = 1 / (1 + norms.arms[k])
        along = across[i, k] - across[j, k]
        taken[k] = along * along * share[k]
        left[k] = squares[worst] - taken[k]
        least = min(least, left[k])
    for n in range(squares.shape[0]):
        if squares[n] > least:
            i, j = pairs[0, n], pairs[1, n]
            for k in range(share.shape[0]):
                along = across[i, k] - across[j, k]
                left[k] = max(left[k], squares[n] - along * along * share[k])
    return first_choice(left, taken)


@inlined
def first_choice(left, taken):
    """The arm of least `left` (K,); of arms that tie there, that of most `taken` (K,), which is overwritten."""
    least = left[0]
    for k in range(left.shape[0]):
        least = min(least, left[k])
    for k in range(left.shape[0]):
        if left[k] > least + TIE * abs(least):
            taken[k] = -1.0
    return argmax(taken)


@inlined
def add_pull(norms, pairs, columns, arm):
    """Sherman and Morrison, for one pull of `arm`; columns : (r, K), the arms."""
    squares, across, along, gain = norms.pairs, norms.across, norms.along, 1 + norms.arms[arm]
    times(norms.inverse, columns, arm, norms.step)
    along_all(columns, norms.step, along)
    shrink(norms.inverse, norms.step, 1.0, gain)
    shrink_squares(norms.arms, along, gain)
    for n in range(squares.shape[0]):
        apart = across[pairs[0, n], arm] - across[pairs[1, n], arm]
        squares[n] -= apart * apart / gain
    for m in range(across.shape[0]):
        scaled = across[m, arm] / gain
        for k in range(along.shape[0]):
            across[m, k] -= scaled * along[k]
