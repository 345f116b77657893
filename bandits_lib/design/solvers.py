"""Compute the three certified designs, G, XY and weighted, in coordinates of the span, with checks and a cache."""

import numpy as np

from bandits_lib.checks import (
    check_arms,
    check_matrix,
    check_same_dimension,
    check_sigma,
    check_some_nonzero,
    check_tolerance,
)
from bandits_lib.design.cache import cached
from bandits_lib.design.certificate import Design, value_of
from bandits_lib.design.directions import Differences, Listed, Pairs, difference_vertices
from bandits_lib.design.far_pairs import ManyDifferences
from bandits_lib.design.g_optimal import solve_g
from bandits_lib.design.xy_optimal import solve_xy
from bandits_lib.numerics.linear_algebra import squares
from bandits_lib.numerics.span import span

LIST = 40  # differences of up to this many items are listed
MANY_ITEMS = 40_000  # from so many items on, far pairs are kept from one norm to the next


def g_design(arms: np.ndarray, tol: float = 1e-3) -> Design:
    """Return a G-optimal design, which minimises the largest variance of an arm, max_x ||x||^2_{A^-1}.

    Parameters
    ----------
    arms : (K, d) array_like
        Arms, one per row, not all zero; they need not span R^d.
    tol : float, default 1e-3
        Relative gap between value and lower bound, in (0, 1).

    Returns
    -------
    Design
        `value` <= (1 + tol) r and `lower_bound` = r, the rank of the arms, with at most r(r+1)/2 atoms.

    Raises
    ------
    ValueError
        If `arms` is not a finite, non-empty 2-D array with a non-zero row, or `tol` is outside (0, 1).

    Warns
    -----
    RuntimeWarning
        If rounding errors kept the gap above `tol`; `value` and `lower_bound` still hold.

    Examples
    --------
    >>> design = g_design(np.vstack([np.eye(2), [0.1, 0.1]]))
    >>> design.weights.round(3).tolist(), round(design.value, 2)
    ([0.5, 0.5, 0.0], 2.0)
    """
    return _g_design(check_arms(arms), check_tolerance(tol))


def xy_design(arms: np.ndarray, directions: np.ndarray | Pairs, tol: float = 1e-3) -> Design:
    """Return an XY-optimal design, which minimises max over directions of ||y||^2_{A^-1} (fiez2019, Algorithm 1).

    Parameters
    ----------
    arms : (K, d) array_like
        Arms, one per row, not all zero.
    directions : (n, d) array_like or Pairs
        Directions in the span of the arms, or `pairs(items)`. Zero directions are ignored.
    tol : float, default 1e-3
        Relative gap between value and lower bound, in (0, 1).

    Returns
    -------
    Design
        `lower_bound` <= optimum <= `value` <= (1 + tol) `lower_bound`, with at most r(r+1)/2 atoms. The function warns
        as `g_design` does.

    Raises
    ------
    ValueError
        If an array is not finite, 2-D and of the same dimension, if a direction is outside the span of the arms, if
        all directions are zero or all items equal (there is nothing to compare), or `tol` is outside (0, 1).

    Examples
    --------
    >>> arms = np.vstack([np.eye(2), [np.cos(0.1), np.sin(0.1)]])
    >>> xy_design(arms, arms[:1] - arms[2:]).weights.round(2).tolist()
    [0.05, 0.95, 0.0]
    """
    return weighted_design(arms, directions, 1.0, tol)


def weighted_design(
    arms: np.ndarray, directions: np.ndarray | Pairs, sigma: float | np.ndarray, tol: float = 1e-3
) -> Design:
    """Return an XY-optimal design for A(lambda) = sum lambda_x xx'/sigma_x^2 (weltz2023, section 4).

    Parameters
    ----------
    arms, directions : array_like or Pairs
        As for `xy_design`.
    sigma : float or (K,) array_like
        Positive standard deviation of the noise, one for all arms or one for each arm.
    tol : float, default 1e-3
        As for `xy_design`.

    Returns
    -------
    Design
        As for `xy_design`; `weights` are shares of pulls.

    Raises
    ------
    ValueError
        As for `xy_design`, and if `sigma` is not positive or not one number per arm.

    Examples
    --------
    >>> weighted_design(np.eye(2), np.array([[1.0, -1.0]]), [1.0, 3.0]).weights.round(2).tolist()
    [0.25, 0.75]
    """
    return _weighted_design(*problem(arms, directions, sigma), check_tolerance(tol))


def design_value(
    arms: np.ndarray, weights: np.ndarray, directions: np.ndarray | Pairs, sigma: float | np.ndarray = 1.0
) -> float:
    """Return the largest ||y||^2_{A^-1} of the directions for weights or counts.

    Parameters
    ----------
    arms : (K, d) array_like
        As for `weighted_design`.
    weights : (K,) array_like
        Non-negative shares of pulls, or counts (then the value is per experiment and not per pull).
    directions, sigma : array_like or Pairs
        As for `weighted_design`.

    Returns
    -------
    float
        The value; infinite if some direction cannot be estimated from the arms of positive weight.

    Raises
    ------
    ValueError
        As for `weighted_design`, and if `weights` are not one finite, non-negative number per arm, or all zero.

    Examples
    --------
    >>> round(design_value(np.eye(2), [0.5, 0.5], np.array([[1.0, -1.0]])), 6)
    4.0
    """
    arms, vectors, name, sigma = problem(arms, directions, sigma)
    weights = np.asarray(weights, dtype=float)
    if weights.shape != (len(arms),) or not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise ValueError(f"weights must be ({len(arms)},) finite, non-negative numbers, not all zero; got {weights}")
    space = span(arms / np.asarray(sigma)[:, None])
    return float(value_of(space.arms, weights, _few(in_span(space, vectors, name))))


def problem(arms, directions, sigma):
    """Return checked `arms` (K, d), vectors (n, d), "directions" or "items" (what the vectors are), `sigma` (K,)."""
    arms = check_arms(arms)
    name = "items" if isinstance(directions, Pairs) else "directions"
    vectors = check_matrix(name, directions.items if name == "items" else directions)
    check_same_dimension(name, vectors, arms)
    if name == "items":
        vectors = vectors - vectors[0]
        if not vectors.any():
            raise ValueError(
                f"items must hold two distinct rows, or there is nothing to compare; got {len(vectors)} row(s), all "
                "equal: add another item"
            )
    check_some_nonzero(name, vectors)
    return arms, vectors, name, check_sigma(sigma, len(arms))


@cached
def _g_design(arms, tol):
    return solve_g(arms, tol)


@cached
def _weighted_design(arms, vectors, name, sigma, tol):
    space = span(arms / sigma[:, None])
    size = int(np.frexp(np.abs(vectors).max())[1])
    design = solve_xy(space.arms, _few(in_span(space, np.ldexp(vectors, -size), name)), tol)
    value, bound = (float(np.ldexp(number, 2 * size)) for number in (design.value, design.lower_bound))
    return design._replace(value=value, lower_bound=bound)


def in_span(space, vectors, name):
    """Return `Listed` directions, or the `Differences` of items, in coordinates of the `Span`; refuse one outside."""
    lengths = np.sqrt(squares(vectors))
    if name == "directions":
        space.require(name, vectors, lengths)
        return Listed(space.coordinates(vectors[vectors.any(axis=1)]))
    space.require(name, vectors, np.full(len(vectors), lengths.max()))
    return Differences(space.coordinates(vectors))


def _few(directions):
    """Return differences in the plane or of few items as a list; those of very many items as `ManyDifferences`."""
    if isinstance(directions, Listed):
        return directions
    if directions.items.shape[1] <= 2:
        return Listed(difference_vertices(directions.items))
    if len(directions.items) <= LIST:
        return directions.listed()
    return directions if len(directions.items) < MANY_ITEMS else ManyDifferences(directions.items)
