"""RAGE as Weltz, Fiez, Volfovsky, Laber, Mason, Nassif, Jain (2023) print it: Algorithm 5, and phases of Algorithm 2.

Phase l makes tau_l = factor 4^l q log(8 l^2 M / delta) pulls and decides by epsilon_l = 2^-l. The factor is 3 if every
sigma^2 is at most 3/2 of its estimate, and 2 sigma_max^2 for unweighted designs. Comments number the lines of Algorithm
2; from line 6 on, those of Algorithm 5 are two lower. The phases err with probability at most pi^2 delta / 24.
Departures:
- Z_(l+1) = Z_l minus (G_(l+1) u B_(l+1)), as Lemma F.3 needs; the set that line 20 removes is empty.
- Line 8 prints q(Z_l); for the best item the proof of Lemma E.1 uses q(Y(Z_l)), as this file does.
- An item that is the zero vector is compared with the threshold at once. Level sets may hold identical items.
"""

from collections.abc import Callable
from math import isfinite, log, sqrt

import numpy as np

from bandits_lib.checks import check_arms, check_delta, check_items, check_option, check_sigma, check_span
from bandits_lib.design import pairs, xy_design
from bandits_lib.design.rounding import check_floor, floored
from bandits_lib.elimination import behind, feasible
from bandits_lib.numerics.least_squares import weighted_least_squares
from bandits_lib.numerics.linear_algebra import along
from bandits_lib.protocol import BATCHES, DELTA, Algorithm, Result, Round, Row, rule

ON_IT = (
    "cannot be distinguished from the threshold",
    "The value of an item must not equal the threshold; move the threshold",
)


def halving(arms, items, *, delta, sigma, factor, threshold, log_items, design, floor):
    """Play lines 6 to 24 of weltz2023's Algorithm 2 (4 to 22 of Algorithm 5); return the Result (a sub-generator)."""
    best = threshold is None
    decided = np.zeros(len(items), bool) if best else ~items.any(axis=1)  # the zero vector needs no pull
    above, active = decided & (not best and threshold < 0), np.flatnonzero(~decided)  # line 3: G_1 and Z_1
    history: list[Round] = []
    while len(active) > best:  # line 6
        phase = len(history) + 1
        in_view = items[active]
        directions = pairs(in_view) if best else in_view
        lam = floored(design(arms, directions), floor, arms, directions, sigma)  # line 7: lambda_l and q
        union = log(8 * phase**2 * len(items) ** (2 if log_items == "code" else 1) / delta)
        tau = feasible(factor * 4**phase * lam.value * union, phase, active, *(() if best else ON_IT))  # line 8
        sample = yield np.ceil(tau * lam.weights).astype(np.int64)  # line 9
        fit = weighted_least_squares(arms, sample, sigma)  # line 11
        if best:
            distance, compared = behind(in_view, fit.theta_hat)  # from the leader's value
        else:  # from the threshold
            distance, compared = along(in_view, fit.theta_hat) - threshold, in_view
        width = sqrt(factor * union * fit.variances(compared).max())
        epsilon = 2.0**-phase  # line 8
        history.append(Round.of(phase, active, sample, lam, width, fit.theta_hat))
        above[active[distance > epsilon]] = True  # line 16: G_(l+1), of level sets
        active = active[np.abs(distance) <= epsilon]  # line 13, or line 20, corrected: Z_(l+1)
    return Result(int(active[0]) if best else above, tuple(history))


def checked(arms, items, delta, objective, threshold, log_items, floor):
    """Return arms (K, d), items (M, d) that fit the objective, and a dict of delta, threshold, log_items and floor."""
    arms, floor = check_arms(arms), check_floor(floor)
    check_option("objective", objective, ("best", "level"))
    items = check_items(items, arms, distinct=objective == "best")
    if objective == "best":
        if threshold is not None:
            raise ValueError(
                f"threshold has no effect for objective='best'; got {threshold}: omit it, or pass objective='level'"
            )
    else:
        check_span(items, arms, "items")
        if not isinstance(threshold, int | float | np.number) or not isfinite(threshold):
            raise ValueError(f"threshold must be a finite number (a reward) for objective='level'; got {threshold!r}")
        threshold, zero = float(threshold), np.flatnonzero(~items.any(axis=1))
        if threshold == 0 and len(zero):
            raise ValueError(
                f"threshold must not be 0, which is the value of item {zero[0]}, the zero vector: drop that item, or "
                "move the threshold"
            )
    check_option("log_items", log_items, ("paper", "code"))
    settings = {"delta": check_delta(delta), "threshold": threshold, "log_items": log_items, "floor": floor}
    return arms, items, settings


@rule(
    label="RAGE by halving",
    row=Row(BATCHES, "which items are above a threshold, not which is best", "weltz2023, Algorithm 5", DELTA),
)
def rage_halving(
    arms: np.ndarray,
    items: np.ndarray | None = None,
    *,
    delta: float,
    sigma: float | np.ndarray = 1.0,
    objective: str = "best",
    threshold: float | None = None,
    log_items: str = "paper",
    design: Callable = xy_design,
    floor: float = 0.0,
) -> Algorithm:
    """Find the best item, or the level set, with probability at least 1 - delta, for equal noise (weltz2023, Alg. 5).

    It yields pulls, returns a `Result` and raises errors as `rage` does. For objective="level", the recommendation is
    an (M,) bool array, identical items are allowed, and an item too close to the threshold is an error.

    Parameters
    ----------
    arms, items, delta, sigma : array_like, float, and float or (K,) array_like
        As for `rage`.
    objective, threshold : {"best", "level"}, and float or None
        Find the best item, or the level set: the items whose value is above the threshold, in units of reward. The
        threshold is required for "level" and None for "best".
    log_items : {"paper", "code"}
        The pulls and widths of phase l contain log(8 l^2 M / delta) ("paper") or log(8 l^2 M^2 / delta) ("code").
    design, floor : callable and float
        As for `rage`. For level sets, the directions are the active items.
    """
    arms, items, settings = checked(arms, items, delta, objective, threshold, log_items, floor)
    sigma = check_sigma(sigma, len(arms)).max()
    return (yield from halving(arms, items, **settings, sigma=1.0, factor=2 * sigma**2, design=design))
