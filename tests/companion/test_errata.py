"""Errata: kinds, quotations and paraphrases, counts, and what is refused."""

import pytest
import yaml

from bandits_companion import errata

NEW = {"paper": "fiez2019", "kind": "error", "place": "Lemma 1", "quote": "a b", "correct": "c", "proof": "d"}


@pytest.fixture
def written(tmp_path):
    def write(*entries):
        (tmp_path / "errata.yaml").write_text(yaml.safe_dump(list(entries)))
        return errata.read(tmp_path / "errata.yaml")

    return write


def test_the_page_is_sorted_by_paper_and_kind(written):
    kinds = ("remark", "misprint", "gap in a proof", "error")
    page = errata.page(written(*(NEW | {"kind": kind, "place": f"at {kind}"} for kind in kinds)))
    titles = [line for line in page.splitlines() if line.startswith("#")]
    assert [title.partition(":")[0] for title in titles] == [
        "# Errata",
        "## fiez2019",
        "### Errors",
        "### Gaps in proofs",
        "### Misprints",
        "### Remarks",
    ]
    assert page.index("at error") < page.index("at gap") < page.index("at misprint") < page.index("at remark")


def test_papers_stand_in_their_order_whatever_that_of_the_file_is(written):
    page = errata.page(written(NEW | {"paper": "weltz2023"}, NEW | {"paper": "jedra2020"}, NEW))
    assert page.index("## fiez2019") < page.index("## jedra2020") < page.index("## weltz2023")


def test_the_page_begins_with_a_count_of_each_kind(written):
    found = written(NEW, NEW | {"kind": "remark"}, NEW | {"kind": "remark", "paper": "jedra2020"})
    assert errata.counts(found).loc["all"].tolist() == [1, 0, 0, 2]
    lines = [line.split() for line in errata.page(found).splitlines() if line.startswith("| ")]
    assert lines[1][1::2] == ["fiez2019", "1", "0", "0", "1"] and lines[-1][1::2] == ["all", "1", "0", "0", "2"]


def test_the_papers_own_words_are_in_quotation_marks_and_ours_are_not(written):
    several = NEW | {"quote": ["a b", r"\geq 1"]}
    ours = {key: value for key, value in NEW.items() if key != "quote"} | {"paraphrase": "as we say"}
    found = written(NEW, several, ours)
    page = errata.page(found)
    assert "“a b”" in page and r"“a b”; “$\geq 1$”" in page and "(in our words) as we say" in page
    assert errata.quotes(found) == [
        ("fiez2019", "Lemma 1", "a b"),
        ("fiez2019", "Lemma 1", "a b"),
        ("fiez2019", "Lemma 1", r"\geq 1"),
    ]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "mistake"}, "kind must be one of error, gap in a proof, misprint, remark; it is 'mistake'"),
        ({"kind": ""}, "kind must be one of"),
        ({"paraphrase": "x"}, "one of quote and paraphrase; it has quote, paraphrase"),
        ({"quote": ""}, "it has neither"),
        ({"printed": "x"}, "unknown printed"),
        ({"paper": "toy2020"}, "paper is 'toy2020'"),
        ({"colour": "red"}, "unknown colour"),
    ],
)
def test_what_an_erratum_may_not_say(written, change, words):
    with pytest.raises(ValueError, match="an erratum needs") as refused:
        written(NEW | change)
    assert words in str(refused.value)


def test_an_erratum_needs_evidence_and_a_correction(written):
    for lacking in ("proof", "correct", "place"):
        with pytest.raises(ValueError, match="proof or run|no correct|no place"):
            written({key: value for key, value in NEW.items() if key != lacking})
