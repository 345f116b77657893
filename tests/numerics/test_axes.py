"""Principal axes: those of an eigenvalue decomposition, and one choice where there are many."""

import numpy as np
import pytest

from bandits_lib.numerics.linear_algebra import jacobi, principal_axes


@pytest.mark.parametrize("d", [1, 2, 5, 20])
def test_jacobi_diagonalises(d):
    rows = np.random.default_rng(d).standard_normal((d + 2, d))
    values, vectors = jacobi(rows.T @ rows)
    assert np.allclose(vectors @ vectors.T, np.eye(d), atol=1e-13)
    assert np.allclose(vectors.T @ np.diag(values) @ vectors, rows.T @ rows)


def test_simple_axes_are_the_eigenvectors():
    rows = np.random.default_rng(0).standard_normal((30, 4)) * [4.0, 3.0, 2.0, 1.0]
    axes = principal_axes(rows, 3)
    _, _, expected = np.linalg.svd(rows)
    assert np.allclose(np.abs((axes * expected[:3]).sum(axis=1)), 1)
    assert all(axis[np.abs(axis).argmax()] > 0 for axis in axes)


def test_a_multiple_eigenvalue_has_one_choice_of_axes():
    rng = np.random.default_rng(0)
    rows = np.vstack([np.eye(5)[:4] * 2, np.eye(5)[4:]])
    turned, _ = np.linalg.qr(rng.standard_normal((5, 5)))
    for noise in range(5):
        noisy = turned @ (rows * (1 + 1e-14 * rng.standard_normal(rows.shape)))
        assert np.allclose(principal_axes(noisy, 3), np.eye(5)[:3], atol=1e-10), noise


@pytest.mark.parametrize("K", [16, 64])
def test_equal_axes_come_in_the_order_of_their_first_coordinates(K):
    """As numpy's svd has the first two of e_1, e_2, an arm at .1 from e_1 and others: what tells it is kept."""
    rng = np.random.default_rng(K)
    near = np.cos(0.1) * np.eye(K - 1)[0] + np.sin(0.1) * np.eye(K - 1)[1]
    for _ in range(20):
        others = np.eye(K - 1)[rng.choice(np.arange(2, K - 1), K // 2 - 3, replace=False)]
        rows = np.vstack([np.eye(K - 1)[:2], others, near])[rng.permutation(K // 2)]
        axes, expected = principal_axes(rows, 3), np.linalg.svd(rows.T @ rows)[0].T
        assert np.allclose(np.abs(axes[:2] @ expected[:2].T), np.eye(2))
