"""The spanning arms A_0 that a rule pulls first, one pull each (jedra2020, Lemma 5), in coordinates of their span."""

from typing import NamedTuple

import numpy as np

from bandits_lib.checks import check_told
from bandits_lib.design.d_optimal import spanning_arms
from bandits_lib.numerics.axes import squared_extents
from bandits_lib.numerics.ordered import product
from bandits_lib.numerics.span import RANK_TOL, scaled_axes


class Opening(NamedTuple):
    """Where a rule begins: all arrays in coordinates of the arms' span, of dimension r (`scaled_axes`).

    arms : (K, r); items : (M, r), up to a common shift; first : (r,) spanning arms, A_0; counts : (K,) one pull each;
    c : least eigenvalue of the sum of xx' over `first`; axes : (d, r), the coordinates.
    """

    arms: np.ndarray
    items: np.ndarray
    first: np.ndarray
    counts: np.ndarray
    c: float
    axes: np.ndarray


def opening(arms, items, initial="spanning", rng=None):
    """The `Opening` of arms (K, d) and items (M, d), checked.

    initial : "spanning", each arm the farthest from the span of those before, or "random" (jedra2020, section 5): in an
    order drawn by `rng`, each not in the span of those before.
    """
    axes = scaled_axes(arms)
    inside = product(arms, axes)
    first = spanning_arms(inside) if initial == "spanning" else _random_basis(inside, rng)
    counts = np.zeros(len(arms), dtype=np.int64)
    counts[first] = 1
    return Opening(inside, product(items - items[0], axes), first, counts, _least(inside[first]), axes)


def opened(start, sample):
    """The `Opening` that was pulled: `start`, or where a log holds other pulls, spanning arms among these, and their c.

    Raises ValueError if these do not span what the arms span.
    """
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
