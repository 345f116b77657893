"""Gaussian widths, and the design of least width beside slow references. Widths and gradients: tests/plain."""

import numpy as np
import pytest
from scipy.optimize import minimize

from bandits_lib import LinearBandit, instances
from bandits_lib.design import design_value, xy_design
from bandits_lib.design.gaussian_width import (
    batch,
    points_in,
    solve_width,
    width_and_pressures,
    width_design,
    without_slight_atoms,
)
from bandits_lib.numerics.span import span

ADAPTIVE = instances.benchmark(7, angle=0.1, scale=1.0, sigma=np.sqrt(10))
SPHERE = instances.sphere(20, np.random.default_rng(2), d=4, mix=0.01)
TRANSDUCTIVE = LinearBandit(
    np.vstack([np.eye(3), [0.5, 0.5, 0.0]]),
    items=np.random.default_rng(3).standard_normal((12, 3)),
    theta=[1.0, 0.3, 0.0],
)
PROBLEMS = {"adaptive": ADAPTIVE, "sphere": SPHERE, "transductive": TRANSDUCTIVE}
each_problem = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS.keys())


def prepared(problem, draws=256, seed=0):
    """Arms and items in coordinates of the span, and a batch of normals."""
    space = span(problem.arms)
    points = points_in(space, problem.items)
    return space.arms, points, batch(draws, points.shape[1], np.random.default_rng(seed))


def slow_least(arms, points, normals, starts=3):
    """Least squared width of the batch by a general solver over softmax weights, from several starts."""
    best = np.inf

    def objective(logits):
        weights = np.exp(logits - logits.max())
        weights /= weights.sum()
        width, pressures = width_and_pressures(arms, points, normals, 0.9999 * weights + 1e-4 / len(weights))
        gradient = -0.9999 * width * pressures / 2
        return np.log(width), weights * (gradient - weights @ gradient) / width

    rng = np.random.default_rng(5)
    for _ in range(starts):
        logits = rng.standard_normal(len(arms))
        for _ in range(4):
            logits = minimize(objective, logits, jac=True, method="BFGS", options={"maxiter": 500}).x
        best = min(best, np.exp(2 * objective(logits)[0]))
    return best


# ---- the width


def test_the_width_is_convex_and_its_bound_holds():
    """The theorem of the file header, on a batch so large that its error is below the differences seen."""
    arms, points, normals = prepared(SPHERE, draws=40_000)
    rng = np.random.default_rng(0)
    designs = rng.dirichlet(np.ones(len(arms)), 6)
    widths = [width_and_pressures(arms, points, normals, weights)[0] for weights in designs]
    for i in range(5):
        middle, _ = width_and_pressures(arms, points, normals, (designs[i] + designs[i + 1]) / 2)
        assert middle < (widths[i] + widths[i + 1]) / 2
    least = solve_width(arms, points, normals, tol=1e-3, most=400)
    assert least.lower_bound <= least.value <= 1.01 * least.lower_bound
    for weights in designs:
        width, pressures = width_and_pressures(arms, points, normals, weights)
        assert width**2 / pressures.max() < least.value


# ---- the design of least width


@each_problem
def test_the_descent_reaches_the_optimum_of_a_general_solver(problem):
    arms, points, normals = prepared(problem)
    design = solve_width(arms, points, normals, tol=1e-4, most=400)
    assert design.weights.sum() == pytest.approx(1.0) and (design.weights > 0).all()
    assert design.value == pytest.approx(width_and_pressures(arms, points, normals, design.weights)[0] ** 2)
    assert design.value <= 1.002 * slow_least(arms, points, normals)
    quick = solve_width(arms, points, normals)
    assert quick.value <= 1.01 * design.value and quick.iterations <= 60


def test_orthogonal_arms_share_the_pulls_equally():
    """gamma = d (E max of d normals)^2 at the uniform design; E max of three is 3 / (2 sqrt(pi))."""
    design = width_design(np.eye(3), np.eye(3), draws=20_000, rng=np.random.default_rng(0))
    exact = 3 * (3 / (2 * np.sqrt(np.pi))) ** 2
    spread = np.random.default_rng(1).standard_normal((20_000, 3))
    error = (np.ptp(spread, axis=1) / 2).std() / np.sqrt(10_000) * np.sqrt(3) * 2 * np.sqrt(exact)
    assert abs(design.value - exact) < 4 * error
    np.testing.assert_allclose(design.weights, 1 / 3, atol=0.02)


def test_two_items_have_the_design_of_their_difference():
    arms, points, normals = prepared(ADAPTIVE, draws=20_000)
    pair = points[[0, 7]]
    exact = xy_design(arms, (pair[1] - pair[0])[None]).value / (2 * np.pi)
    found = solve_width(arms, pair, normals, tol=1e-3, most=2_000).value
    error = 2 * exact * np.sqrt(np.pi / 2 - 1) / np.sqrt(10_000)  # of the squared mean of |N|
    assert abs(found - exact) < 4 * error + 0.01 * exact


def test_a_target_is_answered_as_by_the_full_solution():
    arms, points, normals = prepared(SPHERE)
    value = solve_width(arms, points, normals, tol=1e-4, most=400).value
    for factor in (0.5, 0.9, 1.1, 2.0):
        quick = solve_width(arms, points, normals, target=factor * value)
        assert (quick.value <= factor * value) == (factor > 1)


@each_problem
def test_atoms_are_dropped_at_a_price_of_one_percent(problem):
    arms, points, normals = prepared(problem)
    few = points[:4]
    weights = solve_width(arms, few, normals, tol=1e-3, most=200).weights
    fewer = without_slight_atoms(arms, weights, few)
    assert np.count_nonzero(fewer) < np.count_nonzero(weights) and fewer.sum() == pytest.approx(1.0)
    differences = np.array([z - w for z in few for w in few if not np.array_equal(z, w)])
    for y in differences:
        assert design_value(arms, fewer, y[None]) <= 1.0101 * design_value(arms, weights, y[None])


def test_a_width_design_refuses_bad_input():
    rng = np.random.default_rng(0)
    for draws in (0, 3, 2.0, True):
        with pytest.raises(ValueError, match="draws must be an even integer of at least 2"):
            width_design(np.eye(2), np.eye(2), draws=draws, rng=rng)
    with pytest.raises(ValueError, match="differences of items must lie in the span"):
        width_design(np.array([[1.0, 0.0]]), np.eye(2), rng=rng)
    with pytest.raises(ValueError, match="items must hold two distinct rows"):
        width_design(np.eye(2), np.ones((3, 2)), rng=rng)
