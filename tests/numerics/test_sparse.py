"""Sums that pass by zeros are those of `linear_algebra`, bit for bit."""

import numpy as np
import pytest

from bandits_lib import instances
from bandits_lib.numerics import linear_algebra, sparse


def sparse_rows(n, k, seed, most=3):
    rng = np.random.default_rng(seed)
    rows = np.zeros((n, k))
    for row in rows:
        row[rng.choice(k, rng.integers(1, most + 1), replace=False)] = rng.standard_normal()
    return rows


ARMS = {
    "benchmark": instances.benchmark(40, angle=0.1).arms,
    "short": instances.benchmark(5, angle=0.1).arms,
    "block": np.vstack([np.eye(30), sparse_rows(50, 30, 0)]),
    "dense": np.random.default_rng(1).standard_normal((20, 6)),
}


@pytest.mark.parametrize("arms", ARMS.values(), ids=ARMS.keys())
def test_the_inverse_factor_has_the_bits_of_the_dense_one(arms):
    rng = np.random.default_rng(0)
    for _ in range(5):
        weights = rng.dirichlet(np.ones(len(arms)))
        dense = linear_algebra.inverse_triangle(linear_algebra.cholesky(linear_algebra.information(arms, weights))[0])
        found = sparse.inverse_factor(arms, weights)
        np.testing.assert_array_equal(found, dense)
        np.testing.assert_allclose(found @ found.T, np.linalg.inv((arms.T * weights) @ arms), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("columns", [3, 70, 512])
def test_products_have_the_bits_of_the_dense_ones(columns):
    right = np.random.default_rng(0).standard_normal((33, columns))
    for left in (sparse_rows(41, 33, 1), np.random.default_rng(2).standard_normal((41, 33)), np.zeros((4, 33))):
        np.testing.assert_array_equal(sparse.product(left, right), linear_algebra.product(left, right))


def test_what_counts_as_sparse():
    assert sparse.sparse(ARMS["benchmark"]) and not sparse.sparse(ARMS["dense"])
