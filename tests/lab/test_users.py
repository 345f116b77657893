"""Simulated users: right as promised or warned, and no measurement is lost or counted twice."""

import inspect
import json

import numpy as np
import pytest
from notebook_files import load
from scipy import stats
from simulated_users import DELTA, KINDS, UNSEEN, WARNED, Bench, User, got, judged, simulate_users

from bandits_lab import Lab
from bandits_lib.fixed_confidence import bounded_rage, rage

RUNS = 25


@pytest.fixture(scope="module", params=[0, 1])
def records(request):
    return judged(simulate_users(RUNS, seed=request.param))


def above_delta(errors, runs):
    """Probability of so many errors, or more, of a rule that keeps its promise."""
    return stats.binomtest(int(errors), runs, DELTA, alternative="greater").pvalue


def deaf(records):
    """The records as if nothing had been said."""
    return judged(records.assign(texts=[[]] * len(records)))


@pytest.mark.slow
def test_two_users_of_each_kind_lose_nothing_and_are_right_or_warned():
    found = judged(simulate_users(2))
    assert list(found["kind"].unique()) == list(KINDS) and len(KINDS) >= 60
    assert (found["lost"] == 0).all() and (found["pulls"] > 0).all() and found["ended"].mean() > 0.95
    assert above_delta(found["silent"].sum(), len(found)) > 0.5
    always = found["kind"].map(lambda kind: KINDS[kind].often >= 0.75)
    assert always.sum() >= 40 and found.loc[always, "warned"].mean() > 0.9


def test_nobody_is_wrong_without_a_word_more_often_than_delta(records):
    assert len(records) >= 1_000 and records["ended"].mean() > 0.99
    for kind, silent in records.groupby("kind")["silent"].sum().items():
        assert above_delta(silent, RUNS) > 1e-3, (kind, silent)
    assert above_delta(records["silent"].sum(), len(records)) > 0.5
    kept = records[records["kind"].map(lambda kind: KINDS[kind].wrong == "promised")]
    assert len(kept) >= 30 * RUNS and above_delta(kept["wrong"].sum(), len(kept)) > 0.5


def test_no_measurement_is_lost_or_counted_twice(records):
    assert records["lost"].sum() == 0, records.loc[records["lost"] > 0, "kind"]


@pytest.mark.parametrize("kind", [kind for kind, user in KINDS.items() if user.often])
def test_each_hears_what_went_wrong(records, kind):
    assert records.loc[records["kind"] == kind, "warned"].mean() >= KINDS[kind].often


def test_errors_do_happen(records):
    """Wrong models, bad days and copied readings lead to wrong answers, and floors let a wrong model be seen."""
    wrong = records.groupby("kind")["wrong"].sum()
    kinds = ["quadratic truth, floor .1", "one version unlike its features, no floor", "one reading as sixteen"]
    assert (wrong[[*kinds, "days arm by arm, rage", "days arm by arm, sigma unknown"]] >= 4).all()
    unseen = records["texts"].map(lambda texts: got(UNSEEN, texts)).groupby(records["kind"]).mean()
    assert unseen["honest"] > 0.5 > unseen["quadratic truth, floor .1"]
    pulls = records.groupby("kind")["pulls"].mean()
    assert pulls["percent, no scale"] < 2 * pulls["honest"] < pulls["percent, scale 1"] / 100


def test_limits_are_stated_where_users_read_them():
    """A wrong answer is excused by a document only if the sentence is there."""
    pages = [cell.source for cell in load("companion_your_own_arms").cells if cell.cell_type == "markdown"]
    text = " ".join(" ".join([*pages, *map(inspect.getdoc, (rage, bounded_rage))]).split())
    stated = {user.wrong for user in KINDS.values()} - {"promised", WARNED, UNSEEN}
    assert len(stated) >= 5 and all(sentence in text for sentence in stated), [s for s in stated if s not in text]


# --- the experiments can fail


@pytest.mark.slow
def test_an_experiment_depends_on_seed_kind_and_number_alone():
    alone = simulate_users(2, kinds=["honest"])
    beside = simulate_users(2, kinds=["restarts", "honest"]).iloc[2:].reset_index(drop=True)
    assert alone.equals(beside) and not alone["pulls"].equals(simulate_users(2, 1, ["honest"])["pulls"])


@pytest.mark.slow
def test_a_sentence_in_a_document_excuses_no_other_kind(monkeypatch):
    found = simulate_users(12, kinds=["one reading as sixteen"])
    assert found["wrong"].any() and not deaf(found)["silent"].any()
    monkeypatch.setitem(KINDS, "one reading as sixteen", KINDS["one reading as sixteen"]._replace(wrong=WARNED))
    assert (deaf(found)["silent"] == found["wrong"]).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "runs", "seed"), [("sigma told a quarter", 100, 1), ("one version unlike its features, no floor", 60, 2)]
)
def test_without_the_warnings_the_promise_would_be_broken(kind, runs, seed):
    found = judged(simulate_users(runs, seed, [kind]))
    assert above_delta(found["silent"].sum(), runs) > 1e-3 > above_delta(deaf(found)["silent"].sum(), runs)


def forget(bench):
    """A file is left in a drawer."""
    bench.measure(np.full(8, 3))
    bench.finish()


def careless(bench):
    """The first file is copied into another one without its tickets, in another order."""
    frame = bench.measure(np.full(8, 3))
    assert bench.tell(bench.file(frame)) and bench.tell(bench.file(frame.drop(columns="ticket").iloc[::-1]))
    bench.finish()


@pytest.mark.slow
@pytest.mark.parametrize(("play", "option"), [(forget, {}), (careless, {"floor": 0.5})])
def test_a_measurement_lost_or_counted_twice_is_reported(play, option, monkeypatch):
    monkeypatch.setitem(KINDS, "bad", User(play, option))
    assert (simulate_users(3, kinds=["bad"])["lost"] == 24).all()


@pytest.mark.slow
def test_without_tickets_and_digests_files_read_twice_would_count_twice(monkeypatch):
    monkeypatch.setattr(Lab, "_new", lambda lab, rows, sha256: list(rows))
    assert (simulate_users(3, kinds=["parts told twice"])["lost"] > 0).all()


def test_a_changed_reward_in_the_log_is_seen(tmp_path):
    bench = Bench(np.random.default_rng(0), tmp_path, [])
    bench.finish()
    assert bench.lost() == 0
    records = [json.loads(line) for line in bench.path.read_text().splitlines()]
    next(record for record in records if record["kind"] == "told")["rows"][0][3] += 0.01
    bench.path.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert bench.lost() == 1
