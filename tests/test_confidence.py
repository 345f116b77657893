"""Intervals at any time: they contain the truth together, and they shut items out only when that is proved."""

import numpy as np
import pytest

from bandits_lib import LinearBandit, Sample
from bandits_lib.confidence import intervals
from bandits_lib.protocol import total

ARMS = np.vstack([np.eye(3), [0.6, 0.8, 0.0]])
PROBLEM = LinearBandit(ARMS, theta=np.array([1.0, 0.2, 0.0]), sigma=1.0)


def watched(problem, rng, sigma, steps=20, batch=50):
    """True if at some moment an interval misses the true lead: arms are chosen by looking, the worst case."""
    log = [problem.pull(np.ones(len(problem.arms), dtype=np.int64), rng)]
    for _ in range(steps):
        table = intervals(problem.arms, total(log), sigma=sigma, delta=0.05)
        leader = int(np.argmax(table["estimate"]))
        lead = problem.item_values[leader] - problem.item_values
        if ((lead < table["low"] - 1e-9) | (lead > table["high"] + 1e-9)).any():
            return True
        counts = np.zeros(len(problem.arms), dtype=np.int64)
        counts[int(np.argmax(table["high"] - table["low"]))] = batch
        log.append(problem.pull(counts, rng))
    return False


def test_intervals_hold_at_all_times_together_and_fail_when_sigma_is_understated():
    missed = {s: sum(watched(PROBLEM, np.random.default_rng(r), s) for r in range(40)) for s in (1.0, 0.2)}
    assert missed[1.0] <= 7  # binomial(40, .05) exceeds 7 with probability .001
    assert missed[0.2] > 7


def test_before_the_arms_are_spanned_nothing_is_known():
    table = intervals(ARMS, Sample(np.array([5, 0, 0, 0]), np.array([5.0, 0, 0, 0]), np.array([5.0, 0, 0, 0])))
    assert table["in_play"].all() and np.isinf(table["high"].drop(index=0)).all()


def test_with_many_pulls_only_the_best_is_in_play():
    table = intervals(ARMS, PROBLEM.pull(np.full(4, 100_000), np.random.default_rng(0)), names=list("abcd"))
    assert list(table.index[table["in_play"]]) == ["a"]


def test_arms_that_do_not_span_the_space_are_compared_all_the_same():
    flat = LinearBandit(ARMS[:2], theta=np.array([1.0, 0.0, 0.0]))
    table = intervals(flat.arms, flat.pull(np.array([400, 400]), np.random.default_rng(0)))
    assert list(table["in_play"]) == [True, False]


def test_bad_arguments():
    sample = PROBLEM.pull(np.ones(4, dtype=np.int64), np.random.default_rng(0))
    with pytest.raises(ValueError, match="delta"):
        intervals(ARMS, sample, delta=0.0)
    with pytest.raises(ValueError, match="sigma"):
        intervals(ARMS, sample, sigma=-1.0)
    with pytest.raises(ValueError, match="u must"):
        intervals(ARMS, sample, u=0.0)
