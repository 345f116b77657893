"""Collect what the site is made of into one folder, and let sphinx make build/book/html of it.

python book/gather.py [FOLDER]     the folder is build/book by default
"""

import ast
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import reference

BOOK = Path(__file__).resolve().parent
ROOT = BOOK.parent
PARTS = {
    "fiez2019": "Fiez et al. 2019: RAGE",
    "jedra2020": "Jedra and Proutiere 2020: Lazy Track-and-Stop",
    "azizi2022": "Azizi et al. 2022: GSE, fixed budget",
    "weltz2023": "Weltz et al. 2023: HEAD and H-RAGE",
    "companion": "Companion",
}
PAGES = ["figures/gallery", "figures/ledger", "figures/errata", "figures/coverage", "figures/README"]
PAGES += [*(f"figures/reports/{paper}" for paper in PARTS if paper != "companion"), "api", "CONTRIBUTING", "CHANGELOG"]


# --- notebooks, with the pictures described


def saved_figure(source):
    """The name that a cell gives to `results.save`, or None."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "results.save" and len(node.args) > 1:
            name = node.args[1]
            return name.value if isinstance(name, ast.Constant) else None
    return None


def alternative_texts(notebook):
    """(cell with a picture, its description): that of the first figure saved in or after the cell."""
    title = notebook.cells[0].source.partition("\n")[0].lstrip("# ")
    waiting = []
    for cell in (cell for cell in notebook.cells if cell.cell_type == "code"):
        if any("image/png" in output.get("data", {}) for output in cell.outputs):
            waiting.append(cell)
        description = ROOT / "figures" / f"{saved_figure(cell.source)}.json"
        if description.exists():
            alt = json.loads(description.read_text(encoding="utf-8"))["alt"]
            yield from ((picture, alt) for picture in waiting)
            waiting = []
    yield from ((picture, f"Figure of the notebook: {title}") for picture in waiting)


def copy_notebook(path, folder):
    notebook = nbformat.read(path, as_version=4)
    for cell, alt in alternative_texts(notebook):
        cell.metadata["mystnb"] = {"image": {"alt": " ".join(alt.split())}}
    for output in (output for cell in notebook.cells for output in cell.get("outputs", [])):
        if text := output.get("data", {}).get("text/markdown"):  # sphinx finds pages for links in text, not in outputs
            output["data"]["text/markdown"] = re.sub(r"\]\((?:\./)?(\w+)\.ipynb\)", r"](\1.html)", text)
    nbformat.write(notebook, folder / path.name)


# --- pages made from what is there


def start_page(names):
    """The README, and the contents of the whole."""
    parts = []
    for paper, title in PARTS.items():
        entries = "\n".join(f"notebooks/{name}" for name in names if name.startswith(f"{paper}_"))
        parts.append(f"```{{toctree}}\n:caption: {title}\n:hidden:\n\n{entries}\n```")
    pages = "\n".join(page for page in PAGES)
    parts.append(f"```{{toctree}}\n:caption: Results and reference\n:hidden:\n\n{pages}\n```")
    return "```{include} README.md\n```\n\n" + "\n\n".join(parts) + "\n"


def gallery():
    """Every figure of figures/ with its description, the data behind it and the command that redraws it."""
    parts = ["# All figures", "Drawn at the papers' own scale by `make paper`."]
    for paper in PARTS:
        for file in sorted((ROOT / "figures" / paper).glob("*.json")):
            if not file.with_suffix(".png").exists():
                continue
            about, picture = json.loads(file.read_text(encoding="utf-8")), f"{paper}/{file.stem}"
            notebook = about["command"].partition("notebooks/")[2].partition(".ipynb")[0]
            parts += [
                f"## {picture}",
                f"![{' '.join(about['alt'].split())}]({picture}.png)",
                f"{' '.join(about['alt'].split())}",
                f"[The notebook](../notebooks/{notebook}.ipynb) · [estimates]({picture}.csv) · [pdf]({picture}.pdf)",
            ]
    return "\n\n".join(parts) + "\n"


# --- the site


def gather(source):
    shutil.rmtree(source, ignore_errors=True)
    (source / "notebooks").mkdir(parents=True)
    shutil.copytree(ROOT / "figures", source / "figures")
    shutil.copytree(ROOT / "bandits_lib", source / "bandits_lib", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "CITATION.cff", "LICENSE", "papers.bib"):
        shutil.copy(ROOT / name, source)
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        copy_notebook(path, source / "notebooks")
    names = [path.stem for path in sorted((source / "notebooks").glob("*.ipynb"))]
    (source / "index.md").write_text(start_page(names), encoding="utf-8")
    (source / "figures" / "gallery.md").write_text(gallery(), encoding="utf-8")
    reference.write(source)


def main(folder):
    gather(folder / "source")
    options = ["-q", "-W", "--keep-going", "-j", "auto", "-c", BOOK, "-d", folder / "doctrees"]
    done = subprocess.run([sys.executable, "-m", "sphinx", *options, folder / "source", folder / "html"])
    if done.returncode == 0:
        print(f"open {folder / 'html' / 'index.html'}")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "book"))
