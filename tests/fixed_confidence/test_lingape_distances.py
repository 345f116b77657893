"""Distances from the leader keep their digits. What they are: tests/plain."""

from types import SimpleNamespace

import numpy as np
import pytest

from bandits_lib.fixed_confidence.lingape import distances, learn, measure
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


def test_a_distance_far_below_the_norms_keeps_its_digits():
    """Many pulls along the short difference of two long items: differences of norms would keep nothing."""
    arms = np.eye(2)
    items = np.array([[1.0, 0.0], [1.0, 1e-6]])
    state, _ = told(arms, items, np.ones(1_700, dtype=np.int64), leader=0)
    assert state.fit.apart[1] == pytest.approx(1e-12 / (0.5 + 1_701), rel=1e-9)
