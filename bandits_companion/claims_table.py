"""Tables of claims: one row per claim, read from and written to csv, and one row per sentence of a paper.

Letters and words are never read from a file: they are computed from the numbers whenever claims are read.
"""

from math import inf, isnan, nan
from os import PathLike
from pathlib import Path

import pandas as pd

from bandits_companion import verdicts
from bandits_companion.registry import PAPERS, part_and_reading, sentence
from bandits_companion.verdicts import LETTERS, WORDS, Criterion
from bandits_lib.simulate.intervals import Interval, runs_needed

# the columns of a Criterion
RULE = ["holds_low", "holds_high", "graded", "side", "printed", "printed_half", "tie_low", "tie_high"]
MEASURED = ["estimate", "low", "high"]
MARGINS = "with margins half or twice as wide"
NO_CONTROL = ("", nan, nan, nan)
LOSER, WINNER = ([name, *(f"{name}_{end}" for end in MEASURED)] for name in ("loser", "winner"))
SENTENCE = ["paper", "place", "quote", "whole", "restored", "root"]
COLUMNS = ["id", *SENTENCE, "measures", "kind", "edge", *RULE, "sampled", *MEASURED, "error"]
COLUMNS += ["settings", "held", *LOSER, *WINNER]
COLUMNS += ["slack", "untestable", "waits", "explanation", "changed", "before"]
JUDGED = ["letter", "loser_letter", "winner_letter", "more"]
CHANGED = "criterion changed after the run"
DIGITS, ZERO = 12, 1e-13  # kept of a measured number, and what counts as 0: the rest depends on the processor
NUMBERS = {*RULE, "sampled", *MEASURED, "error", "settings", "held", *LOSER, *WINNER}
NUMBERS -= {"graded", "side", "loser", "winner"}
KINDS = {"text": "by the text", "program": "in the published program"}
WAITING = {"text": ("text", "other"), "program": ("program",)}  # whose readings may wait for what a cell waits for


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


def condition(row):
    """Return in words, as a condition, for which values the statement of a row is true; "" for a finding."""
    low, high, graded = row["holds_low"], row["holds_high"], row["graded"]
    if not isnan(row["printed"]):
        printed = f"{row['printed']:.6g}"
        word = "printed" if row["quote"] else "compared with"
        return f"{word} {printed} ± {row['printed_half']:.3g}" if row["printed_half"] else f"expected {printed}"
    if not row["quote"]:
        return ""
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
    """Return the letter of a row in words, with the runs that would decide it if it is open."""
    letter = LETTERS.get(row["letter"], "not tested" if row["untestable"] else "finding")
    if row["letter"] == "P":
        return f"{letter}: {_counts([row])}"
    return f"open ({_times(row['more'])})" if row["letter"] == "U" else letter


def _times(more):
    if more == inf:
        return "more runs alone would not decide"
    return "more than 10,000 times the runs are needed" if more > 1e4 else f"{more:.3g} times the runs would decide"


def judge(claims):
    """Return claims with the columns JUDGED, which follow from the others."""
    found = [_judgement(row) for row in claims.to_dict("records")]
    return claims.join(pd.DataFrame(found, index=claims.index, columns=JUDGED))


def _judgement(row):
    """The values of JUDGED."""
    any_letter = not row["untestable"] and (row["quote"] or not isnan(row["printed"]))
    letter = _letter(row) if any_letter else ""
    controls = [_letter(row, f"{name}_") if row[name] else "" for name in ("loser", "winner")]
    more = 1 if letter != "U" else _more(row) if isnan(row["printed"]) else inf
    return letter, *controls, more


def _letter(row, prefix="", margin=1.0):
    """The letter of what was measured, of the loser or of the winner."""
    rule, interval = criterion(row, prefix)
    found = verdicts.letter(rule, interval, margin)
    return "P" if found == "F" and not prefix and row["held"] > 0 else found


def _more(row, prefix="", wanted="HWLF"):
    """The multiple of the runs that would give one of some letters, since widths fall with the root of the runs."""
    rule, interval = criterion(row, prefix)
    return runs_needed(interval, lambda found: verdicts.letter(rule, found) in wanted)


def criterion(row, prefix=""):
    """Return the criterion of a row, and the interval of what was measured, of the loser or of the winner."""
    return Criterion(*(row[name] for name in RULE)), Interval(*(row[f"{prefix}{end}"] for end in MEASURED))


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
        If the folder has no claims, or an id is used twice.

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
        raise ValueError(f"{folder} has no claims: run `make paper`, or `make figures` for those at small parameters")
    claims = pd.concat(map(read_file, files), ignore_index=True)
    if (twice := claims["id"].duplicated()).any():
        raise ValueError(f"the id {claims['id'][twice].iloc[0]} is used twice")
    return claims


def read_file(file):
    """Read the claims of one csv; a column that it lacks is empty."""
    claims = pd.read_csv(file, dtype=str, keep_default_na=False).reindex(columns=COLUMNS, fill_value="")
    for name in NUMBERS:
        claims[name] = [float(number) if number else nan for number in claims[name]]
    return judge(claims)


def position(name):
    """Return the position of a paper, or of one of its notebooks, in the order of the papers."""
    paper = name.partition("_")[0]
    return list(PAPERS).index(paper) if paper in PAPERS else len(PAPERS)


def sentences(claims: pd.DataFrame) -> pd.DataFrame:
    """Return the papers' sentences, each once, with its two cells: by the text, and in the published program.

    Parameters
    ----------
    claims : DataFrame
        Claims as `ledger.read` returns them.

    Returns
    -------
    DataFrame
        Indexed by the id without part and reading: paper, place, quote, whole, restored, root, text and program (words
        of `verdicts.WORDS`), text_said and program_said (the numbers, by letter), text_note and program_note
        (instances, runs that would decide, controls, margins).

    Examples
    --------
    >>> from bandits_companion.claims import Claim, table
    >>> from bandits_companion.registry import Entry
    >>> from bandits_companion.verdicts import Criterion
    >>> said = ("fiez2019", "Figure 1a", "fewer pulls", "", "ratio")
    >>> found = [Claim(Entry(f"a/x@{kind}", *said, kind, "words", Criterion(0, 1)), (x, x, x))
    ...          for kind, x in (("text", 2.0), ("program", 0.5))]
    >>> sentences(table(found))[["text", "program"]].to_numpy().tolist()
    [['falls', 'holds']]
    """
    lines = []
    for id, rows in by_sentence(claims[claims["quote"] != ""]).items():
        cells = [value for kind in KINDS for value in _cell(rows, kind)]
        lines.append((id, *(rows[0][name] for name in SENTENCE), *cells))
    columns = ["id", *SENTENCE, *(f"{kind}{end}" for kind in KINDS for end in ("", "_said", "_note"))]
    return pd.DataFrame(lines, columns=columns).set_index("id")


def by_sentence(claims):
    """Return {id of the sentence: its claims as dictionaries}."""
    groups: dict[str, list] = {}
    for row in claims.to_dict("records"):  # once for all: pandas is slow for each group
        groups.setdefault(sentence(row["id"]), []).append(row)
    return groups


def _cell(rows, kind):
    """The word of a kind, its numbers, and a note."""
    own = [row for row in rows if row["kind"] == kind and row["letter"]]
    word, note = _word(own)
    others = {_word(own, margin)[0] for margin in (0.5, 2.0)} - {word}
    notes = [note if own else rows[0]["untestable"] if kind == "text" else ""]
    notes += [f"waits for {row['waits']}" for row in rows if row["waits"] and row["kind"] in WAITING[kind]][:1]
    notes += [f"{MARGINS}: {' or '.join(sorted(others))}"] if others else []
    notes += [CHANGED] if any(row["changed"] for row in own) else []
    notes += [f"at the seed of the edition before: {row['before']}" for row in own if row["before"]][:1]
    return word, numbers(own), "; ".join(filter(None, notes))


def _word(rows, margin=1.0):
    """The word of the claims of one kind, and what instances, slack, runs or controls say of it."""
    word = verdicts.word({_letter(row, margin=margin) for row in rows})
    if word == "open":
        return word, _times(max(row["more"] for row in rows if _letter(row, margin=margin) == "U"))
    if word == "holds":
        losers = [row for row in rows if row["loser"]]
        if sampled := max(row["sampled"] for row in rows):
            return "not contradicted", f"in {sampled:.0f} case{'s' * (sampled > 1)}"
        if not losers and rows[0]["side"] != "some" and (slack := rows[0]["slack"]):  # one instance shows existence
            return "not contradicted", slack
        failed = {row["loser"] for row in losers if _letter(row, "loser_", margin) in "FL"}
        if alike := [row for row in losers if row["loser"] not in failed]:
            return "open", _doubt(alike[0], "loser", "negative", "does not fail", "FL")
    winners = [row for row in rows if row["winner"]]
    if word == "falls" and winners and not any(_letter(row, "winner_", margin) == "H" for row in winners):
        return "open", _doubt(winners[0], "winner", "positive", "does not pass", "H")
    return word, _counts(rows) if word == "partly" else ""


def _counts(rows):
    """Say in how many comparisons the claims hold that hold in some of them and fall in others."""
    counts = dict.fromkeys(f"{row['held']:.0f} of {row['settings']:.0f}" for row in rows if row["letter"] == "P")
    return f"holds in {' and '.join(counts)} comparisons" if counts else ""


def _doubt(row, control, sign, fault, wanted):
    times = _times(_more(row, f"{control}_", wanted))
    return f"the {sign} control ({row[control]}) {fault} ({times})"


def numbers(rows, lettered=False):
    """Return the numbers of claims of one kind, under the word of each letter if there are several or if `lettered`."""
    alike = {letter: [row for row in rows if row["letter"] == letter] for letter in LETTERS}
    found = {letter: list(_named(rows, own)) for letter, own in alike.items() if own}
    if len(found) == 1 and not lettered and not {"W", "L", "P"} & {*found}:
        return ", ".join(*found.values())
    words = LETTERS | {"P": "in some settings"}
    return "; ".join(f"{words[letter]} {', '.join(said)}" for letter, said in found.items())


def _named(rows, alike):
    """Yield the numbers of claims with one letter, and their names; a range if all of a part or of a reading has it."""
    names, own = ([part_and_reading(row["id"]) for row in some] for some in (rows, alike))
    several = [len({name[at] for name in names}) > 1 for at in (0, 1)]
    groups: dict[tuple, list] = {}
    for row, name in zip(alike, own, strict=True):
        whole = [at for at in (0, 1) if {other for other in names if other[at] == name[at]} <= {*own}]
        shown = tuple(name[at] for at in (0, 1) if several[at] and (at in whole[:1] or not whole))
        groups.setdefault(shown, []).append(row)
    for shown, group in groups.items():
        label = " with ".join(shown).replace(f"{group[0]['kind']}_", "").replace("_", " ")
        yield _range(group) + (f" ({label})" if label else "")


def _range(rows):
    least, most = (f"{end(row['estimate'] for row in rows):.3g}" for end in (min, max))
    return with_interval(rows[0]) if least == most else f"{least} to {most}"


def totals(claims: pd.DataFrame) -> pd.DataFrame:
    """Count the sentences of each paper by the words of their two cells.

    Parameters
    ----------
    claims : DataFrame
        Claims as `ledger.read` returns them.

    Returns
    -------
    DataFrame
        Two rows per paper, such as "fiez2019, text" and "fiez2019, program", and a column for each word.

    Examples
    --------
    >>> from bandits_companion.claims import Claim, table
    >>> from bandits_companion.registry import Entry
    >>> from bandits_companion.verdicts import Criterion
    >>> entry = Entry("a/x", "fiez2019", "Figure 1a", "fewer", "", "ratio", "text", "words", Criterion(0, 1))
    >>> totals(table([Claim(entry, (0.5, 0.4, 0.6))])).loc["fiez2019, text", "holds"]
    np.int64(1)
    """
    found = sentences(claims)
    rows = {
        f"{paper}, {kind}": [(own[kind] == word).sum() for word in WORDS]
        for paper in sorted(set(found["paper"]), key=position)
        for kind in KINDS
        for own in [found[found["paper"] == paper]]
    }
    return pd.DataFrame.from_dict(rows, orient="index", columns=list(WORDS)).rename_axis("paper")


def slips(found):
    """Say how many causes the sentences that fall by the text have, if several of them fall by the same slip."""
    roots = [root or id for id, root in found.loc[found["text"] == "falls", "root"].items()]
    number = len({*roots})
    causes = f"{number} cause{'s' * (number != 1)}"
    return f" They have {causes}, because several fall by the same slip." if number < len(roots) else ""
