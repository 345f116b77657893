"""Plain variance estimators against the fast ones: the same pulls, the same estimates."""

from inspect import signature

import numpy as np
import pytest

from bandits_lib import LinearBandit, instances, play, variance
from bandits_lib.plain.head import head
from bandits_lib.plain.quadratic import features
from bandits_lib.plain.separate_arm import separate_arm_estimator
from bandits_lib.plain.uniform import uniform_estimator

RULES = {
    "head": (head, variance.head),
    "uniform": (uniform_estimator, variance.uniform_estimator),
    "separate_arm": (separate_arm_estimator, variance.separate_arm_estimator),
}
SIGMA = np.array([[1.0, 0.3, 0.0], [0.3, 0.5, -0.2], [0.0, -0.2, 0.8]])
NORMAL = np.random.default_rng(3).standard_normal((12, 3))
PROBLEMS = {
    "normal": LinearBandit(
        NORMAL, theta=[1.0, -2.0, 0.5], sigma=np.sqrt(np.einsum("ki,ij,kj->k", NORMAL, SIGMA, NORMAL))
    ),
    "two spheres": instances.two_spheres(3, np.random.default_rng(4), n=60),
    "benchmark": instances.bent_benchmark(angle=0.3),
}


def both(rule, problem, budget, seed):
    """The runs of the plain and the fast rule."""
    told = {"budget": budget, "sigma_min": 0.8 * problem.sigma.min(), "sigma_max": 1.2 * problem.sigma.max()}
    for make in RULES[rule]:
        rng = {"rng": np.random.default_rng(7)} if "rng" in signature(make).parameters else {}
        yield play(make(problem.arms, **told, **rng), problem, np.random.default_rng(seed))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("budget", [120, 4001])
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS.keys())
@pytest.mark.parametrize("rule", RULES)
def test_the_estimates_are_those_of_the_fast_rule(rule, problem, budget, seed):
    plain, fast = both(rule, problem, budget, seed)
    np.testing.assert_array_equal(plain.counts, fast.counts)
    assert plain.counts.sum() == budget
    slow, quick = plain.result.recommendation, fast.result.recommendation
    np.testing.assert_allclose(slow.sigma, quick.sigma, rtol=1e-9)
    np.testing.assert_allclose(slow.Sigma, quick.Sigma, atol=1e-9 * np.abs(quick.Sigma).max())
    assert slow.rank == quick.rank == features(problem.arms).shape[1]
    np.testing.assert_array_equal(slow.counts, quick.counts)


@pytest.mark.parametrize("rule", ["head", "uniform"])
def test_where_sigma_is_not_identified_the_variances_are_the_same_all_the_same(rule):
    """Four arms and six entries of Sigma: the plain one is the shortest vech, the fast one of least Frobenius norm."""
    problem = LinearBandit(NORMAL[:4], theta=[1.0, -2.0, 0.5], sigma=PROBLEMS["normal"].sigma[:4])
    plain, fast = (run.result.recommendation for run in both(rule, problem, 400, 0))
    np.testing.assert_allclose(plain.sigma, fast.sigma, rtol=1e-9)
    assert plain.rank == fast.rank == 4 and not np.allclose(plain.Sigma, fast.Sigma)
    assert np.linalg.norm(fast.Sigma) < np.linalg.norm(plain.Sigma)
