"""The comparison that three notebooks make, and the coverage it rests on: counted here by hand."""

from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pytest

from bandits_lib import LinearBandit, bars, heteroskedastic, instances, monte_carlo, play, summary
from bandits_lib.complexity import lower_bound, oracle_design
from bandits_lib.design import frank_wolfe_design
from bandits_lib.experiments.heteroskedastic import coverage, shortest_burn_in, within_half
from bandits_lib.variance import VarianceEstimate, burn_in, head

EASY = instances.bent_benchmark(angle=0.2)


def found(sigma2):
    return VarianceEstimate(np.sqrt(sigma2), np.eye(3), 6, np.ones(6, int))


def test_within_half_means_all_of_them():
    right = EASY.sigma**2
    for share, within in ((0.67, True), (1.99, True), (0.66, False), (2.01, False)):  # of the truth
        assert within_half(EASY, found(right * np.array([1, 1, share, 1, 1, 1]))) == within


def test_coverage_is_the_share_of_simulated_burn_ins_that_are():
    bounds = heteroskedastic.bounds(EASY)
    right = 0
    for r in range(40):
        rng = np.random.default_rng(np.random.SeedSequence(3, spawn_key=(r,)))
        right += within_half(EASY, play(head(EASY.arms, budget=200, **bounds), EASY, rng).result.recommendation)
    rate, low, high = coverage(EASY, 200, runs=40, seed=3)
    assert rate == right / 40 and 0 < low < rate < high < 1


@pytest.mark.parametrize("problem", [EASY, instances.signal_to_noise()], ids=["short", "long"])
def test_the_search_finds_the_first_length_whose_whole_simulation_covers(problem):
    lengths = (round(100 * 2 ** (k / 4)) for k in range(40))
    first = next(budget for budget in lengths if coverage(problem, budget, runs=60, seed=5)[1] >= 0.9)
    assert shortest_burn_in(problem, delta=0.2, runs=60, seed=5) == first


@pytest.mark.slow
def test_the_shortest_burn_in_covers_and_a_quarter_of_it_does_not():
    budget = shortest_burn_in(EASY, delta=0.2, runs=300)
    assert coverage(EASY, budget, runs=300)[1] >= 0.9 > coverage(EASY, budget // 4, runs=300)[2]
    with pytest.raises(ValueError, match="runs must be more than 20"):
        shortest_burn_in(EASY, delta=0.05, runs=20)


@pytest.mark.slow
def test_burn_ins_by_formula_count_the_dimensions_of_the_span():
    wide = instances.multivariate_testing(coding="indicators")
    lengths = heteroskedastic.burn_ins(wide, delta=0.2, runs=200)
    told = heteroskedastic.bounds(wide) | {"K": 8, "d": 7, "delta": 0.2}
    assert all(lengths[form] == burn_in(form, **told) for form in ("theory", "printed", "paper", "code"))
    assert 0 < lengths["shortest"] < lengths["code"]
    needed = heteroskedastic.three_terms(wide, lengths, delta=0.2)
    assert needed["theory"] <= 0.5 < needed["shortest"] and needed["paper"] < needed["theory"]


def small_table(runs=6):
    lengths = {"theory": 9_000, "printed": 20_000, "paper": 10**8, "code": 3_000, "shortest": 800}
    players = heteroskedastic.algorithms(lengths, delta=0.05)
    problems = {"wide": EASY, "narrow": instances.bent_benchmark(angle=0.1)}
    return problems, monte_carlo(players, problems, by="angle", measure=heteroskedastic.burnt, runs=runs)


def test_tables_and_estimates():
    problems, table = small_table()
    assert len(table) == 2 * 10 * 6 and table["correct"].all()
    burnt = table.groupby("algorithm")["burn_in"].agg(["min", "max"])
    assert burnt.loc["h_rage_code"].tolist() == [3_000, 3_000] and burnt.loc["rage"].tolist() == [0, 0]
    estimates = heteroskedastic.estimates(table, problems, "angle", delta=0.05)
    floor = lower_bound(EASY.arms, theta=EASY.theta, sigma=EASY.sigma, delta=0.05)
    assert (estimates.loc["wide", "lower_bound"] == floor).all()
    assert (estimates["mean"] >= estimates["burn_in"]).all()
    assert list(estimates.loc["wide"].index)[4:6] == ["rage", "h_rage_shortest"]


def test_side_by_side_adds_the_burn_in_and_mistakes_the_noise():
    changed = {"right": {}, "mistaken": {"mistaken": True}, "longer log": {"log_items": "code"}}
    variants = {name: (EASY, changes) for name, changes in changed.items()}
    changes = heteroskedastic.side_by_side(variants, delta=0.05, runs=5)
    length = burn_in("code", K=6, d=3, delta=0.05, **heteroskedastic.bounds(EASY))
    assert (changes["H-RAGE, 10^6"] > length / 1e6).all() and (changes["errors"] == 0).all()
    assert changes.loc["longer log", "RAGE, 10^6"] > changes.loc["right", "RAGE, 10^6"]
    for name, low, high in (("ratio", "low", "high"), ("RAGE, 10^6", "RAGE low", "RAGE high")):
        assert (changes[low] <= changes[name]).all() and (changes[name] <= changes[high]).all()
    ratio = changes["H-RAGE, 10^6"] / changes["RAGE, 10^6"]
    np.testing.assert_allclose(changes["ratio"], ratio)


def test_as_published_plays_everybody_in_the_published_worlds():
    lengths, told = {"code": 3_000, "theory": 4_000}, {"delta": 0.05, "runs": 4}
    table = heteroskedastic.as_published(EASY, lengths, **told)
    assert list(table["algorithm"].unique()) == list(heteroskedastic.algorithms(lengths, delta=0.05))
    assert table.groupby("algorithm")["burn_in"].max()[["rage", "h_rage_code", "h_rage_theory"]].tolist() == [
        0,
        3_000,
        4_000,
    ]
    changed = {"log_items": "code", "design": partial(frank_wolfe_design, prune=0.0), "mistaken": True}
    beside = heteroskedastic.side_by_side({"all": (EASY, changed)}, **told).loc["all"]
    means = table.groupby("algorithm")["pulls"].mean() / 1e6
    assert means["rage"] == pytest.approx(beside["RAGE, 10^6"])
    longer = burn_in("code", K=6, d=3, delta=0.05, **heteroskedastic.bounds(EASY))
    theirs = heteroskedastic.as_published(EASY, {"code": longer}, **told).groupby("algorithm")["pulls"].mean() / 1e6
    assert theirs["h_rage_code"] == pytest.approx(beside["H-RAGE, 10^6"])
    assert means["homoskedastic_oracle_told"] < means["homoskedastic_oracle_verifying"]


def test_the_published_noise():
    own, largest = (instances.published_noise(EASY, told) for told in ("own", "largest"))
    np.testing.assert_allclose(own.sigma, EASY.sigma**2)
    np.testing.assert_allclose(largest.sigma, EASY.sigma.max() ** 2)
    assert (own.arms == EASY.arms).all() and (own.theta == EASY.theta).all()
    with pytest.raises(ValueError, match="told must be one of"):
        instances.published_noise(EASY, "none")


def test_bars_show_every_rule_with_its_burn_in():
    problems, table = small_table(runs=3)
    estimates = heteroskedastic.estimates(table, problems, "angle", delta=0.05)
    fig, axes = plt.subplots(1, 3, sharey=True)
    bars.settings(axes, estimates, "angle", {"wide": "w", "narrow": "n"}, summary(table), 0.05)
    widths = np.array([patch.get_width() for patch in axes[0].patches]).reshape(10, 2)
    np.testing.assert_allclose(widths[:, 0] * 1e6, estimates.loc["wide", "burn_in"])
    np.testing.assert_allclose(widths.sum(axis=1) * 1e6, estimates.loc["wide", "mean"])
    assert [label.get_text() for label in axes[0].get_yticklabels()][4] == "RAGE" and axes[0].get_ylim() == (9.6, -0.6)
    own, largest = (oracle_design(EASY.arms, theta=EASY.theta, sigma=sigma) for sigma in (EASY.sigma, 1.0))
    designs = heteroskedastic.oracle_shares(own, largest, list("abcdef"))
    drawn = plt.subplots()[1]
    bars.shares(drawn, designs)
    assert len(drawn.patches) == 12 and sum(patch.get_height() for patch in drawn.patches) == pytest.approx(2)
    plt.close("all")


def test_rage_over_levels_names_those_above_the_threshold():
    level = LinearBandit(np.eye(2), theta=[0.9, 0.1])
    rule = heteroskedastic.make_rage(level, None, delta=0.1, objective="level", threshold=0.5)
    assert play(rule, level, np.random.default_rng(0)).result.recommendation.tolist() == [True, False]
