"""Save figures and tables of notebooks with the parameters, versions and command that redraw them."""

import ast
import hashlib
import json
import os
import subprocess
import sys
from functools import cache
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from time import perf_counter
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from bandits_lib.figures import parameters as parameters_of
from bandits_lib.files import atomic_write

CHECKOUT = Path(__file__).resolve().parents[2]
SMALL = CHECKOUT / "build"  # the folder to which notebooks write by default
PACKAGES = ("numpy", "scipy", "numba", "pandas", "matplotlib", "bandits_lib")
ELSEWHERE = ("out", "n_jobs", "scheduler", "checkpoint")  # parameters that change no number
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
    fig: Figure,
    figure: str,
    out: str | os.PathLike,
    *,
    estimates: pd.DataFrame,
    runs: pd.DataFrame | None = None,
    parameters: dict,
    notebook: str,
    alt: str,
) -> None:
    """Write <out>/figures/<figure>.csv (estimates), .png, .pdf, _runs.csv (the raw rows) and, last, .json.

    In build/, the folder of small runs, the png is the picture that the notebook shows, and there is no pdf.

    Parameters
    ----------
    fig, figure : matplotlib.figure.Figure, str
        The picture, saved without a date, and its name, such as "<paper>/fig_1a".
    out : str or path-like
        Folder to write to.
    estimates, runs : DataFrame
        Estimates in the picture, saved with their index, and the runs behind them, saved without `seconds`.
    parameters, notebook : dict, str
        `globals()` of the notebook, of which the notebook's parameters are saved, and the notebook's name.
    alt : str
        The picture in words, for readers who do not see it.

    Raises
    ------
    ValueError
        If a parameter of the notebook has no value.
    FileNotFoundError
        If there is no such notebook.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import pandas as pd
    >>> used = dict(claims_folder="", runs=0, seed=0, n_jobs=1, scheduler="", out=".")
    >>> told = dict(parameters=used, notebook="companion_ledger", alt="nothing")
    >>> save(plt.figure(), "demo/fig_1", ".", estimates=pd.DataFrame({"mean": [1.0]}), **told)
    """
    about, path = provenance(parameters, notebook) | {"alt": alt}, _place(figure, out)
    save_table(estimates, path.with_suffix(".csv"))
    small = Path(out).resolve() == SMALL
    for kind, undated in UNDATED.items():
        if small and kind == "pdf":
            path.with_suffix(".pdf").unlink(missing_ok=True)  # of another run
            continue
        picture = BytesIO()
        if small:
            picture.write(_on_screen(fig))
        else:
            fig.savefig(picture, format=kind, metadata=undated)
        atomic_write(path.with_suffix(f".{kind}"), picture.getvalue())
    if runs is not None:
        kept = runs.drop(columns="seconds", errors="ignore")
        save_table(kept.set_index(kept.columns[0]), f"{path}_runs.csv")
    _save_about(about, path)


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


def save_data(
    frame: pd.DataFrame, name: str, out: str | os.PathLike, *, parameters: dict, notebook: str, **more: Any
) -> None:
    """Write a table without a picture: <out>/figures/<name>.csv and .json.

    Parameters
    ----------
    frame, name, out, parameters, notebook : DataFrame, str, str or path-like, dict, str
        As for `save`: the table, saved with its index, and its name, "<paper>/<table>".
    **more
        Further entries of the json file.

    Raises
    ------
    ValueError, FileNotFoundError
        As for `save`.

    Examples
    --------
    >>> import pandas as pd
    >>> used = dict(claims_folder="", runs=0, seed=0, n_jobs=1, scheduler="", out=".")
    >>> save_data(pd.DataFrame({"mean": [0.1]}), "demo/table_1", ".", parameters=used, notebook="companion_ledger")
    """
    about, path = provenance(parameters, notebook) | more, _place(name, out)
    save_table(frame, path.with_suffix(".csv"))
    _save_about(about, path)


def _place(name, out):
    path = Path(out) / "figures" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _save_about(about, path):
    atomic_write(path.with_suffix(".json"), json.dumps(about, indent=1) + "\n")


def save_table(frame: pd.DataFrame, path: str | os.PathLike) -> None:
    """Write a DataFrame as csv with its index, and with all digits of floats.

    Parameters
    ----------
    frame : DataFrame
        The table.
    path : str or path-like
        File to write.

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
    """Return parameters, versions, git commit, the command that redraws a figure, and wall time in seconds."""
    used = _used(parameters, notebook)
    given = " ".join(f"-p {name} {_shown(value)}" for name, value in used.items() if name not in ELSEWHERE)
    return {
        "parameters": used,
        "versions": {name: version(name) for name in PACKAGES},
        "commit": _commit(),
        "code": {"library": library_hash(), "notebook": notebook_hash(_file_of(notebook))},
        "command": f"papermill notebooks/{notebook}.ipynb out.ipynb --cwd notebooks {given}",
        "wall_seconds": round(perf_counter() - _started, 1),
    }


def _file_of(notebook):
    folders = (Path.cwd(), CHECKOUT / "notebooks")
    file = next((path for folder in folders if (path := folder / f"{notebook}.ipynb").exists()), None)
    if file is None:
        raise FileNotFoundError(
            f"there is no {notebook}.ipynb in {Path.cwd()}: pass the name of the notebook that saves the figure"
        )
    return file


def _used(given, notebook):
    """Return the values of the notebook's parameters in the order of its cell, checked."""
    known = parameters_of.read(_file_of(notebook))
    if missing := [name for name in known if name not in given]:
        raise ValueError(f"{notebook} has parameters without a value, {', '.join(missing)}: give parameters=globals()")
    used = {name: given[name] for name in known}
    parameters_of.check(notebook, known, dict.fromkeys(_injected(given) if known else []) | used)
    return used


def _injected(given):
    """Return the names that papermill's cell assigns, because papermill does not refuse unknown names."""
    cells = [cell for cell in given.get("In", []) if cell.startswith("# Parameters\n")]
    nodes = [node for cell in cells for node in ast.parse(cell).body if isinstance(node, ast.Assign)]
    return [target.id for node in nodes for target in node.targets if isinstance(target, ast.Name)]


def _shown(value):
    """Return a value as on papermill's command line, where lists and strings are quoted."""
    return json.dumps(json.dumps(value)) if isinstance(value, list | str) else value


@cache
def library_hash() -> str:
    """Return the SHA-256 of the library's code without docstrings, comments and layout."""
    files = sorted((CHECKOUT / "bandits_lib").rglob("*.py"))
    found = hashlib.sha256()
    for file in files:
        found.update(
            f"{file.relative_to(CHECKOUT).as_posix()}\n{_code_of(file.read_text(encoding='utf-8'))}\n".encode()
        )
    return found.hexdigest()


def notebook_hash(path: str | os.PathLike) -> str:
    """Return the SHA-256 of the code cells of a notebook, without comments and layout if all cells are Python."""
    cells = json.loads(Path(path).read_text(encoding="utf-8"))["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    try:
        code = _code_of(code)
    except SyntaxError:  # a line that only IPython understands
        pass
    return hashlib.sha256(code.encode()).hexdigest()


def _code_of(text):
    """Return Python code without docstrings, comments and layout."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and ast.get_docstring(node, clean=False) is not None
        ):
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def _commit(folder: Path = CHECKOUT):
    """Return the git commit of a checkout, with "-dirty" if files outside figures/ differ; "unknown" without git."""
    head = git("rev-parse", "HEAD", folder=folder)
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", ":(exclude)figures", folder=folder)
    return "unknown" if head is None else head + ("-dirty" if changed else "")


def git(*asked: str, folder: Path = CHECKOUT) -> str | None:
    """Return what git prints for the checkout, or None without git or if git fails."""
    try:
        done = subprocess.run(["git", "-C", str(folder), *asked], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.rstrip("\n")
