"""Notebooks as the site shows them: pictures described and labelled, and below each the one at the paper's scale."""

import ast
import json
import re
from pathlib import Path

import nbformat
from nbformat.v4 import new_markdown_cell

from bandits_lib.figures import parameters

ROOT = Path(__file__).resolve().parent.parent


def copy_notebook(path, folder):
    """Write the notebook that its page is made of."""
    notebook = nbformat.read(path, as_version=4)
    small, cells = {key: known.default for key, known in parameters.read(path).items()}, []
    figures = saved_figures(notebook)
    for cell, alt in alternative_texts(notebook, figures):
        cell.metadata["mystnb"] = {"image": {"alt": alt}}
    for cell in notebook.cells:
        cells.append(cell)
        if name := figures.get(cell.id):
            about = json.loads((ROOT / "figures" / f"{name}.json").read_text(encoding="utf-8"))
            if values := differing(small, about["parameters"]):
                label = f"Small, as on this page ({said(small, values)})"
                cell.metadata["mystnb"]["figure"] = {"caption": label, "classes": "small-run"}
                cells.append(new_markdown_cell(at_scale(name, values)))
    notebook.cells = cells
    cells[0].source = below_title(cells[0].source, download(path.name))
    nbformat.write(notebook, folder / path.name)


def below_title(source, line):
    title, _, rest = source.partition("\n")
    return f"{title}\n\n{line}\n{rest}"


def download(name):
    return f"[Download this notebook](path:../downloads/{name})"


# --- which picture is which figure


def saved_figures(notebook):
    """{id of a cell with a picture: figure that `make paper` has drawn}; a figure is the picture shown last before."""
    found, latest = {}, None
    for cell in (cell for cell in notebook.cells if cell.cell_type == "code"):
        if has_picture(cell):
            latest = cell.id
        name = saved_figure(cell.source)
        if name and latest:
            found[latest] = name
    return found


def saved_figure(source):
    """The figure that a cell saves: the second argument of `results.save`, or of what a notebook calls so; or None."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and len(node.args) > 1 and isinstance(name := node.args[1], ast.Constant):
            if isinstance(name.value, str) and (ROOT / "figures" / f"{name.value}.png").exists():
                return name.value
    return None


def has_picture(cell):
    return any("image/png" in output.get("data", {}) for output in cell.outputs)


def alternative_texts(notebook, figures):
    """(cell with a picture, its description): that of its figure, else where it stands."""
    title = heading = notebook.cells[0].source.partition("\n")[0].lstrip("# ")
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            heading = ([heading] + re.findall(r"^#+ (.*)$", cell.source, flags=re.MULTILINE))[-1]
        elif cell.cell_type == "code" and has_picture(cell):
            yield cell, description(figures.get(cell.id)) or f"Figure of the notebook “{title}”, under “{heading}”"


def description(figure):
    """A figure in words, on one line."""
    if figure is None:
        return None
    about = json.loads((ROOT / "figures" / f"{figure}.json").read_text(encoding="utf-8"))
    return " ".join(about["alt"].split())


# --- small and at the paper's scale


def differing(small, large):
    """The numbers of runs and the seed where they differ; all that differs is in the json."""
    names = [name for name in large if name == "seed" or name.split("_")[-1] == "runs"]
    return {name: large[name] for name in names if name in small and small[name] != large[name]}


def said(values, names):
    return ", ".join(f"`{name} = {values[name]}`" for name in names)


def at_scale(name, values):
    """MyST of the figure as `make paper` drew it."""
    return "\n".join(
        [
            f"```{{figure}} ../figures/{name}.png",
            f":alt: {description(name)}",
            ":figclass: paper-scale",
            "",
            f"At the paper's scale ({said(values, values)}). {files(f'../figures/{name}')}",
            "```",
        ]
    )


def files(path):
    """Links to what lies beside a picture."""
    names = {"csv": "estimates", "pdf": "pdf", "json": "all parameters"}
    return " · ".join(f"[{text}]({path}.{end})" for end, text in names.items())
