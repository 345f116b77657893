"""What is said of linearity at the end of an experiment: seldom wrongly, of what was measured, and once."""

import re
import warnings

import numpy as np
import pytest
from scipy import stats

from bandits_lab import Lab, diagnosis
from bandits_lab.diagnosis import LEVEL, LinearityWarning, diagnose
from bandits_lib import LinearBandit, Result, Sample, rule
from bandits_lib.fixed_budget import bayes_gap, gse, linucb, ucb_glm
from bandits_lib.fixed_confidence import bounded_rage, h_rage, lazy_track_and_stop, rage

RNG = np.random.default_rng
SQUARE = np.vstack([np.eye(3), [[1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 1]]]) / 1.0
LINE = np.column_stack([np.ones(5), np.arange(5)])


@rule
def one_batch(arms, counts, *, sigma=1.0):
    """A rule that asks once."""
    yield np.asarray(counts)
    return Result(0)


def said(make, problem, rng):
    """What a LinearityWarning says at the end of an experiment, all of them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lab = Lab(make())
        while (n := lab.ask()) is not None:
            lab.tell(problem.pull(n, rng))
    return [str(w.message) for w in caught if w.category is LinearityWarning]


def refused(texts):
    return any(text.startswith("rewards are not linear") for text in texts)


LEVELS = {
    "rage": (lambda: rage(SQUARE, delta=0.1, sigma=0.5), 1.0, 400),
    "rage, floor": (lambda: rage(SQUARE, delta=0.1, sigma=0.5, floor=0.2), 1.0, 400),
    "gse": (lambda: gse(SQUARE, budget=150, sigma=0.5), 1.0, 400),
    "lazy_track_and_stop": (lambda: lazy_track_and_stop(SQUARE, delta=0.1, sigma=0.5), 3.0, 200),
}


@pytest.mark.parametrize(("make", "size", "runs"), LEVELS.values(), ids=LEVELS)
def test_a_linear_truth_is_seldom_called_none(make, size, runs):
    """The level is LEVEL, also where nothing but the test decides."""
    found = []
    for r in range(runs):
        problem = LinearBandit(SQUARE, theta=size * np.array([1.0, 0.5, -0.3]) + 0.1 * RNG(r).random(3), sigma=0.5)
        found.append(said(make, problem, RNG(r)))
    assert stats.binomtest(sum(map(refused, found)), runs, LEVEL, alternative="greater").pvalue > 1e-4
    assert all(len(texts) <= 1 for texts in found)


def raised(times, r):
    """A LinearBandit whose best arm is so by a departure of `times` what it was behind; its parameter and arm by r."""
    rng = RNG(r)
    while True:
        means, arm = SQUARE @ rng.standard_normal(3), rng.integers(7)
        means[arm] += times * (means.max() - means[arm])
        if np.argmax(means) == arm and np.subtract(*np.sort(means)[:-3:-1]) > 0.15:
            return LinearBandit(SQUARE, means=means, sigma=0.5)


@pytest.mark.parametrize("floor", [0.0, 0.1, 0.3])
@pytest.mark.parametrize("times", [1.3, 2.0])
def test_an_arm_unlike_its_features_is_found_or_named(floor, times):
    """Nearly all answers are wrong there, and next to none of them without a word; the floor is what finds them."""
    wrong = silent = found = 0
    for r in range(60):
        problem, lab = raised(times, r), None
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            lab = Lab(rage(SQUARE, delta=0.1, sigma=0.5, floor=floor))
            while (n := lab.ask()) is not None:
                lab.tell(problem.pull(n, RNG(r)))
        texts = [str(w.message) for w in caught if w.category is LinearityWarning]
        wrong += lab.result.recommendation != problem.best_item
        silent += lab.result.recommendation != problem.best_item and not texts
        found += refused(texts)
    assert wrong >= 30 and silent <= 2
    assert found >= {0.0: 0, 0.1: 40, 0.3: 47}[floor]


def test_the_arms_named_are_those_that_may_have_any_mean():
    """Shifting the mean of a named arm changes no residual; of another arm measured it does."""
    rng, named = RNG(0), 0
    for _ in range(60):
        arms = rng.integers(-2, 3, (6, 3)).astype(float)
        counts = 10 * rng.integers(0, 2, 6)
        if len(np.unique(arms, axis=0)) < 6 or not counts.any() or np.linalg.matrix_rank(arms) < 3:
            continue
        (text,) = said(
            lambda arms=arms, counts=counts: one_batch(arms, counts), LinearBandit(arms, theta=[1, 2, 3]), rng
        ) or [""]
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


def test_where_linearity_assumes_nothing_nothing_is_said():
    for arms in (np.eye(4), 1e6 * np.eye(4), np.vstack([np.eye(3), np.eye(3)]), np.ones((4, 1))):
        problem = LinearBandit(arms, means=np.arange(len(arms)) % 3, sigma=0.1)
        if len(np.unique(arms, axis=0)) == len(arms):
            assert said(lambda arms=arms: rage(arms, delta=0.1, sigma=0.1), problem, RNG(0)) == []
        else:
            twins = problem.pull(np.full(len(arms), 5), RNG(0))
            assert diagnosis.message(Lab(one_batch(arms, [5] * len(arms))).experiment, [twins]) == ""


def test_duplicated_arms_do_not_hide_that_a_fit_goes_through_all_means():
    arms = np.array([[1.0, 0], [1, 0], [0, 1], [1, 1]])
    problem = LinearBandit(arms, theta=[1.0, 2.0])
    assert diagnose(arms, problem.pull(np.array([9, 9, 9, 0]), RNG(0))).df == 1
    (text,) = said(lambda: one_batch(arms, [9, 9, 9, 0]), problem, RNG(0))
    assert "the means of all 2 measured arms" in text
    (text,) = said(lambda: one_batch(arms, [9, 9, 9, 9]), problem, RNG(0))
    assert "can hardly be seen" in text


def test_scales_of_features_and_rewards_do_not_matter():
    for scale in (1e-6, 1.0, 1e6):
        arms = LINE * [1.0, scale]
        for bent in (False, True):
            means = (arms @ [0.0, 1 / scale] + bent * np.arange(5.0) ** 2) * scale
            texts = said(
                lambda arms=arms, scale=scale: one_batch(arms, [20] * 5, sigma=scale),
                LinearBandit(arms, means=means, sigma=scale),
                RNG(1),
            )
            assert refused(texts) == bent


def test_each_arm_may_have_its_own_noise():
    """With sigma per arm the fit is weighted; below one bound for all the noisy arm hides the others, which is said."""
    sigma = np.array([0.1, 0.1, 2.0, 0.1, 0.1])
    straight, bent = LINE @ [1.0, 0.5], LINE @ [1.0, 0.5] + 0.5 * (np.arange(5) == 3)
    found = {}
    for told in ("each", "bound"):
        for means in (straight, bent):
            problem = LinearBandit(LINE, means=means, sigma=sigma)
            make = lambda told=told: one_batch(LINE, [40] * 5, sigma=sigma if told == "each" else 2.0)  # noqa: E731
            found[told, means is bent] = said(make, problem, RNG(2))
    assert not refused(found["each", False]) and refused(found["each", True])
    assert not refused(found["bound", False]) and found["bound", True]


def test_one_bound_on_unequal_noise_is_no_reason_to_cry_wolf():
    rows = LINE / [1, 5]
    problem = LinearBandit(rows, theta=[0.02, 0.55], noise="bernoulli")
    both, pooled, counts = 0, 0, np.array([2_000, 60, 60, 60, 60])
    for r in range(1_000):
        sample = problem.pull(counts, RNG(r))
        pooled += diagnose(rows, sample, level=LEVEL).p_value < LEVEL
        both += diagnosis._tested(rows, [sample], 0.5)[0] < LEVEL
    assert pooled > 100 and both < 10


def test_without_replicates_the_largest_sigma_counts():
    """With another one of them nearly every experiment would be an alarm."""
    sigma = np.array([0.1, 0.1, 0.1, 2.0, 0.1, 2.0, 2.0])
    problem = LinearBandit(SQUARE, theta=[1.0, 0.5, -0.3], sigma=sigma)
    found = [said(lambda: one_batch(SQUARE, np.ones(7, int), sigma=sigma), problem, RNG(r)) for r in range(200)]
    assert sum(map(refused, found)) <= 2
    bent = LinearBandit(SQUARE, means=SQUARE @ [1.0, 0.5, -0.3] + 20.0 * (np.arange(7) == 6), sigma=sigma)
    assert refused(said(lambda: one_batch(SQUARE, np.ones(7, int), sigma=sigma), bent, RNG(0)))


def test_the_arms_that_are_hardly_seen_are_those_whose_doubled_distance_would_be_missed():
    """By the power of the F test for a departure of one arm by twice what it is behind; the answer is arm 0."""
    named = []
    for r in range(40):
        counts, mean = RNG(r).integers(2, 30, 7), SQUARE @ [1.0, 0.5, -0.3]
        sample = LinearBandit(SQUARE, means=mean, sigma=0.2).pull(counts, RNG(r))
        lab = Lab(one_batch(SQUARE, counts, sigma=0.2))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            lab.tell(sample)
        text = "".join(str(w.message) for w in caught if w.category is LinearityWarning)
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


def test_replicates_that_are_equal_are_no_noise():
    """Squares computed from means, told twice: the promised sigma takes the place of replicates."""
    counts = np.full(5, 20)
    for means, wrong in ((np.arange(5.0), False), (np.arange(5.0) ** 2, True)):
        lab = Lab(one_batch(LINE, 2 * counts, sigma=1.0))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for r in (0, 1):
                sums = counts * (means + 0.05 * RNG(r).standard_normal(5))
                lab.tell(Sample(counts, sums, sums**2 / counts))
        texts = [str(w.message) for w in caught if w.category is LinearityWarning]
        assert refused(texts) == wrong


QUIET = {
    "logistic": (lambda: gse(SQUARE, budget=100, model="logistic"), "bernoulli"),
    "its own link": (lambda: ucb_glm(SQUARE, budget=60, alpha=1.0), "bernoulli"),
    "another kernel": (lambda: bayes_gap(SQUARE, budget=60, kernel="matern", length=1.0), "gaussian"),
    "arms by themselves": (lambda: linucb(SQUARE, budget=60, mode="disjoint"), "gaussian"),
}


@pytest.mark.parametrize(("make", "noise"), QUIET.values(), ids=QUIET)
def test_rules_that_fit_no_line_say_nothing(make, noise):
    problem = LinearBandit(SQUARE, means=[0.1, 0.9, 0.1, 0.2, 0.3, 0.9, 0.1], sigma=0.1, noise=noise)
    assert said(make, problem, RNG(0)) == []


def test_rules_without_sigma_that_fit_a_line_speak():
    means = np.array([0.1, 0.1, 0.1, 0.2, 0.2, 0.2, 0.9])
    problem = LinearBandit(SQUARE, means=means, noise="bernoulli")
    assert said(lambda: bounded_rage(SQUARE, delta=0.1), problem, RNG(0))
    make = lambda: h_rage(SQUARE, delta=0.1, sigma_min=0.1, sigma_max=0.1)  # noqa: E731
    assert said(make, LinearBandit(SQUARE, means=3 * means, sigma=0.1), RNG(0))


def test_a_rule_of_ones_own_may_call_anything_arms_and_sigma():
    for arms, sigma in ((["a", "b"], 1.0), (np.eye(3), 1.0), (LINE, "unknown"), ([[np.nan, 1]] * 5, 1.0), (5, None)):
        lab = Lab(one_batch(arms, [5, 5, 5, 5, 5], sigma=sigma))
        lab.tell(Sample(np.full(5, 5), np.arange(5.0), np.full(5, 9.0)))
        assert lab.result is not None


def test_rewards_whose_squares_add_up_to_no_number_end_an_experiment_all_the_same():
    large = Sample(np.full(5, 2), np.full(5, 1.2e154), np.full(5, 1.5e308))
    experiment = Lab(one_batch(LINE, [4] * 5)).experiment
    with np.errstate(over="ignore"):
        assert diagnosis.message(experiment, [large, large]) == ""


# --- when it is said


def told(lab):
    """Two measurements of arms 0 and 1, which ends `one_batch`."""
    lab.tell(Sample(lab.ask(), lab.ask() * 1.5, lab.ask() * 2.5))
    return lab


def test_it_is_said_once_with_the_last_sample_and_once_by_each_replay(tmp_path):
    with pytest.warns(LinearityWarning, match="cannot be seen") as caught:
        told(Lab(one_batch(LINE, [4, 4, 0, 0, 0]), tmp_path / "log.jsonl"))
    assert len(caught) == 1 and caught[0].filename == __file__
    with pytest.warns(LinearityWarning) as caught:
        Lab(one_batch(LINE, [4, 4, 0, 0, 0]), tmp_path / "log.jsonl")
    assert [w.category for w in caught] == [LinearityWarning]
