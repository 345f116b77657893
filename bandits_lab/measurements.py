"""Read measurements from csv files of spreadsheets and instruments.

A file is in UTF-8, UTF-16 or the Western code page. Its columns are separated by commas, semicolons or tabs, or as a
first line `sep=;` says. Numbers may have decimal commas. The columns are arm,reward (a row per pull) or
arm,count,sum,squares, in any order; a column ticket names the measurement of each row; other columns are ignored. A
cell without a reward (empty, NaN, NA, null, none) is a failed measurement: it is not counted, and the Lab still asks
for it. Error messages name the line. pandas does not report line numbers, so this module parses the file itself.
"""

import codecs
import csv
import os
import re
import warnings
from collections.abc import Sequence
from difflib import get_close_matches
from hashlib import sha256
from math import isfinite, sqrt
from pathlib import Path
from typing import NamedTuple
from unicodedata import normalize

import numpy as np

from bandits_lib.protocol import Sample

DELIMITERS = ",;\t"
MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16", codecs.BOM_UTF8: "utf-8-sig"}
LARGEST = 2.0**53  # smaller whole numbers are exact as floats
HUGE = 1e150  # the squares of larger rewards overflow
MISSING = ("", "nan", "na", "n/a", "#n/a", "null", "none")  # a measurement that failed, in upper or lower case
COMMA = re.compile(r"[+-]?\d+,\d+(e[+-]?\d+)?", re.IGNORECASE)
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")  # the mark may separate thousands
BOTH = re.compile(r"[+-]?\d{1,3}(?:([.,' ])\d{3})(?:\1\d{3})*(?:(?!\1)[.,]\d+)?")  # 1.234,5 or 1 234.5 or 1.234.567
UNIT = re.compile(r"([+-]?\d+(?:[.,]\d+)?)\s*(?![eE][+-]?\d)([%°µμ‰Ω]\w*|[A-Za-zµμΩ][\w%°/·.^²³*-]{0,11})")


class Raw(NamedTuple):
    """One row of a file, or one arm of a Sample, as it was told."""

    ticket: str  # "" if there is none
    arm: int
    count: int  # type: ignore[assignment]
    sum: float
    squares: float
    line: int = 0  # line in its file


class Measured(Sample):
    """A Sample with the rows of its file, and the name and SHA-256 of the file."""

    rows: tuple[Raw, ...] = ()
    file = ""
    sha256 = ""


def raw_rows(sample):
    """Return the rows of a file, or one row for each arm of a Sample that was told directly."""
    if rows := getattr(sample, "rows", ()):
        return rows
    counts, sums, squares = map(np.asarray, sample)
    return tuple(Raw("", int(k), int(counts[k]), float(sums[k]), float(squares[k])) for k in np.flatnonzero(counts))


class Table(NamedTuple):
    """The content of a file, with column names in lower case."""

    columns: list[str]
    rows: list[tuple[int, dict[str, str]]]  # (line, {column: text})
    delimiter: str


def table(path, wanted, hint=lambda columns: ""):
    """Return a file as a `Table` that has one of the lists of columns `wanted`; `hint` completes the error message."""
    try:
        data = Path(path).read_bytes()
    except (PermissionError, IsADirectoryError) as error:
        raise type(error)(
            error.errno, f"{path} cannot be read ({error.strerror}): give a csv that you may read"
        ) from None
    lines = re.split("\r\n|\r|\n", normalize("NFC", decoded(data, path)))
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
    """Yield (line, fields) of each row; a quoted field may hold several lines."""
    reader = csv.reader(lines[first:], delimiter=delimiter, skipinitialspace=True)
    try:
        for row in reader:
            yield reader.line_num + first, row
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num + first} of {path}: {error}; is a quotation mark open?") from None


def _columns(line, delimiters, wanted):
    """Return the names of the columns in lower case, and their delimiter."""
    split = {mark: next(csv.reader([line], delimiter=mark, skipinitialspace=True), []) for mark in delimiters}
    named = {mark: [name.strip().lower() for name in names] for mark, names in split.items()}
    right = [mark for mark, names in named.items() if any(needed and set(needed) <= set(names) for needed in wanted)]
    best = right[0] if right else max(named, key=lambda mark: len(named[mark]))
    return named[best], best


def decoded(data, path):
    """Return the text of the bytes of a file in UTF-8, UTF-16 or the Western code page."""
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
        raise ValueError(f"line {line} of {path}: this is not text in {encoding}: save the file as CSV UTF-8") from None


def spelled(path):
    """Return {name of a column in lower case: the name as in the file}."""
    text = normalize("NFC", decoded(Path(path).read_bytes(), path))
    own = {name: re.search(re.escape(name), text, re.IGNORECASE) for name in table(path, ([],)).columns if name}
    return {name: match[0] if match else name for name, match in own.items()}


class Numbers:
    """A reader of the numbers in a file; its decimal `mark` is a point, a comma, or "" if the file does not show it.

    A number such as 1.234 may be a fraction or a thousand. If the comma is the delimiter, the mark is the point.
    """

    def __init__(self, texts, delimiter, hint="", percent=False):
        self.hint = hint  # the end of the error message for a text that is not a number
        self.percent = percent  # whether numbers are in percent, and not shares
        commas = [text for text in texts if COMMA.fullmatch(text)]
        points = [text for text in texts if "." in text and _finite(text) is not None]
        fractions = [sum(not THOUSANDS.fullmatch(text) for text in some) for some in (points, commas)]
        if any(fractions):
            self.mark = "." if fractions[0] >= fractions[1] else ","
        else:
            self.mark = "." if delimiter == "," and not commas else ""

    def __call__(self, text, name, where):
        """Return a text as a finite number."""
        if THOUSANDS.fullmatch(text) and not self.mark:
            raise ValueError(
                f"{where}: {name} {text!r} may be a fraction or a thousand, and the file does not show which: "
                f"if it is a fraction, write {text}0 here, which settles the whole file; if it is a thousand, write "
                f"{re.sub('[.,]', '', text)} and leave the separator out of all numbers of the file"
            )
        if COMMA.fullmatch(text) and self.mark == ",":
            return float(text.replace(",", "."))
        thousands = bool(THOUSANDS.fullmatch(text))
        if (number := _finite(text)) is not None and (thousands or "." not in text or self.mark == "."):
            return float(text.replace(".", "")) if thousands and self.mark == "," else number
        raise ValueError(f"{where}: {name} must be a finite number; got {text!r}{self._instead(text) or self.hint}")

    def whole(self, text, name, where):
        """Return a text as a whole number of at least 0."""
        number = self(text, name, where)
        if THOUSANDS.fullmatch(text) and self.mark in text:
            digits = re.split("[.,]", text)
            raise ValueError(f"{where}: {name} {text!r} is not a whole number: write {digits[0]} or {''.join(digits)}")
        if number % 1 or not 0 <= number < LARGEST:
            raise ValueError(f"{where}: {name} must be a whole number of at least 0, below 2^53; got {text}")
        return int(number)

    @staticmethod
    def nearly(text):
        """Return whether a text looks like a number."""
        return bool(COMMA.fullmatch(text) or THOUSANDS.fullmatch(text) or BOTH.fullmatch(text))

    def _instead(self, text):
        if COMMA.fullmatch(text) or _finite(text) is not None:
            one, other = ("point", "points") if self.mark == "." else ("comma", "commas")
            return f", where the other numbers have {other}: write it with a {one}"
        if (unit := UNIT.fullmatch(text)) and (number := _finite(unit[1].replace(",", "."))) is not None:
            said = f"{number / 100 if unit[2] == '%' and not self.percent else number:.12g}"
            return f": write {said.replace('.', self.mark or (',' if ',' in unit[1] else '.'))}"
        if BOTH.fullmatch(text):
            return f": write {_plain(text).replace('.', self.mark or '.')}"
        return ""


def _plain(text):
    """Return 1234.5 for 1.234,5 or 1,234.5, and 1234567 for 1.234.567."""
    first = next(character for character in text if character in ".,' ")
    return text.replace(first, "").replace(",", ".")


def _finite(text):
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) and "_" not in text else None


def label(name):
    """Return a name in the form in which names are compared, without blanks around it and in Unicode form NFC."""
    return normalize("NFC", str(name).strip())


def positions(names):
    """Return {label: row} of the arms, and refuse equal labels."""
    labels = [label(name) for name in names]
    found = {label: row for row, label in enumerate(labels)}
    if len(found) < len(labels):
        first = next(label for label in labels if labels.count(label) > 1)
        rows = np.flatnonzero([label == first for label in labels])
        raise ValueError(f"names must differ; {first!r} names arms {rows[0]} and {rows[1]}: rename one")
    return found


def nothing(K):
    """Return a Sample of K arms without a pull."""
    return Sample(np.zeros(K, np.int64), np.zeros(K), np.zeros(K))


def _add(sample, raw):
    for field, number in zip(sample, raw[2:5], strict=True):
        field[raw.arm] += number
    return sample


ONE_BY_ONE = ["arm", "reward"]
COUNTED = ["arm", "count", "sum", "squares"]
OUT_OF_RANGE = ". Leave a cell empty only if its measurement failed; omitting a reading out of range biases the result"


def read_measurements(
    path: str | os.PathLike,
    names: Sequence,
    wanted: np.ndarray | None = None,
    *,
    columns: tuple[str, str] = ("arm", "reward"),
    unit: str = "",
) -> Sample:
    """Return the measurements in a file as a Sample.

    Parameters
    ----------
    path : path or str
        A csv with the columns arm,reward (a row per pull) or arm,count,sum,squares (in a row the number of pulls, the
        sum of their rewards, and the sum of the squared rewards). Other columns are ignored.
    names : sequence
        K labels of the arms in the file.
    wanted : (K,) int array_like, optional
        Pulls that were asked for (`lab.ask()`); by default any number is read.
    columns : pair of str, default ("arm", "reward")
        Names of these two columns in the file.
    unit : str, default ""
        Unit of the reward, for error messages.

    Returns
    -------
    Sample
        Counts, sums and squares of the K arms.

    Raises
    ------
    ValueError
        For other columns, an unknown arm, text that is not a number, squares below sum^2 / count, and more pulls of an
        arm than `wanted`. The message names the line.

    Warns
    -----
    UserWarning
        If rewards are missing; the message gives their number and lines.

    Examples
    --------
    >>> import pandas as pd
    >>> pd.DataFrame({"arm": ["plain", "bold", "plain"], "reward": [1, 0.5, 2]}).to_csv("day.csv", index=False)
    >>> read_measurements("day.csv", ["plain", "bold"]).sums.tolist()
    [3.0, 0.5]
    """
    sample, rows = nothing(len(names)), []
    for where, raw in _rows(path, names, columns, unit):
        if wanted is not None and sample.counts[raw.arm] + raw.count > wanted[raw.arm]:
            raise ValueError(
                f"{where}: more measurements of {names[raw.arm]} than the {wanted[raw.arm]} that were asked for: keep "
                "only as many of each arm as were asked for, the earliest first. Was this file told before?"
            )
        _add(sample, raw)
        rows.append(raw)
    found = Measured(*sample)
    found.rows, found.file, found.sha256 = tuple(rows), Path(path).name, sha256(Path(path).read_bytes()).hexdigest()
    return found


def _rows(path, names, own=("arm", "reward"), unit=""):
    """Return [(place in words, Raw), ...] of the rows of a file."""
    position, own = positions(names), [label(name).lower() for name in own]
    found = table(path, (own, [own[0], *COUNTED[1:]]), hint=_without_squares)
    columns, rows, delimiter = _renamed(found, dict(zip(own, ONE_BY_ONE, strict=True)))
    numeric = COUNTED[1:] if set(COUNTED) <= set(columns) else ONE_BY_ONE[1:]
    if numeric == COUNTED[1:] and "reward" in columns or numeric == ONE_BY_ONE[1:] and "count" in columns:
        raise ValueError(f"{path} has columns reward and count: leave one of them out, or rename it")
    present = [(line, row) for line, row in rows if not any(row[name].lower() in MISSING for name in numeric)]
    texts = [row[name] for _, row in present for name in numeric]
    percent = "%" in unit or any((_finite(text.replace(",", ".")) or 0.0) > 1 for text in texts)
    numbers = Numbers(texts, delimiter, OUT_OF_RANGE, percent)
    found = []
    for line, row in present:
        where, raw = _row(row, numeric, position, numbers, f"line {line} of {path}")
        found.append((where, raw._replace(line=line)))
    if lines := [line for line, row in rows if any(row[name].lower() in MISSING for name in numeric)]:
        for line, row in rows:
            _arm(row, position, f"line {line} of {path}")
        shown = ", ".join(map(str, lines[:6])) + (", ..." if len(lines) > 6 else "")
        have, line, are = ("has", "line", "it is") if len(lines) == 1 else ("have", "lines", "they are")
        warnings.warn(
            f"{several(len(lines), 'row')} of {path} {have} no reward ({line} {shown}): {are} left out, and still "
            "asked for. Leave a reward out, empty or NaN, only if the measurement failed by accident: a reading out of "
            "range is not missing",
            stacklevel=3,
        )
    return [(where, raw) for where, raw in found if raw.count]


def _renamed(found, names):
    """Return a `Table` whose columns have the new names in `names`, without other columns of the new names."""
    new = {name: names.get(name, name) for name in found.columns if name in names or name not in names.values()}
    rows = [(line, {new[name]: text for name, text in row.items() if name in new}) for line, row in found.rows]
    return Table([*new.values()], rows, found.delimiter)


def _without_squares(columns):
    if not {"arm", "count", "sum"} <= set(columns):
        return ""
    return ": for rewards 0 and 1 copy sum into squares; otherwise write one row per measurement, arm,reward"


def _row(row, numeric, position, numbers, where):
    """Return (place in words, Raw) of one line."""
    arm = _arm(row, position, where)
    ticket = row.get("ticket", "")
    read = [numbers(row[name], name, where) for name in numeric if name != "count"]
    if max(map(abs, read)) > HUGE:
        raise ValueError(f"{where}: {max(read, key=abs):g} is too large: choose a larger unit of the reward")
    if numeric == ONE_BY_ONE[1:]:
        return where, Raw(ticket, arm, 1, read[0], read[0] ** 2)
    count = numbers.whole(row["count"], "count", where)
    total, square = read
    if count == 0 and (total or square):
        raise ValueError(
            f"{where}: count is {row['count']}, but sum or squares is not 0: give the number of measurements"
        )
    if count and square < total**2 / count * (1 - 1e-9):
        raise ValueError(
            f"{where}: squares is {square:g}, below sum^2 / count = {total**2 / count:g}: give the sum of the "
            "squared rewards"
        )
    return where, Raw(ticket, arm, count, total, square)


def _arm(row, position, where):
    if row["arm"] not in position:
        near = get_close_matches(row["arm"], position, n=2)
        raise ValueError(
            f"{where}: unknown arm {row['arm']!r}; {'is it' if near else 'the arms are'} "
            f"{' or '.join(near) + '?' if near else some(position)}"
        )
    return position[row["arm"]]


def several(number, noun):
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def some(names, most=6):
    """Return the first names as text, with their total number if there are more."""
    shown = ", ".join(map(str, list(names)[:most]))
    return shown if len(names) <= most else f"{shown}, ... ({len(names)} in all)"


# --- rewards that may be typing errors

FAR = 20  # a reward is far off if it differs by more than FAR times the spread of the others
ENOUGH = 8  # rewards needed to estimate the spread


def far_off(rows, before, names=None):
    """Return a warning about single rewards that lie far from all others, in the file or before, or an empty text."""
    single = [row for row in rows if row.count == 1]
    values = np.array([row.sum for row in single])
    if before is not None and (n := before.counts.sum()) >= ENOUGH:
        centre = before.sums.sum() / n
        width = sqrt(max(before.squares.sum() / n - centre**2, 0.0))
    elif len(values) >= ENOUGH:
        low, centre, high = np.quantile(values, (0.25, 0.5, 0.75))
        width = (high - low) / 1.349  # standard deviation of a Gaussian with these quartiles
    else:
        return ""
    far = [row for row in single if width and abs(row.sum - centre) > FAR * width]
    if not far:
        return ""
    said = []
    for row in far:
        line = f" (line {row.line})" if row.line else ""
        said.append(f"{row.sum:.10g} of {names[row.arm] if names else f'arm {row.arm}'}{line}")
    usual = f"which are about {centre:.4g} with a standard deviation of {width:.2g}"
    return f"{some(said, 3)}: far from the others, {usual}. Is it a typing error, or another unit?"
