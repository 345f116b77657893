"""How a stage of successive elimination spends its pulls: whole counts on the arms that are left (azizi2022, line 3).

Every allocation made here is valid in the sense of Theorem 4.1: the pulled arms span what the arms span. Where a
random or rounded allocation does not, one pull goes to each of r independent arms, r the rank, and the rest is given
out again. Designs come from a cache, so runs in which the same arms survive share them.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit

from bandits_lib.checks import check_arms, check_option
from bandits_lib.design import Design, design_value, g_design, round_design
from bandits_lib.design.cache import cached
from bandits_lib.design.d_optimal import spanning_arms
from bandits_lib.design.g_optimal import fwg_design, inverse_and_norms, wynn_design
from bandits_lib.numerics.axes import principal_axes
from bandits_lib.numerics.least_squares import information_inverse, norms
from bandits_lib.numerics.ordered import product, transposed
from bandits_lib.numerics.span import basis
from bandits_lib.numerics.ties import argmax

PROJECTIONS = ("span", "first3")
ROUNDINGS = ("regret", "ceil", "multinomial")


class Stage(NamedTuple):
    """The arms left, in orthonormal coordinates: arms (m, r) of rank r, and basis (d, r) of what they span."""

    arms: np.ndarray
    basis: np.ndarray


class Plan(NamedTuple):
    """An allocation: counts (m,), inverse (r, r) of its information matrix, value and lower bound of its design."""

    counts: np.ndarray
    inverse: np.ndarray
    value: float
    lower_bound: float


@cached
def project(arms, projection):
    """The `Stage` of arms (m, d): projected on what they span (line 2), or on its first three axes only ("first3")."""
    axes = basis(arms)
    if projection == "first3":
        axes = principal_axes(arms, min(3, axes.shape[1])).T.copy()
    return Stage(product(arms, axes), axes)


def allocate(arms, n, design, rounding, rng=None):
    """Give out n pulls on the arms (m, r) of one stage (line 3).

    arms : (m, r) of rank r <= n; design : a name of `DESIGNS`, "uniform", "greedy", or a function (arms) -> Design;
    rounding : one of `ROUNDINGS`; rng : for what draws at random (`draws`). Returns a Plan; shared between runs when
    it is deterministic and the design has a name.
    """
    if draws(design, rounding):
        return _allocate(arms, n, design, rounding, rng)
    return (_cached_allocate if isinstance(design, str) else _allocate)(arms, n, design, rounding)


def draws(design, rounding):
    """Whether an allocation is random."""
    return design == "uniform" or (rounding == "multinomial" and design != "greedy")


def _allocate(arms, n, design, rounding, rng=None):
    if design in ("uniform", "greedy"):
        counts = uniform_counts(arms, n, rng) if design == "uniform" else greedy_counts(arms, n)
        value = None
    else:
        weights, value, *_ = stage_design(arms, design)
        counts = rounded(arms, weights, n, rounding, rng)
    pulled = counts > 0
    inverse = information_inverse(arms[pulled], counts[pulled])
    if value is None:
        value = n * norms(inverse, arms).max()
    return Plan(counts, inverse, float(value), float(arms.shape[1]))


_cached_allocate = cached(_allocate)


def of_counts(arms, counts, plan):
    """The Plan that was carried out: `plan` with other counts (m,), of arms (m, r), and their inverse information."""
    pulled = counts > 0
    return plan._replace(counts=counts, inverse=information_inverse(arms[pulled], counts[pulled]))


def stage_design(arms, design):
    """The Design on arms (m, r): by name or by function; independent arms need none, uniform is optimal for them."""
    if not isinstance(design, str):
        return design(arms)
    m, rank = arms.shape
    if m == rank and design != "clusters":
        return Design(np.full(m, 1 / m), float(m), float(m), 0)
    return DESIGNS[design](arms)


def rounded(arms, weights, n, rounding, rng=None):
    """Whole counts (m,) from weights: they sum to n, but for "ceil", the published code's, which passes it.

    "regret" is the ROUND of the paper (Allen-Zhu et al. 2017); "ceil" takes every n pi_i up; "multinomial" draws.
    """
    if rounding == "ceil":
        return np.ceil(n * weights - 1e-9).astype(np.int64)

    def give_out(pulls):
        if rounding == "multinomial":
            return rng.multinomial(pulls, weights)
        if np.ptp(weights) == 0 and len(arms) == arms.shape[1]:  # independent arms: nothing to swap
            return round_design(weights, pulls, "largest_remainder")
        return round_design(weights, pulls, "regret", arms)

    return _valid(arms, n, give_out)


def uniform_counts(arms, n, rng):
    """n // m pulls of each of m arms (m, r) and one more for the rest, drawn at random. Returns counts (m,)."""

    def give_out(pulls):
        counts = np.full(len(arms), pulls // len(arms))
        counts[rng.permutation(len(arms))[: pulls % len(arms)]] += 1
        return counts

    return _valid(arms, n, give_out)


def _valid(arms, n, give_out):
    """give_out(n) if the arms it pulls span the space, else one pull of each of r independent arms and the rest."""
    counts, rank = give_out(n), arms.shape[1]
    pulled = arms[counts > 0]
    if counts.all() or (pulled.any() and basis(pulled).shape[1] == rank):
        return counts
    counts = np.zeros(len(arms), np.int64)
    counts[spanning_arms(arms)] = 1
    return counts + give_out(n - rank) if n > rank else counts


def greedy_counts(arms, n, *, ties="variance"):
    """Sequential G-optimal allocation: each pull minimises max_x ||x||^2_{V^-1} (Soare et al. 2014; GSE-Lin-Greedy).

    arms : (m, r) of rank r <= n. Starts from r independent arms, each the farthest from the span of those before,
    where the original starts from a ridge V = I. ties : among arms that leave the same maximum, "variance" pulls the
    one of the largest x'V^-1x (ours), "first" the first; on the canonical basis no pull lowers the maximum until all
    arms have as many, and "first" stays on the first arm for ever. Returns counts (m,), sum n.
    """
    arms = check_arms(arms)
    check_option("ties", ties, ("variance", "first"))
    counts = np.zeros(len(arms), np.int64)
    counts[spanning_arms(arms)] = 1
    inverse, _ = inverse_and_norms(arms, counts.astype(float))
    return greedy_pulls(product(product(arms, inverse), transposed(arms)), counts, n, ties == "variance")


@njit(cache=True, error_model="numpy")
def greedy_pulls(gram, counts, n, by_variance):
    """Add pulls to `counts` (m,) up to n, with gram (m, m) = X V^-1 X', both in place."""
    m = len(counts)
    score = np.empty(m)
    for _ in range(n - counts.sum()):
        for k in range(m):
            most, share = 0.0, 1 / (1 + gram[k, k])
            for i in range(m):
                after = gram[i, i] - gram[k, i] * gram[k, i] * share
                if after > most:
                    most = after
            score[k] = -most
        arm = argmax(score)
        if by_variance:
            floor = score[arm] - 1e-9 * abs(score[arm])
            for k in range(m):
                score[k] = gram[k, k] if score[k] >= floor else -np.inf
            arm = argmax(score)
        counts[arm] += 1
        ray, share = gram[arm].copy(), 1 / (1 + gram[arm, arm])
        for i in range(m):
            for j in range(m):
                gram[i, j] -= ray[i] * ray[j] * share
    return counts


def clusters_design(arms, clusters=None):
    """Equal shares for clusters of arms, and equal shares within them (azizi2022, appendix H): no optimality claimed.

    arms : (m, r) of rank r; clusters : how many k-means looks for, at most m, default r; it starts from
    that many arms, each the farthest from the span of those before (from the arms chosen, beyond r of them).
    Returns a Design whose value is computed and whose lower bound is r. Raises ValueError for bad input.
    """
    arms = check_arms(arms)
    rank = basis(arms).shape[1]
    clusters = rank if clusters is None else clusters
    if not 1 <= clusters <= len(arms):
        raise ValueError(f"clusters must lie between 1 and the number of arms, {len(arms)}; got {clusters}")
    return _clusters_design(arms, int(clusters), rank)


@cached
def _clusters_design(arms, clusters, rank):
    label = k_means(arms, arms[_starts(product(arms, basis(arms)), clusters)])
    sizes = np.bincount(label, minlength=clusters)
    weights = 1 / (np.count_nonzero(sizes) * sizes[label])
    return Design(weights, design_value(arms, weights, arms), float(rank), 0)


def _starts(arms, clusters):
    chosen = list(spanning_arms(np.ascontiguousarray(arms))[:clusters])
    while len(chosen) < clusters:
        distance = ((arms[:, None] - arms[chosen][None]) ** 2).sum(axis=2).min(axis=1)
        chosen.append(int(argmax(distance)))
    return chosen


def k_means(points, centres, most=100):
    """Cluster (m,) of each point (m, d) by Lloyd's iteration from `centres` (c, d); an empty cluster stays empty."""
    label = np.full(len(points), -1)
    for _ in range(most):
        distances = ((points[:, None] - centres[None]) ** 2).sum(axis=2)
        before, label = label, np.array([argmax(-row) for row in distances])
        if (label == before).all():
            break
        centres = np.array(
            [points[label == c].mean(axis=0) if (label == c).any() else centres[c] for c in range(len(centres))]
        )
    return label


DESIGNS: dict[str, Callable[..., Design]] = {
    "fwg": fwg_design,
    "wynn": wynn_design,
    "certified": g_design,
    "clusters": clusters_design,
}
EXPLORERS = ("uniform", "greedy", *DESIGNS)
