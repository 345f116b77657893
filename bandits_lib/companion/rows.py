"""Claims as rows of a table: in full, as they are saved, and in words, as they are read."""

from math import inf, isnan, nan

import pandas as pd

from bandits_lib.companion import verdicts

FIRST = ["id", "paper", "place", "statement", "estimate", "low", "high", "holds_low", "holds_high", "verdict"]
FIRST += ["more", "explanation"]
COLUMNS = ["id", "paper", "place", "quote", "statement", "whose", "edge", "holds_low", "holds_high", "closeness"]
COLUMNS += ["side", "printed", "printed_half", "tie_low", "tie_high", "estimate", "low", "high", "verdict", "grade"]
COLUMNS += ["detects", "reach", "more", "explanation"]


def table(claims):
    """The claims in full, one row each, with what follows from their numbers.

    Parameters
    ----------
    claims : list of Claim
        The claims.

    Returns
    -------
    DataFrame
        One row per claim; fewer columns where no claim has an entry in claims.yaml.

    Examples
    --------
    >>> from bandits_lib.companion.claims import claim
    >>> found = claim("fiez2019_demo/fewer", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1))
    >>> table([found])["verdict"].item()
    'reproduced'
    """
    return full(claims)[FIRST if all(map(of_first_edition, claims)) else COLUMNS]


def full(claims):
    """The claims with all columns, whether they have an entry in claims.yaml or not.

    Parameters
    ----------
    claims : list of Claim
        The claims.

    Returns
    -------
    DataFrame
        One row per claim, as `ledger.read` returns them.

    Examples
    --------
    >>> from bandits_lib.companion.claims import claim
    >>> found = claim("fiez2019_demo/fewer", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1))
    >>> full([found])["reach"].item()
    'at most 0.6'
    """
    return pd.DataFrame([_row(c) for c in claims], columns=COLUMNS)


def of_first_edition(claim):
    """Whether a claim was said all at once, without an entry in claims.yaml.

    Parameters
    ----------
    claim : Claim
        The claim.

    Returns
    -------
    bool
        Whether it has neither edge nor quote.

    Examples
    --------
    >>> from bandits_lib.companion.claims import claim
    >>> of_first_edition(claim("fiez2019_demo/a", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1)))
    True
    """
    return claim.entry.edge == "" and claim.entry.whose == "paper"


def _row(claim):
    """The values of COLUMNS."""
    entry, rule, interval, finding = claim.entry, claim.entry.rule, claim.interval, claim.entry.whose == "ours"
    words = (entry.id, entry.paper, entry.place, entry.quote, entry.reading, entry.whose, entry.edge)
    true_of = (nan, nan, *rule[2:]) if finding else rule
    follows = (verdicts.grade(rule, interval), verdicts.detects(rule, interval), verdicts.reach(rule, interval))
    return *words, *true_of, *interval, claim.verdict, *follows, claim.more, claim.explanation


def show(claims):
    """The claims as a short table to print in a notebook: what was said, what was measured, holds, verdict.

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
    quoted = {} if all(map(of_first_edition, claims)) else {"the paper's words": lambda row: row["quote"]}
    columns = quoted | {"statement": lambda row: row["statement"], "measured": told, "holds for": holds_for}
    rows = full(claims).to_dict("records")
    return pd.DataFrame([{name: say(row) for name, say in columns.items()} | {"verdict": judged(row)} for row in rows])


# --- a row in words


def told(row):
    """Estimate and interval to three digits.

    Parameters
    ----------
    row : dict
        A row of `table`.

    Returns
    -------
    str
        In words.

    Examples
    --------
    >>> told({"estimate": 0.5, "low": 0.4, "high": 0.6})
    '0.5 [0.4, 0.6]'
    """
    return f"{row['estimate']:.3g} [{row['low']:.3g}, {row['high']:.3g}]"


def holds_for(row):
    """For which values the statement is true.

    Parameters
    ----------
    row : dict
        A row of `table`, with all columns.

    Returns
    -------
    str
        In words; "" of a finding.

    Examples
    --------
    >>> holds_for({"verdict": "undecided", "printed": float("nan"), "holds_low": 0.0, "holds_high": 1.0})
    '0 to 1'
    """
    if row["verdict"] == "finding":
        return ""
    if not isnan(row["printed"]):
        return f"printed {row['printed']:.6g} ± {row['printed_half']:.3g}"
    return f"{row['holds_low']:.3g} to {row['holds_high']:.3g}"


def judged(row):
    """The verdict with its grade, what would have shown, or how many runs would decide.

    Parameters
    ----------
    row : dict
        A row of `table`, with all columns.

    Returns
    -------
    str
        In words.

    Examples
    --------
    >>> judged({"verdict": "undecided", "more": 4, "closeness": "", "grade": float("nan")})
    'undecided (4 times the runs)'
    """
    found = row["verdict"]
    if found == "undecided":
        return f"{found} ({_more(row['more'])})"
    if found == "compatible":
        return f"{found} (detects {100 * row['detects']:.2g} %)"
    if found == "no difference above the margin":
        return f"{found} ({row['tie_high']:g})"
    return f"{found} (within {row['grade']:g})" if row["closeness"] and not isnan(row["grade"]) else found


def _more(times):
    """The number of `Claim.more` in words."""
    return "no number of runs" if times == inf else f"{times:.3g} times the runs"
