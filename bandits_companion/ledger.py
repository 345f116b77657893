"""The ledger: all claims of the notebooks in one table, the page and picture made from it, and its totals in README."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes

from bandits_companion.claims_table import holds_for, judged, of_verdict, read, reading_of, sentences, told, totals
from bandits_companion.registry import sentence
from bandits_companion.verdicts import STANDS, VERDICTS
from bandits_lib.files import atomic_write

__all__ = ["as_read", "markdown", "of_verdict", "page", "read", "save", "sentences", "totals", "verdicts"]

OTHERS = {"code": "Visible only in the published code", "ours": "Findings of this companion"}


def as_read(claims: pd.DataFrame, earlier: pd.Series | None = None) -> pd.DataFrame:
    """Return the ledger in words, for a reader.

    Parameters
    ----------
    claims : DataFrame
        Claims as `ledger.read` returns them.
    earlier : Series, optional
        What each claim was when it was explored, as `exploratory_seed.words` returns it.

    Returns
    -------
    DataFrame
        One row per claim, with the index of `claims`: place, the paper's words, interval, verdict and explanation.

    Examples
    --------
    >>> from bandits_companion.claims import claim, table
    >>> found = table([claim("fiez2019_demo/a", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1))])
    >>> as_read(found)["measured [95 % interval]"].item()
    '0.5 [0.4, 0.6]'
    """
    of = sentences(claims)
    found = claims[["paper", "place"]].copy()
    rows = claims.to_dict("records")
    found["claim"] = [said(row) for row in rows]
    found["measured [95 % interval]"] = [told(row) for row in rows]
    found["holds for"] = [holds_for(row) + (f" ({row['edge']})" if row["edge"] else "") for row in rows]
    found["verdict"] = [_verdict(row, of) for row in rows]
    if earlier is not None and earlier.any():
        found["when explored"] = earlier
    return found.assign(**{"would hold for": claims["reach"], "explanation": claims["explanation"]})


def said(row):
    """Return the paper's words, if there are any, and what is measured."""
    reading = f" ({reading_of(row['id'])})" if "@" in row["id"] else ""
    return f"“{quoted(row['quote'])}”{reading}: {row['statement']}" if row["quote"] else row["statement"]


def quoted(text):
    """Return words of a paper as Markdown on one line; broken LaTeX becomes code."""
    text = " ".join(text.split()).replace("$$", "$")
    if text.count("$") % 2:
        return f"`{text}`"
    for sign, name in ((r"\|", r"\Vert "), (r"\{", r"\lbrace "), (r"\}", r"\rbrace ")):
        text = text.replace(sign, name)  # markdown takes away a backslash before a sign
    return f"${text.replace('&', '').strip()}$" if "\\" in text and "$" not in text else text


def _verdict(row, of):
    """Return the verdict of a reading, and that of its sentence where they differ."""
    found = judged(row)
    if "@" not in row["id"] or row["whose"] != "paper":
        return found
    whole = of.loc[sentence(row["id"])]
    if row["verdict"] in STANDS or whole["verdict"] not in STANDS:
        return found
    return f"{found} under this reading; the sentence stands under: {whole['under']}"


def markdown(frame: pd.DataFrame) -> str:
    """Return a table as Markdown without its index.

    Parameters
    ----------
    frame : DataFrame
        The table; bars inside its cells are escaped.

    Returns
    -------
    str
        The table in Markdown.

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
    """Return the totals as Markdown."""
    return markdown(totals(claims).reset_index(names="paper"))


def _others(shown, claims, whose):
    """Return the rows that are no sentences of a paper, or None."""
    rows = shown[claims["whose"] == whose]
    if rows.empty:
        return None
    return rows.drop(columns=["holds for", "verdict", "would hold for", "explanation"]) if whose == "ours" else rows


def page(claims: pd.DataFrame, earlier: pd.Series | None = None) -> str:
    """Return the whole ledger as Markdown.

    Parameters
    ----------
    claims, earlier : DataFrame, Series
        As for `ledger.as_read`.

    Returns
    -------
    str
        Totals, the papers' sentences, and separate tables for the published code and for findings of the companion.

    Examples
    --------
    >>> from bandits_companion import claims
    >>> found = claims.claim("fiez2019_demo/a", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1))
    >>> _ = claims.save([found], ".")
    >>> from bandits_companion.ledger import read
    >>> page(read("figures/claims")).splitlines()[0]
    '# Ledger of claims'
    """
    shown = as_read(claims, earlier)
    parts = ["# Ledger of claims", totals_block(claims), markdown(shown[claims["whose"] == "paper"])]
    for whose, title in OTHERS.items():
        if (rows := _others(shown, claims, whose)) is not None:
            parts += [f"## {title}", markdown(rows)]
    return "\n\n".join(parts) + "\n"


def fill_readme(text, claims):
    """Return the README with the totals between `<!-- totals -->` and `<!-- end totals -->`."""
    before, _, rest = text.partition("<!-- totals -->\n")
    _, end, after = rest.partition("<!-- end totals -->")
    if not end:
        raise ValueError("the text has no place <!-- totals --> ... <!-- end totals -->")
    return f"{before}<!-- totals -->\n\n{totals_block(claims)}\n\n{end}{after}"


# Okabe and Ito's colours, told apart by colour-blind readers; the shapes tell them apart in print
MARKS = [("o", "#009e73"), ("^", "#56b4e9"), ("D", "#0072b2"), ("s", "#a0a0a0"), ("X", "#d55e00")]


def verdicts(axes: Sequence[Axes], claims: pd.DataFrame) -> Sequence[Axes]:
    """Draw one mark per sentence, with a row for each place; shape and colour show the verdict.

    Parameters
    ----------
    axes : sequence of matplotlib.axes.Axes
        One for each paper in `claims`.
    claims : DataFrame
        Claims as `ledger.read` returns them.

    Returns
    -------
    sequence of matplotlib.axes.Axes
        The `axes`.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from bandits_companion.claims import claim, table
    >>> found = table([claim("fiez2019_demo/a", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1))])
    >>> verdicts([plt.subplots()[1]], found)[0].get_xlabel()
    'fiez2019'
    """
    found = sentences(claims).reset_index()
    found = found.sort_values("verdict", key=lambda column: column.map(VERDICTS.index), kind="stable")
    found = found.assign(at=found.groupby(["paper", "place"]).cumcount())
    for ax, (paper, of_paper) in zip(axes, found.sort_index().groupby("paper", sort=False), strict=True):
        places = list(dict.fromkeys(of_paper["place"]))
        for verdict, (marker, colour) in zip(VERDICTS, MARKS, strict=True):
            chosen = of_paper[of_paper["verdict"] == verdict]
            rows = chosen["place"].map(places.index)
            ax.scatter(chosen["at"], rows, marker=marker, color=colour, s=13, lw=0, label=verdict)
        labels = [place[:1].upper() + place[1:] for place in places]
        ax.set(yticks=range(len(places)), xticks=[], xlabel=paper, xlim=(-1, found["at"].max() + 1))
        ax.set_yticklabels(labels, fontsize=7)
        ax.set_ylim(len(places) - 0.5, -0.5)
        ax.grid(False)
    return axes


def save(claims: pd.DataFrame, out: str | PathLike, earlier: pd.Series | None = None) -> None:
    """Write figures/claims.csv and figures/ledger.md below `out`, and the totals into README.md if `out` has one.

    Parameters
    ----------
    claims, out, earlier : DataFrame, str or path-like, Series
        As for `ledger.as_read`, and the folder to write to.

    Examples
    --------
    >>> from bandits_companion import claims
    >>> found = claims.claim("fiez2019_demo/a", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1))
    >>> _ = claims.save([found], ".")
    >>> from bandits_companion.ledger import read
    >>> save(read("figures/claims"), ".")
    """
    figures = Path(out) / "figures"
    table = claims.to_csv(index=False, float_format="%.17g", lineterminator="\n")
    atomic_write(figures / "claims.csv", table, parents=True)
    atomic_write(figures / "ledger.md", page(claims, earlier))
    if (readme := Path(out) / "README.md").exists():
        atomic_write(readme, fill_readme(readme.read_text(encoding="utf-8"), claims))
