"""A reader's rule in every figure that compares rules: what a notebook asks of it, and how it does in a figure."""

import ast
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd

from bandits_companion import notebook_runs
from bandits_lib.figures import style
from bandits_lib.simulate.own_rule import NEEDS, OWN

YARDSTICK = re.compile(r"oracle|_told$|^one static stage$")  # what no rule could be


def needs(notebook):
    """Return the arguments that a rule must have to stand in a notebook's figures, None if no rule can."""
    cells = json.loads(Path(notebook).read_text(encoding="utf-8"))["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    if "own_rule.played" not in code:
        return None
    calls = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    calls = [call for call in calls if ast.unparse(call.func) == "own_rule.played"]
    told = {key for call in calls for key in re.findall(r"'(\w+)':", ast.unparse(call.args[2]))}
    told |= {keyword.arg for call in calls for keyword in call.keywords}
    return [name for name in NEEDS if name in told]


def sentences(run, asked):
    """Return {figure: how the reader's rule does} for the figures of a run that hold it."""
    found = {}
    for name, described in notebook_runs.figures(run):
        estimates = pd.read_csv(described.with_suffix(".csv"))
        if "algorithm" in estimates and (estimates["algorithm"] == OWN).any():
            found[notebook_runs.named(described)] = sentence(estimates, "budget" in asked[name])
    return found


def sentence(estimates, budget):
    """Say how a reader's rule does beside the best of the papers' rules, where none of its runs was cut off."""
    settings = list(estimates.columns[: estimates.columns.get_loc("algorithm")])
    cut = estimates["not_stopped"].fillna(0) if "not_stopped" in estimates else 0
    estimates = estimates.assign(cut=cut, setting=estimates[settings].astype(str).agg(", ".join, axis=1))
    mine = estimates[estimates["algorithm"] == OWN]
    ended = estimates[estimates["setting"].isin(mine.loc[mine["cut"] == 0, "setting"])]
    words = ""
    if mine["cut"].any():
        words = f"was cut off in {mine['cut'].sum():.0f} of {mine['runs'].sum():.0f} runs"
        if ended.empty:
            return f"Your rule {words}."
        words = f" In other settings it {words}."
    values = ended.pivot(index="setting", columns="algorithm", values="error_rate" if budget else "mean")
    means = (values if budget else np.log(values)).mean(skipna=False)
    best = means[[name for name in means.index if name != OWN and not YARDSTICK.search(name)]].idxmin()
    over = f"over {len(values)} settings" if len(values) > 1 else "in the one setting"
    if budget:
        return (
            f"Your rule names a wrong arm in {means[OWN]:.1%} of the runs (mean {over}), and {style.label(best)},"
            f" the best of the papers' rules, in {means[best]:.1%}."
        )
    wrong = ended.loc[ended["algorithm"] == OWN, "error_rate"].mean()
    return (
        f"Your rule takes {np.exp(means[OWN]):,.0f} pulls and {style.label(best)}, the best of the papers' rules,"
        f" {np.exp(means[best]):,.0f} (geometric mean {over} of the mean pulls); it names a wrong arm in {wrong:.1%} of"
        f" its runs.{words}"
    )
