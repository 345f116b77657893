"""How many pulls an instance needs: oracle designs, characteristic times and lower bounds.

psi* of fiez2019 (eq. 1) is min over designs of max_z ||z* - z||^2 / ((z* - z)'theta)^2; the characteristic time of
jedra2020 is T* = 2 psi*, since its value function carries the 1/2 of the Gaussian divergence.
"""

from math import acos, ceil, cos, log, log2, sin, sqrt

import numpy as np
from scipy.special import rel_entr

from bandits_lib.checks import (
    check_arms,
    check_delta,
    check_items,
    check_option,
    check_positive,
    check_sigma,
    check_theta,
)
from bandits_lib.design import pairs, weighted_design, xy_design
from bandits_lib.numerics.linear_algebra import along
from bandits_lib.numerics.ties import argmax

CONVENTIONS = {"jedra2020": 2.0, "fiez2019": 1.0}  # multiple of psi*


def oracle_directions(items, theta):
    """Differences of the best item from the others, each divided by its gap (fiez2019, eq. 1).

    Parameters
    ----------
    items : (M, d) array
        Feature vectors of the M items that are ranked, at least two.
    theta : (d,) array_like
        The true parameter.

    Returns
    -------
    (M - 1, d) array
        The rows (best - z) / gap, in the order of the items.

    Raises
    ------
    ValueError
        If the best value is attained twice, or theta is not d finite numbers.

    References
    ----------
    .. [1] Fiez, Jain, Jamieson, Ratliff. "Sequential experimental design for transductive linear bandits". NeurIPS
       2019. Equation 1.

    Examples
    --------
    >>> oracle_directions(np.eye(2), np.array([1.0, 0.5])).tolist()
    [[2.0, -2.0]]
    """
    theta = check_theta("theta", theta, items.shape[1])
    best = int(argmax(along(items, theta)))
    differences = items[best] - np.delete(items, best, axis=0)
    gaps = along(differences, theta)
    if (gaps <= 0).any():
        raise ValueError("the best item must be unique under theta: its value is attained twice, no oracle exists")
    return differences / gaps[:, None]


def oracle_design(arms, items=None, *, theta, sigma=1.0, tol=1e-3):
    """The optimal static allocation lambda* of one who knows theta (fiez2019, eq. 1; weltz2023 with sigma per arm).

    Parameters
    ----------
    arms : (K, d) array_like
        Feature vectors of the K arms that can be pulled.
    items : (M, d) array_like, optional
        Feature vectors of the M items that are ranked; by default the arms.
    theta : (d,) array_like
        The true parameter.
    sigma : float or (K,) array_like, default 1.0
        The standard deviation of the noise, one or one for each arm.
    tol : float, default 1e-3
        Relative gap to which the value is certified.

    Returns
    -------
    Design
        Its value is psi* (in units of pulls, sigma included).

    Raises
    ------
    ValueError
        For bad input, one item, or a best item that is not unique.

    References
    ----------
    .. [1] Fiez, Jain, Jamieson, Ratliff. "Sequential experimental design for transductive linear bandits". NeurIPS
       2019. Equation 1.
    .. [2] Weltz, Fiez, Volfovsky, Laber, Mason, Nassif, Jain. "Experimental designs for heteroskedastic variance".
       NeurIPS 2023.

    Examples
    --------
    >>> design = oracle_design(np.eye(2), theta=[1.0, 0.5])
    >>> design.weights.round(2).tolist(), round(design.value, 2)
    ([0.5, 0.5], 16.0)
    """
    arms = check_arms(arms)
    items = check_items(items, arms)
    if len(items) < 2:
        raise ValueError("items must be at least two: a single item needs no pull")
    return weighted_design(arms, oracle_directions(items, theta), check_sigma(sigma, len(arms)), tol=tol)


def characteristic_time(arms, items=None, *, theta, sigma=1.0, convention="jedra2020", tol=1e-3):
    """T* = 2 psi* ("jedra2020", pulls per unit of kl(delta, 1 - delta)) or psi* itself ("fiez2019"), sigma included.

    Parameters
    ----------
    arms : (K, d) array_like
        Feature vectors of the K arms that can be pulled.
    items : (M, d) array_like, optional
        Feature vectors of the M items that are ranked; by default the arms.
    theta : (d,) array_like
        The true parameter.
    sigma : float or (K,) array_like, default 1.0
        The standard deviation of the noise, one or one for each arm.
    convention : {"jedra2020", "fiez2019"}, default "jedra2020"
        T* or psi*.
    tol : float, default 1e-3
        Relative gap to which the value is certified.

    Returns
    -------
    float
        T* or psi*, in pulls.

    Raises
    ------
    ValueError
        For an unknown convention, bad input, one item, or a best item that is not unique.

    References
    ----------
    .. [1] Jedra, Proutiere. "Optimal best-arm identification in linear bandits". NeurIPS 2020.
    .. [2] Fiez, Jain, Jamieson, Ratliff. "Sequential experimental design for transductive linear bandits". NeurIPS
       2019. Equation 1.

    Examples
    --------
    >>> round(characteristic_time(np.eye(2), theta=[1.0, 0.5]), 1)
    32.0
    """
    check_option("convention", convention, tuple(CONVENTIONS))
    return CONVENTIONS[convention] * oracle_design(arms, items, theta=theta, sigma=sigma, tol=tol).value


def lower_bound(arms, items=None, *, theta, delta, sigma=1.0, convention="jedra2020"):
    """Expected pulls that every delta-correct rule needs (Gaussian noise).

    Parameters
    ----------
    arms : (K, d) array_like
        Feature vectors of the K arms that can be pulled.
    items : (M, d) array_like, optional
        Feature vectors of the M items that are ranked; by default the arms.
    theta : (d,) array_like
        The true parameter.
    delta : float
        Error probability allowed, in (0, 1).
    sigma : float or (K,) array_like, default 1.0
        The standard deviation of the noise, one or one for each arm.
    convention : {"jedra2020", "fiez2019"}, default "jedra2020"
        The bound T* kl(delta, 1 - delta), or psi* log(1 / (2.4 delta)) as Theorem 1 of fiez2019 prints it, which is
        loose by the factor 2 that its divergence omits.

    Returns
    -------
    float
        The bound, in pulls.

    Raises
    ------
    ValueError
        For an unknown convention, bad input, delta outside (0, 1), one item, or a best item that is not unique.

    References
    ----------
    .. [1] Jedra, Proutiere. "Optimal best-arm identification in linear bandits". NeurIPS 2020. Theorem 1.
    .. [2] Fiez, Jain, Jamieson, Ratliff. "Sequential experimental design for transductive linear bandits". NeurIPS
       2019. Theorem 1.

    Examples
    --------
    >>> round(lower_bound(np.eye(2), theta=[1.0, 0.5], delta=0.05), 1)
    84.8
    """
    delta = check_delta(delta)
    time = characteristic_time(arms, items, theta=theta, sigma=sigma, convention=convention)
    return time * (log(1 / (2.4 * delta)) if convention == "fiez2019" else binary_divergence(delta))


def sphere_lower_bound(d, *, norm, epsilon, delta, sigma=1.0, proof="jedra2020"):
    """Expected pulls that every (epsilon, delta)-correct rule needs when all unit vectors of R^d can be pulled.

    Parameters
    ----------
    d : int
        Dimension, at least 2.
    norm : float
        Length |theta| of the parameter.
    epsilon : float
        Accepted regret, below norm / 5, in units of reward.
    delta : float
        Error probability allowed, in (0, 1).
    sigma : float, default 1.0
        The standard deviation of the noise.
    proof : {"jedra2020", "caps", "longer"}, default "jedra2020"
        Theorem 4, or the larger of it and one of our bounds; "longer" is never below "caps".

    Returns
    -------
    float
        The bound, in pulls.

    Raises
    ------
    ValueError
        For bad input, an epsilon of norm / 5 or more, and d below 2.

    Notes
    -----
    "jedra2020" is Theorem 4, sigma^2 (d - 1) kl(delta, 1 - delta) / (20 norm epsilon).

    "caps" (ours): with cos(phi) = 1 - epsilon / norm, turn theta by a little more than 2 phi, so that no answer is
    right for both. A, the expected sum of aa', has trace E[pulls], so in the mean over all directions of the turn
    (theta - turned)'A(theta - turned) is at most 4 norm^2 sin(phi)^2 max(sin(phi)^2, cos(phi)^2 / (d - 1)) E[pulls],
    and some direction has no more; the change of measure asks for 2 sigma^2 kl. For epsilon far below norm / d that is
    sigma^2 (d - 1) kl / (4 norm epsilon) pulls, five times Theorem 4; from d = 29 on at epsilon = norm / 10 it is
    below Theorem 4.

    "longer" (ours) lets the other parameter be longer, too. With length r norm, r >= 1, the right answers for it are
    within arccos(1 - epsilon / (r norm)) of its direction, so none is right for both if its angle to theta is a little
    more than alpha = phi + arccos(1 - epsilon / (r norm)). With A_11 the entry of A along theta, the mean over all
    directions of the turn is

        norm^2 ((1 - r cos(alpha))^2 A_11 + (r sin(alpha))^2 (E[pulls] - A_11) / (d - 1)),

    since the mean of vv' over unit vectors v orthogonal to theta is the identity there over d - 1. It is at most
    norm^2 E[pulls] times the larger of the two coefficients, (1 - r cos(alpha))^2 and (r sin(alpha))^2 / (d - 1). Every
    r >= 1 gives a bound. The first coefficient falls from r = 1 ("caps") to r = 1 / cos(alpha), where it is 0, and the
    second grows, so the best r is where they meet, or 1. In the form sigma^2 (d - 1) kl / (C norm epsilon) of Theorem
    4, C is at most 8.8 for all d and all epsilon < norm / 5 (r = 1 / cos(alpha), which does not depend on d), 5.8 below
    norm / 10, and tends to 4.

    References
    ----------
    .. [1] Jedra, Proutiere. "Optimal best-arm identification in linear bandits". NeurIPS 2020. Theorem 4.

    Examples
    --------
    >>> [round(sphere_lower_bound(5, norm=1.0, epsilon=0.1, delta=0.05, proof=p), 1) for p in ("jedra2020", "longer")]
    [5.3, 34.4]
    """
    check_option("proof", proof, ("jedra2020", "caps", "longer"))
    delta, norm, epsilon = check_delta(delta), check_positive("norm", norm), check_positive("epsilon", epsilon)
    if d < 2 or epsilon >= norm / 5:
        raise ValueError(f"epsilon must be below norm / 5, and d at least 2; got {epsilon} and {norm}, d = {d}")
    divergence = check_positive("sigma", sigma) ** 2 * binary_divergence(delta)
    theorem = (d - 1) * divergence / (20 * norm * epsilon)
    if proof == "jedra2020":
        return theorem
    cos2 = (1 - epsilon / norm) ** 2
    caps = max(theorem, divergence / (2 * norm**2 * (1 - cos2) * max(1 - cos2, cos2 / (d - 1))))
    return caps if proof == "caps" else max(caps, 2 * divergence / (norm**2 * _told_apart(d, epsilon / norm)))


def _told_apart(d, x):
    """Least over r >= 1 of the larger coefficient of A in "longer", x = epsilon / norm, by bisection."""

    def along_and_across(r):
        alpha = acos(1 - x) + acos(1 - x / r)
        return 1 - r * cos(alpha), r * sin(alpha) / sqrt(d - 1)

    low, high = 1.0, 3.0  # at 3 the first is negative: x < 1 / 5
    for _ in range(60):
        r = (low + high) / 2
        along, across = along_and_across(r)
        low, high = (r, high) if along > across else (low, r)
    return max(abs(part) for part in along_and_across(high)) ** 2


def binary_divergence(delta):
    """Divergence kl(delta, 1 - delta) between two Bernoulli laws (jedra2020, Theorem 1).

    Parameters
    ----------
    delta : float
        Error probability allowed, in (0, 1).

    Returns
    -------
    float
        The divergence, in nats.

    References
    ----------
    .. [1] Jedra, Proutiere. "Optimal best-arm identification in linear bandits". NeurIPS 2020. Theorem 1.

    Examples
    --------
    >>> round(binary_divergence(0.05), 2)
    2.65
    """
    return float(rel_entr(delta, 1 - delta) + rel_entr(1 - delta, delta))


def rage_upper_bound(arms, items=None, *, theta, delta, sigma=1.0, epsilon=0.1):
    """Theorem 2 of fiez2019: pulls that RAGE exceeds with probability at most delta, phase by phase.

    Parameters
    ----------
    arms : (K, d) array_like
        Feature vectors of the K arms that can be pulled.
    items : (M, d) array_like, optional
        Feature vectors of the M items that are ranked; by default the arms.
    theta : (d,) array_like
        The true parameter, with gaps of at most 2.
    delta : float
        Error probability allowed, in (0, 1).
    sigma : float or (K,) array_like, default 1.0
        The standard deviation of the noise; of several the largest is used.
    epsilon : float, default 0.1
        Slack left for rounding.

    Returns
    -------
    (T,) array
        Pulls of each phase t = 1, ..., ceil(log2(4 / smallest gap)).

    Raises
    ------
    ValueError
        For bad input, and for gaps above 2, which the theorem does not cover.

    Notes
    -----
    The bound is the sum over t of N_t for the sets S_t = {z : gap <= 4 * 2^-t}, with delta_t = delta / t^2.

    References
    ----------
    .. [1] Fiez, Jain, Jamieson, Ratliff. "Sequential experimental design for transductive linear bandits". NeurIPS
       2019. Theorem 2.

    Examples
    --------
    >>> rage_upper_bound(np.eye(2), theta=[1.0, 0.5], delta=0.05).round().tolist()
    [155.0, 813.0, 3706.0]
    """
    arms = check_arms(arms)
    items = check_items(items, arms)
    delta, sigma = check_delta(delta), check_sigma(sigma, len(arms)).max()
    epsilon = check_positive("epsilon", epsilon)
    values = along(items, check_theta("theta", theta, items.shape[1]))
    gaps = values.max() - values
    if len(items) == 1:
        return np.empty(0)
    if np.sort(gaps)[1] == 0:
        raise ValueError("two items share the largest value: no number of pulls tells which is the best")
    if gaps.max() > 2 * (1 + 1e-9):
        raise ValueError(f"Theorem 2 assumes gaps of at most 2; the largest here is {gaps.max():.4g}: rescale theta")
    phases = ceil(log2(4 / np.sort(gaps)[1]))
    return np.array([_phase_bound(arms, items, gaps, t, delta, sigma, epsilon) for t in range(1, phases + 1)])


def _phase_bound(arms, items, gaps, t, delta, sigma, epsilon):
    """N_t of Theorem 2: the pulls of phase t, 0 where fewer than two items are in view."""
    in_view = items[gaps <= 4 * 2.0**-t]
    if len(in_view) < 2:
        return 0.0
    lam = xy_design(arms, pairs(in_view))
    union = log(len(items) ** 2 * t**2 / delta)
    pulls = 2 * (sigma * 2**t) ** 2 * (1 + epsilon) * lam.value * union
    return float(max(ceil(pulls), ceil(2 * np.count_nonzero(lam.weights) / epsilon)))
