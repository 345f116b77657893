"""Least squares on aggregated samples, rank-one updates, and the argmax that every rule shares."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandits_lib import LinearBandit
from bandits_lib.elimination import basel_delta
from bandits_lib.numerics.kernels import rank_one_update
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
    from bandits_lib import Sample

    sample = Sample.of(pulled, rewards, 7)
    for fit, sd in ((least_squares(arms, sample), np.ones(7)), (weighted_least_squares(arms, sample, sigma), sigma)):
        np.testing.assert_allclose(fit.theta_hat, raw_least_squares(arms, pulled, rewards, sd), atol=1e-10)
        information = (arms[pulled] / sd[pulled, None] ** 2).T @ arms[pulled]
        np.testing.assert_allclose(fit.inverse, np.linalg.pinv(information, rcond=1e-12), atol=1e-9)
        y = arms[0] - arms[1]
        assert norms(fit.inverse, y[None, :])[0] == pytest.approx(y @ fit.inverse @ y)


def test_least_squares_is_unbiased_with_the_covariance_it_states():
    problem = LinearBandit(np.vstack([np.eye(3), np.ones(3)]), theta=[1.0, -2.0, 0.5], sigma=[1.0, 2.0, 0.5, 1.0])
    rng, counts = np.random.default_rng(1), np.array([5, 3, 9, 4])
    fits = [weighted_least_squares(problem.arms, problem.pull(counts, rng), problem.sigma) for _ in range(4000)]
    estimates = np.array([fit.theta_hat for fit in fits])
    covariance = fits[0].inverse
    se = np.sqrt(np.diag(covariance) / len(fits))
    assert (np.abs(estimates.mean(axis=0) - problem.theta) < 4 * se).all()
    np.testing.assert_allclose(np.cov(estimates.T), covariance, atol=4 * np.sqrt(2 / len(fits)) * covariance.max())


def test_rank_one_updates_equal_inversion():
    rng, d = np.random.default_rng(2), 5
    inverse, theta, information, response, logdet = np.eye(d), np.zeros(d), np.eye(d), np.zeros(d), 0.0
    for _ in range(200):
        arm, reward, u = rng.standard_normal(d), rng.standard_normal(), np.empty(d)
        before = inverse.copy()
        gain = rank_one_update(inverse, theta, arm, reward, u)
        np.testing.assert_allclose(u, before @ arm, atol=1e-12)
        information, response, logdet = information + np.outer(arm, arm), response + reward * arm, logdet + np.log(gain)
    np.testing.assert_allclose(inverse, np.linalg.inv(information), atol=1e-13)
    np.testing.assert_allclose(theta, np.linalg.solve(information, response), atol=1e-12)
    assert logdet == pytest.approx(np.linalg.slogdet(information)[1])


def test_basel_shares_add_up_to_delta_and_the_papers_do_not():
    t = np.arange(1, 10**6)
    assert basel_delta(0.05, t).sum() == pytest.approx(0.05, rel=1e-5)
    assert (0.05 / t**2).sum() > 1.6 * 0.05
