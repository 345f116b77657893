"""From weights to pulls: exact sums, the proved factor, swaps that repair a dense design, bad input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandits_lib.design import g_design, pairs, round_design, xy_design

METHODS = ("pukelsheim", "largest_remainder", "regret")


def sphere(n, d, seed=0):
    x = np.random.default_rng(seed).normal(size=(n, d))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def worst_norm(arms, amounts):
    """max over arms of x'A^-1x for A = sum amounts xx'."""
    inverse = np.linalg.inv((arms.T * amounts) @ arms)
    return np.einsum("ki,ij,kj->k", arms, inverse, arms).max()


masses = st.lists(st.one_of(st.just(0.0), st.floats(1e-7, 1.0)), min_size=1, max_size=60).filter(lambda w: sum(w) > 0)
budgets = st.one_of(st.integers(1, 400), st.integers(1, 10**12))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(masses, budgets)
def test_counts_sum_to_the_budget(mass, n):
    weights = np.array(mass) / sum(mass)
    for method in METHODS[:2]:
        counts = round_design(weights, n, method)
        assert counts.dtype == np.int64 and counts.shape == weights.shape
        assert counts.sum() == n and counts.min() >= 0
        assert not counts[weights == 0].any()
    assert (np.abs(counts - n * weights) < 1 + 1e-3).all()


@settings(max_examples=300, deadline=None, derandomize=True)
@given(masses, st.integers(1, 2000))
def test_pukelsheim_factor(mass, n):
    """min n_i / (n lambda_i) >= 1 / (1 + 2p/n) for n >= 2p, so every squared norm grows by at most 1 + 2p/n."""
    weights = np.array(mass) / sum(mass)
    support = weights > 0
    p = support.sum()
    if n < 2 * p:
        return
    counts = round_design(weights, n)
    assert (counts[support] / (n * weights[support])).min() >= 1 / (1 + 2 * p / n) - 1e-12


def test_pukelsheim_norms():
    arms = sphere(200, 6)
    design = xy_design(arms, pairs(arms))
    p = (design.weights > 0).sum()
    for n in (2 * p, 5 * p, 1000):
        counts = round_design(design.weights, n)
        assert worst_norm(arms, counts) <= (1 + 2 * p / n) * worst_norm(arms, n * design.weights)


def test_below_the_support_size():
    """Pukelsheim needs a pull per atom; with fewer it is largest remainder."""
    weights = np.array([0.4, 0.3, 0.2, 0.1])
    np.testing.assert_array_equal(round_design(weights, 3), [1, 1, 1, 0])
    np.testing.assert_array_equal(round_design(weights, 3), round_design(weights, 3, "largest_remainder"))
    np.testing.assert_array_equal(round_design(np.full(5, 0.2), 2), [1, 1, 0, 0, 0])


def test_with_a_pull_for_each_atom_each_has_one():
    """At n = p largest remainder would leave the lightest atoms without a pull."""
    weights = np.array([0.7, 0.0, 0.15, 0.1, 0.05])
    np.testing.assert_array_equal(round_design(weights, 4), [1, 0, 1, 1, 1])
    np.testing.assert_array_equal(round_design(weights, 4, "largest_remainder"), [3, 0, 1, 0, 0])


def test_ties_go_to_the_lowest_index():
    np.testing.assert_array_equal(round_design(np.full(3, 1 / 3), 10), [4, 3, 3])
    np.testing.assert_array_equal(round_design(np.full(3, 1 / 3), 10, "largest_remainder"), [4, 3, 3])
    np.testing.assert_array_equal(round_design(np.full(5, 0.2), 13, "largest_remainder"), [3, 3, 3, 2, 2])
    np.testing.assert_array_equal(round_design(np.array([0.1, 0.9]), 11), [2, 9])


@pytest.mark.parametrize("method", METHODS[:2])
@pytest.mark.parametrize("n", [7, 30_000, 10**6 + 7, 10**12 + 1])
def test_thirty_thousand_atoms(method, n):
    weights = np.random.default_rng(0).dirichlet(np.ones(30_000))
    counts = round_design(weights, n, method)
    assert counts.sum() == n and counts.min() >= 0
    if n > 10**6:
        assert np.abs(counts - n * weights).max() <= 30_000


def test_regret_meets_its_target():
    """The swaps end with least eigenvalue 1 - 3/10 relative to the design, from a start that has zero."""
    arms = np.vstack([np.repeat(np.eye(5)[:1], 40, axis=0), np.eye(5)[1:]])
    weights = np.full(44, 1 / 44)
    weights[40:] = 0.2
    weights[:40] = 0.2 / 40
    counts = round_design(weights, 10, "regret", arms)
    relative = np.linalg.eigvalsh((arms.T * counts) @ arms / 10 / 0.2)
    assert relative[0] >= 0.7 and counts.sum() == 10


def test_regret_large_budget_and_deficient_arms():
    arms = sphere(30, 3) @ np.random.default_rng(1).normal(size=(3, 6))
    weights = g_design(arms).weights
    counts = round_design(weights, 10**9, "regret", arms)
    assert counts.sum() == 10**9
    np.testing.assert_allclose(counts / 1e9, weights, atol=1e-8)
    assert round_design(weights, 2, "regret", arms).sum() == 2


def test_regret_stays_in_the_span_of_the_design():
    """The design of one direction uses two arms; arms outside their span are no help and get no pulls."""
    arms = np.vstack([np.eye(4), [[0.6, 0.8, 0, 0], [0.6, 0.8, 0, 1e-3]]])
    weights = np.array([0.5, 0.5, 0, 0, 0, 0])
    counts = round_design(weights, 9, "regret", arms)
    assert counts.sum() == 9 and not counts[[2, 3, 5]].any()


def test_arguments_are_left_alone():
    weights = np.array([0.5, 0.25, 0.25])
    weights.flags.writeable = False
    for method in METHODS:
        counts = round_design(weights, 7, method, np.eye(3))
        assert counts.flags.writeable


HALF = np.array([0.5, 0.5])
BAD = [
    (lambda: round_design(HALF, 0), "n must be a whole number"),
    (lambda: round_design(HALF, -3), "n must be a whole number"),
    (lambda: round_design(HALF, 2.5), "n must be a whole number"),
    (lambda: round_design(HALF, True), "n must be a whole number"),
    (lambda: round_design(HALF, np.nan), "n must be a whole number"),
    (lambda: round_design(HALF, np.inf), "n must be a whole number"),
    (lambda: round_design([0.7, -0.1, 0.4], 5), "weights must be finite and non-negative"),
    (lambda: round_design([np.nan, 1.0], 5), "weights must be finite and non-negative"),
    (lambda: round_design([0.7, 0.7], 5), "weights must sum to 1"),
    (lambda: round_design([[0.5, 0.5]], 5), "weights must be a non-empty 1-D"),
    (lambda: round_design([], 5), "weights must be a non-empty 1-D"),
    (lambda: round_design(HALF, 5, "floor"), "method must be one of"),
    (lambda: round_design(HALF, 5, "regret"), "arms must be given"),
    (lambda: round_design(HALF, 5, "regret", np.eye(3)), "arms must have one row per weight"),
    (lambda: round_design(HALF, 5, "regret", np.zeros((2, 2))), "arms must not all be zero"),
]


@pytest.mark.parametrize("call, message", BAD, ids=[message for _, message in BAD])
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
