"""Figures: one colour per algorithm, also for one that the table does not know, and intervals drawn."""

from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

from bandits_lib import bars, own_rule, style, summary

matplotlib.use("agg")


KNOWN = set(style.LOOKS)  # as imported: what is unknown joins them
FIGURES = Path(__file__).resolve().parents[2] / "figures"
DRAWN = [file for file in sorted(FIGURES.glob("*/*.csv")) if file.with_suffix(".png").exists()]


def test_a_rule_that_the_table_does_not_know_is_drawn_with_its_name_and_a_colour_of_its_own(lopsided):
    renamed = {"rage": "my rule", "xy_static": "another"}
    unknown = lopsided.rename(index=renamed, level="algorithm")
    fig, axes = plt.subplots(4)
    style.sample_complexity(axes[0], unknown, "d")
    style.accuracy(axes[1], unknown, "d")
    bars.pooled_error_rates(axes[2], unknown.loc[5], 0.05)
    bars.pulls(axes[3], unknown.loc[5].assign(burn_in=1.0))
    known = {look.colour for name, look in style.LOOKS.items() if name not in renamed.values()}
    for ax in axes[:2]:
        assert ax.get_legend_handles_labels()[1] == ["my rule", "another"]
        colours = {container.lines[0].get_color() for container in ax.containers}
        assert len(colours) == 2 and not colours & known
    assert all([text.get_text() for text in ax.get_yticklabels()] == ["my rule", "another"] for ax in axes[2:])
    assert unknown.rename(index=style.label).index.equals(unknown.index)
    plt.close(fig)


def oklab(colours):
    """Lightness and two axes of colour (Ottosson 2020): distances are as large as they look."""
    red_green_blue = np.array([to_rgb(colour) for colour in colours])
    linear = np.where(red_green_blue <= 0.04045, red_green_blue / 12.92, ((red_green_blue + 0.055) / 1.055) ** 2.4)
    cones = [[0.41222, 0.53633, 0.05145], [0.21190, 0.68070, 0.10740], [0.08830, 0.28172, 0.62998]]
    axes = [[0.21045, 0.79362, -0.00407], [1.97800, -2.42859, 0.45059], [0.02590, 0.78277, -0.80868]]
    return np.cbrt(linear @ np.transpose(cones)) @ np.transpose(axes)


def test_rules_of_ones_own_are_far_from_all_others_and_dark_enough(monkeypatch):
    monkeypatch.setattr(style, "LOOKS", {name: look for name, look in style.LOOKS.items() if name in KNOWN})
    known = oklab([look.colour for look in style.LOOKS.values()])
    own = oklab([style.look(name).colour for name in ("mine", "oracle", "my_rule")])
    assert (np.linalg.norm(own[:, None] - known, axis=2).min(axis=1) > 0.15).all()
    assert min(np.linalg.norm(own[i] - own[j]) for i, j in ((0, 1), (0, 2), (1, 2))) > 0.15
    assert (own[:, 0] < 0.66).all()


@pytest.mark.parametrize("file", DRAWN, ids=[f"{file.parent.name}/{file.stem}" for file in DRAWN])
def test_colours_are_distinct_within_every_figure(file):
    table = pd.read_csv(file)
    names = set(table.get("algorithm", pd.Series(dtype=str))) & set(style.LOOKS)
    assert len({style.look(name).colour for name in names}) == len(names), names


def test_plots_draw_intervals_in_the_axes_that_they_take(lopsided):
    fig, (one, two) = plt.subplots(2)
    style.sample_complexity(one, lopsided, "d")
    style.accuracy(two, lopsided, "d")
    assert one.get_yscale() == "log" and one.get_ylabel() == "pulls" and len(one.containers) == 2
    assert two.get_ylabel() == "accuracy" and len(two.containers) == 2
    assert one.containers[0].lines[0].get_color() == style.look("rage").colour
    plt.close(fig)


def ends(container, axis=1):
    """Lower and upper ends of the error bars of a container, (n, 2), drawn along the axis (1: up)."""
    return np.array([segment[:, axis] for segment in container.lines[2][0].get_segments()])


def dashed(ax):
    """The one dashed line of a panel."""
    (line,) = (line for line in ax.lines if line.get_linestyle() == "--")
    return line


@pytest.fixture
def lopsided():
    """A summary whose intervals reach farther up than down."""
    index = pd.MultiIndex.from_product([[5, 10], ["rage", "xy_static"]], names=["d", "algorithm"])
    frame = pd.DataFrame({"mean": [100.0, 200.0, 110.0, 900.0]}, index=index).assign(error_rate=[0.1, 0.2, 0.3, 0.0])
    frame["low"], frame["high"] = frame["mean"] - 10, frame["mean"] + 80
    frame["error_low"] = (frame["error_rate"] - 0.05).clip(lower=0)
    return frame.assign(error_high=frame["error_rate"] + 0.2)


def test_bars_reach_from_low_to_high(lopsided):
    rage = lopsided.xs("rage", level="algorithm")
    fig, axes = plt.subplots(3)
    style.sample_complexity(axes[0], lopsided, "d")
    style.accuracy(axes[1], lopsided, "d")
    bars.pooled_error_rates(axes[2], lopsided.loc[5], 0.05)
    np.testing.assert_allclose(ends(axes[0].containers[0]), rage[["low", "high"]])
    np.testing.assert_allclose(ends(axes[1].containers[0]), 1 - rage[["error_high", "error_low"]])
    np.testing.assert_allclose(ends(axes[2].containers[0], axis=0), rage.loc[[5], ["error_low", "error_high"]])
    np.testing.assert_allclose(axes[1].containers[0].lines[0].get_ydata(), 1 - rage["error_rate"])
    plt.close(fig)


def test_a_bar_that_would_reach_zero_stays_above_it_on_the_logarithmic_axis(lopsided):
    fig, ax = plt.subplots()
    style.sample_complexity(ax, lopsided.assign(low=-5.0), "d")
    low = ends(ax.containers[0])[:, 0]
    assert (low > 0).all() and (low < [1.0, 1.1]).all()
    plt.close(fig)


def test_the_line_of_delta_is_at_delta_and_its_letter_beside_it(lopsided):
    fig, pooled = plt.subplots()
    bars.pooled_error_rates(pooled, lopsided.loc[5], 0.07)
    assert list(dashed(pooled).get_xdata()) == [0.07, 0.07] and pooled.texts[0].xy[0] == 0.07
    plt.close(fig)


def test_algorithms_stand_in_their_order_from_the_left_and_from_the_top(lopsided):
    fig, (upright, pooled) = plt.subplots(2)
    style.accuracy(upright, lopsided, "d")
    bars.pooled_error_rates(pooled, lopsided.loc[5], 0.05)
    first, second = (container.lines[0].get_xdata() for container in upright.containers)
    assert (first < second).all() and np.abs([first - [0, 1], second - [0, 1]]).max() < 0.5
    assert [text.get_text() for text in pooled.get_yticklabels()] == ["RAGE", "XY-static"]
    points = [container.lines[0] for container in pooled.containers]
    heights = [pooled.transData.transform((0, point.get_ydata()[0]))[1] for point in points]
    assert heights[0] > heights[1] and points[0].get_color() == style.look("rage").colour
    plt.close(fig)


def test_a_bound_is_pulls_against_the_setting():
    fig, ax = plt.subplots()
    style.bound(ax, [2, 4], [100, 300])
    np.testing.assert_array_equal(dashed(ax).get_xydata(), [[2, 100], [4, 300]])
    assert ax.get_legend_handles_labels()[1] == ["lower bound"]
    plt.close(fig)


# --- runs that were cut off


def estimates_of(**pulls):
    """Estimates at d = 5 of runs of each rule; where pulls are negative, the run was cut off after so many."""
    rows = [(5, name, abs(n), n > 0) for name, made in pulls.items() for n in made]
    table = pd.DataFrame(rows, columns=["d", "algorithm", "pulls", "stopped"])
    return summary(table.assign(correct=table["stopped"]), by=["d"])


def arrows(ax):
    """(place, outline, colour) of the hollow arrows of a panel."""
    lines = [line for line in ax.lines if line.get_marker() in (style.UPWARDS, style.RIGHTWARDS)]
    assert all(line.get_markerfacecolor() == "none" and line.get_linestyle() == "None" for line in lines)
    at_the_end = {style.UPWARDS: ax.get_xaxis_transform, style.RIGHTWARDS: ax.get_yaxis_transform}
    assert all(line.get_transform() == at_the_end[line.get_marker()]() for line in lines)
    return [(line.get_xydata()[0].tolist(), line.get_marker(), line.get_markeredgecolor()) for line in lines]


@pytest.mark.parametrize("made", [600, 10**9])
def test_runs_that_were_cut_off_are_a_hollow_arrow_and_enter_no_mean(made):
    found = estimates_of(rage=[1000, 3000], own=[200, -made])
    fig, ax = plt.subplots()
    style.sample_complexity(ax, found, "d")
    rage, own = (container.lines[0].get_ydata() for container in ax.containers)
    assert rage.tolist() == [2000] and np.isnan(own).all()
    assert arrows(ax) == [([5, 1], style.UPWARDS, style.look("own").colour)]
    assert [text.get_text() for text in ax.texts] == ["cut off\n1/2"]
    assert ax.get_legend_handles_labels()[1] == ["RAGE", "your rule"]
    plt.close(fig)


def test_a_rule_that_was_cut_off_before_its_first_pull_has_an_arrow_too():
    fig, ax = plt.subplots()
    style.sample_complexity(ax, estimates_of(rage=[1000, 3000], own=[-0, -0]), "d")
    assert len(arrows(ax)) == 1 and ax.texts[0].get_text() == "cut off\n2/2"
    plt.close(fig)


def test_among_bars_the_arrow_points_along_the_pulls():
    fig, ax = plt.subplots()
    bars.pulls(ax, estimates_of(rage=[1_000_000, 3_000_000], own=[-(10**9), 10]).loc[5].assign(burn_in=0.0))
    assert arrows(ax) == [([1, 1], style.RIGHTWARDS, style.look("own").colour)]
    assert [text.get_text() for text in ax.texts] == ["cut off 1/2"]
    assert [bar.get_width() for bar in ax.patches] == [0, 2], "only RAGE has a bar"
    plt.close(fig)


def test_without_runs_that_were_cut_off_there_is_no_arrow(lopsided):
    fig, (one, two) = plt.subplots(2)
    style.sample_complexity(one, lopsided, "d")
    bars.pulls(two, lopsided.loc[5].assign(burn_in=1.0))
    assert not arrows(one) + arrows(two) and not [*one.texts, *two.texts]
    plt.close(fig)


def test_a_readers_rule_looks_the_same_in_every_figure():
    before = dict(style.LOOKS)
    assert style.look(own_rule.OWN) == ("your rule", style.OWN[0], "*") and style.label(own_rule.OWN) == "your rule"
    assert style.LOOKS == before, "or the rules that have no look would get another one"
