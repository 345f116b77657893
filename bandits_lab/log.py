"""What one step of an experiment adds to its log: as rows, and as the text that stands in the file.

Nothing is ever taken out of a log. What is taken back is entered once more with the sign turned, as in bookkeeping, so
that per request and arm `asked` and `count` always add up:

# dropped arms 3: no more of it                 arm 3 is asked for no more; the open request, planned anew, is
1,3,-40,0,0,0                                   40 pulls of arm 3 less
1,1,12,0,0,0                                    and 12 pulls of arm 1 more

# undone: the last entry                        as if the last entry were not there
1,0,0,-86,-103.24,-185.1

0,0,0,25,30.1,54.2                              request 0: measured before the experiment, 25 pulls of arm 0, ...

1,0,0,25,30.1,54.2                              ... which answer request 1 and
0,0,0,-25,-30.1,-54.2                           are there no more

Versions of the library that do not know these rows refuse them, by line.

The log of a Lab: a csv that a person can read, to which entries are added and from which none is lost.

# bandits_lib log 2 of rage
# delta = 0.05
# arms = [[1.0, 0.0], [0.0, 1.0]]
request,arm,asked,count,sum,squares

1,0,86,0,0,0                                    request 1 asks for 86 pulls of arm 0
1,1,86,0,0,0

1,0,0,86,103.24,185.1                           86 pulls of it, told together with ...
1,1,0,86,2.1,80.3
# done after request 1                          ... which the algorithm was done; or the rows of request 2

An entry ends with an empty line: what follows the last one was cut short by a kill and does not count. The first entry
asks; each of the others is one Sample, and what was asked next if that answered its request, or a step that `entries`
shows: arms dropped, a request closed, a step undone, measurements made before. Other lines that begin
with # are remarks, and what a kill cut short becomes one. `pandas.read_csv(path, comment="#")` reads it; per request
and arm `asked` and `count` add up. `Lab(rage(**arguments(path)), path)` makes the experiment once more from its log,
with functions and random generators to be given anew.

One writer at a time: a lock that the system takes back when its holder dies, so that no kill leaves it behind.

A log brought up to date on the disk: what stands there stays, new entries are added, and no kill loses any.
"""

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bandits_lab.experiment import GONE, Experiment, differences
from bandits_lib.files import append, locked, replace
from bandits_lib.protocol import Sample

COLUMNS = "request,arm,asked,count,sum,squares"
DONE = re.compile(r"# done after request (\d+)")
DROPPED = re.compile(r"# dropped arms (\d+(?: \d+)*)(?:: (.*))?")
CLOSED = re.compile(r"# closed as it is(?:: (.*))?")
UNDONE = re.compile(r"# undone: the last (?:entry|(\d+) entries)(?:: (.*))?")


class Row(NamedTuple):
    """Pulls of one arm that a request asked for (`asked`), or that came back (`count`, `sum`, `squares`)."""

    line: int  # in the file, 0 if not from one
    request: int  # its number, from 1; 0 for what was measured before
    arm: int  # 0..K-1
    asked: int  # pulls; of asked and count one is 0
    count: int  # type: ignore[assignment]
    sum: float  # of the rewards
    squares: float  # of the rewards: their sum


class Entry(NamedTuple):
    """What one step of an experiment adds to its log."""

    told: tuple[Row, ...]  # of one Sample, none at the beginning
    asked: tuple[Row, ...] = ()  # of the request that is open since then, none if it was open before
    done: int | None = None  # number of the request after which the algorithm was done, None if it was not
    stock: tuple[Row, ...] = ()  # measured before: what came, or, with the sign turned, what was told of it
    changed: tuple[Row, ...] = ()  # what the open request asks for more or less, or what is undone, sign turned
    dropped: tuple[int, ...] = ()  # arms
    undone: int = 0  # how many entries before it this one takes back
    reason: str = ""  # for a drop, a closed request or an undone entry, in words


def entry(request, sample=None, asked=None, done=False, **more):
    """The Entry for a Sample that answers a request (0 at the beginning), and for the request or end that it led to."""
    pulled: Iterable[int] = [] if sample is None else np.flatnonzero(sample.counts)
    told = (Row(0, request, int(k), 0, int(sample.counts[k]), sample.sums[k], sample.squares[k]) for k in pulled)
    wanted: Iterable[int] = [] if asked is None else np.flatnonzero(asked)
    next_rows = (Row(0, request + 1, int(k), int(asked[k]), 0, 0.0, 0.0) for k in wanted)
    return Entry(tuple(told), tuple(next_rows), request if done else None, **more)


def changes(request, more, dropped=()):
    """Rows for what an open request asks for more (K,), or less; one for every arm that is dropped."""
    arms = np.union1d(np.flatnonzero(more), np.asarray(dropped, dtype=np.int64))
    return tuple(Row(0, request, int(k), int(more[k]), 0, 0.0, 0.0) for k in arms)


def undoing(undone, reason=""):
    """The Entry that takes back the last entries of a log, given in their order."""
    rows = (row for e in reversed(undone) for row in _rows(e))
    turned = (Row(0, r.request, r.arm, -r.asked, -r.count, 0 - r.sum, 0 - r.squares) for r in rows)
    return Entry((), changed=tuple(turned), undone=len(undone), reason=reason)


def standing(entries):
    """The entries that are not undone; ValueError with the line of one that takes back what is not there."""
    left: list[Entry] = []
    for e in entries:
        if not e.undone:
            left.append(e)
            continue
        last = left[len(left) - e.undone :] if e.undone < len(left) else []
        if [row[1:] for row in undoing(last).changed] != [row[1:] for row in e.changed]:
            raise ValueError(f"line {e.changed[0].line}: takes back what is not in the last {e.undone} entries")
        del left[len(left) - e.undone :]
    return left


def _rows(entry):
    return entry.told + entry.stock + entry.changed + entry.asked


def text(entry):
    """An Entry as it stands in the file, with the empty line that ends it."""
    rows = [f"{r.request},{r.arm},{r.asked},{r.count},{r.sum:.17g},{r.squares:.17g}" for r in _rows(entry)]
    end = [f"# done after request {entry.done}"] if entry.done is not None else []
    return "\n".join([*_title(entry), *rows, *end, "", ""])


def _title(entry):
    """The line that says what an entry is, if it is not simply told and asked."""
    reason = f": {entry.reason}" if entry.reason else ""
    if entry.dropped:
        return [f"# dropped arms {' '.join(map(str, entry.dropped))}{reason}"]
    if entry.undone:
        return [f"# undone: the last {'entry' if entry.undone == 1 else f'{entry.undone} entries'}{reason}"]
    if entry.changed:
        return [f"# closed as it is{reason}"]
    if entry.stock:
        return ["# answered by what was measured before" if entry.told else "# measured before"]
    return []


def parse_entry(block):
    """The Entry that stands in the lines [(number, line), ...] of a file."""
    rows: list[Row] = []
    found: dict[str, Any] = {}
    change = False
    for number, line in block:
        if match := DONE.fullmatch(line):
            found["done"] = int(match[1])
        elif match := DROPPED.fullmatch(line):
            found |= {"dropped": tuple(map(int, match[1].split())), "reason": match[2] or ""}
        elif match := UNDONE.fullmatch(line):
            found |= {"undone": int(match[1] or 1), "reason": match[2] or ""}
        elif match := CLOSED.fullmatch(line):
            change, found["reason"] = True, match[1] or ""
        elif not line.startswith("#"):
            rows.append(Row(number, *fields(number, line.split(","), COLUMNS, (int, int, int, int, float, float))))
    if not rows and (change or found.keys() - {"done", "reason"}):
        raise ValueError(f"line {block[0][0]}: rows must follow {block[0][1]!r}")
    if found.get("undone"):
        return Entry((), changed=tuple(rows), **found)
    if change or found.get("dropped"):
        first = min(row.request for row in rows)
        changed = tuple(row for row in rows if row.request == first)
        rows = [row for row in rows if row.request != first]
        return _checked(rows)._replace(changed=changed, **found)
    return _checked(rows)._replace(**found)


def _checked(rows):
    """The Entry of rows that are told, asked or measured before."""
    for row in rows:
        wrong = row.asked or not row.count if row.request == 0 else (row.asked == 0) == (row.count == 0)
        if wrong or row.arm < 0 or row.request and min(row[1:5]) < 0:
            raise ValueError(f"line {row.line}: one of asked and count must be positive and the other 0")
    stock, rows = tuple(r for r in rows if r.request == 0), [r for r in rows if r.request]
    return Entry(tuple(r for r in rows if r.count), tuple(r for r in rows if r.asked), stock=stock)


def fields(number, texts, columns, kinds):
    """The numbers that one line of a file holds, of these kinds; a ValueError says that it should hold the columns."""
    try:
        return [kind(text) for kind, text in zip(kinds, texts, strict=True)]
    except ValueError:
        raise ValueError(f"line {number}: {','.join(texts)!r} is not {columns}") from None


HEAD = "# bandits_lib log "
ARGUMENT = re.compile(r"# (\w+) = (.*)")
MACHINE = "another processor, version of the library or rounding of the arms"


class Log(NamedTuple):
    """A log as it was read."""

    experiment: Experiment
    head: str  # text of the first lines
    entries: list[Entry]
    size: int  # bytes up to the end of the last whole entry
    torn: str  # text after it, cut short by a kill


def head(experiment):
    """The first lines of an Experiment's log, with the empty line that ends them."""
    lines = sorted((f"# {name} = {json.dumps(value)}" for name, value in experiment.arguments.items()), key=len)
    return "\n".join([f"{HEAD}2 of {experiment.rule}", *lines, COLUMNS, "", ""])


def read(path):
    """The `Log` that `Lab.save` wrote to a file; a ValueError names the line of what is no log."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(
            f"there is no log {path}: a new experiment begins with Lab(algorithm), and its log with lab.save(path)"
        )
    try:
        return parse(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path}, {error}") from None


def arguments(path):
    """The arguments in a log that are numbers, words, None or lists of numbers (as arrays), to make its rule again."""
    log = read(path)
    told, gone = log.experiment.arguments, GONE.get(log.experiment.rule, {})
    apart = {*gone, "history"} if told.get("history") else gone
    plain = {name: value for name, value in told.items() if not isinstance(value, dict) and name not in apart}
    found = {name: np.array(value) if isinstance(value, list) else value for name, value in plain.items()}
    return found | ({"history": _history(told["history"])} if told.get("history") else {})


def _history(value):
    """A Sample, or (features, Sample), from their lists."""
    if len(value) == 2:
        return np.array(value[0]), _history(value[1])
    return Sample(*map(np.array, value))


def check_same(log, experiment):
    """Refuse the log of another experiment, with a ValueError that names what differs."""
    if clauses := differences(log.experiment, experiment):
        raise ValueError(
            f"line 1: the log is of another experiment: {'; '.join(clauses)}. "
            "To go on with it, call the rule with what the log's first lines say "
            "(`bandits_lab.log.arguments` reads it)"
        )


def parse(data):
    """The Log in the content of a file; a ValueError names the line that cannot be right."""
    try:
        lines = data.decode("utf-8-sig").splitlines(keepends=True)
    except UnicodeDecodeError:
        raise ValueError("line 1: this is no log of bandits_lib but another kind of file") from None
    first = lines[0].strip() if lines else ""
    if not first.startswith(HEAD):
        raise ValueError(f"line 1: this is no log of bandits_lib: it says {first[:60]!r}")
    if not first.startswith(f"{HEAD}2 of "):
        raise ValueError(f"line 1: {first[:60]!r} is of a later version of the library: install that one")
    blocks, block = [], []
    for number, line in enumerate(lines, start=1):
        if line.strip(" ,\r\n") or not line.endswith("\n"):
            block.append((number, line.strip().rstrip(",")))
        elif block:
            blocks.append(block)
            block = []
    if not blocks:
        raise ValueError("line 1: the first save was cut short, and nothing was in it: remove the file")
    torn = "".join(lines[block[0][0] - 1 :]) if block else ""
    opening, *rest = blocks
    if opening[-1][1] != COLUMNS:
        raise ValueError(f"line {opening[-1][0]}: the columns must be {COLUMNS}")
    experiment = Experiment(first.partition(" of ")[2], dict(_argument(*found) for found in opening[1:-1]))
    entries = [found for block in rest if (found := parse_entry(block)) != Entry(())]
    return Log(experiment, "".join(lines[: opening[-1][0] + 1]), entries, len(data) - len(torn.encode()), torn)


def _argument(number, line):
    try:
        name, value = ARGUMENT.fullmatch(line).groups()  # type: ignore[union-attr]
        return name, json.loads(value)
    except (AttributeError, ValueError):
        raise ValueError(f"line {number}: {line[:60]!r} is not '# argument = value'") from None


ANOTHER = "save this one under another name"


def save(path, experiment, first, texts):
    """Write a log, its head and the texts of all entries, or add what the file lacks if it holds their beginning."""
    path = Path(os.path.realpath(path))
    with locked(path):
        data = path.read_bytes() if path.exists() else b""
        whole = (first + "".join(texts)).encode()
        if data and whole.startswith(data):  # also where the last save was cut short
            append(path, whole[len(data) :], len(data))
        elif not data:
            replace(path, whole)
        else:
            log = _continued(path, data, experiment, texts)
            new = "".join(texts[len(log.entries) :])
            left_out = "".join(f"# left out: {line}\n" for line in log.torn.splitlines())
            if new:
                append(path, (left_out + new).encode(), log.size)


def _continued(path, data, experiment, texts):
    """The log in the file, which is a beginning of `texts`; ValueError for anything else."""
    try:
        log = parse(data)
        check_same(log, experiment)
    except ValueError as error:
        raise ValueError(f"{path} is left as it is: {error}. Or {ANOTHER}") from None
    there, here = list(map(text, log.entries)), texts
    pairs = enumerate(zip(there, here, strict=False))
    same = next((i for i, (one, other) in pairs if one != other), min(len(there), len(here)))
    if same < len(there):
        pulls = sum(row.count for e in log.entries for row in (e.changed if e.undone else e.told) if row.request)
        raise ValueError(
            f"{path} is left as it is: another Lab has saved there since this one was opened. The file holds {pulls} "
            f"pulls, {'all of this Lab and more' if same == len(here) else 'and others than this Lab was told'}. "
            f"Open it with Lab(algorithm, {str(path)!r}) and tell it what it lacks, or {ANOTHER}"
        )
    return log
