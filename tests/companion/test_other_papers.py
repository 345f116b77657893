"""The published table of companion_other_papers agrees with printed numbers where it gives no reason for a difference.

`apart` is the difference between our mean and the printed one in standard errors of the difference.
"""

from pathlib import Path

import pandas as pd
import pytest
from notebook_files import load

from bandits_lib.figures import style
from bandits_lib.simulate.intervals import mean_ratio

ROOT = Path(__file__).resolve().parents[2]
KEYS = ["paper", "delta", "algorithm"]
SOURCES = pd.read_csv(ROOT / "notebooks" / "other_papers.csv").set_index(KEYS)
TABLE = pd.read_csv(ROOT / "figures" / "companion" / "other_papers.csv").set_index(KEYS)
AGREE = TABLE[TABLE["reason"].isna()]
MOST = 3  # standard errors


def test_the_table_has_every_printed_number_with_its_place_and_reason():
    pd.testing.assert_frame_equal(TABLE[["place", "reason"]], SOURCES[["place", "reason"]])
    assert (TABLE["printed"] == SOURCES["printed"]).all() and TABLE["place"].notna().all()


def test_rows_without_a_reason_agree_within_three_standard_errors():
    assert len(AGREE) >= 15 and AGREE["apart"].abs().max() <= MOST


def test_the_notebook_says_how_weak_the_check_on_the_50_arms_is():
    rows = AGREE.xs("Tirinzoni and Degenne 2022", level="paper")
    shares = (100 * MOST * (rows["mean"] - rows["printed"]) / rows["apart"] / rows["printed"]).abs()
    said = f"three standard errors are {shares.min():.0f} to {shares.max():.0f} % of the printed means"
    assert said in (ROOT / "notebooks" / "companion_other_papers.ipynb").read_text(encoding="utf-8")


def test_a_printed_number_that_differs_by_a_third_would_be_found():
    """Where runs are many, which leaves out the 100 runs with long tails on the 50 arms."""
    cells = AGREE.drop("Tirinzoni and Degenne 2022", level="paper")
    error = (cells["mean"] - cells["printed"]) / cells["apart"]
    assert len(cells) == 12 and (cells["printed"] / 3 > (MOST + 2) * error.abs()).all()


def test_the_means_are_those_of_the_saved_runs():
    runs = pd.read_csv(ROOT / "figures" / "companion" / "other_papers_runs.csv")
    means = runs.groupby(KEYS)["pulls"].mean()
    assert len(means) == 22
    assert TABLE.loc[means.index, "mean"].to_numpy() == pytest.approx(means.to_numpy(), rel=1e-12)
    assert runs["stopped"].all()
    tied = pd.read_csv(ROOT / "figures" / "companion" / "tied_arms_runs.csv")
    tied = tied.query("threshold == 'log_pulls' or algorithm == 'lingape'")
    means = tied["pulls"].clip(upper=1_000_000).groupby(tied["algorithm"]).mean()  # as in that paper
    rows = TABLE.sort_index().loc[("Tirinzoni and Degenne 2022", 0.01)]
    assert rows.loc[means.index, "mean"].to_numpy() == pytest.approx(means.to_numpy(), rel=1e-12)


@pytest.mark.parametrize("name", ["lingape", "lin_game", "fws", "lazy_track_and_stop"])
def test_the_notebook_on_elimination_has_the_printed_means_and_our_ratio(name):
    row = SOURCES.loc[("Tirinzoni and Degenne 2022", 0.01, name)]
    theirs = f"{row['printed']:,.0f} | {row['printed_sample']:,.0f} | {row['printed_sample'] / row['printed']:.2f}"
    runs = pd.read_csv(ROOT / "figures" / "companion" / "elimination_runs.csv").query("algorithm == @name")
    ours = "{:.2f} ({:.2f} to {:.2f})".format(*mean_ratio(runs.assign(algorithm=runs["eliminate"]), "sample", "none"))
    lines = load("companion_elimination").cells[-1].source.splitlines()
    (line,) = (line for line in lines if line.startswith(f"| {style.label(name)} "))
    assert line.startswith(f"| {style.label(name)} | {theirs} |") and line.endswith(f"| {ours} |")
