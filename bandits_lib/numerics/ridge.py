"""Ridge regression on a finite set of arms, kept pull by pull: what the rules that pull to a budget share.

With A = ridge I + sum xx' over the pulls, `gram` holds A^-1 X' (d, K). One pull of arm a needs the products x_a'A^-1 X'
with all arms; values, norms and gram follow from them by rank-one updates, O(Kd) a pull, all over contiguous rows.
Everything is computed afresh from counts and rewards every REFRESH pulls.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from bandits_lib.numerics.kernels import inlined

REFRESH = 1_000  # pulls between two fresh solutions


class Ridge(NamedTuple):
    """The regression's arrays; the log-determinant, a scalar that changes, sits in an array of length one."""

    columns: np.ndarray  # (d, K), the arms
    gram: np.ndarray  # (d, K), A^-1 X'
    response: np.ndarray  # (d,), sum of x times reward
    values: np.ndarray  # (K,), x'theta_hat
    squares: np.ndarray  # (K,), x'A^-1 x
    logdet: np.ndarray  # (1,), log det(A / ridge)
    along: np.ndarray  # (K,), scratch: x_a'A^-1 x, x over the arms
    ridge: float  # 0 allowed once the pulled arms span R^d (log-determinant then inf)


def ridge_regression(arms, ridge, sample=None):
    """The `Ridge` of arms (K, d) after a first Sample, None for no pull. Pass coordinates of the span if K < d."""
    K, d = arms.shape
    response = np.zeros(d) if sample is None else arms.T @ sample.sums
    counts = np.zeros(K, dtype=np.int64) if sample is None else sample.counts.astype(np.int64)
    fit = Ridge(
        columns=arms.T.copy(),
        gram=np.empty((d, K)),
        response=response,
        values=np.empty(K),
        squares=np.empty(K),
        logdet=np.empty(1),
        along=np.empty(K),
        ridge=float(ridge),
    )
    solve(fit, counts)
    return fit


@njit(cache=True, error_model="numpy")
def solve(fit, counts):
    """Compute gram, values, norms and log-determinant afresh from the counts (K,) and the response."""
    columns, (d, K) = fit.columns, fit.columns.shape
    information = (columns * counts) @ columns.T
    for i in range(d):
        information[i, i] += fit.ridge
    fit.gram[:] = np.linalg.solve(information, columns)
    fit.values[:] = fit.response @ fit.gram
    fit.squares[:] = 0.0
    for i in range(d):
        for k in range(K):
            fit.squares[k] += columns[i, k] * fit.gram[i, k]
    fit.logdet[0] = np.linalg.slogdet(information)[1] - d * np.log(fit.ridge)


@inlined
def products(fit, arm, along):
    """x_a'A^-1 x for x over the arms, into `along` (K,)."""
    columns, gram = fit.columns, fit.gram
    d, K = columns.shape
    for k in range(K):
        along[k] = 0.0
    for i in range(d):
        weight = columns[i, arm]
        if weight != 0.0:
            for k in range(K):
                along[k] += weight * gram[i, k]


@njit(cache=True, forceinline=True, error_model="numpy")
def learn(state, arm, reward):
    """Tell one reward of `arm` to state.fit, and count it in state.counts (K,) and in the pulls of state.now."""
    fit, now = state.fit, state.now
    state.counts[arm] += 1
    now.pulls += 1
    for i in range(fit.response.shape[0]):
        fit.response[i] += reward * fit.columns[i, arm]
    if now.pulls % REFRESH == 0:
        solve(fit, state.counts)
    else:
        shift(fit, arm, reward)


@inlined
def shift(fit, arm, reward):
    """One reward of `arm` by rank-one updates."""
    gram, values, squares, along = fit.gram, fit.values, fit.squares, fit.along
    products(fit, arm, along)
    gain = 1 + along[arm]
    surprise = (reward - values[arm]) / gain
    for i in range(gram.shape[0]):
        scaled = gram[i, arm] / gain
        if scaled != 0.0:
            for k in range(along.shape[0]):
                gram[i, k] -= scaled * along[k]
    for k in range(along.shape[0]):
        values[k] += surprise * along[k]
        squares[k] = max(0.0, squares[k] - along[k] * along[k] / gain)
    fit.logdet[0] += np.log(gain)
