"""Lazy Track-and-Stop: its options against a plain-numpy twin, it tracks, and it errs rarely enough."""

import sys
from functools import partial

import numpy as np
import pytest
from scipy import stats

from bandits_lab import Lab
from bandits_lib import LinearBandit, complexity, instances, monte_carlo, play
from bandits_lib.design import design_value, frank_wolfe_design, xy_design
from bandits_lib.fixed_confidence import lazy_track_and_stop
from bandits_lib.glr import opening
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import total


def plug_in(arms, items, theta):
    """Directions (best - z) / gap whose XY-design is optimal for theta; None if the best is not unique."""
    best = argmax(items @ theta)
    y = items[best] - np.delete(items, best, axis=0)
    return None if (y @ theta <= 0).any() else y / (y @ theta)[:, None]


def twin(problem, rng, delta, times, solved, averaging=True, u=1.0, union=False, slack=1e-3):
    """Algorithm 1 in plain numpy, everything computed afresh at every pull: counts and recommendation.

    solved : the allocations that the rule computed, in turn. An optimum need not be unique, and rounding errors may
    choose another: so they are taken over, once they are seen to be optimal for the twin's own estimate.
    """
    arms, items = problem.arms, problem.items
    K, d = arms.shape
    first = opening(arms, items).first
    counts = np.bincount(first, minlength=K)
    sums = problem.pull(counts, rng).sums
    c = np.linalg.eigvalsh(arms[first].T @ arms[first])[0]
    w = counts / d
    drawn, t, turn, solved = w * d, d, 0, iter(solved)
    while True:
        information = (arms.T * counts) @ arms
        theta = np.linalg.solve(information, arms.T @ sums)
        best = argmax(items @ theta)
        y = items[best] - np.delete(items, best, axis=0)
        z = ((y @ theta) ** 2 / (2 * np.einsum("nd,dn->n", y, np.linalg.solve(information, y.T)))).min()
        logdet = np.linalg.slogdet(information / (u * c) + np.eye(d))[1]
        if z > (1 + u) * (logdet / 2 + np.log((np.pi * t) ** 2 / 6 if union else 1) - np.log(delta)):
            return counts, int(best)
        if t in times and (y := plug_in(arms, items, theta)) is not None:
            drawn, w = drawn - w, next(solved)
            assert design_value(arms, w, y) <= (1 + slack) * xy_design(arms, y).value
            drawn = drawn + w
        if np.linalg.eigvalsh(information)[0] < c * np.sqrt(t / d) * (1 - 1e-9):
            arm, turn = first[turn], (turn + 1) % d
        else:
            target = drawn if averaging else t * w
            arm = argmax(np.where(target > 0, t + target - counts, -np.inf))
        counts[arm] += 1
        sums[arm] += problem.means[arm] + rng.standard_normal()
        t, drawn = t + 1, drawn + w


DOUBLING = {2**k for k in range(20)}
EASY = LinearBandit(instances.sphere(25, np.random.default_rng(1), d=3).arms, theta=[2.0, 1.0, 0.0])
PROBLEMS = {
    "benchmark": instances.benchmark(4, angle=0.5),
    "sphere": EASY,
    "items": LinearBandit(np.eye(3), items=[[1.0, 0.2, 0.0], [0.3, 1.0, 0.4], [0.5, 0.5, 1.0]], theta=[1.5, 0.2, 0.1]),
}


OPTIONS = [
    {"averaging": False, "update": 7},
    {"update": [2, 16, 4, 256, 2**16, 2**64]},
    {"u": 0.1, "delta_schedule": "union"},
    {"design": "frank_wolfe"},
    {"design": "frank_wolfe", "warm_start": False, "averaging": False},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_compiled_loop_pulls_what_the_twin_pulls(name, options, monkeypatch):
    problem, solved = PROBLEMS[name], []
    for solver in (xy_design, frank_wolfe_design):
        kept = partial(keep, solver, solved)
        monkeypatch.setattr(sys.modules[lazy_track_and_stop.__module__], solver.__name__, kept)
    own = {key: options[key] for key in ("averaging", "u") if key in options}
    update = options.get("update", DOUBLING)
    own["times"] = set(range(1, 10**5, update) if isinstance(update, int) else update)
    own["union"] = options.get("delta_schedule") == "union"
    own["slack"] = 2e-3 if "design" not in options else 0.5
    for seed in range(2):
        solved.clear()
        rule = lazy_track_and_stop(problem.arms, problem.items, delta=0.1, **options)
        run = play(rule, problem, np.random.default_rng(seed))
        counts, best = twin(problem, np.random.default_rng(seed), 0.1, solved=solved, **own)
        np.testing.assert_array_equal(run.counts, counts)
        assert run.result.recommendation == best
    assert run.counts.sum() > 60 and len(solved) > 1


def keep(solver, solved, *args, **kwargs):
    design = solver(*args, **kwargs)
    solved.append(design.weights)
    return design


# ---- what it tracks


def test_proportions_approach_the_optimal_allocation():
    """Proposition 1 on an instance whose optimum is unique, after some ten thousand pulls."""
    problem = instances.benchmark(2, angle=0.1)
    optimum = complexity.oracle_design(problem.arms, theta=problem.theta).weights
    for averaging, tolerance in ((True, 0.02), (False, 0.002)):
        rule = lazy_track_and_stop(problem.arms, delta=1e-9, averaging=averaging)
        history = play(rule, problem, np.random.default_rng(0), trace=1000).trace
        assert history[-1].pulls > 10_000
        assert np.abs(history[-1].counts / history[-1].pulls - optimum).max() < tolerance


def test_the_least_eigenvalue_follows_f():
    """Lemma 5: on the benchmark the optimum neglects e_3, so only forced pulls keep f(t) within reach."""
    problem = instances.benchmark(3, angle=0.2)
    history = play(lazy_track_and_stop(problem.arms, delta=0.05), problem, np.random.default_rng(0), trace=50).trace
    for look in history:
        least = np.linalg.eigvalsh((problem.arms.T * look.counts) @ problem.arms)[0]
        assert least >= np.sqrt(max(look.pulls - 4, 0) / 3) * (1 - 1e-9)  # c = 1; a turn through A_0 may be due
    assert history[-1].counts[2] < 2.5 * np.sqrt(history[-1].pulls / 3)


def test_an_allocation_given_is_tracked_to_the_pull():
    problem = instances.benchmark(3, angle=0.5)
    weights = np.array([0.2, 0.3, 0.1, 0.4])
    rule = lazy_track_and_stop(problem.arms, delta=0.05, allocation=5 * weights)
    history = play(rule, problem, np.random.default_rng(0), trace=10).trace
    assert all(np.abs(look.counts - look.pulls * weights).max() <= 4 for look in history) and len(history) > 10


def test_the_statistic_exceeds_the_threshold_at_the_stop_alone():
    *before, last = play(lazy_track_and_stop(EASY.arms, delta=0.05), EASY, np.random.default_rng(0), trace=50).trace
    assert [look.pulls for look in before[:3]] == [3, 53, 103]
    assert all(look.statistic <= look.threshold for look in before) and last.statistic > last.threshold


def test_the_last_look_is_there_once():
    """Also where the stop and a look fall together, as they always do with a look at every pull."""
    for seed in range(20):
        history = play(lazy_track_and_stop(EASY.arms, delta=0.05), EASY, np.random.default_rng(seed), trace=1).trace
        assert [look.pulls for look in history] == list(range(3, history[-1].pulls + 1))


def test_after_the_last_of_the_times_given_the_allocation_stays():
    rules = [lazy_track_and_stop(EASY.arms, delta=1e-6, update=update) for update in ("doubling", [4, 8], (8, 4))]
    doubling, *twice = (play(rule, EASY, np.random.default_rng(0)).counts for rule in rules)
    assert (twice[0] == twice[1]).all() and (twice[0] != doubling).any() and twice[0].sum() > 16


def test_only_random_first_arms_need_and_use_the_rng():
    with pytest.raises(ValueError, match="rng must be given when initial='random'"):
        next(lazy_track_and_stop(EASY.arms, delta=0.05, initial="random"))
    rule = partial(lazy_track_and_stop, EASY.arms, delta=0.05, initial="random")
    first = [next(rule(rng=np.random.default_rng(seed))).nonzero()[0].tolist() for seed in range(5)]
    assert len(set(map(tuple, first))) > 1


def test_an_estimate_without_a_unique_best_item_leaves_the_allocation_as_it_was():
    problem = LinearBandit(np.eye(2), theta=[1.0, 0.0], sigma=0.0)
    problem.means[:] = 0.0  # nothing but ties
    run = play(lazy_track_and_stop(problem.arms, delta=0.05), problem, np.random.default_rng(0), max_pulls=40)
    assert run.counts.tolist() == [20, 20]


# ---- a person in the place of the simulator


def test_a_lab_reopened_from_its_log_every_50_pulls_ends_where_the_simulation_ends(tmp_path):
    problem = instances.benchmark(3, angle=0.3)
    played = play(lazy_track_and_stop(problem.arms, delta=0.05), problem, np.random.default_rng(5))
    lab, rng, told = Lab(lazy_track_and_stop(problem.arms, delta=0.05)), np.random.default_rng(5), 0
    while (wanted := lab.ask()) is not None:
        lab.tell(problem.pull(wanted, rng))
        told += wanted.sum()
        if told % 50 == 0:
            lab.save(tmp_path / "log.csv")
            lab = Lab(lazy_track_and_stop(problem.arms, delta=0.05), tmp_path / "log.csv")
    assert told == played.counts.sum() > 150
    assert lab.result.recommendation == played.result.recommendation
    assert total(lab.log).counts.tolist() == played.counts.tolist()


# ---- errors


def errors(runs, **options):
    """How often the rule errs on two arms that differ by .2 standard deviations."""
    problem = LinearBandit(np.eye(2), theta=[0.2, 0.0])
    rules = {"rule": partial(_rule, options=options)}
    table = monte_carlo(rules, lambda rng: problem, runs=runs, seed=1, misspecified="sigma" in options)
    return int((~table["correct"]).sum())


def _rule(problem, rng, options):
    return lazy_track_and_stop(problem.arms, **options)


def test_errors_stay_below_delta_and_understated_noise_is_caught():
    """Binomial: at rate delta, so many errors or fewer have probability .975; with sigma / 4 there must be more."""
    runs, delta = 300, 0.1
    assert errors(runs, delta=delta) <= stats.binom.ppf(0.025, runs, delta)
    assert errors(runs, delta=delta, sigma=0.25) > stats.binom.ppf(0.975, runs, delta)


# ---- where Frank-Wolfe begins


def test_frank_wolfe_begins_where_it_is_told():
    """One step from `start` moves 2/3 of the mass to one vertex; uniform weights are the default."""
    problem = instances.benchmark(3, angle=0.5)
    y = problem.arms[:1] - problem.arms[1:]
    start = np.array([0.1, 0.2, 0.3, 0.4])
    moved = frank_wolfe_design(problem.arms, y, max_iter=1, start=7 * start).weights - start / 3
    assert np.sort(moved) == pytest.approx([0, 0, 0, 2 / 3])
    plain, uniform = (frank_wolfe_design(problem.arms, y, start=begin) for begin in (None, np.ones(4)))
    np.testing.assert_array_equal(plain.weights, uniform.weights)


@pytest.mark.parametrize("start", [np.ones(3), [1, 1, np.nan, 1], [1, 1, -1, 1], [1, 1, 0, 0]], ids=str)
def test_a_start_that_does_not_span_or_is_no_weight_is_refused(start):
    problem = instances.benchmark(3, angle=0.5)
    with pytest.raises(ValueError, match="start must be"):
        frank_wolfe_design(problem.arms, problem.arms[:1] - problem.arms[1:], start=start)
