"""Make the page of all sentences of a paper: what was measured, in the order of the paper, with errata and reasons."""

import re
from functools import cache
from pathlib import Path

from bandits_companion import coverage, errata, ledger
from bandits_companion.claims_table import read_file
from bandits_companion.registry import PAPERS, sentence

ROOT = Path(__file__).resolve().parent.parent
INTRODUCTION = (
    "This page goes through the theorems, figures, tables and experiments of the paper in the paper's order. Below "
    "each of them are its sentences, whether they hold, everything that was measured for them, its errata, and the "
    "reason if something was not tested. "
)
REST = "Further sentences and findings"


@cache
def claims():
    return read_file(ROOT / "figures" / "claims.csv")


@cache
def tested():
    return coverage.read(ROOT / "notebooks" / "coverage.yaml", list(claims()["id"]), found_errata())


@cache
def found_errata():
    return errata.read(ROOT / "notebooks" / "errata.yaml")


def page(paper):
    """Return the page of a paper in Markdown, with each sentence whole at the place of the paper that it names."""
    own = claims()[claims()["paper"] == paper]
    of = own["id"].map(sentence)
    items = tested()[tested()["paper"] == paper].to_dict("records")
    listed = {
        row["item"]: [id for said in row["claims"] for id in coverage.matching(said, of.unique())] for row in items
    }
    homes = {id: home(place, [item for item, ids in listed.items() if id in ids])
             for id, place in zip(of, own["place"], strict=True)}  # fmt: skip
    totals = ledger.totals_block(own)
    parts = [f"# Every sentence of {paper} ({PAPERS[paper]})", INTRODUCTION + ledger.HOW_TO_READ, totals]
    for row in [*items, {"item": REST} | dict.fromkeys(coverage.KINDS, [])]:
        here = [id for id, item in homes.items() if item == row["item"]]
        words = list(links(id for id in dict.fromkeys(listed.get(row["item"], [])) if id not in here))
        words += [f"Erratum: [{place}](../errata.md#{slug(paper, place)})." for place in row["errata"]]
        words += [f"Not testable: {reason}." for reason in row["not testable"]]
        words += [f"Open: {reason}." for reason in row["open"]]
        if here or words:
            parts += [f"## {row['item']}", " ".join(words), ledger.in_detail(own[of.isin(here)])]
    return "\n\n".join(filter(None, parts)) + "\n"


def links(ids):
    """Yield a sentence with links to the places where else something is measured for an item."""
    if names := ", ".join(f"[{id.partition('/')[2].replace('_', ' ')}](#{ledger.anchor(id)})" for id in ids):
        yield f"Measured elsewhere: {names}."


def home(place, items):
    """Return the item whose name begins with the place of a sentence, or else the first that lists the sentence."""
    return min(items, key=lambda item: not item.lower().startswith(place.lower()), default=REST)


def slug(paper, place):
    return re.sub(r"\W+", "-", f"erratum {paper} {place}".lower()).strip("-")


def with_headings(text):
    """Return the page of errata with a heading and an anchor for each erratum, by which searches and links find it."""
    paper, lines = "", []
    for line in text.splitlines():
        paper = line.removeprefix("## ") if line.startswith("## ") else paper
        place = re.fullmatch(r"\*\*(.+)\*\*", line)
        lines.append(f'<a id="{slug(paper, place[1])}"></a>\n\n#### {place[1]}' if place else line)
    return "\n".join(lines) + "\n"
