"""XY-adaptive allocation (Soare, Lazaric, Munos 2014, section 5), greedy, as run in fiez2019 (Fiez et al., appendix F).

Each pull of a phase is argmin over x of max over y of y'(A + xx')^-1 y, for the differences y of active items. The
phase ends when the largest squared norm is below alpha times that of the phase before. Its pulls do not depend on its
rewards, so they are one batch. Departures and readings:
- ratio="raw" compares the largest squared norms; the published code of fiez2019 divides them by n ("per_pull").
- Every phase begins with spanning arms; the published code begins with the identity, counted as d pulls ("ridge").
- The papers do not say how to break ties. Here the arm that reduces the largest norm most goes first.
- Widths have the phase index in their logarithm, and eliminated items stay eliminated (appendix F).
- Items other than the arms are allowed; the logarithm then contains their number M instead of K.

One pull of x reduces y'A^-1y by (y'A^-1x)^2 / (1 + x'A^-1x). A difference y is skipped if its norm is below the
smallest maximum that any arm leaves so far. If there are more pairs than arms, a first pass takes only those y that
raise this minimum.
"""

from math import log, sqrt
from typing import NamedTuple

import numpy as np

from bandits_lib.checks import check_option, check_problem, check_ridge, check_told
from bandits_lib.design.cache import cached
from bandits_lib.design.g_optimal import spanning_arms
from bandits_lib.numerics.kernels import along_all, inlined, kernel, lowest, shrink, shrink_squares, times
from bandits_lib.numerics.least_squares import LeastSquares, eliminated_by, least_squares
from bandits_lib.numerics.linear_algebra import cholesky, information, inverse_triangle, product, squares, transposed
from bandits_lib.numerics.span import basis, scaled_axes
from bandits_lib.numerics.ties import TIE, argmax, highest
from bandits_lib.protocol import BATCHES, DELTA, After, Algorithm, InPlay, Result, Round, Row, one_pull, rule, total

REFRESH = 1_000  # pulls between two fresh inversions; fewer at the beginning of a phase
FEW = 2  # up to this many arms per dimension, their products are kept instead of the inverse
PASSED = 1e-11  # relative excess up to which a norm is skipped; well below the tolerance of ties


@cached
def pull_greedily(arms, items, counts, limits):
    """Pull until the value is below `target`, at most `most` times: counts, largest squared norm, n, whether below."""
    identity, target, per_pull, most = limits  # identity : pulls that a ridge counts as, or 0; counts : (K,)
    counts, columns, n, below = counts.copy(), transposed(arms), identity + int(counts.sum()), False
    end = n + most
    while True:
        norms = norms_of(arms, items, counts, identity > 0)
        if below or n == end:
            return counts, float(norms.pairs.max()), n, below
        until = min(2 * n, n + REFRESH, end)
        n, below = pull_until(norms, columns, counts, n, until, target * (1 - TIE), per_pull)


class Norms(NamedTuple):
    """Squared norms in A^-1, and the reduction of them by the next pull."""

    inverse: np.ndarray  # (r, r), A^-1
    gram: np.ndarray  # (K, K), x'A^-1x of all pairs of arms, kept instead of A^-1; (0, 0) if there are many arms
    pairs: np.ndarray  # (m(m-1)/2,), y'A^-1y of the differences of items i < j, row by row
    tops: np.ndarray  # (m - 1,), the largest of each row
    arms: np.ndarray  # (K,), x'A^-1x
    across: np.ndarray  # (m, K), z'A^-1x of all items z and arms x
    column: np.ndarray  # (m,), scratch: z'A^-1x of the arm pulled
    step: np.ndarray  # (r,), scratch: A^-1 x of the arm pulled
    along: np.ndarray  # (K,), scratch: x'A^-1 x of the arm pulled and all others
    share: np.ndarray  # (K,), scratch: 1 / (1 + x'A^-1x)
    left: np.ndarray  # (K,), scratch: the largest squared norm of a pair that one pull of each arm leaves
    taken: np.ndarray  # (K,), scratch: what that pull takes from the worst pair


def norms_of(arms, items, counts, ridge):
    """Return the `Norms` of a phase, computed afresh from its counts (K,) and, with a ridge, the identity."""
    root = inverse_triangle(cholesky(ridge * np.eye(arms.shape[1]) + information(arms, counts.astype(float)))[0])
    items, arms = product(items, root), product(arms, root)
    (m, r), K, turned = items.shape, len(arms), transposed(arms)
    gram = product(arms, turned) if K <= FEW * r else np.empty((0, 0))
    pairs, tops, scratch = np.empty(m * (m - 1) // 2), np.empty(m - 1), map(np.empty, (m, r, K, K, K, K))
    distances(items, pairs, tops)
    inverse = product(root, transposed(root))
    return Norms(inverse, gram, pairs, tops, squares(arms), product(items, turned), *scratch)


@kernel
def distances(points, pairs, tops):
    """Write squared distances of all pairs i < j of points (m, r), row by row, into `pairs`, row maxima into `tops`."""
    n = 0
    for i in range(tops.shape[0]):
        tops[i] = 0.0
        for j in range(i + 1, points.shape[0]):
            square = 0.0
            for c in range(points.shape[1]):
                square += (points[i, c] - points[j, c]) ** 2
            pairs[n] = square
            tops[i] = max(tops[i], square)
            n += 1


@kernel
def pull_until(norms, columns, counts, n, until, target, per_pull):
    """Pull greedily until the value is below `target` or n reaches `until`; return n and whether it is below."""
    while n < until:
        arm = least_worst(norms)
        counts[arm] += 1
        n += 1
        add_pull(norms, columns, arm)
        top = highest(norms.tops)
        if (top / n if per_pull else top) < target:
            return n, True
    return n, False


@inlined
def least_worst(norms):
    """Return argmin over arms x of max over pairs y of y'(A + xx')^-1 y; `taken` decides between arms that tie."""
    left, taken, share = norms.left, norms.taken, norms.share
    i, j, square = worst_pair(norms)
    for k in range(share.shape[0]):
        share[k] = 1 / (1 + norms.arms[k])
        along = norms.across[i, k] - norms.across[j, k]
        taken[k] = along * along * share[k]
        left[k] = square - taken[k]
    if norms.pairs.shape[0] > share.shape[0]:  # the first pass leaves few of many pairs
        raise_left(norms, False)
    if norms.pairs.shape[0] > 1:
        raise_left(norms, True)
    return first_choice(left, taken)


@inlined
def worst_pair(norms):
    """Return items i < j of the pair of largest squared norm, of ties the first row by row, and this norm."""
    pairs, m, n, i = norms.pairs, norms.column.shape[0], 0, 0
    top = highest(norms.tops)
    floor = top - TIE * max(1e-300, abs(top))
    while norms.tops[i] < floor:
        n += m - 1 - i
        i += 1
    j = i + 1
    while pairs[n] < floor:
        n += 1
        j += 1
    return i, j, pairs[n]


@kernel
def raise_left(norms, every):
    """Raise `left` by the pairs above its minimum: by every pair, or by those alone that raise this minimum."""
    pairs, across, share, left = norms.pairs, norms.across, norms.share, norms.left
    m, n = norms.column.shape[0], 0
    least = lowest(left)
    bar = left[least] + PASSED * abs(left[least])
    for i in range(m - 1):
        if norms.tops[i] > bar:
            for j in range(i + 1, m):
                square = pairs[n + j - i - 1]
                if square > bar:
                    along = across[i, least] - across[j, least]
                    raises = square - along * along * share[least] > bar
                    if every or raises:
                        raise_all(left, across[i], across[j], share, square)
                    if raises and pairs.shape[0] > left.shape[0]:
                        least = lowest(left)
                        bar = left[least] + PASSED * abs(left[least])
        n += m - 1 - i


@kernel
def raise_all(left, one, other, share, square):
    """Raise `left` (K,) to what one pull of each arm leaves of a squared norm, where that is larger."""
    for k in range(left.shape[0]):
        along = one[k] - other[k]
        after = square - along * along * share[k]
        left[k] = after if after > left[k] else left[k]


@inlined
def first_choice(left, taken):
    """Return the arm of smallest `left` (K,); of ties, that of largest `taken` (K,), which is overwritten."""
    least = left[lowest(left)]
    for k in range(left.shape[0]):
        if left[k] > least + TIE * abs(least):
            taken[k] = -1.0
    return argmax(taken)


@inlined
def add_pull(norms, columns, arm):
    """Update the norms for one pull of `arm` by the formula of Sherman and Morrison; columns : (r, K), the arms."""
    gram, across, along, column, gain = norms.gram, norms.across, norms.along, norms.column, 1 + norms.arms[arm]
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
        column[m] = across[m, arm]
        if column[m] != 0.0:
            scaled = column[m] / gain
            for k in range(along.shape[0]):
                across[m, k] -= scaled * along[k]
    shrink_pairs(norms.pairs, norms.tops, column, gain)


@kernel
def shrink_pairs(pairs, tops, column, gain):
    """Reduce the squared norms, row by row, by the pull of x; column : (m,), z'A^-1x of all items z."""
    n, m = 0, column.shape[0]
    for i in range(m - 1):
        row = pairs[n : n + m - 1 - i]
        shrink_row(row, column[i], column[i + 1 :], gain)
        tops[i] = highest(row)
        n += m - 1 - i


@kernel
def shrink_row(row, own, others, gain):
    """Subtract (own - others)^2 / gain from a row of squared norms."""
    for j in range(row.shape[0]):
        apart = own - others[j]
        row[j] -= apart * apart / gain


BATCH = 10**7  # pulls per request: seconds to minutes of computation; max_pulls can end a run between two requests
LONGEST = 1e5  # largest length of arms for start="ridge"; rounding loses the identity beside longer arms


@rule(
    label="XY-adaptive",
    row=Row(BATCHES, "for comparison with rage", "Soare et al. 2014", DELTA),
    guarantee=After("", "its greedy pulls would go on asking for the arm, and its phases would not get shorter"),
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

    Parameters
    ----------
    arms, items, delta, sigma : (K, d) and (M, d) array_like, float, and float or (K,) array_like
        As for `rage`.
    alpha : float
        Factor in (0, 1): a phase ends when its largest squared norm is below alpha times that of the phase before.
    ratio : {"raw", "per_pull"}
        Compare the largest squared norms, or, as published, these norms divided by the pulls of the phase.
    start : {"pull", "ridge"}
        Begin every phase with spanning arms, or with the identity, which counts as d pulls.

    Yields
    ------
    (K,) int array
        Pulls to make next; the reply is a `Sample`. The rule returns a `Result`: the best item (int), and one `Round`
        per phase, with n times the largest squared norm as `design_value` and 0 as `lower_bound`.

    Raises
    ------
    ValueError
        If an argument is invalid: a wrong shape, NaN, identical items, items outside the span of the arms, or a number
        out of range.

    Examples
    --------
    >>> from bandits_lib import instances, play
    >>> problem = instances.benchmark(2, angle=1.0)
    >>> play(xy_adaptive(problem.arms, delta=0.05), problem, np.random.default_rng(0)).result.recommendation
    0
    """
    arms, items, delta, sigma = check_problem(arms, items, delta, sigma)
    check_option("ratio", ratio, ("raw", "per_pull"))
    check_option("start", start, ("pull", "ridge"))
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie strictly between 0 and 1 (factor that ends a phase); got {alpha}: try 0.1")

    longest = np.linalg.norm(arms, axis=1).max()
    if start == "ridge" and longest > LONGEST:
        raise ValueError(f"arms must have length {LONGEST:g} or less beside a ridge; got {longest:.2g}: rescale them")
    if start == "ridge":
        check_ridge(arms, 1.0, "the identity of start='ridge'")

    K, d = arms.shape
    axes = scaled_axes(arms) if start == "pull" else basis(arms)  # norms are computed in the span of the arms
    inside = arms @ axes
    identity, first = (d, np.zeros(K, np.int64)) if start == "ridge" else (0, one_pull(spanning_arms(inside), K))
    active, history, value = np.arange(len(items)), list[Round](), 1 / (d * (d + 1) + 1)  # rho_0 / n_0
    while len(active) > 1:
        unseen = (yield InPlay(d * one_pull(0, K), active)).counts if start == "ridge" else 0
        in_view, samples, asked, counts, below = (items[active] - items[0]) @ axes, [], 0, first, False
        while not below:
            limits = identity, alpha * value, ratio == "per_pull", BATCH
            counts, norm, n, below = pull_greedily(inside, in_view, counts, limits)
            samples.append((yield InPlay(counts - asked, active)))
            asked = counts
        sample = total(samples)
        if start == "pull":
            check_told(asked, sample, arms, items[active] - items[active[0]])
        value = norm / n if ratio == "per_pull" else norm
        fit = least_squares(arms, sample) if start == "pull" else _ridge_regression(arms, sample)
        j = len(history) + 1
        radius = sigma * sqrt(2 * log(np.pi**2 * len(items) ** 2 * j**2 / (3 * delta)))
        kept, width = eliminated_by(items[active], fit, radius, "pairs")
        history.append(Round(j, active, sample.counts + unseen, n * norm, 0.0, width, fit.theta_hat))
        active = active[kept]
    return Result(int(active[0]), tuple(history))


def _ridge_regression(arms, sample):
    """Return theta_hat (d,) and inverse (d, d) of the published code: A = I + sum of n_x xx'."""
    inverse = np.linalg.inv(np.eye(arms.shape[1]) + (arms.T * sample.counts) @ arms)
    return LeastSquares(inverse @ (arms.T @ sample.sums), inverse)
