"""The README's python runs as it stands, and its pictures exist."""

import re
from pathlib import Path

import pytest

from bandits_lab.rules import rules_for

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=[block.split("\n")[0] for block in BLOCKS])
def test_python_blocks_run(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "README.md", "exec"), {})


@pytest.mark.parametrize("path", re.findall(r"\]\((?!http)([^)#]+)\)", README))
def test_links_and_pictures_exist(path):
    assert (ROOT / path).exists()


def test_the_table_of_rules_is_the_librarys():
    columns = ["given", "asks", "situation", "paper"]
    rows = [f"| `{row.Index}` | {' | '.join(row[1:])} |" for row in rules_for()[columns].itertuples()]
    assert "\n".join(["| rule | given | asks | situation | paper |", "|---|---|---|---|---|", *rows]) in README


def test_the_bibtex_is_that_of_papers_bib():
    assert (ROOT / "papers.bib").read_text(encoding="utf-8").strip() in README


def test_the_readme_is_short():
    assert len(README.encode()) < 25_000


def test_every_notebook_is_in_the_table():
    table = re.findall(r"^\| \[(\w+)\]\(notebooks/\1\.ipynb\)", README, flags=re.MULTILINE)
    assert sorted(table) == sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
