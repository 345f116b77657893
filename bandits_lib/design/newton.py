"""The Newton step of the interior-point method: the geometry at given masses, and the system in one of two forms.

`interior_point` says what the system is. Of few arms the multipliers v are eliminated and the matrix (p, p) is formed.
Of more than MANY m, m = r(r+1)/2, the unknowns are t = F'dmu and the dv of tight directions, those of large v/s. Their
rows of G are T, those of the others L, and with H = 2 (I (x) M) - G' diag(2v/g) G and K = H + L' diag(v/s) L,
    (F K F' + diag(z/mu)) dmu - F T'dv = a,   T t + diag(s/v) dv = b.
With N = F' diag(mu/z) F = U'U and t = U'w the step solves
    (I + U K U') w - U T'dv = U'^-1 F' diag(mu/z) a,   T U'w + diag(s/v) dv = b
and is dmu = mu/z (a - F (Kt - T'dv)). No large v/s is in it, and the last steps are as exact as the first.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from bandits_lib.numerics.kernels import merged
from bandits_lib.numerics.ordered import (
    apply,
    cholesky,
    combine,
    information,
    inverse_triangle,
    lower_product,
    product,
    scaled_columns,
    scaled_rows,
    semidefinite_factor,
    solve_factored,
    solve_transposed,
    solve_upper,
    squares,
    symmetric_squares,
    transposed,
    triangle,
)

MANY = 1.5
FLAT = 1e-15  # pivots of N that are smaller, relative to its diagonal, are rounding errors
WIDE = 16  # columns above which a sum of products is taken row by row
TIGHT = 1e4  # v/s of a direction whose multiplier is not eliminated, at least


class Point(NamedTuple):
    """An iterate: masses `mu` (p,) and `z` (p,) on arms, slacks `s` (q,) and multipliers `v` (q,) on directions."""

    mu: np.ndarray
    z: np.ndarray
    s: np.ndarray
    v: np.ndarray


class Geometry(NamedTuple):
    """At masses mu, in coordinates in which A is the identity; the two forms of W that are not used are empty."""

    measured: np.ndarray  # (p, r), the arms
    rays: np.ndarray  # (q, r), the c_y
    g: np.ndarray  # (q,)
    W: np.ndarray  # (p, q), gradient of g, of few arms
    Wt: np.ndarray  # (q, p)
    F: np.ndarray  # (p, m), svec of the squares of the arms, of many
    G: np.ndarray  # (q, m), svec of the squares of the rays, of many


class Factor(NamedTuple):
    """What is factored once for a step's predictor and corrector; what the form in use does not need is empty."""

    upper: np.ndarray  # Cholesky's factor, of few arms of the matrix (p, p), of many of I + UKU' (m, m)
    K: np.ndarray  # (m, m), this and the following of many arms
    U: np.ndarray  # (m, m)
    tight: np.ndarray  # (q',), indices of the tight directions
    E: np.ndarray  # (m, q'), upper'^-1 U T'
    small: np.ndarray  # (q', q'), Cholesky's factor of E'E + diag(s/v)


@njit(cache=True, error_model="numpy")
def geometry(arms, directions, mu):
    """The `Geometry` of arms (p, r) and directions (q, r) at masses mu (p,)."""
    upper, regular = cholesky(information(arms, mu))
    if not regular:  # too close to singular for A itself
        upper = triangle(scaled_rows(arms, np.sqrt(mu)))
    inverse = inverse_triangle(upper)
    measured, rays = product(arms, inverse), product(directions, inverse)
    g = squares(rays)
    for k in range(len(g)):
        g[k] = 1 / g[k]
        for c in range(rays.shape[1]):
            rays[k, c] *= g[k]
    r, none = arms.shape[1], np.empty((0, 0))
    if len(arms) > MANY * (r * (r + 1) // 2):
        return Geometry(measured, rays, g, none, none, symmetric_squares(measured), symmetric_squares(rays))
    Wt = product(rays, transposed(measured))
    for k in range(Wt.shape[0]):
        for i in range(Wt.shape[1]):
            Wt[k, i] *= Wt[k, i]
    return Geometry(measured, rays, g, transposed(Wt), Wt, none, none)


@njit(cache=True, error_model="numpy")
def pressures(here, v):
    """Wv (p,)."""
    if here.F.size:
        return apply(here.F, combine(v, here.G))
    return combine(v, here.Wt)


@njit(cache=True, error_model="numpy")
def growth(here, mu):
    """W'mu (q,)."""
    if here.F.size:
        return apply(here.G, combine(mu, here.F))
    return combine(mu, here.W)


@njit(cache=True, error_model="numpy")
def factor(point, here):
    """The `Factor` of the Newton matrix at `point`, an interior point with mu, z (p,) and s, v (q,)."""
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
    steep = np.empty(len(v))
    for k in range(len(v)):
        steep[k] = v[k] / s[k] - 2 * v[k] / here.g[k]
    bent = lower_product(scaled_columns(here.W, steep), here.Wt)
    for i in range(len(mu)):
        for j in range(i + 1):
            matrix[i, j] = matrix[i, j] * (2 * along[i, j]) + bent[i, j]
        matrix[i, i] += z[i] / mu[i]
    return regular_cholesky(matrix)


@merged
def _of_many(point, here):
    mu, z, s, v = point
    tight = _tight(point)
    scale, steep = np.empty(len(mu)), np.empty(len(v))
    for i in range(len(mu)):
        scale[i] = mu[i] / z[i]
    for k in range(len(v)):
        steep[k] = (0.0 if v[k] > TIGHT * s[k] else v[k] / s[k]) - 2 * v[k] / here.g[k]
    K = product(scaled_columns(transposed(here.G), steep), here.G)
    add_kronecker(K, information(here.rays, v))
    U = semidefinite_factor(_weighted_squares(here.F, scale), FLAT)
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
def _tight(point):
    """Indices (q',) of the tight directions."""
    tight, many = np.empty(len(point.v), np.int64), 0
    for k in range(len(point.v)):
        if point.v[k] > TIGHT * point.s[k]:
            tight[many] = k
            many += 1
    return tight[:many].copy()


@merged
def _weighted_squares(rows, weights):
    """The sum of weights_i rows_i rows_i' (k, k), of which the lower triangle is to be read."""
    if rows.shape[1] < WIDE:
        return information(rows, weights)
    return lower_product(scaled_columns(transposed(rows), weights), rows)


@njit(cache=True, error_model="numpy")
def regular_cholesky(matrix):
    """Cholesky's factor; the diagonal grows if rounding has made the matrix indefinite."""
    n = len(matrix)
    ridge = np.empty(n)
    for i in range(n):
        ridge[i] = 1e-14 * matrix[i, i]
    upper, regular = cholesky(matrix)
    for _ in range(7):
        if regular:
            break
        for i in range(n):
            matrix[i, i] += ridge[i]
            ridge[i] *= 100
        upper, regular = cholesky(matrix)
    return upper


@njit(cache=True, error_model="numpy")
def add_kronecker(out, matrix):
    """Add to `out` (m, m) the form tr(E matrix E), twice, of symmetric E (r, r), in svec(E)."""
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
            entry = 0.0
            if a == d:
                entry += matrix[b, c]
            if a == c:
                entry += matrix[b, d]
            if b == d:
                entry += matrix[a, c]
            if b == c:
                entry += matrix[a, d]
            twice = 2 * (weight[k] * weight[n] * entry)
            out[k, n] += twice
            if n < k:
                out[n, k] += twice


@njit(cache=True, error_model="numpy")
def solve(factor, point, here, target_z, target_s):
    """The Newton step, a `Point` of differences, to z mu = target_z (p,), s v = target_s (q,)."""
    mu, z, s, v = point
    p, q, tight = len(mu), len(s), factor.tight
    excess, still = np.empty(q), np.empty(q)  # still : v + dv where t = 0
    for k in range(q):
        excess[k] = here.g[k] - s[k] - 1
        still[k] = target_s[k] / s[k] - v[k] / s[k] * excess[k]
    b = np.empty(len(tight))
    for n in range(len(tight)):
        k = tight[n]
        still[k], b[n] = v[k], target_s[k] / v[k] - s[k] - excess[k]
    a = pressures(here, still)
    for i in range(p):
        a[i] = a[i] + target_z[i] / mu[i] - 1
    if here.F.size:
        dmu, t, dv_tight = _solve_many(factor, here, point, a, b)
        ds = apply(here.G, t)
    else:
        dmu, dv_tight = solve_factored(factor.upper, a), b
        ds = growth(here, dmu)
    dz, dv = np.empty(p), np.empty(q)
    for i in range(p):
        dz[i] = (target_z[i] - z[i] * dmu[i]) / mu[i] - z[i]
    for k in range(q):
        ds[k] += excess[k]
        dv[k] = (target_s[k] - v[k] * ds[k]) / s[k] - v[k]
    for n in range(len(tight)):
        k = tight[n]
        dv[k] = dv_tight[n]
        ds[k] = target_s[k] / v[k] - s[k] - s[k] / v[k] * dv[k]
    return Point(dmu, dz, ds, dv)


@merged
def _solve_many(factor, here, point, a, b):
    """dmu (p,), t (m,) and dv (q',) for right-hand sides a (p,) and b (q',)."""
    upper, K, U, tight, E, small = factor
    p, scaled, dmu = len(a), np.empty(len(a)), np.empty(len(a))
    for i in range(p):
        scaled[i] = point.mu[i] / point.z[i] * a[i]
    known = solve_transposed(upper, solve_transposed(U, combine(scaled, here.F)))
    rest = combine(known, E)
    for n in range(len(b)):
        rest[n] = b[n] - rest[n]
    dv = solve_factored(small, rest)
    moved = apply(E, dv)
    for k in range(len(known)):
        moved[k] = known[k] + moved[k]
    t = combine(solve_upper(upper, moved), U)
    bent, back = apply(K, t), combine(dv, here.G[tight])
    for k in range(len(bent)):
        bent[k] -= back[k]
    down = apply(here.F, bent)
    for i in range(p):
        dmu[i] = point.mu[i] / point.z[i] * (a[i] - down[i])
    return dmu, t, dv


@njit(cache=True, error_model="numpy")
def gap(point):
    """Mean complementarity."""
    slack, arms = 0.0, 0.0
    for k in range(len(point.s)):
        slack += point.s[k] * point.v[k]
    for i in range(len(point.mu)):
        arms += point.z[i] * point.mu[i]
    return (slack + arms) / (len(point.s) + len(point.mu))


@njit(cache=True, error_model="numpy")
def moved(point, step, fraction):
    """The point a full `step` away, or `fraction` of the way to the boundary where that is nearer."""
    primal = min(1.0, fraction * min(_room(point.mu, step.mu), _room(point.s, step.s)))
    dual = min(1.0, fraction * min(_room(point.z, step.z), _room(point.v, step.v)))
    return Point(
        _along(point.mu, primal, step.mu), _along(point.z, dual, step.z),
        _along(point.s, primal, step.s), _along(point.v, dual, step.v),
    )  # fmt: skip


@njit(cache=True, error_model="numpy")
def _along(x, length, dx):
    out = np.empty(len(x))
    for k in range(len(x)):
        out[k] = x[k] + length * dx[k]
    return out


@njit(cache=True, error_model="numpy")
def _room(x, dx):
    """Largest step that keeps x + step dx >= 0, at most 2."""
    least = np.inf
    for k in range(len(x)):
        part = dx[k] / x[k]
        if part < least or part != part:
            least = part
    return 2.0 if least >= -0.5 else -1 / least
