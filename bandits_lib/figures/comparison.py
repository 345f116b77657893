"""Compare the rows of a notebook with the published rows of the same name.

Run r of a rule and a setting has random numbers of its own, so its row does not depend on the number of runs, on other
rules or on other settings. A run with fewer runs or settings is therefore a sample of the published one.
"""

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from bandits_lib.figures import parameters
from bandits_lib.simulate.own_rule import OWN

TOLERANCE, ZERO = 1e-9, 1e-12  # of floats, relative and absolute; whole numbers and texts must be equal
RULE, RUN = "algorithm", "run"


class Comparison(NamedTuple):
    """How many rows were compared, how many are equal, why others were left out, and the first that differs."""

    compared: int
    equal: int
    left_out: dict[str, int]  # {reason: number of rows}
    differs: str  # in words, "" if all are equal

    def line(self, name: str) -> str:
        """Return the comparison of the table `name` as one line, with a second one if a row differs."""
        reasons = "; ".join(f"{count:,} ({reason})" for reason, count in self.left_out.items())
        if not self.compared:
            return f"{name}: not compared with the published rows: {reasons or 'there are none'}"
        line = f"{name}: {self.equal:,} of {self.compared:,} rows equal the published ones"
        if reasons:
            line += f"; not compared: {reasons}"
        return f"{line}\nDIFFERS: {self.differs}" if self.differs else line


def of(
    rows: pd.DataFrame,
    published: Path,
    used: Mapping,
    *,
    by: Sequence[str] = (),
    depends: Mapping[str, str | Sequence[str]],
    unread: Sequence[str] = (),
) -> Comparison:
    """Compare rows, made with the parameters `used`, with the csv `published`; the arguments are those of `save`."""
    ours = _told_apart(pd.read_csv(io.StringIO(rows.to_csv(index=False, float_format="%.17g"))), by)
    if not ours.index.is_unique:
        again = _in_words(ours.index[ours.index.duplicated()][0], ours.index.names)
        raise ValueError(f"two rows of {published.name} are of {again}: name the columns of all settings in `by`")
    about = _about(published)
    place = f"figures/{published.parent.name}"
    if missing := [file.name for file in (published, about) if not file.exists()]:
        return _none(ours, f"{place} has no {missing[0]}")
    used_then = json.loads(about.read_text(encoding="utf-8"))["parameters"]
    of_rule = {rule: (names,) if isinstance(names, str) else tuple(names) for rule, names in depends.items()}
    apart = {*unread}.union(*of_rule.values())
    if changed := [text for name, text in parameters.changed(used, used_then).items() if name not in apart]:
        return _none(ours, ", ".join(changed))
    frame = pd.read_csv(published)
    if missing := [name for name in ours.index.names if name not in frame and name != RULE]:
        return _none(ours, f"{place}/{published.name} has no column {missing[0]}")
    theirs = _told_apart(frame, by)
    if other := sorted({*ours} ^ {*theirs}):
        return _none(ours, f"{place}/{published.name} has other columns: {', '.join(other)}")
    if not theirs.index.is_unique:
        return _none(ours, f"{place}/{published.name} has rows that its settings do not tell apart")
    strict = parameters.changed(used, used_then, samples=False)
    reasons = {rule: [strict[name] for name in names if name in strict] for rule, names in of_rule.items()}
    return _compared(ours, theirs, {rule: f"{rule}: {', '.join(why)}" for rule, why in reasons.items() if why})


def _about(published):
    """Return the json of a csv: its own, or that of the figure with whose name its own begins."""
    own = stem = published.name.removesuffix(".csv").removesuffix("_runs")
    while stem and not published.with_name(f"{stem}.json").exists():
        stem = stem.rpartition("_")[0]
    return published.with_name(f"{stem or own}.json")


def _told_apart(rows, by):
    """Return rows with rule, settings and run as texts in the index; without `by`, rules may be columns after `run`."""
    if RULE not in rows and not by and RUN in rows:
        keys = [*rows.columns[: rows.columns.get_loc(RUN) + 1]]
        rows = rows.melt(keys, var_name=RULE, value_name="value").dropna(subset="value")
        by = keys[:-1]
    keys = [name for name in dict.fromkeys((RULE, *by, RUN)) if name in rows or name in by]
    texts = [rows[name].map({value: _text(value) for value in rows[name].unique()}) for name in keys if name in rows]
    return rows.drop(columns=keys, errors="ignore").set_index(pd.MultiIndex.from_arrays(texts, names=keys))


def _text(value):
    """Return a value as text; 5 and 5.0 are the same text."""
    return f"{value:.9g}" if isinstance(value, int | float | np.number) and value is not True else str(value)


def _none(ours, reason):
    return Comparison(0, 0, {reason: len(ours)} if len(ours) else {}, "")


def _compared(ours, theirs, reasons):
    """Compare rows with published ones of the same columns; leave out rules with a reason, and runs after the last."""
    why = pd.Series("", ours.index)
    level = ours.index.get_level_values
    if RULE in ours.index.names:
        why[:] = [(reasons | {OWN: "your own rule"}).get(rule, "") for rule in level(RULE)]
    published = ours.index.isin(theirs.index)
    if RUN in ours.index.names:  # a reader may play more runs than were published
        last = theirs.index.get_level_values(RUN).astype(int).max() if len(theirs) else -1
        why[~published & (level(RUN).astype(int) > last)] = f"the published runs end with run {last}"
    partners = theirs.reindex(ours.index)
    same = pd.DataFrame({name: _equal(ours[name], partners[name]) for name in ours}, ours.index)
    equal, compared = same.all(axis=1).to_numpy() & published, (why == "").to_numpy()
    words = ""
    if (wrong := np.flatnonzero(compared & ~equal)).size:
        first = wrong[0]
        words = _in_words(ours.index[first], ours.index.names)
        names = [name for name in ours if not same[name].iloc[first]]
        values = [f"{name} is {ours[name].iloc[first]}, published {partners[name].iloc[first]}" for name in names]
        words += f": {'; '.join(values)}" if published[first] else " is not among the published rows"
    left_out = why[~compared].value_counts(sort=False).to_dict()
    return Comparison(int(compared.sum()), int((compared & equal).sum()), left_out, words)


def _equal(one, other):
    """Return whether values are equal, floats up to TOLERANCE; a missing value equals a missing value."""
    if pd.api.types.is_numeric_dtype(one) and pd.api.types.is_numeric_dtype(other):
        if pd.api.types.is_bool_dtype(one) != pd.api.types.is_bool_dtype(other):
            return np.zeros(len(one), bool)
        one, other = one.to_numpy(float), other.to_numpy(float)
        whole = (one == np.round(one)) & (other == np.round(other)) & (np.abs(one - other) > ZERO)
        near = np.isclose(one, other, rtol=TOLERANCE, atol=ZERO, equal_nan=True)
        return np.where(whole, False, near)
    return one.map(_text).to_numpy() == other.map(_text).to_numpy()


def _in_words(key, names):
    """Return rule, settings and run in words."""
    return ", ".join(text if name == RULE else f"{name} = {text}" for name, text in zip(names, key, strict=True))
