"""The tables and lists of a replication report, generated from claims, errata and the plan of runs."""

import json
from collections import Counter
from math import inf, isnan

import pandas as pd

from bandits_lib.companion.faults import sentence
from bandits_lib.companion.pages import markdown, quoted
from bandits_lib.companion.rows import judged
from bandits_lib.companion.sentences import of_verdict, reading_of, sentences
from bandits_lib.companion.verdicts import STANDS, VERDICTS

WHERE = ("out", "n_jobs", "scheduler", "checkpoint")  # parameters that say where to compute
NUMBERS = ["place", "quantity", "printed, or true", "measured [95 % interval]", "verdict"]
KINDS = {"error": "errors", "gap in a proof": "gaps in proofs", "misprint": "misprints", "remark": "remarks"}
KINDS[""] = "not yet sorted"
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


def _verdicts(source):
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


def _printed(source):
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
    counts = {kind: len(places[kind]) for kind in KINDS if kind in places}
    said = [f"{count} {KINDS[kind] if count != 1 or not kind else kind}" for kind, count in counts.items()]
    text = f"The [errata](../errata.md) list {', '.join(said) or 'nothing'}, each with a proof or a run."
    listed = [f"{title}: {'; '.join(places[kind])}." for kind, title in LISTED.items() if kind in places]
    return " ".join([text, *listed])


def _standing(source):
    """The places all of whose sentences stand, under every reading."""
    of_paper = source.claims[source.claims["whose"] == "paper"]
    by_place = of_paper["verdict"].isin(STANDS).groupby(of_paper["place"], sort=False).all()
    return "; ".join(by_place[by_place].index) or "none"


TABLES = {
    "verdicts": _verdicts,
    "differs": _differs,
    "readings": _readings,
    "printed": _printed,
    "code": _code,
    "runs": _runs,
    "errata": _errata,
    "standing": _standing,
}
