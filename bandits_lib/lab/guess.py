"""A parameter to plan with, where only the smallest gap that matters is known.

"Every other item is at least `gap` behind the best" leaves many parameters. The time that an experiment takes falls
with every single gap, so the hard cases are those in which no gap is larger than the features force it to be. For each
item that can be the best at all, `closest` finds the one whose gaps are least in the sum of their squares: a quadratic
program, solved as Lawson and Hanson (1974, chapter 23) reduce it to nonnegative least squares. `hardest` takes, of
these, the case of largest characteristic time.

Gaps, not theta, are made small: the norm of theta would depend on the units of the features, and the gaps do not. No
parameter with such gaps takes more than the design that is best for the least gap of each item by itself; for arms
without structure, for factors and for a line, the case found takes as much, so none is harder. Elsewhere a local search
has found harder ones, by 8 % at most.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from bandits_lib.checks import check_arms, check_items, check_positive, check_sigma
from bandits_lib.complexity import CONVENTIONS, oracle_design
from bandits_lib.design import g_design
from bandits_lib.numerics.least_squares import information_inverse, norms

ROUNDING = 1e-10  # singular value, relative to the largest, that counts as zero
FEASIBLE = 1e-8  # residual of nonnegative least squares below which no parameter makes the item best
REGULAR = 0.01  # share of the G-optimal design in designs that serve as bounds


class Guess(NamedTuple):
    """A parameter to plan with.

    Attributes
    ----------
    theta : (d,) array
        The parameter, in units of reward per unit of feature.
    best : int
        Row of the best item.
    time : float
        Characteristic time T* of jedra2020, in pulls.

    Examples
    --------
    >>> Guess(np.array([1.0, 0.0]), 0, 8.0).best
    0
    """

    theta: np.ndarray
    best: int
    time: float


def closest(items, best, gap):
    """The theta under which `best` leads every other item by at least `gap`, and by as little more as possible.

    Parameters
    ----------
    items : (M, d) array_like
        Feature vectors of the items, at least two.
    best : int
        Row of the item that is to be best.
    gap : float
        Smallest gap, positive, in units of reward.

    Returns
    -------
    (d,) float array or None
        Of all such theta one whose gaps have the least sum of squares (they are unique); None if there is none: the
        item lies among the others (in their convex hull), or too near to it to be told.

    Notes
    -----
    In coordinates x in which the gaps are Gx, G with orthonormal columns: least |x| subject to Gx >= 1. The residual r
    of min |[G'; 1'] u - e|, u >= 0, e the last unit vector, is zero if there is no x, and gives x = -r_j / r_last.

    References
    ----------
    .. [1] Lawson, Hanson. "Solving least squares problems". Prentice-Hall, 1974. Chapter 23, problem LDP.

    Examples
    --------
    >>> items = np.array([[0.0], [1.0], [3.0]])
    >>> closest(items, 2, 1.0).round(9).tolist(), closest(items, 1, 1.0)
    ([0.5], None)
    """
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
    return None if smallest <= 0 else gap / smallest * (axes[kept].T @ (x / sizes[kept])) / units


def hardest(arms, items=None, *, gap, sigma=1.0):
    """The hardest of the cases in which every other item is at least `gap` behind, and no farther than it must be.

    Parameters
    ----------
    arms : (K, d) array_like
        Arms, one per row.
    items : (M, d) array_like, optional
        Items, one per row, at least two; by default the arms.
    gap : float
        Smallest gap, positive, in units of reward.
    sigma : float or (K,) array_like, default 1.0
        The standard deviation of the noise, one or one for each arm.

    Returns
    -------
    Guess
        Of the parameters that `closest` finds for each item, the one of largest characteristic time.

    Raises
    ------
    ValueError
        For bad input, a single item, and identical items.

    Notes
    -----
    Any design bounds the characteristic time from above, so most items need no optimal design of their own: those whose
    bound, by the designs that are known, is below a time that was found cannot be the hardest.

    Examples
    --------
    >>> guess = hardest(np.eye(2), gap=0.5)
    >>> guess.theta.round(9).tolist(), round(guess.time)
    ([0.25, -0.25], 32)
    """
    arms = check_arms(arms)
    items, gap, sigma = check_items(items, arms), check_positive("gap", gap), check_sigma(sigma, len(arms))
    if len(items) < 2:
        raise ValueError("items must be at least two: a single item is the best without an experiment")
    thetas = {b: theta for b in range(len(items)) if (theta := closest(items, b, gap)) is not None}
    even = g_design(arms / sigma[:, None]).weights
    known = [information_inverse(arms, even / sigma**2)]
    bounds = {b: _value(items, b, theta, known[0]) for b, theta in thetas.items()}
    found = Guess(np.zeros(arms.shape[1]), -1, 0.0)
    for b in sorted(bounds, key=bounds.__getitem__, reverse=True):
        enough = found.time / CONVENTIONS["jedra2020"]
        if any(_value(items, b, thetas[b], inverse) <= enough for inverse in reversed(known)):
            continue
        design = oracle_design(arms, items, theta=thetas[b], sigma=sigma)
        if (time := CONVENTIONS["jedra2020"] * design.value) > found.time:
            found = Guess(thetas[b], b, time)
        weights = (1 - REGULAR) * design.weights + REGULAR * even
        known.append(information_inverse(arms, weights / sigma**2))
    return found


def _value(items, best, theta, inverse):
    """max over z of ||best - z||^2 / gap^2, the norm in `inverse`: the psi of a design, not below the least, psi*."""
    leads = items[best] - np.delete(items, best, axis=0)
    return float(np.max(norms(inverse, leads) / (leads @ theta) ** 2))
