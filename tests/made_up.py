"""Claims made up for tests, and what notebooks leave of them."""

import json

from bandits_companion.claims import Claim, table
from bandits_companion.claims_table import csv_of
from bandits_companion.registry import Entry
from bandits_companion.verdicts import Criterion
from bandits_lib.simulate.intervals import Interval

FEWER = Criterion(0, 1)


def claim(id, interval, rule=FEWER, kind="text", loser=None, winner=None, **more):
    """A claim of a sentence; a number is an interval of its own, a loser or winner is named if it has an interval."""
    said = {"place": "Figure 1a", "quote": "fewer", "whole": "", "measures": "A over B", "edge": "words"} | more
    said |= {"loser": "XY-static" if loser else "", "winner": "the oracle" if winner else ""}
    intervals = [of(given) if given else None for given in (interval, loser, winner)]
    return Claim(Entry(id=id, paper=id.partition("_")[0], kind=kind, rule=rule, **said), *intervals)


def of(given):
    if isinstance(given, Interval):
        return given
    return Interval(*(given if isinstance(given, tuple) else (given, given, given)))


def leave(folder, claims, seed=0, code=("library", "notebook")):
    """Write the csv and a json of one notebook below <folder>/figures, and return that folder."""
    (notebook,) = {claim.entry.id.partition("/")[0] for claim in claims}
    figures, paper = folder / "figures", notebook.partition("_")[0]
    for name in ("claims", paper):
        (figures / name).mkdir(parents=True, exist_ok=True)
    (figures / "claims" / f"{notebook}.csv").write_text(csv_of(table(claims)))
    about = {"command": f"papermill notebooks/{notebook}.ipynb out.ipynb", "parameters": {"seed": seed}, "alt": "lines"}
    about |= {"code": dict(zip(("library", "notebook"), code, strict=True)), "versions": {"numpy": "2.0"}}
    (figures / paper / f"{notebook}.json").write_text(json.dumps(about))
    return figures
