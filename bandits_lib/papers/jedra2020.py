"""The many-arms experiment of jedra2020's published code, repeated with the random draws of that code.

The code (github.com/jedray/LT-S, LAZY_TS.py and many_arms_example.py) sets NumPy's seed to 43 for every number of arms,
draws 20 instances, and gives each run a seed. The threshold decides when a run stops, but not which arm is pulled
before. So one path shows when the run stops under any threshold. Departures from `lazy_track_and_stop`, all as in the
code:

- A starts as the sum of A_0, which is drawn but not pulled; the estimate includes it, the statistic does not.
- All arms are tracked until the first update (t = 2).
- Frank-Wolfe starts from uniform weights.
"""

from collections.abc import Callable
from math import pi, sqrt
from typing import Any

import numpy as np
import pandas as pd

SEED, RUNS, FRANK_WOLFE_STEPS = 43, 20, 1_000


def published_paths(K: int, *, averaging: bool = True, runs: int = RUNS, delta: float = 0.05) -> pd.DataFrame:
    """Return every pull of the published runs until the text's rule stops: u = 1 and delta_t = 6 delta / (pi^2 t^2).

    Parameters
    ----------
    K, delta : int, float
        Number of arms, and the error probability allowed.
    averaging : bool, default True
        If true, track the sum of all allocations; if false, the current allocation.
    runs : int, default 20
        Number of runs to return: the first ones of the 20 behind each cell of jedra2020's Table 1.

    Returns
    -------
    pandas.DataFrame
        One row for each run and pull, with columns run, t, statistic (reward^2), and trace, determinant and c of the
        matrix in the threshold.

    Examples
    --------
    >>> int(published_paths(10, runs=1)["t"].max())
    1311
    """
    draws, seeds = np.random.RandomState(SEED), np.random.RandomState(SEED).randint(0, 100_000, RUNS)
    paths = []
    for run, seed in enumerate(seeds[:runs]):
        paths.append(_path(_arms(draws, K), seed, averaging, delta).assign(run=run))
    return pd.concat(paths, ignore_index=True)


def published_threshold(
    paths: pd.DataFrame, *, delta: float = 0.05, u: float = 1.0, union: Callable[..., Any] | None = np.square
) -> pd.Series:
    """Return the threshold of eq. (9) at every pull, with c and A of the published code.

    Parameters
    ----------
    paths, delta, u : pandas.DataFrame, float, float
        Paths, as `published_paths` returns them, the error probability allowed, and u > 0 in the threshold.
    union : callable or None, default numpy.square
        Function h of the array of all t in delta_t = 6 delta / (pi^2 h(t)). None means delta_t = delta.

    Returns
    -------
    pandas.Series
        Threshold in units of reward^2; a run stops at the first t >= 2 at which its statistic is larger.

    Examples
    --------
    >>> import pandas as pd
    >>> path = pd.DataFrame({"t": [9], "trace": [9.0], "determinant": [8.0], "c": [1.0]})
    >>> published_threshold(path, union=None).round(2).tolist()
    [8.88]
    """
    h = 1.0 if union is None else pi**2 / 6 * union(paths["t"])
    return _threshold(paths["trace"], paths["determinant"], paths["c"], h, delta, u)


def _threshold(trace, determinant, c, h, delta, u):
    """Return (1 + u) log(det(A / (u c) + I)^(1/2) / delta_t), with delta_t = delta / h."""
    return (1 + u) * np.log(np.sqrt(determinant / (u * c) ** 2 + trace / (u * c) + 1) * h / delta)


def _arms(draws, K):
    """Return the arms (K, 2) of the next instance; the last but one is the best."""
    angles = 0.78 + 0.1 * draws.rand(K - 2)
    return np.vstack([np.column_stack([np.cos(angles), np.sin(angles)]), [1, 0], [-0.707, 0.707]])


def _path(arms, seed, averaging, delta):
    """Return one run until the text's rule stops, as rows of `published_paths`."""
    draws, counts, t = np.random.RandomState(seed), np.zeros(len(arms)), 0
    first, A = _first_arms(draws, arms)
    c, turn, update = np.linalg.eigvalsh(A)[0], 0, 2
    weights, tracked, rows = np.full(len(arms), 1 / len(arms)), np.zeros(len(arms)), []
    sums, V = np.zeros(2), np.zeros((2, 2))
    while True:
        t += 1
        if np.linalg.eigvalsh(A)[0] < c / sqrt(2) * sqrt(t):
            arm, turn = first[turn], (turn + 1) % 2
        else:
            tracked = tracked + weights if averaging else t * weights
            arm = np.argmin(np.where(tracked > 0, counts - tracked, np.inf))
        x = arms[arm]
        sums += (x[0] + draws.randn()) * x
        counts[arm] += 1
        A, V = A + np.outer(x, x), V + np.outer(x, x)
        values = arms @ (_inverse(A) @ sums)
        known = A[0, 0] + A[1, 1], A[0, 0] * A[1, 1] - A[0, 1] ** 2, c
        rows.append((t, _statistic(arms, values, V), *known))
        if t >= 2 and rows[-1][1] > _threshold(*known, pi**2 / 6 * t**2, delta, 1.0):
            return pd.DataFrame(rows, columns=["t", "statistic", "trace", "determinant", "c"])
        if t == update:
            weights, update = _allocation(arms, values), 2 * t


def _first_arms(draws, arms):
    """Return the rows of A_0, drawn until they span the plane, and the sum of their xx'."""
    A, first = np.zeros((2, 2)), list[int]()
    while len(first) < 2:
        arm = draws.randint(len(arms))
        more = A + np.outer(arms[arm], arms[arm])
        if np.linalg.matrix_rank(more) > len(first):
            A, first = more, [*first, arm]
    return first, A


def _statistic(arms, values, V):
    """Return Z from the pulls alone, or 0 if two arms lead."""
    directions, gaps = _rivals(arms, values)
    return 0.5 / (_squares(directions, _inverse(V)) / gaps**2).max() if gaps.min() > 0 else 0.0


def _rivals(arms, values):
    """Return the leader minus every arm, and the gaps; the gap of the leader itself is infinite."""
    best = np.argmax(values)
    gaps = values[best] - values
    gaps[best] = np.inf
    return arms[best] - arms, gaps


def _squares(directions, inverse):
    """Return the squared norm of every direction, in the norm of the inverse."""
    x, y = directions.T
    return inverse[0, 0] * x * x + 2 * inverse[0, 1] * x * y + inverse[1, 1] * y * y


def _inverse(A):
    """Return the inverse of a symmetric matrix (2, 2), or the pseudo-inverse if the matrix is nearly singular."""
    (a, b), (_, c) = A.tolist()
    determinant = a * c - b * b
    if determinant < 1e-9 * (a + c) ** 2:
        return np.linalg.pinv(A)
    return np.array([[c, -b], [-b, a]]) / determinant


def _allocation(arms, values):
    """Return the weights of the code's Frank-Wolfe from uniform weights; weights below 1e-5 are set to 0."""
    directions, gaps = _rivals(arms, values)
    directions, weights = directions / gaps[:, None], np.full(len(arms), 1 / len(arms))
    for step in range(1, FRANK_WOLFE_STEPS):
        inverse = _inverse((arms.T * weights) @ arms)
        share = 2 / (step + 2)
        change = -share * weights
        longest = directions[np.argmax(_squares(directions, inverse))]
        change[np.argmax((arms @ (inverse @ longest)) ** 2)] += share
        relative = np.linalg.norm(change) / np.linalg.norm(weights)
        weights = weights + change
        if relative < 0.01:
            break
    weights[weights < 1e-5] = 0
    return weights / weights.sum()
