"""Designs: Kiefer and Wolfowitz, certificates against a conic solver, invariances, bad input."""

import warnings

import numpy as np
import pytest
from arrangements import cases, certified, differences, many_arms, norms, oracle, soare, sphere

from bandits_lib import instances, play
from bandits_lib.complexity import oracle_design
from bandits_lib.design import design_value, frank_wolfe_design, g_design, pairs, weighted_design, xy_design
from bandits_lib.design.rounding import per_cost
from bandits_lib.design.xy_optimal import two_players
from bandits_lib.fixed_confidence import rage


def conic_optimum(arms, directions, sigma=1.0):
    """min over lambda of max ||y||^2 = min over (lambda, U) of max_y sum_x u_xy^2 / lambda_x, X'u_y = y (conic).

    Directions are scaled to unit length times their relative length, arms by 1/sigma; Clarabel at 1e-9.
    """
    import cvxpy as cp  # a second, which every worker would wait for

    scaled = arms / np.broadcast_to(sigma, len(arms))[:, None]
    length = np.linalg.norm(directions, axis=1).max()
    weights, top = cp.Variable(len(arms), nonneg=True), cp.Variable()
    constraints = [cp.sum(weights) == 1]
    for y in directions / length:
        u, part = cp.Variable(len(arms)), cp.Variable(len(arms))
        constraints += [scaled.T @ u == y, cp.sum(part) <= top]
        constraints += [cp.SOC(weights + part, cp.vstack([2 * u, weights - part]), axis=0)]
    cp.Problem(cp.Minimize(top), constraints).solve(solver=cp.CLARABEL)
    return float(top.value) * length**2


# ---- G-designs


@pytest.mark.parametrize("arms", [sphere(60, 4), sphere(300, 12), soare(8), np.eye(5), many_arms(200)])
@pytest.mark.parametrize("tol", [1e-2, 1e-3, 1e-6])
def test_kiefer_wolfowitz(arms, tol):
    """The G-value is the rank, and the D-value cannot be improved: every arm has leverage at most r."""
    design = g_design(arms, tol)
    rank = np.linalg.matrix_rank(arms)
    certified(design, tol)
    assert design.lower_bound == rank
    assert norms(arms, design.weights, arms).max() == pytest.approx(design.value, rel=1e-9)
    assert (design.weights > 0).sum() <= rank * (rank + 1) // 2


def test_g_is_xy_on_the_arms():
    arms = sphere(80, 5, 4)
    assert xy_design(arms, arms).value == pytest.approx(5, rel=1e-3)


# ---- XY designs against a conic solver


CASES = list(cases())


@pytest.mark.parametrize("name, arms, directions, sigma", CASES, ids=[case[0] for case in CASES])
def test_certificate_against_a_conic_solver(name, arms, directions, sigma):
    design = weighted_design(arms, directions, sigma)
    certified(design)
    moving = directions[directions.any(axis=1)]
    optimum = conic_optimum(arms, moving, sigma)
    assert design.lower_bound <= optimum * (1 + 1e-5)
    assert optimum <= design.value * (1 + 1e-5)
    assert norms(arms, design.weights, directions, sigma).max() == pytest.approx(design.value, rel=1e-7)
    rank = np.linalg.matrix_rank(arms)
    assert (design.weights > 0).sum() <= rank * (rank + 1) // 2


def test_a_wrong_certificate_would_be_noticed():
    """Negative control: uniform weights are not optimal, and their value is above the certified bound."""
    arms = soare(6)
    bound = xy_design(arms, pairs(arms)).lower_bound
    assert norms(arms, np.full(7, 1 / 7), differences(arms)).max() > 1.05 * bound


@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-6])
def test_tolerance_is_kept(tol):
    arms = sphere(150, 5, 8)
    certified(xy_design(arms, pairs(arms), tol), tol)
    certified(xy_design(arms, np.random.default_rng(0).normal(size=(400, 5)), tol), tol)


@pytest.mark.parametrize("seed", range(40))
def test_random_instances_are_certified(seed):
    """Shapes, lengths and ranks at random: arms of lengths over four decades, directions over four."""
    rng = np.random.default_rng(seed)
    d, n_arms = rng.integers(1, 8), rng.integers(1, 60)
    rank = rng.integers(1, d + 1)
    arms = rng.normal(size=(n_arms, rank)) @ rng.normal(size=(rank, d)) * 10 ** rng.uniform(-2, 2, (n_arms, 1))
    n = rng.integers(1, 50)
    directions = rng.normal(size=(n, n_arms)) @ arms * 10 ** rng.uniform(-2, 2, (n, 1))
    sigma = 10 ** rng.uniform(-1, 1, n_arms)
    design = weighted_design(arms, directions, sigma)
    certified(design)
    assert norms(arms, design.weights, directions, sigma).max() == pytest.approx(design.value, rel=1e-5)


def test_oracle_weights_far_below_1e_5_are_kept():
    arms = soare(5, 1e-3)
    design = xy_design(arms, oracle(arms, np.array([2.0, 0, 0, 0, 0])), 1e-5)
    certified(design, 1e-5)
    assert ((0 < design.weights[2:5]) & (design.weights[2:5] < 1e-6)).all()


def test_value_of_weights_and_counts():
    arms, sigma = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]), np.array([1.0, 2.0, 1.0])
    counts = np.array([3, 4, 0])
    y = np.array([1.0, -1.0])
    information = sum(n * np.outer(x, x) / s**2 for n, x, s in zip(counts, arms, sigma, strict=True))
    assert design_value(arms, counts, y[None], sigma) == pytest.approx(y @ np.linalg.solve(information, y))
    assert design_value(arms, [1.0, 0.0, 0.0], pairs(arms)) == np.inf
    assert design_value(arms, [1.0, 0.0, 0.0], np.eye(2)) == np.inf  # one of the two could be estimated
    assert design_value(arms, [1.0, 0.0, 0.0], np.eye(2)[:1]) == pytest.approx(1)
    for weights in ([1.0, 0.0], [1.0, -1.0, 0.0], [0.0, 0.0, 0.0], [np.nan, 1.0, 0.0]):
        with pytest.raises(ValueError, match="weights must be"):
            design_value(arms, weights, pairs(arms))


def test_thirty_thousand_items_in_the_plane():
    arms = many_arms(30_000)
    certified(xy_design(arms, pairs(arms)))
    certified(xy_design(arms, pairs(arms[2:20_000])))


# ---- invariance


def test_permuting_arms_and_items():
    rng = np.random.default_rng(3)
    arms, items = sphere(70, 4, 9), rng.normal(size=(50, 4))
    shuffled = xy_design(arms[rng.permutation(70)], pairs(items[rng.permutation(50)]), 1e-5)
    assert shuffled.value == pytest.approx(xy_design(arms, pairs(items), 1e-5).value, rel=1e-5)


def test_change_of_basis():
    rng = np.random.default_rng(4)
    arms, items = sphere(70, 4, 9), rng.normal(size=(50, 4))
    basis = rng.normal(size=(4, 4)) @ np.diag([1e-3, 1, 10, 1e3])
    moved = xy_design(arms @ basis, pairs(items @ basis), 1e-5)
    assert moved.value == pytest.approx(xy_design(arms, pairs(items), 1e-5).value, rel=1e-5)
    assert g_design(arms @ basis).value == pytest.approx(4, rel=1e-3)


def test_units():
    """Directions in other units scale the value by the square; equal sigmas by sigma^2, with the same weights."""
    arms = sphere(40, 4, 9)
    plain = xy_design(arms, pairs(arms))
    assert xy_design(arms, pairs(1e4 * arms)).value == pytest.approx(1e8 * plain.value, rel=1e-3)
    weighted = weighted_design(arms, pairs(arms), np.full(40, 0.5))
    assert weighted.value == pytest.approx(0.25 * plain.value, rel=1e-9)
    np.testing.assert_allclose(weighted.weights, plain.weights, atol=1e-9)


# ---- bad input

GOOD = sphere(6, 3)
BAD = [
    (lambda: g_design([1.0, 2.0]), "arms must be a matrix"),
    (lambda: g_design(np.empty((0, 3))), "arms must not be empty"),
    (lambda: g_design(np.array([[1.0, np.nan]])), "arms must be finite"),
    (lambda: g_design(np.array([[np.inf, 1.0]])), "arms must be finite"),
    (lambda: g_design(np.zeros((3, 2))), "arms must not all be zero"),
    (lambda: g_design(GOOD, tol=0), "tol must lie in"),
    (lambda: g_design(GOOD, tol=np.nan), "tol must lie in"),
    (lambda: g_design(GOOD, tol="small"), "tol must lie in"),
    (lambda: xy_design(GOOD, GOOD, tol=-1), "tol must lie in"),
    (lambda: xy_design(GOOD, GOOD[:, :2]), "directions must have the same number of columns"),
    (lambda: xy_design(GOOD, pairs(GOOD[:, :2])), "items must have the same number of columns"),
    (lambda: xy_design(GOOD, GOOD[0]), "directions must be a matrix"),
    (lambda: xy_design(GOOD, np.full((2, 3), np.nan)), "directions must be finite"),
    (lambda: xy_design(GOOD, np.zeros((2, 3))), "directions must not all be zero"),
    (lambda: pairs(GOOD[0]), "items must be a matrix"),
    (lambda: pairs(np.full((2, 3), np.inf)), "items must be finite"),
    (lambda: xy_design(GOOD, pairs(GOOD[:1])), "items must hold two distinct rows"),
    (lambda: xy_design(GOOD, pairs(GOOD[[1, 1, 1]])), "items must hold two distinct rows"),
    (lambda: xy_design(np.eye(3)[:2], np.eye(3)), "directions must lie in the span of the arms"),
    (lambda: xy_design(np.eye(3)[:2], pairs(np.eye(3))), "items must lie in the span of the arms"),
    (lambda: weighted_design(GOOD, GOOD, 0.0), "sigma must be positive"),
    (lambda: weighted_design(GOOD, GOOD, np.r_[np.ones(5), -1]), "sigma must be positive"),
    (lambda: weighted_design(GOOD, GOOD, np.r_[np.ones(5), np.nan]), "sigma must be positive"),
    (lambda: weighted_design(GOOD, GOOD, np.ones(5)), "sigma must be one standard deviation or one per arm"),
    (lambda: frank_wolfe_design(GOOD, GOOD, sigma=-1.0), "sigma must be positive"),
    (lambda: frank_wolfe_design(GOOD, GOOD, value_at="end"), "value_at must be one of"),
    (lambda: frank_wolfe_design(GOOD, GOOD, prune=0.5), "prune must lie in"),
    (lambda: frank_wolfe_design(GOOD, GOOD, pruned="gone"), "pruned must be one of"),
    (lambda: frank_wolfe_design(GOOD, GOOD, stop=-1), "stop must be"),
    (lambda: frank_wolfe_design(GOOD, GOOD, max_iter=0), "max_iter must be"),
]


@pytest.mark.parametrize("call, message", BAD, ids=[message for _, message in BAD])
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(("D", "seed"), [(5, 12), (5, 14), (5, 18), (6, 17), (6, 19), (7, 3), (7, 9), (7, 11)])
def test_few_items_left_on_a_cube(D, seed):
    """Directions that do not need all dimensions, many optimal designs: where the interior point stalls."""
    problem = instances.multivariate(D, np.random.default_rng(seed), weights="code")
    gaps = []

    def watched(arms, directions):
        design = xy_design(arms, directions)
        gaps.append(design.value / design.lower_bound - 1)
        return design

    play(rage(problem.arms, delta=0.05, design=watched), problem, np.random.default_rng(seed))
    assert len(gaps) > 1 and max(gaps) <= 1e-3


@pytest.mark.parametrize("d", [35, 64])
@pytest.mark.parametrize("angle", [0.4, 0.025])
def test_the_benchmark_in_many_dimensions(d, angle):
    """Thousands of pairs that enter a few at a time: a gap that stays open while pairs come in is no stall."""
    certified(xy_design(instances.benchmark(d, angle=angle).arms, pairs(instances.benchmark(d, angle=angle).arms)))


def test_the_game_of_two_players_reaches_its_tolerance_with_an_honest_bound():
    arms = sphere(30, 5)
    rows = differences(arms)
    weights, bound, _ = two_players(arms, rows, 1e-3)
    optimum = xy_design(arms, rows, tol=1e-6)
    assert bound <= optimum.value and optimum.lower_bound <= design_value(arms, weights, rows) <= 1.001 * bound


@pytest.mark.parametrize(("n", "seed"), [(1_000, 20), (10_000, 1), (30_000, 24)])
def test_the_oracle_of_many_arms_with_tiny_gaps(n, seed):
    """Gaps of 1e-7, one direction that decides: the working set of arms changes many times before it is found."""
    problem = instances.many_arms(n, np.random.default_rng([0, seed]), "variance.09")
    design = oracle_design(problem.arms, theta=problem.theta)
    certified(design)
    assert design.iterations < 1_000  # thousands where the search gives up too early and plays on with all arms


def test_a_working_set_of_arms_that_would_cycle():
    """150 arms with entries -1, 0, 1, half of them twice: arms that leave the working set come back for ever."""
    for seed in range(30):
        arms = np.random.default_rng(seed).integers(-1, 2, (150, 4)).astype(float)
        certified(xy_design(arms, pairs(arms)))


@pytest.mark.parametrize("tol", [1e-5, 1e-6, 1e-7])
@pytest.mark.parametrize(("K", "d"), [(30, 5), (100, 9)])
def test_a_small_tolerance_is_reached(K, d, tol):
    """The last Newton steps are as exact as the first."""
    arms = instances.sphere(K, np.random.default_rng(0), d=d).arms
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        design = xy_design(arms, pairs(arms), tol=tol)
    assert 0 <= design.value / design.lower_bound - 1 <= tol


@pytest.mark.parametrize("seed", range(5))
def test_no_pulls_are_cheaper_than_those_per_cost(seed):
    rng = np.random.default_rng(seed)
    arms, cost = rng.normal(size=(6, 3)), rng.uniform(1, 20, 6)
    directions = arms[0] - arms[1:]
    found = per_cost(xy_design, arms, directions, cost)
    inverse = np.linalg.inv(arms.T @ (found.weights[:, None] * arms))  # the true information of a pull
    assert max(y @ inverse @ y for y in directions) == pytest.approx(found.value)
    money = conic_optimum(arms, directions, sigma=np.sqrt(cost))
    assert found.weights.sum() == pytest.approx(1)
    assert found.value * (found.weights @ cost) == pytest.approx(money, rel=2e-3)


def test_equal_costs_change_no_design():
    arms = np.random.default_rng(0).normal(size=(6, 3))
    plain = xy_design(arms, arms)
    assert np.allclose(per_cost(xy_design, arms, arms, np.ones(6)).weights, plain.weights)
    assert (per_cost(xy_design, arms, arms, None).weights == plain.weights).all()
