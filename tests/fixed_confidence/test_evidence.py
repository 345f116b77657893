"""Least squares pull by pull: the updates, the fresh inversions between them, and the nearest rival."""

import numpy as np
import pytest

from bandits_lib import LinearBandit, Sample
from bandits_lib.fixed_confidence import l_t3c
from bandits_lib.glr import Opening, add_reward, begin, check_stopping, nearest_rival, opening


def exact(evidence, arms, counts, sums):
    """Whether the evidence holds A^-1 and theta of the counts to ten digits."""
    information = (arms.T * counts) @ arms
    inverse, theta = np.linalg.inv(information), np.linalg.solve(information, arms.T @ sums)
    return np.allclose(evidence.inverse, inverse, 1e-10, 1e-12) and np.allclose(evidence.theta, theta, 1e-10, 1e-12)


def test_a_pull_that_cancels_what_was_known_is_inverted_afresh():
    """Two nearly parallel first arms: A^-1 is of order 1e10 until the third is pulled, and then of order 1."""
    angles = np.array([1.0, 1.0 + 1e-5, 1.0 + np.pi / 2])
    arms = np.column_stack([np.cos(angles), np.sin(angles)])
    start = Opening(arms, arms, np.array([0, 1]), np.array([1, 1, 0]), c=5e-11)
    sums = np.array([0.3, 0.4, 0.0])
    evidence = begin(start, Sample(start.counts, sums, sums**2), check_stopping(delta=0.1, sigma=1.0))
    assert evidence.inverse.max() > 1e9
    add_reward(evidence, 2, 0.7)
    assert exact(evidence, arms, [1, 1, 1], [0.3, 0.4, 0.7])


def test_every_thousandth_pull_is_inverted_afresh():
    """Whatever the updates have piled up by then is gone: here an error of a thousandth, put in by hand."""
    start = opening(np.eye(2), np.eye(2))
    evidence = begin(start, Sample(start.counts, np.zeros(2), np.zeros(2)), check_stopping(delta=0.1, sigma=1.0))
    evidence.inverse[:] *= 1.001
    for pull in range(2, 1_000):
        assert not exact(evidence, np.eye(2), evidence.counts, evidence.response)
        add_reward(evidence, pull % 2, 1.0)
    assert evidence.status.pulls == 1_000 and exact(evidence, np.eye(2), [500, 500], evidence.response)


def test_the_nearest_rival_has_the_least_positive_part_of_a_gap_over_its_variance():
    """Lemma 7 with A = diag(1, 4): 1^2 / (2 (1 + 1/4)) = .4 and .3^2 / (2 * .3^2) = .5; an item that leads costs 0."""
    items, theta, inverse = np.array([[1.0, 0.0], [0.0, 1.0], [0.7, 0.0]]), np.array([1.0, 0.0]), np.diag([1.0, 0.25])
    scratch = np.empty(3), np.empty(2)
    assert nearest_rival(items, theta, inverse, 0, *scratch) == (1, pytest.approx(0.4))
    assert nearest_rival(items, theta, inverse, 2, *scratch) == (0, 0.0)


def test_the_squared_norms_of_the_arms_are_kept_up_over_fresh_inversions():
    arms = np.random.default_rng(0).standard_normal((8, 3))
    rule = l_t3c(arms, delta=1e-300, rng=np.random.default_rng(0))
    loop = rule.send(LinearBandit(arms, theta=[1.0, 0.0, 0.0]).pull(next(rule), np.random.default_rng(1)))
    for arm in np.random.default_rng(2).integers(8, size=1_500):
        loop.update(loop.state, arm, 0.0)
        if loop.state.evidence.status.pulls in (10, 999, 1_000, 1_001, 1_503):
            inverse = np.linalg.inv((loop.state.evidence.arms.T * loop.state.counts) @ loop.state.evidence.arms)
            norms = np.einsum("kd,de,ke->k", loop.state.evidence.arms, inverse, loop.state.evidence.arms)
            np.testing.assert_allclose(loop.state.arm_squares, norms, rtol=1e-9)
    assert loop.state.evidence.status.pulls == 1_503
