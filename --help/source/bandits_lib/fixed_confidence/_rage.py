"""RAGE: randomised adaptive gap elimination (Fiez, Jain, Jamieson, Ratliff 2019, Algorithm 1).

Departures and readings; the proofs are in the notebooks fiez2019_3_rage and fiez2019_3_theorems:
- Algorithm 1 prints norms without squares in the definition of rho; its proof uses squares.
- delta_t = delta / t^2 is the paper's. The errors add up to at most 0.41 delta, not by the product in appendix A.
- The design is certified to 0.1 %, where plain Frank-Wolfe stalls above the optimum.
- Above 5,000 active items an item is compared with the leader alone, which Theorem 2 survives.
- Norms are in A_t^-1, as in Algorithm 1; appendix A prints A_t. The noise has standard deviation sigma, not 1.
- Arms need not span R^d, which footnote 3 supposes: theta_hat is then the solution of least norm.
- accept > 0 is the early exit of section 6, in phase max(1, ceil(log2(1 / accept))) at the latest.
- With a floor f, (1 - f) N_t pulls follow the design and f N_t / K go to every arm, rounded up.
- The accuracies are scale 2^-t, of which the guarantee is independent; with scale=None the first is what r(epsilon)
  pulls give. With sigma=None widths are Student's (`student_radius`); the proof is in companion_sigma_costs.
"""

from collections.abc import Callable
from math import ceil, inf, log, sqrt

import numpy as np

from bandits_lib.checks import check_cost, check_option, check_positive, check_problem, check_told
from bandits_lib.design import pairs, round_design, xy_design
from bandits_lib.design.rounding import check_floor, floored, per_cost
from bandits_lib.numerics.least_squares import (
    basel_delta,
    behind,
    eliminated_by,
    least_squares,
    squares_within,
    student_radius,
)
from bandits_lib.numerics.linear_algebra import along
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import BATCHES, DELTA, After, Algorithm, InPlay, Result, Round, Row, rule

MOST_PULLS = 10**18  # of one phase; more do not fit the counters


@rule(
    label="RAGE",
    row=Row(BATCHES, "first choice: a few large batches", "fiez2019, Algorithm 1", DELTA),
    guarantee=After("anew", "stands: the union bound covers the widths of the pulls made, whatever their number"),
    gone={"rule": "widths", "objective": "best", "threshold": None},
)
def rage(
    arms: np.ndarray,
    items: np.ndarray | None = None,
    *,
    delta: float,
    sigma: float | np.ndarray | None = 1.0,
    scale: float | None = 1.0,
    cost: np.ndarray | None = None,
    epsilon: float = 0.1,
    accept: float = 0.0,
    delta_schedule: str = "fiez2019",
    log_items: str = "paper",
    eliminate: str | None = None,
    design: Callable = xy_design,
    rounding: str = "pukelsheim",
    floor: float = 0.0,
) -> Algorithm:
    """Find the best item with probability at least 1 - delta, in phases that halve the gap (fiez2019, Algorithm 1).

    Parameters
    ----------
    arms, items : (K, d) and (M, d) array_like
        Arms that can be pulled, and items that are ranked, by default the arms.
    delta, sigma : float, and float or (K,) array_like
        Error probability allowed, in (0, 1), and standard deviation of the noise; of several the largest counts. `rage`
        and `xy_static` take None: unknown, for Gaussian noise that is the same for all arms.
    scale : float or None
        Phase t compares to an accuracy of scale / 2^t, in units of reward; the paper's 1 is meant for rewards in
        [-1, 1]. None: the first phase has as few pulls as rounding allows, and later ones halve its accuracy.
    cost : (K,) array_like, optional
        Cost of a pull of each arm; the designs then minimise the cost of a phase in place of its pulls.
    epsilon : float
        Slack left for rounding; a phase has at least 2 p / epsilon pulls, p the support of its design.
    accept : float
        Accepted distance from the best value, in units of reward (section 6).
    delta_schedule : {"fiez2019", "basel"}
        The delta_t of phase t: delta / t^2, or 6 delta / (pi^2 t^2).
    log_items : {"paper", "code"}
        Logarithms log(M^2 / delta_t); or, as published, log(2 M^2 / delta_t) for pulls and log(2 K^2 / delta_t) for
        widths.
    eliminate : {"pairs", "leader"} or None
        An item goes when any active item beats it (Algorithm 1), or when the leader does; None: "leader" above 5,000
        items.
    design : callable
        Function (arms, directions) -> `Design`, called with `pairs(active items)`.
    rounding : {"pukelsheim", "regret", "largest_remainder"}
        Method of `round_design`.
    floor : float
        Share of every phase's pulls, in [0, 1), that all arms get evenly, so that lack of fit can be seen; costs at
        most 1 / (1 - floor) times the pulls, and K for rounding up.

    Yields
    ------
    (K,) int array
        Pulls to make next, answered with a `Sample`. Returns a `Result`: the best item (int), one `Round` a phase.

    Raises
    ------
    ValueError
        For bad input, and for items that no number of pulls can tell apart.

    Examples
    --------
    >>> from bandits_lib import instances, play
    >>> problem = instances.benchmark(2, angle=1.0)
    >>> play(rage(problem.arms, delta=0.05), problem, np.random.default_rng(0)).result.recommendation
    0
    """
    arms, items, delta, noise = check_problem(arms, items, delta, 1.0 if sigma is None else sigma)
    known, first, cost = sigma is not None, scale, check_cost(cost, len(arms))
    scale = None if scale is None else check_positive("scale", scale)
    epsilon = check_positive("epsilon", epsilon)
    if not accept >= 0:
        raise ValueError(f"accept must be at least 0 (accepted distance from the best value); got {accept}")
    check_option("delta_schedule", delta_schedule, ("fiez2019", "basel"))
    check_option("log_items", log_items, ("paper", "code"))
    check_option("eliminate", eliminate, (None, "pairs", "leader"))
    floor = check_floor(floor)

    active, history = np.arange(len(items)), list[Round]()
    within, df = 0.0, 0  # squares within arms of all phases, for the number of pulls
    while len(active) > 1:
        t = len(history) + 1
        delta_t = basel_delta(delta, t) if delta_schedule == "basel" else delta / t**2
        pulls_log, width_log = union_logs(log_items, len(arms), len(items), delta_t)
        compared = pairs(items[active])
        plain = per_cost(design, arms, compared, cost)
        lam = floored(plain, floor, arms, compared)  # lambda_t and rho(Y(Z_t))
        if scale is None or (t == 1 and not known):
            n = feasible(0.0 if lam.value < inf else inf, t, active)
        else:
            n = 2 * (noise * 2**t / scale) ** 2 * (1 + epsilon) * lam.value * pulls_log
            n = feasible(n, t, active, scale=None if first == 1.0 else f"{scale / 2**t:.3g}")
        least = 2 * np.count_nonzero(plain.weights) / epsilon  # r(epsilon)
        n = max(ceil(n), ceil(least / (1 - floor)))  # N_t
        asked = round_design(plain.weights / plain.weights.sum(), n - int(floor * n), method=rounding, arms=arms)
        asked += ceil(floor * n / len(arms))
        sample = yield InPlay(asked, active)
        check_told(asked, sample, arms, items[active] - items[active[0]])
        fit = least_squares(arms, sample)
        if not known:
            squares, replicates = squares_within(sample)
            within, df = within + squares, df + replicates
            noise = sqrt(within / max(df, 1))
        radius = noise * np.sqrt(2 * width_log) if known else student_radius(sample, width_log)
        if scale is None:
            scale = 2 * noise * sqrt(2 * (1 + epsilon) * lam.value * pulls_log / n)
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
