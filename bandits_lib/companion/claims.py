"""The ledger: every statement of a paper's experiments as a claim, with a verdict by rule and never by hand."""

from math import ceil, inf, isnan
from pathlib import Path
from typing import NamedTuple

import pandas as pd

COLUMNS = ["id", "paper", "place", "statement", "estimate", "low", "high", "holds_low", "holds_high", "verdict"]
COLUMNS += ["more", "explanation"]


class Claim(NamedTuple):
    """A statement, what was measured, and where the statement holds.

    Attributes
    ----------
    id : str
        "<notebook>/<short name>".
    paper : str
        Key of the paper whose statement it is.
    place : str
        Where it stands there.
    statement : str
        The statement in words.
    estimate, low, high : float
        What was measured, with a 95 % interval.
    holds : tuple of float
        The least and the largest value under which the statement is true.
    explanation : str
        Of a failure.

    Examples
    --------
    >>> from bandits_lib.companion.claims import claim
    >>> claim("fiez2019_demo/fewer", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1)).paper
    'fiez2019'
    """

    id: str
    paper: str
    place: str
    statement: str
    estimate: float
    low: float
    high: float
    holds: tuple[float, float]
    explanation: str

    @property
    def verdict(self):
        """The verdict by rule, never typed: whether the interval lies where the statement holds.

        Returns
        -------
        str
            "reproduced" if [low, high] lies inside `holds`, "not reproduced" if outside, else "undecided".

        Examples
        --------
        >>> from bandits_lib.companion.claims import claim
        >>> claim("fiez2019_demo/fewer", "fiez2019", "Figure 1a", "fewer pulls", 1.0, 0.9, 1.1, (0, 1)).verdict
        'undecided'
        """
        if self.holds[0] <= self.low and self.high <= self.holds[1]:
            return "reproduced"
        if self.high < self.holds[0] or self.low > self.holds[1]:
            return "not reproduced"
        return "undecided"

    @property
    def more(self):
        """How many times as many runs would decide it, if the estimate stays.

        Returns
        -------
        int or float
            1 when it is decided, inf when the estimate is on a boundary of `holds`.

        Examples
        --------
        >>> from bandits_lib.companion.claims import claim
        >>> claim("fiez2019_demo/fewer", "fiez2019", "Figure 1a", "fewer pulls", 0.9, 0.7, 1.1, (0, 1)).more
        4
        """
        if self.verdict != "undecided":
            return 1
        crossed = [edge for edge in self.holds if self.low < edge < self.high]
        return max(map(self._times_to_clear, crossed), default=inf)

    def _times_to_clear(self, edge):
        """How many times as many runs would shrink the interval to this side of `edge`."""
        half = self.estimate - self.low if edge < self.estimate else self.high - self.estimate
        distance = abs(self.estimate - edge)
        if half == inf or distance == 0:
            return inf
        return ceil((half / distance) ** 2 - 1e-9)


def claim(id, paper, place, statement, estimate, low, high, holds, explanation=""):
    """One claim of a paper confronted with runs.

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
    if any(map(isnan, (estimate, low, high, *holds))) or not low <= estimate <= high or holds[0] > holds[1]:
        raise ValueError(
            f"claim {id} needs low <= estimate <= high and an ordered holds; got {low}, {estimate}, {high}"
        )
    return Claim(
        id,
        paper,
        place,
        statement,
        float(estimate),
        float(low),
        float(high),
        (float(holds[0]), float(holds[1])),
        explanation,
    )


def table(claims):
    """The claims in full, one row each, with the computed verdict and how many times as many runs would decide it.

    Parameters
    ----------
    claims : list of Claim
        The claims.

    Returns
    -------
    DataFrame
        One row per claim.

    Examples
    --------
    >>> from bandits_lib.companion.claims import claim
    >>> found = claim("fiez2019_demo/fewer", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1))
    >>> table([found])["verdict"].item()
    'reproduced'
    """
    rows = [
        (c.id, c.paper, c.place, c.statement, c.estimate, c.low, c.high, *c.holds, c.verdict, c.more, c.explanation)
        for c in claims
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def save(claims, out):
    """Write <out>/figures/claims/<notebook>.csv, the notebook being the part of every id before the slash.

    Parameters
    ----------
    claims : list of Claim
        The claims, of one notebook.
    out : str or path-like
        Folder to write to.

    Returns
    -------
    DataFrame
        The table as `show` prints it.

    Raises
    ------
    ValueError
        For no claims, two notebooks, or an id used twice.

    Examples
    --------
    >>> from bandits_lib.companion.claims import claim
    >>> found = claim("fiez2019_demo/fewer", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1))
    >>> save([found], ".")["measured"].item()
    '0.5 [0.4, 0.6]'
    """
    notebooks = {c.id.partition("/")[0] for c in claims}
    if len(notebooks) != 1 or len({c.id for c in claims}) != len(claims):
        raise ValueError(f"claims must be of one notebook and have distinct ids; got {[c.id for c in claims]}")
    path = Path(out) / "figures" / "claims" / f"{notebooks.pop()}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    table(claims).to_csv(path, index=False, float_format="%.17g", lineterminator="\n")
    return show(claims)


def show(claims):
    """The claims as a short table to print in a notebook: statement, measured, holds, verdict.

    Parameters
    ----------
    claims : list of Claim
        The claims.

    Returns
    -------
    DataFrame
        One row per claim.

    Examples
    --------
    >>> from bandits_lib.companion.claims import claim
    >>> found = claim("fiez2019_demo/fewer", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1))
    >>> show([found])["holds for"].item()
    '0 to 1'
    """
    rows = [
        {
            "statement": c.statement,
            "measured": f"{c.estimate:.3g} [{c.low:.3g}, {c.high:.3g}]",
            "holds for": f"{c.holds[0]:.3g} to {c.holds[1]:.3g}",
            "verdict": c.verdict + ("" if c.verdict != "undecided" else f" ({_more(c.more)})"),
        }
        for c in claims
    ]
    return pd.DataFrame(rows)


def _more(times):
    """The number of `Claim.more` in words."""
    return "no number of runs" if times == inf else f"{times:.3g} times the runs"
