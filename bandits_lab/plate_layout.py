"""Lay out requests on plates.

A request may be answered in parts, so you can hand over the first plates before the others are measured. Every plate is
a block with the same share of each arm, up to one pull, so plates measured on different days do not favour an arm. The
order within a plate is random, so edges, columns and drifts do not favour an arm either.
"""

from collections.abc import Sequence
from math import ceil

import numpy as np
import pandas as pd

from bandits_lab.measurements import positions
from bandits_lib.checks import check_option
from bandits_lib.protocol import checked_batch

ROWS = {6: 2, 12: 3, 24: 4, 48: 6, 96: 8, 384: 16, 1536: 32}  # rows of a plate, by its number of wells


def wells(size=96):
    """Return the names of the wells of a plate, row by row, such as A1 to H12 for 96 wells."""
    rows = ROWS[check_option("size", size, tuple(ROWS))]
    return [f"{_letters(row)}{column + 1}" for row in range(rows) for column in range(size // rows)]


def _letters(row):
    return chr(65 + row) if row < 26 else f"A{chr(65 + row - 26)}"


def plates(
    wanted: np.ndarray, names: Sequence | None = None, *, size: int = 96, rng: np.random.Generator
) -> pd.DataFrame:
    """Return the layout of a request on plates, which says which arm goes into which well.

    Parameters
    ----------
    wanted : (K,) int array_like
        Pulls of each arm (`lab.ask()`).
    names : sequence, optional
        K labels of the arms; by default 0..K-1.
    size : {6, 12, 24, 48, 96, 384, 1536}, default 96
        Number of wells of a plate.
    rng : numpy.random.Generator
        Random generator that draws the order.

    Returns
    -------
    pandas.DataFrame
        One row per pull: plate (1, 2, ...), well, arm (its label). Wells of the last plate may stay empty.

    Raises
    ------
    ValueError
        For pulls that are not counts, names that are not distinct or not one per arm, another size, and an rng that is
        not a generator.

    Notes
    -----
    Save the layout (`to_csv`) before you use it, because the next call draws another order. Add a column `reward`, and
    `read_measurements` reads it.

    Examples
    --------
    >>> layout = plates([5, 3], ["acid", "base"], size=6, rng=np.random.default_rng(0))
    >>> layout["plate"].tolist(), layout["well"].tolist()[-2:]
    ([1, 1, 1, 1, 1, 1, 2, 2], ['A1', 'A2'])
    >>> layout["arm"].value_counts().to_dict()
    {'acid': 5, 'base': 3}
    """
    if not isinstance(rng, np.random.Generator):
        raise ValueError(f"rng must be a numpy.random.Generator; got {rng!r}: write rng=np.random.default_rng(0)")
    if wanted is None:
        raise ValueError("wanted is None: the rule is done and asks for nothing")
    counts = checked_batch(wanted)
    names = list(range(len(counts)) if names is None else names)
    if len(positions(names)) != len(counts):
        raise ValueError(f"there must be one name for each of the {len(counts)} arms; got {len(names)}")
    places = wells(size)
    arms = np.repeat(np.arange(len(counts)), counts)
    rank = np.arange(len(arms)) - np.repeat(np.cumsum(counts) - counts, counts)  # 0, 1, ... within each arm
    at = (rank + np.repeat(rng.uniform(size=len(counts)), counts)) / counts[arms]  # evenly along the request
    blocks = np.split(arms[np.argsort(at)], list(range(len(places), len(arms), len(places))))
    arms = np.concatenate([rng.permutation(block) for block in blocks])
    plate = np.arange(len(arms)) // len(places) + 1
    well = (places * ceil(len(arms) / len(places)))[: len(arms)]
    return pd.DataFrame({"plate": plate, "well": well, "arm": [names[arm] for arm in arms.tolist()]})
