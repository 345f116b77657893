"""Compute how many pulls an instance needs: oracle designs, characteristic times and lower bounds.

psi* of fiez2019 (eq. 1) is min over designs of max_z ||z* - z||^2 / ((z* - z)'theta)^2; the characteristic time of
jedra2020 is T* = 2 psi*, because its value function carries the 1/2 of the Gaussian divergence.

Parameters of several functions are those of `rage`: `arms` (K, d), `items` (M, d), by default the arms, `sigma` and
`delta`. `theta` (d,) is the true parameter, and `tol` the relative gap to which a value is certified. Bad input, a
single item and a best item that is not unique raise a ValueError.
"""

from math import acos, ceil, cos, log, log2, sin, sqrt

import numpy as np
from scipy.special import rel_entr

from bandits_lib import checks
from bandits_lib.design import Design, pairs, weighted_design, xy_design
from bandits_lib.numerics.linear_algebra import along
from bandits_lib.numerics.ties import argmax

CONVENTIONS = {"jedra2020": 2.0, "fiez2019": 1.0}  # multiple of psi*


def oracle_directions(items: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Return the differences between the best item and the others, each divided by its gap (fiez2019, eq. 1).

    Parameters
    ----------
    items, theta : (M, d) and (d,) array
        As in the head of this module.

    Returns
    -------
    (M - 1, d) array
        The rows (best - z) / gap, in the order of the items.

    Examples
    --------
    >>> oracle_directions(np.eye(2), np.array([1.0, 0.5])).tolist()
    [[2.0, -2.0]]
    """
    theta = checks.check_theta("theta", theta, items.shape[1])
    best = int(argmax(along(items, theta)))
    differences = items[best] - np.delete(items, best, axis=0)
    gaps = along(differences, theta)
    if (gaps <= 0).any():
        raise ValueError(
            "the best item must be unique under theta: two items share the largest value, so drop one of them"
        )
    return differences / gaps[:, None]


def oracle_design(
    arms: np.ndarray,
    items: np.ndarray | None = None,
    *,
    theta: np.ndarray,
    sigma: float | np.ndarray = 1.0,
    tol: float = 1e-3,
) -> Design:
    """Return the optimal static allocation for a known theta (fiez2019, eq. 1; weltz2023 with sigma per arm).

    Parameters
    ----------
    arms, items, theta, sigma, tol : array_like and float
        As in the head of this module.

    Returns
    -------
    Design
        The design; its value is psi*, in pulls, and includes sigma.

    Examples
    --------
    >>> design = oracle_design(np.eye(2), theta=[1.0, 0.5])
    >>> design.weights.round(2).tolist(), round(design.value, 2)
    ([0.5, 0.5], 16.0)
    """
    arms = checks.check_arms(arms)
    items = checks.check_items(items, arms)
    if len(items) < 2:
        raise ValueError("items must have at least two rows: a single item needs no pull")
    return weighted_design(arms, oracle_directions(items, theta), checks.check_sigma(sigma, len(arms)), tol=tol)


def characteristic_time(
    arms: np.ndarray,
    items: np.ndarray | None = None,
    *,
    theta: np.ndarray,
    sigma: float | np.ndarray = 1.0,
    convention: str = "jedra2020",
    tol: float = 1e-3,
) -> float:
    """Return the characteristic time T* of jedra2020, or psi* = T* / 2 of fiez2019 (eq. 1).

    A delta-correct rule needs at least T* kl(delta, 1 - delta) pulls on average.

    Parameters
    ----------
    arms, items, theta, sigma : array_like
        As in the head of this module.
    convention : {"jedra2020", "fiez2019"}
        Paper whose quantity is returned: T* or psi*.
    tol : float
        As in the head of this module.

    Returns
    -------
    float
        T* or psi*, in pulls; it includes sigma.

    Examples
    --------
    >>> round(characteristic_time(np.eye(2), theta=[1.0, 0.5]), 1)
    32.0
    """
    checks.check_option("convention", convention, tuple(CONVENTIONS))
    return CONVENTIONS[convention] * oracle_design(arms, items, theta=theta, sigma=sigma, tol=tol).value


def lower_bound(
    arms: np.ndarray,
    items: np.ndarray | None = None,
    *,
    theta: np.ndarray,
    delta: float,
    sigma: float | np.ndarray = 1.0,
    convention: str = "jedra2020",
) -> float:
    """Return the expected number of pulls that every delta-correct rule needs (jedra2020, Theorem 1; Gaussian noise).

    Parameters
    ----------
    arms, items, theta, delta, sigma : array_like and float
        As in the head of this module.
    convention : {"jedra2020", "fiez2019"}
        Which bound is returned: T* kl(delta, 1 - delta), or psi* log(1 / (2.4 delta)). The second is Theorem 1 of
        fiez2019 as printed, without a factor of 2.

    Returns
    -------
    float
        The bound, in pulls.

    Examples
    --------
    >>> round(lower_bound(np.eye(2), theta=[1.0, 0.5], delta=0.05), 1)
    84.8
    """
    delta = checks.check_delta(delta)
    time = characteristic_time(arms, items, theta=theta, sigma=sigma, convention=convention)
    return time * (log(1 / (2.4 * delta)) if convention == "fiez2019" else binary_divergence(delta))


def sphere_lower_bound(
    d: int, *, norm: float, epsilon: float, delta: float, sigma: float = 1.0, proof: str = "jedra2020"
) -> float:
    """Return the expected pulls that every (epsilon, delta)-correct rule needs on the sphere (jedra2020, Theorem 4).

    Parameters
    ----------
    d : int
        Dimension, at least 2.
    norm, epsilon : float
        Length |theta| of the parameter, and accepted regret, below norm / 5, in units of reward.
    delta, sigma : float
        As in the head of this module, with one sigma.
    proof : {"jedra2020", "caps", "longer"}
        Theorem 4, or the larger of Theorem 4 and one of our bounds, which the notebook jedra2020_4_sphere proves. The
        bound "longer" is never below "caps".

    Returns
    -------
    float
        The bound, in pulls.

    Examples
    --------
    >>> [round(sphere_lower_bound(5, norm=1.0, epsilon=0.1, delta=0.05, proof=p), 1) for p in ("jedra2020", "longer")]
    [5.3, 34.4]
    """
    checks.check_option("proof", proof, ("jedra2020", "caps", "longer"))
    delta, norm = checks.check_delta(delta), checks.check_positive("norm", norm)
    epsilon = checks.check_positive("epsilon", epsilon)
    if d < 2 or epsilon >= norm / 5:
        raise ValueError(
            f"epsilon must be below norm / 5, and d at least 2; got epsilon = {epsilon}, norm = {norm}, d = {d}"
        )
    divergence = checks.check_positive("sigma", sigma) ** 2 * binary_divergence(delta)
    theorem = (d - 1) * divergence / (20 * norm * epsilon)
    if proof == "jedra2020":
        return theorem
    cos2 = (1 - epsilon / norm) ** 2
    caps = max(theorem, divergence / (2 * norm**2 * (1 - cos2) * max(1 - cos2, cos2 / (d - 1))))
    return caps if proof == "caps" else max(caps, 2 * divergence / (norm**2 * _least_difference(d, epsilon / norm)))


def _least_difference(d, x):
    """Return the minimum over r >= 1 of the larger coefficient of A in "longer", with x = epsilon / norm.

    With cos(phi) = 1 - x, "caps" turns theta by a little more than 2 phi; "longer" also makes it r times as long.
    """

    def along_and_across(r):
        alpha = acos(1 - x) + acos(1 - x / r)
        return 1 - r * cos(alpha), r * sin(alpha) / sqrt(d - 1)

    low, high = 1.0, 3.0  # bisection; at r = 3 `along` is negative, because x < 1 / 5
    for _ in range(60):
        r = (low + high) / 2
        along, across = along_and_across(r)
        low, high = (r, high) if along > across else (low, r)
    return max(abs(part) for part in along_and_across(high)) ** 2


def binary_divergence(delta: float) -> float:
    """Return the divergence kl(delta, 1 - delta) between two Bernoulli laws, in nats (jedra2020, Theorem 1).

    Parameters
    ----------
    delta : float
        As in the head of this module.

    Returns
    -------
    float
        The divergence.

    Examples
    --------
    >>> round(binary_divergence(0.05), 2)
    2.65
    """
    return float(rel_entr(delta, 1 - delta) + rel_entr(1 - delta, delta))


def rage_upper_bound(
    arms: np.ndarray,
    items: np.ndarray | None = None,
    *,
    theta: np.ndarray,
    delta: float,
    sigma: float | np.ndarray = 1.0,
    epsilon: float = 0.1,
) -> np.ndarray:
    """Return numbers of pulls, one per phase, that RAGE exceeds with probability at most delta (fiez2019, Theorem 2).

    Parameters
    ----------
    arms, items, theta, delta, sigma, epsilon : array_like and float
        As for `rage`, and in the head of this module. Gaps must be at most 2, as the theorem assumes.

    Returns
    -------
    (T,) array
        Pulls of each phase t = 1, ..., ceil(log2(4 / smallest gap)), N_t for S_t = {z : gap <= 4 * 2^-t}.

    Examples
    --------
    >>> rage_upper_bound(np.eye(2), theta=[1.0, 0.5], delta=0.05).round().tolist()
    [155.0, 813.0, 3706.0]
    """
    arms, items, delta, sigma = checks.check_problem(arms, items, delta, sigma)
    epsilon = checks.check_positive("epsilon", epsilon)
    values = along(items, checks.check_theta("theta", theta, items.shape[1]))
    gaps = values.max() - values
    if len(items) == 1:
        return np.empty(0)
    if np.sort(gaps)[1] == 0:
        raise ValueError(
            "two items share the largest value: no number of pulls shows which is the best, so drop one of them"
        )
    if gaps.max() > 2 * (1 + 1e-9):
        raise ValueError(f"Theorem 2 assumes gaps of at most 2; the largest here is {gaps.max():.4g}: rescale theta")
    phases = ceil(log2(4 / np.sort(gaps)[1]))
    return np.array([_phase_bound(arms, items, gaps, t, delta, sigma, epsilon) for t in range(1, phases + 1)])


def _phase_bound(arms, items, gaps, t, delta, sigma, epsilon):
    """Return N_t of Theorem 2, the pulls of phase t; 0 if S_t has fewer than two items."""
    in_view = items[gaps <= 4 * 2.0**-t]  # S_t
    if len(in_view) < 2:
        return 0.0
    lam = xy_design(arms, pairs(in_view))
    union = log(len(items) ** 2 * t**2 / delta)
    pulls = 2 * (sigma * 2**t) ** 2 * (1 + epsilon) * lam.value * union
    return float(max(ceil(pulls), ceil(2 * np.count_nonzero(lam.weights) / epsilon)))  # Alg. 1, line 6
