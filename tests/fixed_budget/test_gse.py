"""GSE: sequential halving on the canonical basis, budgets, the options of the published code, the logistic model."""

from functools import partial
from math import ceil, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandits_lib import LinearBandit, instances, play
from bandits_lib.design import fwg_design
from bandits_lib.fixed_budget import gse
from bandits_lib.fixed_budget.gse import stages_needed
from bandits_lib.fixed_budget.stages import EXPLORERS, by_design

RNG = np.random.default_rng


def sequential_halving(means, budget, problem, rng):
    """Karnin, Koren and Somekh (2013), Algorithm 3, on its own: empirical means, no regression, no design."""
    left, counts = list(range(len(means))), np.zeros(len(means), dtype=int)
    for _ in range(ceil(np.log2(len(means)))):
        each = budget // (len(left) * ceil(np.log2(len(means))))
        batch = np.zeros(len(means), dtype=int)
        batch[left] = each
        sums = problem.pull(batch, rng).sums
        counts += batch
        left = sorted(sorted(left, key=lambda k: -sums[k])[: ceil(len(left) / 2)])
    return left[0], counts


@pytest.mark.parametrize("design", EXPLORERS)
@pytest.mark.parametrize(("K", "budget"), [(2, 10), (6, 54), (8, 3 * 8 * 4), (16, 4 * 16)])
def test_on_the_canonical_basis_it_is_sequential_halving(K, budget, design):
    problem = LinearBandit(np.eye(K), theta=np.linspace(1, 0.5, K))
    for seed in range(40):
        item, counts = sequential_halving(problem.means, budget, problem, RNG(seed))
        run = play(gse(np.eye(K), budget=budget, design=design, rng=RNG(0)), problem, RNG(seed))
        assert run.result.recommendation == item and (run.counts == counts).all()


problems = st.tuples(st.integers(2, 12), st.integers(1, 5), st.integers(0, 60), st.integers(0, 10**6))


@settings(max_examples=150, deadline=None)
@given(
    problems,
    st.sampled_from(list(EXPLORERS)),
    st.sampled_from(["ceil", "floor"]),
    st.sampled_from(["drop", "last"]),
    st.sampled_from(["regret", "multinomial"]),
    st.integers(2, 4),
)
def test_the_budget_is_kept_and_one_arm_is_left(problem, design, keep, remainder, rounding, eta):
    K, d, spare, seed = problem
    rng = RNG(seed)
    arms = rng.integers(-2, 3, (K, d)).astype(float)
    arms[0, 0] += not arms.any()
    world = LinearBandit(arms, theta=rng.standard_normal(d))
    stages = stages_needed(K, eta)
    budget = stages * np.linalg.matrix_rank(arms) + spare
    options = {"design": design, "keep": keep, "remainder": remainder, "rounding": rounding, "eta": eta}
    run = play(gse(arms, budget=budget, rng=rng, **options), world, rng)
    spent = [round.counts.sum() for round in run.result.history]
    assert run.stopped and sum(spent) == run.counts.sum() <= budget
    assert all(n >= budget // stages for n in spent) and len(spent) <= stages
    if remainder == "last" and len(spent) == stages:
        assert sum(spent) == budget
    sizes = [len(round.active) for round in run.result.history]
    assert all(
        after == (-(-before // eta) if keep == "ceil" else max(1, before // eta))
        for before, after in zip(sizes, sizes[1:], strict=False)
    )


@pytest.mark.parametrize("projection", ["span", "first3", "cumulative"])
@pytest.mark.parametrize("design", EXPLORERS)
def test_the_smallest_budget_that_runs_is_named(design, projection):
    problem = instances.sphere(20, RNG(0), d=5)
    least = 5 * (3 if projection == "first3" else 5)
    options = {"design": design, "projection": projection, "rng": RNG(0)}
    with pytest.raises(ValueError, match=f"at least {least} here .GSE has 5 stages.*got {least - 1}: raise it"):
        next(gse(problem.arms, budget=least - 1, **options))
    assert play(gse(problem.arms, budget=least, **options), problem, RNG(0)).counts.sum() == least


def test_stages_are_counted_with_whole_numbers():
    assert log(125, 5) > 3 and stages_needed(125, 5) == 3 and stages_needed(126, 5) == 4
    assert [stages_needed(K, 2) for K in (1, 2, 3, 4, 5, 8, 9, 1024, 1025)] == [0, 1, 2, 2, 3, 3, 4, 10, 11]


def test_taking_every_share_up_passes_the_budget():
    problem = instances.sphere(16, RNG(0), d=4)
    spent = {
        rounding: play(gse(problem.arms, budget=202, design="wynn", rounding=rounding), problem, RNG(0)).counts.sum()
        for rounding in ("regret", "ceil")
    }
    assert spent["regret"] == 200 and 202 < spent["ceil"] <= 200 + 16 + 8 + 4 + 2


def test_the_remainder_goes_to_the_last_stages():
    problem = LinearBandit(np.eye(8), theta=np.eye(8)[0])
    for remainder, spent in (("drop", [33, 33, 33]), ("last", [33, 34, 34])):
        run = play(gse(problem.arms, budget=101, remainder=remainder), problem, RNG(0))
        assert [round.counts.sum() for round in run.result.history] == spent


@pytest.mark.parametrize("eta", [9, 9.0])
def test_eta_of_the_number_of_arms_is_one_static_stage(eta):
    problem = instances.sphere(9, RNG(0), d=4)
    run = play(gse(problem.arms, budget=100, eta=eta), problem, RNG(0))
    assert len(run.result.history) == 1 and run.counts.sum() == 100


def errors(make, problem, runs):
    return sum(play(make(), problem, RNG(seed)).result.recommendation != problem.best_item for seed in range(runs))


def test_the_width_is_the_standard_deviation_of_the_widest_difference():
    problem = LinearBandit(np.eye(2), theta=[1.0, 0.0], sigma=3.0)
    (round,) = play(gse(problem.arms, budget=40, sigma=3.0), problem, RNG(0)).result.history
    assert round.width == pytest.approx(3 * np.sqrt(2 / 20))


def test_the_estimate_is_least_squares_on_the_stage_alone():
    problem, rng = instances.sphere(12, RNG(0), d=4), RNG(5)
    algorithm, sample = gse(problem.arms, budget=200, design="wynn"), None
    told = []
    try:
        while True:
            sample = problem.pull(algorithm.send(sample), rng)
            told.append(sample)
    except StopIteration as stop:
        history = stop.value.history
    for round, sample in zip(history, told, strict=True):
        rows = np.repeat(problem.arms, sample.counts, axis=0)
        means = np.repeat(sample.sums / np.maximum(sample.counts, 1), sample.counts)
        theta = np.linalg.lstsq(rows, means, rcond=None)[0]
        np.testing.assert_allclose(round.theta_hat, theta, atol=1e-8)
        assert (round.counts == sample.counts).all() and set(np.flatnonzero(sample.counts)) <= set(round.active)


def test_arms_that_became_one_point_are_ranked_by_a_coin():
    """Without noise e_1 and the arm at .1 from it reach the last stage, told apart only if e_2 was in the second."""
    problem = instances.benchmark(7, angle=0.1, sigma=1e-6)
    options = {"budget": 60, "sigma": 1e-6, "keep": "floor", "projection": "cumulative"}
    results = [play(gse(problem.arms, rng=RNG(seed), **options), problem, RNG(seed)).result for seed in range(400)]
    assert all(result.history[-1].active.tolist() == [0, 7] for result in results)
    assert all(result.history[-1].theta_hat.shape == (7,) for result in results)
    apart, coin = [], []
    for result in results:
        (apart if 1 in result.history[1].active else coin).append(result.recommendation == 0)
    assert all(apart) and len(coin) > 200
    assert abs(np.mean(coin) - 0.5) < 4 * 0.5 / np.sqrt(len(coin))
    assert errors(lambda: gse(problem.arms, **options | {"projection": "first3"}), problem, 50) == 0


def test_the_logistic_model_ranks_by_the_logistic_fit():
    arms = RNG(0).uniform(-0.5, 0.5, (8, 3))
    problem = LinearBandit(arms, theta=[6.0, -4.0, 2.0], link="logistic")
    assert errors(lambda: gse(arms, budget=3_000, model="logistic"), problem, 40) <= 2
    with pytest.raises(ValueError, match="rewards must be 0 or 1 for the logistic model"):
        gaussian = LinearBandit(arms, theta=[6.0, -4.0, 2.0])
        play(gse(arms, budget=3_000, model="logistic"), gaussian, RNG(0))


def test_arms_that_always_win_or_always_lose_are_ranked_all_the_same():
    problem = LinearBandit(np.eye(4), means=[1.0, 0.0, 0.5, 0.0], noise="bernoulli")
    assert errors(lambda: gse(np.eye(4), budget=80, model="logistic"), problem, 30) == 0


def test_survivors_that_are_all_zero_end_it():
    problem = LinearBandit([[1.0], [2.0], [0.0], [0.0]], theta=[-1.0], sigma=0.01)
    run = play(gse(problem.arms, budget=20, sigma=0.01), problem, RNG(0))
    assert run.result.recommendation in (2, 3) and len(run.result.history) == 1


def test_a_design_may_be_a_function():
    problem = instances.sphere(16, RNG(0), d=5)
    for seed in range(5):
        named = play(gse(problem.arms, budget=200, design="fwg"), problem, RNG(seed))
        given = play(gse(problem.arms, budget=200, design=partial(by_design, fwg_design)), problem, RNG(seed))
        assert named.result.recommendation == given.result.recommendation and (named.counts == given.counts).all()
    own = play(gse(problem.arms, budget=203, design=first_ones, rng=RNG(1)), problem, RNG(0))
    assert [entry.counts.sum() for entry in own.result.history] == [50] * 4
    assert (own.result.history[0].counts[:5] >= 5).all() and own.result.history[0].design_value > 5


def first_ones(arms, n, rng):
    """Five pulls of each of the first arms, the rest anywhere."""
    first = 5 * (np.arange(len(arms)) < 5)
    return first + rng.multinomial(n - first.sum(), np.full(len(arms), 1 / len(arms)))
