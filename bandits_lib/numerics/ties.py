"""Break ties: choose the first of the values that are equal to nine digits, so that rounding errors choose no arm.

Every rule, in numpy and in numba, breaks ties by `argmax`; argmin is argmax(-values).
"""

import numpy as np

from bandits_lib.numerics.kernels import compiled, inlined, kernel, merged

TIE = 1e-9  # relative slack within which two values are the same
BLOCK = 8  # entries compared side by side


@kernel
def highest(values):
    """Return the largest of finite `values` (n,), n >= 1, by eight comparisons side by side."""
    n, top = values.shape[0], values[0]
    if n < 2 * BLOCK:
        for k in range(1, n):
            top = values[k] if values[k] > top else top
        return top
    a, b, c, d, e, f, g, h = top, top, top, top, top, top, top, top
    for block in range(n // BLOCK):
        k = BLOCK * block
        a = values[k] if values[k] > a else a
        b = values[k + 1] if values[k + 1] > b else b
        c = values[k + 2] if values[k + 2] > c else c
        d = values[k + 3] if values[k + 3] > d else d
        e = values[k + 4] if values[k + 4] > e else e
        f = values[k + 5] if values[k + 5] > f else f
        g = values[k + 6] if values[k + 6] > g else g
        h = values[k + 7] if values[k + 7] > h else h
    for k in range(BLOCK * (n // BLOCK), n):
        a = values[k] if values[k] > a else a
    return max(max(max(a, b), max(c, d)), max(max(e, f), max(g, h)))


@inlined
def argmax(values):
    """Return the first index k with values[k] >= max(values) - 1e-9 |max(values)|, of finite floats (n,), n >= 1."""
    top = highest(values)
    floor = top - TIE * max(1e-300, abs(top))
    for k in range(values.shape[0]):
        if values[k] >= floor:
            return k
    return 0


@compiled
def top(values, k):
    """Return the indices (k,) of the k largest values (n,), in increasing order; ties as in `argmax`, lowest first."""
    left, chosen = values.copy(), np.empty(k, np.int64)
    for position in range(k):
        chosen[position] = argmax(left)
        left[chosen[position]] = -np.inf
    return np.sort(chosen)


@compiled
def ranks(values):
    """Return `values` (n,) in steps of 1e-9 of the largest in size: whole numbers as floats, equal where they tie."""
    largest = 1e-290
    for value in values:
        largest = max(largest, abs(value))
    return np.rint(values * (1 / TIE / largest))


@compiled
def ranked(values):
    """Return the indices of `values` (n,) in increasing order; values equal to 1e-9 of the largest stay in order."""
    return np.argsort(ranks(values), kind="mergesort")


@merged
def kth_smallest(values, k):
    """Return sorted(values)[k], and sort `values` (n,) in part; numba takes long to compile np.partition."""
    low, high = 0, len(values) - 1
    while low < high:
        pivot, i, j = values[(low + high) // 2], low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while pivot < values[j]:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i, j = i + 1, j - 1
        low, high = (low, j) if k <= j else (i, high) if k >= i else (k, k)
    return values[k]


@compiled
def largest_first(values, count):
    """Return the first `count` of `ranked(-values)`; the others are not ranked."""
    steps = ranks(-values)
    if count < len(values):
        index = np.flatnonzero(steps <= kth_smallest(steps.copy(), count))
    else:
        index = np.arange(len(values))
    return index[np.argsort(steps[index], kind="mergesort")[:count]]
