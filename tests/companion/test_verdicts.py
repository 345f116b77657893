"""Letters on both sides of every edge, words of cells, and what controls make of them."""

from math import exp, hypot, inf, isnan

import pytest
from made_up import FEWER, claim

from bandits_companion.claims import table
from bandits_companion.claims_table import condition, judged, sentences, slips, totals, with_interval
from bandits_companion.verdicts import WORDS, Criterion, as_described, detects, letter, word
from bandits_lib.simulate.intervals import Interval, worst_of

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
        (FEWER, 1.001, 2.0, "F"),
        (FEWER, -inf, inf, "U"),
        (Criterion(2, 2), 2.0, 2.0, "H"),
        (RATIO, 0.80, 0.999, "H"),
        (RATIO, 0.90, 1.0, "U"),
        (RATIO, 1 / 1.1, 1.1, "L"),
        (RATIO, 1.02, 1.101, "L"),
        (RATIO, 1.02, 1.2, "F"),
        (LEAD, 0.001, 0.5, "H"),
        (LEAD, 0.0, 0.5, "U"),
        (LEAD, 0.001, 0.02, "L"),
        (LEAD, -0.02, 0.02, "L"),
        (LEAD, -0.04, -0.01, "F"),
        (LEAD, -0.03, -0.01, "L"),
        (LEAD, -0.021, 0.01, "U"),
        (AT_LEAST_AS_WELL, -0.02, 0.5, "H"),
        (AT_LEAST_AS_WELL, -0.021, 0.5, "U"),
        (AT_LEAST_AS_WELL, -0.5, -0.021, "F"),
        (LARGE, 2.0, 9.0, "H"),
        (LARGE, 1.99, 9.0, "W"),
        (LARGE, 1.01, 1.11, "L"),
        (LARGE, 1 / 1.1, 1.1, "L"),
        (LARGE, 0.80, 0.99, "F"),
        (LARGE, 0.90, 0.99, "L"),
        (SMALL, 0.1, 0.5, "H"),
        (SMALL, 0.1, 0.501, "W"),
        (SMALL, 0.91, 1.099, "L"),
        (SMALL, 1.01, 1.3, "F"),
        (close("ratio"), 0.01, 1.1, "H"),
        (close("ratio"), 0.01, 1.101, "U"),
        (close("ratio"), 1.101, 1.999, "W"),
        (close("ratio"), 1.9, 2.0, "U"),
        (close("ratio"), 2.0, 2.5, "F"),
        (close("ratio", "both"), 1 / 1.1, 1.1, "H"),
        (close("ratio", "both"), 0.90, 1.1, "U"),
        (close("ratio", "both"), 0.501, 0.909, "W"),
        (close("ratio", "both"), 0.5, 1.0, "U"),
        (close("ratio", "both"), 0.2, 0.5, "F"),
        (close("accuracy"), -0.6, 0.05, "H"),
        (close("accuracy"), 0.051, 0.099, "W"),
        (close("accuracy"), 0.1, 0.2, "F"),
        (close("accuracy", "both"), -0.05, 0.05, "H"),
        (close("accuracy", "both"), -0.099, -0.051, "W"),
        (close("accuracy", "both"), -0.2, -0.1, "F"),
        (close("exponent"), -1.0, 0.2, "H"),
        (close("exponent", "both"), -0.3, 0.299, "U"),
        (close("exponent", "both"), -1.0, -0.3, "F"),
    ],
)
def test_where_a_letter_begins_and_ends(rule, low, high, expected):
    assert letter(rule, between(low, high)) == expected


@pytest.mark.parametrize(
    ("rule", "low", "high", "half", "once", "twice"),
    [
        (LEAD, 0.006, 0.016, "H", "L", "L"),
        (LEAD, 0.01, 0.031, "H", "H", "L"),
        (LEAD, -0.041, -0.01, "F", "F", "L"),
        (RATIO, 0.85, 0.9, "H", "H", "L"),
        (RATIO, 0.81, 0.83, "H", "H", "H"),
        (LARGE, 1.06, 1.09, "W", "L", "L"),
        (close("ratio"), 1.0, 1.2, "U", "U", "H"),
        (close("accuracy"), 0.0, 0.03, "U", "H", "H"),
        (close("exponent"), 0.31, 0.41, "F", "F", "U"),
        (FEWER, 0.9, 0.99, "H", "H", "H"),
    ],
)
def test_margins_half_and_twice_as_wide(rule, low, high, half, once, twice):
    assert [letter(rule, between(low, high), margin) for margin in (0.5, 1, 2)] == [half, once, twice]


def test_an_estimate_within_the_margin_is_level_even_if_its_interval_excludes_equality():
    for rule, inside, beyond in ((LEAD, 0.019, 0.021), (RATIO, 1 / 1.09, 1 / 1.11), (LARGE, 1.09, 1.11)):
        wide = (1.001, 1.4) if rule == LARGE else (0.5, 0.999) if rule == RATIO else (0.001, 0.5)
        assert [letter(rule, (x, *wide)) for x in (inside, beyond)] == ["L", "W" if rule == LARGE else "H"]


@pytest.mark.parametrize(
    ("rule", "described", "opposite"),
    [(LEAD, 0.001, -0.001), (RATIO, 0.99, 1.01), (LARGE, 1.01, 0.99), (SMALL, 0.99, 1.01)],
)
def test_the_side_that_a_sentence_describes_is_that_of_the_estimate(rule, described, opposite):
    assert [as_described(rule, (x, -9, 9)) for x in (described, opposite)] == [True, False]
    assert as_described(FEWER, (0.5, 0.4, 0.6)) is None and as_described(close("ratio"), (1.0, 0.9, 1.1)) is None
    assert as_described(close("exponent"), (0.1, 0.0, 0.15)) and not as_described(close("exponent"), (0.5, 0.4, 0.6))


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (FEWER, "true if between 0 and 1"),
        (RATIO, "true if at most 1"),
        (Criterion(-inf, 0.05), "true if at most 0.05"),
        (Criterion(2, 2), "true if exactly 2"),
        (LARGE, "true if at least 2"),
        (SMALL, "true if at most 0.5"),
        (close("ratio"), "true if at most 1.1"),
        (close("ratio", "both"), "true if within a factor of 1.1 of 1"),
        (close("exponent", "both"), "true if within 0.2 of 0"),
        (Criterion(printed=190.0, half=30.0), "printed 190 ± 30"),
    ],
)
def test_the_values_for_which_a_sentence_is_true_are_a_condition_in_words(rule, expected):
    (row,) = table([claim("fiez2019_9/a", 0.5, rule)]).to_dict("records")
    assert condition(row) == expected


def test_a_printed_number_counts_its_own_error():
    """240 [200, 270] beside a half-width of 30: 50 = hypot(40, 30) below, so 190 is just inside."""
    rule, measured = Criterion(printed=190.0, half=30.0), (240, 200, 270)
    assert letter(rule, measured) == "U"
    assert letter(rule._replace(printed=189.9), measured) == "F"
    assert letter(rule._replace(half=29.0), measured) == "F"
    assert letter(rule._replace(printed=240 + hypot(30, 30)), measured) == "U"
    assert letter(rule._replace(printed=240.1 + hypot(30, 30)), measured) == "F"
    assert detects(rule, measured) == pytest.approx(exp(2.8 / 1.96 * 50 / 190))
    assert isnan(detects(FEWER, (1, 1, 1))) and detects(rule, (240, 200, inf)) > 1e300


def test_a_printed_number_holds_if_a_factor_of_a_quarter_more_would_have_shown():
    half = 100 * 0.2231 * 1.96 / 2.8  # log 1.25 = .22314
    assert letter(Criterion(printed=100.0, half=0.0), between(100 - half, 100 + half)) == "H"
    assert letter(Criterion(printed=100.0, half=0.0), between(99.98 - half, 100.02 + half)) == "U"
    assert letter(Criterion(printed=-100.0, half=half), (-100, -100, -100)) == "H"


# --- cells


@pytest.mark.parametrize(
    ("letters", "expected"),
    [
        ("", "not tested"),
        ("H", "holds"),
        ("F", "falls"),
        ("W", "partly"),
        ("L", "partly"),
        ("U", "open"),
        ("HF", "partly"),
        ("HW", "partly"),
        ("LF", "partly"),
        ("HU", "open"),
        ("FU", "open"),
        ("WU", "partly"),
        ("LU", "partly"),
        ("HFU", "partly"),
    ],
)
def test_what_the_letters_of_parts_and_readings_say_together(letters, expected):
    assert word(letters) == expected and expected in WORDS


def one(*claims):
    """The only sentence of some claims."""
    (found,) = sentences(table(claims)).to_dict("records")
    return found


def reading(kind, x, part="", name="", **more):
    id = f"fiez2019_9/a{f'.{part}' if part else ''}@{name or kind}"
    return claim(id, x, more.pop("rule", LEAD), kind, **more)


AHEAD, EVEN, BEHIND, OPEN = (0.5, 0.4, 0.6), (0.0, -0.01, 0.01), (-0.5, -0.6, -0.4), (0.1, -0.3, 0.5)


@pytest.mark.parametrize(
    ("found", "text", "program"),
    [
        ([("text", AHEAD)], "holds", "not tested"),
        ([("text", AHEAD), ("program", BEHIND)], "holds", "falls"),
        ([("text", BEHIND), ("other", AHEAD)], "falls", "not tested"),
        ([("text", EVEN), ("program", EVEN)], "partly", "partly"),
        ([("text", OPEN)], "open", "not tested"),
        ([("program", BEHIND)], "not tested", "falls"),
        ([("other", AHEAD)], "not tested", "not tested"),
    ],
)
def test_text_and_program_are_judged_apart_and_other_readings_never_decide(found, text, program):
    said = one(*(reading(kind, x) for kind, x in found))
    assert (said["text"], said["program"]) == (text, program)


def test_a_cell_that_holds_partly_says_which_parts_and_readings_hold():
    two = [reading("text", (0.5,) * 3, name="text_sd"), reading("text", BEHIND, name="text_variance")]
    assert one(*two)["text_said"] == "holds 0.5 (sd); falls -0.5 [-0.6, -0.4] (variance)"
    parts = [reading("text", (x,) * 3, part) for part, x in (("a", 0.5), ("b", 0.0), ("c_d", -0.5))]
    assert (
        one(*parts)["text_said"] == "holds 0.5 (a); level 0 (b); falls -0.5 (c d)" and one(*parts)["text"] == "partly"
    )


def test_a_part_or_a_reading_with_one_letter_throughout_is_named_once():
    values = {"a": (0.5, 0.6), "b": (-0.5, 0.7), "c": (-0.6, 0.8)}  # by part: in reading 1, in reading 2
    found = [
        reading("text", (x,) * 3, part, f"text_{at}") for part, both in values.items() for at, x in enumerate(both, 1)
    ]
    assert one(*found)["text_said"] == "holds 0.5 to 0.6 (a), 0.7 to 0.8 (2); falls -0.5 (b with 1), -0.6 (c with 1)"


def test_an_open_cell_says_how_many_more_runs_would_decide():
    assert one(reading("text", (0.1, -0.1, 0.3)))["text_note"] == "4 times the runs would decide"
    said = one(
        reading("text", (0.1, -0.1, 0.3), "a"), reading("text", (0.0, -0.1, 0.1), "b"), reading("text", AHEAD, "c")
    )
    assert (said["text"], said["text_note"]) == ("open", "25 times the runs would decide")
    close = one(reading("text", (0.9999, 0.9, 1.1), rule=FEWER))["text_note"]
    assert close == "more than 10,000 times the runs are needed"
    assert one(reading("text", (1.0, 0.9, 1.1), rule=FEWER))["text_note"] == "more runs alone would not decide"


def test_a_sentence_that_waits_says_for_what():
    said = one(reading("text", AHEAD, waits="a run"), reading("program", AHEAD))
    assert (said["text"], said["text_note"], said["program_note"]) == ("holds", "waits for a run", "")
    assert one(reading("other", AHEAD, waits="a copy"))["text_note"] == "waits for a copy"


def test_a_number_that_is_not_an_edge_is_not_rounded_to_it():
    row = {"estimate": 1.0042, "low": 0.99, "high": 1.0049, "holds_low": 0.0, "holds_high": 1.0}
    assert with_interval(row) == "1.004 [0.99, 1.005]" and with_interval(row | {"holds_high": 2.0}) == "1 [0.99, 1]"
    assert with_interval(dict.fromkeys(("estimate", "low", "high"), 1.0) | {"holds_low": 1.0}) == "1"


def test_a_word_that_a_margin_half_or_twice_as_wide_would_change_is_noted():
    said = one(reading("text", (0.03, 0.02, 0.04)))
    assert said["text"] == "holds" and said["text_note"] == "with margins half or twice as wide: partly"
    said = one(reading("text", (0.015, 0.005, 0.025)))
    assert said["text"] == "partly" and said["text_note"] == "with margins half or twice as wide: holds"


# --- controls


@pytest.mark.parametrize("kind", ["text", "program"])
@pytest.mark.parametrize(("loser", "failed"), [(BEHIND, True), (EVEN, True), (AHEAD, False), (OPEN, False)], ids="FLHU")
def test_what_holds_of_its_loser_too_is_open(kind, loser, failed):
    said = one(reading(kind, AHEAD, loser=loser))
    assert said[kind] == ("holds" if failed else "open")
    assert ("the negative control (XY-static) does not fail" in said[f"{kind}_note"]) != failed


def test_an_open_control_says_how_many_more_runs_would_decide():
    assert "(25 times the runs would decide)" in one(reading("text", AHEAD, loser=(0.0, -0.1, 0.1)))["text_note"]
    assert "(more runs alone would not decide)" in one(reading("text", AHEAD, loser=AHEAD))["text_note"]


def test_a_loser_of_a_reading_that_does_not_decide_says_nothing():
    assert one(reading("text", AHEAD), reading("other", AHEAD, loser=AHEAD))["text"] == "holds"


def test_one_part_of_which_the_loser_fails_is_enough():
    parts = (reading("text", AHEAD, "a"), reading("text", AHEAD, "b", loser=AHEAD))
    assert one(*parts)["text"] == "open"
    assert one(*parts, reading("text", AHEAD, "c", loser=BEHIND))["text"] == "holds"


@pytest.mark.parametrize("kind", ["text", "program"])
@pytest.mark.parametrize(
    ("winner", "passes"), [(AHEAD, True), (EVEN, False), (OPEN, False), (BEHIND, False)], ids="HLUF"
)
def test_what_falls_and_of_which_its_winner_does_not_hold_is_open(kind, winner, passes):
    said = one(reading(kind, BEHIND, winner=winner))
    assert said[kind] == ("falls" if passes else "open")
    assert ("the positive control (the oracle) does not pass" in said[f"{kind}_note"]) != passes


def named(claim, **names):
    return claim._replace(entry=claim.entry._replace(**names))


def test_each_loser_fails_in_a_part_of_its_own():
    parts = [reading("text", AHEAD, "a", loser=BEHIND), named(reading("text", AHEAD, "b", loser=AHEAD), loser="ALBA")]
    assert "the negative control (ALBA) does not fail" in one(*parts)["text_note"]
    parts.append(named(reading("text", AHEAD, "c", loser=EVEN), loser="ALBA"))
    assert one(*parts)["text"] == "holds"


@pytest.mark.parametrize("rule", [FEWER, Criterion(graded="large"), Criterion(graded="ratio")])
def test_what_may_be_is_shown_by_one_instance_and_cannot_fall(rule):
    values = (0.2, 0.3, 0.9, 1.05, 1.4, 2.5, 9.0)
    once = [letter(rule._replace(side="some"), (value, value, value)) for value in values]
    always = [letter(rule._replace(side="both"), (value, value, value)) for value in values]
    assert once == ["U" if found == "F" else found for found in always] and "F" in always


def test_controls_of_the_other_side_change_nothing():
    assert one(reading("text", AHEAD, winner=BEHIND))["text"] == "holds"
    assert one(reading("text", BEHIND, loser=AHEAD))["text"] == "falls"
    assert one(reading("text", EVEN, loser=AHEAD, winner=BEHIND))["text"] == "partly"


def test_controls_have_the_margin_of_the_sentence():
    """A loser at .03 is ahead of nothing once the margin is .04; then the sentence would hold."""
    said = one(reading("text", AHEAD, loser=(0.03, 0.025, 0.035)))
    assert said["text"] == "open" and "with margins half or twice as wide: holds" in said["text_note"]


def test_a_general_statement_and_one_without_a_control_are_not_contradicted():
    for more, note in (
        ({"slack": "slack 2.01"}, "slack 2.01"),
        ({"sampled": 300}, "in 300 cases"),
        ({"sampled": 1}, "in 1 case"),
    ):
        said = one(reading("text", AHEAD, **more))
        assert (said["text"], said["text_note"]) == ("not contradicted", note)
        assert one(reading("text", BEHIND, **more))["text"] == "falls"
    assert one(reading("text", AHEAD, sampled=2, loser=BEHIND))["text"] == "not contradicted"
    shown = reading("text", AHEAD, slack="one instance is enough")
    exists = shown._replace(entry=shown.entry._replace(rule=shown.entry.rule._replace(side="some")))
    assert one(exists)["text"] == "holds", "an instance shows that something may happen"
    parts = reading("text", AHEAD, "a", slack="as b"), reading("text", AHEAD, "b", loser=BEHIND)
    assert one(*parts)["text"] == "holds", "the control of one part is enough"


# --- totals


def test_every_sentence_counts_in_both_cells():
    found = [reading("text", AHEAD), reading("program", BEHIND)]
    found += [claim("jedra2020_1/a", (2.0, 1.5, 2.5)), claim("jedra2020_1/b", 0.5, quote="", kind="other")]
    found += [claim("fiez2019_9/b", (0.0, -inf, inf), Criterion(), untestable="it is a wish")]
    counts = totals(table(found))
    assert counts.index.tolist() == ["fiez2019, text", "fiez2019, program", "jedra2020, text", "jedra2020, program"]
    assert counts.columns.tolist() == list(WORDS)
    assert counts[["holds", "falls", "not tested"]].to_numpy().tolist() == [[1, 0, 1], [0, 1, 1], [0, 1, 0], [0, 0, 1]]
    assert counts.sum(axis=1).tolist() == [2, 2, 1, 1] and totals(table([])).empty


def test_sentences_that_fall_by_one_slip_have_one_root():
    fallen = [
        claim(f"fiez2019_9/{name}", 2.0, root=root) for name, root in (("a", "u"), ("b", "u"), ("c", ""), ("d", ""))
    ]
    found = sentences(table([*fallen, claim("fiez2019_9/e", 0.5, root="v")]))
    assert slips(found) == " They have 3 causes, because several fall by the same slip."
    assert slips(found.drop("fiez2019_9/a")) == "", "each has its own"


def test_a_sentence_that_holds_in_some_settings_is_partly_true_and_says_in_how_many():
    each = [Interval(0.5, 0.4, 0.6), Interval(0.6, 0.5, 0.7), Interval(2.0, 1.5, 2.5)]
    some, none = claim("fiez2019_9/some", worst_of(each)), claim("fiez2019_9/none", worst_of(each[2:]))
    assert table([claim("fiez2019_9/all", worst_of(each), sampled=3)])["letter"].tolist() == ["F"], "a theorem"
    rows = table([some, none])
    assert rows["letter"].tolist() == ["P", "F"] and rows["held"].tolist() == [2, 0]
    found = sentences(rows)
    assert found["text"].tolist() == ["partly", "falls"]
    assert found["text_note"].tolist() == ["holds in 2 of 3 comparisons", ""]
    assert judged(rows.iloc[0]) == "partly: holds in 2 of 3 comparisons"


def test_a_sentence_that_cannot_be_tested_has_its_reason_and_no_letter():
    (row,) = table([claim("fiez2019_9/b", (0.0, -inf, inf), Criterion(), untestable="a wish")]).to_dict("records")
    assert (row["letter"], judged(row)) == ("", "not tested")
    said = one(claim("fiez2019_9/b", (0.0, -inf, inf), Criterion(), untestable="a wish"))
    assert [said[name] for name in ("text", "program", "text_note", "program_note")] == ["not tested"] * 2 + [
        "a wish",
        "",
    ]
