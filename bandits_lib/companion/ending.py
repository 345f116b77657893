"""How a run of the notebooks ends: what was made, what the papers' sentences came to, and one page to open."""

import re
from collections.abc import Iterable
from typing import NamedTuple

import pandas as pd

from bandits_lib.companion import contact_sheet, ledger, rows
from bandits_lib.companion.contact_sheet import Run, shown
from bandits_lib.companion.saved import position
from bandits_lib.companion.verdicts import STANDS

PAGE, LIST = "index.html", "verdicts.txt"
WIDTHS = {"stand": 9, "undecided": 12, "fall": 10}  # of the columns of the totals
COLOUR = re.compile(r"\x1b\[[0-9;]*m")  # of a terminal, in what a kernel says of an error


class Played(NamedTuple):
    """What became of one notebook.

    Attributes
    ----------
    name : str
        Its name.
    seconds : float
        How long it took.
    message : str
        How it went.
    error : str
        Last line of its error, "" if it ran through.

    Examples
    --------
    >>> Played("companion_ledger", 2.5, "done", "").error
    ''
    """

    name: str
    seconds: float
    message: str
    error: str


def last_line(error):
    """The line of an error that says what it was.

    Parameters
    ----------
    error : BaseException
        As papermill raises it, with the traceback of the kernel.

    Returns
    -------
    str
        Its last line that is not empty, without colours.

    Examples
    --------
    >>> last_line(ValueError("Traceback ...\\n\\x1b[31mZeroDivisionError\\x1b[0m: division by zero\\n"))
    'ZeroDivisionError: division by zero'
    """
    lines = [line.strip() for line in COLOUR.sub("", str(error)).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__


def close(played: Iterable[Played], seconds, run: Run, page, compared):
    """Write the page and the list of claims; say in about ten lines what there is.

    Parameters
    ----------
    played : iterable of Played
        What became of the notebooks.
    seconds : float
        How long all took.
    run : contact_sheet.Run
        Where they left what.
    page : Path
        Folder of the page and of the list.
    compared : str
        What the sentences of `run.beside` are called; unused without.

    Returns
    -------
    str
        The lines.

    Examples
    --------
    >>> from pathlib import Path
    >>> here = Path()
    >>> print(close([], 61, Run(here, here, here, None, "at small parameters"), here, ""))
    0 notebooks in 1.0 min, 0 figures, at small parameters
    open index.html: every figure with its data and its notebook
    """
    played = list(played)
    root, failed = run.notebooks.parent, {one.name: one.error for one in played if one.error}
    claims = _claims(run.out / "figures", [one.name for one in played if not one.error])
    page.mkdir(parents=True, exist_ok=True)
    if not claims.empty:
        (page / LIST).write_text(listed(claims, run.scale), encoding="utf-8")
    contact_sheet.save(page / PAGE, run, failed)
    drawn = sum(name in {one.name for one in played} - set(failed) for name, _ in contact_sheet.figures(run))
    lines = [f"{_count(len(played), 'notebook')} in {duration(seconds / 60)}, {_count(drawn, 'figure')}, {run.scale}"]
    lines += [f"FAILED {name}: {why} ({shown(run.executed / name, root)}.ipynb)" for name, why in failed.items()]
    if not claims.empty:
        lines += _sentences(claims, run, compared)
        lines.append(f"all {len(claims)} claims with intervals and verdicts: {shown(page / LIST, root)}")
    beside = "beside the one at the papers' scale, " if run.beside else ""
    return "\n".join([*lines, f"open {shown(page / PAGE, root)}: every figure {beside}with its data and its notebook"])


def _count(number, word):
    return f"{number} {word}{'' if number == 1 else 's'}"


def _claims(folder, names):
    """The claims that these notebooks saved, in the order of the papers."""
    files = [folder / "claims" / f"{name}.csv" for name in sorted(names, key=lambda name: (position(name), name))]
    found = [file for file in files if file.exists()]
    return pd.concat(map(ledger.read_file, found), ignore_index=True) if found else pd.DataFrame()


def _sentences(claims, run, compared):
    """Totals by paper, beside those of the same notebooks in `run.beside`."""
    tables = {run.scale: totals(claims)}
    if tables[run.scale].empty:
        return []
    if run.beside and not (other := _claims(run.beside, sorted(set(claims["id"].str.partition("/")[0])))).empty:
        tables[compared] = totals(other)
    table = pd.concat(tables, axis=1).fillna(0).astype(int)
    heads = "".join(f"    {name:<27}" for name in tables), "".join(f"{part:>{w}}" for part, w in WIDTHS.items())
    lines = [f"{'':<10}{heads[0]}", f"{'':<10}{heads[1] * len(tables)}"]
    for paper, counts in table.iterrows():
        cells = (f"{count:>{WIDTHS[part]}}" for (_, part), count in counts.items())
        lines.append(f"{paper:<10}{''.join(cells)}")
    where = f" (figures/ledger.md has those {compared}, which count)" if len(tables) > 1 else ""
    return [f"The papers' sentences{where}:", *(line.rstrip() for line in lines)]


def totals(claims):
    """How many of the papers' sentences stand, are undecided, or do not stand.

    Parameters
    ----------
    claims : DataFrame
        Claims as `ledger.read_file` returns them.

    Returns
    -------
    DataFrame
        One row per paper.

    Examples
    --------
    >>> from bandits_lib.companion.claims import claim
    >>> found = rows.full([claim("fiez2019_demo/a", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1))])
    >>> totals(found).to_dict("list")
    {'stand': [1], 'undecided': [0], 'fall': [0]}
    """
    counts = ledger.totals(claims).drop(index="all")
    parts = [counts[list(STANDS)].sum(axis=1), counts["undecided"], counts["not reproduced"]]
    return pd.concat(parts, axis=1, keys=list(WIDTHS))


def listed(claims, scale):
    """Every claim in a line: id, estimate with its 95 % interval, where the claim holds, verdict.

    Parameters
    ----------
    claims : DataFrame
        Claims as `ledger.read_file` returns them.
    scale : str
        At which parameters they were measured.

    Returns
    -------
    str
        Text, with a head that explains it.

    Examples
    --------
    >>> from bandits_lib.companion.claims import claim
    >>> found = rows.full([claim("fiez2019_demo/a", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1))])
    >>> print(listed(found, "at small parameters").splitlines()[-1])
    fiez2019_demo/a  0.5 [0.4, 0.6]                 0 to 1                   reproduced
    """
    width = max(claims["id"].str.len())
    counts = ", ".join(f"{count} {verdict}" for verdict, count in claims["verdict"].value_counts().items())
    lines = [
        f"Every claim, {scale}: {counts}.",
        "A sentence of a paper may have several readings, each a claim; it stands if it is reproduced, compatible or",
        "without difference above the margin under one of them. Findings of the companion have no verdict.",
        "",
        f"{'claim':<{width}}  {'measured [95 % interval]':<30} {'holds for':<24} verdict",
    ]
    for row in claims.to_dict("records"):
        lines.append(f"{row['id']:<{width}}  {rows.told(row):<30} {rows.holds_for(row):<24} {rows.judged(row)}")
    return "\n".join(lines) + "\n"


def duration(minutes):
    """A time as people say it.

    Parameters
    ----------
    minutes : float
        The time.

    Returns
    -------
    str
        Seconds, minutes or hours.

    Examples
    --------
    >>> duration(0.5), duration(61 / 60), duration(90)
    ('30 s', '1.0 min', '1.5 h')
    """
    return f"{60 * minutes:.0f} s" if minutes < 1 else f"{minutes:.1f} min" if minutes < 60 else f"{minutes / 60:.1f} h"
