"""RAGE as Weltz, Fiez, Volfovsky, Laber, Mason, Nassif, Jain (2023, Algorithm 5) print it: equal noise, phases that
decide by 2^-l, best items and level sets. The phases, and what departs from the letter, are in halving.py.
"""

from bandits_lib.checks import check_arms, check_delta, check_option, check_sigma
from bandits_lib.design import xy_design
from bandits_lib.design.floor import check_floor
from bandits_lib.fixed_confidence.halving import checked_items, halving


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
