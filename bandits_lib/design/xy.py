"""XY-designs of any size: column generation on arms and on directions around the interior-point method.

min over lambda of max over directions of y'A(lambda)^-1 y (fiez2019 Algorithm 1, weltz2023 section 4). An optimum needs
at most r(r+1)/2 arms and as many directions, so a working set of each is solved, the design is tested on *all*
directions (`pairs`) and its multipliers on *all* arms (`certificate`): both bounds are those of the full problem.
What violates is added, what has become idle is dropped, until value <= (1 + tol) lower bound. Where the interior
point stalls, because the directions left do not need all dimensions, the game of `two_players` goes on from there.
"""

import warnings
from typing import NamedTuple

import numpy as np

from bandits_lib.design.certificate import Design, inverse_root, lower_bound, value_of
from bandits_lib.design.d_optimal import d_optimal, spanning_arms
from bandits_lib.design.interior_point import Point, centred, interior_point
from bandits_lib.design.pairs import Listed
from bandits_lib.design.single import single_direction
from bandits_lib.design.sparsify import basic_weights, drop_small_leverages, snapped
from bandits_lib.design.two_players import two_players
from bandits_lib.numerics.ordered import product, squares, total, transposed
from bandits_lib.numerics.ties import ranked

MAX_ROUNDS = 60
PATIENCE = 4  # rounds in a row in which nothing violates and the gap stays open all the same
CYCLE = 12  # rounds after which no arm leaves the working set any more
ALL_ARMS = 64  # up to this many arms all are in the working set
START_GAP = 0.2  # the first working set is a D-optimal design to this gap
ADDED = 2  # new arms in a round: half of the most that an optimum needs
IDLE = 0.03  # share of the mean below which an arm leaves the working set unless its pressure is nearly full
SLIGHT = 0.1  # share of the mean below which an arm that is not nearly tight does not matter at the end
NEAR = 0.99  # of the largest pressure or norm: nearly tight


def solve_xy(arms, directions, tol):
    """`Design` for arms (K, r) of rank r and `directions` (`Listed` or `Differences`), in coordinates of the span."""
    if isinstance(directions, Listed) and len(directions.rows) == 1:
        design = _one_direction(arms, directions, tol)
        if design.value <= (1 + tol) * design.lower_bound:
            return design
    weights, value, bound, steps, rows = _column_generation(arms, directions, 0.8 * tol)
    if not value <= (1 + 0.9 * tol) * bound:
        weights, bound, more = _play_on(arms, directions, rows, 0.8 * tol, bound, weights, value)
        steps += more
    weights = snapped(_fewer_atoms(arms, weights, directions, tol, bound), tol)
    value = value_of(arms, weights, directions)
    if not value <= (1 + tol) * bound:
        warnings.warn(f"design certified to {value / bound - 1:.2g} only, not tol={tol}", RuntimeWarning, stacklevel=4)
    return Design(weights, value, min(bound, value), steps)


def _one_direction(arms, directions, tol):
    try:
        weights, bound, pivots = single_direction(arms, directions.rows[0])
    except np.linalg.LinAlgError:  # a basis of nearly parallel arms
        return Design(np.zeros(len(arms)), np.inf, 0.0, 0)
    weights = snapped(weights, tol)
    value = value_of(arms, weights, directions)
    return Design(weights, value, min(float(bound), value), pivots)


class Attempt(NamedTuple):
    """A design on a working set: weights (K,), value, bound, and what they were found from."""

    weights: np.ndarray
    value: float
    bound: float
    norms: np.ndarray  # (q,) squared norms of the directions in the set
    pressure: np.ndarray  # (K,)
    beyond: np.ndarray  # (m, r) directions outside the set of larger norm


def _column_generation(arms, directions, tol):
    """Weights (K,), their value, the bound that certifies them, Newton steps, the directions in view at the end."""
    most = max(60, arms.shape[1] * (arms.shape[1] + 1) // 2)
    weights, _ = d_optimal(arms, START_GAP, 1000)
    spanning = spanning_arms(arms)
    chosen = np.arange(len(arms)) if len(arms) <= ALL_ARMS else np.union1d(np.flatnonzero(weights), spanning)
    rows = directions.first(inverse_root(arms, weights), most)
    inner = tol / 4 if len(chosen) == len(arms) and directions.all_among(rows) else 0.1
    best_weights, best_value, bound, steps, stalled = weights, np.inf, 0.0, 0, 0
    for rounds in range(MAX_ROUNDS):
        solution = interior_point(arms[chosen], rows, _interior(weights[chosen]), inner)
        here = _attempt(arms, directions, chosen, rows, solution, most)
        weights, steps, bound = here.weights, steps + solution.steps, max(bound, here.bound)
        if here.value < best_value:
            best_weights, best_value = here.weights, here.value
        stalled = stalled + 1 if len(chosen) == len(arms) and len(here.beyond) == 0 else 0
        if here.value <= (1 + tol) * bound:
            here, more = _centre(arms, directions, chosen, rows, solution, here, tol, most, spanning)
            return here.weights, here.value, max(bound, here.bound), steps + more, rows
        if stalled > PATIENCE:
            break
        outer = max(here.value / here.norms.max(), here.pressure.max() / here.pressure[chosen].max()) - 1
        inner = max(tol / 4, min(inner, outer / 4)) if outer > tol / 4 else min(inner / 4, tol / 4)
        if rounds > CYCLE:
            inner = max(tol / 4, inner / 4)
        if len(arms) > ALL_ARMS:
            kept = chosen if rounds > CYCLE else spanning
            chosen = np.union1d(_exchange_arms(chosen, weights, here.pressure, most // ADDED), kept)
        rows = np.vstack([rows[_busy(here.norms, solution.masses)], here.beyond])
    return best_weights, best_value, bound, steps, rows


def _attempt(arms, directions, chosen, rows, solution, most):
    """The `Attempt` that a solution on the arms `chosen` and the directions `rows` is, tested on all of both."""
    weights = np.zeros(len(arms))
    weights[chosen] = solution.weights
    root = inverse_root(arms, weights)
    rotated = product(rows, transposed(root))
    norms = squares(rotated)
    bound, pressure = lower_bound(arms, root, rotated, solution.masses)
    value, beyond = directions.beyond(root, norms.max() * (1 + 1e-9), most)
    return Attempt(weights, value, float(bound), norms, pressure, beyond)


def _centre(arms, directions, chosen, rows, solution, found, tol, most, spanning):
    """The `Attempt` on the central path, on the arms and directions that matter, and Newton steps; or `found`.

    The arms `spanning` stay: some directions do not need all dimensions. What comes out has to be certified as `found`
    was: to (1 + tol) of the better bound.
    """
    arm = solution.weights * found.pressure[chosen] > SLIGHT / len(chosen)
    arm |= (found.pressure[chosen] > NEAR * found.pressure[chosen].max()) | np.isin(chosen, spanning)
    row = (solution.masses > SLIGHT / len(rows)) | (found.norms > NEAR * found.norms.max())
    mu, z, s, v = solution.point
    inside = Point(mu[arm], z[arm], s[row], v[row])
    solution = centred(arms[chosen[arm]], rows[row], inside, tol)
    if not (np.isfinite(solution.weights).all() and np.isfinite(solution.masses).all()):
        return found, solution.steps
    here = _attempt(arms, directions, chosen[arm], rows[row], solution, most)
    if not here.value <= (1 + tol) * max(found.bound, here.bound):
        here = found
    return here, solution.steps


def _play_on(arms, directions, rows, tol, bound, best_weights, best_value):
    """Weights (K,), their lower bound (at least `bound`) and steps by `two_players`, violators added as they appear."""
    steps = 0
    for _ in range(MAX_ROUNDS):
        weights, found, played = two_players(arms, rows, tol)
        value, beyond = directions.beyond(inverse_root(arms, weights), bound, len(rows))
        steps, bound = steps + played, max(bound, found)
        if value < best_value:
            best_value, best_weights = value, weights
        wider = np.unique(np.vstack([rows, beyond]), axis=0)
        if best_value <= (1 + tol) * bound or len(wider) == len(rows):
            break
        rows = wider
    return best_weights, bound, steps


def _interior(weights):
    """Starting weights for the interior-point method: positive, close to `weights`."""
    return 0.9 * weights + (0.1 * total(weights) + 1e-300) / len(weights)


def _busy(norms, masses):
    """Directions to keep: those that carry weight or are nearly tight."""
    return (masses > 1e-3 / len(masses)) | (norms > 0.95 * norms.max())


def _exchange_arms(chosen, weights, pressure, most):
    """Arms of weight or nearly of full pressure stay; up to `most` of larger pressure than all of them come in."""
    top = pressure[chosen].max()
    keep = chosen[(weights[chosen] * pressure[chosen] > IDLE / len(chosen)) | (pressure[chosen] > 0.9 * top)]
    above = np.flatnonzero(pressure > top * (1 + 1e-9))
    return np.union1d(keep, above[ranked(-pressure[above], most)])


def _fewer_atoms(arms, weights, directions, tol, bound):
    """The weights on few atoms; every reduction must keep value <= (1 + tol) bound.

    What the linear algebra cannot decide is tried: atoms of negligible weight go if the value allows it.
    """
    weights = basic_weights(arms, drop_small_leverages(arms, weights, tol / 10))
    order = ranked(weights)
    slight = order[(weights[order] > 0) & (weights[order] < tol / np.count_nonzero(weights))]
    for atoms in [slight, *slight[: 2 * arms.shape[1], None]]:
        lighter = weights.copy()
        lighter[atoms] = 0.0
        lighter /= total(lighter)
        if len(atoms) and value_of(arms, lighter, directions) <= (1 + tol) * bound:
            weights = lighter
            if len(atoms) == len(slight):
                break
    return weights
