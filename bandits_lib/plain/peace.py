"""Peace with a fixed budget (Katz-Samuels, Jain, Karnin and Jamieson 2020, Algorithm 2), with its code's constants.

The pulls of the library differ: it starts each design from the previous one, computes the design of two arms exactly,
and drops atoms that hardly change the variances. It also accepts items and has the approximation of azizi2022, section
8 (objective="ratio").
"""

from math import ceil, log2

import numpy as np

from bandits_lib.design import round_design, width_design
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import Result


def peace(arms, budget, rng):
    """Return the row of the best of arms (K, d) within `budget` pulls; rng draws the normals of all widths."""
    beginning = rng.bit_generator.state

    def least_width(Z):
        """Return the design of smallest squared Gaussian width gamma(Z) of arms Z (azizi2022, D.2: twice its root)."""
        rng.bit_generator.state = beginning  # the same normals every time
        return width_design(arms, arms[Z], rng=rng)

    K = len(arms)
    Z, T, S = np.arange(K), np.zeros(K, dtype=int), np.zeros(K)
    design = least_width(Z)
    epochs = max(2, ceil(log2(design.value)))
    for epoch in range(1, epochs + 1):
        sample = yield round_design(design.weights, budget // epochs)
        T, S = T + sample.counts, S + sample.sums  # data of all epochs
        theta = np.linalg.pinv((arms.T * T) @ arms) @ (arms.T @ S)
        if epoch < epochs and len(Z) > 2:
            order = Z[np.argsort(-(arms[Z] @ theta), kind="stable")]
            Z = np.sort(longest_prefix(order, least_width, limit=max(ceil(design.value / 2), 1)))
            if len(Z) == 1:
                break
            design = least_width(Z)
    return Result(int(Z[argmax(arms[Z] @ theta)]))


def longest_prefix(order, least_width, limit):
    """Return the longest prefix of `order` (m,) with gamma <= limit, by bisection; one arm has gamma 0."""
    kept, too_many = 1, len(order) + 1
    while too_many - kept > 1:
        middle = (kept + too_many) // 2
        if least_width(order[:middle]).value <= limit:
            kept = middle
        else:
            too_many = middle
    return order[:kept]
