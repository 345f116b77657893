"""Collect the sources of the site in one folder, and build the site with sphinx.

python book/gather.py [FOLDER]     the folder is build/book by default; the site is in its folder html

BOOK_URL, if it is set, is the address that the site will have. Previews of links to the site need it for pictures.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import reference
from by_paper import TITLES, nearer, split
from gallery import gallery
from notebook_pages import copy_notebook, page_title
from sentences import claims, lead_home

from bandits_companion import ledger
from bandits_companion.notebook_runs import PARTS
from bandits_lib.simulate.fingerprint import PACKAGES

BOOK = Path(__file__).resolve().parent
ROOT = BOOK.parent
FIRST = ["companion_start_here", "companion_your_own_arms", "companion_sigma_costs", "companion_your_own_rule"]
PAPERS = [paper for paper in PARTS if paper != "companion"]
PAGES = ["figures/gallery", "notebooks/companion_ledger", *(f"figures/{name}" for name in TITLES), "api"]
PAGES += ["notebooks/companion_other_papers", "benchmarks/README", "CONTRIBUTING", "CHANGELOG"]


# --- pages made from what is there


def start_page(names):
    """Return the start page: the README, and a table of contents with each paper's notebooks and results."""
    guide = [f"docs/{path.stem}" for path in sorted((ROOT / "docs").glob("*.md"))]
    parts = ["```{include} README.md\n```", contents("Begin", [f"notebooks/{name}" for name in FIRST])]
    for paper in PAPERS:
        entries = [f"{short_title(name)} <notebooks/{name}>" for name in names if name.startswith(f"{paper}_")]
        entries += [f"Every sentence <figures/ledger/{paper}>", f"Report <figures/reports/{paper}>"]
        entries += [f"{called} <figures/{page}_{paper}>" for page, called in TITLES.items()]
        parts.append(contents(PARTS[paper], entries))
    return "\n\n".join([*parts, contents("Guide", guide), contents("Results and reference", PAGES)]) + "\n"


def short_title(name):
    """Return the title of a notebook's page without the paper."""
    title = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4).cells[0].source.partition("\n")[0]
    words = re.sub(r"^\w+[,:] ", "", page_title(name, title.lstrip("# ")))
    return words[:1].upper() + words[1:]


def contents(title, entries):
    return "\n".join(["```{toctree}", f":caption: {title}", ":hidden:", "", *entries, "```"])


def by_paper(figures):
    """Split the long pages of the folder by paper, and let links to sentences lead to the pages of notebooks."""
    pages = {f"ledger/{paper}": ledger.page(paper, claims(), details=False) for paper in PAPERS}
    for paper in PAPERS:
        pages[f"reports/{paper}"] = nearer((figures / "reports" / f"{paper}.md").read_text(encoding="utf-8"), paper)
    for name in TITLES:
        pages |= split(name, (figures / f"{name}.md").read_text(encoding="utf-8"), PAPERS)
    for page, text in pages.items():
        file = figures / f"{page}.md"
        file.write_text(lead_home(text, file.parent.relative_to(figures.parent)), encoding="utf-8")


# --- the site


def gather(source):
    shutil.rmtree(source, ignore_errors=True)
    (source / "notebooks").mkdir(parents=True)
    shutil.copytree(ROOT / "figures", source / "figures")
    by_paper(source / "figures")
    shutil.copytree(ROOT / "docs", source / "docs")
    for package in PACKAGES:
        shutil.copytree(ROOT / package, source / package, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "CITATION.cff", "LICENSE", "papers.bib"):
        shutil.copy(ROOT / name, source)
    (source / "benchmarks").mkdir()
    shutil.copy(ROOT / "benchmarks" / "README.md", source / "benchmarks")
    (source / "downloads").mkdir()
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        shutil.copy(path, source / "downloads")
        copy_notebook(path, source / "notebooks")
    for pattern in ("example_*", "*.csv"):
        for path in (ROOT / "notebooks").glob(pattern):
            shutil.copy(path, source / "notebooks")
    names = [path.stem for path in sorted((source / "notebooks").glob("*.ipynb"))]
    (source / "index.md").write_text(start_page(names), encoding="utf-8")
    (source / "figures" / "gallery.md").write_text(gallery(PARTS), encoding="utf-8")
    reference.write(source)


def main(folder):
    gather(folder / "source")
    options = ["-q", "-W", "--keep-going", "-j", "auto", "-c", BOOK, "-d", folder / "doctrees"]
    if address := os.environ.get("BOOK_URL"):
        options += ["-D", f"html_baseurl={address}"]
    done = subprocess.run([sys.executable, "-m", "sphinx", *options, folder / "source", folder / "html"])
    if done.returncode == 0:
        print(f"open {folder / 'html' / 'index.html'}")
    return done.returncode


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "build" / "book")
    sys.exit(main(parser.parse_args().folder))
