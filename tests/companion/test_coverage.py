"""The coverage of a paper: every line says something, and what it names exists."""

import pandas as pd
import pytest
import yaml
from made_up import claim

from bandits_companion import coverage
from bandits_companion.claims import table

IDS = ["fiez2019_x/bound", "fiez2019_x/cell_1.p@sd", "fiez2019_x/cell_1@var", "fiez2019_x/cell_2"]
ERRATA = pd.DataFrame([{"paper": "fiez2019", "place": "Lemma 1"}])


@pytest.fixture
def read(tmp_path):
    def read(items, ids=IDS, paper="fiez2019"):
        (tmp_path / "coverage.yaml").write_text(yaml.safe_dump({paper: items}, sort_keys=False))
        return coverage.read(tmp_path / "coverage.yaml", ids, ERRATA)

    return read


def test_the_page_tells_each_sentence_once_with_its_words_errata_and_reasons(read):
    found = read(
        {
            "Theorem 1": {"claims": ["fiez2019_x/bound"], "errata": ["Lemma 1"]},
            "Figure 1": {"claims": ["fiez2019_x/cell_*"], "open": "panel c"},
            "Lemma 2": {"not testable": "a definition"},
        }
    )
    measured = [claim("fiez2019_x/bound", 2.0), claim("fiez2019_x/cell_1.p@program", 0.5, kind="program")]
    measured += [claim("fiez2019_x/cell_1.p@text", 2.0), claim("fiez2019_x/cell_1.q@text", 0.5)]
    measured += [claim("fiez2019_x/cell_2", 2.0, quote="", kind="other")]
    lines = [line for line in coverage.page(found, table(measured)).splitlines() if line.startswith("| ")]
    assert (
        "[bound](ledger/fiez2019.md#fiez2019-x-bound): falls by the text" in lines[1]
        and "errata.md): Lemma 1" in lines[1]
    )
    assert (
        "[cell_1](ledger/fiez2019.md#fiez2019-x-cell_1): partly by the text, holds in the published program" in lines[2]
    )
    assert "[cell_2](ledger/fiez2019.md#fiez2019-x-cell_2): finding" in lines[2] and "open: panel c" in lines[2]
    assert "not testable: a definition" in lines[3] and lines[2].count("[cell_1]") == 1


def test_sentences_with_the_same_words_stand_together(read):
    found = read({"Figure 1": {"claims": ["fiez2019_x/cell_*"]}})
    page = coverage.page(found, table([claim(f"fiez2019_x/cell_{number}", 2.0) for number in (1, 2)]))
    links = ", ".join(f"[cell_{number}](ledger/fiez2019.md#fiez2019-x-cell_{number})" for number in (1, 2))
    assert f"{links}: falls by the text |" in page


def test_a_claim_that_was_not_measured_yet_is_told(read):
    found = read({"Theorem 1": {"claims": ["fiez2019_x/bound"]}})
    assert "[bound](ledger/fiez2019.md#fiez2019-x-bound): not yet measured" in coverage.page(found, table([]))
    found = read({"Theorem 1": {"claims": ["fiez2019_x/cell_*"]}})
    assert "| cell_*: not yet measured |" in coverage.page(found, table([])).replace("\\", "")


@pytest.mark.parametrize("wanted", ["fiez2019_x/cell_1", "fiez2019_x/cell_1.p@sd", "fiez2019_x/cell_1@*", "*/cell_1"])
def test_a_sentence_is_named_by_its_id_a_part_a_reading_or_a_pattern(wanted):
    assert coverage.matching(wanted, IDS) == ["fiez2019_x/cell_1"]


@pytest.mark.parametrize(
    ("items", "words"),
    [
        ({"Theorem 1": {"claims": ["fiez2019_x/other"]}}, "Theorem 1: no claim fiez2019_x/other"),
        ({"Theorem 1": {"claims": ["fiez2019_x/c*x"]}}, "no claim fiez2019_x/c*x"),
        ({"Theorem 1": {"errata": ["Lemma 9"]}}, "no erratum at 'Lemma 9'"),
        ({"Theorem 1": {}}, "Theorem 1: one of claims, errata, not testable, open is needed"),
        ({"Theorem 1": None}, "is needed"),
        ({"Theorem 1": {"open": "x", "why": "y"}}, "unknown why"),
    ],
)
def test_what_says_nothing_or_names_what_is_not_there_is_refused(read, items, words):
    with pytest.raises(ValueError, match="coverage.yaml has 1 faults") as refused:
        read(items)
    assert words in str(refused.value)


def test_an_unknown_paper_is_refused(read):
    with pytest.raises(ValueError, match="unknown paper toy2020"):
        read({"Theorem 1": {"open": "x"}}, paper="toy2020")
