"""RAGE: randomised adaptive gap elimination (Fiez, Jain, Jamieson, Ratliff 2019, Algorithm 1).

Comments number the lines of Algorithm 1, where "Initialize" is line 1. Departures; the proofs are in the notebooks
fiez2019_3_rage, fiez2019_3_theorems and companion_sigma_costs:
- The norms in rho are squared, as in the proof. Widths use norms in A_t^-1, as line 10 prints (appendix A: A_t).
- The noise has standard deviation sigma. The errors add up to at most pi^2 delta / 24 (below 0.42 delta) by a union
  bound; the product in appendix A does not prove this.
- The design is certified to 0.1 %, because plain Frank-Wolfe stalls above the optimum.
- Above 5,000 active items, each item is compared with the leader alone; Theorem 2 still holds.
- Arms need not span R^d, although footnote 3 assumes it; theta_hat is then the solution of smallest norm.
- The guarantee holds for any scale. With scale=None, the accuracy of the first r(epsilon) pulls sets the scale.
- With a floor f, (1 - f) N_t pulls follow the design, and each arm gets f N_t / K more pulls, rounded up. If this would
  be more than 3 f N_t in all, N_t pulls follow the design, and f N_t arms get one more pull.
- With sigma=None the widths are Student's (`student_radius`).
"""

from collections.abc import Callable
from math import ceil, inf, log, sqrt

import numpy as np

from bandits_lib.checks import check_cost, check_option, check_positive, check_problem
from bandits_lib.design import pairs, round_design, xy_design
from bandits_lib.design.rounding import METHODS, check_floor, floored, per_cost, scattered
from bandits_lib.elimination import basel_delta, eliminated_by, feasible, good_enough, student_radius
from bandits_lib.numerics.least_squares import least_squares, squares_within
from bandits_lib.protocol import BATCHES, DELTA, Algorithm, Result, Round, Row, rule


@rule(
    label="RAGE",
    row=Row(BATCHES, "first choice: a few large batches", "fiez2019, Algorithm 1", DELTA),
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
        Error probability allowed, in (0, 1), and standard deviation of the noise. If each arm has its own, the largest
        is used. In `rage` and `xy_static`, None means unknown Gaussian noise that is the same for all arms.
    scale : float or None
        Phase t compares items to an accuracy of scale / 2^t, in units of reward; the paper's 1 suits rewards in
        [-1, 1]. With None, the first phase has as few pulls as rounding allows; each later phase is twice as accurate.
    cost : (K,) array_like, optional
        Cost of one pull of each arm. The designs then minimise the cost of a phase instead of its pulls.
    epsilon : float
        Slack for rounding; a phase has at least 2 p / epsilon pulls, where p is the size of its design's support.
    accept : float
        Accepted distance from the best value, in units of reward (section 6). If it is positive, sigma is known and
        log_items="paper", the rule stops in phase max(1, ceil(log2(scale / accept))) at the latest.
    delta_schedule : {"fiez2019", "basel"}
        The delta_t of phase t: delta / t^2, or 6 delta / (pi^2 t^2).
    log_items : {"paper", "code"}
        With "paper", pulls and widths contain log(M^2 / delta_t). With "code", as published, pulls contain
        log(2 M^2 / delta_t) and widths log(2 K^2 / delta_t).
    eliminate : {"pairs", "leader"} or None
        With "pairs", an item is eliminated when any active item beats it (Algorithm 1); with "leader", when the leader
        beats it. None means "leader" above 5,000 items, and "pairs" otherwise.
    design : callable
        Function (arms, directions) -> `Design`, called with `pairs(active items)`.
    rounding : {"pukelsheim", "regret", "largest_remainder"}
        Method of `round_design`.
    floor : float
        Share in [0, 1) of the pulls of every phase that is spread evenly over all arms, so that a lack of fit can be
        detected. Rounding up at most triples it. If there are too many arms for this, each phase spreads it over other
        arms.

    Yields
    ------
    (K,) int array
        Pulls to make next; the reply is a `Sample`. The rule returns a `Result`: the best item (int), and one `Round`
        per phase.

    Raises
    ------
    ValueError
        If an argument is invalid (a wrong shape, NaN, identical items, items outside the span of the arms, a number out
        of range), or if no number of pulls can distinguish two items.

    Examples
    --------
    >>> from bandits_lib import instances, play
    >>> problem = instances.benchmark(2, angle=1.0)
    >>> play(rage(problem.arms, delta=0.05), problem, np.random.default_rng(0)).result.recommendation
    0
    """
    arms, items, delta, noise = check_problem(arms, items, delta, 1.0 if sigma is None else sigma)
    sigma_known, scale_of_paper = sigma is not None, scale == 1.0
    scale = None if scale is None else check_positive("scale", scale)
    cost, epsilon = check_cost(cost, len(arms)), check_positive("epsilon", epsilon)
    if not accept >= 0:
        raise ValueError(f"accept must be at least 0 (accepted distance from the best value); got {accept}")
    check_option("delta_schedule", delta_schedule, ("fiez2019", "basel"))
    check_option("log_items", log_items, ("paper", "code"))
    check_option("eliminate", eliminate, (None, "pairs", "leader"))
    check_option("rounding", rounding, METHODS)
    floor = check_floor(floor)

    active, history = np.arange(len(items)), list[Round]()  # line 1: Z_1
    squares_within_arms, df = 0.0, 0  # over all phases, and their degrees of freedom
    pulled = np.zeros(len(arms), np.int64)
    while len(active) > 1:  # line 2
        t = len(history) + 1
        delta_t = basel_delta(delta, t) if delta_schedule == "basel" else delta / t**2  # line 3
        pulls_log, width_log = union_logs(log_items, len(arms), len(items), delta_t)
        directions = pairs(items[active])  # Y(Z_t)
        optimal = per_cost(design, arms, directions, cost)
        lam = floored(optimal, floor, arms, directions)  # lines 4 and 5: lambda_t and rho(Y(Z_t))
        if scale is None or (t == 1 and not sigma_known):
            n = feasible(0.0 if lam.value < inf else inf, t, active)
        else:
            n = 2 * (noise * 2**t / scale) ** 2 * (1 + epsilon) * lam.value * pulls_log
            n = feasible(n, t, active, scale=None if scale_of_paper else f"{scale / 2**t:.3g}")
        minimum = 2 * np.count_nonzero(optimal.weights) / epsilon  # r(epsilon), section 2.3
        n = max(ceil(n), ceil(minimum / (1 - floor)))  # line 6: N_t
        shares = optimal.weights / optimal.weights.sum()
        for_all = floor == 0 or len(arms) <= 3 * floor * n
        counts = round_design(shares, n - int(floor * n) * for_all, method=rounding, arms=arms)  # line 7
        extra = ceil(floor * n / len(arms)) if for_all else scattered(ceil(floor * n), pulled + counts)
        sample = yield counts + extra  # line 8
        pulled += sample.counts
        fit = least_squares(arms, sample)  # line 9
        if not sigma_known:
            squares, replicates = squares_within(sample)
            squares_within_arms, df = squares_within_arms + squares, df + replicates
            noise = sqrt(squares_within_arms / max(df, 1))
        radius = noise * np.sqrt(2 * width_log) if sigma_known else student_radius(sample, width_log)
        if scale is None:
            scale = 2 * noise * sqrt(2 * (1 + epsilon) * lam.value * pulls_log / n)
        kept, width = eliminated_by(items[active], fit, radius, eliminate)  # line 10
        history.append(Round.of(t, active, sample, lam, width, fit.theta_hat))
        active = active[kept]  # Z_(t+1)
        if accept > 0 and (leader := good_enough(items[active], fit, radius, accept)) is not None:  # section 6
            active = active[[leader]]
    return Result(int(active[0]), tuple(history))


def union_logs(log_items, K, M, delta_t):
    """Return the logarithms in N_t and in the elimination width, as in the paper or in the published code."""
    if log_items == "paper":
        return log(M**2 / delta_t), log(M**2 / delta_t)
    return log(2 * M**2 / delta_t), log(2 * K**2 / delta_t)
