"""Make interactive charts from the csv files of figures of runs: a reader hovers, hides rules and chooses a reading.

A chart is a specification of Vega-Lite in a piece of HTML. The script that draws it is the same for all pages.
"""

import json
from functools import cache
from itertools import takewhile
from os import PathLike
from pathlib import Path
from typing import Any

import altair as alt
import pandas as pd
from altair.utils.schemapi import debug_mode
from matplotlib.colors import to_hex
from pandas.api.types import is_numeric_dtype
from vl_convert import javascript_bundle

from bandits_companion.notebook_runs import YARDSTICK
from bandits_lib.figures import style

BUDGET = "azizi2022"  # the paper whose figures show accuracies
STATISTICS = ("runs", "mean", "se", "low", "high", "error_rate", "share", "printed")  # before these are settings
UNITS = {  # figures whose means are no numbers of pulls, or not under every setting
    "jedra2020/fig_rules": "pulls / noiseless optimum",
    "jedra2020/fig_growth": "pulls, in the panel delta / lower bound",
    "jedra2020/sphere_orders": "pulls, against delta / order of Theorem 5",
}
READINGS = {"text": "as the text says", "code": "published program", "program": "published program"}
SHAPES = {"s": "square", "^": "triangle-up", "v": "triangle-down", "D": "diamond", "d": "diamond", "P": "cross"}
SHAPES |= {"X": "cross", ">": "triangle-right", "<": "triangle-left"}  # every other marker is a circle
TEX = {r"\varepsilon": "ε", r"\log": "log", "_1": "₁", "_t": "ₜ", "$": ""}
POINTS = 1500  # single runs in a chart, at most
LINE = 20  # letters of a rule's label in one line of an axis
HINT = (
    "Hover over a point for the estimate, its 95 % interval and the number of runs. Click on a rule in the legend to "
    "hide it or to show it again."
)


@cache
def script() -> str:
    """Return the script of pages with charts: a loader, with Vega, Vega-Lite and Vega-Embed and their licences."""
    loader, licences = (Path(__file__).with_name(f"charts.{kind}").read_text("utf-8") for kind in ("js", "LICENSE.txt"))
    return f"/*\n{licences}*/\n(() => {{\n{javascript_bundle(loader)}\n}})()\n"  # its names are not those of the page


def html(file: str | PathLike, points: int = POINTS) -> str:
    """Return the chart of a figure as HTML on one line, or "" if it has no csv file of rules with intervals."""
    file, hint, runs = Path(file), HINT, None
    if not file.exists():
        return ""
    estimates = pd.read_csv(file)
    if not {"algorithm", "low", "high"} <= set(estimates) or not {"mean", "share"} & set(estimates):
        return ""
    budget, unit = file.parent.name == BUDGET, UNITS.get(f"{file.parent.name}/{file.stem}")
    if not budget and not unit and (beside := file.with_name(f"{file.stem}_runs.csv")).exists():
        runs = thinned(pd.read_csv(beside), estimates, points)
    if runs is not None:
        hint += f" Small dots are single runs: the first {runs['run'].max() + 1} of each rule and setting."
    if "mean" in estimates and (cut := estimates.loc[estimates["mean"].isna(), "algorithm"].map(style.label)).any():
        hint += f" Without a point where runs were cut off: {', '.join(dict.fromkeys(cut))}."
    with debug_mode(False):  # the schema is checked in the tests, and takes half of the time
        made = accuracies(estimates) if budget else pulls(estimates, runs, unit)
        spec = json.dumps(made.to_dict(), separators=(",", ":"), ensure_ascii=False).replace("</", r"<\/")
    data = f'<script type="application/json">{spec}</script>'
    return f'<div class="chart" hidden><div></div><p>{hint}</p>{data}</div>'


def settings(estimates):
    """Return the names of the settings of a figure."""
    return [name for name in takewhile(lambda name: name not in STATISTICS, estimates) if name != "algorithm"]


def thinned(runs, estimates, points):
    """Return the first runs of each rule and setting, about `points` together; None if the rows are no such runs."""
    column, by = "pulls" if "runs" in estimates else "error", [*settings(estimates), "algorithm"]
    if column in by or not {*by, "run", column} <= set(runs):
        return None
    return runs[runs["run"] < max(points // len(estimates), 1)].assign(value=runs[column])


def pulls(estimates: pd.DataFrame, runs: pd.DataFrame | None = None, unit: str | None = None) -> alt.LayerChart:
    """Return the chart of a figure of pulls, of errors or of shares of runs, with single runs as small points."""
    if "mean" not in estimates:
        return chart(estimates.assign(value=estimates["share"]), "share of runs", "largest share", "linear")
    title, best = ("pulls", "fewest pulls") if "runs" in estimates else ("error", "smallest error")
    low = estimates["low"].clip(lower=estimates["mean"] / 1000)  # a logarithmic axis ends above 0
    return chart(estimates.assign(value=estimates["mean"], low=low), unit or title, best, "log", runs)


def accuracies(estimates: pd.DataFrame) -> alt.LayerChart:
    """Return the chart of a figure of accuracies, the shares of runs that name the best item."""
    ends = {"value": "error_rate", "low": "error_high", "high": "error_low"}
    table = estimates.assign(**{end: 1 - estimates[column] for end, column in ends.items()})
    return chart(table, "accuracy", "highest accuracy", "linear")


def chart(estimates, title, best, scale, runs=None):
    """Return a chart of values with intervals against the last setting, or, if it is no number, in a row a rule."""
    names, known = settings(estimates), dict(style.LOOKS)
    x = names.pop() if names and is_numeric_dtype(estimates[names[-1]]) else None
    looks = {name: style.look(name) for name in dict.fromkeys(estimates["algorithm"])}
    style.LOOKS.clear()
    style.LOOKS.update(known)  # so that a rule without a look of its own has the same colour on every page
    labels, menus = {name: plain(look.label) for name, look in looks.items()}, menus_of(estimates, names)
    table = described(labelled(estimates, labels, x, menus), ["x"] * bool(x) + [*menus], best)
    kinds = {labels[name]: look for name, look in reversed(looks.items())}  # two names may have one label
    domain = [*dict.fromkeys(labels.values())]
    colours = [to_hex(kinds[label].colour) for label in domain]
    shapes = [SHAPES.get(kinds[label].marker, "circle") for label in domain]
    colour = alt.Color("rule:N", title=None, scale=alt.Scale(domain=domain, range=colours))
    shape = alt.Shape("rule:N", title=None, scale=alt.Scale(domain=domain, range=shapes))

    along = along_of(table, x, menus, domain)
    across: dict[str, Any] = {"title": title, "scale": scale_of(scale)}
    if not x and title == "pulls":
        across["axis"] = alt.Axis(format="~s")  # 10,000,000 is too wide for a phone
    side, axis = ("y", alt.Y) if x else ("x", alt.X)
    at: dict[str, Any] = {side: axis("value:Q", **across)}
    ends: dict[str, Any] = {side: axis("low:Q", **across), f"{side}2": "high:Q"}
    words = {"said": f"{title} [95 % interval]", "printed": "printed there", "played": "runs", "leader": f"{best} here"}
    words = {column: text for column, text in words.items() if column in table}
    tips = [alt.Tooltip("rule:N"), *[alt.Tooltip("x:Q", title=x)] * bool(x and along.title)]
    whole = [*tips, *(alt.Tooltip(f"{column}:N", title=text) for column, text in words.items())]

    shown = alt.selection_point("shown", fields=["rule"], bind="legend", toggle="true", clear=False,
                                value=[{"rule": label} for label in domain])  # fmt: skip
    chosen = " && ".join(["isValid(datum.value)", *(f"datum.{menu} === {menu}" for menu in menus)])

    def base(rows, *columns):
        kept = rows[["rule", *["x"] * bool(x), *menus, "value", *columns]].dropna(subset="value")
        data = alt.InlineData(kept.to_csv(index=False, float_format="%.6g"), format=alt.CsvDataFormat(type="csv"))
        return alt.Chart(data).transform_filter(chosen).transform_filter(shown).encode(along, colour)

    points = base(table, "low", "high", *words)
    layers = [points.mark_rule(strokeWidth=1.5).encode(**ends, tooltip=whole)]
    layers += [points.mark_line(opacity=0.5).encode(**at)] * bool(x)
    layers += [points.mark_point(filled=True, opacity=1, size=60).encode(**at, shape=shape, tooltip=whole)]
    if runs is not None:
        single = base(labelled(runs[runs["algorithm"].isin(labels)], labels, x, menus), "run")
        own = [*tips, alt.Tooltip("run:Q"), alt.Tooltip("value:Q", title=title, format=",.4")]
        layers.insert(0, single.mark_point(filled=True, opacity=0.35, size=9).encode(**at, tooltip=own))
    drawn = alt.layer(*layers).add_params(*(menu_of(table[menu]) for menu in menus), shown)
    taken = {"beside": 70 if x else 155, "column": min(7 * max(map(len, domain)), 220) + 30}  # pixels
    height = 300 if x else alt.Step(30 if max(map(len, domain)) > LINE else 18)
    drawn = drawn.properties(width="container", height=height, background="white", padding=10, usermeta=taken)
    legend: dict[str, Any] = {"orient": "bottom", "labelFontSize": 12, "symbolOpacity": 1}
    apart: dict[str, Any] = {"labelSeparation": 6, "labelBound": 10}  # pixels; beyond the padding a label would be cut
    drawn = drawn.configure_axis(gridOpacity=0.4, labelFontSize=12, titleFontSize=12, **apart)
    return drawn.configure_legend(**legend)


def along_of(table, x, menus, labels):
    """Return the axis of the setting `x`, or that of the rules."""
    if not x:
        lines = f"length(datum.label) > {LINE} ? split(datum.label, ', ') : datum.label"
        return alt.Y("rule:N", title=None, sort=labels, axis=alt.Axis(labelLimit=160, labelExpr=lines))
    values = sorted(set(table["x"]))
    alike = len(values) < 13 and (not menus or set(table.groupby([*menus])["x"].nunique()) == {len(values)})
    axis = alt.Axis(values=values) if alike else alt.Axis()
    scale = scale_of("log" if 0 < 8 * values[0] <= values[-1] else "linear")
    return alt.X("x:Q", title=None if x.startswith("Unnamed") else x, scale=scale, axis=axis)


def scale_of(kind):
    far = alt.Scale(type="log", padding=12, nice=False)
    return far if kind == "log" else alt.Scale(type="linear", padding=12, nice=False, zero=False)


def menus_of(estimates, names):
    """Return {column: settings that its menu chooses}: the reading and the rest, or both if not all were run."""
    names = [name for name in names if estimates[name].nunique() > 1]
    reading, rest = names[:1], names[1:]
    several, one, other = (len(estimates.drop_duplicates(some)) if some else 1 for some in (names, reading, rest))
    parts = [reading, rest] if several == one * other else [names]
    return {f"menu{k}": part for k, part in enumerate(filter(None, parts))}


def menu_of(column):
    options = list(dict.fromkeys(column))
    called = "setting " if " = " in options[0] else "reading "
    return alt.param(column.name, value=options[0], bind=alt.binding_select(options=options, name=called))


def labelled(table, labels, x, menus):
    """Return rows with the label of their rule, their place along the axis and the options of the menus."""

    def said(column):
        reading = column.name == "options" or "text" in set(column)
        return [READINGS.get(value, value) if reading else f"{column.name} = {value}" for value in column]

    chosen = {menu: list(map(", ".join, zip(*(said(table[name]) for name in part), strict=True)))
              for menu, part in menus.items()}  # fmt: skip
    return table.assign(rule=table["algorithm"].map(labels), **({"x": table[x]} if x else {}), **chosen)


def described(table, at, best):
    """Return rows with the words of their tooltips: the estimate, the runs, and the rule that is best there."""
    sign = 1 if best.startswith(("fewest", "smallest")) else -1
    rivals = (sign * table["value"]).where(~table["algorithm"].str.contains(YARDSTICK, na=False))
    groups = rivals.groupby([table[column] for column in at] or (lambda row: 0))
    leaders = groups.transform(lambda values: values.idxmin() if values.notna().any() else -1)
    numbers = table[["value", "low", "high"]]
    said = numbers.map(lambda number: f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}")
    words = {"played": table["runs"].astype(str)} if "runs" in table else {}
    interval = said["value"] + " [" + said["low"] + ", " + said["high"] + "]"
    return table.assign(said=interval, leader=leaders.map(table["rule"]), **words)


def plain(label):
    """Return a label without TeX."""
    for tex, sign in TEX.items():
        label = label.replace(tex, sign)
    return label
