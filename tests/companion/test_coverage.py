"""The coverage of a paper: every line says something, and what it names exists."""

import pandas as pd
import pytest
import yaml

from bandits_companion import claims, coverage
from bandits_companion.claims import table as full

IDS = ["fiez2019_x/bound", "fiez2019_x/cell_1@sd", "fiez2019_x/cell_1@var", "fiez2019_x/cell_2"]
ERRATA = pd.DataFrame([{"paper": "fiez2019", "place": "Lemma 1"}])


@pytest.fixture
def read(tmp_path):
    def read(items, ids=IDS, paper="fiez2019"):
        (tmp_path / "coverage.yaml").write_text(yaml.safe_dump({paper: items}, sort_keys=False))
        return coverage.read(tmp_path / "coverage.yaml", ids, ERRATA)

    return read


def claim(id, low, high):
    return claims.claim(id, "fiez2019", "Figure 1", "fewer", (low + high) / 2, low, high, (0, 1))


def test_the_page_tells_claims_with_their_verdicts_errata_and_reasons(read):
    found = read(
        {
            "Theorem 1": {"claims": ["fiez2019_x/bound"], "errata": ["Lemma 1"]},
            "Figure 1": {"claims": ["fiez2019_x/cell_*"], "open": "panel c"},
            "Lemma 2": {"not testable": "a definition"},
        }
    )
    measured = [
        claim("fiez2019_x/bound", 2, 3),
        claim("fiez2019_x/cell_1@sd", 2, 3),
        claim("fiez2019_x/cell_1@var", 0, 1),
    ]
    page = coverage.page(found, full(measured))
    lines = [line for line in page.splitlines() if line.startswith("| ")]
    assert "[bound](../notebooks/fiez2019_x.ipynb): not reproduced" in lines[1] and "errata.md): Lemma 1" in lines[1]
    assert "[cell_1](../notebooks/fiez2019_x.ipynb): reproduced" in lines[2] and "open: panel c" in lines[2]
    assert "not testable: a definition" in lines[3]


def test_a_claim_that_was_not_measured_yet_is_told(read):
    found = read({"Theorem 1": {"claims": ["fiez2019_x/bound"]}})
    assert "[bound](../notebooks/fiez2019_x.ipynb): not yet measured" in coverage.page(found, full([]))


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
