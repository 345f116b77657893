"""Claims: what a notebook measures of the sentences in notebooks/claims.yaml, with computed letters."""

from collections.abc import Collection, Sequence
from math import isnan, nan
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from bandits_companion import registry, verdicts
from bandits_companion.claims_table import (
    CHANGED,
    COLUMNS,
    MEASURED,
    NO_CONTROL,
    RULE,
    condition,
    csv_of,
    judge,
    judged,
    read_file,
    rounded,
    with_interval,
)
from bandits_companion.registry import Entry
from bandits_lib.files import atomic_write
from bandits_lib.simulate.intervals import Interval


class Claim(NamedTuple):
    """An entry of claims.yaml, the measured interval, and those of its loser and its winner."""

    entry: Entry
    interval: Interval
    loser: Interval | None = None
    winner: Interval | None = None


def measured(
    id: str,
    estimate: Interval | float,
    low: float | None = None,
    high: float | None = None,
    *,
    loser: Interval | None = None,
    winner: Interval | None = None,
    printed_error: float = 0.0,
) -> Claim:
    """Return a claim of claims.yaml with its measured interval.

    Parameters
    ----------
    id : str
        Id of its entry in claims.yaml, with part and reading.
    estimate : Interval or float
        The measured interval, or the estimate alone.
    low, high : float, optional
        Ends of the 95 % interval if `estimate` is a number; simultaneous where a statement has several settings.
    loser, winner : Interval, optional
        Measured intervals of what the entry names as its loser and its winner.
    printed_error : float, default 0
        For a printed number: its standard error by our own runs, used if it is larger than the printed one.

    Returns
    -------
    Claim
        The claim.

    Raises
    ------
    ValueError
        If the id has no entry, if the interval or that of a named control is missing or has a NaN, or if an estimate
        lies outside its interval.

    Examples
    --------
    >>> from pathlib import Path
    >>> found = dict(place="Figure 1a", quote="fewer", measures="ratio", holds=[0, 1], edge="words", slack="demo")
    >>> _ = Path("claims.yaml").write_text(str({"weltz2023_demo/fewer": found}))
    >>> show([measured("weltz2023_demo/fewer", 0.5, 0.4, 0.6)])["judged"].item()
    'holds'
    """
    entries = registry.find()
    if id not in entries:
        near = registry.of_notebook(entries, id.partition("/")[0])
        raise ValueError(f"claims.yaml has no {id}; of this notebook it has {', '.join(near) or 'none'}")
    numbers: Any = estimate if low is None and high is None else (estimate, low, high)
    if not isinstance(numbers, tuple | list) or len(numbers) != 3:
        raise ValueError(f"claim {id} needs estimate, low and high; got {numbers!r}")
    entry = entries[id]
    for name, control in (("loser", loser), ("winner", winner)):
        if bool(getattr(entry, name)) != (control is not None):
            fault = f"no {name}, but claims.yaml names one" if control is None else f"a {name} without a name"
            raise ValueError(f"claim {id} has {fault}: pass {name}= if, and only if, claims.yaml names it")
    if not isnan(entry.rule.printed):
        half = max(entry.factor * entry.error, rounded(entry.factor * printed_error))
        entry = entry._replace(rule=entry.rule._replace(half=half))
    found: list[Any] = [numbers, loser, winner]
    for interval in found:
        if interval is not None and (any(map(isnan, interval)) or not interval[1] <= interval[0] <= interval[2]):
            raise ValueError(
                f"claim {id} needs low <= estimate <= high; got {interval[1]}, {interval[0]}, {interval[2]}"
            )
    return Claim(entry, *(interval and _rounded(interval) for interval in found))


def _rounded(interval):
    if not isinstance(interval, Interval):
        return Interval(*map(rounded, interval))
    how = {"error": rounded(interval.error), "settings": tuple(map(_rounded, interval.settings))}
    return Interval(*map(rounded, interval), **(vars(interval) | how))


def table(claims: Sequence[Claim]) -> pd.DataFrame:
    """Return the claims as a table with everything that follows from their numbers.

    Parameters
    ----------
    claims : sequence of Claim
        The claims.

    Returns
    -------
    DataFrame
        A row for each claim, as `ledger.read` returns it.

    Examples
    --------
    >>> len(table([]))
    0
    """
    return judge(pd.DataFrame([_row(c) for c in claims], columns=COLUMNS))


def _row(claim):
    """Return the values of COLUMNS."""
    entry, rule = claim.entry, claim.entry.rule
    words = [entry.id, entry.paper, entry.place, entry.quote, entry.whole, entry.restored, entry.root]
    words += [entry.measures, entry.kind, entry.edge]
    settings = getattr(claim.interval, "settings", ())
    several = entry.quote and settings and not entry.sampled  # one counterexample is enough for a general statement
    counted = (len(settings), verdicts.held(rule, settings)) if several else (nan, nan)
    controls = [
        value
        for name, interval in ((entry.loser, claim.loser), (entry.winner, claim.winner))
        for value in ((name, *interval) if interval else NO_CONTROL)
    ]
    error = getattr(claim.interval, "error", nan)
    explanation = entry.why.get(verdicts.letter(rule, claim.interval) if entry.quote else "–", "")
    reasons = (entry.slack, entry.untestable, entry.waits, explanation, "", "")
    return (*words, *rule, entry.sampled, *claim.interval, error, *counted, *controls, *reasons)


def _untestable(entry):
    return Claim(entry, Interval(0.0, -float("inf"), float("inf")))


def rejudge(figures):
    """Give the stored claims in figures/claims the words and criteria that claims.yaml has now; return changed ids.

    Measured numbers stay. A claim whose criterion changed says so until its notebook is run again."""
    entries, changed = registry.find(), []
    for file in sorted((Path(figures) / "claims").glob("*.csv")):
        rows = [_rejudged(entries, row) for row in read_file(file).to_dict("records")]
        changed += [row["id"] for row in rows if row["changed"]]
        atomic_write(file, csv_of(judge(pd.DataFrame(rows, columns=COLUMNS))))
    return changed


def _rejudged(entries, row):
    """Return the row of a claim with its present words, and a note if its criterion changed."""
    if (id := row["id"]) not in entries:
        raise ValueError(f"claims.yaml has no {id}, which was measured: run its notebook again")
    entry = entries[id]
    if not isnan(entry.rule.printed):  # the wider one of the printed error and our own was stored
        entry = entry._replace(rule=entry.rule._replace(half=max(entry.factor * entry.error, row["printed_half"])))
    numbers = {name: [row[f"{name}{end}"] for end in MEASURED] for name in ("", "loser_", "winner_")}
    controls = [Interval(*numbers[f"{name}_"]) if getattr(entry, name) else None for name in ("loser", "winner")]
    if any(control is not None and isnan(control[0]) for control in controls):
        raise ValueError(f"claim {id} names a control that was not measured: run its notebook again")
    present = dict(zip(COLUMNS, _row(Claim(entry, Interval(*numbers[""], error=row["error"]), *controls)), strict=True))
    present |= {name: row[name] for name in ("settings", "held", "before")}
    same = [str(present[name]) for name in RULE] == [str(row[name]) for name in RULE]
    return present | {"changed": row["changed"] if same else CHANGED}


def show(claims: Sequence[Claim]) -> pd.DataFrame:
    """Return the claims as a short table for a notebook.

    Parameters
    ----------
    claims : list of Claim
        The claims.

    Returns
    -------
    DataFrame
        One row per claim: the paper's words, what is measured, the interval, where the words are true, and what the
        interval says of them.

    Examples
    --------
    >>> show([])["judged"].tolist()
    []
    """
    rows = [
        (r["quote"], r["measures"], with_interval(r), condition(r), judged(r)) for r in table(claims).to_dict("records")
    ]
    return pd.DataFrame(rows, columns=["the paper's words", "what is measured", "measured", "condition", "judged"])


def save(claims: Sequence[Claim], out: str | PathLike, left_out: Collection[str] = ()) -> pd.DataFrame:
    """Write the claims of a notebook to <out>/figures/claims/<notebook>.csv.

    Parameters
    ----------
    claims : list of Claim
        All claims that claims.yaml has of one notebook.
    out : str or path-like
        Folder to write to.
    left_out : collection of str, default ()
        Ids of claims.yaml that these parameters cannot measure; none at the papers' scale.

    Returns
    -------
    DataFrame
        One row per claim: the paper's words, what is measured, the interval, where the words are true, and what the
        interval says of them.

    Raises
    ------
    ValueError
        If there are no claims, if they are of two notebooks, if an id is used twice, or if the claims differ from those
        of claims.yaml.

    Examples
    --------
    >>> from pathlib import Path
    >>> found = dict(place="Figure 1a", quote="fewer", measures="ratio", holds=[0, 1], edge="words", slack="demo")
    >>> _ = Path("claims.yaml").write_text(str({"weltz2023_demo/fewer": found}))
    >>> from bandits_companion.claims import measured
    >>> save([measured("weltz2023_demo/fewer", 0.5, 0.4, 0.6)], ".")["measured"].item()
    '0.5 [0.4, 0.6]'
    """
    ids = [c.entry.id for c in claims]
    notebooks = {id.partition("/")[0] for id in ids}
    if len(notebooks) != 1 or len(set(ids)) != len(ids):
        raise ValueError(f"claims must be of one notebook and have distinct ids; got {ids}")
    (notebook,) = notebooks
    entries = registry.find()
    _check_complete(set(ids), registry.of_notebook(entries, notebook), set(left_out))
    rest = [_untestable(e) for id, e in entries.items() if e.untestable and id.partition("/")[0] == notebook]
    path = Path(out) / "figures" / "claims" / f"{notebook}.csv"
    rows = table([*claims, *rest])
    atomic_write(path, csv_of(rows), parents=True)
    return show(claims)


def _check_complete(ids, entries, left_out):
    """Refuse entries without a measured claim, and ids, measured or left out, without an entry."""
    if unmeasured := [id for id in entries if id not in ids | left_out]:
        raise ValueError(f"claims.yaml has claims that were neither measured nor left out: {', '.join(unmeasured)}")
    if unknown := sorted((ids | left_out) - set(entries)):
        raise ValueError(f"claims.yaml lacks {', '.join(unknown)}")
    if both := sorted(left_out & ids):
        raise ValueError(f"claims must not be both measured and left out: {', '.join(both)}")
