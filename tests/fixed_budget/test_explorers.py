"""Stage allocations: whole counts that sum and span, and a function of one's own. What they compute: tests/plain."""

from functools import partial

import numpy as np
import pytest
from arrangements import sphere
from hypothesis import given, settings
from hypothesis import strategies as st

from bandits_lib.design import design_value, fwg_design
from bandits_lib.fixed_budget.stages import (
    EXPLORERS,
    allocate,
    by_design,
    greedy_counts,
    project,
    rounded,
    uniform_counts,
)


def test_greedy_by_its_letter_never_leaves_the_first_unit_vector():
    assert (greedy_counts(np.eye(5), 25, ties="first") == [21, 1, 1, 1, 1]).all()
    assert (greedy_counts(np.eye(5), 25) == 5).all()


problems = st.tuples(st.integers(1, 12), st.integers(1, 5), st.integers(0, 12), st.integers(0, 10**6))


@settings(max_examples=120, deadline=None)
@given(problems, st.sampled_from(list(EXPLORERS)), st.sampled_from(["regret", "multinomial"]))
def test_counts_sum_to_n_and_span_what_the_arms_span(problem, design, rounding):
    m, d, spare, seed = problem
    rng = np.random.default_rng(seed)
    arms = rng.integers(-2, 3, (m, d)).astype(float)  # copies, zeros and multiples are common
    arms[0, 0] += not arms.any()
    stage = project(arms).arms
    rank = np.linalg.matrix_rank(arms)
    plan = allocate(stage, rank + spare, design, rounding, rng)
    assert stage.shape[1] == rank and plan.counts.sum() == rank + spare and (plan.counts >= 0).all()
    assert np.linalg.matrix_rank(arms[plan.counts > 0]) == rank
    np.testing.assert_allclose(plan.inverse @ (stage.T * plan.counts) @ stage, np.eye(rank), atol=1e-8)


def test_few_uniform_pulls_go_to_random_arms():
    seen = [uniform_counts(sphere(6, 2), 3, np.random.default_rng(seed)) for seed in range(200)]
    rates = np.mean(seen, axis=0)
    assert max(map(np.max, seen)) == 1 and (np.abs(rates - 0.5) < 4 * np.sqrt(0.25 / 200)).all()


def test_uniform_pulls_that_miss_a_dimension_are_given_out_again():
    arms = np.vstack([np.tile([1.0, 0.0], (30, 1)), [[0.0, 1.0]]])
    for seed in range(20):
        counts = uniform_counts(arms, 5, np.random.default_rng(seed))
        assert counts.sum() == 5 and counts[-1] >= 1


def test_taking_up_passes_the_budget_and_nothing_else_does():
    arms = sphere(40, 4)
    weights = fwg_design(arms).weights
    assert 100 < rounded(arms, weights, 100, "ceil").sum() <= 100 + 40
    for rounding in ("regret", "multinomial"):
        assert rounded(arms, weights, 100, rounding, np.random.default_rng(0)).sum() == 100


def test_a_function_of_ones_own_gives_counts_or_a_plan():
    arms = sphere(12, 4)

    def first_arms(arms, n, rng):
        counts = rng.multinomial(n - 4, np.full(len(arms), 1 / len(arms)))
        counts[:4] += 1
        return counts.tolist()

    plan = allocate(arms, 50, first_arms, "regret", np.random.default_rng(0))
    assert plan.counts.sum() == 50 and (plan.counts[:4] > 0).all()
    assert plan.value == pytest.approx(50 * design_value(arms, plan.counts, arms))
    np.testing.assert_allclose(plan.inverse, np.linalg.inv((arms.T * plan.counts) @ arms))
    for rounding in ("regret", "ceil"):
        own = allocate(arms, 50, partial(by_design, fwg_design, rounding=rounding), "regret")
        for mine, named in zip(own, allocate(arms, 50, "fwg", rounding), strict=True):
            np.testing.assert_array_equal(mine, named)


def test_ties_of_another_kind_are_refused():
    with pytest.raises(ValueError, match="ties must be one of"):
        greedy_counts(np.eye(2), 5, ties="last")
