"""The upper bound of the noise from a pilot: it covers as often as it says, and a degree of freedom more would not."""

import numpy as np
import pytest
from scipy import stats

from bandits_lab.noise import chi_square, pilot_size, sigma_upper, within
from bandits_lib import LinearBandit, Sample

COUNTS = np.array([3, 2, 1, 0, 2])  # 4 degrees of freedom
WORLD = LinearBandit(np.eye(5), theta=[5.0, -1.0, 0.0, 2.0, 100.0], sigma=0.3)
RUNS = 4_000


def pilots(counts=COUNTS, runs=RUNS, seed=0):
    rng = np.random.default_rng(seed)
    return [WORLD.pull(counts, rng) for _ in range(runs)]


def test_the_bound_covers_as_promised_and_not_with_a_degree_of_freedom_more_or_less():
    samples = pilots()
    bounds = np.array([sigma_upper(sample, 0.1) for sample in samples])
    missed = int((bounds < 0.3).sum())
    assert stats.binomtest(missed, RUNS, 0.1).pvalue > 1e-3
    for df in (3, 5):
        other = bounds * np.sqrt(chi_square(0.1, 4) / chi_square(0.1, df))
        assert stats.binomtest(int((other < 0.3).sum()), RUNS, 0.1).pvalue < 1e-6


def test_means_have_no_part_in_it():
    pulls, noise = [0, 0, 0, 1, 1, 2], np.array([0.1, -0.2, 0.4, 0.0, 0.3, 0.7])
    plain = sigma_upper(Sample.of(pulls, noise, 3), 0.05)
    moved = sigma_upper(Sample.of(pulls, noise + np.array([7.0, 7, 7, -30, -30, 5]), 3), 0.05)
    squares = 2 * np.var(noise[:3], ddof=1) + np.var(noise[3:5], ddof=1)
    assert plain == pytest.approx(np.sqrt(squares / stats.chi2.ppf(0.05, 3)))
    assert moved == pytest.approx(plain)


def test_rounding_makes_the_bound_larger_and_never_smaller():
    """Rewards of 1e6 and noise of 0.1: of the squares of the noise, sums of squares keep a digit or two."""
    rng, arms = np.random.default_rng(0), np.repeat(np.arange(4), 25)
    noise = 0.1 * rng.standard_normal(100)
    exact = sigma_upper(Sample.of(arms, noise, 4), 0.05)
    assert exact < sigma_upper(Sample.of(arms, noise + 1e6, 4), 0.05) < 2 * exact


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_units(size):
    pulls, rewards = [0, 0, 1, 1], np.array([1.0, 1.5, 3.0, 2.0])
    unit = sigma_upper(Sample.of(pulls, rewards, 2), 0.05)
    assert sigma_upper(Sample.of(pulls, size * rewards, 2), 0.05) == pytest.approx(size * unit)


@pytest.mark.parametrize(("factor", "delta", "chance"), [(1.5, 0.01, 0.9), (1.2, 0.05, 0.5), (3.0, 1e-4, 0.99)])
def test_the_size_of_a_pilot_is_the_least_that_will_do(factor, delta, chance):
    df = pilot_size(factor, delta, chance=chance) - 1
    for fewer, enough in ((0, True), (1, False)):
        reached = stats.chi2.cdf(factor**2 * stats.chi2.ppf(delta, df - fewer), df - fewer)
        assert (reached >= chance) is np.bool_(enough)
    assert pilot_size(factor, delta, n_arms=12, chance=chance) == df + 12


@pytest.mark.parametrize(
    ("sample", "delta", "words"),
    [
        (Sample.of([0, 1, 2], [1.0, 2.0, 3.0], 3), 0.05, "no arm was measured twice"),
        (Sample.of([0, 0, 1], [1.1, 1.1, 3.0], 3), 0.05, "the replicates of every arm are equal"),
        (Sample(np.array([2]), np.array([np.nan]), np.array([1.0])), 0.05, "must be finite"),
        (Sample.of([0, 0], [1.0, 2.0], 1), 0.0, "delta"),
        (Sample.of([0, 0], [1.0, 2.0], 1), "0.05", "delta"),
    ],
)
def test_pilots_that_bound_nothing_are_refused(sample, delta, words):
    with pytest.raises(ValueError, match=words):
        sigma_upper(sample, delta)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"factor": 1.0}, "factor, .* must be above 1"),
        ({"factor": np.nan}, "factor, .* must be above 1"),
        ({"factor": 1 + 1e-9}, "more than 1e"),
        ({"delta": 1.0}, "delta"),
        ({"chance": 0.0}, "chance"),
        ({"n_arms": 0}, "n_arms"),
        ({"n_arms": 2.5}, "n_arms"),
    ],
)
def test_sizes_that_cannot_be(arguments, words):
    with pytest.raises(ValueError, match=words):
        pilot_size(**{"factor": 1.5, "delta": 0.05} | arguments)


def test_squares_within_arms_are_those_of_the_rewards():
    arms, rewards = np.array([0, 1, 1, 2, 2, 2]), np.array([4.0, 1.0, 3.0, 2.0, 5.0, 8.0])
    found = within(Sample.of(arms, rewards, 4))
    assert found.df == 3 and found.squares == pytest.approx(2.0 + 18.0)
    scaled = within(Sample.of(arms, rewards, 4), np.array([1.0, 2.0, 3.0, 1.0]))
    assert scaled.squares == pytest.approx(2.0 / 4 + 18.0 / 9)
