"""The D-optimal, and so G-optimal, design by Frank-Wolfe with away steps (Wolfe 1970, Atwood 1973).

It starts from the r arms of Kumar and Yildirim (2005), each the farthest along a direction orthogonal to those before,
with weight 1/r each. With V = V(pi) and q_x = x'V^-1x it then moves weight onto the arm of largest q, as Wynn's method
does, or takes weight off an arm of the support of smallest q, whichever is farther from r:
    pi <- (1 - gamma) pi + gamma e_x,   gamma = (q/r - 1) / (q - 1),
the exact line search for log det V; gamma < 0 takes weight off, all of it at most. It ends when all q are at most
(1 + tol) r and those of the support at least (1 - tol) r. Unlike Wynn's method it converges linearly, and arms leave
the support.

The code published with azizi2022 has the designs of OD-LinBAI from it (`minvol` of Todd, tol = 1e-6), and with
`away=False` it is the method of Corollary 2 there.
"""

import numpy as np
from numba import njit

from bandits_lib.checks import check_arms
from bandits_lib.design.cache import cached
from bandits_lib.design.certificate import Design
from bandits_lib.design.d_optimal import inverse_and_norms
from bandits_lib.design.sparsify import snapped
from bandits_lib.numerics.ordered import apply
from bandits_lib.numerics.span import span
from bandits_lib.numerics.ties import argmax

REFRESH = 200  # steps between two fresh inversions


def wolfe_atwood_design(arms, *, tol=1e-6, steps=100_000, away=True):
    """G-optimal design by Frank-Wolfe on log det V with away steps, from the start of Kumar and Yildirim.

    Parameters
    ----------
    arms : (K, d) array_like
        Arms, one per row, not all zero.
    tol : float, default 1e-6
        Relative distance of the norms from the rank at which it ends, in (0, 1).
    steps : int, default 100_000
        The most steps that are taken, at least 0; with 0 it is the start itself.
    away : bool, default True
        Whether weight may be taken off an arm. Without it is Frank-Wolfe (Khachiyan's steps), which needs many more
        steps and never makes the support smaller.

    Returns
    -------
    Design
        `value` <= (1 + tol) rank, unless `steps` ran out, and `lower_bound` = rank.

    Raises
    ------
    ValueError
        As `check_arms`, if `tol` is outside (0, 1) or `steps` is negative.

    Notes
    -----
    The support may have more than r(r+1)/2 arms; it has far fewer than all as a rule.

    References
    ----------
    .. [1] Kumar, Yildirim. "Minimum-volume enclosing ellipsoids and core sets". J. Optim. Theory Appl. 126, 2005.
    .. [2] Todd, Yildirim. "On Khachiyan's algorithm for the computation of minimum-volume enclosing ellipsoids".
       Discrete Appl. Math. 155, 2007.
    .. [3] Azizi, Kveton, Ghavamzadeh. "Fixed-budget best-arm identification in structured bandits". IJCAI 2022.
       Corollary 2.

    Examples
    --------
    >>> design = wolfe_atwood_design(np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]]))
    >>> design.weights.round(2).tolist(), round(design.value, 4)
    ([0.5, 0.5, 0.0], 2.0)
    """
    arms = check_arms(arms)
    if not 0 < tol < 1:
        raise ValueError(f"tol must lie in (0, 1); got {tol}: 1e-6 certifies the value to a millionth")
    if not steps >= 0:
        raise ValueError(f"steps must be at least 0; got {steps}: 100000 is the published code's limit")
    return _wolfe_atwood_design(arms, float(tol), int(steps), bool(away))


@cached
def _wolfe_atwood_design(arms, tol, steps, away):
    spanned = span(arms).arms
    rank = spanned.shape[1]
    inside = arms if rank == arms.shape[1] else spanned  # the start depends on the coordinates
    weights, taken = kumar_yildirim_start(inside), 0
    if rank > 1:
        weights, taken = _steps(inside, weights, tol, steps, away)
    weights = snapped(weights, tol)
    value = float(inverse_and_norms(inside, weights)[1].max())
    return Design(weights, max(value, float(rank)), float(rank), taken)


def kumar_yildirim_start(arms):
    """Weights (K,): 1/r on each of r of the arms (K, r), the farthest along directions orthogonal to those before."""
    rank = arms.shape[1]
    chosen, frame = np.zeros(len(arms)), np.eye(rank)
    for j in range(rank):
        arm = argmax(np.abs(apply(arms, frame[:, j])))
        chosen[arm] = 1.0
        z = apply(frame.T.copy(), arms[arm])  # Householder: the first j + 1 columns span the arms chosen
        z[:j] = 0.0
        size = np.sqrt((z**2).sum()) * (-1.0 if z[j] < 0 else 1.0)
        z[j] += size
        frame -= apply(frame, z)[:, None] * (z / (size * z[j]))[None, :]
    return chosen / rank


@njit(cache=True, error_model="numpy")
def _steps(arms, weights, tol, most, away):
    """Weights (K,) after the steps, and how many were taken, on arms (K, r) of rank r >= 2."""
    rank = arms.shape[1]
    inverse, norms = inverse_and_norms(arms, weights)
    for step in range(most):
        arm, least = argmax(norms), -1
        for k in range(len(norms)):
            if weights[k] > 0.0 and (least < 0 or norms[k] < norms[least]):
                least = k
        if norms[arm] <= (1 + tol) * rank and (not away or norms[least] >= (1 - tol) * rank):
            return weights, step
        if away and norms[arm] + norms[least] <= 2 * rank:
            arm = least
        gamma, left = _step(norms[arm], weights[arm], rank)
        ray = apply(inverse, arms[arm])
        along = apply(arms, ray)
        loss = gamma / (1 - gamma + gamma * norms[arm])
        for k in range(len(norms)):
            norms[k] = (norms[k] - loss * along[k] * along[k]) / (1 - gamma)
            weights[k] *= 1 - gamma
        weights[arm] = left
        for i in range(rank):
            for j in range(rank):
                inverse[i, j] = (inverse[i, j] - loss * ray[i] * ray[j]) / (1 - gamma)
        if (step + 1) % REFRESH == 0:
            inverse, norms = inverse_and_norms(arms, weights)
    return weights, most


@njit(cache=True, error_model="numpy")
def _step(norm, weight, rank):
    """The step gamma towards an arm of this norm (below 0: away from it), and the weight that it has then."""
    drop = -weight / (1 - weight) if weight < 1 else -np.inf
    gamma = (norm / rank - 1) / (norm - 1) if norm > 1 else drop
    if gamma <= drop:
        return drop, 0.0
    return gamma, (1 - gamma) * weight + gamma
