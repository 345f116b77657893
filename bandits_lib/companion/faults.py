"""What an entry of claims.yaml may say, and what is wrong with one, in words."""

import re
from math import isfinite

from bandits_lib.companion.verdicts import GRADES, MARGINS, VERDICTS

PAPERS = {"fiez2019": "RAGE", "jedra2020": "Lazy Track-and-Stop", "azizi2022": "GSE", "weltz2023": "H-RAGE"}
FIELDS = ("place", "quote", "reading", "holds", "closeness", "side", "printed", "margin", "edge", "whose", "why")
EDGES = ("words", "paper", "theory", "grade")
WHOSE = ("paper", "code", "ours")
ID = re.compile(rf"(?:{'|'.join(PAPERS)})_\w+/\w+(?:@[\w.+-]+)?")


def sentence(id):
    """What all readings of a sentence share: the id before the @.

    Parameters
    ----------
    id : str
        "<notebook>/<name>" or "<notebook>/<name>@<reading>".

    Returns
    -------
    str
        "<notebook>/<name>".

    Examples
    --------
    >>> sentence("fiez2019_x/linear@sd_.09")
    'fiez2019_x/linear'
    """
    return id.partition("@")[0]


def faults_of(id, given):
    """What is wrong with one entry, in words."""
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
    """What is wrong with when the statement is true."""
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
    """Readings of one sentence that cannot stand beside each other."""
    for id in content:
        if "@" not in id:
            continue
        if sentence(id) in content:
            yield f"{sentence(id)}: stands with readings and without"
        others = {other["whose"] for name, other in content.items() if sentence(name) == sentence(id)}
        if len(others) > 1:
            yield f"{id}: its readings are whose: {', '.join(sorted(others))}; a sentence has one author"
