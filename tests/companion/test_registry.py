"""claims.yaml: what an entry may say, what is refused and in which words."""

from math import inf, isnan

import pytest
import yaml

from bandits_companion import registry
from bandits_companion.registry import part_and_reading, sentence

WORDS = {"place": "Figure 1a", "quote": "is below", "measures": "pulls of A over B", "slack": "a ninth"}
HOLDS = WORDS | {"holds": [0, 1], "edge": "words"}
CLOSE = WORDS | {"closeness": "ratio", "edge": "grade"}
LARGE = WORDS | {"graded": "large", "edge": "grade"}
PRINTED = WORDS | {"printed": {"value": 100, "error": 10}, "edge": "paper"}
FINDING = {"place": "Figure 1a", "measures": "pulls of A over B"}


def entries(folder, content):
    (folder / "claims.yaml").write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return registry.read(folder / "claims.yaml")


def of(folder, entry):
    """The entries of one sentence by part and reading."""
    return {part_and_reading(id): found for id, found in entries(folder, {"fiez2019_x/a": entry}).items()}


def without(given, name):
    return {key: value for key, value in given.items() if key != name}


def test_every_rule_is_read(tmp_path):
    kinds = {
        "holds": HOLDS | {"margin": "ratio"},
        "even": HOLDS | {"holds": [0, inf], "margin": {"accuracy": 0.05}},
        "as_well": HOLDS | {"holds": [-0.02, inf], "edge": "grade"},
        "most": HOLDS | {"holds": [0.5, 1]},
        "close": CLOSE | {"side": "both"},
        "near": CLOSE | {"closeness": "exponent"},
        "large": LARGE,
        "printed": PRINTED,
        "of_code": FINDING | {"printed": {"value": 5, "error": 1}},
        "ours": FINDING,
    }
    found = entries(tmp_path, {f"fiez2019_x/{name}": entry for name, entry in kinds.items()})
    rules = {id.partition("/")[2]: entry.rule for id, entry in found.items()}
    assert rules["holds"][:2] == (0, 1) and rules["holds"][-2:] == (1 / 1.1, 1.1)
    assert rules["even"][:2] == (0, inf) and rules["even"][-2:] == (-0.05, 0.05)
    assert rules["as_well"][:2] == (-0.02, inf) and isnan(rules["as_well"].tie_low)
    assert rules["close"][2:4] == ("ratio", "both") and rules["near"][2:4] == ("exponent", "below")
    assert rules["large"].graded == "large" and rules["ours"][:2] == (-inf, inf)
    assert rules["printed"].printed == 100 and rules["printed"].half == pytest.approx(19.6, abs=0.01)
    assert rules["of_code"].half == pytest.approx(1.96, abs=0.001)
    kinds = {id.partition("/")[2]: entry.kind for id, entry in found.items()}
    assert {name for name, kind in kinds.items() if kind == "other"} == {"of_code", "ours"}
    assert set(kinds.values()) == {"text", "other"} and {entry.paper for entry in found.values()} == {"fiez2019"}


def test_a_printed_error_of_few_runs_and_of_many_cells_counts_for_more(tmp_path):
    (found,) = of(tmp_path, PRINTED | {"printed": {"value": 100, "error": 10, "runs": 20, "cells": 16}}).values()
    assert found.rule.half == pytest.approx(10 * 3.4, rel=0.02), "Student's 19 degrees of freedom at .05 / 16"
    assert found.error == 10 and found.factor == pytest.approx(3.4, rel=0.02)


def test_what_stands_outside_is_true_of_all_parts_and_readings_and_the_inner_field_counts(tmp_path):
    parts = {"first": {"loser": "A"}, "second": {"holds": [1, inf], "winner": "B"}}
    readings = {"text": {"why": {"F": "so"}}, "program_2": {"with": "the code's\n options", "sampled": 9}}
    found = of(tmp_path, HOLDS | {"whole": "It is\n below.", "slack": "2", "parts": parts, "readings": readings})
    assert set(found) == {(part, reading) for part in parts for reading in readings}
    assert {id.id for id in found.values()} >= {"fiez2019_x/a.first@text", "fiez2019_x/a.second@program_2"}
    assert [found[part, "text"].rule.low for part in parts] == [0, 1]
    assert [found[part, "text"][9:11] for part in parts] == [("A", ""), ("", "B")]
    assert found["first", "program_2"].measures == "pulls of A over B; the code's options"
    assert [found["first", reading].sampled for reading in readings] == [0, 9]
    assert [found["first", reading].why for reading in readings] == [{"F": "so"}, {}]
    assert {(entry.whole, entry.slack, entry.place) for entry in found.values()} == {("It is below.", "2", "Figure 1a")}


def test_the_id_says_sentence_part_and_reading():
    for rest, known in (("", ("", "")), (".p", ("p", "")), ("@text_1", ("", "text_1")), (".p+q@r-2", ("p+q", "r-2"))):
        id = f"fiez2019_x/a{rest}"
        assert sentence(id) == "fiez2019_x/a" and part_and_reading(id) == known


def test_the_kind_of_a_reading_is_said_or_that_of_its_entry_or_in_its_name(tmp_path):
    names = {"text": {}, "text_sd": {}, "program": {}, "program_2": None, "textual": {}, "sd": {"kind": "program"}}
    found = {reading: entry.kind for (_, reading), entry in of(tmp_path, HOLDS | {"readings": names}).items()}
    assert found == dict(zip(names, ["text", "text", "program", "program", "other", "program"], strict=True))
    given = of(tmp_path, HOLDS | {"kind": "other", "readings": {"text": {}, "sd": {"kind": "text"}}})
    assert [given["", reading].kind for reading in ("text", "sd")] == ["other", "text"]
    assert [entry.kind for entry in of(tmp_path, HOLDS | {"kind": "program"}).values()] == ["program"]


def test_names_that_yaml_takes_for_numbers_are_names(tmp_path):
    assert set(of(tmp_path, HOLDS | {"parts": {0: {}, 1: {}}})) == {("0", ""), ("1", "")}


def test_what_cannot_be_tested_is_kept_and_not_measured(tmp_path):
    content = {"fiez2019_x/a": without(WORDS, "measures") | {"untestable": "a wish"}, "fiez2019_x/b": HOLDS}
    found = entries(tmp_path, content | {"fiez2019_y/b": HOLDS})
    assert found["fiez2019_x/a"].untestable == "a wish"
    assert list(registry.of_notebook(found, "fiez2019_x")) == ["fiez2019_x/b"]


@pytest.mark.parametrize(
    ("id", "given", "words"),
    [
        ("fiez2019_x", HOLDS, "an id is"),
        ("toy2020_x/a", HOLDS, "an id is"),
        ("fiez2019_x/a", "words", "a mapping of fields"),
        ("fiez2019_x/a", HOLDS | {"whose": "paper"}, "unknown fields whose"),
        ("fiez2019_x/a", HOLDS | {"kind": "code"}, "kind must be one of text, program, other; it is 'code'"),
        ("fiez2019_x/a", without(HOLDS, "place"), "place missing"),
        ("fiez2019_x/a", FINDING | {"kind": "text"}, "a finding, which quotes nothing, must have the kind other"),
        ("fiez2019_x/a", without(HOLDS, "measures"), "measures missing"),
        ("fiez2019_x/a", without(HOLDS, "edge"), "edge missing"),
        ("fiez2019_x/a", HOLDS | {"edge": "taste"}, "edge must be one of"),
        ("fiez2019_x/a", HOLDS | {"quote": 5}, "quote must be text"),
        ("fiez2019_x/a", HOLDS | {"sampled": "many"}, "sampled must be a number of instances; it is 'many'"),
        ("fiez2019_x/a", WORDS | {"edge": "words"}, "printed, untestable is needed; there are 0"),
        ("fiez2019_x/a", HOLDS | CLOSE, "is needed; there are 2"),
        ("fiez2019_x/a", HOLDS | {"holds": [1, 0]}, "holds must be"),
        ("fiez2019_x/a", HOLDS | {"margin": "pulls"}, "margin must be one of"),
        ("fiez2019_x/a", HOLDS | {"holds": [0, 2], "edge": "paper", "margin": "ratio"}, "lies about 1"),
        ("fiez2019_x/a", CLOSE | {"margin": "ratio"}, "margin is allowed only with holds"),
        ("fiez2019_x/a", CLOSE | {"closeness": "near"}, "closeness must be one of ratio, accuracy, exponent"),
        ("fiez2019_x/a", CLOSE | {"side": "above"}, "side must be one of below, both, some; it is 'above'"),
        ("fiez2019_x/a", LARGE | {"graded": "loose"}, "graded must be one of large, small; it is 'loose'"),
        ("fiez2019_x/a", PRINTED | {"printed": 100}, "printed must be"),
        ("fiez2019_x/a", PRINTED | {"printed": {"value": 0, "error": 1}}, "the value not 0"),
        ("fiez2019_x/a", HOLDS | {"why": {"false": "x"}}, "why must explain letters"),
        ("fiez2019_x/a", HOLDS | {"parts": ["p"]}, "parts must be a mapping of names; it is ['p']"),
        ("fiez2019_x/a", HOLDS | {"parts": {"p.q": {}}}, "parts has 'p.q': it must be a name of letters and digits"),
        ("fiez2019_x/a", HOLDS | {"parts": {"p": {"quote": "x"}}}, "p: unknown fields quote"),
        ("fiez2019_x/a", HOLDS | {"readings": {"text": {"holds": [0, 1]}}}, "text: unknown fields holds"),
    ],
)
def test_what_an_entry_may_not_say(tmp_path, id, given, words):
    with pytest.raises(ValueError, match="claims.yaml has 1 faults") as refused:
        entries(tmp_path, {id: given})
    assert words in str(refused.value) and id in str(refused.value)


def test_a_sentence_needs_loser_and_winner_or_slack(tmp_path):
    for given, missing in ((HOLDS, "loser and winner"), (CLOSE | {"winner": "B"}, "loser")):
        for reading in ({}, {"readings": {"program": {}}}):
            with pytest.raises(ValueError, match=f"1 faults:\nfiez2019_x/a: {missing} missing, or slack says why"):
                of(tmp_path, without(given | reading, "slack"))
    for given in ({"loser": "A", "winner": "B"}, {"kind": "other"}):
        assert of(tmp_path, without(HOLDS | given, "slack"))
    for given in (PRINTED, FINDING, WORDS | {"untestable": "a wish"}):
        assert of(tmp_path, without(given, "slack"))


def test_a_part_may_have_readings_of_its_own(tmp_path):
    parts = {"p": {"readings": {"text": {}, "program": {}}}, "q": {}}
    found = of(tmp_path, HOLDS | {"parts": parts, "root": "u", "waits": "a run"})
    assert set(found) == {("p", "text"), ("p", "program"), ("q", "")}
    assert {(entry.root, entry.waits) for entry in found.values()} == {("u", "a run")}


def test_all_faults_are_named_at_once(tmp_path):
    bad = {"fiez2019_x/a": HOLDS | {"edge": "x", "side": "y"}, "fiez2019_x/b": HOLDS | {"kind": "x"}}
    with pytest.raises(ValueError, match="has 3 faults") as refused:
        entries(tmp_path, bad)
    assert all(f"fiez2019_x/{fault}" in str(refused.value) for fault in ("a: edge", "a: side", "b: kind"))


def test_an_id_or_a_field_that_stands_twice_is_refused(tmp_path):
    entry = "fiez2019_x/a: {place: a, measures: b}\n"
    for text in (2 * entry, entry.replace("measures", "place")):
        with pytest.raises(ValueError, match="stands twice"):
            entries(tmp_path, text)


def test_an_empty_file_has_no_entries_and_one_that_changed_is_read_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert entries(tmp_path, "") == {} == registry.find()
    entries(tmp_path, {"fiez2019_x/a": HOLDS})
    assert list(registry.find()) == ["fiez2019_x/a"]
