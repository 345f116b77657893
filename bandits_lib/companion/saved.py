"""The claims as notebooks saved them, read again with every verdict computed once more."""

from math import isnan, nan
from pathlib import Path

import pandas as pd

from bandits_lib.companion import verdicts
from bandits_lib.companion.faults import PAPERS
from bandits_lib.companion.rows import COLUMNS

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
    >>> from bandits_lib import claims
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
    >>> from bandits_lib import claims
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
