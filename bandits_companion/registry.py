"""Read and check notebooks/claims.yaml: the papers' sentences with their rules, stated before they are measured.

An entry is one printed sentence. Its clauses are `parts`, and the ways in which it was run are `readings`, so that the
id of what is measured is <notebook>/<name>.<part>@<reading>. CONTRIBUTING.md lists the fields of an entry.
"""

import re
from functools import lru_cache
from math import inf
from pathlib import Path
from statistics import NormalDist
from typing import NamedTuple

import yaml
from scipy.special import stdtrit

from bandits_companion.verdicts import KINDS, LETTERS, MARGINS, RULER, Criterion
from bandits_lib.figures.results import CHECKOUT

PAPERS = {"fiez2019": "RAGE", "jedra2020": "Lazy Track-and-Stop", "azizi2022": "GSE", "weltz2023": "H-RAGE"}
COPIES = {  # SHA-256 of the texts of the published papers from which sentences are quoted
    "fiez2019": "e6d447e8df50cb04e6063a0717c76c090c29da2b0765f537edcf661116cf92ec",
    "jedra2020": "8e36c835ce35fda68dce818370706c024efc69c742170c17a2a18b21089fdd0a",
    "azizi2022": "bcb41748326c8e59d822b9e881b45d4274553496e3419ced898d0feef618e906",
    "weltz2023": "ad80cee62c39d845827fb520e5653f40803764068100a9dda1a9d1c587ce5a37",
}
RULES = ("holds", "graded", "closeness", "printed", "untestable")
CONTROLS = ("loser", "winner", "slack", "sampled", "waits")
KEPT = (*CONTROLS, "untestable", "root")  # of an entry's fields, as they are
OF_PART = ("measures", "readings", "side", "margin", "edge", "why", *CONTROLS, *RULES[:-1])
OF_READING = ("kind", "measures", "with", "why", "sampled", "waits")
FIELDS = ("place", "quote", "whole", "restored", "root", "parts", "kind", "untestable", *OF_PART)
TEXTS = ("place", "quote", "whole", "root", "measures", "with", "loser", "winner", "slack", "untestable", "waits")
CHOICES = {
    "kind": KINDS,
    "edge": ("words", "paper", "theory", "grade"),
    "graded": ("large", "small"),
    "closeness": tuple(RULER),
    "side": ("below", "both", "some"),
}
ID = re.compile(rf"(?:{'|'.join(PAPERS)})_\w+/\w+")
NAME = re.compile(r"[\w+-]+")


class Entry(NamedTuple):
    """What is measured of a sentence, one part under one reading; or a finding, which has no quotation."""

    id: str
    paper: str
    place: str  # theorem, figure, table or section
    quote: str  # the paper's words; "" of a finding
    whole: str  # the whole sentence, where the quotation is shortened
    measures: str  # the estimand, and how it was run
    kind: str  # text, program or other
    edge: str  # where the threshold is from
    rule: Criterion = Criterion()
    loser: str = ""  # of which the sentence is false
    winner: str = ""  # of which it is true
    slack: str = ""  # why there is no loser or winner
    sampled: int = 0  # instances that stand for all
    untestable: str = ""  # the reason
    error: float = 0.0  # standard error of a printed number
    factor: float = 0.0  # so many of them are half of its 95 % interval
    restored: str = ""  # "restored" if a part of the quotation is damaged in the text and was restored
    waits: str = ""  # what would decide the sentence, or decide it better, and cannot be had yet
    root: str = ""  # the slip that several sentences share
    why: dict[str, str] = {}  # explanations of letters


def sentence(id):
    """Return the id of the sentence to which a part or a reading belongs."""
    return re.split("[.@]", id, maxsplit=1)[0]


def part_and_reading(id):
    """Return the part and the reading that an id names, each perhaps ""."""
    rest, _, reading = id.partition("@")
    return rest.partition(".")[2], reading


def kind_of(reading, fields):
    """Return the kind of a reading: by its name if neither it nor its entry says one."""
    return fields.get("kind") or next((kind for kind in KINDS[:2] if reading.partition("_")[0] == kind), KINDS[2])


# --- faults


def faults_of(id, entry):
    """Yield what is wrong with one entry."""
    if not isinstance(id, str) or not ID.fullmatch(id):
        yield f"an id is <paper>_<notebook>/<name>, the paper one of {', '.join(PAPERS)}"
    if not isinstance(entry, dict):
        yield "an entry is a mapping of fields"
        return
    if not entry.get("place"):
        yield "place missing"
    outer = [*_unknown(entry, FIELDS), *_nested_faults(entry)]
    yield from outer or (fault for _, whole in _measured(id, entry) for fault in _faults(whole))


def _nested_faults(entry):
    """Yield what is wrong with the parts and readings of an entry."""
    for field, allowed in (("parts", OF_PART), ("readings", OF_READING)):
        if not isinstance(nested := entry.get(field) or {}, dict):
            yield f"{field} must be a mapping of names; it is {nested!r}"
            continue
        for name, fields in nested.items():
            if not NAME.fullmatch(str(name)) or not isinstance(fields or {}, dict):
                yield f"{field} has {name!r}: it must be a name of letters and digits, with a mapping of fields"
            else:
                yield from (f"{name}: {fault}" for fault in _unknown(fields or {}, allowed))


def _unknown(fields, allowed):
    if unknown := [str(name) for name in fields if name not in allowed]:
        yield f"unknown fields {', '.join(unknown)}; the allowed fields are {', '.join(allowed)}"


def _faults(part):
    """Yield what is wrong with one part under one reading."""
    rules = [name for name in RULES if name in part]
    for name, allowed in CHOICES.items():
        if name in part and part[name] not in allowed:
            yield f"{name} must be one of {', '.join(allowed)}; it is {part[name]!r}"
    if texts := [name for name in TEXTS if not isinstance(part.get(name, ""), str)]:
        yield f"{', '.join(texts)} must be text"
    if type(part.get("sampled", 1)) is not int or part.get("sampled", 1) < 1:
        yield f"sampled must be a number of instances; it is {part['sampled']!r}"
    if not isinstance(part.get("why", {}), dict) or not set(part.get("why", {})) <= {*LETTERS, "–"}:
        yield f"why must explain letters, {', '.join(LETTERS)} or –; it is {part.get('why')!r}"
    if not part.get("quote"):
        if set(rules) - {"printed"} or part.get("kind") != "other":
            yield "a finding, which quotes nothing, must have the kind other, and no rule except printed"
    elif len(rules) != 1:
        yield f"one of {', '.join(RULES)} is needed; there are {len(rules)}"
        return
    judged = bool(part.get("quote")) and rules != ["untestable"]
    controlled = judged and part["kind"] != "other" and not {"printed", "slack"} & set(part)
    needed = ["measures"] * (rules != ["untestable"]) + ["edge"] * judged + ["loser", "winner"] * controlled
    if missing := [name for name in needed if not part.get(name)]:
        yield f"{' and '.join(missing)} missing" + ", or slack says why there is no control" * controlled
    if "margin" in part and "holds" not in part:
        yield "margin is allowed only with holds"
    if "holds" in part:
        yield from _faults_of_holds(part["holds"], part.get("margin"))
    if "printed" in part:
        yield from _faults_of_printed(part["printed"])


def _faults_of_holds(holds, margin):
    if not (isinstance(holds, list) and len(holds) == 2 and all(map(_number, holds)) and holds[0] <= holds[1]):
        yield f"holds must be [least, largest]; it is {holds!r}"
    elif margin is not None:
        kind, value = next(iter(margin.items())) if isinstance(margin, dict) and margin else (margin, None)
        if kind not in [*MARGINS] or (value is not None and value not in MARGINS[kind]):
            yield f"margin must be one of {MARGINS}; it is {margin!r}"
        elif (middle := 1 if kind == "ratio" else 0) not in holds:
            yield f"a margin of {kind} lies about {middle}, which must be an end of holds; holds is {holds!r}"


def _faults_of_printed(printed):
    numbers = isinstance(printed, dict) and {"value", "error"} <= set(printed) <= {"value", "error", "runs", "cells"}
    if not numbers or not all(map(_number, printed.values())) or not printed["value"] or printed["error"] < 0:
        yield f"printed must be {{value, error}}, perhaps with runs and cells, the value not 0; it is {printed!r}"


def _number(value):
    return type(value) in (int, float) and value == value


# --- entries


def read(path):
    """Read a claims.yaml as {id: Entry}; name all its faults together."""
    content = yaml.load(Path(path).read_text(encoding="utf-8"), _Loader) or {}
    faults = [f"{id}: {fault}" for id, fields in content.items() for fault in dict.fromkeys(faults_of(id, fields))]
    if faults:
        raise ValueError("\n".join([f"{Path(path).name} has {len(faults)} faults:", *faults]))
    return {id: _entry(id, whole) for name, fields in content.items() for id, whole in _measured(name, fields)}


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
    """Return the entries of one notebook that are measured."""
    return {id: entry for id, entry in entries.items() if id.partition("/")[0] == notebook and not entry.untestable}


def _measured(id, entry):
    """Yield (id, fields) of every part of an entry under every reading."""
    outer = {name: value for name, value in entry.items() if name != "parts"}
    default = {"": {"kind": entry.get("kind", "text" if entry.get("quote") else "other")}}
    for part, of_part in (entry.get("parts") or {"": {}}).items():
        both = outer | (of_part or {})
        for reading, of_reading in (both.pop("readings", None) or default).items():
            whole = both | (of_reading or {})
            whole["kind"] = kind_of(str(reading), whole)
            yield f"{id}{f'.{part}' if part != '' else ''}{f'@{reading}' if reading != '' else ''}", whole


def _entry(id, fields):
    place, quote, whole = (" ".join(fields.get(name, "").split()) for name in ("place", "quote", "whole"))
    measures = "; ".join(" ".join(fields[name].split()) for name in ("measures", "with") if fields.get(name))
    printed, rest = fields.get("printed", {}), {}
    if printed:
        rest = {"error": float(printed["error"]), "factor": _factor(**printed)}
    rest |= {name: fields[name] for name in KEPT if name in fields}
    rest["why"] = {name: " ".join(str(text).split()) for name, text in fields.get("why", {}).items()}
    rest["restored"] = "restored" * bool(fields.get("restored"))
    paper, rule = id.partition("_")[0], _rule(fields, rest.get("factor", 0.0))
    return Entry(id, paper, place, quote, whole, measures, fields["kind"], fields.get("edge", ""), rule, **rest)


def _rule(fields, factor):
    if "graded" in fields:
        return Criterion(graded=fields["graded"], side=fields.get("side", ""))
    if "closeness" in fields:
        return Criterion(graded=fields["closeness"], side=fields.get("side", "below"))
    if printed := fields.get("printed"):
        return Criterion(printed=float(printed["value"]), half=factor * printed["error"])
    low, high = map(float, fields.get("holds", (-inf, inf)))
    return Criterion(low, high, side=fields.get("side", ""), **_tie(fields["margin"]) if "margin" in fields else {})


def _tie(margin):
    kind, value = next(iter(margin.items())) if isinstance(margin, dict) else (margin, MARGINS[margin][0])
    return {"tie_low": 1 / value if kind == "ratio" else -value, "tie_high": value}


def _factor(value, error, runs=0, cells=1):
    """Return how many standard errors are half of the 95 % interval of a printed mean, one of `cells`."""
    share = 1 - 0.025 / cells
    return float(stdtrit(runs - 1, share)) if runs > 1 else NormalDist().inv_cdf(share)
