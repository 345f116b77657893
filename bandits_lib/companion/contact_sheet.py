"""One page with all figures of a run, each beside the one at the papers' scale, that a browser opens from the disk."""

import json
import os
import re
import struct
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from jinja2 import Environment

PARTS = {
    "fiez2019": "Fiez et al. 2019: RAGE",
    "jedra2020": "Jedra and Proutiere 2020: Lazy Track-and-Stop",
    "azizi2022": "Azizi et al. 2022: GSE, fixed budget",
    "weltz2023": "Weltz et al. 2023: HEAD and H-RAGE",
    "companion": "Companion",
}
KINDS = {"picture": ".png", "pdf": ".pdf", "estimates": ".csv", "runs": "_runs.csv", "parameters": ".json"}
NUMBERED = re.compile(r"(fig|table)_(\d\w*)")


class Run(NamedTuple):
    """Where a run of the notebooks left what.

    Attributes
    ----------
    out : Path
        What the notebooks wrote to: their figures lie in <out>/figures.
    executed : Path
        Folder of the executed copies.
    notebooks : Path
        Folder of the notebooks that were run.
    beside : Path or None
        Another figures/, whose pictures are shown beside those of the same name.
    scale : str
        What the figures are called, "at small parameters" for instance.

    Examples
    --------
    >>> Run(Path("build"), Path("build/notebooks"), Path("notebooks"), None, "at small parameters").scale
    'at small parameters'
    """

    out: Path
    executed: Path
    notebooks: Path
    beside: Path | None
    scale: str


def save(page, run, failed=()):
    """Write the page of a run's figures.

    Parameters
    ----------
    page : str or path-like
        File to write; its links are relative to it.
    run : Run
        Where everything lies.
    failed : mapping, optional
        {notebook: why}: figures that these left before are called old.

    Returns
    -------
    int
        Number of figures on the page.

    Examples
    --------
    >>> here = Path()
    >>> save("index.html", Run(here, here, here, None, "at small parameters"))
    0
    >>> "<h1>All figures, at small parameters</h1>" in Path("index.html").read_text()
    True
    """
    page, failed, found = Path(page), dict(failed), figures(run)
    notebooks = [_notebook(name, run, page.parent) for name in sorted({name for name, _ in found} | set(failed))]
    for notebook in notebooks:
        own = [_figure(file, run, page.parent) for name, file in found if name == notebook["name"]]
        notebook["figures"] = sorted(own, key=lambda figure: _place(figure["name"], notebook["code"]))
    told = {"parts": _parts(notebooks), "failed": failed, "run": run, "count": len(found)}
    told |= {"executed": shown(run.executed, run.notebooks.parent)}
    told |= {"verdicts": _link(page.with_name("verdicts.txt"), page.parent)}
    told |= {"ledger": _link(run.beside / "ledger.md", page.parent) if run.beside else None}
    template = files(__package__).joinpath("contact_sheet.html").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(environment.from_string(template).render(told), encoding="utf-8")
    return len(found)


def shown(path, root):
    """A path as people read it: from the root of the project, if it lies there.

    Parameters
    ----------
    path, root : Path
        Paths.

    Returns
    -------
    str
        The shorter path.

    Examples
    --------
    >>> shown(Path("project/notebooks/../build"), Path("project"))
    'build'
    """
    path, root = path.resolve(), root.resolve()
    return (path.relative_to(root) if path.is_relative_to(root) else path).as_posix()


def figures(run):
    """The figures that lie below <out>/figures.

    Parameters
    ----------
    run : Run
        Where everything lies.

    Returns
    -------
    list of tuple
        (name of the notebook, json that describes the figure) of each, in the order of their files.

    Examples
    --------
    >>> figures(Run(Path("nowhere"), Path(), Path(), None, ""))
    []
    """
    found = []
    for described in sorted((run.out / "figures").glob("*/*.json")):
        if described.with_suffix(".png").exists():
            found.append((drawn_by(described), described))
    return found


def drawn_by(described):
    """The notebook that drew a figure, which is in the command that redraws it.

    Parameters
    ----------
    described : Path
        The json that lies beside the figure.

    Returns
    -------
    str
        Name of the notebook.

    Examples
    --------
    >>> _ = Path("fig_1a.json").write_text(json.dumps({"command": "papermill notebooks/fiez2019_5a_benchmark.ipynb x"}))
    >>> drawn_by(Path("fig_1a.json"))
    'fiez2019_5a_benchmark'
    """
    command = json.loads(described.read_text(encoding="utf-8"))["command"]
    return command.partition("notebooks/")[2].partition(".ipynb")[0]


def title(stem):
    """A figure's title in words.

    Parameters
    ----------
    stem : str
        Name of its files.

    Returns
    -------
    str
        The number that it has in the paper, or what is shown.

    Examples
    --------
    >>> title("fig_1a"), title("fig_theorem_4_1"), title("rage_phases")
    ('Figure 1a', 'Theorem 4.1', 'Rage phases')
    >>> title("fig_1ab")
    'Figure 1a, b'
    """
    if number := NUMBERED.fullmatch(stem):
        return f"{'Figure' if number[1] == 'fig' else 'Table'} " + re.sub(r"(?<=[a-z])(?=[a-z])", ", ", number[2])
    words = re.sub(r"(?<=\d)_(?=\d)", ".", stem.removeprefix("fig_")).replace("_", " ")
    return words[:1].upper() + words[1:]


def _parts(notebooks):
    """{heading: notebooks} in the order of the papers; what is no paper's follows under its own first word."""
    keys = [book["name"].partition("_")[0] for book in notebooks]
    order = [key for key in PARTS if key in keys] + sorted(set(keys) - set(PARTS))
    return {
        PARTS.get(part, part): [book for book, key in zip(notebooks, keys, strict=True) if key == part]
        for part in order
    }


def _notebook(name, run, here):
    """What the page says of a notebook: its heading, its executed copy, and its code, which orders its figures."""
    source, executed = run.notebooks / f"{name}.ipynb", run.executed / f"{name}.ipynb"
    cells = json.loads(source.read_text(encoding="utf-8"))["cells"] if source.exists() else []
    texts = ["".join(cell["source"]) for cell in cells]
    heading = next((text.partition("\n")[0][2:] for text in texts if text.startswith("# ")), name)
    code = "\n".join(text for text, cell in zip(texts, cells, strict=True) if cell["cell_type"] == "code")
    return {"name": name, "heading": heading, "executed": _link(executed, here), "code": code}


def _place(name, code):
    """Figures stand in the order in which their notebook saves them."""
    found = re.search(rf"""["']{re.escape(name)}["']""", code)
    return (found.start() if found else len(code), name)


def _figure(described, run, here):
    """What the page says of a figure: itself, and the one at the papers' scale."""
    name = f"{described.parent.name}/{described.stem}"
    of_paper = described.parent.name != "companion"  # whose larger runs are of no paper, nor of a reader's rule
    large = run.beside / f"{name}.json" if run.beside and of_paper else None
    shown_large = _picture(large, here) if large and large.exists() else None
    return {"name": name, "title": title(described.stem), "own": _picture(described, here), "large": shown_large}


def _picture(described, here):
    """A picture: where it and its data are, as seen from the page, its size, its words, and what is behind it."""
    about = json.loads(described.read_text(encoding="utf-8"))
    width, height = struct.unpack(">II", described.with_suffix(".png").read_bytes()[16:24])  # in a png's first chunk
    links = {kind: _link(described.with_name(described.stem + end), here) for kind, end in KINDS.items()}
    words = " ".join(about["alt"].split())
    return {"links": links, "width": width, "height": height, "words": words, "parameters": about["parameters"]}


def _link(file, here):
    """The address of a file relative to the page's folder, None if it is not there."""
    return quote(Path(os.path.relpath(file, here)).as_posix()) if file.exists() else None
