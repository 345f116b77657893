"""A reader's rule in the figures of the papers, by a parameter of a notebook and by one command for all of them."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import nbclient
import nbformat
import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup

from bandits_companion import notebook_runs
from bandits_lib.figures import bars
from bandits_lib.figures.style import look
from bandits_lib.files import locked
from bandits_lib.simulate.own_rule import OWN
from bandits_lib.simulate.profiles import performance_profile, probability_of_improvement

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
RULE = (NOTEBOOKS / "example_rule.py").read_text(encoding="utf-8").replace("uniform_glr", "mine")
spec = importlib.util.spec_from_file_location("run", NOTEBOOKS / "run.py")
run = importlib.util.module_from_spec(spec)
spec.loader.exec_module(run)
TINY = {"runs": 2, "lingape_runs": 2, "dims": [2, 3], "angle": 0.3, "code_runs": 2, "gamma_runs": 1}


def executed(name, values):
    """Execute a notebook of this project with other values of its parameters."""
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    (parameters,) = (cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", []))
    parameters.source += "".join(f"\n{key} = {value!r}" for key, value in values.items())
    nbclient.NotebookClient(notebook, kernel_name="python3", resources={"metadata": {"path": NOTEBOOKS}}).execute()


@pytest.mark.slow
def test_figure_1a_holds_a_rule_that_is_wrong_and_no_claim_counts_it(tmp_path):
    (tmp_path / "my_rule.py").write_text(RULE.replace("return Result(leader)", "return Result(int(np.argmin(values)))"))
    executed("fiez2019_5a_benchmark", TINY | {"out": str(tmp_path), "own": str(tmp_path / "my_rule.py:mine")})
    figures = tmp_path / "figures"
    drawn = pd.read_csv(figures / "fiez2019" / "fig_1a.csv")
    assert set(drawn.loc[drawn["algorithm"] == OWN, "options"]) == {"text", "code"}
    runs = pd.read_csv(figures / "fiez2019" / "fig_1a_runs.csv")
    mine = runs[runs["algorithm"] == OWN]
    assert len(mine) == TINY["runs"] * len(TINY["dims"]) and not mine["correct"].any()
    assert (figures / "fiez2019" / "fig_1a.png").stat().st_size > 10_000
    said = pd.read_csv(figures / "claims" / "fiez2019_5a_benchmark.csv").set_index("id")["estimate"]
    kept = pd.read_csv(NOTEBOOKS.parent / "figures" / "claims" / "fiez2019_5a_benchmark.csv")
    assert set(said.index) == set(kept["id"])
    wrong = runs[(runs["algorithm"] != OWN) & ~runs["correct"]]
    assert said["fiez2019_5a_benchmark/wrong_answers"] == len(wrong), "claims count the paper's rules alone"


CONFIDENCE = [*(f"fiez2019_5{name}" for name in ("a_benchmark", "b_many_arms", "c_sphere", "e_multivariate")),
              "fiez2019_5f_click_through", "jedra2020_3_track_and_stop", "jedra2020_5_many_arms",
              *(f"weltz2023_5{name}" for name in ("a_signal_to_noise", "b_benchmark", "c_multivariate"))]  # fmt: skip
BUDGET = [*(f"azizi2022_8_{name}" for name in ("1_adaptive", "2_static", "3_randomised", "4_logistic")),
          "azizi2022_E2_real_data", "azizi2022_E3_od_linbai"]  # fmt: skip


def test_notebooks_with_figures_of_rules_take_a_rule_of_their_kind():
    asked = {path.stem: notebook_runs.needs_of(path) for path in NOTEBOOKS.glob("*.ipynb")}
    expected = dict.fromkeys(CONFIDENCE, ["delta"]) | dict.fromkeys(BUDGET, ["budget"])
    expected["fiez2019_5d_transductive"] = ["delta", "items"]
    assert {name: needs for name, needs in asked.items() if needs is not None} == expected
    told = {run.parameters_of(name).get("own") for name in asked if name in expected}
    assert len(told) == 1 and told.pop().default == "", "all with the same comment"
    assert not [name for name in asked if name not in expected and "own" in run.parameters_of(name)]


# --- the command, on notebooks made up here

DRAWS = """import matplotlib.pyplot as plt
import pandas as pd
from bandits_lib import instances, monte_carlo, own_rule, results, style, summary
from bandits_lib.fixed_budget import gse
from bandits_lib.fixed_confidence import rage

problems = {d: instances.benchmark(d, angle=1.0) for d in (2, 3)}
how = {"by": "d", "runs": runs, "seed": seed}
"""
PLAYS = {
    "toy2019_b_delta": """
table = monte_carlo({"rage": lambda p, rng: rage(p.arms, delta=0.1)}, problems, **how)
yours = own_rule.played(own, problems, {"delta": 0.1}, beside=table, **how)
""",
    "toy2019_a_budget": """
table = monte_carlo({"gse_lin_fwg": lambda p, rng: gse(p.arms, budget=60, design="fwg")}, problems, **how)
yours = own_rule.played(own, problems, {"budget": 60}, **how)
""",
    "toy2019_c_items": """
table = None
yours = own_rule.played(own, problems, {"delta": 0.1}, items=True, **how)
""",
    "toy2019_d_none": "table = yours = None\n",
}
SAVES = """
estimates = summary(pd.concat([table, yours]), by="d")
fig, ax = plt.subplots()
style.sample_complexity(ax, estimates, "d")
results.save(estimates, f"toy2019/{name}", out, parameters=globals(), notebook=name)
results.save_picture(fig, f"toy2019/{name}", out, alt="Pulls.")
"""
CELL = 'runs = 3  # few\nseed = 0\nn_jobs = 1\nscheduler = ""\nout = "../build"'


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with toy notebooks, of which run.py of this process takes charge."""
    (tmp_path / "notebooks").mkdir()
    for name, plays in PLAYS.items():
        own = "" if name.endswith("none") else '\nown = ""  # yours'
        cells = [nbformat.v4.new_markdown_cell(f"# Toy {name}"), nbformat.v4.new_code_cell(CELL + own)]
        cells[1].metadata["tags"] = ["parameters"]
        cells.append(nbformat.v4.new_code_cell(f"name = {name!r}\n{DRAWS}{plays}{SAVES}"))
        nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "notebooks" / f"{name}.ipynb")
    monkeypatch.setattr(run, "NOTEBOOKS", tmp_path / "notebooks")
    monkeypatch.setattr(run, "ROOT", tmp_path)
    monkeypatch.chdir(tmp_path)  # and back afterwards: main() changes folder
    return tmp_path


def main(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["run.py", "own", *arguments])
    return run.main()


BOTH = """import numpy as np
from bandits_lib import Result


def mine(arms, *, delta, budget):
    sample = yield np.full(len(arms), 50 if budget is None else budget)
    return Result(int(np.argmax(sample.sums)))
"""


PLAIN = """from bandits_lib import Result


def plain(arms, *, delta):
    return Result(0)


def fails(arms, *, delta):
    raise ValueError("one\\ntwo")
"""


@pytest.mark.slow
def test_one_command_draws_the_rule_in_every_figure_and_says_how_it_does(project, monkeypatch, capsys):
    """One figure is drawn; in one the rule asks for more than its budget; one ranks items; one compares no rules."""
    (project / "my_rule.py").write_text(BOTH)  # seen from the current folder
    (project / "build" / "own" / "figures" / "toy2019").mkdir(parents=True)
    (project / "build" / "own" / "figures" / "toy2019" / "old.json").write_text("of another rule")
    assert main(monkeypatch, "my_rule.py:mine", "-p", "runs", "4") == 1
    said = capsys.readouterr().out
    items = "my_rule.py:mine has no argument `items`, and this figure ranks items that are not its arms"
    budget = "my_rule.py:mine asked for more pulls than its budget of 60"
    assert f"\ntoy2019_c_items: {items}\n" in said and f"\ntoy2019_a_budget: {budget}\n" in said
    assert "toy2019_d_none" not in said and "Traceback" not in said
    sentence = "Your rule takes 173 pulls, and the best of the papers' rules (RAGE)"
    assert f"\ntoy2019/toy2019_b_delta: {sentence}" in said
    assert said.endswith("\nopen build/own/index.html: 1 figure with ../my_rule.py:mine\n")
    drawn = project / "build" / "own" / "figures" / "toy2019"
    table = pd.read_csv(drawn / "toy2019_b_delta.csv").set_index(["algorithm", "d"])
    assert table.loc[OWN, "mean"].tolist() == [150, 200] and (table["runs"] == 4).all()
    assert sorted(file.suffix for file in drawn.iterdir()) == [".csv", ".json", ".pdf", ".png"]
    page = BeautifulSoup((project / "build" / "own" / "index.html").read_text(encoding="utf-8"), "html.parser")
    assert page.h1.get_text() == "../my_rule.py:mine in every figure that compares rules"
    (figure,) = page.select("article.drawn")
    assert figure.strong.get_text().startswith(sentence)
    assert (project / "build" / "own" / figure.img["src"]).exists()
    failed, left_out = (page.find(id=name).find_parent("section").li.get_text() for name in ("failed", "left-out"))
    assert (failed, left_out) == (f"toy2019_a_budget: {budget}", f"toy2019_c_items: {items}".replace("`", ""))


@pytest.mark.parametrize(
    "arguments, message",
    [
        (
            ["your_rule.py:mine"],
            "run.py: there is no file your_rule.py in the folder notebooks/; its folder has no",
        ),
        (["my_rule.py:yours"], "run.py: my_rule.py has no function yours; it has mine"),
        (["my_rule.py"], 'run.py: a rule is named "<file>.py:<function>"'),
        (
            ["my_rule.py:mine", "--notebooks", "toy2019_d_none"],
            "run.py: toy2019_d_none draws no figure that can show",
        ),
        (["my_rule.py:mine", "--notebooks", "toy2019_z"], "run.py: no notebook toy2019_z; there are"),
        (["my_rule.py:mine", "-p", "rums", "4"], "run.py: no notebook that plays my_rule.py:mine has a parameter rums"),
        (["plain.py:plain"], "run.py: plain.py:plain is not a generator: it must `yield` the pulls that it asks for"),
        (["plain.py:fails"], "run.py: plain.py:fails raised ValueError in line 9: one two"),
        (["my_rule.py:mine", "-p", "runs", "0.5"], "run.py: toy2019_a_budget: runs = 0.5 is not a whole number"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_played(project, monkeypatch, arguments, message):
    (project / "my_rule.py").write_text(BOTH)
    (project / "plain.py").write_text(PLAIN)
    with pytest.raises(SystemExit) as end:
        main(monkeypatch, *arguments)
    assert str(end.value.code).startswith(message) and not (project / "build").exists()


def test_a_second_command_leaves_the_figures_of_the_first_alone(project, monkeypatch):
    (project / "my_rule.py").write_text(BOTH)
    kept = project / "build" / "own" / "figures" / "kept.png"
    kept.parent.mkdir(parents=True)
    kept.touch()
    with locked(project / "build" / "own"), pytest.raises(SystemExit) as end:
        main(monkeypatch, "my_rule.py:mine")
    assert end.value.code == "run.py: another run.py own is writing build/own: wait until it has ended"
    assert kept.exists()


def estimates_of(*rows):
    columns = ["d", "algorithm", "runs", "mean", "error_rate", "not_stopped"]
    return pd.DataFrame(rows, columns=columns)


def test_a_sentence_names_the_best_of_the_rules_that_are_no_yardsticks():
    rows = [(5, "rage", 10, 100, 0.0, 0), (5, "xy_oracle", 10, 10, 0.0, 0), (5, "lingape", 10, 90, 0.0, 0)]
    rows += [
        (9, "rage", 10, 400, 0.0, 0),
        (9, "xy_oracle", 10, 10, 0.0, 0),
        (5, OWN, 10, 50, 0.1, 0),
        (9, OWN, 10, 200, 0.3, 0),
    ]
    said = notebook_runs.sentence_of(estimates_of(*rows), budget=False)
    assert said == (
        "Your rule takes 100 pulls, and the best of the papers' rules (RAGE) 200 (geometric mean over 2 settings of the"
        " mean pulls); it names a wrong arm in 4 of 20 runs (these runs allow an error probability of up to 41.6%)."
    )
    said = notebook_runs.sentence_of(estimates_of(*rows), budget=True)
    assert said == (
        "Your rule names a wrong arm in 20.0% of 20 runs, and the best of the papers' rules (RAGE) in 0.0% (mean over"
        " 2 settings)."
    )
    said = notebook_runs.sentence_of(estimates_of(rows[2], rows[5]).drop(columns="d"), budget=False)
    assert said.startswith("Your rule takes 50 pulls, and the best of the papers' rules (LinGapE) 90 (geometric mean")


def test_settings_with_runs_that_were_cut_off_enter_no_mean_of_a_sentence():
    rage = [(d, "rage", 10, 100.0, 0.0, 0) for d in (5, 9)]
    cut = (9, OWN, 10, np.nan, 1 / 3, 7)
    said = notebook_runs.sentence_of(estimates_of(*rage, (5, OWN, 10, 50, 0.0, 0), cut), budget=False)
    assert (
        said.startswith("Your rule takes 50 pulls, and the best of the papers' rules (RAGE)")
        and "in the one setting" in said
    )
    allowed = "(these runs allow an error probability of up to 33.3%)"
    assert said.endswith(
        f"; it names a wrong arm in 1 of 13 runs that ended {allowed}. It was cut off in 7 of 20 runs."
    )
    said = notebook_runs.sentence_of(estimates_of(*rage, cut), budget=False)
    assert said.startswith("Your rule was cut off in 7 of 10 runs; it names a wrong arm in 1 of 3 runs that ended (")
    said = notebook_runs.sentence_of(estimates_of(*rage, (9, OWN, 10, np.nan, np.nan, 10)), budget=False)
    assert said == "Your rule was cut off in 10 of 10 runs."


def test_runs_that_two_panels_share_are_counted_once():
    rows = [(5, "rage", 10, 100, 0.0, 0), (5, OWN, 10, 50, 0.1, 0), (9, "rage", 10, 1, 0.0, 0), (9, OWN, 10, 2, 0.0, 0)]
    panels = [estimates_of(*rows).assign(options=panel) for panel in ("text", "certified")]
    estimates = pd.concat(panels)[["options", *estimates_of().columns]]
    assert "it names a wrong arm in 1 of 20 runs (" in notebook_runs.sentence_of(estimates, budget=False)


def test_a_rule_without_a_label_has_the_name_that_its_notebook_gives():
    rows = [(5, "10", 10, 100, 0.0, 0), (5, OWN, 10, 50, 0.0, 0)]
    said = notebook_runs.sentence_of(estimates_of(*rows), budget=False, names={"10": "LT&S, at $2^k$ pulls"})
    assert "the best of the papers' rules (LT&S, at 2^k pulls) 100" in said


SMALL = {"runs": "2", "budget_runs": "3", "dims": "[2, 3]", "angle": "0.5", "max_pulls": "100000"}


@pytest.mark.slow
def test_the_command_plays_a_file_beside_the_notebook(tmp_path):
    """The command of README on a copy of the notebook."""
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "my_rule.py").write_text(RULE)
    for name in ("run.py", "companion_your_own_rule.ipynb", "example_rule.py"):
        (tmp_path / "notebooks" / name).write_bytes((NOTEBOOKS / name).read_bytes())
    asked = [sys.executable, "notebooks/run.py", "figures", "companion_your_own_rule"]
    for name, value in {"rule": "my_rule.py:mine", **SMALL}.items():
        asked += ["-p", name, value]
    done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    drawn = tmp_path / "build" / "figures" / "companion"
    for name in ("your_own_rule_1a", "your_own_rule"):
        assert pd.read_csv(drawn / f"{name}.csv")["algorithm"].eq("mine").any()
    found = pd.read_csv(drawn / "your_own_rule_improvement.csv")
    assert "mine" not in set(found["algorithm"]) and found["probability"].between(0, 1).all()
    said = json.loads((drawn / "your_own_rule.json").read_text())
    assert said["parameters"]["rule"] == "my_rule.py:mine"


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
