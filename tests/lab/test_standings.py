"""Intervals at any time: they contain the truth together, and they shut items out only when that is proved."""

from math import log, sqrt

import numpy as np
import pytest
from scipy import stats

from bandits_lab.anytime_intervals import intervals
from bandits_lib import LinearBandit, Sample

ARMS = np.vstack([np.eye(3), [0.6, 0.8, 0.0]])
PROBLEM = LinearBandit(ARMS, theta=np.array([1.0, 0.2, 0.0]), sigma=1.0)


def test_a_width_is_that_of_equation_9():
    """Pulls of a basis: A is diagonal and c = 1, so beta and the norm are sums over the arms."""
    counts, u, delta, sigma = np.array([9, 25, 4]), 0.5, 0.1, 2.0
    beta = (1 + u) * sigma**2 * (np.log(counts / u + 1).sum() / 2 + log(1 / delta))
    sums = counts * [1.0, 0.0, 0.5]
    table = intervals(np.eye(3), Sample(counts, sums, sums**2), sigma=sigma, delta=delta, u=u)
    for item, behind in ((1, 1.0), (2, 0.5)):
        width = sqrt(2 * beta * (1 / counts[0] + 1 / counts[item]))
        expected = [behind, behind - width, behind + width]
        assert table.loc[item, ["behind", "low", "high"]].tolist() == pytest.approx(expected)


def test_intervals_cover_at_all_times_together_and_would_not_if_narrowed_by_the_root_of_two():
    """One arm and a small u, where eq. 9 gives little away: 2,000 runs of 4,000 pulls, looked at 52 times."""
    arms, items, delta, u = np.ones((1, 1)), np.array([[1.0], [0.0]]), 0.05, 0.1
    times = np.unique(np.geomspace(1, 4_000, 60).astype(int))
    samples = [Sample(np.array([n]), np.array([float(n)]), np.array([2.0 * n])) for n in times]
    tables = [intervals(arms, sample, items=items, delta=delta, u=u) for sample in samples]
    widths = np.array([table["high"][1] - table["behind"][1] for table in tables])
    steps = np.diff(times, prepend=0)
    noise = np.random.default_rng(0).standard_normal((2_000, len(times))) * np.sqrt(steps)
    errors = np.abs(noise.cumsum(axis=1) / times)  # of theta_hat, at every look
    missed, narrowed = (int((errors > width).any(axis=1).sum()) for width in (widths, widths / sqrt(2)))
    assert stats.binomtest(missed, 2_000, delta, alternative="less").pvalue < 1e-3
    assert stats.binomtest(narrowed, 2_000, delta, alternative="greater").pvalue < 1e-3


def test_before_the_arms_are_spanned_nothing_is_known():
    table = intervals(ARMS, Sample(np.array([5, 0, 0, 0]), np.array([5.0, 0, 0, 0]), np.array([5.0, 0, 0, 0])))
    assert table["in_play"].all() and np.isinf(table["high"].drop(index=0)).all()


def test_with_many_pulls_only_the_best_is_in_play():
    table = intervals(ARMS, PROBLEM.pull(np.full(4, 100_000), np.random.default_rng(0)), names=list("abcd"))
    assert list(table.index[table["in_play"]]) == ["a"]


def test_arms_that_do_not_span_the_space_are_compared_all_the_same():
    flat = LinearBandit(ARMS[:2], theta=np.array([1.0, 0.0, 0.0]))
    table = intervals(flat.arms, flat.pull(np.array([400, 400]), np.random.default_rng(0)))
    assert list(table["in_play"]) == [True, False]


def test_bad_arguments():
    sample = PROBLEM.pull(np.ones(4, dtype=np.int64), np.random.default_rng(0))
    with pytest.raises(ValueError, match="delta"):
        intervals(ARMS, sample, delta=0.0)
    with pytest.raises(ValueError, match="sigma"):
        intervals(ARMS, sample, sigma=-1.0)
    with pytest.raises(ValueError, match="u must"):
        intervals(ARMS, sample, u=0.0)
