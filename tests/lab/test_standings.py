"""Standings: intervals that contain the truth together at any time, and no word "proved" that the data do not carry."""

from math import log, sqrt

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy import stats

from bandits_lab import Lab, sigma_upper
from bandits_lab.anytime_intervals import REPLICATES, by_itself, intervals, proof
from bandits_lib import LinearBandit, Result, Sample, rule
from bandits_lib.fixed_budget import gse, ucb_glm
from bandits_lib.fixed_confidence import bounded_rage, h_rage, rage, xy_static
from bandits_lib.protocol import total

ARMS = np.vstack([np.eye(3), [0.6, 0.8, 0.0]])
NAMES = list("abcd")
PROBLEM = LinearBandit(ARMS, theta=[1.0, 0.2, 0.0], sigma=0.5)
HOW = {"sigma": 1.0, "delta": 0.05, "names": range(4)}
RNG = np.random.default_rng


def ended(rule, problem=PROBLEM, seed=0):
    lab, rng = Lab(rule), RNG(seed)
    while lab.result is None:
        lab.tell(problem.pull(lab.ask(), rng))
    return lab


def test_a_width_is_that_of_equation_9():
    """Pulls of a basis: A is diagonal and c = 1, so beta and the norm are sums over the arms."""
    counts, u, delta, sigma = np.array([9, 25, 4]), 0.5, 0.1, 2.0
    beta = (1 + u) * sigma**2 * (np.log(counts / u + 1).sum() / 2 + log(1 / delta))
    sample, how = Sample(counts, counts * [1.0, 0.0, 0.5], counts * 2.0), {"sigma": sigma, "delta": delta, "u": u}
    table, leader = intervals(np.eye(3), sample, np.eye(3), **how, names=range(3))
    for item, behind in ((1, 1.0), (2, 0.5)):
        width = sqrt(2 * beta * (1 / counts[0] + 1 / counts[item]))
        expected = [behind, behind - width, behind + width]
        assert table.loc[item, ["behind", "low", "high"]].tolist() == pytest.approx(expected)
    alone = by_itself(sample, **how, names=range(3))[0]
    np.testing.assert_allclose(alone.to_numpy(float), table.to_numpy(float))
    more = by_itself(Sample(*(np.append(field, 0) for field in sample)), **how, names=range(4))[0]
    np.testing.assert_allclose(more.iloc[:3].to_numpy(float), table.to_numpy(float))  # an arm that was never measured
    assert more["in_play"][3] and np.isnan(more["estimate"][3]) and leader == 0


def test_intervals_cover_at_all_times_together_and_would_not_if_narrowed_by_the_root_of_two():
    """One arm and a small u, where eq. 9 gives little away: 2,000 runs of 4,000 pulls, looked at 52 times."""
    arms, items, delta = np.ones((1, 1)), np.array([[1.0], [0.0]]), 0.05
    times = np.unique(np.geomspace(1, 4_000, 60).astype(int))
    samples = [Sample(np.array([n]), np.array([float(n)]), np.array([2.0 * n])) for n in times]
    how = {"sigma": 1.0, "delta": delta, "u": 0.1, "names": range(2)}
    tables = [intervals(arms, sample, items, **how)[0] for sample in samples]
    widths = np.array([table["high"][1] - table["behind"][1] for table in tables])
    noise = RNG(0).standard_normal((2_000, len(times))) * np.sqrt(np.diff(times, prepend=0))
    errors = np.abs(noise.cumsum(axis=1) / times)  # of theta_hat, at every look
    missed, narrowed = (int((errors > width).any(axis=1).sum()) for width in (widths, widths / sqrt(2)))
    assert stats.binomtest(missed, 2_000, delta, alternative="less").pvalue < 1e-3
    assert stats.binomtest(narrowed, 2_000, delta, alternative="greater").pvalue < 1e-3


def test_items_are_shut_out_only_when_the_arms_are_spanned_and_measured():
    assert intervals(ARMS, Sample.of([0] * 5, [1.0] * 5, 4), ARMS, **HOW)[0]["in_play"].all()
    many = intervals(ARMS, PROBLEM.pull(np.full(4, 100_000), RNG(0)), ARMS, **HOW)[0]
    assert many["in_play"].tolist() == [True, False, False, False]
    flat = LinearBandit(ARMS[:2], theta=np.array([1.0, 0.0, 0.0]))
    flat = intervals(flat.arms, flat.pull(np.array([400, 400]), RNG(0)), flat.arms, **HOW | {"names": range(2)})[0]
    assert flat["in_play"].tolist() == [True, False]  # the arms do not span the space, but their difference
    known = Lab(rage(ARMS, delta=0.05)).standings()
    assert known.table["in_play"].all() and known.pulls == 0 and known.lead == (-np.inf, np.inf)
    assert "0 measurements 4 of 4 may still be the best" in repr(known) and "largest estimate" not in repr(known)
    plt.close(known.plot().figure)


def test_the_arguments_are_those_of_the_rule_unless_others_are_given():
    lab = Lab(rage(ARMS, ARMS[1:], delta=0.2, sigma=0.5))
    lab.tell(PROBLEM.pull(lab.ask() // 2, RNG(0)))
    known = lab.standings(names=NAMES[1:])
    how = {"sigma": 0.5, "delta": 0.2, "names": NAMES[1:]}
    np.testing.assert_array_equal(known.table, intervals(ARMS, total(lab.log), ARMS[1:], **how)[0])
    assert (known.sigma, known.delta, known.answer, known.source) == (0.5, 0.2, None, "the rule's")
    narrow = lab.standings(sigma=[0.1, 0.2, 0.1, 0.1])
    assert narrow.sigma == 0.2 and narrow.table["high"][1] < known.table["high"].iloc[1]
    assert "if rewards are linear in the features and the noise" in repr(narrow)
    assert "(given here)" in repr(narrow)


@pytest.mark.slow
def test_the_lead_is_that_of_the_answer_over_the_best_of_the_others_and_covers_in_any_unit():
    """GSE keeps what looks good; the true lead is outside in at most binomial(.05)."""
    missed = proved = 0
    for seed in range(200):
        lab = ended(gse(ARMS, budget=60, sigma=0.5), seed=seed)
        known, answer = lab.standings(), lab.result.recommendation
        others = known.table.drop(index=answer)
        assert known.leader == known.answer == answer and known.lead == (others["low"].min(), others["high"].min())
        lead = PROBLEM.means[answer] - np.delete(PROBLEM.means, answer).max()
        missed += not known.lead[0] <= lead <= known.lead[1]
        proved += known.lead[0] > 0 and lead < 0
    assert missed <= 20 and proved <= 20  # binomial(200, .05) exceeds 20 with probability .001
    leads = []
    for scale in (1e-6, 1.0, 1e6):
        lab = Lab(gse(ARMS, budget=400, sigma=scale))
        sums = scale * lab.ask() * [1.0, 0.2, 0.0, 0.5]
        lab.tell(Sample(lab.ask(), sums, sums**2))
        leads.append(np.array(lab.standings().lead) / scale)
    assert leads[0] == pytest.approx(leads[1]) and leads[2] == pytest.approx(leads[1])


@rule
def always_the_second(arms=((1.0, 0.0), (0.0, 1.0)), sigma=1.0, delta=0.05):
    yield np.array([500, 500])
    return Result(1)


def test_what_the_lead_means_is_said():
    clear, close = (LinearBandit(np.eye(2), theta=[lead, 0], sigma=0.5) for lead in (1, 0.01))
    assert "so it is proved to be the best" in repr(ended(gse(np.eye(2), budget=2000, sigma=0.5), clear).standings())
    unsure = ended(gse(np.eye(2), budget=20, sigma=0.5), close).standings()
    assert f"another item may be better, by {-unsure.lead[0]:.4g} at most" in repr(unsure)
    wrong = Lab(always_the_second())
    wrong.tell(Sample(np.array([500, 500]), np.array([500.0, 0.0]), np.array([600.0, 100.0])))
    assert wrong.standings().table["behind"][0] == pytest.approx(-1)
    assert "so another item is better. 0 has the largest estimate from all measurements" in repr(wrong.standings())
    rivals = LinearBandit(np.eye(3), theta=[1.0, 0.7, 0.0], sigma=0.5)
    own = ended(rage(np.eye(3), delta=0.3, sigma=0.5, scale=None), rivals).standings()
    assert own.lead[0] < 0 and own.may_be_best.tolist() == [True, False, False]
    assert "the rule's own test, which has proved the answer" in repr(own)


def test_noise_that_is_bounded_or_binary():
    bounds = Lab(h_rage(ARMS, delta=0.05, sigma_min=0.2, sigma_max=0.7)).standings()
    assert bounds.sigma == 0.7
    arms = np.array([[1.0], [-1.0], [0.5]])
    world = LinearBandit(arms, theta=[3.0], link="logistic")
    for made in (gse(arms, budget=300, model="logistic"), ucb_glm(arms, budget=50, alpha=1.0)):
        lab = ended(made, world)
        known, sample = lab.standings(), total(lab.log)
        means = np.where(sample.counts, sample.sums / np.maximum(sample.counts, 1), np.nan)
        assert known.sigma == 0.5 and "every arm by itself" in known.source and "linear" not in repr(known)
        assert known.table["estimate"].tolist() == pytest.approx(means.tolist(), nan_ok=True)
    betting = Lab(bounded_rage(np.eye(2), delta=0.1)).standings()
    assert betting.delta == 0.1 and "0.5 (rewards between 0 and 1, whose noise" in repr(betting)


@pytest.mark.parametrize(
    "made",
    [rage(ARMS, delta=0.1, sigma=None), gse(ARMS, budget=400), xy_static(ARMS, delta=0.1, sigma=None, rng=RNG(2))],
)
def test_replicates_of_single_requests_bound_an_unknown_sigma(made):
    lab, share = Lab(made), 0.005 if "budget" in made.arguments else 0.01
    with pytest.raises(ValueError, match="no arm was measured twice in one request"):
        lab.standings(sigma=REPLICATES)
    lab = ended(made.again())
    known = lab.standings(sigma=REPLICATES)
    parts = {
        request: [x for x, n in zip(lab.log, lab.requests, strict=True) if n == request] for request in lab.requests
    }
    samples = [(n, total(parts[request])) for n, request in enumerate(parts, start=1)]
    bounds = [sigma_upper(sample, share / (n * (n + 1))) for n, sample in samples if sample.counts.max() > 1]
    assert known.sigma == pytest.approx(min(bounds)) and 0.5 < known.sigma < 1.0
    assert known.delta == pytest.approx(9 * share)
    assert f"a bound from replicates, itself wrong with probability {share}" in repr(known)
    with pytest.raises(ValueError, match="one number for each arm, or 'replicates'; got 'pilot'"):
        lab.standings(sigma="pilot")


# --- what is proved

LINE = np.column_stack([np.ones(7), np.linspace(-1, 1, 7)])
STRAIGHT = LinearBandit(LINE, theta=[2.0, 0.4], sigma=0.5)
BENT = LinearBandit(LINE, means=[0.0, 0.3, 0.9, 10.0, 0.9, 0.6, 1.2], sigma=0.5)
CASES = {
    "refuted model": (BENT, lambda: rage(LINE, delta=0.05, sigma=0.5, scale=None, floor=0.1)),
    "refuted model, sigma unknown": (BENT, lambda: rage(LINE, delta=0.05, sigma=None, scale=None, floor=0.1)),
    "refuted model, budget": (BENT, lambda: gse(LINE, budget=80, sigma=0.5, floor=0.3)),
    "accept": (STRAIGHT, lambda: rage(LINE, delta=0.05, sigma=0.5, scale=None, floor=0.1, accept=0.3)),
    "budget": (STRAIGHT, lambda: gse(LINE, budget=40, sigma=0.5)),
    "plain": (STRAIGHT, lambda: rage(LINE, delta=0.05, sigma=0.5, scale=None, floor=0.1)),
}


def false_words(problem, make, runs):
    """Experiments in which an item is said to be proved best and is not, in which one that is best is said not to be,
    in which the answer is farther behind than was said, and in which the model is rejected."""
    false = np.zeros(4, int)
    for seed in range(runs):
        lab = ended(make(), problem, seed)
        known, words = lab.standings(), repr(lab.standings())
        said, answer = proof(lab), lab.result.recommendation
        best, behind = problem.best_item, problem.means.max() - problem.means[answer]
        claimed = said.is_best or "proved to be the best" in words or "has proved the answer" in words
        false += [claimed and answer != best, not known.may_be_best[best], not said.against and behind > said.within, 0]
        false[3] += said.rejected
        assert not (said.against and claimed) and ("nothing is proved" in words) == bool(said.against)
        assert said.is_best == (known.may_be_best.sum() == 1 and said.within == 0 and not said.against)
    return false


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("runs", "most"), [(12, 0), pytest.param(500, 41, marks=pytest.mark.slow)])
@pytest.mark.parametrize("case", CASES)
def test_no_false_word_about_what_is_proved(case, runs, most):
    """In more than 41 of 500 experiments with probability 0.001, if delta is 0.05; a model so wrong is rejected."""
    *false, rejected = false_words(*CASES[case], runs)
    assert max(false) <= most
    assert (rejected == runs and false[0] == 0) if CASES[case][0] is BENT else rejected <= runs // 100


@pytest.mark.filterwarnings("ignore")
def test_after_a_refutation_every_arm_is_compared_by_itself_and_the_way_out_is_named():
    lab = ended(CASES["refuted model"][1](), BENT)
    known = lab.standings(names=list("abcdefg"))
    words = repr(known)
    assert "nothing is proved, because they contradict the assumed model (lack-of-fit test, p = " in words
    assert "Without the model, d has the largest mean" in words and "squares or products of features" in words
    assert known.by_itself and known.leader == 3 != known.answer and "linear in the features" not in words
    lab = ended(rage(LINE, LINE[:4], delta=0.05, sigma=0.5, scale=None, floor=0.1), BENT)
    assert proof(lab).rejected and lab.standings().may_be_best.all()  # items need the model


@pytest.mark.filterwarnings("ignore")
def test_noise_that_contradicts_sigma_and_days_that_differ_prove_nothing():
    lab = ended(rage(LINE, delta=0.05, sigma=0.1, scale=None), LinearBandit(LINE, theta=[0.0, 9.0], sigma=3.0))
    assert "times the sigma = 0.1 that the rule was given" in repr(lab.standings()) and not proof(lab).is_best
    assert lab.standings().may_be_best.all()
    lab, day = Lab(rage(np.eye(3), delta=0.05, sigma=0.5, scale=2.0)), 0
    while lab.result is None:
        part, day = -(-lab.ask() // 2), day + 1
        lab.tell(Sample(part, part * (5.0 * (day % 2) + np.array([9.0, 0, 0])), part * 25.0 + 2000 * part))
    assert proof(lab).against
