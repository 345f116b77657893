"""Rows of a small run are compared with the published rows: what equals them, what differs, and what is left out."""

import json

import numpy as np
import pandas as pd
import pytest

from bandits_lib.figures import comparison

USED = {"runs": 2, "tuning_runs": 5, "dims": [5, 10], "angle": 0.01, "seed": 7, "n_jobs": 1, "own": "", "grid": [1, 2]}
SETTINGS = [(d, rule, run) for d in (5, 10) for rule in ("rage", "tuned") for run in (0, 1)]


def narrow(settings=SETTINGS):
    rows = pd.DataFrame(settings, columns=["d", "algorithm", "run"])
    left = rows["d"].astype(float).where(rows["run"] > 0)
    return rows.assign(pulls=10**9 * rows["d"] + rows["run"], correct=True, left=left / 3)


@pytest.fixture
def published(tmp_path):
    """published(rows, used): the file of published rows and of the parameters that were used."""

    def write(rows, used=USED):
        folder = tmp_path / "toy"
        folder.mkdir(exist_ok=True)
        rows.to_csv(folder / "fig_1_runs.csv", index=False, float_format="%.17g")
        (folder / "fig_1.json").write_text(json.dumps({"parameters": used}))
        return folder / "fig_1_runs.csv"

    return write


def compare(rows, file, used=USED, by=("d",), depends=None, unread=()):
    return comparison.of(rows, file, used, by=by, depends=depends or {}, unread=unread)


def test_a_sample_of_the_rows_is_equal_in_any_order(published):
    file = published(narrow([(d, rule, run) for d, rule, _ in SETTINGS for run in range(9)]).drop_duplicates())
    assert compare(narrow().iloc[::-1], file) == (8, 8, {}, "")
    few = USED | {"dims": [10], "runs": 1, "n_jobs": 4, "own": "mine.py:mine", "tuning_runs": 3}
    assert compare(narrow(SETTINGS[6:]), file, few) == (2, 2, {}, "")


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("pulls", 5_000_000_001, "pulls is 5000000001, published 5000000000"),
        ("correct", False, "correct is False, published True"),
        ("left", 1.0, "left is 1.0, published nan"),
    ],
)
def test_the_first_row_that_differs_is_shown(published, column, value, said):
    rows = narrow()
    rows.loc[0, column] = value
    found = compare(rows, published(narrow()))
    assert (found.compared, found.equal) == (8, 7) and found.differs == f"rage, d = 5, run = 0: {said}"
    assert found.line("toy/fig_1").endswith(f"\nDIFFERS: {found.differs}")


def test_floats_may_differ_in_the_tenth_digit_and_whole_numbers_never(published):
    file = published(narrow())
    for factor, equal in ((1 + 1e-10, 8), (1 + 1e-8, 4)):
        assert compare(narrow().assign(left=narrow()["left"] * factor), file).equal == equal
    assert compare(narrow().assign(pulls=narrow()["pulls"] + 1), file).equal == 0


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"angle": 0.02}, "angle is 0.02, published 0.01"),
        ({"seed": 0}, "seed is 0, published 7"),
        ({"dims": [5, 11]}, "dims is [5, 11], published [5, 10]"),
    ],
)
def test_a_changed_parameter_is_named_and_nothing_is_compared(published, changed, said):
    found = compare(narrow(), published(narrow()), USED | changed)
    assert found == (0, 0, {said: 8}, "")
    assert found.line("toy/fig_1") == f"toy/fig_1: not compared with the published rows: 8 ({said})"
    assert compare(narrow(), published(narrow()), USED | changed, unread=[*changed]) == (8, 8, {}, "")


@pytest.mark.parametrize("changed", [{"tuning_runs": 3}, {"grid": [1]}])
def test_rules_that_depend_on_other_runs_are_left_out_if_those_differ(published, changed):
    file, how = published(narrow()), {"depends": {"tuned": ("tuning_runs", "grid")}}
    (name, value), then = *changed.items(), USED[next(iter(changed))]
    assert compare(narrow(), file, **how) == (8, 8, {}, "")
    found = compare(narrow(), file, USED | changed, **how)
    assert found == (4, 4, {f"tuned: {name} is {value}, published {then}": 4}, "")


def test_more_runs_than_were_published_and_a_rule_of_the_readers_are_left_out(published):
    file = published(narrow())
    rows = pd.concat([narrow(), narrow([(5, "rage", 2), (5, "own", 0)])])
    assert compare(rows, file, USED | {"runs": 3}) == (
        8,
        8,
        {"the published runs end with run 1": 1, "your own rule": 1},
        "",
    )


def test_rules_as_columns_are_compared_cell_by_cell(published):
    wide = pd.DataFrame({"K": [8, 8, 16], "run": [0, 1, 0], "gse": [1, 0, 1], "peace": [1, np.nan, 0]})
    file = published(wide)
    ours = pd.DataFrame({"K": [8, 8], "run": [0, 1], "gse": [1, 1], "own": [0, 1]})
    found = compare(ours, file, by=())
    assert found == (2, 1, {"your own rule": 2}, "gse, K = 8, run = 1: value is 1, published 0.0")
    assert compare(wide, file, by=()) == (5, 5, {}, "")


def test_tables_without_runs_are_compared_by_their_own_keys(tmp_path):
    (tmp_path / "toy").mkdir()
    table = pd.DataFrame({"d": [5, 10], "value": [0.5, 0.25]})
    table.to_csv(tmp_path / "toy" / "bound.csv", index=False)
    (tmp_path / "toy" / "bound.json").write_text(json.dumps({"parameters": USED}))
    assert compare(table[1:], tmp_path / "toy" / "bound.csv") == (1, 1, {}, "")


def test_a_table_without_a_json_has_that_of_its_figure(published):
    published(narrow()).rename(file := published(narrow()).with_name("fig_1_solvers_runs.csv"))
    assert compare(narrow(), file) == (8, 8, {}, "")


def test_other_files_are_named_and_never_equal(published, tmp_path):
    file = published(narrow())
    assert compare(narrow(), file.with_name("fig_2_runs.csv")).left_out == {"figures/toy has no fig_2_runs.csv": 8}
    other = compare(narrow(), published(narrow().rename(columns={"left": "right"})))
    assert other == (0, 0, {"figures/toy/fig_1_runs.csv has other columns: left, right": 8}, "")
    without = compare(narrow(), published(narrow().drop(columns="d")))
    assert without == (0, 0, {"figures/toy/fig_1_runs.csv has no column d": 8}, "")
    twice = compare(narrow(), published(pd.concat([narrow(), narrow()])))
    assert twice.compared == 0 and "does not" not in twice.differs and "not tell apart" in str(twice.left_out)
    fewer = compare(narrow(), published(narrow()[narrow()["d"] == 5]))
    assert (fewer.compared, fewer.equal) == (8, 4)
    assert fewer.differs == "rage, d = 10, run = 0 is not among the published rows"
    file.with_suffix(".json").unlink(missing_ok=True)
    file.with_name("fig_1.json").unlink()
    assert compare(narrow(), file).left_out == {"figures/toy has no fig_1.json": 8}


def test_rows_that_no_setting_tells_apart_are_refused(published):
    with pytest.raises(ValueError, match="two rows of fig_1_runs.csv are of rage, run = 0: name the columns of all"):
        compare(narrow(), published(narrow()), by=())
