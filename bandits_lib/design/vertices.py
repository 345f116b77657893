"""One pair of arms after another: min |w|_1 subject to X'w = x_i - x_j, from the best vertex known.

The duals c of `single` are the vertices of the polytope |x'c| <= 1, whatever the direction y; the optimum is the vertex
of largest y'c. So the simplex begins at the best of the last MEMORY vertices at which a pair ended: pairs that share an
arm are near each other. The inverse of the basis is kept: a pivot costs O(Kr + r^2). With few arms per dimension the
spanning arms are as good a beginning, whose inverse is at hand.

The direction is moved by a little along the spanning arms, as in `single`: its basis is unique if the vertex is.
Amounts are solved for anew from the basis in the order of the arms. So they depend on arms and direction alone, and on
no pair before. Where the vertex may not be unique, an arm out of the basis nearly tight, the spanning arms begin.

All of it is compiled without reference counts (see `kernels`), for the loop that pulls.
"""

from typing import NamedTuple

import numpy as np

from bandits_lib.design.d_optimal import spanning_arms
from bandits_lib.design.pivots import NEGLIGIBLE, absolute, flip, in_order, invert, pivot
from bandits_lib.design.single import PERTURBATION, SLACK
from bandits_lib.numerics.in_place import add
from bandits_lib.numerics.kernels import along_all, inlined, kernel, times, times_vector
from bandits_lib.numerics.ordered import transposed

MEMORY = 64  # vertices
FEW = 2  # arms per dimension up to which the spanning arms begin
UNIQUE = 1e-7  # below 1 by less than that, an arm out of the basis is nearly tight
PIVOTS = 20  # at most, per dimension


class Program(NamedTuple):
    """The program of arms of rank r, the vertices at which pairs ended, and the pair at hand."""

    columns: np.ndarray  # (r, K), the arms
    spanning: np.ndarray  # (r,), spanning arms
    inverse: np.ndarray  # (r, r), of the matrix whose columns they are
    duals: np.ndarray  # (MEMORY, r), vertices
    bases: np.ndarray  # (MEMORY, r), the arms that are tight there
    ended: np.ndarray  # (1,), how many pairs ended at a vertex
    basis: np.ndarray  # (r,), arms of the pair at hand, in order when it is solved
    amounts: np.ndarray  # (r,), theirs, 0 if negligible
    direction: np.ndarray  # (r,)
    moved: np.ndarray  # (r,)
    dual: np.ndarray  # (r,)
    rate: np.ndarray  # (r,), by which the amounts fall as an arm enters
    prices: np.ndarray  # (K,), x'c
    current: np.ndarray  # (r, r), the inverse of the basis, its signs included
    matrix: np.ndarray  # (r, r), scratch


def signed_program(arms):
    """The `Program` of arms (K, r) of rank r."""
    K, r = arms.shape
    spanning = spanning_arms(arms)
    return Program(
        columns=transposed(arms),
        spanning=spanning,
        inverse=np.linalg.inv(arms[spanning].T),
        duals=np.zeros((MEMORY, r)),
        bases=np.zeros((MEMORY, r), np.int64),
        ended=np.zeros(1, np.int64),
        basis=spanning.copy(),
        amounts=np.zeros(r),
        direction=np.zeros(r),
        moved=np.zeros(r),
        dual=np.zeros(r),
        rate=np.zeros(r),
        prices=np.zeros(K),
        current=np.zeros((r, r)),
        matrix=np.zeros((r, r)),
    )


@kernel
def solve_pair(program, i, j):
    """Put arms and amounts for x_i - x_j into `basis` and `amounts`; False if the program gives up."""
    basis, amounts, direction = program.basis, program.amounts, program.direction
    alike = True
    for c in range(direction.shape[0]):
        direction[c] = program.columns[c, i] - program.columns[c, j]
        alike = alike and direction[c] == 0.0
        basis[c], amounts[c] = program.spanning[c], 0.0
    if alike:  # copies: nothing can tell them apart, and any arm is as good
        basis[0], amounts[0] = i, 1.0
        return True
    times_vector(program.inverse, direction, amounts)
    if spanning_suffice(program):
        in_order(basis, amounts)
        return absolute(amounts)
    move(program)
    return (program.prices.shape[0] > FEW * basis.shape[0] and nearby(program)) or from_spanning(program)


@kernel
def spanning_suffice(program):
    """Whether the amounts of the spanning arms are optimal: their dual is feasible, and of equal value."""
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


@inlined
def move(program):
    """Put the direction moved along the spanning arms into `moved`, by amounts of which no two are alike."""
    moved, amounts, size = program.moved, program.amounts, 0.0
    for c in range(amounts.shape[0]):
        moved[c] = program.direction[c]
        size += PERTURBATION * abs(amounts[c])
    for b in range(amounts.shape[0]):
        amount = size * (0.5 + (0.6180339887498949 * (b + 1)) % 1.0)
        for c in range(moved.shape[0]):
            moved[c] += (-amount if amounts[b] < 0 else amount) * program.columns[c, program.spanning[b]]


@kernel
def nearby(program):
    """Solve from the best vertex known, and remember where it ends; False if there is none, or it is not unique."""
    basis, amounts, ended = program.basis, program.amounts, program.ended
    if ended[0] == 0:
        from_spanning(program)
    else:
        row = nearest(program)
        for c in range(basis.shape[0]):
            basis[c] = program.bases[row, c]
        take_basis(program)
        invert(program.matrix, program.current)
        descend(program)
    if not abs(program.prices[farthest(program)]) < 1.0 - UNIQUE:
        return False
    in_order(basis, amounts)
    take_basis(program)
    invert(program.matrix, program.current)
    times_vector(program.current, program.direction, amounts)
    row = ended[0] % program.duals.shape[0]
    for c in range(basis.shape[0]):
        program.duals[row, c], program.bases[row, c] = program.dual[c], basis[c]
    ended[0] += 1
    return absolute(amounts)


@kernel
def from_spanning(program):
    """Solve from the spanning arms; False if that fails."""
    r = program.basis.shape[0]
    for b in range(r):
        program.basis[b] = program.spanning[b]
        for c in range(r):
            program.current[b, c] = program.inverse[b, c]
    solved = descend(program)
    times_vector(program.current, program.direction, program.amounts)
    in_order(program.basis, program.amounts)
    return absolute(program.amounts) and solved


@inlined
def nearest(program):
    """The row of the vertex c of largest |direction'c|."""
    row, most = 0, -1.0
    for n in range(min(program.ended[0], program.duals.shape[0])):
        along = 0.0
        for c in range(program.direction.shape[0]):
            along += program.duals[n, c] * program.direction[c]
        if abs(along) > most:
            row, most = n, abs(along)
    return row


@inlined
def take_basis(program):
    """The arms of the basis, as columns of `matrix`."""
    for c in range(program.basis.shape[0]):
        for b in range(program.basis.shape[0]):
            program.matrix[c, b] = program.columns[c, program.basis[b]]


@kernel
def descend(program):
    """Pivots from `basis` and its inverse until |w|_1 is least; False if it does not come to that."""
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
        if not pivot(current, amounts, program.basis, program.rate, prices[enter], enter):
            return False
    return False


@inlined
def farthest(program):
    """The arm out of the basis of largest |x'c|; in the basis prices are 0 afterwards."""
    arm, prices = 0, program.prices
    for b in range(program.basis.shape[0]):
        prices[program.basis[b]] = 0.0
    for k in range(prices.shape[0]):
        if abs(prices[k]) > abs(prices[arm]) * (1 + SLACK):
            arm = k
    return arm
