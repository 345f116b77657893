"""Performance profiles and probabilities of improvement: by hand, beside scipy, and how often an interval is right."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import bootstrap, mannwhitneyu, norm

from bandits_lib.simulate.intervals import wilson_interval
from bandits_lib.simulate.profiles import performance_profile, probability_of_improvement, times_bound


def table(**scores):
    """Rows of {rule: {instance: scores}}."""
    rows = [(name, i, r, s) for name, each in scores.items() for i, of in each.items() for r, s in enumerate(of)]
    return pd.DataFrame(rows, columns=["algorithm", "instance", "run", "score"])


def shares(frame, name="a"):
    return frame.loc[name, "share"].tolist()


# --- by hand


def test_every_instance_weighs_the_same_and_a_wrong_answer_counts_as_never():
    found = table(a={"i": [1, 2, 3, np.inf], "j": [2]}, b={"i": [9] * 4, "j": [np.inf]})
    profile = performance_profile(found, [0.5, 1, 2, 3, 1e9], draws=50)
    assert shares(profile) == [0, (1 / 4 + 0) / 2, (2 / 4 + 1) / 2, (3 / 4 + 1) / 2, (3 / 4 + 1) / 2]
    assert shares(profile, "b") == [0, 0, 0, 0, 0.5]
    assert (profile["low"] <= profile["share"]).all() and (profile["share"] <= profile["high"]).all()


def test_the_score_is_pulls_over_the_bound_of_the_right_runs():
    runs = pd.DataFrame({"pulls": [300, 100, 10], "correct": [True, False, True], "bound": [50.0, 1.0, 20.0]})
    assert times_bound(runs).tolist() == [6.0, np.inf, 0.5]


def test_probability_by_hand():
    """Instance i: of the pairs (1, 2), (1, 2), (3, 2), (3, 2) two are won; j: inf against inf is a tie, 5 won."""
    found = table(a={"i": [1, 3], "j": [5, np.inf]}, b={"i": [2, 2], "j": [np.inf, np.inf]})
    assert probability_of_improvement(found, "a").loc["b", "probability"] == (1 / 2 + 3 / 4) / 2
    assert probability_of_improvement(found, "b").loc["a", "probability"] == 1 - (1 / 2 + 3 / 4) / 2


def test_a_rule_against_itself_is_one_half_with_an_interval_about_it():
    scores = {i: np.random.default_rng(i).integers(0, 5, 20) for i in range(4)}
    row = probability_of_improvement(table(a=scores, b=scores), "a").loc["b"]
    assert row["probability"] == 0.5 and row["low"] < 0.5 < row["high"]


def test_the_statistic_is_mann_and_whitneys():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 6, (2, 15))
    row = probability_of_improvement(table(a={0: x}, b={0: y}), "a").loc["b"]
    assert row["probability"] == pytest.approx(mannwhitneyu(y, x).statistic / 15**2, abs=1e-12)


# --- intervals


@pytest.mark.slow
def test_the_band_is_that_of_scipys_bootstrap_of_strata():
    rng = np.random.default_rng(1)
    within = [rng.random(300) < p for p in (0.3, 0.5, 0.9)]
    found = table(a={i: np.where(each, 1.0, 2.0) for i, each in enumerate(within)})
    row = performance_profile(found, [1.5], draws=20_000).iloc[0]

    def mean(*strata, axis):
        return np.mean([each.mean(axis=axis) for each in strata], axis=0)

    known = bootstrap([each.astype(float) for each in within], mean, method="percentile", n_resamples=20_000, rng=2)
    np.testing.assert_allclose(row[["low", "high"]], known.confidence_interval, atol=0.002)


def test_where_all_runs_agree_the_end_is_wilsons():
    found = table(a={i: np.full(10, float(i < 6)) for i in range(10)})
    above, at_none, all_of_them = performance_profile(found, [0.5, -1, 1]).to_numpy()
    least = wilson_interval(0, 100)[2]
    np.testing.assert_allclose(at_none, [0, 0, least])
    np.testing.assert_allclose(all_of_them, [1, 1 - least, 1])
    np.testing.assert_allclose(above, [0.4, 0.4 * (1 - least), 0.4 + 0.6 * least])


@pytest.mark.slow
def test_the_interval_of_a_probability_is_right_nineteen_times_in_twenty():
    """Normal scores whose noise is shared by the runs of equal number, as rewards are."""
    rng, leads, covered = np.random.default_rng(4), np.array([0.0, 0.5, 1.5]), 0
    truth = norm.cdf(leads / np.sqrt(2)).mean()
    for _ in range(300):
        shared = rng.normal(size=(3, 15)) * np.sqrt(0.5)
        x, y = shared + rng.normal(size=(2, 3, 15)) * np.sqrt(0.5)
        found = table(a=dict(enumerate(x - leads[:, None])), b=dict(enumerate(y)))
        row = probability_of_improvement(found, "a", draws=200).loc["b"]
        covered += row["low"] <= truth <= row["high"]
    assert 0.90 <= covered / 300 <= 0.985


def test_runs_alone_and_not_the_order_of_rows_decide():
    rng = np.random.default_rng(5)
    found = table(a=dict(enumerate(rng.random((3, 8)))), b=dict(enumerate(rng.random((3, 8)))))
    mixed = found.sample(frac=1, random_state=0)
    ordered, shuffled = (performance_profile(each, [0.3, 0.6]).sort_index() for each in (found, mixed))
    pd.testing.assert_frame_equal(ordered, shuffled)
    ordered, shuffled = (probability_of_improvement(each, "a") for each in (found, mixed))
    pd.testing.assert_frame_equal(ordered, shuffled)


# --- refusals


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(ValueError, match="b has not played j: leave"):
        performance_profile(table(a={"i": [1], "j": [1]}, b={"i": [1]}), [1])
    with pytest.raises(ValueError, match="a has 2 runs of an instance and b 1"):
        probability_of_improvement(table(a={"i": [1, 2]}, b={"i": [1]}), "a")
    with pytest.raises(ValueError, match="the table has no rule 'c'; it has a"):
        probability_of_improvement(table(a={"i": [1, 2]}), "c")
