"""Every figure of runs has an interactive chart, which is valid and shows the rows of its csv file."""

import json
import re
from io import StringIO
from itertools import product
from pathlib import Path

import altair as alt
import pandas as pd
import pytest
from vl_convert import vegalite_to_vega

from bandits_companion import charts
from bandits_lib.figures import style

FIGURES = Path(__file__).resolve().parents[2] / "figures"
OF_RUNS = [
    f"{file.parent.name}/{file.stem}"
    for file in sorted(FIGURES.glob("*/*.png"))
    if {"algorithm", "low", "high"} <= set(pd.read_csv(file.with_suffix(".csv"), nrows=0))
]


def specification(figure):
    """The chart of a figure, and the rows of each of its layers."""
    made = charts.html(FIGURES / f"{figure}.csv")
    assert "\n" not in made and made.startswith('<div class="chart" hidden>')
    spec = json.loads(re.search(r'<script type="application/json">(.*)</script></div>$', made)[1])
    data = [spec["datasets"][layer.get("data", spec.get("data"))["name"]] for layer in spec["layer"]]
    return spec, [pd.read_csv(StringIO(values)) for values in data]


@pytest.mark.parametrize("figure", OF_RUNS)
def test_a_chart_is_valid_and_has_every_rule_with_every_estimate(figure):
    spec, layers = specification(figure)
    alt.LayerChart.from_dict(spec)
    assert vegalite_to_vega(spec)["marks"]
    estimates = pd.read_csv(FIGURES / f"{figure}.csv")
    rules = spec["layer"][-1]["encoding"]["color"]["scale"]["domain"]
    assert len(rules) == estimates["algorithm"].map(style.label).nunique() and len(rules) == len(set(rules))
    assert set(rules) == set(layers[-1]["rule"].astype(str))
    column = "error_rate" if figure.startswith("azizi2022") else "mean" if "mean" in estimates else "share"
    expected = 1 - estimates[column] if column == "error_rate" else estimates[column]
    expected = expected.dropna()  # a mean is unknown where runs were cut off
    assert layers[-1]["value"].tolist() == pytest.approx(expected.tolist(), rel=1e-5, abs=1e-9)
    assert len(json.dumps(spec)) < 120_000
    options = [param["bind"]["options"] for param in spec["params"] if "input" in param.get("bind", "")]
    chosen = layers[-1].loc[:, layers[-1].columns.str.startswith("menu")]
    assert set(chosen.itertuples(index=False, name=None)) == set(product(*options))


def test_the_kinds_of_figures_have_their_axes_and_menus():
    (pulls, rows), (accuracy, _), (bars, _) = map(
        specification, ("fiez2019/fig_1a", "azizi2022/fig_2", "weltz2023/fig_3a")
    )
    assert [param["bind"]["options"] for param in pulls["params"][:-1]] == [["as the text says", "published program"]]
    assert (
        pulls["layer"][-1]["encoding"]["y"] | {"field": "value", "title": "pulls"}
        == pulls["layer"][-1]["encoding"]["y"]
    )
    assert accuracy["layer"][-1]["encoding"]["y"]["title"] == "accuracy" and len(accuracy["params"]) == 3
    assert bars["layer"][-1]["encoding"]["y"]["field"] == "rule"
    there = rows[-1][(rows[-1]["x"] == 25) & (rows[-1]["menu0"] == "published program")].set_index("rule")
    row = pd.read_csv(FIGURES / "fiez2019" / "fig_1a.csv").query(
        "options == 'code' and d == 25 and algorithm == 'rage'"
    )
    words = "{mean:,.0f} [{low:,.0f}, {high:,.0f}]".format(**row.iloc[0])
    assert there.loc["RAGE", "said"] == words and there.loc["RAGE", "played"] == row["runs"].item()
    best = there["value"].drop("Oracle").idxmin()  # what is told the answer is no rule to choose
    assert set(there["leader"]) == {best}


@pytest.mark.parametrize(
    ("figure", "title", "best"),
    [
        ("azizi2022/fig_2", "accuracy", max),
        ("weltz2023/fig_2a", "error", min),
        ("jedra2020/fig_rules", "pulls / noiseless optimum", None),  # an oracle has the fewest
    ],
)
def test_the_axis_has_its_unit_the_ends_their_order_and_the_leader_the_best_value(figure, title, best):
    spec, layers = specification(figure)
    at, rows = spec["layer"][-1]["encoding"], layers[-1]
    assert title in (at["x"].get("title"), at["y"].get("title"))
    assert (rows["low"] <= rows["value"]).all() and (rows["value"] <= rows["high"]).all()
    for _, there in rows.groupby([name for name in rows if name == "x" or name.startswith("menu")]):
        assert best is None or best(there["value"]) in set(there.loc[there["rule"] == there["leader"], "value"])


def test_numbers_that_other_papers_print_stand_beside_ours():
    spec, layers = specification("companion/other_papers")
    table = pd.read_csv(FIGURES / "companion" / "other_papers.csv")
    assert [param["bind"]["options"] for param in spec["params"][:-1]] == [
        [f"paper = {paper}" for paper in table["paper"].unique()]
    ]
    assert layers[-1]["printed"].tolist() == pytest.approx(table["printed"].tolist(), rel=1e-5)
    assert "printed there" in [tip.get("title") for tip in spec["layer"][-1]["encoding"]["tooltip"]]
    assert "lower bound" not in set(layers[-1]["leader"])  # it is no rule to choose


def test_long_names_of_rules_take_two_lines_of_the_axis():
    spec, _ = specification("weltz2023/fig_3c")
    axis = spec["layer"][-1]["encoding"]["y"]["axis"]
    assert axis["labelExpr"] == "length(datum.label) > 20 ? split(datum.label, ', ') : datum.label"
    assert spec["height"] == {"step": 30} and specification("companion/elimination")[0]["height"] == {"step": 18}


def test_single_runs_are_the_first_of_each_rule_and_setting():
    _, layers = specification("fiez2019/fig_1a")
    runs = pd.read_csv(FIGURES / "fiez2019" / "fig_1a_runs.csv")
    shown = layers[0]
    assert len(shown) <= charts.POINTS and set(shown["run"]) == set(range(shown["run"].max() + 1))
    first = runs[(runs["run"] == 3) & (runs["algorithm"] == "alba") & (runs["d"] == 35) & (runs["options"] == "text")]
    seen = shown[(shown["run"] == 3) & (shown["rule"] == "ALBA") & (shown["x"] == 35)].iloc[0]
    assert seen["value"] == pytest.approx(first["pulls"].item(), rel=1e-5)


@pytest.mark.parametrize("figure", OF_RUNS)
def test_single_runs_have_the_unit_of_their_estimates(figure):
    """A mean, arithmetic or geometric, lies between the smallest and the largest run."""
    spec, layers = specification(figure)
    if "run" not in layers[0]:
        assert len(spec["layer"]) < 4
        return
    file = FIGURES / f"{figure}.csv"
    estimates, runs = pd.read_csv(file), pd.read_csv(file.with_name(f"{file.stem}_runs.csv"))
    by = [*charts.settings(estimates), "algorithm"]
    ends = runs.groupby(by)["pulls" if "runs" in estimates else "error"].agg(["min", "max"]).reset_index()
    both = estimates.dropna(subset="mean").merge(ends, on=by)
    assert len(both) and both["mean"].between(both["min"] * 0.999, both["max"] * 1.001).all()


def test_other_figures_have_none_and_rules_that_were_cut_off_are_named(tmp_path):
    assert charts.html(FIGURES / "fiez2019" / "certificate.csv") == charts.html(tmp_path / "missing.csv") == ""
    known = dict(style.LOOKS)
    rows = "d,algorithm,runs,mean,low,high,not_stopped\n5,rage,4,10,8,12,0\n5,mine,4,,,,2\n"
    (tmp_path / "x.csv").write_text(rows)
    assert "Without a point where runs were cut off: mine." in charts.html(tmp_path / "x.csv")
    assert known == style.LOOKS
