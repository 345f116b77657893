"""HEAD and its baselines: what they estimate, against raw rewards, plain regressions and expectation."""

import numpy as np
import pytest
from test_rules import ARMS, IDENTIFIED, MAKE, SIGMA, WIDE, each, estimate

from bandits_lib import LinearBandit, Sample
from bandits_lib.numerics.least_squares import least_squares
from bandits_lib.variance import features, head
from bandits_lib.variance.quadratic import fit_quadratic, isometric, squared_residuals, variances


def noisy(arms, Sigma, theta):
    return LinearBandit(arms, theta=theta, sigma=np.sqrt(variances(arms, Sigma)))


def experiment_1():
    """Arms of weltz2023's first experiment: nine of them, so their phi's cannot span the ten dimensions of Sigma."""
    e, w, q = np.eye(4), 0.02, 0.4
    near = [np.cos(w) * e[0] + np.sin(w) * e[i] for i in (1, 2, 3)]
    extra = [0.5 * (e[0] + e[1]) + 0.1 * e[2], 0.5 * (e[0] + e[1]) + 0.1 * (e[2] + e[3])]
    return np.array([e[0], e[1], q * e[2], q * e[3], *near, *extra])


def replicated(make, problem, budget, runs):
    """(runs, d, d) of Sigma-hat."""
    return np.array([estimate(make, problem, budget, s).result.recommendation.Sigma for s in range(runs)])


# --- the regression


def test_phi_makes_the_variance_linear():
    i, j = np.triu_indices(3)
    np.testing.assert_allclose(features(ARMS) @ SIGMA[i, j], variances(ARMS, SIGMA))
    np.testing.assert_allclose(np.linalg.norm(isometric(ARMS), axis=1), (ARMS**2).sum(axis=1))


def test_squared_residuals_are_those_of_the_raw_rewards():
    rng = np.random.default_rng(0)
    pulled, rewards, means = rng.integers(0, 5, 200), 3 + rng.standard_normal(200), rng.standard_normal(6)
    expected = np.bincount(pulled, (rewards - means[pulled]) ** 2, minlength=6)
    np.testing.assert_allclose(squared_residuals(means, Sample.of(pulled, rewards, 6)), expected)


@pytest.mark.parametrize("arms, rank", [(ARMS, 6), (experiment_1(), 9), (np.eye(3), 3), (ARMS[:4], 4)])
def test_the_regression_is_least_squares_on_single_pulls(arms, rank):
    rng = np.random.default_rng(1)
    pulled = np.concatenate([np.arange(len(arms)), rng.integers(0, len(arms), 300)])
    residuals = rng.standard_normal(len(pulled)) ** 2
    fit = fit_quadratic(arms, np.bincount(pulled), np.bincount(pulled, residuals))
    full = (arms[pulled, :, None] * arms[pulled, None, :]).reshape(len(pulled), -1)  # vec(xx'): all d^2 entries
    twin = np.linalg.lstsq(full, residuals, rcond=1e-10)[0].reshape(fit.Sigma.shape)  # of least norm, so symmetric
    np.testing.assert_allclose(fit.Sigma, twin, atol=1e-9 * np.abs(twin).max())
    assert fit.rank == rank == np.linalg.matrix_rank(full)


def test_the_least_norm_fit_turns_with_the_arms():
    turn = np.linalg.qr(np.random.default_rng(5).standard_normal((4, 4)))[0]
    arms, counts = experiment_1(), np.full(9, 10)
    squares = np.random.default_rng(6).chisquare(10, 9)
    one, turned = fit_quadratic(arms, counts, squares), fit_quadratic(arms @ turn.T, counts, squares)
    np.testing.assert_allclose(turned.Sigma, turn @ one.Sigma @ turn.T, atol=1e-8)


# --- what expectation says


def z_scores(samples, expected):
    """Largest |mean - expected| in standard errors."""
    flat = samples.reshape(len(samples), -1)
    return np.abs((flat.mean(axis=0) - expected.ravel()) / (flat.std(axis=0, ddof=1) / np.sqrt(len(flat)))).max()


@pytest.mark.slow
def test_head_is_unbiased_up_to_the_covariance_of_theta_hat():
    fits, first = replicated(MAKE["head"], IDENTIFIED, 24, 3000), play_first_stage(24)
    assert z_scores(fits, SIGMA + first) < 4  # E (y - x'theta_hat)^2 = x'Sigma x + x'Cov(theta_hat)x
    assert z_scores(fits, SIGMA) > 6  # negative control: at so small a budget the second term is seen
    assert z_scores(replicated(MAKE["head"], IDENTIFIED, 20_000, 400), SIGMA) < 4


def play_first_stage(budget):
    """Covariance of theta_hat after the first of the two stages."""
    counts = next(head(ARMS, budget=budget, **WIDE))
    inverse = least_squares(ARMS, Sample(counts, 0.0 * counts, 0.0 * counts)).inverse
    return inverse @ (ARMS.T * counts * IDENTIFIED.sigma**2) @ ARMS @ inverse


@pytest.mark.slow
def test_separate_arms_are_too_small_by_1_in_n():
    found = replicated(MAKE["separate_arm_estimator (volume)"], IDENTIFIED, 24, 2000)  # six arms, four pulls each
    assert z_scores(found, SIGMA * 3 / 4) < 4 and z_scores(found, SIGMA) > 6


def test_uniform_is_unbiased_but_for_the_fitted_dimensions():
    fits = replicated(MAKE["uniform_estimator"], IDENTIFIED, 20_000, 400)
    assert z_scores(fits, SIGMA) < 4


# --- rewards in sums are rewards


# --- where Sigma is not identified


def test_nine_arms_cannot_span_ten_dimensions_but_their_variances_are_estimated():
    problem = noisy(experiment_1(), np.eye(4), np.eye(4)[0])
    assert features(problem.arms).shape[1] == 10 and np.linalg.matrix_rank(features(problem.arms)) == 9
    runs = [estimate(MAKE["head"], problem, 40_000, s).result for s in range(300)]
    assert {run.recommendation.rank for run in runs} == {9}
    assert runs[0].history[1].lower_bound == 9 and runs[0].history[1].design_value <= 9 * 1.001
    estimates = np.array([variances(problem.arms, run.recommendation.Sigma) for run in runs])
    assert z_scores(estimates, problem.sigma**2) < 4
    i, j = np.triu_indices(4)
    blind = np.zeros((4, 4))
    blind[i, j] = blind[j, i] = np.linalg.svd(isometric(problem.arms))[2][-1] / np.where(i == j, 1, np.sqrt(2))
    np.testing.assert_allclose(variances(problem.arms, np.eye(4) + 0.3 * blind), problem.sigma**2)  # no arm tells
    assert max(abs((run.recommendation.Sigma * blind).sum()) for run in runs) < 1e-6  # least norm: none of it


@each
def test_layouts_with_indicator_features(make):
    layouts = np.array([[1, a, b, c, a * b, a * c, b * c] for a in (0, 1) for b in (0, 1) for c in (0, 1)], float)
    problem = noisy(layouts, np.diag([0.3, 0.7, *5 * [1e-3]]), np.zeros(7))
    found = estimate(make, problem, 400_000).result.recommendation
    assert found.rank == 8
    np.testing.assert_allclose(found.sigma, problem.sigma, rtol=0.05)


@each
def test_arms_in_a_plane_of_space(make):
    flat = np.column_stack([ARMS[:, :2], ARMS[:, 0] + ARMS[:, 1]])
    problem = noisy(flat, SIGMA, np.ones(3))
    found = estimate(make, problem, 400_000).result.recommendation
    assert found.rank == 3
    np.testing.assert_allclose(found.sigma, problem.sigma, rtol=0.05)
