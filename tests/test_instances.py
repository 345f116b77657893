"""The papers' instances are what the papers (or their code) say, number by number."""

import numpy as np
import pytest

from bandits_lib import instances


def test_benchmark():
    problem = instances.benchmark(5)
    assert problem.arms.shape == (6, 5) and problem.best_item == 0
    np.testing.assert_allclose(problem.arms[5], [np.cos(0.01), np.sin(0.01), 0, 0, 0])
    assert np.sort(problem.gaps)[1] == pytest.approx(2 * (1 - np.cos(0.01)))


@pytest.mark.parametrize(
    ("angles", "gap"), [("code", (0.28, 0.30)), ("sd.09", (0.05, 0.25)), ("variance.09", (0.0, 5e-3))]
)
def test_many_arms_have_the_gaps_that_separate_the_three_readings(angles, gap):
    gaps = []
    for seed in range(20):
        problem = instances.many_arms(1000, np.random.default_rng(seed), angles)
        assert problem.best_item == 998 and problem.arms.shape == (1000, 2)
        gaps.append(np.sort(problem.gaps)[1])
    assert gap[0] <= np.median(gaps) <= gap[1]


def test_sphere_takes_the_two_closest_arms():
    problem = instances.sphere(60, np.random.default_rng(3))
    np.testing.assert_allclose(np.linalg.norm(problem.arms, axis=1), 1)
    distances = np.linalg.norm(problem.arms[:, None] - problem.arms[None], axis=-1) + 3 * np.eye(60)
    closest = np.unravel_index(distances.argmin(), distances.shape)
    assert problem.best_item in closest
    np.testing.assert_allclose(problem.theta, problem.arms[problem.best_item])
    assert np.argsort(problem.gaps)[1] in closest


def test_transductive_in_both_readings():
    text, code = instances.transductive(20), instances.transductive(20, reading="code")
    assert text.arms.shape == text.items.shape == (20, 20) and code.items.shape == (40, 40)
    np.testing.assert_allclose(np.linalg.norm(code.items, axis=1), 1)
    assert text.best_item == code.best_item == 0
    assert text.gaps[10] == pytest.approx(1 - np.cos(0.1))


@pytest.mark.parametrize("weights", ["text", "code"])
def test_multivariate_features_and_weights(weights):
    problem = instances.multivariate(4, np.random.default_rng(0), weights=weights)
    assert problem.arms.shape == (16, 1 + 4 + 6) and set(np.unique(problem.arms)) == {-1.0, 1.0}
    np.testing.assert_allclose(problem.arms[:, 5], problem.arms[:, 1] * problem.arms[:, 2])
    assert np.linalg.matrix_rank(problem.arms) == 11 and np.sort(problem.gaps)[1] >= 1e-5
    many = [instances.multivariate(4, np.random.default_rng(seed), weights=weights).theta for seed in range(200)]
    single, first, other = (np.array(many)[:, part] for part in (slice(1, 5), 5, 6))
    low, high = (-0.3, 0.3) if weights == "text" else (-0.10, 0.09)
    assert single.min() == pytest.approx(low) and single.max() == pytest.approx(high)
    assert np.abs(first).max() == pytest.approx(max(-low, high) / 2)
    assert np.abs(other).max() == pytest.approx(max(-low, high) / (2 if weights == "text" else 1))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: instances.benchmark(1), "d must be an integer of at least 2"),
        (lambda: instances.many_arms(2, np.random.default_rng(0), "code"), "n must be"),
        (lambda: instances.many_arms(5, np.random.default_rng(0), "text"), "angles must be one of"),
        (lambda: instances.transductive(5), "d must be even"),
        (lambda: instances.transductive(4, reading="both"), "reading must be one of"),
        (lambda: instances.multivariate(1, np.random.default_rng(0)), "D must be"),
        (lambda: instances.option_set("soare"), "name must be one of"),
    ],
)
def test_bad_arguments_are_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()
