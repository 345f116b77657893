"""The XY-design problem of moderate size, by a primal-dual interior-point method.

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
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtri

from bandits_lib.numerics.span import triangle

MAX_STEPS = 60
TO_BOUNDARY = 0.98  # fraction of the way to the boundary


class Point(NamedTuple):
    """An iterate: masses `mu` (p,) and `z` (p,) on arms, slacks `s` (q,) and multipliers `v` (q,) on directions."""

    mu: np.ndarray
    z: np.ndarray
    s: np.ndarray
    v: np.ndarray

    def gap(self):
        """Mean complementarity."""
        return (self.s @ self.v + self.z @ self.mu) / (len(self.s) + len(self.mu))

    def moved(self, step, fraction):
        """The point `fraction` of the way to the boundary along `step`, at most a full step."""
        primal = fraction * min(_room(self.mu, step.mu), _room(self.s, step.s))
        dual = fraction * min(_room(self.z, step.z), _room(self.v, step.v))
        return Point(
            self.mu + primal * step.mu, self.z + dual * step.z, self.s + primal * step.s, self.v + dual * step.v
        )


class Geometry(NamedTuple):
    """What the equations need at masses mu: XS' (p, r), columns c_y as rows SC (q, r), g (q,), gradient W (p, q)."""

    arms: np.ndarray
    rays: np.ndarray
    g: np.ndarray
    W: np.ndarray


class Solution(NamedTuple):
    """Weights (p,) on arms and (q,) on directions, each summing to one, and the number of Newton steps."""

    weights: np.ndarray
    masses: np.ndarray
    steps: int


def interior_point(arms, directions, weights, tol):
    """Solve the XY-design problem for arms (p, r) and directions (q, r), from positive starting weights (p,).

    Stops when value <= (1 + tol) lower bound; both are recomputed by the caller.
    """
    point = _start(arms, directions, weights)
    best, solution = np.inf, Solution(weights / weights.sum(), np.full(len(directions), 1 / len(directions)), 0)
    for step in range(MAX_STEPS):
        here = _geometry(arms, directions, point.mu)
        ratio = _ratio(point, here)
        if ratio < best:
            best = ratio
            masses = point.v * here.g**2
            solution = Solution(point.mu / point.mu.sum(), masses / masses.sum(), step + 1)
        if not 1 + tol < ratio < np.inf or (step > 20 and ratio > 2 * best):
            break
        point = _newton(point, here)
    return solution._replace(steps=step + 1)


def _start(arms, directions, weights):
    """A well-centred point: masses 1.5 times what the constraints need, s v = z mu = mean mass."""
    here = _geometry(arms, directions, weights)
    mu = 1.5 * weights / here.g.min()
    s = np.maximum(1.5 * here.g / here.g.min() - 1, 0.1)
    tau = mu.sum() / (len(mu) + len(s))
    return Point(mu, np.minimum(tau / mu, 10.0), s, tau / s)


def _geometry(arms, directions, mu):
    factor, failed = dpotrf((arms.T * mu) @ arms, lower=1)
    if failed:  # too close to singular for A itself
        factor = triangle(np.sqrt(mu)[:, None] * arms).T
    inverse, _ = dtrtri(factor, lower=1)
    measured = arms @ inverse.T
    rays = directions @ inverse.T
    g = 1 / (rays**2).sum(axis=1)
    rays *= g[:, None]
    W = measured @ rays.T
    W *= W
    return Geometry(measured, rays, g, W)


def _ratio(point, here):
    """Value over lower bound at this iterate."""
    value = point.mu.sum() / here.g.min()
    bound = (point.v @ here.g) ** 2 / ((point.v @ here.g**2) * (here.W @ point.v).max())
    return value / bound


def _newton(point, here):
    """One predictor-corrector step."""
    mu, z, s, v = point
    factor = _factor(point, here)
    excess = here.g - s - 1
    pull = v / s

    def step(target_z, target_s):
        rhs = here.W @ (target_s / s - pull * excess) + target_z / mu - 1
        dmu, _ = dpotrs(factor, rhs, lower=1)
        ds = dmu @ here.W + excess
        return Point(dmu, (target_z - z * dmu) / mu - z, ds, (target_s - v * ds) / s - v)

    predictor = step(np.zeros_like(mu), np.zeros_like(s))
    tau = point.gap()
    tau *= min(1.0, point.moved(predictor, 1.0).gap() / tau) ** 3
    corrector = step(tau - predictor.mu * predictor.z, tau - predictor.s * predictor.v)
    return point.moved(corrector, TO_BOUNDARY)


def _factor(point, here):
    """Cholesky factor of the Newton matrix; its diagonal grows if rounding has made it indefinite."""
    mu, z, s, v = point
    curvature = here.arms @ ((here.rays.T * v) @ here.rays) @ here.arms.T
    matrix = here.arms @ here.arms.T
    matrix *= curvature
    matrix *= 2.0
    matrix += (here.W * (v / s - 2 * v / here.g)) @ here.W.T
    diagonal = np.arange(len(mu))
    matrix[diagonal, diagonal] += z / mu
    ridge = 1e-14 * matrix[diagonal, diagonal]
    for _ in range(8):
        factor, failed = dpotrf(matrix, lower=1)
        if not failed:
            break
        matrix[diagonal, diagonal] += ridge
        ridge = 100 * ridge
    return factor


def _room(x, dx):
    """Largest step in [0, 1] that keeps x + step dx >= 0."""
    least = (dx / x).min()
    return 1.0 if least >= -1 else -1 / least
