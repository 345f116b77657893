"""Matrix games, solved by the simplex method (Bland's rule, so it ends) in compiled loops.

It solves the opponent's program: maximise sum q, payoffs'q <= 1, q >= 0, for payoffs shifted to be positive. The
mixture z is proportional to its dual solution.
"""

import numpy as np
from numba import njit

from bandits_lib.numerics.kernels import kernel


@njit(cache=True, error_model="numpy")
def maximin(payoffs, z):
    """Into z (K,), the mixture of columns that maximises the least of payoffs @ z over the rows of payoffs (J, K)."""
    J, K = payoffs.shape
    table = simplex_table(payoffs)
    rows, columns = np.arange(J, J + K), np.arange(J)  # names of the basic and of the non-basic variables
    while True:
        enter = -1
        for j in range(J):
            if table[K, j] < -1e-12 and (enter < 0 or columns[j] < columns[enter]):
                enter = j
        if enter < 0:
            break
        leave = leaving(table, rows, enter)
        exchange(table, leave, enter)
        rows[leave], columns[enter] = columns[enter], rows[leave]
    total = 0.0
    for k in range(K):
        z[k] = 0.0
    for j in range(J):
        if columns[j] >= J:
            z[columns[j] - J] = table[K, j]
            total += table[K, j]
    for k in range(K):
        z[k] /= total


@njit(cache=True, error_model="numpy")
def simplex_table(payoffs):
    """The condensed tableau (K + 1, J + 1): constraints with bounds in the last column, objective in the last row."""
    J, K = payoffs.shape
    low, high = np.inf, -np.inf
    for j in range(J):
        for k in range(K):
            low, high = min(low, payoffs[j, k]), max(high, payoffs[j, k])
    unit, table = high - low if high > low else 1.0, np.empty((K + 1, J + 1))
    for j in range(J):
        for k in range(K):
            table[k, j] = (payoffs[j, k] - low) / unit + 1.0
            table[k, J] = 1.0
        table[K, j] = -1.0
    table[K, J] = 0.0
    return table


@kernel
def leaving(table, rows, enter):
    """The row that leaves: the least ratio of bound to coefficient, the variable of least name among equals."""
    J, leave, least = table.shape[1] - 1, -1, np.inf
    for k in range(table.shape[0] - 1):
        if table[k, enter] > 1e-12:
            ratio = table[k, J] / table[k, enter]
            if ratio < least or (ratio == least and rows[k] < rows[leave]):
                leave, least = k, ratio
    return leave


@kernel
def exchange(table, row, column):
    """Exchange a basic and a non-basic variable in a condensed simplex tableau, in place."""
    p = table[row, column]
    for j in range(table.shape[1]):
        table[row, j] = table[row, j] / p if j != column else 1 / p
    for k in range(table.shape[0]):
        if k != row:
            factor = table[k, column]
            for j in range(table.shape[1]):
                table[k, j] = table[k, j] - factor * table[row, j] if j != column else -factor / p
