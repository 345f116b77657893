"""The ledger is what the claims say: pages and boxes generated, every notebook of a paper confronted."""

import re
from functools import cache
from math import inf
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from made_up import claim, leave
from notebook_files import code_cells

from bandits_companion import claims, errata, ledger, registry
from bandits_companion.claims import table
from bandits_companion.claims_table import read_file, sentences
from bandits_companion.registry import PAPERS
from bandits_companion.verdicts import WORDS, Criterion

ROOT = Path(__file__).resolve().parents[2]
FIGURES = ROOT / "figures"
NOTEBOOKS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))


@cache
def committed_claims():
    return ledger.read(FIGURES / "claims")


OF_PAPERS = [name for name in NOTEBOOKS if not name.startswith("companion_")]
LONG = "the pulls of $a_{1}$ are fewer " * 9

MADE_UP = [
    claim("fiez2019_9/a@text", 0.5, loser=2.0, measures="a | b"),
    claim("fiez2019_9/a@program", 2.0, kind="program"),
    claim("fiez2019_9/b.x", 2.0, winner=0.5, whole="A is fewer | B is more"),
    claim("fiez2019_9/b.y", 0.5),
    claim("fiez2019_9/c", (0.9, 0.7, 1.1), place="Table 9", quote=LONG),
    claim(
        "fiez2019_9/d", (0.0, -inf, inf), Criterion(), place="Table 9", quote=r"\frac{" + "a" * 99, untestable="a wish"
    ),
    claim("fiez2019_9/ours", 7.0, Criterion(printed=7.0, half=0.1), kind="other", quote=""),
]


@pytest.fixture
def folder(tmp_path):
    return leave(tmp_path, MADE_UP)


@pytest.fixture
def made():
    return table(MADE_UP)


def cells(text):
    """The cells of every row of every table, links without their addresses."""
    for line in text.splitlines():
        if line.startswith("| "):
            row = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            yield [re.sub(r"^\[(.*)\]\([^)]*\)$", r"\1", cell) for cell in row]


# --- the page


def test_the_page_of_a_paper_has_its_totals_and_a_table_with_two_cells_for_each_place(made):
    page = ledger.page("fiez2019", made)
    assert page.startswith("# Ledger of fiez2019 (RAGE)\n")
    places = ["## Figure 1a", "## Table 9", "## Findings of this companion"]
    assert [line for line in page.splitlines() if line.startswith("## ")] == places
    rows = [*cells(page)]
    said = ["by the text", "in the published program"]
    assert rows[0] == ["paper", "sentences"] and [row[0] for row in rows[1:3]] == [f"fiez2019, {kind}" for kind in said]
    head = ["sentence", "by the text", "in the published program"]
    assert [row for row in rows if row[:1] == ["sentence"]] == [head] * 2
    assert [row[1:] for row in rows[3:] if row != head] == [
        ["holds", "falls"],
        ["partly", "not tested"],
        ["open", "not tested"],
        ["not tested", "not tested"],
    ]


def test_every_sentence_has_one_anchor_to_which_its_row_leads(made):
    page = ledger.page("fiez2019", made)
    anchors = re.findall(r'<a id="([^"]+)"', page)
    assert anchors == [f"fiez2019-9-{name}" for name in ("a", "b", "c", "d", "ours")]
    assert re.findall(r"\]\(#([^)]+)\)", page) == anchors[:-1]


def test_a_sentence_is_told_whole_with_parts_readings_controls_notes_and_reasons(made):
    page = ledger.page("fiez2019", made)
    assert "**holds by the text, falls in the published program**: “fewer”" in page
    assert "**partly by the text**: “A is fewer | B is more” ([b](../../notebooks/fiez2019_9.ipynb))" in page
    assert (
        "- by the text: holds 0.5 (y); falls 2 (x)\n- A over B:\n  - *x, text*: 2 (true if between 0 and 1): falls."
        in page
    )
    assert "- a | b:\n  - *text*: 0.5 (true if between 0 and 1): holds. Negative control (XY-static): 2, falls." in page
    assert (
        "falls. Positive control (the oracle): 0.5, holds.\n  - *y, text*: 0.5 (true if between 0 and 1): holds."
        in page
    )
    assert "- by the text: 4 times the runs would decide\n" in page
    assert "- by the text: a wish\n" in page and " ".join(LONG.split()) in page
    assert (
        "Figure 1a ([ours](../../notebooks/fiez2019_9.ipynb))\n"
        "- A over B:\n  - *other*: 7 (compared with 7 ± 0.1): holds." in page
    )


def test_an_explanation_stands_once_with_the_letter_that_it_explains():
    parts = [claim(f"fiez2019_9/a.{part}@text", 2.0, why={"F": "because"}) for part in "xy"]
    page = ledger.page("fiez2019", table(parts))
    assert page.count("because") == 1 and page.endswith("\n- Why a part falls: because\n")


def test_a_page_begins_with_what_claims_yaml_has_first(monkeypatch):
    rows = table([claim("fiez2019_2/late", 0.5), claim("fiez2019_5/early", 0.5, place="Abstract")])
    monkeypatch.setattr(ledger, "find", lambda: dict.fromkeys(["fiez2019_5/early", "fiez2019_2/late"]))
    assert re.findall("^## (.*)", ledger.page("fiez2019", rows), re.M)[-2:] == ["Abstract", "Figure 1a"]


def test_a_page_is_of_one_paper():
    both = table([*MADE_UP, claim("jedra2020_1/z", 0.5)])
    assert "jedra2020" not in ledger.page("fiez2019", both)
    assert "Figure 1a" in (page := ledger.page("jedra2020", both)) and "fiez2019" not in page


# --- the box


def test_the_box_has_a_line_for_each_sentence_of_the_notebook_and_counts_them(made):
    more = table([*MADE_UP, claim("fiez2019_8/z", 0.5)])
    box = ledger.box("fiez2019_9", more)
    head, *rows = cells(box)
    assert head == ledger.BOX
    condition = "true if between 0 and 1"
    assert [row[1:] for row in rows] == [
        ["", "holds", "falls"],
        [rf"a \| b ({condition})", "holds 0.5", ""],
        [f"A over B ({condition})", "", "falls 2"],
        [f"A over B ({condition})", "partly: holds 0.5 (y); falls 2 (x)", "not tested"],
        [f"A over B ({condition})", "open (4 times the runs would decide): 0.9 [0.7, 1.1]", "not tested"],
        ["a wish", "not tested", "not tested"],
    ]
    assert rows[4][0].endswith(f": “{ledger.quoted(LONG)}”"), "no sentence is cut"
    assert "](../figures/ledger/fiez2019.md#fiez2019-9-a)" in box
    said = "By the text holds 1, partly 1, open 1, not tested 1; in the published program falls 1."
    assert box.split("\n\n")[1] == f"All sentences of this page. {said}"
    assert ledger.box("fiez2019_7", more) == "No sentence of the paper is judged here yet."


def test_each_quantity_of_a_sentence_has_a_line_with_its_own_numbers():
    told = {
        "rest": ("text", 2.0, "B over C"),
        "ahead": ("program", 0.5, "A over B"),
        "least": ("text", 0.5, "A over B"),
    }
    made = [claim(f"fiez2019_9/a.{part}@{kind}", x, kind=kind, measures=of) for part, (kind, x, of) in told.items()]
    _, *rows = cells(ledger.box("fiez2019_9", table(made)))
    assert [row[1:] for row in rows] == [
        ["", "partly", "holds"],
        ["B over C (true if between 0 and 1)", "falls 2", ""],
        ["A over B (true if between 0 and 1)", "holds 0.5", "holds 0.5"],
    ]


def test_a_word_that_other_margins_would_change_has_a_star():
    rule = Criterion(0, 1, tie_low=1 / 1.1, tie_high=1.1)
    made = table([claim("fiez2019_9/a", (1.15, 1.12, 1.18), rule), claim("fiez2019_9/b", 2.0, rule)])
    box = ledger.box("fiez2019_9", made)
    assert [row[2] for row in cells(box)][1:] == [r"falls \*: 1.15 [1.12, 1.18]", "falls: 2"]


def test_a_box_says_from_which_run_it_is():
    assert "paper's scale" in ledger.box("fiez2019_9", table(MADE_UP))
    assert "paper's scale" not in ledger.box("fiez2019_9", table(MADE_UP), whole=True)  # on the site the page says it


def test_a_box_begins_with_whether_the_curves_have_the_order_and_the_growth_of_the_paper():
    tie, at = Criterion(0, 1, tie_low=1 / 1.1, tie_high=1.1), {"place": "Figure 2b"}
    made = [
        claim(f"weltz2023_3_head/{name}@{kind}", x, tie, kind, **at)
        for kind in ("text", "program")
        for name, x in (("a", 0.5), ("b", 2.0))
    ]
    made.append(claim("weltz2023_3_head/c@text", 0.1, Criterion(graded="exponent"), measures="exponent in d", **at))
    said = ledger.box("weltz2023_3_head", table(made)).split("\n\n")[0]
    order = "by the text in 1 of 2 comparisons and in the published program in 1 of 2 comparisons."
    assert said.startswith(
        f"**Sentences that name Figure 2b.** By the estimates alone, the order is as the paper describes it: {order}"
    )
    growth = "by the text in 1 of 1 comparisons. By the"
    assert f"By the estimates alone, the growth is as the paper describes it: {growth}" in said


def test_a_box_begins_with_the_sentences_about_its_figures_and_counts_them():
    made = [claim("weltz2023_3_head/a", 0.5, place="Section 3"), claim("weltz2023_3_head/b", 2.0, place="Figure 2b")]
    box = ledger.box("weltz2023_3_head", table([*made, claim("weltz2023_3_head/c", 0.5, place="Figure 2")]))
    assert re.findall(r"^\| \[(.*?)\]", box, re.M) == ["Figure 2", "Figure 2b", "Section 3"]
    assert box.split("\n\n")[:2] == [
        "**Sentences that name Figure 2a.** By the text holds 1.",
        "**Sentences that name Figure 2b.** By the text holds 1, falls 1.",
    ]
    assert "All sentences of this page. By the text holds 2, falls 1." in box


@pytest.mark.parametrize(
    ("place", "figures"),
    [
        ("Figure 2", "2a 2b"),
        ("Section 3 and Figure 2b", "2b"),
        ("Figures 2a and 2b", "2a 2b"),
        ("Section 2, Example 2", ""),
        ("Figure 22", ""),
        ("Table 2", ""),
    ],
)
def test_the_table_of_figures_counts_the_sentences_that_name_a_figure(place, figures):
    found = [claim("weltz2023_3_head/a", 0.5, place=place), claim("weltz2023_3_head/b", 2.0, place=place)]
    other = claim("weltz2023_4_level_sets/c", 2.0, place=place)
    rows = {row[0]: row[1:] for row in cells(ledger.figures_block(table([*found, other])))}
    for number in ("2a", "2b"):
        assert rows[f"weltz2023, Figure {number}"] == ["holds 1, falls 1" if number in figures else "", ""]
    assert rows["weltz2023, Figure 3a"] == ["", ""] and "jedra2020, Table 1" in rows


def test_the_table_of_figures_counts_kinds_apart_and_names_what_cannot_be_tested():
    at = {"place": "Figure 2a"}
    found = [claim("weltz2023_3_head/a", 2.0, **at), claim("weltz2023_3_head/b", 2.0, **at)]
    found += [claim("weltz2023_3_head/a@program", 0.5, kind="program", **at)]
    found += [claims._untestable(claim("weltz2023_3_head/d", 0.5, **at).entry._replace(untestable="no number"))]
    [row] = [row for row in cells(ledger.figures_block(table(found))) if row[0] == "weltz2023, Figure 2a"]
    assert row[1:] == ["falls 2, not tested 1", "holds 1"]


@pytest.mark.parametrize("name", OF_PAPERS)
def test_every_notebook_of_a_paper_has_a_box_of_the_committed_claims(name):
    claims = committed_claims()
    found = sentences(claims[claims["id"].str.startswith(f"{name}/")])
    box = ledger.box(name, claims)
    rows, places = [row for row in cells(box) if row[0]], re.findall(r"\.md#([^)]+)\)", box)
    found = found.set_axis(found.index.map(ledger.anchor))
    assert sorted(places) == sorted(found.index)
    found = found.loc[places]  # in the order of the box
    for at, kind in ((2, "text"), (3, "program")):
        assert all(row[at].startswith(word) for row, word in zip(rows[1:], found[kind], strict=True))
        starred = found[f"{kind}_note"].str.contains("margins").tolist()
        assert [r"\*" in row[at] for row in rows[1:]] == starred
    assert "…" not in box and all(ledger.quoted(said).replace("|", r"\|") in box for said in found["quote"])


# --- what is written


def test_the_ledger_writes_claims_pages_and_totals(folder, tmp_path):
    (tmp_path / "README.md").write_text(
        "# x\n<!-- totals -->\nstale\n<!-- end totals -->\n<!-- figures -->\n<!-- end figures -->\ny\n"
    )
    read = ledger.read(folder / "claims")
    ledger.save(read, tmp_path)
    pd.testing.assert_frame_equal(read_file(folder / "claims.csv"), read)
    assert (folder / "ledger" / "fiez2019.md").read_text() == ledger.page("fiez2019", read)
    readme = (tmp_path / "README.md").read_text()
    assert readme.startswith("# x\n") and readme.endswith("\ny\n") and "stale" not in readme
    assert ledger.totals_block(read) in readme and ledger.figures_block(read) in readme
    ledger.save(read, tmp_path)
    assert (tmp_path / "README.md").read_text() == readme, "filling twice changes nothing"
    (tmp_path / "README.md").write_text("# x\n")
    with pytest.raises(ValueError, match="no place <!-- totals -->"):
        ledger.save(read, tmp_path)


def test_totals_count_sentences_and_roots(made):
    head, *rows = cells(ledger.totals_block(made))
    words = ["holds 1, partly 1, open 1, not tested 1", "falls 1, not tested 3"]
    assert head == ["paper", "sentences"] and [row[1] for row in rows] == words
    fallen = table([claim(f"fiez2019_9/{name}", 2.0, root="u = 1") for name in "ab"])
    assert ledger.totals_block(fallen).endswith(
        "Of 2 sentences 2 fall by the text. They have 1 cause, because several fall by the same slip."
    )


def test_the_picture_has_one_mark_per_sentence_and_a_look_for_each_word(made):
    fig, axes = plt.subplots(1, 1, squeeze=False)
    ledger.picture(axes[0], made)
    assert sum(len(marks.get_offsets()) for marks in axes[0, 0].collections) == len(sentences(made))
    labels = [marks.get_label() for marks in axes[0, 0].collections]
    plt.close(fig)
    assert labels == [*ledger.LOOKS] and set(labels) == set(WORDS)
    assert len(set(ledger.LOOKS.values())) == len(WORDS)


# --- what is committed


def known_errata():
    return errata.read(ROOT / "notebooks" / "errata.yaml")


@pytest.mark.parametrize("name", OF_PAPERS)
def test_every_notebook_of_a_paper_has_claims(name):
    assert len(pd.read_csv(FIGURES / "claims" / f"{name}.csv"))


@pytest.mark.parametrize("name", OF_PAPERS)
def test_no_notebook_types_a_letter(name):
    """Claims are made by `claims.measured` and saved by `claims.save`, the only places where a letter can come from."""
    code = "\n".join(cell.source for cell in code_cells(name))
    assert "claims.save(" in code and "claims.measured(" in code
    assert not re.search(r"\bletter *=|\boutcome *=|Claim\(|Entry\(|claims_table|bandits_companion.*verdicts", code)


def test_the_committed_claims_are_those_of_the_notebooks():
    merged = committed_claims()
    pd.testing.assert_frame_equal(read_file(FIGURES / "claims.csv"), merged)
    assert set(merged["id"].str.partition("/")[0]) == set(OF_PAPERS)


@pytest.mark.parametrize("paper", PAPERS)
def test_the_committed_page_of_a_paper_is_generated(paper):
    page = (FIGURES / "ledger" / f"{paper}.md").read_text(encoding="utf-8")
    assert page == ledger.page(paper, committed_claims())


@pytest.mark.parametrize("paper", PAPERS)
def test_the_page_of_every_paper_has_every_sentence(paper):
    claims = committed_claims()
    page, found = ledger.page(paper, claims), sentences(claims[claims["paper"] == paper])
    anchors = re.findall(r'<a id="([^"]+)"', page)
    assert len(set(anchors)) == len(anchors) and set(map(ledger.anchor, found.index)) <= set(anchors)
    assert set(re.findall(r"\]\(#([^)]+)\)", page)) == set(map(ledger.anchor, found.index))


def test_there_is_a_page_for_each_paper_and_no_other():
    assert {file.stem for file in (FIGURES / "ledger").glob("*")} == set(PAPERS)


def stale(saved, entries):
    """Ids of what the claims of a notebook and its entries in claims.yaml say differently."""
    rows = {row["id"]: row for row in saved.to_dict("records")}
    found = sorted(set(rows) ^ set(entries))
    for id in set(rows) & set(entries):
        entry, row = entries[id], rows[id]
        names = (
            "place",
            "quote",
            "whole",
            "measures",
            "kind",
            "edge",
            "loser",
            "winner",
            "slack",
            "sampled",
            "waits",
            "root",
        )
        told = {name: getattr(entry, name) for name in (*names, "untestable")} | entry.rule._asdict()
        told |= {"holds_low": told.pop("low"), "holds_high": told.pop("high")}
        told["printed_half"] = max(told.pop("half"), row["printed_half"])  # our own runs may have the larger error
        found += [id] if any(row[name] != said and said == said for name, said in told.items()) else []
        found += [id] if any(said != said and row[name] == row[name] for name, said in told.items()) else []
    return found


@pytest.mark.parametrize("name", OF_PAPERS)
def test_what_was_saved_is_what_claims_yaml_says(name):
    """No id in one of the two alone, and no word or threshold changed since the notebook was run."""
    entries = registry.read(ROOT / "notebooks" / "claims.yaml")
    own = {id: entry for id, entry in entries.items() if id.startswith(f"{name}/")}
    assert not stale(read_file(FIGURES / "claims" / f"{name}.csv"), own), "run `notebooks/run.py reword`"


def test_a_word_that_changed_is_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "fiez2019_9/a: {place: Figure 9, quote: fewer, measures: ratio, holds: [0, 1], edge: words, margin: ratio, "
    text += "slack: a}"
    (tmp_path / "claims.yaml").write_text(text)
    claims.save([claims.measured("fiez2019_9/a", 0.5, 0.4, 0.6)], tmp_path)
    saved = read_file(tmp_path / "figures" / "claims" / "fiez2019_9.csv")
    assert not stale(saved, registry.read(tmp_path / "claims.yaml"))
    changes = (
        ("fewer", "more"),
        ("[0, 1]", "[1, .inf]"),
        ("_9/a", "_9/b"),
        (", margin: ratio", ""),
        ("slack: a", "slack: b"),
    )
    changes += (("words", "words, kind: program"), ("words", "words, sampled: 9"), ("words", "words, loser: B"))
    for old, new in changes:
        (tmp_path / "claims.yaml").write_text(text.replace(old, new))
        assert stale(saved, registry.read(tmp_path / "claims.yaml")), new


def test_the_readme_shows_what_claims_csv_generates():
    merged, readme = committed_claims(), (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = {"totals": ledger.totals_block(merged), "figures": ledger.figures_block(merged)}
    assert ledger.filled(readme, blocks) == readme, "run companion_ledger with out='..'"


# --- errata


def test_every_erratum_has_a_proof_or_a_run_that_exists():
    found = known_errata()
    assert set(found["paper"]) <= set(PAPERS) and len(found)
    assert ((found["proof"] != "") | (found["run"] != "")).all()
    assert set(found["run"]) - {""} <= set(NOTEBOOKS)


def test_the_committed_errata_page_is_generated():
    assert (FIGURES / "errata.md").read_text(encoding="utf-8") == errata.page(known_errata())
