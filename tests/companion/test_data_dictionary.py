"""figures/README.md explains every column of every csv below figures/, and no column that is not there.

A line that begins with `- ` and names of files explains the other names in backticks in it, and so do the rows of a
table below it; `a_*` explains all names that begin with a_. The line of x.csv is also for x_runs.csv, unless that has
one. What stands above the first such line of a section holds for all files of this folder, and the section of shared
columns and the names of rules for all folders.
"""

import csv
import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

FIGURES = Path(__file__).resolve().parents[2] / "figures"
SHARED = "Columns that many files share"
NO_NAME = "(no name)"  # how the page calls a column with an empty header
TICKED = re.compile(r"`([^`]+)`")
LINE = re.compile(r"- ((?:`[^`]+\.csv`(?:, )?)+): ")
RULE = re.compile(r"(?m)^\| (\w+) \| ")  # a row of the table of names


def sections(page):
    """{(folder, (file, ...)): explained columns} of the page; (folder, ()) has what holds for the whole folder."""
    found: dict[tuple, set] = {}
    folder, files = None, ()
    for line in page.splitlines():
        if line.startswith("## "):
            folder, files = {SHARED: "", "Names of rules": None}.get(line[3:].strip(), line[3:].strip()), ()
        elif start := LINE.match(line):
            files, line = tuple(TICKED.findall(start[1])), line[start.end() :]
        if folder is not None:
            text = line.split("|")[1] if line.startswith("|") else line
            found.setdefault((folder, files), set()).update(TICKED.findall(text))
    return found


def headers():
    """{file: its columns} of every csv below figures/."""
    found = {}
    for path in sorted(FIGURES.rglob("*.csv")):
        with path.open(encoding="utf-8", newline="") as lines:
            found[path.relative_to(FIGURES).as_posix()] = [name or NO_NAME for name in next(csv.reader(lines))]
    return found


def place(file):
    """The section and the name under which the page has a file."""
    folder, _, name = file.rpartition("/")
    return ("claims", "claims/*.csv" if folder == "claims" else name) if folder in ("", "claims") else (folder, name)


def lines_of(found, file):
    """The lines of the page about one file, as keys of `found`."""
    folder, name = place(file)
    own = [key for key in found if key[0] == folder and name in key[1]]
    return own or [key for key in found if key[0] == folder and name.replace("_runs.csv", ".csv") in key[1]]


def unexplained(found, file, columns, rules=frozenset()):
    """What is missing on the page about one file, in words."""
    lines = lines_of(found, file)
    if len(lines) != 1:
        return [f"{len(lines)} lines name {file}"]
    known = found[lines[0]] | found.get((lines[0][0], ()), set()) | found.get(("", ()), set()) | rules
    missing = [column for column in columns if not any(fnmatchcase(column, name) for name in known)]
    return [f"{file}: `{column}` is not explained" for column in missing]


def stale(found, files):
    """What the page says of files or columns that are not there, in words. files : {file: its columns}."""
    for (folder, named), explained in found.items():
        there = [file for file in files if not folder or place(file)[0] == folder]
        names = {place(file)[1] for file in there}
        yield from (f"{folder}/{name} is not there" for name in named if name not in names)
        about = [file for file in there if not named or (folder, named) in lines_of(found, file)]
        columns = {column for file in about for column in files[file]}
        unused = [name for name in sorted(explained) if not any(fnmatchcase(column, name) for column in columns)]
        yield from (f"{folder} {', '.join(named)}: no such column `{name}`" for name in unused)


TEXT = (FIGURES / "README.md").read_text(encoding="utf-8")
PAGE, RULES = sections(TEXT), {*RULE.findall(TEXT.partition("<!-- names -->")[2])}
FILES = headers()


@pytest.mark.parametrize("file", FILES)
def test_every_column_is_explained_in_one_line(file):
    assert not unexplained(PAGE, file, FILES[file], RULES)


def test_nothing_is_explained_that_is_not_there():
    assert not list(stale(PAGE, FILES))


def test_links_are_relative_and_lead_to_files():
    links = re.findall(r"\]\(([^)]+)\)", TEXT)
    assert links and not [link for link in links if not (FIGURES / link).exists()]


def test_gaps_and_leftovers_are_found():
    shared, lines = "| `run` | number |\n| `gone` | x |", "`all` is it.\n- `a.csv`, `b.csv`: `x, *`: a. `old*`: b."
    page = f"## {SHARED}\n{shared}\n## toy\n{lines}"
    found, files = sections(page), {"toy/a_runs.csv": ["run", "x, y"], "toy/a.csv": ["all"], "toy/c.csv": ["run"]}
    assert not unexplained(found, "toy/a_runs.csv", ["run", "x, y", "all", "rage"], {"rage"})
    assert unexplained(found, "toy/a.csv", ["rage"], {"fws"}) == ["toy/a.csv: `rage` is not explained"]
    assert unexplained(found, "toy/b.csv", ["z"]) == ["toy/b.csv: `z` is not explained"]
    assert unexplained(found, "toy/c.csv", ["run"]) == ["0 lines name toy/c.csv"]
    assert list(stale(found, files)) == [
        " : no such column `gone`",
        "toy/b.csv is not there",
        "toy a.csv, b.csv: no such column `old*`",
    ]
