"""XY-oracle: the allocation that knows theta_star and only has to verify it (fiez2019, sections 2.1 and 5).

The solver matters here. The certified design makes every constraint tight, which leaves directions with large gaps
weights of about 3e-5; drawn i.i.d. these arms are pulled a handful of times, and the oracle needs a quarter more
pulls than with the papers' Frank-Wolfe, whose early stop leaves them more. So Frank-Wolfe is the default.
"""

from collections.abc import Callable
from functools import partial
from math import log, sqrt

from bandits_lib.checks import check_arms, check_delta, check_items, check_option, check_sigma, check_theta
from bandits_lib.complexity import oracle_directions
from bandits_lib.design import Design, frank_wolfe_design, xy_design
from bandits_lib.estimate import argmax
from bandits_lib.fixed_confidence.fixed_design import check_growth, draw_until, separated
from bandits_lib.protocol import Result

SOLVERS: dict[str, Callable[..., Design]] = {
    "frank_wolfe": partial(frank_wolfe_design, prune=0.0),
    "certified": xy_design,
}


def xy_oracle(
    arms,
    items=None,
    *,
    theta_star,
    delta,
    sigma=1.0,
    growth=1.1,
    phases="every",
    solver="frank_wolfe",
    design=None,
    rng,
):
    """Verify the best item of a known theta_star with probability at least 1 - delta (fiez2019, appendix F).

    Parameters
    ----------
    arms : (K, d); items : (M, d), default the arms; theta_star : (d,), which no other rule is told.
    delta : error probability allowed; sigma : standard deviation; of several the largest is used.
    growth : phase t draws ceil(growth^t) arms; phases : "every" t = 1, 2, ..., or "odd", as the published code does.
    solver : "frank_wolfe" (the papers') or "certified"; design : function (arms, directions) -> Design in its place.
    rng : draws the arms.

    Returns Result(best item (int), history of Round). Raises ValueError for bad input or a best item that ties.
    """
    arms = check_arms(arms)
    items = check_items(items, arms)
    delta, sigma = check_delta(delta), check_sigma(sigma, len(arms)).max()
    check_growth(growth)
    check_option("phases", phases, ("every", "odd"))
    check_option("solver", solver, tuple(SOLVERS))
    if len(items) == 1:
        return Result(0)
    theta_star = check_theta("theta_star", theta_star, items.shape[1])
    best = int(argmax(items @ theta_star))

    def decide(fit, t):
        radius = sigma * sqrt(2 * log(2 * t**2 * len(items) / delta))
        won, width = separated(items, best, fit, radius)
        return (best if won else None), width

    lam = (design or SOLVERS[solver])(arms, oracle_directions(items, theta_star))
    item, history = yield from draw_until(arms, lam, growth=growth, phases=phases, decide=decide, rng=rng)
    return Result(item, history)
