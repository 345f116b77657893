"""Links to a sentence of a paper lead to its place on the page of its notebook."""

import os
import re
from functools import cache
from pathlib import Path

from bandits_companion import ledger
from bandits_companion.claims_table import read_file

ROOT = Path(__file__).resolve().parent.parent


@cache
def claims():
    return read_file(ROOT / "figures" / "claims.csv")


@cache
def homes():
    """{anchor: the notebook of its sentence or finding}."""
    return {ledger.anchor(id): id.partition("/")[0] for id in claims()["id"]}


def lead_home(text, page):
    """Links to anchors on a page, named as `figures/ledger/fiez2019` or, of a notebook, by its name alone."""
    folder = os.path.relpath("notebooks", os.path.dirname(page) if "/" in page else "notebooks")

    def link(found):
        notebook = homes().get(found[1])
        if notebook is None:
            return found[0]
        return f"](#{found[1]})" if notebook == page else f"]({folder}/{notebook}.ipynb#{found[1]})"

    return re.sub(r"\]\([^()\s]*#([\w.-]+)\)", link, text)


def anchored(text):
    """Anchors in HTML, of which sphinx knows nothing, as MyST has them: on the words that follow."""
    return re.sub(r'<a id="([^"]+)"></a>(\*\*[^*]+\*\*|[^:\n]+)', r"[\2]{#\1}", text)
