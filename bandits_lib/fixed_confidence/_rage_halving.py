"""RAGE as Weltz, Fiez, Laber, Volfovsky, Mason, Nassif, Jain (2023, Algorithm 5) print it: equal noise, phases that
decide by 2^-l, best items and level sets. The phases, and what departs from the letter, are in halving.py.
"""

from bandits_lib.checks import check_arms, check_delta, check_option, check_sigma
from bandits_lib.design import xy_design
from bandits_lib.fixed_confidence.halving import checked_items, halving


def rage_halving(
    arms, items=None, *, delta, sigma=1.0, objective="best", threshold=None, log_items="paper", design=xy_design
):
    """Best item, or level set, with probability at least 1 - delta, when all arms have the same noise.

    weltz2023, Algorithm 5: phase l pulls enough to know every comparison to within 2^-l, and decides by it.

    Parameters
    ----------
    arms : (K, d), what can be pulled; items : (M, d), what is ranked, default the arms.
    delta : error probability allowed, in (0, 1).
    sigma : standard deviation (sub-Gaussian) of the noise; of several, (K,), the largest is used.
    objective : "best", or "level": which items have a value above `threshold` (reward).
    log_items : "paper", log(8 l^2 M / delta) in phase l, or "code", log(8 l^2 M^2 / delta).
    design : function (arms, directions) -> Design, called with `pairs(active items)`, for level sets the active items.

    Returns (as the generator's value) Result(best item (int) or level set (M,) of bool, history of Round). One item
    and "best": at once, without a pull. Raises ValueError for bad input (shapes, NaN, identical items, items outside
    the span of the arms, delta), and for an item that no number of pulls can decide.

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
    return (yield from halving(arms, items, **told, sigma=1.0, factor=2 * sigma**2))
