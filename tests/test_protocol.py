"""Generators, play, unroll: what the world owes an algorithm, with toy algorithms that show each case."""

from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
from numba import njit

from bandits_lib import LinearBandit, Result, Sample, play
from bandits_lib.fixed_budget import linucb
from bandits_lib.protocol import Loop, total, unroll

PROBLEM = LinearBandit(np.eye(3), theta=[0.0, 1.0, 2.0])


class State(NamedTuple):
    counts: np.ndarray
    sums: np.ndarray
    stop_at: np.ndarray


@njit
def choose(state):
    pulls = state.counts.sum()
    return -1 if pulls >= state.stop_at[0] else pulls % 3


@njit
def update(state, arm, reward):
    state.counts[arm] += 1
    state.sums[arm] += reward


def mixed(stops):
    """A batch, then one Loop per entry of `stops`, then another batch."""
    first = yield np.array([2, 0, 1])
    state = State(np.zeros(3, dtype=np.int64), np.zeros(3), np.zeros(1))
    for stop in stops:
        state.stop_at[0] = stop
        yield Loop(choose, update, state)
    last = yield np.array([0, 4, 0])
    return Result(0, (first, state.counts.copy(), state.sums.copy(), last))


def test_play_equals_play_of_the_unrolled_algorithm():
    compiled = play(mixed([5, 9]), PROBLEM, np.random.default_rng(3))
    opened = play(unroll(mixed([5, 9])), PROBLEM, np.random.default_rng(3))
    assert compiled.counts.tolist() == opened.counts.tolist() == [5, 7, 4]
    for one, other in zip(compiled.result.history, opened.result.history, strict=True):
        np.testing.assert_array_equal(np.array(one), np.array(other))


def test_bernoulli_loops_are_the_same_compiled_and_unrolled():
    problem = LinearBandit(np.eye(3), theta=[0.1, 0.6, 0.9], noise="bernoulli")
    compiled = play(mixed([300]), problem, np.random.default_rng(3))
    opened = play(unroll(mixed([300])), problem, np.random.default_rng(3))
    np.testing.assert_array_equal(compiled.result.history[2], opened.result.history[2])


@pytest.mark.parametrize("limit", range(18))
def test_max_pulls_cuts_where_the_unrolled_algorithm_is_cut(limit):
    compiled = play(mixed([5, 9]), PROBLEM, np.random.default_rng(3), max_pulls=limit)
    opened = play(unroll(mixed([5, 9])), PROBLEM, np.random.default_rng(3), max_pulls=limit)
    assert compiled.counts.tolist() == opened.counts.tolist()
    assert compiled.stopped == opened.stopped == (limit >= 16)
    assert (compiled.result is None) == (not compiled.stopped)
    assert compiled.counts.sum() <= limit


def test_a_rule_that_stops_at_max_pulls_has_stopped():
    rule = partial(linucb, PROBLEM.arms, budget=20)
    runs = [play(rule(), PROBLEM, np.random.default_rng(0), max_pulls=limit) for limit in (19, 20)]
    assert [run.stopped for run in runs] == [False, True]


class Batched(NamedTuple):
    counts: np.ndarray
    sums: np.ndarray
    batch: np.ndarray
    rewards: np.ndarray


@njit
def choose_batch(state):
    for k in range(3):
        state.batch[k] = state.counts[k] // 2 + (k != 1)
    return -1 if state.counts.sum() >= 40 else 0


@njit
def update_by_batch(state):
    state.counts[:] += state.batch
    state.sums[:] += state.rewards


def batch_by_batch(compiled):
    """Batches of growing size that leave out an arm: in a loop, or one by one."""
    state = Batched(*np.zeros((4, 3)))._replace(counts=np.zeros(3, int), batch=np.zeros(3, int))
    if compiled:
        yield Loop(choose_batch, update_by_batch, state, batches=True)
    while choose_batch(state) >= 0:
        sample = yield state.batch.copy()
        state.rewards[:] = sample.sums
        update_by_batch(state)
    last = yield np.array([0, 4, 0])
    return Result(0, (state.counts, state.sums, last.sums))


@pytest.mark.parametrize("noise", ["gaussian", "bernoulli"])
def test_a_loop_of_batches_draws_what_the_batches_draw(noise):
    problem = LinearBandit(np.eye(3), theta=[0.1, 0.6, 0.9], noise=noise)
    total_pulls = play(batch_by_batch(False), problem, np.random.default_rng(3)).counts.sum()
    for limit in (None, *range(total_pulls + 3)):
        ways = batch_by_batch(True), unroll(batch_by_batch(True)), batch_by_batch(False)
        loop, opened, one_by_one = (play(way, problem, np.random.default_rng(3), max_pulls=limit) for way in ways)
        assert loop.counts.tolist() == opened.counts.tolist() == one_by_one.counts.tolist()
        assert loop.stopped == one_by_one.stopped == (limit is None or limit >= total_pulls)
        if loop.stopped:
            np.testing.assert_array_equal(loop.result.history, opened.result.history)
            np.testing.assert_array_equal(loop.result.history, one_by_one.result.history)


def test_a_batch_that_would_pass_max_pulls_is_not_pulled_at_all():
    run = play(mixed([]), PROBLEM, np.random.default_rng(0), max_pulls=6)
    assert run.counts.sum() == 3 and not run.stopped


def forgets_yield_from():
    yield mixed([1])
    return Result(0)


@pytest.mark.parametrize("request_", [np.array([1, -1, 0]), np.array([1.0, 0.0, 0.0]), np.array([1, 0]), 2, None])
def test_requests_that_are_not_counts_are_refused(request_):
    def wrong():
        yield request_

    with pytest.raises(ValueError, match="must yield a Loop or"):
        play(wrong(), PROBLEM, np.random.default_rng(0))


def test_a_forgotten_yield_from_is_named():
    with pytest.raises(ValueError, match="yield from"):
        play(forgets_yield_from(), PROBLEM, np.random.default_rng(0))


def test_total_adds_field_by_field():
    one = Sample(np.array([1, 0]), np.array([2.0, 0.0]), np.array([4.0, 0.0]))
    two = Sample(np.array([1, 3]), np.array([1.0, 3.0]), np.array([1.0, 5.0]))
    together = total([one, two])
    assert together.counts.tolist() == [2, 3] and together.sums.tolist() == [3.0, 3.0]
    assert one.counts.tolist() == [1, 0]


def test_the_global_numpy_state_is_left_alone():
    np.random.seed(7)
    before = np.random.get_state()[1].copy()
    play(mixed([5]), PROBLEM, np.random.default_rng(3))
    assert (np.random.get_state()[1] == before).all()
