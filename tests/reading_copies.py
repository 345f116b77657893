"""The papers' text, where it is: quotations are looked up in it, and its numbered items counted.

BANDITS_DATA names a folder of data; the papers lie in `papers` beside it, one markdown file each, called <key>_*.md.
They are not part of the project: tests that need them are skipped where they are not.
"""

import os
import re
import unicodedata
from collections import Counter
from functools import cache
from pathlib import Path

PLAIN = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "‐": "-", "‑": "-", "\u00ad": ""})
ITEM = re.compile(
    r"^[#>* ]*(Theorem|Lemma|Proposition|Corollary|Remark|Figure|Table) ([A-Z]?\.?\d+(?:\.\d+)*)(?=[.:*]|\s*\n| \()",
    re.MULTILINE,
)
NONE = "no copies of the papers: put them into `papers` beside the folder that BANDITS_DATA names, as <key>_*.md"
EXPERIMENT = re.compile(r"\bExperiment (\d)")


def paper_text(paper):
    """The text of a paper by its key; None where there is no copy."""
    data = os.environ.get("BANDITS_DATA", "")
    files = sorted((Path(data).resolve().parent / "papers").glob(f"{paper}_*.md")) if data else []
    return files[0].read_text(encoding="utf-8") if files else None


def plain(text):
    """Without white space, emphasis of markdown, and differences of quotation marks, dashes and ligatures."""
    return re.sub(r"[\s*_]", "", unicodedata.normalize("NFKC", text.translate(PLAIN)))


@cache
def _copies(text):
    """The text with hyphens at the ends of lines, and without."""
    return plain(text), plain(re.sub(r"(?<=\w)-\s*\n\s*(?=\w)", "", text))


def stands_in(quote, text):
    """Whether a quotation stands in a text: whole, or the pieces between its omissions ("..." or "[...]") in order."""
    return any(_in_order([plain(quote)], copy) or _in_order(_pieces(quote), copy) for copy in _copies(text))


def _pieces(quote):
    return [piece for piece in map(plain, re.split(r"\[\.\.\.\]|\.\.\.|…", quote)) if piece]


def _in_order(pieces, text):
    at = 0
    for piece in filter(None, pieces):
        at = text.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return any(pieces)


def numbered_items(text):
    """How often each numbered item is stated: {"Lemma 1": 2}; a number may be stated again in an appendix."""
    found = Counter(f"{kind} {number}" for kind, number in ITEM.findall(text))
    return found | Counter({f"Experiment {number}": 1 for number in EXPERIMENT.findall(text)})
