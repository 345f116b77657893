"""Real tables, from import to an answer: the rewards are those of the table, with noise."""

import os
import re
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest
from test_words import experiment, may_be_best

DATA = Path(os.environ.get("BANDITS_DATA", ""))


class Table(NamedTuple):
    """The columns of a file that describe arms, that of results, their sign, and other options of the import."""

    columns: list
    result: int
    sign: float = 1.0
    options: tuple = ()
    headings: str = ""  # of the columns, for a file without them


TABLES = {
    # UCI Automobile, CC BY 4.0: words and numbers, rows with missing entries, and the price is to be small
    "imports-85.data": Table([6, 10, 13, 21], 25, -1.0, (), "body length weight horsepower"),
    # Electric Motor Temperature, CC BY-SA 4.0: numbers
    "motor_dbnR_session60_3000.csv": Table([0, 1, 2, 3, 4], 7),
    # PV-Lab/Benchmarking: mixtures whose shares add up to 100 % and to 1, measured several times
    "P3HT_dataset.csv": Table([0, 1, 2, 3], 5),
    "Perovskite_dataset.csv": Table([0, 1], 3, -1.0, ("--squares", "CsPbI,FAPbI")),
    # doyle-lab-ucla/edboplus: a factorial of words, of which one is None, and a number
    "dataset_B1.csv": Table([0, 1, 2, 3], 4),
}
MOST = 300  # rows of a file that are read


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_a_real_table_is_read_and_leads_to_an_answer_that_is_right_or_said_to_be_unsure(run, name):
    if not (DATA / name).is_file():
        pytest.skip(f"BANDITS_DATA has no {name}")
    columns, result, sign, options, headings = TABLES[name]
    missing = {"na_values": "?", "header": None} if headings else {"keep_default_na": False}
    frame = pd.read_csv(DATA / name, encoding="utf-8-sig", nrows=MOST, **missing)
    described, results = frame.iloc[:, columns], sign * frame.iloc[:, result].astype(float)
    described.columns = headings.split() or described.columns
    whole = described.assign(result=results).dropna()
    means = whole.groupby(list(described), sort=False)["result"].mean().reset_index()
    means.index = pd.Index([f"row{k}" for k in range(len(means))], name="id")
    means.drop(columns="result").to_csv("arms.csv")
    truth, sd = means["result"], 0.1 * means["result"].std()
    numbers = [word for column in described.select_dtypes("number") for word in ("--numbers", column)]
    given = ["--sigma", f"{sd:.6g}", "--accept", f"{5 * sd:.6g}", *numbers, *options]
    said, number = experiment(run, truth.to_dict(), sd, *given)
    answer = re.search(r"The answer is (row\d+) ", said)[1]
    assert number < 40 * len(truth)
    assert truth.max() - truth[answer] <= 5 * sd or "not proved" in said
    known = run("standings")
    assert f"answer is {answer}" in known and may_be_best(known)
    run("report")
    assert answer in Path("report.html").read_text(encoding="utf-8")
