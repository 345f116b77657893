"""Compute XY-designs of any size: column generation on arms and on directions around the interior-point method.

min over lambda of max over directions of y'A(lambda)^-1 y (fiez2019 Algorithm 1, weltz2023 section 4). A working set of
arms and of directions is solved and tested on all directions and all arms. Those that violate its bounds are added and
idle ones dropped until value <= (1 + tol) lower bound. Then one of all optima is chosen (`interior_point.centred`).

With very many nearly tight pairs, `all_pairs` solves the problem without a working set (`exponential_multipliers`).

If the interior-point method stalls, `two_players` takes over. With M = sum v_y yy' and a = tr(A^-1 M),
    v_y      <- v_y (1 + eta_k (||y||^2 / max ||y||^2 - 1) / 64)^64,   eta_k = 5 min(1, 3 / sqrt(k)),
    lambda_x <- lambda_x sqrt(x'A^-1MA^-1x / a),
each divided by its sum. The power replaces an exponential, because no standard fixes its last bit. A is that of weights
(1 - tol / 10) lambda + (tol / 10) / K. Every LOOK steps the bound of the average masses is computed as well.
"""

import warnings
from typing import NamedTuple

import numpy as np

from bandits_lib.design.certificate import Design, bound_of_masses, fewer_atoms, root_of_design, snapped, value_of
from bandits_lib.design.directions import Listed
from bandits_lib.design.elfving import single_direction
from bandits_lib.design.exponential_multipliers import all_pairs
from bandits_lib.design.far_pairs import ManyDifferences, at_equal_steps
from bandits_lib.design.g_optimal import d_optimal, spanning_arms
from bandits_lib.design.interior_point import Point, Solution, centred, chosen_from, interior_point
from bandits_lib.numerics.kernels import compiled
from bandits_lib.numerics.linear_algebra import (
    information,
    inverse_triangle,
    ordered_sum,
    product,
    squares,
    transposed,
    upper_factor,
)
from bandits_lib.numerics.ties import largest_first

STEPS = 5_000
LOOK = 10


def two_players(arms, directions, tol):
    """Return weights (K,), a lower bound and the steps, for arms (K, r) of rank r and directions (n, r)."""
    K, n = len(arms), len(directions)
    weights, masses, average = np.full(K, 1 / K), np.full(n, 1 / n), np.zeros(n)
    best_value, best_weights, best_bound = np.inf, weights, 0.0
    for k in range(1, STEPS + 1):
        mixed = (1 - tol / 10) * weights + tol / 10 / K
        root = transposed(inverse_triangle(upper_factor(information(arms, mixed))[0]))
        rotated = product(directions, transposed(root))
        norms = squares(rotated)
        bound, pressure = bound_of_masses(arms, root, rotated, masses)
        average += masses
        settled = bound_of_masses(arms, root, rotated, average)[0] if k % LOOK == 0 else bound
        best_bound = max(best_bound, float(bound), float(settled))
        if norms.max() < best_value:
            best_value, best_weights = float(norms.max()), mixed
        if best_value <= (1 + tol) * best_bound:
            break
        rate = 5 * min(1, 3 / np.sqrt(k))
        factor = 1 + rate * (norms / norms.max() - 1) / 64
        for _ in range(6):
            factor *= factor
        masses = masses * factor
        masses /= ordered_sum(masses)
        weights = weights * np.sqrt(np.maximum(pressure, 0.0))
        weights /= ordered_sum(weights)
    return best_weights, best_bound, k


MAX_ROUNDS = 60
PATIENCE = 4  # rounds in a row in which nothing violates although the gap stays open
CYCLE = 12  # number of the last round after which an arm may leave the working set
ALL_ARMS = 64  # up to this many arms all are in the working set
START_GAP = 0.2  # the first working set is a D-optimal design to this gap
PART = 2  # in a round at most a share 1 / PART of the arms that an optimum can need enter the working set,
SHARE = 300  # or a share 1 / SHARE of all arms, if that is more
IDLE = 0.03  # share of the mean below which an arm leaves the working set unless its pressure is nearly the largest
SLIGHT = 0.1  # share of the mean below which a direction that is not nearly tight is left out at the end
NEAR = 0.9  # share of the largest norm or pressure above which a direction or arm is nearly tight
ROOM = 4_000_000  # at the end all arms take part, if their number times r(r+1)/2 is at most this
PASSES = 8  # largest number of passes at the end, in which directions enter
PART_OF_MANY = 8_000  # for very many items, the start is the design for about so many of them and so many arms,
ROUGHLY = 4  # computed to ROUGHLY times the gap


def solve_xy(arms, directions, tol):
    """Return the `Design` for arms (K, r) and `directions` (`Listed` or `Differences`), in coordinates of the span."""
    if isinstance(directions, Listed) and len(directions.rows) == 1:
        design = _one_direction(arms, directions, tol)
        if design.value <= (1 + tol) * design.lower_bound:
            return design
    found = all_pairs(arms, directions, 0.8 * tol)
    if found is not None:
        weights, value, bound, steps, root = found
    else:
        weights, value, bound, steps, rows, root = _column_generation(arms, directions, 0.8 * tol)
        if not value <= (1 + 0.85 * tol) * bound:
            weights, bound, more = _play_on(arms, directions, rows, 0.8 * tol, bound, weights, value)
            steps, root = steps + more, None
    weights = fewer_atoms(arms, weights, directions, tol, bound, root)
    value = value_of(arms, weights, directions)
    if not value <= (1 + tol) * bound:
        warnings.warn(
            f"the design is certified only to a relative gap of {value / bound - 1:.2g}, which is above tol={tol}; "
            "its value and lower bound are still valid",
            RuntimeWarning,
            stacklevel=4,
        )
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
    """A design on a working set: weights (K,), value, lower bound, and what they were computed from."""

    weights: np.ndarray
    value: float
    bound: float
    norms: np.ndarray  # (q,) squared norms of the directions in the set
    pressure: np.ndarray  # (K,)
    beyond: np.ndarray  # (m, r) directions outside the set of larger norm
    solution: Solution
    chosen: np.ndarray  # arms of the set
    rows: np.ndarray  # (q, r) directions of the set
    root: np.ndarray  # `root_of_design` of the weights

    def violated(self):
        top = self.pressure[self.chosen].max()
        return len(self.beyond) > 0 or bool(self.pressure.max() > top * (1 + 1e-9))


def _column_generation(arms, directions, tol):
    best, bound, steps = _rounds(arms, directions, tol, *_start(arms, directions, tol))
    if best.value <= (1 + tol) * bound:
        best, bound, more = _chosen(arms, directions, best, bound, tol)
        steps += more
    return best.weights, best.value, bound, steps, best.rows, best.root


def _most(arms):
    return max(60, arms.shape[1] * (arms.shape[1] + 1) // 2)


def _start(arms, directions, tol):
    """Return weights (K,), the first working set of arms, and that of directions (q, r)."""
    if isinstance(directions, ManyDifferences):
        start = _start_from_part(arms, directions, tol)
        if start is not None:
            return start
    weights, _ = d_optimal(arms, START_GAP, 1000)
    chosen = np.arange(len(arms)) if len(arms) <= ALL_ARMS else _union(weights != 0, spanning_arms(arms))
    return weights, chosen, directions.first(root_of_design(arms, weights), _most(arms))


def _start_from_part(arms, directions, tol):
    """Return the same as `_start`, from the design for a part of arms and items; None if that is not finite."""
    part = at_equal_steps(arms, PART_OF_MANY)
    few = directions.part(PART_OF_MANY)
    found, *_ = _rounds(arms[part], few, ROUGHLY * tol, *_start(arms[part], few, tol))
    if not np.isfinite(found.value):
        return None
    weights = np.zeros(len(arms))
    weights[part] = found.weights
    busy = _busy(found.norms, found.solution.masses)
    return weights, np.union1d(part[found.chosen], spanning_arms(arms)), found.rows[busy]


def _rounds(arms, directions, tol, weights, chosen, rows):
    """Return the best `Attempt` from working sets `chosen` and `rows` on, the best bound, and Newton steps."""
    coming = max(_most(arms) // PART, len(arms) // SHARE)
    every, spanning = np.arange(len(arms)), spanning_arms(arms)
    inner = tol / 4 if len(chosen) == len(arms) and directions.all_among(rows) else 0.1
    best: Attempt | None = None
    bound, steps, stalled = 0.0, 0, 0
    for rounds in range(MAX_ROUNDS):
        solution = interior_point(arms[chosen], rows, _interior(weights[chosen]), inner)
        here = _attempt(arms, directions, chosen, rows, solution)
        weights, steps, bound = here.weights, steps + here.solution.steps, max(bound, here.bound)
        best = here if best is None or here.value < best.value else best
        stalled = 0 if here.violated() else stalled + 1
        if here.value <= (1 + tol) * bound:
            break
        if stalled > PATIENCE:
            if len(chosen) == len(arms) or not _room(arms):
                break
            chosen, stalled = every, 0
        outer = max(here.value / here.norms.max(), here.pressure.max() / here.pressure[chosen].max()) - 1
        inner = max(tol / 4, min(inner, outer / 4)) if outer > tol / 4 else min(inner / 4, tol / 4)
        if rounds > CYCLE:
            inner = max(tol / 4, inner / 4)
        if len(chosen) < len(arms):
            chosen = _union(_exchanged(here, coming), chosen if rounds >= CYCLE else spanning)
        rows = np.vstack([rows[_busy(here.norms, here.solution.masses)], here.beyond])
    assert best is not None
    return best, bound, steps


def _room(arms):
    return len(arms) * arms.shape[1] * (arms.shape[1] + 1) // 2 <= ROOM


def _attempt(arms, directions, chosen, rows, solution):
    """Return the `Attempt` of a solution on the arms `chosen` and the directions `rows`, tested on all of both."""
    weights = np.zeros(len(arms))
    weights[chosen] = solution.weights
    root = root_of_design(arms, weights)
    norms, bound, pressure = _tested(arms, root, rows, solution.masses)
    value, beyond = directions.beyond(root, norms.max() * (1 + 1e-9), _most(arms))
    return Attempt(weights, value, bound, norms, pressure, beyond, solution, chosen, rows, root)


@compiled
def _tested(arms, root, rows, masses):
    """Return squared norms (q,) of the rows under an `root_of_design`, the masses' bound and pressures (K,)."""
    rotated = product(rows, transposed(root))
    bound, pressure = bound_of_masses(arms, root, rotated, masses)
    return squares(rotated), bound, pressure


def _chosen(arms, directions, found, bound, tol):
    """Return the `Attempt` at the optimum that `centred` defines, or `found`, the better bound, and Newton steps."""
    chosen = found.chosen
    if _room(arms):
        chosen = _union(found.pressure > NEAR * found.pressure.max(), chosen)
    kept = (found.solution.masses > SLIGHT / len(found.rows)) | (found.norms > NEAR * found.norms.max())
    rows, masses, here, steps = found.rows[kept], found.solution.masses[kept], found, 0
    point = found.solution.point
    near: Point | None = point._replace(s=point.s[kept], v=point.v[kept]) if len(chosen) == len(found.chosen) else None
    for _ in range(PASSES):
        if near is None:
            solution = chosen_from(arms[chosen], rows, here.weights[chosen], masses, tol, directions.unit())
        else:
            solution = centred(arms[chosen], rows, near, tol, directions.unit())
        steps, near = steps + solution.steps, None
        if not (np.isfinite(solution.weights).all() and np.isfinite(solution.masses).all()):
            continue  # too near the boundary: try again from further inside
        here = _attempt(arms, directions, chosen, rows, solution)
        bound = max(bound, here.bound)
        if not len(here.beyond):
            break
        rows, masses = np.vstack([rows, here.beyond]), np.append(solution.masses, np.zeros(len(here.beyond)))
    return (here if here.value <= (1 + tol) * bound else found), bound, steps


def _play_on(arms, directions, rows, tol, bound, best_weights, best_value):
    """Return weights (K,), their lower bound (at least `bound`) and the steps of `two_players`; violators are added."""
    steps = 0
    for _ in range(MAX_ROUNDS):
        weights, found, played = two_players(arms, rows, tol)
        value, beyond = directions.beyond(root_of_design(arms, weights), bound, len(rows))
        steps, bound = steps + played, max(bound, found)
        if value < best_value:
            best_value, best_weights = value, weights
        wider = np.unique(np.vstack([rows, beyond]), axis=0)
        if best_value <= (1 + tol) * bound or len(wider) == len(rows):
            break
        rows = wider
    return best_weights, bound, steps


def _interior(weights):
    """Return starting weights for the interior-point method: positive, close to `weights`."""
    return 0.9 * weights + (0.1 * ordered_sum(weights) + 1e-300) / len(weights)


def _busy(norms, masses):
    """Return which directions to keep: those that carry weight or are nearly tight."""
    return (masses > 1e-3 / len(masses)) | (norms > 0.95 * norms.max())


def _exchanged(here, most):
    """Return which arms are in the next set: those with weight or nearly full pressure, and `most` of more pressure."""

    chosen, pressure = here.chosen, here.pressure
    inside, taken = pressure[chosen], np.zeros(len(pressure), dtype=bool)
    top = inside.max()
    taken[chosen] = (here.weights[chosen] * inside > IDLE / len(chosen)) | (inside > 0.9 * top)
    above = np.flatnonzero(pressure > top * (1 + 1e-9))
    taken[above[largest_first(pressure[above], most)]] = True
    return taken


def _union(taken, more):
    taken[more] = True
    return np.flatnonzero(taken)
