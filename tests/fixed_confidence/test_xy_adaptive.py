"""XY-adaptive: the published readings, greedy pulls one by one."""

import sys
from functools import partial

import numpy as np
import pytest

from bandits_lib import LinearBandit, instances, monte_carlo, play
from bandits_lib.design import cache_clear
from bandits_lib.design.g_optimal import spanning_arms
from bandits_lib.fixed_confidence import lingape, xy_adaptive
from bandits_lib.fixed_confidence.xy_adaptive import pull_greedily
from bandits_lib.plain.xy_adaptive import greedy as greedy_arm
from bandits_lib.plain.xy_adaptive import norms
from bandits_lib.protocol import one_pull

CODE = instances.option_set("fiez2019_code")["xy_adaptive"]
RULE = sys.modules[xy_adaptive.__module__]


@pytest.fixture(autouse=True)
def forget():
    """Every test computes its own allocations."""
    cache_clear()


PROBLEMS = {
    "benchmark": instances.benchmark(4, angle=0.4),
    "sphere": instances.sphere(12, np.random.default_rng(5), d=3),
    "items": LinearBandit(np.eye(3), items=[[1.0, 0.2, 0.0], [0.3, 1.0, 0.4], [0.5, 0.5, 1.0]], theta=[1.0, 0.2, 0.1]),
}


@pytest.mark.parametrize("options", [CODE, {"ratio": "per_pull"}], ids=["published", "per pull"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_first_phase_of_the_published_readings(name, options):
    """Greedy pulls until the norm, divided by pulls and ridge, is a tenth of rho_0 / n_0; then least squares."""
    arms, items, theta = PROBLEMS[name].arms, PROBLEMS[name].items, PROBLEMS[name].theta
    d, (rows, columns) = len(theta), np.triu_indices(len(items), 1)
    ridge = np.eye(d) if "start" in options else np.zeros((d, d))
    counts, norm = one_pull([] if ridge.any() else spanning_arms(arms), len(arms)), np.inf
    while norm >= 0.1 / (d * (d + 1) + 1):
        inverse = np.linalg.inv(ridge + (arms.T * counts) @ arms)
        counts[greedy_arm(arms, items[rows] - items[columns], inverse)] += 1
        inverse = np.linalg.inv(ridge + (arms.T * counts) @ arms)
        norm = norms(items[rows] - items[columns], inverse).max() / (counts.sum() + ridge.trace())
    rule, silent = (
        xy_adaptive(arms, items, delta=0.05, **options),
        LinearBandit(arms, items=items, theta=theta, sigma=0),
    )
    phase = play(rule, silent, np.random.default_rng(0), misspecified=True).result.history[0]
    made = phase.counts - one_pull(0, len(arms)) * int(ridge.trace())
    np.testing.assert_array_equal(made, counts)
    np.testing.assert_allclose(phase.theta_hat, inverse @ (arms.T * counts) @ arms @ theta, rtol=1e-9, atol=1e-12)


# ---- greedy pulls


def allocation(problem, pulls, at_once=10**9):
    """Counts after so many pulls in all, of which so many at a time begin with a fresh inversion."""
    counts = one_pull(spanning_arms(problem.arms), len(problem.arms))
    while (left := pulls - counts.sum()) > 0:
        items, until = problem.items - problem.items[0], (0, 0.0, False, min(at_once, left))
        counts, *_ = pull_greedily(problem.arms, items, counts, until)
    return counts


@pytest.mark.parametrize(
    "problem",
    [
        instances.sphere(60, np.random.default_rng(0), d=5),
        instances.many_arms(60, np.random.default_rng(0), "code"),
        instances.transductive(40),  # a plateau of hundreds of equal norms
        instances.sphere(20, np.random.default_rng(0), d=12),  # few arms: their products are kept, not the inverse
    ],
    ids=["sphere", "many arms", "transductive", "few arms"],
)
def test_rank_one_updates_make_the_same_choices_as_fresh_inversions(problem):
    np.testing.assert_array_equal(allocation(problem, 3_000), allocation(problem, 3_000, at_once=7))


def test_where_all_arms_tie_the_pulls_go_round():
    """Each e_i - e_j is left alone by some arm, so no arm lowers the largest norm, again and again."""
    counts = allocation(LinearBandit(np.eye(4), theta=np.eye(4)[0]), 403)
    assert counts.max() - counts.min() <= 1
    assert (allocation(instances.benchmark(5), 1_000)[:5] > 150).all()


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_units_change_nothing(scale):
    """The default start has no unit of its own."""
    problem = instances.sphere(30, np.random.default_rng(5), d=3)
    scaled = LinearBandit(scale * problem.arms, theta=problem.theta / scale)
    one, other = (
        play(xy_adaptive(p.arms, delta=0.05), p, np.random.default_rng(0), max_pulls=10**6) for p in (problem, scaled)
    )
    np.testing.assert_array_equal(one.counts, other.counts)


@pytest.mark.parametrize("scale", [1e-3, 1e4])
def test_the_published_start_is_robust_to_units_though_it_depends_on_them(scale):
    problem = instances.sphere(70, np.random.default_rng(5), d=3)
    scaled = LinearBandit(scale * problem.arms, theta=problem.theta / scale)
    run = play(xy_adaptive(scaled.arms, delta=0.05, **CODE), scaled, np.random.default_rng(0), max_pulls=10**5)
    assert run.counts.sum() > 0 and (not run.stopped or run.result.recommendation == problem.best_item)


def test_a_long_phase_is_asked_for_in_batches_to_the_same_end(monkeypatch):
    problem = PROBLEMS["benchmark"]
    whole = play(xy_adaptive(problem.arms, delta=0.05), problem, np.random.default_rng(0))
    cache_clear()
    monkeypatch.setattr(RULE, "BATCH", 300)
    in_parts, asked, reply = xy_adaptive(problem.arms, delta=0.05), [], None
    with pytest.raises(StopIteration) as stop:
        while True:
            asked.append(in_parts.send(reply))
            reply = problem.pull(asked[-1], np.random.default_rng(len(asked)))
    assert max(map(np.sum, asked)) <= 300 + 4 and len(asked) > len(whole.result.history)
    assert min(map(np.sum, asked)) > 0
    np.testing.assert_array_equal(stop.value.value.history[0].counts, whole.result.history[0].counts)
    cut = play(xy_adaptive(problem.arms, delta=0.05), problem, np.random.default_rng(0), max_pulls=1_000)
    assert not cut.stopped and 600 < cut.counts.sum() <= 1_000


@pytest.mark.parametrize("given", [{}, CODE], ids=["text", "code"])
@pytest.mark.parametrize("problem", [instances.many_arms(70, np.random.default_rng(3), "sd.09"), PROBLEMS["benchmark"]])
def test_products_that_are_not_stored_change_no_pull(monkeypatch, problem, given):
    def counts(**limits):
        cache_clear()
        for name, value in limits.items():
            monkeypatch.setattr(RULE, name, value)
        run = play(xy_adaptive(problem.arms, delta=0.05, **given), problem, np.random.default_rng(0))
        return [phase.counts.tolist() for phase in run.result.history]

    whole = counts(MANY=10**9)
    assert counts(MANY=0) == whole
    assert counts(MANY=0, FEW=0) == whole


def test_remembered_phases_change_nothing(monkeypatch):
    problem = PROBLEMS["benchmark"]
    fresh = play(xy_adaptive(problem.arms, delta=0.05), problem, np.random.default_rng(0)).result.history
    monkeypatch.setattr(RULE, "norms_of", None)  # nothing is computed anew
    again = play(xy_adaptive(problem.arms, delta=0.05), problem, np.random.default_rng(0)).result.history
    for first, second in zip(fresh, again, strict=True):
        for one, other in zip(first, second, strict=True):
            np.testing.assert_array_equal(one, other)


def test_the_ridge_is_counted_as_d_pulls_that_nobody_looks_at():
    problem = PROBLEMS["benchmark"]
    rule, rng, reply, asked = xy_adaptive(problem.arms, delta=0.05, **CODE), np.random.default_rng(0), None, []
    with pytest.raises(StopIteration) as stop:
        while True:
            asked.append(rule.send(reply))
            reply = problem.pull(asked[-1], rng)
            if len(asked) % 2:
                assert asked[-1].tolist() == [4, 0, 0, 0, 0]
                reply = reply._replace(sums=np.full(5, np.nan))
    history = stop.value.value.history
    assert len(asked) == 2 * len(history) and np.isfinite([phase.theta_hat for phase in history]).all()
    assert sum(phase.counts.sum() for phase in history) == np.sum(asked)


@pytest.mark.slow
@pytest.mark.parametrize(("d", "published"), [(5, 562_802), (10, 740_000)])
def test_fiez2019_figure_1a_in_the_median(d, published):
    """The published code, d = 5: mean of 2 runs; d = 10: read as "about .74M". Totals sit on a grid: within 15 %."""
    make = {"rule": lambda p, rng: xy_adaptive(p.arms, delta=0.05, **CODE)}
    table = monte_carlo(make, lambda rng: instances.benchmark(d), runs=200, seed=2019)
    assert table["correct"].all() and table["pulls"].median() == pytest.approx(published, rel=0.15)


@pytest.mark.slow
def test_fiez2019_figure_1a_lingape_in_the_median():
    """The published code, d = 5: 693,718 in the mean of 2 runs, with the true norm of theta."""
    rule = partial(lingape, delta=0.05, theta_bound=2.0)
    table = monte_carlo({"rule": lambda p, rng: rule(p.arms)}, lambda rng: instances.benchmark(5), runs=60, seed=2019)
    assert table["correct"].all() and table["pulls"].median() == pytest.approx(693_718, rel=0.15)
