"""Figures: one colour per algorithm, intervals drawn, files that say where they came from and carry no date."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from bandits_lib import style

matplotlib.use("agg")


@pytest.fixture
def estimates():
    index = pd.MultiIndex.from_product([[5, 10], ["rage", "xy_static"]], names=["d", "algorithm"])
    frame = pd.DataFrame({"mean": [100.0, 200.0, 110.0, 900.0]}, index=index)
    frame["low"], frame["high"] = frame["mean"] - 40, frame["mean"] + 40
    return frame.assign(error_rate=0.01, error_low=0.0, error_high=0.05)


FIGURES = Path(__file__).resolve().parents[2] / "figures"
DRAWN = [file for file in sorted(FIGURES.glob("*/*.csv")) if file.with_suffix(".png").exists()]


def test_every_algorithm_has_a_label_a_colour_and_a_marker():
    assert set(style.COLOUR) == set(style.LABEL) and set(style.MARKER) | {"lower_bound"} >= set(style.LABEL)


@pytest.mark.parametrize("file", DRAWN, ids=[f"{file.parent.name}/{file.stem}" for file in DRAWN])
def test_colours_are_distinct_within_every_figure(file):
    table = pd.read_csv(file)
    names = set(table.get("algorithm", pd.Series(dtype=str))) & set(style.COLOUR)
    assert len({style.COLOUR[name] for name in names}) == len(names), names


def test_plots_take_ax_draw_intervals_and_return_it(estimates):
    fig, (one, two) = plt.subplots(2)
    assert style.sample_complexity(one, estimates, "d") is one and style.error_rates(two, estimates, "d", 0.05) is two
    assert one.get_yscale() == "log" and one.get_ylabel() == "pulls" and len(one.containers) == 2
    segments = one.containers[0].lines[2][0].get_segments()
    np.testing.assert_allclose(segments[0][:, 1], [60, 140])
    assert one.containers[0].lines[0].get_color() == style.COLOUR["rage"]
    plt.close(fig)


def bars(container, axis=1):
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
    fig, axes = plt.subplots(4)
    style.sample_complexity(axes[0], lopsided, "d")
    style.accuracy(axes[1], lopsided, "d")
    style.error_rates(axes[2], lopsided, "d", 0.05)
    style.pooled_error_rates(axes[3], lopsided.loc[5], 0.05)
    np.testing.assert_allclose(bars(axes[0].containers[0]), rage[["low", "high"]])
    np.testing.assert_allclose(bars(axes[1].containers[0]), 1 - rage[["error_high", "error_low"]])
    np.testing.assert_allclose(bars(axes[2].containers[0]), rage[["error_low", "error_high"]])
    np.testing.assert_allclose(bars(axes[3].containers[0], axis=0), rage.loc[[5], ["error_low", "error_high"]])
    np.testing.assert_allclose(axes[1].containers[0].lines[0].get_ydata(), 1 - rage["error_rate"])
    plt.close(fig)


def test_a_bar_that_would_reach_zero_stays_above_it_on_the_logarithmic_axis(lopsided):
    fig, ax = plt.subplots()
    style.sample_complexity(ax, lopsided.assign(low=-5.0), "d")
    ends = bars(ax.containers[0])[:, 0]
    assert (ends > 0).all() and (ends < [1.0, 1.1]).all()
    plt.close(fig)


def test_the_line_of_delta_is_at_delta_and_its_letter_beside_it(lopsided):
    fig, (upright, pooled) = plt.subplots(2)
    style.error_rates(upright, lopsided, "d", 0.07)
    style.pooled_error_rates(pooled, lopsided.loc[5], 0.07)
    assert list(dashed(upright).get_ydata()) == [0.07, 0.07] and upright.texts[0].xy[1] == 0.07
    assert list(dashed(pooled).get_xdata()) == [0.07, 0.07] and pooled.texts[0].xy[0] == 0.07
    plt.close(fig)


def test_algorithms_stand_in_their_order_from_the_left_and_from_the_top(lopsided):
    fig, axes = plt.subplots(3)
    style.accuracy(axes[0], lopsided, "d")
    style.error_rates(axes[1], lopsided, "d", 0.05)
    style.pooled_error_rates(axes[2], lopsided.loc[5], 0.05)
    for ax in axes[:2]:
        first, second = (container.lines[0].get_xdata() for container in ax.containers)
        assert (first < second).all() and np.abs([first - [0, 1], second - [0, 1]]).max() < 0.5
    assert [text.get_text() for text in axes[2].get_yticklabels()] == ["RAGE", "XY-static"]
    points = [container.lines[0] for container in axes[2].containers]
    heights = [axes[2].transData.transform((0, point.get_ydata()[0]))[1] for point in points]
    assert heights[0] > heights[1] and points[0].get_color() == style.COLOUR["rage"]
    plt.close(fig)


def test_a_bound_is_pulls_against_the_setting():
    fig, ax = plt.subplots()
    np.testing.assert_array_equal(dashed(style.bound(ax, [2, 4], [100, 300])).get_xydata(), [[2, 100], [4, 300]])
    plt.close(fig)


def test_the_command_redraws_elsewhere_and_quotes_what_a_shell_would_split():
    given = {"runs": 3, "dims": [1, 2], "code": "Soare 2014", "out": "/somewhere"}
    command = style.provenance(given, "nb")["command"]
    said = shlex.split(command.partition(" -p ")[2].replace("-p ", ""))
    assert said == ["runs", "3", "dims", "[1, 2]", "code", '"Soare 2014"']


def test_the_clock_starts_with_use(monkeypatch):
    monkeypatch.setattr(style, "_started", style._started - 1_000)
    assert style.provenance({}, "nb")["wall_seconds"] >= 1_000
    with plt.rc_context():
        style.use()
    assert style.provenance({}, "nb")["wall_seconds"] < 1_000


SAVE = """
import sys, pandas as pd, matplotlib
matplotlib.use("agg")
import matplotlib.pyplot as plt
from bandits_lib import style
style.use()
fig, ax = plt.subplots()
ax.plot([1, 2], [3, 4])
frame = pd.DataFrame({"x": [1 / 3]}, index=pd.Index(["rage"], name="algorithm"))
runs = pd.DataFrame({"algorithm": ["rage"], "pulls": [7], "seconds": [0.1]})
style.save(fig, "p/fig_1", sys.argv[1], estimates=frame, runs=runs, parameters={"runs": 3, "dims": [1]}, notebook="nb", alt="words")
"""  # noqa: E501


def test_saved_files_are_the_same_in_every_process_and_say_what_they_are(tmp_path):
    for folder in ("a", "b"):
        subprocess.run([sys.executable, "-c", SAVE, str(tmp_path / folder)], check=True)
    one, other = (tmp_path / folder / "figures" / "p" for folder in ("a", "b"))
    names = {path.name for path in one.iterdir()}
    assert names == {"fig_1.png", "fig_1.pdf", "fig_1.csv", "fig_1.json", "fig_1_runs.csv"}
    for name in names - {"fig_1.json"}:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name
    assert "0.33333333333333331" in (one / "fig_1.csv").read_text()
    assert (one / "fig_1_runs.csv").read_text() == "algorithm,pulls\nrage,7\n"
    said = json.loads((one / "fig_1.json").read_text())
    assert said["parameters"] == {"runs": 3, "dims": [1]} and said["alt"] == "words" and said["commit"]
    assert "papermill notebooks/nb.ipynb" in said["command"] and said["wall_seconds"] >= 0


def test_a_kernel_moves_to_the_notebooks_only_from_elsewhere_in_the_checkout(tmp_path, monkeypatch):
    monkeypatch.setattr(style, "_CHECKOUT", tmp_path / "checkout")
    home, copy = tmp_path / "checkout" / "notebooks", tmp_path / "checkout" / "build" / "lab" / "notebooks"
    for folder in (home, copy):
        folder.mkdir(parents=True)
        (folder / "a.ipynb").touch()
    assert style._notebooks_for(home.parent) is None, "no paper.yaml: that is no checkout of this project"
    (home / "paper.yaml").touch()
    assert style._notebooks_for(home.parent) == style._notebooks_for(copy.parent) == home
    assert style._notebooks_for(home) is style._notebooks_for(copy) is style._notebooks_for(tmp_path) is None
