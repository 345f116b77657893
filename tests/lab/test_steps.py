"""What happens in a laboratory beside results: mistakes, earlier measurements, surplus; and the log has all of it."""

import re

import numpy as np
import pytest
import test_contract as contract
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bandits_lab import Lab, read_measurements
from bandits_lab import log as logs
from bandits_lib import LinearBandit, Result, Sample, rule
from bandits_lib.fixed_confidence import bounded_rage, lin_game, lingape, rage, rage_halving, xy_static
from bandits_lib.protocol import total

ARMS = np.vstack([np.eye(3), [0.5, 0.5, 0.0], [0.0, 0.6, 0.8], [0.7, 0.0, 0.7], [0.6, 0.8, 0.0]])
WORLD = LinearBandit(ARMS, theta=[1.0, 0.3, 0.2], sigma=0.1)
SMALL = LinearBandit(np.eye(3), theta=[1.0, 0.0, 0.0])


@rule
def patient(arms, delta=0.1, rng=None):
    """Requests of which the second asks for what the first returned; draws if it has `rng`."""
    first = yield np.array([5, 0, 3])
    drawn = 0 if rng is None else int(rng.integers(10))
    second = yield np.array([drawn, 2 + int(first.sums[0] > 0), 1])
    third = yield np.array([1, 1, 1])
    return Result(1, (first, second, third))


def of(counts, seed=0):
    counts, rng = np.array(counts), np.random.default_rng(seed)
    return Sample.of(np.repeat(np.arange(len(counts)), counts), rng.standard_normal(counts.sum()), len(counts))


def same(one, other):
    """Whether two Labs are in the same state."""
    assert str(one.ask()) == str(other.ask()) and one.requests == other.requests and one.unused == other.unused
    for mine, theirs in zip(one.log, other.log, strict=True):
        np.testing.assert_array_equal(np.array(mine), np.array(theirs))
    assert (one.result is None) == (other.result is None)
    if one.result is not None:
        contract.same(one.result, other.result)


def play_on(lab, rng, world=WORLD, most=100_000):
    for _ in range(most):
        if (wanted := lab.ask()) is None:
            return lab
        lab.tell(world.pull(wanted, rng))
    raise AssertionError("the rule never ends")


# --- undo


def test_undo_is_the_state_before_and_the_step_stays_in_the_log(tmp_path):
    path = tmp_path / "log.jsonl"
    lab, before = Lab(patient(np.eye(3)), path), Lab(patient(np.eye(3)))
    for each in (lab, before):
        each.tell(of([2, 0, 1]))
    lab.tell(of([3, 0, 2], seed=1))
    assert lab.ask().tolist() != before.ask().tolist()
    assert lab.undo("1.8 was\nmeant") == "taken back: 5 measurements"
    assert lab.ask().tolist() == before.ask().tolist() == [3, 0, 2] and len(lab.log) == 1
    *_, told, undone = logs.read(path)[0]
    assert undone["of"] == told["id"] and undone["reason"] == "1.8 was meant" and len(told["rows"]) == 2
    same(lab, Lab(patient(np.eye(3)), path))
    for each in (lab, before):
        play_on(each, np.random.default_rng(3), SMALL)
    contract.same(lab.result, before.result)


def test_several_steps_are_undone_one_after_the_other_and_the_result_with_them():
    lab = play_on(Lab(patient(np.eye(3))), np.random.default_rng(0), SMALL)
    for answered in (2, 1, 0):
        lab.undo()
        assert len(lab.log) == answered and lab.result is None
    assert lab.ask().tolist() == [5, 0, 3]
    with pytest.raises(ValueError, match="nothing to undo"):
        lab.undo()


def test_a_rule_that_draws_is_led_there_again(tmp_path):
    def make(seed=4):
        return patient(np.eye(3), rng=np.random.default_rng(seed))

    lab, plain = Lab(make(), tmp_path / "log.jsonl"), Lab(make())
    lab.tell(of([5, 0, 3], seed=9))
    lab.undo()
    for each in (lab, plain):
        each.tell(of([5, 0, 3]))
    assert lab.ask().tolist() == plain.ask().tolist()
    same(lab, Lab(make(), tmp_path / "log.jsonl"))


# --- measured before


def singles(arms, rewards, K=3):
    return [Sample.of([arm], [reward], K) for arm, reward in zip(arms, rewards, strict=True)]


def test_earlier_rewards_answer_requests_in_their_order_each_once(tmp_path):
    path = tmp_path / "log.jsonl"
    lab = Lab(patient(np.eye(3)), path)
    lab.tell_history(singles([0, 1, 0, 2, 1], [1.0, 5.0, 2.0, 3.0, 6.0]))
    assert lab.ask().tolist() == [3, 0, 2] and total(lab.log).sums.tolist() == [3.0, 0.0, 3.0]
    same(lab, Lab(patient(np.eye(3)), path))
    lab.tell(of([3, 0, 2]))
    assert total(lab.log).sums[1] == 11.0 and lab.requests == [1, 1, 2]  # the second request has both of arm 1
    assert lab.unused == 0
    same(lab, Lab(patient(np.eye(3)), path))
    lab.undo()  # the step of the hand, and what followed by itself
    assert lab.ask().tolist() == [3, 0, 2] and lab.unused == 2
    same(lab, Lab(patient(np.eye(3)), path))
    lab.undo()
    assert lab.ask().tolist() == [5, 0, 3] and lab.unused == 0 and not lab.log
    lab.tell_history(of([1, 0, 0]))


def test_a_pilot_is_used_reading_by_reading_in_its_order(tmp_path):
    """Six readings of every arm answer a request for five of one arm and three of another, and the next one."""
    rewards = np.arange(18.0)
    path = tmp_path / "pilot.csv"
    path.write_text("".join(["arm,reward\n", *(f"{int(r) % 3},{r}\n" for r in rewards)]))
    lab = Lab(patient(np.eye(3)))
    lab.tell_history(read_measurements(path, [0, 1, 2]))
    assert lab.requests == [1, 2, 3] and lab.result is not None and lab.unused == 18 - 8 - 4 - 3
    assert [sample.sums.tolist() for sample in lab.log] == [
        [0 + 3 + 6 + 9 + 12, 0, 2 + 5 + 8],
        [0, 1 + 4 + 7, 11],
        [15, 10, 14],
    ]


def test_sums_are_told_whole_when_they_fit_and_their_numbers_were_planned():
    with pytest.raises(ValueError, match=r"3 of arm 0.* is used only .* planned: give single rewards.*planned=True"):
        Lab(patient(np.eye(3))).tell_history(of([3, 0, 0]))
    lab = Lab(patient(np.eye(3)))
    lab.tell_history([of([4, 2, 4]), of([2, 0, 1], seed=1)], planned=True)
    assert lab.ask().tolist() == [1, 0, 2] and lab.unused == 8
    assert "8 kept for later" in repr(lab)
    lab.tell(of([1, 0, 2]))
    assert lab.requests == [1, 1, 2]


def test_what_is_no_history_is_refused_and_history_may_come_at_any_time():
    lab = Lab(patient(np.eye(3)))
    for wrong in (3.0, [(0, 1.0)], of([1, 0])):
        with pytest.raises(ValueError, match="Sample"):
            lab.tell_history(wrong)
    lab.tell(of([1, 0, 0], seed=2))
    lab.tell_history(of([1, 0, 1]))
    assert lab.ask().tolist() == [3, 0, 2]
    play_on(lab, np.random.default_rng(0), SMALL)
    with pytest.raises(ValueError, match="the algorithm is done"):
        lab.tell_history(of([1, 0, 0]))


def test_a_rule_that_pulls_one_by_one_takes_single_rewards_only():
    def make():
        return lin_game(ARMS, delta=0.1, sigma=0.1)

    rng = np.random.default_rng(0)
    pilot = [WORLD.pull(np.eye(7, dtype=int)[k], rng) for k in rng.permutation(np.repeat(np.arange(7), 30))]
    lab = Lab(make())
    lab.tell_history(pilot)
    used = total(lab.log).counts.sum()
    assert 7 < used <= 210 and lab.unused == 210 - used
    lab = Lab(make())
    lab.tell_history([WORLD.pull(np.ones(7, int), rng), total(pilot)], planned=True)
    assert lab.unused >= 210


# --- more than was asked for


def test_surplus_rewards_wait_for_later_requests_in_their_order(tmp_path):
    """The rule reads the first n of each arm; a log that is read back and an undo agree."""
    rng, path = np.random.default_rng(0), tmp_path / "day.csv"
    lab = Lab(rage(np.eye(2), delta=0.05, sigma=0.5), tmp_path / "log.jsonl")
    asked = lab.ask()
    pulled = np.tile([0, 1], int(asked.max()) + 40)
    rewards = 0.1 * pulled + 0.5 * rng.standard_normal(len(pulled))
    path.write_text(
        "".join(["arm,reward\n", *(f"{k},{r!r}\n" for k, r in zip(pulled, map(float, rewards), strict=True))])
    )
    sample = read_measurements(path, [0, 1])
    with pytest.raises(ValueError, match="leave the surplus out, or keep it for later requests with extra=True"):
        lab.tell(sample)
    with pytest.raises(ValueError, match="come as one sum"):
        lab.tell(Sample(*map(np.asarray, sample)), extra=True)
    assert lab.tell(sample, extra=True)[:2] == (len(pulled), 0)
    assert lab.log[0].counts.tolist() == asked.tolist()
    assert lab.log[0].sums == pytest.approx([rewards[pulled == k][: asked[k]].sum() for k in (0, 1)])
    used = total(lab.log)
    assert used.counts.sum() < len(pulled) or lab.ask() is not None
    assert used.sums == pytest.approx([rewards[pulled == k][: used.counts[k]].sum() for k in (0, 1)])
    same(lab, Lab(rage(np.eye(2), delta=0.05, sigma=0.5), tmp_path / "log.jsonl"))
    lab.undo()
    assert not lab.log and lab.ask().tolist() == asked.tolist() and lab.unused == 0


# --- any sequence of steps


BEGUN = {
    "rage": lambda: rage(ARMS, delta=0.1, sigma=0.5),
    "rage_halving": lambda: rage_halving(ARMS, delta=0.1, sigma=0.5),
    "xy_static": lambda: xy_static(ARMS, delta=0.1, sigma=0.1, rng=np.random.default_rng(0)),
    "lin_game": lambda: lin_game(ARMS, delta=0.1, sigma=0.1),
    "lingape": lambda: lingape(ARMS, delta=0.1, sigma=0.1, theta_bound=1.2),
}
STEPS = st.lists(
    st.tuples(st.sampled_from(["tell", "tell", "all", "undo", "again", "history", "other"]), st.integers(0, 10**6)),
    max_size=14,
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(STEPS, st.sampled_from(sorted(BEGUN)))
def test_any_sequence_of_steps_is_what_its_log_says(tmp_path_factory, steps, name):
    """Steps of two Labs of one log, and of Labs that are opened again, in any order."""
    path, make = tmp_path_factory.mktemp("steps") / "log.jsonl", BEGUN[name]
    lab, other, stack = Lab(make(), path), Lab(make(), path), []
    for what, seed in steps:
        rng, before = np.random.default_rng(seed), (repr(lab), lab.all_told)
        if what == "other":
            lab, other = other, lab
            lab.tickets()  # takes in what the other has written
            continue
        if what == "again":
            lab = Lab(make(), path)
            assert repr(lab) == before[0]
            continue
        try:
            if what == "undo":
                lab.undo()
                assert repr(lab) == stack.pop()
                continue
            if what == "history":
                lab.tell_history(WORLD.pull(np.eye(7, dtype=int)[seed % 7], rng))
            elif lab.ask() is not None:
                wanted = lab.ask() if what == "all" else rng.binomial(lab.ask(), 0.5)
                if not wanted.any():
                    continue
                lab.tell(WORLD.pull(wanted, rng))
            else:
                continue
        except ValueError as error:
            assert re.search("nothing|done", str(error)) and repr(lab) == before[0]
        else:
            stack.append(before[0])
    lab.tickets()
    same(lab, Lab(make(), path))
    rows = [row for one in logs.standing(logs.read(path)[0]) for row in one["rows"]]
    assert sum(row[2] for row in rows) == sum(int(s.counts.sum()) for s in lab.log) + lab.unused
    added = sum(row[3] for row in rows)
    assert added == pytest.approx(0.0 if lab.all_told is None else lab.all_told.sums.sum(), abs=1e-9)


# --- messages


def test_a_lab_says_what_it_is():
    lab = Lab(patient(np.eye(3)))
    lab.tell(of([2, 0, 1]))
    assert "Lab of patient: request 1 wants 5 more, lab.ask() says which; 3 measurements used" in repr(lab)
    play_on(lab, np.random.default_rng(0), SMALL)
    assert "done, the answer is lab.result.recommendation" in repr(lab)


def test_percentages_are_refused_when_they_are_told_and_not_when_the_request_is_full():
    lab = Lab(bounded_rage(np.eye(2), delta=0.05))
    wanted = lab.ask()
    with pytest.raises(ValueError, match=r"rewards must lie in \[0, 1\].*arm 1"):
        lab.tell(Sample.of([0, 1], [0.4, 45.0], 2))
    assert (lab.ask() == wanted).all() and not lab.log
    lab.tell(Sample.of([0, 1], [0.4, 0.45], 2))
    assert (lab.ask() == wanted - 1).all()
