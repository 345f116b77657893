"""Read and check notebooks/claims.yaml: the claims with the papers' words and rules, stated before they are measured.

CONTRIBUTING.md lists the fields of an entry.
"""

import re
from functools import lru_cache
from math import inf, isfinite
from pathlib import Path
from statistics import NormalDist
from typing import NamedTuple

import yaml
from scipy.special import stdtrit

from bandits_companion.verdicts import GRADES, MARGINS, VERDICTS, Rule, close
from bandits_lib.figures.results import CHECKOUT

PAPERS = {"fiez2019": "RAGE", "jedra2020": "Lazy Track-and-Stop", "azizi2022": "GSE", "weltz2023": "H-RAGE"}
FIELDS = ("place", "quote", "reading", "holds", "closeness", "side", "printed", "margin", "edge", "whose", "why")
EDGES = ("words", "paper", "theory", "grade")
WHOSE = ("paper", "code", "ours")
ID = re.compile(rf"(?:{'|'.join(PAPERS)})_\w+/\w+(?:@[\w.+-]+)?")


def sentence(id):
    """Return the id before the @, which all readings of a sentence share."""
    return id.partition("@")[0]


def faults_of(id, given):
    """Yield what is wrong with one entry."""
    if not isinstance(id, str) or not ID.fullmatch(id):
        yield f"an id is <paper>_<notebook>/<name> or .../<name>@<reading>, the paper one of {', '.join(PAPERS)}"
    if not isinstance(given, dict):
        yield "an entry is a mapping of fields"
        return
    if unknown := [name for name in given if name not in FIELDS]:
        yield f"unknown fields {', '.join(map(str, unknown))}; there are {', '.join(FIELDS)}"
    if given.get("whose") not in WHOSE:
        yield f"whose must be one of {', '.join(WHOSE)}; it is {given.get('whose')!r}"
    needed = ("place", "reading", "whose") + (() if given.get("whose") == "ours" else ("quote", "edge"))
    if missing := [name for name in needed if not given.get(name)]:
        yield f"{', '.join(missing)} missing"
    if words := [name for name in ("place", "quote", "reading") if not isinstance(given.get(name, ""), str)]:
        yield f"{', '.join(words)} must be text"
    yield from _faults_of_rule(given)
    why = given.get("why", {})
    if not isinstance(why, dict) or (unknown := [name for name in why if name not in VERDICTS]):
        yield f"why must explain verdicts, {', '.join(VERDICTS)}; it is {why!r}"


def _faults_of_rule(given):
    """Yield what is wrong with the fields that say when the statement is true."""
    kinds = [name for name in ("holds", "closeness", "printed") if name in given]
    if given.get("whose") == "ours":
        if surplus := [*kinds, *(name for name in ("side", "margin", "edge", "why") if name in given)]:
            yield f"a finding of ours has no verdict, and so no {', '.join(surplus)}"
        return
    if len(kinds) != 1:
        yield f"one of holds, closeness and printed is needed; there are {len(kinds)}"
    if given.get("edge") not in EDGES:
        yield f"edge must be one of {', '.join(EDGES)}; it is {given.get('edge')!r}"
    if "holds" in given:
        yield from _faults_of_holds(given["holds"], given.get("edge"), given.get("margin"))
    elif "margin" in given:
        yield "a margin belongs to holds"
    if "closeness" in given and (given["closeness"] not in GRADES or given.get("edge") != "grade"):
        yield f"closeness must be one of {', '.join(GRADES)}, with edge: grade; it is {given['closeness']!r}"
    if "side" in given and (given["side"] not in ("below", "both") or "closeness" not in given):
        yield f"side must be below or both, of a closeness; it is {given['side']!r}"
    if "printed" in given:
        yield from _faults_of_printed(given["printed"], given.get("edge"))


def _faults_of_holds(holds, edge, margin):
    if not (isinstance(holds, list) and len(holds) == 2 and all(map(_number, holds)) and holds[0] <= holds[1]):
        yield f"holds must be [least, largest]; it is {holds!r}"
        return
    ends = [end for end in holds if isfinite(end)]
    if edge == "words" and (not ends or set(ends) - {0, 0.5, 1}):
        yield f"words have the edge 0 or 1, or, of most, a half; holds is {holds!r}"
    if margin is not None:
        kind, value = next(iter(margin.items())) if isinstance(margin, dict) and margin else (margin, None)
        if kind not in MARGINS or (value is not None and value not in MARGINS[kind]):
            yield f"margin must be one of {MARGINS}; it is {margin!r}"
        elif (1 if kind == "ratio" else 0) not in holds:
            yield f"a margin of {kind} lies about {1 if kind == 'ratio' else 0}, which is no edge of holds {holds!r}"


def _faults_of_printed(printed, edge):
    known = {"value", "error", "runs", "cells"}
    if not isinstance(printed, dict) or not {"value", "error"} <= set(printed) <= known:
        yield f"printed must be {{value, error}}, and perhaps runs and cells; it is {printed!r}"
    elif not all(map(_number, printed.values())) or not printed["value"] or printed["error"] < 0:
        yield f"printed must have numbers, a value other than 0 and an error of 0 or more; it is {printed!r}"
    if edge != "paper":
        yield "a printed number has edge: paper"


def _number(value):
    return type(value) in (int, float) and value == value


def contradictions(content):
    """Yield readings of one sentence that contradict each other."""
    for id in content:
        if "@" not in id:
            continue
        if sentence(id) in content:
            yield f"{sentence(id)}: stands with readings and without"
        others = {other["whose"] for name, other in content.items() if sentence(name) == sentence(id)}
        if len(others) > 1:
            yield f"{id}: its readings are whose: {', '.join(sorted(others))}; a sentence has one author"


class Entry(NamedTuple):
    """A claim before it is measured."""

    id: str  # "<notebook>/<name>" or "<notebook>/<name>@<reading>"
    paper: str
    place: str  # theorem, figure, table or section
    quote: str  # the paper's own words
    reading: str  # what is measured
    whose: str  # "code": visible only in the published code; "ours": a finding, without a verdict
    edge: str  # where the threshold is from
    rule: Rule = Rule()
    error: float = 0.0  # standard error of a printed number
    factor: float = 0.0  # so many of them are half of its 95 % interval
    why: dict[str, str] = {}  # explanations of verdicts


def read(path):
    """Read a claims.yaml as {id: entry}; name all its faults together."""
    content = yaml.load(Path(path).read_text(encoding="utf-8"), _Loader) or {}
    faults = [f"{id}: {fault}" for id, given in content.items() for fault in faults_of(id, given)]
    faults = faults or list(contradictions(content))
    if faults:
        raise ValueError("\n".join([f"{Path(path).name} has {len(faults)} faults:", *faults]))
    return {id: _entry(id, given) for id, given in content.items()}


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """A loader that refuses a key that stands twice; yaml would take the last."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key, deep=True) for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"]
        if twice := {key for key in keys if keys.count(key) > 1}:
            raise ValueError(f"{', '.join(sorted(map(str, twice)))} stands twice{node.start_mark}")
        return super().construct_mapping(node, deep)


def find() -> dict[str, Entry]:
    """Return the entries of the claims.yaml in the current folder, or else of notebooks/claims.yaml.

    Returns
    -------
    dict of {str: Entry}
        The entries by id; empty if there is no such file.

    Examples
    --------
    >>> isinstance(find(), dict)
    True
    """
    for folder in (Path.cwd(), CHECKOUT / "notebooks"):
        if (file := folder / "claims.yaml").exists():
            return _read(file, file.stat().st_mtime_ns)
    return {}


@lru_cache(4)
def _read(file, changed):
    return read(file)


def of_notebook(entries, notebook):
    """Return the entries of one notebook."""
    return {id: entry for id, entry in entries.items() if id.partition("/")[0] == notebook}


def _entry(id, given):
    place, quote, reading = (" ".join(given.get(name, "").split()) for name in ("place", "quote", "reading"))
    printed, edge = given.get("printed", {}), given.get("edge", "")
    factor, error = (_factor(**printed), float(printed["error"])) if printed else (0.0, 0.0)
    why = {name: " ".join(str(text).split()) for name, text in given.get("why", {}).items()}
    paper, rule = id.partition("_")[0], _rule(given, factor)
    return Entry(id, paper, place, quote, reading, given["whose"], edge, rule, error, factor, why)


def _rule(given, factor):
    if "closeness" in given:
        return close(given["closeness"], given.get("side", "below"))
    if printed := given.get("printed"):
        return Rule(printed=float(printed["value"]), half=factor * printed["error"])
    low, high = map(float, given.get("holds", (-inf, inf)))
    return Rule(low, high, **_tie(given["margin"]) if "margin" in given else {})


def _tie(margin):
    kind, value = next(iter(margin.items())) if isinstance(margin, dict) else (margin, MARGINS[margin][0])
    return {"tie_low": 1 / value if kind == "ratio" else -value, "tie_high": value}


def _factor(value, error, runs=0, cells=1):
    """Return how many standard errors are half of the 95 % interval of a printed mean, one of `cells`."""
    share = 1 - 0.025 / cells
    return float(stdtrit(runs - 1, share)) if runs > 1 else NormalDist().inv_cdf(share)
