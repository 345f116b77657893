"""What stands in quotation marks stands in the paper, and every numbered item of a paper has a line in the coverage."""

import hashlib
from pathlib import Path

import pytest
import reading_copies as copies

from bandits_companion import coverage as coverage_page
from bandits_companion import errata, ledger, registry
from bandits_companion.claims_table import read as read_claims
from bandits_companion.registry import PAPERS

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = ROOT / "notebooks"
each_paper = pytest.mark.parametrize("paper", PAPERS)


def text_of(paper):
    text = copies.paper_text(paper)
    if text is None:
        pytest.skip(copies.NONE)
    return text


@each_paper
def test_every_quote_of_a_claim_stands_in_its_paper(paper):
    entries, text = registry.find(), text_of(paper)
    ours = [entry for entry in entries.values() if entry.paper == paper and entry.quote]
    assert not [f"{entry.id}: {entry.quote}" for entry in ours if not copies.stands_in(entry.quote, text)]
    whole = [entry for entry in ours if entry.whole]
    assert not [f"{entry.id}: {entry.whole}" for entry in whole if not copies.stands_in(entry.whole, text)]
    assert not [f"{entry.id}: {entry.quote}" for entry in whole if not copies.stands_in(entry.quote, entry.whole)]


@each_paper
def test_the_text_is_the_one_whose_hash_the_ledger_names(paper):
    assert hashlib.sha256(text_of(paper).encode()).hexdigest() == registry.COPIES[paper]


@each_paper
def test_every_quote_of_an_erratum_stands_in_its_paper(paper):
    text = text_of(paper)
    quotes = errata.quotes(errata.read(NOTEBOOKS / "errata.yaml"))
    assert not [said for said in quotes if said[0] == paper and not copies.stands_in(said[2], text)]


@pytest.mark.slow
@each_paper
def test_every_numbered_item_of_a_paper_has_a_line(paper):
    found = coverage()
    lines = found.loc[found["paper"] == paper, "item"].tolist()
    missing = [f"{item} ({times} times)" for item, times in copies.numbered_items(text_of(paper)).items()
               if sum(names(line, item) for line in lines) < times]  # fmt: skip
    assert not missing


def names(line, item):
    """Whether a line of the coverage is about an item: its name, perhaps with a panel (Figure 1a) or words after it."""
    rest = line.removeprefix(item)
    return rest != line and (not rest[:1].isalnum() or rest[:2].rstrip(" ,").isalpha()) and not rest.startswith(".")


def coverage():
    ids = [*registry.find(), *read_claims(ROOT / "figures" / "claims")["id"]]
    return coverage_page.read(NOTEBOOKS / "coverage.yaml", ids, errata.read(NOTEBOOKS / "errata.yaml"))


def test_every_tested_sentence_and_every_erratum_has_a_line_in_the_coverage():
    found, known = coverage(), errata.read(NOTEBOOKS / "errata.yaml")
    judged = ledger.sentences(read_claims(ROOT / "figures" / "claims"))
    tested = judged.index[(judged[["text", "program"]] != "not tested").any(axis=1)]
    lines = {id for wanted in found["claims"].sum() for id in coverage_page.matching(wanted, tested)}
    assert sorted(set(tested) - lines) == []
    places = {(paper, place) for paper, listed in zip(found["paper"], found["errata"], strict=True) for place in listed}
    assert sorted({*zip(known["paper"], known["place"], strict=True)} - places) == []


@pytest.mark.slow
def test_the_committed_page_of_the_coverage_is_generated():
    page = (ROOT / "figures" / "coverage.md").read_text(encoding="utf-8")
    assert page == coverage_page.page(coverage(), read_claims(ROOT / "figures" / "claims"))


# --- the looking up itself

TEXT = """The **RAGE** algorithm is com-
petitive with the oracle, and state-of-the-
art rules with $\\theta^*_1 \\geq 0$ “do not”.

**Lemma 1.** *Let* x be.
Lemma 1 says so. **Lemma 1.** inside a line does not count.
Figure 2: A picture of Experiment 3.
### Theorem 4.1 (with a name)
Table 1
"""


@pytest.mark.parametrize(
    "quote",
    [
        "The RAGE algorithm is competitive",
        "is competitive with\n  the oracle",
        "state-of-the-art rules",
        'with $\\theta^*_1 \\geq 0$ "do not"',
        "RAGE ... with the oracle",
        "The RAGE [...] is competitive",
        "Let x be",
    ],
)
def test_a_quote_is_found_across_lines_hyphens_and_emphasis(quote):
    assert copies.stands_in(quote, TEXT)


@pytest.mark.parametrize(
    "quote", ["The rage algorithm", "is not competitive", "oracle ... RAGE", "", "$\\theta_2 \\geq 0$"]
)
def test_other_words_are_not_found(quote):
    assert not copies.stands_in(quote, TEXT)


def test_items_are_counted_where_they_are_stated():
    assert copies.numbered_items(TEXT) == {
        "Lemma 1": 1,
        "Figure 2": 1,
        "Experiment 3": 1,
        "Theorem 4.1": 1,
        "Table 1": 1,
    }
    assert copies.numbered_items("**Lemma 1.** a\n\n**Lemma 1.** b")["Lemma 1"] == 2


@pytest.mark.parametrize(
    ("line", "item", "expected"),
    [
        ("Lemma 1", "Lemma 1", True),
        ("Lemma 1, appendix B", "Lemma 1", True),
        ("Lemma 12", "Lemma 1", False),
        ("Figure 1a", "Figure 1", True),
        ("Theorem 4.1", "Theorem 4", False),
        ("Theorem 3", "Lemma 3", False),
    ],
)
def test_a_line_names_an_item(line, item, expected):
    assert names(line, item) == expected
