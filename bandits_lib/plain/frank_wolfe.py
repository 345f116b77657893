"""The Frank-Wolfe solver of fiez2019 (appendix F).

It is the `frank_wolfe_design` of the library, which uses it by default in XY-static and XY-oracle only. The solver of
jedra2020 is similar and starts from the previous allocation. weltz2023 only says that it uses Frank-Wolfe.
"""

import numpy as np

from bandits_lib.numerics.ties import argmax


def frank_wolfe(arms, directions):
    """Return lambda (K,) that makes max ||y||^2 in A(lambda)^-1 small over y in (n, d); weltz2023: arms / sigma."""
    K = len(arms)
    lam = np.full(K, 1 / K)
    for k in range(1, 5001):  # at most 5000 iterations
        A_inv = np.linalg.inv((arms.T * lam) @ arms)
        y = directions[argmax(np.array([y @ A_inv @ y for y in directions]))]
        vertex = np.eye(K)[argmax((arms @ A_inv @ y) ** 2)]
        step = 2 / (k + 2) * (vertex - lam)
        small = np.linalg.norm(step) < 0.01 * np.linalg.norm(lam)  # the relative change
        lam = lam + step
        if small:
            break
    lam[lam < 1e-5] = 0.0  # thresholded ...
    return lam / lam.sum()  # ... and scaled to sum to 1
