"""A day effect is heard from parts of the same arm, whatever the rule; honest measurements raise no alarm."""

import warnings

import numpy as np
import pytest

from bandits_lab import Lab
from bandits_lab.noise import DriftWarning, Watch
from bandits_lib import Sample
from bandits_lib.fixed_budget import gse
from bandits_lib.fixed_confidence import bounded_rage, rage

ARMS = np.eye(4)


def purchases(counts, rates, rng):
    bought = rng.binomial(counts, np.clip(rates, 0, 1)).astype(float)
    return Sample(counts, bought, bought.copy())


def heard(effect, arguments, rate=0.2, parts=4, pulls=100, seed=0):
    """Whether days with offsets of a standard deviation `effect`, another for each arm, are heard."""
    rng, watch = np.random.default_rng(seed), Watch(arguments)
    for _ in range(parts):
        watch.take(purchases(np.full(10, pulls), rate + rng.normal(0, effect, 10), rng))
    return watch.drift() is not None


@pytest.mark.parametrize("arguments", [{}, *({"sigma": sigma, "delta": 0.05} for sigma in (None, 0.5, 50.0))])
def test_day_effects_are_heard(arguments):
    assert all(heard(0.15, arguments, seed=seed) for seed in range(20))


@pytest.mark.parametrize("rate", [0.01, 0.2, 0.5])
def test_equal_days_raise_no_alarm(rate):
    assert not any(heard(0.0, {}, rate, parts=10, pulls=n, seed=seed) for n in (10, 100, 1000) for seed in range(100))


def test_sums_within_a_day_do_not_count_as_days():
    watch = Watch({"sigma": 1.0, "delta": 0.05})
    watch.take(Sample(np.array([1000, 0]), np.array([500.0, 0.0]), np.array([4000.0, 0.0])))  # noisy, but one part
    assert watch.drift() is None


@pytest.mark.parametrize(
    "make",
    [
        lambda: bounded_rage(ARMS, delta=0.05),
        lambda: rage(ARMS, delta=0.05, sigma=0.5, scale=0.2),
        lambda: gse(ARMS, budget=4000, sigma=0.5),
    ],
    ids=["bounded_rage", "rage", "gse"],
)
def test_every_rule_warns_when_arms_are_told_on_days_of_their_own(make):
    rng, lab, days = np.random.default_rng(1), Lab(make()), 0
    with pytest.warns(DriftWarning, match="differ .* times as much as their noise explains"):
        while lab.result is None and days < 200:
            wanted = lab.ask()
            for arm in np.flatnonzero(wanted):  # two days for each arm
                for part in (wanted[arm] // 2, wanted[arm] - wanted[arm] // 2):
                    counts = np.zeros(4, np.int64)
                    counts[arm] = part
                    days += 1
                    if part:
                        lab.tell(purchases(counts, np.full(4, 0.3 + rng.normal(0, 0.15)), rng))


def test_the_warning_comes_once():
    rng, lab = np.random.default_rng(0), Lab(rage(ARMS, delta=0.05, sigma=0.5, scale=0.2))
    parts = lab.ask() // 5
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for rate in (0.1, 0.9, 0.5, 0.2):
            lab.tell(purchases(parts, np.full(4, rate), rng))
    assert [warning.category for warning in said].count(DriftWarning) == 1


def test_arms_that_are_told_one_after_the_other_cannot_show_a_day_effect():
    rng, lab = np.random.default_rng(0), Lab(rage(ARMS, delta=0.1, sigma=1.0))
    wanted = lab.ask()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lab.tell(Sample.of([0] * 9, rng.standard_normal(9), 4))
        lab.tell(Sample.of([1] * 9, rng.standard_normal(9), 4))
    with pytest.warns(DriftWarning, match="each arm was told by itself, one after the other"):
        lab.tell(Sample.of([2] * 9, rng.standard_normal(9), 4))
    mixed, order = Lab(rage(ARMS, delta=0.1, sigma=1.0)), rng.permutation(np.repeat(np.arange(4), wanted))[:60]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for arm in order:
            mixed.tell(Sample.of([arm], rng.standard_normal(1), 4))
