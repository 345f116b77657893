"""What one step of an experiment adds to its log: as rows, and as the text that stands in the file."""

import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

COLUMNS = "request,arm,asked,count,sum,squares"


class Row(NamedTuple):
    """Pulls of one arm that a request asked for (`asked`), or that came back (`count`, `sum`, `squares`)."""

    line: int  # in the file, 0 if not from one
    request: int  # its number, from 1
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


def entry(request, sample=None, asked=None, done=False):
    """The Entry for a Sample that answers a request (0 at the beginning), and for the request or end that it led to."""
    pulled: Iterable[int] = [] if sample is None else np.flatnonzero(sample.counts)
    told = (Row(0, request, int(k), 0, int(sample.counts[k]), sample.sums[k], sample.squares[k]) for k in pulled)
    wanted: Iterable[int] = [] if asked is None else np.flatnonzero(asked)
    next_rows = (Row(0, request + 1, int(k), int(asked[k]), 0, 0.0, 0.0) for k in wanted)
    return Entry(tuple(told), tuple(next_rows), request if done else None)


def text(entry):
    """An Entry as it stands in the file, with the empty line that ends it."""
    rows = [f"{r.request},{r.arm},{r.asked},{r.count},{r.sum:.17g},{r.squares:.17g}" for r in entry.told + entry.asked]
    return "\n".join([*rows, *([f"# done after request {entry.done}"] if entry.done is not None else []), "", ""])


def parse_entry(block):
    """The Entry that stands in the lines [(number, line), ...] of a file."""
    rows, done = [], None
    for number, line in block:
        if found := re.fullmatch(r"# done after request (\d+)", line):
            done = int(found[1])
        elif not line.startswith("#"):
            rows.append(Row(number, *fields(number, line.split(","), COLUMNS, (int, int, int, int, float, float))))
    for row in rows:
        if min(row[1:5]) < 0 or (row.asked == 0) == (row.count == 0):
            raise ValueError(f"line {row.line}: one of asked and count must be positive and the other 0")
    return Entry(tuple(row for row in rows if row.count), tuple(row for row in rows if row.asked), done)


def fields(number, texts, columns, kinds):
    """The numbers that one line of a file holds, of these kinds; a ValueError says that it should hold the columns."""
    try:
        return [kind(text) for kind, text in zip(kinds, texts, strict=True)]
    except ValueError:
        raise ValueError(f"line {number}: {','.join(texts)!r} is not {columns}") from None
