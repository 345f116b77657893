"""The phases of Weltz et al. (2023), Algorithms 2 and 5: what H-RAGE and its homoskedastic RAGE have in common.

Phase l = 1, 2, ... pulls enough for every comparison to be known to within epsilon_l = 2^-l, and then decides by
epsilon_l itself, not by the widths that were reached. It has tau_l = factor 4^l q log(8 l^2 M / delta) pulls, with
factor 3 if sigma^2 is known up to half of itself, and 2 sigma_max^2 with weights of 1. Without a threshold it seeks the
best item, by a design on the pairs of active items; with one the level set, by a design on the active items.
Departures from the paper's letter, each with its reason:
- Line 20 of Algorithm 2 (line 18 of Algorithm 5) takes {G_l minus G_(l+1)} and {B_l minus B_(l+1)} out of Z_l. These
  sets only grow, so both differences are empty and the loop never ends. Lemma F.3 needs Z_(l+1) = Z_l minus
  (G_(l+1) u B_(l+1)), which is done here.
- Line 8 prints q(Z_l) for the number of pulls; the proof of Lemma E.1 takes q(Y(Z_l)) for the best item, as here.
- The design is certified: its value is within .1 % of a lower bound, where the papers' Frank-Wolfe stalls above it.
- Pulls replayed from a log may be fewer than line 8 asks for; the phase then decides by the width they reached.
- An item that is the zero vector has the value 0 whatever theta is, and is compared with the threshold at once. If
  they are equal it is refused.
- Level sets may hold identical items, but each item, not only the differences, must lie in the span of the arms.
- log_items="code", log(8 l^2 M^2 / delta), is the published code's.
The union bound is the paper's: each of |Z| two-sided comparisons in phase l fails with probability at most
delta / (4 l^2 |Z|), which adds up to pi^2 delta / 24, or .41 delta; H-RAGE spends delta / 2 more on its burn-in.
The width of a Round is that of the comparisons it made, at most 2^-index. A phase of more than 10^18 pulls is refused:
two items are best, or one is on the threshold.
"""

from math import isfinite, log, sqrt

import numpy as np

from bandits_lib.checks import check_items, check_option, check_span, check_told
from bandits_lib.design import pairs
from bandits_lib.design.floor import floored
from bandits_lib.fixed_confidence.elimination import behind, feasible
from bandits_lib.numerics.least_squares import weighted_least_squares
from bandits_lib.numerics.ordered import along
from bandits_lib.protocol import Result, Round

ON_IT = "cannot be told from the threshold", "No item may lie on it; move it"


def halving(arms, items, *, delta, sigma, factor, threshold, log_items, design, floor):
    """Sub-generator: lines 6 to 24 of weltz2023, Algorithms 2 and 5, with any variances; returns the rule's Result."""
    best = threshold is None
    known = np.zeros(len(items), bool) if best else ~items.any(axis=1)
    above, active = known & (not best and threshold < 0), np.flatnonzero(~known)
    history: list[Round] = []
    while len(active) > best:
        phase = len(history) + 1
        in_view = items[active]
        directions = pairs(in_view) if best else in_view
        lam = floored(design(arms, directions), floor, arms, directions, sigma)  # line 7: lambda_l and q
        union = log(8 * phase**2 * len(items) ** (2 if log_items == "code" else 1) / delta)
        tau = feasible(factor * 4**phase * lam.value * union, phase, active, *(() if best else ON_IT))  # line 8
        asked = np.ceil(tau * lam.weights).astype(np.int64)
        sample = yield asked  # line 9
        as_asked = check_told(asked, sample, arms, in_view - in_view[0] if best else in_view)
        fit = weighted_least_squares(arms, sample, sigma)  # line 11
        if best:
            away, compared = behind(in_view, fit.theta_hat)
        else:
            away, compared = along(in_view, fit.theta_hat) - threshold, in_view
        width = sqrt(factor * union * fit.variances(compared).max())
        epsilon = 2.0**-phase if as_asked else max(2.0**-phase, width)
        history.append(Round(phase, active, sample.counts, lam.value, lam.lower_bound, width, fit.theta_hat))
        above[active[away > epsilon]] = True  # line 16, of level sets
        active = active[np.abs(away) <= epsilon]  # line 13, or lines 18 and 20, corrected
    return Result(int(active[0]) if best else above, tuple(history))


def checked_items(items, arms, objective, threshold):
    """(M, d) items and threshold (a float, or None for "best") that fit the objective, or a ValueError."""
    check_option("objective", objective, ("best", "level"))
    if objective == "best":
        if threshold is not None:
            raise ValueError(f"threshold is for objective='level'; got {threshold} with 'best': leave it out")
        return check_items(items, arms), None
    items = check_items(items, arms, distinct=False)
    check_span(items, arms, "items")
    if not isinstance(threshold, int | float | np.number) or not isfinite(threshold):
        raise ValueError(f"threshold must be a finite number (a reward) for objective='level'; got {threshold!r}")
    zero = np.flatnonzero(~items.any(axis=1))
    if threshold == 0 and len(zero):
        raise ValueError(f"threshold 0 is the value of item {zero[0]}, the zero vector: drop it or move the threshold")
    return items, float(threshold)
