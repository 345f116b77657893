"""The committed notebooks are in the state that nbval needs, and run.py does what the Makefile says it does.

That the outputs are still true is nbval's own check: `pytest --nbval notebooks`.
"""

import ast
import copy
import importlib.util
import json
import re
import shutil
import socket
import subprocess
import sys
import time

import nbformat
import pytest
import yaml
from jupyter_client.connect import LocalPortCache
from nbval import kernel
from notebook_files import NAMES, NOTEBOOKS, code_cells, load
from papermill.cli import papermill

from bandits_companion import notebook_runs, registry
from bandits_companion.claims_table import COLUMNS
from bandits_lib.figures import parameters, results

PLAN = yaml.safe_load((NOTEBOOKS / "paper.yaml").read_text(encoding="utf-8"))
each_notebook = pytest.mark.parametrize("name", NAMES)
DRAWN = [file for file in sorted((NOTEBOOKS.parent / "figures").glob("*/*.json")) if file.with_suffix(".png").exists()]

spec = importlib.util.spec_from_file_location("run", NOTEBOOKS / "run.py")
run = importlib.util.module_from_spec(spec)
spec.loader.exec_module(run)


# --- the committed notebooks


def output_texts(cell):
    """What is to be read in the outputs: no pictures, neither beside the text nor within it."""
    for output in cell.outputs:
        texts = (str(value) for kind, value in output.get("data", {}).items() if not kind.startswith("image/"))
        yield from (re.sub(r"data:image/png;base64,[\w+/=]+", "", text) for text in texts)
        yield output.get("text", "")


def test_there_are_notebooks():
    assert NAMES


@each_notebook
def test_every_code_cell_was_executed_in_order_without_error(name):
    cells = code_cells(name)  # nbval checks nothing in a cell without an execution count
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert not [output for cell in cells for output in cell.outputs if output.output_type == "error"]


@each_notebook
def test_the_first_cell_leads_to_the_glossary(name):
    assert "[glossary](../docs/glossary.md)" in load(name).cells[0].source


@each_notebook
def test_parameters_cell(name):
    parameters = {key: known.default for key, known in run.parameters_of(name).items()}
    assert {"runs", "seed", "n_jobs", "scheduler", "out"} <= set(parameters)
    assert parameters["scheduler"] == "" and parameters["out"] == "../build"
    (cell,) = (cell for cell in code_cells(name) if "parameters" in cell.metadata.get("tags", []))
    lines = [re.fullmatch(r"([a-z]\w*) = \S.*|#.*|", line) for line in cell.source.splitlines()]
    assert all(lines), "one `name = literal  # comment` per line"
    assert [line[1] for line in lines if line[1]] == list(parameters), "papermill drops a line with two `=`"


OF_DATA = {"azizi2022_E2_real_data": {"source"}}  # the saved parameter says which data were there


@each_notebook
def test_parameters_keep_their_values_and_are_never_typed_again(name):
    """So `globals()` holds, when a figure is saved, what the parameters were when it was computed."""
    known = set(run.parameters_of(name))
    for cell in code_cells(name):
        if "parameters" in cell.metadata.get("tags", []):
            continue
        tree = ast.parse(cell.source)
        assert not known & set(assigned(tree)) - OF_DATA.get(name, set()), f"cell {cell.execution_count}"
        given = [ast.unparse(node.value) for node in ast.walk(tree) if getattr(node, "arg", None) == "parameters"]
        assert set(given) <= {"globals()"}


def assigned(node):
    """Names that a piece of code assigns where it stands, and not in a function or comprehension of its own."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif not isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        for child in ast.iter_child_nodes(node):
            yield from assigned(child)


@each_notebook
def test_nothing_depends_on_machine_or_time(name):
    notebook = load(name)
    assert notebook.metadata.kernelspec.name == "python3"
    stripped = copy.deepcopy(notebook)
    run.strip(stripped)
    assert notebook == stripped, f"run `make notebooks ONLY={name}`"
    for cell in code_cells(name):
        for text in output_texts(cell):
            path = re.search(r"(?<![\w.:/<~])/(?:[\w.-]+/)+[\w.-]+|\b[A-Z]:\\\w|~/\w", str(text))
            assert not path, f"output of cell {cell.execution_count} shows the path {path[0]}"


def test_paper_yaml_has_an_entry_for_every_notebook():
    assert sorted(PLAN) == NAMES


@each_notebook
def test_paper_yaml_fits_the_parameters_cell(name):
    entry = PLAN[name]
    assert set(entry) - {"verify"} == {"minutes", "verify_minutes", "figures", "parameters"}
    assert entry["minutes"] > 0 and entry["verify_minutes"] > 0
    assert all(re.fullmatch(r"([a-z]+\d{4}|companion)/[\w.]+", figure) for figure in entry["figures"])
    assert "out" not in entry["parameters"] and "scheduler" not in entry["parameters"]
    run.check_parameters(name, entry["parameters"] | entry.get("verify", {}))


@each_notebook
def test_defaults_give_a_sample_of_the_published_rows(name):
    """A count, a sub-list or the published value; a parameter that must differ says so."""
    published = PLAN[name]["parameters"]
    known = run.parameters_of(name)
    defaults = {key: parameter.default for key, parameter in known.items()}
    for key in parameters.changed(defaults, published):
        assert "differs from the published value" in known[key].comment, f"{key} = {defaults[key]!r}"
    for key, value in published.items():
        if parameters.COUNT.fullmatch(key) and not isinstance(value, list):
            assert defaults[key] <= value, f"{key}: more than was published"


@each_notebook
def test_no_committed_output_shows_a_row_that_differs(name):
    assert not [text for cell in code_cells(name) for text in output_texts(cell) if "DIFFERS" in str(text)]


@each_notebook
def test_pictures_are_saved_by_cells_that_read_what_was_saved(name):
    """So that `run.py redraw` draws them again without a run."""
    drawn = [cell for cell in code_cells(name) if "save_picture(" in cell.source]
    tagged = [cell for cell in code_cells(name) if "draw" in cell.metadata.get("tags", [])]
    assert all(cell in tagged for cell in drawn)
    assert not drawn or any(read in cell.source for cell in tagged for read in ("results.read(", "ledger.read("))
    assert not [cell for cell in tagged if "monte_carlo(" in cell.source or "results.save(" in cell.source]


@pytest.mark.parametrize("described", DRAWN, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_published_picture_is_drawn_by_the_present_code(described):
    about = json.loads(described.read_text(encoding="utf-8"))
    code = results.drawing_code(notebook_runs.drawn_by(described))
    assert about["drawing_code"] == code, "run `make redraw FIGURE=` with the name of the notebook"


# --- run.py, on notebooks made up here


def test_every_command_and_option_says_what_it_is():
    (commands,) = (action for action in run.command_line()._actions if action.choices)
    assert {one.dest for one in commands._choices_actions if one.help} == {*commands.choices}
    options = [(name, one.dest, one.help) for name, of in commands.choices.items() for one in of._actions]
    assert ("paper", "figure") in {option[:2] for option in options}
    assert not [option for option in options if not option[2]]


CLAIM = ",".join(COLUMNS)


def row(id, estimate, *numbers):
    """A line of a csv of claims: the numbers are low, high, holds_low and holds_high."""
    told = {"id": id, "paper": "fiez2019", "place": "5a", "quote": "fewer", "measures": "pulls", "edge": "words"}
    told |= dict(zip(("low", "high", "holds_low", "holds_high"), numbers, strict=True))
    told |= {"estimate": estimate, "kind": "text", "sampled": 0}
    return ",".join(str(told.get(name, "")) for name in COLUMNS)


PARAMETERS = 'runs = 3  # the paper: 200\nseed = 0\nn_jobs = 2\nscheduler = ""\nout = "../build"\ndelta = 0.05'
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def write_notebook(folder, name, *sources):
    cells = [nbformat.v4.new_markdown_cell(f"# {name}"), nbformat.v4.new_code_cell(PARAMETERS)]
    cells[1].metadata["tags"] = ["parameters"]
    cells += [nbformat.v4.new_code_cell(source) for source in sources]
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"
    about = {"papermill": {"duration": 1.5}, "kernelspec": KERNEL}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata=about)
    nbformat.write(notebook, folder / f"{name}.ipynb")


def write_claim(name, estimate):
    return (
        f"from pathlib import Path\nfolder = Path(out) / 'figures/claims'\n"
        f"folder.mkdir(parents=True, exist_ok=True)\n"
        f"_ = (folder / '{name}.csv').write_text('{CLAIM}\\n'\n"
        f"    f'{row(f'{name}/pulls', f'{{{estimate}}}', 0.25, 0.75, 0.2, 0.8)}')"
    )


@pytest.fixture
def project(tmp_path):
    return make_project(tmp_path)


def make_project(root):
    """A project of its own, with run.py, a notebook `toy2020_1` and the ledger."""
    folder = root / "notebooks"
    folder.mkdir()
    for name in ("run.py", "conftest.py"):
        shutil.copy(NOTEBOOKS / name, folder)
    write_notebook(
        folder,
        "toy2020_1",
        write_claim("toy2020_1", "runs / 6"),
        "print('runs', runs, 'jobs', n_jobs)",
        f"import sys\nfrom base64 import b64decode\nfrom IPython.display import Image\n"
        f"print('progress', file=sys.stderr)\nImage(b64decode('{PNG}'))",
        "'hidden';",
    )
    write_notebook(
        folder,
        "companion_ledger",
        "from pathlib import Path\nprint([p.stem for p in sorted((Path(out) / 'figures/claims').iterdir())])",
    )
    (folder / "paper.yaml").write_text(
        "toy2020_1:\n  minutes: 90\n  verify_minutes: 1\n  figures: [toy2020/1a]\n"
        "  parameters: {runs: 4, delta: 1.0e-3}\n"
        "companion_ledger: {minutes: 1, verify_minutes: 1, figures: [], parameters: {}}\n"
    )
    (folder / "claims.yaml").write_text("{}\n")
    return root


def command(project, *arguments, module=None):
    program = ["-m", module] if module else [str(project / "notebooks" / "run.py")]
    return subprocess.run([sys.executable, *program, *arguments], cwd=project, capture_output=True, text=True)


@pytest.fixture
def main(project, monkeypatch):
    """main(*arguments): run.py in this process, what a command of its own spends on its imports spared."""
    monkeypatch.setattr(run, "NOTEBOOKS", project / "notebooks")
    monkeypatch.setattr(run, "ROOT", project)
    monkeypatch.setattr(run.seeds, "check_committed", lambda: None)  # of this checkout
    monkeypatch.setitem(run.seeds.COPIES, "toy2020", "0")  # the SHA-256 of a text
    monkeypatch.chdir(project)  # and back afterwards: main() changes folder

    def called(*arguments):
        monkeypatch.setattr(sys, "argv", ["run.py", *arguments])
        return run.main()

    return called


def outputs(path):
    return [output for cell in nbformat.read(path, as_version=4).cells for output in cell.get("outputs", [])]


SAVES = (
    "import matplotlib.pyplot as plt\nimport pandas as pd\nfrom bandits_lib import results",
    "results.save(pd.DataFrame({'x': [1]}), 'toy/fig_1', out, parameters=globals(), notebook='saving2020_1')",
    "results.save_picture(plt.figure(), 'toy/fig_1', out, alt='nothing')",
)


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """executed(command, ...): a project whose notebooks, one of them with a figure, that command has run, and what it
    said; each command once."""
    known = {}

    def done(*arguments):
        if arguments not in known:
            root = make_project(tmp_path_factory.mktemp("project"))
            write_notebook(root / "notebooks", "saving2020_1", *SAVES)
            entry = "saving2020_1: {minutes: 1, verify_minutes: 1, figures: [toy/1], parameters: {}}\n"
            with open(root / "notebooks" / "paper.yaml", "a") as file:
                file.write(entry)
            known[arguments] = root, command(root, *arguments)
        return known[arguments]

    return done


FIGURES, IN_PLACE = ("figures", "-p", "runs", "2"), ("notebooks",)


def test_figures_executes_all(executed, project):
    root, done = executed(*FIGURES)
    assert done.returncode == 0, done.stdout + done.stderr
    untouched = (project / "notebooks" / "toy2020_1.ipynb").read_bytes()
    assert (root / "notebooks" / "toy2020_1.ipynb").read_bytes() == untouched
    assert outputs(root / "build/notebooks/toy2020_1.ipynb")[0].text == "runs 2 jobs 1\n"
    assert outputs(root / "build/notebooks/companion_ledger.ipynb")[0].text == "['toy2020_1']\n", "ran too early"


def test_the_ledger_starts_when_all_others_have_ended():
    ended = []

    def execute(name):
        time.sleep(0.5 if name == "slow" else 0)
        ended.append(name)

    run.side_by_side(execute, [run.LEDGER, "quick", "slow"])
    assert ended == ["quick", "slow", run.LEDGER]


def test_figures_ends_in_ten_lines_that_name_one_page(executed):
    root, done = executed(*FIGURES)
    *_, ending = done.stdout.split("\n\n")
    lines = ending.splitlines()
    assert len(lines) <= 10 and lines.pop() == "No row was compared with the published ones."
    assert re.fullmatch(r"3 notebooks in [\d.]+ (s|min), 1 figure, at small parameters", lines[0])
    assert lines[1] == "The papers' sentences at small parameters:"
    assert lines[3].split() == ["fiez2019,", "text", "1", "0", "0", "0", "0", "0"] and lines[4].startswith(
        "fiez2019, program"
    )
    assert lines[5].startswith("open build/index.html") and len(lines) == 6
    assert '<img src="figures/toy/fig_1.png"' in (root / "build" / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(("how", "used"), [(FIGURES, (2, 1)), pytest.param(IN_PLACE, (3, 2), marks=pytest.mark.slow)])
def test_a_figure_says_what_every_parameter_was(executed, how, used):
    """Under papermill what it was given; run by hand what the cell says."""
    root, done = executed(*how)
    assert done.returncode == 0, done.stdout + done.stderr
    said = json.loads((root / "build" / "figures" / "toy" / "fig_1.json").read_text())
    runs, jobs = used
    values = {"runs": runs, "seed": 0, "n_jobs": jobs, "scheduler": "", "out": "../build", "delta": 0.05}
    assert said["parameters"] == values
    assert said["command"].endswith(f"--cwd notebooks -p runs {runs} -p seed 0 -p delta 0.05"), said["command"]


def test_a_failing_notebook_is_named_and_the_others_still_run(project, main, capsys):
    write_notebook(project / "notebooks", "broken2020_1", "1 / 0")
    assert main("figures") == 1
    said = capsys.readouterr().out
    assert re.search(r"broken2020_1 .*FAILED  ZeroDivisionError: division by zero\n", said)
    assert "\nFAILED broken2020_1: ZeroDivisionError: division by zero (build/notebooks/broken2020_1.ipynb)\n" in said
    assert "1 / 0" in (project / "build" / "notebooks" / "broken2020_1.ipynb").read_text(encoding="utf-8")
    assert "division by zero" in (project / "build" / "index.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_figures_elsewhere_says_where_and_what_runs_leaves(project, main, capsys):
    write_notebook(project / "notebooks", "two2020_1", "1")
    path = project / "notebooks" / "two2020_1.ipynb"
    text = path.read_text(encoding="utf-8").replace("seed = 0", "seed = 0\\nlingape_runs = 2\\nfew_runs = 2")
    path.write_text(text, encoding="utf-8")
    elsewhere = project.parent / f"{project.name}_elsewhere"
    assert main("figures", "two2020_1", "-p", "runs", "5", "-p", "few_runs", "3", "-p", "out", str(elsewhere)) == 0
    said = capsys.readouterr().out
    assert f"figures, claims and index.html go to {elsewhere}, outside this repository" in said
    assert "two2020_1: -p runs leaves lingape_runs as it is" in said
    run.say_what_runs_leaves(["two2020_1"], dict.fromkeys(["lingape_runs", "few_runs"], 3))
    assert not capsys.readouterr().out, "all of them were given"
    assert (elsewhere / "index.html").exists() and not (project / "build" / "index.html").exists()


def test_parameters_are_listed_with_their_comments(main, capsys):
    assert main("parameters", "toy2020_1") == 0
    assert "runs = 3 " in (said := capsys.readouterr().out) and "# the paper: 200" in said


def test_paper_announces_the_time_and_writes_into_figures(project, main, capsys):
    assert main("paper", "--paper", "toy2020", "--scheduler", "tcp://127.0.0.1:1") == 0
    said = capsys.readouterr()
    assert said.out.startswith("About 1.5 h of one core's time")
    assert said.out.index("toy2020/1a") < said.out.index("done")
    assert "progress" in said.err, "progress of the kernel is passed on"
    assert re.search(r"\n2 notebooks in .*, 0 figures, at the papers' scale, the edition's seeds\n", said.out)
    assert said.out.splitlines()[-1].startswith("open build/paper/index.html")
    assert outputs(project / "build/paper/toy2020_1.ipynb")[0].text.startswith("runs 4 jobs")
    assert (project / "figures/claims/toy2020_1.csv").exists() and not (project / "build/figures").exists()
    assert 'scheduler = "tcp://127.0.0.1:1"' in (
        nbformat.read(project / "build/paper/toy2020_1.ipynb", 4).cells[2].source
    )


def given(path):
    """What papermill gave a notebook."""
    return nbformat.read(path, as_version=4).cells[2].source


@pytest.mark.slow
def test_paper_has_the_computed_seed_unless_another_is_asked_for(project, main, capsys):
    computed = run.seeds.computed_seed("toy2020", run.seeds.EDITION)
    assert main("paper", "--figure", "toy2020/1a") == 0
    assert f"Seeds: toy2020 {computed}. figures/:" in capsys.readouterr().out
    assert f"seed = {computed}\n" in given(project / "build/paper/toy2020_1.ipynb")
    assert not (project / "figures" / "seeds.csv").exists(), "one figure is no run of a paper"
    kept = (project / "figures/claims/toy2020_1.csv").stat().st_mtime_ns
    assert main("paper", "--figure", "toy2020/1a", "--seed", "0") == 0
    said = capsys.readouterr().out
    assert "Seeds: toy2020 0. build/seed_0/figures/:" in said and "open build/seed_0/index.html" in said
    assert re.search(r"The papers' sentences at the papers' scale, seed 0:\n.*\nfiez2019, text +1 ", said)
    assert "seed = 0\n" in given(project / "build/seed_0/notebooks/toy2020_1.ipynb")
    assert (project / "build/seed_0/figures/claims/toy2020_1.csv").exists()
    assert (project / "figures/claims/toy2020_1.csv").stat().st_mtime_ns == kept, "figures/ is of the other seed"
    assert outputs(project / "build/seed_0/notebooks/companion_ledger.ipynb")[0].text == "['toy2020_1']\n"


@pytest.mark.slow
def test_a_run_of_a_paper_is_listed_and_no_reason_draws_another_seed(project, main):
    assert main("paper", "--paper", "toy2020") == 0
    assert main("paper", "--paper", "toy2020", "--why", "a fault in a rule") == 0
    log = run.seeds.read_log(project / "figures" / "seeds.csv")
    assert log["state"].tolist() == ["begun", "ended"] * 2 and log["why"].tolist()[2] == "a fault in a rule"
    assert log["seed"].nunique() == 1
    assert main("paper", "--figure", "toy2020/1a", "--why", "another fault") == 0
    last = run.seeds.read_log(project / "figures" / "seeds.csv").iloc[-1]
    assert (last["state"], last["why"]) == ("drew toy2020/1a", "another fault")


@pytest.mark.slow
def test_paper_measures_the_minutes_of_each_notebook_and_nothing_else_changes(project, main):
    file = project / "notebooks" / "paper.yaml"
    before = file.read_text()
    assert main("paper", "--paper", "toy2020") == 0
    minutes = run.paper_entries()["toy2020_1"]["minutes"]
    assert 0 < minutes < 90 and file.read_text() == before.replace("minutes: 90", f"minutes: {minutes:.2g}", 1)


@pytest.mark.slow
def test_a_run_that_ended_keeps_no_checkpoint_and_one_that_continues_measures_no_minutes(project, main):
    file = project / "notebooks" / "paper.yaml"
    text = file.read_text().replace("delta: 1.0e-3", 'delta: 1.0e-3, checkpoint: "x"')
    file.write_text(text)
    notebook = nbformat.read(project / "notebooks" / "toy2020_1.ipynb", as_version=4)
    notebook.cells[1].source += '\ncheckpoint = ""'
    nbformat.write(notebook, project / "notebooks" / "toy2020_1.ipynb")
    mine, other = (project / "build" / "checkpoints" / name for name in ("toy2020_1", "toy2020_2"))
    for folder in (mine, other):
        folder.mkdir(parents=True)
    assert main("paper", "--paper", "toy2020") == 0 and file.read_text() == text, "it continued"
    assert 'checkpoint = "../build/checkpoints/toy2020_1/"' in given(project / "build/paper/toy2020_1.ipynb")
    assert other.exists() and not mine.exists()
    assert main("paper", "--paper", "toy2020") == 0 and file.read_text() != text


def test_a_notebook_that_reads_claims_waits_for_its_paper_only_and_the_longest_start_first():
    entries = {
        "a2020_1": (5, False), "a2020_2": (20, False), "a2020_all": (13, True),
        "b2020_1": (19, False), "b2020_2": (7, False), run.LEDGER: (1, True),
    }  # fmt: skip
    plan = {
        name: {"minutes": minutes, "parameters": {"claims_folder": ""} if reads else {}}
        for name, (minutes, reads) in entries.items()
    }
    order, after = run.paper_order(plan)
    assert order == ["a2020_2", "b2020_1", "a2020_1", "a2020_all", "b2020_2"]
    assert after == {"a2020_all": {"a2020_1", "a2020_2"}}
    begun, ended = [], []

    def play(name):
        begun.append((name, {*ended}))
        time.sleep(plan[name]["minutes"] / 100)
        ended.append(name)
        return "done"

    played = [one.name for one in run.at_once(2, [(play, name) for name in order], after)]
    assert played == ended and sorted(ended) == sorted(order)
    assert [name for name, _ in begun] == ["a2020_2", "b2020_1", "a2020_1", "b2020_2", "a2020_all"]
    assert dict(begun)["a2020_all"] >= after["a2020_all"]


@pytest.mark.slow
def test_code_that_is_not_committed_writes_no_outcomes(project, main, monkeypatch):
    def refuse():
        raise ValueError("outcomes are written from committed code only")

    monkeypatch.setattr(run.seeds, "check_committed", refuse)
    with pytest.raises(SystemExit, match="committed code only"):
        main("paper", "--paper", "toy2020")
    assert not (project / "figures").exists() and main("paper", "--paper", "toy2020", "--seed", "0") == 0


def test_every_paper_has_the_seed_and_the_ledger_reads_the_claims_of_the_same_run():
    seeds = dict.fromkeys(registry.PAPERS, 7)
    jobs = run.paper_jobs(run.paper_entries(), "", seeds, run.ROOT / "build" / "seed_7")
    assert {jobs[name]["seed"] for name in NAMES if not name.startswith("companion_")} == {7}
    assert {job["out"] for job in jobs.values()} == {"../build/seed_7"}
    assert jobs[run.LEDGER]["claims_folder"] == "../build/seed_7/figures/claims"
    assert "seed" not in jobs["companion_your_own_arms"], "it confronts no paper"


@pytest.mark.parametrize(
    ("said", "expected"),
    [((), ""), (("SEED=0",), "--seed '0'"), (("WHY=a user's fault",), '--why "$WHY"'), (("SEED=",), "")],
)
def test_make_paper_passes_the_seed_on(said, expected):
    makefile = NOTEBOOKS.parent / "Makefile"
    asked = ["make", "-n", "-f", str(makefile), "paper", *said]
    done = subprocess.run(asked, cwd=makefile.parent, capture_output=True, text=True)
    (line,) = [line for line in done.stdout.splitlines() if "run.py paper" in line]
    assert line.partition("--scheduler ''")[2].strip() == expected


PUBLISHED = (
    "from pathlib import Path\nimport pandas as pd\nfrom bandits_lib import results\n"
    "results.CHECKOUT = Path('..').resolve()",
    "rows = pd.DataFrame({'algorithm': 'rage', 'run': range(runs), 'pulls': [seed + r * r for r in range(runs)]})\n"
    "results.save(rows, 'toy2020/fig_1', out, runs=rows, parameters=globals(), notebook='toy2020_1')",
)


@pytest.fixture
def published(project, main):
    """A project with a published figure of four runs."""
    write_notebook(project / "notebooks", "toy2020_1", write_claim("toy2020_1", "runs / 6"), *PUBLISHED)
    assert main("paper", "--paper", "toy2020") == 0
    file = project / "figures" / "toy2020" / "fig_1.json"
    seed = json.loads(file.read_text())["parameters"]["seed"]
    notebook = project / "notebooks" / "toy2020_1.ipynb"
    text = notebook.read_text().replace("seed = 0", f"seed = {seed}").replace("delta = 0.05", "delta = 0.001")
    notebook.write_text(text)
    return project


@pytest.mark.slow
def test_a_small_run_and_a_verification_equal_the_published_rows(published, main, capsys):
    assert main("figures") == 0
    assert capsys.readouterr().out.endswith("3 of 3 rows equal the published ones on this machine.\n")
    assert main("verify", "--runs", "2") == 0 == main("verify", "--figure", "toy2020/1a", "--runs", "9")
    said = capsys.readouterr().out
    assert "\n2 of 2 rows equal" in said and said.endswith("4 of 4 rows equal the published ones on this machine.\n")
    log = (published / "figures" / "verified.csv").read_text().splitlines()
    assert log[0] == ",".join(run.VERIFIED) and [line.split(",")[-6:-1] for line in log[1:]] == [
        ["2", "all", "2", "2", "0"],
        ["9", "toy2020/1a", "4", "4", "0"],
    ]


def test_a_row_that_differs_or_was_not_compared_fails(published, main, capsys):
    runs = published / "figures" / "toy2020" / "fig_1_runs.csv"
    text = runs.read_text()
    runs.write_text(text.replace("rage,1,", "rage,1,1"))
    assert main("figures") == 1
    assert "DIFFERS toy2020/fig_1: rage, run = 1: pulls is " in capsys.readouterr().out
    runs.unlink()
    assert main("verify") == 1, "nothing was compared"
    said = capsys.readouterr().out
    assert (
        "not compared, 3 rows of toy2020/fig_1: figures/toy2020 has no fig_1_runs.csv" in said and "No row was" in said
    )


def test_a_claim_is_recomputed_and_compared_with_the_published_numbers(published, main, capsys):
    assert main("recompute", "toy2020_1/pulls") == 0
    assert "toy2020_1/pulls: 0.667 [0.25, 0.75], equal to the published numbers\n" in capsys.readouterr().out
    claims = published / "figures" / "claims" / "toy2020_1.csv"
    claims.write_text(claims.read_text().replace("0.25", "0.26"))
    assert main("recompute", "toy2020_1/pulls") == 1
    assert "toy2020_1/pulls: 0.667 [0.25, 0.75], PUBLISHED 0.667 [0.26, 0.75]\n" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="no measured claim is called toy2020_1/pull; there are toy2020_1/pulls"):
        main("recompute", "toy2020_1/pull")


def test_reword_executes_the_notebooks_whose_box_has_other_words(project, main, monkeypatch):
    for name, shown in (("toy2020_2", "old"), ("toy2020_3", "new")):
        write_notebook(project / "notebooks", name, f"Markdown(ledger.box('{name}'))")
        path = project / "notebooks" / f"{name}.ipynb"
        notebook = nbformat.read(path, as_version=4)
        notebook.cells[2].outputs = [nbformat.v4.new_output("display_data", {"text/markdown": shown})]
        nbformat.write(notebook, path)
    executed = []
    monkeypatch.setattr(run, "rejudge", lambda: True)
    monkeypatch.setattr(run.ledger, "box", lambda name: "new")
    monkeypatch.setattr(run, "side_by_side", lambda function, names: executed.extend(names) or [])
    assert main("reword") == 0 and executed == ["toy2020_2"]


@pytest.mark.slow
def test_redraw_executes_only_cells_that_draw(executed):
    root, done = executed("paper", "--seed", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    shutil.copytree(root / "build" / "seed_1" / "figures", root / "figures")
    path, picture = root / "notebooks" / "saving2020_1.ipynb", root / "figures" / "toy" / "fig_1.png"
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[2].metadata["tags"] = notebook.cells[4].metadata["tags"] = ["draw"]
    notebook.cells[4].source = notebook.cells[4].source.replace("plt.figure()", "plt.figure(figsize=(1, 1))")
    nbformat.write(notebook, path)
    before, csv = picture.read_bytes(), picture.with_suffix(".csv").stat().st_mtime_ns
    code = json.loads(picture.with_suffix(".json").read_text())["drawing_code"]
    done = command(root, "redraw", "toy/fig_1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert picture.read_bytes() != before and picture.with_suffix(".csv").stat().st_mtime_ns == csv
    assert json.loads(picture.with_suffix(".json").read_text())["drawing_code"] != code


@pytest.mark.slow
def test_notebooks_in_place_leaves_no_difference_the_second_time(executed, project, main, capsys):
    root, first = executed(*IN_PLACE)
    assert first.returncode == 0, first.stdout + first.stderr
    once = (root / "notebooks" / "toy2020_1.ipynb").read_bytes()
    path = project / "notebooks" / "toy2020_1.ipynb"
    path.write_bytes(once)
    assert main("notebooks", "notebooks/toy2020_1.ipynb") == 0
    assert "unchanged" in capsys.readouterr().out and path.read_bytes() == once
    notebook = json.loads(once)
    assert [cell["execution_count"] for cell in notebook["cells"][1:]] == [1, 2, 3, 4, 5]
    assert sorted(notebook["metadata"]) == ["kernelspec", "language_info"]
    assert {key for cell in notebook["cells"] for key in cell["metadata"]} == {"tags"}
    assert [output["output_type"] for output in outputs(path)] == ["stream", "execute_result"], "no progress bar"


@pytest.mark.slow
def test_nbval_compares_text_exactly_and_no_png(project):
    """Another platform draws other bytes, and there is no progress bar."""
    for name, text, png in (("other_png", "runs 3 jobs 2\n", "AAAA"), ("other_text", "runs 3 jobs 2.0\n", PNG)):
        notebook = nbformat.read(project / "notebooks" / "toy2020_1.ipynb", as_version=4)
        for count, cell in enumerate(notebook.cells[1:], start=1):
            cell.execution_count = count
        notebook.cells[3].outputs = [nbformat.v4.new_output("stream", name="stdout", text=text)]
        notebook.cells[4].outputs = [
            nbformat.v4.new_output(
                "execute_result",
                execution_count=4,
                data={"image/png": png, "text/plain": "<IPython.core.display.Image object>"},
            )
        ]
        nbformat.write(notebook, project / f"{name}.ipynb")
    shutil.copy(NOTEBOOKS / "conftest.py", project)
    options = ["-p", "no:cacheprovider", "-q", "-rA", "--nbval", "--nbval-current-env"]
    done = command(project, *options, "other_png.ipynb", "other_text.ipynb", module="pytest")
    verdicts = re.findall(r"^(PASSED|FAILED) (other_\w+)\.ipynb::Cell (\d)", done.stdout, re.MULTILINE)
    failed = [cell for verdict, *cell in verdicts if verdict == "FAILED"]
    assert len(verdicts) == 10 and failed == [["other_text", "2"]], done.stdout


def test_a_kernel_whose_port_was_taken_is_started_again(monkeypatch):
    """Two processes of tests choose ports side by side, and a kernel uses its ports a second later."""
    monkeypatch.setattr(kernel, "start_new_kernel", kernel.start_new_kernel)  # which the next lines change
    spec = importlib.util.spec_from_file_location("nbval_conftest", NOTEBOOKS / "conftest.py")
    spec.loader.exec_module(conftest := importlib.util.module_from_spec(spec))
    choose, chosen = LocalPortCache.find_available_port, []
    with socket.create_server(("127.0.0.1", 0)) as taken:

        def take_the_first(self, ip):
            chosen.append(choose(self, ip) if chosen else taken.getsockname()[1])
            return chosen[-1]

        monkeypatch.setattr(LocalPortCache, "find_available_port", take_the_first)
        manager, client = conftest.start_kernel(kernel_name="python3", stderr=subprocess.DEVNULL)
    client.stop_channels()
    manager.shutdown_kernel(now=True)
    assert len(chosen) == 10, "a kernel has five ports"


def test_a_python_without_the_packages_is_told_where_they_are():
    asked = [sys.executable, "-S", "-I", str(run.NOTEBOOKS / "run.py"), "figures"]  # as a system's Python, without ours
    done = subprocess.run(asked, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "run.py: this Python has no joblib: run `make setup`, then `. .venv/bin/activate`\n"


@pytest.mark.slow
@pytest.mark.parametrize("folder", [".", "build/deep"])
def test_papermill_from_another_folder_writes_where_the_notebook_belongs(checkout, folder, monkeypatch):
    """`papermill notebooks/x.ipynb out.ipynb` without --cwd notebooks: the command, in this process."""
    start = checkout / folder
    start.mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(start)
    monkeypatch.setenv("PYTHONPATH", str(checkout))  # for the kernel
    notebook = str(checkout / "notebooks" / "toy2020_1.ipynb")
    papermill.main(["-k", "python3", notebook, "done.ipynb"], standalone_mode=False)
    assert (checkout / "build" / "figures" / "claims" / "fiez2019_demo.csv").exists()
    written = {path.name for path in checkout.parent.iterdir()}
    assert written == {checkout.name}, f"written outside: {written}"


@pytest.fixture
def checkout(project):
    """A copy of the package with notebooks of its own, one folder below one that holds nothing else."""
    root = project / "outside" / "checkout"
    no_cache = shutil.ignore_patterns("__pycache__")
    shutil.copytree(NOTEBOOKS.parent / "bandits_lib", root / "bandits_lib", ignore=no_cache)
    shutil.copytree(project / "notebooks", root / "notebooks")
    saved = (
        "from bandits_companion import claims\nfrom bandits_lib import style\nstyle.use()",
        "_ = claims.save([claims.measured('fiez2019_demo/pulls', 0.5, 0.4, 0.6)], out)",
    )
    entry = "{place: 5a, quote: fewer, measures: pulls, holds: [0, 1], edge: words, slack: a toy}"
    (root / "notebooks" / "claims.yaml").write_text(f"fiez2019_demo/pulls: {entry}\n")
    write_notebook(root / "notebooks", "toy2020_1", *saved)
    return root


@pytest.fixture
def refusal(project, main):
    """refusal(*arguments): what run.py says when it ends before it has run anything."""

    def refuse(*arguments):
        with pytest.raises(SystemExit) as end:
            main(*arguments)
        assert not (project / "build").exists()
        return end.value.code

    return refuse


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["figures", "toy2020_1", "-p", "rums", "5"], "toy2020_1 has no parameter 'rums'; it has runs, seed,"),
        (["figures", "toy2020_1", "-p", "delta", "[.1]"], "toy2020_1: delta = [0.1] is not a number; the notebook has"),
        (["figures", "toy2020_1", "-p", "out", ".."], "out = '..' is the repository, whose figures/ belong to"),
        (["figures", "toy2020_2"], "no notebook toy2020_2; there are toy2020_1, companion_ledger"),
        (["verify", "--runs", "0"], "--runs must be 1 or more; it is 0"),
        (["redraw", ""], "give a figure or a notebook, such as FIGURE=fiez2019/1a"),
        (["paper", "--seed", "-1"], "the seed must be 0 or more; it is -1"),
        (["paper", "--figure", "toy2020/fig_9"], "nothing belongs to paper '', figure 'toy2020/9'; known are"),
    ],
)
def test_wrong_names_and_values_are_refused(refusal, arguments, message):
    assert message in refusal(*arguments)


@pytest.mark.parametrize(
    "file, right, wrong, message",
    [
        ("paper.yaml", "runs: 4", "rums: 4", "toy2020_1 has no parameter 'rums'"),
        ("paper.yaml", "1.0e-3", "1e-3", "delta = '1e-3' is not a number (YAML reads 1e-3 as a string: write 0.001)"),
        (
            "paper.yaml",
            "toy2020_1:",
            "toy2020_2:",
            "paper.yaml must have one entry for each notebook; correct toy2020_1, toy2020_2",
        ),
        ("toy2020_1.ipynb", "delta = 0.05", "delta = 1 / 20", "`delta = 1 / 20` is not `name = literal`"),
        ("toy2020_1.ipynb", '"parameters"', '"parameter"', "toy2020_1 has no parameter 'n_jobs'; it has none"),
    ],
)
def test_wrong_files_are_refused(project, refusal, file, right, wrong, message):
    path = project / "notebooks" / file
    text = path.read_text(encoding="utf-8")
    assert right in text
    path.write_text(text.replace(right, wrong), encoding="utf-8")
    assert message in refusal("paper")
