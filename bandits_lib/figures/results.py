"""Save tables, runs and pictures of notebooks with the parameters, versions and command that made them.

`save` compares the runs with the published ones, and `read` gives a picture the numbers that `save` wrote.
"""

import ast
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from time import perf_counter
from types import MappingProxyType
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from bandits_lib.figures import comparison
from bandits_lib.figures import parameters as parameters_of
from bandits_lib.figures.parameters import ELSEWHERE
from bandits_lib.files import atomic_write

CHECKOUT = Path(__file__).resolve().parents[2]
SMALL = CHECKOUT / "build"  # the folder to which notebooks write by default
PACKAGES = ("numpy", "scipy", "numba", "pandas", "matplotlib", "bandits_lib")
UNDATED = {"png": {"Software": None}, "pdf": dict.fromkeys(("CreationDate", "Creator", "Producer"))}
_started = perf_counter()


def start():
    """Start the clock for `wall_seconds`, and change a kernel that papermill started to the folder notebooks/."""
    global _started
    _started = perf_counter()
    if _in_kernel() and (folder := _notebooks_for(Path.cwd())):
        os.chdir(folder)


def _in_kernel():
    """Return whether this is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


def _notebooks_for(folder):
    """Return the checkout's notebooks/ if `folder` is in the checkout and has none of its notebooks, else None."""
    home = CHECKOUT / "notebooks"
    inside = folder.resolve().is_relative_to(CHECKOUT) and (home / "paper.yaml").exists()
    return home if inside and not any((folder / file.name).exists() for file in home.glob("*.ipynb")) else None


def save(
    estimates: pd.DataFrame,
    name: str,
    out: str | os.PathLike,
    *,
    runs: pd.DataFrame | None = None,
    by: str | Sequence[str] = (),
    depends: Mapping[str, str | Sequence[str]] = MappingProxyType({}),
    unread: Sequence[str] = (),
    parameters: dict,
    notebook: str,
    **more: Any,
) -> None:
    """Write <out>/figures/<name>.csv (estimates), _runs.csv (the raw rows) and .json; compare with the published rows.

    A line says how many rows are equal, how many are left out and why; a second one shows the first row that differs.
    Another one names the values that the notebook's text is about if a reader changed them.
    Nothing is compared without a checkout, in the published files' own folder, and without `runs` and `by`.

    Parameters
    ----------
    estimates, name, out : DataFrame, str, str or path-like
        The table, saved with its index, its name, such as "<paper>/fig_1a", and the folder to write to.
    runs : DataFrame, optional
        The runs behind the estimates, saved without `seconds`. A row is one run of the rule in the column `algorithm`,
        or, without that column, one run of the rules in the columns after `run`.
    by : str or sequence of str, default ()
        The columns of settings, which with `algorithm` and `run` tell the runs apart. Without `runs`, the columns that
        tell the rows of `estimates` apart, which are then compared.
    depends : mapping of {str: str or sequence of str}, optional
        {rule: parameters that change its rows}. Without this, another number of runs or a shorter list of settings
        counts as a sample of the published rows.
    unread : sequence of str, default ()
        Parameters on which none of these rows depend.
    parameters, notebook : dict, str
        `globals()` of the notebook, of which the notebook's parameters are saved, and the notebook's name.
    **more
        Further entries of the json file.

    Examples
    --------
    >>> import pandas as pd
    >>> used = dict(claims_folder="", runs=0, seed=0, n_jobs=1, scheduler="", out=".")
    >>> save(pd.DataFrame({"mean": [0.1]}), "demo/table_1", ".", parameters=used, notebook="companion_ledger")
    """
    about, path = provenance(parameters, notebook) | more, Path(out) / "figures" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    save_table(estimates, path.with_suffix(".csv"))
    rows, file = None, f"{name}.csv"
    if runs is not None:
        rows, file = runs.drop(columns="seconds", errors="ignore"), f"{name}_runs.csv"
        save_table(rows.set_index(rows.columns[0]), f"{path}_runs.csv")
    published = CHECKOUT / "figures"
    if (runs is not None or by) and published.is_dir() and published != path.parents[1].resolve():
        defaults = {key: known.default for key, known in parameters_of.read(_file(notebook)).items()}
        if changed := parameters_of.changed(about["parameters"], defaults):
            values = " and ".join(f"{key} = {defaults[key]!r}" for key in changed)
            print(f"The text of this notebook is about {values}, unlike this run.")
        rows = pd.read_csv(path.with_suffix(".csv")) if rows is None else rows
        names = (by,) if isinstance(by, str) else by
        compared = comparison.of(rows, published / file, about["parameters"], by=names, depends=depends, unread=unread)
        about["published"] = compared._asdict()
        print(compared.line(name))
    atomic_write(path.with_suffix(".json"), json.dumps(about, indent=1) + "\n")


def save_picture(fig: Figure, name: str, out: str | os.PathLike, *, alt: str) -> None:
    """Write <out>/figures/<name>.png and .pdf; put its words and `drawing_code` into the json that `save` wrote.

    In build/, the folder of small runs, the png is the picture that the notebook shows, and there is no pdf.

    Parameters
    ----------
    fig, name, out : matplotlib.figure.Figure, str, str or path-like
        The picture, saved without a date; its name and folder, for which `save` was called before.
    alt : str
        The picture in words, for readers who do not see it.
    """
    path = Path(out) / "figures" / name
    about = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    small = Path(out).resolve() == SMALL
    if small:
        path.with_suffix(".pdf").unlink(missing_ok=True)  # of another run
        atomic_write(path.with_suffix(".png"), _on_screen(fig))
    else:
        for kind, undated in UNDATED.items():
            picture = BytesIO()
            fig.savefig(picture, format=kind, metadata=undated)
            atomic_write(path.with_suffix(f".{kind}"), picture.getvalue())
    notebook = about["command"].partition("notebooks/")[2].partition(".ipynb")[0]
    atomic_write(
        path.with_suffix(".json"),
        json.dumps(about | {"alt": alt, "drawing_code": drawing_code(notebook)}, indent=1) + "\n",
    )


def drawing_code(notebook):
    """Return a hash of the cells tagged `draw` of a notebook, by which one sees whether a picture is of this code."""
    cells = json.loads(_file(notebook).read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if "draw" in cell["metadata"].get("tags", [])]
    return hashlib.sha256("\n\n".join(code).encode()).hexdigest()[:16]


def read(name: str, out: str | os.PathLike, index: str | Sequence[str] | None = None) -> pd.DataFrame:
    """Return a table that `save` wrote, with every digit, so that a picture can be drawn again without a run.

    Parameters
    ----------
    name, out : str, str or path-like
        Such as "<paper>/fig_1a", or "<paper>/fig_1a_runs" for the runs, and the folder to which `save` wrote.
    index : str or sequence of str, optional
        The columns that become the index, by default none.

    Returns
    -------
    DataFrame
        The rows of <out>/figures/<name>.csv.
    """
    file = Path(out) / "figures" / f"{name}.csv"
    if not file.exists():
        raise FileNotFoundError(f"{file} is missing: run the cell that saves it, or restore the file")
    frame = pd.read_csv(file)
    return frame if index is None else frame.set_index([index] if isinstance(index, str) else list(index))


def draw_once(fig):
    """Let the screen and `save` share the drawing of a figure: the hook of paper.mplstyle for every new figure."""
    from matplotlib import pyplot as plt  # numbers alone do not need it

    plt.uninstall_repl_displayhook()  # it draws each figure before IPython draws it for the screen
    draw = fig.canvas.print_figure

    def print_figure(file, **options):
        if [options.get(name) for name in ("format", "dpi", "bbox_inches")] == ["png", fig.dpi, "tight"]:
            file.write(_on_screen(fig, draw))
        else:
            draw(file, **options)

    fig.canvas.print_figure = print_figure


def _on_screen(fig, draw=None):
    """Return the png that a notebook shows of a figure; draw it again only if the figure has changed."""
    if fig.stale or not hasattr(fig, "on_screen"):
        picture = BytesIO()
        draw = draw or fig.canvas.print_figure
        draw(picture, format="png", dpi=fig.dpi, bbox_inches="tight", metadata=UNDATED["png"])
        fig.on_screen, fig.stale = picture.getvalue(), False
    return fig.on_screen


def save_table(frame: pd.DataFrame, path: str | os.PathLike) -> None:
    """Write a DataFrame as csv with its index, and with all digits of floats.

    Parameters
    ----------
    frame, path : DataFrame, str or path-like
        The table, and the file to write.

    Examples
    --------
    >>> import pandas as pd
    >>> from pathlib import Path
    >>> save_table(pd.DataFrame({"mean": [0.1]}), "table.csv")
    >>> Path("table.csv").read_text().split()
    [',mean', '0,0.10000000000000001']
    """
    atomic_write(path, frame.to_csv(float_format="%.17g", lineterminator="\n"))


def provenance(parameters, notebook):
    """Return parameters, versions, git commit, the command that runs the notebook again, and wall time in seconds."""
    used = _used(parameters, notebook)
    options = " ".join(f"-p {name} {_shown(value)}" for name, value in used.items() if name not in ELSEWHERE)
    return {
        "parameters": used,
        "versions": {name: version(name) for name in PACKAGES},
        "commit": commit(),
        "command": f"papermill notebooks/{notebook}.ipynb out.ipynb --cwd notebooks {options}",
        "wall_seconds": round(perf_counter() - _started, 1),
    }


def _used(values, notebook):
    """Return the values of the notebook's parameters in the order of its cell, checked."""
    declared = parameters_of.read(_file(notebook))
    if missing := [name for name in declared if name not in values]:
        raise ValueError(f"{notebook} has parameters without a value, {', '.join(missing)}: give parameters=globals()")
    used = {name: values[name] for name in declared}
    assigned = dict.fromkeys(_injected(values)) if declared else {}
    parameters_of.check(notebook, declared, assigned | used)
    return used


def _file(notebook):
    """Return the file of a notebook in the current folder, or else in the checkout."""
    folders = (Path.cwd(), CHECKOUT / "notebooks")
    file = next((path for folder in folders if (path := folder / f"{notebook}.ipynb").exists()), None)
    if file is None:
        raise FileNotFoundError(
            f"there is no {notebook}.ipynb in {Path.cwd()}: pass the name of the notebook that saves the figure"
        )
    return file


def _injected(values):
    """Return the names that papermill's cell assigns, because papermill does not refuse unknown names."""
    cells = [cell for cell in values.get("In", []) if cell.startswith("# Parameters\n")]
    nodes = [node for cell in cells for node in ast.parse(cell).body if isinstance(node, ast.Assign)]
    return [target.id for node in nodes for target in node.targets if isinstance(target, ast.Name)]


def _shown(value):
    """Return a value as on papermill's command line, where lists and strings are quoted."""
    return json.dumps(json.dumps(value)) if isinstance(value, list | str) else value


def commit(folder: Path = CHECKOUT):
    """Return the git commit of a checkout, with "-dirty" if `changed_files` has any; "unknown" without git."""
    head = git("rev-parse", "HEAD", folder=folder)
    return "unknown" if head is None else head + ("-dirty" if changed_files(folder) else "")


PLAN, MINUTES = "notebooks/paper.yaml", re.compile(r"(?m)^ +(verify_)?minutes: .*\n")


def changed_files(folder: Path = CHECKOUT) -> list[str] | None:
    """Return the tracked files that differ from the commit, without what runs write; None without git."""
    written = (f":(exclude){name}" for name in ("figures", "README.md", "docs/paper_scale.md"))
    status = git("status", "--porcelain", "--untracked-files=no", "--", ".", *written, folder=folder)
    if status is None:
        return None
    files = [line[3:] for line in status.splitlines()]
    if PLAN in files and (folder / PLAN).exists():  # runs write its minutes
        plan = (folder / PLAN).read_text(encoding="utf-8")
        committed = git("show", f"HEAD:{PLAN}", folder=folder) or ""
        if MINUTES.sub("", plan).strip() == MINUTES.sub("", committed).strip():
            files.remove(PLAN)
    return files


def git(*asked: str, folder: Path = CHECKOUT) -> str | None:
    """Return what git prints for the checkout, or None without git or if git fails."""
    try:
        done = subprocess.run(["git", "-C", str(folder), *asked], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.rstrip("\n")
