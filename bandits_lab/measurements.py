"""Read measurements from csv files of spreadsheets and instruments, and find rows that were told before.

A file is in UTF-8, UTF-16 or the Western code page. Its columns are separated by commas, semicolons or tabs, or as a
first line `sep=;` says. Numbers may have decimal commas. The columns are arm,reward (a row per pull) or
arm,count,sum,squares, in any order; other columns are ignored. A cell without a reward (empty, NaN, NA, null, none) is
a failed measurement: it is not counted, and the Lab still asks for it. Error messages name the line. pandas does not
report line numbers, so this module parses the file itself.

Rows may be told twice because a file is read again, or because a file holds earlier rows, a sorted copy or a part of
another file. The log keeps the arm and a hash of every row. A Lab warns if more rows agree with earlier rows than
chance explains. It uses two tests, which both suppose that the rewards of an arm are independent.

By number: a row agrees with one of n other rows of its arm with probability at most 1 - exp(-n p), where
p = step / (sqrt(2 pi) s) bounds the probability of any single value. The rewards are whole multiples of `step`, and s
is the smaller of the rule's sigma and the standard deviation of the replicates (times sqrt(n) for a sum of n pulls).
Rows with reward 0 do not count, nor do rows whose p is above COARSE (above 5 COARSE for sums). If rows of one arm agree
within one of the files compared, p is at least (ties + 1) / (pairs + 1). The number of rows that agree, in any order,
then has a binomial bound, because unequal probabilities have a smaller tail than equal ones with the same mean
(Hoeffding 1956). The bound is applied to the rows of the new file that agree with any earlier row, to those that agree
with one earlier file, and to the rows of that file that agree with the new file.

By order: the new file contains an earlier file, or is contained in it, row by row. Given the earlier file, the
probability of its values follows from Dirichlet priors of each arm around the frequencies of all arms, with the
concentrations SPREADS; a small concentration describes arms whose rewards never change. The probability of a false
warning is shared among the places where a file could lie, half of it among those where both begin with the same row.
"""

import codecs
import csv
import os
import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from math import isfinite, pi, sqrt
from pathlib import Path
from typing import NamedTuple
from unicodedata import normalize
from zlib import crc32

import numpy as np
from scipy.special import bdtrc, gammaln, logsumexp

from bandits_lab.noise import within
from bandits_lib.protocol import Sample, total

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

    arm: int
    count: int  # type: ignore[assignment]
    sum: float
    squares: float
    more: str = ""  # text of the other columns
    line: int = 0  # line in its file

    @property
    def mark(self) -> str:
        """Return the arm and the hash of the row, as the log keeps them."""
        said = f"{self.count},{self.sum + 0.0:.17g},{self.squares + 0.0:.17g},{self.more}"
        return f"{self.arm}:{crc32(said.encode('utf-8', 'backslashreplace')):08x}"


class Measured(Sample):
    """A Sample with the rows of its file."""

    rows: tuple[Raw, ...] = ()


def raw_rows(sample):
    """Return the rows of a file, or one row for each arm of a Sample that was told directly."""
    if rows := getattr(sample, "rows", ()):
        return rows
    counts, sums, squares = map(np.asarray, sample)
    return tuple(Raw(int(k), int(counts[k]), float(sums[k]), float(squares[k])) for k in np.flatnonzero(counts))


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
    for field, number in zip(sample, raw[1:4], strict=True):
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
    return _measured(sample, rows)


def read_each(path, names) -> Iterator[Sample]:
    """Return the rows of a file of measurements as single Samples, for `Lab.tell_history`."""
    return (_measured(_add(nothing(len(names)), raw), [raw]) for _, raw in _rows(path, names))


def _measured(sample, rows):
    found = Measured(*sample)
    found.rows = tuple(rows)
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
    more = ",".join(f"{name}={row[name]}" for name in sorted(row) if name and name not in ("arm", *numeric))
    read = [numbers(row[name], name, where) for name in numeric if name != "count"]
    if max(map(abs, read)) > HUGE:
        raise ValueError(f"{where}: {max(read, key=abs):g} is too large: choose a larger unit of the reward")
    if numeric == ONE_BY_ONE[1:]:
        return where, Raw(arm, 1, read[0], read[0] ** 2, more)
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
    return where, Raw(arm, count, total, square, more)


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


# --- rows that were told before

CHANCE = 1e-3  # probability of a false warning, for each file
LEAST = 3  # rows that agree must have at least so many pulls together
COARSE = 0.1  # rows that agree with a larger probability are compared by order only
RUN = 6  # rows of the shortest file that is compared by order
TENS = 10.0 ** np.arange(16)
PARTS = np.concatenate([[1e-3, 1e-2, 0.1, 0.2, 0.5], np.arange(1.0, 1001.0), TENS[4:]])
FEW, MANY = 3, 500  # values that may be multiples of ten by chance, and values that suffice to find their step
SPREADS = np.array([[0.01], [0.1], [1.0], [3.0], [10.0], [100.0]])
NEAREST = 10  # files compared one by one, those that share most rows with the new file


class Told:
    """All rows that were told and not taken back, by file."""

    def __init__(self):
        self.of = defaultdict(list)  # {mark: files with this row}
        self.rows: Counter[int] = Counter()  # {arm: number of its rows}
        self.files: list[tuple[int, list[str]]] = []  # (number of the request, marks)
        self.places = defaultdict(list)  # {hash of RUN marks: [(file, first row), ...]}
        self.lengths: Counter[int] = Counter()  # {number of rows: number of files}
        self.sample = None  # Sample of all rows

    def take(self, sample):
        """Add a Sample to the Sample of all rows."""
        self.sample = sample if self.sample is None else total([self.sample, sample])

    def add(self, marks, request):
        """Add the rows of a file that answered a request."""
        self.rows.update(map(arm_of, marks))
        for mark in marks:
            self.of[mark].append(len(self.files))
        for i, run in enumerate(runs(marks)):
            self.places[run].append((len(self.files), i))
        self.files.append((request, list(marks)))
        self.lengths[len(marks)] += 1


def arm_of(mark):
    return int(mark.partition(":")[0])


def twos(numbers):
    """Return the number of pairs within groups of these sizes."""
    return sum(n * (n - 1) // 2 for n in numbers.values())


def runs(marks):
    return [hash(tuple(marks[i : i + RUN])) for i in range(len(marks) - RUN + 1)]


def told_before(rows, sample, told, sigma):
    """Return a warning if more rows agree with earlier rows than chance explains, or an empty text."""
    marks = [row.mark for row in rows]
    new: Counter[str] = Counter()
    agree, files = np.zeros(len(rows), bool), set()
    for i, mark in enumerate(marks):
        new[mark] += 1
        if new[mark] <= len(told.of.get(mark, ())):
            agree[i] = True
            files.add(told.of[mark][new[mark] - 1])
    if sum(row.count for row, again in zip(rows, agree, strict=True) if again) < LEAST:
        return ""
    if by_number(rows, agree, sample, told, sigma) > CHANCE:
        agree, files = by_order(rows, marks, told, sample, sigma)
    if not agree.any():
        return ""
    return (
        f"{agree.sum()} of these {len(rows)} rows were told before ({answered({told.files[f][0] for f in files})}): "
        "has the same file been read twice? If so, undo takes them back"
    )


def answered(requests):
    """Return in words which requests the rows answered."""
    numbers = [str(request) for request in sorted(requests) if request]
    before = ["outside a request"] if 0 in requests else []
    said = [f"in answer to request{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}"] if numbers else []
    return " and ".join(before + said)


def by_number(rows, agree, sample, told, sigma):
    """Return a bound on the probability that so many rows agree with earlier rows by chance, in any order."""
    counts = np.array([row.count for row in rows])
    if not (s := spread(sample, told, sigma)):
        return 1.0
    p, fine = _agree_by_chance(rows, s), _are_fine(rows, s)
    if counts[fine & agree].sum() < LEAST:
        return 1.0
    rest, p = [row for row, is_fine in zip(rows, fine, strict=True) if is_fine], p[fine]
    arms, new = Counter(row.arm for row in rest), Counter(row.mark for row in rest)
    shared = Counter(file for mark in new for file in told.of.get(mark, ()))
    nearest = [told.files[file][1] for file, _ in shared.most_common(NEAREST)]
    if ties := twos(Counter(row[:4] for row in rest)) + sum(twos(Counter(marks)) for marks in nearest):
        pairs = twos(arms) + sum(twos(Counter(map(arm_of, marks))) for marks in nearest)
        p = np.maximum(p, (ties + 1) / (pairs + 1))
    chance = 2 * _tail((fine & agree).sum(), p, [told.rows[row.arm] for row in rest])
    for marks in nearest:
        there, same = Counter(map(arm_of, marks)), (new & Counter(marks)).total()
        one = _tail(same, p, [there[row.arm] for row in rest])
        other = _tail(same, p.max(), [arms[arm_of(mark)] for mark in marks])
        chance = min(chance, 4 * len(told.files) * one, 4 * len(told.files) * other)
    return chance


def _agree_by_chance(rows, s):
    """Return for each row a bound on the probability that another row of its arm agrees; s: spread of a reward."""
    counts, sums, squares = np.array([row[1:4] for row in rows], float).T
    own = np.sqrt(np.maximum(squares - sums * (sums / counts), 0.0) / np.maximum(counts - 1, 1.0))
    width = np.sqrt(2 * pi * counts) * np.where(counts > 1, np.minimum(own, s), s)
    return np.minimum(step(sums) / np.maximum(width, 1e-300), 1.0)


def _are_fine(rows, s):
    """Return which rows have sums that seldom agree by chance."""
    counts, sums = np.array([row[1:3] for row in rows], float).T
    return (_agree_by_chance(rows, s) <= np.where(counts > 1, 5 * COARSE, COARSE)) & (sums != 0)


def _tail(same, p, others):
    """Return a bound on the probability that `same` rows agree with the `others` rows of their arms."""
    met = -np.expm1(-p * np.array(others))
    return float(bdtrc(int(same) - 1, len(met), met.mean()))


def spread(sample, told, sigma):
    """Return the smaller of sigma and the standard deviation of the replicates; 0 if both are unknown."""
    parts = [within(part) for part in (sample, told.sample) if part is not None]
    squares, df, _ = map(sum, zip(*parts, strict=True))
    known = [sigma] if sigma else []
    return min([*known, sqrt(squares / df)] if df else known, default=0.0)


def step(values):
    """Return the largest step of which all rounded values are multiples; below 0.001 only powers of ten are tried."""
    values = np.unique(np.abs(values[values != 0]))[:MANY]
    if not len(values):
        return 1.0
    exact = (_off(values, TENS) <= 0).all(axis=0)
    blur = 0.5 / TENS[np.argmax(exact)] if exact.any() else 0.0  # half a unit of the last digit
    parts = PARTS if len(values) >= FEW else PARTS[PARTS >= 1]
    fits = (_off(values, parts) <= np.where(parts * blur < 0.2, parts * blur, 0.0)).all(axis=0)
    return float(1 / parts[np.argmax(fits)]) if fits.any() else float(np.spacing(values[-1]))


def _off(values, parts):
    """Return by how much values differ from multiples of 1 / parts, in units of these, beyond floating-point errors."""
    scaled = values[:, None] * parts
    return np.abs(scaled - np.rint(scaled)) - 1e-12 * np.maximum(scaled, 1.0)


def by_order(rows, marks, told, sample, sigma):
    """Return which rows lie in an earlier file, or contain one, in the same order; and these files."""
    found = np.zeros(len(rows), bool)
    files: set[int] = set()
    s = spread(sample, told, sigma)
    if s and len(told.files) * np.prod(_agree_by_chance(rows, s), where=_are_fine(rows, s)) < CHANCE:
        files = {file for file in told.of.get(marks[0], ()) if told.files[file][1] == marks}
        found[:] = bool(files)
    if files or len(rows) < RUN or likelihood(rows) > CHANCE:
        return found, files
    places = sum(number * (abs(len(rows) - length) + 1) for length, number in told.lengths.items())
    for i, run in enumerate(runs(marks)):
        for file, first in told.places.get(run, ()):
            _, earlier = told.files[file]
            inside = i == 0 and earlier[first : first + len(marks)] == marks
            around = first == 0 and marks[i : i + len(earlier)] == earlier
            end = len(marks) if inside else i + len(earlier)
            share = 2 * (len(told.files) if i == first == 0 else places)
            if (inside or around) and share * likelihood(rows[i:end]) < CHANCE:
                found[i:end] = True
                files.add(file)
    return found, files


def likelihood(rows):
    """Return the probability that the rewards of rows occur again in their order, given that they occurred once."""
    arms, cells = Counter(row.arm for row in rows), Counter(row[:4] for row in rows)
    values = Counter(row[1:4] for row in rows)
    n, c = np.array([*arms.values()]), np.array([*cells.values()])
    base = SPREADS * np.array([values[cell[1:]] / len(rows) for cell in cells])

    def chance(times):  # log probability that they occur so many times
        inside = (gammaln(base + times * c) - gammaln(base)).sum(axis=1)
        return logsumexp(inside + (gammaln(SPREADS) - gammaln(SPREADS + times * n)).sum(axis=1))

    return float(np.exp(chance(2) - chance(1)))
