"""The XY-design problem as a game of two players, for what the interior-point method cannot finish.

One player puts masses v on directions, the other weights lambda on arms. With M = sum v_y yy' and a = tr(A^-1 M),
    v_y      <- v_y (1 + eta_k (||y||^2 / max ||y||^2 - 1) / 64)^64,   eta_k = 5 min(1, 3 / sqrt(k)),
    lambda_x <- lambda_x sqrt(x'A^-1MA^-1x / a),
and both sums are scaled to one (the power stands in for an exponential, whose last bit no standard fixes). A is that
of (1 - tol / 10) lambda + (tol / 10) / K: the uniform part keeps it regular where the directions do not need all
dimensions, which is where the interior-point method stalls (few items left on the corners of a cube), and costs at most
tol / 10. Value and bound of `certificate` are known at every step; every LOOK steps the bound of the average masses is
tried as well, which settle where the masses go on cycling among many optima. It ends when value <= (1 + tol) bound, or
after STEPS steps, with the best weights and the best bound seen.
"""

import numpy as np

from bandits_lib.design.certificate import lower_bound
from bandits_lib.numerics.ordered import (
    cholesky,
    information,
    inverse_triangle,
    product,
    squares,
    total,
    transposed,
)

STEPS = 5_000
LOOK = 10


def two_players(arms, directions, tol):
    """Weights (K,), a lower bound and the steps, for arms (K, r) of rank r and directions (n, r)."""
    K, n = len(arms), len(directions)
    weights, masses, average = np.full(K, 1 / K), np.full(n, 1 / n), np.zeros(n)
    best_value, best_weights, best_bound = np.inf, weights, 0.0
    for k in range(1, STEPS + 1):
        mixed = (1 - tol / 10) * weights + tol / 10 / K
        root = transposed(inverse_triangle(cholesky(information(arms, mixed))[0]))
        rotated = product(directions, transposed(root))
        norms = squares(rotated)
        bound, pressure = lower_bound(arms, root, rotated, masses)
        average += masses
        settled = lower_bound(arms, root, rotated, average)[0] if k % LOOK == 0 else bound
        best_bound = max(best_bound, float(bound), float(settled))
        if norms.max() < best_value:
            best_value, best_weights = float(norms.max()), mixed
        if best_value <= (1 + tol) * best_bound:
            break
        rate = 5 * min(1, 3 / np.sqrt(k))
        factor = 1 + rate * (norms / norms.max() - 1) / 64
        for _ in range(6):
            factor *= factor
        masses = masses * factor
        masses /= total(masses)
        weights = weights * np.sqrt(np.maximum(pressure, 0.0))
        weights /= total(weights)
    return best_weights, best_bound, k
