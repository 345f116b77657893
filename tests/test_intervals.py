"""Intervals for accuracies: they cover what they claim to, also where two rules hardly differ."""

import numpy as np
import pandas as pd
import pytest

from bandits_lib.intervals import accuracy_difference, accuracy_slope


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
