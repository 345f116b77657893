"""Other requests than the log holds: the log counts, one warning names the request, and the experiment goes on."""

import warnings
from functools import partial

import numpy as np
import pytest
import test_contract as contract

from bandits_lab import Lab
from bandits_lab import log as logs
from bandits_lab.lab import ReplayWarning
from bandits_lib import Result, Sample, rule
from bandits_lib.protocol import total


@rule
def until_sure(arms, limit):
    """Pull both arms until the sum of rewards passes LIMIT, which another version of the rule changes."""
    reached = 0.0
    while reached < LIMIT[0]:
        reached += (yield np.array([1 + LIMIT[1], 1])).sums.sum()
    return Result(int(reached))


LIMIT = [3.0, 0]  # the limit, and how many more pulls of arm 0 a request has
TWO = Sample(np.array([1, 1]), np.array([0.5, 0.5]), np.array([0.25, 0.25]))


def opened(path):
    """A Lab of the rule as it is now, and what was said."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lab = Lab(until_sure(np.eye(2), 0.0), path)
    return lab, [str(w.message) for w in caught if w.category is ReplayWarning]


def logged(path, limit):
    LIMIT[:] = limit, 0
    lab = Lab(until_sure(np.eye(2), 0.0), path)
    while lab.ask() is not None and len(lab.log) < 5:
        lab.tell(TWO)


@pytest.mark.parametrize(
    ("then", "now", "request_", "log", "wanted"),
    [
        (100.0, (3.0, 0), 4, [(1, 1)] * 3, None),
        (3.0, (4.0, 0), 4, [(1, 1)] * 3, [1, 1]),
        (100.0, (100.0, 2), 1, [(1, 1), (1, 0), (1, 0), (0, 1), (1, 0), (1, 0)], [1, 0]),
    ],
)
def test_the_log_counts_and_one_warning_says_where_the_rule_parts_from_it(tmp_path, then, now, request_, log, wanted):
    path = tmp_path / "log.jsonl"
    logged(path, then)
    before, told = path.read_bytes(), len(logs.standing(logs.read(path)[0])) * 2
    LIMIT[:] = now
    lab, said = opened(path)
    assert path.read_bytes() == before
    assert [f"from request {request_} on" in text for text in said] == [True]
    assert [tuple(sample.counts) for sample in lab.log] == log
    assert sum(sum(pair) for pair in log) + lab.unused == told
    assert (lab.ask() is None) == (wanted is None)
    if wanted is not None:
        assert lab.ask().tolist() == wanted
        lab.tell(Sample(np.array(wanted), np.array(wanted) * 0.5, np.array(wanted) * 0.25))
        again, said = opened(path)
        assert len(said) == 1 and str(again.ask()) == str(lab.ask()) and again.requests == lab.requests


def test_requests_made_while_wrong_rewards_counted_are_not_compared(tmp_path):
    path = tmp_path / "log.jsonl"
    LIMIT[:] = 3.0, 0
    lab = Lab(until_sure(np.eye(2), 0.0), path)
    lab.tell(TWO)
    lab.tell(Sample(np.array([1, 1]), np.array([50.0, 0.5]), np.array([2500.0, 0.25])))
    assert lab.result is not None
    lab.undo()
    lab.tell(TWO)
    lab.tickets()
    lab.tell(Sample.of([0], [0.5], 2))
    lab.tickets()
    lab.undo()
    lab, said = opened(path)
    assert not said and lab.ask().tolist() == [1, 1] and len(lab.log) == 2


def test_a_warning_comes_once_when_another_program_writes_other_requests(tmp_path):
    path = tmp_path / "log.jsonl"
    logged(path, 100.0)
    lab, _ = opened(path)
    LIMIT[:] = 100.0, 2
    with pytest.warns(ReplayWarning, match="from request 1 on") as caught:
        other = Lab(until_sure(np.eye(2), 0.0), path)
        other.tell(Sample.of([0], [0.5], 2))
        other.tell(Sample.of([0], [0.5], 2), extra=True)
    assert len([w for w in caught if w.category is ReplayWarning]) == 1
    assert lab is not other


# --- any rule, any partial answers, opened again at every step

BUDGET = {name: partial(make, 60) for name, make in contract.BUDGETED.items()}
ANY = {**contract.IN_THE_WORLD, **{name: (make, contract.ON_ARMS[name][1]) for name, make in BUDGET.items()}}


@pytest.mark.parametrize("seed", range(8))
def test_any_experiment_in_any_pieces_ends_as_the_uninterrupted_one(seed, tmp_path):
    rng = np.random.default_rng(seed)
    name = sorted(ANY)[seed * 7 % len(ANY)]
    make, problem = ANY[name]
    path = tmp_path / "log.jsonl"
    steady, lab = Lab(contract.fresh(make, problem)), Lab(contract.fresh(make, problem), path)
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
            if rng.random() < 0.5:
                with warnings.catch_warnings():
                    warnings.simplefilter("error", ReplayWarning)
                    lab = Lab(contract.fresh(make, problem), path)
        steady.tell(total(parts))
    assert str(lab.ask()) == str(steady.ask()) and (lab.result is None) == (steady.result is None)
    if steady.result is not None:
        contract.same(steady.result, lab.result)
    told, logged = total(steady.log), total(Lab(contract.fresh(make, problem), path).log)
    np.testing.assert_array_equal(told.counts, logged.counts)
    np.testing.assert_allclose(told.sums, logged.sums, rtol=1e-12)
