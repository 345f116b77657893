"""Read tables from the csv files of spreadsheets and instruments.

A file is in UTF-8, UTF-16 or the Western code page. Its columns are separated by tabs, vertical bars, semicolons or
commas, or as a first line `sep=;` says. Numbers may have decimal commas, and points, commas, blanks or apostrophes
between thousands. Whether 1.234 is a fraction is decided by the other numbers of the file; if they do not decide it,
the number is refused. Error messages name the file, the line and the value. pandas does not report line numbers, so
`csv.reader` reads the whole text.
"""

import codecs
import csv
import io
import os
import re
import shlex
from itertools import islice
from math import isclose, isfinite
from pathlib import Path
from subprocess import list2cmdline
from typing import NamedTuple
from unicodedata import normalize

DELIMITERS = "\t|;,"  # the comma is last, because it may also be the decimal mark
SEEN = 100  # rows that decide which delimiter a file has
LARGEST = 2.0**53  # smaller whole numbers are exact as floats
CLOSE = 1e-9  # relative difference of two spellings of one number
INVISIBLE = dict.fromkeys(map(ord, "\u200b\u2060\ufeff"))  # characters without width that copying leaves behind
TYPED = str.maketrans("−–﹣－’ʼ´", "----'''")  # other forms of the minus sign and the apostrophe
OTHER = {".": ",", ",": "."}  # the other decimal mark, which may separate thousands
NUMBER = r"[+-]?(?=[.,]?\d)(?:\d+|[1-9]\d{{0,2}}([{}' ])\d{{3}}(?:\1\d{{3}})*)?(?:[{}]\d*)?(?:e[+-]?\d+)?"
NUMBERS = {mark: re.compile(NUMBER.format(other, mark), re.IGNORECASE) for mark, other in OTHER.items()}
UNIT = re.compile(
    r"([€$£¥]?) ?([+-]?\d(?:[\d.,' ]*\d)?) ?((?!e[+-]?\d)[%°µμ‰Ω€$£¥a-z][\w%°/·.^²³*-]{0,11})?", re.IGNORECASE
)
MONTH = "(?:jan|feb|mar|mär|mrz|apr|may|mai|jun|jul|aug|sept?|oct|okt|nov|dec|dez)"
SEVERAL = re.compile(r"\d+[:/]\d+(:\d+)?([.,]\d+)?|[+-]?[\d.,]+ ?(±|\+/?-) ?[\d.,]+")
DATE = re.compile(rf"\d{{1,2}}[-. ]+{MONTH}\.?([-. ]+\d+)?|{MONTH}[-. ]+\d+|\d{{4}}-\d\d-\d\d 0?0:00.*", re.IGNORECASE)
HINTS = {
    re.compile("true|false|yes|no", re.IGNORECASE): ": write 1 and 0",
    SEVERAL: ": write one number, such as minutes, a ratio or a mean",
    DATE: ": a spreadsheet may have turned the entry into a date; type it again",
}


def label(name):
    """Return a name in the form in which names are compared: Unicode form NFC, single blanks, none around it."""
    return " ".join(normalize("NFC", str(name)).translate(INVISIBLE).split())


def typed(option, *names):
    """Return an option as it must be typed for each of the names, which may have blanks, quotes, $, commas or minus."""
    quote = shlex.quote if os.name != "nt" else lambda text: list2cmdline([text])
    return " ".join(f"{option}{'=' if name.startswith('-') else ' '}{quote(name)}" for name in names)


class Table(NamedTuple):
    """The content of a file, with column names in lower case."""

    rows: list[tuple[int, dict[str, str]]]  # (line, {column: text})
    delimiter: str
    own: dict[str, str]  # {column: its name as in the file}
    unnamed: list[int]  # numbers of the columns that have entries and no name
    path: str
    first: int  # line with the names of the columns

    def at(self, *lines):
        return f"line{'s' * (len(lines) > 1)} {' and '.join(map(str, lines))} of {self.path}"


def table(path, text=None):
    """Return a file as a `Table`; `text` replaces the content of the file."""
    text = decoded(Path(path).read_bytes(), path) if text is None else text
    said = re.match(r'"?sep=(.)"?[,;\t]*(\r\n|\r|\n|$)', text, re.IGNORECASE)
    text, skipped = (text[said.end() :], 1) if said else (text, 0)
    fits = {mark: _fit(_rows(text, mark, SEEN)[0]) for mark in (said[1] if said else DELIMITERS)}
    delimiter = max(fits, key=lambda mark: fits[mark]) if max(fits.values()) > (0, 1) else [*fits][-1]
    found, wrong = _rows(text, delimiter)
    if wrong:
        raise ValueError(f"line {wrong[0] + skipped} of {path}: {wrong[1]}; is a quotation mark open?")
    (first, heading), *rows = [(line + skipped, cells) for line, cells in found] or [(skipped + 1, [])]
    filled = {i for _, cells in rows for i, cell in enumerate(cells) if cell}
    if heading and 0 in filled and not heading[0] and "arm" not in map(str.lower, heading):
        heading[0] = "arm"  # an index, which pandas and R write without a name
    names = [name.lower() for name in heading]
    if twice := next((name for name in names if name and names.count(name) > 1), ""):
        same = " and ".join(repr(name) for name in heading if name.lower() == twice)
        raise ValueError(f"line {first} of {path}: there are columns {same}, with the same name: rename one")
    own, found = {name.lower(): name for name in heading if name}, []
    for line, cells in rows:
        if any(cells[len(names) :]) or any(names[len(cells) :]):
            raise ValueError(
                f"line {line} of {path} has {len(cells)} fields, and line {first}, which names the columns, has "
                f"{len(names)}: quote entries that contain {delimiter!r}, and delete titles and notes around the table"
            )
        row = {name: cell for name, cell in zip(names, cells, strict=False) if name}
        if row != own:  # files that were put together repeat the heading
            found.append((line, row))
    unnamed = [i + 1 for i, name in enumerate(names) if not name and i in filled]
    if headless(own, found):
        raise ValueError(
            f"line {first} of {path} has numbers like those below: insert a line with the names of the columns above "
            "it; or, if these are the names, begin each with a letter"
        )
    return Table(found, delimiter, own, unnamed, str(path), first)


def _number(text):
    number = value(text, ".")
    return value(text, ",") if number is None else number


def headless(own, rows):
    """Return whether the first line looks like another row: each column of numbers has a number as its name.

    At least one of these names lies in the range of its column. Names such as 400 of a spectrum do not.
    """
    inside = []
    for column, name in own.items():
        values = [_number(row.get(column, "")) for _, row in rows]
        if values and None not in values:
            inside.append(None if (number := _number(name)) is None else min(values) <= number <= max(values))
    return None not in inside and any(inside)


def _rows(text, delimiter, most=None):
    """Return (line, cells) of the rows that are not empty, and (line, error) if an error ends them.

    Remarks that begin with # above the table are left out. They have fewer fields than the table.
    """
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True, strict=True)
    rows, line, wrong = [], 1, None
    try:
        for row in islice(reader, most):
            cells = [label(re.sub(r'^="(.*)"$', r"\1", cell)) for cell in row]
            rows += [(line, cells)] * any(cells)
            line = reader.line_num + 1
    except csv.Error as error:
        wrong = line, error
    widest = max((_used(cells) for _, cells in rows), default=0)
    while rows and rows[0][1][0].startswith("#") and _used(rows[0][1]) < widest:
        del rows[0]
    return rows, wrong


def _used(cells):
    return max(i for i, cell in enumerate(cells, 1) if cell)


def _fit(rows):
    """Return how many rows have the columns of the first, if it has two, and the most fields of a row."""
    width = _used(rows[0][1]) if rows else 0
    fit = sum(1 < width and _used(cells) <= width <= len(cells) for _, cells in rows)
    return fit, max((_used(cells) for _, cells in rows), default=0)


def decoded(data, path):
    """Return the text of the bytes of a file in UTF-8, UTF-16 or the Western code page."""
    if data.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"%PDF")):
        raise ValueError(f"{path} is a workbook or document, not a csv: save the sheet as CSV UTF-8")
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    for encoding in ("utf-16",) if wide else ("utf-8-sig", "cp1252"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError as error:
            line, wrong = data[: error.start].count(b"\n") + 1, f"this is not text in {encoding}"
    raise ValueError(f"line {line} of {path}: {wrong}: correct the letters, and save the file as CSV UTF-8")


def value(text, mark):
    """Return the finite number that a text is with this decimal mark, or None."""
    text = text.translate(TYPED).removeprefix("'")
    if not NUMBERS[mark].fullmatch(text):
        return None
    number = float(re.sub(f"[{OTHER[mark]}' ]", "", text).replace(mark, "."))
    return number if isfinite(number) else None


def with_unit(text):
    """Return the number and the unit of a text such as 12 mV or $10, both as texts, or None."""
    found = UNIT.fullmatch(text.translate(TYPED))
    return (found[2], found[1] or found[3]) if found and (found[1] or found[3]) else None


class Numbers:
    """A reader of the numbers in a file; its decimal `mark` is a point, a comma, or "" if the file does not show it.

    If the comma is the delimiter, and no number shows the mark, the mark is the point. A number with the unit `unit`
    is read, and `hint` ends the error message for a text that is no number.
    """

    def __init__(self, texts, delimiter, unit="", hint=""):
        self.unit, self.hint = label(unit), hint
        read = [(text, value(text, "."), value(text, ",")) for text in map(self._bare, texts)]
        points = sum(comma is None for _, point, comma in read if point is not None)
        commas = sum(point is None for _, point, comma in read if comma is not None)
        unclear = any("," in text and point != comma for text, point, comma in read)
        if points or commas:
            self.mark = "." if points >= commas else ","
        else:
            self.mark = "." if delimiter == "," and not unclear else ""

    def _bare(self, text):
        return label(text).removesuffix(self.unit).strip()

    def __call__(self, text, name="", where=""):
        """Return a text as a finite number; the error message names it and says where it is."""
        bare, said = self._bare(text), " ".join(filter(None, (where and f"{where}:", name, repr(text))))
        point, comma = value(bare, "."), value(bare, ",")
        if not self.mark and point != comma and None not in (point, comma):
            thousand = max(point, comma, key=abs)
            raise ValueError(
                f"{said} may be a fraction or a thousand: write {bare}0 if it is a fraction, or {thousand:.12g} if it "
                "is a thousand"
            )
        if (number := comma if self.mark == "," else point) is None:
            raise ValueError(f"{said} is not a finite number{self._instead(bare) or self.hint}")
        return number

    def whole(self, text, name="", where=""):
        """Return a text as a whole number of at least 0."""
        number = self(text, name, where)
        unclear = self.mark and self.mark in text and value(text, OTHER[self.mark]) is not None
        if unclear or number % 1 or not 0 <= number < LARGEST:
            limits = "without a point or a comma" if unclear else "of at least 0, below 2^53"
            raise ValueError(f"{where}: {name} must be a whole number {limits}; got {text!r}")
        return int(number)

    def _instead(self, text):
        """Return what to write instead of a text that is no number."""
        if value(text, OTHER[self.mark or "."]) is not None:
            one, other = ("point", "points") if self.mark == "." else ("comma", "commas")
            return f", where the other numbers have {other}: write it with a {one}"
        if found := with_unit(text):
            share = ", or its hundredth if the others are shares" if found[1] == "%" else ""
            return f": write it in {self.unit}" if self.unit else f": leave the unit out, and write {found[0]}{share}"
        return next((said for kind, said in HINTS.items() if kind.fullmatch(text)), "")


def respelled(text, entry, entries):
    """Return whether a text is another spelling of an `entry`, a number or a word, and of no other of the `entries`.

    A number may have been rounded to fewer decimals, as spreadsheets do.
    """
    if isinstance(entry, str):
        numbers = [{value(one, mark) for mark in OTHER} - {None} for one in (text, entry)]
        return text not in entries and (text.casefold() == entry.casefold() or bool(numbers[0] & numbers[1]))
    for mark in OTHER:
        decimals = len(text.partition(mark)[2])
        if (number := value(text, mark)) is None:
            continue
        if isclose(number, entry, rel_tol=CLOSE) or decimals and round(entry, decimals) == number not in entries:
            return True
    return False


def nearly(text):
    """Return whether a text is a number for a person, or was one before a spreadsheet changed it."""
    return any(value(text, mark) is not None for mark in OTHER) or bool(SEVERAL.fullmatch(text) or DATE.fullmatch(text))
