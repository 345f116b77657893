"""The compiled loop: the same pulls however it is cut, kept on disk, and left at once when one presses Ctrl-C."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
import test_contract as contract
from numba import njit

from bandits_lib import LinearBandit, instances, play
from bandits_lib import problem as problem_module
from bandits_lib.fixed_budget import gse, linucb
from bandits_lib.fixed_confidence import bounded_rage, fws, h_rage, rage
from bandits_lib.protocol import Loop, unroll
from bandits_lib.simulate import play as loops

PER_PULL = ["lingape", "lin_game", "fws", "l_t3c", "lazy_track_and_stop", "linucb", "bayes_gap", "ucb_glm"]


def played(name, monkeypatch, chunk):
    make, problem = contract.ON_ARMS[name]
    with monkeypatch.context() as patch:
        if chunk:
            patch.setattr(loops, "FIRST_CHUNK", chunk)
            patch.setattr(loops, "next_chunk", lambda before, seconds: chunk)
        items = None if problem.items is problem.arms else problem.items
        rule = make(problem.arms, items, np.random.default_rng(1))
        run = play(rule, problem, np.random.default_rng(2), max_pulls=3_001)
    return run.counts.tolist(), run.stopped, run.result and run.result.recommendation


@pytest.mark.parametrize("name", PER_PULL)
def test_pulls_do_not_depend_on_where_chunks_end(name, monkeypatch):
    whole = played(name, monkeypatch, 10**6)
    assert all(played(name, monkeypatch, chunk) == whole for chunk in (1, 7, None))


def test_a_run_that_is_cut_off_keeps_its_records():
    """They begin with the first single pull: before any pull (linucb), or after one pull of each of d arms (fws)."""
    problem = instances.benchmark(3, angle=0.1)
    for rule, first in ((linucb(problem.arms, budget=1_000), 0), (fws(problem.arms, delta=1e-9), 3)):
        run = play(rule, problem, np.random.default_rng(0), max_pulls=100, trace=30)
        assert run.result is None and [entry.pulls for entry in run.trace] == list(range(first, 101, 30))
    for wrong in (-1, 1.5, float("nan"), "all"):
        with pytest.raises(ValueError, match=f"trace must be an integer of at least 0; got {wrong!r}"):
            play(linucb(problem.arms, budget=100), problem, np.random.default_rng(0), trace=wrong)


def test_a_loop_without_a_look_leaves_no_record():
    run = play(crawling(), LinearBandit(np.eye(2), theta=[0.0, 0.0]), np.random.default_rng(0), 100, trace=10)
    assert run.counts.sum() == 100 and run.trace == ()


@pytest.mark.parametrize(("seconds", "after"), [(1e-7, 16_000), (0.05, 2_000), (0.1, 1_000), (1.0, 100), (1e6, 1)])
def test_a_chunk_becomes_a_tenth_of_a_second(seconds, after):
    assert loops.next_chunk(1_000, seconds) == after


@njit
def crawl(state):
    total = 0.0
    for i in range(20_000):
        total += np.sin(state[0][0] + i)
    return 0 if total < np.inf else -1


@njit
def ignore(state, arm, reward):
    state[0][arm] += 1


def crawling():
    yield Loop(crawl, ignore, (np.zeros(2), np.zeros(2)))


def test_a_slow_rule_gets_short_chunks(monkeypatch):
    lasted, next_one = [], loops.next_chunk
    monkeypatch.setattr(loops, "next_chunk", lambda chunk, seconds: lasted.append(seconds) or next_one(chunk, seconds))
    play(crawling(), LinearBandit(np.eye(2), theta=[1.0, 0.0]), np.random.default_rng(0), max_pulls=5_000)
    assert len(lasted) > 5 and max(lasted[1:]) < 1.0  # the first includes compiling


# --- on disk


def test_a_rule_of_the_library_is_kept_on_disk_and_one_of_a_notebook_is_not():
    ours, draw = next(linucb(np.eye(2), budget=9)), problem_module.draw_gaussian
    assert loops.runner(ours.choose, ours.update, draw).stats.cache_path.startswith(os.environ["NUMBA_CACHE_DIR"])
    assert loops.runner(crawl, ignore, draw).stats.cache_path is None
    assert loops.runner(ours.choose, ours.update, crawl).stats.cache_path is None


AGAIN = """
import pickle, sys
import numpy as np
from bandits_lib import play
from bandits_lib.fixed_budget import gse, linucb
from bandits_lib.fixed_confidence import bounded_rage, fws, h_rage, rage
from bandits_lib.simulate import play as loops
problem = pickle.load(sys.stdin.buffer)
play(linucb(problem.arms, budget=50), problem, np.random.default_rng(0))
loop = next(linucb(problem.arms, budget=50))
stats = loops.runner(loop.choose, loop.update, problem.draw, loop.batches).stats
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


@pytest.mark.slow
def test_the_next_process_compiles_no_loop_again_for_a_problem_that_was_handed_to_it():
    problem, command = pickle.dumps(instances.benchmark(2)), [sys.executable, "-c", AGAIN]
    told = [subprocess.run(command, capture_output=True, input=problem, check=True, timeout=300) for _ in range(2)]
    assert told[1].stdout.split() == [b"1", b"0"]


# --- interrupts

LONG = """
import signal, sys, threading, time, os
import numpy as np
from bandits_lib import instances, play
from bandits_lib.fixed_confidence import lazy_track_and_stop, lingape

signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background inherits that it is ignored
hard = instances.benchmark(5, angle=1e-5)
make = {"lingape": lambda: lingape(hard.arms, delta=0.05, theta_bound=1.0),
        "lazy_track_and_stop": lambda: lazy_track_and_stop(hard.arms, delta=0.05)}[sys.argv[1]]
def counts(pulls):
    return play(make(), hard, np.random.default_rng(0), max_pulls=pulls).counts.tolist()
before = counts(5_000)

def press():
    time.sleep(2.0)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=press, daemon=True).start()
try:
    play(make(), hard, np.random.default_rng(0))
    print("ended by itself")
except KeyboardInterrupt:
    print("heard", counts(5_000) == before)
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lingape", "lazy_track_and_stop"])
def test_an_interrupt_is_heard_and_leaves_all_as_it_was(name):
    """Within the timeout, and long before the run would end."""
    told = subprocess.run([sys.executable, "-c", LONG, name], capture_output=True, text=True, timeout=120, check=True)
    assert told.stdout.split() == ["heard", "True"]


# --- the noise level of the rule and that of the problem

TWO = np.eye(2)
NOISY = LinearBandit(TWO, theta=[1.0, 0.0], sigma=[0.5, 2.0])
COINS = LinearBandit(TWO, theta=[0.9, 0.2], noise="bernoulli")  # standard deviations 0.3 and 0.4
EXACT = LinearBandit(TWO, theta=[1.0, 0.0], sigma=0.0)
ALONE = LinearBandit([[1.0]], theta=[1.0], sigma=2.0)


def known(sigma):
    return lambda problem: rage(problem.arms, delta=0.05, sigma=sigma)


def enclosed(low, high):
    return lambda problem: h_rage(problem.arms, delta=0.05, sigma_min=low, sigma_max=high)


RIGHT = {
    "of each arm": (known([0.5, 2.0]), NOISY),
    "a tuple": (known((0.5, 2.0)), NOISY),
    "the largest": (known(2.0), NOISY),
    "the largest, for each arm": (known(np.array([2.0, 2.0])), NOISY),
    "a rounding error away": (known(2.0 * (1 - 1e-14)), NOISY),
    "unknown": (known(None), NOISY),
    "no noise": (known(1.0), EXACT),
    "bounds": (enclosed(0.5, 2.0), NOISY),
    "wide bounds": (enclosed(0.1, 3.0), NOISY),
    "a bound on coins": (known(1.0), COINS),
    "the least bound on coins": (known(0.4), COINS),
    "a bound on each coin": (known([0.3, 0.4]), COINS),
    "without sigma": (lambda problem: bounded_rage(problem.arms, delta=0.05), COINS),
    "a generator without @rule": (lambda problem: unroll(known(9.0)(problem)), NOISY),
    "one arm": (known(2.0), ALONE),
}
WRONG = {
    "too small": (known(1.0), NOISY, r"rage has another noise level .* the rewards, 2; got 1.0\. Correct it, or pass"),
    "too large": (known(3.0), NOISY, "be the standard deviation of the rewards, 2; got 3.0"),
    "in another order": (known([2.0, 0.5]), NOISY, r"got \[2.0, 0.5\]"),
    "a little wrong": (known(2.0 + 1e-6), NOISY, "got 2.000001"),
    "below coins": (known(0.39), COINS, "be at least the standard deviation of the rewards, 0.4; got 0.39"),
    "below one coin": (known([0.2, 0.5]), COINS, r"got \[0.2, 0.5\]"),
    "by default": (lambda problem: gse(problem.arms, budget=60), NOISY, "gse has another .*got 1.0"),
    "upper bound too small": (
        enclosed(0.5, 1.9),
        NOISY,
        "sigma_min and sigma_max must enclose 0.5 to 2; got 0.5 and 1.9",
    ),
    "lower bound too large": (enclosed(0.6, 2.0), NOISY, "got 0.6 and 2.0"),
    "one arm": (known(1.0), ALONE, "the rewards, 2; got 1.0"),
}


@pytest.mark.parametrize(("make", "problem"), RIGHT.values(), ids=RIGHT)
def test_a_rule_with_the_noise_level_of_the_problem_is_played(make, problem):
    assert play(make(problem), problem, np.random.default_rng(0)).stopped


@pytest.mark.parametrize(("make", "problem", "message"), WRONG.values(), ids=WRONG)
def test_a_rule_with_another_noise_level_is_refused_before_the_first_pull(make, problem, message):
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=message):
        play(make(problem), problem, rng)
    assert rng.bit_generator.state == np.random.default_rng(0).bit_generator.state
    assert play(make(problem), problem, rng, misspecified=True).stopped


def test_a_sigma_that_is_none_is_refused_as_the_rule_refuses_it():
    for sigma, message in ((-1.0, "positive and finite"), ([1.0] * 3, "one per arm"), ("two", "must be numbers")):
        with pytest.raises(ValueError, match=message):
            play(known(sigma)(NOISY), NOISY, np.random.default_rng(0))
