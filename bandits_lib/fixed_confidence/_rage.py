"""RAGE: randomised adaptive gap elimination (Fiez, Jain, Jamieson, Ratliff 2019, Algorithm 1).

Departures from the letter of fiez2019, each with its reason:
- Algorithm 1 prints norms without squares in the definition of rho; its proof uses squares, and so do we.
- delta_t = delta / t^2 is the paper's. The product by which appendix A adds the phases up is not what it says:
  prod(1 - delta / t^2) = sin(pi sqrt(delta)) / (pi sqrt(delta)), .920 at delta = .05. Theorem 2 is true all the same.
  Let w(y) be the width of y, with m items, at most 2^-t for active pairs. The proof needs no more than
  (z - z*)'(theta_hat - theta) <= w(z - z*) for all active z: then none of them beats z* by its width, and one with
  Delta(z) > 2 * 2^-t is behind z* by more than 2^-t and goes; the bound on the pulls follows, since rho is monotone.
  Each of these m - 1 events fails with probability at most delta_t / m^2, all of a phase with at most delta_t / 4, as
  (m - 2)^2 >= 0, and all of all phases with at most pi^2 / 24 delta = .41 delta. With "basel", 6 delta / (pi t)^2, the
  widths of all pairs, and not only these, hold in all phases with probability 1 - delta.
- The design is certified: its value is within .1 % of a lower bound, where plain Frank-Wolfe stalls above it.
- Above 5,000 active items an item is compared with the leader alone. The leader's estimate is at least that of z*. So
  if Delta(z) > 2 * 2^-t, then (leader - z)'theta_hat >= (z* - z)'theta_hat > 2^-t >= w(leader - z): z goes, and
  z* stays, because the leader beats it by less than w(leader - z*) on the same event.
- accept > 0 is the early exit of section 6: the leader is the answer as soon as (z - leader)'theta_hat + width is at
  most `accept` for every active z. While the widths of z* - z hold, z* is active, and Delta(leader) is at most that
  number for z = z*. The union bound already has this comparison, so the exit costs no probability; and since the
  leader leads and all widths are at most 2^-t, it comes in phase ceil(log2(1 / accept)) at the latest.
- With a floor f the counts are the (1 - f) N_t pulls of the design, rounded, and f N_t / K of every arm, rounded up. So
  the information is at least N_t / (1 + epsilon) times that of the mixed weights, whose value N_t is computed from.
"""

from math import ceil, log

import numpy as np

from bandits_lib.checks import (
    check_arms,
    check_delta,
    check_items,
    check_option,
    check_positive,
    check_sigma,
    check_told,
)
from bandits_lib.design import pairs, round_design, xy_design
from bandits_lib.design.rounding import check_floor, floored
from bandits_lib.elimination import eliminated_by, feasible, good_enough
from bandits_lib.numerics.least_squares import basel_delta, least_squares
from bandits_lib.protocol import Result, Round
from bandits_lib.rules import BATCHES, DELTA, LARGEST, After, InPlay, Row, rule


@rule(
    label="RAGE",
    row=Row(BATCHES, LARGEST, "first choice: a few large batches", "fiez2019, Algorithm 1", DELTA),
    guarantee=After(
        "anew",
        "stands: items go by the widths of the pulls that were made, which the union bound covers whatever their "
        "number",
    ),
    gone={"rule": "widths", "objective": "best", "threshold": None},
)
def rage(
    arms,
    items=None,
    *,
    delta,
    sigma=1.0,
    epsilon=0.1,
    accept=0.0,
    delta_schedule="fiez2019",
    log_items="paper",
    eliminate=None,
    design=xy_design,
    rounding="pukelsheim",
    floor=0.0,
):
    """Best item (up to `accept`) with probability at least 1 - delta, in phases that halve the gap (fiez2019, Alg. 1).

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
    epsilon : float, default 0.1
        Slack left for rounding; a phase has at least 2 p / epsilon pulls, p the support of its design.
    accept : float, default 0.0
        Accepted distance from the best value, in units of reward: with 0 the best item is found (section 6).
    delta_schedule : {"fiez2019", "basel"}, default "fiez2019"
        The delta_t of phase t, delta / t^2 or 6 delta / (pi^2 t^2).
    log_items : {"paper", "code"}, default "paper"
        Logarithms log(M^2 / delta_t) throughout, or, as published, log(2 M^2 / delta_t) in the number of pulls and
        log(2 K^2 / delta_t) in the elimination.
    eliminate : {"pairs", "leader"} or None, default None
        An item goes when any active item beats it (Algorithm 1), or when the leader does; None is "pairs" up to 5,000
        active items, "leader" above.
    design : callable, default xy_design
        Function (arms, directions) -> `Design`, called with `pairs(active items)`.
    rounding : {"pukelsheim", "regret", "largest_remainder"}, default "pukelsheim"
        Method of `round_design`.
    floor : float, default 0.0
        Share of every phase's pulls, in [0, 1), that all arms get evenly, so that lack of fit can be seen
        (`design.floored`): at most 1 / (1 - floor) times the pulls, and K for rounding up.

    Yields
    ------
    (K,) int array
        Pulls of each arm to be made next, answered with a `Sample`. Returns a `Result`: the best item (int) and the
        history of `Round`. One item: at once, without a pull.

    Raises
    ------
    ValueError
        For bad input (shapes, NaN, identical items, items outside the span of the arms, delta), and for items that no
        number of pulls can tell apart.

    References
    ----------
    .. [1] Fiez, Jain, Jamieson, Ratliff. "Sequential experimental design for transductive linear bandits". NeurIPS
       2019. Algorithm 1.

    Examples
    --------
    >>> from bandits_lib import instances, play
    >>> problem = instances.benchmark(2, angle=1.0)
    >>> rule = rage(problem.arms, delta=0.05)
    >>> play(rule, problem, np.random.default_rng(0)).result.recommendation
    0
    """
    arms = check_arms(arms)
    items = check_items(items, arms)
    delta, sigma = check_delta(delta), check_sigma(sigma, len(arms)).max()
    epsilon = check_positive("epsilon", epsilon)
    if not accept >= 0:
        raise ValueError(f"accept must be at least 0 (accepted distance from the best value); got {accept}")
    check_option("delta_schedule", delta_schedule, ("fiez2019", "basel"))
    check_option("log_items", log_items, ("paper", "code"))
    check_option("eliminate", eliminate, (None, "pairs", "leader"))
    floor = check_floor(floor)

    active = np.arange(len(items))
    history: list[Round] = []
    while len(active) > 1:
        t = len(history) + 1
        delta_t = basel_delta(delta, t) if delta_schedule == "basel" else delta / t**2
        pulls_log, width_log = union_logs(log_items, len(arms), len(items), delta_t)
        compared = pairs(items[active])
        plain = design(arms, compared)
        lam = floored(plain, floor, arms, compared)  # lambda_t and rho(Y(Z_t))
        n = feasible(2 * (sigma * 2**t) ** 2 * (1 + epsilon) * lam.value * pulls_log, t, active)
        least = 2 * np.count_nonzero(plain.weights) / epsilon  # r(epsilon)
        n = max(ceil(n), ceil(least / (1 - floor)))  # N_t
        asked = round_design(plain.weights / plain.weights.sum(), n - int(floor * n), method=rounding, arms=arms)
        asked += ceil(floor * n / len(arms))
        sample = yield InPlay(asked, active)
        check_told(asked, sample, arms, items[active] - items[active[0]])
        fit = least_squares(arms, sample)
        radius = sigma * np.sqrt(2 * width_log)
        kept, width = eliminated_by(items[active], fit, radius, eliminate)
        history.append(Round(t, active, sample.counts, lam.value, lam.lower_bound, width, fit.theta_hat))
        active = active[kept]
        if accept > 0 and (leader := good_enough(items[active], fit, radius, accept)) is not None:
            active = active[[leader]]
    return Result(int(active[0]), tuple(history))


def union_logs(log_items, K, M, delta_t):
    """The logarithms in N_t and in the elimination width: the paper's, or those of the published code."""
    if log_items == "paper":
        return log(M**2 / delta_t), log(M**2 / delta_t)
    return log(2 * M**2 / delta_t), log(2 * K**2 / delta_t)
