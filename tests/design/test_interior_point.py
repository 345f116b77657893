"""Of many optimal designs the one that is returned is defined, and not found on the way."""

import sys
from itertools import product

import numpy as np
import pytest

from bandits_lib import instances
from bandits_lib.design import pairs, xy_design, xy_optimal
from bandits_lib.design.interior_point import (
    MANY,
    Point,
    add_kronecker,
    geometry,
    growth,
    newton_factor,
    newton_step,
    pressures,
)
from bandits_lib.numerics import linear_algebra
from bandits_lib.numerics.span import span

solvers = sys.modules["bandits_lib.design.solvers"]


def sphere(n, d, seed=0):
    x = np.random.default_rng(seed).standard_normal((n, d))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def chosen(arms, items):
    """Weights before they are put on few atoms, which of ties takes the first."""
    space = span(arms)
    directions = solvers._few(solvers.in_span(space, items - items[0], "items"))
    return xy_optimal._column_generation(space.arms, directions, 8e-4)[0]


ARMS = {
    "sphere": sphere(60, 5),
    "many on a sphere": sphere(300, 7),
    "lengths differ": np.random.default_rng(3).standard_normal((250, 6)),
    "cube": np.array(list(product([-1.0, 1.0], repeat=6))),
    "multivariate": instances.multivariate(7, np.random.default_rng(3), weights="code").arms,
}


@pytest.mark.parametrize("name", ARMS)
def test_the_order_of_arms_and_items_does_not_matter(name):
    arms, rng = ARMS[name], np.random.default_rng(1)
    expected = chosen(arms, arms)
    for _ in range(2):
        order = rng.permutation(len(arms))
        found = chosen(arms[order], arms[rng.permutation(len(arms))])
        assert np.abs(found - expected[order]).max() < 1e-4 * expected.max()


@pytest.mark.parametrize("factor", [1e-3, 0.3, 7.0])
def test_units_of_the_directions_do_not_matter(factor):
    arms = ARMS["sphere"]
    np.testing.assert_allclose(
        xy_design(arms, factor * (arms[1:] - arms[0])).weights, xy_design(arms, arms[1:] - arms[0]).weights, atol=1e-6
    )


@pytest.mark.parametrize("seed", range(30))
def test_the_chosen_design_is_reached_where_some_dimension_is_hardly_needed(seed, monkeypatch):
    """Four differences of corners of a cube: the one who leaves out a direction loses its dimension."""
    corners, rng = np.array(list(product([-1.0, 1.0], repeat=7))), np.random.default_rng([seed, 0])
    directions = corners[rng.integers(128, size=4)] - corners[rng.integers(128, size=4)]
    directions, refused = directions[directions.any(axis=1)], []
    real = xy_optimal._chosen

    def watched(arms, directions, found, *rest):
        here = real(arms, directions, found, *rest)
        refused.append(here[0] is found)
        return here

    monkeypatch.setattr(xy_optimal, "_chosen", watched)
    design = xy_design(corners, directions)
    assert design.value <= 1.001 * design.lower_bound and not any(refused)


@pytest.mark.parametrize("seed", [3, 9, 11])
def test_a_stall_on_a_working_set_is_noticed(seed, monkeypatch):
    """128 arms, few items: all arms come in, and the interior point ends within a few rounds."""
    problem, calls = instances.multivariate(7, np.random.default_rng(seed), weights="code"), []
    items = problem.arms[np.argsort(-(problem.arms @ problem.theta))[:8]]
    real = xy_optimal.interior_point
    monkeypatch.setattr(xy_optimal, "interior_point", lambda *given: calls.append(1) or real(*given))
    design = xy_design(problem.arms, pairs(items))
    assert len(calls) < 30 and design.value <= 1.001 * design.lower_bound


def newton_by_hand(arms, directions, point, target_z, target_s):
    """The step (dmu, ds, dv) from all equations at once: 1 - Wv - z = 0, g - s = 1, z mu = target_z, s v = target_s."""
    mu, z, s, v = point
    p, q = len(mu), len(s)
    A = np.linalg.inv((arms.T * mu) @ arms)
    norms = np.einsum("qi,ij,qj->q", directions, A, directions)
    c, g = (directions @ A) / norms[:, None], 1 / norms
    W = (arms @ c.T) ** 2
    curved = 2 * (arms @ A @ arms.T) * (arms @ (c.T * v) @ c @ arms.T) - (W * (2 * v / g)) @ W.T
    matrix = np.zeros((2 * (p + q), 2 * (p + q)))
    on = {"m": slice(p), "z": slice(p, 2 * p), "s": slice(2 * p, 2 * p + q), "v": slice(2 * p + q, None)}
    rows = on["m"], on["s"], on["z"], on["v"]
    for row, column, block in [
        (0, "m", curved), (0, "v", -W), (0, "z", -np.eye(p)), (1, "m", W.T), (1, "s", -np.eye(q)),
        (2, "m", np.diag(z)), (2, "z", np.diag(mu)), (3, "s", np.diag(v)), (3, "v", np.diag(s)),
    ]:  # fmt: skip
        matrix[rows[row], on[column]] = block
    rhs = np.concatenate([W @ v + z - 1, target_z - z * mu, 1 + s - g, target_s - s * v])
    step = np.linalg.solve(matrix, rhs)
    return step[on["m"]], step[on["s"]], step[on["v"]]


@pytest.mark.parametrize(("p", "r", "q"), [(30, 3, 8), (40, 4, 12), (60, 2, 5), (90, 6, 30), (10, 4, 12), (5, 3, 1)])
def test_the_newton_step_solves_all_equations(p, r, q):
    """Of many arms in one form, of few in the other."""
    rng = np.random.default_rng(p)
    arms, directions = rng.standard_normal((p, r)), rng.standard_normal((q, r))
    point = Point(*(rng.uniform(0.1, 1, size) for size in (p, p, q, q)))
    here = geometry(arms, directions, point.mu)
    assert bool(here.F.size) == (p > MANY * r * (r + 1) / 2)
    targets = rng.uniform(0.01, 0.1, p), rng.uniform(0.01, 0.1, q)
    dmu, dz, ds, dv = newton_step(newton_factor(point, here), point, here, *targets)
    np.testing.assert_allclose(point.z * dmu + point.mu * dz, targets[0] - point.z * point.mu, rtol=1e-9)
    for mine, theirs in zip((dmu, ds, dv), newton_by_hand(arms, directions, point, *targets), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-8, atol=1e-10)
    assert pressures(here, point.v) @ point.mu == pytest.approx(growth(here, point.mu) @ point.v, rel=1e-12)


def test_many_arms_side_by_side_are_centred():
    """Fiez et al., Figure 1b, with the text's angles: all arms are nearly tight, and the last step is exact."""
    arms = instances.many_arms(3_000, np.random.default_rng(0), "variance.09").arms
    expected, order = chosen(arms, arms), np.random.default_rng(1).permutation(len(arms))
    assert np.abs(chosen(arms[order], arms[order]) - expected[order]).max() < 1e-6 * expected.max()


def test_the_kronecker_form_is_twice_the_trace():
    rng, form = np.random.default_rng(0), np.zeros((10, 10))
    M, E = (matrix + matrix.T for matrix in rng.standard_normal((2, 4, 4)))
    i, j = np.tril_indices(4)
    svec = E[i, j] * np.where(i == j, 1, np.sqrt(2))
    add_kronecker(form, M)
    assert svec @ form @ svec == pytest.approx(2 * np.trace(E @ M @ E))


def test_semidefinite_factor_of_a_singular_matrix():
    rows = np.random.default_rng(0).standard_normal((3, 9))
    gram = rows.T @ rows
    root = linear_algebra.upper_factor(gram, 1e-13)[0]
    np.testing.assert_allclose(root.T @ root, gram, atol=1e-12)
    assert np.count_nonzero(np.diag(root)) == 3 and not np.tril(root, -1).any()
