"""The Newton system of the interior-point method: the geometry at given masses, and its matrix in one of two forms.

`interior_point` says what the system is. Of few arms the matrix (p, p) is formed. Of more than MANY m, m = r(r+1)/2, it
is F S F' + diag(z/mu), and W = FG'. With S = LL' and E = diag(mu/z)^1/2 F L its inverse is
    diag(mu/z)^1/2 (I - E (I + E'E)^-1 E') diag(mu/z)^1/2,
where the middle is a projector, I - QQ' for the upper part Q of an orthonormal basis of the columns of E above the
identity. That basis is taken by Cholesky's factor of the Gram matrix, twice: rounding errors are then those of Q.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from bandits_lib.numerics import ordered
from bandits_lib.numerics.ordered import cholesky, inverse_triangle, lower_product, product, squares, transposed

MANY = 1.5
REFINED = 2  # times a solution is refined
FLAT = 1e-15  # pivots of S that are smaller, relative to its diagonal, are rounding errors


class Geometry(NamedTuple):
    """At masses mu, in coordinates in which A is the identity; the two forms of W that are not used are empty.

    measured (p, r) : arms; rays (q, r) : c_y; g (q,); W (p, q), Wt (q, p) : gradient of g, of few arms;
    F (p, m), G (q, m) : svec of the squares of arms and of rays, of many.
    """

    measured: np.ndarray
    rays: np.ndarray
    g: np.ndarray
    W: np.ndarray
    Wt: np.ndarray
    F: np.ndarray
    G: np.ndarray


class Factor(NamedTuple):
    """Of few arms: upper (p, p), Cholesky's. Of many: F, Q (p, m), L' (m, m) and (mu/z)^1/2 (p,). The rest is empty."""

    upper: np.ndarray
    F: np.ndarray
    Q: np.ndarray
    root: np.ndarray
    scale: np.ndarray


@njit(cache=True, error_model="numpy")
def of_many(arms, many):
    """Whether arms (p, r) are more than `many` times m."""
    return len(arms) > many * (arms.shape[1] * (arms.shape[1] + 1) // 2)


@njit(cache=True, error_model="numpy")
def geometry(arms, directions, mu, many=MANY):
    """The `Geometry` of arms (p, r) and directions (q, r) at masses mu (p,), for more or fewer than `many` m arms."""
    upper, regular = cholesky(ordered.information(arms, mu))
    if not regular:  # too close to singular for A itself
        upper = ordered.triangle(np.sqrt(mu).reshape(-1, 1) * arms)
    inverse = inverse_triangle(upper)
    measured, rays = product(arms, inverse), product(directions, inverse)
    g = 1 / squares(rays)
    rays *= g.reshape(-1, 1)
    none = np.empty((0, 0))
    if of_many(arms, many):
        F, G = ordered.symmetric_squares(measured), ordered.symmetric_squares(rays)
        return Geometry(measured, rays, g, none, none, F, G)
    W = product(measured, transposed(rays))
    W *= W
    return Geometry(measured, rays, g, W, transposed(W), none, none)


@njit(cache=True, error_model="numpy")
def pressures(here, v):
    """Wv (p,)."""
    if here.F.size:
        return ordered.apply(here.F, ordered.combine(v, here.G))
    return ordered.combine(v, here.Wt)


@njit(cache=True, error_model="numpy")
def growth(here, mu):
    """W'mu (q,)."""
    if here.F.size:
        return ordered.apply(here.G, ordered.combine(mu, here.F))
    return ordered.combine(mu, here.W)


@njit(cache=True, error_model="numpy")
def factor(point, here):
    """The `Factor` of the Newton matrix at `point`, an interior point with mu, z (p,) and s, v (q,)."""
    if here.F.size:
        return _of_many(point, here)
    none = np.empty((0, 0))
    return Factor(_of_few(point, here), none, none, none, np.empty(0))


@njit(cache=True, error_model="numpy")
def _of_few(point, here):
    """Cholesky's factor of the matrix itself; its diagonal grows if rounding has made it indefinite."""
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
def _of_many(point, here):
    mu, z, s, v = point
    S = 2 * symmetric_kronecker(ordered.information(here.rays, v))
    S += lower_product(transposed(here.G) * (v / s - 2 * v / here.g), here.G)
    scale, root = np.sqrt(mu / z), ordered.semidefinite_factor(S, FLAT)
    E = product(here.F * scale.reshape(-1, 1), transposed(root))
    upper = cholesky(lower_product(transposed(E), E) + np.eye(len(S)))[0]
    inverse = inverse_triangle(upper)
    Q = product(E, inverse)
    if not ordered.mild(upper):
        gram = lower_product(transposed(Q), Q) + lower_product(transposed(inverse), inverse)
        Q = product(Q, inverse_triangle(cholesky(gram)[0]))
    return Factor(np.empty((0, 0)), here.F, Q, root, scale)


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
def solve(factor, rhs):
    """The solution (p,) of the Newton system with right-hand side (p,)."""
    upper, F, Q, root, scale = factor
    if not Q.size:
        return ordered.solve_factored(upper, rhs)
    x = np.zeros(len(rhs))
    for _ in range(1 + REFINED):
        bent = ordered.combine(ordered.apply(root, ordered.combine(x, F)), root)  # S F'x
        scaled = scale * (rhs - ordered.apply(F, bent) - x / scale**2)
        x += scale * (scaled - ordered.apply(Q, ordered.combine(scaled, Q)))
    return x
