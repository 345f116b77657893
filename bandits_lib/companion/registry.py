"""The claims before they are measured: notebooks/claims.yaml, where each has the paper's own words and its rule.

An id is <notebook>/<name>, or <notebook>/<name>@<reading> for one of several legitimate readings of a sentence. What an
entry says is listed in CONTRIBUTING.md.
"""

from functools import lru_cache
from math import inf
from pathlib import Path
from statistics import NormalDist
from typing import NamedTuple

import yaml
from scipy.special import stdtrit

from bandits_lib.companion.faults import contradictions, faults_of
from bandits_lib.companion.results import CHECKOUT
from bandits_lib.companion.verdicts import MARGINS, Rule, close


class Entry(NamedTuple):
    """One claim before it is measured.

    Attributes
    ----------
    id : str
        "<notebook>/<name>" or "<notebook>/<name>@<reading>".
    paper : str
        Key of the paper: the id up to the first underscore.
    place : str
        Theorem, figure, table or section.
    quote : str
        The paper's own words.
    reading : str
        What is measured.
    whose : str
        "paper", "code" (visible only in the published code) or "ours" (a finding, without verdict).
    edge : str
        Where the threshold is from: "words", "paper", "theory" or "grade".
    rule : Rule
        When the statement is true.
    error, factor : float
        Standard error of a printed number, and how many of them are half of its 95 % interval.
    why : dict of {str: str}
        Explanations of verdicts.

    Examples
    --------
    >>> Entry("fiez2019_x/a", "fiez2019", "Figure 1a", "is flat", "exponent", "paper", "words").place
    'Figure 1a'
    """

    id: str
    paper: str
    place: str
    quote: str
    reading: str
    whose: str
    edge: str
    rule: Rule = Rule()
    error: float = 0.0
    factor: float = 0.0
    why: dict[str, str] = {}


def read(path):
    """The entries of a claims.yaml, checked.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    dict of {str: Entry}
        By id, in the order of the file.

    Raises
    ------
    ValueError
        For unknown words, missing or contradicting fields and an id that stands twice; it names them all.

    Examples
    --------
    >>> from pathlib import Path
    >>> found = dict(place="Figure 1a", quote="is flat", reading="exponent", closeness="exponent", edge="grade")
    >>> _ = Path("claims.yaml").write_text(str({"fiez2019_x/flat": found | {"whose": "paper"}}))
    >>> read("claims.yaml")["fiez2019_x/flat"].rule.high
    0.2
    """
    content = yaml.load(Path(path).read_text(encoding="utf-8"), _Loader) or {}
    faults = [f"{id}: {fault}" for id, given in content.items() for fault in faults_of(id, given)]
    faults = faults or list(contradictions(content))
    if faults:
        raise ValueError("\n".join([f"{Path(path).name} has {len(faults)} faults:", *faults]))
    return {id: _entry(id, given) for id, given in content.items()}


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """A loader that refuses a key which stands twice; yaml would take the last."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key, deep=True) for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"]
        if twice := {key for key in keys if keys.count(key) > 1}:
            raise ValueError(f"{', '.join(sorted(map(str, twice)))} stands twice{node.start_mark}")
        return super().construct_mapping(node, deep)


def find():
    """The claims.yaml of the notebooks: beside them, where kernels start, or in the checkout of this library.

    Returns
    -------
    dict of {str: Entry}
        As `read` returns it; empty where there is no such file.

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
    """The entries of one notebook.

    Parameters
    ----------
    entries : dict of {str: Entry}
        As `read` returns them.
    notebook : str
        Its name.

    Returns
    -------
    dict of {str: Entry}
        Those whose id begins with the name.

    Examples
    --------
    >>> of_notebook({"fiez2019_x/a": 1, "fiez2019_y/a": 2}, "fiez2019_x")
    {'fiez2019_x/a': 1}
    """
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
    """Standard errors in half of the 95 % interval of a printed mean of so many runs, one of so many cells."""
    share = 1 - 0.025 / cells
    return float(stdtrit(runs - 1, share)) if runs > 1 else NormalDist().inv_cdf(share)
