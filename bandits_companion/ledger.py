"""The ledger: what holds of each paper, as pages, as the box of a notebook, as a picture, and as totals in README."""

import re
from collections.abc import Sequence
from functools import cache
from itertools import chain
from os import PathLike
from os.path import commonprefix
from pathlib import Path

import pandas as pd
import yaml
from matplotlib.axes import Axes

from bandits_companion.claims_table import (
    MARGINS,
    by_sentence,
    condition,
    csv_of,
    holds_for,
    judged,
    read,
    read_file,
    sentences,
    totals,
    with_interval,
)
from bandits_companion.registry import COPIES, PAPERS, find, part_and_reading, sentence
from bandits_companion.verdicts import LETTERS, OUTCOMES
from bandits_lib.figures.results import CHECKOUT
from bandits_lib.files import atomic_write

__all__ = ["box", "outcomes", "read", "save", "sentences", "totals"]

HELD, FELL = ("H", "C"), ("F", "I")
WIDTH = 80  # characters of a cell, at most
KINDS = {"text": "by the text", "program": "in the published program"}
INTRODUCTION = (
    "This page lists the sentences of the paper with their outcomes. The link of a sentence leads to what was measured "
    "for it. There, each number has its 95 % interval and, in round brackets, the values for which the words are true. "
    "A negative control is a case for which the sentence is false: it must fail the same test. A positive control must "
    "pass the test. "
    "[How a sentence is judged](../../docs/verdicts.md) explains the rules."
)


def markdown(frame: pd.DataFrame) -> str:
    """Return a table as Markdown without its index; bars inside its cells are escaped."""
    escaped = frame.map(lambda value: str(value).replace("|", r"\|").replace("\n", " "))
    rows = [frame.columns, *escaped.itertuples(index=False)]
    head, *lines = (f"| {' | '.join(map(str, row))} |" for row in rows)
    return "\n".join([head, "|" + ":-|" * frame.shape[1], *lines])


def quoted(text):
    """Return words of a paper as Markdown on one line; broken LaTeX becomes code."""
    text = " ".join(text.split()).replace("$$", "$")
    if text.count("$") % 2:
        return f"`{text}`"
    for sign, name in ((r"\|", r"\Vert "), (r"\{", r"\lbrace "), (r"\}", r"\rbrace ")):
        text = text.replace(sign, name)  # markdown takes away a backslash before a sign
    return f"${text.replace('&', '').strip()}$" if "\\" in text and "$" not in text else text


def short(text, width=WIDTH):
    """Return a text that fits a cell: whole words, and no formula that is cut."""
    text = quoted(text)
    if len(text) <= width:
        return text
    cut = text[: width - 3].rsplit(" ", 1)[0]
    if text[0] != "`" and cut.count("$") % 2:
        cut = cut.rsplit("$", 1)[0].strip() or f"`{text[1 : width - 4]}`"
    return f"{cut}{'`' * (cut.count('`') % 2)} …"


def _said(text, width, whole):
    """Return a sentence for a cell: `short`, or a formula by itself as a whole."""
    formula = quoted(text)
    return formula if whole and re.fullmatch(r"\$[^$]+\$", formula) else short(text, width)


SECTION = re.compile(r"([a-z]+\d{4})_((?:[A-Z]?\d+[a-z]?_)*)(\w+)/(\w+)")


def anchor(id: str) -> str:
    """Return the anchor of a sentence or finding on the pages that show it: azizi2022-8_3-lingape."""
    [(paper, section, words, name)] = SECTION.findall(sentence(id))
    return f"{paper}-{section.strip('_') or words}-{name}"


def totals_block(claims, errata=None):
    """Return the totals as Markdown, a column for each paper, without the outcomes that no sentence has."""
    table = totals(claims, errata)
    table = table[[column for column in table if column not in OUTCOMES or table.loc["all", column]]]
    if len(table) == 2:  # one paper, of which "all" would say the same
        table = table.drop(index="all")
    return markdown(table.T.reset_index(names="sentences").replace("sentences", "all sentences"))


def box(notebook: str, claims: pd.DataFrame | None = None, whole: bool = False) -> str:
    """Return what a notebook's sentences say and whether they hold, a line each, as Markdown.

    Parameters
    ----------
    notebook : str
        Name of the notebook.
    claims : DataFrame, optional
        Claims as `ledger.read` returns them, by default those of the papers' scale in figures/claims.csv.
    whole : bool, default False
        Whether a sentence that is a formula may be wider than 80 characters, so that it is not cut.

    Returns
    -------
    str
        A table: the paper's words, the outcome, what was measured, when the words are true, and the judgement with
        its numbers by the text and in the published program. Below it: how many sentences hold, and, unless `whole`,
        from which run the numbers are.

    Examples
    --------
    >>> from bandits_companion.claims import table
    >>> box("fiez2019_5a_benchmark", table([]))
    'No sentence of the paper is judged here yet.'
    """
    if claims is None:
        claims = read_file(CHECKOUT / "figures" / "claims.csv")
    found = sentences(claims[claims["id"].str.startswith(f"{notebook}/")])
    if found.empty:
        return "No sentence of the paper is judged here yet."
    path = f"../figures/ledger/{found['paper'].iloc[0]}.md"
    about = {_title(*named): _about(found, *named) for *named, _ in _figures(notebook)}
    first = pd.concat([found[:0], *about.values()]).index.unique()  # what is about a figure stands above the rest
    rows = []
    for id, row in found.loc[[*first, *found.index.difference(first, sort=False)]].iterrows():
        place = row["place"][:1].upper() + row["place"][1:]
        words = _said(row["quote"], max(WIDTH - len(place) - 4, 36), whole)
        outcome, *letters = _cells(row)
        numbers = map(_with_numbers, letters, row[["by_text", "by_program"]])
        condition = row["condition"].replace("true if ", "")
        link = f"[{place}: {words}]({path}#{anchor(id)})"
        rows.append((link, outcome, short(row["quantity"]), short(condition), *numbers))
    parts = [markdown(pd.DataFrame(rows, columns=BOX))]
    for title, own in about.items():
        counts = [f"{words} {counted}" for kind, words in KINDS.items() if (counted := _counted(own, kind))]
        parts += [f"{title}: {'; '.join(counts)}."] if counts else []
    named = found[["by_text", "by_program"]].map(lambda numbers: "(" in numbers).any(axis=None)
    brackets = " Words in brackets name the part of a sentence that decides, the reading, or both." if named else ""
    parts.append(of_figure(found, "All sentences of this page" if about else "Sentences") + brackets)
    return "\n\n".join(parts if whole else [*parts, _run(notebook)])


def _run(notebook):
    """Return in words from which run the numbers of a box are, with links to its figures."""
    figures = [f"[{_title(*named)}](../{path})" for *named, path in _figures(notebook)]
    drew = f", which also drew {' and '.join(figures)}" if figures else ""
    return (
        f"This box is from the run at the paper's scale{drew}. The outputs below are from the parameters that this "
        "notebook sets, by default those of a small run that decides nothing."
    )


def in_detail(notebook: str, claims: pd.DataFrame) -> str:
    """Return all that was measured of a notebook's sentences, and its findings, as Markdown with an anchor for each."""
    claims = claims[claims["id"].str.startswith(f"{notebook}/")]
    found, measured = sentences(claims), by_sentence(claims)
    parts = [_details(id, row, measured[id], row["place"]) for id, row in found.iterrows()]
    rest = _findings(claims[claims["quote"] == ""], lambda id: id.partition("/")[2])
    return "\n\n".join([*parts, *(["**Findings of this companion**", *rest] if rest else [])])


CELLS = ["outcome", "text", "program"]
BOX = ["the paper says", "outcome", "quantity", "true if", *KINDS.values()]


def _cells(row):
    return row["outcome"] + r" \*" * (MARGINS in row["note"]), LETTERS[row["text"]], LETTERS[row["program"]]


def _with_numbers(letter, numbers):
    """Return a letter in words with what was measured, without intervals if they make the cell too wide."""
    text = f"{letter}: {numbers}" if numbers else letter
    return short(text if len(text) <= WIDTH else re.sub(r" \[.*?\]", "", text))


def of_figure(table, which="Sentences"):
    """Return in words how many of some sentences hold by the text and in the published program, and how firmly."""
    counts = [
        f"{words} {held} of {ran}" for words, (held, ran) in zip(KINDS.values(), _held(table), strict=True) if ran
    ]
    if not counts:
        return "No sentence here can be tested."
    starred = rf" \* changes {MARGINS}." if table["note"].str.contains(MARGINS).any() else ""
    return f"{which} that hold, are compatible or are not contradicted: {', '.join(counts)}.{starred}"


def _held(table):
    """Return for each kind how many of the sentences hold, and how many were run."""
    return [(table[kind].isin(HELD).sum(), (table[kind] != "–").sum()) for kind in KINDS]


def page(paper: str, claims: pd.DataFrame, errata: pd.DataFrame | None = None, details: bool = True) -> str:
    """Return the ledger of one paper as Markdown: totals, a table for each place, and what was measured.

    Without `details` only the tables, with whole formulas. No other cell is wider than WIDTH characters."""
    claims = claims[claims["paper"] == paper]
    own = None if errata is None else errata[errata["paper"] == paper]
    copy = f"Quotations were compared with a text of the published paper whose SHA-256 is `{COPIES[paper]}`."
    order = {sentence(id): n for n, id in enumerate(find())}  # claims.yaml begins with what the abstract says
    found = sentences(claims).sort_index(key=lambda ids: ids.map(lambda id: order.get(id, 0)), kind="stable")
    parts = [f"# Ledger of {paper} ({PAPERS[paper]})", INTRODUCTION, totals_block(claims, own), copy]
    measured = by_sentence(claims)
    for place, rows in found.groupby("place", sort=False):
        table = [
            (f"[{_said(row['quote'], 50, not details)}](#{anchor(id)})", *_cells(row)) for id, row in rows.iterrows()
        ]
        parts += [f"## {place}", of_figure(rows), markdown(pd.DataFrame(table, columns=["sentence", *CELLS]))]
        parts += [_details(id, row, measured[id], _link(id)) for id, row in rows.iterrows()] if details else []
    if len(rest := claims[claims["quote"] == ""]) and details:
        parts += ["## Findings of this companion", *_findings(rest, _link)]
    return "\n\n".join(parts) + "\n"


def _link(id):
    notebook, _, name = id.partition("/")
    return f"[{name}](../../notebooks/{notebook}.ipynb)"


def _details(id, row, claims, source):
    """Return one sentence, with its source in brackets and everything that was measured, as Markdown."""
    note = f" ({row['note']})" if row["note"] and row["outcome"] != "untestable" else ""
    restored = " (restored from damaged text)" if row["restored"] else ""
    head = f'<a id="{anchor(id)}"></a>**{row["outcome"]}**{note}: '
    words = f"{head}“{quoted(row['whole'] or row['quote'])}”{restored} ({source})"
    return "\n".join([words, *measurements(claims)])


def measurements(claims):
    """Return the lines of claims: those that measure the same thing together, and the explanations."""
    alike: dict[str, list] = {}
    for claim in claims:
        alike.setdefault(claim["measures"].partition("; ")[0], []).append(claim)
    return [*chain.from_iterable(map(_alike, alike.values())), *_explanations(claims)]


def _alike(claims):
    """Return the lines of claims that measure the same thing; what they measure stands once."""
    if claims[0]["untestable"]:
        return [f"- not testable: {claims[0]['untestable']}"]
    if len(claims) == 1:
        return [f"- *{_names(claims[0])}*: {claims[0]['measures']}. Measured: {_measured(claims[0])}"]
    pieces = [claim["measures"].split("; ") for claim in claims]
    shared = len(commonprefix(pieces))
    lines = [f"- {'; '.join(pieces[0][:shared])}:"]
    for claim, own in zip(claims, pieces, strict=True):
        rest = f" ({'; '.join(own[shared:])})" if own[shared:] else ""
        lines.append(f"  - *{_names(claim)}*{rest}: {_measured(claim)}")
    return lines


def _explanations(claims):
    """Return a line for each explanation, with the parts and readings that it explains unless it explains all."""
    explained: dict[str, list] = {}
    for claim in claims:
        explained.setdefault(claim["explanation"], []).append(f"*{_names(claim)}*")
    for text, names in explained.items():
        of = f" ({'; '.join(names)})" if len(explained) > 1 else ""
        if text:
            yield f"- Explanation{of}: {text}"


def _names(claim):
    """Return the part and the reading of a claim, or its kind."""
    part, reading = part_and_reading(claim["id"])
    return ", ".join(filter(None, (part.replace("_", " "), reading.replace("_", " ") or claim["kind"])))


def _measured(claim):
    """Return the number of one part under one reading, its letter and its controls."""
    text = f"{with_interval(claim)} ({condition(claim)}): {judged(claim)}."
    for name, called in (("loser", "Negative control"), ("winner", "Positive control")):
        if claim[name]:
            ends = {end: claim[f"{name}_{end}"] for end in ("estimate", "low", "high")}
            text += f" {called} ({claim[name]}): {with_interval(ends)}, {LETTERS[claim[f'{name}_letter']]}."
    return text


def _findings(claims, source):
    """Return findings as lines of Markdown, with `source` of each id; the first of a name has its anchor."""
    seen, lines = set(), []
    for claim in claims.to_dict("records"):
        at = anchor(claim["id"])
        mark = "" if at in seen else f'<a id="{at}"></a>'
        printed = f" ({holds_for(claim)}: {judged(claim)})" if claim["letter"] else ""
        lines.append(
            f"- {mark}{claim['place']}: {claim['measures']}: {with_interval(claim)}{printed} ({source(claim['id'])})"
        )
        seen.add(at)
    return lines


FIGURE = re.compile(r"\w+/(table_)?(\d+)(\w*)")
PLURAL = {"holds": "hold", "falls": "fall", "depends": "depend"}


def figures_block(claims):
    """Return a row for each numbered figure: how many sentences about it have which letter, by kind."""
    found, rows = sentences(claims), []
    for name in _plan():
        for word, number, letters, _ in _figures(name):
            own = _about(found[found.index.str.startswith(f"{name}/")], word, number, letters)
            paper = name.partition("_")[0]
            link = f"[{paper}, {_title(word, number, letters)}](notebooks/{name}.ipynb)"
            cells = (_counted(own, kind) for kind in KINDS)
            rows.append((list(PAPERS).index(paper), int(number), letters, link, *cells))
    columns = ["sentences about", *KINDS.values()]
    return markdown(pd.DataFrame([row[3:] for row in sorted(rows)], columns=columns))


@cache
def _plan():
    return yaml.safe_load((CHECKOUT / "notebooks" / "paper.yaml").read_text(encoding="utf-8"))


def _figures(name):
    """Return ("Figure" or "Table", number, letters, path of the picture) of the numbered figures of a notebook."""
    matches = [match for figure in _plan().get(name, {}).get("figures", []) if (match := FIGURE.fullmatch(figure))]
    paths = [f"figures/{match[0].replace('/', '/fig_')}.png" for match in matches]
    return [("Table" if m[1] else "Figure", m[2], m[3], path) for m, path in zip(matches, paths, strict=True)]


def _title(word, number, letters):
    """Return a figure's name, such as "Figure 3", or "Figures 1a and 1b" for the letters "ab"."""
    return f"{word}{'s' * (len(letters) > 1)} {' and '.join(number + letter for letter in letters or [''])}"


def _about(table, word, number, letters):
    """Return the sentences whose place, such as "Section 5 and Figure 3c", names the figure; 2 names 2a and 2b too."""

    def names_it(place):
        listed = "".join(re.findall(rf"{word}s?((?:,? (?:and )?\d+[a-z]*)+)", place))
        named = [letter for digits, letter in re.findall(r"(\d+)([a-z]*)", listed) if digits == number]
        return any(not letters or letter in letters for letter in named)

    return table[table["place"].map(names_it).astype(bool)]


def _counted(table, kind):
    """Return in words how many of some sentences have which letter, and, by the text, how many cannot be tested."""
    words = [*table[kind].drop(table.index[table[kind] == "–"]).map(LETTERS)]
    words += ["untestable"] * (table["outcome"] == "untestable").sum() if kind == "text" else []
    counts = {word: words.count(word) for word in [*LETTERS.values(), "untestable"]}
    return ", ".join(f"{n} {PLURAL.get(word, word) if n > 1 else word}" for word, n in counts.items() if n)


def fill_readme(text, claims, errata=None):
    """Return the README with its totals and figures."""
    return filled(text, {"totals": totals_block(claims, errata), "figures": figures_block(claims)})


def filled(text, blocks):
    """Return a page with {place: block} between `<!-- place -->` and `<!-- end place -->`."""
    for place, block in blocks.items():
        before, _, rest = text.partition(f"<!-- {place} -->\n")
        _, end, after = rest.partition(f"<!-- end {place} -->")
        if not end:
            raise ValueError(f"the text has no place <!-- {place} --> ... <!-- end {place} -->")
        text = f"{before}<!-- {place} -->\n\n{block}\n\n{end}{after}"
    return text


# By outcome: colours that colour-blind readers tell apart (Okabe and Ito), shapes that are told apart in print
MARKS = ["o", "P", "v", "^", "<", "D", "*", "s", "s", ".", "x", "X"]
COLOURS = (
    ["#009e73", "#56b4e9", "#009e73", "#009e73", "#e69f00", "#0072b2", "#cc79a7"] + ["#a0a0a0"] * 3 + ["#d55e00"] * 2
)


def outcomes(axes: Sequence[Axes], claims: pd.DataFrame) -> Sequence[Axes]:
    """Draw one mark per sentence, with a row for each place; shape and colour show the outcome.

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
    >>> from bandits_companion.claims import table
    >>> outcomes([], table([]))
    []
    """
    found = sentences(claims).reset_index()
    found = found.sort_values("outcome", key=lambda column: column.map(OUTCOMES.index), kind="stable")
    found, seen = found.assign(at=found.groupby(["paper", "place"]).cumcount()), set(found["outcome"])
    for ax, (paper, of_paper) in zip(axes, found.sort_index().groupby("paper", sort=False), strict=True):
        places = list(dict.fromkeys(of_paper["place"]))
        for outcome, marker, colour in zip(OUTCOMES, MARKS, COLOURS, strict=True):
            chosen = of_paper[of_paper["outcome"] == outcome]
            if outcome in seen:
                rows = chosen["place"].map(places.index)
                ax.scatter(
                    chosen["at"], rows, marker=marker, color=colour, s=13, lw=0 if marker != "x" else 1, label=outcome
                )
        labels = [place[:1].upper() + place[1:] for place in places]
        ax.set(yticks=range(len(places)), xticks=[], xlabel=paper, xlim=(-1, found["at"].max() + 1))
        ax.set_yticklabels(labels, fontsize=7)
        ax.set_ylim(len(places) - 0.5, -0.5)
        ax.grid(False)
    return axes


def save(claims: pd.DataFrame, out: str | PathLike, errata: pd.DataFrame | None = None) -> None:
    """Write figures/claims.csv, figures/ledger/<paper>.md and the tables of README.md, all below `out`.

    Parameters
    ----------
    claims, out, errata : DataFrame, str or path-like, DataFrame
        Claims as `ledger.read` returns them, the folder to write to, and errata as `errata.read` returns them.

    Examples
    --------
    >>> from bandits_companion.claims import table
    >>> save(table([]), ".")
    """
    figures = Path(out) / "figures"
    atomic_write(figures / "claims.csv", csv_of(claims), parents=True)
    for paper in dict.fromkeys(claims["paper"]):
        atomic_write(figures / "ledger" / f"{paper}.md", page(paper, claims, errata), parents=True)
    if (readme := Path(out) / "README.md").exists():
        atomic_write(readme, fill_readme(readme.read_text(encoding="utf-8"), claims, errata))
