"""The papers' solver: its stop rule, known values, an honest bound and its options. What it computes: tests/plain."""

import numpy as np
import pytest
from arrangements import cases, oracle, soare, sphere

from bandits_lib.design import cache_off, frank_wolfe, frank_wolfe_design, pairs, weighted_design, xy_design
from bandits_lib.design.directions import Differences, Listed


@pytest.mark.parametrize("seed", range(4))
def test_it_ends_with_the_first_small_step_and_may_tell_the_value_before(seed):
    """The published code returns the value that the last step saw; one step less leads there."""
    arms, items = sphere(25, 4, seed), sphere(45, 4, seed + 100)
    last = frank_wolfe_design(arms, pairs(items), prune=0, value_at="before")
    one, two = (frank_wolfe_design(arms, pairs(items), prune=0, max_iter=last.iterations - k) for k in (1, 2))
    assert last.value == pytest.approx(one.value, rel=1e-9) and one.iterations == last.iterations - 1
    for before, after, small in ((one, last, True), (two, one, False)):
        change = np.linalg.norm(after.weights - before.weights) / np.linalg.norm(before.weights)
        assert (change < 0.01) == small


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


CASES = list(cases())


@pytest.mark.parametrize("name, arms, directions, sigma", CASES, ids=[case[0] for case in CASES])
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


@pytest.mark.parametrize("points", [sphere(300, 4), np.vstack([sphere(200, 3), sphere(200, 3)]), np.eye(160)])
@pytest.mark.parametrize("kept", [200_000, 2000])
def test_far_pairs_that_are_remembered_change_no_bit(monkeypatch, points, kept):
    """Norms that drift and jump, copies, and pairs that all tie, which are too many to be kept."""
    monkeypatch.setattr(frank_wolfe, "KEPT", kept)
    rng, r = np.random.default_rng(0), points.shape[1]
    plain, remembered = Differences(points), frank_wolfe.Remembered(points)
    root = np.eye(r)
    for step in (0, 1e-4, 1e-3, 1e-3, 0.01, 0.1, 0.3, 1e-4, 0):
        root = root + step * rng.normal(size=(r, r)) / np.sqrt(r)
        (expected, value), (worst, found) = plain.worst(root), remembered.worst(root)
        np.testing.assert_array_equal(worst, expected)
        assert found == value


@pytest.mark.parametrize("stop", [0.01, 0.0])
@pytest.mark.parametrize("d", [2, 5, 9])
def test_a_list_of_long_directions_changes_no_bit(d, stop):
    """The compiled steps against steps that look at every direction; nearly parallel directions and copies."""
    arms, items = sphere(80, d), sphere(60, d, 1)
    rows = np.vstack([items, items * (1 + 1e-12), items[:20] + 1e-4, np.eye(d)])

    class EveryOne:
        def worst(self, root):
            return Listed(rows).worst(root)

    (weights, visited, value), (expected, seen, last) = (
        frank_wolfe.frank_wolfe(arms, directions, np.full(80, 1 / 80), stop, 600)
        for directions in (Listed(rows), EveryOne())
    )
    np.testing.assert_array_equal(weights, expected)
    np.testing.assert_array_equal(visited, seen)
    assert value == last and len(visited) > 50


def test_options_share_the_steps():
    arms = sphere(160, 4)
    text = frank_wolfe_design(arms, pairs(arms))
    code = frank_wolfe_design(arms, pairs(arms), pruned="largest", value_at="before")
    with cache_off():
        again = frank_wolfe_design(arms, pairs(arms), pruned="largest", value_at="before")
    assert code.iterations == text.iterations == again.iterations and code.value != text.value
    np.testing.assert_array_equal(code.weights, again.weights)
    assert code[1:] == again[1:]
