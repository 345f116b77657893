"""What a notebook saves: files that say what they came from, that can be redrawn, and that carry no date."""

import functools
import json
import shlex
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import nbformat
import pandas as pd
import pytest
from IPython.core.pylabtools import print_figure
from matplotlib.backends.backend_agg import FigureCanvasAgg

from bandits_lib import results, style

CELL = 'runs = 3  # the paper: 20\ndims = [1, 2]\ncode = "Soare 2014"\nn_jobs = 1\nout = "../build"'
USED = {"runs": 5, "dims": [1], "code": "Soare 2014", "n_jobs": 2, "out": "/somewhere"}


@pytest.fixture
def notebook(tmp_path, monkeypatch):
    """The name of a notebook in the folder where we are."""
    cells = [nbformat.v4.new_markdown_cell("# nb"), nbformat.v4.new_code_cell(CELL, metadata={"tags": ["parameters"]})]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "nb.ipynb")
    monkeypatch.chdir(tmp_path)
    return "nb"


def test_of_all_that_is_given_the_parameters_are_kept_with_the_values_that_were_used(notebook):
    given = {"np": json, "table": object(), **dict(reversed(USED.items()))}
    assert list(results.provenance(given, notebook)["parameters"].items()) == list(USED.items())


def test_a_parameter_without_value_and_a_notebook_that_is_not_there_are_refused(notebook):
    with pytest.raises(ValueError, match="nb has parameters without a value, dims, code: give parameters=globals()"):
        results.provenance({"runs": 5, "n_jobs": 1, "out": "."}, notebook)
    with pytest.raises(FileNotFoundError, match="there is no other.ipynb in"):
        results.provenance(USED, "other")


@pytest.mark.parametrize(
    "wrong, said",
    [
        ({"dims": 5}, r"nb: dims = 5 is not a list: write '\[5\]'; the notebook has dims = \[1, 2\]"),
        ({"runs": -5}, "nb: runs = -5 is not 1 or more"),
        ({"In": ["", "# Parameters\nrums = 50\n"]}, "nb has no parameter 'rums'; it has runs, dims"),
    ],
)
def test_what_papermill_lets_pass_is_not_saved(notebook, wrong, said):
    """It warns of a name that no notebook has, and gives the notebook any value."""
    with pytest.raises(ValueError, match=said):
        results.save(pd.DataFrame({"x": [1]}), "toy/table", ".", parameters=USED | wrong, notebook=notebook)
    assert not Path("figures").exists()


def test_cells_that_only_look_like_papermills_are_taken(notebook):
    own = ["# Parameters\nruns = 5\nprint(runs)\n", "# Parameters of mine\nrums = 50", "rums = 50"]
    assert results.provenance(USED | {"In": own}, notebook)["parameters"] == USED


def test_the_command_redraws_elsewhere_and_quotes_what_a_shell_would_split(notebook):
    command = results.provenance(USED, notebook)["command"]
    assert command.startswith("papermill notebooks/nb.ipynb ")
    said = shlex.split(command.partition(" -p ")[2].replace("-p ", ""))
    assert said == ["runs", "5", "dims", "[1]", "code", '"Soare 2014"']


def test_the_clock_starts_with_the_look(notebook, monkeypatch):
    monkeypatch.setattr(results, "_started", results._started - 1_000)
    assert results.provenance(USED, notebook)["wall_seconds"] >= 1_000
    with plt.rc_context({"text.usetex": True, "lines.linestyle": ":"}):  # as a user's matplotlibrc may say
        style.use()
        assert not plt.rcParams["text.usetex"] and plt.rcParams["lines.linestyle"] == "-"
    assert results.provenance(USED, notebook)["wall_seconds"] < 1_000


SAVE = """
import sys, pandas as pd, matplotlib
matplotlib.use("agg")
import matplotlib.pyplot as plt
from bandits_lib import results, style
runs, dims, code, n_jobs, out = 5, [1], "Soare 2014", 2, sys.argv[1]
style.use()
fig, ax = plt.subplots()
ax.plot([1, 2], [3, 4])
frame = pd.DataFrame({"x": [1 / 3]}, index=pd.Index(["rage"], name="algorithm"))
table = pd.DataFrame({"algorithm": ["rage"], "run": [0], "pulls": [7], "seconds": [0.1]})
results.save(frame, "p/fig_1", out, runs=table, parameters=globals(), notebook="nb")
results.save_picture(fig, "p/fig_1", out, alt="words")
"""


@pytest.mark.slow
def test_saved_files_are_the_same_in_every_process_and_say_what_they_are(notebook, tmp_path):
    for folder in ("a", "b"):
        subprocess.run([sys.executable, "-c", SAVE, str(tmp_path / folder)], check=True)
    one, other = (tmp_path / folder / "figures" / "p" for folder in ("a", "b"))
    names = {path.name for path in one.iterdir()}
    assert names == {"fig_1.png", "fig_1.pdf", "fig_1.csv", "fig_1.json", "fig_1_runs.csv"}
    for name in names - {"fig_1.json"}:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name
    assert "0.33333333333333331" in (one / "fig_1.csv").read_text()
    assert (one / "fig_1_runs.csv").read_text() == "algorithm,run,pulls\nrage,0,7\n"
    said = json.loads((one / "fig_1.json").read_text())
    assert said["parameters"] == USED | {"out": str(tmp_path / "a")} and said["alt"] == "words" and said["commit"]
    assert said["wall_seconds"] >= 0


def test_a_commit_is_dirty_by_changed_code_and_not_by_figures_drawn_anew(tmp_path):
    assert results.commit(tmp_path) == "unknown" and results.git("status", folder=tmp_path) is None
    (tmp_path / "figures").mkdir()
    for name in ("code.py", "figures/fig_1.csv"):
        (tmp_path / name).write_text("1")
    for asked in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "1"]):
        results.git(*asked, folder=tmp_path)
    commit = results.git("rev-parse", "HEAD", folder=tmp_path)
    (tmp_path / "figures" / "fig_1.csv").write_text("2")
    assert results.commit(tmp_path) == commit
    (tmp_path / "code.py").write_text("2")
    assert results.commit(tmp_path) == commit + "-dirty"


def test_a_kernel_moves_to_the_notebooks_only_from_elsewhere_in_the_checkout(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "CHECKOUT", tmp_path / "checkout")
    home, copy = tmp_path / "checkout" / "notebooks", tmp_path / "checkout" / "build" / "lab" / "notebooks"
    for folder in (home, copy):
        folder.mkdir(parents=True)
        (folder / "a.ipynb").touch()
    assert results._notebooks_for(home.parent) is None, "no paper.yaml: that is no checkout of this project"
    (home / "paper.yaml").touch()
    assert results._notebooks_for(home.parent) == results._notebooks_for(copy.parent) == home
    assert results._notebooks_for(home) is results._notebooks_for(copy) is results._notebooks_for(tmp_path) is None


@pytest.mark.slow
def test_a_small_run_saves_what_the_screen_shows_and_draws_it_once(notebook, tmp_path, monkeypatch):
    drawings, draw = [], FigureCanvasAgg.print_png
    counted = functools.wraps(draw)(lambda *given, **how: drawings.append(given) or draw(*given, **how))
    monkeypatch.setattr(FigureCanvasAgg, "print_png", counted)
    monkeypatch.setattr(results, "SMALL", tmp_path)
    results.save(pd.DataFrame({"x": [1]}), "p/fig_1", tmp_path, parameters=USED, notebook=notebook)
    with plt.rc_context():
        style.use()
        fig, ax = plt.subplots()
    shown, once = print_figure(fig, "png"), len(drawings)
    plt.close(fig)
    results.save_picture(fig, "p/fig_1", tmp_path, alt="words")
    saved = tmp_path / "figures" / "p" / "fig_1.png"
    assert saved.read_bytes() == shown and len(drawings) == once
    assert not saved.with_suffix(".pdf").exists()
    ax.set_xlabel("another label")
    results.save_picture(fig, "p/fig_1", tmp_path, alt="words")
    assert saved.read_bytes() != shown and len(drawings) == 2 * once


def test_what_was_saved_is_read_with_every_digit(notebook, tmp_path):
    frame = pd.DataFrame({"d": [5, 10], "rule": ["rage", "alba"], "mean": [1 / 3, 1e-300]}).set_index(["d", "rule"])
    results.save(frame, "p/fig_1", tmp_path, parameters=USED, notebook=notebook)
    pd.testing.assert_frame_equal(results.read("p/fig_1", tmp_path, index=["d", "rule"]), frame, check_exact=True)
    with pytest.raises(FileNotFoundError):
        results.save_picture(None, "p/fig_2", tmp_path, alt="words")


def test_the_comparison_is_printed_and_kept_and_published_files_are_not_compared_with_themselves(
    notebook, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(results, "CHECKOUT", tmp_path)
    rows = pd.DataFrame({"algorithm": ["rage", "rage"], "run": [0, 1], "pulls": [7, 9]})
    told = {"runs": rows, "parameters": USED, "notebook": notebook}
    results.save(rows, "p/fig_1", tmp_path, **told)
    assert not capsys.readouterr().out
    results.save(rows, "p/fig_1", tmp_path / "build", **told)
    assert capsys.readouterr().out == "p/fig_1: 2 of 2 rows equal the published ones\n"
    about = json.loads((tmp_path / "build" / "figures" / "p" / "fig_1.json").read_text())
    assert about["published"] == {"compared": 2, "equal": 2, "left_out": {}, "differs": ""}
    results.save(rows.assign(pulls=[7, 8]), "p/fig_1", tmp_path / "build", **told | {"runs": rows.assign(pulls=[7, 8])})
    said = capsys.readouterr().out
    assert said.splitlines() == [
        "p/fig_1: 1 of 2 rows equal the published ones",
        "DIFFERS: rage, run = 1: pulls is 8, published 9",
    ]
