"""Coverage: every theorem, figure, table and experiment of a paper with its claims, its errata, or a reason."""

from collections.abc import Collection
from fnmatch import fnmatchcase
from os import PathLike
from pathlib import Path

import pandas as pd
import yaml

from bandits_companion.claims_table import sentences
from bandits_companion.ledger import anchor, markdown, verdict
from bandits_companion.registry import PAPERS, sentence
from bandits_lib.files import atomic_write

KINDS = ("claims", "errata", "not testable", "open")
INTRODUCTION = (
    "The tables list every theorem, figure, table and experiment of the papers. Each line has the claims that test it "
    "and [whether they hold](../docs/verdicts.md), the errata about it, or the reason why it is not tested."
)


def read(path: str | PathLike, ids: Collection[str], errata: pd.DataFrame) -> pd.DataFrame:
    """Read coverage.yaml and check it against the claims and errata.

    Parameters
    ----------
    path : str or path-like
        File {paper: {item: {kind: what}}}. An item is a theorem, figure, table, experiment or section. `claims` lists
        ids or patterns with asterisks, `errata` lists places of errata.yaml, `not testable` and `open` are reasons.
    ids : collection of str
        Ids of the claims.
    errata : DataFrame
        Errata as `errata.read` returns them.

    Returns
    -------
    DataFrame
        One row per item: paper, item, and a list for each kind.

    Raises
    ------
    ValueError
        If nothing is said of an item, or a paper, kind, id or place does not exist; the message names all faults.

    Examples
    --------
    >>> import pandas as pd
    >>> from pathlib import Path
    >>> said = {"fiez2019": {"Theorem 1": {"claims": ["fiez2019_x/bound"]}, "Lemma 2": {"not testable": "arithmetic"}}}
    >>> _ = Path("coverage.yaml").write_text(str(said))
    >>> read("coverage.yaml", ["fiez2019_x/bound"], pd.DataFrame(columns=["paper", "place"]))["item"].tolist()
    ['Theorem 1', 'Lemma 2']
    """
    content = yaml.safe_load(Path(path).read_text(encoding="utf-8")) or {}
    rows, faults = [], [f"unknown paper {paper}" for paper in content if paper not in PAPERS]
    for paper, items in content.items():
        places = set(errata.loc[errata["paper"] == paper, "place"])
        for item, entry in items.items():
            faults += [f"{paper}, {item}: {fault}" for fault in _faults(entry, ids, places)]
            rows.append((paper, item, *(_listed(entry, kind) for kind in KINDS)))
    if faults:
        raise ValueError("\n".join([f"{Path(path).name} has {len(faults)} faults:", *faults]))
    return pd.DataFrame(rows, columns=["paper", "item", *KINDS])


def _listed(entry, kind):
    what = entry.get(kind, []) if isinstance(entry, dict) else []
    return what if isinstance(what, list) else [what]


def _faults(entry, ids, places):
    if not isinstance(entry, dict) or not any(_listed(entry, kind) for kind in KINDS):
        yield f"one of {', '.join(KINDS)} is needed"
        return
    if unknown := [name for name in entry if name not in KINDS]:
        yield f"unknown {', '.join(unknown)}"
    yield from (f"no claim {wanted}" for wanted in _listed(entry, "claims") if not matching(wanted, ids))
    yield from (f"no erratum at {place!r}" for place in _listed(entry, "errata") if place not in places)


def matching(wanted, ids):
    """Return the sentences, each once, that an id or a pattern with asterisks names."""
    matches = [sentence(id) for id in ids if fnmatchcase(id, wanted) or fnmatchcase(sentence(id), wanted)]
    return list(dict.fromkeys(matches))


def page(tested: pd.DataFrame, claims: pd.DataFrame) -> str:
    """Return the coverage as Markdown: for each paper a table of items with claims, words, errata and reasons."""
    words = dict.fromkeys(claims["id"].map(sentence), "finding")
    words |= {id: verdict(row) for id, row in sentences(claims).iterrows()}
    parts = ["# What is tested", INTRODUCTION]
    for paper, rows in tested.groupby("paper", sort=False):
        shown = [(row["item"], _tests(row, words, paper), _rest(row)) for row in rows.to_dict("records")]
        table = pd.DataFrame(shown, columns=["place in the paper", "claims", "errata and reasons"])
        parts += [f"## {paper}", markdown(table)]
    return "\n\n".join(parts) + "\n"


def _tests(row, words, paper):
    """Return claims with their words, those with the same words together."""
    groups: dict[str, list] = {}
    for id in dict.fromkeys(id for wanted in row["claims"] for id in matching(wanted, words) or [wanted]):
        name = id.partition("/")[2]
        link = name if "*" in id else f"[{name}](ledger/{paper}.md#{anchor(id)})"  # a pattern that nothing fits
        groups.setdefault(words.get(id, "not yet measured"), []).append(link)
    return "; ".join(f"{', '.join(links)}: {said}" for said, links in groups.items())


def _rest(row):
    parts = [f"[erratum](errata.md): {place}" for place in row["errata"]]
    parts += [f"not testable: {reason}" for reason in row["not testable"]]
    parts += [f"open: {reason}" for reason in row["open"]]
    return ". ".join([*parts[:1], *(part[0].upper() + part[1:] if part[0] != "[" else part for part in parts[1:])])


def save(tested: pd.DataFrame, claims: pd.DataFrame, out: str | PathLike) -> None:
    """Write the coverage to <out>/figures/coverage.md.

    Parameters
    ----------
    tested, claims, out : DataFrame, DataFrame, str or path-like
        As for `coverage.page`, and the folder to write to.

    Examples
    --------
    >>> import pandas as pd
    >>> from bandits_companion.claims import table
    >>> save(pd.DataFrame(columns=["paper", "item"]), table([]), ".")
    """
    atomic_write(Path(out) / "figures" / "coverage.md", page(tested, claims), parents=True)
