"""The spanning arms A_0 that a rule pulls first, one pull each (jedra2020, Lemma 5), in coordinates of their span.

"spanning" takes as the next the arm farthest from the span of those before; "random" (jedra2020, section 5) an arm not
in that span, in an order that is drawn, which makes c, and with it the threshold, a matter of luck: two arms .05 radian
apart have c = .001. Where a log holds other pulls, A_0 is spanning arms among these, and c is theirs.
"""

from typing import NamedTuple

import numpy as np

from bandits_lib.checks import check_told
from bandits_lib.design.d_optimal import spanning_arms
from bandits_lib.numerics.axes import squared_extents
from bandits_lib.numerics.ordered import product
from bandits_lib.numerics.span import RANK_TOL, scaled_axes


class Opening(NamedTuple):
    """Where a rule begins: all arrays in coordinates of the arms' span, of dimension r (`scaled_axes`)."""

    arms: np.ndarray  # (K, r)
    items: np.ndarray  # (M, r), up to a common shift
    first: np.ndarray  # (r,), spanning arms, A_0
    counts: np.ndarray  # (K,), one pull each of `first`
    c: float  # least eigenvalue of the sum of xx' over `first`
    axes: np.ndarray  # (d, r), the coordinates


def opening(arms, items, initial="spanning", rng=None):
    """The `Opening` of arms (K, d) and items (M, d), checked; `rng` draws the arms for initial="random"."""
    axes = scaled_axes(arms)
    inside = product(arms, axes)
    first = spanning_arms(inside) if initial == "spanning" else _random_basis(inside, rng)
    counts = np.zeros(len(arms), dtype=np.int64)
    counts[first] = 1
    return Opening(inside, product(items - items[0], axes), first, counts, _least(inside[first]), axes)


def opened(start, sample):
    """The `Opening` that was pulled: `start`, or that of what a log holds, which must span what the arms span."""
    if check_told(start.counts, sample, start.arms, start.arms):
        return start
    pulled = np.flatnonzero(sample.counts)
    first = pulled[spanning_arms(start.arms[pulled])]
    return start._replace(first=first, counts=sample.counts, c=_least(start.arms[first]))


def _least(arms):
    """The least eigenvalue of the sum of xx' over arms (n, r)."""
    return float(squared_extents(arms)[0].min())


def _random_basis(arms, rng):
    """Rows of arms (K, r), in random order, each outside the span of those before."""
    chosen, axes = [], np.zeros((arms.shape[1], 0))
    for k in rng.permutation(len(arms)):
        rest = arms[k] - axes @ (axes.T @ arms[k])
        if np.linalg.norm(rest) > RANK_TOL * np.linalg.norm(arms[k]):
            chosen.append(k)
            axes = np.column_stack([axes, rest / np.linalg.norm(rest)])
        if len(chosen) == arms.shape[1]:
            break
    return np.array(chosen)
