"""Compute performance profiles and probabilities of improvement over many instances, with bootstrap intervals.

Every instance has the same weight, and runs are resampled within each instance (Agarwal et al. 2021). A smaller score
is better. A run without a right answer has the score infinity. Every rule must have played every instance.
"""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from bandits_lib.simulate.intervals import wilson_interval

LEVEL = 0.95  # confidence of each interval by itself


def times_bound(table: pd.DataFrame) -> pd.Series:
    """Return the scores of fixed-confidence runs: pulls divided by the lower bound of the run's own problem.

    Parameters
    ----------
    table : pandas.DataFrame
        As `monte_carlo` returns it, with a column `bound`, the problem's `lower_bound` in pulls.

    Returns
    -------
    pandas.Series
        Scores, one for each row, infinite for a wrong answer. The bound holds for the mean pulls, so the score of a
        single run may be below 1.

    Notes
    -----
    Dolan and Moré (2002) divide by the best rule's pulls. Then the order of two rules may depend on which other rules
    take part (Gould and Scott 2016). With the bound it does not.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"pulls": [300, 100], "correct": [True, False], "bound": [50.0, 50.0]})
    >>> times_bound(table).tolist()
    [6.0, inf]
    """
    return (table["pulls"] / table["bound"]).where(table["correct"], np.inf)


def performance_profile(table: pd.DataFrame, at: ArrayLike, *, draws: int = 2000, seed: int = 0) -> pd.DataFrame:
    """Return the share of runs whose score is at most tau, averaged over instances, for each rule and each tau.

    Parameters
    ----------
    table, at : pandas.DataFrame, (T,) array_like
        One row per instance, rule and run: columns instance, algorithm, run and score. The values of tau.
    draws, seed : int, default 2000 and 0
        Number of bootstrap samples and seed of the bootstrap.

    Returns
    -------
    pandas.DataFrame
        Indexed by algorithm and tau, with the share and the ends of its 95 % interval, low and high.

    Notes
    -----
    This is the run-score distribution of Agarwal et al. (2021, section 4.2). The ends of the band are percentiles of
    bootstrap samples. If all runs of an instance agree, the bootstrap samples are equal and have no spread. Therefore
    the band reaches at least from (1 - w) F to F + w (1 - F). Here w is the upper end of Wilson's interval for an event
    that no run showed, with the number of runs of all instances together (for strata, see Yan and Su 2010).

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"algorithm": "a", "instance": [*"iijj"], "run": [0, 1, 0, 1], "score": [1, 2, 4, np.inf]})
    >>> performance_profile(table, [1, 4])["share"].tolist()
    [0.25, 0.75]
    """
    at, profiles = np.asarray(at, dtype=float), {}
    for name, rows in _rules(table).items():
        rng = np.random.default_rng(seed)
        reached = [scores[:, None] <= at for scores in _scores(rows)]
        means = [_weights(len(each), draws, rng) @ each for each in reached]
        share = np.mean([each.mean(axis=0) for each in reached], axis=0)
        profiles[name] = _frame(share, np.mean(means, axis=0), sum(map(len, reached))).assign(tau=at)
    return pd.concat(profiles, names=["algorithm"]).droplevel(1).set_index("tau", append=True)


def probability_of_improvement(table: pd.DataFrame, first: str, *, draws: int = 2000, seed: int = 0) -> pd.DataFrame:
    """Return the probability that a run of `first` is better than one of each other rule, averaged over instances.

    Parameters
    ----------
    table, first, draws, seed : optional
        As for `performance_profile`; the name of the rule that is compared with all others. On every instance each rule
        must have as many runs as `first`.

    Returns
    -------
    pandas.DataFrame
        Indexed by algorithm (the other rule), with probability, low and high (95 %). Two runs without a right answer
        are a tie, which counts half.

    Notes
    -----
    This is the statistic of Mann and Whitney (1947) in every instance, over all pairs of runs (Agarwal et al. 2021,
    section 4.3). Runs of equal number had the same problem and the same noise, so they are resampled together.
    """
    rules = _rules(table)
    if first not in rules:
        raise ValueError(f"the table has no rule {first!r}; it has {', '.join(rules)}")
    own, probabilities = _scores(rules.pop(first)), []
    for name, rows in rules.items():
        wins = [_wins(x, y, first, name) for x, y in zip(own, _scores(rows), strict=True)]
        rng, means = np.random.default_rng(seed), []
        for each in wins:
            weights = _weights(len(each), draws, rng)
            means.append(((weights @ each) * weights).sum(axis=1))
        share = [np.mean([each.mean() for each in wins])]
        probabilities.append(_frame(share, np.mean(means, axis=0)[:, None], sum(map(len, wins))))
    return (
        pd.concat(probabilities).set_index(pd.Index(rules, name="algorithm")).rename(columns={"share": "probability"})
    )


def _rules(table):
    """Return {rule: its rows}; each rule must have all instances."""
    rules, everywhere = dict(tuple(table.groupby("algorithm", sort=False))), set(table["instance"])
    for name, rows in rules.items():
        if missing := everywhere - set(rows["instance"]):
            lacking = ", ".join(sorted(map(str, missing)))
            raise ValueError(f"{name} has not played {lacking}: leave out these instances or the rule")
    return rules


def _scores(rows):
    """Return the scores of each instance, by its name and in the order of the runs."""
    return [each.sort_values("run")["score"].to_numpy(dtype=float) for _, each in rows.groupby("instance")]


def _wins(x, y, first, second):
    """Return (N, N): 1 where a run of the first rule is better than one of the second, 1/2 where they are level."""
    if len(x) != len(y):
        raise ValueError(
            f"{first} has {len(x)} runs of an instance and {second} {len(y)}: give both the same number of runs"
        )
    return (x[:, None] < y) + 0.5 * (x[:, None] == y)


def _weights(n, draws, rng):
    """Return for each bootstrap sample of n runs the share of every run: (draws, n)."""
    return rng.multinomial(n, np.full(n, 1 / n), size=draws) / n


def _frame(share, means, runs):
    """Return shares with percentiles of the bootstrap, widened to Wilson's end for no success on either side."""

    share = np.asarray(share, dtype=float)
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    least = wilson_interval(0, runs, LEVEL)[2]
    low, high = np.minimum(low, (1 - least) * share), np.maximum(high, share + least * (1 - share))
    return pd.DataFrame({"share": share, "low": low, "high": high})
