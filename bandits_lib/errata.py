"""The papers' errors, each with what is true instead and its proof, or the notebook whose run shows it."""

from pathlib import Path

import pandas as pd
import yaml

from bandits_lib.ledger import PAPERS, markdown

FIELDS = {"paper", "place", "printed", "correct"}


def read(path):
    """The entries of a yaml file as a DataFrame with columns paper, place, printed, correct, proof, run.

    path : of a list of mappings. Every entry has `proof` (an argument in words and formulas), `run` (the notebook
    that shows it), or both. Raises ValueError for an entry that lacks a field, has another, or has neither of the two.
    """
    entries = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    for entry in entries:
        given = set(entry)
        if not FIELDS <= given <= FIELDS | {"proof", "run"} or given == FIELDS or entry["paper"] not in PAPERS:
            wanted = f"paper ({', '.join(PAPERS)}), place, printed, correct, and proof or run"
            raise ValueError(f"an erratum needs {wanted}; got {entry}")
    return pd.DataFrame(entries, columns=["paper", "place", "printed", "correct", "proof", "run"]).fillna("")


def page(errata, notebooks="../notebooks"):
    """Markdown: for each paper a table of place, what is printed, what is correct, and why.

    errata : as `read` returns them; notebooks : the folder that links to runs point to.
    """
    parts = ["# Errata"]
    for paper, rows in errata.groupby("paper", sort=False):
        parts += [f"## {paper}", markdown(_as_read(rows, notebooks))]
    return "\n\n".join(parts) + "\n"


def _as_read(rows, notebooks):
    links = [f"Run: [{name}]({notebooks}/{name}.ipynb)." if name else "" for name in rows["run"]]
    why = [f"{proof} {link}".strip() for proof, link in zip(rows["proof"], links, strict=True)]
    return rows[["place", "printed", "correct"]].assign(why=why)


def save(errata, out):
    """Write <out>/figures/errata.md."""
    path = Path(out) / "figures" / "errata.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(errata), encoding="utf-8")
