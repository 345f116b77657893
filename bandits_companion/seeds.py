"""Compute seeds, list the runs of whole papers, and compare claims between editions.

The seed of a paper follows from its text and from the edition, so that an edition draws new random numbers and a
correction within an edition does not.
"""

import hashlib
import io
import re
from datetime import UTC, datetime
from importlib.metadata import version
from os import PathLike
from pathlib import Path

import pandas as pd

from bandits_companion.claims_table import by_sentence, condition, read_file, sentences
from bandits_companion.ledger import anchor, markdown, verdict
from bandits_companion.registry import COPIES
from bandits_companion.verdicts import WORDS
from bandits_lib.figures.results import changed_files, git
from bandits_lib.files import append, atomic_write, locked

EDITION = version("bandits_lib").rpartition(".")[0]  # of release 0.3.1: 0.3
LOG = ("paper", "edition", "begun", "state", "commit", "seed", "why", "outcomes")


def computed_seed(paper, edition):
    """Return the seed of a paper in an edition: 31 bits of the SHA-256 of "<SHA-256 of the paper's text> <edition>".

    The seeds of edition 0.3 were computed otherwise; figures/seeds.csv has them."""
    return int(hashlib.sha256(f"{COPIES[paper]} {edition}".encode()).hexdigest()[:8], 16) >> 1


def seed(paper, log, edition=EDITION):
    """Return the seed of a paper: the computed one, and for edition 0.3, which had another rule, the listed one."""
    runs = read_log(log)
    listed = runs.loc[(runs["paper"] == paper) & (runs["edition"] == edition), "seed"]
    return int(listed.iloc[-1]) if edition == "0.3" and len(listed) else computed_seed(paper, edition)


def read_log(log: str | PathLike) -> pd.DataFrame:
    """Return the list of runs of whole papers.

    Parameters
    ----------
    log : str or path-like
        The file, figures/seeds.csv.

    Returns
    -------
    DataFrame
        A row for each run that was begun or ended; none if there is no such file.

    Examples
    --------
    >>> len(read_log("nothing.csv"))
    0
    """
    if not Path(log).exists():
        return pd.DataFrame(columns=LOG, dtype=str)
    return pd.read_csv(log, dtype=str, keep_default_na=False)


def begin(papers, seeds, log, why=""):
    """Append a row for each paper whose run begins; `why` says why digits change within an edition."""
    for paper in papers:
        _append(log, paper, "begun", seeds[paper], why)


def drew(papers, seeds, log, figure, why):
    """Append a row for each paper of which a figure is drawn again within an edition, and say why."""
    for paper in papers:
        _append(log, paper, f"drew {figure}", seeds[paper], why)


def end(papers, seeds, log, claims):
    """Append a row for each paper whose run ended, with the number of sentences of each word by the text."""
    for paper in papers:
        counts = sentences(claims[claims["paper"] == paper])["text"].value_counts()
        outcomes = "; ".join(f"{word} {counts[word]}" for word in WORDS if word in counts)
        _append(log, paper, "ended", seeds[paper], "", outcomes)


def _append(log, paper, state, seed, why, outcomes=""):
    time = datetime.now(UTC).strftime("%Y-%m-%d %H:%M")
    append_row(log, LOG, (paper, EDITION, time, state, git("rev-parse", "HEAD"), seed, why, outcomes))


def append_row(file, columns, values):
    """Append a row to a csv that only grows; begin the file if it is missing."""
    if not Path(file).exists():
        atomic_write(file, ",".join(columns) + "\n", parents=True)
    row = pd.DataFrame([values]).to_csv(index=False, header=False, lineterminator="\n")
    with locked(Path(file)):
        append(Path(file), row.encode())


def check_committed():
    """Refuse a run of papers from a checkout with uncommitted changes."""
    changed = changed_files()
    if changed is None:
        raise ValueError("outcomes are written from a git checkout only, and this folder is not one")
    if changed:
        raise ValueError(
            f"outcomes are written from committed code only, and {', '.join(changed[:5])} changed: commit, or give"
            " --seed"
        )


def runs_of(paper: str, log: str | PathLike) -> str:
    """Return in words how many runs of a paper were begun, continued after a stop, ended, and not ended."""
    runs = read_log(log)
    runs = runs[runs["paper"] == paper]
    same = ["commit", "seed", "state"]  # begun again with the values of the run before, which had not ended
    again = int(((runs[same] == runs[same].shift()).all(axis=1) & (runs["state"] == "begun")).sum())
    begun, ended = ((runs["state"] == state).sum() for state in ("begun", "ended"))
    continued = f" (not counting {again} continuation{'s' * (again > 1)} after a stop)" if again else ""
    stopped = f", {open_runs} stopped before the end" if (open_runs := begun - again - ended) else ""
    return f"{begun - again} begun{continued}, {ended} ended{stopped}"


# --- another edition


def changes(claims: pd.DataFrame, revision: str) -> str:
    """Return as Markdown how the claims differ from those of another revision of the repository.

    The words before are those that the pages of the ledger had then."""
    text = git("show", f"{revision}:figures/claims.csv")
    if text is None:
        raise ValueError(f"git has no figures/claims.csv at {revision!r}")
    then, present = _sentences_of(read_file(io.StringIO(text))), _sentences_of(claims)
    pages = [git("show", f"{revision}:figures/ledger/{paper}.md") or "" for paper in COPIES]
    said = dict(re.findall(r'^<a id="([^"]+)"></a>\*\*(.*?)\*\*', "\n".join(pages), re.MULTILINE))
    words = {id: verdict(row) for id, row in sentences(claims).iterrows()}
    rows = []
    for id in dict.fromkeys([*then, *present]):
        one, other = then.get(id, {}), present.get(id, {})
        before, after = said.get(anchor(id), "no claim"), words.get(id, "no claim")
        fields = [name for name in one if one and other and one[name] != other[name]]
        changed = [(name, one[name], other[name]) for name in fields] or [("", "", "")] * (before != after)
        rows += [(id, *field, before, after) for field in changed]
    frame = pd.DataFrame(rows, columns=["id", "field", "before", "after", "verdict before", "verdict after"])
    return f"# Claims that differ from {revision}\n\n{markdown(frame)}\n"


def _sentences_of(claims):
    """{id of a sentence: its place, quotation, first quantity and criterion}."""
    groups = by_sentence(claims[claims["quote"] != ""])
    first = {id: rows[0] | {"condition": condition(rows[0])} for id, rows in groups.items()}
    return {id: {name: r[name] for name in ("place", "quote", "measures", "condition")} for id, r in first.items()}


def save_changes(claims, revision, out):
    """Write figures/claims_changes.md."""
    atomic_write(Path(out) / "figures" / "claims_changes.md", changes(claims, revision), parents=True)
