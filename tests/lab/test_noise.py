"""Whether the noise told to a Lab contradicts its sigma, days that differ, and the bound on sigma from a pilot."""

import warnings

import numpy as np
import pytest
from scipy import integrate, stats

from bandits_lab import Lab
from bandits_lab.noise import (
    ALPHA,
    DriftWarning,
    SigmaWarning,
    Watch,
    chi_square,
    log_evidence,
    pilot_size,
    promised,
    sigma_upper,
    within,
)
from bandits_lib import LinearBandit, Sample
from bandits_lib.fixed_budget import gse, linucb
from bandits_lib.fixed_confidence import bounded_rage, h_rage, lazy_track_and_stop, rage
from bandits_lib.protocol import total

RNG = np.random.default_rng


def mixture(pulls, squares):
    return integrate.quad(lambda u: u ** (pulls / 2) * np.exp((1 - u) * squares / 2), 0, 1)[0]


def test_the_closed_form_is_the_integral_which_is_below_1_where_it_is_not_computed():
    for pulls, squares in ((10, 20), (7, 7.5), (100, 130), (3, 60)):
        assert np.exp(log_evidence(pulls, squares)) == pytest.approx(mixture(pulls, squares))
    for pulls, squares in ((10, 10), (10, 3), (600, 600)):
        assert mixture(pulls, squares) <= 1 and log_evidence(pulls, squares) == 0.0


NOISES = {  # of standard deviation at most 1 and sub-Gaussian with 1
    "gaussian": lambda rng, shape: rng.standard_normal(shape),
    "signs": lambda rng, shape: rng.integers(0, 2, shape) * 2.0 - 1,
    "skewed": lambda rng, shape: 2 * ((rng.random(shape) < 0.2) - 0.2),  # in an interval of length 2
}


def adaptive(noise, runs, steps, K, rng):
    """Squares within arms (runs, steps) of a sampler that looks: it replays the arm whose mean is farthest from 0."""
    counts, means, squares = np.ones((runs, K)), noise(rng, (runs, K)), np.zeros(runs)
    path, row = np.empty((runs, steps)), np.arange(runs)
    for t in range(steps):
        arm = np.argmax(np.abs(means) / np.sqrt(counts), axis=1)
        step, n = noise(rng, runs) - means[row, arm], counts[row, arm]
        squares += step**2 * n / (n + 1)
        means[row, arm] += step / (n + 1)
        counts[row, arm] += 1
        path[:, t] = squares
    return path


@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
def test_the_level_holds_at_all_times_together_under_adaptive_sampling(noise):
    """At .05, where it can be counted, and at ALPHA; a chi-square test at every pull cries wolf far more often."""
    runs, steps, K = 500, 300, 6
    path, pulls = adaptive(noise, runs, steps, K, RNG(1)), K + 1 + np.arange(steps)
    highest = np.array([max(log_evidence(n, w) for n, w in zip(pulls, run, strict=True)) for run in path])
    assert stats.binomtest(int((highest > np.log(20)).sum()), runs, 0.05, alternative="greater").pvalue > 1e-3
    assert (highest > -np.log(ALPHA)).sum() <= 1
    if noise is NOISES["gaussian"]:
        assert (path > stats.chi2.isf(0.05, pulls - K)).any(axis=1).mean() > 0.1


def test_the_squares_add_up_in_whatever_parts_they_come():
    world, rng = LinearBandit(np.eye(4), theta=[1.0, -2.0, 30.0, 0.0], sigma=0.7), RNG(0)
    parts = [world.pull(rng.integers(0, 4, 4), rng) for _ in range(200)]
    watch = Watch({"sigma": 0.5, "delta": 0.1})
    for part in parts:
        watch.take(part)
    whole = within(total(parts), 0.5)
    assert watch.df == whole.df and watch.squares == pytest.approx(whole.squares)
    assert watch.pulls == total(parts).counts.sum()
    arms, rewards = np.array([0, 1, 1, 2, 2, 2]), np.array([4.0, 1.0, 3.0, 2.0, 5.0, 8.0])
    found = within(Sample.of(arms, rewards, 4), np.array([1.0, 2.0, 3.0, 1.0]))
    assert found.df == 3 and found.squares == pytest.approx(2.0 / 4 + 18.0 / 9)


def test_chosen_arms_rounding_and_overflow_are_no_false_alarm():
    first, again = RNG(0).standard_normal(4_000), RNG(1).standard_normal(100)
    watch = Watch({"sigma": 1.0, "delta": 0.05})  # the evidence counts all pulls, not their degrees of freedom alone
    watch.take(Sample.of(np.arange(4_000), first, 4_000))
    watch.take(Sample.of(np.argsort(-np.abs(first))[:100], again, 4_000))
    assert watch.df == 100 and log_evidence(watch.df, watch.squares) > -np.log(ALPHA) and watch.message() is None
    near, far = Watch({"sigma": 1.0, "delta": 0.1}), Watch({"sigma": 1.0, "delta": 0.1})
    for reward in first[:400]:
        near.take(Sample.of([0], [reward], 2))
        far.take(Sample.of([0], [reward + 1e9], 2))
    assert far.squares == pytest.approx(near.squares, rel=1e-6) and far.message() is None
    watch = Watch({"sigma": 1.0, "delta": 0.1})
    watch.take(Sample.of(np.repeat([0, 1], 500), 1e9 + RNG(0).standard_normal(1000), 2))
    assert watch.message() is None
    watch = Watch({"sigma": 1e-100, "delta": 0.1})
    watch.take(Sample.of([0, 0, 1], [1e150, -1e150, 1.0], 2))
    assert "times the sigma" in watch.message()


# --- in a Lab

ARMS = np.vstack([np.eye(3), [0.5, 0.5, 0.0]])
WORLD = LinearBandit(ARMS, theta=[0.5, 0.1, 0.0], sigma=0.1)


def told(lab, sigma, rng, parts=1):
    """Answer the open request in parts, and return the warnings about sigma."""
    noisy = LinearBandit(ARMS, theta=WORLD.theta, sigma=sigma)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(parts):
            if lab.ask() is not None:
                lab.tell(noisy.pull(-(-lab.ask() // 2), rng))
    return [warning for warning in caught if warning.category is SigmaWarning]


def test_millivolts_told_as_volts_and_noise_far_below_sigma_warn_once():
    lab = Lab(rage(ARMS, delta=0.05, sigma=0.1))
    (warning,) = told(lab, 10.0, RNG(0), parts=4)
    words = str(warning.message)
    assert warning.filename == __file__ and all(x in words for x in ("times the sigma = 0.1", "mV told", "sigma_upper"))
    assert not told(lab, 10.0, RNG(1))
    (warning,) = told(Lab(rage(ARMS, delta=0.05, sigma=1.0)), 0.2, RNG(0), parts=3)
    assert "as sure as promised, but about 4% of the measurements" in str(warning.message)
    for seed in range(10):
        for sigma in (0.09, 0.1):
            lab = Lab(rage(ARMS, delta=0.05, sigma=0.1))
            while lab.ask() is not None:
                assert not told(lab, sigma, RNG(seed))
    lab = Lab(lazy_track_and_stop(ARMS, delta=1e-9, sigma=0.1))  # pulls one by one
    assert len(told(lab, 1.0, RNG(0), parts=40)) == 1 and max(sample.counts.sum() for sample in lab.log[1:]) == 1


def test_a_warning_made_an_error_loses_nothing():
    lab = Lab(rage(ARMS, delta=0.05, sigma=0.1))
    asked, noisy = lab.ask(), LinearBandit(ARMS, theta=WORLD.theta, sigma=10.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SigmaWarning)
        with pytest.raises(SigmaWarning):
            lab.tell(noisy.pull(-(-asked // 2), RNG(0)))
    assert len(lab.log) == 1 and (lab.ask() == asked // 2).all()


def test_rewards_of_0_and_1_need_no_sigma_above_one_half():
    shop = LinearBandit(ARMS, means=np.full(4, 0.02), noise="bernoulli")
    with warnings.catch_warnings():
        warnings.simplefilter("error", SigmaWarning)
        lab = Lab(rage(ARMS, delta=0.05, sigma=0.5))
        lab.tell(shop.pull(lab.ask(), RNG(0)))


def test_which_sigma_is_watched():
    for budget in (gse(ARMS, budget=400), linucb(ARMS, budget=400)):  # no promise by sigma
        assert not told(Lab(budget), 50.0, RNG(0), parts=3)
    make = {"delta": 0.05, "sigma_min": 0.1, "sigma_max": 1.0, "burn_in": 2000}
    assert not told(Lab(h_rage(ARMS, **make)), 0.2, RNG(0), parts=3)  # from above only
    assert "times the sigma_max = 1 " in str(told(Lab(h_rage(ARMS, **make)), 5.0, RNG(0))[0].message)
    assert not told(Lab(rage(ARMS, delta=0.05, sigma=[0.1, 0.1, 0.1, 1.0])), 1.0, RNG(0), parts=3)  # the largest
    for odd in ("unknown", None, {"a": 1}, np.nan, -1.0, [], [[1.0], [2.0, 3.0]]):
        assert promised({"sigma": odd, "delta": 0.1}) == ("", 0.0)
        assert Watch({"sigma": odd, "delta": 0.1}).message() is None


# --- days

DAYS = np.eye(4)


def purchases(counts, rates, rng):
    bought = rng.binomial(counts, np.clip(rates, 0, 1)).astype(float)
    return Sample(counts, bought, bought.copy())


def heard(effect, arguments, rate=0.2, parts=4, pulls=100, seed=0):
    """Whether days with offsets of a standard deviation `effect`, another for each arm, are heard."""
    rng, watch = RNG(seed), Watch(arguments)
    for _ in range(parts):
        watch.take(purchases(np.full(10, pulls), rate + rng.normal(0, effect, 10), rng))
    return watch.drift() is not None


def test_day_effects_are_heard_and_equal_days_are_no_alarm():
    for arguments in ({}, *({"sigma": sigma, "delta": 0.05} for sigma in (None, 0.5, 50.0))):
        assert all(heard(0.15, arguments, seed=seed) for seed in range(20))
    for rate in (0.01, 0.2, 0.5):
        assert not any(
            heard(0.0, {}, rate, parts=10, pulls=n, seed=seed) for n in (10, 100, 1000) for seed in range(50)
        )
    watch = Watch({"sigma": 1.0, "delta": 0.05})
    watch.take(Sample(np.array([1000, 0]), np.array([500.0, 0.0]), np.array([4000.0, 0.0])))
    assert watch.drift() is None  # noisy, but one day


@pytest.mark.parametrize(
    "make",
    [
        lambda: bounded_rage(DAYS, delta=0.05),
        lambda: rage(DAYS, delta=0.05, sigma=0.5, scale=None),
        lambda: gse(DAYS, budget=4000, sigma=0.5),
    ],
    ids=["bounded_rage", "rage", "gse"],
)
def test_every_rule_warns_once_of_days_that_differ(make):
    rng, lab, said = RNG(1), Lab(make()), []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        while lab.result is None and len(lab.log) < 60:
            part = -(-lab.ask() // 5)
            lab.tell(purchases(part, np.full(4, 0.5) + rng.normal(0, 0.3), rng))
        said = [str(w.message) for w in caught if w.category is DriftWarning]
    assert len(said) == 1 and "times as much as their noise explains" in said[0]


def test_arms_that_are_told_one_after_the_other_cannot_show_a_day_effect():
    rng, lab, mixed = RNG(0), Lab(rage(DAYS, delta=0.1, sigma=1.0)), Lab(rage(DAYS, delta=0.1, sigma=1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lab.tell(Sample.of([0] * 9, rng.standard_normal(9), 4))
        lab.tell(Sample.of([1] * 9, rng.standard_normal(9), 4))
        for arm in rng.permutation(np.repeat(np.arange(4), mixed.ask()))[:60]:
            mixed.tell(Sample.of([arm], rng.standard_normal(1), 4))
    with pytest.warns(DriftWarning, match="each arm was told by itself, one after the other"):
        lab.tell(Sample.of([2] * 9, rng.standard_normal(9), 4))


# --- a pilot

COUNTS = np.array([3, 2, 1, 0, 2])  # 4 degrees of freedom


def test_the_bound_of_a_pilot_covers_as_promised_and_not_with_a_degree_of_freedom_more_or_less():
    world, rng = LinearBandit(np.eye(5), theta=[5.0, -1.0, 0.0, 2.0, 100.0], sigma=0.3), RNG(0)
    bounds = np.array([sigma_upper(world.pull(COUNTS, rng), 0.1) for _ in range(4_000)])
    assert stats.binomtest(int((bounds < 0.3).sum()), 4_000, 0.1).pvalue > 1e-3
    for df in (3, 5):
        other = bounds * np.sqrt(chi_square(0.1, 4) / chi_square(0.1, df))
        assert stats.binomtest(int((other < 0.3).sum()), 4_000, 0.1).pvalue < 1e-6


def test_means_and_units_have_no_part_in_the_bound_and_rounding_makes_it_larger():
    pulls, noise = [0, 0, 0, 1, 1, 2], np.array([0.1, -0.2, 0.4, 0.0, 0.3, 0.7])
    squares = 2 * np.var(noise[:3], ddof=1) + np.var(noise[3:5], ddof=1)
    for size in (1e-6, 1.0, 1e6):
        moved = sigma_upper(Sample.of(pulls, size * (noise + np.array([7.0, 7, 7, -30, -30, 5])), 3), 0.05)
        assert moved == pytest.approx(size * np.sqrt(squares / stats.chi2.ppf(0.05, 3)))
    noise, arms = 0.1 * RNG(0).standard_normal(100), np.repeat(np.arange(4), 25)
    exact = sigma_upper(Sample.of(arms, noise, 4), 0.05)
    assert exact < sigma_upper(Sample.of(arms, noise + 1e6, 4), 0.05) < 2 * exact


@pytest.mark.parametrize(("factor", "delta"), [(1.5, 0.01), (1.2, 0.05), (3.0, 1e-4)])
def test_the_size_of_a_pilot_is_the_least_that_will_do(factor, delta):
    df = pilot_size(factor, delta) - 1
    for fewer, enough in ((0, True), (1, False)):
        reached = stats.chi2.cdf(factor**2 * stats.chi2.ppf(delta, df - fewer), df - fewer)
        assert (reached >= 0.9) == enough
    assert pilot_size(factor, delta, n_arms=12) == df + 12


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: sigma_upper(Sample.of([0, 1, 2], [1.0, 2.0, 3.0], 3), 0.05), "no arm was measured twice"),
        (lambda: sigma_upper(Sample.of([0, 0, 1], [1.1, 1.1, 3.0], 3), 0.05), "the replicates of every arm are equal"),
        (lambda: sigma_upper(Sample(np.array([2]), np.array([np.nan]), np.array([1.0])), 0.05), "must be finite"),
        (lambda: sigma_upper(Sample.of([0, 0], [1.0, 2.0], 1), 0.0), "delta"),
        (lambda: pilot_size(1.0, 0.05), "factor, .* must be above 1"),
        (lambda: pilot_size(1 + 1e-9, 0.05), "more than 1e"),
        (lambda: pilot_size(1.5, 0.05, n_arms=2.5), "n_arms"),
    ],
)
def test_pilots_that_bound_nothing_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
