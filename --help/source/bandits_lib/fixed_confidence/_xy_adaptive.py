"""XY-adaptive allocation (Soare, Lazaric, Munos 2014, section 5), greedy, as run in fiez2019 (Fiez et al., appendix F).

A phase pulls, one after the other, argmin over x of max over y of y'(A + xx')^-1 y, for the differences y of active
items, until the largest squared norm is below alpha times that of the phase before. Its pulls do not depend on its
rewards, so it is one batch. Departures and readings:
- ratio="raw" compares the largest squared norms; the published code of fiez2019 compares them over n ("per_pull").
- Every phase begins with spanning arms; the published code begins with the identity, counted as d pulls ("ridge").
- Arms that tie, which the papers do not mention: the one goes first that takes most from the worst difference.
- Widths have the phase index in their logarithm, and items that were dropped stay dropped (appendix F).
- Items other than the arms are allowed, and M of them enter the logarithm in place of K.

One pull of x takes (y'A^-1x)^2 / (1 + x'A^-1x) from y'A^-1y. A y whose norm is below what every arm leaves of the
others is passed by; where pairs outnumber arms, a first pass takes those y only that raise what is least so far.
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

REFRESH = 1_000  # pulls between two fresh inversions, fewer at the beginning of a phase
FEW = 2  # arms per dimension up to which their products are kept instead of the inverse
PASSED = 1e-11  # relative: norms that exceed what is left by less are passed by, well within a tie


@cached
def pull_greedily(arms, items, counts, limits):
    """Pull 1 to `most` times, or until the value is below `target`: counts, largest squared norm, n, whether it is."""
    identity, target, per_pull, most = limits  # the identity counts as so many pulls before `counts` (K,); 0: none
    counts, columns, n, below = counts.copy(), transposed(arms), identity + int(counts.sum()), False
    end = n + most
    while True:
        norms = norms_of(arms, items, counts, identity > 0)
        if below or n == end:
            return counts, float(norms.pairs.max()), n, below
        until = min(2 * n, n + REFRESH, end)
        n, below = pull_until(norms, columns, counts, n, until, target * (1 - TIE), per_pull)


class Norms(NamedTuple):
    """Squared norms in A^-1, and what the next pull takes from them."""

    inverse: np.ndarray  # (r, r), A^-1
    gram: np.ndarray  # (K, K), x'A^-1x of all arms, kept in place of A^-1; (0, 0) if there are many
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
    """The `Norms` of a phase, computed afresh from its counts (K,) and, with a ridge, the identity."""
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
    """Squared distances of all pairs i < j of points (m, r), row by row, into `pairs`; of each row the largest."""
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
    """Greedy pulls until the value is below `target` or n at `until`: n, and whether the value is."""
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
    """argmin over arms x of max over pairs y of y'(A + xx')^-1 y; of arms that tie, the one that `taken` says."""
    left, taken, share = norms.left, norms.taken, norms.share
    i, j, square = worst_pair(norms)
    for k in range(share.shape[0]):
        share[k] = 1 / (1 + norms.arms[k])
        along = norms.across[i, k] - norms.across[j, k]
        taken[k] = along * along * share[k]
        left[k] = square - taken[k]
    if norms.pairs.shape[0] > share.shape[0]:  # of many pairs few are then left
        raise_left(norms, False)
    if norms.pairs.shape[0] > 1:
        raise_left(norms, True)
    return first_choice(left, taken)


@inlined
def worst_pair(norms):
    """Items i < j of the pair of largest squared norm, the first row by row of those that tie, and this norm."""
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
    """Raise `left` by the pairs above its least: by those that raise this least itself, or by `every` one."""
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
    """What one pull of each arm leaves of a squared norm, into `left` (K,) where it is more."""
    for k in range(left.shape[0]):
        along = one[k] - other[k]
        after = square - along * along * share[k]
        left[k] = after if after > left[k] else left[k]


@inlined
def first_choice(left, taken):
    """The arm of least `left` (K,); of arms that tie there, that of most `taken` (K,), which is overwritten."""
    least = left[lowest(left)]
    for k in range(left.shape[0]):
        if left[k] > least + TIE * abs(least):
            taken[k] = -1.0
    return argmax(taken)


@inlined
def add_pull(norms, columns, arm):
    """Sherman and Morrison, for one pull of `arm`; columns : (r, K), the arms."""
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
    """What the pull of x leaves of the squared norms, row by row; column : (m,), z'A^-1x of all items z."""
    n, m = 0, column.shape[0]
    for i in range(m - 1):
        row = pairs[n : n + m - 1 - i]
        shrink_row(row, column[i], column[i + 1 :], gain)
        tops[i] = highest(row)
        n += m - 1 - i


@kernel
def shrink_row(row, own, others, gain):
    """Take (own - others)^2 / gain from a row of squared norms."""
    for j in range(row.shape[0]):
        apart = own - others[j]
        row[j] -= apart * apart / gain


BATCH = 10**7  # pulls asked for at once: seconds to minutes of computation, between which max_pulls can end a run
LONGEST = 1e5  # arms of the published start: beside longer ones the identity is lost to rounding


@rule(
    label="XY-adaptive",
    row=Row(BATCHES, "for comparison with rage", "Soare et al. 2014", DELTA),
    guarantee=After("", "its greedy pulls would go on asking for the arm, in phases that never get shorter"),
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
        In (0, 1): a phase ends when its largest squared norm is below alpha times that of the one before.
    ratio : {"raw", "per_pull"}
        What is compared: the largest squared norm or, as published, that over the phase's pulls.
    start : {"pull", "ridge"}
        Every phase begins with spanning arms, or with the identity, counted as d pulls.

    Yields
    ------
    (K,) int array
        Pulls to make next, answered with a `Sample`. Returns a `Result`: the best item (int), one `Round` a phase,
        whose `design_value` is n times the largest squared norm and whose `lower_bound` is 0.

    Raises
    ------
    ValueError
        For bad input (shapes, NaN, identical items, items outside the span of the arms, a number out of range).

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
        raise ValueError(f"alpha must lie strictly between 0 and 1 (share of a phase's value); got {alpha}")

    longest = np.linalg.norm(arms, axis=1).max()
    if start == "ridge" and longest > LONGEST:
        raise ValueError(f"arms must be of length {LONGEST:g} or less beside a ridge; got {longest:.2g}: rescale them")
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
    """theta_hat (d,) and inverse (d, d) of the published code: A = I + sum of n_x xx'."""
    inverse = np.linalg.inv(np.eye(arms.shape[1]) + (arms.T * sample.counts) @ arms)
    return LeastSquares(inverse @ (arms.T @ sample.sums), inverse)
