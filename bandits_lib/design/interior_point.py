"""Solve XY-designs of moderate size by a primal-dual interior-point method, which also chooses one of many optima.

With masses mu = rho lambda the design problem is
    minimise sum mu_x   subject to   g_y(mu) := 1 / (y'A(mu)^-1 y) >= 1 for all y,   mu >= 0,
with g_y concave and homogeneous of degree one. Gradient: W_xy = (x'c_y)^2, c_y = A^-1y / y'A^-1y. With multipliers v
(slack s) and z:  1 - Wv - z = 0,   g - s = 1,   s v = z mu = tau -> 0  (predictor and corrector of Mehrotra 1992).
The Newton matrix on the arms is
    2 (XA^-1X') o (X CVC' X') + W diag(v/s - 2v/g) W' + diag(z/mu),   C = (c_y), o entrywise.
Every iterate has a certificate: the value sum(mu) / min g, and the lower bound (v'g)^2 / (sum(v g^2) max_x (Wv)_x).

With more than MANY m arms, m = r(r+1)/2, a step costs O(K m^2). Let F have the rows svec(xx') and G the rows
svec(c_y c_y') in coordinates in which A is the identity, M = CVC', W = FG'. The unknowns are t = F'dmu and the dv of
tight directions (large v/s, rows T of G; the others are L). With H = 2 (I (x) M) - G' diag(2v/g) G and
K = H + L' diag(v/s) L,
    (F K F' + diag(z/mu)) dmu - F T'dv = a,   T t + diag(s/v) dv = b.
With F' diag(mu/z) F = U'U and t = U'w the step solves
    (I + U K U') w - U T'dv = U'^-1 F' diag(mu/z) a,   T U'w + diag(s/v) dv = b
and is dmu = mu/z (a - F (Kt - T'dv)).

The chosen optimum (`centred`) is near the minimum of sum mu - tau sum log mu_x over the same constraints, which is one
point for every tau > 0. Tau is a power of two times a squared length of the directions: rounding does not change it.
"""

import math
from typing import NamedTuple

import numpy as np

from bandits_lib.numerics.kernels import compiled, merged
from bandits_lib.numerics.linear_algebra import (
    apply,
    combine,
    information,
    inverse_triangle,
    lower_product,
    normalised,
    ordered_sum,
    product,
    scaled_columns,
    scaled_rows,
    solve_factored,
    solve_transposed,
    solve_upper,
    squares,
    symmetric_squares,
    transposed,
    triangle,
    upper_factor,
)

MANY = 1.5  # arms per m above which steps have the second form
FLAT = 1e-15  # smaller pivots of F' diag(mu/z) F, relative to its diagonal, are rounding errors
WIDE = 16  # columns from which on a sum of products is taken row by row
TIGHT = 1e4  # v/s above which the multiplier of a direction is not eliminated


class Point(NamedTuple):
    """An iterate: masses `mu` (p,) and `z` (p,) on arms, slacks `s` (q,) and multipliers `v` (q,) on directions."""

    mu: np.ndarray
    z: np.ndarray
    s: np.ndarray
    v: np.ndarray


class Geometry(NamedTuple):
    """All that depends on mu, in coordinates in which A is the identity; the forms of W that are not used are empty."""

    measured: np.ndarray  # (p, r), the arms
    rays: np.ndarray  # (q, r), the c_y
    g: np.ndarray  # (q,)
    W: np.ndarray  # (p, q), gradient of g, for few arms
    Wt: np.ndarray  # (q, p)
    F: np.ndarray  # (p, m), svec of the squares of the arms, for many arms
    G: np.ndarray  # (q, m), svec of the squares of the rays, for many arms


class Factor(NamedTuple):
    """Factors that a step's predictor and corrector share; those that the form in use does not need are empty."""

    upper: np.ndarray  # Cholesky factor of the matrix (p, p) for few arms, of I + UKU' (m, m) for many
    K: np.ndarray  # (m, m); this and the following are for many arms
    U: np.ndarray  # (m, m)
    tight: np.ndarray  # (q',), indices of the tight directions
    E: np.ndarray  # (m, q'), upper'^-1 U T'
    small: np.ndarray  # (q', q'), Cholesky factor of E'E + diag(s/v)


@compiled
def geometry(arms, directions, mu):
    upper, regular = upper_factor(information(arms, mu))
    if not regular:  # A is too close to singular
        upper = triangle(scaled_rows(arms, np.sqrt(mu)))
    inverse = inverse_triangle(upper)
    measured, rays = product(arms, inverse), product(directions, inverse)
    g = 1 / squares(rays)
    rays = scaled_rows(rays, g)
    r, none = arms.shape[1], np.empty((0, 0))
    if len(arms) > MANY * (r * (r + 1) // 2):
        return Geometry(measured, rays, g, none, none, symmetric_squares(measured), symmetric_squares(rays))
    Wt = product(rays, transposed(measured))
    Wt = Wt * Wt
    return Geometry(measured, rays, g, transposed(Wt), Wt, none, none)


@merged
def pressures(here, v):
    if here.F.size:
        return apply(here.F, combine(v, here.G))
    return combine(v, here.Wt)


@merged
def growth(here, mu):
    if here.F.size:
        return apply(here.G, combine(mu, here.F))
    return combine(mu, here.W)


@compiled
def newton_factor(point, here):
    """Return the `Factor` of the Newton matrix at `point`, an interior point with mu, z (p,) and s, v (q,)."""
    if here.F.size:
        return _of_many(point, here)
    none = np.empty((0, 0))
    return Factor(_of_few(point, here), none, none, np.empty(0, np.int64), none, none)


@merged
def _of_few(point, here):
    mu, z, s, v = point
    across = transposed(here.measured)
    curved = product(here.measured, information(here.rays, v))
    matrix, along = lower_product(curved, across), lower_product(here.measured, across)
    bent = lower_product(scaled_columns(here.W, v / s - 2 * v / here.g), here.Wt)
    for i in range(len(mu)):
        for j in range(i + 1):
            matrix[i, j] = matrix[i, j] * (2 * along[i, j]) + bent[i, j]
        matrix[i, i] += z[i] / mu[i]
    return regular_cholesky(matrix)


@merged
def _of_many(point, here):
    mu, z, s, v = point
    tight, steep = np.flatnonzero(v > TIGHT * s), v / s
    steep[tight] = 0.0
    steep -= 2 * v / here.g
    K = product(scaled_columns(transposed(here.G), steep), here.G)
    add_kronecker(K, information(here.rays, v))
    U = upper_factor(_weighted_squares(here.F, mu / z), FLAT)[0]
    whole = lower_product(product(U, K), transposed(U))
    for i in range(len(K)):
        whole[i, i] += 1.0
    upper = regular_cholesky(whole)
    E = product(transposed(inverse_triangle(upper)), product(U, transposed(here.G[tight])))
    small = lower_product(transposed(E), E)
    for i in range(len(tight)):
        small[i, i] += s[tight[i]] / v[tight[i]]
    return Factor(upper, K, U, tight, E, regular_cholesky(small))


@merged
def _weighted_squares(rows, weights):
    """Return the sum of weights_i rows_i rows_i' (k, k), of which only the lower triangle may be read."""
    if rows.shape[1] < WIDE:
        return information(rows, weights)
    return lower_product(scaled_columns(transposed(rows), weights), rows)


@compiled
def regular_cholesky(matrix):
    """Return the Cholesky factor; raise the diagonal if rounding has made the matrix indefinite."""
    ridge = 1e-14 * np.diag(matrix)
    upper, regular = upper_factor(matrix)
    for _ in range(7):
        if regular:
            break
        for i in range(len(matrix)):
            matrix[i, i] += ridge[i]
        ridge *= 100
        upper, regular = upper_factor(matrix)
    return upper


@merged
def add_kronecker(out, matrix):
    """Add to `out` (m, m) twice the form tr(E matrix E) of symmetric E (r, r), in svec(E)."""
    r = len(matrix)
    m, k = r * (r + 1) // 2, 0
    first, second, weight = np.empty(m, np.int64), np.empty(m, np.int64), np.empty(m)
    for i in range(r):
        for j in range(i + 1):
            first[k], second[k], weight[k] = i, j, 0.5 if i == j else np.sqrt(0.5)
            k += 1
    for k in range(m):
        a, b = first[k], second[k]
        for n in range(k + 1):
            c, d = first[n], second[n]
            entry = (
                (a == d) * matrix[b, c] + (a == c) * matrix[b, d] + (b == d) * matrix[a, c] + (b == c) * matrix[a, d]
            )
            twice = 2 * (weight[k] * weight[n] * entry)
            out[k, n] += twice
            if n < k:
                out[n, k] += twice


@compiled
def newton_step(factor, point, here, target_z, target_s):
    """Return the Newton step, a `Point` of differences, to z mu = target_z (p,), s v = target_s (q,)."""
    mu, z, s, v = point
    tight, excess = factor.tight, here.g - s - 1
    still = target_s / s - v / s * excess  # v + dv where t = 0
    target_t, s_t, v_t = target_s[tight], s[tight], v[tight]
    for n in range(len(tight)):
        still[tight[n]] = v_t[n]
    b = target_t / v_t - s_t - excess[tight]
    a = pressures(here, still) + target_z / mu - 1
    if here.F.size:
        dmu, t, dv_tight = _solve_many(factor, here, point, a, b)
        ds = apply(here.G, t)
    else:
        dmu, dv_tight = solve_factored(factor.upper, a), b
        ds = growth(here, dmu)
    ds = ds + excess
    dv = (target_s - v * ds) / s - v
    ds_tight = target_t / v_t - s_t - s_t / v_t * dv_tight
    for n in range(len(tight)):
        dv[tight[n]], ds[tight[n]] = dv_tight[n], ds_tight[n]
    return Point(dmu, (target_z - z * dmu) / mu - z, ds, dv)


@merged
def _solve_many(factor, here, point, a, b):
    upper, K, U, tight, E, small = factor
    scale = point.mu / point.z
    known = solve_transposed(upper, solve_transposed(U, combine(scale * a, here.F)))
    dv = solve_factored(small, b - combine(known, E))
    t = combine(solve_upper(upper, known + apply(E, dv)), U)
    bent = apply(K, t) - combine(dv, here.G[tight])
    return scale * (a - apply(here.F, bent)), t, dv


@compiled
def gap(point):
    return (ordered_sum(point.s * point.v) + ordered_sum(point.z * point.mu)) / (len(point.s) + len(point.mu))


@compiled
def moved(point, step, fraction):
    """Return the point a full `step` away, or `fraction` of the way to the boundary if that is nearer."""
    primal = min(1.0, fraction * min(_room(point.mu, step.mu), _room(point.s, step.s)))
    dual = min(1.0, fraction * min(_room(point.z, step.z), _room(point.v, step.v)))
    return Point(
        point.mu + primal * step.mu, point.z + dual * step.z, point.s + primal * step.s, point.v + dual * step.v
    )


@merged
def _room(x, dx):
    least = (dx / x).min()
    return 2.0 if least >= -0.5 else -1 / least


MAX_STEPS = 60
TO_BOUNDARY = 0.98  # fraction of the way to the boundary
CENTRING = 30  # Newton steps at one tau
CENTRED = 1e-7  # relative length of the last step: Newton squares it
NEARLY = 0.1  # relative length of the last step at a tau that is left at once
HARDER = (2.0**-4, 2.0**-9, 2.0**-4)  # tau of the directions divided by that of the arms, one after the other
ENOUGH = (NEARLY, CENTRED, CENTRED)  # relative length of the last step at each of them
SETTLED = 1e-3  # after a step below this relative length, a step of at least half its length shows rounding errors
OPEN = 0.02  # relative gap of a start from a nearly optimal point


class Solution(NamedTuple):
    """Weights (p,) on arms and (q,) on directions, each summing to one, Newton steps, and the last `Point`."""

    weights: np.ndarray
    masses: np.ndarray
    steps: int
    point: Point


def interior_point(arms, directions, weights, tol):
    """Return the `Solution` for arms (p, r), directions (q, r) from positive weights (p,): value <= (1 + tol) bound."""
    return _solution(*_followed(arms, directions, _start(arms, directions, weights), tol, 0.0))


def chosen_from(arms, directions, weights, masses, tol, unit):
    """Return the chosen `Solution` from nearly optimal weights (p,) and masses (q,), of which some may be zero."""
    point = _opened(arms, directions, weights, masses)
    point, _, steps = _followed(arms, directions, point, 0.0, _tau(point, arms.shape[1], tol, unit))
    solution = centred(arms, directions, point, tol, unit)
    return solution._replace(steps=steps + solution.steps)


def centred(arms, directions, point, tol, unit):
    """Return the `Solution` chosen among the optima, with a gap of tol / 64 to tol / 8, from an interior point."""
    return _solution(*_centred(arms, directions, point, tol, unit))


@compiled
def _solution(point, g, steps):
    return Solution(normalised(point.mu), normalised(point.v * (g * g)), steps, point)


@compiled
def _followed(arms, directions, point, tol, least):
    """Return the best point of the path, which ends at the gap `tol` or at tau = `least`, its g, and the steps."""
    best, kept, g, steps = np.inf, point, point.s, 0
    for step in range(MAX_STEPS):
        here = geometry(arms, directions, point.mu)
        ratio = _ratio(point, here)
        steps = step + 1
        if ratio < best or step == 0:
            best, kept, g = ratio, point, here.g
        if not 1 + tol < ratio < np.inf or (step > 20 and ratio > 2 * best) or gap(point) < 2 * least:
            break
        point = _predict_and_correct(point, here, least)
    return kept, g, steps


@compiled
def _centred(arms, directions, point, tol, unit):
    tau, steps, g = _tau(point, arms.shape[1], tol, unit), 0, point.s
    for _ in range(3):
        point, soft, more = _harder(arms, directions, _lifted(point, tau, tau * HARDER[0]), tau)
        here = geometry(arms, directions, point.mu)
        steps, g, ratio, softer = steps + more, here.g, _ratio(point, here), _ratio(soft, here)
        if softer < ratio:
            point, ratio = soft, softer
        if ratio <= 1 + tol:
            break
        tau /= 8
    return point, g, steps


@compiled
def _tau(point, r, tol, unit):
    p = len(point.mu)
    part = min(1 / (64 * min(p, r * (r + 1) // 2)), 1 / (8 * p))
    return math.ldexp(unit, math.frexp(tol * ordered_sum(point.mu) * part / unit)[1] - 1)


@merged
def _lifted(point, tau_z, tau_s):
    """Return a point with z mu >= tau_z and s v >= tau_s: raise the relatively smaller factor of a small product."""
    mu, z = _raised(point.mu, point.z, tau_z)
    v, s = _raised(point.v, point.s, tau_s)
    return Point(mu, z, s, v)


@merged
def _raised(x, y, least):
    """Return copies of x (n,) and y (n,) with x y >= least: y is raised where x is relatively large, else x."""
    scale, x, y = len(x) / ordered_sum(x), x.copy(), y.copy()
    for k in range(len(x)):
        if x[k] * scale > y[k]:
            y[k] = max(y[k], least / x[k])
        else:
            x[k] = max(x[k], least / y[k])
    return x, y


@merged
def _harder(arms, directions, point, tau):
    """Return the point at z mu = tau and the smallest s v, the same with multipliers of the largest s v, and steps."""
    steps, first = 0, point
    for k in range(len(HARDER)):
        next, length, more = _newton(arms, directions, point, tau, tau * HARDER[k], ENOUGH[k])
        steps += more
        settled = length < NEARLY
        if k == 1 and not settled:
            continue  # rounding errors spoiled the step: the s v before is the smallest possible
        point = next
        if k > 0 or not settled:
            break
        first = next
    return point, Point(point.mu, point.z, first.s, first.v), steps  # rounding errors reach multipliers first


@merged
def _newton(arms, directions, point, tau_z, tau_s, enough):
    """Return a point with z mu = tau_z and s v = tau_s, the relative length of the last step there, and the steps."""
    length, steps = np.inf, 0
    target_z, target_s = np.full(len(point.mu), tau_z), np.full(len(point.s), tau_s)
    for _ in range(CENTRING):
        steps += 1
        here = geometry(arms, directions, point.mu)
        move = newton_step(newton_factor(point, here), point, here, target_z, target_s)
        before, length = length, np.abs(move.mu / point.mu).max()
        if before < SETTLED and not length < before / 2:
            length = before
            break
        point = moved(point, move, TO_BOUNDARY)
        if not length > enough:
            break
    return point, length, steps


@compiled
def _start(arms, directions, weights):
    """Return a well-centred point: masses 1.5 times what the constraints need, s v = z mu = mean mass."""
    p, q, g = len(weights), len(directions), geometry(arms, directions, weights).g
    least = g.min()
    mu, s = 1.5 * weights / least, np.maximum(1.5 * g / least - 1, 0.1)
    tau = ordered_sum(mu) / (p + q)
    return Point(mu, np.minimum(tau / mu, 10.0), s, tau / s)


@compiled
def _opened(arms, directions, weights, masses):
    """Return a point from which both bounds are within about OPEN, centred as far as tau = OPEN mean mass."""
    p, q = len(weights), len(directions)
    mu = (1 - OPEN) * weights + OPEN / p
    here = geometry(arms, directions, mu)
    needed = (1 + OPEN) / here.g.min()
    s, v, mu = here.g * needed - 1, masses / (here.g * here.g), mu * needed
    load = pressures(here, v)
    allowed = (1 + OPEN) * load.max()
    z, tau = 1 - load / allowed, OPEN * ordered_sum(mu) / (p + q)
    return Point(np.maximum(mu, tau / z), z, s, np.maximum(v / allowed, tau / s))


@merged
def _ratio(point, here):
    value, pull = ordered_sum(point.mu) / here.g.min(), ordered_sum(point.v * here.g)
    square = ordered_sum(point.v * (here.g * here.g))
    return value / (pull / square * (pull / pressures(here, point.v).max()))


@merged
def _predict_and_correct(point, here, least):
    """Make one step of Mehrotra's: a first step to tau = 0 gives the tau to aim at and the curvature of the path."""
    factored, tau = newton_factor(point, here), gap(point)
    step, target_z, target_s = point, np.zeros(len(point.mu)), np.zeros(len(point.s))
    for correcting in range(2):
        if correcting:
            tau = max(least, tau * min(1.0, gap(moved(point, step, 1.0)) / tau) ** 3)
            target_z, target_s = tau - step.mu * step.z, tau - step.s * step.v
        step = newton_step(factored, point, here, target_z, target_s)
    return moved(point, step, TO_BOUNDARY)
