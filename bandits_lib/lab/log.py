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
asks; each of the others is one Sample, and what was asked next if that answered its request, or a step that `entries`
shows: arms dropped, a request closed, a step undone, measurements made before. Other lines that begin
with # are remarks, and what a kill cut short becomes one. `pandas.read_csv(path, comment="#")` reads it; per request
and arm `asked` and `count` add up. `Lab(rage(**arguments(path)), path)` makes the experiment once more from its log,
with functions and random generators to be given anew.
"""

import json
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bandits_lib.lab.entries import COLUMNS, Entry, parse_entry
from bandits_lib.lab.experiment import GONE, Experiment, differences
from bandits_lib.protocol import Sample

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
            "(`bandits_lib.lab.log.arguments` reads it)"
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
