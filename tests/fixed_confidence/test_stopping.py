"""The stopping rule that all tracking rules share: statistic, thresholds, and how seldom it looks at all items."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from bandits_lib import LinearBandit, Sample, glr, instances
from bandits_lib.fixed_confidence import lazy_track_and_stop
from bandits_lib.glr import add_reward, begin, check_stopping, opening, stopped
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import Loop, Trace, one_pull


def begun(problem, rng, initial="spanning", **options):
    """Evidence after the opening's pulls, as a rule would have it, and their Sample."""
    start = opening(problem.arms, problem.items, initial, np.random.default_rng(0))
    sample = problem.pull(start.counts, rng)
    return start, begin(start, sample, check_stopping(delta=0.1, sigma=1.0, **options)), sample.sums.copy()


def pulled(evidence, problem, rng, arms, sums):
    """Tell so many pulls, adding the rewards to `sums` (K,)."""
    for arm in arms:
        reward = float(problem.pull(one_pull(arm, len(problem.arms)), rng).sums[arm])
        sums[arm] += reward
        add_reward(evidence, arm, reward)


# ---- the statistic


def constrained_fit(arms, counts, sums, difference):
    """min over mu with mu'difference <= 0 of the sum of (reward - mu'arm)^2 / 2, up to a constant, by scipy.

    In an orthonormal basis that begins with the difference the constraint is a bound on the first coordinate.
    """
    basis = np.linalg.qr(np.column_stack([difference, np.eye(len(difference))]))[0]
    basis[:, 0] *= np.sign(basis[:, 0] @ difference)
    pulled = counts > 0
    root = np.sqrt(counts[pulled])
    bounds = (np.full(len(difference), -np.inf), np.where(np.arange(len(difference)) == 0, 0.0, np.inf))
    return lsq_linear(root[:, None] * arms[pulled] @ basis, sums[pulled] / root, bounds, method="bvls", tol=1e-14).cost


@pytest.mark.parametrize("seed", range(5))
def test_the_statistic_is_the_generalised_likelihood_ratio(seed):
    """Lemma 7 against its definition: max over items a of min over b of log-likelihood ratios, each by two fits."""
    rng = np.random.default_rng(seed)
    arms, items = rng.standard_normal((6, 3)), rng.standard_normal((5, 3))
    problem = LinearBandit(arms, items=items, theta=rng.standard_normal(3))
    _, evidence, sums = begun(problem, rng)
    pulled(evidence, problem, rng, rng.integers(6, size=40), sums)
    fits = np.array([[constrained_fit(arms, evidence.counts, sums, b - a) for a in items] for b in items])
    ratio = fits - fits.T  # [b, a]: best fit with b'mu <= a'mu, against best fit with a'mu <= b'mu
    np.fill_diagonal(ratio, np.inf)
    expected = ratio.min(axis=1)
    seen = look(evidence)
    assert seen.statistic == pytest.approx(expected.max(), rel=1e-6)
    assert seen.leader == int(np.argmax(expected))


def look(evidence):
    return Trace(0, evidence.counts, *glr.look(SimpleNamespace(evidence=evidence)))


def slow_statistic(items, information, theta):
    values = items @ theta
    leader = argmax(values)
    y = np.delete(items[leader] - items, leader, axis=0)
    return ((y @ theta) ** 2 / (2 * np.einsum("nd,dn->n", y, np.linalg.solve(information, y.T)))).min()


@pytest.mark.parametrize("initial", ["spanning", "random"])
def test_a_thousand_pulls_leave_no_rounding_errors(initial):
    """Two nearly parallel first arms make A nearly singular; the updates must survive it."""
    problem = instances.many_arms(2000, np.random.default_rng(3), "code")
    rng = np.random.default_rng(4)
    _, evidence, sums = begun(problem, rng, initial)
    for _ in range(30):
        pulled(evidence, problem, rng, rng.integers(2000, size=40), sums)
        information = (problem.arms.T * evidence.counts) @ problem.arms
        theta = np.linalg.solve(information, problem.arms.T @ sums)
        shown = look(evidence)
        assert shown.statistic == pytest.approx(slow_statistic(problem.arms, information, theta), rel=1e-6)


def test_the_opening_sample_stays_as_it_was_when_more_is_told():
    problem, rng = instances.benchmark(3), np.random.default_rng(0)
    start = opening(problem.arms, problem.items)
    sample = problem.pull(start.counts, rng)
    evidence = begin(start, sample, check_stopping(delta=0.1, sigma=1.0))
    before = start.counts.copy()
    add_reward(evidence, 1, 0.5)
    np.testing.assert_array_equal(start.counts, before)
    np.testing.assert_array_equal(sample.counts, before)
    assert evidence.counts.sum() == evidence.status.pulls == before.sum() + 1


# ---- the thresholds


@pytest.mark.parametrize("schedule", ["anytime", "union", 1.5])
def test_the_determinant_threshold_is_equation_9(schedule):
    problem, rng, u, delta = instances.benchmark(3), np.random.default_rng(0), 0.3, 0.1
    start, evidence, sums = begun(problem, rng, u=u, delta_schedule=schedule)
    pulled(evidence, problem, rng, rng.integers(4, size=25), sums)
    t = evidence.counts.sum()
    information = (problem.arms.T * evidence.counts) @ problem.arms
    c = np.linalg.eigvalsh(problem.arms[start.first].T @ problem.arms[start.first])[0]
    level = {"anytime": delta, "union": 6 * delta / (np.pi * t) ** 2, 1.5: 6 * delta / (np.pi**2 * t**1.5)}[schedule]
    beta = (1 + u) * np.log(np.sqrt(np.linalg.det(information / (u * c) + np.eye(3))) / level)
    assert look(evidence).threshold == pytest.approx(beta, rel=1e-12)


def test_sigma_and_the_three_unproved_thresholds():
    problem, t, delta = instances.benchmark(3), 3, 0.1
    for sigma in (1.0, 2.0):
        start = opening(problem.arms, problem.items)
        sample = problem.pull(start.counts, np.random.default_rng(0))
        at = {
            kind: look(begin(start, sample, check_stopping(delta=delta, sigma=sigma, u=0.5, threshold=kind))).threshold
            for kind in glr.THRESHOLDS
        }
        determinant = 1.5 * sigma**2 * (0.5 * 3 * np.log(1 / 0.5 + 1) + np.log(1 / delta))  # A = c I = I
        assert at["determinant"] == pytest.approx(determinant)
        logarithm = 1.5 * sigma**2 * (np.log(1 / delta) + 0.5 * np.log(t) + 1.5 * np.log(1 + 1 / 0.5))
        assert at["logarithm"] == pytest.approx(logarithm)
        assert at["loglog"] == pytest.approx(sigma**2 * np.log((1 + np.log(t)) / delta))
        assert at["log_pulls"] == pytest.approx(sigma**2 * np.log((1 + t) / delta))


@pytest.mark.parametrize(("d", "u"), [(1, 1.0), (2, 1.0), (3, 0.1), (4, 2.0)])
def test_the_simple_threshold_is_remark_1_and_never_below_equation_9(d, u):
    """With c = max ||a||^2, whatever was pulled; for u = 1 and d >= 2 it is 2 sigma^2 log(t^(d/2) / delta)."""
    rng, delta, sigma = np.random.default_rng(d), 0.1, 1.5
    arms = rng.standard_normal((6, d))
    problem, c = LinearBandit(arms, theta=rng.standard_normal(d)), (arms**2).sum(axis=1).max()
    start = opening(problem.arms, problem.items)
    sample = problem.pull(start.counts, rng)
    evidence = begin(start, sample, check_stopping(delta=delta, sigma=sigma, u=u, threshold="simple"))
    for _ in range(60):
        pulled(evidence, problem, rng, [int(rng.integers(6))] * 5, np.zeros(6))
        t, beta = evidence.counts.sum(), look(evidence).threshold
        information = (arms.T * evidence.counts) @ arms
        logdet = np.linalg.slogdet(information / (u * c) + np.eye(d))[1]
        assert beta >= (1 + u) * sigma**2 * (logdet / 2 + np.log(1 / delta)) * (1 - 1e-12)
        if u == 1 and d > 1:
            assert beta == pytest.approx(2 * sigma**2 * np.log(t ** (d / 2) / delta))


def test_the_simple_threshold_waits_until_every_direction_is_explored():
    """Rewards that leave no doubt, but A has an eigenvalue below max ||a||^2 = 4 until the fourth pull of e_2."""
    arms = np.array([[2.0, 0.0], [0.0, 1.0]])
    start = opening(arms, arms)
    for n, over in ((3, False), (4, True)):
        counts, sums = np.array([1_000, n]), np.array([2_000.0, -100.0])
        evidence = begin(start, Sample(counts, sums, sums**2), check_stopping(delta=0.1, sigma=1.0, threshold="simple"))
        assert stopped(evidence) == over
        assert look(evidence).statistic > look(evidence).threshold


def test_of_several_sigma_the_largest_counts():
    assert check_stopping(delta=0.1, sigma=np.array([0.5, 3.0, 1.0])).sigma == 3.0


# ---- stopping without looking


SPHERE = instances.sphere(40, np.random.default_rng(2), d=4).arms
EASY = LinearBandit(SPHERE, theta=3 * SPHERE[0])


def test_items_are_looked_at_in_a_small_share_of_the_pulls(monkeypatch):
    """What makes a pull cost O(d^2): count the full looks of a run, unrolled."""
    problem, looks = EASY, []
    algorithm, rng = lazy_track_and_stop(problem.arms, delta=0.05), np.random.default_rng(0)
    reply, pulls = None, 0
    while True:
        try:
            request = algorithm.send(reply)
        except StopIteration:
            break
        reply = None
        if not isinstance(request, Loop):
            reply, pulls = problem.pull(request, rng), pulls + request.sum()
            continue
        evidence = request.state.evidence
        while True:
            evidence.status.rival = -1  # a full look writes the rival
            arm = request.choose(request.state)
            looks.append(evidence.status.rival >= 0)
            if arm < 0:
                break
            pulls += 1
            request.update(request.state, arm, problem.means[arm] + rng.standard_normal())
    assert pulls > 200 and sum(looks) < pulls / 3
