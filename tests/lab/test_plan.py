"""A plan: what the rules do against the guess is what the simulator says, and what cannot be planned is refused."""

import re

import numpy as np
import pandas as pd
import pytest

from bandits_lab import planning
from bandits_lab.arms import read_arms
from bandits_lab.planning import plan
from bandits_lib import LinearBandit, Result, monte_carlo, play
from bandits_lib.complexity import hardest, lower_bound
from bandits_lib.fixed_budget import gse, linucb
from bandits_lib.fixed_confidence import rage
from bandits_lib.rules import NAMES, rules_for

ARMS = np.vstack([np.eye(3), [0.6, 0.8, 0.0]])
QUIET = {"progress": False}
SHORT = {"runs": 2, **QUIET}


def test_the_rows_are_those_of_the_simulator():
    planned = plan(ARMS, gap=0.5, budget=30, rules=["rage", "gse"], runs=30, seed=3, sigma=0.7, **QUIET)
    problem = LinearBandit(ARMS, theta=hardest(ARMS, gap=0.5, sigma=0.7).theta, sigma=0.7)
    makers = {
        "rage": lambda problem, rng: rage(ARMS, delta=0.05, sigma=0.7),
        "gse": lambda problem, rng: gse(ARMS, budget=30, sigma=0.7),
    }
    played = monte_carlo(makers, problem, runs=30, seed=3, progress=False)
    assert planned.table["pulls"].to_dict() == pytest.approx(played.groupby("algorithm")["pulls"].mean().to_dict())
    row, rows = planned.table.loc["gse"], played[played["algorithm"] == "gse"]
    wrong = int((~rows["correct"].astype(bool)).sum())
    assert row["wrong"] == wrong / 30
    assert planned.floor == pytest.approx(lower_bound(ARMS, theta=problem.theta, delta=0.05, sigma=0.7))
    assert 0 < planned.floor < planned.table["high"]["rage"]
    rows = pd.DataFrame({"pulls": [10, 20, 30, 40, 50, 60], "stopped": True, "correct": True, "requests": 1})
    assert planning.row_of(rows)["nine_in_ten"] == 60.0  # with one pull less, fewer than nine in ten
    row = planning.row_of(rows.assign(stopped=[True] * 4 + [False] * 2, correct=[True] * 3 + [False] * 3))
    assert row["wrong"] == 1 / 4 and row["cut"] == pytest.approx(1 / 3)  # a run that was cut off has no answer


@pytest.mark.slow
def test_requests_are_what_a_person_would_be_asked_and_counting_changes_no_pull():
    planned = plan(np.eye(2), gap=1.0, budget=40, rules=["gse", "linucb"], runs=3, **QUIET)
    assert planned.table["requests"].tolist() == [1.0, 40.0]  # one stage for two arms; a request a pull
    problem = LinearBandit(ARMS, theta=[1.0, 0.2, 0.0])
    for make in (lambda *_: rage(ARMS, delta=0.05), lambda *_: linucb(ARMS, budget=1000)):
        plain = play(make(), problem, np.random.default_rng(1))
        counted = play(planning.counted(make, problem, None), problem, np.random.default_rng(1))
        assert (plain.counts == counted.counts).all()
        assert plain.result.recommendation == counted.result.recommendation


def test_which_rules_are_planned():
    problem = LinearBandit(ARMS, theta=[1, 0, 0])
    given = {"sigma": 1.0, "delta": 0.05, "budget": None, "theta_bound": 1.0, "burn_in": None}
    given |= {"theta_star": np.array([1.0, 0, 0]), "sigma_min": 1.0, "sigma_max": 1.0}

    def names(**options):
        return list(planning.players(None, problem, given | options))

    sure = ["rage", "xy_static", "fws"]
    assert names() == sure
    firsts = rules_for().query("given == 'confidence'").groupby("asks", sort=False).head(1)
    assert firsts["asks"].to_dict() == {"rage": "batches", "fws": "pull by pull"}, "as docs/rules.md advises"
    assert names(budget=100) == [*sure, "gse", "od_linbai", "peace"]
    assert names(sigma=np.ones(4), burn_in=np.ones(4)) == [*sure, "h_rage"]
    with pytest.warns(UserWarning, match="is left out of the plan: budget must be") as left_out:
        assert names(budget=4) == sure
    assert [str(warning.message).split()[0] for warning in left_out] == ["gse", "od_linbai", "peace"]
    for name in set(NAMES) - {"sphere_track_and_stop", "bounded_rage"}:
        make = planning.maker(name, given | {"budget": 200})
        assert next(make(problem, np.random.default_rng(0))) is not None


def three_of_each(problem, rng):
    sample = yield np.full(len(problem.arms), 3)
    return Result(int(np.argmax(sample.sums)))


@pytest.mark.slow
def test_a_rule_of_ones_own_is_planned_and_other_processes_change_nothing():
    tables = [plan(np.eye(3), gap=5.0, rules={"mine": three_of_each}, runs=4, n_jobs=n, **QUIET).table for n in (1, 2)]
    pd.testing.assert_frame_equal(*tables)
    assert tables[0].loc["mine", ["pulls", "requests", "wrong"]].tolist() == [9, 1, 0]


def linucb_for_plan(problem, rng):
    return linucb(problem.arms, budget=1000)


def test_rules_pull_by_pull_are_cut_off_and_not_played_if_they_cannot_end(monkeypatch):
    rules = {"rage": lambda problem, rng: rage(problem.arms, delta=0.05), "linucb": linucb_for_plan}
    planned = plan(np.eye(2), gap=0.2, rules=rules, max_pulls=300, **SHORT)
    assert planned.table["cut"].tolist() == [0.0, 1.0]
    assert planned.table.loc["linucb", "pulls"] == 300 and planned.table.loc["rage", "pulls"] > 300
    assert "at least 300" in repr(planned) and np.isnan(planned.table.loc["linucb", "wrong"])
    monkeypatch.setattr(planning, "_timed", None)  # nothing is tried out
    planned = plan(np.eye(2), gap=1e-3, rules=["lazy_track_and_stop"], **SHORT)
    assert planned.table[["runs", "cut"]].loc["lazy_track_and_stop"].tolist() == [0, 1.0]
    assert "not played" in repr(planned) and planned.floor > 1e6


def test_a_long_plan_says_so_before_it_begins_and_an_interruption_keeps_what_there_is(monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(planning, "perf_counter", iter(np.arange(1e6) * 100).__next__)  # every trial takes 100 s
        with pytest.warns(UserWarning, match=r"2 simulated experiments with rage will take about 3 minutes.* Ctrl-C"):
            plan(np.eye(2), gap=1.0, rules=["rage"], **SHORT)
    starts = []

    def stopped_at_the_tenth(problem, rng):
        starts.append(1)
        if len(starts) == 10:
            raise KeyboardInterrupt
        return three_of_each(problem, rng)

    rules = {"mine": stopped_at_the_tenth, "later": three_of_each}
    planned = plan(np.eye(2), gap=5.0, rules=rules, runs=50, **QUIET)
    assert planned.table["runs"].tolist() == [6, 0] and planned.table.loc["mine", "wrong"] == 0


def test_it_prints_names_and_units():
    planned = plan(ARMS, gap=0.5, budget=30, rules=["rage", "gse"], runs=5, **QUIET)
    text = repr(planned)
    assert "the next is 0.5 behind" in text and f"{planned.floor:,.0f} measurements" in text
    wrong = round(5 * planned.table.loc["gse", "wrong"])
    assert re.search(rf"^gse +30 +30 +{wrong} of 5 +\d+$", text, re.MULTILINE)
    named = planned._replace(names=("a", "b", "c", "d"), unit="mV")
    best = named.names[planned.problem.best_item]
    assert f"Supposed: {best} is best, the next is 0.5 mV behind; noise 1 mV." in repr(named)


def test_arms_as_they_were_read_keep_their_names(tmp_path):
    (tmp_path / "arms.csv").write_text("page,size\nfront,1\nback,2\n")
    arms = read_arms(tmp_path / "arms.csv")
    planned = plan(arms, gap=1.0, rules=["rage"], **SHORT)
    assert planned.names == ("front", "back") and "front is best" in repr(planned)
    assert planned.table.equals(plan(arms.features, gap=1.0, rules=["rage"], **SHORT).table)


REFUSED = {
    "it is for rewards 0 and 1": {"rules": ["bounded_rage"]},
    "gap must be positive": {"gap": 0.0},
    "gap must be positive and finite; got nan": {"gap": np.nan},
    "gap must be positive and finite; got '1'": {"gap": "1"},
    "write rules=": {"rules": "rage"},
    "it needs budget=": {"rules": ["gse"]},
    "not a list of arms": {"rules": ["sphere_track_and_stop"]},
    "rule must be one of": {"rules": ["thompson"]},
    "at least 6 here": {"rules": ["gse"], "budget": 1},
    "at least two": {"arms": np.eye(3)[:1]},
    "rows 0 and 1 are identical": {"arms": np.ones((2, 1))},
    "arms must be finite": {"arms": [[1.0, np.nan]]},
    "delta must lie": {"delta": 0.0},
    "at least one rule": {"rules": []},
    "runs must be": {"runs": 0},
    "sigma must be": {"sigma": np.nan},
    "max_pulls must be": {"max_pulls": 0},
}


@pytest.mark.parametrize(("message", "options"), REFUSED.items(), ids=REFUSED)
def test_what_cannot_be_planned_is_refused_before_any_run(message, options, monkeypatch):
    monkeypatch.setattr(planning, "_timed", None)
    with pytest.raises(ValueError, match=message):
        plan(**{"arms": np.eye(3), "gap": 1.0} | options)
