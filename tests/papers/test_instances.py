"""The papers' instances are what the papers (or their code) say, number by number."""

import numpy as np
import pytest

from bandits_lib import LinearBandit, fixed_budget, instances, play
from bandits_lib.variance import features


def test_benchmark():
    problem = instances.benchmark(5)
    assert problem.arms.shape == (6, 5) and problem.best_item == 0
    np.testing.assert_allclose(problem.arms[5], [np.cos(0.01), np.sin(0.01), 0, 0, 0])
    assert np.sort(problem.gaps)[1] == pytest.approx(2 * (1 - np.cos(0.01)))


@pytest.mark.parametrize(
    ("angles", "gap"), [("code", (0.28, 0.30)), ("sd.09", (0.05, 0.25)), ("variance.09", (0.0, 5e-3))]
)
def test_many_arms_have_the_gaps_that_separate_the_three_readings(angles, gap):
    gaps = []
    for seed in range(20):
        problem = instances.many_arms(1000, np.random.default_rng(seed), angles)
        assert problem.best_item == 998 and problem.arms.shape == (1000, 2)
        gaps.append(np.sort(problem.gaps)[1])
    assert gap[0] <= np.median(gaps) <= gap[1]


LAWS_OF_ANGLES = {"code": (0.83, 0.1 / np.sqrt(12)), "sd.09": (np.pi / 4, 0.09), "variance.09": (np.pi / 4, 0.3)}


@pytest.mark.parametrize(("angles", "law"), LAWS_OF_ANGLES.items(), ids=LAWS_OF_ANGLES)
def test_many_arms_have_the_angles_that_each_reading_states(angles, law):
    """Of 300,000 angles: the mean to .002 and the standard deviation to .5 %, more than three standard errors."""
    arms = instances.many_arms(300_000, np.random.default_rng(0), angles).arms
    phi, (mean, sd) = np.arctan2(arms[:-2, 1], arms[:-2, 0]), law
    assert phi.mean() == pytest.approx(mean, abs=2e-3) and phi.std() == pytest.approx(sd, rel=5e-3)
    np.testing.assert_array_equal(arms[-2], [1.0, 0.0])
    np.testing.assert_allclose(arms[-1], np.array([-1, 1]) * (0.707 if angles == "code" else np.sqrt(0.5)))


def test_sphere_takes_the_two_closest_arms():
    problem = instances.sphere(60, np.random.default_rng(3))
    np.testing.assert_allclose(np.linalg.norm(problem.arms, axis=1), 1)
    distances = np.linalg.norm(problem.arms[:, None] - problem.arms[None], axis=-1) + 3 * np.eye(60)
    closest = np.unravel_index(distances.argmin(), distances.shape)
    assert problem.best_item in closest
    np.testing.assert_allclose(problem.theta, problem.arms[problem.best_item])
    assert np.argsort(problem.gaps)[1] in closest


def test_sphere_of_a_cube_crowds_towards_its_corners():
    # uniform on the sphere every x_k^2 has mean 1/d and x_k^4 mean 3 / (d (d + 2)); points of a cube have less of it
    draws = [[instances.sphere(400, np.random.default_rng(seed), law=law).arms for seed in range(20)] for law in LAWS]
    uniform, cube = (np.concatenate(arms) for arms in draws)
    for arms in (uniform, cube):
        np.testing.assert_allclose(np.linalg.norm(arms, axis=1), 1)
        assert np.abs((arms**2).mean(axis=0) - 1 / 9).max() < 0.01
    assert (uniform**4).mean() == pytest.approx(3 / 99, abs=0.001) and (cube**4).mean() < 0.025


LAWS = ("sphere", "cube")


def test_transductive_in_both_readings():
    text, code = instances.transductive(20), instances.transductive(20, reading="code")
    assert text.arms.shape == text.items.shape == (20, 20) and code.items.shape == (40, 40)
    np.testing.assert_allclose(np.linalg.norm(code.items, axis=1), 1)
    assert text.best_item == code.best_item == 0
    assert text.gaps[10] == pytest.approx(1 - np.cos(0.1))


@pytest.mark.parametrize("weights", ["text", "code"])
def test_multivariate_features_and_weights(weights):
    problem = instances.multivariate(4, np.random.default_rng(0), weights=weights)
    assert problem.arms.shape == (16, 1 + 4 + 6) and set(np.unique(problem.arms)) == {-1.0, 1.0}
    np.testing.assert_allclose(problem.arms[:, 5], problem.arms[:, 1] * problem.arms[:, 2])
    assert np.linalg.matrix_rank(problem.arms) == 11 and np.sort(problem.gaps)[1] >= 1e-5
    many = [instances.multivariate(4, np.random.default_rng(seed), weights=weights).theta for seed in range(200)]
    single, first, other = (np.array(many)[:, part] for part in (slice(1, 5), 5, 6))
    low, high = (-0.3, 0.3) if weights == "text" else (-0.10, 0.09)
    assert single.min() == pytest.approx(low) and single.max() == pytest.approx(high)
    assert np.abs(first).max() == pytest.approx(max(-low, high) / 2)
    assert np.abs(other).max() == pytest.approx(max(-low, high) / (2 if weights == "text" else 1))


def test_signal_to_noise_in_three_readings():
    """weltz2023 experiment 1: nine arms leave one of the ten dimensions of Sigma open, a twin does not close it."""
    ranks = {"text": (9, 9), "code": (10, 9), "identified": (10, 10)}
    for estimation, (K, rank) in ranks.items():
        problem = instances.signal_to_noise(estimation=estimation)
        assert len(problem.arms) == K and np.linalg.matrix_rank(features(problem.arms)) == rank
        assert problem.best_item == 0 and np.sort(problem.gaps)[1] == pytest.approx(1 - np.cos(0.02))
        np.testing.assert_allclose(problem.sigma, np.linalg.norm(problem.arms, axis=1))
        assert (problem.sigma.max() / problem.sigma.min()) ** 2 == pytest.approx(6.25)
    assert len(np.unique(instances.signal_to_noise(estimation="code").items, axis=0)) == 9


def test_bent_benchmark():
    """weltz2023 experiment 2."""
    problem = instances.bent_benchmark()
    assert problem.arms.shape == (6, 3) and np.linalg.matrix_rank(features(problem.arms)) == 6
    np.testing.assert_allclose(problem.sigma**2, [1, 1 - 0.8 * np.sin(0.02) ** 2, 0.2, 0.6, 0.6, 0.2])
    np.testing.assert_allclose(problem.arms[5], [0, np.sqrt(0.5), np.sqrt(0.5)])


def test_multivariate_testing_in_both_codings():
    """weltz2023 experiment 3: the third factor alone is best, by .005; 19 indicators say no more than 7 features."""
    narrow, wide = (instances.multivariate_testing(coding=coding) for coding in ("reference", "indicators"))
    np.testing.assert_allclose(narrow.means, [0, 0.02, 0.015, -0.065, 0.01, -0.07, -0.075, -0.255])
    np.testing.assert_allclose(narrow.sigma**2, [0.3, 0.301, 0.301, 0.303, 1.0, 1.002, 1.002, 1.005])
    assert wide.arms.shape == (8, 19) and set(np.unique(wide.arms)) == {0.0, 1.0}
    assert np.linalg.matrix_rank(wide.arms) == np.linalg.matrix_rank(narrow.arms) == 7
    np.testing.assert_allclose(wide.means, narrow.means)
    np.testing.assert_allclose(wide.sigma, narrow.sigma)
    assert np.sort(instances.multivariate_testing(effects="code").gaps)[1] == pytest.approx(0.0025)


def test_three_arms_of_weltz2023_in_their_three_variance_models():
    free, diagonal, singular = (instances.three_arms(20, variances=v) for v in ("free", "diagonal", "singular"))
    assert free.best_item == 0 and free.gaps[2] == pytest.approx(1 - np.cos(0.5))
    np.testing.assert_allclose(free.sigma**2, [1, 20, 1])
    np.testing.assert_allclose(diagonal.sigma**2, diagonal.arms**2 @ [1, 20])
    np.testing.assert_allclose(singular.sigma**2, (singular.arms @ [-1, np.sqrt(20)]) ** 2)
    assert ((1 + np.cos(0.5)) / np.sin(0.5)) ** 2 == pytest.approx(15.34, abs=0.005)
    with pytest.raises(ValueError, match="kappa must be at least 15.34"):
        instances.three_arms(15, variances="singular")


def test_two_spheres_of_weltz2023():
    text = instances.two_spheres(4, np.random.default_rng(0))
    code = instances.two_spheres(4, np.random.default_rng(0), diagonal="code")
    assert (text.arms == code.arms).all() and text.arms.shape == (2000, 4)
    np.testing.assert_allclose(np.linalg.norm(text.arms, axis=1), np.repeat([1, 0.1], [200, 1800]))
    np.testing.assert_allclose(text.means, text.arms.sum(axis=1))
    np.testing.assert_allclose(text.sigma**2, text.arms**2 @ [1, 0.1, 1, 0.1])
    np.testing.assert_allclose(code.sigma**2, text.arms**2 @ [0.1, 1, 0.1, 1])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: instances.benchmark(1), "d must be an integer of at least 2"),
        (lambda: instances.many_arms(2, np.random.default_rng(0), "code"), "n must be"),
        (lambda: instances.transductive(5), "d must be even"),
        (lambda: instances.signal_to_noise(q=0.0), "q must be positive"),
        (lambda: instances.multivariate_testing(coding="none"), "coding must be one of"),
        (lambda: instances.option_set("soare"), "name must be one of"),
        (lambda: instances.three_arms(0.5), "kappa must be at least 1"),
        (lambda: instances.two_spheres(3, np.random.default_rng(0), n=9), "n must be"),
    ],
)
def test_bad_arguments_are_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


# --- azizi2022


def test_static_has_one_better_arm_anywhere():
    problem = instances.static(0.3, K=5, best=3, sigma2=4.0)
    np.testing.assert_array_equal(problem.arms, np.eye(5))
    np.testing.assert_allclose(problem.means, [0, 0, 0, 0.3, 0])
    assert problem.best_item == 3 and (problem.sigma == 2.0).all()
    assert instances.static(0.1).arms.shape == (16, 16) and instances.static(0.1).sigma[0] ** 2 == pytest.approx(10)


@pytest.mark.parametrize(("spread", "sd"), [("variance", np.sqrt(3 / 12)), ("sd", 3 / 12)])
def test_logistic_arms_and_parameters_have_the_stated_law(spread, sd):
    many = [instances.logistic(12, np.random.default_rng(seed), spread=spread) for seed in range(300)]
    theta, arms = np.concatenate([p.theta for p in many]), np.concatenate([p.arms for p in many])
    assert many[0].arms.shape == (8, 12) and many[0].noise == "bernoulli"
    np.testing.assert_allclose(many[0].means, 1 / (1 + np.exp(-many[0].arms @ many[0].theta)))
    assert abs(theta.std() - sd) < 4 * sd / np.sqrt(2 * theta.size)
    assert arms.min() >= -0.5 and arms.max() <= 0.5
    assert abs(arms.var() - 1 / 12) < 4 * np.sqrt(1 / 180 / arms.size)


def test_rows_of_data_are_drawn_with_or_without_replacement():
    features, values = np.random.default_rng(0).random((9, 3)), np.arange(9.0)
    draws = [instances.rows_of_data(features, values, np.random.default_rng(seed), K=9) for seed in range(20)]
    assert all(sorted(p.means) == list(range(9)) for p in draws) and len({tuple(p.means) for p in draws}) > 1
    np.testing.assert_array_equal(draws[0].arms, features[draws[0].means.astype(int)])
    assert draws[0].sigma[0] ** 2 == pytest.approx(0.1) and draws[0].theta is None
    again = [
        instances.rows_of_data(features, values, np.random.default_rng(seed), K=9, replace=True) for seed in range(20)
    ]
    assert any(len(set(p.means)) < 9 for p in again)


@pytest.mark.parametrize(
    ("job", "played"),
    [
        ((1, "gse", 16, 16, 320), (16, 320, 10.0)),  # arms that are drawn once and for all
        ((3, "gse", 64, 10, 1280), (4, 1280, 10.0)),
        ((3, "other", 64, 10, 1280), (10, 1280, 10.0)),
        ((4, "gse", 8, 12, 400), (4, 400, 10.0)),
        ((6, "od_linbai", 64, 10, 100), (4, 6400, 1.0)),
        ((6, "gse", 64, 2, 100), (2, 6400, 1.0)),  # nothing to project
        ((7, "od_linbai", 24, 2, 25), (2, 600, 1.0)),
    ],
)
def test_published_jobs_lose_dimensions_and_multiply_budgets(job, played):
    figure, rule, K, d, budget = job
    assert instances.published_job(figure, rule, K=K, d=d, budget=budget) == played


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda rng: instances.published_job(8, "gse", K=4, d=2, budget=9), "figure must be one of"),
        (lambda rng: instances.published_job(3, "gse", K=4, d=2, budget=0), "budget must be an integer"),
        (lambda rng: instances.static(0.0), "gap must be positive"),
        (lambda rng: instances.static(0.1, K=4, best=4), "best must be the row of an arm, 0..3"),
        (lambda rng: instances.static(0.1, sigma2=-1.0), "sigma2 must be positive"),
        (lambda rng: instances.logistic(3, rng, spread="both"), "spread must be one of"),
        (lambda rng: instances.rows_of_data(np.eye(3), np.ones(2), rng), "equally long"),
        (lambda rng: instances.rows_of_data(np.eye(3), np.ones(3), rng, K=4), "K must be at most the number of rows"),
    ],
)
def test_bad_arguments_of_azizi2022_are_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make(np.random.default_rng(0))


def test_option_sets_change_what_the_rules_pull():
    rng = np.random.default_rng
    arms = instances.sphere(30, rng(0), d=4).arms
    theta = [0.3, 0.1, 0.0, 0.0, 0.5]
    problem = LinearBandit(np.column_stack([arms, np.ones(30)]), theta=theta, noise="bernoulli")
    needed = {"gse": ("rng",), "lingape_budget": ("delta",), "ucb_glm": ("theta_bound",), "bayes_gap": ("rng",)}
    sets = instances.option_set("azizi2022_code")
    assert set(sets) == {"bayes_gap", "gse", "linucb", "lingape_budget", "od_linbai", "ucb_glm"}
    for name, options in sets.items():
        kernel = {"kernel": "exponential", "length": 1.0} if name == "bayes_gap" else {}
        given = {"delta": 0.1, "theta_bound": 1.0}
        counts = []
        for chosen in ({}, options):
            own = {key: rng(1) if key == "rng" else given[key] for key in needed.get(name, ())} | kernel | chosen
            counts.append(play(getattr(fixed_budget, name)(problem.arms, budget=400, **own), problem, rng(2)).counts)
        assert (counts[0] != counts[1]).any(), name
