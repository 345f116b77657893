"""Write and read the log of a Lab, a csv that a person can read; entries are added, and nothing is removed.

# bandits_lab log 3 of rage
# names of the arms = ["plain", "bold"]
# unit of the reward = "mV"
# delta = 0.05
# arms = [[1.0, 0.0], [0.0, 1.0]]
request,arm,asked,count,sum,squares

# entry 5f1c09a2b3d4e6f7 2026-11-23T15:00:00Z       each entry has a unique id and a time (UTC)
1,0,86,0,0,0                                        request 1 asks for 86 pulls of arm 0 ...
1,1,86,0,0,0                                        ... and 86 pulls of arm 1
# end 6b1a3c9d                                      checksum (crc32) of the entry, numbers to 17 digits

# entry 0d4e6f75f1c09a2b 2026-11-24T09:12:41Z
# rows 0:0f3a9c11 1:77ab03d2 0:91c0aa5e             arm and hash of every row of the file, in its order
1,0,0,86,103.24,185.1                               these pulls were made and told together
1,1,0,86,2.1,80.3
# done after request 1                              the algorithm ended; otherwise the rows of request 2 follow
# end 20e94b7f

Empty lines are ignored, and other lines that begin with # are remarks. A last entry without its end was cut short when
the program was killed: it does not count, and the next save turns it into remarks. An entry whose checksum differs was
changed after it was written: it counts as it stands, with a warning. Changes that a spreadsheet makes to the file are
repaired: other delimiters, line ends and encodings, quotes, padding, decimal commas.

The first entry is a request. Every other entry is one Sample, followed by the next request if the Sample completed the
last one, or one of these steps (shown without their first and last lines):

# undone: the last entry                            the rows of that entry with opposite signs
1,0,0,-86,-103.24,-185.1

0,0,0,25,30.1,54.2                                  request 0: 25 pulls of arm 0, measured before the experiment

1,0,0,25,30.1,54.2                                  these pulls answer request 1
0,0,0,-25,-30.1,-54.2                               and are taken out of the earlier measurements

The columns `asked` and `count` therefore have the right sums for every request and arm. Read the file with
`pandas.read_csv(path, comment="#")`. Continue the experiment with `Lab(rage(**arguments(path)), path)`, and pass
functions and random generators again.
"""

import csv
import json
import os
import re
import secrets
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from bandits_lab.experiment import GONE, Experiment, differences
from bandits_lab.measurements import COMMA, decoded
from bandits_lib.files import append, locked, replace

COLUMNS = "request,arm,asked,count,sum,squares"
ENTRY = re.compile(r"# entry ([0-9a-f]{16}) (\S+)")
END = re.compile(r"# end ([0-9a-f]{8})")
MARKS = re.compile(r"# rows ((?:\d+:[0-9a-f]{8} ?)+)")
IN_A_LINE = 10  # marks in a line
DONE = re.compile(r"# done after request (\d+)")
CHANGED = re.compile(r"# (?:dropped arms|closed as it is).*")  # steps of release 0.3, which no Lab repeats
UNDONE = re.compile(r"# undone: the last (?:entry|(\d+) entries)(?:: (.*))?")


class Row(NamedTuple):
    """Pulls of one arm, either asked for (`asked`) or made (`count`, `sum`, `squares`)."""

    line: int  # in the file; 0 without a file
    request: int  # from 1; 0 for measurements made before
    arm: int  # 0..K-1
    asked: int  # pulls; asked or count is 0
    count: int  # type: ignore[assignment]
    sum: float  # of the rewards
    squares: float  # sum of the squared rewards


class Entry(NamedTuple):
    """The entry that one step of an experiment adds to its log."""

    told: tuple[Row, ...]  # rows of one Sample; empty in the first entry
    asked: tuple[Row, ...] = ()  # rows of the next request; empty while the last request is open
    done: int | None = None  # number of the request after which the algorithm ended
    stock: tuple[Row, ...] = ()  # earlier measurements; those that answer a request have opposite signs
    changed: tuple[
        Row, ...
    ] = ()  # the undone rows with opposite signs, or what only logs of release 0.3 have (CHANGED)
    undone: int = 0  # number of entries that are undone
    reason: str = ""  # why entries were undone
    marks: tuple[str, ...] = ()  # arm and hash of every row told, in the order of the file
    id: str = ""
    time: str = ""
    checksum: str = ""  # as in the file; "" if the entry is in no file
    line: int = 0  # in the file

    @property
    def changed_since(self) -> bool:
        """Return whether the entry was changed after it was written."""
        return self.checksum not in ("", _checksum(self))


def new(told=(), **more):
    """Return an Entry with a new id and the current time."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return Entry(tuple(told), id=secrets.token_hex(8), time=now, **more)


def entry(request, sample=None, asked=None, done=False, **more):
    """Return the Entry of a Sample that answers a request, with the next request or the end; 0: no request yet."""
    pulled: Iterable[int] = [] if sample is None else np.flatnonzero(sample.counts)
    told = (Row(0, request, int(k), 0, int(sample.counts[k]), sample.sums[k], sample.squares[k]) for k in pulled)
    wanted: Iterable[int] = [] if asked is None else np.flatnonzero(asked)
    rows = tuple(Row(0, request + 1, int(k), int(asked[k]), 0, 0.0, 0.0) for k in wanted)
    return new(told, asked=rows, done=request if done else None, **more)


def undoing(undone, reason=""):
    """Return the Entry that undoes the last entries of a log, which are given in their order."""
    return new(changed=_turned(undone), undone=len(undone), reason=reason)


def _turned(entries):
    """Return the rows of entries with opposite signs, those of the last entry first."""
    rows = (row for e in reversed(entries) for row in _rows(e))
    return tuple(Row(0, r.request, r.arm, -r.asked, -r.count, 0 - r.sum, 0 - r.squares) for r in rows)


def standing(entries):
    """Return the entries of a log that are not undone."""
    left: list[Entry] = []
    for e in entries:
        if not e.undone:
            left.append(e)
            continue
        last = left[len(left) - e.undone :] if e.undone < len(left) else []
        differ = [row[1:] for row in _turned(last)] != [row[1:] for row in e.changed]
        if differ and not any(x.changed_since for x in last):
            raise ValueError(
                f"line {e.changed[0].line}: the entry takes back rows that are not in the last {e.undone} entries"
            )
        del left[len(left) - e.undone :]
    return left


def _rows(entry):
    return entry.told + entry.stock + entry.changed + entry.asked


def text(entry):
    """Return an Entry as the file holds it."""
    return f"\n{_body(entry)}\n# end {entry.checksum or _checksum(entry)}\n"


def _checksum(entry):
    return f"{crc32(to_bytes(_body(entry))):08x}"


def _body(entry):
    parts = (entry.marks[i : i + IN_A_LINE] for i in range(0, len(entry.marks), IN_A_LINE))
    marks = [f"# rows {' '.join(part)}" for part in parts]
    rows = [f"{r.request},{r.arm},{r.asked},{r.count},{r.sum:.17g},{r.squares:.17g}" for r in _rows(entry)]
    end = [f"# done after request {entry.done}"] if entry.done is not None else []
    return "\n".join([f"# entry {entry.id} {entry.time}", *_title(entry), *marks, *rows, *end])


def _title(entry):
    """Return the line that names the step of an Entry; an empty list for rewards and requests."""
    reason = f": {entry.reason}" if entry.reason else ""
    if entry.undone:
        return [f"# undone: the last {'entry' if entry.undone == 1 else f'{entry.undone} entries'}{reason}"]
    if entry.stock:
        return ["# answered by what was measured before" if entry.told else "# measured before"]
    return []


def parse_entry(block):
    """Return the Entry that the lines [(number, line), ...] of a file hold."""
    rows: list[Row] = []
    (first, opening), *rest = block
    found: dict[str, Any] = {"line": first, "checksum": "none", "marks": ()}
    found["id"], found["time"] = opening.split()[2:]
    title = ""
    for number, line in rest:
        if match := DONE.fullmatch(line):
            found["done"] = int(match[1])
        elif match := UNDONE.fullmatch(line):
            title, found["undone"], found["reason"] = line, int(match[1] or 1), match[2] or ""
        elif CHANGED.fullmatch(line):
            title = line
        elif match := MARKS.fullmatch(line):
            found["marks"] += tuple(match[1].split())
        elif match := END.fullmatch(line):
            found["checksum"] = match[1]
        elif not line.startswith("#"):
            rows.append(Row(number, *fields(number, line.split(","), COLUMNS, (int, int, int, int, float, float))))
    if title and not rows:
        raise ValueError(f"line {first + 1}: rows must follow {title!r}; there are none")
    if found.get("undone"):
        return Entry((), changed=tuple(rows), **found)
    if title:
        at = min(row.request for row in rows)
        changed = tuple(row for row in rows if row.request == at)
        rows = [row for row in rows if row.request != at]
        return _checked(rows)._replace(changed=changed, **found)
    return _checked(rows)._replace(**found)


def _checked(rows):
    for row in rows:
        wrong = row.asked or not row.count if row.request == 0 else (row.asked == 0) == (row.count == 0)
        if wrong or row.arm < 0 or row.request and min(row[1:5]) < 0:
            raise ValueError(f"line {row.line}: of the columns asked and count, one must be positive and the other 0")
    stock, rows = tuple(r for r in rows if r.request == 0), [r for r in rows if r.request]
    return Entry(tuple(r for r in rows if r.count), tuple(r for r in rows if r.asked), stock=stock)


def fields(number, texts, columns, kinds):
    try:
        return [kind(text) for kind, text in zip(kinds, texts, strict=True)]
    except ValueError:
        raise ValueError(f"line {number}: {','.join(texts)!r} is not {columns}") from None


HEAD = "# bandits_lab log "
BEGINNING = f"{HEAD}3 of "
NAMES, UNIT = "names of the arms", "unit of the reward"
ARGUMENT = re.compile(rf"# (\w+|{NAMES}|{UNIT}) = (.*)")
MACHINE = "another version of the library, rounded arms or rewards, or a changed file that the rule reads"


class Log(NamedTuple):
    """A log in a file."""

    experiment: Experiment
    head: str  # its first lines
    entries: list[Entry]
    kept: str  # text up to the end of the last whole entry, with the changes by a spreadsheet repaired
    torn: str  # the text after `kept`


class CutShort(ValueError):
    """The error for a file that holds a part of the first lines and nothing else."""


def head(experiment):
    """Return the first lines of an Experiment's log."""
    said = {NAMES: list(experiment.names), UNIT: experiment.unit}
    named = [f"# {name} = {_json(value)}" for name, value in said.items() if value]
    lines = sorted((f"# {name} = {_json(value)}" for name, value in experiment.arguments.items()), key=len)
    return "\n".join([f"{BEGINNING}{experiment.rule}", *named, *lines, COLUMNS, ""])


def _json(value):
    return json.dumps(value, ensure_ascii=False).replace(',"', '\\u002c"')  # a spreadsheet would begin a cell at ,"


def read(path: str | os.PathLike) -> Log:
    """Return the content of a log that `Lab.save` wrote; a ValueError names the wrong line of any other file."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(
            f"there is no log {path}: begin a new experiment with Lab(algorithm), and write its log with lab.save(path)"
        )
    try:
        return parse(path.read_bytes())
    except PermissionError:
        raise PermissionError(f"{path} cannot be read: ask its owner for permission") from None
    except ValueError as error:
        raise ValueError(f"{path}, {error}") from None


def arguments(path: str | os.PathLike) -> dict[str, Any]:
    """Return the arguments of the rule of a log, to call the rule again.

    Lists of numbers become arrays. Functions and random generators are left out.
    """
    log = read(path)
    told, gone = log.experiment.arguments, GONE.get(log.experiment.rule, {})
    plain = {name: value for name, value in told.items() if not isinstance(value, dict) and name not in gone}
    return {name: np.array(value) if isinstance(value, list) else value for name, value in plain.items()}


def check_same(log, experiment):
    """Refuse the log of another experiment than `experiment`."""
    if clauses := differences(log.experiment, experiment):
        raise ValueError(
            f"line 1: the log is of another experiment: {'; '.join(clauses)}. "
            "To go on with it, use the rule, the arguments, the names and the unit in the log's first lines"
        )


def parse(data):
    """Return the Log in the content of a file."""
    try:
        lines = re.split("\r\n|\r|\n", _text(data))
    except ValueError:
        raise ValueError("line 1: this is not a log of bandits_lab but another kind of file") from None
    if whole := not lines[-1]:
        lines.pop()
    mark = next((mark for mark in ",;\t" if any(_repaired(line, mark) == COLUMNS for line in lines)), ",")
    lines = [_repaired(line, mark) for line in lines]
    first, at = lines[0] if lines else "", next((i for i, line in enumerate(lines) if line[:1] not in ("", "#")), None)
    opened = any(map(ENTRY.fullmatch, lines))
    if not opened and (first.startswith(BEGINNING) or BEGINNING.startswith(first) and not any(lines[1:])):
        if at is None or at + 1 == len(lines) and not whole and COLUMNS.startswith(lines[at]) and lines[at] != COLUMNS:
            raise CutShort("line 1: the first save was cut short before any entry: the next save writes the file anew")
    if not first.startswith(HEAD):
        raise ValueError(f"line 1: this is not a log of bandits_lab; it begins with {first[:60]!r}")
    if not first.startswith(BEGINNING):
        raise ValueError(f"line 1: {first[:60]!r} was written by another version of the library: install that version")
    if at is None or lines[at] != COLUMNS:
        raise ValueError(f"line {1 if at is None else at + 1}: the columns must be {COLUMNS}")
    given = dict(_argument(i + 1, line) for i, line in enumerate(lines[1:at], start=1) if line)
    names, unit = tuple(given.pop(NAMES, ())), given.pop(UNIT, "")
    experiment = Experiment(first.partition(" of ")[2], given, names=names, unit=unit)
    blocks, end = _blocks(lines, at + 1, whole)
    kept = "".join(f"{line}\n" for line in lines[:end])
    torn = "\n".join(lines[end:])
    return Log(experiment, "".join(f"{line}\n" for line in lines[: at + 1]), list(map(parse_entry, blocks)), kept, torn)


def _text(data):
    """Return the text of a file, whose last line may be cut within a character or, after a power cut, hold zeros."""
    end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1 if data.startswith(HEAD.encode()) else len(data)
    return decoded(data[:end], "this file") + re.sub(b"\0+", b"?", data[end:]).decode(errors="replace")


def _blocks(lines, start, whole):
    """Return the lines [(number, line), ...] of each entry, and the number of lines before one cut short."""
    blocks: list[list[tuple[int, str]]] = []
    block: list[tuple[int, str]] = []
    stray = None
    for i, line in enumerate(lines[start:], start=start):
        if ENTRY.fullmatch(line):
            if stray is not None:
                raise ValueError(
                    f"line {stray + 1}: {lines[stray]!r} belongs to no entry: an entry begins with '# entry', an id "
                    "and a time"
                )
            if block:
                blocks.append(block)
            block = [(i + 1, line)]
        elif block and line:
            block.append((i + 1, line))
            if END.fullmatch(line):
                blocks.append(block)
                block = []
        elif line and stray is None and (line[0] != "#" or i + 1 == len(lines) and not whole):
            stray = i
    return blocks, block[0][0] - 1 if block else len(lines) if stray is None else stray


def _repaired(line, mark):
    """Return a line without what a spreadsheet with the delimiter `mark` added to it."""
    line = line.strip()
    if mark != "," or line.startswith('"') or ',"' in line:
        try:
            fields = next(csv.reader([line], delimiter=mark), [])
        except csv.Error:
            return line
        if mark != ",":
            fields = [text.replace(",", ".") if COMMA.fullmatch(text.strip()) else text for text in fields]
        line = ",".join(fields)
    return line.rstrip(", ")


def _argument(number, line):
    try:
        name, value = ARGUMENT.fullmatch(line).groups()  # type: ignore[union-attr]
        return name, json.loads(value)
    except (AttributeError, ValueError):
        raise ValueError(f"line {number}: {line[:60]!r} is not '# argument = value'") from None


ANOTHER = "save this log under another name"


def save(path, experiment, first, texts):
    """Write a log with the texts of its entries, or append the entries that are missing in its file."""
    path = Path(os.path.realpath(path))
    with locked(path):
        data = path.read_bytes() if path.exists() else b""
        whole = to_bytes(first + "".join(texts))
        if data and whole.startswith(data):  # this covers a last save that was cut short
            append(path, whole[len(data) :], len(data))
        elif (log := _continued(path, data, experiment, texts)) is None:
            replace(path, whole)
        elif new := "".join(texts[len(log.entries) :]):
            kept, left_out = to_bytes(log.kept), "".join(f"# left out: {line}\n" for line in log.torn.splitlines())
            if data.startswith(kept):
                append(path, to_bytes(left_out + new), len(kept))
            else:  # a spreadsheet has rewritten the file
                replace(path, kept + to_bytes(left_out + new))


def to_bytes(text):
    """Return a text as UTF-8 bytes; other characters become escapes, which JSON reads back."""
    return text.encode("utf-8", "backslashreplace")


def _continued(path, data, experiment, texts):
    """Return the log in the file, which must continue `texts` or be continued by them; None if it has no entry."""
    try:
        log = parse(data)
        check_same(log, experiment)
    except CutShort:
        return None
    except ValueError as error:
        raise ValueError(f"{path} is left as it is: {error}. Or {ANOTHER}") from None
    pairs = zip(log.entries, texts, strict=False)
    if any(found.id != ENTRY.search(text)[1] for found, text in pairs):  # type: ignore[index]
        pulls = sum(row.count for e in log.entries for row in (e.changed if e.undone else e.told) if row.request)
        raise ValueError(
            f"{path} is left as it is: another Lab has saved there since this one was opened. The file holds {pulls} "
            "measurements, and its entries differ from those of this Lab. Open the file with "
            f"Lab(algorithm, {str(path)!r}), and tell that Lab the measurements that are missing in the file; "
            f"or {ANOTHER}"
        )
    return log
