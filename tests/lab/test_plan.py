"""A plan: what the rules do against the guess is what the simulator says, and what cannot be planned is refused."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta

from bandits_lab import planning
from bandits_lab.arms import read_arms
from bandits_lab.planning import NAMES, hardest, plan
from bandits_lib import LinearBandit, Result, monte_carlo, play
from bandits_lib.complexity import lower_bound
from bandits_lib.fixed_budget import gse, linucb
from bandits_lib.fixed_confidence import rage

ARMS = np.vstack([np.eye(3), [0.6, 0.8, 0.0]])
QUIET = {"progress": False}


def test_the_rows_are_those_of_the_simulator():
    planned = plan(ARMS, gap=0.5, budget=30, rules=["rage", "gse"], runs=30, seed=3, sigma=0.7, **QUIET)
    problem = LinearBandit(ARMS, theta=hardest(ARMS, gap=0.5, sigma=0.7).theta, sigma=0.7)
    makers = {
        "rage": lambda problem, rng: rage(ARMS, delta=0.05, sigma=0.7),
        "gse": lambda problem, rng: gse(ARMS, budget=30, sigma=0.7),
    }
    played = monte_carlo(makers, problem, runs=30, seed=3, progress=False)
    for column in ("pulls", "correct", "recommendation"):
        assert planned.runs[column].tolist() == played[column].tolist()
    row, rows = planned.table.loc["gse"], played[played["algorithm"] == "gse"]
    wrong = int((~rows["correct"].astype(bool)).sum())
    assert row["wrong"] == wrong / 30
    assert row["wrong_high"] == pytest.approx(beta.ppf(0.975, wrong + 1, 30 - wrong))  # Clopper and Pearson
    assert planned.table.loc["rage", "nine_in_ten"] in set(planned.runs["pulls"])
    assert planned.floor == pytest.approx(lower_bound(ARMS, theta=problem.theta, delta=0.05, sigma=0.7))


def test_the_floor_of_items_is_theirs_and_not_that_of_the_arms():
    items = np.array([[0.0, 1.0, 0.0], [0.6, 0.0, 0.8]])
    planned = plan(ARMS, items=items, theta=[1.0, 0.3, 0.2], rules=["rage"], runs=2, sigma=0.7, **QUIET)
    floors = [lower_bound(ARMS, z, theta=[1.0, 0.3, 0.2], delta=0.05, sigma=0.7) for z in (items, None)]
    assert planned.floor == pytest.approx(floors[0]) and floors[0] < 0.9 * floors[1]


def test_nine_in_ten_needed_no_more_and_with_one_pull_less_fewer_than_nine():
    rows = pd.DataFrame({"pulls": [10, 20, 30, 40, 50, 60], "stopped": True, "correct": True, "requests": 1})
    assert planning.row_of(rows)["nine_in_ten"] == 60.0


def test_requests_are_what_a_person_would_be_asked():
    planned = plan(np.eye(2), gap=1.0, budget=40, rules=["gse", "linucb"], runs=3, **QUIET)
    assert planned.table["requests"].tolist() == [1.0, 40.0]  # one stage for two arms; a request a pull


def test_the_floor_is_below_every_rule_that_keeps_delta():
    planned = plan(ARMS, gap=1.0, rules=["rage", "lazy_track_and_stop"], runs=20, **QUIET)
    assert (planned.table["high"] > planned.floor).all() and planned.floor > 0


def test_theta_is_scaled_to_the_gap():
    theta = np.array([1.0, 0.7, 0.1])
    problem = plan(np.eye(3), theta=theta, gap=0.6, rules=["rage"], runs=1, **QUIET).problem
    np.testing.assert_allclose(problem.theta, 2 * theta)
    assert plan(np.eye(3), theta=theta, rules=["rage"], runs=1, **QUIET).problem.theta.tolist() == theta.tolist()


def test_a_delta_of_a_half_has_no_floor():
    assert plan(np.eye(2), gap=1.0, delta=0.5, rules=["rage"], runs=1, **QUIET).floor == 0.0


def test_what_is_tried_first_depends_on_what_is_given():
    def names(**options):
        return list(planning.players(None, LinearBandit(ARMS, theta=[1, 0, 0]), GIVEN | options))

    sure = ["rage", "xy_static", "lazy_track_and_stop"]
    assert names() == sure
    assert names(budget=100) == [*sure, "gse", "od_linbai", "peace"]
    assert names(budget=100, items=np.eye(3)) == [*sure, "peace"]
    assert names(sigma=np.ones(4), burn_in=np.ones(4)) == [*sure, "h_rage"]
    with pytest.warns(UserWarning, match="is left out of the plan: budget must be") as left_out:
        assert names(budget=4) == sure
    assert [str(warning.message).split()[0] for warning in left_out] == ["gse", "od_linbai", "peace"]


GIVEN = {"items": None, "sigma": 1.0, "delta": 0.05, "budget": None, "theta_bound": 1.0}
GIVEN |= {"theta_star": np.array([1.0, 0, 0]), "sigma_min": 1.0, "sigma_max": 1.0, "burn_in": None}


def test_every_rule_for_arms_can_be_planned():
    for name in set(NAMES) - {"sphere_track_and_stop"}:
        make = planning.maker(name, GIVEN | {"budget": 200})
        assert next(make(LinearBandit(ARMS, theta=[1, 0, 0]), np.random.default_rng(0))) is not None


def test_a_rule_of_ones_own_is_planned_too():
    def three_of_each(problem, rng):
        sample = yield np.full(len(problem.arms), 3)
        return Result(int(np.argmax(sample.sums)))

    planned = plan(np.eye(3), gap=5.0, rules={"three of each": three_of_each}, runs=4, **QUIET)
    assert planned.table.loc["three of each", ["pulls", "requests", "wrong"]].tolist() == [9, 1, 0]


def test_rules_pull_by_pull_are_cut_off_and_batches_are_not():
    planned = plan(np.eye(2), gap=0.2, rules={"rage": rage_for_plan, "linucb": linucb_for_plan}, max_pulls=300, **SHORT)
    assert planned.table["cut"].tolist() == [0.0, 1.0]
    assert planned.table.loc["linucb", "pulls"] == 300 and planned.table.loc["rage", "pulls"] > 300
    assert "at least 300" in repr(planned) and np.isnan(planned.table.loc["linucb", "wrong"])


def rage_for_plan(problem, rng):
    return rage(problem.arms, delta=0.05)


def linucb_for_plan(problem, rng):
    return linucb(problem.arms, budget=1000)


SHORT = {"runs": 2, **QUIET}


def test_a_rule_that_cannot_end_is_not_played(monkeypatch):
    monkeypatch.setattr(planning, "_timed", None)  # nothing is tried out
    planned = plan(np.eye(2), gap=1e-3, rules=["lazy_track_and_stop"], **SHORT)
    assert planned.table[["runs", "cut"]].loc["lazy_track_and_stop"].tolist() == [0, 1.0]
    assert "not played" in repr(planned) and planned.floor > 1e6
    plt.close(planned.plot().figure)


def test_a_long_plan_says_so_before_it_begins(monkeypatch):
    monkeypatch.setattr(planning, "perf_counter", iter(np.arange(1e6) * 100).__next__)  # every trial takes 100 s
    with pytest.warns(UserWarning, match=r"rage will take about 3 minutes \(2 runs of about"):
        planning.limit("rage", rage_counted, LinearBandit(np.eye(2), theta=[1, 0]), 0, 2, 1, 1000)
    with pytest.warns(UserWarning, match=r"\d+ hours \(1000 runs of about 300,000 measurements\)"):
        most = planning.limit("linucb", linucb_counted, LinearBandit(np.eye(2), theta=[1, 0]), 300_000, 1000, 1, 10**6)
    assert most == 10**6


def rage_counted(problem, rng, loops):
    return planning.counted(rage_for_plan, problem, rng, loops)


def linucb_counted(problem, rng, loops):
    return planning.counted(lambda problem, rng: linucb(problem.arms, budget=10**9), problem, rng, loops)


def test_counting_changes_no_pull():
    problem = LinearBandit(ARMS, theta=[1.0, 0.2, 0.0])
    for make in (rage_for_plan, linucb_for_plan):
        plain = play(make(problem, None), problem, np.random.default_rng(1))
        counted = play(planning.counted(make, problem, None), problem, np.random.default_rng(1))
        assert (plain.counts == counted.counts).all()
        assert plain.result.recommendation == counted.result.recommendation


def test_the_same_seed_gives_the_same_plan_in_other_processes():
    tables = [plan(ARMS, gap=0.8, budget=40, rules=["gse"], runs=6, n_jobs=n, **QUIET).table for n in (1, 2)]
    pd.testing.assert_frame_equal(*tables)


def test_it_prints_and_draws():
    planned = plan(ARMS, gap=0.5, budget=30, rules=["rage", "gse"], runs=5, **QUIET)
    text = repr(planned)
    assert "the next is 0.5 behind" in text and f"{planned.floor:,.0f} measurements" in text and "5 runs" not in text
    assert all(name in planned._repr_html_() for name in ("rage", "gse", "Floor"))
    assert planned.alt.endswith(text)
    ax = planned.plot()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["rage", "gse"]
    assert {"floor", "budget"} <= {note.get_text() for note in ax.texts}
    points = {line.get_marker(): line.get_xdata()[0] for line in ax.lines if line.get_marker() == "o"}
    assert points["o"] == planned.table.loc["gse", "pulls"]
    plt.close(ax.figure)


def test_names_and_unit_are_said_and_are_no_html():
    planned = plan(np.eye(2), gap=1.0, rules=["rage"], runs=2, **QUIET)
    named = planned._replace(names=("<b>a", "b & c"), unit="<i>")
    best = named.names[planned.problem.best_item]
    assert f"Supposed: {best} is best, the next is 1 <i> behind; noise 1 <i>." in repr(named)
    assert "<b>" not in named._repr_html_() and "<i>" not in named._repr_html_()


def test_a_unit_that_is_too_small_is_said():
    small = plan(np.eye(2), gap=5.0, sigma=5.0, rules=["rage"], runs=3, **QUIET)
    right = plan(np.eye(2), gap=1.0, sigma=1.0, rules=["rage"], runs=3, **QUIET)
    assert (
        small.table.loc["rage", "requests"] == 1 and small.table.loc["rage", "pulls"] > right.table.loc["rage", "pulls"]
    )
    for shown in (repr(small), small._repr_html_(), small.alt):
        assert "rage ends in its first request" in shown and "as scale= (here 5), or scale=None" in shown
    assert "first request" not in repr(right)
    assert "first request" not in repr(plan(np.eye(2), gap=5.0, budget=10, rules=["gse"], runs=3, **QUIET))


def test_a_floor_is_told_to_the_rules_that_have_it():
    arms = np.vstack([np.eye(2), [0.5, 0.5]])
    tables = [plan(arms, gap=0.2, floor=floor, rules=["rage", "alba"], **SHORT).table for floor in (None, 0.0, 0.9)]
    pd.testing.assert_frame_equal(*tables[:2])
    assert tables[2].loc["rage", "pulls"] != tables[0].loc["rage", "pulls"]
    assert tables[2].loc["alba"].equals(tables[0].loc["alba"])


def test_a_rule_for_rewards_of_0_and_1_is_planned_with_these():
    planned = plan(np.eye(2), theta=[0.9, 0.1], noise="bernoulli", rules=["bounded_rage"], **SHORT)
    assert planned.table.loc["bounded_rage", "wrong"] == 0


def test_arms_as_they_were_read_keep_their_names(tmp_path):
    (tmp_path / "arms.csv").write_text("page,size\nfront,1\nback,2\n")
    arms = read_arms(tmp_path / "arms.csv")
    planned = plan(arms, gap=1.0, rules=["rage"], runs=2, **QUIET)
    assert planned.names == ("front", "back") and "front is best" in repr(planned)
    assert planned.table.equals(plan(arms.features, gap=1.0, rules=["rage"], runs=2, **QUIET).table)


REFUSED = {
    "0 and 1: plan it with theta= and noise='bernoulli', such as": {"gap": 1.0, "rules": ["bounded_rage"]},
    "floor must": {"gap": 1.0, "rules": ["rage"], "floor": 2.0},
    "needs a guess": {},
    "gap must be positive": {"gap": 0.0},
    "gap must be positive and finite; got nan": {"gap": np.nan},
    "gap must be positive and finite; got '1'": {"gap": "1"},
    "items 0 and 1 tie": {"theta": [1.0, 1.0, 0.0]},
    "write rules=": {"gap": 1.0, "rules": "rage"},
    "it needs budget=": {"gap": 1.0, "rules": ["gse"]},
    "not a list of arms": {"gap": 1.0, "rules": ["sphere_track_and_stop"]},
    "rule must be one of": {"gap": 1.0, "rules": ["thompson"]},
    "at least 6 here": {"gap": 1.0, "rules": ["gse"], "budget": 1},
    "ranks only the arms": {"gap": 1.0, "rules": ["gse"], "budget": 50, "items": np.eye(3)[:2]},
    "at least two": {"gap": 1.0, "items": np.eye(3)[:1]},
    "delta must lie": {"gap": 1.0, "delta": 0.0},
    "at least one rule": {"gap": 1.0, "rules": []},
    "runs must be": {"gap": 1.0, "runs": 0},
    "sigma must be": {"gap": 1.0, "sigma": np.nan},
    "needs theta alone": {"gap": 1.0, "noise": "bernoulli"},
    "bernoulli means": {"theta": [2.0, 1.0, 0.0], "noise": "bernoulli"},
    "theta must be 3": {"theta": [1.0, 0.0]},
    "max_pulls must be": {"gap": 1.0, "max_pulls": 0},
    "theta_bound must be": {"gap": 1.0, "theta_bound": -1.0},
}


@pytest.mark.parametrize(("message", "options"), REFUSED.items(), ids=REFUSED)
def test_what_cannot_be_planned_is_refused_before_any_run(message, options, monkeypatch):
    monkeypatch.setattr(planning, "_timed", None)
    with pytest.raises(ValueError, match=message):
        plan(np.eye(3), **options)


def test_identical_arms_are_refused():
    with pytest.raises(ValueError, match="rows 0 and 1 are identical"):
        plan([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], gap=1.0)
    with pytest.raises(ValueError, match="arms must be finite"):
        plan([[1.0, np.nan]], gap=1.0)
