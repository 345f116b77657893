"""LinGapE's program as the code of azizi2022 solves it: w >= 0, by SLSQP from equal weights."""

import subprocess
import sys
from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

from bandits_lib import instances
from bandits_lib.design import pair_allocations
from bandits_lib.design.pair_allocations import OrderedPairs, least_weights, nonnegative_allocations

ADAPTIVE = instances.benchmark(5, angle=0.1, scale=1.0).arms
SPHERE = instances.sphere(60, np.random.default_rng(1), d=3).arms


def literal(arms, direction):
    """The published call, with finite differences."""
    equal = {"type": "eq", "fun": lambda w: np.sum(w[:, np.newaxis] * arms, axis=0) - direction}
    start, bounds = np.ones(len(arms)) / len(arms), [(0, None)] * len(arms)
    w = minimize(lambda w: np.linalg.norm(w, ord=1), start, method="SLSQP", bounds=bounds, constraints=equal).x
    return np.abs(w) / np.abs(w).sum()


@pytest.mark.parametrize("pair", [(0, 5), (5, 0), (0, 1), (3, 5), (2, 3)])
def test_weights_are_those_of_the_published_call(pair):
    i, j = pair
    direction = ADAPTIVE[i] - ADAPTIVE[j]
    np.testing.assert_allclose(OrderedPairs(ADAPTIVE).solve(i, j), literal(ADAPTIVE, direction), atol=1e-5)


def test_a_difference_in_the_cone_of_the_arms_is_solved():
    direction = SPHERE[0] - SPHERE[7]
    best = linprog(np.ones(60), A_eq=SPHERE.T, b_eq=direction).x
    np.testing.assert_allclose(least_weights(SPHERE, direction), best / best.sum(), atol=1e-5)


def test_the_arm_that_leads_decides_whether_the_informative_arm_is_pulled():
    """No difference is in the cone here; with e_1 ahead of x' nothing goes to e_2 or x', with x' ahead most to e_2."""
    ahead, behind = OrderedPairs(ADAPTIVE).solve(0, 5), OrderedPairs(ADAPTIVE).solve(5, 0)
    assert ahead[[1, 5]].max() < 1e-6 and behind[1] > 0.5


def test_weights_do_not_depend_on_which_pairs_were_met_before():
    """Pairs that differ by the names of the arms alone have last points that differ by rounding errors."""
    pairs, last = list(permutations(range(6), 2)), {}
    for order in (pairs, pairs[::-1]):
        pair_allocations.allocations_clear()
        table = nonnegative_allocations(ADAPTIVE)
        rows = {pair: table.enter(*pair) for pair in order}
        for pair, row in rows.items():
            np.testing.assert_array_equal(table.table.shares[row], last.setdefault(pair, table.table.shares[row]))
    assert len(last) == 30


def test_pairs_of_one_shape_are_solved_once():
    pairs = OrderedPairs(ADAPTIVE)
    first, second = pairs.solve(4, 3), pairs.solve(2, 4)
    assert (
        len(pairs.solved) == 1
        and pairs.first(4, 3) == pairs.first(2, 4) == (2, 3)
        and first[4] == second[2]
        and first[3] == second[4]
    )
    np.testing.assert_allclose(second, least_weights(ADAPTIVE, ADAPTIVE[2] - ADAPTIVE[4]), atol=1e-5)


@pytest.mark.parametrize("arms", [ADAPTIVE, SPHERE[:8]], ids=["adaptive", "sphere"])
def test_pairs_have_the_same_shapes_in_every_unit(arms):
    tables = [OrderedPairs(arms * unit) for unit in (1e-6, 1.0, 1e6)]
    firsts = [[table.first(*pair) for pair in permutations(range(6), 2)] for table in tables]
    assert firsts[0] == firsts[1] == firsts[2] and len(set(firsts[1])) == (13 if arms is ADAPTIVE else 30)


def test_pairs_are_ordered():
    table = nonnegative_allocations(ADAPTIVE)
    assert table.enter(0, 5) != table.enter(5, 0) and table.enter(0, 5) == table.enter(0, 5)
    assert nonnegative_allocations(ADAPTIVE) is table


PRINT_POINTS = """
import numpy as np
from bandits_lib import instances
from bandits_lib.design.pair_allocations import least_weights
arms = instances.sphere(16, np.random.default_rng(1), d=10, mix=0.01).arms
print(b"".join(least_weights(arms, arms[i] - arms[0]).tobytes() for i in range(1, 16)).hex())
"""


@pytest.mark.slow
@pytest.mark.skipif(not pair_allocations.is_here(), reason="nothing to do: no PySLSQP for this system")
def test_last_points_without_a_solution_are_the_same_on_other_processors(monkeypatch):
    printed = set()
    for processor in ("SkylakeX", "Nehalem"):
        monkeypatch.setenv("OPENBLAS_CORETYPE", processor)
        asked = subprocess.run(
            [sys.executable, "-c", PRINT_POINTS], capture_output=True, text=True, check=True, timeout=600
        )
        printed.add(asked.stdout)
    assert len(printed) == 1 and len(printed.pop()) > 1_000


@pytest.mark.slow
@pytest.mark.skipif(not pair_allocations.is_here(), reason="nothing to do: no PySLSQP for this system")
@pytest.mark.parametrize(("draw", "solved", "alike"), [(2, True, 1.0), (1, False, 0.7)])
def test_kraft_s_program_ends_where_scipy_s_ends(draw, solved, alike):
    """Always where there is a solution; where there is none, wherever rounding errors did not grow."""
    arms = instances.sphere(16, np.random.default_rng(draw), d=10, mix=0.01).arms
    directions = [arms[i] - arms[j] for i in range(16) for j in range(16) if i != j]
    assert all((linprog(np.ones(16), A_eq=arms.T, b_eq=y).status == 0) == solved for y in directions)
    ours = np.array([pair_allocations._last_of_kraft(arms, y) for y in directions])
    theirs = np.array([pair_allocations._last_of_scipy(arms, y) for y in directions])
    assert np.mean(np.abs(ours - theirs).max(axis=1) < 1e-5) >= alike


@pytest.mark.slow
def test_no_figure_is_moved_to_a_window():
    asked = "from matplotlib import pyplot; pyplot.switch_backend('svg'); "
    asked += "from bandits_lib.design import pair_allocations; "
    asked += "pair_allocations.is_here() and pair_allocations._optimize(); print(pyplot.get_backend())"
    found = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True, timeout=600)
    assert found.stdout.strip() == "svg" and not found.stderr
