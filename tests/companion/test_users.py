"""Simulated experiments in which something goes wrong: right as promised or warned, and nothing is lost."""

import inspect
import re
from pathlib import Path

import nbformat
import numpy as np
import pytest
from scipy import stats

from bandits_companion.simulated_users import ALL, DELTA, KINDS, UNSEEN, Bench, User, simulate_users, table
from bandits_lab import lab
from bandits_lib.fixed_confidence import bounded_rage, rage

RUNS = 25
NOTEBOOK = Path(__file__).resolve().parents[2] / "notebooks/companion_your_own_arms.ipynb"


@pytest.fixture(scope="module")
def records():
    return simulate_users(RUNS)


@pytest.fixture(scope="module")
def quarters():
    return simulate_users(100, seed=1, kinds=["sigma told a quarter"])


def above_delta(silent, runs):
    """Probability of so many errors, or more, of a rule that keeps its promise."""
    return stats.binomtest(int(silent), runs, DELTA, alternative="greater").pvalue


def test_nobody_is_wrong_without_a_word_more_often_than_delta(records):
    found = table(records)
    total = found.loc[ALL]
    found = found.drop(ALL)
    assert len(records) >= 1_000 and list(found.index) == list(KINDS) and (found["experiments"] == RUNS).all()
    assert (found["wrong"] == found[["contradicted", "caveated", "silent"]].sum(axis=1)).all()
    assert (found.drop(columns="bound").sum() == total.drop("bound")).all()
    for kind, row in found.iterrows():
        assert above_delta(row["silent"], RUNS) > 1e-3, (kind, row["silent"])
    assert above_delta(total["silent"], len(records)) > 0.5
    kept = found[[not user.must and not user.stated for user in KINDS.values()]]
    assert len(kept) >= 30 and above_delta(kept["wrong"].sum(), RUNS * len(kept)) > 0.5


def test_limits_are_stated_where_users_read_them():
    """Wrong answers count as caveated by a document only if the sentence is there."""
    notebook = nbformat.read(NOTEBOOK, as_version=4).cells
    pages = [cell.source for cell in notebook if cell.cell_type == "markdown"]
    pages += [inspect.getdoc(found) for found in (rage, bounded_rage)]
    text = " ".join(" ".join(pages).split())
    stated = {user.stated for user in KINDS.values()} - {"", UNSEEN}
    assert len(stated) >= 5 and all(sentence in text for sentence in stated), [s for s in stated if s not in text]


def test_one_user_of_each_kind_loses_nothing():
    found = simulate_users(1)
    assert list(found["kind"]) == list(KINDS) and (found["lost"] == 0).all() and found["ended"].mean() > 0.9


def test_no_measurement_is_lost_or_counted_twice(records):
    assert records["lost"].sum() == 0, records.loc[records["lost"] > 0, ["kind", "run", "lost"]]
    assert records["ended"].mean() > 0.99 and (records["pulls"] > 0).all()


ALWAYS = {  # what every user of a kind hears, or is refused
    "sigma told half": "SigmaWarning: replicates have",
    "sigma told a quarter": "SigmaWarning: replicates have",
    "sigma told twice": "The answer is as sure as promised",
    "millivolts from the second day": "mV told as V",
    "percent told as shares": "mV told as V",
    "history told in millivolts": "mV told as V",
    "half of sigma, squares made up": "all equal say nothing about the noise",
    "whole files told twice": "has the same file been read twice|more measurements of|the algorithm is done",
    "parts told twice": "has the same file been read twice",
    "two people, one log": "another Lab has saved there",
    "squares left out": "squares is 0, below",
    "empty cells": "have no reward",
    "two people, equal clicks": "another Lab has saved there",
    "files told twice, shuffled": "has the same file been read twice|more measurements of|the algorithm is done",
    "parts told twice, shuffled": "has the same file been read twice",
    "cumulative files": "has the same file been read twice|more measurements of",
    "names of two arms swapped": "the log is of another experiment: arm 0 is 'version A'",
    "percent, scale 1": "for [0-9,]+ with scale=None",
    "one in 100 typed ten times too large": "SigmaWarning: replicates have",
    "rounded to three sigma": "SigmaWarning: replicates have",
    "days arm by arm, bounded_rage": "DriftWarning",
    "days arm by arm, xy_static": "DriftWarning",
    "one reading as sixteen": "DriftWarning|LinearityWarning: rewards are not",
}


@pytest.mark.parametrize(("kind", "text"), ALWAYS.items())
def test_each_hears_what_went_wrong(records, kind, text):
    some = records[records["kind"] == kind]
    heard = [" ".join([*said, *refused]) for said, refused in zip(some["said"], some["refused"], strict=True)]
    assert np.mean([re.search(text, found) is not None for found in heard]) > 0.75


def test_kinds_do_happen(records):
    """Saves are cut within an entry, wrong models lead to wrong answers, floors let them be seen."""
    some = dict(list(records.groupby("kind")))
    assert some["saves that were killed"]["warned"].map(lambda w: "ReplayWarning" in w).mean() > 0.5
    wrong = table(records)["wrong"]
    assert (wrong[["quadratic truth, floor .1", "one version unlike its features, no floor"]] >= 4).all()
    unseen = records["said"].map(lambda said: any(text.startswith(UNSEEN) for text in said)).groupby(records["kind"])
    assert unseen.mean()["honest"] > 0.5 > unseen.mean()["quadratic truth, floor .1"]
    pulls = records.groupby("kind")["pulls"].mean()
    assert pulls["percent, no scale"] < 2 * pulls["honest"] < pulls["percent, scale 1"] / 100
    assert (wrong[["days arm by arm, rage", "days arm by arm, sigma unknown", "one reading as sixteen"]] >= 4).all()


def test_records_hang_on_seed_kind_and_run_alone(records):
    again = simulate_users(2, kinds=["a typing error taken back"])
    before = records[records["kind"] == "a typing error taken back"].iloc[:2]
    assert again.to_dict("records") == before.to_dict("records")
    with pytest.raises(ValueError, match="'careless' is no kind of user; they are honest"):
        simulate_users(1, kinds=["careless"])


# --- the harness can fail


def deaf(records):
    """The records as if nothing had been said."""
    return records.assign(said=[[]] * len(records), refused=[[]] * len(records))


def test_a_sentence_in_a_document_excuses_no_other_kind(monkeypatch):
    found = simulate_users(12, kinds=["one reading as sixteen"])
    row = table(deaf(found)).loc[ALL]
    assert row["caveated"] == row["wrong"] > 0 == row["silent"]
    monkeypatch.setitem(KINDS, "one reading as sixteen", KINDS["one reading as sixteen"]._replace(stated=""))
    row = table(deaf(found)).loc[ALL]
    assert row["silent"] == row["wrong"] > 0 == row["caveated"]


def test_without_the_warnings_a_wrong_sigma_would_be_a_broken_promise(quarters):
    assert table(quarters).loc[ALL, "silent"] == 0
    assert above_delta(table(deaf(quarters)).loc[ALL, "silent"], len(quarters)) < 1e-3


@pytest.mark.slow
def test_without_the_warnings_so_would_a_wrong_model():
    found = simulate_users(60, seed=2, kinds=["one version unlike its features, no floor"])
    assert above_delta(table(found).loc[ALL, "silent"], len(found)) > 1e-3
    assert above_delta(table(deaf(found)).loc[ALL, "silent"], len(found)) < 1e-3
    unseen = found["said"].map(lambda said: any("cannot be seen for arm" in text for text in said))
    assert unseen.any()


def forget(bench):
    """A file is left in a drawer."""
    bench.measure(np.full(8, 3))
    bench.finish()


def careless(bench):
    """The first file is told twice, and the warning passed over."""
    path = bench.file(bench.measure(np.full(8, 3)))
    assert bench.tell(path) and bench.tell(path)
    bench.finish()


@pytest.mark.parametrize(("play", "option"), [(forget, {}), (careless, {"floor": 0.5})])
def test_a_measurement_lost_or_counted_twice_is_reported(play, option, tmp_path, monkeypatch):
    monkeypatch.setitem(KINDS, "bad", User(play, option))
    assert (simulate_users(3, kinds=["bad"])["lost"] == 24).all()


def test_without_the_warning_files_read_twice_would_count_twice(monkeypatch):
    monkeypatch.setattr(lab, "told_before", lambda *_: "")
    assert (simulate_users(3, kinds=["parts told twice"])["lost"] > 0).all()


def test_a_changed_reward_in_the_log_is_seen(tmp_path):
    bench = Bench(np.random.default_rng(0), tmp_path)
    bench.finish()
    text = bench.path.read_text()
    row = next(line for line in text.splitlines() if re.match("1,[0-7],0,", line))
    fields = row.split(",")
    bench.path.write_text(text.replace(row, ",".join([*fields[:4], f"{float(fields[4]) + 0.01}", "1e3"])))
    assert bench.record("honest")["lost"] == 1
