"""The rules: where each verdict begins and ends, on both sides of every edge."""

from math import hypot, inf, isnan, nan

import pytest

from bandits_companion.verdicts import ENOUGH, GRADES, MARGINS, VERDICTS, Rule, close, detects, grade, reach, verdict

FEWER = Rule(0, 1)
FEWER_OR_LEVEL = Rule(0, 1, tie_low=1 / 1.1, tie_high=1.1)
AHEAD_OR_LEVEL = Rule(0, inf, tie_low=-0.02, tie_high=0.02)


@pytest.mark.parametrize(
    ("rule", "low", "high", "expected"),
    [
        (FEWER, 0.4, 1.0, "reproduced"),
        (FEWER, 0.4, 1.001, "undecided"),
        (FEWER, 1.001, 2.0, "not reproduced"),
        (FEWER, 1.0, 2.0, "undecided"),
        (FEWER_OR_LEVEL, 0.95, 0.99, "reproduced"),
        (FEWER_OR_LEVEL, 0.95, 1.05, "no difference above the margin"),
        (FEWER_OR_LEVEL, 1.02, 1.1, "no difference above the margin"),
        (FEWER_OR_LEVEL, 1.02, 1.11, "not reproduced"),
        (FEWER_OR_LEVEL, 0.90, 1.05, "undecided"),
        (FEWER_OR_LEVEL, 0.95, 1.11, "undecided"),
        (AHEAD_OR_LEVEL, 0.0, 0.5, "reproduced"),
        (AHEAD_OR_LEVEL, -0.02, 0.02, "no difference above the margin"),
        (AHEAD_OR_LEVEL, -0.02, -0.01, "no difference above the margin"),
        (AHEAD_OR_LEVEL, -0.03, -0.01, "not reproduced"),
        (AHEAD_OR_LEVEL, -0.03, 0.01, "undecided"),
        (close("ratio"), 0.01, 2.0, "reproduced"),
        (close("ratio"), 1.9, 2.1, "undecided"),
        (close("ratio"), 2.01, 2.5, "not reproduced"),
        (close("ratio", "both"), 0.5, 2.0, "reproduced"),
        (close("ratio", "both"), 0.4, 1.0, "undecided"),
        (close("ratio", "both"), 0.2, 0.49, "not reproduced"),
        (close("accuracy"), -0.6, 0.05, "reproduced"),
        (close("accuracy"), 0.051, 0.2, "not reproduced"),
        (close("accuracy", "both"), -0.06, 0.0, "undecided"),
        (close("exponent"), -1.0, 0.2, "reproduced"),
        (close("exponent", "both"), -1.0, -0.21, "not reproduced"),
    ],
)
def test_where_a_verdict_begins_and_ends(rule, low, high, expected):
    assert verdict(rule, ((low + high) / 2, low, high)) == expected


@pytest.mark.parametrize(
    ("rule", "low", "high", "expected"),
    [
        (close("ratio"), 0.2, 1.1, 1.1),
        (close("ratio"), 1.0, 1.11, 1.25),
        (close("ratio", "both"), 0.81, 1.0, 1.25),
        (close("ratio", "both"), 0.79, 1.0, 2.0),
        (close("ratio"), 2.2, 2.9, 3.0),
        (close("ratio"), 2.2, 3.1, nan),
        (close("accuracy"), -0.5, 0.02, 0.02),
        (close("accuracy", "both"), -0.05, 0.02, 0.05),
        (close("exponent", "both"), -0.05, 0.21, 0.3),
        (FEWER, 0.1, 0.2, nan),
    ],
)
def test_the_grade_is_the_smallest_band_that_contains_the_interval(rule, low, high, expected):
    found = grade(rule, ((low + high) / 2, low, high))
    assert found == expected or (isnan(found) and isnan(expected))


def test_reproduced_is_one_of_the_grades_and_a_grade_up_to_it_is_reproduced():
    for kind, grades in GRADES.items():
        assert ENOUGH[kind] in grades and set(MARGINS[kind]) <= set(grades)
        for side in ("below", "both"):
            for allowed in grades:
                interval = (allowed, allowed, allowed)
                assert (verdict(close(kind, side), interval) == "reproduced") == (allowed <= ENOUGH[kind])


def test_a_printed_number_counts_its_own_error():
    """240 [200, 270] beside a half-width of 30: 50 = hypot(40, 30) below, so 190 is just inside."""
    rule, measured = Rule(printed=190.0, half=30.0), (240, 200, 270)
    assert verdict(rule, measured) == "compatible"
    assert verdict(rule._replace(printed=189.9), measured) == "not reproduced"
    assert verdict(rule._replace(half=29.0), measured) == "not reproduced"
    assert detects(rule, measured) == pytest.approx(hypot(40, 30) / 190)
    assert isnan(detects(FEWER, (1, 1, 1))) and reach(rule, measured) == ""


def test_a_printed_number_that_nothing_could_contradict_is_undecided():
    """The number itself is the largest deviation that may go unseen: beside 190, 190 = hypot(190, 0)."""
    rule = Rule(printed=190.0, half=0.0)
    assert verdict(rule, (190, 0, 380)) == "compatible"
    assert verdict(rule, (190, -1, 380)) == "undecided"
    assert verdict(rule, (390, 199, 581)) == "not reproduced"


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (FEWER, "at most 0.8"),
        (Rule(-inf, 0.05), "at most 0.8"),
        (Rule(1, inf), "at least 0.2"),
        (Rule(0, inf), "at least 0.2"),
        (Rule(0.95, 1), "at least 0.2"),
        (Rule(2, 2), "0.2 to 0.8"),
        (Rule(0.5, 2), "0.2 to 0.8"),
        (close("ratio"), "at most 0.8"),
        (close("ratio", "both"), "within a factor 5"),
        (close("accuracy", "both"), "within 0.8"),
        (close("exponent"), "at most 0.8"),
        (Rule(), ""),
    ],
)
def test_reach_is_the_strongest_threshold_that_would_still_hold(rule, words):
    assert reach(rule, (0.5, 0.2, 0.8)) == words


def test_there_are_five_verdicts_from_the_best_to_the_worst():
    assert VERDICTS[0] == "reproduced" and VERDICTS[-1] == "not reproduced" and len(VERDICTS) == 5
