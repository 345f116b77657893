"""RAGE as Weltz, Fiez, Volfovsky, Laber, Mason, Nassif, Jain (2023, Algorithm 5) print it: equal noise, phases that
decide by 2^-l, best items and level sets. The phases, and what departs from the letter, are in halving.py.

The phases of Weltz et al. (2023), Algorithms 2 and 5: what H-RAGE and its homoskedastic RAGE have in common.

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

from bandits_lib.checks import check_arms, check_delta, check_items, check_option, check_sigma, check_span, check_told
from bandits_lib.design import pairs, xy_design
from bandits_lib.design.rounding import check_floor, floored
from bandits_lib.elimination import behind, feasible
from bandits_lib.numerics.least_squares import weighted_least_squares
from bandits_lib.numerics.linear_algebra import along
from bandits_lib.protocol import Result, Round
from bandits_lib.rules import BATCHES, DELTA, HALVING, LARGEST, After, InPlay, Row, rule

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
        sample = yield InPlay(asked, active)  # line 9
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


@rule(
    label="RAGE by halving",
    row=Row(BATCHES, LARGEST, "which items are above a threshold, not which is best", "weltz2023, Algorithm 5", DELTA),
    guarantee=After("anew", HALVING),
)
def rage_halving(
    arms,
    items=None,
    *,
    delta,
    sigma=1.0,
    objective="best",
    threshold=None,
    log_items="paper",
    design=xy_design,
    floor=0.0,
):
    """Best item, or level set, with probability at least 1 - delta, when all arms have the same noise.

    Phase l pulls enough to know every comparison to within 2^-l, and decides by it (weltz2023, Algorithm 5).

    Parameters
    ----------
    arms : (K, d) array_like
        Feature vectors of the K arms that can be pulled.
    items : (M, d) array_like, optional
        Feature vectors of the M items that are ranked; by default the arms.
    delta : float
        Error probability allowed, in (0, 1).
    sigma : float or (K,) array_like, default 1.0
        The standard deviation of the noise (sub-Gaussian); of several the largest is used.
    objective : {"best", "level"}, default "best"
        The best item, or which items have a value above `threshold`.
    threshold : float, optional
        Reward that bounds the level set; for "level" only, which needs it.
    log_items : {"paper", "code"}, default "paper"
        Logarithm log(8 l^2 M / delta) in phase l, or log(8 l^2 M^2 / delta).
    design : callable, default xy_design
        Function (arms, directions) -> `Design`, called with `pairs(active items)`, for level sets the active items.
    floor : float, default 0.0
        Share of every phase's pulls, in [0, 1), that all arms get evenly, so that lack of fit can be seen
        (`design.floored`): at most 1 / (1 - floor) times the pulls, and K for rounding up.

    Yields
    ------
    (K,) int array
        Pulls of each arm to be made next, answered with a `Sample`. Returns a `Result`: the best item (int) or the
        level set, (M,) of bool, and the history of `Round`. One item and "best": at once, without a pull.

    Raises
    ------
    ValueError
        For bad input (shapes, NaN, identical items, items outside the span of the arms, delta), and for an item that no
        number of pulls can decide.

    References
    ----------
    .. [1] Weltz, Fiez, Volfovsky, Laber, Mason, Nassif, Jain. "Experimental designs for heteroskedastic variance".
       NeurIPS 2023. Algorithm 5.

    Examples
    --------
    >>> from bandits_lib import instances, play
    >>> problem = instances.benchmark(2, angle=1.0)
    >>> rule = rage_halving(problem.arms, delta=0.05)
    >>> play(rule, problem, np.random.default_rng(0)).result.recommendation
    0
    """
    arms = check_arms(arms)
    items, threshold = checked_items(items, arms, objective, threshold)
    delta, sigma = check_delta(delta), check_sigma(sigma, len(arms)).max()
    check_option("log_items", log_items, ("paper", "code"))
    told = {"delta": delta, "threshold": threshold, "log_items": log_items, "design": design}
    told["floor"] = check_floor(floor)
    return (yield from halving(arms, items, **told, sigma=1.0, factor=2 * sigma**2))
