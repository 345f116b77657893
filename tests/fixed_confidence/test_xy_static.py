"""XY-static: its widths are those of fiez2019, appendix F, for every phase, and the test on the leader stops it."""

from functools import partial
from math import ceil, log, sqrt

import numpy as np
import pytest

from bandits_lib import LinearBandit, instances, play
from bandits_lib.design import Design
from bandits_lib.fixed_confidence import xy_oracle, xy_static


def test_widths_are_those_of_all_data_so_far_with_a_logarithm_that_grows_with_the_phase():
    """sigma sqrt(2 log(2 t^2 M^2 / delta)) times the largest norm, M = 5 items of K = 3 arms."""
    arms, items, sigma, delta = np.eye(3), np.vstack([np.eye(3), [[0.2, 0.3, 0.4], [0.6, 0.0, 0.3]]]), 2.0, 0.05
    problem = LinearBandit(arms, items=items, theta=[1.0, 0.4, 0.0], sigma=sigma)
    rule = xy_static(arms, items, delta=delta, sigma=sigma, rng=np.random.default_rng(1))
    result, counts = play(rule, problem, np.random.default_rng(0)).result, np.zeros(3, dtype=int)
    assert len(result.history) > 10
    for phase in result.history:
        counts += phase.counts
        if counts.min() == 0:
            assert phase.width == np.inf
            continue
        values = items @ phase.theta_hat
        lead = items[np.argmax(values)] - np.delete(items, np.argmax(values), axis=0)
        widths = sigma * sqrt(2 * log(2 * phase.index**2 * 5**2 / delta)) * np.sqrt((lead**2 / counts).sum(axis=1))
        assert phase.width == pytest.approx(widths.max())
        separated = bool((lead @ phase.theta_hat >= widths).all())
        assert separated == (phase is result.history[-1])
    assert result.recommendation == np.argmax(values) == 0


@pytest.mark.parametrize("name", ["xy_static", "xy_oracle"])
def test_phase_t_draws_growth_to_the_t_arms(name):
    problem, rng = instances.benchmark(3, angle=0.3), np.random.default_rng(1)
    make = {"xy_static": xy_static, "xy_oracle": partial(xy_oracle, theta_star=problem.theta)}[name]
    default = {"xy_static": 1.35, "xy_oracle": 1.1}[name]
    for options, growth in (({}, default), ({"growth": 1.6}, 1.6)):
        history = play(make(problem.arms, delta=0.05, rng=rng, **options), problem, rng).result.history
        assert len(history) > 5
        assert [phase.counts.sum() for phase in history] == [ceil(growth**phase.index) for phase in history]


@pytest.mark.parametrize("rule", [xy_static, partial(xy_oracle, theta_star=[1.0, 0.5])])
def test_a_difference_that_is_never_measured_ends_in_one_sentence(rule):
    def first_arm_only(arms, directions):
        return Design(np.eye(len(arms))[0], 1.0, 0.0, 1)

    arms, rng = np.eye(2), np.random.default_rng(0)
    problem = LinearBandit(arms, theta=[1.0, 0.5])
    with pytest.raises(ValueError, match="phase 18 would need 1e.18 pulls, since no item is ahead of all others yet"):
        play(rule(arms, delta=0.05, growth=10.0, design=first_arm_only, rng=rng), problem, rng)
