"""The ledger: the claims of all notebooks in one table, its totals, and the pages that are made from it."""

import re
from pathlib import Path

import pandas as pd

from bandits_lib.companion.claims import COLUMNS, claim

PAPERS = {"fiez2019": "RAGE", "jedra2020": "Lazy Track-and-Stop", "azizi2022": "GSE", "weltz2023": "H-RAGE"}
VERDICTS = ("reproduced", "undecided", "not reproduced")


def read(folder):
    """The claims saved by the notebooks as one DataFrame, ordered by paper, notebook and row.

    Parameters
    ----------
    folder : str or path-like
        Where `claims.save` put one csv per notebook.

    Returns
    -------
    DataFrame
        One row per claim, with the columns of `claims.table`.

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
    files = sorted(Path(folder).glob("*.csv"), key=lambda file: (_position(file.stem), file.stem))
    if not files:
        raise ValueError(f"{folder} has no claims: run `make paper`, or `make figures` for those of small parameters")
    tables = (pd.read_csv(file, dtype={"id": str}, keep_default_na=False) for file in files)
    claims = pd.concat(tables, ignore_index=True)[COLUMNS]
    if (twice := claims["id"].duplicated()).any():
        raise ValueError(f"the id {claims['id'][twice].iloc[0]} is used twice")
    for row in claims.itertuples():
        _check_verdict(row)
    return claims


def _position(name):
    """The papers in the order of this project; anything else after them."""
    paper = name.partition("_")[0]
    return list(PAPERS).index(paper) if paper in PAPERS else len(PAPERS)


def _check_verdict(row):
    """Refuse a claim whose verdict is not the one that its numbers give."""
    holds = (row.holds_low, row.holds_high)
    rule = claim(row.id, row.paper, row.place, row.statement, row.estimate, row.low, row.high, holds).verdict
    if row.verdict != rule:
        raise ValueError(f"claim {row.id} says {row.verdict!r}, but its numbers say {rule!r}: verdicts are computed")


def totals(claims):
    """How many claims of each paper have which verdict.

    Parameters
    ----------
    claims : DataFrame
        Claims as `read` returns them.

    Returns
    -------
    DataFrame
        One row per paper and a last row "all".

    Examples
    --------
    >>> from bandits_lib.companion.claims import claim, table
    >>> found = table([claim("fiez2019_demo/a", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1))])
    >>> totals(found).loc["all"].tolist()
    [1, 0, 0, 1]
    """
    counts = pd.crosstab(claims["paper"], claims["verdict"]).reindex(columns=VERDICTS, fill_value=0)
    counts = counts.loc[sorted(counts.index, key=_position)]
    counts.loc["all"] = counts.sum()
    counts["claims"] = counts.sum(axis=1)
    return counts.rename_axis(columns=None)


def as_read(claims):
    """The ledger as a person reads it: figure, claim, estimate with interval, where it holds, verdict, explanation.

    Parameters
    ----------
    claims : DataFrame
        Claims as `read` returns them.

    Returns
    -------
    DataFrame
        One row per claim.

    Examples
    --------
    >>> from bandits_lib.companion.claims import claim, table
    >>> found = table([claim("fiez2019_demo/a", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1))])
    >>> as_read(found)["measured [95 % interval]"].item()
    '0.5 [0.4, 0.6]'
    """
    rows = claims.itertuples()
    return pd.DataFrame(
        {
            "paper": c.paper,
            "figure": c.place,
            "claim": c.statement,
            "measured [95 % interval]": f"{c.estimate:.3g} [{c.low:.3g}, {c.high:.3g}]",
            "holds for": f"{c.holds_low:.3g} to {c.holds_high:.3g}",
            "verdict": c.verdict,
            "explanation": c.explanation,
        }
        for c in rows
    )


def markdown(frame):
    """A DataFrame as a markdown table without its index; bars inside cells are escaped.

    Parameters
    ----------
    frame : DataFrame
        The table.

    Returns
    -------
    str
        The table in markdown.

    Examples
    --------
    >>> import pandas as pd
    >>> print(markdown(pd.DataFrame({"rule": ["RAGE"], "pulls": [86]})))
    | rule   | pulls   |
    |:-------|:--------|
    | RAGE   | 86      |
    """
    escaped = frame.map(lambda value: str(value).replace("|", r"\|").replace("\n", " "))
    return escaped.to_markdown(index=False, disable_numparse=True)


def totals_block(claims):
    """Markdown of the totals, papers by their key.

    Parameters
    ----------
    claims : DataFrame
        Claims as `read` returns them.

    Returns
    -------
    str
        The table in markdown.

    Examples
    --------
    >>> from bandits_lib.companion.claims import claim, table
    >>> found = table([claim("fiez2019_demo/a", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1))])
    >>> totals_block(found).splitlines()[2]
    '| fiez2019 | 1            | 0           | 0                | 1        |'
    """
    return markdown(totals(claims).reset_index(names="paper"))


def claims_block(claims):
    """Markdown of the failures in the open and of every claim, folded, paper by paper.

    Parameters
    ----------
    claims : DataFrame
        Claims as `read` returns them.

    Returns
    -------
    str
        The tables in markdown.

    Examples
    --------
    >>> from bandits_lib.companion.claims import claim, table
    >>> found = table([claim("fiez2019_demo/a", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1))])
    >>> claims_block(found).splitlines()[2]
    'None.'
    """
    shown = as_read(claims)
    failed = shown[shown["verdict"] == "not reproduced"].drop(columns="verdict")
    parts = ["**Not reproduced**", markdown(failed) if len(failed) else "None."]
    for paper in dict.fromkeys(shown["paper"]):
        rows = shown[shown["paper"] == paper].drop(columns="paper")
        parts += [f"<details><summary>All {len(rows)} claims of {paper}</summary>", markdown(rows), "</details>"]
    return "\n\n".join(parts)


def fill(text, name, block):
    """Replace what stands between `<!-- name -->` and `<!-- end name -->` in a text.

    Parameters
    ----------
    text : str
        The text.
    name : str
        Name of the place.
    block : str
        What is to stand there.

    Returns
    -------
    str
        The text with the block in place.

    Raises
    ------
    ValueError
        If the text has no such place.

    Examples
    --------
    >>> text = "<!-- totals -->" + chr(10) + "<!-- end totals -->"
    >>> fill(text, "totals", "new").split()
    ['<!--', 'totals', '-->', 'new', '<!--', 'end', 'totals', '-->']
    """
    place = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end {name} -->)", flags=re.DOTALL)
    if not place.search(text):
        raise ValueError(f"the text has no place <!-- {name} --> ... <!-- end {name} -->")
    return place.sub(lambda found: f"{found[1]}\n{block}\n\n{found[2]}", text)


def fill_readme(text, claims):
    """The README with its totals and its table of claims made anew.

    Parameters
    ----------
    text : str
        The README, with its two places.
    claims : DataFrame
        Claims as `read` returns them.

    Returns
    -------
    str
        The README.

    Raises
    ------
    ValueError
        If the text lacks one of the places.

    Examples
    --------
    >>> from bandits_lib.companion.claims import claim, table
    >>> found = table([claim("fiez2019_demo/a", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1))])
    >>> places = [f"<!-- {name} -->" for name in ("totals", "end totals", "claims", "end claims")]
    >>> "Figure 1a" in fill_readme(chr(10).join(places), found)
    True
    """
    return fill(fill(text, "totals", totals_block(claims)), "claims", claims_block(claims))


def save(claims, out):
    """Write <out>/figures/claims.csv and <out>/figures/ledger.md, and fill in <out>/README.md where there is one.

    Parameters
    ----------
    claims : DataFrame
        Claims as `read` returns them.
    out : str or path-like
        Folder to write to.

    Raises
    ------
    ValueError
        If there is a README without the places to be filled in.

    Examples
    --------
    >>> from bandits_lib.companion.claims import claim, table
    >>> found = table([claim("fiez2019_demo/a", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1))])
    >>> save(found, ".")
    """
    out = Path(out)
    (out / "figures").mkdir(parents=True, exist_ok=True)
    claims.to_csv(out / "figures" / "claims.csv", index=False, float_format="%.17g", lineterminator="\n")
    page = f"# Ledger of claims\n\n{totals_block(claims)}\n\n{markdown(as_read(claims))}\n"
    (out / "figures" / "ledger.md").write_text(page, encoding="utf-8")
    if (readme := out / "README.md").exists():
        readme.write_text(fill_readme(readme.read_text(encoding="utf-8"), claims), encoding="utf-8")


def verdicts(axes, claims):
    """One mark per claim, by paper (one axes each) and figure (a row): shape and colour say the verdict.

    Parameters
    ----------
    axes : sequence of matplotlib.axes.Axes
        Where to draw: as many as there are papers in `claims`.
    claims : DataFrame
        Claims as `read` returns them.

    Returns
    -------
    sequence of matplotlib.axes.Axes
        The `axes`.

    Examples
    --------
    >>> from bandits_lib.companion.claims import claim, table
    >>> import matplotlib.pyplot as plt
    >>> found = table([claim("fiez2019_demo/a", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1))])
    >>> verdicts([plt.subplots()[1]], found)[0].get_xlabel()
    'fiez2019'
    """
    look = {"reproduced": ("o", "#029e73"), "undecided": ("s", "#949494"), "not reproduced": ("X", "#d55e00")}
    claims = claims.sort_values("verdict", key=lambda column: column.map(VERDICTS.index), kind="stable")
    claims = claims.assign(at=claims.groupby(["paper", "place"]).cumcount())
    for ax, (paper, of_paper) in zip(axes, claims.sort_index().groupby("paper", sort=False), strict=True):
        places = list(dict.fromkeys(of_paper["place"]))
        for verdict, (marker, colour) in look.items():
            chosen = of_paper[of_paper["verdict"] == verdict]
            rows = chosen["place"].map(places.index)
            ax.scatter(chosen["at"], rows, marker=marker, color=colour, s=13, lw=0, label=verdict)
        labels = [place[:1].upper() + place[1:] for place in places]
        ax.set(yticks=range(len(places)), xticks=[], xlabel=paper, xlim=(-1, claims["at"].max() + 1))
        ax.set_yticklabels(labels, fontsize=7)
        ax.set_ylim(len(places) - 0.5, -0.5)
        ax.grid(False)
    return axes
