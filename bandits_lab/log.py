"""Write and read the log of a Lab, a file with one JSON object in each line. Records are added, never changed.

{"kind": "experiment", "rule": "rage", "arguments": {"arms": ..., "delta": 0.05}, "names": ["plain", "bold"], ...}
{"kind": "asked", "request": 1, "wanted": [["plain", 86], ["bold", 86]], "tickets": [["KD1-0001", "bold"], ...], ...}
{"kind": "told", "file": "measured_0001.csv", "sha256": "...", "rows": [["KD1-0001", "bold", 1, 0.2, 0.04], ...], ...}
{"kind": "undone", "of": "0d4e6f75f1c09a2b", "reason": "of another day", ...}
{"kind": "done", "recommendation": 1, ...}

The first record describes a rule and its arguments. Numbers are the same up to a relative difference of 1e-12. Arrays,
lists and data frames of the same numbers are the same. Functions and other objects are compared by their qualified
names alone. If a log does not name an argument, its value here must be the default.

Every record also has an `id` and a `time` (UTC). A row of `rows` is a ticket or "", an arm, the number of pulls, the
sum of their rewards, and the sum of the squared rewards. Arms without names are 0..K-1. A record is on the disk before
`append` returns. A last line without its end was never acknowledged: it does not count, and the next record replaces
it.
"""

import inspect
import json
import os
import secrets
from contextlib import suppress
from datetime import UTC, datetime
from math import isclose, isnan
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bandits_lib import __version__, files
from bandits_lib.protocol import Rule

Record = dict[str, Any]
FIELDS = {  # of each kind of record, beside kind, id and time
    "experiment": ("rule", "arguments", "names", "unit", "version"),
    "asked": ("request", "wanted", "tickets"),
    "told": ("file", "sha256", "rows"),
    "undone": ("of", "reason"),
    "done": ("recommendation",),
}
_NO_LOG = "this is not a log of bandits_lab"
_OF_03 = (
    "this log was written by release 0.3: finish the experiment with that release, or begin another one and hand over "
    "the files of measurements"
)


# --- a rule and its arguments

CLOSE = 1e-12  # relative difference of two numbers that are the same


class Experiment(NamedTuple):
    """A rule and its arguments, as values that JSON can hold."""

    rule: str  # name of the generator function
    arguments: dict[str, Any]  # all arguments, arrays as lists
    defaults: dict[str, Any] = {}  # of the arguments that have a default
    names: tuple[str, ...] = ()  # names of the arms, if they are known
    unit: str = ""  # unit of the reward, if it is known


def identify(algorithm):
    """Return the `Experiment` of a fresh rule, such as `rage(arms, delta=0.05)`; ValueError for anything else."""
    if inspect.isgenerator(algorithm):
        raise ValueError(
            f"the generator {algorithm.__name__} cannot be made again, which a Lab needs: write @rule above `def "
            f"{algorithm.__name__}`, after `from bandits_lib import rule`"
        )
    if not isinstance(algorithm, Rule):
        raise ValueError(
            f"algorithm must be a generator such as rage(arms, delta=0.05); got {type(algorithm).__name__}"
        )
    if not algorithm.fresh:
        raise ValueError("algorithm must be fresh, but this generator has already been advanced: make a new one")
    parameters = inspect.signature(algorithm.function).parameters.values()
    defaults = {p.name: describe(p.default) for p in parameters if p.default is not p.empty}
    return Experiment(algorithm.function.__qualname__, describe(algorithm.arguments), defaults)


def describe(value):
    """Return a value as JSON holds it; an array as lists, and a function or another object as its name."""
    return json.loads(json.dumps(value, default=_plain))


def _plain(value):
    if hasattr(value, "__array__"):
        return np.asarray(value).tolist()
    named = value if hasattr(value, "__qualname__") and not inspect.isgenerator(value) else type(value)
    return f"{named.__module__}.{named.__qualname__}"


def differences(logged, here):
    """Return the differences of two `Experiment`s as a list of clauses, which is empty if they are the same."""
    if logged.rule != here.rule:
        return [f"the rule is {logged.rule} in the log and {here.rule} here"]
    known, named, units = here.defaults | logged.arguments, (logged.names, here.names), (logged.unit, here.unit)
    clauses = [_apart("names", *map(list, named))] if all(named) else []
    clauses += [_apart("unit", *units)] if all(units) else []
    for name in {**known, **here.arguments}:
        if name in known and name in here.arguments:
            clauses.append(_apart(name, known[name], here.arguments[name]))
        else:
            clauses.append(f"there is no {name} {'here' if name in known else 'in the log'}")
    return [*filter(None, clauses)]


def _apart(name, one, other):
    """Return where two values differ, or an empty text."""
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = enumerate(zip(one, other, strict=True))
        return next((said for i, pair in pairs if (said := _apart(f"{name}[{i}]", *pair))), "")
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return next((said for key in one if (said := _apart(f"{name}'s {key}", one[key], other[key]))), "")
    if isinstance(one, list) and isinstance(other, list):
        return f"{name} has {len(one)} entries in the log and {len(other)} here"
    return "" if _same(one, other) else f"{name} is {_short(one)} in the log and {_short(other)} here"


def _same(one, other):
    if one == other or not all(isinstance(value, float | int) for value in (one, other)):
        return one == other
    return isclose(one, other, rel_tol=CLOSE) or (isnan(one) and isnan(other))


def _short(value):
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


# --- the file


def record(kind: str, *values: Any) -> Record:
    """Return a new record of a kind, with the values of its fields."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"kind": kind, "id": secrets.token_hex(8), "time": now, **dict(zip(FIELDS[kind], values, strict=True))}


def first(experiment: Experiment) -> Record:
    """Return the first record of the log of an Experiment."""
    told = experiment.rule, experiment.arguments, list(experiment.names), experiment.unit
    return record("experiment", *told, __version__)


def check_same(path: Any, head: Record, here: Experiment) -> Experiment:
    """Return the Experiment in the first record of a log; it must be that of `here`."""
    logged = Experiment(head["rule"], head["arguments"], names=tuple(head["names"]), unit=head["unit"])
    if clauses := differences(logged, here):
        raise ValueError(
            f"{path} is the log of another experiment: {'; '.join(clauses)}. To go on with it, use the rule, the "
            "arguments, the names and the unit in its first line"
        )
    return logged


def read(path: str | os.PathLike, start: int = 0) -> tuple[list[Record], int, bytes]:
    """Return the records after `start` bytes, the bytes up to the last line end, and what follows it."""
    with open(path, "rb") as file:
        if file.seek(0, os.SEEK_END) < start:
            raise ValueError(
                f"{path} has become shorter: another program has replaced it. Restore it, and open it again"
            )
        file.seek(start)
        *lines, torn = file.read().split(b"\n")
    found = [_parsed(path, start, n, line) for n, line in enumerate(lines, 1) if line.strip()]
    if start == 0 and (found or torn) and (not found or found[0]["kind"] != "experiment"):
        raise ValueError(f"line 1 of {path}: {_NO_LOG}")
    return found, start + sum(len(line) + 1 for line in lines), torn


def _parsed(path, start, n, line):
    """Return the record in line n after `start`; a ValueError names the line and the file that may hold its rows."""
    try:
        found = json.loads(line)
        if set(FIELDS[found["kind"]]) <= found.keys() and all(len(row) == 5 for row in found.get("rows", ())):
            return found
    except (ValueError, KeyError, TypeError):
        pass
    content = Path(path).read_bytes()
    number = content[:start].count(b"\n") + n
    if number == 1:
        raise ValueError(f"line 1 of {path}: {_OF_03 if line.startswith(b'# bandits_lab log') else _NO_LOG}")
    files_here, rest = sorted(Path(path).parent.glob("measured_*.csv")), content.replace(line, b"")
    copies = [copy.name for copy in files_here if copy.name.encode() not in rest]
    where = f" Its rows are probably in {', '.join(copies)}." if copies else ""
    raise ValueError(
        f"line {number} of {path} cannot be read: it was changed after it was written, or the disk is damaged.{where} "
        "Restore the file from a copy, or delete the line and tell the file with its rows again"
    )


def standing(records: list[Record]) -> list[Record]:
    """Return the records of measurements that were not taken back."""
    undone = {one["of"] for one in records if one["kind"] == "undone"}
    return [one for one in records if one["kind"] == "told" and one["id"] not in undone]


def append(path: Path, records: list[Record], size: int) -> int:
    """Write records behind the first `size` bytes of a log and return its new size; the caller holds the lock."""
    lines = b"".join(json.dumps(one, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n" for one in records)
    if size == 0:
        files.replace(path, lines)
        return len(lines)
    try:
        files.append(path, lines, size)
    except OSError:  # what was not acknowledged must not count
        with suppress(OSError):
            os.truncate(path, size)
        raise
    return size + len(lines)
