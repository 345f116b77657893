"""Whatever is given to a notebook in the place of a parameter is what it can take, or is refused with one sentence."""

from pathlib import Path

import pytest
import yaml

from bandits_lib.figures import parameters

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
KNOWN = {file.stem: parameters.read(file) for file in sorted(NOTEBOOKS.glob("*.ipynb"))}
PUBLISHED = yaml.safe_load((NOTEBOOKS / "paper.yaml").read_text(encoding="utf-8"))
each_notebook = pytest.mark.parametrize("notebook", KNOWN)

WRONG = {
    "int": ["a", "", None, 1.5, True, [5], -1, 0],
    "float": ["1e-3", None, True, [0.1], float("nan"), float("inf"), 10**400, 0.0, -1, -0.5],
    "str": [None, 5, True, ["a"]],
    "list": [5, "5", None, [], ["a"], [None], [[]], [float("nan")], [True], {}, [-1]],
}


def wrong_values(notebook, name, default):
    """Values that have no sense in the place of this default."""
    values = WRONG[type(default).__name__]
    if name == "seed" or default == 0:
        values = [value for value in values if value is None or value != 0 or isinstance(value, bool)]
    if name == "n_jobs":
        values = [value for value in values if value != -1]  # joblib's word for all cores
    if isinstance(default, list) and isinstance(default[0], str):
        values = [value for value in values if value != ["a"]]
    if name in ("min_gap", "threshold"):
        values = [value for value in values if value not in ((0.0,) if name == "min_gap" else (0.0, -1, -0.5))]
    return values


@each_notebook
def test_a_value_that_has_no_sense_is_refused_with_one_sentence(notebook):
    for name, (default, _) in KNOWN[notebook].items():
        for value in wrong_values(notebook, name, default):
            with pytest.raises(ValueError) as refusal:
                parameters.check(notebook, KNOWN[notebook], {name: value})
            said = str(refusal.value)
            assert said.startswith(f"{notebook}: {name} = {value!r} ") and "\n" not in said
            assert said.endswith(f"; the notebook has {name} = {default!r}")


@each_notebook
def test_the_values_of_the_cell_and_of_the_papers_are_taken(notebook):
    defaults = {name: default for name, (default, _) in KNOWN[notebook].items()}
    for values in (defaults, PUBLISHED[notebook]["parameters"]):
        parameters.check(notebook, KNOWN[notebook], values)
        assert all(isinstance(value, str) or parameters.typed(repr(value)) == value for value in values.values())


@each_notebook
def test_misspelt_names_are_refused_by_every_notebook(notebook):
    with pytest.raises(ValueError, match=f"{notebook} has no parameter 'rums'; it has .*runs"):
        parameters.check(notebook, KNOWN[notebook], {"rums": 5})


@each_notebook
def test_the_listing_says_every_parameter_and_what_runs_leaves(notebook):
    said = parameters.listing(notebook, KNOWN[notebook])
    for name, parameter in KNOWN[notebook].items():
        (line,) = [line for line in said.splitlines() if line.strip().startswith(f"{name} = ")]
        assert repr(parameter.default) in line and parameter.comment in line
    others = [name for name in KNOWN[notebook] if name.endswith("_runs")]
    assert ("-p runs N leaves" in said) == bool(others) and all(name in said.splitlines()[-1] for name in others)


@pytest.mark.parametrize(
    "name, text, said",
    [
        ("sizes", "5", "sizes = 5 is not a list: write '[5]'"),
        ("sizes", '["a"]', "sizes = ['a'] has the element 'a', which is not a whole number"),
        ("shapes", "[10, 3]", "shapes = [10, 3] has the element 10, which is not a list"),
        ("shapes", "[[10, 3.5]]", "shapes = [[10, 3.5]] has the element [10, 3.5], which has the element 3.5, which"),
        ("sizes", "[250, 500, 250]", "sizes = [250, 500, 250] has the element 250 twice"),
        ("runs", "1e3", "runs = 1000.0 is not a whole number, without point or exponent"),
    ],
)
def test_what_is_said_of_wrong_values(name, text, said):
    notebook = "fiez2019_2_rounding"
    with pytest.raises(ValueError) as refusal:
        parameters.check(notebook, KNOWN[notebook], {name: parameters.typed(text)})
    assert str(refusal.value).startswith(f"{notebook}: {said}")


def test_a_number_that_yaml_reads_as_a_string_is_explained_and_the_command_line_takes_it():
    known = {"delta": parameters.Parameter(0.05, "")}
    with pytest.raises(ValueError, match="YAML reads 1e-3 as a string: write 0.001"):
        parameters.check("toy", known, {"delta": yaml.safe_load("1e-3")})
    parameters.check("toy", known, {"delta": parameters.typed("1e-3")})


@pytest.mark.parametrize("text", ["../build", "tcp://127.0.0.1:1", "real", "C:\\r6a.gz", "", "a b", "[a]", "true"])
def test_what_is_no_literal_is_text(text):
    assert parameters.typed(text) == text


@pytest.mark.parametrize("wrong", ["delta = 1 / 20", "delta = [1, ", "a = b = 1", "a.b = 1", "print(1)"])
def test_a_line_that_is_no_literal_is_named(tmp_path, wrong):
    cell = '{"cells": [{"metadata": {"tags": ["parameters"]}, "source": ["runs = 3\\n", "WRONG"]}]}'
    (tmp_path / "toy.ipynb").write_text(cell.replace("WRONG", wrong))
    with pytest.raises(ValueError) as refusal:
        parameters.read(tmp_path / "toy.ipynb")
    assert str(refusal.value) == f"toy: parameter line `{wrong.strip()}` is not `name = literal`"
