"""Distances from the leader, pull by pull, against fresh inversions."""

from types import SimpleNamespace

import numpy as np
import pytest

from bandits_lib.fixed_confidence.lingape import distances, learn, measure, toward
from bandits_lib.numerics.kernels import record
from bandits_lib.protocol import Sample


def told(arms, items, order, leader, ridge=0.5):
    """A state after one pull of each arm and pulls in this order; the sums of rewards."""
    K, rng = len(arms), np.random.default_rng(0)
    sums = rng.standard_normal(K)
    sample = Sample(np.ones(K, dtype=np.int64), sums, sums**2)
    status = record(pulls=K, leader=leader)
    fit = distances(arms, items, ridge, sample, norms=True)
    state = SimpleNamespace(counts=sample.counts.copy(), status=status, fit=fit)
    measure(state.fit, leader)
    for arm in order:
        reward = rng.standard_normal()
        learn.py_func(state, arm, reward)
        sums = sums + (np.arange(K) == arm) * reward
        if state.status.pulls % 1_000 == 0:  # afresh, from the leader of that moment
            measure(state.fit, leader)
    return state, sums


@pytest.mark.parametrize("pulls", [400, 1_500])
def test_all_that_is_kept_is_what_an_inversion_gives(pulls):
    rng = np.random.default_rng(1)
    arms, items = rng.standard_normal((7, 4)), rng.standard_normal((5, 4))
    state, sums = told(arms, items, rng.integers(0, 7, pulls), leader=2)
    fit, counts = state.fit, state.counts
    information = 0.5 * np.eye(4) + (arms.T * counts) @ arms
    inverse, y = np.linalg.inv(information), items - items[2]
    assert counts.sum() == state.status.pulls == 7 + pulls
    np.testing.assert_allclose(fit.values, items @ inverse @ arms.T @ sums, atol=1e-10)
    np.testing.assert_allclose(fit.apart, np.einsum("md,de,me->m", y, inverse, y), atol=1e-12)
    np.testing.assert_allclose(fit.norms, np.einsum("kd,de,ke->k", arms, inverse, arms), atol=1e-12)
    assert fit.logdet[0] == pytest.approx(np.linalg.slogdet(2 * information)[1])
    gains = np.empty(7)
    toward(fit, 0, 3, gains)
    np.testing.assert_allclose(gains, arms @ inverse @ (items[0] - items[3]), atol=1e-12)


def test_a_distance_far_below_the_norms_keeps_its_digits():
    """Many pulls along the short difference of two long items: differences of norms would keep nothing."""
    arms = np.eye(2)
    items = np.array([[1.0, 0.0], [1.0, 1e-6]])
    state, _ = told(arms, items, np.ones(1_700, dtype=np.int64), leader=0)
    assert state.fit.apart[1] == pytest.approx(1e-12 / (0.5 + 1_701), rel=1e-9)
