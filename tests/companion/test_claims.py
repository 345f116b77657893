"""Claims: what is measured gets the letter of its entry, notebooks measure all of theirs, and no letter is typed."""

from math import inf, isnan, nan

import pandas as pd
import pytest
import yaml
from made_up import FEWER, claim, leave, of

from bandits_companion import claims, ledger
from bandits_companion.claims_table import csv_of
from bandits_companion.verdicts import Criterion
from bandits_lib.simulate.intervals import Interval

WORDS = {"place": "Figure 1a", "quote": "is below", "measures": "pulls of A over B", "slack": "a ninth"}
CONTENT = {
    "below": WORDS | {"holds": [0, 1], "edge": "words", "margin": "ratio"},
    "linear": WORDS
    | {"closeness": "ratio", "edge": "grade"}
    | {"readings": {"text_sd": {}, "program": {"why": {"F": "because"}}}},
    "cell": WORDS | {"printed": {"value": 100, "error": 10}, "edge": "paper"},
    "found": {"place": "Figure 1a", "measures": "pulls of A over B", "why": {"–": "drawn from the seed"}},
    "plain": WORDS | {"holds": [0, 1], "edge": "words", "parts": {"first": {"loser": "C"}, "second": {"winner": "D"}}},
    "wish": WORDS | {"untestable": "it is a wish"},
}
NUMBERS = {
    "below": (1.0, 0.95, 1.05),
    "linear@text_sd": (1.2, 1.15, 1.3),
    "linear@program": (2.5, 2.2, 2.9),
    "cell": (120, 110, 130),
    "found": (7, 7, 7),
    "plain.first": (0.5, 0.4, 0.6),
    "plain.second": (2.0, 1.5, 2.5),
}
CONTROLS = {"plain.first": {"loser": of((2.0, 1.5, 2.5))}, "plain.second": {"winner": of((0.5, 0.4, 0.6))}}


@pytest.fixture(autouse=True)
def written(tmp_path, monkeypatch):
    """A folder, at which we are, with a claims.yaml of one notebook."""
    (tmp_path / "claims.yaml").write_text(yaml.safe_dump({f"fiez2019_x/{id}": said for id, said in CONTENT.items()}))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def measured(name, *numbers, **more):
    return claims.measured(f"fiez2019_x/{name}", *(numbers or NUMBERS[name]), **(CONTROLS.get(name, {}) | more))


def all_measured():
    return [measured(name) for name in NUMBERS]


# --- measured


def test_everything_but_the_number_is_from_the_file():
    found = {name: measured(name) for name in NUMBERS}
    assert claims.table(list(found.values()))["letter"].tolist() == ["L", "W", "F", "U", "", "H", "F"]
    assert [c.entry.kind for c in found.values()] == ["text", "text", "program", "text", "other", "text", "text"]
    assert found["below"].entry.place == "Figure 1a" and found["below"].entry.quote == "is below"


def test_a_finding_is_explained_too():
    assert claims.table([measured("found")])["explanation"].item() == "drawn from the seed"


def test_what_is_not_in_the_file_and_what_is_no_interval_is_refused():
    with pytest.raises(ValueError, match="claims.yaml has no fiez2019_x/other; of this notebook it has fiez2019_x/bel"):
        measured("other", 1, 1, 1)
    with pytest.raises(ValueError, match="claims.yaml has no fiez2019_x/linear;"):
        measured("linear", 1, 1, 1)
    with pytest.raises(ValueError, match="needs estimate, low and high; got 0.5"):
        measured("below", 0.5)
    for wrong in ((0.5, 0.6, 0.7), (0.5, 0.3, 0.4), (nan, 0.6, 0.7), (0.5, nan, 0.7)):
        with pytest.raises(ValueError, match="needs low <= estimate <= high"):
            measured("below", *wrong)
    with pytest.raises(ValueError, match="needs low <= estimate <= high"):
        measured("plain.first", loser=of((0.5, 0.6, 0.7)))


@pytest.mark.parametrize("name", ["loser", "winner"])
def test_a_loser_or_winner_is_measured_where_it_is_named_and_nowhere_else(name):
    named, other = ("plain.first", "plain.second") if name == "loser" else ("plain.second", "plain.first")
    with pytest.raises(ValueError, match=f"{named} has no {name}, but claims.yaml names one"):
        claims.measured(f"fiez2019_x/{named}", *NUMBERS[named])
    with pytest.raises(ValueError, match=f"{other} has a {name} without a name"):
        measured(other, **{name: of(1.0)})


@pytest.mark.parametrize(
    ("interval", "rule", "more"),
    [
        ((0.5, 0.4, 0.6), FEWER, 1),
        ((0.9, 0.7, 1.1), FEWER, 4),
        ((1.0, 0.9, 1.1), FEWER, inf),
        ((1.1, 0.9, 1.2), FEWER, 4),
        ((0.8, -0.2, 1.4), FEWER, 9),
        ((0.0, 0.0, 0.1), Criterion(0, 0.05), 4),
        ((2.5, 2.2, 2.9), Criterion(graded="ratio", side="below"), 1),
        ((1.9, 1.7, 2.1), Criterion(graded="ratio", side="below"), 4),
    ],
)
def test_runs_that_would_decide(interval, rule, more):
    """At the harder of two edges, rounded up; from an edge that is touched from outside any more runs lead away."""
    assert claims.table([claim("fiez2019_x/a", interval, rule)])["more"].item() == more


def test_the_error_of_a_printed_number_is_the_larger_of_two():
    found = [measured("cell", 130, 129, 131, printed_error=error) for error in (0, 1, 20)]
    assert claims.table(found)["letter"].tolist() == ["F", "F", "U"]


def test_a_letter_cannot_be_typed():
    with pytest.raises(TypeError):
        claims.measured("fiez2019_x/below", 0.5, 0.4, 0.6, letter="H")


# --- saved


def test_every_field_is_saved_under_its_name_to_the_last_digit(written):
    third = claim(
        "fiez2019_x/below", (1 / 3, 0.1, 0.7), Criterion(0.2, 0.9), loser=2.0, whole="It is fewer.", slack="a ninth"
    )
    claims.save([third, *all_measured()[1:]], written)
    saved = pd.read_csv(written / "figures" / "claims" / "fiez2019_x.csv").set_index("id", drop=False)
    row = saved.loc["fiez2019_x/below"].to_dict()
    told = {"id": "fiez2019_x/below", "paper": "fiez2019", "place": "Figure 1a", "quote": "fewer", "kind": "text"}
    told |= {"whole": "It is fewer.", "measures": "A over B", "edge": "words", "slack": "a ninth", "sampled": 0}
    told |= {"estimate": 1 / 3, "low": 0.1, "high": 0.7, "holds_low": 0.2, "holds_high": 0.9, "letter": "U", "more": 4}
    told |= {"loser": "XY-static", "loser_letter": "F"} | {f"loser_{end}": 2.0 for end in ("estimate", "low", "high")}
    assert {name: value for name, value in row.items() if value == value} == told
    assert saved.loc["fiez2019_x/linear@program", "explanation"] == "because"
    assert isnan(saved.loc["fiez2019_x/linear@text_sd", "explanation"])
    assert saved.loc["fiez2019_x/plain.second", ["winner", "winner_letter"]].tolist() == ["D", "H"]
    assert saved.loc["fiez2019_x/wish", "untestable"] == "it is a wish" and isnan(saved["letter"]["fiez2019_x/wish"])


def test_a_notebook_measures_what_the_file_has_and_nothing_else(written):
    shown = claims.save(all_measured(), ".")
    assert shown["judged"].tolist() == [
        "level",
        "weaker",
        "falls",
        "open (more runs alone would not decide)",
        "finding",
        "holds",
        "falls",
    ]
    assert shown["condition"].tolist() == [
        "true if at most 1",
        *["true if at most 1.1"] * 2,
        "printed 100 ± 19.6",
        "",
        *["true if between 0 and 1"] * 2,
    ]
    kept = (written / "figures" / "claims" / "fiez2019_x.csv").read_text()
    with pytest.raises(ValueError, match="neither measured nor left out: fiez2019_x/plain.second$"):
        claims.save(all_measured()[:-1], ".")
    assert len(claims.save(all_measured()[:-1], ".", left_out=["fiez2019_x/plain.second"])) == 6
    for left_out, words in (
        ("plain.second", "measured and left out: fiez2019_x/plain.second"),
        ("unknown", "claims.yaml lacks fiez2019_x/unknown"),
        ("wish", "claims.yaml lacks fiez2019_x/wish"),
    ):
        with pytest.raises(ValueError, match=words):
            claims.save(all_measured(), ".", left_out=[f"fiez2019_x/{left_out}"])
    with pytest.raises(ValueError, match="claims.yaml lacks fiez2019_x/old"):
        claims.save([*all_measured(), claim("fiez2019_x/old", 0.5)], ".")
    claims.save(all_measured(), ".")
    assert (written / "figures" / "claims" / "fiez2019_x.csv").read_text() == kept


def test_claims_are_of_one_notebook_and_each_has_an_id_of_its_own():
    for wrong in ([], [measured("below")] * 2, [measured("below"), claim("fiez2019_y/a", 0.5)]):
        with pytest.raises(ValueError, match="one notebook and have distinct ids"):
            claims.save(wrong, ".")


# --- read


def test_what_was_saved_is_read_with_its_numbers():
    claims.save(all_measured(), ".")
    read, table = ledger.read("figures/claims"), claims.table(all_measured())
    assert read["id"].tolist() == [*table["id"], "fiez2019_x/wish"]
    pd.testing.assert_frame_equal(read.iloc[:-1], table, check_dtype=False)


def test_digits_that_depend_on_the_processor_are_not_kept():
    one, other = (
        claims.table([claims.measured("fiez2019_x/found", Interval(x / 3, x / 7, x, error=x / 9))])
        for x in (1, 1 + 1e-14)
    )
    pd.testing.assert_frame_equal(one, other, check_exact=True)
    assert one[["estimate", "low", "error"]].iloc[0].tolist() == [0.333333333333, 0.142857142857, 0.111111111111]
    assert ",0.333333333333,0.142857142857,1,0.111111111111," in csv_of(one)


def test_a_typed_letter_counts_for_nothing(written):
    claims.save(all_measured(), ".")
    file = written / "figures" / "claims" / "fiez2019_x.csv"
    rows, read = pd.read_csv(file, dtype=str, keep_default_na=False), ledger.read("figures/claims")
    rows.assign(letter="H", loser_letter="F", winner_letter="H", more="1").to_csv(file, index=False)
    pd.testing.assert_frame_equal(ledger.read("figures/claims"), read)


def test_an_id_used_twice_and_an_empty_folder_are_refused(written):
    figures = leave(written, [claim("fiez2019_9/a", 0.5)])
    file = figures / "claims" / "fiez2019_9.csv"
    (figures / "claims" / "fiez2019_99.csv").write_text(file.read_text())
    with pytest.raises(ValueError, match="the id fiez2019_9/a is used twice"):
        ledger.read(figures / "claims")
    with pytest.raises(ValueError, match="has no claims"):
        ledger.read(written)


def test_claims_are_read_in_the_order_of_the_papers(written):
    for notebook in ("weltz2023_1", "jedra2020_2", "fiez2019_9", "toy2020_1", "jedra2020_1"):
        leave(written, [claim(f"{notebook}/a", 0.5)])
    found = ledger.read(written / "figures" / "claims")["id"].str.partition("/")[0].tolist()
    assert found == ["fiez2019_9", "jedra2020_1", "jedra2020_2", "weltz2023_1", "toy2020_1"]


# --- judged again after the run


def rejudged(folder, **changes):
    """Rows of the stored claims after entries of claims.yaml were changed."""
    content = {f"fiez2019_x/{id}": CONTENT[id] | changes.get(id, {}) for id in CONTENT}
    (folder / "claims.yaml").write_text(yaml.safe_dump(content))
    changed = claims.rejudge(folder / "figures")
    rows = claims.read_file(folder / "figures" / "claims" / "fiez2019_x.csv").set_index("id")
    return changed, rows.rename(index=lambda id: id.partition("/")[2]).assign(id=rows.index)


def test_claims_judged_again_by_the_same_criteria_are_the_same_bytes(written):
    claims.save(all_measured(), written)
    file = written / "figures" / "claims" / "fiez2019_x.csv"
    before = file.read_bytes()
    assert rejudged(written)[0] == [] and file.read_bytes() == before


def test_another_criterion_gives_another_letter_and_says_so_and_other_words_do_not(written):
    claims.save(all_measured(), written)
    changed, rows = rejudged(written, linear={"closeness": "accuracy"}, below={"quote": "is smaller"})
    assert changed == ["fiez2019_x/linear@text_sd", "fiez2019_x/linear@program"]
    assert rows.loc["linear@text_sd", ["letter", "changed"]].tolist() == ["F", "criterion changed after the run"]
    assert rows.loc["below", ["quote", "letter", "changed"]].tolist() == ["is smaller", "L", ""]
    assert rows.loc["linear@text_sd", "estimate"] == 1.2, "what was measured stays"
    assert "criterion changed after the run" in ledger.sentences(rows).loc["fiez2019_x/linear", "text_note"]
    assert rejudged(written, linear={"closeness": "accuracy"})[0] == changed, "until the notebook is run again"
    claims.save(all_measured(), written)
    assert rejudged(written, linear={"closeness": "accuracy"})[0] == []


def test_a_control_that_was_not_measured_and_a_claim_without_entry_are_refused(written):
    claims.save(all_measured(), written)
    with pytest.raises(ValueError, match="fiez2019_x/below names a control that was not measured: run its notebook"):
        rejudged(written, below={"loser": "E"})
    text = yaml.safe_dump({f"fiez2019_x/{id}": said for id, said in CONTENT.items() if id != "cell"})
    (written / "claims.yaml").write_text(text)
    with pytest.raises(ValueError, match="claims.yaml has no fiez2019_x/cell, which was measured"):
        claims.rejudge(written / "figures")
