"""The log of a Lab: a csv that a person can read, to which entries are added and from which none is lost.

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
asks; each of the others is one Sample, and what was asked next if that answered its request. Other lines that begin
with # are remarks, and what a kill cut short becomes one. `pandas.read_csv(path, comment="#")` reads it; per request
and arm `asked` and `count` add up.
"""

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bandits_lib.lab import log_1
from bandits_lib.lab.experiment import GONE, Experiment, differences
from bandits_lib.lab.lock import locked

COLUMNS = "request,arm,asked,count,sum,squares"
HEAD = "# bandits_lib log "
ARGUMENT = re.compile(r"# (\w+) = (.*)")
ANOTHER = "save this one under another name"
MACHINE = "another processor, version of the library or rounding of the arms"


class Row(NamedTuple):
    """Pulls of one arm that a request asked for (`asked`), or that came back (`count`, `sum`, `squares`).

    line : in the file, 0 if not from one; request : its number, from 1; arm : 0..K-1; asked, count : pulls, one of them
    0; sum, squares : of the rewards and of their squares, in units of reward.

    >>> Row(0, 1, 0, 86, 0, 0.0, 0.0).asked
    86
    """

    line: int
    request: int
    arm: int
    asked: int
    count: int  # type: ignore[assignment]
    sum: float
    squares: float


class Entry(NamedTuple):
    """What one step of an experiment adds to its log.

    told : Rows of one Sample, none at the beginning; asked : Rows of the request that is open since then, none if it
    was open before; done : number of the request after which the algorithm was done, None if it was not.

    >>> Entry((), (), 3).done
    3
    """

    told: tuple[Row, ...]
    asked: tuple[Row, ...] = ()
    done: int | None = None


class Log(NamedTuple):
    """A log as it was read.

    version : 1 or 2; experiment : Experiment, of version 1 with its hash alone; head : text of the first lines; entries
    : list of Entry; size : bytes up to the end of the last whole entry; torn : text after it, cut short by a kill.

    >>> from bandits_lib.lab.experiment import Experiment
    >>> Log(2, Experiment("rage", {}), "", [], 0, "").entries
    []
    """

    version: int
    experiment: Experiment
    head: str
    entries: list[Entry]
    size: int
    torn: str


def entry(request, sample=None, asked=None, done=False):
    """The log's entry for a Sample told, and for the request or the end that it led to.

    request : number of the one answered, 0 at the beginning; sample : Sample or None; asked : counts (K,) of the next
    request, None if the present one is still open; done : whether the algorithm is done. Returns an Entry.

    >>> entry(0, asked=np.array([2, 0, 1])).asked[1]
    Row(line=0, request=1, arm=2, asked=1, count=0, sum=0.0, squares=0.0)
    """
    pulled: Iterable[int] = [] if sample is None else np.flatnonzero(sample.counts)
    told = (Row(0, request, int(k), 0, int(sample.counts[k]), sample.sums[k], sample.squares[k]) for k in pulled)
    wanted: Iterable[int] = [] if asked is None else np.flatnonzero(asked)
    next_rows = (Row(0, request + 1, int(k), int(asked[k]), 0, 0.0, 0.0) for k in wanted)
    return Entry(tuple(told), tuple(next_rows), request if done else None)


def head(experiment):
    """The first lines of an experiment's log.

    experiment : Experiment. Returns a str, the empty line that ends it included.

    >>> from bandits_lib.lab.experiment import Experiment
    >>> print(head(Experiment("rage", {"delta": 0.05})).splitlines()[1])
    # delta = 0.05
    """
    lines = sorted((f"# {name} = {json.dumps(value)}" for name, value in experiment.arguments.items()), key=len)
    return "\n".join([f"{HEAD}2 of {experiment.rule}", *lines, COLUMNS, "", ""])


def text(entry):
    """An entry as it stands in the file.

    entry : Entry. Returns a str, the empty line that ends it included.

    >>> from bandits_lib.lab.log import Entry, Row
    >>> print(text(Entry((), (Row(0, 1, 0, 86, 0, 0.0, 0.0),))).strip())
    1,0,86,0,0,0
    """
    rows = [f"{r.request},{r.arm},{r.asked},{r.count},{r.sum:.17g},{r.squares:.17g}" for r in entry.told + entry.asked]
    return "\n".join([*rows, *([f"# done after request {entry.done}"] if entry.done is not None else []), "", ""])


def read(path):
    """The log in a file.

    path : written by `Lab.save`, in this version of the format or the one before. Returns a Log.
    Raises FileNotFoundError, and ValueError with the line number for what is no log.

    >>> from bandits_lib import Lab
    >>> from bandits_lib.fixed_confidence import rage
    >>> Lab(rage(np.eye(2), delta=0.05)).save("log.csv")
    >>> read("log.csv").experiment.arguments["delta"]
    0.05
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(
            f"there is no log {path}: a new experiment begins with Lab(algorithm), and its log with lab.save(path)"
        )
    try:
        return _parse(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path}, {error}") from None


def arguments(path):
    """What an experiment was called with, to make its algorithm once more.

    path : of a log. Returns a dict of the arguments that are numbers, words or None, lists of numbers as arrays;
    functions and random generators are left out. Raises ValueError for a log of version 1, which does not hold them.

    >>> from bandits_lib import Lab
    >>> from bandits_lib.fixed_confidence import rage
    >>> Lab(rage(np.eye(2), delta=0.05)).save("log.csv")
    >>> lab = Lab(rage(**arguments("log.csv")), "log.csv")
    """
    log = read(path)
    if log.version == 1:
        raise ValueError(f"{path} is a log of version 1, which holds no arguments but a hash of them")
    told, gone = log.experiment.arguments, GONE.get(log.experiment.rule, {})
    plain = {name: value for name, value in told.items() if not isinstance(value, dict) and name not in gone}
    return {name: np.array(value) if isinstance(value, list) else value for name, value in plain.items()}


def check_same(log, experiment):
    """Refuse the log of another experiment.

    log : Log; experiment : Experiment. Raises ValueError that names what differs.

    >>> from bandits_lib import Lab, log
    >>> from bandits_lib.fixed_confidence import rage
    >>> lab = Lab(rage(np.eye(2), delta=0.05))
    >>> lab.save("log.csv")
    >>> check_same(log.read("log.csv"), lab.experiment)
    """
    if log.version == 1:
        if log.experiment.version_1 != experiment.version_1:
            raise ValueError(
                f"line 1: the log is of another experiment: it says {log.head!r}, this is {experiment.rule}, "
                f"experiment {experiment.version_1}. A log of version 1 has a hash for its arguments and cannot tell "
                f"which differ: the rule, arms, items, delta, the seed of rng, or a last digit of the arms ({MACHINE})"
            )
    elif clauses := differences(log.experiment, experiment):
        raise ValueError(
            f"line 1: the log is of another experiment: {'; '.join(clauses)}. "
            "To go on with it, call the rule with what the log's first lines say "
            "(`bandits_lib.lab.log.arguments` reads it)"
        )


def save(path, experiment, first, texts):
    """Bring the file up to date: write a new log, or add to one the entries that it lacks.

    path : the file; experiment : Experiment; first : head of a new log; texts : list of all entries, from `text`.
    Safe against a kill at any byte. Raises ValueError, and leaves the file as it is, if it holds anything but the
    beginning of these entries; OSError, naming the file, if it cannot be written.

    >>> from bandits_lib.lab.experiment import Experiment
    >>> from bandits_lib.lab.log import entry, head, read, text
    >>> experiment = Experiment("rage", {"delta": 0.05})
    >>> save("log.csv", experiment, head(experiment), [text(entry(0, asked=np.array([86, 86])))])
    >>> len(read("log.csv").entries)
    1
    """
    path = Path(os.path.realpath(path))
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent} to save {path.name} in: create it")
    with locked(path):
        data = path.read_bytes() if path.exists() else b""
        if data and not path.stat().st_mode & 0o200:
            raise PermissionError(f"{path} is read-only: make it writable, or {ANOTHER}")
        whole = (first + "".join(texts)).encode()
        if data and whole.startswith(data):  # also where the last save was cut short
            _append(path, len(data), whole[len(data) :])
        elif not data or (log := _continued(path, data, experiment, texts)).version == 1:
            _replace(path, whole)
        else:
            new = "".join(texts[len(log.entries) :])
            left_out = "".join(f"# left out: {line}\n" for line in log.torn.splitlines())
            if new:
                _append(path, log.size, (left_out + new).encode())


def _continued(path, data, experiment, texts):
    """The log in the file, which is a beginning of `texts`; ValueError for anything else."""
    try:
        log = _parse(data)
        check_same(log, experiment)
    except ValueError as error:
        raise ValueError(f"{path} is left as it is: {error}. Or {ANOTHER}") from None
    there, here = list(map(text, log.entries)), texts
    if log.version == 1:
        there, here = _told(there), _told(here)
    pairs = enumerate(zip(there, here, strict=False))
    same = next((i for i, (one, other) in pairs if one != other), min(len(there), len(here)))
    if same < len(there):
        pulls = sum(row.count for e in log.entries for row in e.told)
        raise ValueError(
            f"{path} is left as it is: another Lab has saved there since this one was opened. The file holds {pulls} "
            f"pulls, {'all of this Lab and more' if same == len(here) else 'and others than this Lab was told'}. "
            f"Open it with Lab(algorithm, {str(path)!r}) and tell it what it lacks, or {ANOTHER}"
        )
    return log


def _told(texts):
    """The lines of what was told, in entries or in many of them."""
    lines = (line for text in texts for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#") and line.split(",")[2] == "0"]


def _append(path, size, added):
    """Write at the end of the first `size` bytes, on what a kill may have left after them."""
    with open(path, "r+b") as file:
        file.truncate(size)
        file.seek(size)
        file.write(added)
        file.flush()
        os.fsync(file.fileno())


def _replace(path, whole):
    """A new file at once, or none: the old one stands until the new one is on the disk."""
    draft = path.with_name(path.name + ".part")
    with open(draft, "wb") as file:
        file.write(whole)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, path)


# --- reading


def _parse(data):
    try:
        lines = data.decode("utf-8-sig").splitlines(keepends=True)
    except UnicodeDecodeError:
        raise ValueError("line 1: this is no log of bandits_lib but another kind of file") from None
    first = lines[0].strip() if lines else ""
    if first.startswith(log_1.HEAD):
        return _version_1(first, lines, len(data))
    if not first.startswith(HEAD):
        raise ValueError(f"line 1: this is no log of bandits_lib: it says {first[:60]!r}")
    if not first.startswith(f"{HEAD}2 of "):
        raise ValueError(f"line 1: {first[:60]!r} is of a later version of the library: install that one")
    return _version_2(first, lines, data)


def _version_2(first, lines, data):
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
    entries = [found for block in rest if (found := _entry(block)) != Entry(())]
    return Log(2, experiment, "".join(lines[: opening[-1][0] + 1]), entries, len(data) - len(torn.encode()), torn)


def _argument(number, line):
    try:
        name, value = ARGUMENT.fullmatch(line).groups()  # type: ignore[union-attr]
        return name, json.loads(value)
    except (AttributeError, ValueError):
        raise ValueError(f"line {number}: {line[:60]!r} is not '# argument = value'") from None


def _entry(block):
    rows, done = [], None
    for number, line in block:
        if found := re.fullmatch(r"# done after request (\d+)", line):
            done = int(found[1])
        elif not line.startswith("#"):
            rows.append(Row(number, *_fields(number, line.split(","), (int, int, int, int, float, float))))
    for row in rows:
        if min(row[1:5]) < 0 or (row.asked == 0) == (row.count == 0):
            raise ValueError(f"line {row.line}: one of asked and count must be positive and the other 0")
    return Entry(tuple(row for row in rows if row.count), tuple(row for row in rows if row.asked), done)


def _fields(number, fields, kinds):
    try:
        return [kind(field) for kind, field in zip(kinds, fields, strict=True)]
    except ValueError:
        columns = COLUMNS if len(kinds) == 6 else log_1.COLUMNS
        raise ValueError(f"line {number}: {','.join(fields)!r} is not {columns}") from None


def _version_1(first, lines, size):
    if (lines[1].strip() if len(lines) > 1 else "") != log_1.COLUMNS:
        raise ValueError(f"line 2: the columns must be {log_1.COLUMNS}")
    rows = [Row(line, request, arm, 0, *rest) for line, request, arm, *rest in log_1.told(lines[2:], _fields)]
    entries = [Entry((), _asked(rows, 1))]
    for row, after in zip(rows, [*rows[1:], *rows[-1:]], strict=True):
        if row.count < 1 or row.arm < 0:
            raise ValueError(f"line {row.line}: count must be positive and arm at least 0")
        entries.append(Entry((row,), _asked(rows, after.request) if after.request != row.request else ()))
    rule, _, version_1 = first.removeprefix(log_1.HEAD).rpartition(", experiment ")
    return Log(1, Experiment(rule, {}, {}, version_1), first, entries, size, "")


def _asked(rows, request):
    """What a request of version 1 asked for: the pulls told; of the last one, at least these."""
    told: dict[int, int] = {}
    for row in rows:
        if row.request == request:
            told[row.arm] = told.get(row.arm, 0) + row.count
    return tuple(Row(0, request, arm, count, 0, 0.0, 0.0) for arm, count in sorted(told.items()))
