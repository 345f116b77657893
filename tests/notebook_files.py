"""The committed notebooks, each of which is read once."""

from functools import cache
from pathlib import Path

import nbformat

NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"
NAMES = sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))


@cache
def load(name):
    """Return a notebook, which must not be changed."""
    return nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)


def code_cells(name):
    return [cell for cell in load(name).cells if cell.cell_type == "code"]
