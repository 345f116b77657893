"""XY-adaptive allocation (Soare, Lazaric, Munos 2014, section 5), greedy, as run in fiez2019 (Fiez et al., appendix F).

Each pull of a phase is argmin over x of max over y of y'(A + xx')^-1 y, for the differences y of active items. The
phase ends when the largest squared norm is below alpha times that of the phase before. Its pulls do not depend on its
rewards, so they are one batch. Departures and readings:
- The papers do not say how to break ties. Here the arm that reduces the largest norm most goes first.
- Widths have the phase index in their logarithm, and eliminated items stay eliminated (appendix F).
- Items other than the arms are allowed; the logarithm then contains their number M instead of K.

A pull of x reduces y'A^-1y by (y'A^-1x)^2 / (1 + x'A^-1x). A few y give each arm a lower bound on the largest norm that
its pull would leave. The norm is computed for the arm of the smallest bound, and the y of this norm raises all bounds,
until the smallest bound is the norm itself.
"""

from math import log, sqrt
from typing import NamedTuple

import numpy as np

from bandits_lib.checks import check_option, check_problem, check_ridge
from bandits_lib.design.cache import cached
from bandits_lib.design.g_optimal import spanning_arms
from bandits_lib.elimination import eliminated_by
from bandits_lib.numerics.kernels import along_all, inlined, kernel, lowest, shrink, shrink_squares, times
from bandits_lib.numerics.least_squares import LeastSquares, least_squares
from bandits_lib.numerics.linear_algebra import (
    information,
    inverse_triangle,
    product,
    squares,
    transposed,
    upper_factor,
)
from bandits_lib.numerics.span import basis, scaled_axes
from bandits_lib.numerics.ties import TIE, argmax, highest
from bandits_lib.protocol import BATCHES, DELTA, Algorithm, Result, Round, Row, one_pull, rule, total

REFRESH = 1_000  # pulls between two fresh inversions, fewer at the beginning of a phase
FEW = 2  # arms per dimension up to which their products are kept instead of the inverse
MANY = 300_000  # items times arms above which their products are computed when they are needed
BATCH = 10**7  # pulls per request: seconds to minutes of computation; max_pulls can end a run between two requests
LONGEST = 1e5  # largest length of arms for start="ridge"; rounding loses the identity beside longer arms


@cached
def pull_greedily(arms, items, counts, limits):
    """Pull until the value is below `target` or `most` times; return counts, largest squared norm, n, whether below."""
    identity, target, per_pull, most = limits  # identity : pulls that the identity counts as, or 0 without it
    columns, counts, n, below = transposed(arms), counts.copy(), identity + int(counts.sum()), False
    end = n + most
    while True:
        norms = norms_of(arms, items, counts, identity > 0)
        if below or n == end:
            return counts, float(norms.tops.max()), n, below
        until = min(2 * n, n + REFRESH, end)
        n, below = pull_until(norms, columns, counts, n, until, target * (1 - TIE), per_pull)


class Norms(NamedTuple):
    """Squared norms in A^-1, and the reduction of them by the next pull."""

    inverse: np.ndarray  # (r, r), A^-1
    gram: np.ndarray  # (K, K), x'A^-1x of all arms, kept in place of A^-1; (0, 0) if there are many
    pairs: np.ndarray  # (m, m), y'A^-1y of the difference y of items i < j; entries up to the diagonal are not used
    tops: np.ndarray  # (m - 1,), the largest of each row of pairs
    arms: np.ndarray  # (K,), x'A^-1x
    across: np.ndarray  # (m, K), z'A^-1x of all items z and arms x; (0, 0) if there are many
    items: np.ndarray  # (r, m)
    column: np.ndarray  # (m,), scratch: z'A^-1x of one arm
    step: np.ndarray  # (r,), scratch: A^-1 x of one arm or pair
    along: np.ndarray  # (K,), scratch: x'A^-1 y of an arm or pair y and all arms
    share: np.ndarray  # (K,), scratch: 1 / (1 + x'A^-1x)
    after: np.ndarray  # (K,), scratch: lower bound on the largest squared norm after one pull of each arm
    reduction: np.ndarray  # (K,), scratch: by how much that pull reduces the norm of the worst pair
    exact: np.ndarray  # (K,), scratch: whether `after` is the norm itself


def norms_of(arms, items, counts, ridge):
    """Compute `Norms` from counts (K,) and, with a ridge, the identity."""
    root = inverse_triangle(upper_factor(ridge * np.eye(arms.shape[1]) + information(arms, counts.astype(float)))[0])
    white_items, white_arms = product(items, root), product(arms, root)
    (m, r), K, white_columns = items.shape, len(arms), transposed(white_arms)
    few_arms, pairs, tops = K <= FEW * r, np.empty((m, m)), np.empty(m - 1)
    square_distances(transposed(white_items), pairs, tops)
    return Norms(
        inverse=product(root, transposed(root)),
        gram=product(white_arms, white_columns) if few_arms else np.empty((0, 0)),
        pairs=pairs,
        tops=tops,
        arms=squares(white_arms),
        across=product(white_items, white_columns) if m * K <= MANY or few_arms else np.empty((0, 0)),
        items=transposed(items),
        column=np.empty(m),
        step=np.empty(r),
        along=np.empty(K),
        share=np.empty(K),
        after=np.empty(K),
        reduction=np.empty(K),
        exact=np.empty(K),
    )


@kernel
def square_distances(columns, pairs, tops):
    """Write squared distances of points i < j into `pairs` (m, m), and the largest of each row into `tops` (m - 1,)."""
    for i in range(tops.shape[0]):
        row = pairs[i, i + 1 :]
        for j in range(row.shape[0]):
            row[j] = 0.0
        for c in range(columns.shape[0]):
            own, others = columns[c, i], columns[c, i + 1 :]
            for j in range(row.shape[0]):
                row[j] += (own - others[j]) ** 2
        tops[i] = highest(row)


@kernel
def pull_until(norms, columns, counts, n, until, target, per_pull):
    """Pull greedily; return n and whether the value is below `target`."""
    while n < until:
        arm = least_worst(norms, columns)
        counts[arm] += 1
        n += 1
        add_pull(norms, columns, arm)
        top = highest(norms.tops)
        if (top / n if per_pull else top) < target:
            return n, True
    return n, False


@inlined
def least_worst(norms, columns):
    """Return argmin over arms x of max over pairs y of y'(A + xx')^-1 y; `reduction` decides between arms that tie."""
    after, reduction, share, exact = norms.after, norms.reduction, norms.share, norms.exact
    i, j, square = worst_pair(norms)
    along_pair(norms, columns, i, j)
    for k in range(share.shape[0]):
        share[k] = 1 / (1 + norms.arms[k])
        reduction[k] = norms.along[k] * norms.along[k] * share[k]
        after[k], exact[k] = square - reduction[k], 0.0
    k = lowest(after)
    while exact[k] == 0.0:
        raise_after(norms, columns, k)
        k = lowest(after)
    least = after[k]
    for k in range(after.shape[0]):
        if exact[k] == 0.0 and after[k] <= least + TIE * abs(least):
            raise_after(norms, columns, k)
        if after[k] > least + TIE * abs(least):
            reduction[k] = -1.0
    return argmax(reduction)


@kernel
def raise_after(norms, columns, arm):
    """Set `after` of an arm to the largest norm after its pull, and raise that of the others by the pair with it."""
    pairs, share, after, column = norms.pairs, norms.share, norms.after, norms.column
    along_items(norms, columns, arm)
    norms.exact[arm], top, square, first, second = 1.0, after[arm], 0.0, -1, -1
    for i in range(norms.tops.shape[0]):
        if norms.tops[i] > top:
            for j in range(i + 1, column.shape[0]):
                if pairs[i, j] > top:
                    along = column[i] - column[j]
                    reduced = pairs[i, j] - along * along * share[arm]
                    if reduced > top:
                        top, first, second, square = reduced, i, j, pairs[i, j]
    if first < 0:
        return
    along_pair(norms, columns, first, second)
    for k in range(after.shape[0]):
        reduced = square - norms.along[k] * norms.along[k] * share[k]
        after[k] = reduced if reduced > after[k] else after[k]
    after[arm] = top


@inlined
def along_items(norms, columns, arm):
    """Write z'A^-1x of all items z and one arm x into `column` (m,)."""
    if norms.across.shape[0]:
        for m in range(norms.column.shape[0]):
            norms.column[m] = norms.across[m, arm]
    else:
        times(norms.inverse, columns, arm, norms.step)
        along_all(norms.items, norms.step, norms.column)


@inlined
def along_pair(norms, columns, i, j):
    """Write x'A^-1y of all arms x and the difference y of two items into `along` (K,)."""
    across, inverse, items, step = norms.across, norms.inverse, norms.items, norms.step
    if across.shape[0]:
        for k in range(norms.along.shape[0]):
            norms.along[k] = across[i, k] - across[j, k]
        return
    for c in range(step.shape[0]):
        step[c] = 0.0
        for b in range(step.shape[0]):
            step[c] += inverse[c, b] * (items[b, i] - items[b, j])
    along_all(columns, step, norms.along)


@inlined
def worst_pair(norms):
    """Return items i < j of the pair of largest squared norm (the first of ties, row by row), and this norm."""
    pairs, i = norms.pairs, 0
    top = highest(norms.tops)
    floor = top - TIE * max(1e-300, abs(top))
    while norms.tops[i] < floor:
        i += 1
    j = i + 1
    while pairs[i, j] < floor:
        j += 1
    return i, j, pairs[i, j]


@inlined
def add_pull(norms, columns, arm):
    """Update the norms for one pull of `arm` by the formula of Sherman and Morrison; columns : (r, K), the arms."""
    gram, across, along, column, gain = norms.gram, norms.across, norms.along, norms.column, 1 + norms.arms[arm]
    along_items(norms, columns, arm)
    if gram.shape[0]:
        for k in range(along.shape[0]):
            along[k] = gram[arm, k]
        shrink(gram, along, 1.0, gain)
    else:
        times(norms.inverse, columns, arm, norms.step)
        along_all(columns, norms.step, along)
        shrink(norms.inverse, norms.step, 1.0, gain)
    shrink_squares(norms.arms, along, gain)
    for m in range(across.shape[0]):
        if column[m] != 0.0:
            scaled = column[m] / gain
            for k in range(along.shape[0]):
                across[m, k] -= scaled * along[k]
    shrink_pairs(norms.pairs, norms.tops, column, gain)


@kernel
def shrink_pairs(pairs, tops, column, gain):
    """Update the squared norms for a pull of x; column : (m,), z'A^-1x of all items z."""
    for i in range(tops.shape[0]):
        row, own, others = pairs[i, i + 1 :], column[i], column[i + 1 :]
        for j in range(row.shape[0]):
            along = own - others[j]
            row[j] -= along * along / gain
        tops[i] = highest(row)


@rule(
    label="XY-adaptive",
    row=Row(BATCHES, "for comparison with rage", "Soare et al. 2014", DELTA),
)
def xy_adaptive(
    arms: np.ndarray,
    items: np.ndarray | None = None,
    *,
    delta: float,
    sigma: float | np.ndarray = 1.0,
    alpha: float = 0.1,
    ratio: str = "raw",
    start: str = "pull",
) -> Algorithm:
    """Find the best item with probability at least 1 - delta, in phases of greedy pulls (fiez2019, appendix F).

    It yields pulls, returns a `Result` and raises errors as `rage` does. A Round holds n times
    the largest squared norm as `design_value` and 0 as `lower_bound`.

    Parameters
    ----------
    arms, items, delta, sigma : array_like, float, and float or (K,) array_like
        As for `rage`.
    alpha : float
        Factor in (0, 1): a phase ends when its largest squared norm is below alpha times that of the phase before.
    ratio : {"raw", "per_pull"}
        Compare the largest squared norms ("raw"), or these norms divided by the pulls of the phase, as the published
        code does ("per_pull").
    start : {"pull", "ridge"}
        Begin every phase with spanning arms or, as the published code does, with the identity, counted as d pulls.
    """
    arms, items, delta, sigma = check_problem(arms, items, delta, sigma)
    check_option("ratio", ratio, ("raw", "per_pull"))
    check_option("start", start, ("pull", "ridge"))
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie strictly between 0 and 1 (factor that ends a phase); got {alpha}: try 0.1")

    longest = np.linalg.norm(arms, axis=1).max()
    if start == "ridge" and longest > LONGEST:
        raise ValueError(
            f"arms must have length {LONGEST:g} or less with start='ridge', because rounding would lose the identity "
            f"beside longer arms; got {longest:.2g}: rescale them"
        )
    if start == "ridge":
        check_ridge(arms, 1.0, "the identity of start='ridge'")

    K, d = arms.shape
    axes = scaled_axes(arms) if start == "pull" else basis(arms)  # norms are computed in the span of the arms
    inside = arms @ axes
    identity, initial = (d, np.zeros(K, np.int64)) if start == "ridge" else (0, one_pull(spanning_arms(inside), K))
    active, history, value = np.arange(len(items)), list[Round](), 1 / (d * (d + 1) + 1)  # rho_0 / n_0 of Soare et al.
    while len(active) > 1:
        ignored = (yield d * one_pull(0, K)).counts if start == "ridge" else 0
        in_view, counts, pulled, below = (items[active] - items[0]) @ axes, initial, 0, False
        samples = []
        while not below:
            limits = identity, alpha * value, ratio == "per_pull", BATCH
            counts, norm, n, below = pull_greedily(inside, in_view, counts, limits)
            samples.append((yield counts - pulled))
            pulled = counts
        sample = total(samples)
        value = norm / n if ratio == "per_pull" else norm
        fit = least_squares(arms, sample) if start == "pull" else _ridge_regression(arms, sample)
        j = len(history) + 1
        radius = sigma * sqrt(2 * log(np.pi**2 * len(items) ** 2 * j**2 / (3 * delta)))
        kept, width = eliminated_by(items[active], fit, radius, "pairs")  # appendix F
        history.append(
            Round(
                index=j,
                active=active,
                counts=sample.counts + ignored,
                design_value=n * norm,
                lower_bound=0.0,
                width=width,
                theta_hat=fit.theta_hat,
            )
        )
        active = active[kept]
    return Result(int(active[0]), tuple(history))


def _ridge_regression(arms, sample):
    """Return theta_hat (d,) and inverse (d, d) of the published code: A = I + sum of n_x xx'."""
    inverse = np.linalg.inv(np.eye(arms.shape[1]) + (arms.T * sample.counts) @ arms)  # noqa: TID251  as published
    return LeastSquares(inverse @ (arms.T @ sample.sums), inverse)
