"""Noise and linearity as the measurements show them: exact for fixed counts, and how far from it for adaptive ones."""

import re

import numpy as np
import pytest
from scipy import stats

from bandits_lab.diagnosis import Diagnosis, detectable, diagnose, fit, replicates
from bandits_lib import LinearBandit, Sample

RNG = np.random.default_rng
LINE = np.column_stack([np.ones(5), [0.0, 1.0, 2.0, 3.0, 7.0]])
COUNTS = np.array([3, 1, 2, 2, 0])  # 4 arms, rank 2: 2 and 4 degrees of freedom
WORLD = LinearBandit(LINE, theta=[1.0, 0.5], sigma=0.3)
RUNS = 2_500


def raw(counts, means, sigma, rng):
    """Arms pulled and their rewards, one by one."""
    arms = np.repeat(np.arange(len(counts)), counts)
    return arms, means[arms] + sigma * rng.standard_normal(len(arms))


def test_the_squares_and_the_leverages_are_those_of_a_regression_on_single_rewards():
    pulled, rewards = raw(COUNTS, WORLD.means, 0.3, RNG(0))
    found = diagnose(LINE, Sample.of(pulled, rewards, 5))
    X = LINE[pulled]
    hat = X @ np.linalg.pinv(X)
    residuals = rewards - hat @ rewards
    pure = sum(((rewards[pulled == k] - rewards[pulled == k].mean()) ** 2).sum() for k in range(4))
    assert found.noise == pytest.approx(np.sqrt(pure / 4)) and found.noise_df == 4 and found.df == 2
    assert pytest.approx((residuals @ residuals - pure) / 2 / (pure / 4)) == found.F
    assert found.p_value == pytest.approx(stats.f.sf(found.F, 2, 4))
    for k in range(4):
        assert found.table.leverage[k] == pytest.approx(np.diag(hat)[pulled == k].sum())
        error = found.noise * np.sqrt((1 - found.table.leverage[k]) / COUNTS[k])
        away = rewards[pulled == k].mean() - (hat @ rewards)[pulled == k][0]
        assert found.table.residual[k] == pytest.approx(away / error)
    assert found.table.pulls.tolist() == COUNTS.tolist()
    never = found.table.loc[4]
    assert np.isnan(never["mean"]) and np.isnan(never["residual"]) and np.isinf(never["visible"])
    assert never["fitted"] == pytest.approx(LINE[4] @ np.linalg.lstsq(X, rewards)[0])


def drawn(runs=RUNS, seed=0, world=WORLD, counts=COUNTS):
    rng = RNG(seed)
    return [world.pull(counts, rng) for _ in range(runs)]


def rejected(F, df, noise_df, level=0.05):
    return int((F > stats.f.isf(level, df, noise_df)).sum())


def test_the_level_is_exact_for_counts_fixed_beforehand_and_not_with_a_degree_of_freedom_more_or_less():
    F = np.array([diagnose(LINE, sample).F for sample in drawn()])
    assert stats.binomtest(rejected(F, 2, 4), RUNS, 0.05).pvalue > 1e-3
    for df, noise_df in ((1, 4), (3, 4), (2, 3), (2, 5)):
        wrong = F * (2 / df) * (noise_df / 4)
        assert stats.binomtest(rejected(wrong, df, noise_df), RUNS, 0.05).pvalue < 1e-4


def test_the_interval_of_the_noise_misses_on_either_side_as_often_as_promised():
    found = [replicates(sample, np.ones(5), 0.05) for sample in drawn(seed=1)]
    noise, low, high, df = np.array(found).T
    assert (df == 4).all()
    assert stats.binomtest(int((low > 0.3).sum()), RUNS, 0.025).pvalue > 1e-3
    assert stats.binomtest(int((high < 0.3).sum()), RUNS, 0.025).pvalue > 1e-3
    for wrong in (3, 5):
        tails = [stats.chi2.cdf(4 * noise**2 / 0.09, wrong) < 0.025, stats.chi2.sf(4 * noise**2 / 0.09, wrong) < 0.025]
        assert min(stats.binomtest(int(tail.sum()), RUNS, 0.025).pvalue for tail in tails) < 1e-4


@pytest.mark.parametrize("arm", [0, 3])
def test_what_is_called_visible_is_found_with_probability_8_of_10(arm):
    """With the true noise in the place of the estimate; half of it is found far more rarely."""
    counts = np.array([4, 4, 6, 5, 3])
    free = fit(LINE, Sample(counts, counts * 0.0, counts * 0.0), np.ones(5))[3]
    visible = 0.3 * np.sqrt(detectable(3, 17, 0.05) / free[arm])
    found = {}
    for share in (1.0, 0.5):
        bent = LinearBandit(LINE, means=WORLD.means + share * visible * (np.arange(5) == arm), sigma=0.3)
        found[share] = sum(diagnose(LINE, sample).p_value < 0.05 for sample in drawn(1_000, 2, bent, counts))
    assert stats.binomtest(found[1.0], 1_000, 0.8).pvalue > 1e-3
    assert found[0.5] < 0.4 * 1_000


def test_the_table_is_in_units_of_the_estimated_noise():
    counts = np.array([4, 4, 6, 5, 3])
    found = diagnose(LINE, drawn(1, 3, counts=counts)[0])
    free = counts * (1 - found.table.leverage)
    reach = found.noise * np.sqrt(detectable(3, 17, 0.05))
    np.testing.assert_allclose(found.table.visible, reach / np.sqrt(free))
    assert found.visible == pytest.approx(reach / np.sqrt(22))
    np.testing.assert_allclose(found.table.error, found.noise / np.sqrt(counts))


def test_the_noncentrality_gives_the_power_and_has_limits():
    for df, noise_df, level in ((1, 2, 0.05), (30, 5, 0.01), (5, 10**9, 1e-6)):
        found = detectable(df, noise_df, level)
        assert stats.ncf.sf(stats.f.isf(level, df, noise_df), df, noise_df, found) == pytest.approx(0.8)
    assert detectable(1, 1, 1e-6) == np.inf and detectable(3, 4, 0.9) == 0.0


# --- what cannot be seen


def test_an_arm_that_alone_measures_a_direction_is_blind_however_often_it_is_pulled():
    arms = np.vstack([np.column_stack([LINE, np.zeros(5)]), [1.0, 0.0, 1.0]])
    found = diagnose(arms, drawn(1, 0, LinearBandit(arms, theta=[1.0, 0.5, 2.0]), np.full(6, 10))[0])
    assert found.table.leverage[5] == 1.0 and np.isinf(found.table.visible[5]) and np.isnan(found.table.residual[5])
    assert np.isfinite(found.table.visible[:5]).all() and "No departure of 5 can be found (leverage 1)" in str(found)


def test_an_arm_pulled_a_billion_times_is_nearly_blind_and_not_quite():
    counts = np.array([10**9, 10, 10, 10, 10])
    found = diagnose(LINE, drawn(1, 0, counts=counts)[0])
    others = np.linalg.inv((LINE[1:].T * 10) @ LINE[1:])
    free = 1 / (1e-9 + LINE[0] @ others @ LINE[0])
    expected = found.noise * np.sqrt(detectable(3, found.noise_df, 0.05) / free)
    assert found.table.leverage[0] > 1 - 1e-7 and found.table.visible[0] == pytest.approx(expected)


def test_as_many_arms_as_dimensions_say_nothing_of_linearity_and_the_way_out_is_named():
    found = diagnose(np.eye(3), Sample.of([0, 0, 1, 1, 2], [1.0, 1.2, 3.0, 3.1, 7.0], 3))
    assert found.df == 0 and np.isnan(found.p_value) and np.isinf(found.table.visible).all() and np.isinf(found.visible)
    assert "linearity   cannot be tested" in str(found) and "floor=" in str(found) and "caution" not in str(found)


def test_without_replicates_there_is_no_pure_error():
    found = diagnose(LINE, Sample.of(range(5), [1.0, 1.4, 2.1, 2.4, 4.6], 5), sigma=0.1)
    assert found.noise_df == 0 and np.isnan([found.noise, found.F, found.p_value]).all() and found.df == 3
    assert "no arm was measured twice" in str(found) and "cannot be tested without noise" in str(found)
    assert np.isfinite(found.table.residual).all()  # in units of the sigma assumed


def test_replicates_that_are_equal_are_no_noise():
    for offset in (0.0, 0.1, 1e8):
        found = diagnose(LINE, Sample.of([0, 0, 1, 1, 2, 2, 3, 4], offset + np.array([1.0, 1, 2, 2, 4, 4, 5, 6]), 5))
        assert found.noise == 0.0 and np.isnan(found.p_value) and "equal up to rounding" in str(found)


# --- against the sigma that was assumed


@pytest.mark.parametrize(
    ("sigma", "words"),
    [
        (0.3, "and no contradiction"),
        (0.1, "promise does not hold; are the units the same?"),
        (3.0, "promise holds; less than 1 % of the measurements"),
        (0.9, "promise holds; about 1[01]% of the measurements"),
    ],
)
def test_the_noise_is_compared_with_the_sigma_that_was_assumed(sigma, words):
    text = " ".join(str(diagnose(LINE, drawn(1, 0, counts=np.full(5, 100))[0], sigma=sigma)).split())
    assert re.search(words, text)


def test_noise_of_each_arms_own_is_a_change_of_units():
    sds = np.array([0.1, 1.0, 2.0, 0.5, 3.0])
    sample = drawn(1, 4, counts=np.full(5, 8))[0]
    found = diagnose(LINE, sample, sigma=sds)
    scaled = Sample(sample.counts, sample.sums / sds, sample.squares / sds**2)
    plain = diagnose(LINE / sds[:, None], scaled)
    assert found.F == pytest.approx(plain.F) and found.noise == pytest.approx(plain.noise) and found.sigma == 1.0
    np.testing.assert_allclose(found.table.visible, plain.table.visible * sds)
    np.testing.assert_allclose(found.table.residual, plain.table.residual)


# --- what it must stand


@pytest.mark.parametrize("size", [1e-6, 1e6])
def test_units_of_rewards_and_features_change_nothing_but_units(size):
    sample = drawn(1, 5, counts=np.full(5, 8))[0]
    plain = diagnose(LINE, sample)
    larger = diagnose(LINE * [size, 1 / size], Sample(sample.counts, size * sample.sums, size**2 * sample.squares))
    assert larger.F == pytest.approx(plain.F) and larger.visible == pytest.approx(size * plain.visible)
    np.testing.assert_allclose(larger.table.residual, plain.table.residual, rtol=1e-6)


def test_one_arm_and_arms_that_are_the_same():
    one = diagnose([[2.0]], Sample.of([0, 0], [1.0, 1.1], 1))
    assert one.df == 0 and one.noise_df == 1
    twins = diagnose(np.ones((2, 1)), Sample.of([0, 0, 1, 1], [1.0, 1.1, 5.0, 5.1], 2))
    assert twins.df == 1 and twins.p_value < 0.01  # the same features, another mean


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sample": Sample.of([0], [1.0], 3)}, "per arm, 5"),
        ({"sample": Sample(np.zeros(5, int), np.zeros(5), np.zeros(5))}, "counts must be positive"),
        ({"sample": Sample(COUNTS, np.full(5, np.nan), np.ones(5))}, "must be finite"),
        ({"sigma": -1.0}, "sigma must be positive"),
        ({"sigma": np.nan}, "sigma must be positive"),
        ({"sigma": [1.0, 2.0]}, "sigma must be one"),
        ({"level": 0.0}, "delta|level"),
        ({"names": ["a"]}, "there must be one name for each of the 5 arms; got 1 names"),
        ({"arms": np.full((5, 2), np.nan)}, "arms must be finite"),
    ],
)
def test_what_cannot_be_diagnosed_is_refused(change, words):
    told = {"arms": LINE, "sample": drawn(1)[0], "sigma": 0.3} | change
    with pytest.raises(ValueError, match=words):
        diagnose(**told)


def test_the_text_names_arms_as_the_user_does():
    names = [f"page {k}" for k in range(5)]
    bent = LinearBandit(LINE, means=WORLD.means + [0, 0, 2.0, 0, 0], sigma=0.3)
    found = diagnose(LINE, drawn(1, 0, bent, np.array([9, 9, 9, 9, 0]))[0], sigma=0.3, names=names)
    text = str(found)
    assert text == repr(found) and isinstance(found, Diagnosis) and max(map(len, text.splitlines())) <= 100
    assert "contradicted (p = " in text and "farthest in standard errors is page 2" in text
    assert "Never measured, and" in text and "page 4" in text and list(found.table.index) == names


def test_the_picture_has_a_row_for_every_arm_that_was_pulled():
    arms = np.column_stack([np.ones(40), RNG(0).standard_normal((40, 3))])
    counts = np.arange(40)
    found = diagnose(arms, drawn(1, 0, LinearBandit(arms, theta=[1.0, 0, 0, 0]), counts)[0])
    ax = found.plot()
    assert [label.get_text() for label in ax.get_yticklabels()] == [str(k) for k in range(39, 0, -1)]
    assert ax.figure.get_figheight() > 7
    assert found.plot(ax) is ax
    blind = diagnose(np.eye(2), Sample.of([0, 1], [1.0, 2.0], 2)).plot()  # no noise, nothing to be seen
    assert len(blind.get_yticks()) == 2


# --- adaptive data
