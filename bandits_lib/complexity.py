"""Compute how many pulls an instance needs: oracle designs, characteristic times and lower bounds.

psi* of fiez2019 (eq. 1) is min over designs of max_z ||z* - z||^2 / ((z* - z)'theta)^2; the characteristic time of
jedra2020 is T* = 2 psi*, because its value function carries the 1/2 of the Gaussian divergence.

Parameters of several functions are those of `rage`: `arms` (K, d), `items` (M, d), by default the arms, `sigma` and
`delta`. `theta` (d,) is the true parameter, and `tol` the relative gap to which a value is certified. Bad input, a
single item and a best item that is not unique raise a ValueError.
"""

from math import acos, ceil, cos, log, log2, sin, sqrt
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls
from scipy.special import rel_entr

from bandits_lib import checks
from bandits_lib.design import Design, g_design, pairs, weighted_design, xy_design
from bandits_lib.numerics.least_squares import information_inverse, norms
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


# --- the guess of a plan: the hardest instance with a given smallest gap
#
# If only the smallest gap that matters is known, `hardest` makes the guess. No gap is larger than the features force it
# to be, because an experiment takes less time when any gap grows. For each item that can be best, `closest` finds the
# parameter whose gaps have the smallest sum of squares, and `hardest` takes the one with the largest characteristic
# time. The gaps are minimised instead of theta, because the norm of theta depends on the units of the features. No
# parameter with such gaps takes longer than the design that is best for the smallest gap of each item by itself. For
# arms without structure, for factors and for a line, `hardest` reaches this bound. In other cases a local search found
# parameters that take at most 8 % longer. If there are many items, `hardest` looks at MOST of them.

ROUNDING = 1e-10  # a singular value that counts as zero, relative to the largest
DECIMALS = 12  # kept of an effect of a feature, relative to the largest
FEASIBLE = 1e-8  # residual of nonnegative least squares below which no parameter makes the item best
REGULAR = 0.01  # share of the G-optimal design in the designs that give bounds
MOST = 20  # items for which the characteristic time is computed


class Guess(NamedTuple):
    """A parameter to plan with, its best item and its characteristic time."""

    theta: np.ndarray  # (d,)
    best: int  # row of the best item
    time: float  # characteristic time T* of jedra2020, in pulls


def closest(items, best, gap):
    """Return the theta (d,) whose gaps are at least `gap` with the smallest sum of squares; None if `best` cannot lead.

    An item cannot lead if it lies in the convex hull of the others, up to rounding errors. The effects of the features
    have DECIMALS digits, so gaps are at least `gap` up to this precision.
    """
    # The gaps are Gx, where G has orthonormal columns; find the smallest |x| with Gx >= 1 (Lawson and Hanson 1974,
    # chapter 23, LDP). Let r be the residual of min |[G'; 1'] u - e| over u >= 0, with e the last unit vector. If r = 0
    # there is no solution; otherwise x = -r_j / r_last.
    items = np.asarray(items, dtype=float)
    leads = items[best] - np.delete(items, best, axis=0)
    units = np.abs(leads).max(axis=0)
    units[units == 0] = 1.0
    across, sizes, axes = np.linalg.svd(leads / units, full_matrices=False)
    kept = sizes > ROUNDING * sizes[0]
    across, least = across[:, kept], 1 / np.sqrt(len(leads))
    solution, distance = nnls(np.vstack([across.T, np.full(len(leads), least)]), np.append(np.zeros(kept.sum()), 1.0))
    if distance <= FEASIBLE:
        return None
    x = across.T @ solution / (1 - least * solution.sum())
    smallest = (across @ x).min()
    if smallest <= 0:
        return None
    effects = gap / smallest * (axes[kept].T @ (x / sizes[kept]))
    scale = 2.0 ** np.ceil(np.log2(np.abs(effects).max()))
    return np.round(effects / scale, DECIMALS) * scale / units  # the last digits differ between processors


def hardest(arms, *, gap, sigma=1.0):
    """Return the `Guess` with the largest characteristic time among the `closest` parameters of all arms."""
    # Every design bounds the characteristic time from above. An item whose bound from the designs so far is below the
    # largest time so far needs no optimal design of its own.
    arms = checks.check_arms(arms)
    items, gap, sigma = (
        checks.check_items(None, arms),
        checks.check_positive("gap", gap),
        checks.check_sigma(sigma, len(arms)),
    )
    if len(items) < 2:
        raise ValueError("arms must be at least two: a single arm is the best without an experiment")
    thetas = {b: theta for b in range(len(items)) if (theta := closest(items, b, gap)) is not None}
    even = g_design(arms / sigma[:, None]).weights
    known = [information_inverse(arms, even / sigma**2)]
    bounds = {b: _psi(items, b, theta, known[0]) for b, theta in thetas.items()}
    found = Guess(np.zeros(arms.shape[1]), -1, 0.0)
    for b in sorted(bounds, key=bounds.__getitem__, reverse=True):
        if len(known) > MOST:
            break
        enough = found.time / CONVENTIONS["jedra2020"]
        if any(_psi(items, b, thetas[b], inverse) <= enough for inverse in reversed(known)):
            continue
        design = oracle_design(arms, items, theta=thetas[b], sigma=sigma)
        if (time := CONVENTIONS["jedra2020"] * design.value) > found.time:
            found = Guess(thetas[b], b, time)
        weights = (1 - REGULAR) * design.weights + REGULAR * even
        known.append(information_inverse(arms, weights / sigma**2))
    return found


def _psi(items, best, theta, inverse):
    """Return max over z of ||best - z||^2 / gap^2 in the norm of `inverse`: psi of a design, which is at least psi*."""
    leads = items[best] - np.delete(items, best, axis=0)
    return float(np.max(norms(inverse, leads) / (leads @ theta) ** 2))
