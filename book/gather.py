"""Collect what the site is made of into one folder, and let sphinx make build/book/html of it.

python book/gather.py [FOLDER]     the folder is build/book by default

BOOK_URL, where it is set, is the address that the site will have: pictures of links to it need one.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import reference
from by_paper import TITLES, nearer, split
from gallery import gallery
from notebook_pages import copy_notebook

from bandits_companion.notebook_runs import PARTS

BOOK = Path(__file__).resolve().parent
ROOT = BOOK.parent
DOORS = ["companion_start_here", "companion_your_own_arms", "companion_sigma_costs", "companion_your_own_rule"]
PAPERS = [paper for paper in PARTS if paper != "companion"]
PAGES = ["figures/gallery", "notebooks/companion_ledger", *(f"figures/{name}" for name in TITLES), "figures/README"]
PAGES += ["figures/claims_changes", "api", "benchmarks/README", "CONTRIBUTING", "CHANGELOG"]


# --- pages made from what is there


def start_page(names):
    """The README, and the contents of the whole: each paper's notebooks, and what was found in it."""
    parts = ["```{include} README.md\n```", contents("Three doors", [f"notebooks/{name}" for name in DOORS])]
    for paper in PAPERS:
        entries = [f"notebooks/{name}" for name in names if name.startswith(f"{paper}_")]
        entries += [f"Replication report <figures/reports/{paper}>"]
        entries += [f"What holds <figures/ledger/{paper}>"]
        entries += [f"{called} <figures/{page}_{paper}>" for page, called in TITLES.items()]
        parts.append(contents(PARTS[paper], entries))
    return "\n\n".join([*parts, contents("Results and reference", PAGES)]) + "\n"


def contents(title, entries):
    return "\n".join(["```{toctree}", f":caption: {title}", ":hidden:", "", *entries, "```"])


def by_paper(figures):
    """The long pages of the folder, and the reports' links to them, taken apart by paper."""
    for name in TITLES:
        for page, text in split(name, (figures / f"{name}.md").read_text(encoding="utf-8"), PAPERS).items():
            (figures / f"{page}.md").write_text(text, encoding="utf-8")
    for paper in PAPERS:
        report = figures / "reports" / f"{paper}.md"
        report.write_text(nearer(report.read_text(encoding="utf-8"), paper), encoding="utf-8")
        ledger = figures / "ledger" / f"{paper}.md"  # sphinx knows no anchors in HTML
        anchored = re.sub(r'<a id="([^"]+)"></a>(\*\*[^*]+\*\*)', r"[\2]{#\1}", ledger.read_text(encoding="utf-8"))
        ledger.write_text(anchored, encoding="utf-8")


# --- the site


def gather(source):
    shutil.rmtree(source, ignore_errors=True)
    (source / "notebooks").mkdir(parents=True)
    shutil.copytree(ROOT / "figures", source / "figures")
    by_paper(source / "figures")
    shutil.copytree(ROOT / "bandits_lib", source / "bandits_lib", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "CITATION.cff", "LICENSE", "papers.bib"):
        shutil.copy(ROOT / name, source)
    (source / "benchmarks").mkdir()
    shutil.copy(ROOT / "benchmarks" / "README.md", source / "benchmarks")
    (source / "downloads").mkdir()
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        shutil.copy(path, source / "downloads")
        copy_notebook(path, source / "notebooks")
    for path in (ROOT / "notebooks").glob("example_*"):
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
