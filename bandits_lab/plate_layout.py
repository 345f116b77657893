"""A request laid out on plates, and plates read back: a laboratory answers in wells.

A request may be answered in parts, so the first plates can be told while the others wait; what a rule does next depends
on the sum of the answers alone. The wells are in random order, so that edges, columns and drifts of a plate do not
favour an arm. Costs that differ between arms have no place here: no rule of this package looks at them.
"""

import warnings
from math import ceil

import numpy as np
import pandas as pd

from bandits_lab.measurements import LARGEST, MISSING, OUT_OF_RANGE, Numbers, table
from bandits_lib.checks import check_option
from bandits_lib.protocol import Sample, checked_batch

ROWS = {6: 2, 12: 3, 24: 4, 48: 6, 96: 8, 384: 16, 1536: 32}  # of a plate, by its number of wells


def wells(size=96):
    """Names of the wells of a plate, row by row: A1 to H12 for 96.

    Parameters
    ----------
    size : {6, 12, 24, 48, 96, 384, 1536}, default 96
        Number of wells.

    Returns
    -------
    list of str
        The names.

    Raises
    ------
    ValueError
        For another size.

    Examples
    --------
    >>> wells(6)
    ['A1', 'A2', 'A3', 'B1', 'B2', 'B3']
    """
    rows = ROWS[check_option("size", size, tuple(ROWS))]
    return [f"{_letters(row)}{column + 1}" for row in range(rows) for column in range(size // rows)]


def _letters(row):
    """A, B, ..., Z, AA, AB, ..."""
    return chr(65 + row) if row < 26 else f"A{chr(65 + row - 26)}"


def plates(wanted, names=None, *, size=96, rng):
    """A request on plates: which arm goes into which well.

    Parameters
    ----------
    wanted : (K,) int array_like
        Pulls of each arm (`lab.ask()`).
    names : sequence, optional
        K labels of the arms, by default 0..K-1.
    size : {6, 12, 24, 48, 96, 384, 1536}, default 96
        Wells of a plate.
    rng : numpy.random.Generator
        Draws the order.

    Returns
    -------
    pandas.DataFrame
        One row per pull: plate (1, 2, ...), well, arm (its label). The last plate may have wells that stay empty.

    Raises
    ------
    ValueError
        For pulls that are no counts, names that are not one per arm or not distinct, another size, and an rng that is
        none.

    Notes
    -----
    Save it (`to_csv`) before the first pipette: the order is drawn anew at the next call.

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
    arms = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    plate = np.arange(len(arms)) // len(places) + 1
    well = (places * ceil(len(arms) / len(places)))[: len(arms)]
    return pd.DataFrame({"plate": plate, "well": well, "arm": [names[arm] for arm in arms]})


def read_plates(readings, layout, names=None, *, K=None):
    """What was read from plates, as a Sample to tell; wells that are missing or empty (failed) are not told.

    Parameters
    ----------
    readings : pandas.DataFrame, path or str
        Columns plate, well and reward, or the path of a csv with these (semicolons, decimal commas and UTF-16 are read,
        as by `lab.measurements.read`); any part of the layout, in any order. If there is a column arm, it must agree.
    layout : pandas.DataFrame, path or str
        As `plates` made it, or the path of a csv of it.
    names : sequence, optional
        K labels of the arms, as they stand in the layout, by default 0..K-1.
    K : int, optional
        Number of arms, where there are no `names`.

    Returns
    -------
    Sample
        Counts, sums and squares of the K arms.

    Raises
    ------
    ValueError
        For missing columns, a well that is not in the layout, comes twice or holds another arm there, a reward that is
        no number, and an arm in the layout that is not one of the names.

    Warns
    -----
    UserWarning
        If a plate that is read has wells of the layout without a reward: how many, and which.

    Examples
    --------
    >>> from bandits_lab.plate_layout import plates
    >>> layout = plates([2, 1], ["acid", "base"], size=6, rng=np.random.default_rng(0))
    >>> read = layout.assign(reward=[0.5, 0.25, np.nan])
    >>> read_plates(read, layout, ["acid", "base"]).counts.tolist()
    [1, 1]
    """
    if names is None and K is None:
        raise ValueError("names of the arms are needed, or K, how many there are")
    names = _labels(names, K if names is None else len(names))
    readings = _placed(readings, ["plate", "well", "reward"], "readings")
    arm_in = _placed(layout, ["plate", "well", "arm"], "layout")["arm"]
    unknown = readings.index.difference(arm_in.index)
    if len(unknown):
        raise ValueError(f"the layout has no well {unknown[0][1]} on plate {unknown[0][0]}: is it of another request?")
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
    """Refuse readings whose column arm, if they have one, names another arm than the layout."""
    for (plate, well), arm in readings.get("arm", pd.Series(dtype=object)).items():
        said, meant = _label(arm), _label(arm_in[plate, well])
        if pd.notna(arm) and said != meant:
            raise ValueError(
                f"plate {plate}, well {well}: the readings say arm {said!r}, the layout {meant!r}: is it the layout of "
                "these plates?"
            )


def _label(arm):
    """An arm as text: a number that a table has made a float of is whole again."""
    return str(int(arm)) if isinstance(arm, float) and arm.is_integer() else str(arm).strip()


def _warn_of_missing(places):
    """Say which wells of plates that were read have no reward."""
    if len(places):
        shown = ", ".join(f"{well} on plate {plate}" for plate, well in places[:6]) + ", ..." * (len(places) > 6)
        warnings.warn(
            f"{len(places)} wells of the layout have no reward ({shown}): they are left out, and still asked for. That "
            "is right if it does not depend on what the reward would have been; a reading out of range is not missing",
            stacklevel=3,
        )


def _labels(names, K):
    names = list(range(K) if names is None else names)
    if len(names) != K or len(set(map(str, names))) != K:
        raise ValueError(f"names must be distinct and one for each of the {K} arms; got {len(names)}")
    return names


def _placed(source, columns, name):
    """A table, or the file of one, indexed by plate and well, each at most once."""
    found = source if isinstance(source, pd.DataFrame) else _from_file(source, columns)
    if missing := [column for column in columns if column not in found.columns]:
        raise ValueError(f"{name} must have the columns {', '.join(columns)}; {', '.join(missing)} is missing")
    plate = pd.to_numeric(found["plate"], errors="coerce")
    if len(wrong := found["plate"][~((plate % 1 == 0) & (plate.abs() < LARGEST))]):
        raise ValueError(f"plate must be a whole number in the {name}; got {wrong.iloc[0]}: leave out totals")
    well = found["well"].astype(str).str.strip().str.upper().str.replace(r"^([A-Z]+)0+(?=\d)", r"\1", regex=True)
    index = pd.MultiIndex.from_arrays([plate.astype(int), well], names=["plate", "well"])
    placed = found.set_axis(index)
    if placed.index.has_duplicates:
        plate, well = placed.index[placed.index.duplicated()][0]
        raise ValueError(f"well {well} of plate {plate} comes twice in the {name}")
    return placed


def _from_file(path, columns):
    """A csv of readings or of a layout, with rewards as numbers; empty cells are None."""
    _, rows, delimiter = table(path, (set(columns),))
    filled = [{name: None if text.lower() in MISSING else text for name, text in row.items()} for _, row in rows]
    numbers = Numbers([row["reward"] for row in filled if row.get("reward")], delimiter, OUT_OF_RANGE)
    for (line, _), row in zip(rows, filled, strict=True):
        for name in ("plate", "well"):
            if row[name] is None:
                raise ValueError(f"line {line} of {path}: {name} is empty")
        row["plate"] = numbers.whole(row["plate"], "plate", f"line {line} of {path}")
        if "reward" in columns and row["reward"] is not None:
            row["reward"] = numbers(row["reward"], "reward", f"line {line} of {path}")
    return pd.DataFrame(filled, columns=list(dict.fromkeys([*columns, *(filled[0] if filled else [])])))
