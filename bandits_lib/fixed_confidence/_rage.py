"""RAGE: randomised adaptive gap elimination (Fiez, Jain, Jamieson, Ratliff 2019, Algorithm 1), and its namesake in
Weltz et al. (2023, Algorithm 5), whose phases are in halving.py.

Departures from the letter of fiez2019, each with its reason:
- Algorithm 1 prints norms without squares in the definition of rho; its proof uses squares, and so do we.
- delta_t = delta / t^2 adds up to 1.645 delta, and the product argument of appendix A is false:
  prod(1 - delta / t^2) = sin(pi sqrt(delta)) / (pi sqrt(delta)), which is .920 at delta = .05. The default is
  delta_t = 6 delta / (pi^2 t^2), which adds up to delta and proves both halves of Theorem 2.
- The design is certified: its value is within .1 % of a lower bound, where plain Frank-Wolfe stalls above it.
- Above 5,000 active items an item is compared with the leader alone. By the choice of N_t every active width is
  at most 2^-t, and the leader's estimate is at least that of the best item z*. So if Delta(z) > 2 * 2^-t, then
  (leader - z)'theta_hat >= (z* - z)'theta_hat >= Delta(z) - 2^-t > 2^-t >= width(leader - z): z goes, as Claim 1
  of Lemma 2 asks, and z* stays because every comparison made is one of those the union bound covers.
"""

from math import ceil, log

import numpy as np
from scipy.spatial.distance import cdist

from bandits_lib.checks import check_arms, check_delta, check_option, check_positive, check_sigma, check_told
from bandits_lib.design import pairs, round_design, xy_design
from bandits_lib.fixed_confidence.halving import checked_items, feasible, halving
from bandits_lib.numerics.least_squares import basel_delta, least_squares
from bandits_lib.numerics.ordered import along
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import Result, Round

MANY_ITEMS = 5_000  # above, elimination is against the leader only
BLOCK = 1_000  # rows of the pairwise comparison held at once


def rage(
    arms,
    items=None,
    *,
    delta,
    sigma=1.0,
    rule="widths",
    objective="best",
    threshold=None,
    epsilon=0.1,
    delta_schedule="basel",
    log_items="paper",
    eliminate=None,
    design=xy_design,
    rounding="pukelsheim",
):
    """Best item, or level set, with probability at least 1 - delta, in phases that halve the gap in view.

    Parameters
    ----------
    arms : (K, d), what can be pulled; items : (M, d), what is ranked, default the arms.
    delta : error probability allowed, in (0, 1).
    sigma : standard deviation (sub-Gaussian) of the noise; of several, (K,), the largest is used.
    rule : "widths", eliminate by the confidence widths that a phase reached (fiez2019, Algorithm 1), or "halving", by
        2^-t in phase t (weltz2023, Algorithm 5), which takes no epsilon, delta_schedule, eliminate or rounding.
    objective : "best", or "level": which items have a value above `threshold` (reward); by rule "halving" only.
    epsilon : slack left for rounding; a phase has at least 2 p / epsilon pulls, p the support of its design.
    delta_schedule : "basel", 6 delta / (pi^2 t^2), or "fiez2019", delta / t^2.
    log_items : "paper", log(M^2 / delta_t) throughout, or "code", log(2 M^2 / delta_t) in the number of pulls and
        log(2 K^2 / delta_t) in the elimination, as published. Rule "halving": log(8 t^2 M / delta) and
        log(8 t^2 M^2 / delta).
    eliminate : "pairs", an item goes when any active item beats it (Algorithm 1), or "leader", when the leader does;
        None: "pairs" up to 5,000 active items, "leader" above.
    design : function (arms, directions) -> Design, called with `pairs(active items)`, for level sets the active items.
    rounding : method of `round_design`.

    Returns (as the generator's value) Result(best item (int) or level set (M,) of bool, history of Round). One item
    and "best": at once, without a pull. Raises ValueError for bad input (shapes, NaN, identical items, items outside
    the span of the arms, delta), and for an item that no number of pulls can decide.

    >>> from bandits_lib import instances, play
    >>> problem = instances.benchmark(2, angle=1.0)
    >>> rule = rage(problem.arms, delta=0.05)
    >>> play(rule, problem, np.random.default_rng(0)).result.recommendation
    0
    """
    arms = check_arms(arms)
    check_option("rule", rule, ("widths", "halving"))
    items, threshold = checked_items(items, arms, objective, threshold)
    delta, sigma = check_delta(delta), check_sigma(sigma, len(arms)).max()
    epsilon = check_positive("epsilon", epsilon)
    check_option("delta_schedule", delta_schedule, ("basel", "fiez2019"))
    check_option("log_items", log_items, ("paper", "code"))
    check_option("eliminate", eliminate, (None, "pairs", "leader"))
    _check_rule(rule, objective, epsilon, delta_schedule, eliminate, rounding)
    if rule == "halving":
        noise = {"sigma": 1.0, "factor": 2 * sigma**2}
        goal = {"objective": objective, "threshold": threshold, "log_items": log_items}
        return (yield from halving(arms, items, delta=delta, design=design, **noise, **goal))

    active = np.arange(len(items))
    history: list[Round] = []
    while len(active) > 1:
        t = len(history) + 1
        delta_t = basel_delta(delta, t) if delta_schedule == "basel" else delta / t**2
        pulls_log, width_log = union_logs(log_items, len(arms), len(items), delta_t)
        lam = design(arms, pairs(items[active]))  # lambda_t and rho(Y(Z_t))
        n = ceil(2 * (sigma * 2**t) ** 2 * (1 + epsilon) * lam.value * pulls_log)  # N_t
        n = max(n, ceil(2 * np.count_nonzero(lam.weights) / epsilon))  # r(epsilon)
        shares = lam.weights / lam.weights.sum()
        asked = round_design(shares, feasible(n, t, active), method=rounding, arms=arms)
        sample = yield asked
        check_told(asked, sample, arms, items[active] - items[active[0]])
        fit = least_squares(arms, sample)
        radius = sigma * np.sqrt(2 * width_log)
        kept, width = eliminated_by(items[active], fit, radius, eliminate or _default_comparison(active))
        history.append(Round(t, active, sample.counts, lam.value, lam.lower_bound, width, fit.theta_hat))
        active = active[kept]
    return Result(int(active[0]), tuple(history))


def union_logs(log_items, K, M, delta_t):
    """The logarithms in N_t and in the elimination width: the paper's, or those of the published code."""
    if log_items == "paper":
        return log(M**2 / delta_t), log(M**2 / delta_t)
    return log(2 * M**2 / delta_t), log(2 * K**2 / delta_t)


def eliminated_by(items, fit, radius, comparison):
    """Which active items survive: kept (m,) of bool, and the largest width of a comparison with the leader.

    An item z goes when (z' - z)'theta_hat > radius ||z' - z||, in the norm of the inverse information matrix, for
    the leader z' or, with comparison "pairs", for any active z'. The leader always stays.
    """
    scores = along(items, fit.theta_hat)
    leader = int(argmax(scores))
    whitened = fit.whitened(items - items[leader])  # distances are norms of differences
    widths = radius * np.sqrt(np.einsum("md,md->m", whitened, whitened))
    kept = scores[leader] - scores <= widths
    if comparison == "pairs":
        for rows in np.array_split(np.flatnonzero(kept), 1 + np.count_nonzero(kept) // BLOCK):
            beaten = scores[None, :] - scores[rows, None] > radius * cdist(whitened[rows], whitened)
            kept[rows] = ~beaten.any(axis=1)
    return kept, float(widths.max())


def _default_comparison(active):
    return "leader" if len(active) > MANY_ITEMS else "pairs"


def _check_rule(rule, objective, *options):
    """Refuse an objective or options that the rule does not have."""
    if rule == "widths" and objective == "level":
        raise ValueError("objective must be 'best' for rule='widths'; level sets need rule='halving' (weltz2023)")
    defaults = {"epsilon": 0.1, "delta_schedule": "basel", "eliminate": None, "rounding": "pukelsheim"}
    given = [name for (name, usual), value in zip(defaults.items(), options, strict=True) if value != usual]
    if rule == "halving" and given:
        raise ValueError(f"{', '.join(given)} must be left at the default for rule='halving', which has no such option")
