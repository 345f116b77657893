"""The papers' errors, each with what is true instead and its proof, or the notebook whose run shows it."""

from pathlib import Path

import pandas as pd
import yaml

from bandits_lib.companion.ledger import PAPERS, markdown

FIELDS = {"paper", "place", "printed", "correct"}


def read(path):
    """The entries of a yaml file of errata.

    Parameters
    ----------
    path : str or path-like
        File of a list of mappings.

    Returns
    -------
    DataFrame
        One row per entry, with columns paper, place, printed, correct, proof and run.

    Raises
    ------
    ValueError
        For an entry that lacks a field, has another, has neither proof nor run, or is of another paper.

    Notes
    -----
    Every entry has `proof` (an argument in words and formulas), `run` (the notebook that shows it), or both.

    Examples
    --------
    >>> from pathlib import Path
    >>> found = dict(paper="fiez2019", place="Lemma 1", printed="5", correct="4", proof="count", run="demo")
    >>> _ = Path("errata.yaml").write_text(str([found]))
    >>> read("errata.yaml")["place"].tolist()
    ['Lemma 1']
    """
    entries = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    for entry in entries:
        given = set(entry)
        if not FIELDS <= given <= FIELDS | {"proof", "run"} or given == FIELDS or entry["paper"] not in PAPERS:
            wanted = f"paper ({', '.join(PAPERS)}), place, printed, correct, and proof or run"
            raise ValueError(f"an erratum needs {wanted}; got {entry}")
    columns = ["paper", "place", "printed", "correct", "proof", "run"]
    return pd.DataFrame([{name: entry.get(name, "") for name in columns} for entry in entries], columns=columns)


def page(errata, notebooks="../notebooks"):
    """Markdown: for each paper a table of place, what is printed, what is correct, and why.

    Parameters
    ----------
    errata : DataFrame
        Errata as `read` returns them.
    notebooks : str, default "../notebooks"
        Folder that links to runs point to.

    Returns
    -------
    str
        The page.

    Examples
    --------
    >>> import pandas as pd
    >>> found = dict(paper="fiez2019", place="Lemma 1", printed="5", correct="4", proof="count", run="")
    >>> page(pd.DataFrame([found])).splitlines()[2]
    '## fiez2019'
    """
    parts = ["# Errata"]
    for paper, rows in errata.groupby("paper", sort=False):
        parts += [f"## {paper}", markdown(_as_read(rows, notebooks))]
    return "\n\n".join(parts) + "\n"


def _as_read(rows, notebooks):
    """Errata of one paper as a person reads them: place, printed, correct, and why, with links to runs."""
    links = [f"Run: [{name}]({notebooks}/{name}.ipynb)." if name else "" for name in rows["run"]]
    why = [f"{proof} {link}".strip() for proof, link in zip(rows["proof"], links, strict=True)]
    return rows[["place", "printed", "correct"]].assign(why=why)


def save(errata, out):
    """Write <out>/figures/errata.md.

    Parameters
    ----------
    errata : DataFrame
        Errata as `read` returns them.
    out : str or path-like
        Folder to write to.

    Examples
    --------
    >>> import pandas as pd
    >>> found = dict(paper="fiez2019", place="Lemma 1", printed="5", correct="4", proof="count", run="")
    >>> save(pd.DataFrame([found]), ".")
    """
    path = Path(out) / "figures" / "errata.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(errata), encoding="utf-8")
