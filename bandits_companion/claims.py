"""Claims: each statement of a paper with what was measured and a computed verdict.

`notebooks/claims.yaml` states claims before they are measured. A notebook adds the interval: `measured(id, interval)`.
A notebook without entries in that file states a claim and its interval together: `claim(...)`.
"""

from collections.abc import Collection, Sequence
from math import isnan, nan
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from bandits_companion import registry, verdicts
from bandits_companion.claims_table import COLUMNS, holds_for, judged, told
from bandits_companion.registry import Entry
from bandits_companion.verdicts import VERDICTS, Rule
from bandits_lib.files import atomic_write
from bandits_lib.simulate.intervals import Interval, runs_needed


class Claim(NamedTuple):
    """A statement of a paper, when it is true, and the measured interval."""

    entry: Entry
    interval: Interval

    @property
    def verdict(self):
        """Return the verdict that the rule gives, or "finding" for a statement that no paper makes."""
        return "finding" if self.entry.whose == "ours" else verdicts.verdict(self.entry.rule, self.interval)

    @property
    def more(self):
        """Return how many times as many runs would decide the claim; 1 if it is decided, inf if no number would."""
        if self.verdict != "undecided":
            return 1
        return runs_needed(self.interval, lambda found: verdicts.verdict(self.entry.rule, found) != "undecided")

    @property
    def explanation(self):
        return self.entry.why.get(self.verdict, "")


def measured(
    id: str,
    estimate: Interval | float,
    low: float | None = None,
    high: float | None = None,
    *,
    printed_error: float = 0.0,
) -> Claim:
    """Return a claim of claims.yaml with its measured interval.

    Parameters
    ----------
    id : str
        Id of its entry in claims.yaml.
    estimate : Interval or float
        The measured interval, or the estimate alone.
    low, high : float, optional
        Ends of the 95 % interval if `estimate` is a number; simultaneous where a statement has several settings.
    printed_error : float, default 0
        For a printed number: its standard error by our own runs, used if it is larger than the printed one.

    Returns
    -------
    Claim
        The claim; its verdict is computed.

    Raises
    ------
    ValueError
        If the id has no entry, the interval is missing or has a NaN, or the estimate lies outside it.

    Examples
    --------
    >>> from pathlib import Path
    >>> found = dict(place="Figure 1a", quote="fewer", reading="ratio", holds=[0, 1], edge="words", whose="paper")
    >>> _ = Path("claims.yaml").write_text(str({"fiez2019_demo/fewer": found}))
    >>> measured("fiez2019_demo/fewer", 0.5, 0.4, 0.6).verdict
    'reproduced'
    """
    entries = registry.find()
    if id not in entries:
        near = registry.of_notebook(entries, id.partition("/")[0])
        raise ValueError(f"claims.yaml has no {id}; of this notebook it has {', '.join(near) or 'none'}")
    numbers: Any = estimate if low is None and high is None else (estimate, low, high)
    if not isinstance(numbers, tuple | list) or len(numbers) != 3:
        raise ValueError(f"claim {id} needs estimate, low and high; got {numbers!r}")
    entry = entries[id]
    if not isnan(entry.rule.printed):
        half = entry.factor * max(entry.error, printed_error)
        entry = entry._replace(rule=entry.rule._replace(half=half))
    return _checked(entry, numbers if isinstance(numbers, Interval) else Interval(*numbers))


def claim(
    id: str,
    paper: str,
    place: str,
    statement: str,
    estimate: float,
    low: float,
    high: float,
    holds: tuple[float, float],
    explanation: str = "",
) -> Claim:
    """Return a claim of a notebook that has no entries in claims.yaml; ValueError for bad numbers or ids.

    `holds` are the least and the largest value for which the statement is true.
    """
    if id.count("/") != 1:
        raise ValueError(f"id must be '<notebook>/<short name>'; got {id!r}")
    why = dict.fromkeys(VERDICTS, explanation)
    rule = Rule(float(holds[0]), float(holds[1]))
    return _checked(Entry(id, paper, place, "", statement, "paper", "", rule, why=why), Interval(estimate, low, high))


def _checked(entry, interval):
    """Return a claim after checking its numbers."""
    (estimate, low, high), rule = interval, entry.rule
    if any(map(isnan, (*interval, rule.low, rule.high))) or not low <= estimate <= high or rule.low > rule.high:
        raise ValueError(
            f"claim {entry.id} needs low <= estimate <= high and an ordered holds; got {low}, {estimate}, {high}"
        )
    return Claim(entry, interval)


def table(claims: Sequence[Claim]) -> pd.DataFrame:
    """Return the claims as a table with everything that follows from their numbers, a row as in `ledger.read`."""
    return pd.DataFrame([_row(c) for c in claims], columns=COLUMNS)


def _row(claim):
    """Return the values of COLUMNS."""
    entry, rule, interval, finding = claim.entry, claim.entry.rule, claim.interval, claim.entry.whose == "ours"
    words = (entry.id, entry.paper, entry.place, entry.quote, entry.reading, entry.whose, entry.edge)
    true_of = (nan, nan, *rule[2:]) if finding else rule
    follows = (verdicts.grade(rule, interval), verdicts.detects(rule, interval), verdicts.reach(rule, interval))
    return *words, *true_of, *interval, claim.verdict, *follows, claim.more, claim.explanation


def show(claims: Sequence[Claim]) -> pd.DataFrame:
    """Return the claims as a short table for a notebook.

    Parameters
    ----------
    claims : list of Claim
        The claims.

    Returns
    -------
    DataFrame
        One row per claim: the statement, the measured interval, the values for which it is true, and the verdict.

    Examples
    --------
    >>> from bandits_companion.claims import claim
    >>> found = claim("fiez2019_demo/fewer", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1))
    >>> show([found])["holds for"].item()
    '0 to 1'
    """
    rows = [(r["quote"], r["statement"], told(r), holds_for(r), judged(r)) for r in table(claims).to_dict("records")]
    return pd.DataFrame(rows, columns=["the paper's words", "statement", "measured", "holds for", "verdict"])


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
        The table that `show` returns.

    Raises
    ------
    ValueError
        If there are no claims, two notebooks or an id used twice, or if the claims differ from those of claims.yaml.

    Examples
    --------
    >>> from bandits_companion.claims import claim
    >>> found = claim("fiez2019_demo/fewer", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1))
    >>> save([found], ".")["measured"].item()
    '0.5 [0.4, 0.6]'
    """
    ids = [c.entry.id for c in claims]
    notebooks = {id.partition("/")[0] for id in ids}
    if len(notebooks) != 1 or len(set(ids)) != len(ids):
        raise ValueError(f"claims must be of one notebook and have distinct ids; got {ids}")
    _check_complete(claims, registry.of_notebook(registry.find(), *notebooks), set(left_out))
    path = Path(out) / "figures" / "claims" / f"{notebooks.pop()}.csv"
    atomic_write(path, table(claims).to_csv(index=False, float_format="%.17g", lineterminator="\n"), parents=True)
    return show(claims)


def _check_complete(claims, entries, left_out):
    """Refuse claims that claims.yaml lacks and entries that were not measured; a notebook may have no entries."""
    ids = {c.entry.id for c in claims if c.entry.edge or c.entry.whose == "ours"}  # others are made by `claim`
    if not entries and not ids:
        return
    if unmeasured := [id for id in entries if id not in ids | left_out]:
        raise ValueError(f"claims.yaml has what was not measured: {', '.join(unmeasured)}")
    if unknown := [c.entry.id for c in claims if c.entry.id not in ids] + sorted(left_out - set(entries)):
        raise ValueError(f"claims.yaml lacks {', '.join(unknown)}")
    if both := sorted(left_out & ids):
        raise ValueError(f"measured and left out: {', '.join(both)}")
