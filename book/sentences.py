"""Let links to a sentence of a paper lead to its place on the page of its notebook."""

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
    """Return {anchor: the notebook of its sentence or finding}."""
    return {ledger.anchor(id): id.partition("/")[0] for id in claims()["id"]}


def lead_home(text, folder):
    """Return the text of a page in a folder of the site, with links to sentences that lead to the notebooks' pages."""
    notebooks = os.path.relpath("notebooks", folder)

    def link(found):
        home = homes().get(found[1])
        return f"]({notebooks}/{home}.ipynb#{found[1]})" if home else found[0]

    return re.sub(r"\]\([^()\s]*#([\w.-]+)\)", link, text)
