"""Rows that are told again: a ticket counts once, a file without tickets counts once, and slips are asked about."""

import warnings

import numpy as np
import pytest

from bandits_lab import Lab, read_measurements
from bandits_lab.measurements import Raw, far_off
from bandits_lib import Result, Sample, rule

NAMES = ["plain", "bold", "red"]


@rule
def large(arms):
    first = yield np.array([40, 40, 40])
    yield np.array([9, 9, 9])
    return Result(int(np.argmax(first.sums)))


def day(path, rows, columns="ticket,arm,reward"):
    path.write_text("\n".join([columns, *(",".join(map(str, row)) for row in rows)]))
    return path


@pytest.fixture
def lab(tmp_path):
    return Lab(large(np.eye(3)), tmp_path / "log.jsonl", names=NAMES)


def tell(lab, path):
    """Return what was counted, was told before, and has no ticket; of the second there is a warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        told = lab.tell(read_measurements(path, NAMES))
    said = [str(w.message) for w in caught if "told before" in str(w.message)]
    assert [int(text.split()[0]) for text in said] == [told.before] * (told.before > 0)
    return tuple(told)


def filled(lab):
    return [(ticket, NAMES[arm], 0.5 + 0.001 * i) for i, (ticket, arm) in enumerate(lab.tickets())]


@pytest.mark.parametrize("seed", range(5))
def test_rows_with_tickets_count_once_in_any_files_in_any_order(lab, tmp_path, seed):
    rng, rows = np.random.default_rng(seed), filled(lab)
    seen: set[str] = set()
    for n in range(12):
        part = [rows[i] for i in rng.integers(0, len(rows), 30)]  # rows may come twice in a file
        new = {ticket for ticket, *_ in part} - seen
        assert tell(lab, day(tmp_path / f"{n}.csv", part)) == (len(new), 30 - len(new), 0)
        seen |= new
        if n % 4 == 3:
            lab = Lab(large(np.eye(3)), tmp_path / "log.jsonl", names=NAMES)
    tell(lab, day(tmp_path / "rest.csv", rows))
    assert lab.all_told.counts.tolist() == [40, 40, 40] and lab.ask().tolist() == [9, 9, 9]
    assert lab.all_told.sums.sum() == pytest.approx(sum(reward for *_, reward in rows))


def test_tickets_stay_the_same_until_they_are_told_also_after_an_undo(lab, tmp_path):
    first = lab.tickets()
    assert lab.tickets() == first and len({ticket for ticket, _ in first}) == 120
    rows = filled(lab)
    tell(lab, day(tmp_path / "1.csv", rows[:50]))
    assert lab.tickets() == first[50:]
    lab.undo()
    assert lab.tickets() == first == Lab(large(np.eye(3)), tmp_path / "log.jsonl", names=NAMES).tickets()
    assert tell(lab, day(tmp_path / "2.csv", rows)) == (120, 0, 0)
    second = lab.tickets()
    assert len(second) == 27 and not {*second} & {*first}
    assert tell(lab, day(tmp_path / "3.csv", rows)) == (0, 120, 0)


def test_a_ticket_that_was_given_out_before_an_undo_is_taken_afterwards(lab, tmp_path):
    first = filled(lab)
    tell(lab, day(tmp_path / "1.csv", first))
    second = filled(lab)
    lab.undo()
    again = Lab(large(np.eye(3)), tmp_path / "log.jsonl", names=NAMES)
    assert again.tickets() == [(ticket, NAMES.index(name)) for ticket, name, _ in first]
    assert tell(again, day(tmp_path / "1.csv", [(*row[:2], row[2] + 1) for row in first])) == (120, 0, 0)
    assert tell(again, day(tmp_path / "2.csv", second)) == (27, 0, 0) and again.result is not None


def test_a_row_without_a_ticket_answers_the_request_and_the_ticket_may_still_be_told(lab, tmp_path):
    rows = filled(lab)
    assert tell(lab, day(tmp_path / "1.csv", [("", "plain", 0.52)] * 3)) == (3, 0, 3)
    assert lab.ask().tolist() == [37, 40, 40] and len(lab.tickets()) == 117
    assert tell(lab, day(tmp_path / "2.csv", rows)) == (120, 0, 0)
    assert lab.all_told.counts.tolist() == [43, 40, 40] and lab.ask().tolist() == [6, 9, 9]


def test_a_file_without_tickets_counts_once_until_it_is_taken_back(lab, tmp_path):
    path = day(tmp_path / "1.csv", [("plain", 0.5), ("bold", 0.5)], "arm,reward")
    assert tell(lab, path) == (2, 0, 2) and tell(lab, path) == (0, 2, 0)
    again = Lab(large(np.eye(3)), tmp_path / "log.jsonl", names=NAMES)
    assert tell(again, path) == (0, 2, 0)
    again.undo()
    assert tell(again, path) == (2, 0, 2) and again.all_told.counts.tolist() == [1, 1, 0]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (("{0}", "plain", 0.75), "line 2: {0} was told with the reward 0.5, and has 0.75 here: .* back with undo"),
        (("{0}", "bold", 0.5), "line 2: the ticket {0} is of 'plain', not of 'bold': correct the arm or the ticket"),
        (("{0}9", "plain", 0.5), "line 2: the ticket {0}9 is not one of this experiment.*leave the ticket empty"),
    ],
)
def test_a_ticket_with_another_reward_or_arm_and_an_unknown_one_are_refused(lab, tmp_path, row, words):
    ticket = lab.tickets()[0][0]
    tell(lab, day(tmp_path / "1.csv", [(ticket, "plain", 0.5)]))
    before = (tmp_path / "log.jsonl").read_bytes()
    with pytest.raises(ValueError, match=words.format(ticket)):
        tell(lab, day(tmp_path / "2.csv", [(row[0].format(ticket), *row[1:])]))
    with pytest.raises(ValueError, match="is for one measurement; got 2"):
        other = lab.tickets()[0][0]
        tell(lab, day(tmp_path / "3.csv", [(other, "plain", 2, 1.0, 0.5)], "ticket,arm,count,sum,squares"))
    assert (tmp_path / "log.jsonl").read_bytes() == before and lab.all_told.counts.sum() == 1


def test_the_tickets_of_two_experiments_differ():
    labs = [Lab(large(np.eye(3))) for _ in range(20)]
    assert len({lab.tickets()[0][0][:2] for lab in labs}) > 10


def test_a_reward_far_from_all_others_is_asked_about():
    rng, lab = np.random.default_rng(0), Lab(large(np.eye(3)), names=NAMES[:3])
    rewards = 800 + rng.standard_normal(30)
    lab.tell(Sample.of(np.arange(30) % 3, rewards, 3))
    with pytest.warns(UserWarning, match=rf"8000 of {NAMES[1]}: far from the others, which are about .* typing error"):
        lab.tell(Sample.of([1], [8000.0], 3))
    with pytest.warns(UserWarning, match="8100 of arm 2"):
        Lab(large(np.eye(3))).tell_history(Sample.of([k % 3], [800.0 + k if k != 11 else 8100.0], 3) for k in range(12))


@pytest.mark.slow
@pytest.mark.parametrize("law", ["standard_normal", "standard_exponential", "laplace"])
def test_honest_rewards_are_not_asked_about(law):
    rng = np.random.default_rng(1)
    rows = [Raw("", 0, 1, x, x * x) for x in getattr(rng, law)(size=20_000)]
    assert not any(far_off(rows[i : i + 20], None) for i in range(0, len(rows), 20))
    zeros = [Raw("", 0, 1, float(x), float(x)) for x in rng.random(1000) < 0.1]
    assert not far_off(zeros, None) and not far_off(rows[:3], None)
