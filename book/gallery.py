"""Make the gallery: every figure at the papers' scale, in the order of the papers and of the figures in them."""

from notebook_pages import TITLES, description, figures_of, home

from bandits_companion import notebook_runs


def gallery(parts):
    """Return the page as Markdown; `parts` maps papers to their headings."""
    page = ["# All figures", "Parts of the figures at the papers' own scale. A click opens the page of a figure."]
    for paper, heading in parts.items():
        if names := figures_of(paper):
            cards = "\n\n".join(card(paper, name) for name in names)
            page += [f"## {heading}", f"````{{container}} gallery\n{cards}\n````"]
    return "\n\n".join(page) + "\n"


def card(paper, name):
    """Return a thumbnail and the title of a figure, which link to its page."""
    figure, title = f"{paper}/{name}", TITLES.get(paper, {}).get(name) or notebook_runs.title(name)
    link = f"../notebooks/{home(figure)}.ipynb"
    return f"```{{figure}} {figure}.png\n:alt: {description(figure)}\n\n[{title}]({link})\n```"
