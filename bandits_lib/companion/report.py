"""Replication reports: the words are written, the numbers, tables and verdicts are filled in from the ledger.

A template is markdown with places in double braces, `{{measured 5a_benchmark/rage_static}}`: a kind and what it is
about; ids of claims go without the key of the paper. `KINDS` has the kinds. Some print nothing and tie the words around
them to a result: `{{stands ...}}` refuses to render once that sentence no longer stands.
"""

import json
import re
from fnmatch import fnmatchcase
from math import isnan
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import yaml

from bandits_lib.companion import errata as errata_of_papers
from bandits_lib.companion import explored
from bandits_lib.companion.pages import quoted
from bandits_lib.companion.report_tables import TABLES, exactly, measured, number
from bandits_lib.companion.saved import position, read
from bandits_lib.companion.sentences import sentences
from bandits_lib.companion.verdicts import STANDS, VERDICTS

PLACE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
NO_NUMBERS = re.compile(  # what may have digits: headings, formulas, code, addresses, keys, years, numbered items
    r"^#+ \d+\.|\$[^$]*\$|`[^`]*`|\]\([^)]*\)|\b[a-z]+\d{4}\w*|\b(?:19|20)\d\d\b"
    r"|\b(?:figure|table|theorem|lemma|proposition|corollary|remark|algorithm|section|appendix|condition|experiment)"
    r"(?:s|es|ies)?\s+\(?(?:[A-Z]\.?)?\d[\w.]*(?:(?:,| and| to)\s+(?:[A-Z]\.?)?\d[\w.]*)*",
    re.MULTILINE | re.IGNORECASE,
)


class Source(NamedTuple):
    """What a report of one paper is filled in from.

    Attributes
    ----------
    paper : str
        Key of the paper.
    claims : DataFrame
        Its claims, as `ledger.read` returns them, indexed by id.
    errata : DataFrame
        Its errata, as `errata.read` returns them.
    plan : dict
        The entries of paper.yaml that belong to it.
    figures, notebooks : Path
        Folders of what was saved and of the notebooks.
    verdicts : dict of {str: str}
        The verdict of every sentence and reading by its id; `render` fills it in.

    Examples
    --------
    >>> from pathlib import Path
    >>> Source("fiez2019", None, None, {}, Path("figures"), Path("notebooks")).paper
    'fiez2019'
    """

    paper: str
    claims: pd.DataFrame
    errata: pd.DataFrame
    plan: dict
    figures: Path
    notebooks: Path
    verdicts: dict[str, str] = {}


def source(paper, figures, notebooks):
    """What a report of a paper is filled in from.

    Parameters
    ----------
    paper : str
        Key of the paper.
    figures : str or path-like
        Folder with claims/ and one folder per paper.
    notebooks : str or path-like
        Folder with errata.yaml, paper.yaml and the notebooks.

    Returns
    -------
    Source
        Claims, errata and plan of this paper alone.

    Raises
    ------
    ValueError
        For claims or errata that cannot be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from bandits_lib import claims
    >>> found = claims.claim("fiez2019_x/a", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1))
    >>> _ = claims.save([found], ".")
    >>> _, _ = Path("errata.yaml").write_text("[]"), Path("paper.yaml").write_text("{fiez2019_x: {minutes: 1}}")
    >>> found = source("fiez2019", "figures", ".")
    >>> found.claims["verdict"].tolist(), found.plan
    (['reproduced'], {'fiez2019_x': {'minutes': 1}})
    """
    return _of_paper(paper, *_all(figures, notebooks))


def _all(figures, notebooks):
    """Claims, errata and plan of all papers, and the two folders."""
    figures, notebooks = Path(figures), Path(notebooks)
    plan = yaml.safe_load((notebooks / "paper.yaml").read_text(encoding="utf-8"))
    return read(figures / "claims"), errata_of_papers.read(notebooks / "errata.yaml"), plan, figures, notebooks


def _of_paper(paper, claims, errata, plan, figures, notebooks):
    """What belongs to one paper."""
    claims = claims[claims["paper"] == paper].set_index("id", drop=False)
    plan = {name: entry for name, entry in plan.items() if name.startswith(f"{paper}_")}
    return Source(paper, claims, errata[errata["paper"] == paper], plan, figures, notebooks)


def render(template, source):
    """A report: the template with all its places filled in.

    Parameters
    ----------
    template : str
        Markdown with places in double braces.
    source : Source
        What they are filled in from.

    Returns
    -------
    str
        Markdown.

    Raises
    ------
    ValueError
        For an unknown place, words that are tied to a result which is no longer so, and a number that was typed; it
        names them all.

    Examples
    --------
    >>> from bandits_lib.companion.claims import claim
    >>> from bandits_lib.companion.rows import full
    >>> found = full([claim("fiez2019_x/a", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1))])
    >>> from pathlib import Path
    >>> from bandits_lib.companion.report import Source
    >>> toy = Source("fiez2019", found.set_index("id", drop=False), None, {}, Path("."), Path("."))
    >>> render("RAGE takes {{measured x/a}} of the pulls.{{stands x/a}}", toy)
    'RAGE takes 0.5 [0.4, 0.6] of the pulls.'
    """
    faults = [f"the number {number!r} is typed, in {around!r}" for number, around in typed_numbers(template)]

    source = source._replace(verdicts=_verdicts(source.claims))

    def filled(found):
        kind, _, about = " ".join(found[1].split()).partition(" ")
        try:
            return KINDS[kind](source, about)
        except KeyError:
            faults.append(f"{found[0]}: there is nothing called {kind!r}; there are {', '.join(KINDS)}")
        except ValueError as fault:
            faults.append(f"{found[0]}: {fault}")
        return ""

    text = PLACE.sub(filled, template)
    if faults:
        raise ValueError("\n".join([f"the report on {source.paper} has {len(faults)} faults:", *faults]))
    return text


def typed_numbers(template):
    """The numbers of a template that no run would fill in.

    Parameters
    ----------
    template : str
        Markdown with places in double braces.

    Returns
    -------
    list of tuple
        (number, words around it). Formulas, code, addresses, years and numbered items may have digits.

    Examples
    --------
    >>> [number for number, _ in typed_numbers("In 42 % of {{runs}} runs of Figure 1a with $d=5$")]
    ['42']
    """
    text = template
    for pattern in (PLACE, NO_NUMBERS):
        text = pattern.sub(lambda found: " " * len(found[0]), text)
    return [(found[0], template[max(found.start() - 20, 0) : found.end() + 20]) for found in re.finditer(r"\d+", text)]


def save(out, figures="../figures", notebooks="."):
    """Write <out>/figures/reports/<paper>.md for every template in <notebooks>/reports.

    Parameters
    ----------
    out : str or path-like
        Folder to write to.
    figures, notebooks : str or path-like
        As for `source`.

    Returns
    -------
    list of str
        Keys of the papers.

    Raises
    ------
    ValueError
        For the faults of all templates together, when those without a fault are written.

    Examples
    --------
    >>> save(".", notebooks=".")
    []
    """
    templates = sorted((Path(notebooks) / "reports").glob("*.md"), key=lambda file: position(file.stem))
    everything, faults = _all(figures, notebooks) if templates else (), []
    for template in templates:
        path = Path(out) / "figures" / "reports" / template.name
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            text = render(template.read_text(encoding="utf-8"), _of_paper(template.stem, *everything))
            path.write_text(text, encoding="utf-8")
        except ValueError as fault:
            faults.append(str(fault))
    if faults:
        raise ValueError("\n".join(faults))
    return [template.stem for template in templates]


# --- what a place is filled with


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


def _verdicts(claims):
    """The verdict of every sentence, reading and entry of the published code; findings have none."""
    judged = claims[claims["whose"] != "ours"]
    return judged["verdict"].to_dict() | sentences(judged)["verdict"].to_dict()


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
