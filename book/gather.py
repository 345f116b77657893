"""Collect what the site is made of into one folder, and let sphinx make build/book/html of it.

python book/gather.py [FOLDER]     the folder is build/book by default

BOOK_URL, where it is set, is the address that the site will have: pictures of links to it need one.
"""

import importlib
import inspect
import os
import pkgutil
import shutil
import subprocess
import sys
from pathlib import Path

from by_paper import TITLES, nearer, split
from gallery import gallery
from notebook_pages import copy_notebook

import bandits_lib

BOOK = Path(__file__).resolve().parent
ROOT = BOOK.parent
PARTS = {
    "fiez2019": "Fiez et al. 2019: RAGE",
    "jedra2020": "Jedra and Proutiere 2020: Lazy Track-and-Stop",
    "azizi2022": "Azizi et al. 2022: GSE, fixed budget",
    "weltz2023": "Weltz et al. 2023: HEAD and H-RAGE",
    "companion": "Companion",
}
FIRST = ["bandits_lib", "fixed_confidence", "fixed_budget", "variance", "design", "complexity", "papers", "protocol"]
OPEN = (  # modules that are called by their own names; what else is in their rooms serves them
    *(f"simulate.{name}" for name in ("correct", "coverage", "intervals", "monte_carlo", "play")),
    *(f"lab.{name}" for name in ("arms", "diagnose", "guess", "known", "lab", "measurements", "panel")),
    *(f"lab.{name}" for name in ("pilot", "plan", "plates", "rules", "standings")),
    *(f"papers.{name}" for name in ("clicks", "data", "heteroskedastic")),
    *(f"companion.{name}" for name in ("bars", "claims", "errata", "explored", "ledger", "listing")),
    *(f"companion.{name}" for name in ("registry", "report", "results", "style", "tested", "verdicts")),
)
PAPERS = [paper for paper in PARTS if paper != "companion"]
PAGES = ["figures/gallery", *(f"figures/{name}" for name in TITLES), "figures/README"]
PAGES += ["api", "CONTRIBUTING", "CHANGELOG"]


# --- pages made from what is there


def start_page(names):
    """The README, and the contents of the whole: each paper's notebooks, and what was found in it."""
    parts = ["```{include} README.md\n```"]
    for paper, title in PARTS.items():
        entries = [f"notebooks/{name}" for name in names if name.startswith(f"{paper}_")]
        if paper in PAPERS:
            entries += [f"Replication report <figures/reports/{paper}>"]
            entries += [f"{called} <figures/{page}_{paper}>" for page, called in TITLES.items()]
        parts.append(contents(title, entries))
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


def public_names():
    """{module: names}: what each room says in `__all__`, and else the public functions and classes of its modules."""
    modules = {name: importlib.import_module(name) for name in sorted(["bandits_lib", *rooms()], key=position)}
    return {name: getattr(module, "__all__", None) or own_names(module) for name, module in modules.items()}


def rooms():
    """Names of the root's modules, of the rooms that say in `__all__` what they offer, and of the modules in OPEN."""
    for module in pkgutil.iter_modules(bandits_lib.__path__, "bandits_lib."):
        if not module.ispkg or hasattr(importlib.import_module(module.name), "__all__"):
            yield module.name
    yield from (f"bandits_lib.{name}" for name in OPEN)


def position(module):
    """The order of the reference: what a reader needs first, then the alphabet."""
    name = module.rpartition(".")[2]
    return (FIRST.index(name) if name in FIRST else len(FIRST), name)


def own_names(module):
    """The public functions and classes that a module defines, in the order of its source."""
    own = [item for item in vars(module).values() if getattr(item, "__module__", None) == module.__name__]
    return [item.__name__ for item in own if callable(item) and not item.__name__.startswith("_")]


def reference():
    """The public names with their docstrings, module by module."""
    parts = ["# Reference", "What the library offers, in the words of its docstrings."]
    for module, names in public_names().items():
        entries = "\n\n".join(entry(module, name) for name in names)
        first = (importlib.import_module(module).__doc__ or "").partition("\n")[0]
        parts += [f"## {module}", first, f"```{{eval-rst}}\n{entries}\n```"]
    return "\n\n".join(parts) + "\n"


def entry(module, name):
    item = getattr(importlib.import_module(module), name)
    kind = "autoclass" if inspect.isclass(item) else "autofunction" if callable(item) else "autodata"
    return f".. {kind}:: {module}.{name}" + ("\n   :members:" if kind == "autoclass" else "")


# --- the site


def gather(source):
    shutil.rmtree(source, ignore_errors=True)
    (source / "notebooks").mkdir(parents=True)
    shutil.copytree(ROOT / "figures", source / "figures")
    by_paper(source / "figures")
    shutil.copytree(ROOT / "bandits_lib", source / "bandits_lib", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "CITATION.cff", "LICENSE"):
        shutil.copy(ROOT / name, source)
    (source / "downloads").mkdir()
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        shutil.copy(path, source / "downloads")
        copy_notebook(path, source / "notebooks")
    names = [path.stem for path in sorted((source / "notebooks").glob("*.ipynb"))]
    (source / "index.md").write_text(start_page(names), encoding="utf-8")
    (source / "figures" / "gallery.md").write_text(gallery(PARTS), encoding="utf-8")
    (source / "api.md").write_text(reference(), encoding="utf-8")


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
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "book"))
