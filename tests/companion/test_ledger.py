"""The ledger is what the claims say: verdicts computed, pages generated, every notebook of a paper confronted."""

from pathlib import Path

import matplotlib.pyplot as plt
import nbformat
import pandas as pd
import pytest

from bandits_companion import claims, errata, exploratory_seed, ledger, registry
from bandits_companion.claims_table import read_file

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
OF_PAPERS = [name for name in NOTEBOOKS if not name.startswith("companion_")]

MADE_UP = [
    claims.claim("fiez2019_9/a", "fiez2019", "Figure 9", "A below B", 0.5, 0.4, 0.6, (0, 1)),
    claims.claim("fiez2019_9/b", "fiez2019", "Figure 9", "B below A", 2.0, 1.5, 2.5, (0, 1), "the | other way"),
    claims.claim("fiez2019_9/c", "fiez2019", "Table 9", "A near C", 1.0, 0.5, 1.5, (0.9, 1.1)),
]


@pytest.fixture
def folder(tmp_path):
    claims.save(MADE_UP, tmp_path)
    return tmp_path / "figures" / "claims"


def test_what_was_saved_is_read(folder):
    read = ledger.read(folder)
    assert read["id"].tolist() == [c.entry.id for c in MADE_UP]
    assert read["verdict"].tolist() == ["reproduced", "not reproduced", "undecided"]
    assert ledger.totals(read).loc["all"].tolist() == [1, 0, 0, 1, 1, 3]


def test_a_typed_verdict_is_refused(folder):
    file = folder / "fiez2019_9.csv"
    file.write_text(file.read_text().replace("not reproduced", "reproduced"))
    with pytest.raises(ValueError, match="fiez2019_9/b says 'reproduced', but its numbers say 'not reproduced'"):
        ledger.read(folder)


def test_an_id_used_twice_and_an_empty_folder_are_refused(folder, tmp_path):
    (folder / "fiez2019_99.csv").write_text((folder / "fiez2019_9.csv").read_text())
    with pytest.raises(ValueError, match="used twice"):
        ledger.read(folder)
    with pytest.raises(ValueError, match="no claims"):
        ledger.read(tmp_path)


def test_pages_show_every_claim_and_explain_the_failures(folder, tmp_path):
    (tmp_path / "README.md").write_text("# x\n<!-- totals -->\nstale\n<!-- end totals -->\ny\n")
    ledger.save(ledger.read(folder), tmp_path)
    page, readme = (tmp_path / "figures/ledger.md").read_text(), (tmp_path / "README.md").read_text()
    for c in MADE_UP:
        assert c.entry.reading in page
    assert r"the \| other way" in page and "stale" not in readme and readme.startswith("# x\n")
    assert ledger.totals_block(ledger.read(folder)) in page and ledger.totals_block(ledger.read(folder)) in readme
    again = ledger.fill_readme(readme, ledger.read(folder))
    assert again == readme, "filling twice changes nothing"
    with pytest.raises(ValueError, match="no place <!-- totals -->"):
        ledger.fill_readme("# x\n", ledger.read(folder))


def test_the_picture_has_one_mark_per_claim(folder):
    fig, axes = plt.subplots(1, 1, squeeze=False)
    ledger.verdicts(axes[0], ledger.read(folder))
    assert sum(len(marks.get_offsets()) for marks in axes[0, 0].collections) == len(MADE_UP)
    plt.close(fig)


# --- what is committed


@pytest.mark.parametrize("name", OF_PAPERS)
def test_every_notebook_of_a_paper_has_claims(name):
    assert len(pd.read_csv(ROOT / "figures" / "claims" / f"{name}.csv"))


@pytest.mark.parametrize("name", OF_PAPERS)
def test_no_notebook_types_a_verdict(name):
    """Claims are made by `claims.claim` and saved by `claims.save`, the only places where a verdict can come from."""
    cells = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4).cells
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    assert "claims.save(" in code
    assert "verdict=" not in code.replace(" ", "") and '"not reproduced"' not in code and "Claim(" not in code


def test_the_committed_ledger_is_of_the_committed_claims():
    merged = ledger.read(ROOT / "figures" / "claims")
    committed = read_file(ROOT / "figures" / "claims.csv")
    pd.testing.assert_frame_equal(committed, merged)
    assert set(merged["id"].str.partition("/")[0]) == set(OF_PAPERS)


def test_the_committed_page_of_the_ledger_is_generated():
    merged, figures = ledger.read(ROOT / "figures" / "claims"), ROOT / "figures"
    earlier = exploratory_seed.words(merged, exploratory_seed.before(figures / "explored", figures))
    assert (figures / "ledger.md").read_text(encoding="utf-8") == ledger.page(merged, earlier)


def stale(saved, entries):
    """What the claims of a notebook and its entries in claims.yaml say differently."""
    rows = {row["id"]: row for row in saved.to_dict("records")}
    found = sorted(set(rows) ^ set(entries))
    for id in set(rows) & set(entries):
        entry, row = entries[id], rows[id]
        said = (entry.place, entry.quote, entry.reading, entry.whose, entry.edge, entry.rule.closeness, entry.rule.side)
        limits = () if entry.whose == "ours" else (entry.rule.low, entry.rule.high)
        names = ("place", "quote", "statement", "whose", "edge", "closeness", "side", "holds_low", "holds_high")
        if tuple(row[name] for name in names)[: len(said) + len(limits)] != (*said, *limits):
            found.append(id)
    return found


@pytest.mark.parametrize("name", OF_PAPERS)
def test_what_was_saved_is_what_claims_yaml_says(name):
    """No id in one of the two alone, and no word or threshold changed since the notebook was run."""
    entries = registry.of_notebook(registry.read(ROOT / "notebooks" / "claims.yaml"), name)
    assert not stale(read_file(ROOT / "figures" / "claims" / f"{name}.csv"), entries)


def test_a_word_that_changed_is_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "fiez2019_9/a: {place: Figure 9, quote: fewer, reading: ratio, holds: [0, 1], edge: words, whose: paper}"
    (tmp_path / "claims.yaml").write_text(text)
    claims.save([claims.measured("fiez2019_9/a", 0.5, 0.4, 0.6)], tmp_path)
    saved = read_file(tmp_path / "figures" / "claims" / "fiez2019_9.csv")
    assert not stale(saved, registry.read(tmp_path / "claims.yaml"))
    for old, new in (("fewer", "more"), ("[0, 1]", "[1, .inf]"), ("_9/a", "_9/b")):
        (tmp_path / "claims.yaml").write_text(text.replace(old, new))
        assert stale(saved, registry.read(tmp_path / "claims.yaml"))


def test_the_readme_shows_what_claims_csv_generates():
    merged, readme = ledger.read(ROOT / "figures" / "claims"), (ROOT / "README.md").read_text(encoding="utf-8")
    assert ledger.fill_readme(readme, merged) == readme, "run the notebook companion_ledger with out='..'"


# --- errata


def test_every_erratum_has_a_proof_or_a_run_that_exists():
    found = errata.read(ROOT / "notebooks" / "errata.yaml")
    assert set(found["paper"]) <= set(registry.PAPERS) and len(found)
    assert ((found["proof"] != "") | (found["run"] != "")).all()
    assert set(found["run"]) - {""} <= set(NOTEBOOKS)


def test_the_committed_errata_page_is_generated():
    page = (ROOT / "figures" / "errata.md").read_text(encoding="utf-8")
    assert page == errata.page(errata.read(ROOT / "notebooks" / "errata.yaml"))


def test_an_erratum_without_evidence_is_refused(tmp_path):
    file = tmp_path / "errata.yaml"
    file.write_text("- {paper: fiez2019, place: x, printed: a, correct: b}\n")
    with pytest.raises(ValueError, match="proof or run"):
        errata.read(file)
