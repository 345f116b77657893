"""A table of arms, in words and numbers, as features: what `get_dummies` does, with its traps closed.

Numbers that are codes, such as 1, 2, 3 for three suppliers, must not become a slope, and it cannot be seen from them
whether they are: where it matters it has to be said.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from bandits_lib.lab.tables import MISSING, Numbers, positions, table

MANY_CODES = 20  # a column of whole numbers with more different ones is taken for numbers


class Arms(NamedTuple):
    """Arms as `read_arms` finds them.

    Attributes
    ----------
    names : list of str
        K labels.
    features : (K, d) pandas.DataFrame
        A column of ones, the numbers, and for every word but the first of its column a column of 0 and 1.
    described : pandas.DataFrame
        The table as it was.

    Examples
    --------
    >>> from pathlib import Path
    >>> from bandits_lib.lab.arms import read_arms
    >>> _ = Path("arms.csv").write_text("vial,dose\\nA,0.5\\nB,1.5\\n")
    >>> isinstance(read_arms("arms.csv"), Arms)
    True
    """

    names: list[str]
    features: pd.DataFrame
    described: pd.DataFrame


def read_arms(path, *, numbers=(), codes=()):
    """The arms that a file describes, with a first column of names, as features of a linear model.

    Parameters
    ----------
    path : path or str
        A csv: one row per arm, the first column names it, the others describe it in words or numbers.
    numbers, codes : sequence of str, default ()
        Columns of numbers that are to be slopes, and such that stand for categories.

    Returns
    -------
    Arms
        Names, features and the table.

    Raises
    ------
    ValueError
        With the line, for an empty cell or two arms of one name; for a column of a few whole numbers that neither
        `numbers` nor `codes` name.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("arms.csv").write_text("vial;solvent;dose\\nA;water;0,5\\nB;ethanol;1,0\\nC;water;1,5\\n")
    >>> read_arms("arms.csv").features.to_numpy().tolist()
    [[1.0, 1.0, 0.5], [1.0, 0.0, 1.0], [1.0, 1.0, 1.5]]
    """
    columns, rows = table(path, (set(),))
    numbers, codes = ([name.strip().lower() for name in given] for given in (numbers, codes))
    for name in {*numbers, *codes} - {*columns[1:]}:
        raise ValueError(f"{path} has no column {name!r}; its columns are {', '.join(columns[1:])}")
    if len(columns) < 2 or not rows:
        raise ValueError(f"{path} must have a column of names, one more at least, and a row for every arm")
    for line, row in rows:
        for name in columns:
            if row[name].lower() in MISSING:
                raise ValueError(f"line {line} of {path}: {name} is empty")
    names = [row[columns[0]] for _, row in rows]
    try:
        positions(names)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    features, described = {"ones": np.ones(len(rows))}, {}
    for name in columns[1:]:
        texts = [row[name] for _, row in rows]
        values = None if name in codes else _numbers(path, rows, name)
        described[name] = texts if values is None else values
        if values is None:
            words = sorted(set(texts))
            features |= {f"{name}_{word}": np.array([text == word for text in texts], float) for word in words[1:]}
        elif name not in numbers and _may_be_codes(values):
            raise ValueError(
                f"column {name!r} of {path} holds {len(set(values))} different whole numbers: say numbers=[{name!r}] "
                f"if twice the number is twice the effect, codes=[{name!r}] if they stand for categories"
            )
        else:
            features[name] = np.array(values)
    return Arms(names, pd.DataFrame(features, index=names), pd.DataFrame(described, index=names))


def _numbers(path, rows, name):
    """A column as numbers, or None if it holds words."""
    read, values, errors = Numbers([row[name] for _, row in rows]), [], []
    for line, row in rows:
        try:
            values.append(read(row[name], name, f"line {line} of {path}"))
        except ValueError as error:
            errors.append(error)
    if errors and (values or read.commas):
        raise ValueError(f"{errors[0]}; or say codes=[{name!r}] if the column holds words")
    return None if errors else values


def _may_be_codes(values):
    """Whether numbers may be categories: a few whole ones, more than two, some of them several times."""
    different = set(values)
    return 2 < len(different) <= MANY_CODES and len(different) < len(values) and all(v % 1 == 0 for v in values)
