"""What happens in a laboratory beside results: mistakes and earlier measurements."""

import copy
import pickle
import re

import numpy as np
import pytest
import test_contract as contract
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bandits_lab import Lab, log, read_measurements
from bandits_lab import log as logs
from bandits_lib import LinearBandit, Result, Sample, rule
from bandits_lib.fixed_confidence import bounded_rage, lin_game, lingape, rage, rage_halving, xy_static
from bandits_lib.protocol import total

ARMS = np.vstack([np.eye(3), [0.5, 0.5, 0.0], [0.0, 0.6, 0.8], [0.7, 0.0, 0.7], [0.6, 0.8, 0.0]])
WORLD = LinearBandit(ARMS, theta=[1.0, 0.3, 0.2], sigma=0.1)


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
    """Whether two Labs are in the same state and hold the same log."""
    assert str(one.ask()) == str(other.ask()) and one.requests == other.requests
    assert one._texts == other._texts and len(one._stock) == len(other._stock)
    for mine, theirs in zip(one.log, other.log, strict=True):
        np.testing.assert_array_equal(np.array(mine), np.array(theirs))
    assert (one.result is None) == (other.result is None)
    if one.result is not None:
        contract.same(one.result, other.result)


def reopened(lab, make, tmp_path):
    lab.save(tmp_path / "log.csv")
    return Lab(make(), tmp_path / "log.csv")


def play_on(lab, rng, world=WORLD, most=100_000):
    for _ in range(most):
        if (wanted := lab.ask()) is None:
            return lab
        lab.tell(world.pull(wanted, rng))
    raise AssertionError("the rule never ends")


# --- undo


def test_undo_is_the_state_before_and_the_step_stays_in_the_log(tmp_path):
    lab, before = Lab(patient(np.eye(3))), Lab(patient(np.eye(3)))
    for each in (lab, before):
        each.tell(of([2, 0, 1]))
    lab.tell(of([3, 0, 2], seed=1))
    assert lab.ask().tolist() != before.ask().tolist()
    lab.undo("1.8 was\nmeant")
    assert lab.ask().tolist() == before.ask().tolist() == [3, 0, 2] and len(lab.log) == 1
    text = "".join(lab._texts)
    assert "# undone: the last entry: 1.8 was meant\n1,0,0,-3," in text
    assert "1,0,0,3," in text and "2,1,3,0,0,0" in text and "2,1,-3,0,0,0\n2,2,-1,0,0,0" in text
    same(lab, reopened(lab, lambda: patient(np.eye(3)), tmp_path))
    for each in (lab, before):
        play_on(each, np.random.default_rng(3), LinearBandit(np.eye(3), theta=[1.0, 0.0, 0.0]))
    contract.same(lab.result, before.result)


def test_several_steps_are_undone_one_after_the_other_and_the_result_with_them():
    lab = play_on(Lab(patient(np.eye(3))), np.random.default_rng(0), LinearBandit(np.eye(3), theta=[1.0, 0.0, 0.0]))
    for answered in (2, 1, 0):
        lab.undo()
        assert len(lab.log) == answered and lab.result is None
    assert lab.ask().tolist() == [5, 0, 3]
    with pytest.raises(ValueError, match="nothing to undo"):
        lab.undo()


def test_what_a_log_undoes_adds_up_to_nothing(tmp_path):
    import pandas as pd

    lab = Lab(patient(np.eye(3)))
    lab.tell(of([5, 0, 3]))
    lab.undo()
    lab.save(tmp_path / "log.csv")
    table = pd.read_csv(tmp_path / "log.csv", comment="#").groupby("request")[["asked", "count", "sum"]].sum()
    assert table.loc[1].tolist() == [8, 0, 0] and table.loc[2].tolist() == [0, 0, 0]


def test_another_lab_that_still_has_what_was_undone_is_not_overwritten(tmp_path):
    path = tmp_path / "log.csv"
    lab = Lab(patient(np.eye(3)))
    lab.tell(of([2, 0, 1]))
    lab.save(path)
    other = Lab(patient(np.eye(3)), path)
    lab.undo()
    lab.save(path)
    found = path.read_bytes()
    other.tell(of([1, 0, 0], seed=5))
    with pytest.raises(ValueError, match="left as it is: another Lab has saved there.* holds 0 measurements"):
        other.save(path)
    assert path.read_bytes() == found
    other.save(tmp_path / "other.csv")
    assert len(Lab(patient(np.eye(3)), tmp_path / "other.csv").log) == 2


def test_a_rule_that_draws_is_led_there_again(tmp_path):
    def make(seed=4):
        return patient(np.eye(3), rng=np.random.default_rng(seed))

    lab, plain = Lab(make()), Lab(make())
    lab.tell(of([5, 0, 3], seed=9))
    lab.undo()
    for each in (lab, plain):
        each.tell(of([5, 0, 3]))
    assert lab.ask().tolist() == plain.ask().tolist()
    same(lab, reopened(lab, make, tmp_path))


class Stubborn:
    def __deepcopy__(self, memo):
        raise RuntimeError("a socket")


def test_a_rule_that_cannot_be_made_again_is_undone_in_its_log(tmp_path):
    def make():
        return patient(np.eye(3), rng=None, delta=Stubborn())

    lab = Lab(make())
    lab.tell(of([2, 0, 1]))
    with pytest.warns(UserWarning, match="taken back in the log.*a socket.*Lab.algorithm, path"):
        lab.undo()
    with pytest.raises(ValueError, match="make the Lab again from its log"):
        lab.tell(of([1, 0, 0]))
    with pytest.raises(ValueError, match="cannot be made again: .*a socket"):
        Lab(make()).tell_history(of([1, 0, 0]))


# --- measured before


def singles(arms, rewards, K=3):
    return [Sample.of([arm], [reward], K) for arm, reward in zip(arms, rewards, strict=True)]


def test_earlier_rewards_answer_requests_in_their_order_each_once(tmp_path):
    lab = Lab(patient(np.eye(3)))
    lab.tell_history(singles([0, 1, 0, 2, 1], [1.0, 5.0, 2.0, 3.0, 6.0]))
    assert lab.ask().tolist() == [3, 0, 2] and total(lab.log).sums.tolist() == [3.0, 0.0, 3.0]
    same(lab, reopened(lab, lambda: patient(np.eye(3)), tmp_path))
    lab.tell(of([3, 0, 2]))
    assert lab.log[-1].sums.tolist()[1] == 11.0 and lab.requests == [1, 1, 2]  # the second request has both of arm 1
    assert len(lab._stock) == 0
    same(lab, reopened(lab, lambda: patient(np.eye(3)), tmp_path))
    lab.undo()  # the step of the hand, and what followed by itself
    assert lab.ask().tolist() == [3, 0, 2] and len(lab._stock) == 2
    same(lab, reopened(lab, lambda: patient(np.eye(3)), tmp_path))
    lab.undo()
    assert lab.ask().tolist() == [5, 0, 3] and len(lab._stock) == 0 and not lab.log
    lab.tell_history(of([1, 0, 0]))


def test_sums_are_told_whole_when_they_fit_and_their_numbers_were_planned():
    with pytest.raises(ValueError, match=r"3 of arm 0.* is used only .* planned: give single rewards.*planned=True"):
        Lab(patient(np.eye(3))).tell_history(of([3, 0, 0]))
    lab = Lab(patient(np.eye(3)))
    lab.tell_history([of([4, 2, 4]), of([2, 0, 1], seed=1)], planned=True)
    assert lab.ask().tolist() == [1, 0, 2] and len(lab._stock) == 8
    assert "8 earlier measurements are left" in repr(lab)
    lab.tell(of([1, 0, 2]))
    assert lab.requests == [1, 1, 2]


def test_measured_before_comes_first():
    lab = Lab(patient(np.eye(3)))
    for wrong in (3.0, [], [(0, 1.0)], of([0, 0, 0]), of([1, 0])):
        with pytest.raises(ValueError, match="Sample|no measurement"):
            lab.tell_history(wrong)
    lab.tell_history(of([1, 0, 0]))
    lab.tell_history(of([0, 0, 1]))
    lab.tell(of([1, 0, 0], seed=2))
    with pytest.raises(ValueError, match="come first: make a new Lab"):
        lab.tell_history(of([1, 0, 0]))


def test_a_rule_that_pulls_one_by_one_takes_single_rewards_only():
    def make():
        return lin_game(ARMS, delta=0.1, sigma=0.1)

    rng = np.random.default_rng(0)
    pilot = [WORLD.pull(np.eye(7, dtype=int)[k], rng) for k in rng.permutation(np.repeat(np.arange(7), 30))]
    lab = Lab(make())
    lab.tell_history(pilot)
    used = total(lab.log).counts.sum()
    assert 7 < used <= 210 and len(lab._stock) == 210 - used
    with pytest.warns(UserWarning, match="asks for one measurement at a time.*give single rewards"):
        lab = Lab(make())
        lab.tell_history([*(WORLD.pull(np.ones(7, int), rng) for _ in range(1)), total(pilot)], planned=True)
    assert len(lab._stock) >= 210


def test_a_log_that_takes_out_of_the_stock_what_is_not_there_is_refused(tmp_path):
    lab = Lab(patient(np.eye(3)))
    lab.tell_history(singles([0], [1.0]))
    lab.save(tmp_path / "log.csv")
    text = (tmp_path / "log.csv").read_text()
    (tmp_path / "log.csv").write_text(text.replace("0,0,0,-1,-1,-1", "0,0,0,-1,-2,-4"))
    with pytest.raises(ValueError, match=r"log.csv, line \d+: the row takes back measurements that no earlier row has"):
        Lab(patient(np.eye(3)), tmp_path / "log.csv")


# --- the file


@pytest.mark.parametrize(
    ("put", "words"),
    [
        ("# undone: the last entry\n1,0,0,-2,1.0,2.0\n", "takes back rows that are not in the last 1 entries"),
        ("# undone: the last 9 entries\n1,0,0,-2,1.0,2.0\n", "takes back rows that are not in the last 9 entries"),
        ("# dropped arms 2\n", "rows must follow"),
        (
            "# dropped arms 2\n1,2,-1,0,0,0\n",
            "here an arm was dropped or a request was closed, which is no longer possible",
        ),
        (
            "# closed as it is\n1,0,-3,0,0,0\n",
            "here an arm was dropped or a request was closed, which is no longer possible",
        ),
        ("1,0,-1,0,0,0\n", "of the columns asked and count, one must be positive"),
        ("0,0,1,0,0,0\n", "of the columns asked and count, one must be positive"),
    ],
)
def test_steps_that_cannot_be_are_refused_by_line(tmp_path, put, words):
    lab = Lab(patient(np.eye(3)))
    lab.tell(of([2, 0, 1]))
    lab.save(tmp_path / "log.csv")
    with open(tmp_path / "log.csv", "a") as file:
        file.write(f"\n# entry {7:016x} 2026-11-23T15:00:00Z\n{put}# end 00000000\n")
    with pytest.raises(ValueError, match=rf"log.csv, line \d+: .*{words}"):
        Lab(patient(np.eye(3)), tmp_path / "log.csv")


BEGUN = {
    "rage": lambda: rage(ARMS, delta=0.1, sigma=0.5),
    "rage_halving": lambda: rage_halving(ARMS, delta=0.1, sigma=0.5),
    "xy_static": lambda: xy_static(ARMS, delta=0.1, sigma=0.1, rng=np.random.default_rng(0)),
    "lin_game": lambda: lin_game(ARMS, delta=0.1, sigma=0.1),
    "lingape": lambda: lingape(ARMS, delta=0.1, sigma=0.1, theta_bound=1.2),
}
STEPS = st.lists(
    st.tuples(st.sampled_from(["tell", "tell", "all", "undo", "again"]), st.integers(0, 10**6)),
    max_size=14,
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(STEPS, st.sampled_from(sorted(BEGUN)), st.booleans())
def test_any_sequence_of_steps_is_what_its_log_says(tmp_path_factory, steps, name, history):
    path, make = tmp_path_factory.mktemp("steps") / "log.csv", BEGUN[name]
    lab, stack = Lab(make()), []
    if history:
        rng = np.random.default_rng(8)
        lab.tell_history([WORLD.pull(np.eye(7, dtype=int)[k], rng) for k in range(7)])
        stack = ["nothing told"]
    for what, seed in steps:
        rng, before = np.random.default_rng(seed), repr(lab)
        try:
            if what == "undo":
                lab.undo()
                assert repr(lab) == stack.pop() or history
                continue
            if what == "again":
                lab.save(path)
                lab = Lab(make(), path)
                assert repr(lab) == before
                continue
            if lab.ask() is not None:
                wanted = lab.ask() if what == "all" else rng.binomial(lab.ask(), 0.5)
                if not wanted.any():
                    continue
                lab.tell(WORLD.pull(wanted, rng))
            else:
                continue
        except ValueError as error:
            assert re.search("nothing|done", str(error)) and repr(lab) == before
        else:
            stack.append(before)
    lab.save(path)
    same(lab, Lab(make(), path))
    effective = log.standing(logs.read(path).entries)
    told = [row for e in effective for row in e.told]
    assert sum(row.count for row in told) == sum(int(s.counts.sum()) for s in lab.log)


# --- messages


def test_a_lab_says_what_it_is():
    lab = Lab(patient(np.eye(3)))
    lab.tell(of([2, 0, 1]))
    said = repr(lab)
    assert (
        "Lab of patient(delta=0.1): request 1 is open, 3 of its 8 measurements are told; lab.ask() says which 5" in said
    )
    play_on(lab, np.random.default_rng(0), LinearBandit(np.eye(3), theta=[1.0, 0.0, 0.0]))
    assert "done with" in repr(lab) and "lab.result.recommendation" in repr(lab)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_lab_is_not_copied_but_saved(copied):
    with pytest.raises(TypeError, match=r"use lab.save\(path\), and make it again with Lab\(algorithm, path\)"):
        copied(Lab(patient(np.eye(3))))


def test_the_right_call_is_named():
    import pandas as pd

    lab = Lab(patient(np.eye(3)))
    with pytest.raises(ValueError, match=r"Sample.of\(table\['arm'\], table\['reward'\], K=3\)"):
        lab.tell(pd.DataFrame({"arm": [0], "reward": [1.0]}))
    with pytest.raises(ValueError, match=r"lab.tell\(bandits_lab.read_measurements\(path, names, lab.ask\(\)\)\)"):
        lab.tell("day.csv")


def test_undo_says_what_it_took_back():
    lab = Lab(rage(np.eye(2), delta=0.05))
    lab.tell_history(Sample.of([0, 0, 1], [1.8, 2.3, 0.1], 2), planned=True)
    lab.tell(Sample.of([1], [0.2], 2))
    assert lab.undo() == "taken back: 1 measurement told in answer to request 1"
    assert lab.undo() == "taken back: 3 earlier measurements"


def test_percentages_are_refused_when_they_are_told_and_not_when_the_request_is_full():
    lab = Lab(bounded_rage(np.eye(2), delta=0.05))
    wanted = lab.ask()
    with pytest.raises(ValueError, match=r"rewards must lie in \[0, 1\].*arm 1"):
        lab.tell(Sample.of([0, 1], [0.4, 45.0], 2))
    assert (lab.ask() == wanted).all() and not lab.log
    lab.tell(Sample.of([0, 1], [0.4, 0.45], 2))
    assert (lab.ask() == wanted - 1).all()


def test_surplus_rewards_wait_for_later_requests_in_their_order(tmp_path):
    """The rule reads the first n of each arm; a log that is read back and an undo agree."""
    rng, path = np.random.default_rng(0), tmp_path / "day.csv"
    lab = Lab(rage(np.eye(2), delta=0.05, sigma=0.5))
    asked = lab.ask()
    pulled = np.tile([0, 1], int(asked.max()) + 40)
    rewards = 0.1 * pulled + 0.5 * rng.standard_normal(len(pulled))
    path.write_text(
        "".join(["arm,reward\n", *(f"{k},{r!r}\n" for k, r in zip(pulled, map(float, rewards), strict=True))])
    )
    sample = read_measurements(path, [0, 1])
    with pytest.raises(ValueError, match="leave the surplus out"):
        lab.tell(sample)
    with pytest.raises(ValueError, match="come as one sum"):
        lab.tell(Sample(*map(np.asarray, sample)), keep=True)
    lab.tell(sample, keep=True)
    first = lab.log[0]
    assert first.counts.tolist() == asked.tolist()
    assert first.sums == pytest.approx([rewards[pulled == k][: asked[k]].sum() for k in (0, 1)])
    used = sum(part.counts for part in lab.log)
    assert used.sum() < len(pulled) or lab.ask() is not None
    second = sum(part.sums for part in lab.log)
    assert second == pytest.approx([rewards[pulled == k][: used[k]].sum() for k in (0, 1)])
    lab.save(tmp_path / "log.csv")
    again = Lab(rage(np.eye(2), delta=0.05, sigma=0.5), tmp_path / "log.csv")
    assert [part.counts.tolist() for part in again.log] == [part.counts.tolist() for part in lab.log]
    lab.undo()
    assert not lab.log and lab.ask().tolist() == asked.tolist()


def test_an_undone_step_draws_the_same_arms_again():
    def made():
        return Lab(xy_static(np.eye(3), delta=0.05, rng=np.random.default_rng(0)))

    lab, other, n = made(), made(), 0
    while lab.result is None and n < 4:
        n, wanted = n + 1, lab.ask()
        other.tell(Sample(wanted, wanted * [0.1, 0.1, 0.1], wanted * [0.1, 0.1, 0.1]))
        other.undo()
        for one in (lab, other):
            one.tell(Sample(wanted, wanted * [0.1, 0.0, 0.0], wanted * [0.1, 0.1, 0.1]))
        assert other.ask().tolist() == lab.ask().tolist()


def test_history_comes_first_also_in_a_log_that_is_opened_again(tmp_path):
    lab = Lab(rage(np.eye(2), delta=0.05))
    lab.tell(Sample.of([0], [1.0], 2))
    lab.save(tmp_path / "log.csv")
    with pytest.raises(ValueError, match="earlier measurements must come first"):
        Lab(rage(np.eye(2), delta=0.05), tmp_path / "log.csv").tell_history(Sample.of([1], [2.0], 2))
