"""Intervals for accuracies: they cover what they claim to, also where two rules hardly differ."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bandits_lib.simulate.intervals import (
    accuracy_difference,
    accuracy_slope,
    growth_exponent,
    paired_ratio,
    student_interval,
    wilson_interval,
)


def table_of(rng, runs, rates, both=0.0, **columns):
    """Rows of two rules that are right at the given `rates`; with probability `both` on the very same runs."""
    shared, own = rng.random(runs), rng.random((2, runs))
    same = rng.random(runs) < both
    rows = []
    for name, rate, alone in zip(("a", "b"), rates, own, strict=True):
        correct = np.where(same, shared, alone) < rate
        rows.append(pd.DataFrame({"algorithm": name, "run": np.arange(runs), "correct": correct, **columns}))
    return pd.concat(rows)


@pytest.mark.parametrize(("rates", "both"), [((0.7, 0.6), 0.0), ((0.7, 0.6), 0.9), ((0.99, 0.99), 0.0)])
def test_the_difference_is_covered_in_95_of_100(rates, both):
    rng, draws, held = np.random.default_rng(0), 150, 0
    for _ in range(draws):
        _, low, high = accuracy_difference(table_of(rng, 100, rates, both), "a", "b")
        held += low <= rates[0] - rates[1] <= high
    assert held / draws > 0.95 - 4 * np.sqrt(0.95 * 0.05 / draws)


def test_rules_that_never_differ_leave_some_doubt():
    rows = table_of(np.random.default_rng(0), 50, (1.0, 1.0))
    estimate, low, high = accuracy_difference(rows, "a", "b")
    assert estimate == 0 and -0.1 < low < -0.01 and 0.01 < high < 0.1


def test_a_clear_difference_is_found_and_has_a_sign():
    rows = table_of(np.random.default_rng(0), 300, (0.9, 0.5))
    estimate, low, high = accuracy_difference(rows, "a", "b")
    assert 0.3 < low < estimate < high < 0.5
    assert accuracy_difference(rows, "b", "a") == pytest.approx((-estimate, -high, -low))


def test_the_worst_of_several_settings_has_a_wider_interval():
    rng = np.random.default_rng(0)
    rows = pd.concat([table_of(rng, 200, (0.8, 0.6), K=8), table_of(rng, 200, (0.6, 0.6), K=16)])
    estimate, low, high = accuracy_difference(rows, "a", "b", by="K")
    alone = accuracy_difference(rows[rows["K"] == 16], "a", "b")
    assert estimate == alone[0] and low < alone[1] and high > alone[2]


def test_a_slope_per_doubling():
    rng = np.random.default_rng(0)
    rows = pd.concat([table_of(rng, 4_000, (0.9 - 0.1 * i, 0.5), K=2**i) for i in range(4)])
    estimate, low, high = accuracy_slope(rows, "a", "K")
    assert low < -0.1 < high and high - low < 0.05
    assert accuracy_slope(rows, "b", "K")[1] < 0 < accuracy_slope(rows, "b", "K")[2]
    assert accuracy_slope(rows, "a", "K", second="b")[0] == pytest.approx(estimate, abs=0.03)


def test_no_run_in_common_is_refused():
    rows = table_of(np.random.default_rng(0), 5, (0.5, 0.5))
    with pytest.raises(ValueError, match="no run of both a and c"):
        accuracy_difference(rows, "a", "c")


@pytest.mark.parametrize("level", [0.8, 0.99])
def test_student_and_wilson_are_the_textbook_formulas(level):
    values = np.array([3.0, 5.0, 10.0, 6.0])
    se = np.sqrt(((values - 6) ** 2).sum() / 3 / 4)
    half = stats.t.ppf((1 + level) / 2, 3) * se
    assert student_interval(values, level) == pytest.approx((6, se, 6 - half, 6 + half))
    p, n, z = 0.3, 10, stats.norm.ppf((1 + level) / 2)
    centre, half = p + z**2 / (2 * n), z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    expected = p, (centre - half) / (1 + z**2 / n), (centre + half) / (1 + z**2 / n)
    assert wilson_interval(3, 10, level) == pytest.approx(expected)


def test_intervals_and_slopes_are_those_of_scipy_stats():
    """Which takes half a second to load, so the library has the formulas; samples of whole numbers have ties."""
    rng = np.random.default_rng(0)
    for _ in range(100):
        values, trials = rng.integers(10, 40, rng.integers(2, 30)), int(rng.integers(1, 300))
        successes, level = int(rng.integers(0, trials + 1)), rng.choice([0.8, 0.95, 0.99])
        mean, se, low, high = student_interval(values, level)
        assert se == pytest.approx(stats.sem(values), rel=1e-14, abs=0)
        assert (low, high) == pytest.approx(stats.t.interval(level, len(values) - 1, mean, se) if se else (mean, mean))
        expected = stats.binomtest(successes, trials).proportion_ci(level, method="wilson")
        assert wilson_interval(successes, trials, level)[1:] == pytest.approx(tuple(expected), rel=1e-14, abs=0)
        rows = pulls_of(a=lambda d, run: rng.integers(1, 100))
        fit = stats.linregress(np.log(rows["d"]), np.log(rows["pulls"].astype(float)))
        half = stats.t.ppf((1 + level) / 2, len(rows) - 2) * fit.stderr
        slope = fit.slope, fit.slope - half, fit.slope + half
        assert growth_exponent(rows, "a", "d", level=level) == pytest.approx(slope, rel=1e-12)


def test_a_slope_needs_two_settings_and_constant_values_have_no_spread():
    rows = pulls_of(a=lambda d, run: 1)
    assert growth_exponent(rows, "a", "d") == pytest.approx((0, np.nan, np.nan), nan_ok=True)
    for slope in (growth_exponent, lambda rows, *names: accuracy_slope(rows.assign(correct=True), *names)):
        with pytest.raises(ValueError, match="a slope needs two settings at least; the table holds one"):
            slope(rows[rows["d"] == 5], "a", "d")


def test_what_has_not_been_tried_is_not_known():
    assert student_interval([3.0]) == pytest.approx((3.0, np.nan, -np.inf, np.inf), nan_ok=True)
    assert student_interval([3.0, 3.0]) == (3.0, 0.0, 3.0, 3.0)
    assert wilson_interval(0, 0) == pytest.approx((np.nan, 0.0, 1.0), nan_ok=True)


def pulls_of(**pulls):
    """Rows of rules whose pulls in run r at setting d are given by functions (d, r)."""
    return pd.DataFrame(
        {"algorithm": name, "d": d, "run": run, "pulls": of(d, run)}
        for name, of in pulls.items()
        for d in (5, 10, 20)
        for run in range(4)
    )


def test_the_exponent_against_another_rule_is_the_difference_of_the_exponents():
    """a takes d^1.5 pulls and b d^0.5: their ratio grows by 1, and whatever a run multiplies both by falls out."""
    rows = pulls_of(a=lambda d, run: 7 * d**1.5 * (1 + run), b=lambda d, run: 3 * d**0.5 * (1 + run))
    assert growth_exponent(rows, "a", "d", against="b") == pytest.approx((1.0, 1.0, 1.0))
    assert growth_exponent(rows, "b", "d", against="a") == pytest.approx((-1.0, -1.0, -1.0))
    assert growth_exponent(rows, "a", "d")[0] == pytest.approx(1.5)
    assert growth_exponent(rows, "b", "d")[0] == pytest.approx(0.5)


def test_the_worst_of_several_ratios_is_the_largest_with_bonferronis_interval():
    rows = pulls_of(a=lambda d, run: d * 1.1**run, b=lambda d, run: 10)
    alone = paired_ratio(rows[rows["d"] == 20], "a", "b", level=1 - 0.1 / 3)
    assert paired_ratio(rows, "a", "b", by="d", level=0.9) == pytest.approx(alone)
    assert alone[0] == pytest.approx(2 * 1.1**1.5)
    least = paired_ratio(rows[rows["d"] == 5], "a", "b", level=1 - 0.1 / 3)
    assert paired_ratio(rows, "a", "b", by="d", level=0.9, worst=min) == pytest.approx(least)


def test_a_difference_of_accuracies_lies_between_minus_one_and_one():
    rows = table_of(np.random.default_rng(0), 3, (1.0, 0.0))
    assert accuracy_difference(rows, "a", "b")[2] == 1.0
    assert accuracy_difference(rows, "b", "a")[1] == -1.0
