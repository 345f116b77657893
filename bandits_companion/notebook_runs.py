"""One page with all figures of a run, each beside the one at the papers' scale, that a browser opens from the disk.

How a run of the notebooks ends: what was made, what the papers' sentences came to, and one page to open.

Copies of the notebooks for a reader to run and change, kept up with the originals as long as they are untouched.
"""

import hashlib
import json
import os
import re
import shutil
import struct
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import pandas as pd
from jinja2 import Environment

from bandits_companion import claims_table, ledger
from bandits_companion.claims_table import position
from bandits_companion.verdicts import STANDS
from bandits_lib.files import atomic_write

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
    template = files(__package__).joinpath("notebook_runs.html").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    page.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(page, environment.from_string(template).render(told))
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


PAGE, LIST = "index.html", "verdicts.txt"
WIDTHS = {"stand": 9, "undecided": 12, "fall": 10}  # of the columns of the totals
COLOUR = re.compile(r"\x1b\[[0-9;]*m")  # of a terminal, in what a kernel says of an error


class Played(NamedTuple):
    """What became of one notebook.

    Attributes
    ----------
    name : str
        Its name.
    seconds : float
        How long it took.
    message : str
        How it went.
    error : str
        Last line of its error, "" if it ran through.

    Examples
    --------
    >>> Played("companion_ledger", 2.5, "done", "").error
    ''
    """

    name: str
    seconds: float
    message: str
    error: str


def last_line(error):
    """The line of an error that says what it was.

    Parameters
    ----------
    error : BaseException
        As papermill raises it, with the traceback of the kernel.

    Returns
    -------
    str
        Its last line that is not empty, without colours.

    Examples
    --------
    >>> last_line(ValueError("Traceback ...\\n\\x1b[31mZeroDivisionError\\x1b[0m: division by zero\\n"))
    'ZeroDivisionError: division by zero'
    """
    lines = [line.strip() for line in COLOUR.sub("", str(error)).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__


def close(played: Iterable[Played], seconds, run: Run, page, compared):
    """Write the page and the list of claims; say in about ten lines what there is.

    Parameters
    ----------
    played : iterable of Played
        What became of the notebooks.
    seconds : float
        How long all took.
    run : contact_sheet.Run
        Where they left what.
    page : Path
        Folder of the page and of the list.
    compared : str
        What the sentences of `run.beside` are called; unused without.

    Returns
    -------
    str
        The lines.

    Examples
    --------
    >>> from pathlib import Path
    >>> here = Path()
    >>> print(close([], 61, Run(here, here, here, None, "at small parameters"), here, ""))
    0 notebooks in 1.0 min, 0 figures, at small parameters
    open index.html: every figure with its data and its notebook
    """
    played = list(played)
    root, failed = run.notebooks.parent, {one.name: one.error for one in played if one.error}
    claims = _claims(run.out / "figures", [one.name for one in played if not one.error])
    page.mkdir(parents=True, exist_ok=True)
    if not claims.empty:
        atomic_write(page / LIST, listed(claims, run.scale))
    save(page / PAGE, run, failed)
    drawn = sum(name in {one.name for one in played} - set(failed) for name, _ in figures(run))
    lines = [f"{_count(len(played), 'notebook')} in {duration(seconds / 60)}, {_count(drawn, 'figure')}, {run.scale}"]
    lines += [f"FAILED {name}: {why} ({shown(run.executed / name, root)}.ipynb)" for name, why in failed.items()]
    if not claims.empty:
        lines += _sentences(claims, run, compared)
        lines.append(f"all {len(claims)} claims with intervals and verdicts: {shown(page / LIST, root)}")
    beside = "beside the one at the papers' scale, " if run.beside else ""
    return "\n".join([*lines, f"open {shown(page / PAGE, root)}: every figure {beside}with its data and its notebook"])


def _count(number, word):
    return f"{number} {word}{'' if number == 1 else 's'}"


def _claims(folder, names):
    """The claims that these notebooks saved, in the order of the papers."""
    files = [folder / "claims" / f"{name}.csv" for name in sorted(names, key=lambda name: (position(name), name))]
    found = [file for file in files if file.exists()]
    return pd.concat(map(ledger.read_file, found), ignore_index=True) if found else pd.DataFrame()


def _sentences(claims, run, compared):
    """Totals by paper, beside those of the same notebooks in `run.beside`."""
    tables = {run.scale: totals(claims)}
    if tables[run.scale].empty:
        return []
    if run.beside and not (other := _claims(run.beside, sorted(set(claims["id"].str.partition("/")[0])))).empty:
        tables[compared] = totals(other)
    table = pd.concat(tables, axis=1).fillna(0).astype(int)
    heads = "".join(f"    {name:<27}" for name in tables), "".join(f"{part:>{w}}" for part, w in WIDTHS.items())
    lines = [f"{'':<10}{heads[0]}", f"{'':<10}{heads[1] * len(tables)}"]
    for paper, counts in table.iterrows():
        cells = (f"{count:>{WIDTHS[part]}}" for (_, part), count in counts.items())
        lines.append(f"{paper:<10}{''.join(cells)}")
    where = f" (figures/ledger.md has those {compared}, which count)" if len(tables) > 1 else ""
    return [f"The papers' sentences{where}:", *(line.rstrip() for line in lines)]


def totals(claims):
    """How many of the papers' sentences stand, are undecided, or do not stand.

    Parameters
    ----------
    claims : DataFrame
        Claims as `ledger.read_file` returns them.

    Returns
    -------
    DataFrame
        One row per paper.

    Examples
    --------
    >>> from bandits_companion.claims import claim
    >>> found = rows.full([claim("fiez2019_demo/a", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1))])
    >>> totals(found).to_dict("list")
    {'stand': [1], 'undecided': [0], 'fall': [0]}
    """
    counts = ledger.totals(claims).drop(index="all")
    parts = [counts[list(STANDS)].sum(axis=1), counts["undecided"], counts["not reproduced"]]
    return pd.concat(parts, axis=1, keys=list(WIDTHS))


def listed(claims, scale):
    """Every claim in a line: id, estimate with its 95 % interval, where the claim holds, verdict.

    Parameters
    ----------
    claims : DataFrame
        Claims as `ledger.read_file` returns them.
    scale : str
        At which parameters they were measured.

    Returns
    -------
    str
        Text, with a head that explains it.

    Examples
    --------
    >>> from bandits_companion.claims import claim
    >>> found = rows.full([claim("fiez2019_demo/a", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1))])
    >>> print(listed(found, "at small parameters").splitlines()[-1])
    fiez2019_demo/a  0.5 [0.4, 0.6]                 0 to 1                   reproduced
    """
    width = max(claims["id"].str.len())
    counts = ", ".join(f"{count} {verdict}" for verdict, count in claims["verdict"].value_counts().items())
    lines = [
        f"Every claim, {scale}: {counts}.",
        "A sentence of a paper may have several readings, each a claim; it stands if it is reproduced, compatible or",
        "without difference above the margin under one of them. Findings of the companion have no verdict.",
        "",
        f"{'claim':<{width}}  {'measured [95 % interval]':<30} {'holds for':<24} verdict",
    ]
    for row in claims.to_dict("records"):
        said = claims_table.told(row), claims_table.holds_for(row), claims_table.judged(row)
        lines.append(f"{row['id']:<{width}}  {said[0]:<30} {said[1]:<24} {said[2]}")
    return "\n".join(lines) + "\n"


def duration(minutes):
    """A time as people say it.

    Parameters
    ----------
    minutes : float
        The time.

    Returns
    -------
    str
        Seconds, minutes or hours.

    Examples
    --------
    >>> duration(0.5), duration(61 / 60), duration(90)
    ('30 s', '1.0 min', '1.5 h')
    """
    return f"{60 * minutes:.0f} s" if minutes < 1 else f"{minutes:.1f} min" if minutes < 60 else f"{minutes / 60:.1f} h"


COPIED = ["notebooks/*.ipynb", "notebooks/*.csv", "notebooks/*.yaml", "notebooks/example_*.py"]
COPIED += ["notebooks/reports/*.md", "figures/claims/*.csv", "figures/explored/*.csv", "figures/*/*.json"]
COPIED += ["figures/*.md", "figures/reports/*.md"]
RECORD = ".copied.json"  # what every copy was when it was made: {file: hash}


def copy(root, lab):
    """Copy the notebooks and the files that they read; renew copies that nobody has changed.

    Parameters
    ----------
    root : str or path-like
        The project.
    lab : str or path-like
        Folder of the copies.

    Returns
    -------
    renewed, behind : list of str
        Copies that were renewed since their originals had changed; and those that stayed although they had, since the
        reader had changed them, too.

    Examples
    --------
    >>> Path("notebooks").mkdir()
    >>> original, read = Path("notebooks/example_arms.csv"), Path("lab/notebooks/example_arms.csv")
    >>> _ = original.write_text("name")
    >>> copy(".", "lab")
    ([], [])
    >>> _ = original.write_text("name,size")
    >>> copy(".", "lab"), read.read_text()
    ((['notebooks/example_arms.csv'], []), 'name,size')
    >>> _ = read.write_text("mine"), original.write_text("name,weight")
    >>> copy(".", "lab"), read.read_text()
    (([], ['notebooks/example_arms.csv']), 'mine')
    """
    root, lab = Path(root), Path(lab)
    record = lab / RECORD
    copied = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    renewed, behind = [], []
    for original in sorted({file for kind in COPIED for file in root.glob(kind)}):
        name = original.relative_to(root).as_posix()
        now, there = _hash(original), _hash(lab / name)
        if now == there or there is None or there == copied.get(name):
            (lab / name).parent.mkdir(parents=True, exist_ok=True)
            if now != there:
                shutil.copy(original, lab / name)
            renewed += [name] * (there not in (None, now))
            copied[name] = now
        elif now != copied.get(name):
            behind.append(name)
    lab.mkdir(parents=True, exist_ok=True)
    atomic_write(record, json.dumps(copied, indent=1) + "\n")
    return renewed, behind


def _hash(file):
    """Of its content, None if there is no such file."""
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.exists() else None
