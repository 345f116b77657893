"""The papers' errors, each with a correction and a proof, or the notebook that shows it."""

from os import PathLike
from pathlib import Path

import pandas as pd
import yaml

from bandits_companion.claims_table import position
from bandits_companion.ledger import markdown, quoted
from bandits_companion.registry import PAPERS
from bandits_lib.files import atomic_write

KINDS = {  # in the order of the page
    "error": "Errors: the printed statement is false",
    "gap": "Gaps: the statement is or may be true, but its proof has a hole",
    "misprint": "Misprints",
    "remark": "Remarks",
}
HOW_TO_READ = (
    "Each entry says what a paper prints, what is correct, and why: by a proof, by a run, or by both. Words in "
    "quotation marks are the paper's own, pieces of formulas included. In an *error* the printed statement itself is "
    "false for a case that the paper allows. In a *gap* the statement is or may be true, perhaps under a condition "
    "that its proof uses without saying so, but the printed proof has a hole. A reader restores a *misprint* at once. "
    "A *remark* is about advice, informal words, conjectures or published programs, or infers how a number was made. "
    "The same slip has the same kind in all papers."
)
LONG = 60  # words of a proof that is folded
COLUMNS = ["paper", "kind", "place", "quote", "paraphrase", "correct", "proof", "run"]


def read(path: str | PathLike) -> pd.DataFrame:
    """Read errata.yaml.

    Parameters
    ----------
    path : str or path-like
        File of a list of mappings. Each has paper, kind, place, `quote` (verbatim, one or a list) or `paraphrase`,
        correct (one, or a list with one for each quote), and `proof` or `run` (a notebook).

    Returns
    -------
    DataFrame
        One row per entry, with columns paper, kind, place, quote, paraphrase, correct, proof and run.

    Raises
    ------
    ValueError
        If an entry lacks a field, has another one, or names an unknown paper or kind.

    Examples
    --------
    >>> from pathlib import Path
    >>> found = dict(paper="fiez2019", kind="error", place="Lemma 1", quote="5", correct="4", proof="count", run="demo")
    >>> _ = Path("errata.yaml").write_text(str([found]))
    >>> read("errata.yaml")["place"].tolist()
    ['Lemma 1']
    """
    entries = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    for entry in entries:
        if faults := list(_faults(entry)):
            wanted = f"paper ({', '.join(PAPERS)}), kind, place, quote or paraphrase, correct, and proof or run"
            raise ValueError(f"an erratum needs {wanted}: {'; '.join(faults)}; got {entry}")
    return pd.DataFrame([{name: entry.get(name, "") for name in COLUMNS} for entry in entries], columns=COLUMNS)


def _faults(entry):
    if unknown := set(entry) - set(COLUMNS):
        yield f"unknown {', '.join(sorted(unknown))}"
    if missing := {"paper", "place", "correct"} - set(entry):
        yield f"no {', '.join(sorted(missing))}"
    if entry.get("paper") not in PAPERS:
        yield f"paper is {entry.get('paper')!r}"
    printed = [name for name in ("quote", "paraphrase") if entry.get(name)]
    if len(printed) != 1:
        yield f"it must have one of quote and paraphrase; it has {', '.join(printed) or 'neither'}"
    if entry.get("kind") not in KINDS:
        yield f"kind must be one of {', '.join(KINDS)}; it is {entry.get('kind')!r}"
    if isinstance(correct := entry.get("correct"), list) and len(correct) != len(_listed(entry.get("quote", []))):
        yield "a list of corrections must have one for each quote"
    if not {"proof", "run"} & set(entry):
        yield "it has neither proof nor run"


def quotes(errata):
    """Return (paper, place, words) of every verbatim quotation."""
    return [(row.paper, row.place, words) for row in errata.itertuples() for words in _listed(row.quote)]


def _listed(quote):
    return quote if isinstance(quote, list) else [quote] * bool(quote)


def page(errata: pd.DataFrame) -> str:
    """Return the errata as Markdown, for a page in figures/: what is printed, what is correct, and why."""
    parts = ["# Errata", HOW_TO_READ, markdown(counts(errata).reset_index(names="paper"))]
    for paper in sorted(errata["paper"].unique(), key=position):
        parts.append(f"## {paper}")
        for kind, title in KINDS.items():
            rows = errata[(errata["paper"] == paper) & (errata["kind"] == kind)]
            parts += [f"### {title}"] * bool(len(rows))
            parts += [_entry(row) for row in rows.itertuples()]
    return "\n\n".join(parts) + "\n"


def counts(errata: pd.DataFrame) -> pd.DataFrame:
    """Count the errata of each paper by kind.

    Parameters
    ----------
    errata : DataFrame
        Errata as `errata.read` returns them.

    Returns
    -------
    DataFrame
        One row per paper and a last row "all"; one column per kind.

    Examples
    --------
    >>> import pandas as pd
    >>> counts(pd.DataFrame([dict(paper="fiez2019", kind="error")])).loc["all"].tolist()
    [1, 0, 0, 0]
    """
    papers = sorted(set(errata["paper"]), key=position)
    found = pd.crosstab(errata["paper"], errata["kind"]).reindex(papers, columns=list(KINDS), fill_value=0)
    return pd.concat([found, found.sum().rename("all").to_frame().T]).rename_axis("paper")


def _entry(row):
    run = f"Run: [{row.run}](../notebooks/{row.run}.ipynb)." if row.run else ""
    proof = "\n\n".join(_ended(" ".join(paragraph.split())) for paragraph in row.proof.splitlines())
    if isinstance(row.correct, list):
        lines = [f"- “{quoted(words)}”: {correct}" for words, correct in zip(row.quote, row.correct, strict=True)]
    else:
        lines = [f"- *Printed:* {_printed(row)}", f"- *Correct:* {row.correct}"]
    folded = len(proof.split()) > LONG
    why = f"*Why:* {proof} {run}".strip() if proof and not folded else run
    lines += [f"- {why}"] * bool(why)
    parts = [f"**{row.place}**", "\n".join(_ended(" ".join(line.split())) for line in lines)]
    return "\n\n".join([*parts, *["<details><summary>Proof and details</summary>", proof, "</details>"] * folded])


def _ended(text):
    return text if text.endswith((".", "?", "!", ".)")) else f"{text}."


def _printed(row):
    """Return the paper's words in quotation marks, or our paraphrase of them."""
    if row.quote:
        return "; ".join(f"“{quoted(words)}”" for words in _listed(row.quote))
    return f"(in our words) {row.paraphrase}"


def save(errata: pd.DataFrame, out: str | PathLike) -> None:
    """Write the errata to <out>/figures/errata.md.

    Parameters
    ----------
    errata, out : DataFrame, str or path-like
        Errata as `errata.read` returns them, and the folder to write to.

    Examples
    --------
    >>> import pandas as pd
    >>> save(pd.DataFrame(columns=["paper", "kind"]), ".")
    """
    atomic_write(Path(out) / "figures" / "errata.md", page(errata), parents=True)
