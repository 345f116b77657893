"""Rules that learn sigma from replicates: the width is Student's quantile."""

from math import ceil, log

import numpy as np
import pytest
from scipy import stats

from bandits_lib import LinearBandit, Sample, play
from bandits_lib.elimination import student_radius
from bandits_lib.fixed_confidence import rage, xy_static
from bandits_lib.numerics.least_squares import squares_within

ARMS = np.vstack([np.eye(2), [0.6, 0.8]])
COUNTS = np.array([3, 2, 2])


def sample_of(rewards):
    """The Sample of rewards (7,), of the arms in COUNTS in their order."""
    arm = np.repeat(np.arange(3), COUNTS)
    return Sample(COUNTS, np.bincount(arm, rewards), np.bincount(arm, rewards**2))


def test_squares_within_arms():
    rewards = np.array([1.0, 2.0, 6.0, 5.0, 5.0, 1.0, 3.0])
    within, df = squares_within(sample_of(rewards))
    assert df == 4 and within == pytest.approx(14 + 0 + 2)
    assert squares_within(sample_of(np.ones(7))) == (0.0, 4)


def test_the_quantile_is_that_of_scipy():
    sample = sample_of(np.array([1.0, 2.0, 6.0, 5.0, 4.0, 1.0, 3.0]))
    within, df = squares_within(sample)
    for log_inverse in (1.0, 10.0, 60.0):
        want = np.sqrt(within / df) * stats.t.isf(np.exp(-log_inverse), df)
        assert student_radius(sample, log_inverse) == pytest.approx(want, rel=1e-6)
    assert student_radius(sample, 1e4) == np.inf, "where the quantile is no float"


@pytest.mark.parametrize("sigma", [1e-6, 1.0, 1e6])
def test_rage_learns_sigma_in_any_unit(sigma):
    problem = LinearBandit(ARMS, theta=sigma * np.array([1.0, 0.2]), sigma=sigma)
    made = rage(ARMS, delta=0.05, sigma=None, scale=None)
    assert play(made, problem, np.random.default_rng(1)).result.recommendation == problem.best_item


def test_rage_learns_sigma_from_the_replicates_of_all_phases():
    problem = LinearBandit(ARMS, theta=[1.0, 0.7])
    made, rng, samples = rage(ARMS, delta=0.05, sigma=None), np.random.default_rng(0), []
    with pytest.raises(StopIteration) as stop:
        counts = next(made)
        while True:
            samples.append(problem.pull(counts, rng))
            counts = made.send(samples[-1])
    history = stop.value.value.history
    assert len(history) > 2
    for t, phase in enumerate(history[1:], start=2):
        squares, df = map(sum, zip(*map(squares_within, samples[: t - 1]), strict=True))
        wanted = ceil(2 * squares / df * 4**t * 1.1 * phase.design_value * log(3**2 * t**2 / 0.05))
        assert phase.counts.sum() == max(wanted, 20 * np.count_nonzero(phase.counts))


def test_replicates_that_are_all_equal_are_refused():
    made = rage(ARMS, delta=0.05, sigma=None)
    n = np.asarray(made.send(None))
    with pytest.raises(ValueError, match="no two differ: sigma cannot be learned"):
        made.send(Sample(n, 0.5 * n, 0.25 * n))


def test_xy_static_waits_while_replicates_are_equal():
    made = xy_static(ARMS, delta=0.05, sigma=None, rng=np.random.default_rng(0))
    n = np.asarray(made.send(None))
    for _ in range(5):
        n = np.asarray(made.send(Sample(n, n * [1.0, 0.0, 0.5], n * [1.0, 0.0, 0.25])))
    assert n.sum() > 1
    with pytest.raises(ValueError, match="no two differ: sigma cannot be learned"):
        for _ in range(8):
            n = np.asarray(made.send(Sample(n, n * [1.0, 0.0, 0.5], n * [1.0, 0.0, 0.25])))
