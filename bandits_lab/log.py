"""Write and read the log of a Lab, a file with one JSON object in each line. Records are added, never changed.

{"kind": "experiment", "rule": "rage", "arguments": {"arms": ..., "delta": 0.05}, "names": ["plain", "bold"], ...}
{"kind": "asked", "request": 1, "wanted": [["plain", 86], ["bold", 86]], "tickets": [["KD1-0001", "bold"], ...], ...}
{"kind": "told", "file": "measured_0001.csv", "sha256": "...", "rows": [["KD1-0001", "bold", 1, 0.2, 0.04], ...], ...}
{"kind": "undone", "of": "0d4e6f75f1c09a2b", "reason": "of another day", ...}
{"kind": "done", "recommendation": 1, ...}

Every record also has an `id` and a `time` (UTC). A row of `rows` is a ticket or "", an arm, the number of pulls, the
sum of their rewards, and the sum of the squared rewards. Arms without names are 0..K-1. A record is on the disk before
`append` returns. A last line without its end was never acknowledged: it does not count, and stays as a remark.
"""

import json
import os
import secrets
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bandits_lab.experiment import Experiment, differences
from bandits_lib import __version__, files

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
CUT = b" # cut short: it does not count\n"  # is put behind a last line without its end


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
    found = [_parsed(path, start, n, line) for n, line in enumerate(lines, 1) if line.strip() and not _is_cut(line)]
    if start == 0 and (found or torn) and (not found or found[0]["kind"] != "experiment"):
        raise ValueError(f"line 1 of {path}: {_NO_LOG}")
    return found, start + sum(len(line) + 1 for line in lines), torn


def _is_cut(line):
    return line.endswith(CUT.rstrip(b"\n"))


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


def append(path: Path, records: list[Record], size: int, torn: bytes = b"") -> int:
    """Write records behind the first `size` bytes of a log and return its new size; the caller holds the lock."""
    lines = b"".join(json.dumps(one, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n" for one in records)
    if not path.exists() or size + len(torn) == 0:
        files.replace(path, lines)
        return len(lines)
    end = size + len(torn)
    try:
        files.append(path, (CUT if torn else b"") + lines, end)
    except OSError:  # what was not acknowledged must not count
        with suppress(OSError):
            os.truncate(path, end)
        raise
    return end + len(CUT) * bool(torn) + len(lines)
