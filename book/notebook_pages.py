"""Make the pages of notebooks: what was found, the verdicts on a figure, and its picture at the paper's scale."""

import ast
import json
import re
from functools import cache
from itertools import chain
from pathlib import Path

import nbformat
import sentences
import yaml
from nbformat.v4 import new_markdown_cell

from bandits_companion import charts, ledger
from bandits_companion.notebook_runs import drawn_by, duration
from bandits_lib.figures import parameters

ROOT = Path(__file__).resolve().parent.parent
TITLES = yaml.safe_load((Path(__file__).parent / "titles.yaml").read_text(encoding="utf-8"))
NUMBERED = ("Figure", "Table")  # the titles of the papers' own figures and tables begin so
FOUND = re.compile(r"^\*\*What was found\.\*\* .+\n", re.MULTILINE)
PUBLISHED = "At the papers' scale:"  # what the text for a picture describes, beside the few runs of the page
LONG = 4  # lines; longer cells of code are folded


def copy_notebook(path, folder):
    """Write the notebook from which sphinx makes the page of the notebook at `path`."""
    notebook = nbformat.read(path, as_version=4)
    name, small = path.stem, {key: known.default for key, known in parameters.read(path).items()}
    figures, above = saved_figures(notebook), numbered(name)
    for cell, alt in alternative_texts(notebook, figures):
        cell.metadata["mystnb"] = {"image": {"alt": f"{PUBLISHED} {alt}"}}
    title, _, intro = notebook.cells[0].source.partition("\n")
    found = FOUND.search(intro)
    beginning = [f"# {page_title(name, title.lstrip('# '))}", *([found[0]] if found else [])]
    box = [cell for cell in notebook.cells if "ledger.box(" in cell.source][:1]
    cells = [new_markdown_cell("\n\n".join(beginning)), *box]
    cells += [new_markdown_cell(at_scale(figure, "papers-figure")) for figure in above]
    intro = FOUND.sub("", intro)
    cells.append(new_markdown_cell(f"[Download this notebook](path:../downloads/{path.name})\n{intro}"))
    for cell in box:
        cell.outputs[0].data = {"text/markdown": ledger.box(name, sentences.claims(), whole=True)}
    for cell in notebook.cells[1:]:
        if tag := folded(cell):
            cell.metadata["tags"] = sorted({*cell.metadata.get("tags", []), tag})
        if cell in box:
            continue
        cells.append(cell)
        if not (figure := figures.get(cell.id)):
            continue
        values = differing(small, json_of(figure)["parameters"])
        if alike(notebook, figure) and figure not in above:
            cell.outputs = [output for output in cell.outputs if "image/png" not in output.get("data", {})]
        elif values:
            label = f"Small, as on this page ({said(small, values)})"
            cell.metadata["mystnb"]["figure"] = {"caption": label, "classes": "small-run"}
        if figure not in above:
            cells.append(new_markdown_cell(at_scale(figure, "paper-scale")))
    notebook.cells = cells
    nbformat.write(notebook, folder / path.name)


def page_title(name, title):
    """Return a title that begins with the paper and the place, which the notebook's title has in brackets."""
    paper = name.partition("_")[0]
    if paper not in ledger.PAPERS:
        return title
    found = re.search(r" \(([^()]+)\)", title)
    if not found:
        return f"{paper}: {title}"
    place = re.sub(r"Figures? \d.*", figures_in_words(name) or r"\g<0>", found[1])
    return f"{paper}, {place[:1].upper()}{place[1:]}: {title.replace(found[0], '', 1)}"


def figures_in_words(name):
    """Return the numbers of all figures on a page, such as "Figures 1a, 1b and 1c", by which a search finds it."""
    heads = [TITLES[figure.partition("/")[0]][figure.partition("/")[2]].partition(":")[0] for figure in numbered(name)]
    numbers = [number for head in heads if head.startswith("Figure") for number in re.findall(r"\d\w*", head)]
    if len(numbers) < 2:
        return "".join(f"Figure {number}" for number in numbers)
    return f"Figures {', '.join(numbers[:-1])} and {numbers[-1]}"


def folded(cell):
    """Return the tag that folds a cell: code that imports or is long, or the claims of a small run; None for others."""
    if cell.cell_type != "code" or "parameters" in cell.metadata.get("tags", []):
        return None
    if "claims.save(" in cell.source:
        return "hide-cell"
    return "hide-input" if cell.source.startswith(("from ", "import ")) or cell.source.count("\n") >= LONG else None


# --- which picture is which figure


@cache
def json_of(figure):
    return json.loads((ROOT / "figures" / f"{figure}.json").read_text(encoding="utf-8"))


@cache
def minutes():
    """Return {notebook: minutes at the papers' scale}, which a run that continued from checkpoints does not know."""
    plan = yaml.safe_load((ROOT / "notebooks" / "paper.yaml").read_text(encoding="utf-8"))
    return {name: entry["minutes"] for name, entry in plan.items()}


def figures_of(paper):
    """Return the names of a paper's pictures in the order of titles.yaml; those without a title there come last."""
    drawn = [file.stem for file in sorted((ROOT / "figures" / paper).glob("*.png"))]
    titled = list(TITLES.get(paper, {}))
    return sorted(drawn, key=lambda name: titled.index(name) if name in titled else len(titled))


def home(figure):
    """Return the notebook that draws a figure."""
    return drawn_by(ROOT / "figures" / f"{figure}.json")


def numbered(name):
    """Return the paper's numbered figures and tables that a notebook draws."""
    paper = name.partition("_")[0]
    own = [stem for stem in figures_of(paper) if TITLES.get(paper, {}).get(stem, "").startswith(NUMBERED)]
    return [f"{paper}/{stem}" for stem in own if home(f"{paper}/{stem}") == name]


def saved_figures(notebook):
    """Return {id of a cell with a picture: figure}; a figure that a cell saves is the last picture shown before."""
    found, latest = {}, None
    for cell in (cell for cell in notebook.cells if cell.cell_type == "code"):
        if has_picture(cell):
            latest = cell.id
        name = saved_figure(cell.source)
        if name and latest:
            found[latest] = name
    return found


def saved_figure(source):
    """Return the figure whose picture a cell saves, the second argument of `results.save_picture`; or None."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call) and len(node.args) > 1]
    names = [call.args[1] for call in calls if ast.unparse(call.func) == "results.save_picture"]
    return next((name.value for name in names if isinstance(name, ast.Constant)), None)


def has_picture(cell):
    return any("image/png" in output.get("data", {}) for output in cell.outputs)


def alike(notebook, figure):
    """Return whether a notebook shows the picture of the papers' scale, since all rows of its table equal those."""
    file = ROOT / "figures" / f"{figure}.csv"
    rows = len(file.read_text(encoding="utf-8").splitlines()) - 1
    said, outputs = f"{figure}: {rows:,} of {rows:,} rows equal", (cell.get("outputs", []) for cell in notebook.cells)
    printed = any(said in output.get("text", "") for output in chain.from_iterable(outputs))
    return printed and not file.with_name(f"{file.stem}_runs.csv").exists()


def alternative_texts(notebook, figures):
    """Yield (cell with a picture, its description): that of its figure, or else the headings above the cell."""
    title = heading = notebook.cells[0].source.partition("\n")[0].lstrip("# ")
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            heading = ([heading] + re.findall(r"^#+ (.*)$", cell.source, flags=re.MULTILINE))[-1]
        elif cell.cell_type == "code" and has_picture(cell):
            figure = figures.get(cell.id)
            yield cell, description(figure) if figure else f"Figure of the notebook “{title}”, under “{heading}”"


def description(figure):
    """Return the description of a figure on one line."""
    return " ".join(json_of(figure)["alt"].split())


# --- small and at the paper's scale


def differing(small, large):
    """Return the numbers of runs and the seed where they differ; the json has all parameters."""
    names = [name for name in large if name == "seed" or name.split("_")[-1] == "runs"]
    return {name: large[name] for name in names if name in small and small[name] != large[name]}


def said(values, names):
    return ", ".join(f"`{name} = {values[name]}`" for name in names)


def at_scale(figure, kind):
    """Return MyST of a figure as `make paper` drew it, with run time, links to data, script, columns, and its chart."""
    about, path, (paper, name) = json_of(figure), f"../figures/{figure}", figure.split("/")
    runs = {key: value for key, value in about["parameters"].items() if key == "seed" or key.split("_")[-1] == "runs"}
    links = {"data": f"{path}.csv", "script": f"path:../downloads/{home(figure)}.ipynb"}
    links |= {"parameters": f"{path}.json", "pdf": f"{path}.pdf", "columns": f"../figures/README.md#{paper}"}
    took = f"the notebook takes {duration(minutes()[home(figure)])}, version {about['versions']['bandits_lib']}"
    title = TITLES.get(paper, {}).get(name)
    scale = "The larger run of `make paper`" if paper == "companion" else "At the paper's scale"
    chart = charts.html(ROOT / "figures" / f"{figure}.csv")
    return "\n".join(
        [
            f"```{{figure}} {path}.png",
            f":alt: {description(figure)}",
            f":figclass: {kind}",
            "",
            f"**{title}.** {scale} ({said(runs, runs)}). "
            + " · ".join([*(f"[{text}]({link})" for text, link in links.items()), took]),
            "```",
            *["", "```{raw} html", chart, "```"] * bool(chart),
        ]
    )
