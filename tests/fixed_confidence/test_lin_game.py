"""LinGame: the learner; its rate is in test_lower_bound.py."""

import numpy as np
import pytest

from bandits_lib.fixed_confidence.lin_game import MIXABILITY, feed, mixture


def test_the_learner_keeps_the_regret_bound_of_adahedge():
    """de Rooij et al. (2014): a regret of at most 2 sqrt(V log K) + 16/3 log K + 2 for losses of range 1."""
    rng, K = np.random.default_rng(0), 5
    losses, mixability, weights, paid, variance = np.zeros(K), MIXABILITY, np.empty(K), 0.0, 0.0
    for _ in range(2000):
        eta = np.log(K) / mixability
        before = mixture(losses, eta, weights)
        gains = rng.random(K) * [1.0, 0.9, 0.5, 0.5, 0.1]
        mixed = -np.log(weights @ np.exp(eta * (gains - gains.max()))) / eta - gains.max()
        expected = max(0.0, -weights @ gains - mixed)
        paid -= weights @ gains
        variance += weights @ gains**2 - (weights @ gains) ** 2
        gap = feed(losses, eta, weights, gains.copy(), before)
        assert weights.sum() == pytest.approx(1) and gap == pytest.approx(expected, abs=1e-9)
        mixability += gap
    assert 0 < paid - losses.min() <= 2 * np.sqrt(variance * np.log(K)) + 16 / 3 * np.log(K) + 2


def test_a_weight_below_the_smallest_double_is_not_lost():
    """The best arm of the round has weight exp(-1000), as good as 0, and the mix loss is finite all the same."""
    losses, weights = np.array([0.0, 1.0]), np.empty(2)
    before = mixture(losses, 1000.0, weights)
    gap = feed(losses, 1000.0, weights, np.array([0.0, 3.0]), before)
    assert weights[1] == 0 and losses.tolist() == [0.0, -2.0] and gap == pytest.approx(2.0)
