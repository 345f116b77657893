"""Fewer atoms, the same information.

1. Dropping atoms whose leverages lambda_x x'A^-1x add up to eta leaves A' >= (1 - eta) A, since the largest eigenvalue
   of what goes, relative to A, is at most its trace: the value grows by at most 1 / (1 - eta). No absolute threshold.
2. Caratheodory: more than r(r+1)/2 atoms are linearly dependent as matrices xx', so weights can move along a
   null vector, never raising their sum, until one of them is zero, with A unchanged. Renormalising then only helps.
"""

import numpy as np

from bandits_lib.design.certificate import inverse_root


def drop_small_leverages(arms, weights, eta):
    """Weights (K,), renormalised, without the atoms of least leverage, which add up to at most `eta`."""
    support = np.flatnonzero(weights)
    leverages = weights[support] * ((arms[support] @ inverse_root(arms, weights).T) ** 2).sum(axis=1)
    order = np.argsort(leverages, kind="stable")
    gone = support[order[np.cumsum(leverages[order]) <= eta]]
    kept = weights.copy()
    kept[gone] = 0.0
    return kept / kept.sum()


def basic_weights(arms, weights):
    """Weights (K,) on at most r(r+1)/2 of the atoms, with A at least that of `weights`, summing to one."""
    rank = arms.shape[1]
    limit = rank * (rank + 1) // 2
    support = np.flatnonzero(weights)
    if len(support) <= limit:
        return weights
    measured = arms[support] @ inverse_root(arms, weights).T
    i, j = np.triu_indices(rank)
    atoms = weights[support, None] * measured[:, i] * measured[:, j]
    share = _eliminate(atoms, weights[support], limit)
    basic = np.zeros_like(weights)
    basic[support] = share * weights[support]
    return basic / basic.sum()


def _eliminate(atoms, cost, limit):
    """Multipliers u >= 0 with atoms'u = atoms'1, cost'u <= cost'1 and at most `limit` of them non-zero.

    Works on batches of limit + BATCH rows: null vectors of a batch from one complete QR factorisation.
    """
    share = np.ones(len(atoms))
    while (alive := np.flatnonzero(share)).size > limit:
        batch = alive[: limit + max(BATCH, limit // 4)]
        q, _ = np.linalg.qr(atoms[batch] * share[batch, None], mode="complete")
        share[batch] *= _walk_to_zeros(q[:, limit:].copy(), cost[batch] * share[batch])
    return share


BATCH = 16


def _walk_to_zeros(null, cost):
    """Multipliers (n,), started at one, after moving along every column of `null` (n, k) until an entry is zero.

    After a move the other columns are made zero in that entry by a Householder reflection, which keeps
    them orthonormal.
    """
    u = np.ones(len(null))
    while null.shape[1]:
        step = null[:, 0] if cost @ null[:, 0] <= 0 else -null[:, 0]
        if step.min() >= 0:
            step = -step
        ratio = np.full(len(u), np.inf)
        falling = step < 0
        ratio[falling] = u[falling] / -step[falling]
        gone = int(ratio.argmin())
        u = np.maximum(u + ratio[gone] * step, 0.0)
        u[gone] = 0.0
        mirror = null[gone].copy()
        mirror[0] += np.copysign(np.linalg.norm(mirror), mirror[0])
        null = null[:, 1:] - np.outer(null @ mirror, (2 / (mirror @ mirror)) * mirror[1:])
        null[gone] = 0.0
    return u
