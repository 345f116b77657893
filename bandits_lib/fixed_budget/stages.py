"""Stages of GSE and OD-LinBAI: coordinates of the arms in play, and their pulls (azizi2022, Algorithm 1, lines 2, 3).

Every allocation is valid in the sense of Theorem 4.1: if the pulled arms do not span the same space as all arms, r
independent arms get one pull each, and the other pulls are allocated again. Allocations without random draws are
cached. "greedy" is the sequential G-optimal allocation (Soare et al. 2014): each pull minimises max_x ||x||^2_{V^-1}.
Departures:
- "greedy" starts from r independent arms; the original starts from a ridge V = I.
- Among arms that leave the same maximum, ties="variance" pulls the arm of the largest x'V^-1x. With "first", no pull
  lowers the maximum on the canonical basis, and the first arm is pulled for ever.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numba import njit

from bandits_lib.checks import check_arms, check_option
from bandits_lib.design import clusters_design, fwg_design, g_design, round_design, wynn_design
from bandits_lib.design.cache import cached
from bandits_lib.design.g_optimal import inverse_and_norms, spanning_arms
from bandits_lib.numerics.least_squares import information_inverse, norms
from bandits_lib.numerics.linear_algebra import principal_axes, product, squares, transposed
from bandits_lib.numerics.span import RANK_TOL, basis, far_apart, scaled_axes
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import Sample, one_pull


class Stage(NamedTuple):
    """Arms in play (m, r) of rank r, in coordinates basis'x, for a basis (d, r) of the space that they span."""

    arms: np.ndarray
    basis: np.ndarray


def project(arms, projection="span"):
    """Return the `Stage` of arms (m, d), on their span or 3 axes ("first3"; "cumulative": if they do not span R^d)."""
    return Stage(*(field.copy() for field in _project(arms, projection)))  # copies, as kernels need writable arrays


@cached
def _project(arms, projection):
    axes = basis(arms)
    deficient = axes.shape[1] < arms.shape[1]
    if projection == "first3" or (projection == "cumulative" and deficient):
        axes = principal_axes(arms, min(3, axes.shape[1])).T.copy()
    inside = product(arms, axes)
    if projection == "cumulative" and deficient:
        inside[squares(inside) <= RANK_TOL**2 * squares(arms)] = 0.0  # at right angles to the axes
    if not far_apart(inside):
        return Stage(inside, axes)
    scaled = scaled_axes(inside)
    return Stage(product(inside, scaled), product(axes, scaled))


def projected(stage, projection="span"):
    """Return the `Stage` of the arms of a Stage, projected once more."""
    inner = project(stage.arms, projection)
    return Stage(inner.arms, product(stage.basis, inner.basis))


def measure(active, counts, K):
    """Pull the active arms `counts` (m,) times; return the Samples of all K arms and of the active ones."""
    of_all = np.zeros(K, dtype=np.int64)
    of_all[active] = counts
    sample = yield of_all
    return sample, Sample(*(field[active] for field in sample))


class Plan(NamedTuple):
    """An allocation: counts (m,), the inverse (r, r) of its information matrix, and the value of its design."""

    counts: np.ndarray
    inverse: np.ndarray
    value: float


def plan_of(arms, counts, value=None):
    """Return the `Plan` of counts (m,) on arms (m, r); without a design its value is that of the counts themselves."""
    pulled = counts > 0
    inverse = information_inverse(arms[pulled], counts[pulled])
    return Plan(counts, inverse, float(counts.sum() * norms(inverse, arms).max() if value is None else value))


def by_design(solve, arms, n, rng=None, rounding="regret"):
    """Return the `Plan` of n pulls in shares of the design `solve(arms)`; independent arms (m = r) share equally."""
    m, rank = arms.shape
    weights, value = (np.full(m, 1 / m), float(m)) if m == rank else solve(arms)[:2]
    return plan_of(arms, rounded(arms, weights, n, rounding, rng), value)


EXPLORERS: dict[str, Callable] = {  # (arms (m, r), n, rng, rounding) -> counts (m,) or Plan
    "uniform": lambda arms, n, rng, rounding: uniform_counts(arms, n, rng),
    "greedy": lambda arms, n, rng, rounding: greedy_counts(arms, n),
    "fwg": partial(by_design, fwg_design),
    "wynn": partial(by_design, wynn_design),
    "certified": partial(by_design, g_design),
    "clusters": partial(by_design, clusters_design),
}


def check_explorer(design, rounding, projection, rng):
    """Refuse unknown options of a stage, and options that draw without a random generator."""
    check_option("rounding", rounding, ("regret", "ceil", "multinomial"))
    check_option("projection", projection, ("span", "first3", "cumulative"))
    if not callable(design):
        check_option("design", design, EXPLORERS)
        if draws(design, rounding) and rng is None:
            raise ValueError(
                f"rng must be given for design={design!r}, rounding={rounding!r} (random draws); got None: pass "
                "np.random.default_rng(seed)"
            )
    if projection == "cumulative" and rng is None:
        raise ValueError(
            "rng must be given for projection='cumulative', which breaks ties at random; got None: pass "
            "np.random.default_rng(seed)"
        )


def allocate(arms, n, design, rounding, rng=None):
    """Return the `Plan` of n pulls on the arms (m, r), by a name or a function (arms, n, rng) -> counts or Plan."""
    if callable(design):
        return _plan(arms, design(arms, n, rng))
    if draws(design, rounding):
        return _plan(arms, EXPLORERS[design](arms, n, rng, rounding))
    return _remembered(arms, n, design, rounding)


@cached
def _remembered(arms, n, design, rounding):
    """Return the `Plan` of an allocation without random draws, from the cache."""
    return _plan(arms, EXPLORERS[design](arms, n, None, rounding))


def _plan(arms, allocation):
    """Return the `Plan` for the answer of an explorer, a Plan or counts (m,)."""
    return allocation if isinstance(allocation, Plan) else plan_of(arms, np.asarray(allocation))


def draws(design, rounding):
    """Return whether an allocation by name is random."""
    return design == "uniform" or (rounding == "multinomial" and design != "greedy")


def rounded(arms, weights, n, rounding, rng=None):
    """Return whole counts (m,) of sum n from weights; "ceil", of the published code, may exceed n."""
    if rounding == "ceil":
        return np.ceil(n * weights - 1e-9).astype(np.int64)
    if rounding == "multinomial":
        return _valid(arms, n, lambda pulls: rng.multinomial(pulls, weights))
    equal = np.ptp(weights) == 0 and len(arms) == arms.shape[1]  # independent arms: no swap can help
    method = "largest_remainder" if equal else "regret"
    return _valid(arms, n, lambda pulls: round_design(weights, pulls, method, arms))


def uniform_counts(arms, n, rng):
    """Return counts (m,): n // m pulls of each of m arms (m, r), and one more for n % m arms drawn at random."""

    def give_out(pulls):
        counts = np.full(len(arms), pulls // len(arms))
        counts[rng.permutation(len(arms))[: pulls % len(arms)]] += 1
        return counts

    return _valid(arms, n, give_out)


def _valid(arms, n, give_out):
    """Return give_out(n) if its arms span the space, else one pull each of r independent arms and give_out(n - r)."""
    counts, rank = give_out(n), arms.shape[1]
    pulled = arms[counts > 0]
    if counts.all() or (pulled.any() and basis(pulled).shape[1] == rank):
        return counts
    spanning = one_pull(spanning_arms(arms), len(arms))
    return spanning + give_out(n - rank) if n > rank else spanning


def greedy_counts(arms, n, *, ties="variance"):
    """Return counts (m,) of sum n on arms (m, r) of rank r <= n, by the sequential G-optimal allocation."""
    arms = check_arms(arms)
    check_option("ties", ties, ("variance", "first"))
    counts = one_pull(spanning_arms(arms), len(arms))
    inverse, _ = inverse_and_norms(arms, counts.astype(float))
    return greedy_pulls(product(product(arms, inverse), transposed(arms)), counts, n, ties == "variance")


@njit(cache=True, error_model="numpy")
def greedy_pulls(gram, counts, n, by_variance):
    """Add pulls to `counts` (m,) up to n, with gram (m, m) = X V^-1 X', both in place."""
    m = len(counts)
    score = np.empty(m)
    for _ in range(n - counts.sum()):
        for k in range(m):
            largest, share = 0.0, 1 / (1 + gram[k, k])
            for i in range(m):
                after = gram[i, i] - gram[k, i] * gram[k, i] * share
                if after > largest:
                    largest = after
            score[k] = -largest
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
