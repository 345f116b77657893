"""XY-static allocation (Soare, Lazaric, Munos 2014), as compared with in fiez2019, section 5 and appendix F.

One design for all pairs of items, fixed before the first reward. Departure: with i.i.d. draws, data of all phases
and a test on the leader alone, which is the only item that can pass it.
"""

from math import log, sqrt

from bandits_lib.checks import check_arms, check_delta, check_items, check_option, check_sigma
from bandits_lib.design import frank_wolfe_design, pairs
from bandits_lib.design.floor import check_floor, floored
from bandits_lib.fixed_confidence.fixed_design import check_growth, drawn, pull_until, separated
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import Result, one_pull


def xy_static(
    arms,
    items=None,
    *,
    delta,
    sigma=1.0,
    growth=1.35,
    phases="every",
    start=0,
    design=frank_wolfe_design,
    floor=0.0,
    rng,
):
    """Best item with probability at least 1 - delta, from the XY-optimal design of all pairs (fiez2019, appendix F).

    Parameters
    ----------
    arms : (K, d) array_like
        Feature vectors of the K arms that can be pulled.
    items : (M, d) array_like, optional
        Feature vectors of the M items that are ranked; by default the arms.
    delta : float
        Error probability allowed, in (0, 1).
    sigma : float or (K,) array_like, default 1.0
        The standard deviation of the noise; of several the largest is used.
    growth : float, default 1.35
        Above 1: phase t draws ceil(growth^t) arms (gamma in fiez2019, appendix F).
    phases : {"every", "odd"}, default "every"
        Phases t = 1, 2, ... or, as in the published code, 1, 3, ...
    start : {0, "d"}, default 0
        With "d" arm 0 is pulled d times without looking, the count at which the published code starts.
    design : callable, default frank_wolfe_design
        Function (arms, directions) -> `Design`, called with `pairs(items)`: the papers' Frank-Wolfe (`xy_design` is
        certified).
    floor : float, default 0.0
        Share of the draws, in [0, 1), that all arms get evenly, so that lack of fit can be seen (`design.floored`).
    rng : numpy.random.Generator
        Draws the arms.

    Yields
    ------
    (K,) int array
        Pulls of each arm to be made next, answered with a `Sample`. Returns a `Result`: the best item (int) and the
        history of `Round`. One item: at once, without a pull.

    Raises
    ------
    ValueError
        For bad input (shapes, NaN, identical items, items outside the span of the arms, delta, growth).

    References
    ----------
    .. [1] Soare, Lazaric, Munos. "Best-arm identification in linear bandits". NeurIPS 2014.
    .. [2] Fiez, Jain, Jamieson, Ratliff. "Sequential experimental design for transductive linear bandits". NeurIPS
       2019. Section 5 and appendix F.

    Examples
    --------
    >>> from bandits_lib import instances, play
    >>> problem = instances.benchmark(2, angle=1.0)
    >>> rule = xy_static(problem.arms, delta=0.05, rng=np.random.default_rng(1))
    >>> play(rule, problem, np.random.default_rng(0)).result.recommendation
    0
    """
    arms = check_arms(arms)
    items = check_items(items, arms)
    delta, sigma = check_delta(delta), check_sigma(sigma, len(arms)).max()
    growth = check_growth(growth)
    check_option("phases", phases, ("every", "odd"))
    check_option("start", start, (0, "d"))
    floor = check_floor(floor)
    if len(items) == 1:
        return Result(0)

    def decide(fit, t):
        leader = int(argmax(items @ fit.theta_hat))
        radius = sigma * sqrt(2 * log(2 * t**2 * len(items) ** 2 / delta))
        won, width = separated(items, leader, fit, radius)
        return (leader if won else None), width

    compared = pairs(items)
    lam = floored(design(arms, compared), floor, arms, compared)
    unseen = 0
    if start == "d":
        unseen = (yield arms.shape[1] * one_pull(0, len(arms))).counts
    item, (first, *others) = yield from pull_until(arms, lam, drawn(lam, growth, phases, rng), decide)
    return Result(item, (first._replace(counts=first.counts + unseen), *others))
