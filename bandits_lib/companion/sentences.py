"""From claims to sentences: one that has several readings falls only if it falls under every one of them."""

import pandas as pd

from bandits_lib.companion.faults import sentence
from bandits_lib.companion.saved import position
from bandits_lib.companion.verdicts import STANDS, VERDICTS


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
    >>> from bandits_lib.companion.claims import claim
    >>> from bandits_lib.companion.rows import full
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
    >>> from bandits_lib.companion.claims import claim
    >>> from bandits_lib.companion.rows import full
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
    >>> from bandits_lib.companion.claims import claim
    >>> from bandits_lib.companion.rows import full
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
