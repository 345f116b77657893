"""The spanning arms A_0 that a rule pulls first, one pull each (jedra2020, Lemma 5), in coordinates of their span.

"spanning" takes as the next the arm farthest from the span of those before; "random" (jedra2020, section 5) an arm not
in that span, in an order that is drawn, which makes c, and with it the threshold, a matter of luck: two arms .05 radian
apart have c = .001. Where a log holds other pulls, A_0 is spanning arms among these, and c is theirs.

Measurements made before (`history`) enter A and b at once, however they were chosen: eq. 9 holds for any sampling rule,
so their numbers may depend on their rewards. But c must not: it is the least eigenvalue for A_0 among what can be or
was measured, or among what can be pulled, whichever is less, and A_0 is pulled unless the history's A >= c I already.
"""

from typing import NamedTuple

import numpy as np

from bandits_lib.checks import check_matrix, check_same_dimension, check_told
from bandits_lib.design.d_optimal import spanning_arms
from bandits_lib.numerics.axes import squared_extents
from bandits_lib.numerics.ordered import combine, information, product
from bandits_lib.numerics.span import RANK_TOL, basis, scaled_axes
from bandits_lib.protocol import Sample


class Opening(NamedTuple):
    """Where a rule begins: all arrays in coordinates of the arms' span, of dimension r (`scaled_axes`)."""

    arms: np.ndarray  # (K, r)
    items: np.ndarray  # (M, r), up to a common shift
    first: np.ndarray  # (r,), spanning arms, A_0
    counts: np.ndarray  # (K,), one pull each of `first`
    c: float  # least eigenvalue of the sum of xx' over `first`
    axes: np.ndarray  # (d, r), the coordinates


class Earlier(NamedTuple):
    """What measurements made before add up to, in the coordinates of the `Opening`."""

    counts: np.ndarray  # (K,), of arms that can be pulled
    pulls: int  # of all
    information: np.ndarray  # (r, r), A
    response: np.ndarray  # (r,), b


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


def reopening(arms, items, history):
    """The `Opening` after `history`, a Sample of the arms or (features (n, d), Sample), and the `Earlier`."""
    features, sample = check_history(history, arms)
    everything = np.vstack([features, arms])
    known = features if basis(features).shape[1] == basis(everything).shape[1] else everything
    axes = scaled_axes(known)
    inside, measured, pool = (product(rows, axes) for rows in (arms, features, known))
    row_of = {row.tobytes(): k for k, row in reversed(list(enumerate(arms)))}
    counts, asked = np.zeros(len(arms), np.int64), np.zeros(len(arms), np.int64)
    for row, n in zip(features, sample.counts, strict=True):
        if row.tobytes() in row_of:
            counts[row_of[row.tobytes()]] += n
    A = information(measured, sample.counts.astype(float))
    earlier = Earlier(counts, int(sample.counts.sum()), A, combine(sample.sums, measured))
    first, c = spanning_arms(inside), _least(pool[spanning_arms(pool)])
    if len(first) == len(axes.T):
        c = min(c, _least(inside[first]))
    if np.linalg.eigvalsh(A)[0] < c * (1 - 1e-9):
        asked[first] = 1
        if len(first) < len(axes.T):
            raise ValueError(
                "history and the arms leave a direction that was measured, and that no arm measures now, too uncertain "
                "to begin with: leave the measurements out that lie outside of the span of the arms"
            )
    return Opening(inside, product(items - items[0], axes), first, asked, c, axes), earlier


def check_history(history, arms):
    """(features (n, d), Sample) of measurements made before, of the arms unless it brings features; or a ValueError."""
    pair = isinstance(history, tuple | list) and len(history) == 2
    features, sample = history if pair else (arms, history)
    try:
        counts, sums, squares = (np.asarray(field) for field in (sample.counts, sample.sums, sample.squares))
    except AttributeError:
        kind = type(sample).__name__
        raise ValueError(f"history must be a Sample of the arms, or (features, Sample); got {kind}") from None
    features = check_matrix("features of history", features)
    check_same_dimension("features of history", features, arms)
    if not counts.shape == sums.shape == squares.shape == (len(features),):
        raise ValueError(
            f"history must have one count, sum and sum of squares per row of {'its features' if pair else 'arms'} "
            f"({len(features)},); got shapes {counts.shape}, {sums.shape}, {squares.shape}"
        )
    if counts.dtype.kind not in "iu" or (counts < 0).any() or not np.isfinite(sums.astype(float)).all():
        raise ValueError(f"history must have whole, non-negative counts and finite sums; got {counts} and {sums}")
    if ((counts == 0) & (sums != 0)).any():
        raise ValueError(f"history has rewards of row {int(np.argmax((counts == 0) & (sums != 0)))}, but a count of 0")
    return features, Sample(counts.astype(np.int64), sums.astype(float), squares.astype(float))


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
