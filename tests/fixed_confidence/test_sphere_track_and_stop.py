"""Track-and-Stop on the unit sphere: closed forms against searches, and when it stops."""

import numpy as np
import pytest
from scipy import stats

from bandits_lib import LinearBandit, instances, play
from bandits_lib.complexity import binary_divergence, sphere_lower_bound
from bandits_lib.fixed_confidence import sphere_track_and_stop
from bandits_lib.fixed_confidence.sphere_track_and_stop import largest_regret

OPTIONS = {
    "direct": {"stop": "direct"},
    "direct, small u": {"stop": "direct", "u": 0.2, "c": 4.0},
    "direct, union": {"stop": "direct", "delta_schedule": "union"},
    "safe": {"stop": "safe", "delta_schedule": "union"},
    "safe, half": {"stop": "safe", "share": 0.5},
    "paper, half": {"stop": "paper", "share": 0.5, "delta_schedule": "union"},
    "paper": {"stop": "paper", "epsilon": 2.0},
}
STOPPED = {  # pulls of three runs
    "direct": [48, 64, 56],
    "direct, small u": [36, 32, 36],
    "direct, union": [136, 168, 152],
    "safe": [756, 784, 776],
    "safe, half": [124, 156, 144],
    "paper, half": [352, 380, 364],
    "paper": [300, 384, 352],
}
each = pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())


def on_axis(d, norm=1.0, sigma=1.0):
    return LinearBandit(np.eye(d), theta=norm * np.eye(d)[0], sigma=sigma)


def pulls(problem, seed, **options):
    options = {"epsilon": 0.3, "delta": 0.05} | options
    run = play(sphere_track_and_stop(len(problem.arms), **options), problem, np.random.default_rng(seed))
    return run.counts.sum()


@pytest.mark.parametrize("name", OPTIONS)
def test_the_options_stop_at_these_pulls(name):
    """Recorded from the formulas of the paper and the docstring, block by block; tests/plain has two of them."""
    problem = LinearBandit(np.eye(4), theta=np.linspace(0.3, 1.0, 4), sigma=0.6)
    assert [pulls(problem, seed, sigma=0.6, **OPTIONS[name]) for seed in range(3)] == STOPPED[name]


def test_the_largest_regret_is_attained_and_never_exceeded():
    rng = np.random.default_rng(0)
    for d in (2, 3, 6):
        for length, radius in ((1.0, 0.3), (1.0, 1.7), (1.0, 2.5), (0.2, 1.0), (0.0, 1.0)):
            noise = rng.standard_normal((200_000, d))
            noise *= radius / np.linalg.norm(noise, axis=1, keepdims=True)
            theta = length * np.eye(d)[0] + noise
            regrets = np.linalg.norm(theta, axis=1) - theta[:, 0]
            bound = largest_regret(length, radius)
            assert regrets.max() <= bound * (1 + 1e-12) and regrets.max() > 0.95 * bound
            inside = length * np.eye(d)[0] + noise[:1000] * rng.random((1000, 1))
            assert (np.linalg.norm(inside, axis=1) - inside[:, 0] <= bound * (1 + 1e-12)).all()


@each
def test_small_batches_pull_what_the_loop_pulls(options):
    options = {"epsilon": 0.5, "delta": 0.05} | options
    problem = on_axis(3)
    for seed in range(2):
        loop, batches = (
            play(sphere_track_and_stop(3, growth=g, **options), problem, np.random.default_rng(seed))
            for g in (0.0, 1e-9)
        )
        assert (loop.counts == batches.counts).all()
        np.testing.assert_array_equal(loop.result.recommendation, batches.result.recommendation)


def test_growing_batches_take_at_most_as_many_more():
    every = np.array([pulls(on_axis(3), s, epsilon=0.02) for s in range(200)])
    grown = np.array([pulls(on_axis(3), s, epsilon=0.02, growth=0.1) for s in range(200)])
    se = np.hypot(stats.sem(every), stats.sem(grown))
    assert every.mean() - 4 * se < grown.mean() < 1.1 * every.mean() + 4 * se
    first = next(sphere_track_and_stop(3, epsilon=0.1, delta=0.1, growth=0.1))
    assert first.tolist() == [1, 1, 1]


@each
def test_units_do_not_matter(options):
    """Rewards, sigma and epsilon in units three times smaller: the very same pulls."""
    options = {"epsilon": 0.5, "delta": 0.1} | options
    thrice = options | {"epsilon": 3 * options["epsilon"], "sigma": 3.0}
    assert pulls(on_axis(3), 4, **options) == pulls(on_axis(3, norm=3.0, sigma=3.0), 4, **thrice)


def test_the_direct_rule_stops_even_without_a_signal():
    problem = LinearBandit(np.eye(2), theta=np.zeros(2))
    run = play(sphere_track_and_stop(2, epsilon=0.5, delta=0.1), problem, np.random.default_rng(0))
    assert run.stopped and abs(np.linalg.norm(run.result.recommendation) - 1) < 1e-12
    silent = LinearBandit(np.eye(2), theta=np.zeros(2), sigma=0.0)
    run = play(sphere_track_and_stop(2, epsilon=0.5, delta=0.1), silent, np.random.default_rng(0))
    assert run.result.recommendation.tolist() == [1.0, 0.0]


def test_the_lower_bound_and_why_ours_is_larger():
    args = {"norm": 2.0, "epsilon": 0.05, "delta": 0.1, "sigma": 3.0}
    theorem = sphere_lower_bound(4, **args)
    assert theorem == pytest.approx(9 * 3 / (20 * 2 * 0.05) * binary_divergence(0.1))
    assert 4.9 * theorem < sphere_lower_bound(4, **args, proof="caps") < 5.5 * theorem
    assert sphere_lower_bound(900, **args, proof="caps") == sphere_lower_bound(900, **args)
    for wrong in ({"epsilon": 0.5}, {"proof": "none"}, {"sigma": 0.0}):
        with pytest.raises(ValueError, match="must be"):
            sphere_lower_bound(4, **(args | wrong))


@pytest.mark.parametrize(("d", "x", "constant"), [(5, 0.19999, 3.35), (32, 0.1, 4.50), (50, 0.1, 4.73), (9, 1e-4, 4.0)])
def test_a_longer_parameter_bounds_better_in_every_dimension(d, x, constant):
    """The constant C of sigma^2 (d - 1) kl / (C norm epsilon), which Theorem 4 has as 20, and a search over r."""
    told = {"norm": 2.0, "epsilon": 2 * x, "delta": 0.1}
    bounds = [sphere_lower_bound(d, **told, proof=proof) for proof in ("jedra2020", "caps", "longer")]
    assert bounds == sorted(bounds)
    found = (d - 1) * binary_divergence(0.1) / (4 * x * bounds[2])
    assert found == pytest.approx(constant, abs=0.01)
    r = np.linspace(1, 3, 100_001)
    angle = np.arccos(1 - x) + np.arccos(1 - x / r)
    coefficients = np.maximum((1 - r * np.cos(angle)) ** 2, (r * np.sin(angle)) ** 2 / (d - 1))
    assert found == pytest.approx((d - 1) * coefficients.min() / (2 * x), rel=1e-4)
    as_long = (d - 1) * binary_divergence(0.1) / (4 * x * bounds[1])
    assert bounds[1] == bounds[0] or as_long == pytest.approx((d - 1) * coefficients[0] / (2 * x), rel=1e-9)


@pytest.mark.parametrize("x", [0.1, 0.19])
@pytest.mark.parametrize("d", [4, 12])
def test_some_longer_parameter_is_told_apart_as_badly_and_shares_no_answer(d, x):
    """For sums A of squares of 50 unit vectors: the least distance over directions, against the bound's claim."""
    rng = np.random.default_rng(2)
    bound = sphere_lower_bound(d, norm=1.0, epsilon=x, delta=0.1, proof="longer")
    claimed = 2 * 50 * binary_divergence(0.1) / bound
    r = np.linspace(1, 3, 20_001)
    angle = np.arccos(1 - x) + np.arccos(1 - x / r)
    best = np.argmin(np.maximum((1 - r * np.cos(angle)) ** 2, (r * np.sin(angle)) ** 2 / (d - 1)))
    r, angle = r[best], angle[best]
    first = np.eye(d)[0]
    sideways = np.column_stack([np.zeros(5000), rng.standard_normal((5000, d - 1))])
    sideways /= np.linalg.norm(sideways, axis=1, keepdims=True)
    others = r * (np.cos(angle) * first + np.sin(angle) * sideways)
    for along in (np.zeros(d), 3.0 * np.eye(d)[1], 9.0 * first):
        rows = rng.standard_normal((50, d)) + along
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        assert (((first - others) @ rows.T) ** 2).sum(axis=1).min() <= claimed * 1.001
    within = np.linspace(0, np.arccos(1 - x), 200)  # answers on the way to the other parameter, right for the first
    answers = np.cos(within)[:, None] * first + np.sin(within)[:, None] * sideways[0]
    assert (r - answers @ others[0]).min() == pytest.approx(x, rel=1e-6)  # and right for both at the rim only


def test_a_world_with_another_number_of_arms_is_refused():
    problem = instances.sphere(30, np.random.default_rng(0), d=3)
    for growth in (0.0, 0.1):
        with pytest.raises(ValueError, match="non-negative integers"):
            play(sphere_track_and_stop(3, epsilon=0.2, delta=0.1, growth=growth), problem, np.random.default_rng(0))
