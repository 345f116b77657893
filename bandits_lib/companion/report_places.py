"""What the places of a report's template are filled with: numbers, quotations and tables, or nothing but a check.

Each kind of place is a function of what a report is made from (`report.Source`) and of the words after the kind.
"""

import json
from fnmatch import fnmatchcase
from math import isnan

from bandits_lib.companion import explored
from bandits_lib.companion.pages import quoted
from bandits_lib.companion.report_tables import TABLES, exactly, measured, number
from bandits_lib.companion.sentences import sentences
from bandits_lib.companion.verdicts import STANDS, VERDICTS


def _claim(source, name):
    """The row of a claim, its id without the key of the paper."""
    id = f"{source.paper}_{name}"
    if id not in source.claims.index:
        raise ValueError(f"there is no claim {id}")
    return source.claims.loc[id]


def _measured(source, name):
    return measured(_claim(source, name))


def _percent(source, name):
    return f"{100 * _claim(source, name)['estimate']:.2g} %"


def _quote(source, name):
    row = _claim(source, name)
    if not row["quote"]:
        raise ValueError(f"{row['id']} has no quotation")
    return f"“{quoted(row['quote'])}”"


def _printed(source, name):
    row = _claim(source, name)
    if isnan(row["printed"]):
        raise ValueError(f"{row['id']} is about no printed number")
    return exactly(row["printed"])


def _detects(source, name):
    """The smallest deviation from a printed number that would have shown."""
    _printed(source, name)
    return f"{100 * _claim(source, name)['detects']:.2g} %"


def _tie(verdicts):
    """A place that prints nothing and refuses if a sentence, or a reading of one, has none of these verdicts."""

    def tie(source, names):
        if not names:
            raise ValueError("no claim is named")
        wrong = [said for name in names.split() for said in _others(source, f"{source.paper}_{name}", verdicts)]
        if wrong:
            raise ValueError(f"these words are tied to {' or '.join(verdicts)}, but {'; '.join(wrong)}")
        return ""

    return tie


def _others(source, wanted, verdicts):
    """Sentences, or with an @ readings, that an id or pattern names and that have another verdict, in words."""
    known = {id: verdict for id, verdict in source.verdicts.items() if ("@" in id) == ("@" in wanted)}
    named = {id: verdict for id, verdict in known.items() if fnmatchcase(id, wanted)}
    yield from (f"{id} is {verdict}" for id, verdict in named.items() if verdict not in verdicts)
    if not named:
        yield f"there is no {'reading' if '@' in wanted else 'sentence'} {wanted}"


def _within(source, about):
    """Prints nothing, and refuses if the interval of a claim is not within two numbers."""
    low, high, name = about.split()
    row = _claim(source, name)
    if not float(low) <= row["low"] <= row["high"] <= float(high):
        raise ValueError(f"these words are tied to {low} to {high}, but {row['id']} is {_measured(source, name)}")
    return ""


def _erratum(source, place):
    if place not in set(source.errata["place"]):
        raise ValueError(f"errata.yaml has nothing of {source.paper} at {place!r}")
    return "([errata](../errata.md))"


def _parameter(choose):
    """A place with a value of paper.yaml; of a list with what `choose` makes of it."""

    def parameter(source, about):
        notebook, _, name = about.partition(" ")
        values = source.plan.get(f"{source.paper}_{notebook}", {}).get("parameters", {})
        if name not in values:
            raise ValueError(f"paper.yaml has no {name} of {source.paper}_{notebook}")
        value = values[name]
        return choose(value) if isinstance(value, list) else f"{value:,}"

    return parameter


def _figure(source, name):
    """A picture with its description."""
    about = source.figures / source.paper / f"{name}.json"
    if not about.exists():
        raise ValueError(f"there is no figure {source.paper}/{name}")
    alt = json.loads(about.read_text(encoding="utf-8"))["alt"]
    return f"![{' '.join(alt.split())}](../{source.paper}/{name}.png)"


def _table(source, name):
    if name not in TABLES:
        raise ValueError(f"there is no table {name!r}; there are {', '.join(TABLES)}")
    return TABLES[name](source)


def _count(source, verdict):
    """How many sentences have a verdict; without one, how many there are."""
    if verdict and verdict not in VERDICTS:
        raise ValueError(f"there is no verdict {verdict!r}; there are {', '.join(VERDICTS)}")
    found = sentences(source.claims)["verdict"].tolist()
    return str(found.count(verdict) if verdict else len(found))


def _minutes(source, about):
    return f"{sum(entry['minutes'] for entry in source.plan.values()):.0f} minutes"


def _versions(source, about):
    """The packages that the paper's figures were computed with."""
    files = sorted((source.figures / source.paper).glob("*.json"))
    said: dict[str, set] = {}
    for file in files:
        for package, version in json.loads(file.read_text(encoding="utf-8"))["versions"].items():
            said.setdefault(package, set()).add(version)
    return ", ".join(f"{package} {' and '.join(sorted(found))}" for package, found in said.items())


KINDS = {
    "measured": _measured,
    "estimate": lambda source, name: number(_claim(source, name)["estimate"]),
    "low": lambda source, name: number(_claim(source, name)["low"]),
    "high": lambda source, name: number(_claim(source, name)["high"]),
    "percent": _percent,
    "printed": _printed,
    "detects": _detects,
    "quote": _quote,
    "stands": _tie(STANDS),
    "reproduced": _tie(("reproduced",)),
    "level": _tie(("no difference above the margin",)),
    "undecided": _tie(("undecided",)),
    "falls": _tie(("not reproduced",)),
    "within": _within,
    "erratum": _erratum,
    "parameter": _parameter(lambda values: f"{min(values):,} to {max(values):,}"),
    "least": _parameter(lambda values: f"{min(values):,}"),
    "largest": _parameter(lambda values: f"{max(values):,}"),
    "figure": _figure,
    "table": _table,
    "count": _count,
    "minutes": _minutes,
    "seed": lambda source, about: explored.of_paper(explored.seeds(source.figures), source.paper),
    "versions": _versions,
}
