"""figures/README.md explains every column of every csv below figures/, and no column that is not there.

Its headings are read: `## <folder>`, below it `### ` with the names of the files in backticks. A column is explained
where it stands in backticks in the first cell of a table's row, in the section of its file or in the shared table.
"""

import csv
import re
from pathlib import Path

import pytest

FIGURES = Path(__file__).resolve().parents[2] / "figures"
SHARED = "Columns that many files share"
NO_NAME = "(no name)"  # how the page calls a column with an empty header
TICKED = re.compile(r"`([^`]+)`")


def sections(page):
    """{(file, ...): explained columns} of the page, files as paths below figures/; the shared table is under ()."""
    found: dict[tuple, set] = {}
    folder, files = "", None
    for line in page.splitlines():
        if line.startswith("## "):
            folder = line[3:].strip()
            files = () if folder == SHARED else None
        elif line.startswith("### "):
            below = "" if folder == "claims" else f"{folder}/"
            files = tuple(below + name for name in TICKED.findall(line))
        if files is not None:
            explained = found.setdefault(files, set())
            if line.startswith("|"):
                explained |= set(TICKED.findall(line.split("|")[1]))
    return found


def headers():
    """{file: its columns} of every csv below figures/."""
    found = {}
    for path in sorted(FIGURES.rglob("*.csv")):
        with path.open(encoding="utf-8", newline="") as lines:
            found[path.relative_to(FIGURES).as_posix()] = [name or NO_NAME for name in next(csv.reader(lines))]
    return found


def own(found, file):
    """The columns explained in the section of this file; None if it has none."""
    names = {file, re.sub(r"^(claims)/.*", r"\1/*.csv", file)}
    return next((explained for files, explained in found.items() if names & set(files)), None)


def unexplained(found, file, columns):
    """What is missing on the page about one file, in words."""
    section = own(found, file)
    if section is None:
        return [f"no heading names {file}"]
    return [f"{file}: `{name}` is not explained" for name in columns if name not in section | found[()]]


def stale(found, files):
    """What the page says of files or columns that are not there, in words. files : {file: its columns}."""
    anywhere = {name for columns in files.values() for name in columns}
    yield from (f"no csv has the shared column `{name}`" for name in sorted(found[()] - anywhere))
    for named, explained in found.items():
        yield from (f"{name} is not there" for name in named if "*" not in name and name not in files)
        there = {name for file in files if own({named: explained}, file) is not None for name in files[file]}
        yield from (f"{', '.join(named)}: no such column `{name}`" for name in sorted(explained - there) if there)


PAGE = sections((FIGURES / "README.md").read_text(encoding="utf-8"))
FILES = headers()


@pytest.mark.parametrize("file", FILES)
def test_every_column_is_explained(file):
    assert not unexplained(PAGE, file, FILES[file])


def test_nothing_is_explained_that_is_not_there():
    assert not list(stale(PAGE, FILES))


def test_no_file_stands_under_two_headings():
    named = [name for files in PAGE for name in files]
    assert len(named) == len(set(named))


def test_links_are_relative_and_lead_to_files():
    links = re.findall(r"\]\(([^)]+)\)", (FIGURES / "README.md").read_text(encoding="utf-8"))
    assert links and not [link for link in links if not (FIGURES / link).exists()]


def test_gaps_and_leftovers_are_found():
    shared, toy = "| `run` | number |\n| `gone` | x |", "### `a.csv`, `b.csv`\n| `x, y` | `z` |\n| `old` | |"
    page = f"## {SHARED}\n{shared}\n## toy\n{toy}\n"
    found, files = sections(page), {"toy/a.csv": ["run", "x, y"], "toy/c.csv": ["run"]}
    assert not unexplained(found, "toy/a.csv", ["run", "x, y"])
    assert unexplained(found, "toy/b.csv", ["z"]) == ["toy/b.csv: `z` is not explained"]
    assert unexplained(found, "toy/c.csv", ["run"]) == ["no heading names toy/c.csv"]
    assert list(stale(found, files)) == [
        "no csv has the shared column `gone`",
        "toy/b.csv is not there",
        "toy/a.csv, toy/b.csv: no such column `old`",
    ]
