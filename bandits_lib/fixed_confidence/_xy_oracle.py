"""XY-oracle: the allocation that knows theta_star and only has to verify it (fiez2019, sections 2.1 and 5; weltz2023,
section 5, whose heteroskedastic oracle knows the noise of every arm too, and whose homoskedastic one its largest).

The solver matters here. The certified design makes every constraint tight, which leaves directions with large gaps
weights of about 3e-5; drawn i.i.d. these arms are pulled a handful of times, and the oracle needs a quarter more
pulls than with the papers' Frank-Wolfe, whose early stop leaves them more. So Frank-Wolfe is the default. With whole
pulls ("rounds") every arm of the design gets its share, and the certified design is the better one.

The published oracles of weltz2023 stop as soon as the *true* best item leads in the estimate, without any confidence
width (stop="truth"): no rule could, since it takes the answer to know. The default verifies.
"""

from functools import partial
from itertools import count
from math import inf, log, sqrt

import numpy as np

from bandits_lib.checks import check_arms, check_delta, check_items, check_option, check_sigma, check_theta
from bandits_lib.complexity import oracle_directions
from bandits_lib.design import frank_wolfe_design
from bandits_lib.fixed_confidence._xy_static import check_growth, drawn, pull_until, separated
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import Result
from bandits_lib.rules import BATCHES, DELTA, EACH, ENDS, After, Row, rule

UNPRUNED = partial(frank_wolfe_design, prune=0.0)


@rule(
    label="Oracle",
    row=Row(BATCHES, EACH, "a yardstick: it is told theta", "fiez2019, section 5", DELTA),
    guarantee=After("as if", ENDS),
)
def xy_oracle(
    arms,
    items=None,
    *,
    theta_star,
    delta,
    sigma=1.0,
    growth=1.1,
    phases="every",
    batches="draws",
    stop="widths",
    design=UNPRUNED,
    rng,
):
    """Verify the best item of a known theta_star with probability at least 1 - delta (fiez2019, appendix F).

    Parameters
    ----------
    arms : (K, d) array_like
        Feature vectors of the K arms that can be pulled.
    items : (M, d) array_like, optional
        Feature vectors of the M items that are ranked; by default the arms.
    theta_star : (d,) array_like
        The true parameter, which no other rule is told.
    delta : float
        Error probability allowed, in (0, 1).
    sigma : float or (K,) array_like, default 1.0
        The standard deviation of the noise; one for each arm makes design and least squares weighted (weltz2023).
    growth : float, default 1.1
        Above 1: phase t draws ceil(growth^t) arms (gamma in fiez2019, appendix F); for "draws" only.
    phases : {"every", "odd"}, default "every"
        Phases t = 1, 2, ... or, as in the published code of fiez2019, 1, 3, ...; for "draws" only.
    batches : {"draws", "rounds"}, default "draws"
        Phase t draws ceil(growth^t) arms and all data count (fiez2019), or it pulls arm x
        ceil(2 t psi log(4 t^2 M / delta) lambda_x) times, psi the value of the design, and its data alone count (the
        published code of weltz2023).
    stop : {"widths", "truth"}, default "widths"
        When every other item is beaten by its confidence width, or when the best one leads.
    design : callable, default frank_wolfe_design with prune=0.0
        Function (arms, directions) -> `Design`: the papers' Frank-Wolfe, without pruning.
    rng : numpy.random.Generator
        Draws the arms; "rounds" do not need it.

    Yields
    ------
    (K,) int array
        Pulls of each arm to be made next, answered with a `Sample`. Returns a `Result`: the best item (int) and the
        history of `Round`. One item: at once, without a pull.

    Raises
    ------
    ValueError
        For bad input (shapes, NaN, identical items, items outside the span of the arms), and for a best item that ties.

    References
    ----------
    .. [1] Fiez, Jain, Jamieson, Ratliff. "Sequential experimental design for transductive linear bandits". NeurIPS
       2019. Sections 2.1 and 5, appendix F.
    .. [2] Weltz, Fiez, Volfovsky, Laber, Mason, Nassif, Jain. "Experimental designs for heteroskedastic variance".
       NeurIPS 2023. Section 5.

    Examples
    --------
    >>> from bandits_lib import instances, play
    >>> problem = instances.benchmark(2, angle=1.0)
    >>> rule = xy_oracle(problem.arms, theta_star=problem.theta, delta=0.05, rng=np.random.default_rng(1))
    >>> play(rule, problem, np.random.default_rng(0)).result.recommendation
    0
    """
    arms = check_arms(arms)
    items = check_items(items, arms)
    delta, sigma = check_delta(delta), check_sigma(sigma, len(arms))
    growth = check_growth(growth)
    check_option("phases", phases, ("every", "odd"))
    check_option("batches", batches, ("draws", "rounds"))
    check_option("stop", stop, ("widths", "truth"))
    if len(items) == 1:
        return Result(0)
    theta_star = check_theta("theta_star", theta_star, items.shape[1])
    best = int(argmax(items @ theta_star))
    scale = sigma.max()
    relative = sigma / scale

    def decide(fit, t):
        radius = scale * sqrt(2 * log(2 * t**2 * len(items) / delta))
        won, width = separated(items, best, fit, radius)
        if stop == "truth":
            won = width < inf and leads(items, best, fit)
        return (best if won else None), width

    lam = design(arms / relative[:, None], oracle_directions(items, theta_star))
    afresh = batches == "rounds"
    asked = rounds(lam, scale, len(items), delta) if afresh else drawn(lam, growth, phases, rng)
    item, history = yield from pull_until(arms, lam, asked, decide, sigma=relative, afresh=afresh)
    return Result(item, history)


def rounds(design, sigma, M, delta):
    """Batches without end: whole pulls in the shares of the design, 2 t psi log(4 t^2 M / delta) of them and more."""
    for t in count(1):
        n = 2 * t * sigma**2 * design.value * log(4 * t**2 * M / delta)
        yield t, np.ceil(n * design.weights).astype(np.int64)


def leads(items, best, fit):
    """Whether `best` has a larger estimate than every other item."""
    return bool(((items[best] - np.delete(items, best, axis=0)) @ fit.theta_hat > 0).all())
