"""Turn a table of arms, in words and numbers, into the features of a linear model.

Words become columns of 0 and 1, as with `pandas.get_dummies`. Numbers that are codes, such as 1, 2, 3 for three
suppliers, must not get a slope. Where the table does not show which columns are codes, the caller must say so.
"""

from collections.abc import Sequence
from os import PathLike
from typing import NamedTuple

import numpy as np
import pandas as pd

from bandits_lab.measurements import MISSING, UNIT, Numbers, label, spelled, table

FEW = 6  # with at most so many arms, most arms may have a word of their own
SHARE = 0.75  # with more arms, a column holds names if its different words exceed this share of the arms
MANY_CODES = 20  # a column with more different whole numbers than this holds no codes
SCALED = " (scaled)"


def check_cells(path, columns, rows):
    """Refuse columns without a name, empty cells and two arms of the same name."""
    for number, name in enumerate(columns[1:], start=2):
        if not name:
            raise ValueError(f"column {number} of {path} has no name: write a name into the first line")
    for line, row in rows:
        for name in columns:
            if row[name].lower() in MISSING:
                way_out = (
                    ""
                    if name == columns[0]
                    else ": fill it, or leave the column out with --ignore (in Python: ignore=)"
                )
                raise ValueError(f"line {line} of {path}: {name} is {row[name] or 'empty'}{way_out}")
    for (before, _), (line, row) in _twice(rows, lambda row: row[columns[0]]):
        raise ValueError(
            f"lines {before} and {line} of {path}: names must differ; both are {row[columns[0]]!r}: rename one"
        )


def check_words(path, rows, name, said):
    """Refuse words that differ only in capitals or blanks; if not `said` to be codes, also units and names of arms."""
    words: dict[str, int] = {}
    for line, row in rows:
        words.setdefault(row[name], line)
    firsts = [(line, word) for word, line in words.items()]
    for (before, one), (line, other) in _twice(firsts, lambda word: "".join(word.split()).casefold()):
        raise ValueError(
            f"column {name!r} of {path}: {one!r} (line {before}) and {other!r} (line {line}) differ only in capitals "
            "or blanks: write them alike"
        )
    if said:
        return
    units = [found[2] for word in words if (found := UNIT.fullmatch(word))]
    if len(units) == len(words) > 1:
        raise ValueError(
            f"column {name!r} of {path} holds numbers with a unit, such as {firsts[0][1]!r}: write the unit into the "
            f"first line ('{name} [{units[0]}]') and the numbers alone below; or, if these "
            "entries are names, name the column with --codes (in Python: codes=)"
        )
    if len(words) == len(rows) > 2 or len(rows) > FEW and len(words) > SHARE * len(rows):
        raise ValueError(
            f"column {name!r} of {path} has {len(words)} different words for {len(rows)} arms, so it may hold names: "
            "leave the column out with --ignore (in Python: ignore=), or, if its words are categories, list the column "
            "under --codes (in Python: codes=)"
        )


def check_alike(path, columns, rows, described):
    """Refuse two arms with the same description."""
    alike = list(zip(*described.values(), strict=True))
    lines = [(line, (row[columns[0]], values)) for (line, row), values in zip(rows, alike, strict=True)]
    for (before, (one, _)), (line, (other, _)) in _twice(lines, lambda row: row[1]):
        raise ValueError(
            f"{path}: {one!r} (line {before}) and {other!r} (line {line}) are alike in all columns: leave one out, or "
            "add the column in which they differ"
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
        return self._with({f"{name}^2": self.features[name] ** 2 for name in map(self._feature, columns)})

    def with_products(self, *pairs):
        """Return the arms with products of two features, such as ("rpm", "bar"), for interactions."""
        new = {}
        for pair in pairs:
            if isinstance(pair, str) or len(pair) != 2:
                raise ValueError(f"pairs must be two features each, such as ('rpm', 'bar'); got {pair!r}")
            one, other = map(self._feature, pair)
            new[f"{one}*{other}"] = self.features[one] * self.features[other]
            if new[f"{one}*{other}"].nunique() < 2:
                raise ValueError(f"the product of {pair[0]!r} and {pair[1]!r} is the same for all arms: leave it out")
        return self._with(new)

    def _feature(self, name):
        for known in (name, f"{str(name).strip().lower()}{SCALED}"):
            if known in self.features:
                return known
        raise ValueError(f"there is no feature {name!r}; there are {', '.join(self.features)}")

    def _with(self, new):
        return self._replace(features=self.features.assign(**new))


def read_arms(
    path: str | PathLike,
    *,
    numbers: str | Sequence[str] = (),
    codes: str | Sequence[str] = (),
    ignore: str | Sequence[str] = (),
    arm: str = "",
    scale: bool = True,
) -> Arms:
    """Return the arms of a file, with features for a linear model.

    Parameters
    ----------
    path : path or str
        A csv with a row per arm. The first column names the arm, and the others describe it in words or numbers.
    numbers, codes, ignore : str or sequence of str, default ()
        Columns whose numbers have a slope, columns whose numbers stand for categories, and columns to leave out.
    arm : str, default ""
        The column that names the arms, if it is not the first.
    scale : bool, default True
        Whether numbers are scaled to [-1, 1], so that a coefficient is the effect of half the range. Leads, intervals
        and answers do not depend on the scale.

    Returns
    -------
    Arms
        The `names`, the `features`, and the table as it was, `described`. The features are a column of ones, the
        numbers, and a column of 0 and 1 for every word except the first of its column. A scaled feature has a name such
        as "rpm (scaled)". A column that is the same for all arms is not a feature.

    Raises
    ------
    ValueError
        For an empty cell, two equal names, two arms or words that are alike, words that look like names or numbers, and
        a column of a few whole numbers that is neither in `numbers` nor in `codes`. The message names the line.

    Notes
    -----
    The methods `with_squares("rpm")` and `with_products(("rpm", "bar"))` of the result add curves and interactions.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("arms.csv").write_text("vial;solvent;dose\\nA;water;0,5\\nB;ethanol;1,0\\nC;water;1,5\\n")
    >>> read_arms("arms.csv").features.to_numpy().tolist()
    [[1.0, 1.0, -1.0], [1.0, 0.0, 0.0], [1.0, 1.0, 1.0]]
    >>> read_arms("arms.csv", scale=False).features["dose"].tolist()
    [0.5, 1.0, 1.5]
    """
    columns, rows, delimiter = table(path, ([],))
    numbers, codes, ignore = (_listed(given) for given in (numbers, codes, ignore))
    if arm and (arm := label(arm).lower()) not in columns:
        raise ValueError(f"{path} has no column {arm!r}; its columns are {', '.join(columns)}")
    columns.sort(key=lambda name: bool(arm) and name != arm)
    if unknown := sorted({*numbers, *codes, *ignore} - {*columns[1:]}):
        missing = ", ".join(map(repr, unknown))
        raise ValueError(f"{path} has no column {missing}; its columns are {', '.join(columns[1:])}")
    columns = [name for name in columns if name not in ignore]
    if len(columns) < 2 or not rows:
        raise ValueError(f"{path} must have a column of names, at least one other column, and a row for every arm")
    check_cells(path, columns, rows)
    read = Numbers([row[name] for _, row in rows for name in columns[1:] if name not in codes], delimiter)
    features, described, unsaid = {"ones": np.ones(len(rows))}, {}, []
    for name in columns[1:]:
        texts = [row[name] for _, row in rows]
        values = None if name in codes else _numbers(path, rows, name, read)
        described[name] = texts if values is None else values
        if values is None:
            check_words(path, rows, name, name in codes)
            new = {f"{name}_{word}": np.array([text == word for text in texts]) for word in sorted(set(texts))[1:]}
        else:
            unsaid += [name] * (name not in numbers and _may_be_codes(values))
            new = _slope(name, np.array(values), scale)
        for feature in features.keys() & new.keys():
            raise ValueError(f"{path} gives two features the name {feature!r}: rename a column")
        features |= {feature: column.astype(float) for feature, column in new.items()}
    _check_slopes(path, unsaid)
    check_alike(path, columns, rows, described)
    names = [row[columns[0]] for _, row in rows]
    return Arms(names, pd.DataFrame(features, index=names), pd.DataFrame(described, index=names))


def _listed(given):
    listed = [given] if isinstance(given, str) or np.ndim(given) == 0 else list(given)
    if wrong := [name for name in listed if not isinstance(name, str)]:
        raise ValueError(f"columns must be given by their names; got {wrong[0]!r}")
    return [name.strip().lower() for name in listed]


def _numbers(path, rows, name, read):
    """Return a column as numbers, or None if it holds words."""
    values, errors = [], []
    for line, row in rows:
        try:
            values.append(read(row[name], name, f"line {line} of {path}"))
        except ValueError as error:
            errors.append(error)
    if errors and (values or any(read.nearly(row[name]) for _, row in rows)):
        unit = ", and the unit into the first line" if any(UNIT.fullmatch(row[name]) for _, row in rows) else ""
        raise ValueError(
            f"{errors[0]}{unit}; or, if column {name!r} holds words, name it with --codes (in Python: codes=)"
        )
    return None if errors else values


def _slope(name, values, scale):
    """Return {feature: column} of numbers, which is empty if they are all the same."""
    low, high = values.min(), values.max()
    if low == high:
        return {}
    if not scale:
        return {name: values}
    half = high / 2 - low / 2
    return {f"{name}{SCALED}": (values - (low / 2 + high / 2)) / half}


def _may_be_codes(values):
    """Return whether numbers may be categories: more than two, but few, whole numbers, some of them repeated."""
    few = 2 < len(set(values)) <= MANY_CODES and len(set(values)) < len(values)
    return few and all(value % 1 == 0 for value in values)


def _check_slopes(path, names):
    """Refuse columns of numbers that may be categories."""
    if names:
        own = spelled(path)
        typed = f'"{",".join(own[name] for name in names)}"'
        column = f"column {names[0]!r}" if len(names) == 1 else f"columns {', '.join(map(repr, names))}"
        raise ValueError(
            f"{column} of {path} hold{'s' * (len(names) == 1)} a few whole numbers: write --numbers {typed} if equal "
            f"steps have equal effects, or --codes {typed} if the numbers stand for categories"
        )
