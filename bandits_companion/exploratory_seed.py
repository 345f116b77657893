"""Two seeds: the claims of the exploration, kept in figures/explored, beside those of the confirmatory run.

Quotes, readings and thresholds were settled while runs with one seed were looked at; verdicts come from another seed.
Until that run is made, the claims are those of the exploration and there is nothing to compare.
"""

import json
from pathlib import Path

import pandas as pd

from bandits_companion.claims_table import COLUMNS, holds_for, judged, read_file, sentences, told
from bandits_companion.ledger import markdown
from bandits_companion.registry import sentence
from bandits_lib.files import atomic_write

RULE = ["quote", "statement", "whose", "holds_low", "holds_high", "closeness", "side", "printed", "tie_low", "tie_high"]


def seeds(figures):
    """The seed that every notebook had, as the json beside what it saved says.

    Parameters
    ----------
    figures : str or path-like
        Folder of figures, with one folder per paper.

    Returns
    -------
    dict of {str: int}
        By name of the notebook.

    Raises
    ------
    ValueError
        If a notebook has left files of two seeds.

    Examples
    --------
    >>> seeds("nowhere")
    {}
    """
    found: dict[str, int] = {}
    for file in sorted(Path(figures).glob("*/*.json")):
        about = json.loads(file.read_text(encoding="utf-8"))
        name, seed = about["command"].partition("notebooks/")[2].partition(".ipynb")[0], about["parameters"]["seed"]
        if found.setdefault(name, seed) != seed:
            raise ValueError(f"{file} is of seed {seed}, other files of {name} of seed {found[name]}: run it again")
    return found


def of_paper(seeds, paper):
    """The seed of a paper's notebooks in words.

    Parameters
    ----------
    seeds : dict of {str: int}
        As `seeds` returns them.
    paper : str
        Key of the paper.

    Returns
    -------
    str
        One seed, or every seed with its notebooks.

    Examples
    --------
    >>> of_paper({"fiez2019_a": 7, "fiez2019_b": 7}, "fiez2019")
    'seed 7'
    >>> of_paper({"fiez2019_a": 0, "fiez2019_b": 1}, "fiez2019")
    'seed 0 (fiez2019_a) and seed 1 (fiez2019_b)'
    """
    of: dict[int, list] = {}
    for name, seed in sorted(seeds.items()):
        if name.startswith(f"{paper}_"):
            of.setdefault(seed, []).append(name)
    if len(of) == 1:
        return f"seed {next(iter(of))}"
    return " and ".join(f"seed {seed} ({', '.join(names)})" for seed, names in sorted(of.items()))


def save(figures, out, never=None):
    """Write <out>/figures/explored/<notebook>.csv: the claims below `figures`, with a column `seed`.

    Parameters
    ----------
    figures : str or path-like
        Folder of figures, with claims/ and one folder per paper.
    out : str or path-like
        Folder to write to.
    never : int, optional
        The confirmatory seed, which is no exploration.

    Returns
    -------
    list of str
        Names of the notebooks whose claims were kept.

    Raises
    ------
    ValueError
        If there are no claims, their seed is not known, or it is the confirmatory one; then nothing is written.

    Examples
    --------
    >>> save("figures", ".")
    Traceback (most recent call last):
    ...
    ValueError: figures has no claims to keep
    """
    of, files = seeds(figures), sorted((Path(figures) / "claims").glob("*.csv"))
    if not files:
        raise ValueError(f"{figures} has no claims to keep")
    if unknown := [file.stem for file in files if file.stem not in of]:
        raise ValueError(f"no json says with which seed {', '.join(unknown)} was run")
    if confirmed := [file.stem for file in files if of[file.stem] == never]:
        raise ValueError(f"{', '.join(confirmed)} was run with the confirmatory seed {never}, and did not explore")
    folder = Path(out) / "figures" / "explored"
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        kept = pd.read_csv(file, dtype=str, keep_default_na=False).assign(seed=of[file.stem])
        atomic_write(folder / file.name, kept.to_csv(index=False, lineterminator="\n"))
    return [file.stem for file in files]


def read(folder):
    """The claims of the exploration.

    Parameters
    ----------
    folder : str or path-like
        The folder figures/explored; it may be missing.

    Returns
    -------
    DataFrame
        As `ledger.read` returns claims, with the column `seed`, and one row per id as its index.

    Examples
    --------
    >>> len(read("nowhere"))
    0
    """
    frames = [read_file(file).assign(seed=pd.read_csv(file)["seed"]) for file in sorted(Path(folder).glob("*.csv"))]
    found = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=[*COLUMNS, "seed"])
    return found.set_index("id", drop=False)


def before(folder, figures):
    """The claims of the exploration of all notebooks that have been run with another seed since.

    Parameters
    ----------
    folder : str or path-like
        The folder figures/explored.
    figures : str or path-like
        Folder of figures that the claims of today belong to.

    Returns
    -------
    DataFrame
        As `read` returns it; empty until there is a run with another seed.

    Raises
    ------
    ValueError
        If a notebook has left files of two seeds.

    Examples
    --------
    >>> len(before("nowhere", "nowhere"))
    0
    """
    found, of = read(folder), seeds(figures)
    now = found["id"].str.partition("/")[0].map(of) if len(found) else found["seed"]
    return found[(now.notna() & (now != found["seed"])).astype(bool)]


def words(claims, old):
    """What every claim was when it was explored: estimate, interval and verdict.

    Parameters
    ----------
    claims : DataFrame
        Claims as `ledger.read` returns them.
    old : DataFrame
        As `before` returns it.

    Returns
    -------
    Series
        Words, with the index of `claims`; "" of a claim that was not explored, or not run with another seed since.

    Examples
    --------
    >>> from bandits_companion.claims import claim
    >>> from bandits_companion.claims_table import full
    >>> found = full([claim("fiez2019_demo/a", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1))])
    >>> words(found, found.set_index("id", drop=False)).item()
    '0.5 [0.4, 0.6], reproduced'
    """
    known = {row["id"]: _told(row) for row in old.to_dict("records")}
    return claims["id"].map(lambda id: known.get(id, ""))


def _told(row):
    """Estimate, interval and verdict in words; a finding has no verdict."""
    return told(row) if row["whose"] == "ours" else f"{told(row)}, {judged(row)}"


def changed(claims, old):
    """The claims whose verdict the other seed changed.

    Parameters
    ----------
    claims : DataFrame
        Claims as `ledger.read` returns them.
    old : DataFrame
        As `before` returns it.

    Returns
    -------
    DataFrame
        One row per claim that has another verdict: claim, when explored, now, the verdict of its sentence then and
        now, and whether its words or its rule have changed, too.

    Examples
    --------
    >>> from bandits_companion.claims_table import full
    >>> from bandits_companion.exploratory_seed import read
    >>> len(changed(full([]), read("nowhere")))
    0
    """
    then, now = sentences(old)["verdict"], sentences(claims)["verdict"]
    pairs = [(old.loc[row["id"]].to_dict(), row) for row in claims.to_dict("records") if row["id"] in old.index]
    found = [
        (row["id"], _told(was), _told(row), _both(sentence(row["id"]), then, now), _rule_changed(was, row))
        for was, row in pairs
        if row["verdict"] != was["verdict"]
    ]
    return pd.DataFrame(found, columns=["claim", "when explored", "now", "its sentence", "its rule"])


def _both(id, then, now):
    """The verdict of a sentence then and now; "" where it is no paper's."""
    was, verdict = then.get(id, ""), now.get(id, "")
    return f"{verdict}, as before" if was == verdict != "" else ", now ".join(filter(None, (was, verdict)))


def _rule_changed(was, row):
    """Which words or thresholds have changed since, and when the statement was true before."""
    names = [
        name for name in RULE if was[name] != row[name] and not (was[name] != was[name] and row[name] != row[name])
    ]
    return f"{', '.join(names)} changed; it held for {holds_for(was)}" if names else "as before"


def page(claims, old):
    """Markdown: what the other seed changed, or that there is nothing to compare yet.

    Parameters
    ----------
    claims : DataFrame
        Claims as `ledger.read` returns them.
    old : DataFrame
        As `before` returns it.

    Returns
    -------
    str
        A sentence, and a table of the verdicts that changed if there are any.

    Examples
    --------
    >>> from bandits_companion.claims_table import full
    >>> from bandits_companion.exploratory_seed import read
    >>> page(full([]), read("nowhere"))
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
    """Ids of the claims whose notebooks were explored with another seed."""
    notebooks = set(old["id"].str.partition("/")[0])
    return [id for id in claims["id"] if id.partition("/")[0] in notebooks]
