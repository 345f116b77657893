"""Turn a table of arms, in words and numbers, into the features of a linear model.

Words become columns of 0 and 1, as with `pandas.get_dummies`. Numbers that are codes, such as 1, 2, 3 for three
suppliers, must not get a slope. Where the table does not show which columns are codes, or which column names the arms,
the caller must say so.
"""

import re
from collections import Counter
from collections.abc import Sequence
from os import PathLike
from typing import NamedTuple

import numpy as np
import pandas as pd

from bandits_lab.tables import Numbers, Table, label, nearly, table, typed, value, with_unit

FEW = 6  # with at most so many arms, most arms may have a word of their own
SHARE = 0.75  # with more arms, a column holds names if its different words exceed this share of the arms
MANY_CODES = 20  # a column with more different whole numbers than this holds no codes
CODE = re.compile(r"\d{2,}e\d+", re.IGNORECASE)  # 503E1 is rather the code of a batch than the number 5030
SCALED = " (scaled)"
LEAVE_OUT = ": correct it, delete the line if it holds units or totals, or leave the column out with --ignore"
NO_NAMES = "number the arms with --number-arms if no column names them"


def named(found, arm):
    """Return a Table and the column that names its arms: `arm`, the first if it is "", or a new one if it is None."""
    if arm is None:
        name = "number of the arm" if "arm" in found.own else "arm"
        rows = [(line, {name: str(k)} | row) for k, (line, row) in enumerate(found.rows, start=1)]
        return found._replace(rows=rows, own={name: name} | found.own), name
    first = next(iter(found.own), "")
    read = [value(row[first], ".") or value(row[first], ",") for _, row in found.rows] if not arm else []
    if any(number and number % 1 for number in read) and None not in read:
        own = found.own[first]
        raise ValueError(
            f"the first column of {found.path}, {own!r}, holds numbers with fractions: name the column with "
            f"{typed('--arm-column', own)} if these are names of arms; or {NO_NAMES}"
        )
    return found, arm or found.own.get(first, "")


def check_names(found, name):
    """Refuse names of arms that are empty or not distinct."""
    for (before, _), (line, row) in _twice(found.rows, lambda row: row[name]):
        raise ValueError(
            f"{found.at(before, line)}: names must differ; both are {row[name]!r}: rename one; or {NO_NAMES}"
        )
    for line, row in found.rows:
        if not row[name]:
            raise ValueError(f"{found.at(line)}: {found.own[name]} is empty: name the arm, or delete the row")


def check_words(found, name):
    """Refuse words that differ only in capitals or blanks, numbers with a unit, and names of arms."""
    words: dict[str, int] = {}
    for line, row in found.rows:
        words.setdefault(row[name], line)
    firsts = [(line, word) for word, line in words.items()]
    own, rows = found.own[name], len(found.rows)
    column, codes = f"column {own!r} of {found.path}", f"{typed('--codes', own)}"
    for (before, one), (line, other) in _twice(firsts, lambda word: "".join(word.split()).casefold()):
        raise ValueError(
            f"{column}: {one!r} (line {before}) and {other!r} (line {line}) differ only in capitals or blanks: write "
            f"them alike, or give {codes} if they are different things"
        )
    units = [part[1] for word in words if (part := with_unit(word))]
    if len(units) == len(words) > 1:
        raise ValueError(
            f"{column} holds numbers with a unit, such as {firsts[0][1]!r}: write the unit into the first line "
            f"('{own} [{units[0]}]') and the numbers alone below; or, if these are categories, give {codes}"
        )
    if len(words) == rows > 2 or rows > FEW and len(words) > SHARE * rows:
        raise ValueError(
            f"{column} has {len(words)} different words for {rows} arms, so it may hold names: leave the column out "
            f"with {typed('--ignore', own)}; or, if its words are categories, give {codes}"
        )


def _alike(found, arm, described):
    """Return what is wrong if arms have the same description, or an empty text."""
    alike = zip(found.rows, zip(*described.values(), strict=True), strict=True)
    lines = [(line, (row[arm], values)) for (line, row), values in alike]
    pairs = [
        f"{one!r} (line {before}) and {other!r} (line {line})"
        for (before, (one, _)), (line, (other, _)) in _twice(lines, lambda row: row[1])
    ]
    return pairs and (
        f"{'; '.join(pairs)} are alike in all columns: leave one out, as repeated measurements belong into a file for "
        "tell, or add the column in which they differ"
    )


def _twice(rows, key):
    """Yield (earlier row, row), each with its line, for rows with the same key."""
    seen: dict = {}
    for row in rows:
        before = seen.setdefault(key(row[1]), row)
        if before is not row:
            yield before, row


class Arms(NamedTuple):
    """The K arms of a file: their names, their features (K, d), and the columns that describe them."""

    names: list[str]
    features: pd.DataFrame
    described: pd.DataFrame

    def with_squares(self, *columns):
        """Return the arms with the squares of some features, such as "rpm", for effects with a maximum or a minimum."""
        for name in columns:
            if (different := self.features[self._feature(name)].nunique()) < 3:
                raise ValueError(
                    f"{name!r} has {different} different values, so its square adds nothing: leave the square out"
                )
        new = {f"{name}^2": self.features[name] ** 2 for name in map(self._feature, columns)}
        return self._replace(features=self.features.assign(**new))

    def _feature(self, name):
        for known in (name, f"{label(name).lower()}{SCALED}"):
            if known in self.features:
                return known
        raise ValueError(f"there is no feature {name!r}; there are {', '.join(self.features)}")


def read_arms(
    path: str | PathLike,
    *,
    numbers: str | Sequence[str] = (),
    codes: str | Sequence[str] = (),
    ignore: str | Sequence[str] = (),
    arm: str | None = "",
) -> Arms:
    """Return the arms of a file, with features for a linear model.

    Parameters
    ----------
    path : path or str
        A csv with a row per arm. The first column names the arm, and the others describe it in words or numbers.
    numbers, codes, ignore : str or sequence of str, default ()
        Columns whose numbers have a slope, columns whose numbers stand for categories, and columns to leave out.
    arm : str or None, default ""
        The column that names the arms, if it is not the first. None numbers the arms 1, 2, ... in the order of the
        file, for a table in which no column names them.

    Returns
    -------
    Arms
        The `names`, the `features`, and the table as it was, `described`. The features are a column of ones, the
        numbers, and a column of 0 and 1 for every word except the first of its column. A column that is the same for
        all arms is not a feature. Numbers are scaled to [-1, 1], so that a coefficient is the effect of half the range,
        and such a feature has a name such as "rpm (scaled)". Leads, intervals and answers do not depend on the scale.

    Raises
    ------
    ValueError
        For an empty cell, two equal names, two arms or words that are alike, words that look like names or numbers, a
        column of a few whole numbers that is neither in `numbers` nor in `codes`, and names that are numbers with
        fractions, unless `arm` is given. The message names the line.

    Notes
    -----
    The method `with_squares("rpm")` of the result adds curves. Messages name the options of the command line, which are
    called as these arguments, except --arm-column, which is `arm`, and --number-arms, which is `arm=None`.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("arms.csv").write_text("vial;solvent;dose\\nA;water;0,5\\nB;ethanol;1,0\\nC;water;1,5\\n")
    >>> read_arms("arms.csv").features.to_numpy().tolist()
    [[1.0, 1.0, -1.0], [1.0, 0.0, 0.0], [1.0, 1.0, 1.0]]
    """
    found, column = named(table(path), arm)
    return arms_of(found, numbers, codes, ignore, column)


def arms_of(found: Table, numbers, codes, ignore, arm) -> Arms:
    """Return the arms of a Table, for the arguments of `read_arms`."""
    numbers, codes, ignore, given = (_listed(names) for names in (numbers, codes, ignore, arm))
    known = ", ".join(found.own.values()) or "none"
    if unknown := sorted({*numbers, *codes, *ignore, *given} - {*found.own, ""}):
        raise ValueError(f"{found.path} has no column {', '.join(map(repr, unknown))}; its columns are {known}")
    if twice := [name for name, times in Counter([*numbers, *codes, *ignore, *given]).items() if times > 1]:
        raise ValueError(f"column {twice[0]!r} is given twice, among names, numbers, codes and what is left out")
    if found.unnamed:
        raise ValueError(
            f"column {found.unnamed[0]} of {found.path} has no name: write one into line {found.first}, or delete it"
        )
    name = given[0]
    columns = [column for column in found.own if column not in (name, *ignore)]
    if not columns or not found.rows:
        raise ValueError(f"{found.path} must have a column of names, another column, and a row for every arm")
    check_names(found, name)
    texts = {column: [row[column] for _, row in found.rows] for column in columns}
    quantities = [text for column in columns if column not in codes for text in texts[column]]
    read = Numbers(quantities, found.delimiter, hint=LEAVE_OUT)
    features, described, unsaid = {"ones": np.ones(len(found.rows))}, {}, []
    for column in columns:
        if "" in texts[column]:
            where = found.at(found.rows[texts[column].index("")][0])
            raise ValueError(f"{where}: {found.own[column]} is empty{LEAVE_OUT}")
        values = None if column in codes else _numbers(found, column, read, column in numbers)
        described[column] = texts[column] if values is None else values
        if values is None:
            if column not in codes:
                check_words(found, column)
            words = sorted(set(texts[column]))[1:]
            new = {f"{column}_{word}": np.array([text == word for text in texts[column]]) for word in words}
        else:
            codelike = _may_be_codes(values) or any(map(CODE.fullmatch, texts[column]))
            unsaid += [found.own[column]] * (column not in numbers and codelike)
            new = _slope(column, np.array(values))
        for feature in features.keys() & new.keys():
            raise ValueError(f"{found.path} gives two features the name {feature!r}: rename a column")
        features |= {feature: values.astype(float) for feature, values in new.items()}
    asked = unsaid and (
        f"the few whole numbers of {', '.join(map(repr, unsaid))} may be quantities or codes: give "
        f"{typed('--numbers', *unsaid)} if equal steps have equal effects, or {typed('--codes', *unsaid)} if they "
        "stand for categories"
    )
    if wrong := [text for text in (asked, _alike(found, name, described)) if text]:
        raise ValueError(f"{found.path}: {'. Also, '.join(wrong)}")
    names = [row[name] for _, row in found.rows]
    return Arms(names, pd.DataFrame(features, index=names), pd.DataFrame(described, index=names))


def _listed(given):
    listed = [given] if isinstance(given, str) or np.ndim(given) == 0 else list(given)
    return [label(name).lower() for name in listed]


def _numbers(found, column, read, sure):
    """Return a column as numbers, or None if it holds words; refuse words if they are surely numbers."""
    values, wrong = [], []
    for line, row in found.rows:
        try:
            values.append(read(row[column], found.own[column], found.at(line)))
        except ValueError as error:
            wrong.append((row[column], error))
    if wrong and (sure or values or any(nearly(text) for text, _ in wrong)):
        unit = ", and the unit into the first line" if any(with_unit(text) for text, _ in wrong) else ""
        codes = f"{typed('--codes', found.own[column])}"
        raise ValueError(f"{wrong[0][1]}{unit}; or, if the column holds words, give {codes}")
    return None if wrong else values


def _slope(name, values):
    """Return {feature: column} of numbers, which is empty if they are all the same."""
    low, high = values.min(), values.max()
    if low == high:
        return {}
    half = high / 2 - low / 2
    return {f"{name}{SCALED}": (values - (low / 2 + high / 2)) / half}


def _may_be_codes(values):
    """Return whether numbers may be categories: more than two, but few, whole numbers, some of them repeated."""
    few = 2 < len(set(values)) <= MANY_CODES and len(set(values)) < len(values)
    return few and all(value % 1 == 0 for value in values)
