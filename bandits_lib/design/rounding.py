"""Round weights to whole pulls, and put a floor under a design.

Pukelsheim's efficient apportionment (Pukelsheim and Rieder 1992), with p atoms: n_i = ceil((n - p/2) lambda_i). Then
single pulls are added where n_i / lambda_i is smallest, or removed where (n_i - 1) / lambda_i is largest.

Regret minimisation (Allen-Zhu, Li, Singh and Wang 2017): swap one pull at a time so that the smallest eigenvalue of
Z = sum n_i v_iv_i', v_i = (n A)^-1/2 x_i, rises to 1 - 3 epsilon. The arms follow the regularised leader with the
l_1/2 regulariser: P = (cI + alpha Z)^-2 with c such that tr P = 1, and alpha = sqrt(r) / epsilon.
"""

import numpy as np

from bandits_lib.checks import check_budget, check_matrix, check_option, check_some_nonzero, check_weights
from bandits_lib.design.certificate import Design
from bandits_lib.design.directions import Pairs
from bandits_lib.design.solvers import design_value
from bandits_lib.numerics.kernels import kernel
from bandits_lib.numerics.linear_algebra import apply, information, jacobi, ordered_sum, product, transposed
from bandits_lib.numerics.span import RANK_TOL, span
from bandits_lib.numerics.ties import argmax

METHODS = ("pukelsheim", "regret", "largest_remainder")
EPSILON = 0.1  # accuracy of the swap rounding; at 1/3 it would stop at once
MAX_SWAPS = 10  # largest number of swaps per pull
GOLDEN = (5**0.5 - 1) / 2  # its multiples modulo 1 are as far apart as possible


def round_design(weights: np.ndarray, n: int, method: str = "pukelsheim", arms: np.ndarray | None = None) -> np.ndarray:
    """Return whole numbers of pulls close to n times the weights.

    Parameters
    ----------
    weights : (K,) array_like
        Shares of the pulls: non-negative, sum 1 (within 1e-6).
    n : int
        Number of pulls, at least 1.
    method : {"pukelsheim", "regret", "largest_remainder"}, default "pukelsheim"
        How to round (Pukelsheim and Rieder 1992; Allen-Zhu, Li, Singh and Wang 2017). The largest remainder replaces
        "pukelsheim" for n below the support size, and "regret" for n below the rank of the arms.
    arms : (K, d) array_like, optional
        Arms of the design, one per row; needed by "regret" only, which may also pull arms without weight.

    Returns
    -------
    (K,) int array
        Pulls of each arm, n in all. With "pukelsheim" and n >= 2p, p the support size, every squared norm is at most
        1 + 2p/n times that of the weights.

    Raises
    ------
    ValueError
        If `weights` is not a distribution, `n` is not an integer >= 1, `method` is unknown, or `method` is "regret" and
        `arms` is missing or does not match the weights.

    Examples
    --------
    >>> round_design(np.array([0.5, 0.3, 0.2]), 101).tolist()
    [51, 30, 20]
    """
    weights, n = check_weights(weights), check_budget(n, 1, "pulls to share out", "n")
    check_option("method", method, METHODS)
    if method == "regret":
        return _regret(weights, n, _arms_for(weights, arms))
    if method == "pukelsheim" and n >= np.count_nonzero(weights):
        return _pukelsheim(weights, n)
    return _largest_remainder(weights, n)


def _arms_for(weights, arms):
    if arms is None:
        raise ValueError("arms must be given for method='regret' but is None; pass the (K, d) arms of the design")
    arms = check_matrix("arms", arms)
    if len(arms) != len(weights):
        raise ValueError(f"arms must have one row per weight, {len(weights)}, but has {len(arms)}; pass all arms")
    check_some_nonzero("arms", arms[weights > 0])
    return arms


def _largest_remainder(weights, n):
    """Return n times the weights rounded down, and one more pull each where the fraction is largest."""
    quota = n * weights
    counts = np.floor(quota + 1e-9).astype(np.int64)
    _adjust(counts, quota - counts, n - int(counts.sum()), np.empty(len(counts)))
    return counts


@kernel
def _adjust(counts, fraction, missing, score):
    """Give `missing` pulls to the largest fractions (K,), or take as many from the smallest. Scratch: score (K,)."""
    while missing > 0:
        k = argmax(fraction)
        counts[k] += 1
        fraction[k] -= 1.0
        missing -= 1
    while missing < 0:
        for k in range(counts.shape[0]):
            score[k] = -fraction[k] if counts[k] > 0 else -np.inf
        k = argmax(score)
        counts[k] -= 1
        fraction[k] += 1.0
        missing += 1


def _pukelsheim(weights, n):
    support = np.flatnonzero(weights)
    share = weights[support]
    ideal = (n - len(support) / 2) * share
    atoms = np.maximum(np.ceil(ideal - 1e-9 - 1e-15 * ideal), 1).astype(np.int64)  # 5.000000000001 counts as 5
    _apportion(atoms, share, n - int(atoms.sum()), np.empty(len(atoms)))
    counts = np.zeros(len(weights), np.int64)
    counts[support] = atoms
    return counts


@kernel
def _apportion(counts, share, missing, score):
    """Add `missing` pulls at the smallest n_i / lambda_i, or remove them at the largest (n_i - 1) / lambda_i."""
    for k in range(counts.shape[0]):
        score[k] = -counts[k] / share[k] if missing > 0 else (counts[k] - 1) / share[k]
    while missing > 0:
        k = argmax(score)
        counts[k] += 1
        score[k] = -counts[k] / share[k]
        missing -= 1
    while missing < 0:
        k = argmax(score)
        counts[k] -= 1
        score[k] = (counts[k] - 1) / share[k]
        missing += 1


def _regret(weights, n, arms):
    counts = _largest_remainder(weights, n)
    v = _whitened(arms, weights * n)
    if n < v.shape[1]:
        return counts
    alpha = np.sqrt(v.shape[1]) / EPSILON
    for _ in range(MAX_SWAPS * n):
        spectrum, axes = jacobi(information(v, counts.astype(float)))
        if spectrum.min() >= 1 - 3 * EPSILON:
            break
        gain, loss = _swap_scores(v, counts, spectrum, axes, alpha)
        leaving, entering = argmax(-loss), argmax(gain)
        if loss[leaving] >= gain[entering]:
            break
        counts[leaving] -= 1
        counts[entering] += 1
    return counts


def _whitened(arms, mass):
    """Return v_i = (sum mass_i x_i x_i')^-1/2 x_i, (K, r); it is zero outside the span of the arms of positive mass."""
    space = span(arms[mass > 0])
    inside = space.coordinates(arms)
    inside[space.outside(arms) > RANK_TOL * np.linalg.norm(arms, axis=1)] = 0.0
    spectrum, axes = jacobi(information(inside, mass))
    return product(product(inside, transposed(axes) / np.sqrt(spectrum)), axes)


def _swap_scores(v, counts, spectrum, axes, alpha):
    """Return what one more pull of each arm gains, and what one less loses (1e300 if it cannot go), (K,) each."""
    root = 1 / (_leader_shift(alpha * spectrum) + alpha * spectrum)  # P^1/2 in the eigenbasis
    squares = product(v, transposed(axes)) ** 2
    quadratic, linear = apply(squares, root**2), 2 * alpha * apply(squares, root)
    can_go = (counts > 0) & (linear < 1)
    loss = np.full(len(v), 1e300)
    loss[can_go] = quadratic[can_go] / (1 - linear[can_go])
    return quadratic / (1 + linear), loss


def _leader_shift(spectrum):
    """Return the c with sum (c + spectrum)^-2 = 1 and c > -min(spectrum), by bisection."""
    low, high = -spectrum.min(), -spectrum.min() + np.sqrt(len(spectrum))
    for _ in range(100):
        middle = (low + high) / 2
        if ordered_sum(1 / (middle + spectrum) ** 2) > 1:
            low = middle
        else:
            high = middle
    return high


def per_cost(design, arms, directions, cost):
    """Return the `Design` of least cost, in shares of pulls, by `design` on arms / sqrt(cost); its value is per pull.

    Money m_k buys m_k / c_k pulls of arm k, whose information is that of m_k pulls of x_k / sqrt(c_k).
    """
    if cost is None:
        return design(arms, directions)
    money = design(arms / np.sqrt(cost)[:, None], directions)
    bought = money.weights / cost
    pulls = bought.sum()
    value, bound = float(money.value * pulls), float(money.lower_bound * pulls)
    return money._replace(weights=bought / pulls, value=value, lower_bound=bound)


def floored(
    design: Design,
    floor: float,
    arms: np.ndarray,
    directions: np.ndarray | Pairs,
    sigma: float | np.ndarray = 1.0,
) -> Design:
    """Return the design with weights (1 - floor) lambda + floor / K, under which lack of fit can be seen.

    Parameters
    ----------
    design : Design
        A design on the arms.
    floor : float
        Share of the pulls, in [0, 1), that is spread evenly over all arms; 0 returns the design unchanged.
    arms, directions, sigma : array_like or Pairs
        As for `weighted_design`; for a G-design the directions are the arms.

    Returns
    -------
    Design
        `value` is that of the new weights, at most 1 / (1 - floor) times the old one. `lower_bound` stays.

    Raises
    ------
    ValueError
        For a floor outside [0, 1), and as for `design_value`.

    Examples
    --------
    >>> from bandits_lib.design import xy_design
    >>> arms, ahead = np.vstack([np.eye(2), [1.0, 1.0]]), np.array([[1.0, -1.0]])
    >>> design = floored(xy_design(arms, ahead), 0.3, arms, ahead)
    >>> design.weights.round(2).tolist(), round(design.value, 2), round(design.lower_bound, 2)
    ([0.45, 0.45, 0.1], 4.44, 4.0)
    """
    floor = check_floor(floor)
    if floor == 0:
        return design
    weights = np.asarray(design.weights, dtype=float)
    weights = (1 - floor) * (weights / weights.sum()) + floor / len(weights)
    return design._replace(weights=weights, value=design_value(arms, weights, directions, sigma))


def check_floor(floor):
    """Return the share that is spread evenly as a float in [0, 1), or refuse it."""
    if not isinstance(floor, int | float | np.number) or not 0 <= floor < 1:
        raise ValueError(
            f"floor must lie in [0, 1) (share of pulls, divided evenly among all arms); got {floor!r}: try 0.1"
        )
    return float(floor)


def evenly(extra, counts):
    """Return `extra` pulls (K,) spread evenly over the arms; the remainder goes to the smallest `counts` (K,)."""
    each, left = divmod(extra, len(counts))
    pulls = np.full(len(counts), each, dtype=np.int64)
    pulls[np.argsort(counts, kind="stable")[:left]] += 1  # noqa: TID251  of whole numbers
    return pulls


def scattered(extra, counts):
    """Return a pull (K,) of each of `extra` arms with the smallest `counts` (K,), which are not neighbours in the list.

    In a list of all combinations of some factors, they have all levels of each factor."""
    order = np.lexsort((np.arange(len(counts)) * GOLDEN % 1, counts))
    return np.isin(np.arange(len(counts)), order[:extra]).astype(np.int64)
