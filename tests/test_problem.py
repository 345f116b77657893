"""The world draws exactly what single pulls would give, from counts, sums and squares."""

import numpy as np
import pytest
from scipy import stats

from bandits_lib import LinearBandit, Sample


def test_aggregated_gaussian_rewards_have_the_law_of_single_pulls():
    """sum ~ N(n mu, n s^2), within-arm squares ~ s^2 chi2(n - 1), independent: Kolmogorov-Smirnov against both."""
    problem = LinearBandit([[1.0, 0.0], [0.0, 1.0]], theta=[0.3, -1.0], sigma=[0.5, 2.0])
    rng, n = np.random.default_rng(0), 7
    samples = [problem.pull(np.array([n, n]), rng) for _ in range(4000)]
    sums, squares = np.array([s.sums for s in samples]), np.array([s.squares for s in samples])
    for k, (mean, sigma) in enumerate(zip(problem.means, problem.sigma, strict=True)):
        within = (squares[:, k] - sums[:, k] ** 2 / n) / sigma**2
        assert stats.kstest(sums[:, k], "norm", (n * mean, np.sqrt(n) * sigma)).pvalue > 1e-3
        assert stats.kstest(within, "chi2", (n - 1,)).pvalue > 1e-3
        assert abs(stats.pearsonr(sums[:, k], within).statistic) < 4 / np.sqrt(len(samples))


def test_draws_are_normals_in_index_order_then_chi_squares_and_nothing_for_unpulled_arms():
    problem = LinearBandit(np.eye(4), theta=[0.0, 1.0, 2.0, 3.0])
    sample = problem.pull(np.array([1, 0, 3, 2]), np.random.default_rng(5))
    rng = np.random.default_rng(5)
    normals, within = rng.standard_normal(3), rng.chisquare([2, 1])
    sums = np.array([1, 3, 2]) * problem.means[[0, 2, 3]] + np.sqrt([1, 3, 2]) * normals
    assert sample.sums.tolist() == [sums[0], 0.0, sums[1], sums[2]]
    assert sample.squares[0] == sums[0] ** 2 and sample.squares[1] == 0
    np.testing.assert_allclose(sample.squares[2:], sums[1:] ** 2 / [3, 2] + within, rtol=1e-15)


def test_huge_batches_cost_nothing():
    problem = LinearBandit(np.eye(2), theta=[1.0, 0.0])
    sample = problem.pull(np.array([10**15, 0]), np.random.default_rng(0))
    assert abs(sample.sums[0] / 1e15 - 1) < 4 / np.sqrt(1e15)


def test_bernoulli_rewards_are_counts_of_ones():
    problem = LinearBandit(np.eye(2), theta=[0.2, 0.7], noise="bernoulli")
    sample = problem.pull(np.array([1000, 1000]), np.random.default_rng(1))
    assert (sample.squares == sample.sums).all() and (sample.sums == np.round(sample.sums)).all()
    np.testing.assert_allclose(sample.sums / 1000, problem.means, atol=4 * np.sqrt(0.25 / 1000))


def test_attributes_of_a_transductive_problem():
    problem = LinearBandit(np.eye(2), items=[[1.0, 1.0], [2.0, 0.0], [0.0, 2.0]], theta=[1.0, 0.5])
    np.testing.assert_allclose(problem.item_values, [1.5, 2.0, 1.0])
    np.testing.assert_allclose(problem.gaps, [0.5, 0.0, 1.0])
    assert problem.best_item == 1
    assert LinearBandit(np.eye(2), theta=[0.0, 0.0], link="logistic").means.tolist() == [0.5, 0.5]
    assert LinearBandit(np.eye(2), means=[0.1, 3.0]).best_item == 1


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"arms": [1.0, 2.0], "theta": [1.0]}, "arms must be a matrix"),
        ({"arms": np.empty((0, 2)), "theta": [1.0, 0.0]}, "arms must not be empty"),
        ({"arms": [[1.0, np.nan]], "theta": [1.0, 0.0]}, r"arms\[0, 1\] is nan"),
        ({"arms": np.zeros((2, 2)), "theta": [1.0, 0.0]}, "arms must not all be zero"),
        ({"arms": np.eye(2), "theta": [1.0, np.inf]}, "theta must be"),
        ({"arms": np.eye(2)}, "theta or means"),
        ({"arms": np.eye(2), "theta": [1.0, 0.0], "sigma": -1.0}, "sigma must be positive"),
        ({"arms": np.eye(2), "theta": [1.0, 0.0], "sigma": [1.0, 1.0, 1.0]}, "sigma must be one"),
        ({"arms": np.eye(2), "theta": [1.5, 0.0], "noise": "bernoulli"}, "bernoulli means must lie in"),
        ({"arms": np.eye(2), "items": np.eye(3), "theta": [1.0, 0.0]}, "items must have the same number of columns"),
        ({"arms": [[1.0, 0.0]], "items": np.eye(2), "theta": [1.0, 0.0]}, "span of the arms"),
        ({"arms": np.eye(2), "means": [1.0]}, "means must have one entry per arm"),
        ({"arms": np.eye(2), "items": [[1.0, 1.0]], "means": [1.0, 2.0]}, "do not give the values of other items"),
    ],
)
def test_bad_problems_are_refused(kwargs, words):
    with pytest.raises(ValueError, match=words):
        LinearBandit(**kwargs)


def test_sample_of_raw_rewards():
    sample = Sample.of([2, 0, 2], [1.0, 5.0, 3.0], 4)
    assert sample.counts.tolist() == [1, 0, 2, 0]
    assert sample.sums.tolist() == [5.0, 0.0, 4.0, 0.0] and sample.squares.tolist() == [25.0, 0.0, 10.0, 0.0]


@pytest.mark.parametrize(
    ("arms", "rewards", "words"),
    [
        ([0, 1], [1.0], "equally long"),
        ([0, 4], [1.0, 1.0], "must lie in"),
        ([0], [np.nan], "must be finite"),
        ([0.5], [1.0], "must be integers"),
    ],
)
def test_raw_rewards_that_cannot_be_are_refused(arms, rewards, words):
    with pytest.raises(ValueError, match=words):
        Sample.of(arms, rewards, 4)
