"""What XY-static and XY-oracle share: pull one fixed design, in growing phases, until a test is passed."""

from itertools import count
from math import ceil

import numpy as np

from bandits_lib.numerics.least_squares import weighted_least_squares
from bandits_lib.protocol import Round, total


def check_growth(growth):
    """Refuse a growth of the phases that is not a finite number above 1."""
    if not 1 < growth < np.inf:
        raise ValueError(f"growth must be finite and above 1 (phase t draws ceil(growth^t) arms); got {growth}")


def draw_until(arms, design, *, growth, phases, decide, rng, sigma=1.0):
    """Sub-generator: in phase t draw ceil(growth^t) arms i.i.d. from the design, until `decide(fit, t)` answers.

    arms : (K, d); design : Design; growth : > 1; phases : "every" or "odd" (the published code advances t twice).
    decide : function (LeastSquares of all data so far, t) -> (item or None, width); rng : draws the arms.
    sigma : least squares weighs by 1 / sigma^2, one or (K,).
    Returns (item, history of Round); the rounds hold no active set (nothing is eliminated).
    """
    weights = design.weights / design.weights.sum()
    history, so_far = [], None
    for t in count(1, 2 if phases == "odd" else 1):
        sample = yield rng.multinomial(ceil(growth**t), weights)
        so_far = sample if so_far is None else total((so_far, sample))
        fit = weighted_least_squares(arms, so_far, sigma)
        item, width = decide(fit, t)
        nothing = np.arange(0)
        history.append(Round(t, nothing, sample.counts, design.value, design.lower_bound, width, fit.theta_hat))
        if item is not None:
            return item, tuple(history)


def allocate_until(arms, design, *, pulls, decide, sigma=1.0):
    """Sub-generator: in phase t pull each arm ceil(pulls(t) lambda_x) times, until `decide(fit, t)` answers.

    pulls : function t -> pulls; decide : function (LeastSquares of the phase's data alone, t) -> (item or None, width);
    other arguments and what is returned as in `draw_until` (the published oracles of weltz2023).
    """
    history, nothing = [], np.arange(0)
    for t in count(1):
        sample = yield np.ceil(pulls(t) * design.weights).astype(np.int64)
        fit = weighted_least_squares(arms, sample, sigma)
        item, width = decide(fit, t)
        history.append(Round(t, nothing, sample.counts, design.value, design.lower_bound, width, fit.theta_hat))
        if item is not None:
            return item, tuple(history)


def separated(items, leader, fit, radius):
    """Whether `leader` beats every other item by its confidence width, and the largest such width.

    (leader - z)'theta_hat >= radius ||leader - z|| for all z (fiez2019, appendix F). Where the data do not span a
    difference its width is infinite.
    """
    directions = items[leader] - np.delete(items, leader, axis=0)
    widths = np.where(fit.estimable(directions), radius * np.sqrt(fit.variances(directions)), np.inf)
    return bool((directions @ fit.theta_hat >= widths).all()), float(widths.max())
