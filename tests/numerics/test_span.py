"""One rank rule: lengths and units of single arms change neither what is estimable nor the answer of any rule."""

import warnings

import numpy as np
import pytest
import test_contract
from hypothesis import given, settings
from hypothesis import strategies as st
from test_contract import ALGORITHMS, BUDGETED, FOR_ITEMS, LOGISTIC

from bandits_lib import LinearBandit, Sample, play
from bandits_lib.checks import check_items, check_ridge, check_span
from bandits_lib.design import design_value, g_design, pairs, round_design, xy_design
from bandits_lib.design.certificate import estimable
from bandits_lib.fixed_confidence import alba, lingape, rage
from bandits_lib.glr import opening
from bandits_lib.numerics.least_squares import least_squares, weighted_least_squares
from bandits_lib.numerics.span import RANK_TOL, basis, inverse_root, quick_inverse_root, scaled_axes, span
from bandits_lib.variance.quadratic import features, fit_quadratic

SCALES = [10.0**-k for k in range(10)]
REGULARISED = {  # the least length beside e1 at which the rule does not refuse
    "xy_adaptive (published)": 1.0,
    "lingape": 1.0,
    "lingape (greedy)": 1.0,
    "lingape (sample)": 1.0,
    "linucb": 1.0,
    "linucb (disjoint)": 1.0,
    "bayes_gap (published)": 1.0,
    "gse (logistic)": 1e-1,
    "ucb_glm": 1e-1,
    "ucb_glm (squared)": 1e-1,
    "bayes_gap": 1e-2,
    "lingape_budget": 1e-4,
    "lingape_budget (published)": 1e-3,
    "lingape_budget (greedy)": 1e-4,
}
HIDES = r"for a rule with a ridge: .* hides the rewards of arms {}, which are the only ones .* rescale the coordinates"
TURN = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0][:2]
TURN[1] = 0.5 * TURN[0] + np.sqrt(0.75) * TURN[1]  # e1 and e2 in three dimensions, 60 degrees apart


def plane(s, name):
    """Arms e1 and s e2, and theta that gives them the values (.5, 1), or what the rule can take."""
    values = (1.0, 4.0) if name in LOGISTIC else (0.4, 0.8) if name.startswith("bounded") else (0.5, 1.0)
    return np.diag([1.0, s]), np.array([values[0], values[1] / s])


def answers(name, s, monkeypatch, *, turn=None, copies=False, items=False, seeds=5):
    """What a rule names in some seeds, on e1 and s e2: turned, each twice, or with the items given beside the arms."""
    arms, theta = plane(s, name)
    if turn is not None:
        arms, theta = arms @ turn, np.linalg.pinv(turn) @ theta
    ranked = arms if items else None
    arms = np.repeat(arms, 2, axis=0) if copies else arms
    monkeypatch.setattr(test_contract, "THETA", theta)  # which the oracles are told
    link = "logistic" if name in LOGISTIC else "identity"
    problem = LinearBandit(arms, items=ranked, theta=theta, link=link, sigma=1e-3)
    named = []
    for seed in range(seeds):
        rule = ALGORITHMS[name](problem.arms, problem.items, np.random.default_rng(seed))
        run = play(rule, problem, np.random.default_rng(100 + seed), max_pulls=10**6, misspecified=True)
        named.append(run.result.recommendation if run.stopped else "no item")
    return named


def names_the_best_or_refuses(name, s, best, monkeypatch, **kind):
    if s < REGULARISED.get(name, 0) * 0.99:
        hidden = "2, 3" if kind.get("copies") else "1"
        with pytest.raises(ValueError, match=HIDES.format(hidden)):
            answers(name, s, monkeypatch, **kind)
    else:
        assert set(answers(name, s, monkeypatch, **kind)) <= best, s


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_rule_names_the_short_arm_or_refuses(name, monkeypatch):
    for s in SCALES:
        names_the_best_or_refuses(name, s, {1}, monkeypatch)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_so_it_does_in_a_turned_plane_with_arms_60_degrees_apart(name, monkeypatch):
    for s in (1e-3, 1e-9):
        names_the_best_or_refuses(name, s, {1}, monkeypatch, turn=TURN, seeds=2)


@pytest.mark.parametrize("name", FOR_ITEMS)
def test_so_it_does_for_items_and_with_arms_twice(name, monkeypatch):
    for s in (1e-3, 1e-9):
        names_the_best_or_refuses(name, s, {1}, monkeypatch, items=True, copies=True, seeds=2)


@pytest.mark.parametrize("name", BUDGETED)
def test_so_it_does_with_arms_twice_and_a_budget(name, monkeypatch):
    for s in (1e-3, 1e-9):
        names_the_best_or_refuses(name, s, {2, 3}, monkeypatch, copies=True, seeds=2)


def test_a_rule_that_needs_a_bound_on_theta_says_so_where_it_grows_with_the_scale():
    arms, _ = plane(1e-9, "alba")
    told = {"delta": 0.1, "theta_bound": 2e9}
    with pytest.raises(
        ValueError, match="mean rewards of up to 2e\\+09, theta_bound times the length of the longest arm.* rescale"
    ):
        next(alba(arms, rng=np.random.default_rng(0), **told))
    with pytest.raises(ValueError, match="lower ridge"):
        next(lingape(arms, **told))


def test_a_ridge_hides_short_arms_only_where_no_longer_ones_see_their_direction():
    seen = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 0.01]])
    check_ridge(seen, 1.0)
    with pytest.raises(ValueError, match="arms 1, which are the only ones"):
        check_ridge(seen[[0, 2]], 1.0)
    check_ridge(seen[[0, 2]], 1e-4)  # a ridge that one pull outweighs
    check_ridge(seen[[2]], 1.0)  # no arm is longer
    check_ridge(np.array([[1.0, 0.0], [0.0, 0.11]]), 1.0)
    with pytest.raises(ValueError, match="arms 1, which are the only ones"):
        check_ridge(np.array([[1.0, 0.0], [0.0, 1e-7]]), 1e-300)


# ---- arms over twelve decades


def arms_of(seed):
    """Arms (K, d) of known rank: random directions, in turned coordinates of other units, lengths from 1e-6 to 1e6."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 6))
    r = int(rng.integers(1, d + 1))
    rows = rng.standard_normal((rng.integers(r + 1, 3 * r + 3), r)) * 10.0 ** rng.uniform(-1, 1, r)
    rows *= 10.0 ** rng.uniform(-6, 6, len(rows))[:, None] / np.linalg.norm(rows, axis=1)[:, None]
    return rows @ np.linalg.qr(rng.standard_normal((d, r)))[0].T, r, rng


def refused(function):
    """Whether a call raises, which it may only in these words."""
    try:
        function()
    except ValueError as error:
        assert "must lie in the span of the arms" in str(error)
        return True
    return False


@given(st.integers(0, 10**6))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_designs_on_twelve_decades(seed):
    arms, r, rng = arms_of(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        design = g_design(arms)
    assert design.value <= 1.001 * r
    counts = round_design(design.weights, 50 * len(arms), "regret", arms)
    assert basis(arms[counts > 0]).shape[1] == r and opening(arms, arms).counts.sum() == r


@given(st.integers(0, 10**6), st.booleans())
@settings(max_examples=150, deadline=None, derandomize=True)
def test_checks_designs_and_rules_accept_the_same_items(seed, astray):
    arms, r, rng = arms_of(seed)
    items = arms[rng.permutation(len(arms))] + 0.0
    if astray:
        size = np.linalg.norm(items, axis=1).max() * 10.0 ** rng.uniform(-9, -3)
        items[-1] += size * rng.standard_normal(arms.shape[1])
    by_design = refused(lambda: xy_design(arms, pairs(items)))
    assert refused(lambda: check_items(items, arms)) == by_design
    assert refused(lambda: next(rage(arms, items, delta=0.1))) == by_design
    assert not by_design or astray
    differences = items[1:] - items[0]
    one_by_one = refused(lambda: check_span(differences, arms, "items"))
    assert one_by_one == refused(lambda: xy_design(arms, differences))
    assert one_by_one == (not np.isfinite(design_value_or_inf(arms, differences)))


def design_value_or_inf(arms, differences):
    weights = np.full(len(arms), 1 / len(arms))
    scale = np.linalg.norm(differences, axis=1)
    return design_value(arms, weights, differences) if estimable(arms, weights, differences, scale) else np.inf


@given(st.integers(0, 10**6))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_least_squares_on_twelve_decades(seed):
    arms, r, rng = arms_of(seed)
    counts = rng.integers(1, 10 ** rng.integers(1, 7), len(arms))
    axes = scaled_axes(arms)
    values = arms @ axes @ rng.standard_normal(r)
    fit = least_squares(arms, Sample(counts, counts * values, counts * values**2))
    assert counts @ fit.variances(arms) == pytest.approx(r, rel=1e-7)  # leverages add up to the rank
    np.testing.assert_allclose(arms @ fit.theta_hat, values, atol=1e-3 * np.abs(values).max())
    assert fit.estimable(arms).all() and fit.axes.shape[1] == r


@given(st.integers(0, 10**6))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_units_of_single_arms_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    r, d = 3, 4
    arms = rng.standard_normal((7, r)) @ np.linalg.qr(rng.standard_normal((d, r)))[0].T
    counts, sums, sigma = rng.integers(1, 1000, 7), rng.standard_normal(7) * 100, rng.uniform(0.5, 2, 7)
    units, turn = 10.0 ** rng.uniform(-6, 6, 7), np.linalg.qr(rng.standard_normal((d, d)))[0]
    before = weighted_least_squares(arms, Sample(counts, sums, sums**2), sigma)
    scaled = units[:, None] * arms @ turn
    after = weighted_least_squares(scaled, Sample(counts, units * sums, sums**2), units * sigma)
    np.testing.assert_allclose(arms @ turn @ after.theta_hat, arms @ before.theta_hat, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(after.variances(arms @ turn), before.variances(arms), rtol=1e-7)
    assert basis(scaled).shape == (d, r)


def test_one_pull_beside_a_million_millions():
    arms = np.array([[1.0, 0.0], [0.0, 1e-3], [1.0, 1e-3]])
    counts = np.array([10**12, 1, 0])
    fit = least_squares(arms, Sample(counts, counts * [0.5, 1.0, 0.0], counts * [0.25, 1.0, 0.0]))
    np.testing.assert_allclose(arms @ fit.theta_hat, [0.5, 1.0, 1.5], rtol=1e-9)
    np.testing.assert_allclose(fit.variances(arms), [1e-12, 1.0, 1.0], rtol=1e-9)


def test_both_roots_are_the_same_inverse():
    rng = np.random.default_rng(0)
    for rank in (4, 2):
        rows = rng.standard_normal((9, rank)) @ rng.standard_normal((rank, 4))
        weights = rng.uniform(0.1, 2, 9)
        roots = [find(rows, weights) for find in (inverse_root, quick_inverse_root)]
        for root, axes in roots:
            assert root.shape == (rank, 4) and axes.shape == (4, rank)
            np.testing.assert_allclose(root.T @ root, np.linalg.pinv((rows.T * weights) @ rows), atol=1e-9)


def test_the_variances_of_very_short_arms_are_estimated_too():
    arms = np.array([[1.0, 0.0], [0.0, 1e-6], [1.0, 1e-6], [1.0, -1e-6]])
    truth, counts = np.array([1.0, 4.0, 7.0, 3.0]), np.array([10, 10, 10, 10])
    fit = fit_quadratic(arms, counts, counts * truth)
    np.testing.assert_allclose(features(arms) @ fit.Sigma[np.triu_indices(2)], truth, rtol=1e-9)
    assert fit.rank == 3


# ---- the rule itself


def test_every_arm_lies_in_the_span_of_the_arms_at_the_edge_of_the_tolerance():
    for wiggle in (0.5 * RANK_TOL, 2 * RANK_TOL, 5 * RANK_TOL):
        arms = np.tile([1.0, 0.0], (100, 1))
        arms[7, 1] = wiggle
        found = basis(arms)
        assert found.shape[1] == (2 if wiggle > RANK_TOL else 1)
        assert (span(arms).outside(arms) <= RANK_TOL).all()


def test_copies_and_zeros_do_not_change_the_span():
    arms = np.array([[1.0, 0.0, 0.0], [0.0, 1e-9, 0.0]])
    more = np.vstack([arms, np.zeros((2, 3)), np.repeat(arms, 30, axis=0)])
    for rows in (arms, more, 1e5 * more):
        found = basis(rows)
        assert found.shape == (3, 2) and np.abs(found[2]).max() == 0
    assert basis(arms[:1]).shape == (3, 1)


def test_pulls_of_zero_arms_say_nothing():
    arms, counts = np.array([[0.0, 0.0], [1.0, 2.0]]), np.array([5, 0])
    fit = least_squares(arms, Sample(counts, counts * 1.0, counts * 1.0))
    assert not fit.theta_hat.any() and not fit.inverse.any()
    assert fit.estimable(arms).tolist() == [True, False]
    assert basis(arms[:1]).shape == (2, 0) and design_value(arms, [1.0, 0.0], arms[1:]) == np.inf


def test_coordinates_are_scaled_only_where_scales_are_far_apart():
    near, far = np.diag([1.0, 1e-3]), np.diag([1.0, 1e-5])
    np.testing.assert_allclose(np.abs(scaled_axes(near)), np.eye(2), atol=1e-15)
    np.testing.assert_allclose(np.abs(far @ scaled_axes(far)), np.eye(2), atol=1e-12)
    assert opening(far, far).c == pytest.approx(1.0)
