"""The signed program of LinGapE, and the tables of its solutions."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from bandits_lib import instances
from bandits_lib.design import pair_allocations
from bandits_lib.design.elfving import signed_program, single_direction
from bandits_lib.design.pair_allocations import ROWS, Allocations, allocate, enter

ARMS = {f"normal {seed}": np.random.default_rng(seed).standard_normal((15, 4)) for seed in range(3)}
ARMS |= {
    "adaptive": instances.benchmark(9, angle=0.1).arms,
    "independent": instances.sphere(7, np.random.default_rng(0), d=7).arms,
}


@pytest.mark.parametrize("arms", ARMS.values(), ids=ARMS.keys())
def test_allocations_solve_the_signed_program(arms):
    """||w||_1 is least among all signed w with X'w = x_i - x_j (HiGHS), and more pairs make the table grow."""
    (K, r), known = arms.shape, Allocations(partial(allocate, signed_program(arms)), *arms.shape)
    for i in range(K):
        for j in range(i):
            row = known.enter(i, j)
            shares = known.table.shares[row]
            used = shares > 0
            signed, y = np.hstack([arms.T, -arms.T]), arms[i] - arms[j]
            least = linprog(np.ones(2 * K), A_eq=signed, b_eq=y).fun
            support = arms[known.table.support[row][used]]
            inverse = np.linalg.pinv((support.T * shares[used]) @ support)
            assert used.sum() <= r and shares[used].sum() == pytest.approx(1)
            assert y @ inverse @ y == pytest.approx(least**2, rel=1e-6), "Elfving's theorem"
    keys = known.table.keys[: known.table.known[0]]
    assert len(keys) == K * (K - 1) // 2 and (np.diff(keys) > 0).all()


def test_nearly_parallel_arms_fall_back_on_a_general_solver(monkeypatch):
    program = signed_program(np.random.default_rng(0).standard_normal((9, 3)))
    exact = allocate(program, 2, 5)
    monkeypatch.setattr(pair_allocations, "solve_pair", lambda program, i, j: False)
    general = allocate(program, 2, 5)
    np.testing.assert_allclose(general, exact)
    assert (general > 0).sum() == (exact > 0).sum() == 3


def test_a_pair_without_room_or_solution_in_the_loop_is_left_to_the_caller():
    program = signed_program(np.random.default_rng(0).standard_normal((15, 3)))
    known = Allocations(partial(allocate, program), 15, 3, program)
    assert enter(known.table, program._replace(columns=program.columns * np.nan), 2, 5) == -1
    rows = [enter(known.table, program, i, j) for i in range(15) for j in range(i)]
    assert rows == [*range(ROWS), *[-1] * (105 - ROWS)]
    assert known.enter(14, 13) == ROWS < len(known.table.keys) and known.enter(1, 0) == 0


MANY = {
    "normal": np.random.default_rng(3).standard_normal((40, 4)),
    "sphere": instances.sphere(128, np.random.default_rng(1), d=10, mix=0.01).arms,
    "cube": np.array(list(product((0.0, 1.0), repeat=4)))[1:],
    "polygon": np.column_stack([np.cos(np.arange(14) * np.pi / 7), np.sin(np.arange(14) * np.pi / 7)]),
    "copies": np.repeat(np.random.default_rng(4).standard_normal((8, 3)), 3, axis=0),
}


@pytest.mark.parametrize("arms", MANY.values(), ids=MANY.keys())
def test_pairs_that_were_solved_before_do_not_change_a_solution(arms):
    """In two orders, and alone; the value is that of `single_direction`."""
    rng = np.random.default_rng(0)
    pairs = [tuple(sorted(rng.choice(len(arms), 2, replace=False))) for _ in range(100)]
    after_others = signed_program(arms)
    solved = {pair: allocate(after_others, *pair) for pair in pairs}
    backwards = signed_program(arms)
    again = {pair: allocate(backwards, *pair) for pair in reversed(pairs)}
    for pair, weights in solved.items():
        np.testing.assert_array_equal(again[pair], weights)
        np.testing.assert_array_equal(allocate(signed_program(arms), *pair) > 0, weights > 0)
        np.testing.assert_allclose(allocate(signed_program(arms), *pair), weights, rtol=1e-9)
        y = arms[pair[0]] - arms[pair[1]]
        if y.any():
            inverse = np.linalg.pinv((arms.T * weights) @ arms)
            assert y @ inverse @ y == pytest.approx(single_direction(arms, y)[1], rel=1e-7)
