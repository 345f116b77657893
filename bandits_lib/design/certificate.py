"""The value of a design and the proof that no design is much better.

For weights lambda on the arms, A(lambda) = sum lambda_x xx', the value is rho = max_y y'A(lambda)^-1 y.

Lower bound. Let v be weights on directions, M = sum v_y yy', and H >= 0 with x'Hx <= 1 for all arms. For every
design lambda' and A' = A(lambda'): tr(HA') <= 1, so by Cauchy-Schwarz
    rho(lambda') >= tr(A'^-1 M) >= tr(A'^-1 M) tr(H A') >= ( tr (M^1/2 H M^1/2)^1/2 )^2,
and H = A^-1 M A^-1 / max_x x'A^-1MA^-1x gives  rho* >= tr(A^-1 M)^2 / max_x x'A^-1 M A^-1 x  for any A, v not all 0.
The pressures h_x = x'A^-1MA^-1x / tr(A^-1 M) are at most 1 at an optimum, and 1 on its support.
For G-designs the optimum is the rank of the arms (Kiefer and Wolfowitz 1960).
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from bandits_lib.numerics import span
from bandits_lib.numerics.ordered import information, product, row_products, squares, total, transposed
from bandits_lib.numerics.span import RANK_TOL, basis, outside


class Design(NamedTuple):
    """A design and its certificate.

    Attributes
    ----------
    weights : (K,) float array
        Shares of the pulls: non-negative, sum 1, zero off the support; read-only where runs share the design.
    value : float
        Maximum over directions of the squared norm ||y||^2_{A(weights)^-1}, computed at these weights.
    lower_bound : float
        Number that the value of no design on these arms can be below.
    iterations : int
        Steps of the solver (Newton steps, sweeps of exchanges, pivots or Frank-Wolfe steps).

    Notes
    -----
    `frank_wolfe_design` has options under which the weights add up to less than 1, or the value is that before the last
    step; the value of `width_design` is a squared width.

    Examples
    --------
    >>> Design(np.array([0.5, 0.5]), 2.0, 2.0, 1).weights.sum().item()
    1.0
    """

    weights: np.ndarray
    value: float
    lower_bound: float
    iterations: int


def inverse_root(arms, weights):
    """S (r', r) with ||S y||^2 = ||y||^2_{A(weights)^-1} on the span of the arms of positive weight (rank r')."""
    support = np.flatnonzero(weights > 0)
    return span.inverse_root(arms[support], weights[support])[0]


def estimable(arms, weights, vectors, scale):
    """Whether every row of `vectors` lies in the span of the arms of positive weight, up to RANK_TOL `scale`."""
    distance = outside(vectors, basis(arms[weights > 0]))
    return bool((distance <= RANK_TOL * scale).all())


def value_of(arms, weights, directions):
    """max over directions of ||y||^2_{A(weights)^-1}; infinite if some direction cannot be estimated."""
    support = np.flatnonzero(weights > 0)
    root, axes = span.inverse_root(arms[support], weights[support])
    vectors, scale = directions.spanning()
    if len(root) < arms.shape[1] and (outside(vectors, axes) > RANK_TOL * scale).any():
        return np.inf
    return directions.value(root)


@njit(cache=True, error_model="numpy")
def lower_bound(arms, root, rotated, masses):
    """The bound of masses (q,) on directions y, with rows root y of `rotated` (q, r'), A^-1 = root'root; h (K,)."""
    shares = masses / total(masses)
    trace = total(shares * squares(rotated))
    measured = product(arms, transposed(root))
    pressure = row_products(product(measured, information(rotated, shares)), measured)
    return trace * (trace / pressure.max()), pressure / trace
