"""Replication reports: what is filled in, what is refused, and that the committed ones say what the ledger says."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from bandits_companion import claims, exploratory_seed, report
from bandits_companion.claims import table as full
from bandits_companion.registry import PAPERS
from bandits_companion.report import TABLES

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS, FIGURES = ROOT / "notebooks", ROOT / "figures"
TEMPLATES = {file.stem: file.read_text(encoding="utf-8") for file in (NOTEBOOKS / "reports").glob("*.md")}
each_template = pytest.mark.parametrize("paper", TEMPLATES)

CLAIMS = """
fiez2019_9/a: {place: Figure 9, quote: A is below B, reading: A over B, holds: [0, 1], edge: words, whose: paper}
fiez2019_9/b@text: {place: Figure 9, quote: B grows, reading: exponent, holds: [0, .inf], edge: words, whose: paper}
fiez2019_9/b@code: {place: Figure 9, quote: B grows, reading: "the same, the code's", holds: [0, .inf], edge: words,
  whose: paper, why: {not reproduced: it falls}}
fiez2019_9/c: {place: Lemma 9, quote: "$x$ or $|y|$", reading: the c*, holds: [0, 1], edge: words, whose: paper}
fiez2019_9/d: {place: Table 9, quote: 1206.55 (40), reading: pulls, printed: {value: 1206.55, error: 40}, edge: paper,
  whose: paper}
fiez2019_9/e: {place: Table 9, quote: "120", reading: pulls of the code, printed: {value: 120, error: 4}, edge: paper,
  whose: code}
fiez2019_9/ours: {place: Figure 9, reading: a finding, whose: ours}
"""
NUMBERS = {
    "a": (0.4214, 0.4, 0.5),
    "b@text": (2, 1, 3),
    "b@code": (-2, -3, -1),
    "c": (2e-7, 1e-7, 3e-7),
    "d": (1250.4, 1200, 1300),
    "e": (121, 120, 122),
    "ours": (0.5, 0.4, 0.6),
}
ERRATUM = {"paper": "fiez2019", "kind": "error", "place": "Lemma 9", "quote": "5", "correct": "4", "proof": "count"}


@pytest.fixture
def source(tmp_path, monkeypatch):
    """source(name=(estimate, low, high), ...): a toy paper, some numbers of which are other ones."""

    def made(**changed):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "claims.yaml").write_text(CLAIMS)
        numbers = NUMBERS | changed
        found = full([claims.measured(f"fiez2019_9/{name}", *given) for name, given in numbers.items()])
        figures = tmp_path / "figures" / "fiez2019"
        figures.mkdir(parents=True, exist_ok=True)
        about = {"command": "notebooks/fiez2019_9.ipynb", "parameters": {"seed": 7}, "versions": {"numpy": "2.0"}}
        (figures / "fig_9.json").write_text(json.dumps(about | {"alt": "two lines"}))
        cell = {"cell_type": "markdown", "source": ["# The toy (Figure 9)\n", "More."]}
        (tmp_path / "fiez2019_9.ipynb").write_text(json.dumps({"cells": [cell]}))
        values = {"runs": 2000, "dims": [5, 10, 35], "checkpoint": "x"}
        plan = {"fiez2019_9": {"minutes": 1.4, "figures": ["fiez2019/fig_9"], "parameters": values}}
        errata = pd.DataFrame([ERRATUM])
        return report.Source("fiez2019", found.set_index("id", drop=False), errata, plan, figures.parent, tmp_path)

    return made


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("measured 9/a", "0.421 [0.4, 0.5]"),
        ("estimate 9/d", "1,250"),
        ("low 9/a", "0.4"),
        ("high 9/c", r"$3.00\cdot10^{-7}$"),
        ("percent 9/a", "42 %"),
        ("printed 9/d", "1,206.55"),
        ("quote 9/a", "“A is below B”"),
        ("erratum Lemma 9", "([errata](../errata.md))"),
        ("parameter 9 runs", "2,000"),
        ("parameter 9 dims", "5 to 35"),
        ("largest 9 dims", "35"),
        ("least 9 dims", "5"),
        ("figure fig_9", "![two lines](../fiez2019/fig_9.png)"),
        ("count", "4"),
        ("count reproduced", "3"),
        ("minutes", "1 minutes"),
        ("seed", "seed 7"),
        ("versions", "numpy 2.0"),
        ("stands 9/a 9/b 9/b@text 9/d 9/e", ""),
        ("stands 9/*", ""),
        ("reproduced\n  9/a", ""),
        ("falls 9/b@code", ""),
        ("within 0 0.7 9/ours", ""),
    ],
)
def test_a_place_is_filled_in(source, place, expected):
    assert report.render(f"x {{{{{place}}}}} y", source()) == f"x {expected} y"


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("meassured 9/a", "there is nothing called 'meassured'"),
        ("", "there is nothing called ''"),
        ("measured 9/z", "there is no claim fiez2019_9/z"),
        ("quote 9/ours", "fiez2019_9/ours has no quotation"),
        ("printed 9/a", "is about no printed number"),
        ("detects 9/a", "is about no printed number"),
        ("table totals", "there is no table 'totals'"),
        ("figure fig_8", "there is no figure fiez2019/fig_8"),
        ("erratum Lemma 8", "errata.yaml has nothing of fiez2019 at 'Lemma 8'"),
        ("parameter 9 rums", "paper.yaml has no rums of fiez2019_9"),
        ("count true", "there is no verdict 'true'"),
        ("stands", "no claim is named"),
        ("stands 9/z*", "there is no sentence fiez2019_9/z"),
        ("stands 9/a@code", "there is no reading fiez2019_9/a@code"),
        ("stands 9/ours", "there is no sentence fiez2019_9/ours"),
        ("stands 9/b@code", "fiez2019_9/b@code is not reproduced"),
        ("reproduced 9/d", "fiez2019_9/d is compatible"),
        ("falls 9/b", "fiez2019_9/b is reproduced"),
        ("level 9/a", "fiez2019_9/a is reproduced"),
        ("within 0 0.5 9/ours", "0.5 [0.4, 0.6]"),
    ],
)
def test_what_is_not_so_is_refused(source, place, words):
    with pytest.raises(ValueError, match="the report on fiez2019 has 1 faults") as refused:
        report.render(f"x {{{{{place}}}}} y", source())
    assert words in str(refused.value)


def test_words_tied_to_a_verdict_are_refused_when_it_changes(source):
    words = "A is below B.{{reproduced 9/a}}"
    assert report.render(words, source()) == "A is below B."
    for changed, verdict in (((0.9, 0.7, 1.1), "undecided"), ((2, 1.5, 2.5), "not reproduced")):
        with pytest.raises(ValueError, match=f"tied to reproduced, but fiez2019_9/a is {verdict}"):
            report.render(words, source(a=changed))


def test_all_faults_are_named_together(source):
    with pytest.raises(ValueError, match="has 3 faults") as refused:
        report.render("{{falls 9/a}} {{nothing}} in 42 runs", source())
    assert all(word in str(refused.value) for word in ("falls 9/a", "{{nothing}}", "'42'"))


def test_numbers_are_not_typed():
    allowed = "# 1. A\n## 2. B\nFigure 1a, Figures 1a to 2a, section 3.1, Lemmas 4 and 6, appendix F, condition (10), "
    allowed += "in 2019, fiez2019, $d=5$, `rage_5`, [x](../y_3.md), {{measured 9/a}}, Proposition 1.{{stands 9/a}}"
    assert not report.typed_numbers(allowed)
    typed = report.typed_numbers("It takes 42 % of Figure 1a, .95, and 1,200 pulls")
    assert [number for number, _ in typed] == ["42", "95", "1", "200"]


def test_templates_are_written_or_named(source, tmp_path):
    found = source()
    claims_folder = tmp_path / "figures" / "claims"
    claims_folder.mkdir()
    found.claims.to_csv(claims_folder / "fiez2019_9.csv", index=False)
    (tmp_path / "errata.yaml").write_text(json.dumps([ERRATUM]))
    (tmp_path / "paper.yaml").write_text(json.dumps(found.plan))
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "fiez2019.md").write_text("{{count}} sentences")
    assert report.save(tmp_path, tmp_path / "figures", tmp_path) == ["fiez2019"]
    written = tmp_path / "figures" / "reports" / "fiez2019.md"
    assert written.read_text() == "4 sentences"
    (tmp_path / "reports" / "fiez2019.md").write_text("{{falls 9/a}}")
    (tmp_path / "reports" / "jedra2020.md").write_text("{{count}}")
    (tmp_path / "reports" / "weltz2023.md").write_text("{{measured 9/a}}")
    with pytest.raises(ValueError, match="the report on fiez2019 has 1 faults") as refused:
        report.save(tmp_path, tmp_path / "figures", tmp_path)
    assert "the report on weltz2023 has 1 faults" in str(refused.value)
    assert written.read_text() == "4 sentences", "a refused report stays as it was"
    assert written.with_name("jedra2020.md").read_text() == "0", "those without a fault are written"


# --- the generated tables


def table(source, name, **changed):
    return TABLES[name](source(**changed))


def test_verdicts_are_counted_with_their_places(source):
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table(source, "verdicts").splitlines()[2:]]
    assert lines == [["reproduced", "3", "Figure 9 (2); Lemma 9"], ["compatible", "1", "Table 9"], ["all", "4", ""]]


def test_what_differs_is_listed_with_all_its_readings(source):
    assert table(source, "differs") == "Every sentence that was tested stands."
    fallen = table(source, "differs", a=(2, 1.5, 2.5), **{"b@text": (-2, -3, -1)})
    assert "- **Figure 9.** “A is below B” (true up to 1) Measured: A over B: 2 [1.5, 2.5], not reproduced." in fallen
    assert "- **Figure 9.** “B grows” (true from 0) It falls." in fallen
    assert fallen.index("*text*: exponent: -2 [-3, -1], not") < fallen.index("*code*: the same, the code's: -2 [-3")
    assert "undecided (" in table(source, "differs", a=(0.9, 0.7, 1.1))


def test_readings_that_disagree_are_listed_and_no_others(source):
    assert table(source, "readings").splitlines() == [
        "- **Figure 9.** “B grows” (true from 0) It falls.",
        "  - *text*: exponent: 2 [1, 3], reproduced",
        "  - *code*: the same, the code's: -2 [-3, -1], not reproduced",
    ]
    assert table(source, "readings", **{"b@code": (2, 1, 3)}) == "None."


def test_printed_numbers_and_those_of_the_code_stand_apart(source):
    printed, code = table(source, "printed"), table(source, "code")
    assert "1,206.55 ± 78.4" in printed and "1,250 [1,200, 1,300]" in printed and "pulls of the code" not in printed
    assert "pulls of the code" in code and "120 ± 7.84" in code and "1,206.55" not in code


def test_runs_errata_and_what_stands(source):
    assert "[The toy (Figure 9)](../../notebooks/fiez2019_9.ipynb)" in table(source, "runs")
    assert "runs 2,000, dims 5 to 35 " in table(source, "runs")
    assert table(source, "errata").endswith("list 1 error, each with a proof or a run. Errors: Lemma 9.")
    assert table(source, "standing") == "Lemma 9; Table 9"


def test_claims_without_entries_and_no_claims_at_all_have_tables_too(source):
    said = ("fiez2019", "Figure 9", "A | B")
    first = full([claims.claim("fiez2019_9/a", *said, 2, 1.5, 3, (0, 1), "no *such* thing")])
    for found in (first, first.iloc[:0]):
        of = source()._replace(claims=found.set_index("id", drop=False), errata=pd.DataFrame([ERRATUM]).iloc[:0])
        assert all(make(of) for make in TABLES.values())
    differs = TABLES["differs"](source()._replace(claims=first.set_index("id", drop=False)))
    assert differs == r"- **Figure 9.** (true up to 1) Measured: A | B: 2 [1.5, 3], not reproduced. No \*such\* thing."


# --- what is committed


def test_every_paper_has_a_template_and_a_report():
    assert set(TEMPLATES) == set(PAPERS) == {file.stem for file in (FIGURES / "reports").glob("*")}


@each_template
def test_the_committed_report_is_generated(paper):
    committed = (FIGURES / "reports" / f"{paper}.md").read_text(encoding="utf-8")
    rendered = report.render(TEMPLATES[paper], report.source(paper, *report.everything(FIGURES, NOTEBOOKS)))
    assert committed == rendered, "run the notebook companion_ledger with out='..'"
    assert "{{" not in committed


@each_template
def test_links_of_the_committed_report_lead_to_files(paper):
    text = (FIGURES / "reports" / f"{paper}.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    assert links and not [link for link in links if not (FIGURES / "reports" / link).exists()]


@each_template
def test_a_template_quotes_by_the_ledger_alone(paper):
    """`{{quote ...}}` is looked up in the paper; words in typed quotation marks would not be."""
    assert not re.findall(r'[“”"]', TEMPLATES[paper])


@pytest.mark.parametrize("paper", ["fiez2019", "jedra2020"])
def test_what_is_written_rests_on_verdicts(paper):
    """With every verdict open the report is refused, in every section that judges."""
    found = report.source(paper, *report.everything(FIGURES, NOTEBOOKS))
    with pytest.raises(ValueError, match="faults"):
        report.render(TEMPLATES[paper], found._replace(claims=found.claims.assign(verdict="undecided")))
    for section in re.split(r"^## ", TEMPLATES[paper], flags=re.MULTILINE)[1:]:
        if not re.match(r"[12]\. ", section):
            assert re.search(r"\{\{(stands|reproduced|falls|level|undecided|within) ", section), section[:30]


def test_the_committed_report_names_the_seed_of_its_claims():
    for paper in TEMPLATES:
        seed = exploratory_seed.of_paper(exploratory_seed.seeds(FIGURES), paper)
        assert seed in (FIGURES / "reports" / f"{paper}.md").read_text(encoding="utf-8")
