"""Whether the noise told to a Lab contradicts its sigma: hardly ever a false alarm, whatever rule chose the arms."""

import warnings

import numpy as np
import pytest
from scipy import integrate, stats

from bandits_lab import Lab
from bandits_lab.noise import ALPHA, SigmaWarning, Watch, log_evidence, promised, within
from bandits_lib import LinearBandit, Sample
from bandits_lib.fixed_budget import gse, linucb
from bandits_lib.fixed_confidence import h_rage, lazy_track_and_stop, rage
from bandits_lib.protocol import total

RNG = np.random.default_rng


def mixture(pulls, squares):
    return integrate.quad(lambda u: u ** (pulls / 2) * np.exp((1 - u) * squares / 2), 0, 1)[0]


@pytest.mark.parametrize(("pulls", "squares"), [(10, 20), (7, 7.5), (100, 130), (3, 60)])
def test_the_closed_form_is_the_integral(pulls, squares):
    assert np.exp(log_evidence(pulls, squares)) == pytest.approx(mixture(pulls, squares))


def test_it_is_below_1_where_it_is_not_computed():
    for pulls, squares in ((10, 10), (10, 3), (600, 600)):
        assert mixture(pulls, squares) <= 1
        assert log_evidence(pulls, squares) == 0.0


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
    runs, steps, K = 1_000, 300, 6
    path, pulls = adaptive(noise, runs, steps, K, RNG(1)), K + 1 + np.arange(steps)
    highest = np.array([max(log_evidence(n, w) for n, w in zip(pulls, run, strict=True)) for run in path])
    assert stats.binomtest(int((highest > np.log(20)).sum()), runs, 0.05, alternative="greater").pvalue > 1e-3
    assert (highest > -np.log(ALPHA)).sum() <= 1
    if noise is NOISES["gaussian"]:
        naive = (path > stats.chi2.isf(0.05, pulls - K)).any(axis=1)
        assert naive.mean() > 0.1


def test_the_squares_add_up_in_whatever_parts_they_come():
    world, rng = LinearBandit(np.eye(4), theta=[1.0, -2.0, 30.0, 0.0], sigma=0.7), RNG(0)
    parts = [world.pull(rng.integers(0, 4, 4), rng) for _ in range(200)]
    watch = Watch({"sigma": 0.5, "delta": 0.1})
    for part in parts:
        watch.take(part)
    whole = within(total(parts), 0.5)
    assert watch.df == whole.df and watch.squares == pytest.approx(whole.squares)
    assert watch.pulls == total(parts).counts.sum()


def test_arms_that_are_pulled_again_because_they_stood_out_are_no_alarm():
    """The evidence counts all pulls; their degrees of freedom alone would make this one."""
    first, again = RNG(0).standard_normal(4_000), RNG(1).standard_normal(100)
    watch = Watch({"sigma": 1.0, "delta": 0.05})
    watch.take(Sample.of(np.arange(4_000), first, 4_000))
    watch.take(Sample.of(np.argsort(-np.abs(first))[:100], again, 4_000))
    assert watch.df == 100 and log_evidence(watch.df, watch.squares) > -np.log(ALPHA)
    assert watch.message() is None


def test_single_pulls_keep_their_digits_far_from_0():
    noise = RNG(0).standard_normal(400)
    near, far = Watch({"sigma": 1.0, "delta": 0.1}), Watch({"sigma": 1.0, "delta": 0.1})
    for reward in noise:
        near.take(Sample.of([0], [reward], 2))
        far.take(Sample.of([0], [reward + 1e9], 2))
    assert far.squares == pytest.approx(near.squares, rel=1e-6) and far.message() is None


def test_what_rounding_blurs_is_no_evidence():
    """A batch of rewards of 1e9: its squares within arms are rounding errors, and no alarm."""
    rng, watch = RNG(0), Watch({"sigma": 1.0, "delta": 0.1})
    watch.take(Sample.of(np.repeat([0, 1], 500), 1e9 + rng.standard_normal(1000), 2))
    assert watch.message() is None


def test_numbers_that_overflow_are_an_alarm_and_no_crash():
    watch = Watch({"sigma": 1e-100, "delta": 0.1})
    watch.take(Sample.of([0, 0, 1], [1e150, -1e150, 1.0], 2))
    assert "times the sigma" in watch.message()


# --- in a Lab

ARMS = np.vstack([np.eye(3), [0.5, 0.5, 0.0]])
WORLD = LinearBandit(ARMS, theta=[0.5, 0.1, 0.0], sigma=0.1)


def told(lab, sigma, rng, parts=1):
    """Answer the open request in parts."""
    noisy = LinearBandit(ARMS, theta=WORLD.theta, sigma=sigma)
    for _ in range(parts):
        if lab.ask() is not None:
            lab.tell(noisy.pull(-(-lab.ask() // 2), rng))
    return lab


def of_sigma(caught):
    return [warning for warning in caught if warning.category is SigmaWarning]


def test_millivolts_told_as_volts_warn_once_and_once_when_the_log_is_opened(tmp_path):
    lab = Lab(rage(ARMS, delta=0.05, sigma=0.1), tmp_path / "log.jsonl")
    with pytest.warns(SigmaWarning, match=r"100 .*|1\d\d times the sigma = 0.1 .*mV told as V.*sigma_upper") as caught:
        told(lab, 10.0, RNG(0), parts=4)
    assert len(ours := of_sigma(caught)) == 1 and ours[0].filename == __file__
    with pytest.warns(SigmaWarning, match="times the sigma") as caught:
        again = Lab(rage(ARMS, delta=0.05, sigma=0.1), tmp_path / "log.jsonl")
    assert len(ours := of_sigma(caught)) == 1 and ours[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error", SigmaWarning)
        told(again, 10.0, RNG(1))


def test_noise_far_below_sigma_says_what_is_wasted():
    lab = Lab(rage(ARMS, delta=0.05, sigma=1.0))
    with pytest.warns(SigmaWarning, match="as sure as promised, but about 4% of the measurements") as caught:
        told(lab, 0.2, RNG(0), parts=3)
    assert len(of_sigma(caught)) == 1


@pytest.mark.parametrize("sigma", [0.09, 0.1])
def test_noise_as_promised_is_no_news(sigma):
    with warnings.catch_warnings():
        warnings.simplefilter("error", SigmaWarning)
        for seed in range(20):
            lab, rng = Lab(rage(ARMS, delta=0.05, sigma=0.1)), RNG(seed)
            while lab.ask() is not None:
                told(lab, sigma, rng)


def test_a_warning_made_an_error_loses_nothing(tmp_path):
    lab = Lab(rage(ARMS, delta=0.05, sigma=0.1), tmp_path / "log.jsonl")
    asked = lab.ask()
    with warnings.catch_warnings():
        warnings.simplefilter("error", SigmaWarning)
        with pytest.raises(SigmaWarning):
            told(lab, 10.0, RNG(0))
    assert len(lab.log) == 1 and (lab.ask() == asked // 2).all()
    with pytest.warns(SigmaWarning):
        assert (Lab(rage(ARMS, delta=0.05, sigma=0.1), tmp_path / "log.jsonl").ask() == lab.ask()).all()


def visitors(lab, rate=0.02):
    shop = LinearBandit(ARMS, means=np.full(4, rate), noise="bernoulli")
    lab.tell(shop.pull(lab.ask(), RNG(0)))


def test_rewards_of_0_and_1_with_sigma_one_half_are_no_news():
    with warnings.catch_warnings():
        warnings.simplefilter("error", SigmaWarning)
        visitors(Lab(rage(ARMS, delta=0.05, sigma=0.5)))


def test_rewards_of_0_and_1_with_a_larger_sigma_are_told_that_one_half_is_enough():
    with pytest.warns(
        SigmaWarning, match="rewards are all 0 or 1, for which sigma = 0.5 is always enough.* about 25% of.*sigma=0.5"
    ):
        visitors(Lab(rage(ARMS, delta=0.05)))


def quiet(lab, sigma=50.0):
    with warnings.catch_warnings():
        warnings.simplefilter("error", SigmaWarning)
        told(lab, sigma, RNG(0), parts=3)


def test_a_rule_that_promises_nothing_by_sigma_does_not_warn():
    quiet(Lab(gse(ARMS, budget=400)))
    quiet(Lab(linucb(ARMS, budget=400)))


def test_the_upper_bound_of_h_rage_is_watched_from_above_only():
    make = {"delta": 0.05, "sigma_min": 0.1, "sigma_max": 1.0, "burn_in": 2000}
    quiet(Lab(h_rage(ARMS, **make)), sigma=0.2)
    with pytest.warns(SigmaWarning, match="times the sigma_max = 1 "):
        told(Lab(h_rage(ARMS, **make)), 5.0, RNG(0))


def test_of_several_sigma_the_largest_counts():
    quiet(Lab(rage(ARMS, delta=0.05, sigma=[0.1, 0.1, 0.1, 1.0])), sigma=1.0)
    assert promised({"sigma": [0.1, 2.0], "delta": 0.1}) == ("sigma", 2.0)


@pytest.mark.parametrize("odd", ["unknown", None, {"a": 1}, np.nan, -1.0, [], [[1.0], [2.0, 3.0]]])
def test_what_another_rule_calls_sigma_is_left_alone(odd):
    assert promised({"sigma": odd, "delta": 0.1}) == ("", 0.0)
    assert Watch({"sigma": odd, "delta": 0.1}).message() is None


def test_a_rule_that_pulls_one_by_one_is_watched_too():
    noisy, rng = LinearBandit(ARMS, means=np.zeros(4)), RNG(0)
    lab = Lab(lazy_track_and_stop(ARMS, delta=1e-9, sigma=0.1))
    with pytest.warns(SigmaWarning, match="times the sigma") as caught:
        for _ in range(40):
            if lab.ask() is not None:
                lab.tell(noisy.pull(lab.ask(), rng))
    assert len(ours := of_sigma(caught)) == 1 and ours[0].filename == __file__
    assert max(sample.counts.sum() for sample in lab.log[1:]) == 1


def test_a_history_in_another_unit_is_heard_at_once():
    lab, counts = Lab(rage(ARMS, delta=0.05, sigma=0.1)), np.full(len(ARMS), 4)
    rewards = RNG(0).normal(0.0, 100.0, (4, len(ARMS)))
    with pytest.warns(SigmaWarning, match="times the sigma"):
        lab.tell_history(Sample(counts, rewards.sum(axis=0), (rewards**2).sum(axis=0)), planned=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SigmaWarning)
        told(lab, 10.0, RNG(1))
