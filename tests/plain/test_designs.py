"""Plain designs and roundings against the fast ones: weights to 1e-9, whole pulls exactly."""

import numpy as np
import pytest

from bandits_lib import instances
from bandits_lib.design import frank_wolfe_design, g_design, pairs, round_design
from bandits_lib.design import fwg_design as fast_fwg_design
from bandits_lib.design import width_design as fast_width_design
from bandits_lib.design import wynn_design as fast_wynn_design
from bandits_lib.design.certificate import snapped
from bandits_lib.design.gaussian_width import batch, points_in, width_and_pressures
from bandits_lib.fixed_budget import stages
from bandits_lib.numerics.span import span
from bandits_lib.plain import fwg, gse_explorers
from bandits_lib.plain.frank_wolfe import frank_wolfe
from bandits_lib.plain.fwg import fwg_design
from bandits_lib.plain.gaussian_width import gaussian_width, width_design
from bandits_lib.plain.pukelsheim import pukelsheim
from bandits_lib.plain.regret_rounding import regret_rounding
from bandits_lib.plain.wynn import wynn_design

RNG = np.random.default_rng
ARMS = {
    "sphere": instances.sphere(12, RNG(0), d=3).arms,
    "normal": RNG(1).standard_normal((15, 4)),
    "benchmark": instances.benchmark(4, angle=0.3).arms,
    "independent": instances.sphere(5, RNG(2), d=5).arms,
}
each_set = pytest.mark.parametrize("arms", ARMS.values(), ids=ARMS.keys())


WIDER = {  # and shapes in which Frank-Wolfe takes many steps or stalls at once
    "of 12": instances.sphere(12, RNG(3), d=3).arms,
    "of 30": instances.sphere(30, RNG(4), d=6).arms,
    "of 8": instances.sphere(8, RNG(5), d=5).arms,
    "of 9": instances.sphere(9, RNG(6), d=8).arms,
}
each_shape = pytest.mark.parametrize("arms", (ARMS | WIDER).values(), ids=(ARMS | WIDER).keys())


def differences(items):
    i, j = np.triu_indices(len(items), 1)
    return items[i] - items[j]


@each_set
def test_frank_wolfe(arms):
    np.testing.assert_allclose(frank_wolfe(arms, arms), frank_wolfe_design(arms, arms).weights, rtol=0, atol=1e-9)
    fast = frank_wolfe_design(arms, pairs(arms)).weights
    np.testing.assert_allclose(frank_wolfe(arms, differences(arms)), fast, rtol=0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_frank_wolfe_for_items_of_their_own_and_noise_of_its_own_for_every_arm(seed):
    arms, items = instances.sphere(25, RNG(seed), d=4).arms, instances.sphere(45, RNG(seed + 100), d=4).arms
    for sigma in (np.ones(25), RNG(seed).uniform(0.5, 2, 25)):
        plain = frank_wolfe(arms / sigma[:, None], differences(items))
        for directions in (pairs(items), differences(items)):
            fast = frank_wolfe_design(arms, directions, sigma=sigma).weights
            np.testing.assert_allclose(plain, fast, rtol=0, atol=1e-9)


@each_shape
def test_wynn_to_the_digits_that_the_fast_one_keeps(arms):
    np.testing.assert_allclose(snapped(wynn_design(arms), 1e-3), fast_wynn_design(arms).weights, rtol=0, atol=1e-9)


@each_shape
def test_fwg_to_the_digits_that_the_fast_one_keeps(arms):
    """A line search ends within the root of the rounding errors, so processors may differ in the last digit kept."""
    np.testing.assert_allclose(snapped(fwg_design(arms), 1e-3), fast_fwg_design(arms).weights, rtol=0, atol=2.0**-20)


@each_shape
def test_fwg_on_the_grid_of_the_published_code(arms, monkeypatch):
    grid, taken = (0.0, *0.75 ** np.arange(1, 24)), []

    def on_the_grid(arms, pi, vertex):
        reached = {gamma: fwg.g_t(arms, pi + gamma * (vertex - pi))[0].max() for gamma in grid}
        gamma = min(reached, key=reached.get)
        taken.append(reached[gamma] < reached[0] * (1 - 1e-9))
        return gamma if taken[-1] else 0.0

    monkeypatch.setattr(fwg, "line_search", on_the_grid)
    fast = fast_fwg_design(arms, line_search="grid")
    np.testing.assert_allclose(snapped(fwg_design(arms), 1e-3), fast.weights, rtol=0, atol=1e-9)
    assert fast.iterations == sum(taken)


@pytest.mark.parametrize("design", gse_explorers.__all__)
@pytest.mark.parametrize("n", [9, 20, 40])
@each_shape
def test_explorers(arms, n, design):
    rng = {"rng": RNG(3)} if design == "uniform" else {}
    plain = getattr(gse_explorers, design)(arms, n, **rng)
    name = {"g_optimal": "certified"}.get(design, design)
    np.testing.assert_array_equal(plain, stages.allocate(arms, n, name, "regret", RNG(3)).counts)
    assert plain.sum() == n


@pytest.mark.parametrize("n", [60, 61, 400, 10**6 + 7])
@pytest.mark.parametrize("seed", range(5))
def test_pukelsheim(seed, n):
    weights = RNG(seed).dirichlet(np.ones(30)) * (RNG(seed).random(30) < 0.7)
    weights /= weights.sum()
    for lam in (weights, np.full(30, 1 / 30), g_design(RNG(seed).standard_normal((30, 5))).weights):
        np.testing.assert_array_equal(pukelsheim(lam, n), round_design(lam, n))


def test_pukelsheim_gives_every_atom_a_pull():
    lam = np.array([0.5, 0.5 - 1e-10, 1e-10])
    for n in (3, 4, 6, 101):
        assert pukelsheim(lam, n).min() == 1
        np.testing.assert_array_equal(pukelsheim(lam, n), round_design(lam, n))


@pytest.mark.parametrize("n", [5, 12, 20])
@pytest.mark.parametrize("seed", range(6))
def test_regret_rounding(seed, n):
    """Largest remainders of equal weights pull the first arms, which lie near a line: swaps must mend it."""
    arms = instances.sphere(40, RNG(seed), d=5).arms
    arms[:20, 1:] *= 0.1
    uniform = np.full(40, 1 / 40)
    counts = regret_rounding(arms, uniform, n)
    np.testing.assert_array_equal(counts, round_design(uniform, n, "regret", arms))
    assert (counts != round_design(uniform, n, "largest_remainder")).any()
    lam = g_design(arms).weights
    np.testing.assert_array_equal(regret_rounding(arms, lam, n), round_design(lam, n, "regret", arms))


WIDE = {
    "sphere": (ARMS["sphere"], ARMS["sphere"]),
    "adaptive": (instances.benchmark(7, angle=0.1).arms,) * 2,
    "items": (np.vstack([np.eye(3), [0.5, 0.5, 0.0]]), RNG(3).standard_normal((12, 3))),
}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("arms, items", WIDE.values(), ids=WIDE.keys())
def test_the_gaussian_width_and_its_gradient(arms, items, seed):
    """The width does not depend on coordinates, and the fast pressures are -2 gradient / width."""
    normals, lam = batch(64, arms.shape[1], RNG(seed)), RNG(seed).dirichlet(np.ones(len(arms)))
    width, gradient = gaussian_width(arms, items, normals, lam)
    fast, pressures = width_and_pressures(arms, items, normals, lam)
    assert width == pytest.approx(fast, rel=1e-9)
    np.testing.assert_allclose(-2 * gradient / width, pressures, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("arms, items", WIDE.values(), ids=WIDE.keys())
def test_designs_of_least_gaussian_width(arms, items, seed):
    """In the coordinates of the fast design, which decide what the normals stand for."""
    space = span(arms)
    points, normals = points_in(space, items), batch(1024, space.arms.shape[1], RNG(seed))
    lam, gamma = width_design(space.arms, points, normals)
    fast = fast_width_design(arms, items, rng=RNG(seed))
    np.testing.assert_allclose(lam, fast.weights, rtol=0, atol=1e-9)
    assert gamma == pytest.approx(fast.value, rel=1e-9)
