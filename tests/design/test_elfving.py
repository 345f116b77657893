"""The design of one direction: exact, by Elfving's theorem, in closed form where one is known, without cycles."""

import numpy as np
import pytest
from arrangements import soare, sphere

from bandits_lib.design import design_value, pairs, xy_design
from bandits_lib.design.elfving import single_direction


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("n_arms, d", [(6, 5), (40, 8), (3000, 2), (500, 20)])
def test_one_direction_is_exact(n_arms, d, seed):
    """rho(y) = ||w||_1^2 and the dual bound agree to rounding (Elfving)."""
    arms = sphere(n_arms, d, seed)
    design = xy_design(arms, np.random.default_rng(seed).normal(size=(1, d)))
    assert design.value == pytest.approx(design.lower_bound, rel=1e-9)
    assert (design.weights > 0).sum() <= d


def test_two_close_arms():
    """w measures e_1 - x' = (1 - cos) e_1 - sin e_2 by e_1 and e_2 or by x' itself: known in closed form."""
    for angle in (0.3, 0.01, 1e-4):
        arms = soare(6, angle)
        design = xy_design(arms, pairs(arms[[0, -1]]))
        exact = (1 - np.cos(angle) + np.sin(angle)) ** 2
        assert design.value == pytest.approx(exact, rel=1e-8)
        assert (design.weights > 0).sum() == 2


def test_one_direction_that_is_an_arm():
    """The degenerate vertex: y is an arm, all other amounts are zero; the value is at most one."""
    arms = np.vstack([np.eye(6)] * 3)
    design = xy_design(arms, np.eye(6)[2:3])
    assert design.value == pytest.approx(1, rel=1e-12)
    assert design.weights[[2, 8, 14]].sum() == 1


@pytest.mark.parametrize("seed", range(3))
def test_a_direction_in_a_face_is_solved_by_the_simplex_method(seed):
    """Two of nine dimensions carry the difference of two arms: every basis is degenerate, and ties must not cycle."""
    arms = sphere(100, 9, seed)
    for i, j in np.random.default_rng(seed).integers(100, size=(40, 2)):
        if i != j:
            weights, bound, pivots = single_direction(arms, arms[i] - arms[j])
            assert pivots < 60 and np.count_nonzero(weights) <= 9
            assert design_value(arms, weights, (arms[i] - arms[j])[None]) == pytest.approx(bound, rel=1e-9)
