"""Replication reports: jinja2 templates whose numbers, quotations and tables come from claims, errata and paper.yaml.

A template calls the methods of `Report`, such as `{{ measured("3_theorems/matches") }}`, and those of TIES, such as
`{{ holds("3_theorems/matches") }}`, which print nothing and refuse to render if a word has changed. An id of a
claim lacks the key of the paper.
"""

import json
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property, partial
from math import inf
from os import PathLike
from pathlib import Path

import pandas as pd
import yaml
from jinja2 import Environment, TemplateSyntaxError, meta

from bandits_companion import errata as errata_of_papers
from bandits_companion import seeds
from bandits_companion.claims_table import KINDS, digits, position, read, sentences, slips
from bandits_companion.ledger import anchor, counted, markdown, quoted
from bandits_companion.notebook_runs import drawn_by
from bandits_companion.verdicts import AGREES, LETTERS, WORDS
from bandits_lib.files import atomic_write

WHERE = ("out", "n_jobs", "scheduler", "checkpoint", "claims_folder")  # parameters that say where to compute
LABELS = {"error": "errors", "gap": "gaps", "misprint": "misprints", "remark": "remarks"}
LISTED = {"error": "Errors", "gap": "Gaps"}
STARTS_WITH_A_WORD = re.compile(r"(a|[a-z]{2,}(-[a-z]+)*)[,:;.]?(\s(?![-+*/<>=])|$)")  # not sin(.5), psi\\* or d = 4
NO_NUMBERS = re.compile(  # what may have digits: headings, formulas, code, addresses, keys, years, numbered items
    r"^#+ \d+\.|\$[^$]*\$|`[^`]*`|\]\([^)]*\)|\b[a-z]+\d{4}\w*|\b(?:19|20)\d\d\b"
    r"|\b(?:figure|table|theorem|lemma|proposition|corollary|remark|algorithm|section|appendix|condition|experiment)"
    r"(?:s|es|ies)?\s+\(?(?:[A-Z]\.?)?\d[\w.]*(?:(?:,| and| to)\s+(?:[A-Z]\.?)?\d[\w.]*)*",
    re.MULTILINE | re.IGNORECASE,
)
TIES = {"stands": AGREES} | {  # what the sentences before a tie require of a cell by the text, or of one reading
    word.replace(" ", "_"): (word,) for word in [*WORDS, *LETTERS.values()]
}


@dataclass(frozen=True)
class Report:
    """Claims, errata and plan of one paper; its public methods can be called in the paper's template."""

    paper: str
    claims: pd.DataFrame  # indexed by id
    errata: pd.DataFrame
    plan: dict  # the entries of paper.yaml, with the parameters that were used
    figures: Path
    notebooks: Path

    def measured(self, name):
        """Return the estimate of a claim and its interval."""
        return _measured(self._claim(name))

    def estimate(self, name):
        return _number(self._claim(name), "estimate")

    def low(self, name):
        return _number(self._claim(name), "low")

    def high(self, name):
        return _number(self._claim(name), "high")

    def percent(self, name):
        return f"{100 * self._claim(name)['estimate']:.2g} %"

    def quote(self, name):
        row = self._claim(name)
        if not row["quote"]:
            raise ValueError(f"{row['id']} has no quotation")
        return f"“{quoted(row['quote'])}”"

    def within(self, low, high, name):
        """Print nothing, and refuse if the interval of a claim is not within two numbers."""
        row = self._claim(name)
        if not low <= row["low"] <= row["high"] <= high:
            raise ValueError(f"this sentence requires {row['id']} within {low} and {high}, but it is {_measured(row)}")
        return ""

    def erratum(self, place):
        if place not in set(self.errata["place"]):
            raise ValueError(f"errata.yaml has nothing of {self.paper} at {place!r}")
        return "([errata](../errata.md))"

    def parameter(self, notebook, name):
        """Return a parameter as it was run: a number, or a list, of which `| max` is the largest."""
        values = self.plan.get(f"{self.paper}_{notebook}", {}).get("parameters", {})
        if name not in values:
            raise ValueError(f"paper.yaml has no {name} of {self.paper}_{notebook}")
        return values[name]

    def figure(self, name):
        about = self.figures / self.paper / f"{name}.json"
        if not about.exists():
            raise ValueError(f"there is no figure {self.paper}/{name}")
        alt = json.loads(about.read_text(encoding="utf-8"))["alt"]
        return f"![{' '.join(alt.split())}](../{self.paper}/{name}.png)"

    def count(self, word="", kind="text"):
        """Return how many sentences have a word by the text or in the program, or how many there are."""
        if word and word not in WORDS:
            raise ValueError(f"there is no word {word!r}; there are {', '.join(WORDS)}")
        return int((self._sentences[kind] == word).sum()) if word else len(self._sentences)

    def counts(self, kind="text"):
        return counted(self._sentences, kind, whole=True)

    def slips(self):
        return slips(self._sentences)

    def minutes(self):
        return f"{sum(entry['minutes'] for entry in self.plan.values()):.0f} minutes"

    def seed(self):
        files = (self.figures / self.paper).glob("*.json")
        seeds = {json.loads(file.read_text(encoding="utf-8"))["parameters"]["seed"] for file in files}
        return f"seed {' and '.join(map(str, sorted(seeds)))}"

    def runs(self):
        return seeds.runs_of(self.paper, self.figures / "seeds.csv")

    def versions(self):
        """Return the versions of the packages that drew the paper's figures."""
        versions: dict[str, set] = {}
        for file in sorted((self.figures / self.paper).glob("*.json")):
            for package, version in json.loads(file.read_text(encoding="utf-8"))["versions"].items():
                versions.setdefault(package, set()).add(version)
        return ", ".join(f"{package} {' and '.join(sorted(all_of))}" for package, all_of in versions.items())

    def table_of_words(self):
        """Return the number of sentences with each word by the text and in the program, and the places by the text."""
        rows = []
        for word in WORDS:
            own = self._sentences[self._sentences["text"] == word]
            places = own.groupby("place", sort=False).groups.items()
            links = "; ".join(self._links(*place) for place in places)
            rows.append((word, *(self.count(word, kind) for kind in KINDS), links))
        return markdown(pd.DataFrame(rows, columns=["word", *KINDS.values(), "where (by the text)"]))

    def table_of_runs(self):
        rows = []
        for name, entry in self.plan.items():
            cells = json.loads((self.notebooks / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
            title = "".join(cells[0]["source"]).partition("\n")[0].lstrip("# ")
            figures = ", ".join(figure.partition("/")[2].replace("_", " ") for figure in entry["figures"])
            used = [f"{key} {_value(value)}" for key, value in entry["parameters"].items() if key not in WHERE]
            link = f"[{title}](../../notebooks/{name}.ipynb)"
            rows.append((link, figures, ", ".join(used), f"{entry['minutes']:g}"))
        return markdown(pd.DataFrame(rows, columns=["notebook", "figures and tables", "scale", "minutes"]))

    def list_of_errata(self):
        """Return the number of errata of each kind, and the places of errors and gaps."""
        places = {kind: rows["place"].tolist() for kind, rows in self.errata.groupby("kind", sort=False)}
        counts = {kind: len(places[kind]) for kind in LABELS if kind in places}
        *others, last = [f"{n} {LABELS[kind] if n != 1 else kind}" for kind, n in counts.items()] or ["nothing"]
        total = f"{', '.join(others)} and {last}" if others else last
        parts = [f"{title}: {'; '.join(places[kind])}." for kind, title in LISTED.items() if kind in places]
        return " ".join([f"The [errata](../errata.md) list {total}, each with a proof or a run.", *parts])

    @cached_property
    def _sentences(self):
        return sentences(self.claims)

    @cached_property
    def _words(self):
        """The word of every sentence by the text, and the letter of every reading; findings have none."""
        judged = self.claims[self.claims["letter"] != ""]
        return judged["letter"].map(LETTERS).to_dict() | self._sentences["text"].to_dict()

    def _claim(self, name):
        if (id := f"{self.paper}_{name}") not in self.claims.index:
            raise ValueError(f"there is no claim {id}")
        return self.claims.loc[id]

    def _tie(self, allowed, *names):
        """Print nothing, and refuse if a sentence, or a reading, has none of the allowed words."""
        if not names:
            raise ValueError("no claim is named")
        if wrong := [other for name in names for other in self._others(f"{self.paper}_{name}", allowed)]:
            raise ValueError(f"this sentence requires {' or '.join(allowed)}, but {'; '.join(wrong)}: rewrite it")
        return ""

    def _others(self, pattern, allowed):
        """Yield the sentences (readings, if the pattern has an @) that a pattern names and that have other words."""
        named = [id for id in self._words if ("@" in id) == ("@" in pattern) and fnmatchcase(id, pattern)]
        yield from (f"{id} is {self._words[id]}" for id in named if self._words[id] not in allowed)
        if not named:
            yield f"there is no {'reading' if '@' in pattern else 'sentence'} {pattern}"

    def _links(self, place, ids):
        """Return a place with a link to each of its sentences in the ledger: Figure 1a, sentence 1, 2, 3."""
        labels = [f"{place}, sentence 1", *range(2, len(ids) + 1)] if len(ids) > 1 else [place]
        links = zip(labels, map(anchor, ids), strict=True)
        return ", ".join(f"[{label}](../ledger/{self.paper}.md#{place})" for label, place in links)


def _number(row, name):
    """Return a number of a row with three digits (or as `digits`), thousands apart, or a power of ten if very small."""
    value = row[name]
    if value and abs(value) < 1e-3:
        factor, _, power = f"{value:.2e}".partition("e")
        return rf"${factor}\cdot10^{{{int(power)}}}$"
    return f"{float(f'{value:.3g}'):,.0f}" if 1000 <= abs(value) < inf else digits(value, row)


def _measured(row):
    return f"{_number(row, 'estimate')} [{_number(row, 'low')}, {_number(row, 'high')}]"


def _value(value):
    """Return a value as text: thousands apart, and an ordered list as a range."""
    if not isinstance(value, list):
        return f"{value:,}" if isinstance(value, int) else f"{value}"
    if not value or isinstance(value[0], list):
        return f"{len(value)} values"
    ordered = sorted(set(value))
    if len(value) > 2 and value in (ordered, ordered[::-1]):
        return f"{value[0]:g} to {value[-1]:g}"
    return ", ".join(f"{one:g}" for one in value)


def everything(figures, notebooks):
    """Return claims, errata and plan of all papers, and the two folders."""
    figures, notebooks = Path(figures), Path(notebooks)
    plan = yaml.safe_load((notebooks / "paper.yaml").read_text(encoding="utf-8"))
    return read(figures / "claims"), errata_of_papers.read(notebooks / "errata.yaml"), plan, figures, notebooks


def report_on(paper, claims, errata, plan, figures, notebooks):
    """Return what belongs to one paper of `everything`."""
    claims = claims[claims["paper"] == paper].set_index("id", drop=False)
    plan = {name: dict(entry) for name, entry in plan.items() if name.startswith(f"{paper}_")}
    for file in (figures / paper).glob("*.json"):  # a report says what was run, and not what would be
        used = json.loads(file.read_text(encoding="utf-8"))["parameters"]
        if entry := plan.get(drawn_by(file)):
            entry["parameters"] = {name: used.get(name, value) for name, value in entry["parameters"].items()}
    return Report(paper, claims, errata[errata["paper"] == paper], plan, figures, notebooks)


def _printed(value):
    """Return what a place in a template prints."""
    if callable(value):
        raise ValueError("a function lacks its brackets: write count(), not count")
    return _value(value)


LANGUAGE = Environment(keep_trailing_newline=True, finalize=_printed)


def render(template, report):
    """Return the template filled in; refuse unknown names, broken ties and typed numbers, all in one message."""
    faults: list[str] = []

    def kept(name, function):
        """Return the function of a template with its faults put down, so that the others are found, too."""

        def filled(*arguments):
            try:
                return function(*arguments)
            except (TypeError, ValueError) as fault:
                faults.append(f"{name}({', '.join(map(repr, arguments))}): {fault}")
            return ""

        return filled

    functions = {name: getattr(report, name) for name in vars(Report) if not name.startswith("_")}
    functions |= {name: partial(report._tie, words) for name, words in TIES.items()}
    try:
        faults += [f"the number {number!r} is typed, in {around!r}" for number, around in typed_numbers(template)]
        unknown = meta.find_undeclared_variables(LANGUAGE.parse(template)) - set(functions)
        faults += [f"there is nothing called {name!r}; there are {', '.join(functions)}" for name in sorted(unknown)]
        called = {name: kept(name, function) for name, function in functions.items()}
        text = LANGUAGE.from_string(template).render(called | dict.fromkeys(unknown, lambda *_: ""))
    except TemplateSyntaxError as error:
        faults.append(f"line {error.lineno}: {error.message}")
    except ValueError as error:
        faults.append(str(error))
    if faults:
        raise ValueError("\n".join([f"the report on {report.paper} has {len(faults)} faults:", *faults]))
    return text


def typed_numbers(template):
    """Return (number, words around it) of every typed number that is not in a formula, code, name or year."""
    tokens = LANGUAGE.lex(template)
    text = "".join(words if kind == "data" else " " * len(words) for _, kind, words in tokens)
    text = NO_NUMBERS.sub(lambda found: " " * len(found[0]), text)
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
    of_all, faults = everything(figures, notebooks) if templates else (), []
    for template in templates:
        path = Path(out) / "figures" / "reports" / template.name
        try:
            text = render(template.read_text(encoding="utf-8"), report_on(template.stem, *of_all))
            atomic_write(path, text, parents=True)
        except ValueError as fault:
            faults.append(str(fault))
    if faults:
        raise ValueError("\n".join(faults))
    return [template.stem for template in templates]
