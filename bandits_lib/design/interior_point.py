"""The XY-design problem of moderate size, by a primal-dual interior-point method that ends on the central path.

Write masses mu = rho lambda. Since y'A(mu)^-1 y is homogeneous of degree -1, the problem
min over lambda of max_y y'A(lambda)^-1 y is
    minimise sum mu_x   subject to   g_y(mu) := 1 / (y'A(mu)^-1 y) >= 1 for all y,   mu >= 0,
where g_y is *concave* (the least value of c'A(mu)c over c'y = 1, attained at c_y = A^-1y / y'A^-1y) and homogeneous
of degree one. Gradient: W_xy = (x'c_y)^2. With multipliers v for the constraints (slack s) and z for mu >= 0:
    1 - Wv - z = 0,   g - s = 1,   s v = z mu = tau  ->  0.
Newton on these equations, eliminated down to the arms, has the matrix
    2 (XA^-1X') o (X CVC' X') + W diag(v/s - 2v/g) W' + diag(z/mu),
with C = (c_y), o the entrywise product; Mehrotra's (1992) predictor and corrector share its factor.
Every iterate carries its own proof: value sum(mu) / min g, and the lower bound of `certificate` with
weights v g^2 on the directions, which reads (v'g)^2 / (sum(v g^2) max_x (Wv)_x).

Optima are often many: every design of a face has the same value. The central path is one point for every tau > 0, and
goes to the analytic centre of that face: `centred` ends on it at a fixed tau, so that what comes out is a function of
arms and directions, and not of the way there.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from bandits_lib.numerics import ordered
from bandits_lib.numerics.ordered import cholesky, inverse_triangle, lower_product, product, squares, transposed

MAX_STEPS = 60
TO_BOUNDARY = 0.98  # fraction of the way to the boundary
CENTRING = 30  # Newton steps at one tau
CENTRED = 1e-8  # relative length of the last of them: Newton squares it
NEARLY = 1e-5  # relative length below which a step that is no shorter than half the one before shows rounding errors


class Point(NamedTuple):
    """An iterate: masses `mu` (p,) and `z` (p,) on arms, slacks `s` (q,) and multipliers `v` (q,) on directions."""

    mu: np.ndarray
    z: np.ndarray
    s: np.ndarray
    v: np.ndarray


class Geometry(NamedTuple):
    """At masses mu: x_i'A^-1/2 (p, r), rays c_y'A^1/2 (q, r), g (q,), gradient W (p, q) and its transpose (q, p)."""

    measured: np.ndarray
    rays: np.ndarray
    g: np.ndarray
    W: np.ndarray
    Wt: np.ndarray


class Solution(NamedTuple):
    """Weights (p,) on arms and (q,) on directions, each summing to one, Newton steps, and the last `Point`."""

    weights: np.ndarray
    masses: np.ndarray
    steps: int
    point: Point


@njit(cache=True, error_model="numpy")
def interior_point(arms, directions, weights, tol):
    """Solve the XY-design problem for arms (p, r) and directions (q, r), from positive starting weights (p,).

    Stops when value <= (1 + tol) lower bound; both are recomputed by the caller. Returns the `Solution`.
    """
    point = _start(arms, directions, weights)
    best, kept, steps = np.inf, point, 0
    for step in range(MAX_STEPS):
        here = _geometry(arms, directions, point.mu)
        ratio = _ratio(point, here)
        steps = step + 1
        if ratio < best:
            best, kept = ratio, point
        if not 1 + tol < ratio < np.inf or (step > 20 and ratio > 2 * best):
            break
        point = _predict_and_correct(point, here)
    return _solution(arms, directions, kept, steps)


@njit(cache=True, error_model="numpy")
def centred(arms, directions, point, tol):
    """The `Solution` on the central path at a gap of about tol / 64, from any point inside (tol above 1e-6).

    tau is a power of two, so that rounding errors in the masses do not move it; it falls where the gap is too wide.
    """
    size, steps = len(point.mu) + len(point.s), 0
    tau = math.ldexp(1.0, math.frexp(tol / 64 * ordered.total(point.mu) / size)[1] - 1)
    for _ in range(3):
        length = np.inf
        for _ in range(CENTRING):
            here = _geometry(arms, directions, point.mu)
            step = _step(point, here, _factor(point, here), np.full(len(point.mu), tau), np.full(len(point.s), tau))
            before, length = length, np.abs(step.mu / point.mu).max()
            point = _moved(point, step, TO_BOUNDARY)
            steps += 1
            if not length > CENTRED or (length < NEARLY and length > before / 2):
                break
        if _ratio(point, _geometry(arms, directions, point.mu)) <= 1 + tol:
            break
        tau /= 8
    return _solution(arms, directions, point, steps)


@njit(cache=True, error_model="numpy")
def _solution(arms, directions, point, steps):
    masses = point.v * _geometry(arms, directions, point.mu).g ** 2
    return Solution(point.mu / ordered.total(point.mu), masses / ordered.total(masses), steps, point)


@njit(cache=True, error_model="numpy")
def _start(arms, directions, weights):
    """A well-centred point: masses 1.5 times what the constraints need, s v = z mu = mean mass."""
    here = _geometry(arms, directions, weights)
    mu = 1.5 * weights / here.g.min()
    s = np.maximum(1.5 * here.g / here.g.min() - 1, 0.1)
    tau = ordered.total(mu) / (len(mu) + len(s))
    return Point(mu, np.minimum(tau / mu, 10.0), s, tau / s)


@njit(cache=True, error_model="numpy")
def _geometry(arms, directions, mu):
    upper, regular = cholesky(ordered.information(arms, mu))
    if not regular:  # too close to singular for A itself
        upper = ordered.triangle(np.sqrt(mu).reshape(-1, 1) * arms)
    inverse = inverse_triangle(upper)
    measured, rays = product(arms, inverse), product(directions, inverse)
    g = 1 / squares(rays)
    rays *= g.reshape(-1, 1)
    W = product(measured, transposed(rays))
    W *= W
    return Geometry(measured, rays, g, W, transposed(W))


@njit(cache=True, error_model="numpy")
def _ratio(point, here):
    """Value over lower bound at this iterate."""
    value = ordered.total(point.mu) / here.g.min()
    pull = ordered.total(point.v * here.g)
    return value / (pull / ordered.total(point.v * here.g**2) * (pull / ordered.combine(point.v, here.Wt).max()))


@njit(cache=True, error_model="numpy")
def _predict_and_correct(point, here):
    """One step of Mehrotra's: where to aim, and how curved the way is, from a first step to tau = 0."""
    factor = _factor(point, here)
    predictor = _step(point, here, factor, np.zeros(len(point.mu)), np.zeros(len(point.s)))
    tau = _gap(point)
    tau *= min(1.0, _gap(_moved(point, predictor, 1.0)) / tau) ** 3
    corrector = _step(point, here, factor, tau - predictor.mu * predictor.z, tau - predictor.s * predictor.v)
    return _moved(point, corrector, TO_BOUNDARY)


@njit(cache=True, error_model="numpy")
def _step(point, here, factor, target_z, target_s):
    """The Newton step to z mu = target_z, s v = target_s."""
    mu, z, s, v = point
    excess = here.g - s - 1
    rhs = ordered.combine(target_s / s - v / s * excess, here.Wt) + target_z / mu - 1
    dmu = ordered.solve_factored(factor, rhs)
    ds = ordered.combine(dmu, here.W) + excess
    return Point(dmu, (target_z - z * dmu) / mu - z, ds, (target_s - v * ds) / s - v)


@njit(cache=True, error_model="numpy")
def _factor(point, here):
    """Cholesky factor of the Newton matrix; its diagonal grows if rounding has made it indefinite."""
    mu, z, s, v = point
    n = len(mu)
    across = transposed(here.measured)
    curved = product(here.measured, ordered.information(here.rays, v))
    matrix = lower_product(curved, across)
    matrix *= 2 * lower_product(here.measured, across)
    matrix += lower_product(here.W * (v / s - 2 * v / here.g), here.Wt)
    for i in range(n):
        matrix[i, i] += z[i] / mu[i]
    ridge = np.array([1e-14 * matrix[i, i] for i in range(n)])
    factor, regular = cholesky(matrix)
    for _ in range(7):
        if regular:
            break
        for i in range(n):
            matrix[i, i] += ridge[i]
        ridge *= 100
        factor, regular = cholesky(matrix)
    return factor


@njit(cache=True, error_model="numpy")
def _gap(point):
    """Mean complementarity."""
    return (ordered.total(point.s * point.v) + ordered.total(point.z * point.mu)) / (len(point.s) + len(point.mu))


@njit(cache=True, error_model="numpy")
def _moved(point, step, fraction):
    """The point a full `step` away, or `fraction` of the way to the boundary where that is nearer."""
    primal = min(1.0, fraction * min(_room(point.mu, step.mu), _room(point.s, step.s)))
    dual = min(1.0, fraction * min(_room(point.z, step.z), _room(point.v, step.v)))
    return Point(
        point.mu + primal * step.mu, point.z + dual * step.z, point.s + primal * step.s, point.v + dual * step.v
    )


@njit(cache=True, error_model="numpy")
def _room(x, dx):
    """Largest step that keeps x + step dx >= 0, at most 2."""
    least = (dx / x).min()
    return 2.0 if least >= -0.5 else -1 / least
