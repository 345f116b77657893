"""H-RAGE: a burn-in that covers, phases as in Lemma E.1, and RAGE when the noise is equal."""

from functools import partial
from math import log

import numpy as np
import pytest

from bandits_lib import instances, play
from bandits_lib.design import frank_wolfe_design, pairs, weighted_design
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


@pytest.mark.parametrize("rule", [rage, rage_halving])
def test_a_design_that_gives_a_direction_up_is_named(rule):
    problem = instances.signal_to_noise()
    run = play(told(problem, burn_in=5_000, design=partial(frank_wolfe_design, prune=0.0)), problem, rng(0))
    assert run.result.recommendation == 0
    with pytest.raises(ValueError, match="design leaves a direction of items 0, 4, 5, 6 without pulls"):
        play(rule(problem.arms, delta=0.05, design=frank_wolfe_design), problem, rng(0))


def rng(seed):
    return np.random.default_rng(seed)
