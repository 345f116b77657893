"""Replication reports: the words are written, the numbers, tables and verdicts are filled in from the ledger.

A template is markdown with places in double braces, `{{measured 5a_benchmark/rage_static}}`: a kind and what it is
about; ids of claims go without the key of the paper. `report_places` has the kinds. Some print nothing and tie the
words around them to a result: `{{stands ...}}` refuses to render once that sentence no longer stands.
"""

import re
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import yaml

from bandits_lib.companion import errata as errata_of_papers
from bandits_lib.companion.report_places import KINDS
from bandits_lib.companion.saved import position, read
from bandits_lib.companion.sentences import sentences

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
            path.write_text(text, encoding="utf-8")
        except ValueError as fault:
            faults.append(str(fault))
    if faults:
        raise ValueError("\n".join(faults))
    return [template.stem for template in templates]


def _verdicts(claims):
    """The verdict of every sentence, reading and entry of the published code; findings have none."""
    judged = claims[claims["whose"] != "ours"]
    return judged["verdict"].to_dict() | sentences(judged)["verdict"].to_dict()
