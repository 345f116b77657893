"""The logistic fit: against the plain one, on separable data, and what it refuses."""

import numpy as np
import pytest
from scipy.special import expit

from bandits_lib.fixed_budget.logistic import logistic_fit
from bandits_lib.plain.logistic import log_likelihood, logistic_regression
from bandits_lib.protocol import Sample


def of(counts, sums):
    counts, sums = np.asarray(counts), np.asarray(sums, dtype=float)
    return Sample(counts, sums, sums.copy())


def data(seed, K=8, d=4, most=30):
    rng = np.random.default_rng(seed)
    arms = rng.uniform(-0.5, 0.5, (K, d))
    arms.setflags(write=False)  # as those of a problem: a kernel is compiled for these already
    counts = rng.integers(0, most, K)
    return arms, of(counts, rng.binomial(counts, expit(arms @ rng.normal(0, 2, d))))


def penalised(theta, arms, sample, ridge):
    """Minus the penalised log-likelihood, its gradient and second derivative."""
    value, p = log_likelihood(arms, sample.counts, sample.sums, ridge, theta), expit(arms @ theta)
    gradient = arms.T @ (sample.sums - sample.counts * p) - ridge * theta
    hessian = (arms.T * (sample.counts * p * (1 - p))) @ arms + ridge * np.eye(len(theta))
    return -value, -gradient, hessian


@pytest.mark.parametrize("ridge", [1e-6, 1e-3, 1.0])
@pytest.mark.parametrize("seed", range(10))
def test_the_fit_is_that_of_the_plain_regression(seed, ridge):
    arms, sample = data(seed)
    fit = logistic_fit(arms, sample, ridge=ridge)
    best = logistic_regression(arms, sample.counts, sample.sums, ridge)
    np.testing.assert_allclose(fit.theta_hat, best, rtol=1e-5, atol=1e-7)
    hessian = penalised(fit.theta_hat, arms, sample, ridge)[2]
    np.testing.assert_allclose(fit.inverse @ hessian, np.eye(4), atol=1e-5)


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e-3])
@pytest.mark.parametrize("ridge", [1e-10, 1e-3])
def test_separable_data_have_a_finite_fit_that_solves_the_equations(ridge, scale):
    arms = scale * np.array([[1.0, 0.2], [0.4, 1.0], [-1.0, 0.1]])
    fit = logistic_fit(arms, of([9, 9, 9], [9, 9, 0]), ridge=ridge)
    assert np.isfinite(fit.theta_hat).all() and np.isfinite(fit.inverse).all() and fit.steps < 100
    gradient = penalised(fit.theta_hat, arms, of([9, 9, 9], [9, 9, 0]), ridge)[1]
    assert np.abs(gradient).max() <= 1e-5 * 27 * scale
    values = arms @ fit.theta_hat
    assert values[2] < 0 < values[0] and values[1] > 0


def test_the_start_does_not_matter():
    arms, sample = data(1)
    starts = [None, np.full(4, 20.0), np.random.default_rng(0).normal(0, 5, 4)]
    fits = [logistic_fit(arms, sample, start=start).theta_hat for start in starts]
    np.testing.assert_allclose(fits[1], fits[0], rtol=1e-6)
    np.testing.assert_allclose(fits[2], fits[0], rtol=1e-6)


def test_arms_that_do_not_span_leave_the_fit_in_their_span():
    arms = np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 0.0], [0.5, 0.5, 0.0]])
    fit = logistic_fit(arms, of([10, 10, 10], [7, 9, 6]))
    assert fit.theta_hat[2] == 0 and fit.theta_hat[0] == pytest.approx(fit.theta_hat[1])


def test_no_pulls_no_opinion():
    assert (logistic_fit(np.eye(2), of([0, 0], [0, 0])).theta_hat == 0).all()


@pytest.mark.parametrize(
    ("counts", "sums", "squares"),
    [
        ([5, 5], [2.0, 5.5], [2.0, 5.5]),
        ([5, 5], [2.0, 6.0], [2.0, 6.0]),
        ([5, 5], [2.0, -1.0], [2.0, 1.0]),
        ([5, 5], [2.0, 2.0], [2.0, 4.0]),
        ([5, 5], [2.0, 1.3], [2.0, 2.9]),
    ],
    ids=["fraction", "more than pulls", "negative", "a two among zeros", "gaussian"],
)
def test_other_rewards_than_0_and_1_are_refused(counts, sums, squares):
    with pytest.raises(ValueError, match="rewards must be 0 or 1 for the logistic model; those of arm 1"):
        logistic_fit(np.eye(2), Sample(np.array(counts), np.array(sums), np.array(squares)))


@pytest.mark.parametrize("ridge", [0.0, -1.0, np.nan, np.inf])
def test_a_ridge_that_is_none_is_refused(ridge):
    with pytest.raises(ValueError, match="ridge must be positive"):
        logistic_fit(np.eye(2), of([1, 1], [1, 0]), ridge=ridge)
