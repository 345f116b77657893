"""BayesGap: the compiled loop pulls what a plain-numpy twin pulls; each difference between paper and code is seen."""

import numpy as np
import pytest

from bandits_lib import LinearBandit, instances, play
from bandits_lib.fixed_budget import bayes_gap
from bandits_lib.fixed_budget.bayes_gap import covariance_of
from bandits_lib.numerics.ties import TIE, argmax


def features(arms, kernel, length, formula):
    """Rows whose inner products are the kernel, from its eigenvectors, as the published code makes them."""
    if kernel == "linear":
        return arms
    distance = np.sqrt(((arms[:, None] - arms[None]) ** 2).sum(axis=2))
    near = np.sqrt(3) * distance / length
    gram = np.exp(-(distance**2) / length) if kernel == "exponential" else (1 + near) * np.exp(-near)
    if kernel == "matern" and formula == "code":
        return gram
    values, vectors = (np.linalg.eig if formula == "code" else np.linalg.eigh)(gram)
    kept = values > 1e-10
    return vectors[:, kept] * np.sqrt(values[kept])


def twin(problem, rng, budget, sigma, kernel="linear", length=None, eta=50.0, epsilon=0.0, formula="paper"):
    """BayesGap in plain numpy: Bayesian regression on the features, solved afresh at every pull."""
    rows, K = features(problem.arms, kernel, length, formula), len(problem.arms)
    power, code = (2, True) if formula == "code" else (1, False)
    kappa = (1 / (rows**2).sum(axis=1)).sum()
    counts = np.ones(K, dtype=np.int64)
    sums = problem.pull(counts, rng).sums
    best, answer, indices = np.inf, -1, []
    while True:
        posterior = np.linalg.inv((rows.T * counts) @ rows / sigma**2 + np.eye(rows.shape[1]) / eta**2)
        mean = rows @ posterior @ rows.T @ sums / sigma**2
        s = np.sqrt(np.einsum("kd,de,ke->k", rows, posterior, rows)) ** power
        rivals = np.where(np.eye(K, dtype=bool), -np.inf, mean + 3 * s)
        gaps = np.maximum(rivals.max(axis=1) - (mean - 3 * s), 1e-6)
        share = np.maximum((gaps + epsilon) / 2, epsilon)
        beta = ((budget - K) / sigma**2 + kappa / eta**2) / (4 * (share if code else share**-2).sum())
        beta = beta if code else np.sqrt(beta)
        upper, lower = mean + beta * s, mean - beta * s
        index = np.where(np.eye(K, dtype=bool), -np.inf, upper).max(axis=1) - lower
        J = argmax(-index)
        j = argmax(np.where(np.arange(K) == J, -np.inf, upper))
        if index[J] < best - TIE * abs(best) or answer < 0:
            best, answer = index[J], J
        indices.append(index[J])
        if counts.sum() == budget:
            return counts, int(answer), indices
        arm = j if s[j] > s[J] * (1 + TIE) else J
        counts[arm] += 1
        sums[arm] += problem.means[arm] + problem.sigma[arm] * rng.standard_normal()


ADAPTIVE = instances.benchmark(5, angle=0.1, scale=1.0, sigma=np.sqrt(10))
SPHERE = instances.sphere(20, np.random.default_rng(1), d=4, mix=0.01, sigma=np.sqrt(10))
SETTINGS = {
    "linear": {},
    "exponential": {"kernel": "exponential", "length": 0.5},
    "independent arms": {"kernel": "exponential", "length": 1e-3},
    "matern": {"kernel": "matern", "length": 10.0},
    "linear, code": {"formula": "code"},
    "exponential, code": {"kernel": "exponential", "length": 0.5, "formula": "code"},
    "matern, code": {"kernel": "matern", "length": 2.0, "formula": "code"},
    "epsilon": {"epsilon": 0.1},
    "prior": {"eta": 1.0},
}


PAIRS = {
    f"{place}, {name}": (problem, options)
    for place, problem in {"adaptive": ADAPTIVE, "sphere": SPHERE}.items()
    for name, options in SETTINGS.items()
    if (place, name) != ("adaptive", "exponential, code")  # its eigenvalues are equal: the next tests
}


@pytest.mark.parametrize(("problem", "options"), PAIRS.values(), ids=PAIRS.keys())
def test_the_compiled_loop_pulls_what_the_twin_pulls(problem, options):
    for seed in range(2):
        rule = bayes_gap(problem.arms, budget=150, sigma=np.sqrt(10), **options)
        run = play(rule, problem, np.random.default_rng(seed))
        counts, answer, _ = twin(problem, np.random.default_rng(seed), 150, np.sqrt(10), **options)
        np.testing.assert_array_equal(run.counts, counts)
        assert run.result.recommendation == answer


def test_the_posterior_is_still_exact_after_thousands_of_pulls():
    rule = bayes_gap(ADAPTIVE.arms, budget=2_900, sigma=np.sqrt(10))
    run = play(rule, ADAPTIVE, np.random.default_rng(0), trace=100)
    counts, answer, indices = twin(ADAPTIVE, np.random.default_rng(0), 2_900, np.sqrt(10))
    np.testing.assert_array_equal(run.counts, counts)
    assert run.result.recommendation == answer
    *looks, _ = run.trace
    assert [look.pulls for look in looks[:3]] == [6, 106, 206]
    np.testing.assert_allclose([-look.statistic for look in looks], indices[::100][: len(looks)], rtol=1e-8)


def test_exactly_the_budget_is_pulled_and_every_arm_once_at_least():
    for budget in (20, 21, 77):
        run = play(bayes_gap(SPHERE.arms, budget=budget, sigma=SPHERE.sigma), SPHERE, np.random.default_rng(0))
        assert run.counts.sum() == budget and run.counts.min() >= 1


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


def test_the_published_errors_cost_accuracy_on_the_adaptive_instance():
    """With variances in place of deviations the rule hardly explores: azizi2022's remark on BayesGap-Lin."""
    correct = {}
    for formula in ("paper", "code"):
        runs = (
            play(
                bayes_gap(ADAPTIVE.arms, budget=120, sigma=np.sqrt(10), formula=formula),
                ADAPTIVE,
                np.random.default_rng(r),
            )
            for r in range(400)
        )
        correct[formula] = np.mean([run.result.recommendation == 0 for run in runs])
    margin = 4 * np.sqrt(sum(p * (1 - p) for p in correct.values()) / 400)
    assert correct["paper"] - correct["code"] > margin


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kernel": "rbf"}, "kernel must be one of 'linear', 'exponential', 'matern'; got 'rbf'"),
        ({"kernel": "matern"}, "length must be given for kernel='matern'"),
        ({"kernel": "exponential", "length": 0.0}, "length must be positive"),
        ({"kernel": np.eye(3)}, "kernel must be one of .* symmetric"),
        ({"kernel": -np.eye(20)}, "kernel must have no negative eigenvalue"),
        ({"formula": "both"}, "formula must be one of"),
        ({"epsilon": -0.1}, "epsilon must be finite and at least 0"),
        ({"epsilon": np.inf}, "epsilon must be finite and at least 0"),
        ({"eta": 0.0}, "eta must be positive"),
        ({"sigma": -1.0}, "sigma must be positive"),
        ({"budget": 19}, "budget must be a whole number of pulls, at least 20 here"),
        ({"budget": 30.5}, "budget must be a whole number"),
    ],
)
def test_bad_input_is_refused_before_any_pull(options, words):
    with pytest.raises(ValueError, match=words):
        next(bayes_gap(SPHERE.arms, **({"budget": 100} | options)))
