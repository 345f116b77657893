"""Designs: theorems, certificates against a conic solver, invariances, the papers' solver, bad input."""

import warnings

import cvxpy as cp
import numpy as np
import pytest

from bandits_lib import instances, play
from bandits_lib.complexity import oracle_design
from bandits_lib.design import cache as cache_module
from bandits_lib.design import (
    cache_clear,
    cache_off,
    design_value,
    frank_wolfe_design,
    g_design,
    pairs,
    weighted_design,
    xy_design,
)
from bandits_lib.design.certificate import inverse_root, lower_bound
from bandits_lib.design.pairs import Differences, Listed
from bandits_lib.design.plane import difference_vertices
from bandits_lib.design.single import single_direction
from bandits_lib.design.sparsify import basic_weights, drop_small_leverages
from bandits_lib.design.two_players import two_players
from bandits_lib.fixed_confidence import rage


@pytest.fixture(autouse=True)
def _failures_are_loud():
    """A design that misses its tolerance warns; here that is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


def sphere(n, d, seed=0):
    x = np.random.default_rng(seed).normal(size=(n, d))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def soare(d, angle=0.01):
    return np.vstack([np.eye(d), np.r_[np.cos(angle), np.sin(angle), np.zeros(d - 2)]])


def many_arms(n, seed=0):
    angles = 0.78 + np.random.default_rng(seed).uniform(0, 0.1, n)
    angles = np.r_[0.0, 3 * np.pi / 4, angles]
    return np.c_[np.cos(angles), np.sin(angles)]


def differences(items):
    i, j = np.triu_indices(len(items), 1)
    return items[i] - items[j]


def oracle(items, theta):
    values = items @ theta
    best = values.argmax()
    others = np.arange(len(items)) != best
    return (items[best] - items[others]) / (values[best] - values[others])[:, None]


def norms(arms, weights, directions, sigma=1.0):
    """||y||^2 under A(weights)^-1, by a plain pseudo-inverse."""
    scaled = arms / np.broadcast_to(sigma, len(arms))[:, None]
    inverse = np.linalg.pinv((scaled.T * weights) @ scaled, rcond=1e-12, hermitian=True)
    return np.einsum("ni,ij,nj->n", directions, inverse, directions)


def conic_optimum(arms, directions, sigma=1.0):
    """min over lambda of max ||y||^2 = min over (lambda, U) of max_y sum_x u_xy^2 / lambda_x, X'u_y = y (conic).

    Directions are scaled to unit length times their relative length, arms by 1/sigma; Clarabel at 1e-9.
    """
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


def certified(design, tol=1e-3):
    assert design.weights.min() >= 0
    assert design.weights.sum() == pytest.approx(1, abs=1e-12)
    assert design.lower_bound <= design.value <= (1 + tol) * design.lower_bound


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


def test_d_and_g_agree():
    """No other design has a larger determinant (conic solver); the G-design's log det is within r tol of it."""
    arms = sphere(30, 4, 3)
    weights = cp.Variable(30, nonneg=True)
    problem = cp.Problem(cp.Maximize(cp.log_det(arms.T @ cp.diag(weights) @ arms)), [cp.sum(weights) == 1])
    best = problem.solve(solver=cp.CLARABEL)
    found = np.linalg.slogdet((arms.T * g_design(arms, 1e-5).weights) @ arms)[1]
    assert best - 4e-5 <= found <= best + 1e-6


def test_g_is_xy_on_the_arms():
    arms = sphere(80, 5, 4)
    assert xy_design(arms, arms).value == pytest.approx(5, rel=1e-3)


@pytest.mark.parametrize("lengths", [1e-4, 1e4])
def test_g_is_scale_free(lengths):
    """The value is the rank whatever the lengths of some arms, even of all arms in one dimension."""
    arms = np.vstack([np.eye(4), sphere(20, 4, 5)])
    arms[:, 3] *= lengths
    arms[::3] *= 1e-3
    assert g_design(arms).value == pytest.approx(4, rel=1e-3)


# ---- XY designs against a conic solver


def _cases():
    rng = np.random.default_rng(7)
    x = sphere(12, 3, 1)
    yield "pairs", x, differences(x), 1.0
    yield "soare", soare(4), differences(soare(4)), 1.0
    yield "transductive", sphere(10, 4, 2), rng.normal(size=(7, 4)), 1.0
    yield "few directions", sphere(15, 6, 3), rng.normal(size=(2, 6)), 1.0
    yield "weighted", x, differences(x)[::3], rng.uniform(0.1, 3, 12)
    yield "oracle", soare(4, 0.1), oracle(soare(4, 0.1), np.array([2.0, 0, 0, 0])), 1.0
    flat = sphere(10, 3, 6) @ rng.normal(size=(3, 5))
    yield "rank 3 in R^5", flat, differences(flat)[::2], 1.0
    yield "duplicates", np.vstack([x, x[:5]]), np.vstack([differences(x[:5])] * 2 + [np.zeros((1, 3))]), 1.0
    yield "directions of one plane", np.eye(4), np.array([[1.0, -1, 0, 0], [1, 2, 0, 0], [0, 1, 0, 0]]), 1.0
    yield "lengths", x * np.geomspace(1e-2, 1, 12)[:, None], differences(x)[:10], 1.0


@pytest.mark.parametrize("name, arms, directions, sigma", list(_cases()), ids=[case[0] for case in _cases()])
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


def test_the_bound_and_the_pressure_are_traces_of_whole_matrices():
    """tr(A^-1 M)^2 / max x'A^-1MA^-1x for any weights and masses, whatever the masses add up to."""
    rng = np.random.default_rng(0)
    arms, directions, weights, masses = sphere(9, 3), sphere(5, 3, 1), rng.dirichlet(np.ones(9)), rng.uniform(1, 4, 5)
    inverse = np.linalg.inv((arms.T * weights) @ arms)
    M = sum(mass * np.outer(y, y) for mass, y in zip(masses / masses.sum(), directions, strict=True))
    root = inverse_root(arms, weights)
    bound, pressure = lower_bound(arms, root, directions @ root.T, masses)
    against = [x @ inverse @ M @ inverse @ x for x in arms]
    assert bound == pytest.approx(np.trace(inverse @ M) ** 2 / max(against))
    assert pressure == pytest.approx(against / np.trace(inverse @ M))


@pytest.mark.parametrize("seed", range(5))
def test_short_arms_beside_long_ones_lose_no_digits(seed):
    """As many arms as dimensions, over six decades, in any order: x'A^-1x is 1 / weight for every one of them."""
    rng = np.random.default_rng(seed)
    arms = (sphere(3, 3, seed) + np.eye(3)) * rng.permutation([1e-6, 1e-3, 1.0])[:, None]
    weights = np.array([0.2, 0.3, 0.5])
    squared = ((arms @ inverse_root(arms, weights).T) ** 2).sum(axis=1)
    np.testing.assert_allclose(squared * weights, 1.0, rtol=1e-12)


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


def test_fewer_atoms_with_the_same_information():
    """At most r(r+1)/2 atoms and no norm grows, also with many duplicates, where several weights vanish at once."""
    rng = np.random.default_rng(1)
    binary = rng.integers(0, 2, size=(60, 3)).astype(float)
    for arms in (sphere(300, 5), binary, np.repeat(np.eye(2), 20, axis=0), sphere(500, 2)):
        weights = rng.dirichlet(np.full(len(arms), 0.3))
        basic = basic_weights(arms, weights)
        d = arms.shape[1]
        assert (basic > 0).sum() <= d * (d + 1) // 2 and basic.sum() == pytest.approx(1)
        assert not basic[weights == 0].any()
        growth = np.linalg.eigvals(np.linalg.solve((arms.T * basic) @ arms, (arms.T * weights) @ arms)).real
        assert growth.max() <= 1 + 1e-9


def test_small_leverages_bound_the_loss():
    arms = sphere(200, 5) * np.geomspace(1e-3, 1, 200)[:, None]
    weights = np.random.default_rng(0).dirichlet(np.ones(200))
    for eta in (1e-4, 1e-1):
        lighter = drop_small_leverages(arms, weights, eta)
        before, after = (norms(arms, w, np.eye(5)) for w in (weights, lighter))
        assert 0 < (lighter > 0).sum() < 200 and (after <= before / (1 - eta) * (1 + 1e-9)).all()


# ---- one direction


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


# ---- pairs


@pytest.mark.parametrize("d", [1, 2, 3, 6])
@pytest.mark.parametrize("n", [2, 3, 30, 90])
def test_pairs_are_all_differences(n, d):
    arms, items = sphere(20, d, 1), np.random.default_rng(n).normal(size=(n, d))
    formed, implied = xy_design(arms, differences(items)), xy_design(arms, pairs(items))
    certified(implied)
    assert implied.value == pytest.approx(norms(arms, implied.weights, differences(items)).max(), rel=1e-9)
    assert implied.value == pytest.approx(formed.value, rel=1e-3)


@pytest.mark.parametrize("items", [sphere(400, 3), many_arms(300), np.random.default_rng(2).normal(size=(700, 5)) ** 3])
def test_scan_finds_every_row_beyond_the_level(items):
    """The blocked, pruned scan against the full matrix: value, and the set of differences above the level."""
    points = items @ np.diag(np.geomspace(1, 5, items.shape[1]))
    everything = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    seen = Differences(points)
    root = np.eye(points.shape[1])
    assert seen.value(root) == pytest.approx(everything.max(), rel=1e-12)
    level = 0.8 * everything.max()
    top, rows = seen.beyond(root, level, 10**9)
    assert top == pytest.approx(everything.max(), rel=1e-12)
    found = np.sort((rows**2).sum(axis=1))[::-1]
    each_row = everything.max(axis=1)
    assert found[0] == pytest.approx(everything.max()) and found[-1] > level
    assert len(found) >= (each_row > level).sum() / 2
    i, j = np.triu_indices(len(items), 1)
    worst, norm = seen.worst(root)
    by_list, norm_by_list = Listed(points[i] - points[j]).worst(root)
    assert norm == pytest.approx(norm_by_list, rel=1e-12)
    np.testing.assert_array_equal(worst, by_list)


@pytest.mark.parametrize("seed", range(5))
def test_difference_body_in_the_plane(seed):
    """Its vertices reach the farthest pair in every norm, also for arcs, duplicates and points on a line."""
    rng = np.random.default_rng(seed)
    line = np.outer(rng.normal(size=20), [1.0, 2.0])
    for points in (rng.normal(size=(50, 2)), many_arms(80, seed), line, np.repeat(sphere(7, 2, seed), 2, axis=0)):
        rows = difference_vertices(points)
        assert len(rows) <= len(points)
        for _ in range(20):
            root = rng.normal(size=(2, 2)) * 10 ** rng.uniform(-1, 1, (2, 1))
            far = ((differences(points) @ root) ** 2).sum(axis=1).max()
            assert ((rows @ root) ** 2).sum(axis=1).max() == pytest.approx(far, rel=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_items_on_a_line_in_the_plane(seed):
    """Collinear up to rounding: arms (1, u), the items of a linear regression in one variable."""
    rng = np.random.default_rng(seed)
    arms = np.column_stack([np.ones(7), rng.normal(size=7).round(4)])
    across, listed = xy_design(arms, pairs(arms)), xy_design(arms, differences(arms))
    certified(across)
    assert across.value == pytest.approx(listed.value, rel=2e-3)
    assert design_value(arms, across.weights, differences(arms)) == pytest.approx(across.value, rel=1e-9)


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


def test_many_items_in_nine_dimensions():
    arms = sphere(1200, 9)
    design = xy_design(arms, pairs(arms))
    certified(design)
    root = np.linalg.inv(np.linalg.cholesky((arms.T * design.weights) @ arms))
    points = arms @ root.T
    square = (points**2).sum(axis=1)
    assert (square[:, None] + square - 2 * points @ points.T).max() == pytest.approx(design.value, rel=1e-9)


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


# ---- cache


def test_cache_changes_nothing():
    arms = sphere(60, 4, 11)
    cache_clear()
    first, again = xy_design(arms, pairs(arms)), xy_design(arms.copy(), pairs(arms.copy()))
    assert again is first
    with cache_off():
        anew = xy_design(arms, pairs(arms))
    assert anew is not first
    for design in (first, anew):
        assert not design.weights.flags.writeable
    np.testing.assert_array_equal(anew.weights, first.weights)
    assert anew[1:] == first[1:]


def test_cache_tells_arguments_apart():
    """Same bytes, different meaning: items against directions, tolerance, sigma, shape, solver."""
    arms = sphere(6, 2, 1)
    designs = [
        xy_design(arms, arms),
        xy_design(arms, pairs(arms)),
        xy_design(arms, arms, 1e-2),
        weighted_design(arms, arms, 2.0),
        xy_design(arms.reshape(4, 3), arms.reshape(4, 3)),
        frank_wolfe_design(arms, arms),
        frank_wolfe_design(arms, arms, prune=0),
        g_design(arms),
    ]
    assert len({id(design) for design in designs}) == len(designs)
    assert designs[0].value != designs[1].value


def test_cache_is_bounded(monkeypatch):
    cache_clear()
    monkeypatch.setattr(cache_module, "MAX_BYTES", 5000)
    for seed in range(40):
        g_design(sphere(20, 2, seed))
    assert 1 <= len(cache_module._designs) < 10
    cache_clear()
    assert not cache_module._designs


def test_global_random_state_is_untouched():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    with cache_off():
        xy_design(sphere(200, 6), pairs(sphere(200, 6)))
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


# ---- the papers' solver


def plain_frank_wolfe(arms, directions, sigma=1.0, stop=0.01, max_iter=5000):
    """fiez2019 appendix F, in plain numpy with all directions formed."""
    scaled = arms / np.broadcast_to(sigma, len(arms))[:, None]
    weights = np.full(len(arms), 1 / len(arms))
    for k in range(1, max_iter + 1):
        inverse = np.linalg.inv((scaled.T * weights) @ scaled)
        squares = np.einsum("ni,ij,nj->n", directions, inverse, directions)
        y = directions[np.flatnonzero(squares >= squares.max() * (1 - 1e-9))[0]]
        scores = (scaled @ (inverse @ y)) ** 2
        vertex = np.zeros(len(arms))
        vertex[np.flatnonzero(scores >= scores.max() * (1 - 1e-9))[0]] = 1
        new = weights + 2 / (k + 2) * (vertex - weights)
        small = np.linalg.norm(new - weights) < stop * np.linalg.norm(weights)
        weights = new
        if small:
            break
    return weights, squares.max(), k


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("weighted", [False, True])
def test_frank_wolfe_is_the_plain_one(seed, weighted):
    arms, items = sphere(25, 4, seed), sphere(45, 4, seed + 100)
    sigma = np.random.default_rng(seed).uniform(0.5, 2, 25) if weighted else None
    weights, before, steps = plain_frank_wolfe(arms, differences(items), 1.0 if sigma is None else sigma)
    ours = frank_wolfe_design(arms, pairs(items), sigma=sigma, prune=0)
    listed = frank_wolfe_design(arms, differences(items), sigma=sigma, prune=0, value_at="before")
    assert ours.iterations == listed.iterations == steps
    np.testing.assert_allclose(ours.weights, weights, atol=1e-10)
    np.testing.assert_allclose(listed.weights, weights, atol=1e-10)
    assert listed.value == pytest.approx(before, rel=1e-9)


def test_frank_wolfe_known_values():
    """Benchmark d=10: 20.03 after 5000 steps, .16 % above the optimum 20.000; the stop rule fires far earlier."""
    arms = soare(10)
    assert xy_design(arms, pairs(arms), 1e-5).value == pytest.approx(20.000, abs=1e-3)
    assert frank_wolfe_design(arms, pairs(arms), stop=0).value == pytest.approx(20.03, abs=0.005)
    stopped = frank_wolfe_design(arms, pairs(arms))
    assert 264 <= stopped.iterations <= 669
    assert 20.2 < stopped.value < 20.3
    oracle_design = frank_wolfe_design(arms, oracle(arms, 2 * np.eye(10)[0]))
    assert 7 <= oracle_design.iterations <= 15
    assert (oracle_design.weights > 0).all()


@pytest.mark.parametrize("name, arms, directions, sigma", list(_cases()), ids=[case[0] for case in _cases()])
def test_frank_wolfe_bound_is_honest(name, arms, directions, sigma):
    design = frank_wolfe_design(arms, directions, sigma=sigma, prune=0)
    certified_value = weighted_design(arms, directions, sigma).value
    assert 0 < design.lower_bound <= certified_value * (1 + 1e-9)
    assert certified_value <= design.value * (1 + 1e-3)


def test_frank_wolfe_options():
    arms = soare(5)
    lost = frank_wolfe_design(arms, pairs(arms), pruned="lost")
    scaled = frank_wolfe_design(arms, pairs(arms))
    largest = frank_wolfe_design(arms, pairs(arms), pruned="largest")
    assert lost.weights.sum() < 1 - 1e-6 and (lost.weights > 0).sum() == 5
    np.testing.assert_allclose(lost.weights / lost.weights.sum(), scaled.weights, rtol=1e-12)
    assert lost.value > scaled.value
    moved = np.flatnonzero(largest.weights != lost.weights)
    assert moved == [lost.weights.argmax()] and largest.weights.sum() == pytest.approx(1, abs=1e-12)
    before = frank_wolfe_design(arms, pairs(arms), value_at="before")
    assert before.value != scaled.value
    np.testing.assert_array_equal(before.weights, scaled.weights)
    assert frank_wolfe_design(arms, pairs(arms), max_iter=3).iterations == 3


def test_frank_wolfe_pruned_out_of_reach():
    """A weight that falls below the threshold takes its direction with it: the value is infinite, not wrong."""
    arms = np.eye(3)
    design = frank_wolfe_design(arms, np.diag([1.0, 1e-4, 1e-9]), prune=1e-4, stop=0, max_iter=1000)
    assert design.weights[2] == 0 and design.value == np.inf


# ---- bad input

GOOD = sphere(6, 3)
BAD = [
    (lambda: g_design([1.0, 2.0]), "arms must be a 2-D array"),
    (lambda: g_design(np.empty((0, 3))), "arms must hold at least one"),
    (lambda: g_design(np.array([[1.0, np.nan]])), "arms must be finite"),
    (lambda: g_design(np.array([[np.inf, 1.0]])), "arms must be finite"),
    (lambda: g_design(np.zeros((3, 2))), "arms must hold a non-zero"),
    (lambda: g_design(GOOD, tol=0), "tol must lie in"),
    (lambda: g_design(GOOD, tol=np.nan), "tol must lie in"),
    (lambda: g_design(GOOD, tol="small"), "tol must lie in"),
    (lambda: xy_design(GOOD, GOOD, tol=-1), "tol must lie in"),
    (lambda: xy_design(GOOD, GOOD[:, :2]), "directions must have the dimension"),
    (lambda: xy_design(GOOD, pairs(GOOD[:, :2])), "items must have the dimension"),
    (lambda: xy_design(GOOD, GOOD[0]), "directions must be a 2-D array"),
    (lambda: xy_design(GOOD, np.full((2, 3), np.nan)), "directions must be finite"),
    (lambda: xy_design(GOOD, np.zeros((2, 3))), "directions must hold a non-zero"),
    (lambda: pairs(GOOD[0]), "items must be a 2-D array"),
    (lambda: pairs(np.full((2, 3), np.inf)), "items must be finite"),
    (lambda: xy_design(GOOD, pairs(GOOD[:1])), "items must hold two distinct rows"),
    (lambda: xy_design(GOOD, pairs(GOOD[[1, 1, 1]])), "items must hold two distinct rows"),
    (lambda: xy_design(np.eye(3)[:2], np.eye(3)), "directions must lie in the span of the arms"),
    (lambda: xy_design(np.eye(3)[:2], pairs(np.eye(3))), "items must lie in the span of the arms"),
    (lambda: weighted_design(GOOD, GOOD, 0.0), "sigma must be positive"),
    (lambda: weighted_design(GOOD, GOOD, np.r_[np.ones(5), -1]), "sigma must be positive"),
    (lambda: weighted_design(GOOD, GOOD, np.r_[np.ones(5), np.nan]), "sigma must be positive"),
    (lambda: weighted_design(GOOD, GOOD, np.ones(5)), "sigma must be a scalar or have shape"),
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


@pytest.mark.parametrize("seed", range(3))
def test_a_direction_in_a_face_is_solved_by_the_simplex_method(seed):
    """Two of nine dimensions carry the difference of two arms: every basis is degenerate, and ties must not cycle."""
    arms = sphere(100, 9, seed)
    for i, j in np.random.default_rng(seed).integers(100, size=(40, 2)):
        if i != j:
            weights, bound, pivots = single_direction(arms, arms[i] - arms[j])
            assert pivots < 60 and np.count_nonzero(weights) <= 9
            assert design_value(arms, weights, (arms[i] - arms[j])[None]) == pytest.approx(bound, rel=1e-9)


@pytest.mark.parametrize("tol", [1e-5, 1e-6, 1e-7])
@pytest.mark.parametrize(("K", "d"), [(30, 5), (100, 9)])
def test_a_small_tolerance_is_reached(K, d, tol):
    """The last Newton steps are as exact as the first."""
    arms = instances.sphere(K, np.random.default_rng(0), d=d).arms
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        design = xy_design(arms, pairs(arms), tol=tol)
    assert 0 <= design.value / design.lower_bound - 1 <= tol
