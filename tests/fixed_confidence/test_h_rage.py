"""H-RAGE: a burn-in that covers, phases as in Lemma E.1, and RAGE when the noise is equal."""

from functools import partial
from math import log

import numpy as np
import pytest
from scipy import stats

from bandits_lib import instances, monte_carlo, play
from bandits_lib.design import frank_wolfe_design, pairs, weighted_design, xy_design
from bandits_lib.fixed_confidence import h_rage, rage, rage_halving
from bandits_lib.variance import burn_in, head
from bandits_lib.variance.head import FORMS

NOISY = instances.signal_to_noise(angle=0.1)
BOUNDS = {"sigma_min": NOISY.sigma.min(), "sigma_max": NOISY.sigma.max()}


def told(problem, **options):
    """H-RAGE on a problem, told the true bounds on its noise."""
    bounds = {"sigma_min": problem.sigma.min(), "sigma_max": problem.sigma.max()}
    return h_rage(problem.arms, problem.items, **({"delta": 0.05} | bounds | options))


def test_history_begins_with_the_burn_in_and_phases_end_with_widths_below_two_to_the_minus_l():
    run = play(told(NOISY, burn_in=5_000), NOISY, np.random.default_rng(0))
    history = run.result.history
    assert [r.index for r in history] == list(range(-1, len(history) - 1)) and len(history) > 5
    assert sum(r.counts.sum() for r in history if r.index <= 0) == 5_000
    assert sum(r.counts.sum() for r in history) == run.counts.sum()
    for r in history[2:]:
        assert 0 < r.width <= 2.0**-r.index
        assert r.lower_bound <= r.design_value <= 1.001 * r.lower_bound
        tau = 3 * 4**r.index * r.design_value * log(8 * r.index**2 * len(NOISY.items) / 0.05)
        assert tau <= r.counts.sum() <= tau + np.count_nonzero(r.counts)


@pytest.mark.parametrize("form", FORMS)
def test_burn_ins_by_name_are_as_long_as_the_formulas_say(form):
    run = play(told(NOISY, burn_in=form), NOISY, np.random.default_rng(0))
    stages = run.result.history[:2]
    long = burn_in(form, K=9, d=4, delta=0.05, **BOUNDS)
    assert stages[0].counts.sum() == long // 2 and stages[1].counts.sum() == long - long // 2


def test_the_burn_in_is_head_and_its_estimates_make_the_phases():
    whole = play(told(NOISY, burn_in=5_000), NOISY, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    estimate = play(head(NOISY.arms, budget=5_000, **BOUNDS), NOISY, rng).result.recommendation
    rest = play(told(NOISY, burn_in=estimate.sigma), NOISY, rng)
    assert (whole.counts == estimate.counts + rest.counts).all()
    assert whole.result.recommendation == rest.result.recommendation


def test_estimates_are_clipped_to_the_bounds():
    wild = np.where(NOISY.sigma > 0.5, 7.0, 0.01)
    clipped = np.where(NOISY.sigma > 0.5, BOUNDS["sigma_max"], BOUNDS["sigma_min"])
    runs = [play(told(NOISY, burn_in=s), NOISY, np.random.default_rng(0)).counts for s in (wild, clipped)]
    assert (runs[0] == runs[1]).all()


def test_equal_variances_make_the_designs_of_rage():
    problem = instances.sphere(30, np.random.default_rng(0), d=4, sigma=2.0)
    mine = play(told(problem, burn_in=problem.sigma), problem, np.random.default_rng(1)).result.history
    theirs = play(rage_halving(problem.arms, delta=0.05, sigma=2.0), problem, np.random.default_rng(1))
    design = xy_design(problem.arms, pairs(problem.arms))
    np.testing.assert_allclose(weighted_design(problem.arms, pairs(problem.arms), 2.0).weights, design.weights)
    assert mine[0].design_value == pytest.approx(4 * design.value)
    assert theirs.result.history[0].design_value == pytest.approx(design.value)
    for history, factor in ((mine, 3), (theirs.result.history, 2)):
        tau = 4 * factor * 4 * design.value * log(8 * 30 / 0.05)
        np.testing.assert_allclose(history[0].counts, np.ceil(tau * design.weights), atol=1)


def test_equal_variances_take_rage_to_the_same_phases_with_its_own_factor():
    """Told 3/2 of the variance, RAGE makes H-RAGE's very pulls."""
    problem = instances.benchmark(3, angle=0.2, sigma=0.5)
    mine = play(told(problem, burn_in=problem.sigma), problem, np.random.default_rng(1))
    loose = rage_halving(problem.arms, delta=0.05, sigma=0.5 * np.sqrt(1.5))
    theirs = play(loose, problem, np.random.default_rng(1), misspecified=True)
    np.testing.assert_allclose(mine.counts, theirs.counts, atol=1)


def test_arms_that_do_not_span_the_space_cost_no_more_than_their_span():
    """19 indicators of rank 7 are 7 features: same burn-in, same pulls, same answer."""
    runs = {}
    for coding in ("reference", "indicators"):
        problem = instances.multivariate_testing(coding=coding)
        runs[coding] = play(told(problem, burn_in="theory"), problem, np.random.default_rng(0))
    np.testing.assert_allclose(runs["reference"].counts, runs["indicators"].counts, rtol=1e-6, atol=2)
    assert [run.result.recommendation for run in runs.values()] == [1, 1]


def test_identical_arms_are_allowed_where_the_items_are_distinct():
    problem = instances.signal_to_noise(angle=0.2, estimation="code")
    run = play(told(problem, burn_in=5_000), problem, np.random.default_rng(0))
    assert run.result.recommendation == 0 and len(run.counts) == 10


def test_options_of_the_published_code():
    published = instances.option_set("weltz2023_code")
    first = {}
    for log_items in ("paper", "code"):
        run = play(told(NOISY, burn_in=5_000, log_items=log_items), NOISY, np.random.default_rng(0))
        first[log_items] = run.result.history[2].counts.sum()
    assert first["code"] / first["paper"] == pytest.approx(log(8 * 81 / 0.05) / log(8 * 9 / 0.05), rel=0.01)
    run = play(told(NOISY, **published["h_rage"]), NOISY, np.random.default_rng(0))
    assert run.result.history[0].counts.sum() == burn_in("code", K=9, d=4, delta=0.05, **BOUNDS) // 2
    theirs = frank_wolfe_design(NOISY.arms, pairs(NOISY.items), sigma=NOISY.sigma).value
    assert theirs > weighted_design(NOISY.arms, pairs(NOISY.items), NOISY.sigma).value
    assert play(
        rage_halving(NOISY.arms, delta=0.05, **published["rage_halving"]), NOISY, np.random.default_rng(0)
    ).stopped


def test_time_does_not_grow_with_pulls():
    """10^14 pulls would be 3 years at a million a second."""
    run = play(told(NOISY, burn_in=10**14), NOISY, np.random.default_rng(0))
    assert run.counts.sum() > 10**14 and run.result.recommendation == 0


def within_half(problem, estimate):
    return bool((np.abs(estimate.sigma**2 - problem.sigma**2) <= estimate.sigma**2 / 2).all())


def coverage(budget, runs, problem=NOISY):
    bounds = {"sigma_min": problem.sigma.min(), "sigma_max": problem.sigma.max()}
    rules = {"head": lambda p, rng: head(p.arms, budget=budget, **bounds)}
    return int(monte_carlo(rules, lambda rng: problem, runs=runs, correct=within_half)["correct"].sum())


@pytest.mark.parametrize("form", FORMS)
def test_every_named_burn_in_covers_and_a_short_one_does_not(form):
    """|sigma_hat^2 - sigma^2| <= sigma_hat^2 / 2 for all arms, with probability 1 - delta / 2 at least (Lemma D.1)."""
    delta, runs = 0.4, 300
    right = coverage(burn_in(form, K=9, d=4, delta=delta, **BOUNDS), runs)
    assert stats.binomtest(right, runs, 1 - delta / 2, alternative="greater").pvalue < 1e-3
    short = coverage(60, runs)
    assert stats.binomtest(short, runs, 1 - delta / 2, alternative="less").pvalue < 1e-3


@pytest.mark.parametrize(("log_items", "saved"), [("paper", 1), ("code", 9)])
def test_the_union_bound_adds_up(log_items, saved):
    """By its pulls, each of 9 two-sided comparisons of phase l errs with probability 2 exp(-tau_l / (3 4^l q)) at most.

    All of a phase: delta / (4 l^2), a ninth of it with the code's logarithm. All phases: .41 delta, below the delta / 2
    that the burn-in leaves.
    """
    delta, total = 0.05, 0.0
    history = play(told(NOISY, burn_in=NOISY.sigma, log_items=log_items), NOISY, rng(0)).result.history
    for phase in history:
        unit, rounded_up = 3 * 4**phase.index * phase.design_value, np.count_nonzero(phase.counts)
        least = 2 * 9 * np.exp(-phase.counts.sum() / unit)
        most, share = least * np.exp(rounded_up / unit), delta / (4 * phase.index**2 * saved)
        assert least <= share * (1 + 1e-9) and share * (1 - 1e-9) <= most
        total += least * saved
    assert len(history) > 4 and 0.3 * delta < total < np.pi**2 / 24 * delta < delta / 2


@pytest.mark.parametrize("rule", [rage, rage_halving])
def test_a_design_that_gives_a_direction_up_is_named(rule):
    problem = instances.signal_to_noise()
    run = play(told(problem, burn_in=5_000, design=partial(frank_wolfe_design, prune=0.0)), problem, rng(0))
    assert run.result.recommendation == 0
    with pytest.raises(ValueError, match="design leaves a direction of items 0, 4, 5, 6 without pulls"):
        play(rule(problem.arms, delta=0.05, design=frank_wolfe_design), problem, rng(0))


def rng(seed):
    return np.random.default_rng(seed)
