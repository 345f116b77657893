"""The XY-design problem of moderate size, by a primal-dual interior-point method, and the optimum that it is to return.

Write masses mu = rho lambda. Since y'A(mu)^-1 y is homogeneous of degree -1, the problem
min over lambda of max_y y'A(lambda)^-1 y is
    minimise sum mu_x   subject to   g_y(mu) := 1 / (y'A(mu)^-1 y) >= 1 for all y,   mu >= 0,
where g_y is *concave* (the least value of c'A(mu)c over c'y = 1, attained at c_y = A^-1y / y'A^-1y) and homogeneous
of degree one. Gradient: W_xy = (x'c_y)^2. With multipliers v for the constraints (slack s) and z for mu >= 0:
    1 - Wv - z = 0,   g - s = 1,   s v = z mu = tau  ->  0.
Newton on these equations, eliminated down to the arms, has the matrix
    2 (XA^-1X') o (X CVC' X') + W diag(v/s - 2v/g) W' + diag(z/mu),
with C = (c_y), o the entrywise product; Mehrotra's (1992) predictor and corrector share its factor. All but the
diagonal is a form on the symmetric matrices A, of dimension m = r(r+1)/2: with F the rows svec(xx') in coordinates in
which A is the identity, G the rows svec(c_y c_y') and M = CVC', W = FG' and the matrix is
    F (2 (I (x) M) + G' diag(v/s - 2v/g) G) F' + diag(z/mu),
so that a step costs O(K m^2) for many arms (`newton`), and not O(K^3).
Every iterate carries its own proof: value sum(mu) / min g, and the lower bound of `certificate` with
weights v g^2 on the directions, which reads (v'g)^2 / (sum(v g^2) max_x (Wv)_x); the caller computes both anew.

Optima are often many: every design of a face has the same value. One is chosen by its definition, and not by the way
there: `centred` ends near the minimum of sum mu - tau sum log mu_x over the same constraints, which is one point for
every tau > 0, goes to the analytic centre of the optimal face with tau, and knows nothing of directions that are not
tight. This tau is a power of two times a squared length of the directions, so neither rounding errors nor units move
it, and falls where the gap is too wide.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from bandits_lib.design.newton import factor, geometry, pressures, solve
from bandits_lib.numerics.ordered import total

MAX_STEPS = 60
TO_BOUNDARY = 0.98  # fraction of the way to the boundary
CENTRING = 30  # Newton steps at one tau
HARDER = (2.0**-4, 2.0**-9)  # tau of the directions over that of the arms, in turn
CENTRED = 1e-7  # relative length of the last step: Newton squares it
NEARLY = 0.1  # relative length of the last step at a tau that is left at once
SETTLED = 1e-3  # after a step of this relative length one that is no shorter than half shows rounding errors
OPEN = 0.02  # relative gap of a start from what is nearly optimal

# Taken into its callers before they are compiled: a kernel of its own would be compiled again in every one of them.
inner: Callable[..., Any] = partial(njit, inline="always", error_model="numpy")


class Point(NamedTuple):
    """An iterate: masses `mu` (p,) and `z` (p,) on arms, slacks `s` (q,) and multipliers `v` (q,) on directions."""

    mu: np.ndarray
    z: np.ndarray
    s: np.ndarray
    v: np.ndarray


class Solution(NamedTuple):
    """Weights (p,) on arms and (q,) on directions, each summing to one, Newton steps, and the last `Point`."""

    weights: np.ndarray
    masses: np.ndarray
    steps: int
    point: Point


@njit(cache=True, error_model="numpy")
def interior_point(arms, directions, weights, tol):
    """`Solution` for arms (p, r), directions (q, r) from positive weights (p,): value <= (1 + tol) lower bound."""
    return _followed(arms, directions, _start(arms, directions, weights), tol, 0.0)


@njit(cache=True, error_model="numpy")
def approached(arms, directions, weights, masses, tol, unit):
    """A `Solution` in reach of `centred`, from nearly optimal weights (p,) and masses (q,); some may be zero."""
    point = _opened(arms, directions, weights, masses)
    return _followed(arms, directions, point, 0.0, _tau(point, arms.shape[1], tol, unit))


@inner
def _followed(arms, directions, point, tol, least):
    """The best point of the path, which ends at the gap `tol` or at tau = `least`, as a `Solution`."""
    best, kept, steps = np.inf, point, 0
    for step in range(MAX_STEPS):
        here = geometry(arms, directions, point.mu)
        ratio = _ratio(point, here)
        steps = step + 1
        if ratio < best:
            best, kept = ratio, point
        if not 1 + tol < ratio < np.inf or (step > 20 and ratio > 2 * best) or _gap(point) < 2 * least:
            break
        point = _predict_and_correct(point, here, least)
    return _solution(arms, directions, kept, steps)


@njit(cache=True, error_model="numpy")
def centred(arms, directions, point, tol, unit):
    """The `Solution` chosen among the optima, at a gap of tol / 64 to tol / 8 (tol > 1e-6), from any point inside."""
    tau, steps = _tau(point, arms.shape[1], tol, unit), 0
    for _ in range(3):
        point, soft, more = _harder(arms, directions, _lifted(point, tau, tau * HARDER[0]), tau)
        here, steps = geometry(arms, directions, point.mu), steps + more
        if _ratio(soft, here) < _ratio(point, here):
            point = soft
        if _ratio(point, here) <= 1 + tol:
            break
        tau /= 8
    return _solution(arms, directions, point, steps)


@inner
def _tau(point, r, tol, unit):
    p = len(point.mu)
    part = min(1 / (64 * min(p, r * (r + 1) // 2)), 1 / (8 * p))
    return math.ldexp(unit, math.frexp(tol * total(point.mu) * part / unit)[1] - 1)


@inner
def _lifted(point, tau_z, tau_s):
    """The point with z mu >= tau_z and s v >= tau_s: of two factors the one that is small for its kind grows."""
    mu, z, s, v = point
    heavy = mu * (len(mu) / total(mu)) > z
    tight = v * (len(v) / total(v)) > s
    return Point(
        np.where(heavy, mu, np.maximum(mu, tau_z / z)),
        np.where(heavy, np.maximum(z, tau_z / mu), z),
        np.where(tight, np.maximum(s, tau_s / v), s),
        np.where(tight, v, np.maximum(v, tau_s / s)),
    )


@inner
def _harder(arms, directions, point, tau):
    """The point at z mu = tau and the least s v, the same with the multipliers of the largest s v, and Newton steps."""
    p, q, steps, first = len(point.mu), len(point.s), 0, point
    for k in range(len(HARDER)):
        enough = CENTRED if k == len(HARDER) - 1 else NEARLY
        next, length, more = _newton(arms, directions, point, np.full(p, tau), np.full(q, tau * HARDER[k]), enough)
        steps += more
        if k > 0 and not length < NEARLY:  # rounding errors left nothing of the step: the s v before is the least
            target_s = np.full(q, tau * HARDER[k - 1])
            point, _, more = _newton(arms, directions, point, np.full(p, tau), target_s, CENTRED)
            steps += more
            break
        point = next
        if not length < NEARLY:
            break
        if k == 0:
            first = next
    return point, Point(point.mu, point.z, first.s, first.v), steps  # multipliers feel rounding errors first


@inner
def _newton(arms, directions, point, target_z, target_s, enough):
    """A point with z mu = target_z and s v = target_s, the relative length of the last step there, and how many."""
    length, steps = np.inf, 0
    for _ in range(CENTRING):
        steps += 1
        here = geometry(arms, directions, point.mu)
        move = _step(point, here, factor(point, here), target_z, target_s)
        before, length = length, np.abs(move.mu / point.mu).max()
        if before < SETTLED and not length < before / 2:
            return point, before, steps
        point = _moved(point, move, TO_BOUNDARY)
        if not length > enough:
            break
    return point, length, steps


@inner
def _solution(arms, directions, point, steps):
    masses = point.v * geometry(arms, directions, point.mu).g ** 2
    return Solution(point.mu / total(point.mu), masses / total(masses), steps, point)


@inner
def _start(arms, directions, weights):
    """A well-centred point: masses 1.5 times what the constraints need, s v = z mu = mean mass."""
    here = geometry(arms, directions, weights)
    mu = 1.5 * weights / here.g.min()
    s = np.maximum(1.5 * here.g / here.g.min() - 1, 0.1)
    tau = total(mu) / (len(mu) + len(s))
    return Point(mu, np.minimum(tau / mu, 10.0), s, tau / s)


@inner
def _opened(arms, directions, weights, masses):
    """A point from which both bounds are within about OPEN, centred as far as tau = OPEN mean mass."""
    mu = (1 - OPEN) * weights + OPEN / len(weights)
    here = geometry(arms, directions, mu)
    mu *= (1 + OPEN) / here.g.min()
    s = here.g * ((1 + OPEN) / here.g.min()) - 1
    v = masses / here.g**2
    load = pressures(here, v)
    v /= (1 + OPEN) * load.max()
    z = 1 - load / ((1 + OPEN) * load.max())
    tau = OPEN * total(mu) / (len(mu) + len(s))
    return Point(np.maximum(mu, tau / z), z, s, np.maximum(v, tau / s))


@inner
def _ratio(point, here):
    """Value over lower bound at this iterate."""
    value = total(point.mu) / here.g.min()
    pull = total(point.v * here.g)
    return value / (pull / total(point.v * here.g**2) * (pull / pressures(here, point.v).max()))


@inner
def _predict_and_correct(point, here, least):
    """One step of Mehrotra's: where to aim, and how curved the way is, from a first step to tau = 0."""
    factored = factor(point, here)
    predictor = _step(point, here, factored, np.zeros(len(point.mu)), np.zeros(len(point.s)))
    tau = _gap(point)
    tau = max(least, tau * min(1.0, _gap(_moved(point, predictor, 1.0)) / tau) ** 3)
    corrector = _step(point, here, factored, tau - predictor.mu * predictor.z, tau - predictor.s * predictor.v)
    return _moved(point, corrector, TO_BOUNDARY)


@inner
def _step(point, here, factored, target_z, target_s):
    """The Newton step to z mu = target_z, s v = target_s."""
    dmu, ds, dv = solve(factored, point, here, target_z, target_s)
    return Point(dmu, (target_z - point.z * dmu) / point.mu - point.z, ds, dv)


@inner
def _gap(point):
    """Mean complementarity."""
    return (total(point.s * point.v) + total(point.z * point.mu)) / (len(point.s) + len(point.mu))


@inner
def _moved(point, step, fraction):
    """The point a full `step` away, or `fraction` of the way to the boundary where that is nearer."""
    primal = min(1.0, fraction * min(_room(point.mu, step.mu), _room(point.s, step.s)))
    dual = min(1.0, fraction * min(_room(point.z, step.z), _room(point.v, step.v)))
    return Point(
        point.mu + primal * step.mu, point.z + dual * step.z, point.s + primal * step.s, point.v + dual * step.v
    )


@inner
def _room(x, dx):
    """Largest step that keeps x + step dx >= 0, at most 2."""
    least = (dx / x).min()
    return 2.0 if least >= -0.5 else -1 / least
