"""Tables of claims: one row per claim, read from and written to csv, and one row per sentence of a paper.

Every letter is computed again when claims are read, and every outcome from the letters.
"""

from math import inf, isnan, nan
from os import PathLike
from pathlib import Path

import pandas as pd

from bandits_companion import verdicts
from bandits_companion.registry import PAPERS, part_and_reading, sentence
from bandits_companion.verdicts import LETTERS, OUTCOMES, Criterion

# the columns of a Criterion
RULE = ["holds_low", "holds_high", "graded", "side", "printed", "printed_half", "tie_low", "tie_high"]
MEASURED = ["estimate", "low", "high"]
MARGINS = "with margins half or twice as wide"
NO_CONTROL = ("", nan, nan, nan, "")
LOSER, WINNER = ([name, *(f"{name}_{end}" for end in MEASURED), f"{name}_letter"] for name in ("loser", "winner"))
COLUMNS = [
    "id",
    "paper",
    "place",
    "quote",
    "whole",
    "restored",
    "measures",
    "kind",
    "edge",
    *RULE,
    "sampled",
    *MEASURED,
    "error",
]
COLUMNS += [*LOSER, *WINNER, "slack", "untestable", "letter", "detects", "more", "explanation", "changed"]
CHANGED = "criterion changed after the run"
WORDS = ["graded", "side", "loser", "loser_letter", "winner", "winner_letter"]
DIGITS, ZERO = 12, 1e-13  # kept of a measured number, and what counts as 0: the rest depends on the processor
NUMBERS = [c for c in (*RULE, "sampled", *MEASURED, "error", *LOSER, *WINNER, "detects", "more") if c not in WORDS]


def rounded(number):
    """Return a number with DIGITS significant digits, or 0 for a number below ZERO."""
    return 0.0 if abs(number) < ZERO else float(f"{number:.{DIGITS}g}")


def csv_of(claims):
    """Return claims as the text of a csv, with the fewest digits from which each number can be read again."""
    return claims.to_csv(index=False, float_format=_shortest, lineterminator="\n")


def _shortest(number):
    return repr(float(number)).removesuffix(".0")


def with_interval(row):
    """Return an estimate and its interval as text; a number alone if its interval ends in the same digits."""
    estimate, low, high = (digits(row[name], row) for name in MEASURED)
    return estimate if estimate == low == high else f"{estimate} [{low}, {high}]"


def digits(number, row):
    """Return a number with three digits, or with up to six if fewer make it equal to an edge of a row's judgement."""
    edges = [row.get(name, nan) for name in ("holds_low", "holds_high", "printed", "tie_low", "tie_high")]
    texts = (f"{number:.{kept}g}" for kept in (3, 4, 5, 6))
    return next((text for text in texts if float(text) == number or float(text) not in edges), f"{number:.3g}")


def holds_for(row):
    """Return in words for which values the statement of a row is true; "" for a finding."""
    if not isnan(row["printed"]):
        return f"printed {row['printed']:.6g} ± {row['printed_half']:.3g}"
    if row["graded"] in ("large", "small"):
        return f"from {verdicts.RULER['ratio'][1]:g}" if row["graded"] == "large" else "up to 0.5"
    if row["graded"]:
        return f"within {verdicts.RULER[row['graded']][0]:g}"
    return f"{row['holds_low']:.3g} to {row['holds_high']:.3g}" if row["quote"] else ""


def condition(row):
    """Return in words, as a condition, for which values the statement of a row is true."""
    low, high, graded = row["holds_low"], row["holds_high"], row["graded"]
    if not isnan(row["printed"]):
        return holds_for(row) if row["printed_half"] else f"expected {row['printed']:.6g}"
    if graded in ("large", "small"):
        size = verdicts.RULER["ratio"][1]
        return f"true if at least {size:g}" if graded == "large" else f"true if at most {1 / size:g}"
    if graded:
        near = f"{verdicts.RULER[graded][0]:g}"
        both = f"within a factor of {near} of 1" if graded == "ratio" else f"within {near} of 0"
        return f"true if {f'at most {near}' if row['side'] == 'below' else both}"
    if (low, high) == (0, 1) and not isnan(row["tie_low"]):  # a difference of shares, or a ratio
        return "true if at least 0" if row["tie_low"] < 0 else "true if at most 1"
    if low == high:
        return f"true if exactly {low:.3g}"
    if high == inf:
        return f"true if at least {low:.3g}"
    digits = 3 if f"{low:.3g}" != f"{high:.3g}" else 5
    return f"true if at most {high:.3g}" if low == -inf else f"true if between {low:.{digits}g} and {high:.{digits}g}"


def judged(row):
    """Return the letter of a row in words, with the runs that would decide it or the deviation that would be found."""
    letter = LETTERS.get(row["letter"], "untestable" if row["untestable"] else "finding")
    if row["letter"] == "L":
        direction = {"+": " (direction as stated)", "-": " (opposite direction)", "": ""}
        return letter + direction[verdicts.sign(rule_of(row), [row[end] for end in MEASURED])]
    if row["letter"] == "U":
        times = "no number of runs" if row["more"] == inf else f"{row['more']:.3g} times the runs"
        ends = {verdicts.letter(rule_of(row), [row[end]] * 3) for end in ("low", "high")}
        between = " and ".join(LETTERS[letter] for letter in sorted(ends, key=verdicts.WORST_FIRST.index, reverse=True))
        return f"{letter}{f' between {between}' if len(ends) > 1 else ''} ({times} would decide)"
    return f"{letter} (a factor of {row['detects']:.3g} would be found)" if row["letter"] in ("C", "T") else letter


def read(folder: str | PathLike) -> pd.DataFrame:
    """Read the claims that the notebooks saved.

    Parameters
    ----------
    folder : str or path-like
        Folder with one csv per notebook, as `claims.save` writes them.

    Returns
    -------
    DataFrame
        One row per claim with all columns of `claims.table`, ordered by paper and notebook.

    Raises
    ------
    ValueError
        If the folder has no claims, an id is used twice, or a letter is not the one that the numbers give.

    Examples
    --------
    >>> from pathlib import Path
    >>> from bandits_companion import claims
    >>> found = dict(place="Figure 1a", quote="fewer", measures="ratio", holds=[0, 1], edge="words", slack="demo")
    >>> _ = Path("claims.yaml").write_text(str({"weltz2023_demo/fewer": found}))
    >>> _ = claims.save([claims.measured("weltz2023_demo/fewer", 0.5, 0.4, 0.6)], ".")
    >>> read("figures/claims")["letter"].tolist()
    ['H']
    """
    files = sorted(Path(folder).glob("*.csv"), key=lambda file: (position(file.stem), file.stem))
    if not files:
        raise ValueError(
            f"{folder} has no claims: run `make paper`, or `make figures` for the claims at small parameters"
        )
    claims = pd.concat(map(read_file, files), ignore_index=True)
    if (twice := claims["id"].duplicated()).any():
        raise ValueError(f"the id {claims['id'][twice].iloc[0]} is used twice")
    for row in claims.to_dict("records"):
        _check_letters(row)
    return claims


def read_file(file):
    """Read the claims of one csv."""
    claims = pd.read_csv(file, dtype=str, keep_default_na=False)
    if missing := [name for name in COLUMNS if name not in claims]:
        raise ValueError(f"{file} has no column {missing[0]}: run its notebook again, which writes all columns")
    claims = claims[COLUMNS]
    for name in NUMBERS:
        claims[name] = [float(number) if number else nan for number in claims[name]]
    return claims


def position(name):
    """Return the position of a paper, or of one of its notebooks, in the order of the papers."""
    paper = name.partition("_")[0]
    return list(PAPERS).index(paper) if paper in PAPERS else len(PAPERS)


def _check_letters(row):
    """Refuse a row of which a letter is not the one that its numbers give."""
    judged = not row["untestable"] and (row["quote"] or not isnan(row["printed"]))
    for prefix, any_letter in (("", judged), ("loser_", row["loser"]), ("winner_", row["winner"])):
        stored, computed = row[f"{prefix}letter"], _letter(row, prefix) if any_letter else ""
        if stored != computed:
            raise ValueError(
                f"claim {row['id']} says {prefix}{stored}, but its numbers say {computed}: run its notebook again"
            )


def _letter(row, prefix="", margin=1.0):
    """The letter of what was measured, of the loser or of the winner."""
    return verdicts.letter(rule_of(row), [row[f"{prefix}{end}"] for end in MEASURED], margin)


def rule_of(row):
    return Criterion(*(row[name] for name in RULE))


def sentences(claims: pd.DataFrame) -> pd.DataFrame:
    """Return the papers' sentences, each once, with its letters by text and program and its outcome.

    Parameters
    ----------
    claims : DataFrame
        Claims as `ledger.read` returns them.

    Returns
    -------
    DataFrame
        Indexed by the id without part and reading: paper, place, quote, whole, restored, text and program (letters),
        outcome, quantity (what was measured) and condition (for which values the sentence is true), by_text and
        by_program (the numbers), and note (of the controls and of the margins).

    Examples
    --------
    >>> from bandits_companion.claims import Claim, table
    >>> from bandits_companion.registry import Entry
    >>> from bandits_companion.verdicts import Criterion
    >>> said = ("fiez2019", "Figure 1a", "fewer pulls", "", "ratio")
    >>> found = [Claim(Entry(f"a/x@{kind}", *said, kind, "words", Criterion(0, 1)), (x, x, x))
    ...          for kind, x in (("text", 2.0), ("program", 0.5))]
    >>> sentences(table(found))[["text", "program", "outcome"]].to_numpy().tolist()
    [['F', 'H', 'holds in the published program only']]
    """
    lines = []
    for id, rows in by_sentence(claims[claims["quote"] != ""]).items():
        first = rows[0]
        if first["untestable"]:
            judgement = ("–", "–", "untestable", *[""] * 4, first["untestable"])
        else:
            judgement = _judgement(rows)
        lines.append((id, *(first[name] for name in ("paper", "place", "quote", "whole", "restored")), *judgement))
    columns = ["id", "paper", "place", "quote", "whole", "restored", "text", "program", "outcome"]
    columns += ["quantity", "condition", "by_text", "by_program", "note"]
    return pd.DataFrame(lines, columns=columns).set_index("id")


def by_sentence(claims):
    """Return {id of the sentence: its claims as dictionaries}."""
    groups: dict[str, list] = {}
    for row in claims.to_dict("records"):  # once for all: pandas is slow for each group
        groups.setdefault(sentence(row["id"]), []).append(row)
    return groups


def _judgement(rows):
    """Letters of text and program, outcome, quantity, condition, numbers by text and by program, and a note."""
    text, program, outcome, note = _outcome(rows)
    others = {_outcome(rows, margin)[2] for margin in (0.5, 2.0)} - {outcome}
    notes = [note, f"{MARGINS}: {' or '.join(sorted(others))}" if others else ""]
    notes += [CHANGED] if any(row["changed"] for row in rows) else []
    if text == "H" and program not in "–H":
        notes.append(f"in the published program: {LETTERS[program]}")
    shown = [deciding(rows, kind) for kind in ("text", "program")]
    first, second = shown if "program" not in outcome else shown[::-1]
    quantities = [row["measures"].partition("; ")[0] for row in [*first, *second]]
    texts = ["; ".join(dict.fromkeys(values)) for values in (quantities, map(condition, [*first, *second]))]
    numbers = ["; ".join(with_interval(r) + _name(r, some if some[1:] else rows) for r in some) for some in shown]
    return text, program, outcome, *texts, *numbers, "; ".join(filter(None, notes))


def deciding(rows, kind):
    """Return the rows that decide the letter of a kind: the worst, or that of each reading if it depends on them."""
    rows = [row for row in rows if row["kind"] == kind]
    worst_first = sorted(rows, key=lambda row: verdicts.WORST_FIRST.index(row["letter"]))
    if _of_kind(rows, kind, 1.0) != "D":
        return worst_first[:1]
    of_reading = {part_and_reading(row["id"])[1]: row for row in worst_first[::-1]}
    return [row for row in rows if row in of_reading.values()]


def _name(row, rows):
    """Return in brackets the part and the reading of a row, each only if it differs among the rows of its kind."""
    names = part_and_reading(row["id"])
    all_names = [part_and_reading(other["id"]) for other in rows if other["kind"] == row["kind"]]
    differing = [name for name, others in zip(names, zip(*all_names, strict=True), strict=True) if len(set(others)) > 1]
    return f" ({', '.join(differing)})".replace(f"{row['kind']}_", "").replace("_", " ") if differing else ""


def _outcome(rows, margin=1.0):
    """Letters of text and program, the outcome, and what the controls say of it."""
    text, program = (_of_kind(rows, kind, margin) for kind in ("text", "program"))
    outcome, note = verdicts.outcome(text, program), ""
    if outcome.startswith("holds"):
        kind = "program" if "program" in outcome else "text"
        if note := _doubt([row for row in rows if row["kind"] == kind], margin):
            if kind == "text" or text == "–":
                return text, program, "not contradicted", note
            # If its loser does not fail, the program shows nothing, and the text decides.
            outcome, note = verdicts.outcome(text, "U"), f"in the published program {note}"
    winners = [row for row in rows if row["kind"] == "text" and row["winner"] and _letter(row, margin=margin) == "F"]
    if outcome.startswith("falls") and winners and not any(_letter(row, "winner_", margin) == "H" for row in winners):
        return text, program, "undecided", f"the positive control ({winners[0]['winner']}) does not pass"
    return text, program, outcome, note


def _doubt(rows, margin):
    """Return why a sentence that holds is only not contradicted (slack, samples, a loser that does not fail), or ""."""
    if slack := next((row["slack"] for row in rows if row["slack"]), ""):
        return slack
    if sampled := max((row["sampled"] for row in rows), default=0):
        return f"in {sampled:.0f} instance{'s' * (sampled > 1)}"
    losers = [row for row in rows if row["loser"]]
    refused = {row["loser"] for row in losers if _letter(row, "loser_", margin) in "FL"}
    return next(
        (f"the negative control ({row['loser']}) does not fail" for row in losers if row["loser"] not in refused), ""
    )


def _of_kind(rows, kind, margin):
    letters = {}
    for row in rows:
        if row["kind"] == kind:
            letters[part_and_reading(row["id"])] = _letter(row, margin=margin)
    return verdicts.of_kind(letters)


def totals(claims: pd.DataFrame, errata: pd.DataFrame | None = None) -> pd.DataFrame:
    """Count the sentences of each paper by outcome.

    Parameters
    ----------
    claims : DataFrame
        Claims as `ledger.read` returns them.
    errata : DataFrame, optional
        Errata as `errata.read` returns them, of which those of the kind error are counted.

    Returns
    -------
    DataFrame
        One row per paper and a last row "all"; a column for each outcome, "sentences", "changed by margins" (how many
        would have another outcome with margins half or twice as wide), and "errors found".

    Examples
    --------
    >>> from bandits_companion.claims import Claim, table
    >>> from bandits_companion.registry import Entry
    >>> from bandits_companion.verdicts import Criterion
    >>> entry = Entry("a/x", "fiez2019", "Figure 1a", "fewer", "", "ratio", "text", "words", Criterion(0, 1))
    >>> totals(table([Claim(entry, (0.5, 0.4, 0.6))])).loc["all", ["holds by the text", "sentences"]].tolist()
    [1, 1]
    """
    found = sentences(claims)
    counts = counts_by_paper(found, "outcome", OUTCOMES)
    counts = counts.assign(sentences=counts.sum(axis=1))
    starred = found.assign(starred=found["note"].str.contains(MARGINS)).groupby("paper")["starred"].sum()
    counts["changed by margins"] = starred.reindex(counts.index, fill_value=0).astype(int)
    counts.loc["all", "changed by margins"] = starred.sum()
    if errata is None:
        return counts
    found = counts_by_paper(errata, "kind", ["error"])["error"].reindex(counts.index, fill_value=0)
    found["all"] = found.drop("all").sum()
    return counts.assign(**{"errors found": found})


def counts_by_paper(rows, column, columns):
    """Count the rows of each paper by what stands in a column, with a last row "all"."""
    counts = pd.crosstab(rows["paper"], rows[column]).reindex(columns=columns, fill_value=0)
    counts = counts.loc[sorted(counts.index, key=position)]
    counts.loc["all"] = counts.sum()
    return counts.rename_axis(columns=None)
