"""HEAD and its baselines as rules: what they promise, which arms they choose, the contract, bad input, the burn-in."""

from functools import partial

import numpy as np
import pytest

from bandits_lib import LinearBandit, instances, play
from bandits_lib.design import design_value, frank_wolfe_design, g_design
from bandits_lib.variance import (
    VarianceEstimate,
    burn_in,
    features,
    head,
    separate_arm_design,
    separate_arm_estimator,
    uniform_estimator,
)
from bandits_lib.variance.head import FORMS, error
from bandits_lib.variance.quadratic import variances

SIGMA = np.array([[1.0, 0.3, 0.0], [0.3, 0.5, -0.2], [0.0, -0.2, 0.8]])
ARMS = np.random.default_rng(3).standard_normal((12, 3))
IDENTIFIED = LinearBandit(ARMS, theta=[1.0, -2.0, 0.5], sigma=np.sqrt(variances(ARMS, SIGMA)))
WIDE = {"sigma_min": 1e-3, "sigma_max": 1e3}  # bounds that clip next to nothing

MAKE = {
    "head": lambda arms, budget, rng: head(arms, budget=budget, **WIDE),
    "head (share)": lambda arms, budget, rng: head(arms, budget=budget, share=0.2, **WIDE),
    "uniform_estimator": lambda arms, budget, rng: uniform_estimator(arms, budget=budget, rng=rng, **WIDE),
    "separate_arm_estimator": lambda arms, budget, rng: separate_arm_estimator(
        arms, budget=budget, subsets=20, rng=rng, **WIDE
    ),
    "separate_arm_estimator (volume)": lambda arms, budget, rng: separate_arm_estimator(
        arms, budget=budget, criterion="volume", rng=rng, **WIDE
    ),
}
each = pytest.mark.parametrize("make", MAKE.values(), ids=MAKE.keys())


def estimate(make, problem, budget, seed=0):
    return play(make(problem.arms, budget, np.random.default_rng(0)), problem, np.random.default_rng(seed))


# --- what is promised


@each
def test_exactly_the_budget_is_pulled(make):
    for budget in (61, 62, 1001, 10**12):
        run = estimate(make, IDENTIFIED, budget)
        found = run.result.recommendation
        assert isinstance(found, VarianceEstimate) and run.stopped
        assert run.counts.sum() == budget and (found.counts == run.counts).all()
        assert found.sigma.shape == (12,) and found.Sigma.shape == (3, 3) and (found.Sigma == found.Sigma.T).all()


def test_estimates_are_clipped_and_sigma_is_not():
    narrow = {"sigma_min": 0.9, "sigma_max": 1.1}
    for rule in (head, partial(uniform_estimator, rng=np.random.default_rng(0))):
        rng = np.random.default_rng(0)
        found = play(rule(ARMS, budget=500, **narrow), IDENTIFIED, rng, misspecified=True).result.recommendation
        free = variances(ARMS, found.Sigma)
        assert free.min() < 0.9**2 and free.max() > 1.1**2
        np.testing.assert_allclose(found.sigma**2, np.clip(free, 0.9**2, 1.1**2))
    drawn = [estimate(MAKE["head"], IDENTIFIED, 24, s).result.recommendation for s in range(50)]
    below = [found for found in drawn if (variances(ARMS, found.Sigma) < 0).any()]
    assert below and all((found.sigma >= 1e-3).all() for found in below)  # a negative variance is clipped too


def test_both_stages_follow_certified_designs():
    stages = estimate(MAKE["head"], IDENTIFIED, 20_000).result.history
    assert [stage.counts.sum() for stage in stages] == [10_000, 10_000]
    for stage, vectors, rank in zip(stages, (ARMS, features(ARMS)), (3, 6), strict=True):
        assert stage.lower_bound == rank and stage.design_value <= 1.001 * rank
        np.testing.assert_allclose(stage.counts / 10_000, g_design(vectors).weights, atol=2e-3)
    assert [s.counts.sum() for s in estimate(MAKE["head (share)"], IDENTIFIED, 1001).result.history] == [200, 801]


def test_the_design_of_figure_2_is_certified_in_120_dimensions_and_takes_long_arms_only():
    phi = features(instances.two_spheres(15, np.random.default_rng(0)).arms)
    design = g_design(phi)
    assert phi.shape == (2000, 120) and design.lower_bound == 120
    value = max(np.einsum("kd,kd->k", phi, np.linalg.solve((phi.T * design.weights) @ phi, phi.T).T))
    assert value == pytest.approx(design.value) and value <= 1.001 * 120
    assert design.weights[:200].sum() == pytest.approx(1)


def test_the_width_of_a_stage_is_the_standard_error():
    flat = LinearBandit(ARMS, theta=np.zeros(3), sigma=2.0)
    options = {"budget": 2_000, "sigma_min": 0.1, "sigma_max": 2.0}
    runs = [play(head(ARMS, **options), flat, np.random.default_rng(s)).result for s in range(500)]
    means = np.array([ARMS @ run.history[0].theta_hat for run in runs])
    found = np.array([variances(ARMS, run.recommendation.Sigma) for run in runs])
    for stage, values in zip(runs[0].history, (means, found), strict=True):
        assert stage.width == pytest.approx(values.std(axis=0).max(), rel=4 / np.sqrt(2 * 500) + 0.03)


def test_another_design_solver_may_be_given():
    def published(vectors):
        return frank_wolfe_design(vectors, vectors)

    run = play(head(ARMS, budget=5_000, design=published, **WIDE), IDENTIFIED, np.random.default_rng(0))
    assert run.result.history[0].design_value > 3.001  # Frank-Wolfe stalls
    np.testing.assert_allclose(run.result.recommendation.sigma, IDENTIFIED.sigma, rtol=0.3)


# --- which arms the Separate Arm Estimator takes


def singular_values(arms, design):
    return np.linalg.svd(features(arms)[design.weights > 0], compute_uv=False)


def test_the_chosen_subset_is_the_best_of_those_drawn():
    arms = instances.two_spheres(4, np.random.default_rng(0), n=400).arms
    for criterion, score in (("zeta_min", lambda s: s[-1]), ("printed", lambda s: -s[0])):
        chosen = separate_arm_design(arms, criterion=criterion, subsets=60, rng=np.random.default_rng(1))
        order = np.argsort(-np.linalg.norm(arms, axis=1), kind="stable")[:40]
        tries = [order[row.argsort()[:10]] for row in np.random.default_rng(1).random((60, 40))]
        scores = [score(np.linalg.svd(features(arms[rows]), compute_uv=False)) for rows in tries]
        assert set(np.flatnonzero(chosen.weights)) == set(tries[int(np.argmax(scores))])
        assert chosen.value == pytest.approx(design_value(features(arms), chosen.weights, features(arms)))


def test_the_printed_criterion_picks_the_shortest_arms():
    arms = instances.two_spheres(3, np.random.default_rng(0), n=400).arms
    options = {"candidates": len(arms), "subsets": 400}
    printed, meant = (
        separate_arm_design(arms, criterion=criterion, rng=np.random.default_rng(2), **options)
        for criterion in ("printed", "zeta_min")
    )
    lengths = [np.linalg.norm(arms[design.weights > 0], axis=1).mean() for design in (printed, meant)]
    assert lengths[0] == pytest.approx(0.1) and lengths[1] > 0.2
    assert printed.value > 20 * meant.value


def test_volume_finds_a_better_subset_than_random_draws():
    arms = instances.two_spheres(8, np.random.default_rng(0), n=400).arms
    volume, drawn = (
        separate_arm_design(arms, criterion=criterion, rng=np.random.default_rng(0))
        for criterion in ("volume", "zeta_min")
    )
    assert np.count_nonzero(volume.weights) == np.count_nonzero(drawn.weights) == 36
    assert singular_values(arms, volume)[-1] > 1.5 * singular_values(arms, drawn)[-1]


def test_candidates_do_not_depend_on_the_order_of_the_arms():
    arms = np.random.default_rng(0).standard_normal((300, 3))
    shuffled = np.random.default_rng(1).permutation(300)
    one, other = (separate_arm_design(a, rng=np.random.default_rng(2)).weights for a in (arms, arms[shuffled]))
    assert (one[shuffled] == other).all()


def test_a_random_search_that_never_spans_falls_back_on_the_largest_volume():
    arms = np.vstack([np.tile(np.eye(2)[0], (60, 1)), np.eye(2)[1], [0.6, 0.8]])  # sixty copies of one arm
    chosen = separate_arm_design(arms, subsets=1, rng=np.random.default_rng(0))
    assert np.count_nonzero(chosen.weights) == 3 and np.isfinite(chosen.value)


# --- the burn-in of H-RAGE


EXPERIMENTS = {
    (9, 4, 6.25): (2_765_049, 16_553_474, 28_561_263, 3_858_369),
    (6, 3, 5): (950_983, 5_644_545, 9_479_234, 1_389_013),
    (8, 7, 3.35): (2_428_852, 14_341_047, 24_559_487, 3_394_763),
}


@pytest.mark.parametrize("K, d, kappa", EXPERIMENTS)
def test_burn_in_of_the_three_experiments(K, d, kappa):
    for form, expected in zip(FORMS, EXPERIMENTS[K, d, kappa], strict=True):
        pulls = burn_in(form, K=K, d=d, sigma_min=1.0, sigma_max=np.sqrt(kappa), delta=0.05)
        assert isinstance(pulls, int) and pulls == expected


def three_terms(pulls, K, d, delta):
    """A + B + C of weltz2023, appendix D.2, in units of sigma_max^2, to the letter, but L everywhere and C twice."""
    L, slack = np.log(12 * K / delta), 1.1
    A = 4 * d * slack * L / pulls
    B = max(np.sqrt(8) * np.sqrt(16 * L * d**2 * slack / pulls), 16 * L * d**2 * slack / pulls)
    C = 2 * 2 * np.sqrt(10 * 4 * d**3 * slack**2 / pulls**2 * L * (d * np.log(6) + L))
    return A + B + C


@pytest.mark.parametrize("delta", [0.5, 0.05, 1e-9])
@pytest.mark.parametrize("K, d, kappa", [*EXPERIMENTS, (2, 2, 1.0), (10**6, 30, 1.5), (3, 2, 1e4)])
def test_the_proved_burn_in_is_the_least_for_which_the_three_terms_are_half_of_the_least_variance(K, d, kappa, delta):
    pulls = burn_in("theory", K=K, d=d, sigma_min=2.0, sigma_max=2 * np.sqrt(kappa), delta=delta)
    assert error(pulls, K=K, d=d, delta=delta) == pytest.approx(three_terms(pulls, K, d, delta))
    assert kappa * three_terms(pulls, K, d, delta) <= 0.5 * (1 + 1e-12)
    rounded = 42 * min(K, (d * (d + 1) // 2) * (d * (d + 1) // 2 + 1) // 2)
    assert pulls == rounded or kappa * three_terms(pulls - 1, K, d, delta) > 0.5
    assert pulls >= rounded and (1 + 2 / 21) * 1.001 <= 1.1


@pytest.mark.parametrize("setting, arms", list(zip(EXPERIMENTS, (190, 174, 167), strict=True)))
def test_three_terms_prove_the_published_burn_in_up_to_so_many_arms_if_estimates_are_clipped(setting, arms):
    (K, d, kappa), published = setting, EXPERIMENTS[setting][3]
    assert kappa * three_terms(published, K, d, 0.05) < 0.43
    assert kappa * three_terms(published, arms, d, 0.05) <= 0.5 < kappa * three_terms(published, arms + 1, d, 0.05)
    assert kappa * three_terms(published, K, d, 0.05) > 1 / 3  # what it would take without clipping


def test_burn_in_is_enough_and_a_thousandth_is_not():
    known = {"sigma_min": IDENTIFIED.sigma.min(), "sigma_max": IDENTIFIED.sigma.max()}
    pulls = burn_in("theory", K=12, d=3, delta=0.05, **known)

    def relative_errors(budget):
        drawn = (play(head(ARMS, budget=budget, **known), IDENTIFIED, np.random.default_rng(s)) for s in range(40))
        found = np.array([run.result.recommendation.sigma**2 for run in drawn])
        return np.abs(IDENTIFIED.sigma**2 / found - 1).max(axis=1)

    assert relative_errors(pulls).max() < 0.5
    assert np.mean(relative_errors(60) > 0.5) > 0.05


# --- the contract


@each
def test_duplicate_arms_and_a_single_arm(make):
    doubled = LinearBandit(np.tile(ARMS, (2, 1)), theta=IDENTIFIED.theta, sigma=np.tile(IDENTIFIED.sigma, 2))
    np.testing.assert_allclose(estimate(make, doubled, 400_000).result.recommendation.sigma, doubled.sigma, rtol=0.05)
    single = LinearBandit([[2.0]], theta=[1.0], sigma=3.0)
    np.testing.assert_allclose(estimate(make, single, 100_000).result.recommendation.sigma, 3.0, rtol=0.05)


@each
def test_the_smallest_budget_is_named(make):
    with pytest.raises(ValueError, match="budget must be a whole number of pulls, at least") as refusal:
        next(make(ARMS, 1, np.random.default_rng(0)))
    least = int(str(refusal.value).split("at least ")[1].split()[0])
    assert estimate(make, IDENTIFIED, least).counts.sum() == least
    for budget in (least - 1, least + 0.5, np.nan, True, "100"):
        with pytest.raises(ValueError, match="budget must be"):
            next(make(ARMS, budget, np.random.default_rng(0)))


@pytest.mark.parametrize("given", [{"form": "best"}, {"delta": 0.0}, {"sigma_min": 3.0}])
def test_bad_burn_in_is_refused(given):
    with pytest.raises(ValueError, match="must"):
        burn_in(**({"form": "theory", "K": 9, "d": 4, "sigma_min": 1.0, "sigma_max": 2.0, "delta": 0.05} | given))
