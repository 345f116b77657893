"""What a notebook leaves behind: pictures and tables, and beside each what it came from, so that it can be redrawn."""

import ast
import json
import os
import subprocess
import sys
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from time import perf_counter

from bandits_lib.figures import parameters as parameters_of
from bandits_lib.files import atomic_write

CHECKOUT = Path(__file__).resolve().parents[2]
PACKAGES = ("numpy", "scipy", "numba", "pandas", "matplotlib", "bandits_lib")
ELSEWHERE = ("out", "n_jobs", "scheduler", "checkpoint")  # parameters that say where to compute and change no number
UNDATED = {"png": {"Software": None}, "pdf": dict.fromkeys(("CreationDate", "Creator", "Producer"))}
_started = perf_counter()


def start():
    """Start the clock that is saved as `wall_seconds`, and bring a notebook's kernel to where its paths count from.

    Notes
    -----
    Relative paths (`out`, `checkpoint`) count from a notebook's folder, where Jupyter starts kernels. papermill starts
    them where it is called: a kernel anywhere else in a checkout of this project moves to its notebooks/.

    Examples
    --------
    >>> start()
    """
    global _started
    _started = perf_counter()
    if _in_kernel() and (folder := _notebooks_for(Path.cwd())):
        os.chdir(folder)


def _in_kernel():
    """Whether this is the kernel of a notebook, and no script or shell."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


def _notebooks_for(folder):
    """The checkout's notebooks/ if `folder` lies in the checkout and holds none of its notebooks, else None."""
    home = CHECKOUT / "notebooks"
    inside = folder.resolve().is_relative_to(CHECKOUT) and (home / "paper.yaml").exists()
    return home if inside and not any((folder / file.name).exists() for file in home.glob("*.ipynb")) else None


def save(fig, figure, out, *, estimates, runs=None, parameters, notebook, alt):
    """Write <out>/figures/<figure>.png, .pdf, .csv (estimates), .json, and _runs.csv (the raw rows).

    Parameters
    ----------
    fig : matplotlib.figure.Figure
        The picture; png and pdf carry no date.
    figure : str
        Its name, "<paper>/fig_1a" for instance.
    out : str or path-like
        Folder to write to.
    estimates : DataFrame
        Estimates behind the picture, saved with their index.
    runs : DataFrame, optional
        Runs behind the estimates, saved without `seconds`; None saves none.
    parameters : dict
        `globals()` of the notebook, of which its parameters are kept.
    notebook : str
        Name of the notebook that calls.
    alt : str
        The picture in words.

    Raises
    ------
    ValueError
        For a parameter of the notebook without value.
    FileNotFoundError
        For a notebook that is not there.

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
    for kind, undated in UNDATED.items():
        picture = BytesIO()
        fig.savefig(picture, format=kind, metadata=undated)
        atomic_write(path.with_suffix(f".{kind}"), picture.getvalue())
    if runs is not None:
        kept = runs.drop(columns="seconds", errors="ignore")
        save_table(kept.set_index(kept.columns[0]), f"{path}_runs.csv")
    _save_about(about, path)


def save_data(frame, name, out, *, parameters, notebook, **more):
    """Write a table that belongs to no picture: <out>/figures/<name>.csv, and .json with what it came from.

    Parameters
    ----------
    frame : DataFrame
        The table, saved with its index.
    name : str
        Its name, "<paper>/<table>".
    out : str or path-like
        Folder to write to.
    parameters : dict
        `globals()` of the notebook, of which its parameters are kept.
    notebook : str
        Name of the notebook that calls.
    **more
        Further entries of the json.

    Raises
    ------
    ValueError
        For a parameter of the notebook without value.
    FileNotFoundError
        For a notebook that is not there.

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


def save_table(frame, path):
    """A DataFrame as csv with its index, floats to the last digit, lines ending in newline on every system.

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
    """What a figure came from: parameters, versions, git commit, the command that redraws it, wall time in seconds.

    Parameters
    ----------
    parameters : dict
        {name: value}, among them those that the notebook's cell tagged `parameters` assigns.
    notebook : str
        Name of the notebook.

    Returns
    -------
    dict
        With keys parameters, versions, commit, command and wall_seconds.

    Raises
    ------
    ValueError
        For a parameter of the notebook without value.
    FileNotFoundError
        For a notebook that is not there.

    Examples
    --------
    >>> used = dict(claims_folder="", runs=0, seed=0, n_jobs=1, scheduler="", out=".", more="is left out")
    >>> provenance(used, "companion_ledger")["parameters"]
    {'claims_folder': '', 'runs': 0, 'seed': 0, 'n_jobs': 1, 'scheduler': '', 'out': '.'}
    """
    used = _used(parameters, notebook)
    given = " ".join(f"-p {name} {_shown(value)}" for name, value in used.items() if name not in ELSEWHERE)
    return {
        "parameters": used,
        "versions": {name: version(name) for name in PACKAGES},
        "commit": _commit(),
        "command": f"papermill notebooks/{notebook}.ipynb out.ipynb --cwd notebooks {given}",
        "wall_seconds": round(perf_counter() - _started, 1),
    }


def _used(given, notebook):
    """Of the values given, those of the notebook's parameters, in the order of its cell, each checked."""
    folders = (Path.cwd(), CHECKOUT / "notebooks")
    file = next((path for folder in folders if (path := folder / f"{notebook}.ipynb").exists()), None)
    if file is None:
        raise FileNotFoundError(f"there is no {notebook}.ipynb in {Path.cwd()}: `notebook` names the one that saves")
    known = parameters_of.read(file)
    if missing := [name for name in known if name not in given]:
        raise ValueError(f"{notebook} has parameters without a value, {', '.join(missing)}: give parameters=globals()")
    used = {name: given[name] for name in known}
    parameters_of.check(notebook, known, dict.fromkeys(_injected(given) if known else []) | used)
    return used


def _injected(given):
    """Names that papermill's cell assigns, in a kernel that ran one: it lets those pass that no notebook has."""
    cells = [cell for cell in given.get("In", []) if cell.startswith("# Parameters\n")]
    nodes = [node for cell in cells for node in ast.parse(cell).body if isinstance(node, ast.Assign)]
    return [target.id for node in nodes for target in node.targets if isinstance(target, ast.Name)]


def _shown(value):
    """A value as the command line of papermill takes it: lists and strings are quoted."""
    return json.dumps(json.dumps(value)) if isinstance(value, list | str) else value


def _commit(folder=Path(__file__).parent):
    """The git commit of a checkout, "-dirty" if files of it differ outside figures/, "unknown" without git."""
    try:
        root = _git(folder, "rev-parse", "--show-toplevel")
        changed = _git(root, "status", "--porcelain", "--untracked-files=no", "--", ".", ":(exclude)figures")
        return _git(root, "rev-parse", "HEAD") + ("-dirty" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(folder, *asked):
    return subprocess.run(["git", "-C", str(folder), *asked], capture_output=True, text=True, check=True).stdout.strip()
