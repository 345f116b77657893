"""Compute ridge regression on a finite set of arms pull by pull, for rules that pull until a budget is spent.

With A = ridge I + sum xx' over the pulls, `gram` holds A^-1 X' (d, K). A pull costs O(Kd) by rank-one updates.
"""

from typing import NamedTuple

import numpy as np

from bandits_lib.numerics.kernels import add, add_rows, along_all, inlined, inner, kernel, merged

REFRESH = 1_000  # pulls between two fresh solutions


class Ridge(NamedTuple):
    """The arrays of the regression; the log-determinant, a scalar that changes, is an array of length one."""

    columns: np.ndarray  # (d, K), the arms
    gram: np.ndarray  # (d, K), A^-1 X'
    response: np.ndarray  # (d,), sum of x times reward
    values: np.ndarray  # (K,), x'theta_hat
    squares: np.ndarray  # (K,), x'A^-1 x
    logdet: np.ndarray  # (1,), log det(A / ridge)
    along: np.ndarray  # (K,), scratch: x_a'A^-1 x, x over the arms
    information: np.ndarray  # (d, d), scratch
    ridge: float  # 0 is allowed once the pulled arms span R^d (the log-determinant is then inf)


def ridge_regression(arms, ridge, sample=None):
    """Return the `Ridge` of arms (K, d) after a Sample (None: no pull). If K < d, pass coordinates of the span."""
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
        information=np.empty((d, d)),
        ridge=float(ridge),
    )
    recompute(fit, counts)
    return fit


@kernel
def recompute(fit, counts):
    """Compute gram, values, norms and log-determinant afresh from the counts (K,) and the response."""
    columns, gram, information, (d, K) = fit.columns, fit.gram, fit.information, fit.columns.shape
    for i in range(d):
        for k in range(K):
            gram[i, k] = columns[i, k] * counts[k]
        for j in range(d):
            information[i, j] = inner(gram[i], columns[j])
        information[i, i] += fit.ridge
    for i in range(d):
        for k in range(K):
            gram[i, k] = columns[i, k]
    fit.logdet[0] = eliminate(information, gram) - d * np.log(fit.ridge)
    along_all(gram, fit.response, fit.values)
    for k in range(K):
        fit.squares[k] = 0.0
    for i in range(d):
        for k in range(K):
            fit.squares[k] += columns[i, k] * gram[i, k]


@kernel
def eliminate(matrix, right):
    """Replace `right` (d, n) by matrix^-1 right, with partial pivoting; return log |det|. `matrix` is overwritten."""
    d, logdet = matrix.shape[0], 0.0
    for k in range(d):
        best = k
        for i in range(k + 1, d):
            if abs(matrix[i, k]) > abs(matrix[best, k]):
                best = i
        if best != k:
            exchange(matrix[k], matrix[best])
            exchange(right[k], right[best])
        logdet += np.log(abs(matrix[k, k]))
        for i in range(k + 1, d):
            factor = -matrix[i, k] / matrix[k, k]
            if factor != 0.0:
                add(matrix[i, k:], matrix[k, k:], factor)
                add(right[i], right[k], factor)
    for k in range(d - 1, -1, -1):
        for n in range(right.shape[1]):
            right[k, n] /= matrix[k, k]
        for i in range(k):
            if matrix[i, k] != 0.0:
                add(right[i], right[k], -matrix[i, k])
    return logdet


@kernel
def exchange(one, other):
    for k in range(one.shape[0]):
        one[k], other[k] = other[k], one[k]


@inlined
def products(fit, arm, along):
    """Set `along` (K,) to x_a'A^-1 x for x over the arms."""
    columns, gram = fit.columns, fit.gram
    for k in range(along.shape[0]):
        along[k] = 0.0
    add_rows(along, columns[:, arm], gram)


@merged
def learn(state, arm, reward):
    """Add one reward of `arm` to state.fit, and count it in state.counts (K,) and in the pulls of state.status."""
    fit, status = state.fit, state.status
    state.counts[arm] += 1
    status.pulls += 1
    for i in range(fit.response.shape[0]):
        fit.response[i] += reward * fit.columns[i, arm]
    if status.pulls % REFRESH == 0:
        recompute(fit, state.counts)
    else:
        shift(fit, arm, reward)


@inlined
def shift(fit, arm, reward):
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
