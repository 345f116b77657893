"""A person in the place of the simulator: partial answers, a log that can be read, refusals that lose nothing."""

import warnings

import numpy as np
import pytest

from bandits_lab import Lab
from bandits_lib import Result, Sample, rule
from bandits_lib.fixed_confidence import rage, xy_static
from bandits_lib.protocol import unroll

ARMS = np.eye(3)


@rule
def two_rounds(arms, delta=0.1, rng=None):
    first = yield np.array([2, 0, 1])
    second = yield np.array([0, 0, 0])
    second = yield np.array([0, int(first.sums[0] > 0) + 1, 0])
    return Result(1, (first, second))


@rule
def nothing_to_do(arms):
    return Result(4)
    yield


def of(counts, sums):
    counts, sums = np.array(counts), np.array(sums, dtype=float)
    return Sample(counts, sums, sums**2 / np.maximum(counts, 1) + (counts > 1))


def test_partial_answers_add_up():
    lab = Lab(two_rounds(ARMS))
    assert lab.ask().tolist() == [2, 0, 1]
    lab.tell(of([1, 0, 0], [3.0, 0, 0]))
    assert lab.ask().tolist() == [1, 0, 1] and lab.result is None
    lab.tell(of([1, 0, 1], [-1.0, 0, 5.0]))
    assert lab.ask().tolist() == [0, 2, 0]
    lab.tell(of([0, 2, 0], [0, 1.0, 0]))
    assert lab.ask() is None and lab.result.recommendation == 1
    assert lab.result.history[0].sums.tolist() == [2.0, 0.0, 5.0]


def test_an_algorithm_that_answers_at_once():
    lab = Lab(nothing_to_do(ARMS))
    assert lab.ask() is None and lab.result.recommendation == 4


@pytest.mark.parametrize(
    ("sample", "words"),
    [
        (of([3, 0, 0], [1.0, 0, 0]), "told 3 measurements of arm 0 but only 1"),
        (of([1, 0, 0], [np.nan, 0, 0]), "finite"),
        (Sample(np.array([1, 0, 0]), np.array([1e200, 0, 0]), np.array([np.inf, 0, 0])), "choose a larger unit"),
        (of([1, 0, 0], [1.0, 2.0, 0]), "arm 1: count is 0"),
        (Sample(np.array([1, 0, 0]), np.array([4.0, 0, 0]), np.array([1.0, 0, 0])), "below sum"),
        (Sample(np.array([1.0, 0, 0]), np.zeros(3), np.zeros(3)), "non-negative integers"),
        (of([1, 0], [1.0, 0]), "shape"),
    ],
)
def test_what_was_not_asked_for_is_refused_and_nothing_is_lost(sample, words):
    lab = Lab(two_rounds(ARMS))
    lab.tell(of([1, 0, 0], [3.0, 0, 0]))
    with pytest.raises(ValueError, match=words):
        lab.tell(sample)
    assert lab.ask().tolist() == [1, 0, 1] and len(lab.log) == 1


def test_what_was_asked_and_told_is_kept_apart_from_the_callers_arrays():
    lab = Lab(two_rounds(ARMS))
    lab.ask()[:] = 0
    assert lab.ask().tolist() == [2, 0, 1]
    sample = Sample(np.array([2, 0, 0]), np.array([3.0, 0, 0]), np.array([5.0, 0, 0]))
    lab.tell(sample)
    for field in sample:
        field[:] = 7
    assert [field.tolist() for field in lab.log[0]] == [[2, 0, 0], [3.0, 0, 0], [5.0, 0, 0]]
    lab.tell(of([0, 0, 1], [0, 0, 1.0]))
    assert lab.ask().tolist() == [0, 2, 0]


@rule
def ten_pulls():
    yield np.array([10])
    return Result(0)


def test_equal_rewards_are_taken_although_rounding_puts_their_squares_below_the_least():
    equal = Sample.of([0] * 10, [2.3] * 10, 1)
    assert equal.squares[0] < equal.sums[0] ** 2 / 10
    lab = Lab(ten_pulls())
    lab.tell(equal)
    assert lab.result.recommendation == 0
    with pytest.raises(ValueError, match="arm 0: squares is"):
        Lab(ten_pulls()).tell(equal._replace(squares=equal.squares * (1 - 1e-6)))


@pytest.mark.parametrize("sample", [[0.5, 0.2], {0: [0.5]}, 3.0, (np.ones(3), np.ones(3), np.ones(3))])
def test_what_is_no_sample_is_answered_with_the_right_call(sample):
    with pytest.raises(ValueError, match=r"tell takes a Sample: lab.tell\(Sample.of\(pulled_arms, rewards, K=3\)\)"):
        Lab(two_rounds(ARMS)).tell(sample)


@rule
def picky(arms):
    sample = yield np.array([1, 0, 0])
    if sample.sums[0] < 0:
        raise ValueError("rewards must be positive")
    yield np.array([0, 1, 0])


def test_rewards_that_the_algorithm_refuses_stay_out_of_the_log_and_the_lab_goes_on(tmp_path):
    path = tmp_path / "log.jsonl"
    lab = Lab(picky(ARMS), path)
    with pytest.raises(ValueError, match="rewards must be positive"):
        lab.tell(of([1, 0, 0], [-1.0, 0, 0]))
    assert lab.log == [] and lab.requests == [] and not path.exists() and lab.ask().tolist() == [1, 0, 0]
    lab.tell(of([1, 0, 0], [1.0, 0, 0]))
    assert lab.ask().tolist() == Lab(picky(ARMS), path).ask().tolist() == [0, 1, 0]


def test_only_fresh_generators():
    used = two_rounds(ARMS)
    next(used)
    with pytest.raises(ValueError, match="fresh"):
        Lab(used)
    with pytest.raises(ValueError, match="must be a generator"):
        Lab(two_rounds)


def test_an_undecorated_generator_is_refused_with_what_to_write():
    words = "two_rounds cannot be made again.*write @rule above `def two_rounds`, after `from bandits_lib import rule`"
    undecorated = two_rounds.__wrapped__
    with pytest.raises(ValueError, match=words):
        Lab(undecorated(ARMS))
    with pytest.raises(ValueError, match="cannot be made again: an argument cannot be copied"):
        Lab(rule(unroll)(undecorated(ARMS)))


class Stubborn:
    def __deepcopy__(self, memo):
        raise RuntimeError("a socket")


def test_a_rule_that_cannot_be_made_again_is_refused():
    with pytest.raises(ValueError, match="cannot be made again: .*a socket"):
        Lab(two_rounds(ARMS, rng=Stubborn()))


def test_the_callers_random_stream_is_not_advanced():
    rng, other = np.random.default_rng(3), np.random.default_rng(3)
    lab = Lab(xy_static(np.eye(3), delta=0.05, rng=rng))
    lab.tell(Sample(lab.ask(), 0.1 * lab.ask(), lab.ask()))
    assert rng.random() == other.random()


def first_request(unit, **options):
    return Lab(rage(np.eye(4), delta=0.05, sigma=0.05 * unit, **options)).ask().sum()


def test_rewards_in_percent_are_noticed_before_the_first_measurement():
    with pytest.warns(UserWarning, match="asks for 1[0-9],[0-9]{3} measurements, but would ask for 80 with scale=None"):
        assert first_request(100.0) > 10_000
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert first_request(1.0) == first_request(1.0, scale=None) == first_request(100.0, scale=None) == 80
        assert first_request(100.0, scale=50.0) == 80


def test_an_open_experiment_is_not_warned_of_its_unit_again(tmp_path):
    with pytest.warns(UserWarning, match="with scale=None"):
        Lab(rage(np.eye(4), delta=0.05, sigma=5.0), tmp_path / "log.jsonl").tickets()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Lab(rage(np.eye(4), delta=0.05, sigma=5.0), tmp_path / "log.jsonl")
