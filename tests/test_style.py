"""Figures: one colour per algorithm, intervals drawn, files that say where they came from and carry no date."""

import json
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


FIGURES = Path(__file__).resolve().parent.parent / "figures"
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
