"""The tables and lists of a replication report, generated from claims, errata and the plan of runs.

What the places of a report's template are filled with: numbers, quotations and tables, or nothing but a check.

Each kind of place is a function of what a report is made from (`report.Source`) and of the words after the kind.

Replication reports: the words are written, the numbers, tables and verdicts are filled in from the ledger.

A template is markdown with places in double braces, `{{measured 5a_benchmark/rage_static}}`: a kind and what it is
about; ids of claims go without the key of the paper. `report_places` has the kinds. Some print nothing and tie the
words around them to a result: `{{stands ...}}` refuses to render once that sentence no longer stands.
"""

import json
import re
from collections import Counter
from fnmatch import fnmatchcase
from math import inf, isnan
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import yaml

from bandits_companion import errata as errata_of_papers
from bandits_companion import exploratory_seed
from bandits_companion.claims_table import judged, of_verdict, position, read, reading_of, sentences
from bandits_companion.ledger import markdown, quoted
from bandits_companion.registry import sentence
from bandits_companion.verdicts import STANDS, VERDICTS
from bandits_lib.files import atomic_write

WHERE = ("out", "n_jobs", "scheduler", "checkpoint")  # parameters that say where to compute
NUMBERS = ["place", "quantity", "printed, or true", "measured [95 % interval]", "verdict"]
LABELS = {"error": "errors", "gap in a proof": "gaps in proofs", "misprint": "misprints", "remark": "remarks"}
LABELS[""] = "not yet sorted"
LISTED = {"error": "Errors", "gap in a proof": "Gaps"}


def number(value):
    """A number as prose has it: three digits, thousands apart, powers of ten where it is very small.

    Parameters
    ----------
    value : float
        The number.

    Returns
    -------
    str
        In words.

    Examples
    --------
    >>> number(0.4214), number(833123.0), number(3.55e-07)
    ('0.421', '833,000', '$3.55\\cdot10^{-7}$')
    """
    if value and abs(value) < 1e-3:
        digits, _, power = f"{value:.2e}".partition("e")
        return rf"${digits}\cdot10^{{{int(power)}}}$"
    return f"{float(f'{value:.3g}'):,.0f}" if 1000 <= abs(value) < inf else f"{value:.3g}"


def exactly(value):
    """A number as a paper prints it, thousands apart.

    Parameters
    ----------
    value : float
        The number, with at most two decimals.

    Returns
    -------
    str
        In words.

    Examples
    --------
    >>> exactly(1206.55), exactly(711635.0)
    ('1,206.55', '711,635')
    """
    return f"{value:,.2f}".rstrip("0").rstrip(".")


def measured(row):
    """Estimate and interval.

    Parameters
    ----------
    row : dict
        A row of the ledger.

    Returns
    -------
    str
        In words.

    Examples
    --------
    >>> measured({"estimate": 1500.4, "low": 1400.0, "high": 1600.0})
    '1,500 [1,400, 1,600]'
    """
    return f"{number(row['estimate'])} [{number(row['low'])}, {number(row['high'])}]"


def _table_of_verdicts(source):
    """How many sentences have which verdict, and where they stand."""
    found = sentences(source.claims)
    rows = [
        (verdict, len(of), _places(of["place"]))
        for verdict in VERDICTS
        if len(of := found[found["verdict"] == verdict])
    ]
    rows.append(("all", len(found), ""))
    return markdown(pd.DataFrame(rows, columns=["verdict", "sentences", "where"]))


def _places(places):
    """Places, each once, with the number of their sentences."""
    return "; ".join(f"{place} ({times})" if times > 1 else place for place, times in Counter(places).items())


def _differs(source):
    """Every sentence that did not stand, with all readings of it and the explanations."""
    found = [of_verdict(source.claims, verdict) for verdict in ("not reproduced", "undecided")]
    return _told(found) or "Every sentence that was tested stands."


def _readings(source):
    """The sentences that stand under one reading and not under another."""
    of_paper = source.claims[source.claims["whose"] == "paper"]
    stands = of_paper["verdict"].isin(STANDS).groupby(of_paper["id"].map(sentence))
    return _told([of_paper[stands.transform("any") & ~stands.transform("all")]]) or "None."


def _told(frames):
    """Sentences with their readings, as a list."""
    sets = [group for claims in frames for _, group in claims.groupby(claims["id"].map(sentence), sort=False)]
    return "\n".join(_sentence(group.to_dict("records")) for group in sets)


def _sentence(rows):
    """A sentence in the paper's words, and its readings; "the same" comes after what it refers to."""
    rows = sorted(rows, key=lambda row: row["statement"].startswith("the same"))
    quote = f"“{quoted(rows[0]['quote'])}”" if rows[0]["quote"] else ""
    true = list(dict.fromkeys(_true_for(row) for row in rows))
    said = " ".join(filter(None, (f"**{rows[0]['place']}.**", quote, f"({true[0]})" if len(true) == 1 else "")))
    why = " ".join(_ended(_plain(text)) for text in dict.fromkeys(row["explanation"] for row in rows) if text)
    if len(rows) == 1:
        return f"- {said} Measured: {_reading(rows[0])}. {why}".strip()
    shown = [
        f"  - *{reading_of(row['id'])}*: {_reading(row, '' if len(true) == 1 else _true_for(row))}" for row in rows
    ]
    return "\n".join([f"- {said} {why}".strip(), *shown])


def _reading(row, true=""):
    """What was measured, what came out, and the verdict; for which values the words are true, if that is to be said."""
    return f"{_plain(row['statement'])}: {measured(row)}{f', {true}' if true else ''}, {judged(row)}"


def _ended(text):
    return f"{text[0].upper()}{text[1:].rstrip('.')}."


def _plain(text):
    """Words of the ledger, whose asterisks are no emphasis."""
    return text.replace("*", r"\*")


def _true_for(row):
    """For which values the words are true, or which number is printed."""
    low, high = row["holds_low"], row["holds_high"]
    if not isnan(row["printed"]):
        return f"printed {exactly(row['printed'])} ± {number(row['printed_half'])}"
    if number(low) == number(high):
        return f"true only for {number(low)}"
    if high == inf:
        return f"true from {number(low)}"
    return f"true {'' if low in (0, -inf) else f'from {number(low)} '}{'up ' * (low in (0, -inf))}to {number(high)}"


def _printed_number(source):
    """The numbers that the paper prints, beside ours."""
    claims = source.claims[(source.claims["whose"] == "paper") & source.claims["printed"].notna()]
    rows = [_number(row) for row in claims.to_dict("records")]
    return (
        markdown(pd.DataFrame(rows, columns=NUMBERS)) if rows else "The paper prints no number that is compared here."
    )


def _number(row):
    return row["place"], row["statement"], _true_for(row).removeprefix("printed "), measured(row), judged(row)


def _code(source):
    """What can be seen in the published code alone."""
    rows = [_number(row) for row in source.claims[source.claims["whose"] == "code"].to_dict("records")]
    return (
        markdown(pd.DataFrame(rows, columns=NUMBERS))
        if rows
        else "The ledger has no entry that rests on the published code alone."
    )


def _runs(source):
    """What was run: notebooks with their figures, parameters and time."""
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
    """Parameters in words, long lists by their ends."""
    return ", ".join(f"{name} {_value(value)}" for name, value in parameters.items() if name not in WHERE)


def _value(value):
    if isinstance(value, list) and value and not isinstance(value[0], list):
        return f"{value[0]:g} to {value[-1]:g}" if len(value) > 1 else f"{value[0]:g}"
    return (
        f"{len(value)} of them" if isinstance(value, list) else f"{value:,}" if isinstance(value, int) else f"{value}"
    )


def _errata(source):
    """How many errata of each kind there are, and where the errors and gaps stand."""
    places = {kind: rows["place"].tolist() for kind, rows in source.errata.groupby("kind", sort=False)}
    counts = {kind: len(places[kind]) for kind in LABELS if kind in places}
    said = [f"{count} {LABELS[kind] if count != 1 or not kind else kind}" for kind, count in counts.items()]
    text = f"The [errata](../errata.md) list {', '.join(said) or 'nothing'}, each with a proof or a run."
    listed = [f"{title}: {'; '.join(places[kind])}." for kind, title in LISTED.items() if kind in places]
    return " ".join([text, *listed])


def _standing(source):
    """The places all of whose sentences stand, under every reading."""
    of_paper = source.claims[source.claims["whose"] == "paper"]
    by_place = of_paper["verdict"].isin(STANDS).groupby(of_paper["place"], sort=False).all()
    return "; ".join(by_place[by_place].index) or "none"


TABLES = {
    "verdicts": _table_of_verdicts,
    "differs": _differs,
    "readings": _readings,
    "printed": _printed_number,
    "code": _code,
    "runs": _runs,
    "errata": _errata,
    "standing": _standing,
}


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
    "seed": lambda source, about: exploratory_seed.of_paper(exploratory_seed.seeds(source.figures), source.paper),
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
    >>> from bandits_companion import claims
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
    >>> from bandits_companion.claims import claim
    >>> from bandits_companion.claims_table import full
    >>> found = full([claim("fiez2019_x/a", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1))])
    >>> from pathlib import Path
    >>> from bandits_companion.report import Source
    >>> toy = Source("fiez2019", found.set_index("id", drop=False), None, {}, Path("."), Path("."))
    >>> render("RAGE takes {{measured x/a}} of the pulls.{{stands x/a}}", toy)
    'RAGE takes 0.5 [0.4, 0.6] of the pulls.'
    """
    faults = [f"the number {number!r} is typed, in {around!r}" for number, around in typed_numbers(template)]

    source = source._replace(verdicts=_verdicts(source.claims))

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
            atomic_write(path, text)
        except ValueError as fault:
            faults.append(str(fault))
    if faults:
        raise ValueError("\n".join(faults))
    return [template.stem for template in templates]


def _verdicts(claims):
    """The verdict of every sentence, reading and entry of the published code; findings have none."""
    judged = claims[claims["whose"] != "ours"]
    return judged["verdict"].to_dict() | sentences(judged)["verdict"].to_dict()
