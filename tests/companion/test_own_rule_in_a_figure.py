"""One line more in a notebook's dictionary of rules, and the rule is in its figure, its tables and its csv."""

import json
import re
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import nbclient
import nbformat
import numpy as np
import pandas as pd
import pytest

from bandits_lib.figures import bars
from bandits_lib.figures.style import look
from bandits_lib.simulate.profiles import performance_profile, probability_of_improvement

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
RULE = (NOTEBOOKS / "example_rule.py").read_text(encoding="utf-8").replace("uniform_glr", "mine")
TINY = {"runs": 2, "lingape_runs": 2, "dims": [2, 3], "angle": 0.3, "code_runs": 2, "gamma_runs": 1}


def with_line(name, line, beside):
    """A notebook with an import, and a line before another one of its dictionary of rules."""
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    (cell,) = (cell for cell in notebook.cells if cell.cell_type == "code" and beside in cell.source)
    indent = re.search(rf"^( *){re.escape(beside)}", cell.source, re.MULTILINE)[1]
    longer = cell.source.replace(beside, f"{line}\n{indent}{beside}")
    cell.source = f"from bandits_lib.simulate import own_rule\n{longer}"
    return notebook


def executed(notebook, values):
    (parameters,) = (cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", []))
    parameters.source += "".join(f"\n{name} = {value!r}" for name, value in values.items())
    nbclient.NotebookClient(notebook, kernel_name="python3", resources={"metadata": {"path": NOTEBOOKS}}).execute()


def test_figure_1a_takes_a_rule_named_mine_and_one_named_oracle(tmp_path):
    (tmp_path / "my_rule.py").write_text(RULE.replace("return Result(leader)", "return Result(len(arms) - 1)"))  # wrong
    line = f'"oracle": own_rule.load({str(NOTEBOOKS / "example_rule.py:uniform_glr")!r}, delta=delta),'
    notebook = with_line("fiez2019_5a_benchmark", line, '"rage": lambda p, rng: rage(')
    executed(notebook, TINY | {"out": str(tmp_path), "own": str(tmp_path / "my_rule.py:mine")})
    figures = tmp_path / "figures"
    drawn = pd.read_csv(figures / "fiez2019" / "fig_1a.csv")
    assert set(drawn.loc[drawn["algorithm"].isin(["mine", "oracle"]), "options"]) == {"text", "code"}
    runs = pd.read_csv(figures / "fiez2019" / "fig_1a_runs.csv")
    assert {"mine", "oracle", "rage", "lingape"} <= set(runs["algorithm"])
    mine = runs[runs["algorithm"] == "mine"]
    assert len(mine) == TINY["runs"] * len(TINY["dims"]) and not mine["correct"].any()
    assert (figures / "fiez2019" / "fig_1a.png").stat().st_size > 10_000
    said = pd.read_csv(figures / "claims" / "fiez2019_5a_benchmark.csv").set_index("id")["estimate"]
    kept = pd.read_csv(NOTEBOOKS.parent / "figures" / "claims" / "fiez2019_5a_benchmark.csv")
    assert set(said.index) == set(kept["id"])
    wrong = runs[(runs["algorithm"] != "mine") & ~runs["correct"]]
    assert said["fiez2019_5a_benchmark/wrong_answers"] == len(wrong), "claims count the paper's rules alone"


def headless(folder, *parameters):
    """The command of README on a copy of the notebook."""
    (folder / "notebooks").mkdir(exist_ok=True)
    for name in ("run.py", "companion_your_own_rule.ipynb", "example_rule.py"):
        (folder / "notebooks" / name).write_bytes((NOTEBOOKS / name).read_bytes())
    given = [part for name, value in parameters for part in ("-p", name, value)]
    asked = [sys.executable, "notebooks/run.py", "figures", "companion_your_own_rule", *given]
    return subprocess.run(asked, cwd=folder, capture_output=True, text=True)


SMALL = [("runs", "2"), ("budget_runs", "3"), ("dims", "[2, 3]"), ("angle", "0.5"), ("max_pulls", "100000")]


def test_the_command_plays_a_file_beside_the_notebook(tmp_path):
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "my_rule.py").write_text(RULE)
    done = headless(tmp_path, ("rule", "my_rule.py:mine"), *SMALL)
    assert done.returncode == 0, done.stdout + done.stderr
    drawn = tmp_path / "build" / "figures" / "companion"
    for name in ("your_own_rule_1a", "your_own_rule"):
        assert pd.read_csv(drawn / f"{name}.csv")["algorithm"].eq("mine").any()
    found = pd.read_csv(drawn / "your_own_rule_improvement.csv")
    assert "mine" not in set(found["algorithm"]) and found["probability"].between(0, 1).all()
    said = json.loads((drawn / "your_own_rule.json").read_text())
    assert said["parameters"]["rule"] == "my_rule.py:mine"


def test_the_command_says_what_is_wrong_before_anything_is_played(tmp_path):
    done = headless(tmp_path, ("rule", "my_rule.py:mine"), *SMALL)
    assert done.returncode == 1
    sentence = "ValueError: there is no file my_rule.py in the folder notebooks/; beside it there is example_rule.py"
    assert sentence in done.stdout
    assert not (tmp_path / "build" / "figures").exists()


# --- the two pictures


@pytest.fixture
def scores():
    rng = np.random.default_rng(0)
    rows = [(name, i, r, rng.exponential(scale)) for name, scale in (("rage", 1), ("lingape", 3)) for i in range(3)
            for r in range(5)]  # fmt: skip
    return pd.DataFrame(rows, columns=["algorithm", "instance", "run", "score"])


def test_profiles_are_lines_within_their_bands(scores):
    shares = performance_profile(scores, [0.5, 1, 2], draws=50)
    fig, ax = plt.subplots()
    bars.profiles(ax, shares)
    for line, band, name in zip(ax.lines, ax.collections, ("rage", "lingape"), strict=True):
        np.testing.assert_array_equal(line.get_ydata(), shares.loc[name, "share"])
        assert line.get_color() == look(name).colour
        corners = band.get_paths()[0].vertices
        assert set(shares.loc[name, ["low", "high"]].to_numpy().ravel()) <= set(corners[:, 1])
    plt.close(fig)


def test_improvements_stand_from_the_top_with_their_intervals(scores):
    mine = scores[scores["algorithm"] == "rage"].assign(algorithm="mine")
    found = probability_of_improvement(pd.concat([scores, mine]), "mine", draws=50)
    fig, ax = plt.subplots()
    bars.improvements(ax, found)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["RAGE", "LinGapE"] and ax.yaxis_inverted()
    for container, (_, row) in zip(ax.containers, found.iterrows(), strict=True):
        (segment,) = container.lines[2][0].get_segments()
        np.testing.assert_allclose(segment[:, 0], row[["low", "high"]])
    plt.close(fig)
