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

from bandits_companion.claims_table import KINDS, by_sentence, condition, csv_of, read, read_file, sentences
from bandits_companion.ledger import anchor, markdown, verdict
from bandits_companion.registry import COPIES, sentence
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

RULE, CRITERION, SEED = "Another rule of judgement", "Another sentence, measurement or criterion", "Another seed"
# words of edition 0.3 by the text that have another name now
FORMERLY = {"level": "partly", "weaker than said": "partly", "depends on the reading": "partly", "compatible": "holds"}
FORMERLY |= {"undecided": "open", "too weak to tell": "open", "untestable": "not tested", "incompatible": "falls"}
ABOUT = {
    RULE: "The same numbers have another word by the text. Edition 0.3 also had *holds in the published program only*.",
    CRITERION: "What is quoted, measured or asked has changed. *Loser*: negative control. *Winner*: positive control.",
    SEED: "Only the random numbers differ, so these words are less certain than the rest; their cells say so.",
}


def changes(claims: pd.DataFrame, edition: str, same_runs: str) -> tuple[str, dict[tuple[str, str], str]]:
    """Return as Markdown which sentences have another word than in the edition before, sorted by reason.

    Parameters
    ----------
    claims : DataFrame
        The claims of this edition.
    edition, same_runs : str
        The git revision with which the edition before ended, whose pages of the ledger have its words; and the last
        revision with its runs, whose claims are judged by the present rules.

    Returns
    -------
    page : str
        A table for each reason.
    by_seed : dict of {(id, kind): str}
        The word before of each cell that another seed alone has changed.
    """
    pages = [_at(edition, f"figures/ledger/{paper}.md") for paper in COPIES]
    said = dict(re.findall(r'^<a id="([^"]+)"></a>\*\*(.*?)\*\*', "\n".join(pages), re.MULTILINE))
    first, before, now = _claims_at(edition), _claims_at(same_runs), claims
    asked = [_asked(one) for one in (first, before, now)]
    words = [sentences(one)[[*KINDS]].to_dict("index") for one in (before, now)]
    rows: dict[str, list] = {reason: [] for reason in ABOUT}
    by_seed: dict[tuple[str, str], str] = {}
    for id in dict.fromkeys([*asked[1], *asked[2], *asked[0]]):
        old = _old_word(said.get(anchor(id), "no claim"))
        same, present = (of.get(id, dict.fromkeys(KINDS, "no claim")) for of in words)
        if old != same["text"]:
            reason = RULE if asked[0].get(id) == asked[1].get(id) else CRITERION
            rows[reason].append((id, old, same["text"], *_differing(asked[0].get(id), asked[1].get(id))))
        if same != present:
            reason = SEED if asked[1].get(id) == asked[2].get(id) else CRITERION
            rows[reason].append((id, _both(same), _both(present), *_differing(asked[1].get(id), asked[2].get(id))))
        if same != present and reason == SEED:
            by_seed |= {(id, kind): same[kind] for kind in KINDS if same[kind] != present[kind]}
    columns = ["id", "word before", "word after", "asked before", "asked now"]
    parts = [f"# Words that changed since the edition that ended with commit {edition}"]
    parts.append("A sentence whose word changed twice has two rows; the last one has the present word.")
    for reason, found in rows.items():
        table = pd.DataFrame(found, columns=columns)
        table = table if reason == CRITERION else table[columns[:3]]
        parts += [f"## {reason}: {len(found)}", ABOUT[reason], *([markdown(table)] if found else [])]
    return "\n\n".join(parts) + "\n", by_seed


def _at(revision, file):
    if (text := git("show", f"{revision}:{file}")) is None:
        raise ValueError(f"git has no {file} at {revision!r}")
    return text


def _claims_at(revision):
    return read_file(io.StringIO(_at(revision, "figures/claims.csv")))


def _old_word(said):
    """Return the word by the text that a page of the ledger said, in the words of today."""
    word = said.partition(" by the text")[0]
    return FORMERLY.get(word, word)


def _both(cells):
    """Return the two cells of a sentence in words."""
    return cells["text"] if cells["program"] in ("not tested", "no claim") else verdict(pd.Series(cells))


def _asked(claims):
    """{id of a sentence: its quotation, and what is measured and asked in each of its claims}."""
    groups = by_sentence(claims[claims["quote"] != ""]).items()
    names = ("id", "measures", "loser", "winner")
    asked = {id: [(*(r[name] for name in names), _criterion(r)) for r in rows] for id, rows in groups}
    return {id: (rows[0]["quote"], tuple(asked[id])) for id, rows in groups}


def _criterion(row):
    return "not tested" if row["untestable"] else condition(row)


def _differing(before, after):
    """Return in words what was asked before and is not asked now, and the reverse."""
    if before is None or after is None:
        return ("no claim", "") if before is None else ("", "no claim")
    quotes = [[] if before[0] == after[0] else [quote] for quote in (before[0], after[0])]
    for_each = ({*before[1]} - {*after[1]}, {*after[1]} - {*before[1]})
    lists = ([_question(*row) for row in sorted(some)] for some in for_each)
    return tuple("; ".join(dict.fromkeys([*quote, *some])) for quote, some in zip(quotes, lists, strict=True))


def _question(_, measures, loser, winner, said):
    """Return in words what is measured, and its criterion and controls."""
    controls = [f"{name}: {control}" for name, control in (("loser", loser), ("winner", winner)) if control]
    return f"{measures} ({'; '.join([said, *controls])})"


def save_changes(edition: str, same_runs: str, figures: str | PathLike) -> None:
    """Write claims_changes.md, and note in the claims of each cell that another seed alone has changed what it was.

    Parameters
    ----------
    edition, same_runs : str
        As for `changes`.
    figures : path-like
        The folder figures/.
    """
    page, by_seed = changes(read(Path(figures) / "claims"), edition, same_runs)
    for file in sorted((Path(figures) / "claims").glob("*.csv")):
        rows = read_file(file)
        cells = zip(rows["id"].map(sentence), rows["kind"], strict=True)
        rows["before"] = [by_seed.get(cell, "") for cell in cells]
        atomic_write(file, csv_of(rows))
    atomic_write(Path(figures) / "claims_changes.md", page, parents=True)
