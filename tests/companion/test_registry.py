"""claims.yaml: what an entry may say, what is refused and in which words, and what notebooks must measure."""

from math import inf

import pytest
import yaml

from bandits_companion import claims, ledger, registry
from bandits_companion.claims_table import sentences
from bandits_lib.simulate.intervals import Interval, worst_of

WORDS = {"place": "Figure 1a", "quote": "is below", "reading": "pulls of A over B", "whose": "paper"}
HOLDS = WORDS | {"holds": [0, 1], "edge": "words"}
CLOSE = WORDS | {"closeness": "ratio", "edge": "grade"}
PRINTED = WORDS | {"printed": {"value": 100, "error": 10}, "edge": "paper"}
FINDING = {"place": "Figure 1a", "reading": "pulls of A over B", "whose": "ours"}


def entries(folder, content):
    (folder / "claims.yaml").write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return registry.read(folder / "claims.yaml")


def test_every_kind_of_entry_is_read(tmp_path):
    kinds = {
        "holds": HOLDS | {"margin": "ratio"},
        "close": CLOSE | {"side": "both"},
        "printed": PRINTED,
        "ours": FINDING,
    }
    kinds |= {
        "wide": HOLDS | {"holds": [1, inf], "why": {"not reproduced": "because"}},
        "code": HOLDS | {"whose": "code"},
    }
    kinds |= {"even": HOLDS | {"holds": [0, inf], "margin": {"accuracy": 0.05}}}
    found = entries(tmp_path, {f"fiez2019_x/{name}": entry for name, entry in kinds.items()})
    rules = {id.partition("/")[2]: entry.rule for id, entry in found.items()}
    assert rules["holds"][:2] == (0, 1)
    assert rules["holds"][-2:] == (1 / 1.1, 1.1) and rules["even"][-2:] == (-0.05, 0.05)
    assert rules["close"][:4] == (0.5, 2.0, "ratio", "both") and rules["wide"][:2] == (1, inf)
    assert rules["printed"].printed == 100 and rules["printed"].half == pytest.approx(19.6, abs=0.01)
    assert found["fiez2019_x/wide"].why == {"not reproduced": "because"} and found["fiez2019_x/ours"].quote == ""
    assert {entry.paper for entry in found.values()} == {"fiez2019"}


def test_a_printed_error_of_few_runs_and_of_many_cells_counts_for_more(tmp_path):
    few = PRINTED | {"printed": {"value": 100, "error": 10, "runs": 20, "cells": 16}}
    (found,) = entries(tmp_path, {"fiez2019_x/a": few}).values()
    assert found.rule.half == pytest.approx(10 * 3.4, rel=0.02), "Student's 19 degrees of freedom at .05 / 16"


@pytest.mark.parametrize(
    ("id", "given", "words"),
    [
        ("fiez2019_x", HOLDS, "an id is"),
        ("toy2020_x/a", HOLDS, "an id is"),
        ("fiez2019_x/a b", HOLDS, "an id is"),
        ("fiez2019_x/a", "words", "a mapping of fields"),
        ("fiez2019_x/a", HOLDS | {"holds for": 1}, "unknown fields holds for"),
        ("fiez2019_x/a", HOLDS | {"whose": "theirs"}, "whose must be one of paper, code, ours; it is 'theirs'"),
        ("fiez2019_x/a", {k: v for k, v in HOLDS.items() if k != "quote"}, "quote missing"),
        ("fiez2019_x/a", {k: v for k, v in HOLDS.items() if k != "edge"}, "edge missing"),
        ("fiez2019_x/a", {k: v for k, v in FINDING.items() if k != "reading"}, "reading missing"),
        ("fiez2019_x/a", HOLDS | {"quote": 5}, "quote must be text"),
        ("fiez2019_x/a", WORDS | {"edge": "words"}, "one of holds, closeness and printed is needed; there are 0"),
        ("fiez2019_x/a", HOLDS | CLOSE, "one of holds, closeness and printed is needed; there are 2"),
        ("fiez2019_x/a", HOLDS | {"edge": "taste"}, "edge must be one of"),
        ("fiez2019_x/a", HOLDS | {"holds": [1, 0]}, "holds must be"),
        ("fiez2019_x/a", HOLDS | {"holds": 1}, "holds must be"),
        ("fiez2019_x/a", HOLDS | {"holds": [0, "1"]}, "holds must be"),
        ("fiez2019_x/a", HOLDS | {"holds": [0, 2]}, "words have the edge 0 or 1"),
        ("fiez2019_x/a", HOLDS | {"margin": "pulls"}, "margin must be one of"),
        ("fiez2019_x/a", HOLDS | {"margin": {"ratio": 2.0}}, "margin must be one of"),
        ("fiez2019_x/a", HOLDS | {"holds": [0, 2], "edge": "paper", "margin": "ratio"}, "lies about 1"),
        ("fiez2019_x/a", CLOSE | {"margin": "ratio"}, "a margin belongs to holds"),
        ("fiez2019_x/a", CLOSE | {"closeness": "near"}, "closeness must be one of ratio, accuracy, exponent"),
        ("fiez2019_x/a", CLOSE | {"edge": "words"}, "with edge: grade"),
        ("fiez2019_x/a", CLOSE | {"side": "above"}, "side must be below or both"),
        ("fiez2019_x/a", HOLDS | {"side": "both"}, "side must be below or both"),
        ("fiez2019_x/a", PRINTED | {"printed": 100}, "printed must be"),
        ("fiez2019_x/a", PRINTED | {"printed": {"value": 100}}, "printed must be"),
        ("fiez2019_x/a", PRINTED | {"printed": {"value": 0, "error": 1}}, "a value other than 0"),
        ("fiez2019_x/a", PRINTED | {"edge": "words"}, "a printed number has edge: paper"),
        ("fiez2019_x/a", FINDING | {"holds": [0, 1]}, "a finding of ours has no verdict, and so no holds"),
        ("fiez2019_x/a", HOLDS | {"why": {"false": "x"}}, "why must explain verdicts"),
        ("fiez2019_x/a", HOLDS | {"why": "because"}, "why must explain verdicts"),
    ],
)
def test_what_an_entry_may_not_say(tmp_path, id, given, words):
    with pytest.raises(ValueError, match="claims.yaml has") as refused:
        entries(tmp_path, {id: given})
    assert words in str(refused.value) and id in str(refused.value)


def test_all_faults_are_named_at_once(tmp_path):
    with pytest.raises(ValueError, match="has 2 faults") as refused:
        entries(tmp_path, {"fiez2019_x/a": HOLDS | {"edge": "x"}, "fiez2019_x/b": HOLDS | {"whose": "x"}})
    assert "fiez2019_x/a: edge" in str(refused.value) and "fiez2019_x/b: whose" in str(refused.value)


def test_an_id_or_a_field_that_stands_twice_is_refused(tmp_path):
    entry = "fiez2019_x/a: {place: a, reading: b, whose: ours}\n"
    for text in (2 * entry, entry.replace("reading", "place")):
        with pytest.raises(ValueError, match="stands twice"):
            entries(tmp_path, text)


def test_readings_that_contradict_each_other_are_refused(tmp_path):
    with pytest.raises(ValueError, match="stands with readings and without"):
        entries(tmp_path, {"fiez2019_x/a": HOLDS, "fiez2019_x/a@sd": HOLDS})
    with pytest.raises(ValueError, match="a sentence has one author"):
        entries(tmp_path, {"fiez2019_x/a@variance": HOLDS, "fiez2019_x/a@sd": HOLDS | {"whose": "code"}})


# --- measured


@pytest.fixture
def written(tmp_path, monkeypatch):
    """A folder, at which we are, with a claims.yaml of one notebook."""
    content = {"fiez2019_x/below": HOLDS | {"margin": "ratio"}, "fiez2019_x/linear@sd_.09": CLOSE}
    content |= {"fiez2019_x/linear@var": CLOSE | {"why": {"not reproduced": "because"}}, "fiez2019_x/cell": PRINTED}
    content |= {"fiez2019_x/found": FINDING, "fiez2019_x/code": HOLDS | {"whose": "code"}}
    entries(tmp_path, content)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def all_measured():
    yield claims.measured("fiez2019_x/below", 1.0, 0.95, 1.05)
    yield claims.measured("fiez2019_x/linear@sd_.09", 1.0, 0.9, 1.2)
    yield claims.measured("fiez2019_x/linear@var", 2.5, 2.2, 2.9)
    yield claims.measured("fiez2019_x/cell", 120, 110, 130)
    yield claims.measured("fiez2019_x/found", 7, 7, 7)
    yield claims.measured("fiez2019_x/code", 2.0, 1.5, 3.0)


def test_everything_but_the_number_is_from_the_file(written):
    found = {c.entry.id.partition("/")[2]: c for c in all_measured()}
    assert {name: c.verdict for name, c in found.items()} == {
        "below": "no difference above the margin",
        "linear@sd_.09": "reproduced",
        "linear@var": "not reproduced",
        "cell": "compatible",
        "found": "finding",
        "code": "not reproduced",
    }
    assert found["linear@var"].explanation == "because" and found["linear@sd_.09"].explanation == ""
    assert found["below"].entry.place == "Figure 1a" and found["below"].entry.quote == "is below"


def test_what_is_not_in_the_file_and_what_is_no_interval_is_refused(written):
    with pytest.raises(
        ValueError, match="claims.yaml has no fiez2019_x/other; of this notebook it has fiez2019_x/below"
    ):
        claims.measured("fiez2019_x/other", 1, 1, 1)
    with pytest.raises(ValueError, match="needs estimate, low and high; got 0.5"):
        claims.measured("fiez2019_x/below", 0.5)
    with pytest.raises(ValueError, match="needs low <= estimate <= high"):
        claims.measured("fiez2019_x/below", 0.5, 0.6, 0.7)
    with pytest.raises(ValueError, match="needs low <= estimate <= high"):
        claims.measured("fiez2019_x/below", float("nan"), 0.6, 0.7)


def test_an_interval_brings_its_settings(written):
    """.9 [.85, .95] is decided, .5 [.1, 1.2] needs twice the runs; 0.9 [.85, 1.2] as one would need nine times."""
    settings = [Interval(0.9, 0.85, 0.95), Interval(0.5, 0.1, 1.2)]
    assert claims.measured("fiez2019_x/code", worst_of(settings)).more == 2
    assert claims.measured("fiez2019_x/code", *worst_of(settings)).more == 9
    assert claims.measured("fiez2019_x/code", (0.9, 0.7, 1.1)).more == 4


def test_a_statement_that_fails_in_one_setting_is_decided_by_that_one(written):
    """1.1 [.98, 1.22] needs twice the runs to lie above 1; .99 [.5, 1.5] would need 2,500 times and may be left."""
    settings = [Interval(1.1, 0.98, 1.22), Interval(0.99, 0.5, 1.5)]
    assert claims.measured("fiez2019_x/code", worst_of(settings)).more == 2


def test_the_error_of_a_printed_number_is_the_larger_of_two(written):
    assert claims.measured("fiez2019_x/cell", 130, 129, 131).verdict == "not reproduced"
    assert claims.measured("fiez2019_x/cell", 130, 129, 131, printed_error=20).verdict == "compatible"
    assert claims.measured("fiez2019_x/cell", 130, 129, 131, printed_error=1).verdict == "not reproduced"


def test_a_notebook_measures_what_the_file_has_and_nothing_else(written):
    shown = claims.save(list(all_measured()), ".")
    assert shown["verdict"].tolist() == [
        "no difference above the margin (1.1)",
        "reproduced (within 1.25)",
        "not reproduced (within 3)",
        "compatible (detects 22 %)",
        "finding",
        "not reproduced",
    ]
    with pytest.raises(ValueError, match="has what was not measured: fiez2019_x/code"):
        claims.save(list(all_measured())[:-1], ".")
    claims.save(list(all_measured())[:-1], ".", left_out=["fiez2019_x/code"])
    with pytest.raises(ValueError, match="measured and left out: fiez2019_x/code"):
        claims.save(list(all_measured()), ".", left_out=["fiez2019_x/code"])
    with pytest.raises(ValueError, match="claims.yaml lacks fiez2019_x/unknown"):
        claims.save(list(all_measured()), ".", left_out=["fiez2019_x/unknown"])
    old = claims.claim("fiez2019_x/old", "fiez2019", "Figure 1a", "fewer", 0.5, 0.4, 0.6, (0, 1))
    with pytest.raises(ValueError, match="claims.yaml lacks fiez2019_x/old"):
        claims.save([*all_measured(), old], ".")


# --- the ledger


def test_the_ledger_reads_claims_with_and_without_entries_and_computes_every_verdict_again(written):
    claims.save(list(all_measured()), ".")
    without = claims.claim("azizi2022_y/old", "azizi2022", "Figure 1", "fewer", 0.5, 0.4, 0.6, (0, 1), "why")
    assert claims.save([without], ".").to_numpy().tolist() == [["", "fewer", "0.5 [0.4, 0.6]", "0 to 1", "reproduced"]]
    read = ledger.read("figures/claims")
    assert read["id"].tolist()[-1] == "azizi2022_y/old" and read["reach"].tolist()[-1] == "at most 0.6"
    file = written / "figures" / "claims" / "fiez2019_x.csv"
    text = file.read_text()
    for right, wrong, words in (
        ("finding", "reproduced", "its numbers say 'finding'"),
        ("compatible", "reproduced", "its numbers say 'compatible'"),
        (",reproduced,1.25,", ",reproduced,1.1000000000000001,", "says grade 1.1, but its numbers say 1.25"),
    ):
        assert right in text
        file.write_text(text.replace(right, wrong))
        with pytest.raises(ValueError, match=words):
            ledger.read("figures/claims")


def test_a_sentence_falls_only_under_every_reading_and_only_the_papers_count(written):
    claims.save(list(all_measured()), ".")
    read = ledger.read("figures/claims")
    found = sentences(read)
    assert found["verdict"].to_dict() == {
        "fiez2019_x/below": "no difference above the margin",
        "fiez2019_x/linear": "reproduced",
        "fiez2019_x/cell": "compatible",
    }
    assert found.loc["fiez2019_x/linear", ["readings", "under"]].tolist() == [2, "sd .09"]
    assert ledger.totals(read).loc["fiez2019"].tolist() == [1, 1, 1, 0, 0, 3]
    fallen = [*all_measured()]
    fallen[1] = claims.measured("fiez2019_x/linear@sd_.09", 2.5, 2.2, 2.9)
    claims.save(fallen, ".")
    read = ledger.read("figures/claims")
    assert sentences(read).loc["fiez2019_x/linear", "verdict"] == "not reproduced"
    assert ledger.of_verdict(read, "not reproduced")["id"].tolist() == [
        "fiez2019_x/linear@sd_.09",
        "fiez2019_x/linear@var",
    ]
    fallen[1] = claims.measured("fiez2019_x/linear@sd_.09", 2.0, 1.8, 2.2)
    claims.save(fallen, ".")
    assert sentences(ledger.read("figures/claims")).loc["fiez2019_x/linear", "verdict"] == "undecided"


def test_pages_have_the_papers_words_and_tables_of_their_own_for_the_rest(written):
    claims.save(list(all_measured()), ".")
    read = ledger.read("figures/claims")
    page = ledger.page(read)
    assert "“is below”: pulls of A over B" in page and "not reproduced (within 3) under this reading" in page
    assert "the sentence stands under: sd .09" in page
    papers, _, others = page.partition("## Visible only in the published code")
    assert "| finding" not in papers and "2 [1.5, 3]" in others and "7 [7, 7]" in others.partition("## Findings")[2]
    assert "printed 100 ± 19.6 (paper)" in papers and "0 to 1 (words)" in papers
