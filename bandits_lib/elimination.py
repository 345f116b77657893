"""Elimination after a phase, and the limit of a phase: RAGE, RAGE by halving, XY-adaptive and ALBA.

An item z goes when (z' - z)'theta_hat > radius ||z' - z||, in the norm of the inverse information matrix, for the
leader z' or, with comparison "pairs", for any active z'. None means "pairs" up to 5,000 items. The leader stays.
"""

from math import inf

import numpy as np
from scipy.spatial.distance import cdist

from bandits_lib.numerics.linear_algebra import along
from bandits_lib.numerics.ties import argmax

MANY_ITEMS = 5_000  # above, elimination is against the leader only
BLOCK = 1_000  # rows of the pairwise comparison held at once
MOST_PULLS = 10**18  # of one phase; more do not fit the counters


def behind(items, theta_hat):
    """How far the estimate of each item (m, d) is behind the leader's, (m,), and its difference from it, (m, d)."""
    values = along(items, theta_hat)
    leader = argmax(values)
    return values[leader] - values, items - items[leader]


def eliminated_by(items, fit, radius, comparison=None):
    """Line 10 of RAGE: which active items stay, (m,) of bool, and the largest width of a comparison with the leader."""
    gaps, away = behind(items, fit.theta_hat)
    whitened = fit.whitened(away)  # distances are norms of differences
    widths = radius * np.sqrt(np.einsum("md,md->m", whitened, whitened))
    kept = gaps <= widths
    if comparison == "pairs" or (comparison is None and len(items) <= MANY_ITEMS):
        for rows in np.array_split(np.flatnonzero(kept), 1 + np.count_nonzero(kept) // BLOCK):
            beaten = gaps[rows, None] - gaps > radius * cdist(whitened[rows], whitened)
            kept[rows] = ~beaten.any(axis=1)
    return kept, float(widths.max())


def good_enough(items, fit, radius, accept):
    """Row of the leader if no item is more than `accept` ahead of it while all widths hold, else None (section 6)."""
    gaps, away = behind(items, fit.theta_hat)
    loss = (radius * np.sqrt(fit.variances(away)) - gaps).max()
    return int(argmax(along(items, fit.theta_hat))) if loss <= accept else None


def feasible(
    n, phase, active, why="cannot be told apart", way_out="The best item must be unique; drop one of them", scale=None
):
    """`n` pulls, unless the counters would overflow: items are too close at the scale (a text, by default 2^-phase)."""
    left = ("items " if len(active) > 1 else "item ") + ", ".join(map(str, active[:5]))
    if n == inf:
        raise ValueError(
            f"design leaves a direction of {left} without pulls (its value is infinite), as Frank-Wolfe's pruning can:"
            " give prune=0.0, or a certified design"
        )
    if n > MOST_PULLS:
        raise ValueError(
            f"{left} {why} at the scale {scale or f'2^-{phase}'}: phase {phase} would need {n:.2g} pulls. "
            f"{way_out}, or stop earlier with max_pulls"
        )
    return n
