"""Noise and linearity as the measurements show them, exact for fixed counts, and what is said of them at the end."""

import re
import warnings

import numpy as np
import pytest
from scipy import stats

from bandits_lab import Lab, diagnosis
from bandits_lab.diagnosis import LEVEL, LinearityWarning, detectable, diagnose, fit, replicates
from bandits_lib import LinearBandit, Result, Sample, rule
from bandits_lib.fixed_budget import bayes_gap, gse, linucb, ucb_glm
from bandits_lib.fixed_confidence import bounded_rage, h_rage, lazy_track_and_stop, rage

RNG = np.random.default_rng
LINE = np.column_stack([np.ones(5), [0.0, 1.0, 2.0, 3.0, 7.0]])
EVEN = np.column_stack([np.ones(5), np.arange(5)])
COUNTS = np.array([3, 1, 2, 2, 0])  # 4 arms, rank 2: 2 and 4 degrees of freedom
WORLD = LinearBandit(LINE, theta=[1.0, 0.5], sigma=0.3)
SQUARE = np.vstack([np.eye(3), [[1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 1]]]) / 1.0
RUNS = 2_500


def drawn(runs=RUNS, seed=0, world=WORLD, counts=COUNTS):
    rng = RNG(seed)
    return [world.pull(counts, rng) for _ in range(runs)]


def test_the_squares_and_the_leverages_are_those_of_a_regression_on_single_rewards():
    pulled = np.repeat(np.arange(5), COUNTS)
    rewards = WORLD.means[pulled] + 0.3 * RNG(0).standard_normal(len(pulled))
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
    never = found.table.loc[4]
    assert np.isnan(never["mean"]) and np.isnan(never["residual"]) and np.isinf(never["visible"])
    assert never["fitted"] == pytest.approx(LINE[4] @ np.linalg.lstsq(X, rewards)[0])


@pytest.mark.slow
def test_the_level_and_the_interval_of_the_noise_are_exact_for_counts_fixed_beforehand():
    """With one degree of freedom more or less they are not."""
    samples = drawn()
    F = np.array([diagnose(LINE, sample).F for sample in samples])
    for df, noise_df in ((2, 4), (1, 4), (3, 4), (2, 3), (2, 5)):
        rejected = int((F * (2 / df) * (noise_df / 4) > stats.f.isf(0.05, df, noise_df)).sum())
        p_value = stats.binomtest(rejected, RUNS, 0.05).pvalue
        assert p_value > 1e-3 if (df, noise_df) == (2, 4) else p_value < 1e-4
    noise, low, high, _ = np.array([replicates(sample, np.ones(5), 0.05) for sample in samples]).T
    assert min(stats.binomtest(int(tail.sum()), RUNS, 0.025).pvalue for tail in (low > 0.3, high < 0.3)) > 1e-3
    for wrong in (3, 5):
        tails = [stats.chi2.cdf(4 * noise**2 / 0.09, wrong) < 0.025, stats.chi2.sf(4 * noise**2 / 0.09, wrong) < 0.025]
        assert min(stats.binomtest(int(tail.sum()), RUNS, 0.025).pvalue for tail in tails) < 1e-4


@pytest.mark.slow
def test_what_is_called_visible_is_found_with_probability_8_of_10():
    """With the true noise in the place of the estimate; half of it is found far more rarely."""
    counts = np.array([4, 4, 6, 5, 3])
    free = fit(LINE, Sample(counts, counts * 0.0, counts * 0.0), np.ones(5))[3]
    for arm in (0, 3):
        visible = 0.3 * np.sqrt(detectable(3, 17, 0.05) / free[arm])
        bent = [
            LinearBandit(LINE, means=WORLD.means + s * visible * (np.arange(5) == arm), sigma=0.3) for s in (1, 0.5)
        ]
        found = [sum(diagnose(LINE, x).p_value < 0.05 for x in drawn(500, 2, world, counts)) for world in bent]
        assert stats.binomtest(found[0], 500, 0.8).pvalue > 1e-3 and found[1] < 0.4 * 500
    found = diagnose(LINE, drawn(1, 3, counts=counts)[0])
    reach = found.noise * np.sqrt(detectable(3, 17, 0.05))
    np.testing.assert_allclose(found.table.visible, reach / np.sqrt(counts * (1 - found.table.leverage)))
    assert found.visible == pytest.approx(reach / np.sqrt(22))
    for df, noise_df, level in ((1, 2, 0.05), (30, 5, 0.01), (5, 10**9, 1e-6)):
        power = stats.ncf.sf(stats.f.isf(level, df, noise_df), df, noise_df, detectable(df, noise_df, level))
        assert power == pytest.approx(0.8)
    assert detectable(1, 1, 1e-6) == np.inf and detectable(3, 4, 0.9) == 0.0


def test_what_cannot_be_seen_is_said():
    arms = np.vstack([np.column_stack([LINE, np.zeros(5)]), [1.0, 0.0, 1.0]])  # arm 5 alone measures a direction
    found = diagnose(arms, drawn(1, 0, LinearBandit(arms, theta=[1.0, 0.5, 2.0]), np.full(6, 10))[0])
    assert found.table.leverage[5] == 1.0 and np.isinf(found.table.visible[5]) and np.isnan(found.table.residual[5])
    assert np.isfinite(found.table.visible[:5]).all() and "No departure of 5 can be found (leverage 1)" in str(found)
    found = diagnose(LINE, drawn(1, 0, counts=np.array([10**9, 10, 10, 10, 10]))[0])  # nearly blind
    assert found.table.leverage[0] == 1.0 and np.isinf(found.table.visible[0])
    found = diagnose(np.eye(3), Sample.of([0, 0, 1, 1, 2], [1.0, 1.2, 3.0, 3.1, 7.0], 3))
    assert found.df == 0 and np.isnan(found.p_value) and np.isinf(found.table.visible).all()
    assert "linearity: cannot be tested" in str(found) and "caution" not in str(found)
    found = diagnose(LINE, Sample.of(range(5), [1.0, 1.4, 2.1, 2.4, 4.6], 5), sigma=0.1)  # no replicates
    assert found.noise_df == 0 and np.isnan([found.noise, found.F, found.p_value]).all() and found.df == 3
    assert "no arm was measured twice" in str(found) and "cannot be tested without noise" in str(found)
    for offset in (0.0, 0.1, 1e8):
        found = diagnose(LINE, Sample.of([0, 0, 1, 1, 2, 2, 3, 4], offset + np.array([1.0, 1, 2, 2, 4, 4, 5, 6]), 5))
        assert found.noise == 0.0 and np.isnan(found.p_value) and "equal up to rounding" in str(found)


def test_units_and_noise_of_each_arm_change_nothing_but_units():
    sample = drawn(1, 5, counts=np.full(5, 8))[0]
    plain = diagnose(LINE, sample)
    for size in (1e-6, 1e6):
        larger = diagnose(LINE * [size, 1 / size], Sample(sample.counts, size * sample.sums, size**2 * sample.squares))
        assert larger.F == pytest.approx(plain.F) and larger.visible == pytest.approx(size * plain.visible)
    sds = np.array([0.1, 1.0, 2.0, 0.5, 3.0])
    found = diagnose(LINE, sample, sigma=sds)
    plain = diagnose(LINE / sds[:, None], Sample(sample.counts, sample.sums / sds, sample.squares / sds**2))
    assert found.F == pytest.approx(plain.F) and found.noise == pytest.approx(plain.noise) and found.sigma == 1.0
    np.testing.assert_allclose(found.table.visible, plain.table.visible * sds)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sample": Sample.of([0], [1.0], 3)}, "must have shape"),
        ({"sample": Sample(np.zeros(5, int), np.zeros(5), np.zeros(5))}, "counts must be positive"),
        ({"sample": Sample(COUNTS, np.full(5, np.nan), np.ones(5))}, "must be finite"),
        ({"sigma": -1.0}, "sigma must be positive"),
        ({"sigma": [1.0, 2.0]}, "sigma must be one"),
        ({"level": 0.0}, "delta|level"),
        ({"names": ["a"]}, "there must be one name for each of the 5 arms; got 1 names"),
        ({"arms": np.full((5, 2), np.nan)}, "arms must be finite"),
    ],
)
def test_what_cannot_be_diagnosed_is_refused(change, words):
    with pytest.raises(ValueError, match=words):
        diagnose(**{"arms": LINE, "sample": drawn(1)[0], "sigma": 0.3} | change)


def test_the_text_names_arms_as_the_user_does():
    names = [f"page {k}" for k in range(5)]
    bent = LinearBandit(LINE, means=WORLD.means + [0, 0, 2.0, 0, 0], sigma=0.3)
    found = diagnose(LINE, drawn(1, 0, bent, np.array([9, 9, 9, 9, 0]))[0], sigma=0.3, names=names)
    text = str(found)
    assert "df = 32); sigma = 0.3 was assumed." in text
    assert "contradicted (p = " in text and "farthest in standard errors is page 2" in text
    assert "Never measured, and" in text and "page 4" in text and list(found.table.index) == names


# --- at the end of an experiment


@rule
def one_batch(arms, counts, *, sigma=1.0):
    """A rule that asks once."""
    yield np.asarray(counts)
    return Result(0)


def said(algorithm, problem, rng):
    """What a LinearityWarning says at the end of an experiment, all of them, and the answer."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lab = Lab(algorithm)
        while (n := lab.ask()) is not None:
            lab.tell(problem.pull(n, rng))
    return [str(w.message) for w in caught if w.category is LinearityWarning], lab.result.recommendation


def refused(texts):
    return any(text.startswith("rewards are not linear") for text in texts)


LEVELS = {
    "rage, floor": (lambda: rage(SQUARE, delta=0.1, sigma=0.5, floor=0.2), 1.0),
    "gse": (lambda: gse(SQUARE, budget=150, sigma=0.5), 1.0),
    "lazy_track_and_stop": (lambda: lazy_track_and_stop(SQUARE, delta=0.1, sigma=0.5), 3.0),
}


@pytest.mark.slow
@pytest.mark.parametrize(("make", "size"), LEVELS.values(), ids=LEVELS)
def test_a_linear_truth_is_seldom_called_none(make, size):
    """The level is LEVEL, also where nothing but the test decides."""
    found = []
    for r in range(200):
        problem = LinearBandit(SQUARE, theta=size * np.array([1.0, 0.5, -0.3]) + 0.1 * RNG(r).random(3), sigma=0.5)
        found.append(said(make(), problem, RNG(r))[0])
    assert stats.binomtest(sum(map(refused, found)), 200, LEVEL, alternative="greater").pvalue > 1e-4
    assert all(len(texts) <= 1 for texts in found)


def raised(times, r):
    """A LinearBandit whose best arm is so by a departure of `times` what it was behind; its parameter and arm by r."""
    rng = RNG(r)
    while True:
        means, arm = SQUARE @ rng.standard_normal(3), rng.integers(7)
        means[arm] += times * (means.max() - means[arm])
        if np.argmax(means) == arm and np.subtract(*np.sort(means)[:-3:-1]) > 0.15:
            return LinearBandit(SQUARE, means=means, sigma=0.5)


@pytest.mark.slow
@pytest.mark.parametrize(("floor", "least"), [(0.0, 0), (0.1, 40), (0.3, 47)])
@pytest.mark.parametrize("times", [1.3, 2.0])
def test_an_arm_unlike_its_features_is_found_or_named(floor, least, times):
    """Nearly all answers are wrong there, and next to none of them without a word; the floor is what finds them."""
    wrong = silent = found = 0
    for r in range(60):
        problem = raised(times, r)
        texts, answer = said(rage(SQUARE, delta=0.1, sigma=0.5, floor=floor), problem, RNG(r))
        wrong += answer != problem.best_item
        silent += answer != problem.best_item and not texts
        found += refused(texts)
    assert wrong >= 30 and silent <= 2 and found >= least


def test_the_arms_named_are_those_that_may_have_any_mean():
    """Shifting the mean of a named arm changes no residual; of another arm measured it does."""
    rng, named = RNG(0), 0
    for _ in range(60):
        arms = rng.integers(-2, 3, (6, 3)).astype(float)
        counts = 10 * rng.integers(0, 2, 6)
        if len(np.unique(arms, axis=0)) < 6 or not counts.any() or np.linalg.matrix_rank(arms) < 3:
            continue
        (text,) = said(one_batch(arms, counts), LinearBandit(arms, theta=[1, 2, 3]), rng)[0] or [""]
        measured = np.flatnonzero(counts)
        hat = arms[measured] @ np.linalg.pinv(arms[measured])
        blind = sorted({*range(6)} - {*measured[np.diag(hat) < 1 - 1e-9]})
        if 0 < len(blind) < 6:
            named += 1
            shown = re.search(r"for arms? ([\d, ]+):", text)[1]
            assert [int(k) for k in shown.split(", ")] == blind
        else:
            assert ("means of" in text) == bool(blind)
    assert named > 10


def test_where_linearity_assumes_nothing_nothing_is_said_and_duplicates_hide_nothing():
    for arms in (np.eye(4), 1e6 * np.eye(4), np.ones((4, 1))):
        twins = LinearBandit(arms, means=np.arange(4) % 3, sigma=0.1).pull(np.full(4, 5), RNG(0))
        assert diagnosis.message(Lab(one_batch(arms, [5] * 4)).experiment, [twins]) == ""
    arms = np.array([[1.0, 0], [1, 0], [0, 1], [1, 1]])
    problem = LinearBandit(arms, theta=[1.0, 2.0])
    ((text,), _), ((more,), _) = (said(one_batch(arms, [9, 9, 9, n]), problem, RNG(0)) for n in (0, 9))
    assert "the means of all 2 measured arms" in text and "can hardly be seen" in more


@pytest.mark.slow
def test_scales_and_noise_of_each_arm_do_not_matter():
    """With sigma per arm the fit is weighted; below one bound for all the noisy arm hides the others, which is said."""
    for scale in (1e-6, 1.0, 1e6):
        arms = EVEN * [1.0, scale]
        for bent in (False, True):
            means = (arms @ [0.0, 1 / scale] + bent * np.arange(5.0) ** 2) * scale
            rule = one_batch(arms, [20] * 5, sigma=scale)
            assert refused(said(rule, LinearBandit(arms, means=means, sigma=scale), RNG(1))[0]) == bent
    sigma, straight = np.array([0.1, 0.1, 2.0, 0.1, 0.1]), EVEN @ [1.0, 0.5]
    for means, bent in ((straight, False), (straight + 0.5 * (np.arange(5) == 3), True)):
        problem = LinearBandit(EVEN, means=means, sigma=sigma)
        each, bound = (said(one_batch(EVEN, [40] * 5, sigma=told), problem, RNG(2))[0] for told in (sigma, 2.0))
        assert refused(each) == bent and not refused(bound) and bound
    rows, counts, pooled, both = EVEN / [1, 5], np.array([2_000, 60, 60, 60, 60]), 0, 0
    problem = LinearBandit(rows, theta=[0.02, 0.55], noise="bernoulli")
    for r in range(400):  # one bound on unequal noise is no reason to cry wolf
        sample = problem.pull(counts, RNG(r))
        pooled += diagnose(rows, sample, level=LEVEL).p_value < LEVEL
        both += diagnosis._tested(rows, [sample], 0.5)[0] < LEVEL
    assert pooled > 40 and both < 5


def test_without_replicates_that_differ_the_largest_sigma_counts():
    """With another sigma nearly every experiment would be an alarm; squares computed from means are no noise."""
    sigma, ones = np.array([0.1, 0.1, 0.1, 2.0, 0.1, 2.0, 2.0]), np.ones(7, int)
    problem = LinearBandit(SQUARE, theta=[1.0, 0.5, -0.3], sigma=sigma)
    found = [said(one_batch(SQUARE, ones, sigma=sigma), problem, RNG(r))[0] for r in range(100)]
    assert sum(map(refused, found)) <= 2
    bent = LinearBandit(SQUARE, means=SQUARE @ [1.0, 0.5, -0.3] + 20.0 * (np.arange(7) == 6), sigma=sigma)
    assert refused(said(one_batch(SQUARE, ones, sigma=sigma), bent, RNG(0))[0])
    counts, experiment = np.full(5, 20), Lab(one_batch(EVEN, [40] * 5, sigma=1.0)).experiment
    for means, wrong in ((np.arange(5.0), False), (np.arange(5.0) ** 2, True)):
        sums = [counts * (means + 0.05 * RNG(r).standard_normal(5)) for r in (0, 1)]
        text = diagnosis.message(experiment, [Sample(counts, s, s**2 / counts) for s in sums])
        assert refused([text]) == wrong


def test_the_arms_that_are_hardly_seen_are_those_whose_doubled_distance_would_be_missed():
    """By the power of the F test for a departure of one arm by twice what it is behind; the answer is arm 0."""
    named = []
    for r in range(40):
        counts, mean = RNG(r).integers(2, 30, 7), SQUARE @ [1.0, 0.5, -0.3]
        sample = LinearBandit(SQUARE, means=mean, sigma=0.2).pull(counts, RNG(r))
        text = diagnosis.message(Lab(one_batch(SQUARE, counts, sigma=0.2)).experiment, [sample], Result(0))
        if refused([text]):
            continue
        root = np.sqrt(counts)[:, None] * SQUARE
        fitted = SQUARE @ np.linalg.lstsq(root, sample.sums / np.sqrt(counts))[0]
        behind = fitted[0] - fitted
        behind[0] = behind[1:].min()
        noise_df = counts.sum() - 7
        noise = (sample.squares - sample.sums**2 / counts).sum() / noise_df
        shift = counts * (1 - np.diag(root @ np.linalg.pinv(root))) * (2 * np.maximum(behind, 0)) ** 2 / noise
        faint = np.flatnonzero(stats.ncf.sf(stats.f.isf(LEVEL, 4, noise_df), 4, noise_df, shift) < 0.8)
        shown = re.search(r"hardly be seen for arms? ([\d, ]+):", text)
        assert ([int(k) for k in shown[1].split(", ")] if shown else []) == faint.tolist()
        named.append(len(faint))
    assert len(named) > 30 and len(set(named)) > 1


@pytest.mark.slow
def test_which_rules_speak():
    quiet = {
        gse(SQUARE, budget=100, model="logistic"): "bernoulli",
        ucb_glm(SQUARE, budget=60, alpha=1.0): "bernoulli",
        bayes_gap(SQUARE, budget=60, kernel="matern", length=1.0): "gaussian",
        linucb(SQUARE, budget=60, mode="disjoint"): "gaussian",
    }
    for make, noise in quiet.items():
        problem = LinearBandit(SQUARE, means=[0.1, 0.9, 0.1, 0.2, 0.3, 0.9, 0.1], sigma=0.1, noise=noise)
        assert said(make, problem, RNG(0))[0] == []
    means = np.array([0.1, 0.1, 0.1, 0.2, 0.2, 0.2, 0.9])
    assert said(bounded_rage(SQUARE, delta=0.1), LinearBandit(SQUARE, means=means, noise="bernoulli"), RNG(0))[0]
    make = h_rage(SQUARE, delta=0.1, sigma_min=0.1, sigma_max=0.1)
    assert said(make, LinearBandit(SQUARE, means=3 * means, sigma=0.1), RNG(0))[0]
    for arms, sigma in ((["a", "b"], 1.0), (np.eye(3), 1.0), (EVEN, "unknown"), ([[np.nan, 1]] * 5, 1.0), (5, None)):
        lab = Lab(one_batch(arms, [5, 5, 5, 5, 5], sigma=sigma))  # a rule of one's own may call anything so
        lab.tell(Sample(np.full(5, 5), np.arange(5.0), np.full(5, 9.0)))
        assert lab.result is not None
    large = Sample(np.full(5, 2), np.full(5, 1.2e154), np.full(5, 1.5e308))
    with np.errstate(over="ignore"):
        assert diagnosis.message(Lab(one_batch(EVEN, [4] * 5)).experiment, [large, large]) == ""


def test_it_is_said_once_with_the_last_sample():
    lab = Lab(one_batch(EVEN, [4, 4, 0, 0, 0]))
    with pytest.warns(LinearityWarning, match="cannot be seen") as caught:
        lab.tell(Sample(lab.ask(), lab.ask() * 1.5, lab.ask() * 2.5))
    assert len(caught) == 1 and caught[0].filename == __file__
