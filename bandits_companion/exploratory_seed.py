"""Compare the claims of the exploratory seed (figures/explored) with those of the confirmatory seed.

Thresholds were fixed while runs with the exploratory seed were inspected. Verdicts come from the confirmatory seed.
"""

import json
from os import PathLike
from pathlib import Path

import pandas as pd

from bandits_companion.claims_table import COLUMNS, holds_for, judged, read_file, sentences, told
from bandits_companion.ledger import markdown
from bandits_companion.registry import sentence
from bandits_lib.files import atomic_write

RULE = ["quote", "statement", "whose", "holds_low", "holds_high", "closeness", "side", "printed", "tie_low", "tie_high"]


def seeds(figures):
    """Return the seed of every notebook, as the json files beside its figures say; refuse two seeds of one notebook."""
    found: dict[str, int] = {}
    for file in sorted(Path(figures).glob("*/*.json")):
        about = json.loads(file.read_text(encoding="utf-8"))
        name, seed = about["command"].partition("notebooks/")[2].partition(".ipynb")[0], about["parameters"]["seed"]
        if found.setdefault(name, seed) != seed:
            raise ValueError(f"{file} is of seed {seed}, other files of {name} of seed {found[name]}: run it again")
    return found


def of_paper(seeds, paper):
    """Return the seed of a paper's notebooks in words: "seed 7", or every seed with its notebooks."""
    of: dict[int, list] = {}
    for name, seed in sorted(seeds.items()):
        if name.startswith(f"{paper}_"):
            of.setdefault(seed, []).append(name)
    if len(of) == 1:
        return f"seed {next(iter(of))}"
    return " and ".join(f"seed {seed} ({', '.join(names)})" for seed, names in sorted(of.items()))


def save(figures, out, never=None):
    """Copy the claims below `figures` to <out>/figures/explored with a column `seed`; return the notebooks' names."""
    of, files = seeds(figures), sorted((Path(figures) / "claims").glob("*.csv"))
    if not files:
        raise ValueError(f"{figures} has no claims to keep")
    if unknown := [file.stem for file in files if file.stem not in of]:
        raise ValueError(f"no json says with which seed {', '.join(unknown)} was run")
    if confirmed := [file.stem for file in files if of[file.stem] == never]:
        raise ValueError(f"{', '.join(confirmed)} was run with the confirmatory seed {never}, and did not explore")
    folder = Path(out) / "figures" / "explored"
    for file in files:
        kept = pd.read_csv(file, dtype=str, keep_default_na=False).assign(seed=of[file.stem])
        atomic_write(folder / file.name, kept.to_csv(index=False, lineterminator="\n"), parents=True)
    return [file.stem for file in files]


def read(folder):
    """Read the claims of the exploration, indexed by id; there may be none."""
    frames = [read_file(file).assign(seed=pd.read_csv(file)["seed"]) for file in sorted(Path(folder).glob("*.csv"))]
    found = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=[*COLUMNS, "seed"])
    return found.set_index("id", drop=False)


def before(folder: str | PathLike, figures: str | PathLike) -> pd.DataFrame:
    """Return the exploratory claims of all notebooks that were run with another seed since.

    Parameters
    ----------
    folder, figures : str or path-like
        The folder figures/explored, and the figures to which the present claims belong.

    Returns
    -------
    DataFrame
        Claims as `ledger.read` returns them, indexed by id and with a column `seed`.

    Examples
    --------
    >>> len(before("nowhere", "nowhere"))
    0
    """
    found, of = read(folder), seeds(figures)
    now = found["id"].str.partition("/")[0].map(of) if len(found) else found["seed"]
    return found[(now.notna() & (now != found["seed"])).astype(bool)]


def words(claims: pd.DataFrame, old: pd.DataFrame) -> pd.Series:
    """Return estimate, interval and verdict of every claim when it was explored.

    Parameters
    ----------
    claims, old : DataFrame
        Claims as `ledger.read` and `exploratory_seed.before` return them.

    Returns
    -------
    Series
        Words with the index of `claims`; "" for a claim that was not explored.

    Examples
    --------
    >>> import pandas as pd
    >>> from bandits_companion.exploratory_seed import before
    >>> words(pd.DataFrame({"id": ["fiez2019_demo/a"]}), before("nowhere", "nowhere")).tolist()
    ['']
    """
    known = {row["id"]: _told(row) for row in old.to_dict("records")}
    return claims["id"].map(lambda id: known.get(id, ""))


def _told(row):
    return told(row) if row["whose"] == "ours" else f"{told(row)}, {judged(row)}"


def changed(claims, old):
    """Return one row per claim whose verdict the confirmatory seed changed."""
    then, now = sentences(old)["verdict"], sentences(claims)["verdict"]
    pairs = [(old.loc[row["id"]].to_dict(), row) for row in claims.to_dict("records") if row["id"] in old.index]
    found = [
        (row["id"], _told(was), _told(row), _both(sentence(row["id"]), then, now), _rule_changed(was, row))
        for was, row in pairs
        if row["verdict"] != was["verdict"]
    ]
    return pd.DataFrame(found, columns=["claim", "when explored", "now", "its sentence", "its rule"])


def _both(id, then, now):
    was, verdict = then.get(id, ""), now.get(id, "")
    return f"{verdict}, as before" if was == verdict != "" else ", now ".join(filter(None, (was, verdict)))


def _rule_changed(was, row):
    """Return which words or thresholds have changed since, and the former threshold."""
    names = [name for name in RULE if str(was[name]) != str(row[name])]
    return f"{', '.join(names)} changed; it held for {holds_for(was)}" if names else "as before"


def page(claims: pd.DataFrame, old: pd.DataFrame) -> str:
    """Return as Markdown which verdicts the confirmatory seed changed.

    Parameters
    ----------
    claims, old : DataFrame
        Claims as `ledger.read` and `exploratory_seed.before` return them.

    Returns
    -------
    str
        A sentence, and a table of the changed verdicts if there are any.

    Examples
    --------
    >>> import pandas as pd
    >>> from bandits_companion.exploratory_seed import before
    >>> page(pd.DataFrame(), before("nowhere", "nowhere"))
    'These claims have the seed with which they were explored: there is nothing to compare yet.'
    """
    if old.empty:
        return "These claims have the seed with which they were explored: there is nothing to compare yet."
    compared = claims[claims["id"].isin(old.index) & (claims["whose"] != "ours")]
    found, new = changed(claims, old), sorted(set(_of_notebooks(claims, old)) - set(old.index))
    parts = [f"{len(found)} of {len(compared)} verdicts are other ones than when they were explored."]
    parts += [markdown(found)] * bool(len(found))
    parts += [f"Not measured when it was explored: {', '.join(new)}."] * bool(new)
    parts += [f"No longer a claim: {', '.join(gone)}." for gone in [sorted(set(old.index) - set(claims["id"]))] if gone]
    return "\n\n".join(parts)


def _of_notebooks(claims, old):
    notebooks = set(old["id"].str.partition("/")[0])
    return [id for id in claims["id"] if id.partition("/")[0] in notebooks]
