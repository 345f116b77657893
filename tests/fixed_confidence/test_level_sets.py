"""Level sets by RAGE and H-RAGE: the corrected set update ends, and decides what Lemma F.3 says it decides."""

from functools import partial

import numpy as np
import pytest
from scipy import stats

from bandits_lib import LinearBandit, instances, monte_carlo, play
from bandits_lib.fixed_confidence import h_rage, rage_halving
from bandits_lib.simulate.monte_carlo import correct_level

TESTING = instances.multivariate_testing()
EFFECTS = LinearBandit(TESTING.arms, np.eye(7)[1:4], TESTING.theta, TESTING.sigma)  # items: the three main effects
SPHERE = instances.sphere(40, np.random.default_rng(0), d=4)
level_rage = partial(rage_halving, objective="level")
level_h_rage = partial(h_rage, objective="level", burn_in=3_000)


def on_sphere(rule, threshold=0.3, **options):
    noise = {"sigma_min": 1.0, "sigma_max": 1.0} if rule is level_h_rage else {}
    return rule(SPHERE.arms, **({"delta": 0.05, "threshold": threshold} | noise | options))


both = pytest.mark.parametrize("rule", [level_rage, level_h_rage], ids=["rage", "h_rage"])


@both
@pytest.mark.parametrize("threshold", [0.3, -2.0, 2.0])
def test_the_set_is_found_in_20_of_20_seeds(rule, threshold):
    for seed in range(20):
        found = play(on_sphere(rule, threshold), SPHERE, np.random.default_rng(seed)).result.recommendation
        assert found.dtype == bool and (found == (SPHERE.item_values > threshold)).all()


@both
def test_items_leave_when_they_are_decided_and_stay_when_they_are_not(rule):
    """With probability 1 - delta no item farther than 2 * 2^-l from the threshold is left after phase l (Lemma F.3)."""
    distance = np.abs(SPHERE.item_values - 0.3)
    for seed in range(10):
        history = play(on_sphere(rule), SPHERE, np.random.default_rng(seed)).result.history
        phases = [r for r in history if r.index > 0]
        assert len(phases[0].active) == 40
        for before, after in zip(phases, phases[1:], strict=False):
            estimates = SPHERE.items[before.active] @ before.theta_hat
            undecided = before.active[np.abs(estimates - 0.3) <= 2.0**-before.index]
            np.testing.assert_array_equal(after.active, undecided)
            assert distance[after.active].max() <= 2 * 2.0**-before.index
        assert all(0 < r.width <= 2.0**-r.index for r in phases)


def test_one_item_is_a_question_too():
    problem = LinearBandit(np.eye(2), items=[[1.0, 1.0]], theta=[0.4, 0.3])
    for threshold, answer in ((0.5, True), (0.9, False)):
        run = play(level_rage(problem.arms, problem.items, delta=0.1, threshold=threshold), problem, rng(0))
        assert run.result.recommendation.tolist() == [answer] and run.counts.sum() > 0


def test_identical_items_share_their_side_and_a_zero_item_needs_no_pull():
    items = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    problem = LinearBandit(np.eye(2), items, theta=[1.0, -1.0])
    for threshold in (-0.5, 0.5):
        run = play(level_rage(problem.arms, items, delta=0.1, threshold=threshold), problem, rng(0))
        assert (run.result.recommendation == (problem.item_values > threshold)).all()
        assert 2 not in run.result.history[0].active
    alone = play(level_rage(np.eye(2), np.zeros((2, 2)), delta=0.1, threshold=-1.0), problem, rng(0))
    assert alone.result.recommendation.all() and alone.counts.sum() == 0


def rng(seed):
    return np.random.default_rng(seed)


def test_an_item_on_the_threshold_is_refused_where_it_can_be_known():
    """By the problem before any pull; by the rule only for a zero item, or when a phase would need 10^18 pulls."""
    problem = LinearBandit(np.eye(2), theta=[0.25, 0.75])
    rules = {"rage": lambda p, rng: level_rage(p.arms, delta=0.1, threshold=0.75)}
    with pytest.raises(ValueError, match=r"threshold 0.75 is the value of item 1"):
        monte_carlo(rules, lambda rng: problem, runs=1, correct=correct_level(0.75))
    with pytest.raises(ValueError, match="item 1 cannot be distinguished from the threshold"):
        play(level_rage(problem.arms, delta=0.1, threshold=0.75), problem, rng(0))
    with pytest.raises(ValueError, match="threshold must not be 0, which is the value of item 0"):
        next(level_rage(np.eye(2), np.array([[0.0, 0.0], [1.0, 0.0]]), delta=0.1, threshold=0))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"threshold": None}, "threshold must be a finite number"),
        ({"items": np.eye(2)}, "items must have the same number of columns"),
    ],
)
@both
def test_bad_arguments_are_refused_before_any_pull(rule, options, words):
    with pytest.raises(ValueError, match=words):
        next(on_sphere(rule, **options))


def test_items_must_lie_in_the_span_of_the_arms_and_not_only_their_differences():
    arms = np.array([[1.0, 0.0], [2.0, 0.0]])
    items = np.array([[1.0, 1.0], [2.0, 1.0]])
    with pytest.raises(ValueError, match="items must lie in the span of the arms"):
        next(level_rage(arms, items, delta=0.1, threshold=0.5))
    next(rage_halving(arms, items, delta=0.1))  # which of them is best can be told


NEAR = LinearBandit(np.eye(2), items=[[1.0, 1.0], [1.0, -1.0]], theta=[1e-3, 0.0], sigma=[1.0, 0.5])


@pytest.mark.slow
@both
def test_errors_stay_below_delta_and_a_rule_that_is_told_too_little_noise_errs(rule):
    """One-sided binomial bounds at 99.9 %: honest bounds keep the error rate below delta, understated ones do not."""
    errors = {}
    for name, low, high in (("honest", 0.5, 1.0), ("understated", 0.005, 0.01)):
        noise = {"sigma": high} if rule is level_rage else {"sigma_min": low, "sigma_max": high}
        make = {"rule": lambda p, rng, noise=noise: rule(p.arms, p.items, delta=0.2, threshold=0.0, **noise)}
        how = {"correct": correct_level(0.0), "misspecified": name == "understated"}
        table = monte_carlo(make, lambda rng: NEAR, runs=300, **how)
        assert table["stopped"].all()
        errors[name] = int((~table["correct"]).sum())
    assert stats.binomtest(errors["honest"], 300, 0.2, alternative="less").pvalue < 1e-3
    assert stats.binomtest(errors["understated"], 300, 0.2, alternative="greater").pvalue < 1e-3


def test_effects_that_exceed_a_threshold_can_be_found_from_layouts():
    noise = {"sigma_min": EFFECTS.sigma.min(), "sigma_max": EFFECTS.sigma.max()}
    rule = h_rage(EFFECTS.arms, EFFECTS.items, delta=0.05, objective="level", threshold=0.0175, **noise)
    assert play(rule, EFFECTS, rng(0)).result.recommendation.tolist() == [False, False, True]
