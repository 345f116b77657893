"""Least squares on aggregated samples, and the argmax that every rule shares."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandits_lib import Sample
from bandits_lib.elimination import basel_delta
from bandits_lib.numerics.least_squares import least_squares, norms, weighted_least_squares
from bandits_lib.numerics.ties import argmax


def slow_argmax(values):
    top = max(values)
    return next(k for k, v in enumerate(values) if v >= top - 1e-9 * max(1e-300, abs(top)))


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_argmax_is_the_first_within_the_tie(values):
    array = np.array(values)
    assert argmax(array) == argmax.py_func(array) == slow_argmax(values)


def test_argmax_ignores_rounding_errors_but_not_differences():
    assert argmax(np.array([1.0, 1.0 + 1e-12])) == 0
    assert argmax(np.array([-1.0 - 1e-12, -1.0])) == 0
    assert argmax(np.array([1.0, 1.0 + 1e-6])) == 1
    assert argmax(np.array([0.0, 1e-310])) == 0
    assert argmax(np.array([-np.inf, -5.0])) == 1


def raw_least_squares(arms, pulled, rewards, sigma):
    """The slow twin: one row per pull, numpy's own solver."""
    weight = 1 / sigma[pulled]
    return np.linalg.lstsq(arms[pulled] * weight[:, None], rewards * weight, rcond=1e-9)[0]


@pytest.mark.parametrize("rank", [4, 2])
def test_aggregated_least_squares_is_least_squares_on_single_rewards(rank):
    rng = np.random.default_rng(0)
    arms = rng.standard_normal((7, rank)) @ rng.standard_normal((rank, 4))
    sigma = rng.uniform(0.5, 2, 7)
    pulled = rng.integers(0, 6, 60)
    rewards = rng.standard_normal(60)
    sample = Sample.of(pulled, rewards, 7)
    for fit, sd in ((least_squares(arms, sample), np.ones(7)), (weighted_least_squares(arms, sample, sigma), sigma)):
        np.testing.assert_allclose(fit.theta_hat, raw_least_squares(arms, pulled, rewards, sd), atol=1e-10)
        information = (arms[pulled] / sd[pulled, None] ** 2).T @ arms[pulled]
        np.testing.assert_allclose(fit.inverse, np.linalg.pinv(information, rcond=1e-12), atol=1e-9)
        y = arms[0] - arms[1]
        assert norms(fit.inverse, y[None, :])[0] == pytest.approx(y @ fit.inverse @ y)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_what_can_be_estimated_does_not_depend_on_the_unit(unit):
    arms = unit * np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
    fit = least_squares(arms, Sample.of([0, 1], [1.0, 2.0], 2))
    assert fit.estimable(unit * np.array([[0.0, 1.0, 0.0], [0.0, 1.0, 1e-3]])).tolist() == [True, False]


def test_basel_shares_add_up_to_delta_and_the_papers_do_not():
    t = np.arange(1, 10**6)
    assert basel_delta(0.05, t).sum() == pytest.approx(0.05, rel=1e-5)
    assert (0.05 / t**2).sum() > 1.6 * 0.05
