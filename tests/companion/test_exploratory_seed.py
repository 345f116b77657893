"""Two seeds: which one every notebook had, what is kept of the exploration, and what the confirmatory run changed."""

import json

import pandas as pd
import pytest

from bandits_companion import claims, exploratory_seed, ledger
from bandits_companion.claims_table import read_file

THEN = {"a": 0.5, "b": 0.5, "c@text": 2.0, "c@code": 0.5}
NOW = {"a": 0.6, "b": 1.0, "c@text": 0.5, "c@code": 2.0}


def made(estimates, holds=(0, 1)):
    said = ("fiez2019", "Figure 9", "A below B")
    return [claims.claim(f"fiez2019_9/{name}", *said, x, x - 0.2, x + 0.2, holds) for name, x in estimates.items()]


def run(folder, seed, estimates, holds=(0, 1)):
    """What a notebook leaves in figures: its claims, and a json with its seed."""
    claims.save(made(estimates, holds), folder)
    about = {"command": "papermill notebooks/fiez2019_9.ipynb out.ipynb", "parameters": {"seed": seed}}
    (folder / "figures" / "fiez2019").mkdir(exist_ok=True)
    (folder / "figures" / "fiez2019" / "fig_9.json").write_text(json.dumps(about))
    return folder / "figures"


@pytest.fixture
def figures(tmp_path):
    figures = run(tmp_path, 0, THEN)
    exploratory_seed.save(figures, tmp_path, never=7)
    return figures


def compared(figures):
    return ledger.read(figures / "claims"), exploratory_seed.before(figures / "explored", figures)


def test_before_the_confirmatory_run_there_is_nothing_to_compare(figures):
    found, old = compared(figures)
    assert old.empty and not exploratory_seed.words(found, old).any() and exploratory_seed.changed(found, old).empty
    assert exploratory_seed.page(found, old).startswith("These claims have the seed with which they were explored")
    assert "when explored" not in ledger.page(found, exploratory_seed.words(found, old))


def test_after_it_both_seeds_stand_in_the_ledger(figures, tmp_path):
    run(tmp_path, 7, NOW)
    found, old = compared(figures)
    earlier = exploratory_seed.words(found, old)
    assert earlier.iloc[0] == "0.5 [0.3, 0.7], reproduced"
    ledger.save(found, tmp_path, earlier)
    page = (figures / "ledger.md").read_text(encoding="utf-8")
    assert "when explored" in page and "0.5 [0.3, 0.7], reproduced" in page and "0.6 [0.4, 0.8]" in page
    pd.testing.assert_frame_equal(read_file(figures / "claims.csv"), found)  # one seed, that of the verdicts


def test_verdicts_that_changed_are_listed_with_their_sentence(figures, tmp_path):
    run(tmp_path, 7, NOW)
    found, old = compared(figures)
    listed = exploratory_seed.changed(found, old).set_index("claim")
    assert list(listed.index) == ["fiez2019_9/b", "fiez2019_9/c@text", "fiez2019_9/c@code"]
    assert listed.loc["fiez2019_9/b", "now"].startswith("1 [0.8, 1.2], undecided")
    assert listed["its sentence"].tolist() == ["reproduced, now undecided", *["reproduced, as before"] * 2]
    assert (listed["its rule"] == "as before").all()
    assert exploratory_seed.page(found, old).startswith("3 of 4 verdicts are other ones")


def test_a_rule_that_changed_since_is_named(figures, tmp_path):
    run(tmp_path, 7, {"b": 0.5, "new": 0.5}, holds=(1, 2))
    found, old = compared(figures)
    listed = exploratory_seed.changed(found, old)
    assert listed["its rule"].item() == "holds_low, holds_high changed; it held for 0 to 1"
    page = exploratory_seed.page(found, old)
    assert "Not measured when it was explored: fiez2019_9/new." in page
    assert "No longer a claim: fiez2019_9/a, fiez2019_9/c@code, fiez2019_9/c@text." in page


def test_a_notebook_that_was_not_run_again_is_not_compared(figures, tmp_path):
    other = {"command": "papermill notebooks/fiez2019_8.ipynb out.ipynb", "parameters": {"seed": 7}}
    (figures / "fiez2019" / "fig_8.json").write_text(json.dumps(other))
    assert exploratory_seed.seeds(figures) == {"fiez2019_8": 7, "fiez2019_9": 0}
    assert compared(figures)[1].empty


def test_files_of_two_seeds_are_refused(figures):
    other = {"command": "papermill notebooks/fiez2019_9.ipynb out.ipynb", "parameters": {"seed": 7}}
    (figures / "fiez2019" / "table_9.json").write_text(json.dumps(other))
    with pytest.raises(
        ValueError, match="table_9.json is of seed 7, other files of fiez2019_9 of seed 0: run it again"
    ):
        exploratory_seed.seeds(figures)


def test_the_confirmatory_run_and_claims_of_no_known_seed_are_not_kept_as_explored(figures, tmp_path):
    kept = (figures / "explored" / "fiez2019_9.csv").read_text()
    run(tmp_path, 7, NOW)
    with pytest.raises(ValueError, match="fiez2019_9 was run with the confirmatory seed 7"):
        exploratory_seed.save(figures, tmp_path, never=7)
    (figures / "fiez2019" / "fig_9.json").unlink()
    with pytest.raises(ValueError, match="no json says with which seed fiez2019_9 was run"):
        exploratory_seed.save(figures, tmp_path, never=7)
    assert (figures / "explored" / "fiez2019_9.csv").read_text() == kept


def test_what_is_kept_has_its_seed_and_every_digit(figures):
    kept = pd.read_csv(figures / "explored" / "fiez2019_9.csv", dtype=str)
    assert set(kept["seed"]) == {"0"}
    pd.testing.assert_frame_equal(kept.drop(columns="seed"), pd.read_csv(figures / "claims/fiez2019_9.csv", dtype=str))
