"""Baselines of HEAD: the Uniform and the Separate Arm Estimator (weltz2023, appendix C, Algorithms 3 and 4).

Departures:
- Algorithm 4 prints U* = argmax zeta_min(Phi_U^-1), which favours short arms. Its bound (Theorem D.1) needs a large
  zeta_min(Phi_U), the default. `criterion` offers both, and "volume", a greedy choice of largest volume (ours).
- As in the published code, U* is the best of 1,000 random subsets of the max(K / 10, M + 20) longest arms.
- If the phi's span r < M dimensions, r arms are chosen, and singular values are computed within the span.
- Pulls are rounded so that they add up to `budget`, as in `head`.
"""

import numpy as np

from bandits_lib.checks import check_arms, check_budget, check_dimension, check_option
from bandits_lib.design import Design, round_design
from bandits_lib.design.cache import cached
from bandits_lib.design.certificate import value_of
from bandits_lib.design.directions import Listed
from bandits_lib.design.g_optimal import spanning_arms
from bandits_lib.numerics.least_squares import least_squares
from bandits_lib.numerics.linear_algebra import along, product, upper_factor
from bandits_lib.numerics.span import basis
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import Algorithm, Result, rule
from bandits_lib.variance.quadratic import check_bounds, estimate, features, fit_quadratic, squared_residuals

SLACK = 1e-8  # relative; scores that differ by less are compared by their eigenvalues


@rule(label="Uniform")
def uniform_estimator(
    arms: np.ndarray, *, budget: int, sigma_min: float, sigma_max: float, rng: np.random.Generator
) -> Algorithm:
    """Estimate the variances from arms drawn uniformly; all pulls enter both regressions (weltz2023, Algorithm 3).

    It yields pulls, returns a `Result` and raises errors as `head` does, without a history. The
    budget must be at least the dimension of the phi's, and above that of the arms.

    Parameters
    ----------
    arms, budget, sigma_min, sigma_max : (K, d) array_like, int, float and float
        As for `head`.
    rng : numpy.random.Generator
        Generator that draws the arms.
    """
    arms, (sigma_min, sigma_max) = check_arms(arms), check_bounds(sigma_min, sigma_max)
    least = max(basis(features(arms)).shape[1], basis(arms).shape[1] + 1)
    budget = check_budget(budget, least, "one for each dimension of phi, and more than the dimension of the arms")
    sample = yield rng.multinomial(budget, np.full(len(arms), 1 / len(arms)))  # Alg. 3, line 3
    fit = least_squares(arms, sample)  # line 5
    residuals = squared_residuals(along(arms, fit.theta_hat), sample)
    quadratic = fit_quadratic(arms, sample.counts, residuals)  # line 6
    return Result(estimate(arms, quadratic, sample.counts, sigma_min, sigma_max))


@rule(label="Separate Arm")
def separate_arm_estimator(
    arms: np.ndarray,
    *,
    budget: int,
    sigma_min: float,
    sigma_max: float,
    criterion: str = "zeta_min",
    subsets: int = 1_000,
    candidates: int | None = None,
    rng: np.random.Generator,
) -> Algorithm:
    """Estimate the variances from as few arms as identify them (weltz2023, Algorithm 4).

    It yields pulls, returns a `Result` and raises errors as `head` does, without a history. The
    budget must be at least two pulls for each chosen arm.

    Parameters
    ----------
    arms, budget, sigma_min, sigma_max : (K, d) array_like, int, float and float
        As for `head`.
    criterion, subsets, candidates, rng : str, int, int and numpy.random.Generator
        Choice of the arms, as for `separate_arm_design`.
    """
    arms, (sigma_min, sigma_max) = check_arms(arms), check_bounds(sigma_min, sigma_max)
    design = separate_arm_design(arms, criterion=criterion, subsets=subsets, candidates=candidates, rng=rng)
    rank = np.count_nonzero(design.weights)
    budget = check_budget(budget, 2 * rank, f"two for each of {rank} arms")
    sample = yield round_design(design.weights, budget)  # Alg. 4, line 4
    averages = sample.sums / np.maximum(sample.counts, 1)  # line 5
    quadratic = fit_quadratic(arms, sample.counts, squared_residuals(averages, sample))  # line 7
    return Result(estimate(arms, quadratic, sample.counts, sigma_min, sigma_max))


def separate_arm_design(
    arms: np.ndarray,
    *,
    criterion: str = "zeta_min",
    subsets: int = 1_000,
    candidates: int | None = None,
    rng: np.random.Generator,
) -> Design:
    """Return the arms of the Separate Arm Estimator, as a design with equal weights (weltz2023, Algorithm 4, line 3).

    Parameters
    ----------
    arms : (K, d) array_like
        Arms that can be pulled. The number of chosen arms is r, the dimension of their phi's.
    criterion : {"zeta_min", "printed", "volume"}
        With "zeta_min", choose the random subset that maximises the smallest singular value of Phi_U; with "printed",
        the one that minimises the largest singular value. "volume" is the greedy choice.
    subsets : int
        Number of random subsets.
    candidates : int, optional
        Number of longest arms from which the subsets are drawn. The default is max(K / 10, M + 20), or all arms if
        these do not span the phi's.
    rng : numpy.random.Generator
        Generator that draws the subsets.

    Returns
    -------
    Design
        A design on phi: equal weights on r arms, value max_x phi_x'A^-1 phi_x, lower bound r.

    Examples
    --------
    >>> design = separate_arm_design(np.eye(2), criterion="volume", rng=np.random.default_rng(0))
    >>> design.weights.tolist(), design.lower_bound
    ([0.5, 0.5], 2.0)
    """
    check_option("criterion", criterion, ("zeta_min", "printed", "volume"))
    check_dimension("subsets", subsets, 1)
    phi = features(check_arms(arms))
    phi = product(phi, basis(phi))  # coordinates of their span, which keep lengths and angles
    rank = phi.shape[1]
    if criterion == "volume":
        return _equal_weights(phi, spanning_arms(phi))
    pool = _candidates(arms, phi, candidates)
    tries = pool[rng.random((subsets, len(pool))).argsort(axis=1)[:, :rank]]
    return _best_subset(phi, tries, criterion)


def _candidates(arms, phi, number):
    """Return rows of the `number` longest arms by length, by default enough of them to span the phi's."""
    rank = phi.shape[1]
    order = np.argsort(-np.linalg.norm(arms, axis=1), kind="stable")  # noqa: TID251  as published
    if number is not None:
        check_dimension("candidates", number, rank)
        return order[:number]
    pool = order[: max(len(arms) // 10, arms.shape[1] * (arms.shape[1] + 1) // 2 + 20)]
    return pool if basis(phi[pool]).shape[1] == rank else order


@cached
def _best_subset(phi, tries, criterion):
    """Return the best of the subsets `tries` (n, r) that span the space; if none spans it, that of largest volume.

    The score is the smallest eigenvalue of sign times the Gram matrix. Whether it exceeds that of an earlier subset is
    asked of a Cholesky factorisation first, which halves the time of a choice.
    """
    sign, best, eye = 1.0 if criterion == "zeta_min" else -1.0, -np.inf, np.eye(tries.shape[1])
    scores = np.full(len(tries), -1e300)
    for k, rows in enumerate(tries):
        gram = phi[rows] @ phi[rows].T
        if best > -np.inf and not upper_factor(sign * gram - (best - SLACK * abs(best)) * eye)[1]:
            continue
        squared = np.linalg.eigvalsh(gram)
        if squared[0] > 1e-12 * squared[-1]:
            scores[k] = squared[0] if criterion == "zeta_min" else -squared[-1]
            best = max(best, scores[k])
    return _equal_weights(phi, spanning_arms(phi) if best == -np.inf else tries[argmax(scores)])


def _equal_weights(phi, rows):
    """Return the `Design` of equal weights on these rows of phi."""
    weights = np.zeros(len(phi))
    weights[rows] = 1 / len(rows)
    rank = phi.shape[1]
    return Design(weights, max(value_of(phi, weights, Listed(phi)), float(rank)), float(rank), 1)
