"""Files of a laboratory: arms and measurements as csv. A row that cannot be right is refused with its line number."""

import csv
from math import isfinite
from pathlib import Path

import numpy as np

from bandits_lib.protocol import Sample

ONE_BY_ONE = ["arm", "reward"]
COUNTED = ["arm", "count", "sum", "squares"]


def read(path, names, wanted=None):
    """One file of measurements as a Sample.

    Parameters
    ----------
    path : path or str
        A csv with the columns arm,reward (one row per pull) or arm,count,sum,squares (several pulls of an arm in a row:
        how many, the sum of the rewards, the sum of their squares; for rewards 0 and 1 the two sums are equal).
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

    Examples
    --------
    >>> import pandas as pd
    >>> pd.DataFrame({"arm": ["plain", "bold", "plain"], "reward": [1, 0.5, 2]}).to_csv("day.csv", index=False)
    >>> read("day.csv", ["plain", "bold"]).sums.tolist()
    [3.0, 0.5]
    """
    position = {str(name): k for k, name in enumerate(names)}
    counts, sums, squares = np.zeros(len(names), np.int64), np.zeros(len(names)), np.zeros(len(names))
    with Path(path).open(newline="", encoding="utf-8") as file:
        reader = csv.reader(file)
        columns = [name.strip() for name in next(reader, [])]
        if columns not in (ONE_BY_ONE, COUNTED):
            raise ValueError(f"line 1 of {path}: the columns must be {','.join(ONE_BY_ONE)} or {','.join(COUNTED)}")
        for row in reader:
            where = f"line {reader.line_num} of {path}"
            arm, count, total, square = _row(row, columns, position, where)
            if wanted is not None and counts[arm] + count > wanted[arm]:
                raise ValueError(f"{where}: more pulls of {names[arm]} than the {wanted[arm]} that were asked for")
            counts[arm] += count
            sums[arm] += total
            squares[arm] += square
    return Sample(counts, sums, squares)


def _row(row, columns, position, where):
    """(arm, count, sum, squares) of one line."""
    if len(row) != len(columns):
        raise ValueError(f"{where}: {len(row)} fields, but the first line has {len(columns)}")
    if row[0].strip() not in position:
        raise ValueError(f"{where}: unknown arm {row[0]!r}; the arms are {_some(position)}")
    numbers = [_number(text, name, where) for text, name in zip(row[1:], columns[1:], strict=True)]
    if columns == ONE_BY_ONE:
        numbers = [1, numbers[0], numbers[0] ** 2]
    count, total, square = numbers
    if count != int(count) or count < 1:
        raise ValueError(f"{where}: count must be a whole number of at least 1; got {row[1]}")
    if square < total**2 / count * (1 - 1e-9):
        raise ValueError(f"{where}: squares is {square:g}, below sum^2 / count = {total**2 / count:g}")
    return position[row[0].strip()], int(count), total, square


def _number(text, name, where):
    try:
        number = float(text)
    except ValueError:
        number = np.nan
    if not isfinite(number):
        raise ValueError(f"{where}: {name} must be a finite number; got {text!r}")
    return number


def _some(names, most=6):
    shown = ", ".join(list(names)[:most])
    return shown if len(names) <= most else f"{shown}, ... ({len(names)} in all)"
