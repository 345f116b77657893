"""Letters on both sides of every edge, letters of kinds, outcomes in their order, and what controls make of them."""

from itertools import product
from math import exp, hypot, inf, isnan

import pandas as pd
import pytest
from made_up import FEWER, claim

from bandits_companion import verdicts
from bandits_companion.claims import table
from bandits_companion.claims_table import condition, judged, sentences, totals, with_interval
from bandits_companion.verdicts import LETTERS, OUTCOMES, Criterion, detects, letter, of_kind, outcome

RATIO = Criterion(0, 1, tie_low=1 / 1.1, tie_high=1.1)
LEAD = Criterion(0, inf, tie_low=-0.02, tie_high=0.02)
AT_LEAST_AS_WELL = Criterion(-0.02, inf)
LARGE, SMALL = Criterion(graded="large"), Criterion(graded="small")


def close(kind, side="below"):
    return Criterion(graded=kind, side=side)


def between(low, high):
    return (low + high) / 2 if low > -inf and high < inf else 0.0, low, high


@pytest.mark.parametrize(
    ("rule", "low", "high", "expected"),
    [
        (FEWER, 0.4, 1.0, "H"),
        (FEWER, 0.4, 1.001, "U"),
        (FEWER, 1.0, 2.0, "U"),
        (FEWER, 1.001, 2.0, "F"),
        (FEWER, -2.0, -0.5, "F"),
        (FEWER, -2.0, 0.0, "U"),
        (FEWER, -inf, inf, "U"),
        (Criterion(2, 2), 2.0, 2.0, "H"),
        (Criterion(2, 2), 1.9, 2.0, "U"),
        (Criterion(3, 3), 2.0, 2.0, "F"),
        (RATIO, 0.5, 0.9, "H"),
        (RATIO, 0.90, 0.999, "H"),
        (RATIO, 0.90, 1.0, "U"),
        (RATIO, 1 / 1.1, 1.1, "L"),
        (RATIO, 1 / 1.1, 0.99, "L"),
        (RATIO, 1.02, 1.1, "L"),
        (RATIO, 1.02, 1.101, "F"),
        (RATIO, 1.0, 1.101, "U"),
        (RATIO, 0.90, 1.05, "U"),
        (RATIO, 0.95, 1.101, "U"),
        (LEAD, 0.021, 0.5, "H"),
        (LEAD, 0.001, 0.5, "H"),
        (LEAD, 0.0, 0.5, "U"),
        (LEAD, 0.001, 0.02, "L"),
        (LEAD, -0.02, 0.02, "L"),
        (LEAD, -0.02, -0.01, "L"),
        (LEAD, -0.03, -0.01, "F"),
        (LEAD, -0.03, 0.0, "U"),
        (LEAD, -0.021, 0.01, "U"),
        (AT_LEAST_AS_WELL, -0.02, 0.5, "H"),
        (AT_LEAST_AS_WELL, -0.021, 0.5, "U"),
        (AT_LEAST_AS_WELL, -0.021, -0.02, "U"),
        (AT_LEAST_AS_WELL, -0.5, -0.021, "F"),
        (LARGE, 2.0, 9.0, "H"),
        (LARGE, 1.99, 9.0, "W"),
        (LARGE, 1.01, 1.11, "W"),
        (LARGE, 1.0, 1.11, "U"),
        (LARGE, 1 / 1.1, 1.1, "L"),
        (LARGE, 0.90, 1.1, "U"),
        (LARGE, 0.90, 0.99, "F"),
        (LARGE, 0.90, 1.0, "U"),
        (SMALL, 0.1, 0.5, "H"),
        (SMALL, 0.1, 0.501, "W"),
        (SMALL, 0.0, 0.99, "W"),
        (SMALL, 0.90, 1.0, "U"),
        (SMALL, 0.91, 1.099, "L"),
        (SMALL, 1.01, 1.2, "F"),
        (SMALL, 1.0, 1.2, "U"),
        (close("ratio"), 0.01, 1.1, "H"),
        (close("ratio"), 0.01, 1.101, "U"),
        (close("ratio"), 1.1, 1.2, "U"),
        (close("ratio"), 1.101, 1.999, "W"),
        (close("ratio"), 1.9, 2.0, "U"),
        (close("ratio"), 2.0, 2.5, "F"),
        (close("ratio", "both"), 1 / 1.1, 1.1, "H"),
        (close("ratio", "both"), 0.90, 1.1, "U"),
        (close("ratio", "both"), 0.501, 0.909, "W"),
        (close("ratio", "both"), 0.5, 1.0, "U"),
        (close("ratio", "both"), 0.2, 0.5, "F"),
        (close("ratio", "both"), 0.0, 0.5, "F"),
        (close("accuracy"), -0.6, 0.05, "H"),
        (close("accuracy"), -0.6, 0.051, "U"),
        (close("accuracy"), 0.051, 0.099, "W"),
        (close("accuracy"), 0.051, 0.1, "U"),
        (close("accuracy"), 0.1, 0.2, "F"),
        (close("accuracy", "both"), -0.05, 0.05, "H"),
        (close("accuracy", "both"), -0.099, -0.051, "W"),
        (close("accuracy", "both"), -0.1, 0.0, "U"),
        (close("accuracy", "both"), -0.2, -0.1, "F"),
        (close("exponent"), -1.0, 0.2, "H"),
        (close("exponent"), -1.0, 0.201, "U"),
        (close("exponent", "both"), 0.201, 0.299, "W"),
        (close("exponent", "both"), -0.3, 0.299, "U"),
        (close("exponent", "both"), -1.0, -0.3, "F"),
    ],
)
def test_where_a_letter_begins_and_ends(rule, low, high, expected):
    assert letter(rule, between(low, high)) == expected


@pytest.mark.parametrize(
    ("rule", "low", "high", "half", "once", "twice"),
    [
        (LEAD, 0.005, 0.015, "H", "L", "L"),
        (LEAD, 0.01, 0.03, "H", "H", "L"),
        (LEAD, -0.041, -0.01, "F", "F", "F"),
        (RATIO, 0.85, 0.9, "H", "H", "L"),
        (RATIO, 0.94, 0.945, "H", "L", "L"),
        (LARGE, 1.06, 1.09, "W", "L", "L"),
        (close("ratio"), 1.0, 1.2, "U", "U", "H"),
        (close("accuracy"), 0.0, 0.03, "U", "H", "H"),
        (close("exponent"), 0.31, 0.41, "F", "F", "U"),
        (FEWER, 0.9, 0.99, "H", "H", "H"),
    ],
)
def test_margins_half_and_twice_as_wide(rule, low, high, half, once, twice):
    assert [letter(rule, between(low, high), margin) for margin in (0.5, 1, 2)] == [half, once, twice]


@pytest.mark.parametrize(
    ("rule", "low", "high", "expected"),
    [
        (LEAD, 0.001, 0.02, "level (direction as stated)"),
        (LEAD, -0.02, -0.001, "level (opposite direction)"),
        (LEAD, 0.0, 0.01, "level"),
        (RATIO, 0.95, 0.99, "level (direction as stated)"),
        (RATIO, 1.01, 1.1, "level (opposite direction)"),
        (LARGE, 1.01, 1.1, "level (direction as stated)"),
        (SMALL, 1.01, 1.09, "level (opposite direction)"),
        (SMALL, 0.99, 1.01, "level"),
        (LEAD, 0.03, 0.04, "holds"),
    ],
)
def test_level_is_marked_where_the_interval_excludes_equality(rule, low, high, expected):
    (row,) = table([claim("fiez2019_9/a", between(low, high), rule)]).to_dict("records")
    assert judged(row) == expected


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (FEWER, "true if between 0 and 1"),
        (RATIO, "true if at most 1"),
        (LEAD, "true if at least 0"),
        (Criterion(0, 1, tie_low=-0.02, tie_high=0.02), "true if at least 0"),
        (Criterion(-inf, 0.05), "true if at most 0.05"),
        (Criterion(2, 2), "true if exactly 2"),
        (LARGE, "true if at least 2"),
        (SMALL, "true if at most 0.5"),
        (close("ratio"), "true if at most 1.1"),
        (close("ratio", "both"), "true if within a factor of 1.1 of 1"),
        (close("exponent", "both"), "true if within 0.2 of 0"),
        (Criterion(printed=190.0, half=30.0), "printed 190 ± 30"),
        (Criterion(printed=1.0, half=0.0), "expected 1"),
    ],
)
def test_the_values_for_which_a_sentence_is_true_are_a_condition_in_words(rule, expected):
    (row,) = table([claim("fiez2019_9/a", 0.5, rule)]).to_dict("records")
    assert condition(row) == expected


def test_a_printed_number_counts_its_own_error():
    """240 [200, 270] beside a half-width of 30: 50 = hypot(40, 30) below, so 190 is just inside."""
    rule, measured = Criterion(printed=190.0, half=30.0), (240, 200, 270)
    assert letter(rule, measured) == "T"
    assert letter(rule._replace(printed=189.9), measured) == "I"
    assert letter(rule._replace(half=29.0), measured) == "I"
    assert letter(rule._replace(printed=240 + hypot(30, 30)), measured) == "T"
    assert letter(rule._replace(printed=240.1 + hypot(30, 30)), measured) == "I"
    assert detects(rule, measured) == pytest.approx(exp(2.8 / 1.96 * 50 / 190))
    assert isnan(detects(FEWER, (1, 1, 1))) and detects(rule, (240, 200, inf)) > 1e300


def test_a_printed_number_is_compatible_if_a_factor_of_a_quarter_more_would_have_shown():
    half = 100 * 0.2231 * 1.96 / 2.8  # log 1.25 = .22314
    assert letter(Criterion(printed=100.0, half=0.0), between(100 - half, 100 + half)) == "C"
    assert letter(Criterion(printed=100.0, half=0.0), between(99.98 - half, 100.02 + half)) == "T"
    assert letter(Criterion(printed=-100.0, half=half), (-100, -100, -100)) == "C"


# --- parts and readings


@pytest.mark.parametrize(
    ("letters", "expected"),
    [
        ({}, "–"),
        ({("", ""): "W"}, "W"),
        ({("a", ""): "H", ("b", ""): "W"}, "W"),
        ({("a", ""): "W", ("b", ""): "L"}, "L"),
        ({("a", ""): "L", ("b", ""): "U"}, "U"),
        ({("a", ""): "U", ("b", ""): "F"}, "F"),
        ({("a", ""): "C", ("b", ""): "T"}, "T"),
        ({("a", ""): "T", ("b", ""): "I"}, "I"),
        ({("", "x"): "H", ("", "y"): "H"}, "H"),
        ({("", "x"): "F", ("", "y"): "F"}, "F"),
        ({("", "x"): "H", ("", "y"): "F"}, "D"),
        ({("", "x"): "H", ("", "y"): "L"}, "D"),
        ({("", "x"): "W", ("", "y"): "H"}, "D"),
        ({("", "x"): "H", ("", "y"): "U"}, "U"),
        ({("", "x"): "W", ("", "y"): "L"}, "L"),
        ({("", "x"): "L", ("", "y"): "F"}, "F"),
        ({("a", "x"): "H", ("b", "x"): "F", ("a", "y"): "H", ("b", "y"): "L"}, "F"),
        ({("a", "x"): "H", ("b", "x"): "F", ("a", "y"): "H", ("b", "y"): "H"}, "D"),
        ({("a", "x"): "H", ("b", "x"): "F", ("a", "y"): "F", ("b", "y"): "H"}, "F"),
    ],
)
def test_the_worst_part_of_each_reading_and_what_the_readings_say_together(letters, expected):
    assert of_kind(letters) == expected


EXPECTED = {
    **{("D", program): "depends on the reading" for program in LETTERS},
    **{("H", program): "holds by the text" for program in LETTERS},
    **{(text, "H"): "holds in the published program only" for text in LETTERS if text not in "DH"},
}
BY_TEXT = {"F": "falls by the text", "L": "level", "W": "weaker than said", "U": "undecided", "–": "undecided"}
BY_TEXT |= {"C": "compatible", "I": "incompatible", "T": "too weak to tell"}


@pytest.mark.parametrize(("text", "program"), [*product(LETTERS, LETTERS)])
def test_the_first_line_that_applies_is_the_outcome(text, program):
    found = outcome(text, program)
    assert found == EXPECTED.get((text, program), BY_TEXT.get(text)) and found in OUTCOMES


def one(*claims):
    """The only sentence of some claims."""
    (found,) = sentences(table(claims)).to_dict("records")
    return found


def reading(kind, x, part="", name="", **more):
    id = f"fiez2019_9/a{f'.{part}' if part else ''}@{name or kind}"
    return claim(id, x, more.pop("rule", LEAD), kind, **more)


AHEAD, EVEN, BEHIND, OPEN = (0.5, 0.4, 0.6), (0.0, -0.01, 0.01), (-0.5, -0.6, -0.4), (0.1, -0.3, 0.5)


@pytest.mark.parametrize(
    ("found", "text", "program", "outcome"),
    [
        ([("text", AHEAD)], "H", "–", "holds by the text"),
        ([("text", AHEAD), ("program", BEHIND)], "H", "F", "holds by the text"),
        ([("text", BEHIND), ("program", AHEAD)], "F", "H", "holds in the published program only"),
        ([("text", BEHIND), ("other", AHEAD)], "F", "–", "falls by the text"),
        ([("text", EVEN), ("program", EVEN)], "L", "L", "level"),
        ([("text", OPEN)], "U", "–", "undecided"),
        ([("program", BEHIND)], "–", "F", "undecided"),
        ([("other", AHEAD)], "–", "–", "undecided"),
    ],
)
def test_text_and_program_are_judged_apart_and_other_readings_never_decide(found, text, program, outcome):
    said = one(*(reading(kind, x) for kind, x in found))
    assert (said["text"], said["program"], said["outcome"]) == (text, program, outcome)


def test_parts_and_readings_of_a_sentence_come_from_the_ids():
    said = one(*(reading("text", AHEAD, part) for part in ("a", "b")), reading("text", EVEN, "c"))
    assert said["outcome"] == "level"
    two = [reading("text", AHEAD, name="text_sd"), reading("text", BEHIND, name="text_variance")]
    assert one(*two)["outcome"] == "depends on the reading"


def test_a_program_that_does_not_hold_beside_the_text_is_flagged():
    assert one(reading("text", AHEAD), reading("program", EVEN))["note"] == "in the published program: level"
    assert one(reading("text", AHEAD), reading("program", AHEAD))["note"] == ""
    assert "program: falls" in one(reading("text", AHEAD, slack="9"), reading("program", BEHIND))["note"]


def test_a_sentence_shows_the_numbers_of_text_and_program_and_not_of_other_readings():
    said = one(reading("text", BEHIND), reading("program", AHEAD), reading("other", EVEN))
    assert said["condition"] == "true if at least 0"
    assert (said["by_text"], said["by_program"]) == ("-0.5 [-0.6, -0.4]", "0.5 [0.4, 0.6]")


def test_of_several_parts_the_worst_is_shown_with_its_name():
    said = one(reading("text", AHEAD, "a"), reading("text", BEHIND, "b"), reading("program", AHEAD, "a"))
    assert (said["by_text"], said["by_program"]) == ("-0.5 [-0.6, -0.4] (b)", "0.5 [0.4, 0.6]")


def test_all_readings_on_which_an_outcome_depends_are_shown():
    two = [reading("text", AHEAD, name="text_sd"), reading("text", BEHIND, name="text_variance")]
    assert one(*two)["by_text"] == "0.5 [0.4, 0.6] (sd); -0.5 [-0.6, -0.4] (variance)"


def test_a_number_that_is_not_an_edge_is_not_rounded_to_it():
    row = {"estimate": 1.0042, "low": 0.99, "high": 1.0049, "holds_low": 0.0, "holds_high": 1.0}
    assert with_interval(row) == "1.004 [0.99, 1.005]" and with_interval(row | {"holds_high": 2.0}) == "1 [0.99, 1]"
    assert with_interval(dict.fromkeys(("estimate", "low", "high"), 1.0) | {"holds_low": 1.0}) == "1"


def test_an_outcome_that_a_margin_half_or_twice_as_wide_would_change_is_noted():
    said = one(reading("text", (0.02, 0.01, 0.03)))
    assert said["outcome"] == "holds by the text" and said["note"] == "with margins half or twice as wide: level"
    said = one(reading("text", (0.01, 0.005, 0.015)))
    assert said["outcome"] == "level" and said["note"] == "with margins half or twice as wide: holds by the text"


# --- controls


@pytest.mark.parametrize("kind", ["text", "program"])
@pytest.mark.parametrize(
    ("loser", "refused"), [(BEHIND, True), (EVEN, True), (AHEAD, False), (OPEN, False)], ids="FLHU"
)
def test_what_holds_of_its_loser_too_is_only_not_contradicted(kind, loser, refused):
    said = one(reading(kind, AHEAD, loser=loser))
    assert (said["outcome"] != "not contradicted") == refused
    assert ("the negative control (XY-static) does not fail" in said["note"]) != refused


def test_where_the_program_holds_of_its_loser_too_the_text_decides():
    for text, by_text in ((BEHIND, "falls by the text"), (EVEN, "level"), (OPEN, "undecided")):
        said = one(reading("text", text), reading("program", AHEAD, loser=AHEAD))
        assert (said["program"], said["outcome"]) == ("H", by_text)
        assert said["note"] == "in the published program the negative control (XY-static) does not fail"
        said = one(reading("text", text), reading("program", AHEAD, loser=BEHIND))
        assert said["outcome"] == "holds in the published program only"


def test_a_loser_of_a_reading_that_does_not_decide_says_nothing():
    assert one(reading("text", AHEAD), reading("other", AHEAD, loser=AHEAD))["outcome"] == "holds by the text"


def test_one_part_of_which_the_loser_fails_is_enough():
    parts = (reading("text", AHEAD, "a"), reading("text", AHEAD, "b", loser=AHEAD))
    assert one(*parts)["note"] == "the negative control (XY-static) does not fail"
    assert one(*parts, reading("text", AHEAD, "c", loser=BEHIND))["outcome"] == "holds by the text"


@pytest.mark.parametrize(
    ("winner", "passes"), [(AHEAD, True), (EVEN, False), (OPEN, False), (BEHIND, False)], ids="HLUF"
)
def test_what_falls_and_of_which_its_winner_does_not_hold_is_undecided(winner, passes):
    said = one(reading("text", BEHIND, winner=winner), reading("program", BEHIND, winner=AHEAD))
    assert said["outcome"] == ("falls by the text" if passes else "undecided")
    assert ("the positive control (the oracle) does not pass" in said["note"]) != passes


def named(claim, **names):
    return claim._replace(entry=claim.entry._replace(**names))


def test_each_loser_is_refused_in_a_part_of_its_own():
    parts = [reading("text", AHEAD, "a", loser=BEHIND), named(reading("text", AHEAD, "b", loser=AHEAD), loser="ALBA")]
    assert one(*parts)["note"] == "the negative control (ALBA) does not fail"
    parts.append(named(reading("text", AHEAD, "c", loser=EVEN), loser="ALBA"))
    assert one(*parts)["outcome"] == "holds by the text"


def test_the_winner_of_the_part_that_falls_is_the_one_that_passes():
    part, held = reading("text", BEHIND, "a", winner=BEHIND), reading("text", AHEAD, "b", winner=AHEAD)
    assert one(part, held)["outcome"] == "undecided"
    assert one(part._replace(winner=AHEAD), held._replace(winner=BEHIND))["outcome"] == "falls by the text"


@pytest.mark.parametrize("rule", [FEWER, Criterion(graded="large"), Criterion(graded="ratio")])
def test_what_may_be_is_shown_by_one_instance_and_cannot_fall(rule):
    values = (0.2, 0.3, 0.9, 1.05, 1.4, 2.5, 9.0)
    once = [letter(rule._replace(side="some"), (value, value, value)) for value in values]
    always = [letter(rule._replace(side="both"), (value, value, value)) for value in values]
    assert once == ["U" if found == "F" else found for found in always] and "F" in always


def test_a_winner_that_is_weaker_than_said_does_not_pass():
    large = Criterion(graded="large")
    assert one(reading("text", (0.5, 0.4, 0.6), rule=large, winner=(1.5, 1.4, 1.6)))["outcome"] == "undecided"
    assert one(reading("text", (0.5, 0.4, 0.6), rule=large, winner=(2.5, 2.4, 2.6)))["outcome"] == "falls by the text"


def test_controls_of_the_other_side_change_nothing():
    assert one(reading("text", AHEAD, winner=BEHIND))["outcome"] == "holds by the text"
    assert one(reading("text", BEHIND, loser=AHEAD))["outcome"] == "falls by the text"
    assert one(reading("text", EVEN, loser=AHEAD, winner=BEHIND))["outcome"] == "level"


def test_controls_have_the_margin_of_the_sentence():
    """A loser at .03 is ahead of nothing once the margin is .04; then the sentence would hold."""
    said = one(reading("text", AHEAD, loser=(0.03, 0.025, 0.035)))
    assert said["outcome"] == "not contradicted"
    assert "with margins half or twice as wide: holds by the text" in said["note"]


def test_slack_and_samples_do_not_contradict():
    said = one(reading("text", AHEAD, slack="slack 2.01"))
    assert (said["outcome"], said["note"]) == ("not contradicted", "slack 2.01")
    said = one(reading("text", AHEAD, sampled=300))
    assert (said["outcome"], said["note"]) == ("not contradicted", "in 300 instances")
    for more in ({"slack": "slack 2.01"}, {"sampled": 300}):
        assert one(reading("text", BEHIND, **more))["outcome"] == "falls by the text"


# --- totals


def test_every_sentence_counts_once_and_untestable_ones_count():
    found = [reading("text", AHEAD), reading("program", BEHIND)]
    found += [claim("jedra2020_1/a", (2.0, 1.5, 2.5)), claim("jedra2020_1/b", 0.5, quote="", kind="other")]
    found += [claim("fiez2019_9/b", (0.0, -inf, inf), Criterion(), untestable="it is a wish")]
    of = ["fiez2019", "fiez2019", "jedra2020", "weltz2023"]
    errata = pd.DataFrame({"paper": of, "kind": ["error", "error", "misprint", "error"]})
    counts = totals(table(found), errata)
    assert counts.index.tolist() == ["fiez2019", "jedra2020", "all"]
    assert counts.columns.tolist() == [*OUTCOMES, "sentences", "changed by margins", "errors found"]
    told = ["holds by the text", "untestable", "falls by the text", "sentences", "errors found"]
    assert counts[told].to_numpy().tolist() == [[1, 1, 0, 2, 2], [0, 0, 1, 1, 0], [1, 1, 1, 3, 2]]
    assert counts[list(OUTCOMES)].sum(axis=1).tolist() == counts["sentences"].tolist()
    assert totals(table([])).loc["all"].sum() == 0


def test_sentences_that_other_margins_would_change_are_counted():
    tie = Criterion(0, 1, tie_low=1 / 1.1, tie_high=1.1)
    found = [claim("fiez2019_9/a", (1.15, 1.12, 1.18), tie), claim("fiez2019_9/b", (2.0, 1.9, 2.1), tie)]
    counts = totals(table(found))
    assert counts.loc["fiez2019", ["falls by the text", "changed by margins"]].tolist() == [2, 1]


def test_a_sentence_that_cannot_be_tested_has_its_reason_and_no_letter():
    (row,) = table([claim("fiez2019_9/b", (0.0, -inf, inf), Criterion(), untestable="a wish")]).to_dict("records")
    assert (row["letter"], judged(row)) == ("", "untestable")
    said = one(claim("fiez2019_9/b", (0.0, -inf, inf), Criterion(), untestable="a wish"))
    assert [said[name] for name in ("text", "program", "outcome", "note")] == ["–", "–", "untestable", "a wish"]


def test_every_outcome_agrees_falls_or_leaves_it_open():
    assert set(verdicts.AGREES) == {o for o in OUTCOMES if o.startswith(("holds", "not contr", "compatible"))}
    assert set(verdicts.FALLS) == {"incompatible", "falls by the text"}
    assert set(verdicts.BY_THE_TEXT.values()) < set(OUTCOMES)
