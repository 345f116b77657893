"""Make the gallery: every figure at the papers' scale, in the order of the papers and of the figures in them."""

import re
from functools import cache

from notebook_pages import TITLES, description, figures_of, home
from sentences import claims

from bandits_companion import ledger, notebook_runs

ROW = re.compile(r"\[(\w+), ([^]]+)\]\([^)]+\) \| ([^|]+) \|")  # of the table in README


def gallery(parts):
    """Return the page as Markdown; `parts` maps papers to their headings."""
    page = ["# All figures", "Parts of the figures at the papers' own scale. A click opens the page of a figure."]
    for paper, heading in parts.items():
        if names := figures_of(paper):
            cards = "\n\n".join(card(paper, name) for name in names)
            page += [f"## {heading}", f"````{{container}} gallery\n{cards}\n````"]
    return "\n\n".join(page) + "\n"


def card(paper, name):
    """Return a thumbnail and the title of a figure, which link to its page, and whether the paper's sentences hold."""
    figure, title = f"{paper}/{name}", TITLES.get(paper, {}).get(name) or notebook_runs.title(name)
    link, found = f"../notebooks/{home(figure)}.ipynb", outcomes().get((paper, title.partition(":")[0]))
    caption = f"[{title}]({link})" + (f". By the text: {found}" if found else "")
    return f"```{{figure}} {figure}.png\n:alt: {description(figure)}\n\n{caption}\n```"


@cache
def outcomes():
    """Return {(paper, numbered figure): how many of its sentences have which word by the text}."""
    return {(paper, figure): words for paper, figure, words in ROW.findall(ledger.figures_block(claims()))}
