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
import sentences
from gallery import gallery
from notebook_pages import copy_notebook, page_title

from bandits_companion.notebook_runs import PARTS
from bandits_lib.simulate.fingerprint import PACKAGES

BOOK = Path(__file__).resolve().parent
ROOT = BOOK.parent
PAPERS = [paper for paper in PARTS if paper != "companion"]
BEGIN = ["companion_start_here", "companion_your_own_arms", "companion_sigma_costs", "companion_your_own_rule"]
GUIDE = ["rules", "your_own_arms", "your_own_rule", "verdicts", "checking", "glossary"]
BELOW = {"rules": "companion_elimination", "checking": "companion_other_papers"}  # notebooks below a page of the guide
RESULTS = ["figures/gallery", "figures/errata", "api", "CONTRIBUTING"]
UNSEARCHED = ["CHANGELOG.md", "figures/README.md"]  # they name what others explain
COVERAGE = """# What is tested

The page of all sentences of a paper names everything that is tested of it, and the reason if something is not:"""


# --- pages made from what is there


def start_page():
    """Return the start page: the README, and the contents of the site."""
    groups = {"Begin": [f"notebooks/{name}" for name in BEGIN], "Guide": [f"docs/{name}" for name in GUIDE]}
    groups["Papers"] = [f"{PARTS[paper]} <figures/reports/{paper}>" for paper in PAPERS]
    order = ("Begin", "Papers", "Guide")
    parts = [*(contents(title, groups[title]) for title in order), contents("Results and reference", RESULTS)]
    return "\n\n".join(["```{include} README.md\n```", *parts]) + "\n"


def short_title(name):
    """Return the title of a notebook's page without the paper."""
    title = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4).cells[0].source.partition("\n")[0]
    words = re.sub(r"^\w+[,:] ", "", page_title(name, title.lstrip("# ")))
    return words[:1].upper() + words[1:]


def contents(title, entries):
    return "\n".join(["```{toctree}", *[f":caption: {title}"] * bool(title), ":hidden:", "", *entries, "```"])


def beside(source):
    """Write the pages of papers, and change the pages that lead to them."""
    figures, names = source / "figures", [path.stem for path in sorted((source / "notebooks").glob("*.ipynb"))]
    for paper in PAPERS:
        (figures / "ledger" / f"{paper}.md").write_text(sentences.page(paper), encoding="utf-8")
        entries = [f"Every sentence </figures/ledger/{paper}>"]
        entries += [f"{short_title(name)} </notebooks/{name}>" for name in names if name.startswith(f"{paper}_")]
        append(figures / "reports" / f"{paper}.md", contents("", entries))
    for page, name in BELOW.items():
        append(source / "docs" / f"{page}.md", contents("", [f"/notebooks/{name}"]))
    change(figures / "errata.md", sentences.with_headings)
    guide = [f"/docs/{path.stem}" for path in sorted((source / "docs").glob("*.md")) if path.stem not in GUIDE]
    shown = {*BEGIN, *BELOW.values()}
    more = [*guide, *(f"/notebooks/{name}" for name in names if name.startswith("companion_") and name not in shown)]
    more += ["/figures/README", "/benchmarks/README", "/CHANGELOG"]
    append(source / "CONTRIBUTING.md", contents("", more))
    pages = ", ".join(f"[{paper}](ledger/{paper}.md)" for paper in PAPERS)
    (figures / "coverage.md").write_text(f"---\norphan: true\n---\n{COVERAGE} {pages}.\n", encoding="utf-8")
    for file in [
        *(source / "docs").glob("*.md"),
        source / "CHANGELOG.md",
        source / "notebooks" / "companion_ledger.ipynb",
    ]:
        change(file, lambda text: re.sub(r"\((?=[\w./]*claims_changes\.md\))", "(path:", text))  # a file, and no page
    for name in UNSEARCHED:
        change(source / name, lambda text: f"---\nnosearch: true\n---\n{text}")


def append(file, text):
    change(file, lambda before: f"{before}\n{text}\n")


def change(file, how):
    file.write_text(how(file.read_text(encoding="utf-8")), encoding="utf-8")


# --- the site


def gather(source):
    shutil.rmtree(source, ignore_errors=True)
    (source / "notebooks").mkdir(parents=True)
    shutil.copytree(ROOT / "figures", source / "figures")
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
    (source / "index.md").write_text(start_page(), encoding="utf-8")
    beside(source)
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
