"""Compute the key of a checkpoint: a hash of the texts that decide its rows.

These are the modules of bandits_lib except `figures`, the executed cells of the notebook or the script with its
arguments, and the user's own modules. The parameter `runs` and the places of files do not belong to it. Do not use a
checkpoint in parallel workers, which count their calls separately, or after you changed a value without a cell.
"""

import functools
import hashlib
import re
import sys
import sysconfig
from itertools import count
from pathlib import Path
from typing import Any

from bandits_lib.numerics.kernel_cache import HOME, digest_of

PACKAGES = ("bandits_lib", "bandits_lab", "bandits_companion")  # of this project, installed together
LIBRARIES = {"site-packages", "dist-packages"}
STDLIB = sysconfig.get_path("stdlib")
APART = ("figures",)  # part of bandits_lib that changes no row
NO_ROW = re.compile(r"""(runs|n_jobs|scheduler|out|checkpoint) = ([\d_]+|"[^"]*"|'[^']*')\s*(#.*)?""")  # change no row
_of_cell: dict[str, Any] = {"number": None, "calls": count()}


@functools.cache
def source_fingerprint() -> str:
    """Return a hash of the modules that compute, so that results of other code are never resumed."""
    files = sorted(HOME.rglob("*.py"))
    return digest_of(file for file in files if file.relative_to(HOME).parts[0] not in APART)


def fingerprint(*texts: object) -> str:
    """Return a hash, 16 hex digits, of values, the executed cells, the user's modules and the modules that compute."""
    lines = [line for text in executed() for line in text.splitlines() if not NO_ROW.fullmatch(line)]
    whole = "\n".join([source_fingerprint(), *lines, *user_modules(), *map(str, texts)])
    return hashlib.sha256(whole.encode()).hexdigest()[:16]


def executed() -> list[str]:
    """Return the executed cells of a notebook in their order, or the script and its arguments."""
    if shell := _shell():
        return [*shell.user_ns["In"]]
    script = getattr(sys.modules["__main__"], "__file__", None)
    if not script or not Path(script).is_file():
        raise ValueError("a checkpoint needs the code that is run: call monte_carlo from a notebook or a file")
    return [Path(script).read_text(encoding="utf-8"), *sys.argv[1:]]


def user_modules() -> list[str]:
    """Return the texts of the user's modules, sorted by their files."""
    return [file.read_text(encoding="utf-8") for file in sorted({*user_files().values()})]


def user_files() -> dict[str, Path]:
    """Return {module: file} of the loaded modules that belong neither to Python, a library, nor this project."""
    ours = (*PACKAGES, "__main__", "__mp_main__")  # the last two are what `executed` returns, or what started a kernel
    names = {name: getattr(module, "__file__", None) for name, module in [*sys.modules.items()]}
    files = {name: Path(file) for name, file in names.items() if file and name.partition(".")[0] not in ours}
    installed = {name for name, file in files.items() if LIBRARIES & {*file.parts} or file.is_relative_to(STDLIB)}
    return {name: file for name, file in files.items() if file.suffix == ".py" and name not in installed}


def call_number() -> int:
    """Return how many calls came before this one in the running cell or script, so that no two calls share a key."""
    shell = _shell()
    number = shell.execution_count if shell else None
    if number != _of_cell["number"]:
        _of_cell.update(number=number, calls=count())
    return next(_of_cell["calls"])


def _shell():
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython else None
