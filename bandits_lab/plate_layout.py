"""Lay out requests on plates, and read plates back as Samples.

A request may be answered in parts, so you can hand over the first plates before the others are measured. Every plate is
a block with the same share of each arm, up to one pull, so plates measured on different days do not favour an arm. The
order within a plate is random, so edges, columns and drifts do not favour an arm either.
"""

import warnings
from collections.abc import Sequence
from math import ceil

import numpy as np
import pandas as pd

from bandits_lab.measurements import LARGEST, MISSING, OUT_OF_RANGE, Numbers, table
from bandits_lib.checks import check_option
from bandits_lib.protocol import Sample, checked_batch

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
    Save the layout (`to_csv`) before you use it, because the next call draws another order. `read_plates` reads the
    rewards.

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
    names = _labels(names, len(counts))
    places = wells(size)
    arms = np.repeat(np.arange(len(counts)), counts)
    rank = np.arange(len(arms)) - np.repeat(np.cumsum(counts) - counts, counts)  # 0, 1, ... within each arm
    at = (rank + np.repeat(rng.uniform(size=len(counts)), counts)) / counts[arms]  # evenly along the request
    blocks = np.split(arms[np.argsort(at)], list(range(len(places), len(arms), len(places))))
    arms = np.concatenate([rng.permutation(block) for block in blocks])
    plate = np.arange(len(arms)) // len(places) + 1
    well = (places * ceil(len(arms) / len(places)))[: len(arms)]
    return pd.DataFrame({"plate": plate, "well": well, "arm": [names[arm] for arm in arms.tolist()]})


def read_plates(readings, layout, names=None, *, K=None):
    """Return a Sample of readings, a table or csv with columns plate, well and reward; empty rewards are left out."""
    if names is None and K is None:
        raise ValueError("names and K are both missing: give the names of the arms, or K, their number")
    names = _labels(names, K if names is None else len(names))
    readings = _placed(readings, ["plate", "well", "reward"], "readings")
    arm_in = _placed(layout, ["plate", "well", "arm"], "layout")["arm"]
    unknown = readings.index.difference(arm_in.index)
    if len(unknown):
        raise ValueError(
            f"the layout has no well {unknown[0][1]} on plate {unknown[0][0]}, which the readings have: give a layout "
            "with every well of the readings"
        )
    _agree(readings, arm_in)
    rewards = pd.to_numeric(readings["reward"], errors="coerce")
    if len(wrong := rewards.index[rewards.isna() & readings["reward"].notna()]):
        plate, well = wrong[0]
        raise ValueError(f"plate {plate}, well {well}: reward {readings['reward'][wrong[0]]!r} is not a number")
    rewards = rewards.dropna()
    position = {str(name): k for k, name in enumerate(names)}
    pulled = [position.get(_label(arm), -1) for arm in arm_in[rewards.index]]
    if -1 in pulled:
        raise ValueError(f"arm {arm_in[rewards.index].iloc[pulled.index(-1)]!r} of the layout is not one of the names")
    _warn_of_missing(arm_in.index[arm_in.index.isin(readings.index.levels[0], level=0)].difference(rewards.index))
    return Sample.of(np.array(pulled, np.int64), rewards.to_numpy(float), len(names))


def _agree(readings, arm_in):
    """Refuse readings whose column arm differs from the layout."""
    for (plate, well), arm in readings.get("arm", pd.Series(dtype=object)).items():
        said, meant = _label(arm), _label(arm_in[plate, well])
        if pd.notna(arm) and said != meant:
            raise ValueError(
                f"plate {plate}, well {well}: the readings say arm {said!r}, the layout {meant!r}: give the layout "
                "with which these plates were filled"
            )


def _label(arm):
    """Return an arm as text; a whole number that a table turned into a float loses its decimals."""
    return str(int(arm)) if isinstance(arm, float) and arm.is_integer() else str(arm).strip()


def _warn_of_missing(places):
    """Warn of the wells that have no reward, and name the first of them."""
    if len(places):
        shown = ", ".join(f"{well} on plate {plate}" for plate, well in places[:6]) + ", ..." * (len(places) > 6)
        warnings.warn(
            f"{len(places)} wells of the layout have no reward ({shown}): they are left out, and their rewards are "
            "still asked for. This is valid only if a well is empty for a reason that has nothing to do with its "
            "reward; that a reading was out of range is no such reason",
            stacklevel=3,
        )


def _labels(names, K):
    names = list(range(K) if names is None else names)
    if len(names) != K or len(set(map(str, names))) != K:
        raise ValueError(f"names must be distinct and one for each of the {K} arms; got {len(names)}")
    return names


def _placed(source, columns, name):
    """Return a table, given or read from a file, indexed by plate and well."""
    found = source if isinstance(source, pd.DataFrame) else _from_file(source, columns)
    if missing := [column for column in columns if column not in found.columns]:
        raise ValueError(f"{name} must have the columns {', '.join(columns)}; {', '.join(missing)} is missing")
    plate = pd.to_numeric(found["plate"], errors="coerce")
    if len(wrong := found["plate"][~((plate % 1 == 0) & (plate.abs() < LARGEST))]):
        got = f"the column plate of the {name} must hold whole numbers; got {wrong.iloc[0]}"
        raise ValueError(f"{got}: leave out rows of totals")
    well = found["well"].astype(str).str.strip().str.upper().str.replace(r"^([A-Z]+)0+(?=\d)", r"\1", regex=True)
    index = pd.MultiIndex.from_arrays([plate.astype(int), well], names=["plate", "well"])
    placed = found.set_axis(index)
    if placed.index.has_duplicates:
        plate, well = placed.index[placed.index.duplicated()][0]
        raise ValueError(f"well {well} of plate {plate} comes twice in the {name}: leave one out")
    return placed


def _from_file(path, columns):
    """Return the table in a csv, with rewards as numbers and None for empty cells."""
    _, rows, delimiter = table(path, (columns,))
    filled = [{name: None if text.lower() in MISSING else text for name, text in row.items()} for _, row in rows]
    numbers = Numbers([row["reward"] for row in filled if row.get("reward")], delimiter, OUT_OF_RANGE)
    for (line, _), row in zip(rows, filled, strict=True):
        for name in ("plate", "well"):
            if row[name] is None:
                raise ValueError(f"line {line} of {path}: {name} is empty; fill it, or leave the line out")
        row["plate"] = numbers.whole(row["plate"], "plate", f"line {line} of {path}")
        if "reward" in columns and row["reward"] is not None:
            row["reward"] = numbers(row["reward"], "reward", f"line {line} of {path}")
    return pd.DataFrame(filled, columns=list(dict.fromkeys([*columns, *(filled[0] if filled else [])])))
