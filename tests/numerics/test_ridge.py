"""Ridge regression afresh: elimination beside LAPACK."""

import numpy as np
import pytest

from bandits_lib import instances
from bandits_lib.numerics.ridge import eliminate, ridge_regression
from bandits_lib.protocol import Sample

RNG = np.random.default_rng


@pytest.mark.parametrize("d", [1, 2, 5, 30])
def test_elimination_solves_and_gives_the_determinant(d):
    rng = RNG(d)
    matrix, right = rng.standard_normal((d, d)), rng.standard_normal((d, 7))
    matrix[0, 0] = 0.0 if d > 1 else 2.0  # rows have to be exchanged
    found = right.copy()
    assert eliminate(matrix.copy(), found) == pytest.approx(np.linalg.slogdet(matrix)[1])
    np.testing.assert_allclose(found, np.linalg.solve(matrix, right), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("arms", [instances.benchmark(9, angle=0.1).arms, instances.sphere(40, RNG(0), d=6).arms])
def test_the_regression_of_a_first_sample(arms):
    rng = RNG(1)
    counts = rng.integers(1, 9, len(arms))
    sample = Sample(counts, rng.normal(size=len(arms)), np.ones(len(arms)))
    fit = ridge_regression(arms, 0.5, sample)
    information = 0.5 * np.eye(arms.shape[1]) + (arms.T * counts) @ arms
    gram = np.linalg.solve(information, arms.T)
    np.testing.assert_allclose(fit.gram, gram, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(fit.values, sample.sums @ arms @ gram, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(fit.squares, np.einsum("kd,dk->k", arms, gram), rtol=1e-9)
    assert fit.logdet[0] == pytest.approx(np.linalg.slogdet(information / 0.5)[1])
