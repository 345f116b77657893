"""Rows that were told before are noticed in any order, as parts and beside new ones, and honest users hear nothing."""

import time
import unicodedata
import warnings

import numpy as np
import pandas as pd
import pytest

from bandits_lab import Lab, read_measurements
from bandits_lab.measurements import Raw, Told, by_number, far_off, likelihood, raw_rows, read_each, step, told_before
from bandits_lib import Result, Sample, rule
from bandits_lib.fixed_confidence import rage

SD = 0.5
NAMES = ["plain", "bold", "café"]


def sample_of(rows, K):
    arms, *fields = zip(*(row[:4] for row in rows), strict=True)
    return Sample(
        *(np.bincount(arms, field, K).astype(kind) for field, kind in zip(fields, (int, float, float), strict=True))
    )


def measured(rng, digits, means, m, pulls=1, balanced=False):
    """Rows of a day; `digits`: of a reward, None for all and 0 for rewards 0 and 1."""
    arms = np.sort(np.arange(m) % len(means)) if balanced else rng.integers(len(means), size=m)
    rewards = means[arms, None] + SD * rng.standard_normal((m, pulls))
    if digits == 0:
        rewards = rng.random((m, pulls)) < means[arms, None]
    elif digits is not None:
        rewards = rewards.round(digits)
    sums, squares = rewards.sum(axis=1), (rewards.astype(float) ** 2).sum(axis=1)
    return [Raw(int(k), pulls, float(s), float(q)) for k, s, q in zip(arms, sums, squares, strict=True)]


def telling(days, K):
    """What was told on these days."""
    told = Told()
    for request, rows in enumerate(days, start=1):
        told.take(sample_of(rows, K))
        told.add([row.mark for row in rows], request)
    return told


def warned(rows, told, K, sigma=SD):
    return told_before(rows, sample_of(rows, K), told, sigma)


@pytest.mark.parametrize("digits", [0, 1, 2, 3, None])
def test_honest_users_are_not_warned(digits):
    """At most one of 1,000 tells; arms that always fail or always succeed are among those of rewards 0 and 1."""
    rng, heard, tells = np.random.default_rng(digits), 0, 0
    for _ in range(60):
        K, m = int(rng.choice([2, 8, 40])), int(rng.choice([3, 12, 30]))
        means = rng.choice([rng.random(K), rng.beta(0.3, 0.3, K), (rng.random(K) < 0.5).astype(float)])
        pulls, balanced, sigma = int(rng.choice([1, 1, 20])), rng.random() < 0.5, rng.choice([SD, 2 * SD])
        told = telling([measured(rng, digits, means, m, pulls, balanced)], K)
        for day in range(2, 7):
            rows = measured(rng, digits, means, m, pulls, balanced)
            heard += bool(warned(rows, told, K, sigma))
            told.take(sample_of(rows, K))
            told.add([row.mark for row in rows], day)
            tells += 1
    assert tells == 300 and heard == 0


@pytest.mark.parametrize("before", [1, 10])
@pytest.mark.parametrize("digits", [2, 3, None])
@pytest.mark.parametrize("K", [2, 8, 30])
def test_a_file_is_noticed_in_any_order_in_part_and_beside_new_rows(K, digits, before):
    rng = np.random.default_rng(K)
    for _ in range(20):
        means = rng.random(K)
        days = [measured(rng, digits, means, 30) for _ in range(before)]
        told, old = telling(days, K), days[rng.integers(before)]
        shuffled = [old[i] for i in rng.permutation(30)]
        assert "30 of these 30 rows were told before" in warned(shuffled, told, K)
        assert warned(sorted(old), told, K) and warned(shuffled[:15], told, K)
        assert warned([*shuffled, *measured(rng, digits, means, 30)], told, K)


@pytest.mark.parametrize("digits", [2, None])
def test_a_file_that_grows_every_day_is_noticed_every_day_also_by_those_who_do_not_listen(digits):
    rng, K = np.random.default_rng(1), 4
    for _ in range(20):
        means = rng.random(K)
        file = measured(rng, digits, means, 30)
        told = telling([file], K)
        for day in range(2, 6):
            file = [*file, *measured(rng, digits, means, 30)]
            file = [file[i] for i in rng.permutation(len(file))]
            assert warned(file, told, K)
            told.take(sample_of(file, K))
            told.add([row.mark for row in file], day)


@pytest.mark.parametrize(("m", "K", "least"), [(20, 3, 0.9), (30, 8, 0.9), (40, 3, 0.97)])
def test_rewards_of_0_and_1_are_noticed_in_their_order(m, K, least):
    rng, found = np.random.default_rng(m), []
    for _ in range(100):
        means = rng.uniform(0.2, 0.8, K)
        days = [measured(rng, 0, means, m) for _ in range(2)]
        found.append(bool(warned(days[rng.integers(2)], telling(days, K), K)))
    assert np.mean(found) >= least


def test_rewards_of_0_and_1_say_nothing_in_another_order_or_where_they_never_change():
    rng, K = np.random.default_rng(0), 4
    rows = measured(rng, 0, rng.random(K), 40)
    assert not warned(sorted(rows), telling([rows], K), K)
    sure = measured(rng, 0, np.array([0.0, 1.0, 1.0, 0.0]), 60)
    assert likelihood(sure) > 0.05 and not warned(sure, telling([sure], K), K)


@pytest.mark.parametrize("kind", ["fair", "mixed", "any", "extreme", "sure"])
def test_the_same_order_comes_by_chance_no_more_often_than_it_is_said_to(kind):
    """Two files agree with the sum over orders of their squared probability: here the mean probability of an order."""
    rng, runs = np.random.default_rng(0), 400
    for _ in range(6):
        K = int(rng.choice([2, 5]))
        means = {
            "fair": np.full(K, 0.5), "mixed": rng.choice([0.1, 0.5, 0.9], K), "any": rng.random(K),
            "extreme": rng.beta(0.3, 0.3, K), "sure": (rng.random(K) < 0.5).astype(float),
        }[kind]  # fmt: skip
        said, true = np.zeros(runs), np.zeros(runs)
        for run in range(runs):
            rows = measured(rng, 0, means, 14)
            said[run] = likelihood(rows)
            true[run] = np.prod([means[row.arm] if row.sum else 1 - means[row.arm] for row in rows])
        for limit in (0.1, 0.01, 0.001):
            assert (true * (said < limit)).mean() < limit


@pytest.mark.parametrize(
    ("values", "found"),
    [([], 1), (np.arange(1, 60) / 100, 0.01), (np.arange(1, 60) * 0.1, 0.1), ([1, 0, 1], 1), ([10, 30, 50], 10),
     ([0.125, 0.25], 1 / 8), ([5 / 96, 7 / 96], 1 / 96), ([0.0521, 0.0729, 0.9896, 0.3438], 1 / 96),
     ([0.12345, 0.2], 1e-5), ([20], 1)],
)  # fmt: skip
def test_the_step_of_rewards(values, found):
    assert step(np.array(values, float)) == pytest.approx(found)


def test_of_numbers_with_all_digits_the_step_is_tiny():
    assert step(np.random.default_rng(0).standard_normal(3)) < 1e-12


def test_whole_numbers_told_twice_are_seen_unless_chance_explains_them():
    def rows(n, x):
        return raw_rows(Sample(np.full(8, n), np.full(8, 1.0 * x), np.full(8, 1.0 * x)))

    few = raw_rows(Sample.of([0, 0, 1, 1, 2], [1.0, 0, 1, 0, 1], 8))
    assert "8 of these 8 rows were told before (in answer to request 1)" in warned(
        rows(50, 20), telling([rows(50, 20)], 8), 8
    )
    assert warned(few, telling([few], 8), 8) == ""
    assert warned(rows(50, 20), telling([rows(50, 21)], 8), 8) == ""
    assert warned(rows(50, 0), telling([rows(50, 0)], 8), 8) == ""  # no successes: nothing to go by


# --- with a Lab, files and a log


@rule
def large(arms):
    yield np.full(3, 10**6)
    return Result(0)


def day(path, rows, **more):
    table = pd.DataFrame(rows, columns=["arm", "reward"]).assign(**more)
    table.to_csv(path, index=False)
    return path


def rewards(rng, m, digits=2):
    return [(NAMES[rng.integers(3)], round(rng.standard_normal(), digits)) for _ in range(m)]


def test_yesterdays_rows_in_todays_file_are_counted_also_after_a_restart(tmp_path):
    rng, names = np.random.default_rng(0), [unicodedata.normalize("NFD", name) for name in NAMES]
    old, new = rewards(rng, 40, 6), rewards(rng, 20, 6)
    lab = Lab(large(np.eye(3)), names=names)
    lab.tell(read_measurements(day(tmp_path / "1.csv", old), names, lab.ask()))
    lab.save(tmp_path / "log.csv")
    lab = Lab(large(np.eye(3)), tmp_path / "log.csv", names=NAMES)
    mixed = [(old + new)[i] for i in rng.permutation(60)]
    said = r"40 of these 60 rows were told before \(in answer to request 1\): has the same file been read twice"
    with pytest.warns(UserWarning, match=said):
        lab.tell(read_measurements(day(tmp_path / "2.csv", mixed), NAMES, lab.ask()))
    lab.undo()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lab.tell(read_measurements(day(tmp_path / "3.csv", new), NAMES))
    with pytest.warns(UserWarning, match="40 of these 40 rows"):
        lab.tell_history(read_each(tmp_path / "1.csv", NAMES)) if not lab.log else lab.tell(
            read_measurements(tmp_path / "1.csv", NAMES)
        )


def test_other_columns_tell_equal_rewards_apart_and_another_way_to_write_a_number_does_not(tmp_path):
    rows = [("plain", 0.25 * k) for k in range(30)]
    lab = Lab(large(np.eye(3)))
    lab.tell(read_measurements(day(tmp_path / "1.csv", rows, time=range(30)), NAMES))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lab.tell(read_measurements(day(tmp_path / "2.csv", rows, time=range(30, 60)), NAMES))
    (tmp_path / "3.csv").write_text(
        "time;reward;arm\n" + "".join(f"{k};{0.25 * k:.3f}0;plain\n".replace(".", ",") for k in range(30))
    )
    with pytest.warns(UserWarning, match="30 of these 30 rows"):
        lab.tell(read_measurements(tmp_path / "3.csv", NAMES))


def test_a_pilot_told_as_history_is_noticed_in_a_later_file(tmp_path):
    path = day(tmp_path / "pilot.csv", rewards(np.random.default_rng(0), 30, 4))
    lab = Lab(large(np.eye(3)))
    lab.tell_history(read_each(path, NAMES))
    with pytest.warns(UserWarning, match=r"30 of these 30 rows were told before \(outside a request\)"):
        lab.tell(read_measurements(path, NAMES))
    lab.save(tmp_path / "log.csv")
    text = (tmp_path / "log.csv").read_text()
    assert text.count(raw_rows(next(read_each(path, NAMES)))[0].mark) == 2


def test_samples_told_directly_count_as_a_row_for_each_arm():
    rng, lab = np.random.default_rng(0), Lab(large(np.eye(3)))
    sample = Sample.of([0, 0, 1, 2], rng.standard_normal(4), 3)
    lab.tell(sample)
    with pytest.warns(UserWarning, match="3 of these 3 rows"):
        lab.tell(sample)


def test_the_chance_to_agree_with_one_file_grows_with_the_number_of_files():
    rng = np.random.default_rng(0)
    days = [measured(rng, 2, np.zeros(1), 100) for _ in range(20)]
    rows, chances = days[0][:20], []
    for others in (0, 60):  # files of another arm
        told = telling([*days, *([Raw(1, 1, x, x * x)] for x in rng.standard_normal(others))], 2)
        chances.append(by_number(rows, np.ones(20, bool), sample_of(rows, 2), told, SD))
    assert chances[1] == pytest.approx(4 * chances[0], rel=0.1)


def test_parts_cost_the_same_however_many_came_before():
    rng, lab, seconds = np.random.default_rng(0), Lab(large(np.eye(3))), []
    parts = [Sample.of(rng.integers(3, size=3), rng.standard_normal(3), 3) for _ in range(2_000)]
    for part in parts:
        start = time.perf_counter()
        lab.tell(part)
        seconds.append(time.perf_counter() - start)
    assert np.median(seconds[-300:]) < 3 * np.median(seconds[200:500])


@pytest.mark.parametrize("reward", [1e200, -1e200])
def test_a_reward_beyond_what_a_float_can_square_is_refused_in_a_sentence(tmp_path, reward):
    path = day(tmp_path / "1.csv", [("plain", reward)])
    with pytest.raises(ValueError, match=r"line 2 of .*1.csv: -?1e\+200 is too large: choose a larger unit"):
        read_measurements(path, NAMES)
    pd.DataFrame({"arm": ["plain"], "count": [2], "sum": [1e200], "squares": [1e300]}).to_csv(path, index=False)
    with pytest.raises(ValueError, match="line 2 of .*too large"):
        read_measurements(path, NAMES)
    assert rage(np.eye(3), delta=0.1).fresh


def test_a_reward_far_from_all_others_is_asked_about():
    rng, lab = np.random.default_rng(0), Lab(large(np.eye(3)), names=NAMES[:3])
    rewards = 800 + rng.standard_normal(30)
    lab.tell(Sample.of(np.arange(30) % 3, rewards, 3))
    with pytest.warns(UserWarning, match=rf"8000 of {NAMES[1]}: far from the others, which are about .* typing error"):
        lab.tell(Sample.of([1], [8000.0], 3))
    with pytest.warns(UserWarning, match="8100 of arm 2"):
        Lab(large(np.eye(3))).tell_history(Sample.of([k % 3], [800.0 + k if k != 11 else 8100.0], 3) for k in range(12))


@pytest.mark.parametrize("law", ["standard_normal", "standard_exponential", "laplace"])
def test_honest_rewards_are_not_asked_about(law):
    rng = np.random.default_rng(1)
    rows = [Raw(0, 1, x, x * x) for x in getattr(rng, law)(size=20_000)]
    assert not any(far_off(rows[i : i + 20], None) for i in range(0, len(rows), 20))
    zeros = [Raw(0, 1, float(x), float(x)) for x in rng.random(1000) < 0.1]
    assert not far_off(zeros, None) and not far_off(rows[:3], None)
