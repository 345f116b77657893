"""Files of a laboratory: measurements as csv. A row that cannot be right is refused with its line number.

The columns arm,reward (one row per pull) or arm,count,sum,squares, in any order and in capitals or not, beside others,
which are passed by. `lab.tables` says what else is read: semicolons, tabs, decimal commas, UTF-16, empty lines, ...
A cell without a reward (empty, NaN, NA, null, none) is a measurement that failed: it is not counted, and the Lab goes
on asking for it. That is right if what is missing does not depend on what it would have been.
"""

import warnings
from collections.abc import Iterator

import numpy as np

from bandits_lib.lab.stock import nothing
from bandits_lib.lab.tables import MISSING, Numbers, positions, table
from bandits_lib.protocol import Sample

ONE_BY_ONE = ["arm", "reward"]
COUNTED = ["arm", "count", "sum", "squares"]
OUT_OF_RANGE = ". An empty cell is a measurement that failed; a reading out of range is none: leaving it out misleads"


def read(path, names, wanted=None):
    """One file of measurements as a Sample.

    Parameters
    ----------
    path : path or str
        A csv with the columns arm,reward (one row per pull) or arm,count,sum,squares (several pulls of an arm in a row,
        or none: how many, the sum of the rewards, the sum of their squares; for rewards 0 and 1 the two sums are
        equal). Other columns are passed by.
    names : sequence
        K labels of the arms, as they stand in the file.
    wanted : (K,) int array_like, optional
        Pulls that were asked for (`lab.ask()`); by default any number will do.

    Returns
    -------
    Sample
        Counts, sums and squares of the K arms.

    Raises
    ------
    ValueError
        With the line number, for other columns, an unknown arm, a number that is none, squares below sum^2 / count, or
        more pulls of an arm than `wanted`. Nothing is kept of a file that is refused.

    Warns
    -----
    UserWarning
        If rewards are missing: how many, and where.

    Examples
    --------
    >>> import pandas as pd
    >>> pd.DataFrame({"arm": ["plain", "bold", "plain"], "reward": [1, 0.5, 2]}).to_csv("day.csv", index=False)
    >>> read("day.csv", ["plain", "bold"]).sums.tolist()
    [3.0, 0.5]
    """
    counts, sums, squares = np.zeros(len(names), np.int64), np.zeros(len(names)), np.zeros(len(names))
    for where, arm, count, total, square in _rows(path, names):
        if wanted is not None and counts[arm] + count > wanted[arm]:
            raise ValueError(
                f"{where}: more pulls of {names[arm]} than the {wanted[arm]} that were asked for: take the first n of "
                "each arm, in time; was this file told before?"
            )
        counts[arm] += count
        sums[arm] += total
        squares[arm] += square
    return Sample(counts, sums, squares)


def read_each(path, names) -> Iterator[Sample]:
    """The rows of a file of measurements one by one, in their order: for `Lab.tell_history`.

    Parameters
    ----------
    path : path or str
        A csv as for `read`.
    names : sequence
        K labels of the arms, as they stand in the file.

    Returns
    -------
    iterator of Sample
        One for every row that has a reward.

    Raises
    ------
    ValueError
        As `read`.

    Examples
    --------
    >>> import pandas as pd
    >>> pd.DataFrame({"arm": ["plain", "bold", "plain"], "reward": [1, 0.5, 2]}).to_csv("pilot.csv", index=False)
    >>> [sample.sums.tolist() for sample in read_each("pilot.csv", ["plain", "bold"])]
    [[1.0, 0.0], [0.0, 0.5], [2.0, 0.0]]
    """
    return (_single(row, len(names)) for row in _rows(path, names))


def _single(row, K):
    _, arm, *numbers = row
    sample = nothing(K)
    for field, number in zip(sample, numbers, strict=True):
        field[arm] = number
    return sample


def _rows(path, names):
    """[(where, arm, count, sum, squares), ...] of a file, checked."""
    position = positions(names)
    columns, rows, delimiter = table(path, (set(ONE_BY_ONE), set(COUNTED)), hint=_without_squares)
    numeric = COUNTED[1:] if set(COUNTED) <= set(columns) else ONE_BY_ONE[1:]
    if numeric == COUNTED[1:] and "reward" in columns or numeric == ONE_BY_ONE[1:] and "count" in columns:
        raise ValueError(f"{path} has columns reward and count: leave one of them out, or rename it")
    present = [(line, row) for line, row in rows if not any(row[name].lower() in MISSING for name in numeric)]
    numbers = Numbers([row[name] for _, row in present for name in numeric], delimiter, OUT_OF_RANGE)
    found = [_row(row, numeric, position, numbers, f"line {line} of {path}") for line, row in present]
    if lines := [line for line, row in rows if any(row[name].lower() in MISSING for name in numeric)]:
        for line, row in rows:
            _arm(row, position, f"line {line} of {path}")
        shown = ", ".join(map(str, lines[:6])) + (", ..." if len(lines) > 6 else "")
        warnings.warn(
            f"{len(lines)} rows of {path} have no reward (lines {shown}): they are left out, and still asked for. That "
            "is right if it does not depend on what the reward would have been; a reading out of range is not missing",
            stacklevel=3,
        )
    return [row for row in found if row[2]]


def _without_squares(columns):
    """What is to be done where the sums of squares are missing."""
    if not {"arm", "count", "sum"} <= set(columns):
        return ""
    return ": for rewards 0 and 1 copy sum into squares; otherwise write one row per measurement, arm,reward"


def _row(row, numeric, position, numbers, where):
    """(where, arm, count, sum, squares) of one line."""
    arm = _arm(row, position, where)
    if numeric == ONE_BY_ONE[1:]:
        reward = numbers(row["reward"], "reward", where)
        return where, arm, 1, reward, reward**2
    count = numbers.whole(row["count"], "count", where)
    total, square = (numbers(row[name], name, where) for name in ("sum", "squares"))
    if count == 0 and (total or square):
        raise ValueError(f"{where}: count must be at least 1, or sum and squares 0; got {row['count']}")
    if count and square < total**2 / count * (1 - 1e-9):
        raise ValueError(f"{where}: squares is {square:g}, below sum^2 / count = {total**2 / count:g}")
    return where, arm, count, total, square


def _arm(row, position, where):
    if row["arm"] not in position:
        raise ValueError(f"{where}: unknown arm {row['arm']!r}; the arms are {_some(position)}")
    return position[row["arm"]]


def _some(names, most=6):
    shown = ", ".join(list(names)[:most])
    return shown if len(names) <= most else f"{shown}, ... ({len(names)} in all)"
