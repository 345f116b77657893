"""The ledger: every statement of a paper as a claim, with a verdict by rule and never by hand.

What is claimed stands in notebooks/claims.yaml before it is measured; a notebook gives the number and its interval:
`claims.measured(id, interval)`. Notebooks that have no entry there yet say all at once: `claims.claim(...)`.
"""

from math import isnan
from pathlib import Path
from typing import NamedTuple

from bandits_companion import registry, verdicts
from bandits_companion.claims_table import of_first_edition, show, table
from bandits_companion.registry import Entry
from bandits_companion.verdicts import VERDICTS, Rule
from bandits_lib.files import atomic_write
from bandits_lib.simulate.interval import Interval, runs_needed

__all__ = ["Claim", "claim", "measured", "save", "show", "table"]


class Claim(NamedTuple):
    """A statement, when it is true, and what was measured.

    Attributes
    ----------
    entry : Entry
        The statement, its place, the rule and the explanations.
    interval : Interval
        Estimate, low and high of a 95 % interval.

    Examples
    --------
    >>> from bandits_companion.claims import claim
    >>> claim("fiez2019_demo/fewer", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1)).entry.paper
    'fiez2019'
    """

    entry: Entry
    interval: Interval

    @property
    def verdict(self):
        """The verdict by rule, never typed: whether the interval lies where the statement is true.

        Returns
        -------
        str
            As `verdicts.verdict` says; "finding" of what no paper says.

        Examples
        --------
        >>> from bandits_companion.claims import claim
        >>> claim("fiez2019_demo/fewer", "fiez2019", "Figure 1a", "fewer pulls", 1.0, 0.9, 1.1, (0, 1)).verdict
        'undecided'
        """
        return "finding" if self.entry.whose == "ours" else verdicts.verdict(self.entry.rule, self.interval)

    @property
    def more(self):
        """How many times as many runs would decide it, if every estimate stays.

        Returns
        -------
        int or float
            1 when it is decided, inf when no number of runs would do.

        Examples
        --------
        >>> from bandits_companion.claims import claim
        >>> claim("fiez2019_demo/fewer", "fiez2019", "Figure 1a", "fewer pulls", 0.9, 0.7, 1.1, (0, 1)).more
        4
        """
        if self.verdict != "undecided":
            return 1
        return runs_needed(self.interval, lambda found: verdicts.verdict(self.entry.rule, found) != "undecided")

    @property
    def explanation(self):
        """The words that go with this verdict.

        Returns
        -------
        str
            "" if there are none.

        Examples
        --------
        >>> from bandits_companion.claims import claim
        >>> claim("fiez2019_demo/fewer", "fiez2019", "1a", "fewer", 1.0, 0.9, 1.1, (0, 1), "too few runs").explanation
        'too few runs'
        """
        return self.entry.why.get(self.verdict, "")


def measured(id, estimate, low=None, high=None, *, printed_error=0.0):
    """A claim of claims.yaml, measured.

    Parameters
    ----------
    id : str
        Id of its entry.
    estimate : Interval or float
        What was measured: an interval of `bandits_lib.intervals`, which knows its settings, or the estimate alone.
    low, high : float, optional
        Ends of the 95 % interval (simultaneous where a statement has several settings) of an estimate alone. Of a
        number that was computed and not sampled: the number itself.
    printed_error : float, default 0
        Of a printed number: the standard error that it would have by our own runs, sd / sqrt(its runs); it counts if it
        is larger than the printed one, which few runs of a law with rare large values understate.

    Returns
    -------
    Claim
        The claim, whose verdict is computed.

    Raises
    ------
    ValueError
        For an id without entry, an estimate without interval, NaN, or an estimate outside [low, high].

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
        near = [known for known in registry.of_notebook(entries, id.partition("/")[0])]
        raise ValueError(f"claims.yaml has no {id}; of this notebook it has {', '.join(near) or 'none'}")
    numbers = estimate if low is None and high is None else Interval(estimate, low, high)
    if not isinstance(numbers, tuple | list) or len(numbers) != 3:
        raise ValueError(f"claim {id} needs estimate, low and high; got {numbers!r}")
    entry = entries[id]
    if not isnan(entry.rule.printed):
        half = entry.factor * max(entry.error, printed_error)
        entry = entry._replace(rule=entry.rule._replace(half=half))
    return _checked(entry, numbers if isinstance(numbers, Interval) else Interval(*numbers))


def claim(id, paper, place, statement, estimate, low, high, holds, explanation=""):
    """One claim of a paper confronted with runs, all said at once: of notebooks without an entry in claims.yaml.

    Parameters
    ----------
    id : str
        "<notebook>/<short name>".
    paper : str
        Key of the paper, "fiez2019" for instance.
    place : str
        Where the statement stands, "Figure 1a" for instance.
    statement : str
        The statement in words.
    estimate, low, high : float
        What was measured, with a 95 % interval (simultaneous where the statement has several settings).
    holds : tuple of float
        The least and the largest value under which the statement is true.
    explanation : str, default ""
        Of a failure, and its option.

    Returns
    -------
    Claim
        The claim, whose `verdict` is computed.

    Raises
    ------
    ValueError
        For an id without notebook, NaN, an estimate outside [low, high], or bounds of `holds` in the wrong order.

    Examples
    --------
    >>> claim("fiez2019_demo/fewer", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1)).verdict
    'reproduced'
    """
    if id.count("/") != 1:
        raise ValueError(f"id must be '<notebook>/<short name>'; got {id!r}")
    why = dict.fromkeys(VERDICTS, explanation)
    rule = Rule(float(holds[0]), float(holds[1]))
    return _checked(Entry(id, paper, place, "", statement, "paper", "", rule, why=why), Interval(estimate, low, high))


def _checked(entry, interval):
    """A claim, if its numbers are in order."""
    (estimate, low, high), rule = interval, entry.rule
    if any(map(isnan, (*interval, rule.low, rule.high))) or not low <= estimate <= high or rule.low > rule.high:
        raise ValueError(
            f"claim {entry.id} needs low <= estimate <= high and an ordered holds; got {low}, {estimate}, {high}"
        )
    return Claim(entry, interval)


def save(claims, out, left_out=()):
    """Write <out>/figures/claims/<notebook>.csv, the notebook being the part of every id before the slash.

    Parameters
    ----------
    claims : list of Claim
        The claims, of one notebook: all that claims.yaml has of it.
    out : str or path-like
        Folder to write to.
    left_out : collection of str, default ()
        Ids of claims.yaml that these parameters cannot measure, such as settings that were not run. At the papers'
        scale there must be none.

    Returns
    -------
    DataFrame
        The table as `show` prints it.

    Raises
    ------
    ValueError
        For no claims, two notebooks, an id used twice, or one that stands in claims.yaml only, or here only.

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
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(path, table(claims).to_csv(index=False, float_format="%.17g", lineterminator="\n"))
    return show(claims)


def _check_complete(claims, entries, left_out):
    """Refuse claims that claims.yaml does not have, and entries that nothing has measured; a notebook may have none."""
    if not entries and all(map(of_first_edition, claims)):
        return
    ids = {c.entry.id for c in claims if not of_first_edition(c)}
    if unmeasured := [id for id in entries if id not in ids | left_out]:
        raise ValueError(f"claims.yaml has what was not measured: {', '.join(unmeasured)}")
    if unknown := [c.entry.id for c in claims if c.entry.id not in ids] + sorted(left_out - set(entries)):
        raise ValueError(f"claims.yaml lacks {', '.join(unknown)}")
    if both := sorted(left_out & ids):
        raise ValueError(f"measured and left out: {', '.join(both)}")
