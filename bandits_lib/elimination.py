"""Eliminate items by the confidence widths of a fit: what RAGE and the other rules in phases share."""

from math import inf

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import stdtrit

from bandits_lib.numerics.least_squares import squares_within
from bandits_lib.numerics.linear_algebra import along
from bandits_lib.numerics.ties import argmax

MOST_PULLS = 10**18  # limit for one phase; the counters are 64-bit integers
MANY_ITEMS = 5_000  # above this number, items are compared with the leader only
LEADERS = 64  # number of leading items with which all are compared first
BLOCK = 1_000  # rows of the pairwise comparison that are computed at once with the leading items,
NEIGHBOURS = 100  # and with all near items


def basel_delta(delta, t):
    """Return 6 delta / (pi^2 t^2), the share of `delta` for phase t = 1, 2, ...; they sum to delta (Basel problem)."""
    return 6 * delta / (np.pi * t) ** 2


def feasible(
    n, phase, active, why="cannot be told apart", way_out="The best item must be unique; drop one of them", scale=None
):
    """Return `n` pulls; refuse an `n` that overflows the counters: items too close at `scale`, by default 2^-phase."""
    named = ("items " if len(active) > 1 else "item ") + ", ".join(map(str, active[:5]))
    if n == inf:
        raise ValueError(
            f"design leaves a direction of {named} without pulls (its value is infinite). Pruning in Frank-Wolfe can "
            "do this: pass prune=0.0, or use a certified design"
        )
    if n > MOST_PULLS:
        raise ValueError(
            f"{named} {why} at the scale {scale or f'2^-{phase}'}: phase {phase} would need {n:.2g} pulls. "
            f"{way_out}, or stop earlier with max_pulls"
        )
    return n


def student_radius(sample, union_log, wait=0):
    """Return s times the quantile of Student's t: the width of a comparison per unit of its norm, if sigma is unknown.

    It is exceeded with probability exp(-union_log) (companion_sigma_costs), and inf while no replicates differ."""
    squares, df = squares_within(sample)
    if df >= wait and not squares:
        raise ValueError(
            f"there are {df} replicates beyond the first of an arm, and no two differ: sigma cannot be learned from "
            "them. Pass sigma, the standard deviation of one measurement"
        )
    quantile = -stdtrit(df, np.exp(-union_log))  # scipy's quantile has the wrong sign where it overflows
    return float(np.sqrt(squares / df) * quantile) if squares and quantile > 0 else np.inf


def behind(items, theta_hat):
    """Return how far the estimates of items (m, d) are behind the leader's, (m,), and items minus leader, (m, d)."""
    values = along(items, theta_hat)
    leader = argmax(values)
    return values[leader] - values, items - items[leader]


def eliminated_by(items, fit, radius, comparison=None):
    """Return which items stay (fiez2019, Algorithm 1, line 10), (m,) of bool, and the largest width to the leader."""
    gaps, differences = behind(items, fit.theta_hat)
    whitened = fit.whitened(differences)  # distances are norms of differences
    widths = radius * np.sqrt(np.einsum("md,md->m", whitened, whitened))
    kept = gaps <= widths  # line 10, with the leader as z'
    if comparison == "pairs" or (comparison is None and len(items) <= MANY_ITEMS):
        # the order decides only what is compared first, and not which items stay
        coordinate = whitened[:, np.argmax(np.ptp(whitened, axis=0))]  # noqa: TID251
        leaders, order = np.argsort(gaps)[:LEADERS], np.argsort(coordinate)  # noqa: TID251
        for size in (BLOCK, NEIGHBOURS):  # leaders eliminate most items before near items are compared
            remaining = order[kept[order]]
            for rows in np.array_split(remaining, 1 + len(remaining) // size):
                rivals = leaders if size == BLOCK else _near(gaps, rows, coordinate, radius)
                beaten = gaps[rows, None] - gaps[rivals] > radius * cdist(whitened[rows], whitened[rivals])
                kept[rows] = ~beaten.any(axis=1)  # line 10, with every z'
    return kept, float(widths.max())


def _near(gaps, rows, coordinate, radius):
    """Return the items that may beat one of `rows`, which are sorted by the coordinate; others are too far."""
    if not len(rows):
        return rows
    before, after = coordinate[rows[0]] - coordinate, coordinate - coordinate[rows[-1]]
    distance = np.maximum(np.maximum(before, after), 0.0)
    return np.flatnonzero(gaps[rows].max() - gaps > (1 - 1e-9) * radius * distance)


def good_enough(items, fit, radius, accept):
    """Return the leader's row if no item can be more than `accept` ahead, else None (fiez2019, section 6)."""
    gaps, differences = behind(items, fit.theta_hat)
    loss = (radius * np.sqrt(fit.variances(differences)) - gaps).max()
    return int(argmax(along(items, fit.theta_hat))) if loss <= accept else None
