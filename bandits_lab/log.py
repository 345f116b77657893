"""The log of a Lab: a csv that a person can read, to which entries are added and from which nothing is removed.

# bandits_lib log 2 of rage
# delta = 0.05
# arms = [[1.0, 0.0], [0.0, 1.0]]
request,arm,asked,count,sum,squares

1,0,86,0,0,0                                    request 1 asks for 86 pulls of arm 0 ...
1,1,86,0,0,0                                    ... and 86 pulls of arm 1

1,0,0,86,103.24,185.1                           these pulls were made and told together
1,1,0,86,2.1,80.3
# done after request 1                          the algorithm ended; else the rows of request 2

An entry ends with an empty line. Text after the last empty line was cut short by a kill: it does not count, and the
next save turns it into a remark. Other lines that begin with # are remarks. The first entry asks. Each of the others
is one Sample, with the next request if the Sample completed the last one, or one of these steps:

# dropped arms 3: no more of it                 arm 3 is not asked for any more; the open request is planned again,
1,3,-40,0,0,0                                   with 40 pulls of arm 3 less
1,1,12,0,0,0                                    and 12 pulls of arm 1 more

# undone: the last entry                        the rows of that entry with their signs turned
1,0,0,-86,-103.24,-185.1

0,0,0,25,30.1,54.2                              request 0: 25 pulls of arm 0, measured before the experiment

1,0,0,25,30.1,54.2                              these pulls answer request 1
0,0,0,-25,-30.1,-54.2                           and leave the measurements made before

So `asked` and `count` add up for every request and arm. `pandas.read_csv(path, comment="#")` reads the file, and
`Lab(rage(**arguments(path)), path)` continues the experiment; pass functions and random generators again.
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
    """Pulls of one arm, either asked for (`asked`) or made (`count`, `sum`, `squares`)."""

    line: int  # in the file; 0 without a file
    request: int  # from 1; 0 for measurements made before
    arm: int  # 0..K-1
    asked: int  # pulls; asked or count is 0
    count: int  # type: ignore[assignment]
    sum: float  # of the rewards
    squares: float  # sum of the squared rewards


class Entry(NamedTuple):
    """What one step of an experiment adds to its log."""

    told: tuple[Row, ...]  # of one Sample; empty in the first entry
    asked: tuple[Row, ...] = ()  # of the next request; empty while the last one is open
    done: int | None = None  # number of the request after which the algorithm ended
    stock: tuple[Row, ...] = ()  # measurements made before; those that answer a request have the sign turned
    changed: tuple[Row, ...] = ()  # changes of the open request, or the undone rows with the sign turned
    dropped: tuple[int, ...] = ()  # arms
    undone: int = 0  # number of entries that are undone
    reason: str = ""  # of a dropped arm, a closed request or an undone entry


def entry(request, sample=None, asked=None, done=False, **more):
    """Return the Entry of a Sample that answers a request (0 at first), with the next request or the end."""
    pulled: Iterable[int] = [] if sample is None else np.flatnonzero(sample.counts)
    told = (Row(0, request, int(k), 0, int(sample.counts[k]), sample.sums[k], sample.squares[k]) for k in pulled)
    return Entry(tuple(told), () if asked is None else changes(request + 1, asked), request if done else None, **more)


def changes(request, more, dropped=()):
    """Return rows for the pulls that a request asks for in addition (K,), and one for every dropped arm."""
    arms = np.union1d(np.flatnonzero(more), np.asarray(dropped, dtype=np.int64))
    return tuple(Row(0, request, int(k), int(more[k]), 0, 0.0, 0.0) for k in arms)


def undoing(undone, reason=""):
    """Return the Entry that undoes the last entries of a log, given in their order."""
    rows = (row for e in reversed(undone) for row in _rows(e))
    turned = (Row(0, r.request, r.arm, -r.asked, -r.count, 0 - r.sum, 0 - r.squares) for r in rows)
    return Entry((), changed=tuple(turned), undone=len(undone), reason=reason)


def standing(entries):
    """Return the entries that are not undone."""
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
    """Return the text of an Entry in the file, with the empty line that ends it."""
    rows = [f"{r.request},{r.arm},{r.asked},{r.count},{r.sum:.17g},{r.squares:.17g}" for r in _rows(entry)]
    end = [f"# done after request {entry.done}"] if entry.done is not None else []
    return "\n".join([*_title(entry), *rows, *end, "", ""])


def _title(entry):
    """The first line of an Entry that does more than tell and ask."""
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
    """Return the Entry in the lines [(number, line), ...] of a file."""
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
    for row in rows:
        wrong = row.asked or not row.count if row.request == 0 else (row.asked == 0) == (row.count == 0)
        if wrong or row.arm < 0 or row.request and min(row[1:5]) < 0:
            raise ValueError(f"line {row.line}: one of asked and count must be positive and the other 0")
    stock, rows = tuple(r for r in rows if r.request == 0), [r for r in rows if r.request]
    return Entry(tuple(r for r in rows if r.count), tuple(r for r in rows if r.asked), stock=stock)


def fields(number, texts, columns, kinds):
    try:
        return [kind(text) for kind, text in zip(kinds, texts, strict=True)]
    except ValueError:
        raise ValueError(f"line {number}: {','.join(texts)!r} is not {columns}") from None


HEAD = "# bandits_lib log "
ARGUMENT = re.compile(r"# (\w+) = (.*)")
MACHINE = "another processor, version of the library or rounding of the arms"


class Log(NamedTuple):
    """A log in a file."""

    experiment: Experiment
    head: str  # text of the first lines
    entries: list[Entry]
    size: int  # bytes up to the end of the last whole entry
    torn: str  # text after the last whole entry


def head(experiment):
    """Return the first lines of an Experiment's log, with the empty line that ends them."""
    lines = sorted((f"# {name} = {json.dumps(value)}" for name, value in experiment.arguments.items()), key=len)
    return "\n".join([f"{HEAD}2 of {experiment.rule}", *lines, COLUMNS, "", ""])


def read(path: str | os.PathLike) -> Log:
    """Return the content of a log that `Lab.save` wrote.

    Parameters
    ----------
    path : path or str
        The file.

    Returns
    -------
    Log
        Rule, arguments and entries.

    Raises
    ------
    ValueError
        For a file that is no log, with the line.
    FileNotFoundError
        If there is no file at the path.

    Examples
    --------
    >>> from bandits_lab import Lab
    >>> from bandits_lib.fixed_confidence import rage
    >>> Lab(rage(np.eye(2), delta=0.05)).save("log.csv")
    >>> read("log.csv").experiment.rule
    'rage'
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(
            f"there is no log {path}: a new experiment begins with Lab(algorithm), and its log with lab.save(path)"
        )
    try:
        return parse(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path}, {error}") from None


def arguments(path: str | os.PathLike) -> dict[str, Any]:
    """Return the arguments with which the rule of a log was called, to call it again.

    Parameters
    ----------
    path : path or str
        The file.

    Returns
    -------
    dict
        Numbers, strings, None, and arrays for lists of numbers. Functions and random generators are left out.

    Raises
    ------
    ValueError
        For a file that is no log, with the line.
    FileNotFoundError
        If there is no file at the path.

    Examples
    --------
    >>> from bandits_lab import Lab
    >>> from bandits_lib.fixed_confidence import rage
    >>> Lab(rage(np.eye(2), delta=0.05)).save("log.csv")
    >>> arguments("log.csv")["delta"]
    0.05
    """
    log = read(path)
    told, gone = log.experiment.arguments, GONE.get(log.experiment.rule, {})
    apart = {*gone, "history"} if told.get("history") else gone
    plain = {name: value for name, value in told.items() if not isinstance(value, dict) and name not in apart}
    found = {name: np.array(value) if isinstance(value, list) else value for name, value in plain.items()}
    return found | ({"history": _history(told["history"])} if told.get("history") else {})


def _history(value):
    if len(value) == 2:
        return np.array(value[0]), _history(value[1])
    return Sample(*map(np.array, value))


def check_same(log, experiment):
    """Refuse the log of another experiment."""
    if clauses := differences(log.experiment, experiment):
        raise ValueError(
            f"line 1: the log is of another experiment: {'; '.join(clauses)}. "
            "To go on with it, call the rule with what the log's first lines say "
            "(`bandits_lab.log.arguments` reads it)"
        )


def parse(data):
    """Return the Log in the content of a file."""
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
    """Write a log with the texts of its entries, or add the entries that its file lacks."""
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
    """The log in the file, if its entries are the first of `texts`."""
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
