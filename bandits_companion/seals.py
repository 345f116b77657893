"""Seeds that nobody chooses, the list of sealed runs, and what another seed or another edition says of a claim.

The seed of a paper is computed from the fields that decide its outcomes: what is run, and how it is judged. That rules
out a convenient choice, not a determined one: who changes a field until the seed is convenient leaves rows in
figures/seeds.csv, which only grows.
"""

import hashlib
import io
import json
from datetime import UTC, datetime
from math import isnan
from os import PathLike
from pathlib import Path
from statistics import NormalDist

import pandas as pd
import yaml

from bandits_companion.claims_table import COLUMNS, MEASURED, holds_for, read_file, sentences, told, totals
from bandits_companion.ledger import markdown
from bandits_companion.notebook_runs import drawn_by
from bandits_companion.registry import read, sentence
from bandits_companion.verdicts import OUTCOMES
from bandits_lib.figures import parameters
from bandits_lib.figures.results import ELSEWHERE, git, library_hash
from bandits_lib.files import append, atomic_write, locked
from bandits_lib.simulate.own_rule import OWN

FIRST_WITH_OWN = "fiez2019_5a_benchmark"  # its `own` = "" was hashed before other notebooks had one; it decides nothing
SECONDS = "seconds of"  # so begins what is measured of a claim that differs in every run
LOG = ("paper", "begun", "state", "commit", "seed", "library", "redrawn", "outcomes")


def deciding(paper: str, notebooks: str | PathLike) -> dict:
    """Return the typed fields that decide the outcomes of a paper: of its claims, and the settings of its notebooks."""
    folder = Path(notebooks)
    plan = yaml.safe_load((folder / "paper.yaml").read_text(encoding="utf-8"))
    settings = {}
    for name in plan:
        if name.startswith(f"{paper}_"):
            cell = {key: known.default for key, known in parameters.read(folder / f"{name}.ipynb").items()}
            used = cell | plan[name]["parameters"]
            settings[name] = {key: value for key, value in used.items() if key not in (*ELSEWHERE, "seed", OWN)}
    if FIRST_WITH_OWN in settings:
        settings[FIRST_WITH_OWN][OWN] = ""
    claims = {
        id: [e.kind, *e.rule, e.error, e.factor, e.loser, e.winner, bool(e.slack), e.sampled]
        for id, e in read(folder / "claims.yaml").items()
        if e.paper == paper and e.quote and not e.untestable
    }
    return {"claims": claims, "settings": settings}


def fields_hash(paper: str, notebooks: str | PathLike, log: str | PathLike, redrawn: str = "") -> str:
    """Return the SHA-256 of the deciding fields and of the reasons for which the seed was, or is, drawn anew."""
    runs = read_log(log)
    reasons = [reason for reason in (*runs.loc[runs["paper"] == paper, "redrawn"], redrawn) if reason]
    text = json.dumps([deciding(paper, notebooks), [*dict.fromkeys(reasons)]], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def seed(paper: str, notebooks: str | PathLike, log: str | PathLike, redrawn: str = "") -> int:
    """Return the seed of a paper: the first 31 bits of the hash of its deciding fields."""
    return int(fields_hash(paper, notebooks, log, redrawn)[:8], 16) >> 1


# --- the list of sealed runs


def read_log(log: str | PathLike) -> pd.DataFrame:
    """Return the list of sealed runs.

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


def begin(papers, seeds, log, redrawn=""):
    """Append a row for each paper of a sealed run that begins."""
    for paper in papers:
        _append(log, paper, "begun", seeds[paper], redrawn)


def end(papers, seeds, log, claims):
    """Append a row for each paper of a sealed run that ended, with the number of sentences of each outcome."""
    for paper in papers:
        counts = totals(claims[claims["paper"] == paper]).loc["all", list(OUTCOMES)]
        said = "; ".join(f"{outcome} {count}" for outcome, count in counts.items() if count)
        _append(log, paper, "ended", seeds[paper], "", said)


def stamp(paper, notebooks, figures, names):
    """Add to the json files of the notebooks `names` the hash of the deciding fields, and `same_claims`."""
    fields = fields_hash(paper, notebooks, Path(figures) / "seeds.csv")
    for file in (Path(figures) / paper).glob("*.json"):
        if (name := drawn_by(file)) not in names:
            continue
        known = json.loads(file.read_text(encoding="utf-8"))
        code = known.get("code", {}) | {"fields": fields}
        known["code"] = code | {"same_claims": same_claims(code, file, Path(figures) / "claims" / f"{name}.csv")}
        atomic_write(file, json.dumps(known, indent=1) + "\n")


def same_claims(code, described, claims):
    """Return [[library hash, notebook hash]] of the other code that measured the same claims, by git's last commit."""
    about, measured = (git("show", f"HEAD:./figures/{file.parent.name}/{file.name}") for file in (described, claims))
    if about is None or measured is None or not claims.exists():
        return []
    then = json.loads(about).get("code", {})
    here, before = ([one.get("library"), one.get("notebook")] for one in (code, then))
    old, new = (_digits(file) for file in (io.StringIO(measured), claims))
    if before != here and any(old[id] != new[id] for id in old.keys() & new.keys()):
        return []
    return [one for one in [before, *then.get("same_claims", [])] if all(one) and one != here]


def _digits(file):
    """Return {id: measured digits} of the claims in a csv, without those in seconds, which differ in every run."""
    claims = pd.read_csv(file, dtype=str, keep_default_na=False).reindex(columns=["id", "measures", *MEASURED, "error"])
    rows = claims.fillna("").itertuples(index=False)
    return {id: digits for id, measures, *digits in rows if not measures.startswith(SECONDS)}


def _append(log, paper, state, seed, redrawn, outcomes=""):
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M")
    row = pd.DataFrame([(paper, now, state, git("rev-parse", "HEAD"), seed, library_hash(), redrawn, outcomes)])
    if not Path(log).exists():
        atomic_write(log, ",".join(LOG) + "\n", parents=True)
    with locked(Path(log)):
        append(Path(log), row.to_csv(index=False, header=False, lineterminator="\n").encode())


def sealed_seeds(log):
    """Return the seeds of all sealed runs."""
    return set(map(int, read_log(log)["seed"]))


def check_committed():
    """Refuse a sealed run from a checkout with uncommitted changes outside figures/ and README.md."""
    changed = git(
        "status", "--porcelain", "--untracked-files=no", "--", ".", ":(exclude)figures", ":(exclude)README.md"
    )
    if changed is None:
        raise ValueError("verdicts are written from a git checkout only, and this folder is not one")
    if changed:
        files = ", ".join(line[3:] for line in changed.splitlines()[:5])
        raise ValueError(f"verdicts are written from committed code only, and {files} changed: commit, or give --seed")


def runs_of(paper: str, log: str | PathLike) -> str:
    """Return in words how many sealed runs of a paper were begun, continued after a stop, ended, and not ended."""
    runs = read_log(log)
    runs = runs[runs["paper"] == paper]
    same = ["commit", "seed", "state"]  # begun again with the values of the run before, which had not ended
    again = int(((runs[same] == runs[same].shift()).all(axis=1) & (runs["state"] == "begun")).sum())
    begun, ended = ((runs["state"] == state).sum() for state in ("begun", "ended"))
    continued = f" (not counting {again} continuation{'s' * (again > 1)} after a stop)" if again else ""
    stopped = f", {left} stopped before the end" if (left := begun - again - ended) else ""
    return f"{begun - again} begun{continued}, {ended} ended{stopped}"


# --- another seed on the same code


def about(figures):
    """Return {notebook: (seed, library hash, notebook hash, {other code with the same claims})}; refuse two values."""
    found: dict[str, tuple] = {}
    for file in sorted(Path(figures).glob("*/*.json")):
        told_here = json.loads(file.read_text(encoding="utf-8"))
        name = drawn_by(file)
        code = told_here.get("code", {})
        here = (told_here["parameters"]["seed"], code.get("library", ""), code.get("notebook", ""))
        *known, same = found.setdefault(name, (*here, set()))
        if tuple(known) != here:
            raise ValueError(f"{file} is of another seed or code than other files of {name}: run it again")
        same.update(map(tuple, code.get("same_claims", [])))
    return found


def keep_explored(figures, out, sealed):
    """Copy claims below `figures` to <out>/figures/explored with seed and code; return the notebooks' names."""
    of, files = about(figures), sorted((Path(figures) / "claims").glob("*.csv"))
    if not files:
        raise ValueError(f"{figures} has no claims to keep")
    if unknown := [file.stem for file in files if file.stem not in of]:
        raise ValueError(f"no json says with which seed {', '.join(unknown)} was run")
    if confirmed := [file.stem for file in files if of[file.stem][0] in sealed]:
        raise ValueError(
            f"{', '.join(confirmed)} was run with a sealed seed: figures/explored is only for claims that were "
            "computed with other seeds"
        )
    for file in files:
        seed, library, notebook, _ = of[file.stem]
        kept = pd.read_csv(file, dtype=str, keep_default_na=False).assign(seed=seed, library=library, notebook=notebook)
        path = Path(out) / "figures" / "explored" / file.name
        atomic_write(path, kept.to_csv(index=False, lineterminator="\n"), parents=True)
    return [file.stem for file in files]


def explored(folder: str | PathLike, figures: str | PathLike) -> pd.DataFrame:
    """Return the claims in figures/explored that another seed gave with the same code, or with code of the same claims.

    Parameters
    ----------
    folder, figures : str or path-like
        The folder figures/explored, and the folder figures with the present claims.

    Returns
    -------
    DataFrame
        Claims as `ledger.read` returns them.

    Examples
    --------
    >>> len(explored("nowhere", "nowhere"))
    0
    """
    now, frames = about(figures), []
    for file in sorted(Path(folder).glob("*.csv")):
        known = pd.read_csv(file, dtype=str, keep_default_na=False)
        other = known[["seed", "library", "notebook"]].iloc[0].tolist() if "library" in known else ["", "", ""]
        seed, *code, same = now.get(file.stem, ("", "", "", ()))
        if all(other[1:]) and tuple(other[1:]) in (tuple(code), *same) and other[0] != str(seed):
            frames.append(read_file(file))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=COLUMNS)


def alarms(claims: pd.DataFrame, old: pd.DataFrame) -> pd.DataFrame:
    """Return the claims of which two seeds on equal code differ by more than their errors explain.

    Claims in seconds are left out, since they depend on the machine and on what else it did.

    Parameters
    ----------
    claims, old : DataFrame
        Claims as `ledger.read` returns them, and those of the exploratory seed as `explored` does.

    Returns
    -------
    DataFrame
        A row for each alarm: claim, both intervals, and the difference in standard errors.

    Examples
    --------
    >>> import pandas as pd
    >>> from bandits_companion.claims_table import COLUMNS
    >>> len(alarms(pd.DataFrame(columns=COLUMNS), pd.DataFrame(columns=COLUMNS)))
    0
    """
    numbers = [*MEASURED, "error"]
    lasting = claims[~claims["measures"].fillna("").str.startswith(SECONDS)]
    both = lasting.merge(old[["id", *numbers]], on="id", suffixes=("", "_then"))
    limit = NormalDist().inv_cdf(1 - 0.025 / max(len(both), 1))  # standard errors, by Bonferroni
    rows = []
    for row in both.to_dict("records"):
        then = {name: row[f"{name}_then"] for name in numbers}
        error = (_error(row) ** 2 + _error(then) ** 2) ** 0.5
        apart = abs(row["estimate"] - then["estimate"])
        if apart > limit * error:
            rows.append((row["id"], told(then), told(row), apart / error if error else float("inf")))
    return pd.DataFrame(rows, columns=["claim", "when explored", "now", "standard errors"])


def _error(row):
    """The standard error of an estimate; from its interval, where none was kept."""
    return (row["high"] - row["low"]) / (2 * 1.96) if isnan(row["error"]) else row["error"]


# --- another edition


def changes(claims: pd.DataFrame, revision: str, path: str = "figures/claims.csv") -> str:
    """Return as Markdown how the claims differ from those of another revision of the repository."""
    text = git("show", f"{revision}:{path}")
    if text is None:
        raise ValueError(f"git has no {path} at {revision!r}")
    old = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)
    old = read_file(io.StringIO(text)) if "letter" in old else old
    then, now = _sentences_of(old), _sentences_of(claims)
    rows = []
    for id in dict.fromkeys([*then, *now]):
        one, other = then.get(id, {}), now.get(id, {})
        outcomes = (one.get("outcome", "no claim"), other.get("outcome", "no claim"))
        fields = [
            name for name in ("place", "quote", "holds for") if one.get(name) != other.get(name) and one and other
        ]
        changed = [(name, one[name], other[name]) for name in fields] or [("", "", "")] * (outcomes[0] != outcomes[1])
        rows += [(id, *field, *outcomes) for field in changed]
    frame = pd.DataFrame(rows, columns=["id", "field", "before", "after", "outcome before", "outcome after"])
    return f"# Claims that differ from {revision}\n\n{markdown(frame)}\n"


def _sentences_of(claims):
    """{id of a sentence: its place, quotation, rule and outcome}; claims may have the columns of the second edition."""
    if "letter" in claims:
        outcomes = sentences(claims)["outcome"].to_dict()
        rows = claims[claims["quote"] != ""].to_dict("records")
    else:
        rows = claims[claims["whose"] == "paper"].to_dict("records")
        for row in rows:
            row |= {name: float(row[name] or "nan") for name in ("holds_low", "holds_high", "printed", "printed_half")}
            row["graded"] = ""
        order = ("reproduced", "compatible", "no difference above the margin", "undecided", "not reproduced")
        outcomes = {}
        for row in rows:
            id = sentence(row["id"])
            outcomes[id] = min(outcomes.get(id, row["verdict"]), row["verdict"], key=order.index)
    found: dict[str, dict] = {}
    for row in rows:
        id = sentence(row["id"])
        found.setdefault(
            id, {"place": row["place"], "quote": row["quote"], "holds for": holds_for(row), "outcome": outcomes[id]}
        )
    return found


def save_changes(claims, revision, out):
    """Write figures/claims_changes.md."""
    atomic_write(Path(out) / "figures" / "claims_changes.md", changes(claims, revision), parents=True)
