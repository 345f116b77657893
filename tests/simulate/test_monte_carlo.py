"""Runs are the same whoever runs them, in whatever order, beside whatever else, and after whatever kill."""

import json
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bandits_lib import LinearBandit, Result, instances, monte_carlo, summary
from bandits_lib.fixed_confidence import fws, rage, xy_oracle
from bandits_lib.simulate import fingerprint
from bandits_lib.simulate.intervals import mean_pulls, mean_ratio, wilson_interval
from bandits_lib.simulate.monte_carlo import _number, best_item, correct_level, correct_sphere, sphere_regret


def make_rage(problem, rng, delta=0.05):
    return rage(problem.arms, delta=delta)


def make_oracle(problem, rng):
    return xy_oracle(problem.arms, theta_star=problem.theta, delta=0.05, rng=rng)


def make_problem(rng, n=20):
    return instances.many_arms(n, rng, "code")


def table(algorithms=None, **kwargs):
    algorithms = {"rage": make_rage, "oracle": make_oracle} if algorithms is None else algorithms
    return monte_carlo(algorithms, make_problem, **({"runs": 6} | kwargs)).drop(columns="seconds")


@pytest.fixture(scope="module")
def serial():
    return table()


@pytest.fixture
def another_process(monkeypatch):
    """Let each call of monte_carlo be the first one of a process."""
    monkeypatch.setattr(sys.modules[monte_carlo.__module__], "call_number", lambda: 0)
    monkeypatch.setattr(fingerprint, "executed", list)


def test_columns_and_order(serial):
    assert list(serial.columns) == ["algorithm", "run", "pulls", "correct", "stopped", "recommendation"]
    assert serial["algorithm"].tolist() == ["rage"] * 6 + ["oracle"] * 6
    assert serial["run"].tolist() == [0, 1, 2, 3, 4, 5] * 2
    assert (serial["recommendation"] == 18).all() and serial["correct"].all() and serial["stopped"].all()


def test_two_processes_give_the_same_rows(serial):
    pd.testing.assert_frame_equal(table(n_jobs=2), serial)


def make_misspecified(problem, rng):
    return rage(problem.arms, delta=0.05, sigma=0.5)


def test_a_rule_with_another_sigma_is_refused_unless_it_is_wanted():
    rules = {"rage": make_rage, "rage, half": make_misspecified}
    with pytest.raises(ValueError, match=r"the rewards, 1; got 0\.5\. Correct it, or pass misspecified=True"):
        table(rules)
    allowed = table(rules, misspecified=True)
    pulls = allowed.groupby("algorithm")["pulls"].mean()
    assert pulls["rage, half"] < pulls["rage"] / 2, "a smaller sigma means fewer pulls"
    pd.testing.assert_frame_equal(allowed[:6], table({"rage": make_rage}))


def test_another_algorithm_or_more_runs_change_no_other_row(serial):
    more = table({"other": partial(make_rage, delta=0.5), "oracle": make_oracle, "rage": make_rage}, runs=9)
    for name in ("rage", "oracle"):
        theirs = more[(more["algorithm"] == name) & (more["run"] < 6)].reset_index(drop=True)
        pd.testing.assert_frame_equal(theirs, serial[serial["algorithm"] == name].reset_index(drop=True))


def random_theta(rng):
    return LinearBandit(np.eye(2), theta=rng.standard_normal(2))


def spends_its_stream(problem, rng):
    """Pulls arm 0 as often as its stream says, and draws once more."""
    sample = yield np.array([int(rng.integers(1, 10**6)), 0])
    rng.random()
    return Result(0, (sample,))


def theta_and_reward(problem, run):
    return {"theta": problem.theta, "reward": run.result.history[0].sums[0]}


def test_problem_rule_and_rewards_have_a_stream_each_that_no_other_rule_has_touched():
    rules = {"one": spends_its_stream, "other": spends_its_stream}
    for row in monte_carlo(rules, random_theta, runs=3, seed=5, measure=theta_and_reward).itertuples():
        seeds = np.random.SeedSequence(5, spawn_key=(row.run,)).spawn(3)
        drawn, rule, rewards = map(np.random.default_rng, seeds)
        problem, pulls = random_theta(drawn), rule.integers(1, 10**6)
        assert row.theta == problem.theta.tolist() and row.pulls == pulls
        assert row.reward == problem.pull(np.array([pulls, 0]), rewards).sums[0]


def by_size(n):
    return {"rage": partial(make_rage, delta=1 / n)}


@pytest.mark.parametrize("algorithms", [{"rage": make_rage, "oracle": make_oracle}, by_size], ids=["same", "by n"])
def test_settings_are_the_loop_over_them(algorithms, tmp_path, another_process):
    settings = {n: partial(make_problem, n=n) for n in (20, 30)}
    told = {"runs": 3, "seed": 7, "measure": lambda problem, run: {"arms": len(problem.arms)}}
    players = {n: algorithms(n) if callable(algorithms) else algorithms for n in settings}
    loop = [monte_carlo(players[n], make, **told).assign(n=n) for n, make in settings.items()]
    loop = pd.concat(loop, ignore_index=True).drop(columns="seconds")
    for keep in ("", tmp_path / "kept", tmp_path / "kept"):
        rows = monte_carlo(algorithms, settings, by="n", checkpoint=keep, **told)
        pd.testing.assert_frame_equal(rows.drop(columns="seconds"), loop)
    assert len(list((tmp_path / "kept").glob("*.jsonl"))) == 2, "a file for each setting"


def with_streams(streams, settings, by="d", **told):
    rows = monte_carlo(
        {"one": spends_its_stream}, dict.fromkeys(settings, random_theta), by=by, streams=streams, **told
    )
    return rows.drop(columns="seconds")


def test_settings_share_their_streams_or_have_their_own():
    shared = with_streams("shared", (5, 10), runs=3)
    pd.testing.assert_frame_equal(shared, with_streams("shared", (5, 10), runs=3))
    five, ten = (shared.loc[shared["d"] == d, "pulls"].tolist() for d in (5, 10))
    assert five == ten, "run r draws the same in every setting"
    own = with_streams("own", (5, 10), runs=3)
    five, ten = (own.loc[own["d"] == d, "pulls"].tolist() for d in (5, 10))
    assert not set(five) & set(ten)
    first = np.random.SeedSequence(0, spawn_key=(_number(5), 0)).spawn(3)[1]
    assert five[0] == np.random.default_rng(first).integers(1, 10**6)


def test_a_stream_of_its_own_depends_on_the_value_of_the_setting_alone():
    ten = with_streams("own", (5, 10)).query("d == 10")["pulls"].tolist()
    for settings in ((10,), (10, 5, 7), (10.0,), (np.int64(10), "a")):
        assert with_streams("own", settings).query("d == 10")["pulls"].tolist() == ten
    assert with_streams("own", [(10,)], by=["d"])["pulls"].tolist() == ten
    assert len({_number(value) for value in (5, 10, "5", (5, 10), (10, 5), ("5", 10), 0.5)}) == 7
    assert _number(5) == 11_644_643_444_077_109_047, "for ever, or committed digits change"
    with pytest.raises(ValueError, match="must be a number, a string or a tuple"):
        with_streams("own", [frozenset()])
    with pytest.raises(ValueError, match="'shared' or 'own'"):
        with_streams("mine", [5])


def test_without_settings_there_is_nothing_to_share():
    one, other = (monte_carlo({"one": spends_its_stream}, random_theta, runs=2, streams=s) for s in ("shared", "own"))
    assert one["pulls"].tolist() == other["pulls"].tolist()


def test_checkpoints_tell_the_streams_apart(tmp_path, another_process):
    for streams in ("shared", "own", "shared"):
        with_streams(streams, (5, 10), runs=2, checkpoint=tmp_path)
    assert len(list(tmp_path.glob("*.jsonl"))) == 4, "two settings, each with shared streams and with its own"


def waits_for(file, rng):
    end = time.monotonic() + 300
    while not file.exists():
        assert time.monotonic() < end, "the other setting waits for this one"
        time.sleep(0.02)
    return make_problem(rng)


def touches(file, rng):
    file.touch()
    return make_problem(rng)


@pytest.mark.slow
def test_no_process_waits_for_the_last_run_of_a_setting(tmp_path, another_process):
    """The one run of the first setting ends when that of the second has begun."""
    problems = {name: partial(make, tmp_path / "begun") for name, make in (("one", waits_for), ("other", touches))}
    kept = monte_carlo({"rage": make_rage}, problems, by="name", runs=1, n_jobs=2, checkpoint=tmp_path / "kept")
    assert kept["name"].tolist() == ["one", "other"] and kept["correct"].all()
    (tmp_path / "begun").unlink()
    pd.testing.assert_frame_equal(
        monte_carlo({"rage": make_rage}, problems, by="name", runs=1, checkpoint=tmp_path / "kept"), kept
    )


def test_settings_of_several_names_and_one_problem_for_all_runs():
    problems = {(d, angle): instances.benchmark(d, angle=angle) for d in (2, 3) for angle in (1.0, 0.7)}
    rows = monte_carlo({"rage": make_rage}, problems, by=["d", "angle"], runs=2)
    assert list(zip(rows["d"], rows["angle"], strict=True)) == [setting for setting in problems for _ in range(2)]
    for (d, angle), problem in problems.items():
        alone = monte_carlo({"rage": make_rage}, lambda rng, problem=problem: problem, runs=2)
        assert rows.loc[(rows["d"] == d) & (rows["angle"] == angle), "pulls"].tolist() == alone["pulls"].tolist()
    assert summary(rows, "d").index.tolist() == [(2, "rage"), (3, "rage")]


def test_settings_need_the_name_of_their_column_and_a_name_needs_settings():
    for problems, by in (({2: make_problem}, None), (make_problem, "d")):
        with pytest.raises(ValueError, match="make_problem must be a dictionary of settings if `by` is given"):
            monte_carlo({"rage": make_rage}, problems, by=by)


def test_another_seed_changes_the_rows(serial):
    assert not table(seed=1)["pulls"].equals(serial["pulls"])


def test_measures_become_columns():
    measured = table(measure=lambda problem, run: {"phases": len(run.result.history), "best": problem.best_item})
    assert (measured["best"] == 18).all() and measured["phases"].min() >= 1


def odd_runs_only(problem, run):
    return {"odd": 1} if run.counts[0] % 2 else {}


def test_a_measure_may_name_a_column_in_some_runs_only():
    rows = monte_carlo({"one": spends_its_stream}, random_theta, runs=20, measure=odd_runs_only)
    odd = rows["pulls"] % 2 == 1
    assert not odd[0] and odd.any() and (rows["odd"].notna() == odd).all()


def test_runs_that_are_cut_off_are_counted_apart():
    cut = table({"rage": make_rage}, max_pulls=665)
    assert not cut["stopped"].all() and cut.loc[~cut["stopped"], "recommendation"].isna().all()
    row = summary(cut).loc["rage"]
    assert row["not_stopped"] == (~cut["stopped"]).sum() and row["error_rate"] == 0


def test_the_library_leaves_the_global_stream_alone(serial):
    np.random.seed(3)
    before = np.random.get_state()[1].copy()
    table()
    assert (np.random.get_state()[1] == before).all()


def test_resumed_equals_serial_at_every_cut(serial, tmp_path, another_process):
    whole = tmp_path / "whole.jsonl"
    pd.testing.assert_frame_equal(table(checkpoint=whole), serial)
    text = whole.read_text()
    for cut in (0, 5, text.index("\n") + 1, len(text) // 2, len(text) - 1, len(text)):
        killed = tmp_path / f"{cut}.jsonl"
        killed.write_text(text[:cut])
        pd.testing.assert_frame_equal(table(checkpoint=killed), serial)
        assert sorted(json.loads(line)["run"] for line in killed.read_text().splitlines()[1:]) == list(range(6))


class Played:
    times = 0


def count(problem, run):
    Played.times += 1
    return {}


def test_finished_runs_are_not_played_again(tmp_path, another_process):
    for runs, played in ((4, 4), (6, 2)):
        Played.times = 0  # a class counts by what it holds
        table(measure=count, checkpoint=tmp_path / "c.jsonl", runs=runs)
        assert Played.times == 2 * played


@pytest.mark.parametrize("other", [{"seed": 1}, {"max_pulls": 10**6}, {"algorithms": {"another": make_rage}}])
def test_a_checkpoint_of_another_experiment_is_refused_or_set_apart(tmp_path, serial, other, another_process):
    table(checkpoint=tmp_path / "c.jsonl")
    with pytest.raises(ValueError, match="another experiment"):
        table(checkpoint=tmp_path / "c.jsonl", **other)
    folder = f"{tmp_path}/folder/"
    pd.testing.assert_frame_equal(table(checkpoint=folder), serial)
    table(checkpoint=folder, **other)
    assert len(list(Path(folder).glob("*.jsonl"))) == 2


def test_a_checkpoint_of_more_runs_gives_those_that_are_asked_for_in_their_order(serial, tmp_path, another_process):
    table(checkpoint=tmp_path / "c.jsonl")
    head, *lines = (tmp_path / "c.jsonl").read_text().splitlines()
    (tmp_path / "c.jsonl").write_text("\n".join([head, *reversed(lines), ""]))
    fewer = table(checkpoint=tmp_path / "c.jsonl", runs=4)
    pd.testing.assert_frame_equal(fewer, serial[serial["run"] < 4].reset_index(drop=True))


def test_nothing_to_run_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        table({})
    with pytest.raises(ValueError, match="at least one"):
        table(runs=0)


def test_a_measure_that_is_no_number_is_refused():
    with pytest.raises(TypeError, match="measure must return"):
        table(measure=lambda problem, run: {"problem": problem})


def flat(problem, rng):
    yield np.array([int(rng.integers(1, 4)), 0])
    return Result(int(rng.random() < 0.3))


def test_summary_states_mean_error_and_intervals():
    problem = LinearBandit(np.eye(2), theta=[1.0, 0.0])
    runs = monte_carlo({"flat": flat}, lambda rng: problem, runs=50)
    row, pulls = summary(runs).loc["flat"], runs["pulls"]
    assert row["mean"] == pytest.approx(pulls.mean()) and row["se"] == pytest.approx(pulls.std(ddof=1) / np.sqrt(50))
    assert row["high"] - row["mean"] == pytest.approx(stats.t.ppf(0.975, 49) * row["se"])
    assert row["error_rate"] == pytest.approx(1 - runs["correct"].mean())
    assert 0 < row["error_low"] < row["error_rate"] < row["error_high"] < 1
    assert summary(runs.assign(d=2), by=["d"]).index.names == ["d", "algorithm"]


def test_the_error_rate_is_that_of_the_runs_that_stopped():
    """Six runs, four stopped, one of them wrong: 1 in 4, at any level."""
    stopped, correct = [True] * 4 + [False] * 2, [True] * 3 + [False] * 3
    pulls = [10, 20, 30, 40, 99, 99]
    runs = pd.DataFrame({"algorithm": "a", "pulls": pulls, "correct": correct, "stopped": stopped})
    for level in (0.95, 0.6):
        row = summary(runs, level=level).loc["a"]
        assert tuple(row[["error_rate", "error_low", "error_high"]]) == wilson_interval(1, 4, level)
        assert np.isnan(row["mean"]) and np.isnan(row["se"]) and (row["low"], row["high"]) == (np.mean(pulls), np.inf)
        assert row["runs"] == 6 and row["not_stopped"] == 2


def test_runs_that_were_cut_off_have_no_mean_pulls():
    runs = pd.DataFrame({"algorithm": [*"aab"], "run": [0, 1, 0], "pulls": 9, "stopped": [True, False, True]})
    with pytest.raises(ValueError, match="1 runs of a were cut off before they stopped: their pulls have no mean"):
        mean_ratio(runs, "a", "b")
    assert mean_pulls(runs, "b")[0] == pytest.approx(9)


def test_of_two_best_items_either_is_right():
    tied = LinearBandit(np.eye(3), theta=[1.0, 0.5, 1.0])
    assert [best_item(tied, item) for item in range(3)] == [True, False, True]


def test_on_the_sphere_a_regret_of_epsilon_is_right_and_only_unit_vectors_are_judged():
    problem, vector = LinearBandit(np.eye(2), theta=[1.0, 0.0]), np.array([0.6, 0.8])
    assert sphere_regret(problem, vector) == 0.4
    assert correct_sphere(0.4)(problem, vector) and not correct_sphere(0.399)(problem, vector)
    for wrong in (0.5 * vector, 2 * vector, np.ones(3) / np.sqrt(3)):
        with pytest.raises(ValueError, match="must be a unit vector"):
            sphere_regret(problem, wrong)
    with pytest.raises(ValueError, match="epsilon must be positive"):
        correct_sphere(0)


def test_level_sets_are_right_when_every_item_is_on_its_side():
    problem = LinearBandit(np.eye(3), theta=[0.1, 0.5, 0.9])
    right = correct_level(0.4)
    assert right(problem, np.array([False, True, True]))
    assert not right(problem, np.array([False, True, False])) and not right(problem, np.array([True, True, True]))
    with pytest.raises(ValueError, match="threshold 0.5 is the value of item 1"):
        correct_level(0.5).check(problem)


def test_records_reach_measure_and_their_distance_may_depend_on_the_problem():
    players = {"fws": lambda problem, rng: fws(problem.arms, delta=0.05)}
    worlds = {d: instances.benchmark(d, angle=0.5) for d in (2, 3)}
    between = {"measure": lambda problem, run: {"between": run.trace[1].pulls - run.trace[0].pulls}}
    found = [monte_carlo(players, worlds, by="d", runs=1, trace=n, **between)["between"].tolist()
             for n in (7, lambda problem: 10 * problem.arms.shape[1])]  # fmt: skip
    assert found == [[7, 7], [20, 30]]
