"""Ridge regression on the arms, and how far the items are from the leading one, kept pull by pull.

Distances ||z_m - z_leader|| in the norm of A^-1, A = ridge I + sum xx', come from the differences themselves: late in a
run A is so much larger along them than across that norms of items (`numerics.ridge`) would cancel to rounding errors.
A pull costs O(d^2 + Md), a new leader O(Md^2). Everything is computed afresh every REFRESH pulls.
"""

from typing import NamedTuple

import numpy as np

from bandits_lib.numerics.kernels import along_all, inlined, invert, kernel, rank_one_update
from bandits_lib.numerics.ties import argmax

REFRESH = 1_000  # pulls between two fresh inversions


class Distances(NamedTuple):
    """The regression's arrays; the log-determinant, a scalar that changes, sits in an array of length one."""

    arms: np.ndarray  # (K, d)
    columns: np.ndarray  # (d, M), the items
    inverse: np.ndarray  # (d, d), A^-1
    theta: np.ndarray  # (d,)
    response: np.ndarray  # (d,), sum of x times reward
    values: np.ndarray  # (M,), of the items
    apart: np.ndarray  # (M,), squared distances from the leader
    along: np.ndarray  # (M,), scratch: z'A^-1 x, x the arm pulled
    arm_columns: np.ndarray  # (d, K), the arms; empty where their norms are not asked for, as the next two
    norms: np.ndarray  # (K,), x'A^-1 x
    arms_along: np.ndarray  # (K,), scratch: `along` of the arms
    logdet: np.ndarray  # (1,), log det(A / ridge)
    step: np.ndarray  # (d,), scratch: A^-1 x
    ridge: float


def distances(arms, items, ridge, sample, norms=False):
    """The `Distances` of items (M, d) after a first Sample of arms (K, d); `norms`: of the arms, too."""
    (M, d), asked = items.shape, len(arms) if norms else 0
    fit = Distances(
        arms,
        items.T.copy(),
        inverse=np.empty((d, d)),
        theta=np.empty(d),
        response=arms.T @ sample.sums,
        values=np.empty(M),
        apart=np.empty(M),
        along=np.empty(M),
        arm_columns=arms[:asked].T.copy(),
        norms=np.empty(asked),
        arms_along=np.empty(asked),
        logdet=np.empty(1),
        step=np.empty(d),
        ridge=ridge,
    )
    refresh(fit, sample.counts.astype(np.int64))
    return fit


@kernel
def refresh(fit, counts):
    """Compute inverse, theta, values, distances and norms afresh from the counts (K,) and the response."""
    (K, d), arms, inverse = fit.arms.shape, fit.arms, fit.inverse
    for i in range(d):
        for j in range(d):
            inverse[i, j] = fit.ridge if i == j else 0.0
    for k in range(K):
        if counts[k] > 0:
            for i in range(d):
                for j in range(d):
                    inverse[i, j] += counts[k] * arms[k, i] * arms[k, j]
    fit.logdet[0] = invert(inverse) - d * np.log(fit.ridge)
    along_all(inverse, fit.response, fit.theta)
    along_all(fit.columns, fit.theta, fit.values)
    measure(fit, argmax(fit.values))
    for i in range(d):
        fit.step[i] = 0.0
    square(fit.arm_columns, fit.step, inverse, fit.norms)


@inlined
def measure(fit, leader):
    """Compute the distances from the leader afresh."""
    for i in range(fit.step.shape[0]):
        fit.step[i] = fit.columns[i, leader]
    square(fit.columns, fit.step, fit.inverse, fit.apart)


@kernel
def square(columns, centre, inverse, squares):
    """Squared norms of columns (d, n) - centre (d,) in the norm of the inverse (d, d), into `squares` (n,)."""
    d, n = centre.shape[0], squares.shape[0]
    for k in range(n):
        squares[k] = 0.0
    for i in range(d):
        for j in range(d):
            weight, first, second = inverse[i, j], centre[i], centre[j]
            for k in range(n):
                squares[k] += weight * (columns[i, k] - first) * (columns[j, k] - second)


@inlined
def toward(fit, i, j, products):
    """x'A^-1 (z_i - z_j) for x over the arms, into `products` (K,)."""
    direction, inverse, columns = fit.step, fit.inverse, fit.columns
    for c in range(direction.shape[0]):
        direction[c] = 0.0
        for b in range(direction.shape[0]):
            direction[c] += inverse[c, b] * (columns[b, i] - columns[b, j])
    along_all(fit.arm_columns, direction, products)


@inlined
def learn(state, arm, reward):
    """Tell one reward of `arm` to state.fit, and count it in state.counts (K,) and state.now, which has the leader."""
    fit, now = state.fit, state.now
    state.counts[arm] += 1
    now.pulls += 1
    arms, theta, values, apart, along = fit.arms, fit.theta, fit.values, fit.apart, fit.along
    residual = reward
    for i in range(theta.shape[0]):
        fit.response[i] += reward * arms[arm, i]
        residual -= theta[i] * arms[arm, i]
    if now.pulls % REFRESH == 0:
        refresh(fit, state.counts)
        return
    gain = rank_one_update(fit.inverse, theta, arms[arm], reward, fit.step)
    fit.logdet[0] += np.log(gain)
    share = 1 / gain
    along_all(fit.columns, fit.step, along)
    leading = along[now.leader]
    for m in range(values.shape[0]):
        values[m] += along[m] * share * residual
        apart[m] -= (along[m] - leading) * (along[m] - leading) * share
    norms, along = fit.norms, fit.arms_along
    if norms.shape[0] > 0:
        along_all(fit.arm_columns, fit.step, along)
        share = 1 / (1 + along[arm])
        for k in range(norms.shape[0]):
            norms[k] -= along[k] * along[k] * share
