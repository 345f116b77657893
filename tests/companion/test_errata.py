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


def test_the_page_is_sorted_by_paper_and_kind_and_begins_with_counts(written):
    kinds = [NEW | {"kind": kind, "place": f"at {kind}"} for kind in ("remark", "misprint", "gap", "error")]
    found = written(NEW | {"paper": "weltz2023"}, NEW | {"paper": "jedra2020"}, *kinds)
    page = errata.page(found)
    titles = [line.partition(":")[0].lstrip("# ") for line in page.splitlines() if line.startswith("#")]
    kinds_of_fiez = ["Errors", "Gaps", "Misprints", "Remarks"]
    assert titles == ["Errata", "fiez2019", *kinds_of_fiez, "jedra2020", "Errors", "weltz2023", "Errors"]
    assert page.index("at error") < page.index("at gap") < page.index("at misprint") < page.index("at remark")
    assert errata.counts(found).loc["all"].tolist() == [3, 1, 1, 1]
    lines = [line.split() for line in page.splitlines() if line.startswith("| ")]
    assert lines[1][1::2] == ["fiez2019", "1", "1", "1", "1"] and lines[-1][1::2] == ["all", "3", "1", "1", "1"]


def test_the_papers_own_words_are_in_quotation_marks_and_ours_are_not(written):
    several = NEW | {"quote": ["a b", r"\geq 1"]}
    ours = {key: value for key, value in NEW.items() if key != "quote"} | {"paraphrase": "as we say"}
    found = written(NEW, several, ours)
    page = errata.page(found)
    assert "“a b”" in page and r"“a b”; “$\geq 1$”" in page and "(in our words) as we say" in page
    assert [words for *_, words in errata.quotes(found)] == ["a b", "a b", r"\geq 1"]


def test_collected_misprints_stand_beside_their_corrections(written):
    page = errata.page(written(NEW | {"quote": ["a b", "x"], "correct": ["in section 1 c", "y"]}))
    assert "- “a b”: in section 1 c.\n- “x”: y.\n- *Why:* d." in page and "*Printed:*" not in page


def test_a_long_proof_is_folded_and_keeps_its_paragraphs(written):
    run = "\n- Run: [demo](../notebooks/demo.ipynb)."
    for words, folded in ((errata.LONG, False), (errata.LONG + 1, True)):
        proof = "\n".join(["first part", " ".join(["word"] * (words - 2))])
        page = errata.page(written(NEW | {"proof": proof, "run": "demo"}))
        assert ("</summary>\n\nfirst part.\n\nword" in page) == (run in page) == ("</details>" in page) == folded


def test_an_entry_that_only_has_a_run_gives_no_reason(written):
    page = errata.page(written({key: value for key, value in NEW.items() if key != "proof"} | {"run": "demo"}))
    assert "\n- Run: [demo](../notebooks/demo.ipynb)." in page and "*Why:*" not in page


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "mistake"}, "kind must be one of error, gap, misprint, remark; it is 'mistake'"),
        ({"paraphrase": "x"}, "one of quote and paraphrase; it has quote, paraphrase"),
        ({"correct": ["c", "d"]}, "one for each quote"),
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
