"""The gallery: every figure at the papers' scale, in the order of the papers and of the figures in them."""

from notebook_pages import TITLES, description, figures_of, home

from bandits_companion import notebook_runs


def gallery(parts):
    """Markdown of the page; `parts` are the papers' names in words."""
    page = ["# All figures", "Parts of the figures at the papers' own scale. A click opens the page of a figure."]
    for paper, heading in parts.items():
        if names := figures_of(paper):
            cards = "\n\n".join(card(paper, name) for name in names)
            page += [f"## {heading}", f"````{{container}} gallery\n{cards}\n````"]
    return "\n\n".join(page) + "\n"


def card(paper, name):
    """A thumbnail and the title of a figure, which lead to its page."""
    figure, title = f"{paper}/{name}", TITLES.get(paper, {}).get(name) or notebook_runs.title(name)
    link = f"../notebooks/{home(figure)}.ipynb"
    return f"```{{figure}} {figure}.png\n:alt: {description(figure)}\n\n[{title}]({link})\n```"
