"""The ledger: what holds of each paper, as pages, as the box of a notebook, as a picture, and as totals in README."""

import re
from collections.abc import Sequence
from functools import cache
from itertools import chain
from os import PathLike
from pathlib import Path

import pandas as pd
import yaml
from matplotlib.axes import Axes

from bandits_companion.claims_table import (
    KINDS,
    MARGINS,
    by_sentence,
    condition,
    criterion,
    csv_of,
    judged,
    numbers,
    read,
    read_file,
    sentences,
    slips,
    totals,
    with_interval,
)
from bandits_companion.registry import COPIES, PAPERS, find, part_and_reading, sentence
from bandits_companion.verdicts import LETTERS, RULER, WORDS, as_described
from bandits_lib.figures.results import CHECKOUT
from bandits_lib.files import atomic_write

__all__ = ["box", "picture", "read", "save", "sentences", "totals"]

HOW_TO_READ = (
    "Each number has its 95 % interval, unless it has none or both ends round to the number itself, and, in brackets, "
    "the values for which the words are true. A range stands for several numbers. A negative control is a case for "
    "which the sentence is false: by the same test it must fall or be level in at least one part. A sentence falls "
    "only if a positive control, where there is one, holds in at least one part. A part is weaker if the direction is "
    "right but the size is not, and level if a difference is within the margin. "
    f"Closeness falls only from a ratio of {RULER['ratio'][1]:g}, an accuracy of {RULER['accuracy'][1]:g} or an "
    f"exponent of {RULER['exponent'][1]:g} on. A star marks a word that would change if all margins were half or "
    "twice as wide. "
    "[How a sentence is judged](../../docs/verdicts.md) explains the rules."
)
INTRODUCTION = (
    "This page lists the sentences of the paper and says of each whether it holds by the text and in the published "
    f"program. The link after a sentence leads to what was measured for it. {HOW_TO_READ}"
)
RUN = (
    "This box is from the run at the paper's scale. A star marks a word that would change if all margins were half or "
    "twice as wide. The outputs below are from the parameters that this notebook sets, by default those of a small run "
    "that decides nothing."
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


SECTION = re.compile(r"([a-z]+\d{4})_((?:[A-Z]?\d+[a-z]?_)*)(\w+)/(\w+)")


def anchor(id: str) -> str:
    """Return the anchor of a sentence or finding on the pages that show it: azizi2022-8_3-lingape."""
    [(paper, section, words, name)] = SECTION.findall(sentence(id))
    return f"{paper}-{section.strip('_') or words}-{name}"


def totals_block(claims):
    """Return the totals of each paper as Markdown, and from how many slips sentences fall."""
    found = sentences(claims)
    papers = found.groupby("paper", sort=False)
    rows = [
        (f"{paper}, {said}", counted(own, kind, whole=True)) for paper, own in papers for kind, said in KINDS.items()
    ]
    table = markdown(pd.DataFrame(rows, columns=["paper", "sentences"]))
    fallen = (found["text"] == "falls").sum()
    fall = "falls" if fallen == 1 else "fall"
    return f"{table}\n\nOf {len(found)} sentences {fallen} {fall} by the text.{slips(found)}"


def box(notebook: str, claims: pd.DataFrame | None = None, whole: bool = False) -> str:
    """Return what a notebook's sentences say and whether they hold, a line each, as Markdown.

    Parameters
    ----------
    notebook : str
        Name of the notebook.
    claims : DataFrame, optional
        Claims as `ledger.read` returns them, by default those of the papers' scale in figures/claims.csv.
    whole : bool, default False
        Whether the table stands on a page of its own, which says from which run the numbers are.

    Returns
    -------
    str
        Whether the curves of each figure have the order and the growth that the paper describes, and how many
        sentences about it hold. A table: the paper's words, and the two cells; for each quantity, when the words are
        true and the numbers that decide. Below it, unless `whole`: from which run the numbers are.

    Examples
    --------
    >>> from bandits_companion.claims import table
    >>> box("fiez2019_5a_benchmark", table([]))
    'No sentence of the paper is judged here yet.'
    """
    if claims is None:
        claims = read_file(CHECKOUT / "figures" / "claims.csv")
    claims = claims[claims["id"].str.startswith(f"{notebook}/")]
    found = sentences(claims)
    if found.empty:
        return "No sentence of the paper is judged here yet."
    path = f"../figures/ledger/{found['paper'].iloc[0]}.md"
    measured = by_sentence(claims)
    about = {_title(*named): _about(found, *named) for *named, _ in _figures(notebook)}
    first = pd.concat([found[:0], *about.values()]).index.unique()  # what is about a figure stands above the rest
    shown = found.loc[[*first, *found.index.difference(first, sort=False)]]
    rows = [line for id, row in shown.iterrows() for line in _lines(id, row, measured[id], f"{path}#{anchor(id)}")]
    parts = [
        " ".join(
            [f"**Sentences that name {title}.**", *_shapes([r for id in own.index for r in measured[id]]), _counts(own)]
        )
        for title, own in about.items()
        if len(own)
    ]
    parts += [markdown(pd.DataFrame(rows, columns=BOX)), f"All sentences of this page. {_counts(found)}"]
    return "\n\n".join(parts if whole else [*parts, RUN])


GROWTH = re.compile("(exponent|change of|additional pulls|gain in)")


def _shapes(rows):
    """Yield in words how often the curves have the order and the growth that the claims about a figure describe."""
    described = [
        (r["kind"], bool(GROWTH.match(r["measures"])), as_described(*criterion(r))) for r in rows if r["letter"]
    ]
    for grows, shape in enumerate(("order", "growth")):
        counts = []
        for kind, words in KINDS.items():
            seen = [right for *of, right in described if of == [kind, grows] and right is not None]
            counts += [f"{words} in {sum(seen)} of {len(seen)} comparisons"] * bool(seen)
        if counts:
            yield f"By the estimates alone, the {shape} is as the paper describes it: {' and '.join(counts)}."


def in_detail(claims: pd.DataFrame) -> str:
    """Return all that was measured of sentences and findings as Markdown, with an anchor for each of them."""
    measured = by_sentence(claims)
    parts = [
        _details(id, row, measured[id], f"{row['place']}, {_link(id)}") for id, row in sentences(claims).iterrows()
    ]
    rest = [*_findings(claims[claims["quote"] == ""], _link)]
    return "\n\n".join([*parts, *(["**Findings of this companion**", *rest] if rest else [])])


BOX = ["the paper says", "what was measured, and when the words are true", *KINDS.values()]


def _lines(id, row, claims, link):
    """Return the lines of a sentence in a box: its words; and, of each quantity, the numbers that decide."""
    said = f"[{row['place'][:1].upper()}{row['place'][1:]}]({link}): “{quoted(row['quote'])}”"
    words = [_word(row, kind) + _note(row, kind) for kind in KINDS]
    quantities: dict[str, dict] = {}
    for claim in claims:
        if claim["letter"] and claim["kind"] in KINDS:
            quantity = f"{claim['measures'].partition('; ')[0]} ({condition(claim)})"
            quantities.setdefault(quantity, {kind: [] for kind in KINDS})[claim["kind"]].append(claim)
    if len(quantities) > 1:
        parts = [("", quantity, *(numbers(of, True) for of in own.values())) for quantity, own in quantities.items()]
        return [(said, "", *words), *parts]
    [(quantity, own)] = quantities.items() or [(row["text_note"], dict.fromkeys(KINDS, []))]
    cells = (f"{word}: {numbers(of)}" if of else word for word, of in zip(words, own.values(), strict=True))
    return [(said, quantity, *cells)]


def _word(row, kind):
    """Return the word of a cell, with a star if other margins would change it."""
    return row[kind] + r" \*" * (MARGINS in row[f"{kind}_note"])


def _note(row, kind):
    """Return in brackets what instances or runs say of what is open or not contradicted."""
    note = row[f"{kind}_note"].partition("; ")[0]
    return f" ({note})" if note and row[kind] in ("open", "not contradicted") else ""


def _counts(table):
    """Return in words how many of some sentences have which word, by kind."""
    said = "; ".join(f"{words} {counts}" for kind, words in KINDS.items() if (counts := counted(table, kind)))
    return f"{said[:1].upper()}{said[1:]}."


def verdict(row):
    """Return the two cells of a sentence in words; what was not run in the published program is left out."""
    text = row["text"] + " by the text" * (row["text"] != "not tested")
    return f"{text}, {row['program']} in the published program" if row["program"] != "not tested" else text


def page(paper: str, claims: pd.DataFrame) -> str:
    """Return the ledger of one paper as Markdown: totals, a table for each place, and what was measured."""
    claims = claims[claims["paper"] == paper]
    copy = f"Quotations were compared with a text of the published paper whose SHA-256 is `{COPIES[paper]}`."
    order = {sentence(id): n for n, id in enumerate(find())}  # claims.yaml begins with what the abstract says
    found = sentences(claims).sort_index(key=lambda ids: ids.map(lambda id: order.get(id, 0)), kind="stable")
    parts = [f"# Ledger of {paper} ({PAPERS[paper]})", INTRODUCTION, totals_block(claims), copy]
    measured = by_sentence(claims)
    for place, rows in found.groupby("place", sort=False):
        table = [
            (f"{quoted(row['quote'])} ([details](#{anchor(id)}))", *(_word(row, kind) for kind in KINDS))
            for id, row in rows.iterrows()
        ]
        parts += [f"## {place}", _counts(rows), markdown(pd.DataFrame(table, columns=["sentence", *KINDS.values()]))]
        parts += [_details(id, row, measured[id], _link(id)) for id, row in rows.iterrows()]
    if len(rest := claims[claims["quote"] == ""]):
        parts += ["## Findings of this companion", *_findings(rest, _link)]
    return "\n\n".join(parts) + "\n"


def _link(id):
    notebook, _, name = id.partition("/")
    return f"[{name}](../../notebooks/{notebook}.ipynb)"


def _details(id, row, claims, source):
    """Return one sentence, with its source in brackets and everything that was measured, as Markdown."""
    said = {kind: (row[f"{kind}_said"] if row[kind] == "partly" else "", row[f"{kind}_note"]) for kind in KINDS}
    notes = [f"- {KINDS[kind]}: {'; '.join(filter(None, cell))}" for kind, cell in said.items() if any(cell)]
    restored = " (restored from damaged text)" if row["restored"] else ""
    head = f'<a id="{anchor(id)}"></a>**{verdict(row)}**: '
    words = f"{head}“{quoted(row['whole'] or row['quote'])}”{restored} ({source})"
    return "\n".join([words, *notes, *measurements(claims)])


def measurements(claims):
    """Return the lines of claims: those that measure the same thing together, and the explanations."""
    alike: dict[str, list] = {}
    for claim in claims:
        alike.setdefault(claim["measures"].partition("; ")[0], []).append(claim)
    return [*chain.from_iterable(map(_alike, alike.values())), *_explanations(claims)]


def _alike(claims):
    """Return the lines of claims that measure the same thing; what they measure stands once."""
    if claims[0]["untestable"]:
        return []
    pieces = [claim["measures"].partition("; ")[::2] for claim in claims]
    lines = [f"  - *{_names(claim)}*{f' ({own})' if own else ''}: {_measured(claim)}"
             for claim, (_, own) in zip(claims, pieces, strict=True)]  # fmt: skip
    return [f"- {pieces[0][0]}:", *lines]


def _explanations(claims):
    """Return a line for each explanation, with the letter that it explains."""
    explained = dict.fromkeys((claim["letter"], claim["explanation"]) for claim in claims if claim["explanation"])
    verb = {"weaker": "is weaker", "level": "is level", "open": "is open", "partly": "holds partly"}
    why = {letter: f"Why a part {verb.get(word, word)}" for letter, word in LETTERS.items() if word != "holds"}
    return [f"- {why.get(letter, 'Note')}: {text}" for letter, text in explained]


def _names(claim):
    """Return the part and the reading of a claim, or its kind."""
    part, reading = part_and_reading(claim["id"])
    return ", ".join(filter(None, (part.replace("_", " "), reading.replace("_", " ") or claim["kind"])))


def _measured(claim):
    """Return the number of one part under one reading, its letter and its controls."""
    text = with_interval(claim) + (f" ({condition(claim)}): {judged(claim)}." if claim["letter"] else "")
    for name, called in (("loser", "Negative control"), ("winner", "Positive control")):
        if claim[name]:
            ends = {end: claim[f"{name}_{end}"] for end in ("estimate", "low", "high")}
            text += f" {called} ({claim[name]}): {with_interval(ends)}, {LETTERS[claim[f'{name}_letter']]}."
    return text


def _findings(claims, source):
    """Return findings as Markdown, with an anchor for each name."""
    for id, rows in by_sentence(claims).items():
        place = f'<a id="{anchor(id)}"></a>{rows[0]["place"]} ({source(id)})'
        yield "\n".join([place, *measurements(rows)])


FIGURE = re.compile(r"\w+/(table_)?(\d+)(\w*)")


def figures_block(claims):
    """Return a row for each numbered figure: how many sentences about it have which letter, by kind."""
    found, rows = sentences(claims), []
    for name in _plan():
        for word, number, letters, _ in _figures(name):
            own = _about(found[found.index.str.startswith(f"{name}/")], word, number, letters)
            paper = name.partition("_")[0]
            link = f"[{paper}, {_title(word, number, letters)}](notebooks/{name}.ipynb)"
            cells = (counted(own, kind) for kind in KINDS)
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


def counted(table, kind, whole=False):
    """Return in words how many of some sentences have which word; what has no program only if `whole`."""
    counts = table[kind].value_counts()
    words = [word for word in WORDS if word in counts and (whole or kind == "text" or word != "not tested")]
    return ", ".join(f"{word} {counts[word]}" for word in words)


def filled(text, blocks):
    """Return a page with {place: block} between `<!-- place -->` and `<!-- end place -->`."""
    for place, block in blocks.items():
        before, _, rest = text.partition(f"<!-- {place} -->\n")
        _, end, after = rest.partition(f"<!-- end {place} -->")
        if not end:
            raise ValueError(f"the text has no place <!-- {place} --> ... <!-- end {place} -->")
        text = f"{before}<!-- {place} -->\n\n{block}\n\n{end}{after}"
    return text


# By word: colours that colour-blind readers tell apart (Okabe and Ito), shapes that are told apart in print
LOOKS = {
    "holds": ("o", "#009e73"),
    "partly": ("D", "#e69f00"),
    "falls": ("X", "#d55e00"),
    "open": ("s", "#a0a0a0"),
    "not contradicted": ("v", "#009e73"),
    "not tested": (".", "#a0a0a0"),
}


def picture(axes: Sequence[Axes], claims: pd.DataFrame) -> Sequence[Axes]:
    """Draw one mark per sentence, with a row for each place; shape and colour show the word by the text.

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
    >>> picture([], table([]))
    []
    """
    found = sentences(claims).reset_index()
    found = found.sort_values("text", key=lambda column: column.map(WORDS.index), kind="stable")
    found = found.assign(at=found.groupby(["paper", "place"]).cumcount())
    for ax, (paper, of_paper) in zip(axes, found.sort_index().groupby("paper", sort=False), strict=True):
        places = list(dict.fromkeys(of_paper["place"]))
        for word, (marker, colour) in LOOKS.items():
            chosen = of_paper[of_paper["text"] == word]
            rows = chosen["place"].map(places.index)
            ax.scatter(chosen["at"], rows, marker=marker, color=colour, s=13, lw=0, label=word)
        labels = [place[:1].upper() + place[1:] for place in places]
        ax.set(yticks=range(len(places)), xticks=[], xlabel=paper, xlim=(-1, found["at"].max() + 1))
        ax.set_yticklabels(labels, fontsize=7)
        ax.set_ylim(len(places) - 0.5, -0.5)
        ax.grid(False)
    return axes


def save(claims: pd.DataFrame, out: str | PathLike) -> None:
    """Write figures/claims.csv, figures/ledger/<paper>.md and the tables of README.md, all below `out`.

    Parameters
    ----------
    claims, out : DataFrame, str or path-like
        Claims as `ledger.read` returns them, and the folder to write to.

    Examples
    --------
    >>> from bandits_companion.claims import table
    >>> save(table([]), ".")
    """
    figures = Path(out) / "figures"
    atomic_write(figures / "claims.csv", csv_of(claims), parents=True)
    for paper in dict.fromkeys(claims["paper"]):
        atomic_write(figures / "ledger" / f"{paper}.md", page(paper, claims), parents=True)
    if (readme := Path(out) / "README.md").exists():
        blocks = {"totals": totals_block(claims), "figures": figures_block(claims)}
        atomic_write(readme, filled(readme.read_text(encoding="utf-8"), blocks))
