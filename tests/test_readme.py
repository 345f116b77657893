"""Examples in README and docs/ run and show what their comments say, links lead somewhere, tables are complete."""

import ast
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml

from bandits_companion import notebook_runs
from bandits_lab import rules_for
from bandits_lab.__main__ import main
from bandits_lib.figures import style

ROOT = Path(__file__).resolve().parent.parent
PAGES = {path: path.read_text(encoding="utf-8") for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))}
README = PAGES[ROOT / "README.md"]


def blocks(language):
    """The blocks of a language on all pages, each with the name of its page."""
    found = {path: re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL) for path, text in PAGES.items()}
    return [pytest.param(block, id=f"{path.stem}-{k}") for path in found for k, block in enumerate(found[path])]


def page(name):
    return PAGES[ROOT / "docs" / f"{name}.md"]


def false_comments(block, capsys):
    """Run a block; comments that do not begin with what their line shows ("..." stands for anything).

    A line shows what it prints, or its value unless that is the None of a call.
    """
    found, space = [], {}
    for statement in ast.parse(block).body:
        if not isinstance(statement, ast.Expr):
            exec(compile(ast.Module([statement], []), "README.md", "exec"), space)
            continue
        value = eval(compile(ast.Expression(statement.value), "README.md", "eval"), space)
        shown = capsys.readouterr().out.strip() or repr(value)
        comment = block.splitlines()[statement.end_lineno - 1].partition("  # ")[2]
        told = comment.removeprefix("-> ")
        if not comment or (told == comment and shown == "None" and isinstance(statement.value, ast.Call)):
            continue
        ends = [match.start() for match in re.finditer(r"[:;,]? |$", told)]
        patterns = [re.escape(told[:end]).replace(re.escape("..."), ".+") for end in ends]
        found += [] if any(re.fullmatch(pattern, shown) for pattern in patterns) else [f"{comment!r}: {shown}"]
    return found


@pytest.mark.parametrize("block", blocks("python"))
def test_python_blocks_show_what_their_comments_say(block, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert not false_comments(block, capsys)


def false_console(block, capsys):
    """Run the commands of a block; those that do not print what stands below ("..." stands for any lines)."""
    found = []
    for command, _, told in (part.partition("\n") for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]):
        program = "python -m bandits_lab "
        assert command.startswith(program) and main(shlex.split(command.removeprefix(program))) == 0, command
        shown = capsys.readouterr().out
        pattern = re.escape(told).replace(re.escape("...\n"), "(?:.*\n)*")
        found += [] if re.fullmatch(pattern, shown) else [f"{command}: {shown}"]
    return found


@pytest.mark.parametrize("block", blocks("console"))
def test_console_blocks_show_what_the_commands_print(block, tmp_path, monkeypatch, capsys):
    (tmp_path / "notebooks").mkdir()
    shutil.copy(ROOT / "notebooks" / "example_arms.csv", tmp_path / "notebooks")
    monkeypatch.chdir(tmp_path)
    assert not false_console(block, capsys)


@pytest.mark.slow
def test_the_page_of_your_own_rule_shows_what_the_command_prints():
    command, told = re.search(r"\$ python (notebooks/run.py own .*)\n((?:.*\n)*?)```", page("your_own_rule")).groups()
    asked = [sys.executable, *shlex.split(command)]
    shown = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True, timeout=1_800).stdout
    assert re.fullmatch(re.escape(told).replace(re.escape("...\n"), "(?:.*\n)*"), shown), shown


def test_the_check_of_one_minute_prints_the_row_of_its_claim():
    command = re.search(r"```\n(awk .*?)```", page("checking"), re.DOTALL)[1]
    printed = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert re.fullmatch(r"fiez2019_5a_benchmark/rage_static@text,.*\n", printed)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_links_and_pictures_exist(path):
    addresses = re.findall(r'\]\((?!http)([^)#]+)|src="([^"]+)"', PAGES[path])
    assert not [found for found in map("".join, addresses) if not (path.parent / found).exists()]


def test_the_table_of_rules_is_the_librarys():
    columns = ["given", "asks", "situation", "paper"]
    rows = [f"| `{row.Index}` | {' | '.join(row[1:])} |" for row in rules_for()[columns].itertuples()]
    assert "\n".join(["| rule | given | asks | situation | paper |", "|:-|:-|:-|:-|:-|", *rows]) in page("rules")


def test_the_number_of_rules_is_the_librarys():
    assert f"All {len(rules_for())} rules" in README


def test_the_counted_rows_of_other_papers_are_those_of_the_table():
    rows = pd.read_csv(ROOT / "figures" / "companion" / "other_papers.csv")
    close = rows["apart"].abs() <= 3
    assert rows.loc[~close, "reason"].notna().all()
    assert f"In {close.sum()} of its {len(rows)} rows the two differ by at most three standard errors" in README


def test_the_names_of_rules_are_those_of_the_pictures():
    page = (ROOT / "figures" / "README.md").read_text(encoding="utf-8")
    named = page.partition("<!-- names -->")[2].partition("<!-- end names -->")[0]
    named = dict(re.findall(r"^\| (\w+) \| (.*?) \|$", named, re.M))
    assert named.pop("key") == "name" and {key: style.label(key) for key in named} == named and "rage" in named


def test_the_minutes_of_the_papers_scale_are_those_of_paper_yaml():
    plan = yaml.safe_load((ROOT / "notebooks" / "paper.yaml").read_text(encoding="utf-8"))
    assert notebook_runs.minutes(plan) in page("paper_scale")


def test_the_bibtex_is_that_of_papers_bib():
    assert (ROOT / "papers.bib").read_text(encoding="utf-8").strip() in page("citing")


def test_every_page_is_linked_from_the_readme():
    assert set(re.findall(r"\]\((docs/\w+\.md)\)", README)) == {
        f"docs/{path.name}" for path in PAGES if path.parent != ROOT
    }


def test_every_notebook_is_in_the_table():
    table = re.findall(r"^\| \[(\w+)\]\(\.\./notebooks/\1\.ipynb\)", page("notebooks"), flags=re.MULTILINE)
    assert sorted(table) == sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
