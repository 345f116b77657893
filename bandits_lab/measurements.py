"""Measurements in csv files, as spreadsheets and instruments write them.

A file is UTF-8, UTF-16 or the Western code page. Its columns are separated by commas, semicolons or tabs, or as a first
line `sep=;` says. Numbers may have decimal commas. The columns are arm,reward (a row per pull) or
arm,count,sum,squares, in any order; other columns are ignored. A cell without a reward (empty, NaN, NA, null, none) is
a failed measurement: it is not counted, and the Lab still asks for it. Errors name the line, which pandas does not
know: so this module parses the file itself.
"""

import codecs
import csv
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from math import isfinite
from pathlib import Path
from typing import NamedTuple
from unicodedata import normalize

import numpy as np

from bandits_lab.repeats import Measured, Raw
from bandits_lib.protocol import Sample

DELIMITERS = ",;\t"
MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16", codecs.BOM_UTF8: "utf-8-sig"}
LARGEST = 2.0**53  # whole numbers below are exact as floats
HUGE = 1e150  # rewards above have squares that are no floats
MISSING = ("", "nan", "na", "n/a", "#n/a", "null", "none")  # in any case: a measurement that failed
COMMA = re.compile(r"[+-]?\d+,\d+(e[+-]?\d+)?", re.IGNORECASE)
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")  # could be a thousand and more
BOTH = re.compile(r"[+-]?\d{1,3}(?:([.,' ])\d{3})(?:\1\d{3})*(?:(?!\1)[.,]\d+)?")  # 1.234,5 or 1 234.5 or 1.234.567
UNIT = re.compile(r"([+-]?\d+(?:[.,]\d+)?)\s*(?![eE][+-]?\d)([%°µμ‰Ω]\w*|[A-Za-zµμΩ][\w%°/·.^²³*-]{0,11})")


class Table(NamedTuple):
    """The content of a file, with column names in lower case."""

    columns: list[str]
    rows: list[tuple[int, dict[str, str]]]  # line, {column: text}
    delimiter: str


def table(path, wanted, hint=lambda columns: ""):
    """Return a file as a `Table` that has one of the lists of columns `wanted`; `hint` adds to the message if not."""
    lines = re.split("\r\n|\r|\n", normalize("NFC", decoded(Path(path).read_bytes(), path)))
    first, delimiters = 0, DELIMITERS
    if lines and (said := re.fullmatch(r'"?sep=(.)"?', lines[0], re.IGNORECASE)):
        first, delimiters = 1, said[1]
    columns, delimiter = _columns(lines[first] if len(lines) > first else "", delimiters, wanted)
    if not any(set(needed) <= set(columns) for needed in wanted):
        known = " or ".join(map(",".join, wanted))
        found = ",".join(columns) if any(columns) else "none"
        raise ValueError(
            f"line {first + 1} of {path}: the columns must be {known}, in any order; got {found}{hint(columns)}"
        )
    twice = sorted({name for name in columns if name and columns.count(name) > 1})
    if twice:
        raise ValueError(f"line {first + 1} of {path}: there are two columns {twice[0]!r}: rename one")
    rows = []
    for line, row in _fields(path, lines, first + 1, delimiter):
        fields = [text.strip() for text in row]
        if not any(fields):
            continue
        while len(fields) > len(columns) and not fields[-1]:
            fields.pop()
        if not any(columns[len(fields) :]):
            fields += [""] * (len(columns) - len(fields))
        if len(fields) != len(columns):
            raise ValueError(f"line {line} of {path}: {len(fields)} fields, but the first line has {len(columns)}")
        rows.append((line, list(zip(columns, fields, strict=True))))
    return _without_empty(columns, rows, delimiter)


def _without_empty(columns, rows, delimiter):
    kept = {i for _, fields in rows for i, (name, text) in enumerate(fields) if name or text}
    kept |= {i for i, name in enumerate(columns) if name}
    named = [(line, {name: text for i, (name, text) in enumerate(fields) if i in kept}) for line, fields in rows]
    return Table([name for i, name in enumerate(columns) if i in kept], named, delimiter)


def _fields(path, lines, first, delimiter):
    """(line, fields) of each row; a quoted field may hold several lines."""
    reader = csv.reader(lines[first:], delimiter=delimiter, skipinitialspace=True)
    try:
        for row in reader:
            yield reader.line_num + first, row
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num + first} of {path}: {error}; is a quotation mark open?") from None


def _columns(line, delimiters, wanted):
    """Names of the columns in lower case, and their delimiter."""
    split = {mark: next(csv.reader([line], delimiter=mark, skipinitialspace=True), []) for mark in delimiters}
    named = {mark: [name.strip().lower() for name in names] for mark, names in split.items()}
    right = [mark for mark, names in named.items() if any(needed and set(needed) <= set(names) for needed in wanted)]
    best = right[0] if right else max(named, key=lambda mark: len(named[mark]))
    return named[best], best


def decoded(data, path):
    """Return the text in the content of a file: UTF-8, UTF-16 or the Western code page."""
    if data.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        raise ValueError(f"{path} is a workbook, not a csv: save the sheet as CSV UTF-8")
    for mark, encoding in MARKS.items():
        if data.startswith(mark):
            return _decoded(path, data, encoding)
    if b"\0" in data:
        half = data[: len(data) // 2 * 2]
        return _decoded(path, data, "utf-16-le" if half[1::2].count(0) > half[::2].count(0) else "utf-16-be")
    try:
        return data.decode()
    except UnicodeDecodeError:
        return _decoded(path, data, "cp1252")


def _decoded(path, data, encoding):
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise ValueError(f"line {line} of {path}: this is no text in {encoding}: save the file as CSV UTF-8") from None


class Numbers:
    """Read the numbers of one file, whose decimal `mark` is a point, a comma, or "" if the file does not show it.

    1.234 alone may be a fraction or a thousand. In a file whose delimiter is the comma, the mark is the point.
    """

    def __init__(self, texts, delimiter, hint=""):
        self.hint = hint  # of the message for a text that is no number
        commas = [text for text in texts if COMMA.fullmatch(text)]
        points = [text for text in texts if "." in text and _finite(text) is not None]
        if any(not THOUSANDS.fullmatch(text) for text in points):
            self.mark = "."
        elif any(not THOUSANDS.fullmatch(text) for text in commas):
            self.mark = ","
        else:
            self.mark = "." if delimiter == "," and not commas else ""

    def __call__(self, text, name, where):
        """Return a text as a finite number."""
        if THOUSANDS.fullmatch(text) and not self.mark:
            raise ValueError(
                f"{where}: {name} {text!r} may be a fraction or a thousand, and nothing in the file tells which: "
                f"write {text}0 (once is enough) or {re.sub('[.,]', '', text)} (all of them)"
            )
        if COMMA.fullmatch(text) and self.mark == ",":
            return float(text.replace(",", "."))
        if (number := _finite(text)) is not None:
            return float(text.replace(".", "")) if THOUSANDS.fullmatch(text) and self.mark == "," else number
        raise ValueError(f"{where}: {name} must be a finite number; got {text!r}{self._instead(text) or self.hint}")

    def whole(self, text, name, where):
        """Return a text as a whole number of at least 0."""
        number = self(text, name, where)
        if THOUSANDS.fullmatch(text) and self.mark in text:
            digits = re.split("[.,]", text)
            raise ValueError(f"{where}: {name} {text!r} is no whole number: write {digits[0]} or {''.join(digits)}")
        if number % 1 or not 0 <= number < LARGEST:
            raise ValueError(f"{where}: {name} must be a whole number of at least 0, below 2^53; got {text}")
        return int(number)

    @staticmethod
    def nearly(text):
        """Return whether a text looks like a number."""
        return bool(COMMA.fullmatch(text) or THOUSANDS.fullmatch(text) or BOTH.fullmatch(text))

    def _instead(self, text):
        if COMMA.fullmatch(text):
            return ", where other numbers have points: write all of them with points"
        if (unit := UNIT.fullmatch(text)) and (number := _finite(unit[1].replace(",", "."))) is not None:
            said = f"{number / 100:.12g}" if unit[2] == "%" else f"{number:.12g}"
            return f": write {said.replace('.', self.mark or '.')}"
        if BOTH.fullmatch(text):
            return f": write {_plain(text).replace('.', self.mark or '.')}"
        return ""


def _plain(text):
    """1234.5 for 1.234,5 or 1,234.5, and 1234567 for 1.234.567."""
    first = next(character for character in text if character in ".,' ")
    return text.replace(first, "").replace(",", ".")


def _finite(text):
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) and "_" not in text else None


def label(name):
    """Return a name as a text to compare: without blanks around it, its letters composed as in files."""
    return normalize("NFC", str(name).strip())


def positions(names):
    """Return {label: row} of the arms, and refuse equal labels."""
    labels = [label(name) for name in names]
    found = {label: row for row, label in enumerate(labels)}
    if len(found) < len(labels):
        first = next(label for label in labels if labels.count(label) > 1)
        rows = np.flatnonzero([label == first for label in labels])
        raise ValueError(f"names must differ; {first!r} names arms {rows[0]} and {rows[1]}")
    return found


def nothing(K):
    """Return the Sample without a pull."""
    return Sample(np.zeros(K, np.int64), np.zeros(K), np.zeros(K))


def _add(sample, raw):
    for field, number in zip(sample, raw[1:4], strict=True):
        field[raw.arm] += number
    return sample


ONE_BY_ONE = ["arm", "reward"]
COUNTED = ["arm", "count", "sum", "squares"]
OUT_OF_RANGE = ". An empty cell is a measurement that failed; a reading out of range is none: leaving it out misleads"


def read_measurements(path: str | os.PathLike, names: Sequence, wanted: np.ndarray | None = None) -> Sample:
    """Return the measurements in a file as a Sample.

    Parameters
    ----------
    path : path or str
        A csv with the columns arm,reward (a row per pull) or arm,count,sum,squares (any number of pulls in a row, the
        sum of their rewards and of the squared rewards). Other columns are ignored.
    names : sequence
        K labels of the arms in the file.
    wanted : (K,) int array_like, optional
        Pulls that were asked for (`lab.ask()`), by default any number.

    Returns
    -------
    Sample
        Counts, sums and squares of the K arms.

    Raises
    ------
    ValueError
        With the line, for other columns, an unknown arm, a text that is no number, squares below sum^2 / count, or more
        pulls of an arm than `wanted`.

    Warns
    -----
    UserWarning
        If rewards are missing, with their number and lines.

    Examples
    --------
    >>> import pandas as pd
    >>> pd.DataFrame({"arm": ["plain", "bold", "plain"], "reward": [1, 0.5, 2]}).to_csv("day.csv", index=False)
    >>> read_measurements("day.csv", ["plain", "bold"]).sums.tolist()
    [3.0, 0.5]
    """
    sample, rows = nothing(len(names)), []
    for where, raw in _rows(path, names):
        if wanted is not None and sample.counts[raw.arm] + raw.count > wanted[raw.arm]:
            raise ValueError(
                f"{where}: more pulls of {names[raw.arm]} than the {wanted[raw.arm]} that were asked for: take the "
                "first n of each arm, in time; was this file told before?"
            )
        _add(sample, raw)
        rows.append(raw)
    return _measured(sample, rows)


def read_each(path, names) -> Iterator[Sample]:
    """Return the rows of a file of measurements one by one, for `Lab.tell_history`."""
    return (_measured(_add(nothing(len(names)), raw), [raw]) for _, raw in _rows(path, names))


def _measured(sample, rows):
    found = Measured(*sample)
    found.rows = tuple(rows)
    return found


def _rows(path, names):
    """[(where, Raw), ...] of a file."""
    position = positions(names)
    columns, rows, delimiter = table(path, (ONE_BY_ONE, COUNTED), hint=_without_squares)
    numeric = COUNTED[1:] if set(COUNTED) <= set(columns) else ONE_BY_ONE[1:]
    if numeric == COUNTED[1:] and "reward" in columns or numeric == ONE_BY_ONE[1:] and "count" in columns:
        raise ValueError(f"{path} has columns reward and count: leave one of them out, or rename it")
    present = [(line, row) for line, row in rows if not any(row[name].lower() in MISSING for name in numeric)]
    numbers = Numbers([row[name] for _, row in present for name in numeric], delimiter, OUT_OF_RANGE)
    found = [_row(row, numeric, position, numbers, f"line {line} of {path}") for line, row in present]
    if lines := [line for line, row in rows if any(row[name].lower() in MISSING for name in numeric)]:
        for line, row in rows:
            _arm(row, position, f"line {line} of {path}")
        shown = ", ".join(map(str, lines[:6])) + (", ..." if len(lines) > 6 else "")
        warnings.warn(
            f"{len(lines)} rows of {path} have no reward (lines {shown}): they are left out, and still asked for. That "
            "is right if it does not depend on what the reward would have been; a reading out of range is not missing",
            stacklevel=3,
        )
    return [(where, raw) for where, raw in found if raw.count]


def _without_squares(columns):
    if not {"arm", "count", "sum"} <= set(columns):
        return ""
    return ": for rewards 0 and 1 copy sum into squares; otherwise write one row per measurement, arm,reward"


def _row(row, numeric, position, numbers, where):
    """(where, Raw) of one line."""
    arm = _arm(row, position, where)
    more = ",".join(f"{name}={row[name]}" for name in sorted(row) if name and name not in ("arm", *numeric))
    read = [numbers(row[name], name, where) for name in numeric if name != "count"]
    if max(map(abs, read)) > HUGE:
        raise ValueError(f"{where}: {max(read, key=abs):g} is too large: choose a larger unit of the reward")
    if numeric == ONE_BY_ONE[1:]:
        return where, Raw(arm, 1, read[0], read[0] ** 2, more)
    count = numbers.whole(row["count"], "count", where)
    total, square = read
    if count == 0 and (total or square):
        raise ValueError(f"{where}: count must be at least 1, or sum and squares 0; got {row['count']}")
    if count and square < total**2 / count * (1 - 1e-9):
        raise ValueError(f"{where}: squares is {square:g}, below sum^2 / count = {total**2 / count:g}")
    return where, Raw(arm, count, total, square, more)


def _arm(row, position, where):
    if row["arm"] not in position:
        raise ValueError(f"{where}: unknown arm {row['arm']!r}; the arms are {some(position)}")
    return position[row["arm"]]


def some(names, most=6):
    """Return the first names, and how many there are."""
    shown = ", ".join(map(str, list(names)[:most]))
    return shown if len(names) <= most else f"{shown}, ... ({len(names)} in all)"
