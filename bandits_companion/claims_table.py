"""Tables of claims: one row per claim, read from and written to csv, and one row per sentence of a paper.

Every verdict is computed again when claims are read. A sentence with several readings has the best of their verdicts.
"""

from math import inf, isnan, nan
from os import PathLike
from pathlib import Path

import pandas as pd

from bandits_companion import verdicts
from bandits_companion.registry import PAPERS, sentence
from bandits_companion.verdicts import STANDS, VERDICTS

COLUMNS = ["id", "paper", "place", "quote", "statement", "whose", "edge", "holds_low", "holds_high", "closeness"]
COLUMNS += ["side", "printed", "printed_half", "tie_low", "tie_high", "estimate", "low", "high", "verdict", "grade"]
COLUMNS += ["detects", "reach", "more", "explanation"]
NUMBERS = ["holds_low", "holds_high", "printed", "printed_half", "tie_low", "tie_high", "estimate", "low", "high"]
NUMBERS += ["grade", "detects", "more"]


def told(row):
    return f"{row['estimate']:.3g} [{row['low']:.3g}, {row['high']:.3g}]"


def holds_for(row):
    """Return the values for which the statement of a row is true; "" for a finding."""
    if row["verdict"] == "finding":
        return ""
    if not isnan(row["printed"]):
        return f"printed {row['printed']:.6g} ± {row['printed_half']:.3g}"
    return f"{row['holds_low']:.3g} to {row['holds_high']:.3g}"


def judged(row):
    """Return the verdict of a row with its grade, the deviation that it detects, or the runs that would decide it."""
    found = row["verdict"]
    if found == "undecided":
        times = "no number of runs" if row["more"] == inf else f"{row['more']:.3g} times the runs"
        return f"{found} ({times})"
    if found == "compatible":
        return f"{found} (detects {100 * row['detects']:.2g} %)"
    if found == "no difference above the margin":
        return f"{found} ({row['tie_high']:g})"
    return f"{found} (within {row['grade']:g})" if row["closeness"] and not isnan(row["grade"]) else found


def read(folder: str | PathLike) -> pd.DataFrame:
    """Read the claims that the notebooks saved.

    Parameters
    ----------
    folder : str or path-like
        Folder with one csv per notebook, as `claims.save` writes them.

    Returns
    -------
    DataFrame
        One row per claim with all columns of `claims.table`, ordered by paper and notebook.

    Raises
    ------
    ValueError
        If the folder has no claims, an id is used twice, or a verdict is not the one that the numbers give.

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
    """Read the claims of one csv."""
    claims = pd.read_csv(file, dtype=str, keep_default_na=False)
    if missing := [name for name in COLUMNS if name not in claims]:
        raise ValueError(f"{file} has no column {missing[0]}: run its notebook again, which writes all columns")
    claims = claims[COLUMNS]
    for name in NUMBERS:
        claims[name] = [float(number) if number else nan for number in claims[name]]
    return claims


def position(name):
    """Return the position of a paper, or of one of its notebooks, in the order of the papers."""
    paper = name.partition("_")[0]
    return list(PAPERS).index(paper) if paper in PAPERS else len(PAPERS)


def _check_verdict(row):
    """Refuse a row whose verdict or grade is not the one that its numbers give."""
    names = ("holds_low", "holds_high", "closeness", "side", "printed", "printed_half", "tie_low", "tie_high")
    rule, interval = verdicts.Rule(*map(row.get, names)), (row["estimate"], row["low"], row["high"])
    verdict = "finding" if row["whose"] == "ours" else verdicts.verdict(rule, interval)
    if row["verdict"] != verdict:
        raise ValueError(
            f"claim {row['id']} says {row['verdict']!r}, but its numbers say {verdict!r}: verdicts are computed"
        )
    grade = verdicts.grade(rule, interval)
    if row["grade"] != grade and not (isnan(row["grade"]) and isnan(grade)):
        raise ValueError(f"claim {row['id']} says grade {row['grade']:g}, but its numbers say {grade:g}")


def sentences(claims: pd.DataFrame) -> pd.DataFrame:
    """Return the papers' sentences, each once, with the best verdict of its readings.

    Parameters
    ----------
    claims : DataFrame
        Claims as `ledger.read` returns them.

    Returns
    -------
    DataFrame
        Indexed by the id without reading: paper, place, verdict, number of readings, and the readings under which it
        stands if there are several.

    Examples
    --------
    >>> from bandits_companion.claims import claim, table
    >>> said = ("fiez2019", "Figure 1a", "fewer pulls")
    >>> found = [claim("a/x@sd", *said, 2, 1.5, 3, (0, 1)), claim("a/x@var", *said, 0.5, 0.4, 0.6, (0, 1))]
    >>> sentences(table(found))[["verdict", "under"]].to_numpy().tolist()
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
    """Return the reading that an id names, in words, or ""."""
    return id.partition("@")[2].replace("_", " ")


def of_verdict(claims: pd.DataFrame, verdict: str) -> pd.DataFrame:
    """Return the claims whose sentence has a verdict, with all readings of it.

    Parameters
    ----------
    claims : DataFrame
        Claims as `ledger.read` returns them.
    verdict : str
        One of `verdicts.VERDICTS`.

    Returns
    -------
    DataFrame
        The rows of these claims.

    Examples
    --------
    >>> from bandits_companion.claims import claim, table
    >>> found = table([claim("fiez2019_demo/a", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1))])
    >>> len(of_verdict(found, "reproduced"))
    1
    """
    of_paper, found = claims[claims["whose"] == "paper"], sentences(claims)["verdict"]
    return of_paper[(of_paper["id"].map(sentence).map(found) == verdict).astype(bool)]


def totals(claims: pd.DataFrame) -> pd.DataFrame:
    """Count the sentences of each paper by verdict.

    Parameters
    ----------
    claims : DataFrame
        Claims as `ledger.read` returns them.

    Returns
    -------
    DataFrame
        One row per paper and a last row "all"; one column per verdict and a last column "sentences".

    Examples
    --------
    >>> from bandits_companion.claims import claim, table
    >>> found = table([claim("fiez2019_demo/a", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1))])
    >>> totals(found).loc["all"].tolist()
    [1, 0, 0, 0, 0, 1]
    """
    counts = counts_by_paper(sentences(claims), "verdict", VERDICTS)
    return counts.assign(sentences=counts.sum(axis=1))


def counts_by_paper(rows, column, columns):
    """Count the rows of each paper by what stands in a column, with a last row "all"."""
    counts = pd.crosstab(rows["paper"], rows[column]).reindex(columns=columns, fill_value=0)
    counts = counts.loc[sorted(counts.index, key=position)]
    counts.loc["all"] = counts.sum()
    return counts.rename_axis(columns=None)
