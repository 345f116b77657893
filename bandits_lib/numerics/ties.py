"""Ties: one rule for all. Rounding errors choose no arm: of values equal to nine digits the first one counts."""

import numpy as np
from numba import njit

TIE = 1e-9  # relative slack within which two values are the same


@njit(cache=True, forceinline=True, error_model="numpy")
def argmax(values):
    """First index k with `values[k] >= max(values) - 1e-9 * |max(values)|`.

    Ties decide trajectories: rounding errors of one unit must not choose the arm, so every rule,
    in numpy and in numba, breaks ties by this function (lowest index first).

    Parameters
    ----------
    values : (n,) array of finite floats, n >= 1.

    Returns
    -------
    int
        The index; `argmin` is `argmax(-values)`.

    >>> argmax(np.array([1.0, 2.0, 2.0 + 1e-12]))
    1
    """
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
    """Indices of the k largest values, in increasing order; ties as in `argmax`, lowest index first.

    values : (n,) finite floats; k : at most n. Returns (k,) int64.

    >>> top(np.array([0.1, 0.9, 0.5]), 2).tolist()
    [1, 2]
    """
    left, chosen = values.copy(), np.empty(k, np.int64)
    for position in range(k):
        chosen[position] = argmax(left)
        left[chosen[position]] = -np.inf
    return np.sort(chosen)


def ranks(values):
    """The `values` in steps of 1e-9 of the largest in size: equal where they tie.

    values : (n,) finite floats. Returns (n,) whole numbers as floats.

    >>> ranks(np.array([2.0, 1.0 + 1e-12, 1.0])).tolist()
    [1000000000.0, 500000000.0, 500000000.0]
    """
    return np.rint(values * (1 / TIE / max(1e-290, np.abs(values).max(initial=0.0))))


def ranked(values, most=None):
    """Indices of `values` in increasing order; those equal to 1e-9 of the largest in size: by index.

    values : (n,) finite floats; most : how many are wanted, None: all. Returns (n,) or (most,) int64.

    >>> ranked(np.array([2.0, 1.0 + 1e-12, 1.0])).tolist()
    [1, 2, 0]
    """
    return np.argsort(ranks(values), kind="stable")[:most]
