"""Break ties: choose the first of the values that are equal to nine digits, so that rounding errors choose no arm.

Every rule, in numpy and in numba, breaks ties by `argmax`; argmin is argmax(-values).
"""

import numpy as np

from bandits_lib.numerics.kernels import compiled, inlined, kernel, merged

TIE = 1e-9  # relative slack within which two values are the same


@kernel
def highest(values):
    """Return the largest of finite `values` (n,); one comparison at a time takes 2.5 times as long for 2,000."""
    n = values.shape[0] - values.shape[0] % 4
    a, b, c, d = values[0], values[0], values[0], values[0]
    for k in range(0, n, 4):
        a, b, c, d = max(a, values[k]), max(b, values[k + 1]), max(c, values[k + 2]), max(d, values[k + 3])
    for k in range(n, values.shape[0]):
        a = max(a, values[k])
    return max(max(a, b), max(c, d))


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
    """Return sorted(values)[k], and sort `values` (n,) in part; numba takes two seconds to compile np.partition."""
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
