"""Replication reports: Markdown templates whose numbers, quotations and tables come from claims, errata and paper.yaml.

A place in a template is `{{kind about}}`; KINDS has the kinds, and an id of a claim lacks the key of the paper. A kind
such as `{{stands ...}}` prints nothing and refuses to render if the verdict has changed.
"""

import json
import re
from fnmatch import fnmatchcase
from math import inf, isnan
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import yaml

from bandits_companion import errata as errata_of_papers
from bandits_companion import seals
from bandits_companion.claims_table import MARGINS, by_sentence, deciding, digits, judged, position, read, sentences
from bandits_companion.ledger import anchor, markdown, measurements, quoted, short
from bandits_companion.notebook_runs import drawn_by
from bandits_companion.verdicts import AGREES, FALLS, OUTCOMES
from bandits_companion.verdicts import outcome as outcome_of
from bandits_lib.files import atomic_write

WHERE = ("out", "n_jobs", "scheduler", "checkpoint", "claims_folder")  # parameters that say where to compute
DIFFERS = [outcome for outcome in OUTCOMES if outcome not in AGREES or "program" in outcome]
NO_CONTROLS = {"loser": "", "winner": ""}  # the ledger has them
NUMBERS = ["place", "quantity", "printed, or true", "measured [95 % interval]", "judged"]
LABELS = {"error": "errors", "gap in a proof": "gaps in proofs", "misprint": "misprints", "remark": "remarks"}
LISTED = {"error": "Errors", "gap in a proof": "Gaps"}
STARTS_WITH_A_WORD = re.compile(r"(a|[a-z]{2,}(-[a-z]+)*)[,:;.]?(\s(?![-+*/<>=])|$)")  # not sin(.5), psi\\* or d = 4


def number(row, name):
    """Return a number of a row with three digits (or as `digits`), thousands apart, or a power of ten if very small."""
    value = row[name]
    if value and abs(value) < 1e-3:
        factor, _, power = f"{value:.2e}".partition("e")
        return rf"${factor}\cdot10^{{{int(power)}}}$"
    return f"{float(f'{value:.3g}'):,.0f}" if 1000 <= abs(value) < inf else digits(value, row)


def exactly(value):
    """Return a number as a paper prints it, with at most two decimals and thousands apart."""
    return f"{value:,.2f}".rstrip("0").rstrip(".")


def measured(row):
    return f"{number(row, 'estimate')} [{number(row, 'low')}, {number(row, 'high')}]"


def _table_of_outcomes(source):
    """Return the number of sentences with each outcome, and their places."""
    found, rows = sentences(source.claims), []
    for outcome in OUTCOMES:
        own = found[found["outcome"] == outcome]
        where = "; ".join(
            _links(source.paper, place, ids) for place, ids in own.groupby("place", sort=False).groups.items()
        )
        rows += [(outcome, len(own), where)] * bool(len(own))
    return markdown(pd.DataFrame([*rows, ("all", len(found), "")], columns=["outcome", "sentences", "where"]))


def _links(paper, place, ids):
    """Return a place with a link to each of its sentences in the ledger: Figure 1a, 2, 3."""
    called = [place, *range(2, len(ids) + 1)]
    return ", ".join(f"[{name}](../ledger/{paper}.md#{anchor(id)})" for name, id in zip(called, ids, strict=True))


def _differs(source):
    """Return the sentences that do not hold by the text, a list for each outcome, with what decides."""
    claims = source.claims[source.claims["printed"].isna()]
    found, measured, parts = sentences(claims), by_sentence(claims), []
    for outcome in DIFFERS:
        own = found[found["outcome"] == outcome]
        lines = [_sentence(source.paper, id, row, measured[id]) for id, row in own.iterrows()]
        parts += [f"### {outcome.capitalize()}", "\n".join(lines)] if lines else []
    return "\n\n".join(parts) or "Every sentence that was tested holds."


def _sentence(paper, id, row, claims):
    """Return a sentence with a link to the ledger, and what decides it by the text and in the published program."""
    said = f"- {_links(paper, row['place'], [id])}: “{quoted(row['whole'] or row['quote'])}”"
    if row["outcome"] == "untestable":
        return f"{said} {_ended(row['note'])}"
    shown = [claim | NO_CONTROLS for kind in ("text", "program") for claim in deciding(claims, kind)]
    doubts = [_ended(note) for note in row["note"].split("; ") if note and not note.startswith(MARGINS)]
    return "\n".join([said, *(f"  {line}" for line in [*measurements(shown), *(f"- {doubt}" for doubt in doubts)])])


def _ended(text):
    """Return a text with a full stop, and with a capital letter if it begins with a word and not with a formula."""
    first = text[0].upper() if STARTS_WITH_A_WORD.match(text) else text[0]
    return f"{first}{text[1:].rstrip('.')}."


def _printed_number(source):
    chosen = (source.claims["quote"] != "") & source.claims["printed"].notna()
    return _numbers(source.claims[chosen]) or "The paper prints no number that is compared here."


def _code(source):
    chosen = (source.claims["quote"] == "") & source.claims["printed"].notna()
    return _numbers(source.claims[chosen]) or "No number that the published program printed is compared here."


def _numbers(claims):
    """Return a table of printed and measured numbers, "" without any."""
    rows = [
        (row["place"], row["measures"], _as_printed(row), measured(row), judged(row))
        for row in claims.to_dict("records")
    ]
    return markdown(pd.DataFrame(rows, columns=NUMBERS)) if rows else ""


def _as_printed(row):
    return f"{exactly(row['printed'])} ± {number(row, 'printed_half')}"


def _runs(source):
    shown = []
    for name, entry in source.plan.items():
        figures = ", ".join(figure.partition("/")[2].replace("_", " ") for figure in entry["figures"])
        link = f"[{_title(source, name)}](../../notebooks/{name}.ipynb)"
        shown.append((link, figures, _scale(entry["parameters"]), f"{entry['minutes']:g}"))
    return markdown(pd.DataFrame(shown, columns=["notebook", "figures and tables", "scale", "minutes"]))


def _title(source, name):
    cells = json.loads((source.notebooks / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    return "".join(cells[0]["source"]).partition("\n")[0].lstrip("# ")


def _scale(parameters):
    return ", ".join(f"{name} {_value(value)}" for name, value in parameters.items() if name not in WHERE)


def _value(value):
    if not isinstance(value, list):
        return f"{value:,}" if isinstance(value, int) else f"{value}"
    if not value or isinstance(value[0], list):
        return f"{len(value)} values"
    ordered = sorted(set(value))
    if len(value) > 2 and value in (ordered, ordered[::-1]):
        return f"{value[0]:g} to {value[-1]:g}"
    return ", ".join(f"{one:g}" for one in value)


def _errata(source):
    """Return the number of errata of each kind, and the places of errors and gaps."""
    places = {kind: rows["place"].tolist() for kind, rows in source.errata.groupby("kind", sort=False)}
    counts = {kind: len(places[kind]) for kind in LABELS if kind in places}
    said = [f"{count} {LABELS[kind] if count != 1 else kind}" for kind, count in counts.items()] or ["nothing"]
    listed = " and ".join([", ".join(said[:-1])] * bool(said[:-1]) + said[-1:])
    text = f"The [errata](../errata.md) list {listed}, each with a proof or a run."
    where = [f"{title}: {'; '.join(places[kind])}." for kind, title in LISTED.items() if kind in places]
    return " ".join([text, *where])


def _standing(source):
    """Return the places at which every sentence holds by the text."""
    found = sentences(source.claims)
    by_place = found["outcome"].isin(AGREES).groupby(found["place"], sort=False).all()
    return "; ".join(by_place[by_place].index) or "none"


def _sensitive(source):
    """Return the sentences whose outcome changes if all margins are half or twice as wide."""
    found = sentences(source.claims)
    found = found[found["note"].str.contains(MARGINS)]
    if found.empty:
        return "None."
    return markdown(found.assign(quote=found["quote"].map(short))[["place", "quote", "outcome", "note"]])


TABLES = {
    "outcomes": _table_of_outcomes,
    "differs": _differs,
    "printed": _printed_number,
    "code": _code,
    "runs": _runs,
    "errata": _errata,
    "standing": _standing,
    "sensitive": _sensitive,
}


def _claim(source, name):
    """Return the row of a claim whose id lacks the key of the paper."""
    id = f"{source.paper}_{name}"
    if id not in source.claims.index:
        raise ValueError(f"there is no claim {id}")
    return source.claims.loc[id]


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
    """Return the smallest deviation from a printed number that the runs would detect, as a share of it."""
    _printed(source, name)
    return f"{100 * (_claim(source, name)['detects'] - 1):.2g} %"


def _tie(outcomes):
    """Make a place that prints nothing and refuses any sentence, or reading, that has none of these outcomes."""

    def tie(source, names):
        if not names:
            raise ValueError("no claim is named")
        wrong = [said for name in names.split() for said in _others(source, f"{source.paper}_{name}", outcomes)]
        if wrong:
            known = "; ".join(wrong)
            raise ValueError(f"this sentence requires the outcome {' or '.join(outcomes)}, but {known}: rewrite it")
        return ""

    return tie


def _others(source, wanted, outcomes):
    """Yield the sentences (or readings, if the pattern has an @) that a pattern names and that have another outcome."""
    known = {id: outcome for id, outcome in source.outcomes.items() if ("@" in id) == ("@" in wanted)}
    named = {id: outcome for id, outcome in known.items() if fnmatchcase(id, wanted)}
    yield from (f"{id} is {outcome}" for id, outcome in named.items() if outcome not in outcomes)
    if not named:
        yield f"there is no {'reading' if '@' in wanted else 'sentence'} {wanted}"


def _within(source, about):
    """Print nothing, and refuse if the interval of a claim is not within two numbers."""
    low, high, name = about.split()
    row = _claim(source, name)
    if not float(low) <= row["low"] <= row["high"] <= float(high):
        raise ValueError(f"this sentence requires {row['id']} within {low} and {high}, but it is {measured(row)}")
    return ""


def _erratum(source, place):
    if place not in set(source.errata["place"]):
        raise ValueError(f"errata.yaml has nothing of {source.paper} at {place!r}")
    return "([errata](../errata.md))"


def _parameter(choose):
    """Make a place with a parameter as it was run; `choose` reduces a list."""

    def parameter(source, about):
        notebook, _, name = about.partition(" ")
        values = source.plan.get(f"{source.paper}_{notebook}", {}).get("parameters", {})
        if name not in values:
            raise ValueError(f"paper.yaml has no {name} of {source.paper}_{notebook}")
        value = values[name]
        return choose(value) if isinstance(value, list) else f"{value:,}"

    return parameter


def _figure(source, name):
    about = source.figures / source.paper / f"{name}.json"
    if not about.exists():
        raise ValueError(f"there is no figure {source.paper}/{name}")
    alt = json.loads(about.read_text(encoding="utf-8"))["alt"]
    return f"![{' '.join(alt.split())}](../{source.paper}/{name}.png)"


def _table(source, name):
    if name not in TABLES:
        raise ValueError(f"there is no table {name!r}; there are {', '.join(TABLES)}")
    return TABLES[name](source)


def _count(source, outcome):
    """Return how many sentences have an outcome, or how many there are."""
    if outcome and outcome not in OUTCOMES:
        raise ValueError(f"there is no outcome {outcome!r}; there are {', '.join(OUTCOMES)}")
    found = sentences(source.claims)["outcome"].tolist()
    return str(found.count(outcome) if outcome else len(found))


def _seeds(source):
    """Return the seed of the paper's notebooks in words, or every seed with its notebooks."""
    of: dict[int, set] = {}
    for file in (source.figures / source.paper).glob("*.json"):
        seed = json.loads(file.read_text(encoding="utf-8"))["parameters"]["seed"]
        of.setdefault(seed, set()).add(drawn_by(file))
    if len(of) == 1:
        return f"seed {next(iter(of))}"
    return " and ".join(f"seed {seed} ({', '.join(sorted(names))})" for seed, names in sorted(of.items()))


def _versions(source, about):
    """Return the versions of the packages that drew the paper's figures."""
    said: dict[str, set] = {}
    for file in sorted((source.figures / source.paper).glob("*.json")):
        for package, version in json.loads(file.read_text(encoding="utf-8"))["versions"].items():
            said.setdefault(package, set()).add(version)
    return ", ".join(f"{package} {' and '.join(sorted(found))}" for package, found in said.items())


KINDS = {
    "measured": lambda source, name: measured(_claim(source, name)),
    "estimate": lambda source, name: number(_claim(source, name), "estimate"),
    "low": lambda source, name: number(_claim(source, name), "low"),
    "high": lambda source, name: number(_claim(source, name), "high"),
    "percent": lambda source, name: f"{100 * _claim(source, name)['estimate']:.2g} %",
    "printed": _printed,
    "detects": _detects,
    "quote": _quote,
    "stands": _tie(AGREES),
    "holds": _tie(("holds by the text",)),
    "program": _tie(("holds in the published program only",)),
    "weaker": _tie(("weaker than said",)),
    "uncontradicted": _tie(("not contradicted",)),
    "level": _tie(("level",)),
    "depends": _tie(("depends on the reading",)),
    "undecided": _tie(("undecided", "too weak to tell")),
    "falls": _tie(FALLS),
    "within": _within,
    "erratum": _erratum,
    "parameter": _parameter(lambda values: f"{min(values):,} to {max(values):,}"),
    "least": _parameter(lambda values: f"{min(values):,}"),
    "largest": _parameter(lambda values: f"{max(values):,}"),
    "figure": _figure,
    "table": _table,
    "count": _count,
    "minutes": lambda source, about: f"{sum(entry['minutes'] for entry in source.plan.values()):.0f} minutes",
    "seed": lambda source, about: _seeds(source),
    "runs": lambda source, about: seals.runs_of(source.paper, source.figures / "seeds.csv"),
    "versions": _versions,
}


PLACE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
NO_NUMBERS = re.compile(  # what may have digits: headings, formulas, code, addresses, keys, years, numbered items
    r"^#+ \d+\.|\$[^$]*\$|`[^`]*`|\]\([^)]*\)|\b[a-z]+\d{4}\w*|\b(?:19|20)\d\d\b"
    r"|\b(?:figure|table|theorem|lemma|proposition|corollary|remark|algorithm|section|appendix|condition|experiment)"
    r"(?:s|es|ies)?\s+\(?(?:[A-Z]\.?)?\d[\w.]*(?:(?:,| and| to)\s+(?:[A-Z]\.?)?\d[\w.]*)*",
    re.MULTILINE | re.IGNORECASE,
)


class Source(NamedTuple):
    """Claims, errata and plan of one paper, from which its report is filled in."""

    paper: str
    claims: pd.DataFrame  # indexed by id
    errata: pd.DataFrame
    plan: dict  # the entries of paper.yaml, with the parameters that were used
    figures: Path
    notebooks: Path
    outcomes: dict[str, str] = {}  # of every sentence and reading by its id; `render` fills it in


def everything(figures, notebooks):
    """Return claims, errata and plan of all papers, and the two folders."""
    figures, notebooks = Path(figures), Path(notebooks)
    plan = yaml.safe_load((notebooks / "paper.yaml").read_text(encoding="utf-8"))
    return read(figures / "claims"), errata_of_papers.read(notebooks / "errata.yaml"), plan, figures, notebooks


def source(paper, claims, errata, plan, figures, notebooks):
    """Return what belongs to one paper of `everything`."""
    claims = claims[claims["paper"] == paper].set_index("id", drop=False)
    plan = {name: dict(entry) for name, entry in plan.items() if name.startswith(f"{paper}_")}
    for file in (figures / paper).glob("*.json"):  # a report says what was run, and not what would be
        used = json.loads(file.read_text(encoding="utf-8"))["parameters"]
        if entry := plan.get(drawn_by(file)):
            entry["parameters"] = {name: used.get(name, value) for name, value in entry["parameters"].items()}
    return Source(paper, claims, errata[errata["paper"] == paper], plan, figures, notebooks)


def render(template, source):
    """Return the template with all its places filled in; refuse unknown places, broken ties and typed numbers."""
    faults = [f"the number {number!r} is typed, in {around!r}" for number, around in typed_numbers(template)]
    source = source._replace(outcomes=_outcomes(source.claims))

    def filled(found):
        kind, _, about = " ".join(found[1].split()).partition(" ")
        if kind not in KINDS:
            faults.append(f"{found[0]}: there is nothing called {kind!r}; there are {', '.join(KINDS)}")
            return ""
        try:
            return KINDS[kind](source, about)
        except ValueError as fault:
            faults.append(f"{found[0]}: {fault}")
        return ""

    text = PLACE.sub(filled, template)
    if faults:
        raise ValueError("\n".join([f"the report on {source.paper} has {len(faults)} faults:", *faults]))
    return text


def typed_numbers(template):
    """Return (number, words around it) of every typed number that is not in a formula, code, name or year."""
    text = template
    for pattern in (PLACE, NO_NUMBERS):
        text = pattern.sub(lambda found: " " * len(found[0]), text)
    return [(found[0], template[max(found.start() - 20, 0) : found.end() + 20]) for found in re.finditer(r"\d+", text)]


def save(out: str | PathLike, figures: str | PathLike = "../figures", notebooks: str | PathLike = ".") -> list[str]:
    """Write <out>/figures/reports/<paper>.md for every template in <notebooks>/reports.

    Parameters
    ----------
    out : str or path-like
        Folder to write to.
    figures : str or path-like, default "../figures"
        Folder with claims/ and one folder per paper.
    notebooks : str or path-like, default "."
        Folder with the notebooks, errata.yaml, paper.yaml and reports/.

    Returns
    -------
    list of str
        Keys of the papers.

    Raises
    ------
    ValueError
        If templates have faults; the message names all of them, and the templates without faults are written.

    Examples
    --------
    >>> save(".", notebooks=".")
    []
    """
    templates = sorted((Path(notebooks) / "reports").glob("*.md"), key=lambda file: position(file.stem))
    found, faults = everything(figures, notebooks) if templates else (), []
    for template in templates:
        path = Path(out) / "figures" / "reports" / template.name
        try:
            text = render(template.read_text(encoding="utf-8"), source(template.stem, *found))
            atomic_write(path, text, parents=True)
        except ValueError as fault:
            faults.append(str(fault))
    if faults:
        raise ValueError("\n".join(faults))
    return [template.stem for template in templates]


def _outcomes(claims):
    """Return the outcome of every sentence, and of every reading as if it were the text; findings have none."""
    judged = claims[claims["quote"] != ""]
    of_readings = {row["id"]: outcome_of(row["letter"], "–") for row in judged.to_dict("records")}
    return of_readings | sentences(judged)["outcome"].to_dict()
