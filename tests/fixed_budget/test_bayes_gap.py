"""BayesGap: kernels, priors and epsilon against the plain rule; each difference between paper and code is seen."""

import numpy as np
import pytest

from bandits_lib import LinearBandit, instances, play
from bandits_lib.fixed_budget import bayes_gap
from bandits_lib.fixed_budget.bayes_gap import covariance_of
from bandits_lib.plain.bayes_gap import bayes_gap as plain

ADAPTIVE = instances.benchmark(5, angle=0.1, scale=1.0, sigma=np.sqrt(10))
SPHERE = instances.sphere(20, np.random.default_rng(1), d=4, mix=0.01, sigma=np.sqrt(10))


def features(arms, kernel):
    """Rows whose inner products are the kernel: BayesGap with that kernel is the linear one on these."""
    values, vectors = np.linalg.eigh(covariance_of(arms, *kernel))
    return vectors[:, values > 1e-10] * np.sqrt(values[values > 1e-10])


def exponential(arms, length):
    return np.exp(-((arms[:, None] - arms) ** 2).sum(axis=2) / length)


def matern(arms, length):
    near = np.sqrt(3 * ((arms[:, None] - arms) ** 2).sum(axis=2)) / length
    return (1 + near) * np.exp(-near)


@pytest.mark.parametrize("kernel", [exponential, matern])
@pytest.mark.parametrize("length", [1e-3, 0.5, 10.0])
def test_the_kernels_are_those_of_the_docstring(kernel, length):
    for arms in (ADAPTIVE.arms, SPHERE.arms):
        np.testing.assert_allclose(covariance_of(arms, kernel.__name__, length), kernel(arms, length), atol=1e-14)


SETTINGS = {
    "exponential": (("exponential", 0.5), {}),
    "independent arms": (("exponential", 1e-3), {}),
    "matern": (("matern", 10.0), {}),
    "epsilon": (("linear", None), {"epsilon": 0.1}),
    "prior": (("linear", None), {"eta": 1.0}),
}


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("problem", [ADAPTIVE, SPHERE], ids=["adaptive", "sphere"])
def test_the_pulls_are_those_of_the_plain_rule_on_the_kernel_s_features(problem, name):
    (kernel, length), told = SETTINGS[name]
    told = told | {"budget": 150, "sigma": np.sqrt(10)}
    for seed in range(2):
        run, slow = (
            play(rule, problem, np.random.default_rng(seed))
            for rule in (
                bayes_gap(problem.arms, kernel=kernel, length=length, **told),
                plain(features(problem.arms, (kernel, length)), **told),
            )
        )
        np.testing.assert_array_equal(run.counts, slow.counts)
        assert run.result.recommendation == slow.result.recommendation


MATERN, EXPONENTIAL = {"kernel": "matern", "length": 2.0}, {"kernel": "exponential", "length": 0.5}
FEW = LinearBandit(SPHERE.arms[:8], theta=SPHERE.theta, sigma=np.sqrt(10))
PUBLISHED = {  # problem, kernel, pulls and answer of two runs
    "linear": (ADAPTIVE, {}, [([70, 2, 6, 3, 1, 68], 2), ([71, 17, 3, 1, 3, 55], 1)]),
    "linear, sphere": (
        SPHERE,
        {},
        [
            ([1, 5, 1, 31, 10, 6, 18, 2, 16, 1, 1, 1, 1, 1, 1, 1, 9, 8, 35, 1], 3),
            ([3, 4, 1, 1, 1, 1, 1, 20, 1, 1, 1, 1, 35, 43, 15, 3, 9, 1, 1, 7], 13),
        ],
    ),
    "matern": (ADAPTIVE, MATERN, [([71, 2, 6, 3, 1, 67], 2), ([69, 7, 2, 1, 8, 63], 4)]),
    "exponential": (FEW, EXPONENTIAL, [([69, 1, 2, 1, 1, 4, 3, 69], 7), ([52, 12, 17, 1, 11, 5, 1, 51], 7)]),
    "matern, sphere": (FEW, MATERN, [([68, 1, 2, 2, 1, 2, 7, 67], 7), ([44, 43, 27, 1, 24, 5, 1, 5], 0)]),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_formula_pulls_these_arms(name):
    """Recorded from the published formulas, solved afresh at every pull: variances in place of standard deviations."""
    problem, kernel, expected = PUBLISHED[name]
    for seed, told in enumerate(expected):
        rule = bayes_gap(problem.arms, budget=150, sigma=np.sqrt(10), formula="code", **kernel)
        run = play(rule, problem, np.random.default_rng(seed))
        assert (run.counts.tolist(), run.result.recommendation) == told


def test_the_posterior_is_still_exact_after_thousands_of_pulls():
    told = {"budget": 2_900, "sigma": np.sqrt(10)}
    run, slow = (play(rule(ADAPTIVE.arms, **told), ADAPTIVE, np.random.default_rng(0)) for rule in (bayes_gap, plain))
    np.testing.assert_array_equal(run.counts, slow.counts)
    assert run.result.recommendation == slow.result.recommendation


def test_a_covariance_matrix_is_a_kernel():
    by_name, by_matrix = (
        play(bayes_gap(SPHERE.arms, budget=100, sigma=SPHERE.sigma, kernel=kernel), SPHERE, np.random.default_rng(0))
        for kernel in ("linear", SPHERE.arms @ SPHERE.arms.T)
    )
    assert (by_name.counts == by_matrix.counts).all()


def test_copies_and_an_arm_at_the_origin_are_allowed():
    problem = LinearBandit([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, 0.5]], theta=[1.0, 0.0])
    run = play(bayes_gap(problem.arms, budget=60), problem, np.random.default_rng(0))
    assert run.result.recommendation in (0, 1) and run.counts.sum() == 60


def published_covariance(kernel):
    """By the published call."""
    values, vectors = np.linalg.eig(kernel)
    features = vectors.real * np.sqrt(np.maximum(values.real, 0.0))
    return features @ features.T


def test_the_published_features_of_a_degenerate_kernel_prefer_arms_for_their_places():
    """Interchangeable arms are equally uncertain; np.linalg.eig's vectors of an equal eigenvalue are not orthogonal."""
    kernel = covariance_of(np.eye(16), "exponential", 1000.0)
    draws = [covariance_of(np.eye(16), "exponential", 1000.0, "code", np.random.default_rng(r)) for r in range(400)]
    np.testing.assert_allclose(np.mean(draws, axis=0), kernel, atol=5 * np.std(draws, axis=0).max() / 20)
    spread, published = np.std([np.diag(drawn) for drawn in draws]), np.std(np.diag(published_covariance(kernel)))
    assert np.ptp(np.diag(kernel)) == 0 and 1e-4 < spread < 1e-3 and spread / 6 < published < 6 * spread
    by_name, by_matrix = (
        covariance_of(np.eye(16), *told, "code", np.random.default_rng(0))
        for told in (("exponential", 1000.0), (kernel, None))
    )
    np.testing.assert_array_equal(by_name, by_matrix)


@pytest.mark.parametrize(
    ("arms", "length"), [(SPHERE.arms, 0.5), (ADAPTIVE.arms, 1e-3), (np.eye(8), 1e-6), (SPHERE.arms[[0, 1, 1, 1]], 1.0)]
)
def test_where_eigenvectors_are_determined_the_published_features_have_the_kernel_s_covariance(arms, length):
    kernel = covariance_of(arms, "exponential", length)
    found = covariance_of(arms, "exponential", length, "code")
    np.testing.assert_allclose(found, kernel, atol=1e-12)
    np.testing.assert_allclose(published_covariance(kernel), found, atol=1e-9)


def test_equal_eigenvalues_need_a_draw():
    options = {"kernel": "exponential", "length": 1000.0, "formula": "code"}
    with pytest.raises(ValueError, match="rng must be given for formula='code'"):
        next(bayes_gap(np.eye(4), budget=20, **options))
    runs = [bayes_gap(np.eye(4), budget=20, rng=np.random.default_rng(r), **options) for r in (0, 0)]
    problem = instances.static(0.5, K=4, sigma2=1.0)
    played = [play(rule, problem, np.random.default_rng(1)) for rule in runs]
    np.testing.assert_array_equal(played[0].counts, played[1].counts)
