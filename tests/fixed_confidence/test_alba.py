"""ALBA: units, widths and spans. What it pulls: tests/plain."""

import numpy as np
import pytest

from bandits_lib import LinearBandit, instances, play, rule
from bandits_lib.fixed_confidence import alba
from bandits_lib.fixed_confidence.alba import in_span, y_elim_til


def test_units_change_nothing():
    problem = instances.benchmark(3, angle=0.3)
    plain = play(alba(problem.arms, delta=0.05, theta_bound=2.0, rng=np.random.default_rng(0)), problem, Standard())
    scaled = LinearBandit(10 * problem.arms, theta=problem.theta / 2, sigma=5.0)
    rule = alba(scaled.arms, delta=0.05, theta_bound=1.0, sigma=5.0, rng=np.random.default_rng(0))
    other = play(rule, scaled, Standard())
    np.testing.assert_array_equal(plain.counts, other.counts)
    for one, two in zip(plain.result.history, other.result.history, strict=True):
        assert two.width == pytest.approx(5 * one.width) and two.design_value == pytest.approx(one.design_value)


class Standard:
    """Rewards without noise."""

    def standard_normal(self, n):
        return np.zeros(n)

    def chisquare(self, degrees):
        return degrees.astype(float)


PROBLEM = instances.benchmark(4, angle=0.015)


def phases_of(growth, runs):
    """The phases of many runs of Y-ElimTil, from all arms down to one."""
    for seed in range(runs):
        rng = np.random.default_rng([seed, 1])
        run = rule(y_elim_til)(PROBLEM.arms, np.arange(5), 1, 0.05, 2.0, 1.0, growth, rng)
        yield from play(run, PROBLEM, np.random.default_rng(seed)).result[1]


def test_every_width_is_at_most_the_accuracy_of_the_phase():
    """|error| <= epsilon_s = 2^-s is what n_s is made for."""
    phases = list(phases_of(2, runs=30))
    assert len(phases) > 60 and max(phase.index for phase in phases) >= 3
    assert all(phase.width <= 2.0**-phase.index for phase in phases)


def test_arms_outside_the_span_of_the_active_ones_are_not_drawn():
    arms = np.vstack([np.eye(3), [0.6, 0.8, 0.0], np.zeros(3)])
    np.testing.assert_array_equal(in_span(arms, arms[[0, 3]]), [True, True, False, True, True])
