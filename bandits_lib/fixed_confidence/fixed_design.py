"""What XY-static and XY-oracle share: pull one fixed design, in growing phases, until a test is passed.

After each batch (t, counts) `decide(fit, t)` says the item that passes, or None, and a width. Its fit is the least
squares, weighted by 1 / sigma^2, of all data so far, or of the batch alone (`afresh`). The rounds hold no active set,
since nothing is eliminated. The test: (leader - z)'theta_hat >= radius ||leader - z|| for all z (fiez2019, appendix F).
"""

from itertools import count
from math import ceil, inf

import numpy as np

from bandits_lib.numerics.least_squares import weighted_least_squares
from bandits_lib.protocol import Round, total


def pull_until(arms, design, batches, decide, *, sigma=1.0, afresh=False):
    """Sub-generator: pull the batches until `decide` answers; returns the item and the history of Round."""
    history, so_far, nothing = [], None, np.arange(0)
    for t, counts in batches:
        sample = yield counts
        so_far = sample if afresh or so_far is None else total((so_far, sample))
        fit = weighted_least_squares(arms, so_far, sigma)
        item, width = decide(fit, t)
        history.append(Round(t, nothing, sample.counts, design.value, design.lower_bound, width, fit.theta_hat))
        if item is not None:
            return item, tuple(history)


def check_growth(growth):
    """`growth`, by which the phases grow, as a float above 1."""
    if not 1 < growth < inf:
        raise ValueError(f"growth must be above 1 (phase t draws growth^t arms); got {growth}")
    return float(growth)


def drawn(design, growth, phases, rng):
    """Batches without end: phase t draws ceil(growth^t) arms i.i.d.; phases "odd": 1, 3, ... (the published code)."""
    weights = design.weights / design.weights.sum()
    for t in count(1, 2 if phases == "odd" else 1):
        yield t, rng.multinomial(ceil(growth**t), weights)


def separated(items, leader, fit, radius):
    """Whether `leader` passes the test, and the largest width, infinite where the data do not span a difference."""
    directions = items[leader] - np.delete(items, leader, axis=0)
    widths = np.where(fit.estimable(directions), radius * np.sqrt(fit.variances(directions)), np.inf)
    return bool((directions @ fit.theta_hat >= widths).all()), float(widths.max())
