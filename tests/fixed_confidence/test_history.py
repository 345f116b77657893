"""Measurements made before, as the `history` of rules whose stopping rule holds for any choice of arms."""

import numpy as np
import pytest
from scipy.stats import binom

from bandits_lib import LinearBandit, Sample, play
from bandits_lib.fixed_confidence import fws, l_t3c, lazy_track_and_stop, lin_game
from bandits_lib.glr import opening, reopening
from bandits_lib.protocol import total

ARMS = np.vstack([np.eye(3), [0.5, 0.5, 0.0], [0.0, 0.6, 0.8]])
WORLD = LinearBandit(ARMS, theta=[1.0, 0.3, 0.2], sigma=0.5)


def seeded(rule):
    return lambda *args, **more: rule(*args, rng=np.random.default_rng(0), **more)


RULES = {"lazy_track_and_stop": lazy_track_and_stop, "lin_game": lin_game, "fws": fws, "l_t3c": seeded(l_t3c)}
each = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)


def greedy(world, rng, n=40, first=1):
    """Pulls whose numbers depend on their rewards: the arm of the best mean so far, after `first` of each."""
    samples = [world.pull(np.full(len(world.arms), first), rng)]
    for _ in range(n):
        so_far = total(samples)
        best = int(np.argmax(so_far.sums / so_far.counts))
        samples.append(world.pull(np.eye(len(world.arms), dtype=int)[best], rng))
    return total(samples)


def first_state(rule, history, arms=ARMS, **more):
    generator = rule(arms, delta=0.1, sigma=0.5, history=history, **more)
    asked = next(generator)
    nothing = Sample(asked, asked * 0.0, asked * 0.0)
    return asked, generator.send(nothing).state


@each
def test_a_rule_begins_with_all_of_it(rule):
    history = greedy(WORLD, np.random.default_rng(0))
    asked, state = first_state(rule, history)
    assert not asked.any()  # the first arms are in it
    evidence = state.evidence
    information = (ARMS.T * history.counts) @ ARMS
    np.testing.assert_array_equal(state.counts, history.counts)
    np.testing.assert_allclose(np.linalg.eigvalsh(evidence.information), np.linalg.eigvalsh(information))
    theta = np.linalg.solve(information, ARMS.T @ history.sums)
    np.testing.assert_allclose(evidence.arms @ evidence.theta, ARMS @ theta)
    assert evidence.now.pulls == history.counts.sum()
    assert evidence.c == pytest.approx(opening(ARMS, ARMS).c)


@each
def test_arms_that_can_no_longer_be_pulled_are_told_by_their_features(rule):
    history, left = greedy(WORLD, np.random.default_rng(0)), [1, 3, 4]
    _, state = first_state(rule, (ARMS, history), arms=ARMS[left])
    np.testing.assert_array_equal(state.counts, history.counts[left])
    assert state.evidence.now.pulls == history.counts.sum() and len(state.evidence.arms) == 3
    assert state.evidence.c <= opening(ARMS, ARMS).c


@each
def test_the_first_arms_are_pulled_where_the_history_lacks_them(rule):
    few = Sample(np.array([9, 0, 0, 0, 0]), np.array([9.0, 0, 0, 0, 0]), np.array([9.0, 0, 0, 0, 0]))
    asked, state = first_state(rule, few)
    assert asked.tolist() == opening(ARMS, ARMS).counts.tolist()
    assert state.evidence.now.pulls == 9 + asked.sum() and state.counts[0] == 9 + asked[0]


@pytest.mark.parametrize("rule", [fws, RULES["l_t3c"]])
def test_an_empty_history_changes_nothing(rule):
    nothing = Sample(np.zeros(5, int), np.zeros(5), np.zeros(5))
    one, other = (
        play(rule(ARMS, delta=0.1, sigma=0.5, history=history), WORLD, np.random.default_rng(3))
        for history in (None, nothing)
    )
    assert one.counts.tolist() == other.counts.tolist()


def test_the_constant_of_the_threshold_does_not_depend_on_what_was_measured():
    wild = Sample(np.array([10**6] * 5), np.zeros(5), np.zeros(5))
    for sample in (wild, greedy(WORLD, np.random.default_rng(1))):
        assert reopening(ARMS, ARMS, sample)[0].c == opening(ARMS, ARMS).c


@each
@pytest.mark.parametrize(
    ("history", "words"),
    [
        (3.0, "must be a Sample of the arms, or .features, Sample.; got float"),
        (Sample(np.ones(3, int), np.ones(3), np.ones(3)), "per row of arms"),
        ((np.eye(3), Sample(np.ones(2, int), np.ones(2), np.ones(2))), "per row of its features"),
        ((np.eye(2), Sample(np.ones(2, int), np.ones(2), np.ones(2))), "same number of columns"),
        (Sample(np.ones(5), np.ones(5), np.ones(5)), "whole, non-negative counts"),
        (Sample(np.ones(5, int), np.full(5, np.nan), np.ones(5)), "finite sums"),
        (Sample(np.array([0, 1, 1, 1, 1]), np.ones(5), np.ones(5)), "rewards of row 0, but a count of 0"),
        ((np.full((5, 3), np.nan), Sample(np.ones(5, int), np.ones(5), np.ones(5))), "must be finite"),
    ],
)
def test_what_is_no_history_is_refused(rule, history, words):
    with pytest.raises(ValueError, match=words):
        next(rule(ARMS, delta=0.1, history=history))


def test_a_history_beside_a_direction_that_no_arm_measures_is_refused():
    flat = np.column_stack([ARMS[:, :2], np.zeros(5)])[[0, 1, 3]]
    with pytest.raises(ValueError, match="leaves a direction too uncertain for the rule to begin, and no arm measures"):
        next(fws(flat, delta=0.1, history=(np.eye(3), Sample(np.array([0, 0, 1]), np.zeros(3), np.ones(3)))))


def test_drawn_first_arms_do_not_go_with_a_history():
    rule = lazy_track_and_stop(
        ARMS, delta=0.1, initial="random", rng=np.random.default_rng(0), history=greedy(WORLD, np.random.default_rng(0))
    )
    with pytest.raises(ValueError, match="initial must be 'spanning' if history is given"):
        next(rule)


@each
def test_pulls_are_saved_and_errors_stay_below_delta(rule):
    runs, delta, errors, with_it, without = 60, 0.1, 0, 0, 0
    for run in range(runs):
        rng = np.random.default_rng((2, run))
        history = greedy(WORLD, rng, n=50, first=10)
        played = play(rule(ARMS, delta=delta, sigma=0.5, history=history), WORLD, rng)
        errors += played.result.recommendation != WORLD.best_item
        with_it += played.counts.sum()
        without += play(rule(ARMS, delta=delta, sigma=0.5), WORLD, rng).counts.sum()
    assert errors <= binom.ppf(0.999, runs, delta) and with_it < 0.9 * without
