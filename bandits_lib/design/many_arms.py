"""D-optimal designs of very many arms: a working set, tested on all of them.

An optimum needs r(r+1)/2 arms. A part of the arms, taken at equal steps, is solved (`d_optimal`), all arms are measured
in its A^-1, block by block where they lie, and those beyond the tolerance come into the working set, the longest first,
until there are none. The set only grows, and by a share of itself, so that it ends. Where the part does not span, arms
outside its span come in before. No copy of all arms is made: numbers of them are all that is held.
"""

from typing import NamedTuple

import numpy as np

from bandits_lib.design._pairs import squared_norms
from bandits_lib.design.certificate import inverse_root
from bandits_lib.design.d_optimal import d_optimal
from bandits_lib.numerics.ordered import inverse_triangle, product, squares, transposed
from bandits_lib.numerics.span import RANK_TOL, Span, outside, span
from bandits_lib.numerics.ties import largest_first

BLOCK = 4096  # arms measured at a time
PART = 5_000  # arms in the first working set, at least
PER_ATOM = 8  # and for each that an optimum can need
COMING = 1_000  # arms that come in at a time, at least
SHARE = 4  # or one for so many in the set


class WorkingSet(NamedTuple):
    """Arms `chosen` (k,), the `Span` of these, their `weights` (k,), and the sweeps that took."""

    chosen: np.ndarray
    space: Span
    weights: np.ndarray
    sweeps: int


def working_set(arms, tol, most):
    """The `WorkingSet` of a design with x'A^-1x <= (1 + tol) r for all arms (K, d); `most` sweeps at a time."""
    chosen, sweeps = _spanning_part(arms), 0
    while True:
        space = span(arms[chosen])
        weights, more = d_optimal(space.arms, tol / 2, most)
        sweeps += more
        norms, rank = norms_of_all(arms, space, weights), space.arms.shape[1]
        wider = np.union1d(chosen, _first(norms, (1 + tol / 2) * rank, max(COMING, len(chosen) // SHARE)))
        if norms.max() <= (1 + tol) * rank or len(wider) == len(chosen):
            return WorkingSet(chosen, space, weights, sweeps)
        chosen = wider


def norms_of_all(arms, space, weights):
    """x'A^-1x (K,) of all arms, A of the weights (k,) on those of the `Span`; infinite if A is singular there."""
    root = inverse_root(space.arms, weights)
    if len(root) < space.arms.shape[1]:
        return np.full(len(arms), np.inf)
    root = product(root, transposed(product(space.basis, inverse_triangle(space.scale))))
    return _by_blocks(arms, lambda block: squared_norms(block, root))


def _by_blocks(arms, measure):
    return np.concatenate([measure(arms[low : low + BLOCK]) for low in range(0, len(arms), BLOCK)])


def _first(values, level, most):
    """Indices of up to `most` of the values above `level`, of the largest."""
    above = np.flatnonzero(values > level)
    return above[largest_first(values[above], most)]


def _spanning_part(arms):
    """Indices of arms at equal steps, and of as many others as it takes for all to be in their span."""
    rank = min(arms.shape)
    part = np.arange(0, len(arms), max(1, len(arms) // max(PART, PER_ATOM * rank * (rank + 1) // 2)))
    if not arms[part].any():
        part = np.append(part, np.argmax(arms.any(axis=1)))
    while True:
        axes = span(arms[part]).basis
        if axes.shape[1] == arms.shape[1]:
            return part
        missing = _first(_by_blocks(arms, lambda block: _angle(block, axes)), RANK_TOL, COMING)  # noqa: B023
        wider = np.union1d(part, missing)
        if len(wider) == len(part):
            return part
        part = wider


def _angle(vectors, axes):
    """Distances (n,) of vectors (n, d) from the span of `axes`, relative to their lengths."""
    return outside(vectors, axes) / np.maximum(np.sqrt(squares(vectors)), 1e-300)
