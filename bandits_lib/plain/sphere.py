"""Track-and-Stop on the unit sphere (Jedra and Proutiere 2020, section 4): the paper's rule and the library's default.

Pulls go round robin over an orthonormal basis u_1, ..., u_d. Stopping is checked after every block of d pulls, when
A_t = n I. c is 1, and delta_t = delta / (2 t^2). Our copy of eq. (11) lacks the divisor of rho; the proof needs
|mu_hat|^2. Our copy of Theorem 5 lacks a part of the logarithm; log(4 t^d) is our reading. With this epsilon_t the
paper's rule takes thousands of times as many pulls as the direct rule, so the direct rule is the library's default.
"""

from math import log, sqrt

import numpy as np

from bandits_lib.protocol import Result


def sphere(d, epsilon, delta, sigma=1.0):
    """Return a unit vector (d,) of regret at most epsilon, with probability 1 - delta, by eqs. (11) and (12)."""
    n, S = 0, np.zeros(d)
    while True:
        sample = yield np.ones(d, dtype=int)  # a_t = u_(t mod d)
        n, S = n + 1, S + sample.sums
        t, mu = n * d, S / n
        length = np.linalg.norm(mu)
        epsilon_t = epsilon / (1 + epsilon / sqrt(4 * sigma**2 * log(4 * t**d)))  # Theorem 5
        delta_t = delta / (2 * t**2)
        zeta = log(2) + d / 2 * log(n + 1) - log(delta_t)  # Proposition 3
        beta = 2 * sigma**2 * zeta  # eq. (12)
        rho = 4 * sigma**2 * epsilon_t**2 * zeta / (epsilon - epsilon_t) ** 2
        Z = n * length * epsilon_t  # the infimum over b; if epsilon_t > 2 |mu_hat| there is no b, and we go on
        if epsilon_t <= 2 * length and Z >= beta and n >= max(1, rho / length**2):  # eq. (11)
            return Result(mu / length)


def sphere_direct(d, epsilon, delta, sigma=1.0):
    """Return a unit vector (d,) by the direct rule: stop if no mu in the confidence ball gives regret above epsilon."""
    n, S = 0, np.zeros(d)
    while True:
        sample = yield np.ones(d, dtype=int)
        n, S = n + 1, S + sample.sums
        mu = S / n
        length = np.linalg.norm(mu)
        radius = sqrt(
            4 * sigma**2 * (d / 2 * log(n + 1) - log(delta)) / n
        )  # bound on |mu_hat - mu|, from the proof of Proposition 2
        regret = radius**2 / (2 * length) if radius <= 2 * length else 2 * (radius - length)  # the largest in the ball
        if regret <= epsilon:
            return Result(mu / length)
