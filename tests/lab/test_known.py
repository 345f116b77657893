"""Standings of a Lab: at any time, after any rule, with the arguments that the rule was called with."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from bandits_lab import Lab, sigma_upper
from bandits_lab.anytime_intervals import intervals, standings
from bandits_lib import LinearBandit, Result, Sample, rule
from bandits_lib.fixed_budget import gse, od_linbai, ucb_glm
from bandits_lib.fixed_confidence import (
    bounded_rage,
    h_rage,
    lazy_track_and_stop,
    rage,
    rage_halving,
    sphere_track_and_stop,
)
from bandits_lib.protocol import total

ARMS = np.vstack([np.eye(3), [0.6, 0.8, 0.0]])
NAMES = list("abcd")
PROBLEM = LinearBandit(ARMS, theta=[1.0, 0.2, 0.0], sigma=0.5)


def ended(rule, problem=PROBLEM, seed=0):
    lab, rng = Lab(rule), np.random.default_rng(seed)
    while lab.result is None:
        lab.tell(problem.pull(lab.ask(), rng))
    return lab


def test_before_the_first_reward_everything_is_in_play():
    known = Lab(rage(ARMS, delta=0.05)).standings()
    assert known.table["in_play"].all() and known.pulls == 0 and known.lead == (-np.inf, np.inf)
    assert "0 measurements 4 of 4 may still be the best" in repr(known) and "largest estimate" not in repr(known)
    plt.close(known.plot().figure)


def test_it_is_intervals_with_the_arguments_of_the_rule(tmp_path):
    lab = Lab(lazy_track_and_stop(ARMS, ARMS[1:], delta=0.2, sigma=0.5), tmp_path / "log.jsonl")
    for _ in range(30):
        lab.tell(PROBLEM.pull(lab.ask(), np.random.default_rng(len(lab.log))))
    known = standings(lab, names=NAMES[1:])
    same = intervals(ARMS, total(lab.log), items=ARMS[1:], sigma=0.5, delta=0.2, names=NAMES[1:])
    np.testing.assert_array_equal(known.table, same)
    assert (known.sigma, known.delta, known.ended, known.pulls) == (0.5, 0.2, False, 32)
    again = Lab(lazy_track_and_stop(ARMS, ARMS[1:], delta=0.2, sigma=0.5), tmp_path / "log.jsonl").standings()
    np.testing.assert_array_equal(again.table, same)


def test_what_is_given_here_counts_more():
    lab = Lab(rage(ARMS, delta=0.05))
    lab.tell(Sample.of([0, 1, 2], [1.0, 0.0, 0.0], K=4))
    wide, narrow = lab.standings(), lab.standings(sigma=[0.1, 0.2, 0.1, 0.1], delta=0.5, items=ARMS[:2])
    assert narrow.sigma == 0.2 and narrow.delta == 0.5 and len(narrow.table) == 2
    assert narrow.table["high"][1] < wide.table["high"][1]
    assert "(the rule's default; check that it is yours)" in repr(wide)
    assert "(given here, the largest of the arms')" in repr(narrow)


def test_after_a_budget_the_lead_is_that_of_the_answer_over_the_best_of_the_others():
    lab = ended(gse(ARMS, budget=400, sigma=0.5))
    known, answer = lab.standings(names=NAMES), lab.result.recommendation
    others = known.table.drop(index=NAMES[answer])
    assert known.ended and known.leader == answer and known.delta == 0.05
    assert known.lead == (others["low"].min(), others["high"].min())


def test_the_lead_covers_though_the_rule_has_chosen_what_to_measure():
    """400 arms' worth of choosing: GSE keeps what looks good; the true lead is outside in at most binomial(.05)."""
    missed = proved = 0
    for seed in range(200):
        lab = ended(gse(ARMS, budget=60, sigma=0.5), seed=seed)
        (low, high), answer = lab.standings().lead, lab.result.recommendation
        lead = PROBLEM.means[answer] - np.delete(PROBLEM.means, answer).max()
        missed += not low <= lead <= high
        proved += low > 0 and lead < 0
    assert missed <= 20 and proved <= 20  # binomial(200, .05) exceeds 20 with probability .001


def test_what_the_lead_means_is_said():
    clear = ended(gse(np.eye(2), budget=2000, sigma=0.5), LinearBandit(np.eye(2), theta=[1, 0], sigma=0.5))
    close = ended(gse(np.eye(2), budget=20, sigma=0.5), LinearBandit(np.eye(2), theta=[0.01, 0], sigma=0.5))
    assert "so it is proved to be the best" in repr(clear.standings())
    assert f"another item may be better, by {-close.standings().lead[0]:.4g} at most" in repr(close.standings())
    wrong = Lab(always_the_second())
    wrong.tell(Sample(np.array([500, 500]), np.array([500.0, 0.0]), np.array([600.0, 100.0])))
    assert wrong.standings().table["behind"][0] == pytest.approx(-1)
    assert "so another item is better" in repr(wrong.standings())
    alone = Lab(od_linbai(np.ones((1, 1)), budget=5)).standings()
    assert alone.lead == (np.inf, np.inf) and "there is no other" in repr(alone)


@rule
def always_the_second(arms=((1.0, 0.0), (0.0, 1.0)), sigma=1.0, delta=0.05):
    yield np.array([500, 500])
    return Result(1)


def test_noise_that_is_bounded_or_binary():
    bounds = Lab(h_rage(ARMS, delta=0.05, sigma_min=0.2, sigma_max=0.7)).standings()
    assert bounds.sigma == 0.7 and "sigma_max" in bounds.source
    arms, world = np.array([[1.0], [-1.0], [0.5]]), LinearBandit([[1.0], [-1.0], [0.5]], theta=[3.0], link="logistic")
    for made in (gse(arms, budget=300, model="logistic"), ucb_glm(arms, budget=50, alpha=1.0)):
        known = ended(made, world).standings()
        shares = known.table["estimate"].to_numpy()
        assert known.sigma == 0.5 and "every arm by itself" in known.source
        assert (shares >= 0).all() and (shares <= 1).all()  # means of the arms, each its own


def test_after_betting_the_noise_is_that_of_rewards_between_0_and_1():
    lab = Lab(bounded_rage(np.eye(2), delta=0.1))
    lab.tell(Sample(lab.ask(), 0.5 * lab.ask(), 0.5 * lab.ask()))
    known = lab.standings()
    assert known.sigma == 0.5 and known.delta == 0.1 and "0.5 (rewards between 0 and 1, whose noise" in repr(known)
    assert lab.standings(sigma=0.3).source == "given here"


def test_the_estimates_of_a_logistic_experiment_are_shares():
    lab = Lab(gse(np.eye(2), budget=8, model="logistic"))
    lab.tell(Sample(np.array([4, 4]), np.array([3.0, 1.0]), np.array([3.0, 1.0])))
    assert lab.standings().table["estimate"].tolist() == pytest.approx([0.75, 0.25])


def test_what_has_no_standings_is_refused():
    for unranked in (
        rage_halving(ARMS, delta=0.05, objective="level", threshold=0.5),
        sphere_track_and_stop(3, epsilon=0.1, delta=0.05),
    ):
        with pytest.raises(ValueError, match="standings rank items"):
            Lab(unranked).standings()

    @rule
    def mine():
        yield np.array([1, 1])
        return Result(0)

    with pytest.raises(ValueError, match="standings need the arms, but .*mine was given none"):
        Lab(mine()).standings()
    with pytest.raises(ValueError, match="sigma is not known yet, .* no arm was measured twice"):
        Lab(mine()).standings(arms=np.eye(2))
    assert Lab(mine()).standings(arms=np.eye(2), sigma=1.0).delta == 0.05
    with pytest.raises(ValueError, match="one name for each of the 4 items; got 2"):
        Lab(rage(ARMS, delta=0.05)).standings(names=["a", "b"])
    for options in ({"sigma": np.nan}, {"delta": 0.0}, {"u": -1.0}, {"arms": [[np.nan]]}):
        with pytest.raises(ValueError, match="must"):
            Lab(rage(ARMS, delta=0.05)).standings(**options)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_units_of_reward_scale_the_lead(scale):
    assert np.array(lead(scale)) / scale == pytest.approx(lead(1.0))


def lead(scale):
    lab = Lab(gse(ARMS, budget=400, sigma=scale))
    sums = scale * lab.ask() * [1.0, 0.2, 0.0, 0.5]
    lab.tell(Sample(lab.ask(), sums, sums**2))
    return lab.standings().lead


def many(K):
    arms = np.random.default_rng(0).normal(size=(K, 3))
    world = LinearBandit(arms, theta=[1.0, 0.5, 0.0])
    return ended(gse(arms, budget=600), world).standings(names=[f"compound {k}" for k in range(K)])


def test_forty_items_are_legible():
    known = many(40)
    ax = known.plot()
    ax.figure.canvas.draw()
    boxes = [label.get_window_extent() for label in ax.get_yticklabels()]
    assert len(boxes) == 40 and not any(one.overlaps(other) for one, other in zip(boxes, boxes[1:], strict=False))
    assert all(label.get_fontsize() >= 7 for label in ax.get_yticklabels())
    markers = [line.get_marker() for line in ax.lines if line.get_marker() not in ("", "None")]
    table = known.table.drop(index=known.table.index[known.leader])
    assert markers.count("*") == 1  # the answer
    assert markers.count("o") == table["in_play"].sum() and markers.count("x") == (~table["in_play"]).sum()
    assert known.table.index[known.leader] in known.alt and "40 items" in known.alt
    plt.close(ax.figure)


def test_of_very_many_items_the_best_are_drawn_and_the_others_counted():
    known = many(200)
    ax = known.plot(most=30)
    assert len(ax.get_yticklabels()) == 30 and "170 more items" in ax.get_xlabel()
    assert ax.get_yticklabels()[0].get_text() == known.table["behind"].idxmin()
    plt.close(ax.figure)


def test_names_are_no_html():
    known = Lab(rage(ARMS, delta=0.05)).standings(names=["<b>a</b>", "b & c", "c", "d"])
    html = known._replace(ended=True)._repr_html_()
    assert html.count("&lt;b&gt;a&lt;/b&gt;") == 2 and "<b>" not in html and "(the rule's default" in html


def test_it_draws_where_it_is_told():
    _, (left, right) = plt.subplots(1, 2)
    assert many(5).plot(right) is right and not left.lines
    plt.close("all")


@pytest.mark.parametrize("made", [rage(ARMS, delta=0.1, sigma=None), gse(ARMS, budget=400)])
def test_replicates_of_the_first_request_bound_an_unknown_sigma(made):
    lab, how = Lab(made), {"sigma": "first request", "delta": 0.1}
    lab.tell(PROBLEM.pull(lab.ask(), np.random.default_rng(0)))
    first = lab.log[0]
    lab.tell(PROBLEM.pull(lab.ask(), np.random.default_rng(1)))
    known = lab.standings(**how)
    assert known.sigma == pytest.approx(sigma_upper(first, 0.01)) and known.delta == pytest.approx(0.09)
    assert "a bound from the first request, itself wrong with probability 0.01" in repr(known)
    if lab.experiment.rule == "rage":
        assert repr(lab.standings()) == repr(known)
    with pytest.raises(ValueError, match="one number for each arm, or 'first request'; got 'pilot'"):
        lab.standings(sigma="pilot")
