"""Ties: one rule for all. Rounding errors choose no arm: of values equal to nine digits the first one counts.

Ties decide trajectories, so every rule, in numpy and in numba, breaks them by `argmax`; argmin is argmax(-values).
"""

import numpy as np
from numba import njit

TIE = 1e-9  # relative slack within which two values are the same


@njit(cache=True, forceinline=True, error_model="numpy")
def argmax(values):
    """First index k with values[k] >= max(values) - 1e-9 |max(values)|, of finite floats (n,), n >= 1."""
    top = values[0]
    for k in range(1, values.shape[0]):
        if values[k] > top:
            top = values[k]
    floor = top - TIE * max(1e-300, abs(top))
    for k in range(values.shape[0]):
        if values[k] >= floor:
            return k
    return 0


@njit(cache=True, error_model="numpy")
def top(values, k):
    """Indices (k,) of the k largest values (n,), in increasing order; ties as in `argmax`, lowest index first."""
    left, chosen = values.copy(), np.empty(k, np.int64)
    for position in range(k):
        chosen[position] = argmax(left)
        left[chosen[position]] = -np.inf
    return np.sort(chosen)


@njit(cache=True, error_model="numpy")
def ranks(values):
    """The `values` (n,) in steps of 1e-9 of the largest in size: whole numbers as floats, equal where they tie."""
    largest = 1e-290
    for value in values:
        largest = max(largest, abs(value))
    return np.rint(values * (1 / TIE / largest))


@njit(cache=True, error_model="numpy")
def ranked(values):
    """Indices of `values` (n,) in increasing order; those equal to 1e-9 of the largest: by index."""
    return np.argsort(ranks(values), kind="mergesort")
