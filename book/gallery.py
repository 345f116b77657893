"""The gallery: every figure at the papers' scale, in the order of the papers and of the figures in them."""

from pathlib import Path

import yaml
from notebook_pages import description, files

from bandits_companion import notebook_runs

ROOT = Path(__file__).resolve().parent.parent
TITLES = yaml.safe_load((Path(__file__).parent / "titles.yaml").read_text(encoding="utf-8"))


def figures(paper):
    """Names of the pictures of a paper: in the order of titles.yaml, and then those that have no title there yet."""
    drawn = [file.stem for file in sorted((ROOT / "figures" / paper).glob("*.png"))]
    titled = list(TITLES.get(paper, {}))
    return sorted(drawn, key=lambda name: titled.index(name) if name in titled else len(titled))


def title(paper, name):
    """A figure's name in words."""
    return TITLES.get(paper, {}).get(name) or notebook_runs.title(name)


def gallery(parts):
    """Markdown of the page; `parts` are the papers' names in words."""
    page = ["# All figures", "Drawn at the papers' own scale by `make paper`. A click opens a picture in full."]
    for paper, heading in parts.items():
        if names := figures(paper):
            cards = "\n\n".join(card(paper, name) for name in names)
            page += [f"## {heading}", f"````{{container}} gallery\n{cards}\n````"]
    return "\n\n".join(page) + "\n"


def card(paper, name):
    """A thumbnail with its title, its description folded, and where the figure comes from."""
    path = f"{paper}/{name}"
    described = ROOT / "figures" / f"{path}.json"
    return "\n".join(
        [
            f"```{{figure}} {path}.png",
            f":alt: {description(path)}",
            "",
            f"**{title(paper, name)}**",
            "",
            f"[Notebook](../notebooks/{notebook_runs.drawn_by(described)}.ipynb) · {files(path)}",
            "```",
        ]
    )
