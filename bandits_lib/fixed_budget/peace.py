"""Peace with a fixed budget (Katz-Samuels, Jain, Karnin and Jamieson 2020, Algorithm 2), and azizi2022's approximation.

Epochs of equal length measure the items that are left, by the design of smallest Gaussian width. As in the published
code, there are ceil(log2 gamma(Z)) epochs, at least 2, and estimates use the data of all epochs. The next set is the
largest prefix, in the order of estimated values, whose width is at most max(ceil(gamma / 2), 1). Departures:
- Entropic descent with a closed-form gradient minimises the width on a fixed batch of normals and their negatives.
- Two items have a single difference, whose design is exact.
- Before rounding, atoms are dropped as long as no variance of a difference grows by more than 1 %.

objective="ratio" (Azizi et al. 2022) has the halving stages of GSE, with the design that minimises
E max_z (z_0 - z)'A^-1/2 eta / (1 + theta_hat'(z_0 - z)), where z_0 is the leader, and theta_hat is 0 at first. Counts
are rounded down, the remaining pulls go to random arms, and estimates use the data of the stage alone.
"""

from math import ceil, log2

import numpy as np

from bandits_lib.checks import check_arms, check_budget, check_items, check_option, check_sigma
from bandits_lib.design import Design, round_design, xy_design
from bandits_lib.design.gaussian_width import batch, points_in, solve_width, without_slight_atoms
from bandits_lib.fixed_budget.stages import rounded
from bandits_lib.numerics.least_squares import weighted_least_squares
from bandits_lib.numerics.span import span
from bandits_lib.numerics.ties import argmax, ranked
from bandits_lib.protocol import BATCHES, ELSEWHERE, Algorithm, Result, Round, Row, rule, total

PAIR = 2 * np.pi  # gamma of two items is ||y||^2 / (2 pi), as half of the spread is |N(0, ||y||^2)| / 2


@rule(
    label="Peace",
    row=Row(BATCHES, "items other than the arms", "Katz-Samuels et al. 2020", ELSEWHERE, "ratios"),
)
def peace(
    arms: np.ndarray,
    items: np.ndarray | None = None,
    *,
    budget: int,
    sigma: float | np.ndarray = 1.0,
    objective: str = "width",
    draws: int = 1024,
    rng: np.random.Generator,
) -> Algorithm:
    """Find the best item within a budget, in epochs that halve a Gaussian width (Katz-Samuels et al. 2020).

    It yields pulls, returns a `Result` and raises errors as `gse` does. The `design_value` of a
    Round is the Gaussian width (gamma), and its `width` is the largest standard deviation, in units of sigma, of an
    estimated lead of the leader over an active item.

    Parameters
    ----------
    arms, items : (K, d) and (M, d) array_like
        Arms that can be pulled, and items that are ranked, by default the arms.
    budget : int
        Number of pulls, at least epochs times the rank of the arms. Each epoch has floor(budget / epochs) pulls; the
        remainder is not used.
    sigma : float or (K,) array_like
        Standard deviation of the noise. A single number has no effect; with one per arm, the ratios matter.
    objective : {"width", "ratio"}
        Peace ("width"), or its approximation in azizi2022 ("ratio").
    draws : int
        Even number of normals in the batch over which widths are averaged.
    rng : numpy.random.Generator
        Generator that draws the batch and, for "ratio", the arms that get the pulls left by rounding.

    Examples
    --------
    >>> from bandits_lib import instances, play
    >>> problem = instances.benchmark(2, angle=1.0)
    >>> rule = peace(problem.arms, budget=60, rng=np.random.default_rng(1))
    >>> play(rule, problem, np.random.default_rng(0)).result.recommendation
    0
    """
    arms = check_arms(arms)
    items = check_items(items, arms, distinct=False)
    noise = check_sigma(sigma, len(arms))
    check_option("objective", objective, ("width", "ratio"))
    batch(draws, 1, np.random.default_rng(0))
    check_budget(budget, 1, "one pull")
    if (items == items[0]).all():
        return Result(0)
    rule = _by_width if objective == "width" else _by_ratio
    return (yield from rule(arms, items, budget, noise / noise.max(), draws, rng))


def _by_width(arms, items, budget, relative, draws, rng):
    """Play Algorithm 2: epochs of equal length, each for the items left."""
    space = span(arms / relative[:, None])
    points = points_in(space, items)
    normals = batch(draws, points.shape[1], rng)
    active, samples, history = np.arange(len(items)), [], []
    lam = least_width(space.arms, points, normals)  # gamma(Z)
    epochs = max(2, ceil(log2(lam.value))) if lam.value > 0 else 2
    n = _share(budget, epochs, space.arms.shape[1], "epochs")
    for epoch in range(1, epochs + 1):
        # the design of two points is exact; from other designs, atoms that variances hardly need are dropped
        weights = without_slight_atoms(space.arms, lam.weights, points[active]) if len(active) > 2 else lam.weights
        if epoch == 1 and n < np.count_nonzero(weights):  # the pulls of the first epoch must determine all values
            sample = yield rounded(space.arms, weights, n, "regret")
        else:
            sample = yield round_design(weights, n)
        samples.append(sample)
        so_far = total(samples)
        scores, entry = _judged(epoch, active, sample, lam, items, weighted_least_squares(arms, so_far, relative))
        history.append(entry)
        if epoch < epochs and len(active) > 2:
            order = active[ranked(-scores)]
            kept, lam = longest_prefix(space.arms, points[order], normals, lam)
            active = np.sort(order[:kept])
            if lam.value == 0:
                break
    return Result(int(active[argmax(items[active] @ entry.theta_hat)]), tuple(history))


def _by_ratio(arms, items, budget, relative, draws, rng):
    """Play azizi2022's approximation: halving stages, each with the design of smallest ratio on the arms left."""
    items_are_arms = np.array_equal(items, arms)
    stages = (len(items) - 1).bit_length()
    n = _share(budget, stages, span(arms).arms.shape[1], "stages")
    active, theta_hat, history = np.arange(len(items)), np.zeros(arms.shape[1]), []
    for stage in range(1, stages + 1):
        pulled = active if items_are_arms else np.arange(len(arms))
        space = span((arms / relative[:, None])[pulled])
        points, scores = points_in(space, items[active]), items[active] @ theta_hat
        leader = argmax(scores)
        points = (points - points[leader]) / (1 + scores[leader] - scores)[:, None]
        lam = least_width(space.arms, points, batch(draws, points.shape[1], rng))
        counts = np.zeros(len(arms), dtype=np.int64)
        counts[pulled] = _rounded_down(lam.weights, n, rng)
        sample = yield counts
        scores, entry = _judged(stage, active, sample, lam, items, weighted_least_squares(arms, sample, relative))
        history.append(entry)
        theta_hat = entry.theta_hat
        active = np.sort(active[ranked(-scores)[: (len(active) + 1) // 2]])
        if (items[active] == items[active[0]]).all():
            break
    return Result(int(active[0]), tuple(history))


def _judged(index, active, sample, lam, items, fit):
    """Return the estimated values (m,) of the active items, and the Round."""
    scores = items[active] @ fit.theta_hat
    comparisons = items[active] - items[active[argmax(scores)]]
    width = np.sqrt(fit.variances(comparisons).max())
    return scores, Round.of(index, active, sample, lam, width, fit.theta_hat)


def least_width(arms, points, normals, start=None, target=0.0):
    """Return `solve_width` for any number of points (m, r): two have an exact design, copies of one have width 0."""
    if not np.ptp(points, axis=0).any():
        return Design(np.full(len(arms), 1 / len(arms)), 0.0, 0.0, 0)
    if len(points) > 2:
        return solve_width(arms, points, normals, start, target)
    design = xy_design(arms, (points[1] - points[0])[None, :])
    return design._replace(value=design.value / PAIR, lower_bound=design.lower_bound / PAIR)


def longest_prefix(arms, points, normals, lam):
    """Return how many points (m, r), best first, have gamma(prefix) <= max(ceil(gamma / 2), 1), and their Design."""
    limit = max(ceil(lam.value / 2), 1)
    if lam.value <= limit:
        return len(points), lam
    weights, kept, too_many = lam.weights, 1, len(points)
    while too_many - kept > 1:
        middle = (kept + too_many) // 2
        design = least_width(arms, points[:middle], normals, weights, limit)
        weights = design.weights
        if design.value <= limit:
            kept = middle
        else:
            too_many = middle
    return kept, least_width(arms, points[:kept], normals, weights)


def _share(budget, parts, rank, name):
    """Return the pulls of each part; refuse a budget that cannot identify the values of the items."""
    check_budget(budget, parts * rank, f"{parts} {name} of {rank} pulls, the rank of the arms")
    return int(budget) // parts


def _rounded_down(weights, n, rng):
    """Return counts (m,) of sum n: floor(n weights), and one of the remaining pulls for each of several random arms."""
    counts = np.floor(n * weights + 1e-9).astype(np.int64)
    counts[rng.choice(len(weights), n - counts.sum(), replace=False)] += 1
    return counts
