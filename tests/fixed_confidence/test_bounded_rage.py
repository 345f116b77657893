"""RAGE by betting: bets are fair, sums never show more than rewards, phases grow, rewards are fractions."""

from itertools import product
from math import log

import numpy as np
import pytest
from scipy import stats

from bandits_lab import Lab
from bandits_lib import LinearBandit, Sample, play
from bandits_lib.fixed_confidence import bounded_rage
from bandits_lib.fixed_confidence.bounded_rage import LEADS, WEIGHTS, Guess, log_growth, log_wealth

PAGES = np.array([[1.0, a == 0, a == 1, b, c] for a in range(3) for b in (0, 1) for c in (1, 0)])
SHOP = LinearBandit(PAGES, theta=[0.1, 0.08, -0.03, -0.04, 0.05], noise="bernoulli")
AGAINST = np.array([[-1.0, 1.0]])  # arm 1, the rival, minus arm 0


def expected_wealth(rates, q, counts=(12, 9)):
    """(J,) exact expectation, over all outcomes of a phase, of what bets on a lead of arm 1 over arm 0 come to."""
    guess, mean = Guess(np.array(q), np.sqrt(np.array(q) * (1 - np.array(q)))), 0.0
    for sums in product(*(range(n + 1) for n in counts)):
        chance = stats.binom.pmf(sums, counts, rates).prod()
        sample = Sample(np.array(counts), np.array(sums, float), np.array(sums, float))
        mean = mean + chance * np.exp(log_wealth(np.eye(2), sample, guess, AGAINST, 1.0)[0][0])
    return mean


@pytest.mark.parametrize("rate", [0.02, 0.1, 0.5, 0.97])
@pytest.mark.parametrize("q", [(0.5, 0.5), (0.1, 0.1), (0.02, 0.9)])
def test_bets_against_the_best_are_fair_whatever_was_guessed(rate, q):
    for behind in (0.0, 0.01):
        assert expected_wealth((rate, rate - behind), q).max() <= 1 + 1e-12


def test_bets_on_a_true_lead_win_and_good_guesses_win_more():
    rates = (0.1, 0.5)
    well, badly = (expected_wealth(rates, q) for q in (rates, (0.9, 0.05)))
    assert well.max() > 2 and well[2] > badly[2]
    assert expected_wealth((0.1, 0.1), (0.1, 0.1)).min() > 0.99  # what a fair bet costs


def test_the_weights_of_the_bets_add_up_to_one():
    assert WEIGHTS.sum() == pytest.approx(1) and WEIGHTS.min() > 0 and len(WEIGHTS) == len(LEADS)


@pytest.mark.parametrize("spread", [0.0, 0.02, 0.3, 1.0])
def test_sums_and_squares_never_show_more_than_the_rewards(spread):
    rng, q = np.random.default_rng(0), 0.3
    for s in (-0.5 / 0.7, -0.3, -1e-7, 1e-7, 0.4, 0.5 / 0.3):
        for n in (1, 5, 200):
            x = np.clip(rng.uniform() + spread * (rng.uniform(size=n) - 0.5), 0, 1)
            x = (x > 0.5).astype(float) if spread == 1 else x
            true = np.log1p(s * (x - q)).sum() + s * q * n
            fields = (np.array([value]) for value in (n, x.sum(), (x**2).sum()))
            shown = log_growth(np.array([[s]]), np.array([q]), *fields)[0]
            assert shown <= true + 1e-12 * n
            assert spread != 1 or shown == pytest.approx(true, abs=1e-12 * n)  # 0 and 1: nothing is lost
            assert shown >= true - 0.8 * s**2 * ((x - q) ** 2).sum()


def test_phases_pull_what_the_notes_say_and_grow():
    run = play(bounded_rage(PAGES, delta=0.05), SHOP, np.random.default_rng(0))
    first, *_ = history = run.result.history
    assert [r.index for r in history] == list(range(1, len(history) + 1)) and len(history) > 5
    for r in history:
        n = 2 * r.design_value * (1 + log(20)) * 2**r.index / (first.design_value / 5)
        assert max(n, 2 * np.count_nonzero(r.counts)) <= r.counts.sum() < max(n, 2 * np.count_nonzero(r.counts)) + 1
        assert r.width == pytest.approx(np.sqrt(first.design_value / 5 / 2**r.index), rel=0.3)
    assert first.design_value == pytest.approx(14 / 4, rel=2e-3)  # 6 + 4 + 4, variance 1/4
    slow, quick = (
        play(bounded_rage(PAGES, delta=0.05, growth=g), SHOP, np.random.default_rng(0)).result.history for g in (1.3, 4)
    )
    assert len(slow) > len(history) > len(quick)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_units_of_the_features_are_no_matter(scale):
    told = LinearBandit(PAGES * scale, theta=SHOP.theta / scale, noise="bernoulli")
    runs = [play(bounded_rage(p.arms, delta=0.05), p, np.random.default_rng(0)) for p in (SHOP, told)]
    assert (runs[0].counts == runs[1].counts).all() and runs[0].result.recommendation == SHOP.best_item


@pytest.mark.parametrize("rewards", [(2.0, 0.5), (-0.5, 0.5), (1.5, -0.5), (np.nan, 0.5)])
def test_rewards_outside_0_to_1_are_refused_and_nothing_is_lost(rewards):
    lab = Lab(bounded_rage(np.eye(2), delta=0.1))
    n = lab.ask()
    good, bad = np.array([0.5, 0.5]), n // 2
    sums = bad * rewards[0] + (n - bad) * rewards[1]
    squares = bad * rewards[0] ** 2 + (n - bad) * rewards[1] ** 2
    with pytest.raises(ValueError, match=r"rewards must lie in \[0, 1\]; those of arm 0|must be finite"):
        lab.tell(Sample(n, sums, squares))
    fresh = Lab(bounded_rage(np.eye(2), delta=0.1))
    assert len(lab.log) == 0 and (lab.ask() == n).all() and (fresh.ask() == n).all()
    for told in (lab, fresh):
        told.tell(Sample(n, n * good, n * good**2))
    assert (lab.ask() == fresh.ask()).all() and (lab.ask() != n).any() and len(lab.log) == 1
    rule = bounded_rage(np.eye(2), delta=0.1)
    with pytest.raises(ValueError, match=r"rewards must lie in \[0, 1\]; those of arm 0 do not \(\d+ pulls of sum"):
        rule.send(Sample(next(rule), sums, squares))


def test_identical_rates_end_in_a_clear_error_or_at_max_pulls():
    tied = LinearBandit(np.eye(2), theta=[0.3, 0.3], noise="bernoulli")
    assert not play(bounded_rage(tied.arms, delta=1e-9), tied, np.random.default_rng(0), max_pulls=10**9).stopped
    with pytest.raises(ValueError, match=r"items 0, 1 cannot be told apart at the scale \d\.?\d*e-"):
        play(bounded_rage(tied.arms, delta=1e-9), tied, np.random.default_rng(0))


def test_certain_rewards_are_told_apart():
    sure = LinearBandit(np.eye(3), theta=[1.0, 0.0, 0.0], noise="bernoulli")
    assert play(bounded_rage(sure.arms, delta=1e-6), sure, np.random.default_rng(0)).result.recommendation == 0
