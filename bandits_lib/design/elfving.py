"""Compute exact designs for one direction (Elfving 1952): min ||w||_1 subject to X'w = y.

min over lambda of y'A(lambda)^-1 y = ||w||_1^2 at lambda = |w| / ||w||_1. For any c, (y'c)^2 / max_x (x'c)^2 is a lower
bound. Both solvers are revised simplex methods over bases of r signed arms: the arm of largest |x'c| enters, and an
amount that passes through zero changes sign and adds twice its rate to the slope (Barrodale and Roberts 1973). The
direction is moved by PERTURBATION along the first basis to break ties; amounts and value are those of the direction.

Both begin at spanning arms. `single_direction` solves one direction in O(Kr + r^3) per pivot, to the last digits even
if arms are nearly parallel. `solve_pair` solves x_i - x_j in O(Kr + r^2) per pivot, because it keeps the inverse of the
basis. It runs in the compiled loops, since LinGapE with a budget meets up to 160 new pairs in a short run.
"""

from typing import NamedTuple

import numpy as np

from bandits_lib.design.g_optimal import spanning_arms
from bandits_lib.numerics.kernels import add, along_all, compiled, kernel, merged, times, times_vector
from bandits_lib.numerics.linear_algebra import apply, ordered_sum, solve, transposed
from bandits_lib.numerics.ties import argmax

SLACK = 1e-10  # |x'c| <= 1 + SLACK is feasible
PERTURBATION = 1e-10  # relative to ||w||_1


@merged
def _leaving(w, rate, slope, passed):
    """Return the position that leaves as w - t rate moves until ||w||_1 is smallest; those `passed` change sign."""
    for k in range(len(w)):
        passed[k] = False
    while True:
        position, least = -1, np.inf
        for k in range(len(w)):  # the perturbation has left no ties
            if rate[k] > 1e-12 and not passed[k] and max(w[k], 0.0) / rate[k] < least:
                position, least = k, max(w[k], 0.0) / rate[k]
        if position < 0:
            return -1
        slope += 2.0 * rate[position]
        if slope >= 0.0:
            return position
        passed[position] = True


@compiled
def signed_basis(arms, direction, most):
    """Return arms (r,), amounts w (r,) of smallest ||w||_1 with sum w x = direction, dual c (r,), and pivots."""
    basis, r = spanning_arms(arms), arms.shape[1]
    ones, side, passed, size = np.ones(r), np.empty(r), np.zeros(r, np.bool_), 0.0
    signed = transposed(arms[basis])
    w = solve(signed, direction)
    for k in range(r):
        _turn(signed, k, w[k] < 0)
        size += abs(w[k])
    for k in range(r):
        side[k] = PERTURBATION * size * (0.5 + (0.6180339887498949 * (k + 1)) % 1.0)  # no two alike
    moved, pivot = direction + apply(signed, side), 0
    while True:
        w, dual = solve(signed, moved), solve(transposed(signed), ones)
        enter, price = _entering(apply(arms, dual), basis)
        if abs(price) <= 1.0 + SLACK or pivot == most:
            break
        side = arms[enter] if price > 0 else -arms[enter]
        position = _leaving(w, solve(signed, side), 1.0 - abs(price), passed)
        if position < 0:
            break
        for k in range(r):
            _turn(signed, k, passed[k])
        basis[position] = enter
        for k in range(r):
            signed[k, position] = side[k]
        pivot += 1
    return basis, solve(signed, direction), dual, pivot


@merged
def _entering(prices, basis):
    """Return the arm outside the basis (r,) whose price is largest in absolute value, and its price."""
    prices[basis] = 0.0
    enter = argmax(np.abs(prices))
    return enter, prices[enter]


@merged
def _turn(signed, k, turn):
    if turn:
        for i in range(signed.shape[0]):
            signed[i, k] *= -1.0


def single_direction(arms, direction):
    """Return weights (K,), lower bound and pivots for one `direction` (r,), exact up to rounding if pivots suffice."""
    unit = direction / np.sqrt(ordered_sum(direction**2))
    basis, w, dual, pivots = signed_basis(arms, unit, 100 + 20 * arms.shape[1])
    if not (np.isfinite(w).all() and np.isfinite(dual).all()):
        raise np.linalg.LinAlgError("singular basis")
    weights = np.zeros(len(arms))
    w = np.abs(w)
    weights[basis] = np.where(w > 1e-12 * ordered_sum(w), w, 0.0)
    bound = ordered_sum(direction * dual) ** 2 / (apply(arms, dual) ** 2).max()
    return weights / ordered_sum(weights), bound, pivots


NEGLIGIBLE = 1e-12  # smaller amounts, relative to their sum, and smaller rates are rounding errors


@merged
def exchange(current, amounts, basis, rate, price, enter):
    """Bring the arm `enter` into the basis and make the amounts positive; return False if no arm leaves."""
    if price < 0:
        for b in range(rate.shape[0]):
            rate[b] = -rate[b]
    leaves = leaving(amounts, rate, 1.0 - abs(price))
    if leaves < 0:
        return False
    length = amounts[leaves] / rate[leaves]
    for c in range(rate.shape[0]):
        current[leaves, c] /= rate[leaves]
    for b in range(rate.shape[0]):
        if b != leaves:
            amounts[b] -= length * rate[b]
            add(current[b], current[leaves], -rate[b])
    amounts[leaves], basis[leaves] = length, enter
    flip(current, amounts)
    return True


@merged
def leaving(amounts, rate, slope):
    """Return the position that leaves as amounts - t rate, t >= 0, moves until ||.||_1 is smallest; -1 if none does."""
    last = -1.0
    for _ in range(rate.shape[0]):
        at, ratio = -1, np.inf
        for b in range(rate.shape[0]):
            if rate[b] > NEGLIGIBLE and last < amounts[b] / rate[b] < ratio:  # the perturbation has left no ties
                at, ratio = b, amounts[b] / rate[b]
        if at < 0:
            return -1
        slope, last = slope + 2.0 * rate[at], ratio
        if slope >= 0.0:
            return at
    return -1


@merged
def flip(current, amounts):
    for b in range(amounts.shape[0]):
        if amounts[b] < 0.0:
            amounts[b] = -amounts[b]
            for c in range(amounts.shape[0]):
                current[b, c] = -current[b, c]


@merged
def in_order(basis, amounts):
    for b in range(1, basis.shape[0]):
        c = b
        while c > 0 and basis[c - 1] > basis[c]:
            basis[c - 1], basis[c] = basis[c], basis[c - 1]
            amounts[c - 1], amounts[c] = amounts[c], amounts[c - 1]
            c -= 1


@merged
def absolute(amounts):
    """Make amounts positive, or 0 if negligible; return False if they are not finite."""
    size = 0.0
    for b in range(amounts.shape[0]):
        amounts[b] = abs(amounts[b])
        size += amounts[b]
    for b in range(amounts.shape[0]):
        if amounts[b] <= NEGLIGIBLE * size:
            amounts[b] = 0.0
    return 0.0 < size < np.inf


PIVOTS = 20  # largest number of pivots per dimension


class Program(NamedTuple):
    """The linear program of arms of rank r, and the pair that is being solved."""

    columns: np.ndarray  # (r, K), the arms
    spanning: np.ndarray  # (r,), spanning arms
    inverse: np.ndarray  # (r, r), of the matrix whose columns are the spanning arms
    basis: np.ndarray  # (r,), arms of the pair that is being solved, in order when it is solved
    amounts: np.ndarray  # (r,), their amounts, 0 if negligible
    direction: np.ndarray  # (r,)
    moved: np.ndarray  # (r,)
    dual: np.ndarray  # (r,)
    rate: np.ndarray  # (r,), by which the amounts fall as an arm enters
    prices: np.ndarray  # (K,), x'c
    current: np.ndarray  # (r, r), the inverse of the basis, its signs included


def signed_program(arms):
    K, r = arms.shape
    spanning = spanning_arms(arms)
    return Program(
        columns=transposed(arms),
        spanning=spanning,
        inverse=np.linalg.inv(arms[spanning].T),  # noqa: TID251  where the simplex begins
        basis=spanning.copy(),
        amounts=np.zeros(r),
        direction=np.zeros(r),
        moved=np.zeros(r),
        dual=np.zeros(r),
        rate=np.zeros(r),
        prices=np.zeros(K),
        current=np.zeros((r, r)),
    )


@kernel
def solve_pair(program, i, j):
    """Put arms and amounts for x_i - x_j into `basis` and `amounts`; return False if the program gives up."""
    basis, amounts, direction = program.basis, program.amounts, program.direction
    alike = True
    for c in range(direction.shape[0]):
        direction[c] = program.columns[c, i] - program.columns[c, j]
        alike = alike and direction[c] == 0.0
        basis[c], amounts[c] = program.spanning[c], 0.0
    if alike:  # equal arms: no pulls can compare them, and any arm is as good
        basis[0], amounts[0] = i, 1.0
        return True
    times_vector(program.inverse, direction, amounts)
    if spanning_suffice(program):
        in_order(basis, amounts)
        return absolute(amounts)
    move(program)
    return from_spanning(program)


@merged
def spanning_suffice(program):
    """Return whether the amounts of the spanning arms are optimal: their dual is feasible, and of equal value."""
    amounts, dual, least = program.amounts, program.dual, 0.0
    for c in range(amounts.shape[0]):
        least += NEGLIGIBLE * abs(amounts[c])
        dual[c] = 0.0
    for c in range(amounts.shape[0]):
        amounts[c] = amounts[c] if abs(amounts[c]) > least else 0.0
        if amounts[c] != 0.0:
            add(dual, program.inverse[c], 1.0 if amounts[c] > 0 else -1.0)
    along_all(program.columns, dual, program.prices)
    for k in range(program.prices.shape[0]):
        if abs(program.prices[k]) > 1 + SLACK:
            return False
    return True


@merged
def move(program):
    """Put the direction, moved along the spanning arms by amounts of which no two are equal, into `moved`."""
    moved, amounts, size = program.moved, program.amounts, 0.0
    for c in range(amounts.shape[0]):
        moved[c] = program.direction[c]
        size += PERTURBATION * abs(amounts[c])
    for b in range(amounts.shape[0]):
        amount = size * (0.5 + (0.6180339887498949 * (b + 1)) % 1.0)
        for c in range(moved.shape[0]):
            moved[c] += (-amount if amounts[b] < 0 else amount) * program.columns[c, program.spanning[b]]


@kernel
def from_spanning(program):
    r = program.basis.shape[0]
    for b in range(r):
        program.basis[b] = program.spanning[b]
        for c in range(r):
            program.current[b, c] = program.inverse[b, c]
    solved = descend(program)
    times_vector(program.current, program.direction, program.amounts)
    in_order(program.basis, program.amounts)
    return absolute(program.amounts) and solved


@kernel
def descend(program):
    """Pivot from `basis` and its inverse until |w|_1 is smallest; return False if that is not reached."""
    current, amounts, dual, prices = program.current, program.amounts, program.dual, program.prices
    times_vector(current, program.moved, amounts)
    flip(current, amounts)
    for _ in range(PIVOTS * dual.shape[0]):
        for c in range(dual.shape[0]):
            dual[c] = 0.0
        for b in range(dual.shape[0]):
            add(dual, current[b], 1.0)
        along_all(program.columns, dual, prices)
        enter = farthest(program)
        if abs(prices[enter]) <= 1.0 + SLACK:
            return True
        times(current, program.columns, enter, program.rate)
        if not exchange(current, amounts, program.basis, program.rate, prices[enter], enter):
            return False
    return False


@merged
def farthest(program):
    """Return the arm outside the basis of largest |x'c|, and set the prices inside the basis to 0."""
    arm, prices = np.int64(0), program.prices
    for b in range(program.basis.shape[0]):
        prices[program.basis[b]] = 0.0
    for k in range(prices.shape[0]):
        if abs(prices[k]) > abs(prices[arm]) * (1 + SLACK):
            arm = np.int64(k)
    return arm
