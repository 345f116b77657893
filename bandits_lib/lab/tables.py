"""Tables as spreadsheets and instruments write them, as rows of text with their line numbers.

UTF-8 and UTF-16 with or without a mark at the beginning, or the Western code page; columns apart by comma, semicolon or
tab, or by what a first line `sep=;` says; decimal commas, and points between the thousands beside them; capitals and
spaces in the names of columns, empty lines.
"""

import codecs
import csv
import re
from math import isfinite
from pathlib import Path
from typing import NamedTuple

import numpy as np

DELIMITERS = ",;\t"
MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16", codecs.BOM_UTF8: "utf-8-sig"}
LARGEST = 2.0**53  # whole numbers below are exact as floats
MISSING = ("", "nan", "na", "n/a", "#n/a", "null", "none")  # in any case: a measurement that failed
COMMA = re.compile(r"[+-]?\d+,\d+(e[+-]?\d+)?", re.IGNORECASE)
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")  # could be a thousand and more
BOTH = re.compile(r"[+-]?\d{1,3}(?:([.,' ])\d{3})(?:\1\d{3})*(?:(?!\1)[.,]\d+)?")  # 1.234,5 or 1 234.5 or 1.234.567
UNIT = re.compile(r"([+-]?\d+(?:[.,]\d+)?)\s*(?![eE][+-]?\d)([%°µμ‰Ω]\w*|[A-Za-zµμΩ][\w%°/·.^²³*-]{0,11})")


class Table(NamedTuple):
    """A file: columns in small letters, (line, {column: text}) of each row, and what stands between the columns."""

    columns: list[str]
    rows: list[tuple[int, dict[str, str]]]
    delimiter: str


def table(path, wanted, hint=lambda columns: ""):
    """A file as a `Table`; `wanted` : sets of columns, one of which it must have, `hint(columns)` : what to do else."""
    lines = re.split("\r\n|\r|\n", _text(Path(path)))
    first, delimiters = 0, DELIMITERS
    if lines and (said := re.fullmatch(r'"?sep=(.)"?', lines[0], re.IGNORECASE)):
        first, delimiters = 1, said[1]
    columns, delimiter = _columns(lines[first] if len(lines) > first else "", delimiters, wanted)
    if not any(needed <= set(columns) for needed in wanted):
        known = " or ".join(",".join(sorted(needed, key=needed_first)) for needed in wanted)
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
    """The `Table` without the columns that have neither name nor content."""
    kept = {i for _, fields in rows for i, (name, text) in enumerate(fields) if name or text}
    kept |= {i for i, name in enumerate(columns) if name}
    named = [(line, {name: text for i, (name, text) in enumerate(fields) if i in kept}) for line, fields in rows]
    return Table([name for i, name in enumerate(columns) if i in kept], named, delimiter)


def _fields(path, lines, first, delimiter):
    """(line, fields) of all lines from `first` on, of which a quoted field may hold several."""
    reader = csv.reader(lines[first:], delimiter=delimiter, skipinitialspace=True)
    try:
        for row in reader:
            yield reader.line_num + first, row
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num + first} of {path}: {error}; is a quotation mark open?") from None


def needed_first(name):
    """Where a column stands in a message."""
    order = ("arm", "reward", "count", "sum", "squares")
    return order.index(name) if name in order else len(order)


def _columns(line, delimiters, wanted):
    """Names of the columns, in small letters, and what stands between them."""
    split = {mark: next(csv.reader([line], delimiter=mark, skipinitialspace=True), []) for mark in delimiters}
    named = {mark: [name.strip().lower() for name in names] for mark, names in split.items()}
    right = [mark for mark, names in named.items() if any(needed and needed <= set(names) for needed in wanted)]
    best = right[0] if right else max(named, key=lambda mark: len(named[mark]))
    return named[best], best


def _text(path):
    """The content of a file, whatever the encoding."""
    data = path.read_bytes()
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
    """The numbers of one file, with points or commas for the fractions, whichever they have.

    `mark` is what the fractions have, "" if nothing tells: if all numbers with a comma or a point could be
    thousands, as 1.234 could. Columns that are apart by commas tell: their numbers have points.
    """

    def __init__(self, texts, delimiter, hint=""):
        self.hint = hint  # for what is no number
        commas = [text for text in texts if COMMA.fullmatch(text)]
        points = [text for text in texts if "." in text and _finite(text) is not None]
        if any(not THOUSANDS.fullmatch(text) for text in points):
            self.mark = "."
        elif any(not THOUSANDS.fullmatch(text) for text in commas):
            self.mark = ","
        else:
            self.mark = "." if delimiter == "," and not commas else ""

    def __call__(self, text, name, where):
        """A text as a finite number; ValueError with what it should be."""
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
        """A text as a whole number of 0 or more."""
        number = self(text, name, where)
        if THOUSANDS.fullmatch(text) and self.mark in text:
            digits = re.split("[.,]", text)
            raise ValueError(f"{where}: {name} {text!r} is no whole number: write {digits[0]} or {''.join(digits)}")
        if number % 1 or not 0 <= number < LARGEST:
            raise ValueError(f"{where}: {name} must be a whole number of at least 0, below 2^53; got {text}")
        return int(number)

    @staticmethod
    def nearly(text):
        """Whether a text looks like a number in some style."""
        return bool(COMMA.fullmatch(text) or THOUSANDS.fullmatch(text) or BOTH.fullmatch(text))

    def _instead(self, text):
        """What to write in the place of a text that is nearly a number."""
        if COMMA.fullmatch(text):
            return ", where other numbers have points: write all of them with points"
        if (unit := UNIT.fullmatch(text)) and (number := _finite(unit[1].replace(",", "."))) is not None:
            said = f"{number / 100:.12g}" if unit[2] == "%" else f"{number:.12g}"
            return f": write {said.replace('.', self.mark or '.')}"
        if BOTH.fullmatch(text):
            return f": write {_plain(text).replace('.', self.mark or '.')}"
        return ""


def _plain(text):
    """1.234,5 and 1,234.5 as 1234.5, and 1.234.567 as 1234567."""
    first = next(character for character in text if character in ".,' ")
    return text.replace(first, "").replace(",", ".")


def _finite(text):
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) and "_" not in text else None


def positions(names):
    """{label: row} of the arms' labels; ValueError for two that are the same."""
    labels = [str(name).strip() for name in names]
    found = {label: row for row, label in enumerate(labels)}
    if len(found) < len(labels):
        first = next(label for label in labels if labels.count(label) > 1)
        rows = np.flatnonzero([label == first for label in labels])
        raise ValueError(f"names must differ; {first!r} names arms {rows[0]} and {rows[1]}")
    return found
