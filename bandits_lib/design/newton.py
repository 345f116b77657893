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

from bandits_lib.numerics import ordered
from bandits_lib.numerics.ordered import (
    apply,
    cholesky,
    combine,
    inverse_triangle,
    lower_product,
    product,
    solve_factored,
    solve_transposed,
    squares,
    transposed,
)

MANY = 1.5
FLAT = 1e-15  # pivots of N that are smaller, relative to its diagonal, are rounding errors
WIDE = 16  # columns above which a sum of products is taken row by row
TIGHT = 1e4  # v/s of a direction whose multiplier is not eliminated, at least


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
    upper, regular = cholesky(ordered.information(arms, mu))
    if not regular:  # too close to singular for A itself
        upper = ordered.triangle(np.sqrt(mu).reshape(-1, 1) * arms)
    inverse = inverse_triangle(upper)
    measured, rays = product(arms, inverse), product(directions, inverse)
    g = 1 / squares(rays)
    rays *= g.reshape(-1, 1)
    r, none = arms.shape[1], np.empty((0, 0))
    if len(arms) > MANY * (r * (r + 1) // 2):
        F, G = ordered.symmetric_squares(measured), ordered.symmetric_squares(rays)
        return Geometry(measured, rays, g, none, none, F, G)
    W = product(measured, transposed(rays))
    W *= W
    return Geometry(measured, rays, g, W, transposed(W), none, none)


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


@njit(cache=True, error_model="numpy")
def _of_few(point, here):
    mu, z, s, v = point
    across = transposed(here.measured)
    curved = product(here.measured, ordered.information(here.rays, v))
    matrix = lower_product(curved, across)
    matrix *= 2 * lower_product(here.measured, across)
    matrix += lower_product(here.W * (v / s - 2 * v / here.g), here.Wt)
    for i in range(len(mu)):
        matrix[i, i] += z[i] / mu[i]
    return _regular(matrix)


@njit(cache=True, error_model="numpy")
def _of_many(point, here):
    mu, z, s, v = point
    tight = np.flatnonzero(v > TIGHT * s)
    bent, steep = transposed(here.G), v / s
    steep[tight] = 0.0
    K = 2 * symmetric_kronecker(ordered.information(here.rays, v)) + product(bent * (steep - 2 * v / here.g), here.G)
    U = ordered.semidefinite_factor(_weighted_squares(here.F, mu / z), FLAT)
    upper = _regular(lower_product(product(U, K), transposed(U)) + np.eye(len(K)))
    E = product(transposed(inverse_triangle(upper)), product(U, transposed(here.G[tight])))
    small = lower_product(transposed(E), E)
    for i in range(len(tight)):
        small[i, i] += s[tight[i]] / v[tight[i]]
    return Factor(upper, K, U, tight, E, _regular(small))


@njit(cache=True, error_model="numpy")
def _weighted_squares(rows, weights):
    """The sum of weights_i rows_i rows_i' (k, k), of which the lower triangle is to be read."""
    if rows.shape[1] < WIDE:
        return ordered.information(rows, weights)
    return lower_product(transposed(rows) * weights, rows)


@njit(cache=True, error_model="numpy")
def _regular(matrix):
    """Cholesky's factor; the diagonal grows if rounding has made the matrix indefinite."""
    n = len(matrix)
    ridge = np.array([1e-14 * matrix[i, i] for i in range(n)])
    upper, regular = cholesky(matrix)
    for _ in range(7):
        if regular:
            break
        for i in range(n):
            matrix[i, i] += ridge[i]
        ridge *= 100
        upper, regular = cholesky(matrix)
    return upper


@njit(cache=True, error_model="numpy")
def symmetric_kronecker(matrix):
    """The matrix (m, m) of the form tr(E matrix E) of symmetric E (r, r), in svec(E)."""
    r = len(matrix)
    m, k = r * (r + 1) // 2, 0
    first, second, weight = np.empty(m, np.int64), np.empty(m, np.int64), np.empty(m)
    for i in range(r):
        for j in range(i + 1):
            first[k], second[k], weight[k] = i, j, 0.5 if i == j else np.sqrt(0.5)
            k += 1
    out = np.zeros((m, m))
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
            out[k, n] = out[n, k] = weight[k] * weight[n] * entry
    return out


@njit(cache=True, error_model="numpy")
def solve(factor, point, here, target_z, target_s):
    """The step (dmu (p,), ds (q,), dv (q,)) to z mu = target_z, s v = target_s."""
    mu, z, s, v = point
    excess = here.g - s - 1
    tight, still = factor.tight, target_s / s - v / s * excess  # v + dv where t = 0
    if not here.F.size:
        dmu = solve_factored(factor.upper, pressures(here, still) + target_z / mu - 1)
        ds = growth(here, dmu) + excess
        return dmu, ds, (target_s - v * ds) / s - v
    still[tight] = v[tight]
    a, b = pressures(here, still) + target_z / mu - 1, (target_s / v - s - excess)[tight]
    dmu, t, dv_tight = _solve_many(factor, here, mu / z, a, b)
    ds = apply(here.G, t) + excess
    dv = (target_s - v * ds) / s - v
    dv[tight] = dv_tight
    ds[tight] = (target_s / v - s - s / v * dv)[tight]
    return dmu, ds, dv


@njit(cache=True, error_model="numpy")
def _solve_many(factor, here, scale, a, b):
    """dmu (p,), t (m,) and dv (q',) for right-hand sides a (p,) and b (q',); scale : mu / z (p,)."""
    upper, K, U, tight, E, small = factor
    known = solve_transposed(upper, solve_transposed(U, combine(scale * a, here.F)))
    dv = solve_factored(small, b - combine(known, E))
    t = combine(ordered.solve_upper(upper, known + apply(E, dv)), U)
    return scale * (a - apply(here.F, apply(K, t) - combine(dv, here.G[tight]))), t, dv
