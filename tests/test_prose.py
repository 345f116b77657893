"""Numbers that prose quotes from figures/ are those of the saved tables.

A markdown cell, README or a page of docs/ that speaks of the paper's scale names its sources in comments, which no
reader sees:
    <!-- fiez2019/fig_1b.csv: code | 10000 | lingape | mean = 10,570; ... -->
the file in figures/, the values of its leading columns that name the row, the column, and the number as it stands in
the text. The number must be in the text, and the saved value must round to it: to its decimals or, of a whole number,
to its last digit that is not 0.
"""

import re
from pathlib import Path

import pandas as pd
import pytest
from notebook_files import NAMES, load

ROOT = Path(__file__).resolve().parent.parent
COMMENT = re.compile(r"<!--\s*([\w/]+\.csv):(.*?)-->", re.S)


def quotations():
    for name in NAMES:
        for cell in load(name).cells:
            if cell.cell_type == "markdown":
                yield from quoted_in(cell.source, f"{name}-{cell.id}")
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        yield from quoted_in(path.read_text(encoding="utf-8"), path.stem)


def quoted_in(text, name):
    shown = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    for k, (source, quoted) in enumerate(COMMENT.findall(text)):
        yield pytest.param(shown, source, quoted, id=f"{name}-{Path(source).stem}-{k}")


def saved(source, *address):
    """The value in a table of figures/ at (leading columns of the row, ..., column)."""
    table = pd.read_csv(ROOT / "figures" / source, dtype=str)
    *row, column = address
    rows = table[(table.iloc[:, : len(row)] == row).all(axis=1)]
    assert len(rows) == 1, f"{len(rows)} rows of {source} begin with {row}"
    return float(rows[column].item())


def precision(number):
    """Half a unit of the last place of a number as printed: .05 for 1.8, 5 for 10,570."""
    whole, _, decimals = number.partition(".")
    places = -len(decimals) if decimals else len(whole) - len(whole.rstrip("0"))
    return 0.5 * 10.0**places * (1 + 1e-9)


def wrong(text, source, quoted):
    """What is wrong with the quotations of one comment, in words."""
    for item in quoted.split(";"):
        address, _, number = item.rpartition("=")
        number = number.strip()
        if not re.search(rf"(?<![\d.,]){re.escape(number)}(?![\d]|[.,]\d)", text):
            yield f"{number} is not in the text"
        value = saved(source, *(part.strip() for part in address.split("|")))
        if abs(value - float(number.replace(",", ""))) > precision(number.replace(",", "")):
            yield f"{address.strip()} is {value:.6g}, and the text says {number}"


@pytest.mark.parametrize("text, source, quoted", list(quotations()))
def test_quoted_numbers_are_the_saved_ones(text, source, quoted):
    assert not list(wrong(text, source, quoted))


def test_a_wrong_number_is_found():
    source, rule = "fiez2019/fig_1b.csv", "code | 10000 | lingape | mean"
    value = saved(source, *rule.split(" | "))
    near = round(value) + 2
    right, other = f"{value:,.0f}", f"{near + (near % 10 == 0):,}"  # a last digit of 0 would stand for ten numbers
    assert not list(wrong(f"LinGapE takes {right} pulls.", source, f"{rule} = {right}"))
    assert list(wrong(f"LinGapE takes {other} pulls.", source, f"{rule} = {other}"))
    assert list(wrong("LinGapE takes fewer pulls.", source, f"{rule} = {right}"))
