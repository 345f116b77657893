"""Intervals by their formulas, and of tables in which runs, settings or rules are missing."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri, stdtrit

from bandits_lib.simulate import intervals
from bandits_lib.simulate.intervals import (
    accuracy_lead,
    accuracy_trend,
    mean_growth,
    mean_pulls,
    mean_ratio,
    student_interval,
    summary,
    wilson_interval,
    worst_error_rate,
)


@pytest.mark.parametrize("level", [0.8, 0.99])
def test_student_and_wilson_are_the_textbook_formulas(level):
    values = np.array([3.0, 5.0, 10.0, 6.0])
    se = np.sqrt(((values - 6) ** 2).sum() / 3 / 4)
    half = stdtrit(3, (1 + level) / 2) * se
    assert student_interval(values, level) == pytest.approx((6, se, 6 - half, 6 + half))
    p, n, z = 0.3, 10, ndtri((1 + level) / 2)
    centre, half = p + z**2 / (2 * n), z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    expected = p, (centre - half) / (1 + z**2 / n), (centre + half) / (1 + z**2 / n)
    assert wilson_interval(3, 10, level) == pytest.approx(expected)


def test_what_has_not_been_tried_is_not_known():
    assert student_interval([3.0]) == pytest.approx((3.0, np.nan, -np.inf, np.inf), nan_ok=True)
    assert student_interval([3.0, 3.0]) == (3.0, 0.0, 3.0, 3.0)
    assert wilson_interval(0, 0) == pytest.approx((np.nan, 0.0, 1.0), nan_ok=True)
    assert wilson_interval(0, 7)[:2] == (0.0, 0.0) and wilson_interval(7, 7)[::2] == (1.0, 1.0)


def table_of(rng, runs, rates):
    """Rows of two rules that are right at the given `rates`."""
    drawn = zip("ab", rates, strict=True)
    rows = [{"algorithm": name, "run": np.arange(runs), "correct": rng.random(runs) < rate} for name, rate in drawn]
    return pd.concat(map(pd.DataFrame, rows))


def test_rules_that_never_differ_leave_some_doubt():
    estimate, low, high = accuracy_lead(table_of(np.random.default_rng(0), 50, (1.0, 1.0)), "a", "b")
    assert estimate == 0 and -0.1 < low < -0.01 and 0.01 < high < 0.1


def test_a_clear_lead_is_found_and_has_a_sign():
    rows = table_of(np.random.default_rng(0), 300, (0.9, 0.5))
    estimate, low, high = accuracy_lead(rows, "a", "b")
    assert 0.3 < low < estimate < high < 0.5
    assert accuracy_lead(rows, "b", "a") == pytest.approx((-estimate, -high, -low))


def test_a_lead_lies_between_minus_one_and_one():
    rows = table_of(np.random.default_rng(0), 3, (1.0, 0.0))
    assert accuracy_lead(rows, "a", "b")[2] == 1.0 and accuracy_lead(rows, "b", "a")[1] == -1.0


def test_the_worst_of_several_ratios_is_the_largest_and_the_least_with_an_end_that_needs_no_other_setting():
    parts = [{"algorithm": "a", "pulls": [d * 1.1**run for run in range(4)], "d": d} for d in (5, 10, 20)]
    parts += [{"algorithm": "b", "pulls": [10.0] * 4, "d": d} for d in (5, 10, 20)]
    rows = pd.concat(pd.DataFrame(part).rename_axis("run").reset_index() for part in parts)
    ratio = partial(mean_ratio, first="a", second="b", mean="geometric")
    joint, alone = (ratio(rows[rows["d"] == 20], level=level) for level in (1 - 0.1 / 3, 0.9))
    assert tuple(ratio(rows, by="d", level=0.9)) == pytest.approx((*joint[:2], alone[2]))
    assert alone[0] == pytest.approx(2 * 1.1**1.5)
    joint, alone = (ratio(rows[rows["d"] == 5], level=level) for level in (1 - 0.1 / 3, 0.9))
    assert tuple(ratio(rows, by="d", level=0.9, worst=min)) == pytest.approx((alone[0], alone[1], joint[2]))


# --- what is missing


@pytest.fixture
def whole():
    """12 runs of rules a and b at d = 5, 10 and 20; run 3 takes the most pulls."""
    rng = np.random.default_rng(0)
    parts = []
    for d in (5, 10, 20):
        for name, times in (("a", 1.0), ("b", 2.0)):
            pulls = times * d * np.where(np.arange(12) == 3, 50.0, 1.0) * rng.uniform(1, 1.2, 12)
            correct = rng.random(12) < 0.7
            parts.append(
                pd.DataFrame({"algorithm": name, "d": d, "run": np.arange(12), "pulls": pulls, "correct": correct})
            )
    return pd.concat(parts, ignore_index=True).assign(stopped=True)


def without(table, **lost):
    """The table without the rows that have all these values."""
    return table[~(table[list(lost)] == pd.Series(lost)).all(axis=1)]


@pytest.fixture
def lacking(whole):
    """The same table, but rule a lacks its run 3 at d = 10."""
    return without(whole, algorithm="a", d=10, run=3)


def sums(table, algorithm, *left_out):
    return table[table["algorithm"] == algorithm].groupby("run")["pulls"].sum().drop(list(left_out))


@pytest.mark.parametrize("mean", ["arithmetic", "geometric"])
def test_a_run_that_lacks_a_setting_is_left_out_of_the_mean_pulls(whole, lacking, mean):
    average = np.mean if mean == "arithmetic" else lambda values: np.exp(np.log(values).mean())
    a, b = average(sums(whole, "a", 3)), average(sums(whole, "b"))
    found = mean_pulls(lacking, "a", mean=mean)
    assert found[0] == pytest.approx(a) and found == mean_pulls(without(whole, run=3), "a", mean=mean)
    assert mean_ratio(lacking, "a", "b", mean=mean)[0] == pytest.approx(a / b)
    assert mean_ratio(lacking, "b", "a", mean=mean)[0] == pytest.approx(b / a)


def test_a_run_that_is_missing_at_one_setting_counts_at_the_others(whole, lacking):
    by_d = mean_ratio(lacking, "a", "b", by="d").settings
    complete = mean_ratio(whole, "a", "b", by="d").settings
    assert (by_d[0], by_d[2]) == (complete[0], complete[2]) and by_d[1][0] < 0.3 < complete[1][0]
    means = lacking[lacking["algorithm"] == "a"].groupby("d")["pulls"].mean()
    slope = np.polyfit(np.log(means.index), np.log(means), 1)[0]
    assert mean_growth(lacking, "a", "d")[0] == pytest.approx(slope)


def test_growth_leaves_out_a_run_that_lacks_one_of_the_rows_of_a_setting(whole):
    twice = pd.concat([whole.assign(angle=angle) for angle in (0.1, 0.2)])
    lacking = without(twice, algorithm="a", d=10, run=3, angle=0.2)
    expected = mean_growth(without(twice, algorithm="a", d=10, run=3), "a", "d", against="b")
    assert mean_growth(lacking, "a", "d", against="b") == expected != mean_growth(twice, "a", "d", against="b")


def test_a_missing_run_is_left_out_of_leads_and_trends(whole, lacking):
    left_out = without(whole, run=3)
    assert accuracy_lead(lacking, "a", "b") == accuracy_lead(left_out, "a", "b") != accuracy_lead(whole, "a", "b")
    for second in (None, "b"):
        found, expected = (accuracy_trend(table, "a", "d", second=second) for table in (lacking, left_out))
        assert found == expected != accuracy_trend(whole, "a", "d", second=second)
    first, second, third = accuracy_lead(lacking, "a", "b", by="d").settings
    complete = accuracy_lead(whole, "a", "b", by="d").settings
    assert (first, third) == (complete[0], complete[2])
    alone, joint = (accuracy_lead(left_out[left_out["d"] == 10], "a", "b", level=1 - 0.05 / n) for n in (1, 3))
    assert tuple(second) == (*alone[:2], joint[2])


def test_a_missing_run_is_no_error_and_no_run(whole, lacking):
    lacking = lacking.assign(correct=lacking["run"] != 7)
    found = worst_error_rate(lacking, by="d")
    expected = [(*wilson_interval(1, n, 1 - 0.05 / 6)[:2], wilson_interval(1, n)[2]) for n in (11, 12)]
    assert tuple(found) == expected[0] and [*map(tuple, found.settings)].count(expected[1]) == 5
    row = summary(lacking, "d").loc[(10, "a")]
    pulls = whole.query("algorithm == 'a' and d == 10 and run != 3")["pulls"]
    assert (
        row["runs"] == 11
        and row["not_stopped"] == 0
        and row["error_rate"] == 1 / 11
        and row["mean"] == pytest.approx(pulls.mean())
    )


COMPARED = {
    "mean_ratio": lambda table, second: mean_ratio(table, "a", second, by="d"),
    "mean_growth": lambda table, second: mean_growth(table, "a", "d", against=second),
    "accuracy_lead": lambda table, second: accuracy_lead(table, "a", second, by="d"),
    "accuracy_lead of all settings": lambda table, second: accuracy_lead(table, "a", second),
    "accuracy_trend": lambda table, second: accuracy_trend(table, "a", "d", second=second),
}


@pytest.mark.parametrize("interval", COMPARED.values(), ids=COMPARED)
def test_a_rule_that_has_not_played_at_all_or_in_a_setting_is_named(whole, interval):
    with pytest.raises(ValueError, match="no run of .*b; it holds a"):
        interval(without(whole, algorithm="b", d=10), "b")
    with pytest.raises(ValueError, match="no run of .*c; it holds a, b"):
        interval(whole, "c")
    with pytest.raises(ValueError, match="no run of .*a; it holds b|no run of a and b; it holds b"):
        interval(without(whole, algorithm="a", d=5), "b")


def test_a_rule_alone_that_has_not_played_is_named(whole):
    for interval in (mean_pulls, lambda *told: mean_growth(*told, "d"), lambda *told: accuracy_trend(*told, "d")):
        with pytest.raises(ValueError, match="no run of c; it holds a, b"):
            interval(whole, "c")


def test_a_setting_that_no_rule_has_played_is_not_known(whole):
    one = whole[whole["d"] == 5]
    for slope in (mean_growth, accuracy_trend):
        with pytest.raises(ValueError, match="a slope needs two settings at least; the table holds one"):
            slope(one, "a", "d")


@pytest.mark.slow
@pytest.mark.parametrize("mean", ["arithmetic", "geometric"])
def test_the_standard_error_is_that_of_many_samples(mean):
    rng, found = np.random.default_rng(0), []
    for _ in range(200):
        pulls = np.concatenate([rng.gamma(4, 100, 50), rng.gamma(9, 100, 50)])
        rows = pd.DataFrame({"algorithm": 50 * ["a"] + 50 * ["b"], "run": 2 * [*range(50)], "pulls": pulls})
        found.append(intervals.mean_ratio(rows, "a", "b", mean=mean))
    true = np.std([ratio[0] for ratio in found])
    assert np.mean([ratio.error for ratio in found]) == pytest.approx(true, rel=0.15)
    assert intervals.worst_of(found).error == max(found, key=lambda ratio: ratio[0]).error


def test_a_statement_about_every_setting_passes_at_single_and_fails_at_joint_levels():
    rng, n = np.random.default_rng(0), 30
    pulls = {"a": rng.normal(100, 10, (4, n)), "b": rng.normal(120, 10, (4, n))}
    rows = [(name, d, r, x) for name, of in pulls.items() for d, runs in enumerate(of) for r, x in enumerate(runs)]
    table = pd.DataFrame(rows, columns=["algorithm", "d", "run", "pulls"])
    ratio = partial(intervals.mean_ratio, table, "a", "b", by="d")
    single, joint = (
        [intervals.mean_ratio(part, "a", "b", level=level) for _, part in table.groupby("d")]
        for level in (0.95, 1 - 0.05 / 4)
    )
    largest, least = ratio(), ratio(worst=min)
    assert largest[1:] == (max(one[1] for one in joint), max(one[2] for one in single))
    assert least[1:] == (min(one[1] for one in single), min(one[2] for one in joint))


def test_a_printed_column_is_pooled_with_the_correlation_of_its_cells():
    """VERDICTS' first column: with cells that share one seed the printed errors do not average out."""
    alone = intervals.pooled_ratio([110], [0], [100], [10])
    assert alone == pytest.approx((1.1, 1.1 * np.exp(-1.96 * 0.1), 1.1 * np.exp(1.96 * 0.1)), rel=1e-4)
    cells = ([110] * 4, [0] * 4, [100] * 4, [10] * 4)
    shared, free = intervals.pooled_ratio(*cells), intervals.pooled_ratio(*cells, correlation=0.0)
    assert shared == pytest.approx(alone) and np.log(free[2] / free[0]) == pytest.approx(
        0.5 * np.log(alone[2] / alone[0])
    )
    assert intervals.pooled_ratio(*cells, columns=4)[2] > shared[2]


def test_an_accuracy_has_students_interval_of_its_runs_and_one_run_at_each_end():
    """Of forty runs, 28 right: the values -1 and 1 are added, and the standard deviation has one degree less."""
    right = [True] * 28 + [False] * 12
    table = pd.DataFrame({"algorithm": "gse", "run": range(40), "correct": right})
    values = np.array([*map(float, right), 1.0, -1.0])
    half = stdtrit(41, 0.975) * np.sqrt(((values - values.mean()) ** 2).sum() / 41 / 42)
    estimate, low, high = intervals._bounded(table["correct"].to_numpy(float), 1, 0.95)
    assert (
        estimate == 0.7 and low == pytest.approx(values.mean() - half) and high == pytest.approx(values.mean() + half)
    )
