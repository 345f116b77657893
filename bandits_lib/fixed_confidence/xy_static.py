"""XY-static allocation (Soare, Lazaric, Munos 2014), a baseline of fiez2019 (Fiez et al., section 5, appendix F).

The arms are drawn i.i.d., and the data of all phases count. Departures:
- Only the leader is tested, since no other item can pass: (leader - z)'theta_hat >= radius ||leader - z|| for all z.
- If sigma is unknown, the widths are Student's (`student_radius`). Draws do not depend on rewards, so this is valid.
"""

from collections.abc import Callable
from itertools import count
from math import ceil, inf, log, sqrt

import numpy as np

from bandits_lib.checks import check_option, check_problem
from bandits_lib.design import frank_wolfe_design, pairs
from bandits_lib.design.rounding import check_floor, floored
from bandits_lib.elimination import MOST_PULLS, student_radius
from bandits_lib.numerics.least_squares import weighted_least_squares
from bandits_lib.numerics.span import basis
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import BATCHES, DELTA, Algorithm, Result, Round, Row, one_pull, rule, total

EQUAL = 30  # with sigma unknown: fewer replicates may be equal by chance (an arm's first pull is no replicate)


def pull_until(arms, design, batches, decide, *, sigma=1.0, afresh=False):
    """Pull the batches until `decide` names an item; return it and the history of Round (a sub-generator)."""
    history, so_far, no_items = [], None, np.arange(0)
    for t, counts in batches:
        sample = yield counts
        so_far = sample if afresh or so_far is None else total((so_far, sample))
        fit = weighted_least_squares(arms, so_far, sigma)
        item, width = decide(fit, t, so_far)
        history.append(Round.of(t, no_items, sample, design, width, fit.theta_hat))
        if item is not None:
            return item, tuple(history)


def check_growth(growth):
    """Return `growth`, the factor of the phases, as a float above 1."""
    if not 1 < growth < inf:
        raise ValueError(f"growth must be finite and above 1 (phase t draws growth^t arms); got {growth}: try 1.35")
    return float(growth)


def drawn(design, growth, phases, rng):
    """Yield batches without end: phase t draws ceil(growth^t) arms i.i.d., for t = 1, 2, ... or 1, 3, ... ("odd")."""
    weights = design.weights / design.weights.sum()
    for t in count(1, 2 if phases == "odd" else 1):
        n = ceil(growth**t)
        if n / (1 - 1 / growth) > MOST_PULLS:  # the sum of phases 1, ..., t
            raise ValueError(
                f"phase {t} would need {n:.2g} pulls, since no item is ahead of all others yet. The best item must be "
                "unique, and the design must measure its differences; else stop earlier with max_pulls"
            )
        yield t, rng.multinomial(n, weights)  # appendix F: gamma^t samples from the allocation


def others_from(items, leader):
    """Return the differences (M - 1, d) of the leader from all other items."""
    return items[leader] - np.delete(items, leader, axis=0)


def separated(directions, fit, radius):
    """Return whether the leader passes the test, and the largest width, infinite if the data miss a difference."""
    widths = np.where(fit.estimable(directions), radius * np.sqrt(fit.variances(directions)), np.inf)
    return bool((directions @ fit.theta_hat >= widths).all()), float(widths.max())


@rule(
    label="XY-static",
    row=Row(BATCHES, "as rage, with fixed shares: more batches, small at first (give rng)", "Soare et al. 2014", DELTA),
)
def xy_static(
    arms: np.ndarray,
    items: np.ndarray | None = None,
    *,
    delta: float,
    sigma: float | np.ndarray | None = 1.0,
    growth: float = 1.35,
    phases: str = "every",
    start: int | str = 0,
    design: Callable = frank_wolfe_design,
    floor: float = 0.0,
    rng: np.random.Generator,
) -> Algorithm:
    """Find the best item with probability at least 1 - delta, from one XY-design of all pairs (fiez2019, appendix F).

    It yields pulls, returns a `Result` and raises errors as `rage` does.

    Parameters
    ----------
    arms, items, delta, sigma : array_like, float, and float or (K,) array_like
        As for `rage`.
    growth : float
        Factor above 1; phase t draws ceil(growth^t) arms (gamma in fiez2019, appendix F).
    phases : {"every", "odd"}
        Phases t = 1, 2, ... or, as in the published code, 1, 3, ...
    start : {0, "d"}
        With "d", arm 0 is pulled d times first and its rewards are ignored: the published code starts its count of
        pulls at d.
    design : callable
        Function (arms, directions) -> `Design`, called with `pairs(items)`; by default the papers' Frank-Wolfe.
    floor, rng : float and numpy.random.Generator
        Share of the draws that is spread evenly, as for `rage`, and generator that draws the arms.

    Examples
    --------
    >>> from bandits_lib import instances, play
    >>> problem = instances.benchmark(2, angle=1.0)
    >>> rule = xy_static(problem.arms, delta=0.05, rng=np.random.default_rng(1))
    >>> play(rule, problem, np.random.default_rng(0)).result.recommendation
    0
    """
    arms, items, delta, noise = check_problem(arms, items, delta, 1.0 if sigma is None else sigma)
    growth = check_growth(growth)
    check_option("phases", phases, ("every", "odd"))
    check_option("start", start, (0, "d"))
    floor = check_floor(floor)
    if len(items) == 1:
        return Result(0)

    directions = pairs(items)  # Y(Z)
    optimal = design(arms, directions)
    lam = floored(optimal, floor, arms, directions)
    rank = 0 if sigma is not None else basis(arms[optimal.weights > 0]).shape[1]

    def decide(fit, t, so_far):
        if fit.axes.shape[1] < rank:
            return None, inf  # before a short arm is pulled, the difference that it measures may seem to be 0
        leader = int(argmax(items @ fit.theta_hat))
        union_log = log(2 * t**2 * len(items) ** 2 / delta)
        radius = noise * sqrt(2 * union_log) if sigma is not None else student_radius(so_far, union_log, wait=EQUAL)
        # the stopping condition of appendix F, for z' = leader
        passed, width = separated(others_from(items, leader), fit, radius) if radius < inf else (False, inf)
        return (leader if passed else None), width

    ignored = 0
    if start == "d":
        ignored = (yield arms.shape[1] * one_pull(0, len(arms))).counts
    item, (first_round, *rounds) = yield from pull_until(arms, lam, drawn(lam, growth, phases, rng), decide)
    return Result(item, (first_round._replace(counts=first_round.counts + ignored), *rounds))
