"""Every parameter of every notebook does what its comment says: with another value the notebook shows something else.

The cells run in this process at few runs, without drawing. What a notebook shows is its csv files and the values and
printed text of its cells, as far as they are the same in every run.
"""

import ast
import functools
import io
import itertools
import re
import shutil
from contextlib import redirect_stdout
from pathlib import Path

import distributed
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from notebook_files import NAMES, NOTEBOOKS, code_cells, load

from bandits_lib import data
from bandits_lib.figures import parameters
from bandits_lib.figures.parameters import COUNT, ELSEWHERE
from bandits_lib.simulate import fingerprint

PARAMETERS = {name: parameters.read(NOTEBOOKS / f"{name}.ipynb") for name in NAMES}
UNUSED = "unused"  # how the comment of a parameter begins that no cell reads
UNSEEN = {
    ("azizi2022_8_1_adaptive", "cost_runs"): "it changes seconds alone",
    ("weltz2023_4_level_sets", "coverage_runs"): "from 150 to 600 of them find the same burn-in",
}
EACH = [
    (notebook, name)
    for notebook, known in PARAMETERS.items()
    for name in known
    if name not in ELSEWHERE and (notebook, name) not in UNSEEN and not known[name].comment.startswith(UNUSED)
]
FEW = 3
TIMED = re.compile(r"^azizi2022_8_1_adaptive/peace_cost,.*\n", re.MULTILINE)  # a claim of seconds

# Values of the small run where FEW draws, or the notebook's own value, are too few or take too long.
COVERAGE = {"coverage_runs": 200}  # fewer cannot show it
SMALL: dict[str, dict] = {
    "fiez2019_2_rounding": {"draws": 10},
    "fiez2019_5a_benchmark": {"dims": [3, 5, 7], "angle": 0.1},
    "fiez2019_5b_many_arms": {"sizes": [300, 600, 900], "variance_sizes": [100, 200, 400], "table_runs": 60},
    "fiez2019_5c_sphere": {"sizes": [40, 80, 120], "solver_size": 40},
    "fiez2019_5d_transductive": {"text_dims": [10, 20, 30], "code_dims": [10, 20]},
    "fiez2019_5f_click_through": {"max_pulls": 30_000, "lingape_runs": FEW},
    "jedra2020_3_track_and_stop": {"logs": [100, 300, 1000], "pac_pulls": 100},
    "jedra2020_4_sphere": {"dims": [2, 4, 8], "epsilons": [0.16, 0.11, 0.08]},
    "jedra2020_5_many_arms": {"sizes": [300, 1000], "published_sizes": [1000], "wide_sizes": [200, 400]},
    "weltz2023_3_head": {
        "d": 5,
        "dims": [3, 4, 6],
        "budget": 20_000,
        "n_arms": 400,
        "subsets": 100,
        "sizes": [100, 200],
        "size_d": 4,
    },
    **dict.fromkeys(("weltz2023_5a_signal_to_noise", "weltz2023_5b_benchmark", "weltz2023_5c_multivariate"), COVERAGE),
    "weltz2023_4_level_sets": COVERAGE,
}


def other_claims(folder):
    """A copy of the saved claims without those of a notebook, and of runs without the last of each file."""
    figures = NOTEBOOKS.parent / "figures"
    shutil.copytree(figures / "claims", folder / "claims", ignore=shutil.ignore_patterns("fiez2019_5a_benchmark.csv"))
    (folder / "azizi2022").mkdir()
    for runs in (figures / "azizi2022").glob("*_runs.csv"):
        (folder / "azizi2022" / runs.name).write_text("".join(runs.read_text().splitlines(keepends=True)[:-1]))
    return str(folder / "claims")


def fewer_arms(folder):
    """A copy of the example without its last arm."""
    lines = (NOTEBOOKS / "example_arms.csv").read_text().splitlines(keepends=True)
    (folder / "arms.csv").write_text("".join(lines[:-1]))
    return str(folder / "arms.csv")


BEST = "int((arms @ (arms.T @ sample.sums)).argmax())"


def other_rule(folder, arguments="arms, delta", pulls="[100] * len(arms)", answer=BEST):
    """A rule that pulls all arms about equally often, once."""
    text = f"from bandits_lib import Result\n\n\ndef mine({arguments}):\n    sample = yield {pulls}\n"
    (folder / "rule.py").write_text(f"{text}    return Result({answer})\n")
    return f"{folder / 'rule.py'}:mine"


def other_budget_rule(folder):
    """The same for a figure with a fixed budget."""
    return other_rule(folder, "arms, budget", "[(budget + i) // len(arms) for i in range(len(arms))]")


def other_rule_of_items(folder):
    """The same for items that are not the arms: the answer is the first item."""
    return other_rule(folder, "arms, items, delta", answer="0")


def other_clicks(folder):
    """A click log in the format of R6A, with 400 records."""
    rng, lines = np.random.default_rng(0), []
    for _ in range(400):
        groups = (
            f"|{name} " + " ".join(f"{i}:{value:.6f}" for i, value in enumerate(rng.dirichlet(np.ones(5)), start=2))
            for name in ("user", "1")
        )
        lines.append(f"1241160900 1 {rng.integers(2)} {' '.join(f'{group} 1:1.000000' for group in groups)}\n")
    (folder / "log").write_text("".join(lines))
    return str(folder / "log")


def other_data(folder):
    """A file of the motor in the folder of the data."""
    numbers = np.random.default_rng(0).random((100, 4))
    pd.DataFrame(numbers, columns=["ambient", "coolant", "motor_speed", "pm"]).to_csv(folder / data.MOTOR[0])
    return "real"


# Other values where the next number or a shorter list will not do; a function makes a file or folder.
OTHER = {
    "claims_folder": other_claims,
    "event_delta": 0.9,
    "coverage_runs": 400,  # one more finds the same burn-in
    "rule": other_rule,
    "budget_rule": other_budget_rule,
    "own": other_rule,
    ("fiez2019_5d_transductive", "own"): other_rule_of_items,
    **{(notebook, "own"): other_budget_rule for notebook, name in EACH if name == "own" and "azizi2022" in notebook},
    **{(notebook, "deltas"): [0.9] for notebook, name in EACH if name == "deltas" and "azizi2022" in notebook},
    ("azizi2022_E2_real_data", "source"): other_data,
    ("azizi2022_8_2_static", "variances"): [10.0, 1.0, 3.0],  # the first two are those of the claims
    ("azizi2022_8_2_static", "gaps"): [0.03, 0.1, 0.3],
    ("azizi2022_8_3_randomised", "sizes"): [8, 32, 64],  # the claims compare those up to d(d + 1)/2 with those beyond
    ("azizi2022_8_3_randomised", "d"): 9,
    ("jedra2020_3_track_and_stop", "pac_pulls"): 1_000,
    ("jedra2020_3_track_and_stop", "arm_sets"): FEW + 2,  # the fourth is of the kind of the first
    ("azizi2022_8_1_adaptive", "sizes"): [8, 32],  # peace_runs and coin_shares have a number for each
    ("azizi2022_8_1_adaptive", "peace_runs"): [FEW, FEW - 1],
    ("azizi2022_8_1_adaptive", "coin_shares"): [0.52, 0.3],
    ("weltz2023_1_why_variance", "runs"): 60,  # one more finds no larger factor
    ("weltz2023_3_head", "budgets"): [30_000, 95_000],  # the claims need two above 20,000
    ("companion_your_own_arms", "arms_csv"): fewer_arms,
    ("fiez2019_5b_many_arms", "table_sizes"): [2500],
    ("weltz2023_3_head", "dims"): [3, 4, 8],  # the claims need two even ones, and one of at least 6
    ("weltz2023_3_head", "subsets"): 2,
    ("azizi2022_E3_od_linbai", "budgets"): [100, 200, 600],
    ("azizi2022_all_figures", "most_arms"): 128,  # which the saved runs of Figure 6 have
    ("jedra2020_5_many_arms", "sizes"): [400, 1000],  # one is of Table 1
    ("jedra2020_5_many_arms", "published_sizes"): [2500],
    ("companion_your_own_rule", "max_pulls"): 1_000,
    ("companion_elimination", "players"): ["fws"],
    ("companion_elimination", "threshold"): "loglog",
    ("companion_other_papers", "max_pulls"): 100_000,  # which cuts runs off
    ("companion_other_papers", "proved_rules"): ["LT&S, Frank-Wolfe"],
    ("companion_your_own_rule", "max_seconds"): 1e-9,
    ("fiez2019_5f_click_through", "click_log"): other_clicks,
    **{
        (f"fiez2019_{name}", f"{rules}_runs"): FEW - 1
        for name in ("5e_multivariate", "5f_click_through")
        for rules in ("lingape", "variant")
    },  # at most `runs`
}


ENDS = {
    ("companion_your_own_rule", "max_seconds"): "was still going after 1e-09 seconds"
}  # other values that are errors


def few(default):
    return [min(FEW, number) for number in default] if isinstance(default, list) else min(FEW, default)


def small(notebook):
    """{name: value} of the small run that others are compared with."""
    drawn = {
        name: few(known.default)
        for name, known in PARAMETERS[notebook].items()
        if COUNT.fullmatch(name) and not name.endswith("steps")
    }
    return drawn | SMALL.get(notebook, {})


def larger(number):
    return number + 1 if isinstance(number, int) else number * 1.25


def other_value(notebook, name, folder):
    """Another value of a parameter than in the small run."""
    for key in ((notebook, name), name):
        if key in OTHER:
            return OTHER[key](folder) if callable(OTHER[key]) else OTHER[key]
    value = small(notebook).get(name, PARAMETERS[notebook][name].default)
    if not isinstance(value, list):
        return larger(value)
    return value[:-1] if len(value) > 2 else [*value[:-1], larger(value[-1])]


@functools.cache
def cells(notebook):
    """(code without its last expression, that expression or None, tags) of each cell."""
    found = []
    for number, cell in enumerate(load(notebook).cells):
        if cell.cell_type == "code":
            tree, last, where = ast.parse(cell.source), None, f"{notebook}, cell {number}"
            if isinstance(tree.body[-1], ast.Expr) and not cell.source.rstrip().endswith(";"):
                last = compile(ast.Expression(tree.body.pop().value), where, "eval")
            found.append((compile(tree, where, "exec"), last, cell.metadata.get("tags", [])))
    return found


def text_of(value):
    """What a cell shows of a value, without what differs from run to run."""
    if isinstance(value, pd.DataFrame | pd.Series):
        return value.to_csv()
    data = getattr(value, "data", None)  # of Markdown and HTML
    return re.sub(r" at 0x\w+", "", data if isinstance(data, str) else repr(value))


def shown(notebook, given, folder):
    """{csv file or cell: text} of a notebook that runs with some parameters in place of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    given = {"out": str(folder), **small(notebook), **given}
    texts, space = {}, {"__name__": "__main__", "display": lambda value: print(text_of(value))}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(NOTEBOOKS)
        patch.setenv("BANDITS_DATA", str(folder.parent))
        patch.setattr(data, "automobile_file", lambda: None)  # or it would be fetched
        patch.setattr(fingerprint, "executed", lambda: [(NOTEBOOKS / f"{notebook}.ipynb").read_text(encoding="utf-8")])
        patch.setattr(Figure, "savefig", lambda *args, **options: None)  # most of the time, and no number
        for number, (code, last, tags) in enumerate(cells(notebook)):
            with redirect_stdout(io.StringIO()) as printed:
                exec(code, space)
                value = eval(last, space) if last else None
            if "parameters" in tags:
                space.update(given)
            if "nbval-ignore-output" not in tags:
                texts[f"cell {number}"] = printed.getvalue() + ("" if value is None else text_of(value))
    plt.close("all")
    written = Path(given["out"])
    files = {file.relative_to(written).as_posix(): file.read_text() for file in written.rglob("*.csv")}
    return texts | {name: TIMED.sub("", text) for name, text in files.items()}


@pytest.fixture(scope="module")
def small_run(tmp_path_factory):
    """small_run(notebook): what the small run shows."""
    return functools.cache(lambda notebook: shown(notebook, {}, tmp_path_factory.mktemp(notebook)))


def check_that_it_moves(notebook, name, small_run, folder):
    """Fail unless another value shows something else."""
    value = other_value(notebook, name, folder)
    if (notebook, name) in ENDS:
        with pytest.raises(RuntimeError, match=ENDS[notebook, name]):
            shown(notebook, {name: value}, folder / "out")
        return
    assert shown(notebook, {name: value}, folder / "out") != small_run(notebook), f"{name} = {value!r} changes nothing"


@pytest.mark.parametrize(("notebook", "name"), EACH)
def test_every_parameter_has_another_value_that_the_notebook_takes(notebook, name, tmp_path):
    known, value = PARAMETERS[notebook], other_value(notebook, name, tmp_path)
    assert value != small(notebook).get(name, known[name].default)
    parameters.check(notebook, known, {name: value, **small(notebook)})


@pytest.mark.parametrize("notebook", PARAMETERS)
def test_every_parameter_is_read_by_a_cell_or_called_unused(notebook):
    read = set()
    for cell in code_cells(notebook):
        if "parameters" not in cell.metadata.get("tags", []):
            names = (node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Name))
            read |= {node.id for node in names if isinstance(node.ctx, ast.Load)}
    for name, known in PARAMETERS[notebook].items():
        assert (name in read) != known.comment.startswith(UNUSED), name


@pytest.mark.parametrize("name", [name for notebook, name in EACH if notebook == "companion_start_here"])
def test_another_value_changes_the_start_page(name, small_run, tmp_path):
    check_that_it_moves("companion_start_here", name, small_run, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("notebook", "name"), EACH)
def test_another_value_changes_what_the_notebook_shows(notebook, name, small_run, tmp_path):
    check_that_it_moves(notebook, name, small_run, tmp_path)


@pytest.fixture(scope="module")
def cluster():
    """The address of a dask scheduler with a worker in this process."""
    with distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None) as found:
        yield found.scheduler_address


@pytest.mark.slow
@pytest.mark.parametrize("notebook", PARAMETERS)
def test_processes_a_checkpoint_and_another_folder_change_nothing(notebook, small_run, tmp_path):
    given = {"n_jobs": 2, "checkpoint": f"{tmp_path / 'kept'}/", "out": str(tmp_path / "elsewhere")}
    known = PARAMETERS[notebook]
    given = {name: value for name, value in given.items() if name in known}
    for _ in range(2):  # the second run reads the checkpoint
        fingerprint._of_cell.update(calls=itertools.count())
        assert shown(notebook, given, tmp_path / "out") == small_run(notebook)
    read = "checkpoint" in known and not known["checkpoint"].comment.startswith(UNUSED)
    assert read == (tmp_path / "kept").exists() and not list((tmp_path / "out").iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("notebook", PARAMETERS)
def test_a_dask_scheduler_changes_nothing(notebook, cluster, small_run, tmp_path):
    assert shown(notebook, {"scheduler": cluster}, tmp_path) == small_run(notebook)


@pytest.mark.slow
@pytest.mark.parametrize("notebook", [notebook for notebook, name in EACH if name == "sigma2"])
def test_the_variance_reaches_every_panel(notebook, small_run, tmp_path):
    louder, base = shown(notebook, {"sigma2": 1.0}, tmp_path), small_run(notebook)
    (file,) = (name for name in base if re.search(r"/fig_\d\.csv$", name))
    before, after = (pd.read_csv(io.StringIO(files[file])) for files in (base, louder))
    panels = [name for name in ("options", "reading", "best") if name in before]
    louder_panels = dict(iter(after.groupby(panels)))
    for panel, rows in before.groupby(panels):
        assert not rows.reset_index(drop=True).equals(louder_panels[panel].reset_index(drop=True)), panel
