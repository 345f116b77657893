"""Pages made from the ledger: markdown of totals and claims, and the place of the README that they fill.

All verdicts in one picture: a mark per sentence, whose shape and colour say the verdict.

The ledger: the claims of all notebooks in one table, the verdict of every sentence, and the pages made from it.
"""

import re
from pathlib import Path

import pandas as pd

from bandits_companion.claims_table import (
    holds_for,
    judged,
    of_verdict,
    read,
    read_file,
    reading_of,
    sentences,
    told,
    totals,
)
from bandits_companion.registry import sentence
from bandits_companion.verdicts import STANDS, VERDICTS
from bandits_lib.files import atomic_write

OTHERS = {"code": "Visible only in the published code", "ours": "Findings of this companion"}


def as_read(claims, earlier=None):
    """The ledger as a person reads it: place, the paper's words and what was measured, verdict, reach, explanation.

    Parameters
    ----------
    claims : DataFrame
        Claims as `ledger.read` returns them.
    earlier : Series, optional
        What each claim was when it was explored, as `explored.words` says it; a column where there is such a word.

    Returns
    -------
    DataFrame
        One row per claim, with the index of `claims`.

    Examples
    --------
    >>> from bandits_companion.claims import claim
    >>> from bandits_companion.claims_table import full
    >>> found = full([claim("fiez2019_demo/a", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1))])
    >>> as_read(found)["measured [95 % interval]"].item()
    '0.5 [0.4, 0.6]'
    """
    of = sentences(claims)
    rows = [
        {
            "paper": row["paper"],
            "place": row["place"],
            "claim": said(row),
            "measured [95 % interval]": told(row),
            "holds for": holds_for(row) + (f" ({row['edge']})" if row["edge"] else ""),
            "verdict": _verdict(row, of),
            "would hold for": row["reach"],
            "explanation": row["explanation"],
        }
        for row in claims.to_dict("records")
    ]
    columns = ["paper", "place", "claim", "measured [95 % interval]", "holds for", "verdict", "would hold for"]
    found = pd.DataFrame(rows, index=claims.index, columns=[*columns, "explanation"])
    if earlier is not None and earlier.any():
        found.insert(columns.index("would hold for"), "when explored", earlier)
    return found


def said(row):
    """The paper's words, if there are any, and what is measured.

    Parameters
    ----------
    row : dict
        A row of the ledger, with `id`, `quote` and `statement`.

    Returns
    -------
    str
        In words.

    Examples
    --------
    >>> said({"id": "fiez2019_x/flat@code", "quote": "is flat", "statement": "exponent"})
    '“is flat” (code): exponent'
    """
    reading = f" ({reading_of(row['id'])})" if "@" in row["id"] else ""
    return f"“{quoted(row['quote'])}”{reading}: {row['statement']}" if row["quote"] else row["statement"]


def quoted(text):
    """Words of a paper as markdown sets them: a piece of a displayed formula as a formula, broken LaTeX as it stands.

    Parameters
    ----------
    text : str
        Words as they stand in the paper, formulas in LaTeX.

    Returns
    -------
    str
        The same in markdown, on one line.

    Examples
    --------
    >>> quoted(r"\\rho \\leq d"), quoted(r"for $t \\geq 2$"), quoted(r"\\geq 1 - \\delta$")
    ('$\\\\rho \\\\leq d$', 'for $t \\\\geq 2$', '`\\\\geq 1 - \\\\delta$`')
    """
    text = " ".join(text.split()).replace("$$", "$")
    if text.count("$") % 2:
        return f"`{text}`"
    for sign, name in ((r"\|", r"\Vert "), (r"\{", r"\lbrace "), (r"\}", r"\rbrace ")):
        text = text.replace(sign, name)  # markdown takes away a backslash before a sign
    return f"${text.replace('&', '').strip()}$" if "\\" in text and "$" not in text else text


def _verdict(row, of):
    """The verdict of a reading, and that of its sentence where they differ."""
    found = judged(row)
    if "@" not in row["id"] or row["whose"] != "paper":
        return found
    whole = of.loc[sentence(row["id"])]
    if row["verdict"] in STANDS or whole["verdict"] not in STANDS:
        return found
    return f"{found} under this reading; the sentence stands under: {whole['under']}"


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
        Claims as `ledger.read` returns them.

    Returns
    -------
    str
        The table in markdown.

    Examples
    --------
    >>> from bandits_companion.claims import claim
    >>> from bandits_companion.claims_table import full
    >>> found = full([claim("fiez2019_demo/a", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1))])
    >>> totals_block(found).splitlines()[2].split()[:4]
    ['|', 'fiez2019', '|', '1']
    """
    return markdown(totals(claims).reset_index(names="paper"))


def _others(shown, claims, whose):
    """The rows that are no sentences of a paper; None if there are none."""
    rows = shown[claims["whose"] == whose]
    if rows.empty:
        return None
    return rows.drop(columns=["holds for", "verdict", "would hold for", "explanation"]) if whose == "ours" else rows


def page(claims, earlier=None):
    """The page of the whole ledger.

    Parameters
    ----------
    claims : DataFrame
        Claims as `ledger.read` returns them.
    earlier : Series, optional
        As for `as_read`.

    Returns
    -------
    str
        Markdown: totals, every sentence, and in tables of their own what only the published code shows and what the
        companion found.

    Examples
    --------
    >>> from bandits_companion.claims import claim
    >>> from bandits_companion.claims_table import full
    >>> found = full([claim("fiez2019_demo/a", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1))])
    >>> page(found).splitlines()[0]
    '# Ledger of claims'
    """
    shown = as_read(claims, earlier)
    parts = ["# Ledger of claims", totals_block(claims), markdown(shown[claims["whose"] == "paper"])]
    for whose, title in OTHERS.items():
        if (rows := _others(shown, claims, whose)) is not None:
            parts += [f"## {title}", markdown(rows)]
    return "\n\n".join(parts) + "\n"


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
    """The README with its totals made anew.

    Parameters
    ----------
    text : str
        The README, with the place of the totals.
    claims : DataFrame
        Claims as `ledger.read` returns them.

    Returns
    -------
    str
        The README.

    Raises
    ------
    ValueError
        If the text lacks the place.

    Examples
    --------
    >>> from bandits_companion.claims import claim
    >>> from bandits_companion.claims_table import full
    >>> found = full([claim("fiez2019_demo/a", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1))])
    >>> "| fiez2019 | 1" in fill_readme("<!-- totals -->" + chr(10) + "<!-- end totals -->", found)
    True
    """
    return fill(text, "totals", totals_block(claims))


# Okabe and Ito's colours, told apart by colour-blind readers; the shapes tell them apart in print
LOOKS = dict(
    zip(
        VERDICTS,
        [("o", "#009e73"), ("^", "#56b4e9"), ("D", "#0072b2"), ("s", "#a0a0a0"), ("X", "#d55e00")],
        strict=True,
    )
)


def verdicts(axes, claims):
    """One mark per sentence, by paper (one axes each) and place (a row): shape and colour say the verdict.

    Parameters
    ----------
    axes : sequence of matplotlib.axes.Axes
        Where to draw: as many as there are papers in `claims`.
    claims : DataFrame
        Claims as `ledger.read` returns them.

    Returns
    -------
    sequence of matplotlib.axes.Axes
        The `axes`.

    Examples
    --------
    >>> from bandits_companion.claims import claim
    >>> from bandits_companion.claims_table import full
    >>> import matplotlib.pyplot as plt
    >>> found = full([claim("fiez2019_demo/a", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1))])
    >>> verdicts([plt.subplots()[1]], found)[0].get_xlabel()
    'fiez2019'
    """
    found = sentences(claims).reset_index()
    found = found.sort_values("verdict", key=lambda column: column.map(VERDICTS.index), kind="stable")
    found = found.assign(at=found.groupby(["paper", "place"]).cumcount())
    for ax, (paper, of_paper) in zip(axes, found.sort_index().groupby("paper", sort=False), strict=True):
        places = list(dict.fromkeys(of_paper["place"]))
        for verdict, (marker, colour) in LOOKS.items():
            chosen = of_paper[of_paper["verdict"] == verdict]
            rows = chosen["place"].map(places.index)
            ax.scatter(chosen["at"], rows, marker=marker, color=colour, s=13, lw=0, label=verdict)
        labels = [place[:1].upper() + place[1:] for place in places]
        ax.set(yticks=range(len(places)), xticks=[], xlabel=paper, xlim=(-1, found["at"].max() + 1))
        ax.set_yticklabels(labels, fontsize=7)
        ax.set_ylim(len(places) - 0.5, -0.5)
        ax.grid(False)
    return axes


__all__ = [
    "as_read",
    "fill",
    "fill_readme",
    "markdown",
    "of_verdict",
    "page",
    "read",
    "read_file",
    "save",
    "sentences",
    "totals",
    "totals_block",
    "verdicts",
]


def save(claims, out, earlier=None):
    """Write figures/claims.csv and figures/ledger.md below `out`, and the totals into README.md if `out` holds one.

    Parameters
    ----------
    claims : DataFrame
        Claims as `read` returns them.
    out : str or path-like
        Folder to write to.
    earlier : Series, optional
        As for `as_read`; it stands in ledger.md.

    Raises
    ------
    ValueError
        If there is a README without the places to be filled in.

    Examples
    --------
    >>> from bandits_companion.claims import claim
    >>> from bandits_companion.claims_table import full
    >>> save(full([claim("fiez2019_demo/a", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1))]), ".")
    """
    out = Path(out)
    (out / "figures").mkdir(parents=True, exist_ok=True)
    table = claims.to_csv(index=False, float_format="%.17g", lineterminator="\n")
    atomic_write(out / "figures" / "claims.csv", table)
    atomic_write(out / "figures" / "ledger.md", page(claims, earlier))
    if (readme := out / "README.md").exists():
        atomic_write(readme, fill_readme(readme.read_text(encoding="utf-8"), claims))
