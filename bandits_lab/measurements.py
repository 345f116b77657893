"""Read measurements from csv files.

The columns are arm,reward (a row per pull) or arm,count,sum,squares, in any order, and perhaps `ticket`, which names
the measurement that was asked for; other columns are ignored. A cell without a reward (empty, NaN, NA, null, none) is
a failed measurement: it is not counted, and the Lab still asks for it. Error messages name the line.
"""

import os
import warnings
from collections.abc import Sequence
from difflib import get_close_matches
from hashlib import sha256
from math import isfinite, sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bandits_lab.tables import Numbers, decoded, label, table
from bandits_lib.protocol import Sample

MISSING = ("", "nan", "na", "n/a", "#n/a", "null", "none")  # a measurement that failed, in upper or lower case
COUNTED = ("count", "sum", "squares")
OUT_OF_RANGE = ". Leave a cell empty only if its measurement failed; omitting a reading out of range biases the result"


class Raw(NamedTuple):
    """One row of a file, or one arm of a Sample, as it was told."""

    ticket: str  # of the request; "" without one
    arm: int
    count: int  # type: ignore[assignment]
    sum: float
    squares: float
    line: int = 0  # line in its file


class Measured(Sample):
    """A Sample with the rows of its file, and the name, the SHA-256, the content and the `Table` of the file."""

    rows: tuple[Raw, ...] = ()
    file = ""
    sha256 = ""
    content = b""
    table: Any = None


def raw_rows(sample):
    """Return one row for each arm of a Sample."""
    counts, sums, squares = map(np.asarray, sample)
    return tuple(Raw("", int(k), int(counts[k]), float(sums[k]), float(squares[k])) for k in np.flatnonzero(counts))


def positions(names):
    """Return {label: row} of the arms, and refuse equal labels."""
    labels = [label(name) for name in names]
    found = {label: row for row, label in enumerate(labels)}
    if len(found) < len(labels):
        first = next(label for label in labels if labels.count(label) > 1)
        rows = np.flatnonzero([label == first for label in labels])
        raise ValueError(f"names must differ; {first!r} names arms {rows[0]} and {rows[1]}: rename one")
    return found


def nothing(K):
    """Return a Sample of K arms without a pull."""
    return Sample(np.zeros(K, np.int64), np.zeros(K), np.zeros(K))


def summed(rows, K):
    """Return the Sample of K arms to which rows add up."""
    columns = np.array([row[1:5] for row in rows], dtype=float).reshape(-1, 4).T
    counts, sums, squares = (np.bincount(columns[0].astype(int), column, K) for column in columns[1:])
    return Sample(counts.astype(np.int64), sums, squares)


def read_measurements(
    path: str | os.PathLike,
    names: Sequence,
    *,
    columns: tuple[str, str] = ("arm", "reward"),
    unit: str = "",
) -> Measured:
    """Return the measurements in a file as a Sample.

    Parameters
    ----------
    path : path or str
        A csv with the columns arm,reward (a row per pull) or arm,count,sum,squares (in a row the number of pulls, the
        sum of their rewards, and the sum of the squared rewards). Other columns are ignored.
    names : sequence
        K labels of the arms in the file.
    columns : pair of str, default ("arm", "reward")
        Names of these two columns in the file.
    unit : str, default ""
        Unit of the reward, for error messages.

    Returns
    -------
    Sample
        Counts, sums and squares of the K arms.

    Raises
    ------
    ValueError
        For other columns, an unknown arm, text that is not a number, and squares below sum^2 / count. The message names
        the line.

    Warns
    -----
    UserWarning
        If rewards are missing; the message gives their number and lines.

    Examples
    --------
    >>> import pandas as pd
    >>> pd.DataFrame({"arm": ["plain", "bold", "plain"], "reward": [1, 0.5, 2]}).to_csv("day.csv", index=False)
    >>> read_measurements("day.csv", ["plain", "bold"]).sums.tolist()
    [3.0, 0.5]
    """
    content = Path(path).read_bytes()
    whole = table(path, decoded(content, path))
    rows = _rows(whole, names, columns, unit)
    found = Measured(*summed(rows, len(names)))
    found.rows, found.file, found.content = tuple(rows), Path(path).name, content
    found.sha256, found.table = sha256(content).hexdigest(), whole
    return found


def _rows(found, names, own, unit):
    """Return the rows of a Table that have a reward."""
    path, position = found.path, positions(names)
    arm, reward = (label(name).lower() for name in own)
    single, counted = {arm, reward} <= {*found.own}, {arm, *COUNTED} <= {*found.own}
    if not single and not counted:
        columns = ",".join(found.own) or "none"
        needed = f"{arm},{reward} (a row for each measurement) or {arm},{','.join(COUNTED)}"
        hint = ": for rewards 0 and 1 copy sum into squares" if {arm, "count", "sum"} <= {*found.own} else ""
        raise ValueError(
            f"{found.at(found.first)}: the columns must be {needed}, in any order; got {columns}{hint}. Rename "
            "the columns, or name them with columns="
        )
    if single and "count" in found.own:
        raise ValueError(f"{path} has columns {reward} and count: leave one of them out, or rename it")
    numeric = (reward,) if single else COUNTED
    arms = [_arm(row[arm], position, found.at(line)) for line, row in found.rows]
    failed = [any(row[name].lower() in MISSING for name in numeric) for _, row in found.rows]
    present = [(k, line, row) for k, fail, (line, row) in zip(arms, failed, found.rows, strict=True) if not fail]
    texts = [row[name] for *_, row in present for name in numeric]
    numbers = Numbers(texts, found.delimiter, unit, OUT_OF_RANGE)
    rows = []
    for k, line, row in present:
        where = found.at(line)
        read = [numbers(row[name], found.own[name], where) for name in numeric if name != "count"]
        count = 1 if single else numbers.whole(row["count"], "count", where)
        added, squares = (read[0], read[0] * read[0]) if single else read
        _check_sums(count, added, squares, where)
        rows.append(Raw(row.get("ticket", ""), k, count, added, squares, line))
    if missing := [line for fail, (line, _) in zip(failed, found.rows, strict=True) if fail]:
        warnings.warn(
            f"{path} has no reward in {several(len(missing), 'row')}, line {some(missing)}: such measurements do not "
            "count and are still asked for. Leave a reward out, empty or NaN, only if the measurement failed by "
            "accident: a reading out of range is not missing",
            stacklevel=3,
        )
    return [row for row in rows if row.count]


def _arm(name, position, where):
    if name not in position:
        near = get_close_matches(name, position, n=2)
        raise ValueError(
            f"{where}: unknown arm {name!r}; {'is it' if near else 'the arms are'} "
            f"{' or '.join(near) + '?' if near else some(position) + '. Delete rows of units, totals and notes'}"
        )
    return position[name]


def checked_sample(sample, K):
    """Return a Sample of K arms with checked copies of its arrays; ValueError for anything else."""
    if not isinstance(sample, Sample):
        how = f"lab.tell(Sample.of(pulled_arms, rewards, K={K})) or lab.tell(read_measurements(path, names))"
        raise ValueError(f"tell takes a Sample: {how}; got {type(sample).__name__}")
    counts, sums, squares = map(np.asarray, sample)
    if not counts.shape == sums.shape == squares.shape == (K,):
        shapes = counts.shape, sums.shape, squares.shape
        raise ValueError(f"counts, sums and squares of a Sample must have shape ({K},); got {shapes}")
    if not np.issubdtype(counts.dtype, np.integer) or (counts < 0).any():
        raise ValueError(f"counts must be non-negative integers; got {counts}")
    checked = Sample(counts.astype(np.int64), sums.astype(float), squares.astype(float))
    for arm in np.flatnonzero((counts != 0) | (sums != 0) | (squares != 0)).tolist():
        _check_sums(checked.counts[arm], checked.sums[arm], checked.squares[arm], f"arm {arm}")
    return checked


def _check_sums(count, added, squares, where):
    """Refuse impossible sums: not finite, without a measurement, or squares below sum^2 / count."""
    if not (isfinite(added) and isfinite(squares)):
        large = ", and squares too large: choose a larger unit of the reward" if isfinite(added) else ""
        raise ValueError(f"{where}: sum and squares must be finite; got a sum of {added:g}{large}")
    if count == 0 and (added or squares):
        raise ValueError(f"{where}: count is 0, but sum or squares is not 0: give the number of measurements")
    if count and squares < (least := added * (added / count)) * (1 - 1e-9) - 1e-300:
        raise ValueError(
            f"{where}: squares is {squares:.6g}, below sum^2 / count = {least:.6g}: give the sum of the squared rewards"
        )


def several(number, noun):
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def some(names, most=6):
    """Return the first names as text, with their total number if there are more."""
    shown = ", ".join(map(str, list(names)[:most]))
    return shown if len(names) <= most else f"{shown}, ... ({len(names)} in all)"


# --- rewards that may be typing errors

FAR = 20  # a reward is far off if it differs by more than FAR times the spread of the others
ENOUGH = 8  # rewards needed to estimate the spread


def far_off(rows, before, names=None):
    """Return a warning about single rewards that lie far from all others, in the file or before, or an empty text."""
    single = [row for row in rows if row.count == 1]
    values = np.array([row.sum for row in single])
    if before is not None and (n := before.counts.sum()) >= ENOUGH:
        centre = before.sums.sum() / n
        width = sqrt(max(before.squares.sum() / n - centre**2, 0.0))
    elif len(values) >= ENOUGH:
        low, centre, high = np.quantile(values, (0.25, 0.5, 0.75))
        width = (high - low) / 1.349  # standard deviation of a Gaussian with these quartiles
    else:
        return ""
    far = [row for row in single if width and abs(row.sum - centre) > FAR * width]
    if not far:
        return ""
    said = []
    for row in far:
        line = f" (line {row.line})" if row.line else ""
        said.append(f"{row.sum:.10g} of {names[row.arm] if names else f'arm {row.arm}'}{line}")
    usual = f"which are about {centre:.4g} with a standard deviation of {width:.2g}"
    return f"{some(said, 3)}: far from the others, {usual}. Is it a typing error, or another unit?"
