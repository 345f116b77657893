"""The arms that are pulled first: they span what all arms span, and c is the least eigenvalue of their sum."""

import numpy as np
import pytest

from bandits_lib.checks import check_arms
from bandits_lib.glr import opening


@pytest.mark.parametrize("initial", ["spanning", "random"])
def test_the_first_arms_span_and_c_is_their_least_eigenvalue(initial):
    arms = check_arms(np.random.default_rng(0).standard_normal((20, 3)) @ np.ones((3, 5)) + np.eye(20, 5))
    start = opening(arms, arms, initial, np.random.default_rng(1))
    first = arms[start.first]
    assert len(start.first) == np.linalg.matrix_rank(arms) == start.counts.sum() == np.linalg.matrix_rank(first)
    assert start.c == pytest.approx(np.linalg.svd(first, compute_uv=False)[len(first) - 1] ** 2)


def test_random_first_arms_pass_over_those_already_spanned():
    arms = np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [0.0, 1.0]])
    for seed in range(10):
        assert 3 in opening(arms, arms, "random", np.random.default_rng(seed)).first


def test_random_first_arms_are_any_and_do_not_depend_on_the_unit():
    arms = np.random.default_rng(0).standard_normal((4, 2))
    drawn = [opening(arms, arms, "random", np.random.default_rng(seed)).first for seed in range(200)]
    assert {tuple(first) for first in drawn} == {(i, j) for i in range(4) for j in range(4) if i != j}
    for seed in range(10):
        scaled = opening(1e-9 * arms, 1e-9 * arms, "random", np.random.default_rng(seed)).first
        np.testing.assert_array_equal(scaled, drawn[seed])
