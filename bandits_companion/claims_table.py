"""Claims as rows of a table: in full, as they are saved, and in words, as they are read.

The claims as notebooks saved them, read again with every verdict computed once more.

From claims to sentences: one that has several readings falls only if it falls under every one of them.
"""

from math import inf, isnan, nan
from pathlib import Path

import pandas as pd

from bandits_companion import verdicts
from bandits_companion.registry import PAPERS, sentence
from bandits_companion.verdicts import STANDS, VERDICTS

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
    >>> from bandits_companion.claims import claim
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
    >>> from bandits_companion.claims import claim
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
    >>> from bandits_companion.claims import claim
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
    >>> from bandits_companion.claims import claim
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


NUMBERS = ["holds_low", "holds_high", "printed", "printed_half", "tie_low", "tie_high", "estimate", "low", "high"]
NUMBERS += ["grade", "detects", "more"]


def read(folder):
    """The claims saved by the notebooks as one DataFrame, ordered by paper, notebook and row.

    Parameters
    ----------
    folder : str or path-like
        Where `claims.save` put one csv per notebook.

    Returns
    -------
    DataFrame
        One row per claim, with all columns of `claims.table`; of notebooks without entries in claims.yaml, which save
        fewer, the others are empty.

    Raises
    ------
    ValueError
        For a folder without claims, an id used twice, or a verdict that the rule does not give.

    Examples
    --------
    >>> from bandits_companion import claims
    >>> found = claims.claim("fiez2019_demo/a", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1))
    >>> _ = claims.save([found], ".")
    >>> read("figures/claims")["verdict"].tolist()
    ['reproduced']
    """
    files = sorted(Path(folder).glob("*.csv"), key=lambda file: (position(file.stem), file.stem))
    if not files:
        raise ValueError(f"{folder} has no claims: run `make paper`, or `make figures` for those of small parameters")
    claims = pd.concat(map(read_file, files), ignore_index=True)
    if (twice := claims["id"].duplicated()).any():
        raise ValueError(f"the id {claims['id'][twice].iloc[0]} is used twice")
    for row in claims.to_dict("records"):
        _check_verdict(row)
    return claims


def read_file(file):
    """The claims of one file, columns that it lacks being empty.

    Parameters
    ----------
    file : str or path-like
        A csv of `claims.save` or `ledger.save`.

    Returns
    -------
    DataFrame
        With all columns of `claims.table`.

    Examples
    --------
    >>> from bandits_companion import claims
    >>> found = claims.claim("fiez2019_demo/a", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1))
    >>> _ = claims.save([found], ".")
    >>> read_file("figures/claims/fiez2019_demo.csv")["whose"].item()
    'paper'
    """
    saved = pd.read_csv(file, dtype=str, keep_default_na=False)
    claims = saved.reindex(columns=COLUMNS, fill_value="")
    claims["whose"] = claims["whose"].replace("", "paper")
    for name in NUMBERS:
        claims[name] = [float(number) if number else nan for number in claims[name]]
    if "reach" not in saved:
        claims["reach"] = [verdicts.reach(_rule(row), _interval(row)) for row in claims.to_dict("records")]
    return claims


def position(name):
    """Where a paper, or a notebook of it, stands in the order of this project.

    Parameters
    ----------
    name : str
        Key of the paper, or name of a notebook.

    Returns
    -------
    int
        Anything else comes after the papers.

    Examples
    --------
    >>> position("fiez2019_3_rage"), position("companion_ledger")
    (0, 4)
    """
    paper = name.partition("_")[0]
    return list(PAPERS).index(paper) if paper in PAPERS else len(PAPERS)


def _rule(row):
    names = ("holds_low", "holds_high", "closeness", "side", "printed", "printed_half", "tie_low", "tie_high")
    return verdicts.Rule(*(row[name] for name in names))


def _interval(row):
    return row["estimate"], row["low"], row["high"]


def _check_verdict(row):
    """Refuse a claim whose verdict, or grade, is not the one that its numbers give."""
    rule, interval = _rule(row), _interval(row)
    verdict = "finding" if row["whose"] == "ours" else verdicts.verdict(rule, interval)
    if row["verdict"] != verdict:
        raise ValueError(
            f"claim {row['id']} says {row['verdict']!r}, but its numbers say {verdict!r}: verdicts are computed"
        )
    grade = verdicts.grade(rule, interval)
    if row["grade"] != grade and not (isnan(row["grade"]) and isnan(grade)):
        raise ValueError(f"claim {row['id']} says grade {row['grade']:g}, but its numbers say {grade:g}")


def sentences(claims):
    """The papers' sentences, each counted once, with the best verdict of its readings.

    Parameters
    ----------
    claims : DataFrame
        Claims as `ledger.read` returns them.

    Returns
    -------
    DataFrame
        Indexed by the id without reading: paper, place, verdict, number of readings, and under which of several it
        stands. What only the published code shows, and what the companion found, are no sentences of a paper.

    Examples
    --------
    >>> from bandits_companion.claims import claim
    >>> from bandits_companion.claims_table import full
    >>> said = ("fiez2019", "Figure 1a", "fewer pulls")
    >>> found = full([claim("a/x@sd", *said, 2, 1.5, 3, (0, 1)), claim("a/x@var", *said, 0.5, 0.4, 0.6, (0, 1))])
    >>> sentences(found)[["verdict", "under"]].to_numpy().tolist()
    [['reproduced', 'var']]
    """
    rows = claims[claims["whose"] == "paper"]
    found = []
    for id, readings in rows.groupby(rows["id"].map(sentence), sort=False):
        standing = readings.loc[readings["verdict"].isin(STANDS), "id"]
        under = ", ".join(map(reading_of, standing)) if len(readings) > 1 else ""
        best = min(readings["verdict"], key=VERDICTS.index)
        found.append((id, *readings[["paper", "place"]].iloc[0], best, len(readings), under))
    return pd.DataFrame(found, columns=["id", "paper", "place", "verdict", "readings", "under"]).set_index("id")


def reading_of(id):
    """The reading that an id names, in words.

    Parameters
    ----------
    id : str
        "<notebook>/<name>@<reading>".

    Returns
    -------
    str
        Its words; "" of an id without reading.

    Examples
    --------
    >>> reading_of("fiez2019_x/linear@sd_.09")
    'sd .09'
    """
    return id.partition("@")[2].replace("_", " ")


def of_verdict(claims, verdict):
    """The claims whose sentence has this verdict, all readings of it.

    Parameters
    ----------
    claims : DataFrame
        Claims as `ledger.read` returns them.
    verdict : str
        One of `verdicts.VERDICTS`.

    Returns
    -------
    DataFrame
        The rows of claims of the papers.

    Examples
    --------
    >>> from bandits_companion.claims import claim
    >>> from bandits_companion.claims_table import full
    >>> found = full([claim("fiez2019_demo/a", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1))])
    >>> len(of_verdict(found, "reproduced")), len(of_verdict(found, "undecided"))
    (1, 0)
    """
    of_paper, found = claims[claims["whose"] == "paper"], sentences(claims)["verdict"]
    return of_paper[(of_paper["id"].map(sentence).map(found) == verdict).astype(bool)]


def totals(claims):
    """How many sentences of each paper have which verdict.

    Parameters
    ----------
    claims : DataFrame
        Claims as `ledger.read` returns them.

    Returns
    -------
    DataFrame
        One row per paper and a last row "all".

    Examples
    --------
    >>> from bandits_companion.claims import claim
    >>> from bandits_companion.claims_table import full
    >>> found = full([claim("fiez2019_demo/a", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1))])
    >>> totals(found).loc["all"].tolist()
    [1, 0, 0, 0, 0, 1]
    """
    found = sentences(claims)
    counts = pd.crosstab(found["paper"], found["verdict"]).reindex(columns=VERDICTS, fill_value=0)
    counts = counts.loc[sorted(counts.index, key=position)]
    counts.loc["all"] = counts.sum()
    counts["sentences"] = counts.sum(axis=1)
    return counts.rename_axis(columns=None)
