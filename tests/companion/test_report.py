"""Replication reports: what is filled in, what is refused, and that the committed ones say what the ledger says."""

import json
import re
from dataclasses import replace
from math import inf
from pathlib import Path

import pandas as pd
import pytest

from bandits_companion import claims, ledger, report, seeds
from bandits_companion.registry import PAPERS
from bandits_companion.verdicts import WORDS
from bandits_lib.simulate.intervals import Interval

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS, FIGURES = ROOT / "notebooks", ROOT / "figures"
TEMPLATES = {file.stem: file.read_text(encoding="utf-8") for file in (NOTEBOOKS / "reports").glob("*.md")}
each_template = pytest.mark.parametrize("paper", TEMPLATES)

CLAIMS = """
fiez2019_9/a: {place: Figure 9, quote: A is below B, measures: A over B, holds: [0, 1], edge: words,
  margin: ratio, loser: L, winner: W}
fiez2019_9/b: {place: Figure 9, quote: B grows, measures: exponent, holds: [0, .inf], edge: words, loser: L, winner: W,
  readings: {text: {}, program: {with: "the code's", why: {F: it falls}}}}
fiez2019_9/c: {place: Lemma 9, quote: "$x$ or $|y|$", whole: "$x$ or $|y|$, or neither", measures: the c*, edge: words,
  loser: L, winner: W, holds: [0, 1], parts: {x: {}, y: {}}}
fiez2019_9/d: {place: Table 9, quote: 1206.55 (40), measures: pulls, printed: {value: 1206.55, error: 40}, edge: paper}
fiez2019_9/e: {place: Table 9, measures: pulls of the code, printed: {value: 120, error: 4}}
fiez2019_9/f: {place: Section 9, quote: always, untestable: there are too many}
fiez2019_9/ours: {place: Figure 9, measures: a finding}
"""
NUMBERS = {
    "a": (0.4214, 0.4, 0.5),
    "b@text": (2, 1, 3),
    "b@program": (-2, -3, -1),
    "c.x": (2e-7, 1e-7, 3e-7),
    "c.y": (0.5, 0.5, 0.5),
    "d": (1250.4, 1200, 1300),
    "e": (121, 120, 122),
    "ours": (0.5, 0.4, 0.6),
}
BELOW, ABOVE = Interval(0.5, 0.4, 0.6), Interval(-3, -4, -2)
CONTROLS = {name: {"loser": ABOVE, "winner": BELOW} for name in "abc"}
ERRATUM = {"paper": "fiez2019", "kind": "error", "place": "Lemma 9", "quote": "5", "correct": "4", "proof": "count"}


@pytest.fixture
def source(tmp_path, monkeypatch):
    """source(name=(estimate, low, high), ...): a toy paper, some numbers of which are other ones."""

    def made(**changed):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "claims.yaml").write_text(CLAIMS)
        numbers = NUMBERS | changed
        found = [
            claims.measured(f"fiez2019_9/{name}", *given, **CONTROLS.get(name[0], {}))
            for name, given in numbers.items()
        ]
        claims.save(found, tmp_path)
        found = ledger.read(tmp_path / "figures" / "claims")
        figures = tmp_path / "figures" / "fiez2019"
        figures.mkdir(parents=True, exist_ok=True)
        about = {"command": "notebooks/fiez2019_9.ipynb", "parameters": {"seed": 7}, "versions": {"numpy": "2.0"}}
        (figures / "fig_9.json").write_text(json.dumps(about | {"alt": "two lines"}))
        seeds.begin(["fiez2019"], {"fiez2019": 7}, figures.parent / "seeds.csv")
        cell = {"cell_type": "markdown", "source": ["# The toy (Figure 9)\n", "More."]}
        (tmp_path / "fiez2019_9.ipynb").write_text(json.dumps({"cells": [cell]}))
        values = {"runs": 2000, "dims": [5, 10, 35], "checkpoint": "x"}
        plan = {"fiez2019_9": {"minutes": 1.4, "figures": ["fiez2019/fig_9"], "parameters": values}}
        errata = pd.DataFrame([ERRATUM])
        return report.Report("fiez2019", found.set_index("id", drop=False), errata, plan, figures.parent, tmp_path)

    return made


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ('measured("9/a")', "0.421 [0.4, 0.5]"),
        ('estimate("9/d")', "1,250"),
        ('high("9/c.x")', r"$3.00\cdot10^{-7}$"),
        ('percent("9/a")', "42 %"),
        ('quote("9/a")', "“A is below B”"),
        ('quote("9/b@program")', "“B grows”"),
        ('erratum("Lemma 9")', "([errata](../errata.md))"),
        ('parameter("9", "runs")', "2,000"),
        ('parameter("9", "dims")', "5 to 35"),
        ('parameter("9", "dims") | max', "35"),
        ('figure("fig_9")', "![two lines](../fiez2019/fig_9.png)"),
        ("count()", "5"),
        ('count("holds")', "4"),
        ('count("falls", "program")', "1"),
        ("slips()", ""),
        ("counts()", "holds 4, not tested 1"),
        ("runs()", "1 begun, 0 ended, 1 stopped before the end"),
        ("minutes()", "1 minutes"),
        ("seed()", "seed 7"),
        ("versions()", "numpy 2.0"),
        ('stands("9/a", "9/b", "9/b@text", "9/d")', ""),
        ('holds(\n  "9/a", "9/c")', ""),
        ('falls("9/b@program")', ""),
        ('within(0, 0.7, "9/ours")', ""),
    ],
)
def test_a_place_is_filled_in(source, place, expected):
    assert report.render(f"x {{{{ {place} }}}} y", source()) == f"x {expected} y"


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ('meassured("9/a")', "there is nothing called 'meassured'; there are measured, estimate"),
        ("", "line 1: Expected an expression"),
        ("measured()", "measured(): Report.measured() missing 1 required positional argument: 'name'"),
        ('quote("9/ours")', "fiez2019_9/ours has no quotation"),
        ('figure("fig_8")', "there is no figure fiez2019/fig_8"),
        ('erratum("Lemma 8")', "errata.yaml has nothing of fiez2019 at 'Lemma 8'"),
        ('parameter("9", "rums")', "paper.yaml has no rums of fiez2019_9"),
        ('count("true")', "there is no word 'true'"),
        ("stands()", "no claim is named"),
        ('stands("9/a@code")', "there is no reading fiez2019_9/a@code"),
        ('stands("9/f")', "fiez2019_9/f is not tested"),
        ('stands("9/b@program")', "fiez2019_9/b@program is falls"),
        ('open("9/a")', "fiez2019_9/a is holds"),
        ('within(0, 0.5, "9/ours")', "0.5 [0.4, 0.6]"),
    ],
)
def test_what_is_not_so_is_refused(source, place, words):
    with pytest.raises(ValueError, match="the report on fiez2019 has 1 faults") as refused:
        report.render(f"x {{{{ {place} }}}} y", source())
    assert words in str(refused.value)


def test_words_tied_to_an_outcome_are_refused_when_it_changes(source):
    words = 'A is below B.{{ holds("9/a") }}'
    assert report.render(words, source()) == "A is below B."
    for changed, word in (((0.9, 0.7, 1.1), "open"), ((2, 1.5, 2.5), "falls")):
        with pytest.raises(ValueError, match=f"requires holds, but fiez2019_9/a is {word}"):
            report.render(words, source(a=changed))
    assert report.render('{{ open("9/a") }}', source(a=(0.9, 0.7, 1.1))) == ""


def test_all_faults_are_named_together(source):
    with pytest.raises(ValueError, match="has 3 faults") as refused:
        report.render('{{ falls("9/a") }} {{ nothing(9) }} in 42 runs', source())
    assert all(word in str(refused.value) for word in ("falls('9/a'): this", "nothing called 'nothing'", "'42'"))


def test_numbers_are_not_typed():
    allowed = "# 1. A\n## 2. B\nFigure 1a, Figures 1a to 2a, section 3.1, Lemmas 4 and 6, appendix F, condition (10), "
    allowed += "in 2019, fiez2019, $d=5$, `rage_5`, [x](../y_3.md), "
    allowed += "{{ measured('9/a') }}, Proposition 1.{{ stands('9/a') }}"
    assert not report.typed_numbers(allowed)
    typed = report.typed_numbers("It takes 42 % of Figure 1a, .95, and 1,200 pulls")
    assert [number for number, _ in typed] == ["42", "95", "1", "200"]


def test_a_report_says_which_parameters_were_used(source):
    found = source()
    about = found.figures / "fiez2019" / "fig_9.json"
    about.write_text(json.dumps(json.loads(about.read_text()) | {"parameters": {"seed": 7, "runs": 60}}))
    used = report.report_on("fiez2019", *(found.claims, found.errata, found.plan, found.figures, found.notebooks))
    assert report.render('{{ parameter("9", "runs") }}, {{ parameter("9", "dims") | max }}', used) == "60, 35"
    assert found.plan["fiez2019_9"]["parameters"]["runs"] == 2000


def test_templates_are_written_or_named(source, tmp_path):
    found = source()
    (tmp_path / "errata.yaml").write_text(json.dumps([ERRATUM]))
    (tmp_path / "paper.yaml").write_text(json.dumps(found.plan))
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "fiez2019.md").write_text("{{ count() }} sentences")
    assert report.save(tmp_path, tmp_path / "figures", tmp_path) == ["fiez2019"]
    written = tmp_path / "figures" / "reports" / "fiez2019.md"
    assert written.read_text() == "5 sentences"
    (tmp_path / "reports" / "fiez2019.md").write_text('{{ falls("9/a") }}')
    (tmp_path / "reports" / "jedra2020.md").write_text("{{ count() }}")
    (tmp_path / "reports" / "weltz2023.md").write_text('{{ measured("9/a") }}')
    with pytest.raises(ValueError, match="the report on fiez2019 has 1 faults") as refused:
        report.save(tmp_path, tmp_path / "figures", tmp_path)
    assert "the report on weltz2023 has 1 faults" in str(refused.value)
    assert written.read_text() == "5 sentences", "a refused report stays as it was"
    assert written.with_name("jedra2020.md").read_text() == "0", "those without a fault are written"


# --- the generated tables


def test_words_are_counted_with_their_places(source):
    def link(text, name):
        return f"[{text}](../ledger/fiez2019.md#fiez2019-9-{name})"

    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in source().table_of_words().splitlines()[2:]]
    figure = link("Figure 9, sentence 1", "a") + ", " + link(2, "b")
    places = figure + "; " + link("Lemma 9", "c") + "; " + link("Table 9", "d")
    assert [line[0] for line in lines] == list(WORDS) and lines[0] == ["holds", "4", "0", places]
    assert lines[2] == ["falls", "0", "1", ""] and lines[-1] == ["not tested", "1", "4", link("Section 9", "f")]


def test_runs_and_errata(source):
    assert "[The toy (Figure 9)](../../notebooks/fiez2019_9.ipynb)" in source().table_of_runs()
    assert "runs 2,000, dims 5 to 35 " in source().table_of_runs()
    assert source().list_of_errata().endswith("list 1 error, each with a proof or a run. Errors: Lemma 9.")


def test_a_paper_without_claims_has_tables_too(source):
    whole = source()
    empty = replace(whole, claims=whole.claims.iloc[:0], errata=whole.errata.iloc[:0])
    tables = [name for name in vars(report.Report) if name.startswith(("table_of_", "list_of_"))]
    assert len(tables) == 3 and all(getattr(empty, name)() for name in tables)


# --- what is committed


def test_every_paper_has_a_template_and_a_report():
    assert set(TEMPLATES) == set(PAPERS) == {file.stem for file in (FIGURES / "reports").glob("*")}


@each_template
def test_the_committed_report_is_generated(paper):
    committed = (FIGURES / "reports" / f"{paper}.md").read_text(encoding="utf-8")
    rendered = report.render(TEMPLATES[paper], report.report_on(paper, *report.everything(FIGURES, NOTEBOOKS)))
    assert committed == rendered, "run the notebook companion_ledger with out='..'"
    assert "{{" not in committed


@each_template
def test_links_of_the_committed_report_lead_to_files(paper):
    text = (FIGURES / "reports" / f"{paper}.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    assert links and not [link for link in links if not (FIGURES / "reports" / link.partition("#")[0]).exists()]


@each_template
def test_a_template_quotes_by_the_ledger_alone(paper):
    """`{{ quote(...) }}` is looked up in the paper; words in typed quotation marks would not be."""
    typed = [words for _, kind, words in report.LANGUAGE.lex(TEMPLATES[paper]) if kind == "data"]
    assert typed and not re.findall(r'[“”"]', "".join(typed))


@each_template
def test_what_is_written_rests_on_outcomes(paper):
    """With every outcome open the report is refused, in every section that judges."""
    found = report.report_on(paper, *report.everything(FIGURES, NOTEBOOKS))
    with pytest.raises(ValueError, match="faults"):
        report.render(TEMPLATES[paper], replace(found, claims=found.claims.assign(low=-inf, high=inf, letter="U")))
    for section in re.split(r"^## ", TEMPLATES[paper], flags=re.MULTILINE)[1:]:
        if not re.match(r"[12]\. ", section):
            assert re.search(r"\{\{ (stands|holds|partly|weaker|level|open|falls|not_\w+|within)\(", section), section[
                :30
            ]


@each_template
def test_the_committed_report_names_the_seed_of_its_claims_and_the_number_of_runs(paper):
    text = (FIGURES / "reports" / f"{paper}.md").read_text(encoding="utf-8")
    (seed,) = {json.loads(file.read_text())["parameters"]["seed"] for file in (FIGURES / paper).glob("*.json")}
    assert f"seed {seed}" in text and seeds.runs_of(paper, FIGURES / "seeds.csv") in text


@pytest.mark.parametrize(
    ("value", "words"),
    [([5, 10, 35], "5 to 35"), ([0.1, 1e-4, 1e-300], "0.1 to 1e-300"), ([1000, 1000, 0], "1000, 1000, 0"), ([7], "7")],
)
def test_a_list_of_values_is_a_range_only_if_it_is_ordered(value, words):
    assert report._value(value) == words
