"""A log is continued only if the rule makes the same requests; otherwise a new Lab takes over its measurements."""

import re
from functools import partial

import numpy as np
import pytest
import test_contract as contract

from bandits_lab import Lab, log
from bandits_lib import LinearBandit, Result, Sample, rule
from bandits_lib.fixed_confidence import lingape, rage
from bandits_lib.protocol import one_pull, total

WORLD = LinearBandit(np.eye(3), theta=[1.0, 0.4, -0.2])


@rule
def until_sure(arms, limit):
    """One pull of each arm until the sum of rewards passes LIMIT, which another version of the rule changes."""
    reached = 0.0
    while reached < LIMIT[0]:
        reached += (yield np.array([1 + LIMIT[1], 1])).sums.sum()
    return Result(int(reached))


LIMIT = [3.0, 0]  # the limit, and how many more pulls of arm 0 a request has
TWO = Sample(np.array([1, 1]), np.array([0.5, 0.5]), np.array([0.25, 0.25]))


def logged(path, limit):
    LIMIT[:] = limit, 0
    lab = Lab(until_sure(np.eye(2), 0.0))
    while lab.ask() is not None and len(lab.log) < 5:
        lab.tell(TWO)
    lab.save(path)
    return path.read_bytes()


@pytest.mark.parametrize(
    ("then", "now", "words"),
    [
        ((100.0, 0), (3.0, 0), "the log has a request 4, but here the algorithm is done"),
        ((3.0, 0), (4.0, 0), "the log ends after request 3, but here the algorithm asks for more"),
        ((100.0, 0), (100.0, 2), r"request 1 in the log differs from the one computed here \(2 of its 2 measurements"),
    ],
)
def test_a_log_that_the_rule_does_not_reproduce_is_left_and_its_measurements_are_handed_over(
    then, now, words, tmp_path
):
    path = tmp_path / "log.csv"
    saved = logged(path, then[0])
    told = sum(line.startswith(tuple("12345")) and ",0,1,0.5," in line for line in saved.decode().splitlines())
    LIMIT[:] = now
    with pytest.raises(
        ValueError, match=rf"log.csv, line \d+: {words}.*another version of the library.*lab.tell_history\(path\)"
    ):
        Lab(until_sure(np.eye(2), 0.0), path)
    assert path.read_bytes() == saved
    lab = Lab(until_sure(np.eye(2), 0.0))
    lab.tell_history(path)
    used = sum(int(sample.counts.sum()) for sample in lab.log)
    assert used > 0 and used + len(lab._stock) == told == len(log.read(path).entries[1:]) * 2
    lab.save(tmp_path / "new.csv")
    again = Lab(until_sure(np.eye(2), 0.0), tmp_path / "new.csv")
    assert str(again.ask()) == str(lab.ask()) and len(again._stock) == len(lab._stock)


def test_a_request_of_another_arm_is_named(tmp_path):
    def make():
        return lingape(np.eye(3), delta=0.1, theta_bound=1.0)

    lab, path = Lab(make()), tmp_path / "log.csv"
    for _ in range(3):
        lab.tell(WORLD.pull(lab.ask(), np.random.default_rng(0)))
    lab.save(path)
    arm = int(np.argmax(lab.ask()))
    path.write_text(path.read_text().replace(f"4,{arm},1,0", f"4,{(arm + 1) % 3},1,0"))
    with pytest.raises(
        ValueError, match=r"request 4 in the log differs from the one computed here .1 of its 1 measurements differ."
    ):
        Lab(make(), path)
    new = Lab(make())
    new.tell_history(path)
    assert sum(sample.counts.sum() for sample in new.log) + len(new._stock) == total(lab.log).counts.sum()


def test_a_log_goes_into_a_lab_of_the_same_arms_only(tmp_path):
    path, arms = tmp_path / "log.csv", np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.5, 1.0]])
    lab = Lab(rage(np.eye(3), delta=0.1, sigma=0.5))
    lab.tell_history([Sample.of([k], [float(k)], 3) for k in (0, 1, 0)])
    half = lab.ask() // 2
    lab.tell(WORLD.pull(half, np.random.default_rng(0)))
    lab.save(path)
    other = Lab(rage(np.eye(3), delta=0.05, sigma=0.5))  # another delta, and thus other requests
    other.tell_history(path)
    np.testing.assert_allclose(total(other.log).sums, total(lab.log).sums)
    assert total(other.log).counts.tolist() == total(lab.log).counts.tolist()
    with pytest.raises(ValueError, match=r"log.csv holds measurements of other arms: arms\[2, 1\] is 0.0 in the log"):
        Lab(rage(arms, delta=0.1, sigma=0.5)).tell_history(path)
    with pytest.raises(FileNotFoundError, match="there is no log"):
        Lab(rage(arms, delta=0.1)).tell_history(tmp_path / "none.csv")


@pytest.mark.filterwarnings("ignore:until_sure asks for one measurement at a time")
def test_measurements_that_answered_no_request_are_handed_over_first(tmp_path):
    path = tmp_path / "log.csv"
    LIMIT[:] = 100.0, 0
    lab = Lab(until_sure(np.eye(2), 0.0))
    lab.tell_history([Sample(n * one_pull(0, 2), n * one_pull(0, 2), n * one_pull(0, 2)) for n in (1, 3)], planned=True)
    lab.save(path)
    LIMIT[:] = 100.0, 2
    new = Lab(until_sure(np.eye(2), 0.0))
    new.tell_history(path)  # the sum of three fits the larger request, and comes before the single one
    assert new.log[0].counts.tolist() == [3, 0] and len(new._stock) == 1


# --- any rule, any partial answers, saved and opened again at every step

BUDGET = {name: partial(make, 60) for name, make in contract.BUDGETED.items()}
ANY = {**contract.IN_THE_WORLD, **{name: (make, contract.ON_ARMS[name][1]) for name, make in BUDGET.items()}}


@pytest.mark.parametrize("seed", range(30))
def test_any_experiment_in_any_pieces_ends_as_the_uninterrupted_one(seed, tmp_path):
    rng = np.random.default_rng(seed)
    name = sorted(ANY)[seed * 7 % len(ANY)]
    make, problem = ANY[name]
    steady, lab, path = Lab(contract.fresh(make, problem)), Lab(contract.fresh(make, problem)), tmp_path / "log.csv"
    for _ in range(25):
        if steady.ask() is None:
            break
        wanted, parts = steady.ask(), []
        while wanted.any():
            part = rng.binomial(wanted, rng.choice([0.2, 0.7, 1.0]))
            parts.append(problem.pull(part, rng))
            wanted = wanted - part
        for part in parts:
            lab.tell(part)
            lab.save(path)
            if rng.random() < 0.5:
                lab = Lab(contract.fresh(make, problem), path)
        steady.tell(total(parts))
    assert str(lab.ask()) == str(steady.ask()) and (lab.result is None) == (steady.result is None)
    if steady.result is not None:
        contract.same(steady.result, lab.result)
    told, logged = total(steady.log), total(Lab(contract.fresh(make, problem), path).log)
    np.testing.assert_array_equal(told.counts, logged.counts)
    np.testing.assert_allclose(told.sums, logged.sums, rtol=1e-12)
    assert not re.search("left out|done after request 0", path.read_text())
