"""Rules over many instances at once: performance profiles and probabilities of improvement, with bootstrap intervals.

Every instance has the same weight, however many runs it has, and runs are resampled within each instance, as in
Agarwal et al. (2021). A smaller score is better here: pulls, or what a wrong answer loses. A run that gave no right
answer has the score infinity.
"""

import numpy as np
import pandas as pd

from bandits_lib.simulate.interval import wilson_interval

DRAWS = 2000  # bootstrap samples


def times_bound(table, bound="bound"):
    """The score of fixed-confidence runs: pulls over the lower bound of the run's own problem, infinite if not right.

    Parameters
    ----------
    table : pandas.DataFrame
        As `monte_carlo` returns it, with a column `bound`.
    bound : str, default "bound"
        Column with the pulls that every rule of the same error probability needs in the mean, `lower_bound`.

    Returns
    -------
    pandas.Series
        Scores, one for each row. A single run may take less than the bound, which is one for the mean of all runs.

    Notes
    -----
    The best rule's pulls, which Dolan and Moré (2002) divide by, depend on who takes part: with another rule the order
    of those already there may turn (Gould and Scott 2016). The bound does not, and it makes runs on problems drawn at
    random, some of them a thousand times harder than others, comparable.

    References
    ----------
    .. [1] Dolan, Moré. "Benchmarking optimization software with performance profiles". Math. Program. 91, 2002.
    .. [2] Gould, Scott. "A note on performance profiles for benchmarking software". ACM Trans. Math. Softw. 43, 2016.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"pulls": [300, 100], "correct": [True, False], "bound": [50.0, 50.0]})
    >>> times_bound(table).tolist()
    [6.0, inf]
    """
    return (table["pulls"] / table[bound]).where(table["correct"], np.inf)


def performance_profile(table, at, *, value="score", by="instance", level=0.95, draws=DRAWS, seed=0):
    """The share of runs whose score is at most tau, averaged over instances, for each rule and each tau.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per instance, rule and run: columns algorithm, run, `by` and `value`.
    at : (T,) array_like
        The values of tau, in the units of the score.
    value : str, default "score"
        Column of the score, of which less is better; infinite where a run gave no right answer.
    by : str, default "instance"
        Column of the instance.
    level : float, default 0.95
        Confidence of the band at each tau by itself, two-sided.
    draws : int, default 2000
        Number of bootstrap samples.
    seed : int, default 0
        Seed of the bootstrap.

    Returns
    -------
    pandas.DataFrame
        Indexed by algorithm and tau, with the share and the ends of its interval, low and high.

    Raises
    ------
    ValueError
        If a rule has not played every instance.

    Notes
    -----
    With scores s of N_i runs of M instances: F(tau) = 1/M sum_i 1/N_i sum_r 1{s_ir <= tau}, the run-score distribution
    of Agarwal et al. (2021, section 4.2). The band is pointwise: percentiles of F over samples in which the runs of
    each instance are drawn again with replacement. Where all runs of an instance say the same a bootstrap sees no
    spread; so the band is at least as wide as Wilson's interval, stratified by Yan and Su (2010), is where that is so
    in every instance: from (1 - w) F to F + w (1 - F), with w the upper end for no success in all runs.

    References
    ----------
    .. [1] Agarwal, Schwarzer, Castro, Courville, Bellemare. "Deep reinforcement learning at the edge of the statistical
       precipice". NeurIPS 2021.
    .. [2] Yan, Su. "Stratified Wilson and Newcombe confidence intervals for multiple binomial proportions". Stat.
       Biopharm. Res. 2, 2010.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"algorithm": "a", "instance": [*"iijj"], "run": [0, 1, 0, 1], "score": [1, 2, 4, np.inf]})
    >>> performance_profile(table, [1, 4])["share"].tolist()
    [0.25, 0.75]
    """
    at, found = np.asarray(at, dtype=float), {}
    for name, rows in _rules(table, by).items():
        rng = np.random.default_rng(seed)
        within = [scores[:, None] <= at for scores in _scores(rows, value, by)]
        means = [_weights(len(each), draws, rng) @ each for each in within]
        share = np.mean([each.mean(axis=0) for each in within], axis=0)
        found[name] = _frame(share, np.mean(means, axis=0), sum(map(len, within)), level).assign(tau=at)
    return pd.concat(found, names=["algorithm"]).droplevel(1).set_index("tau", append=True)


def probability_of_improvement(table, first, *, value="score", by="instance", level=0.95, draws=DRAWS, seed=0):
    """How probably a run of `first` is better than one of each other rule, averaged over instances, ties being half.

    Parameters
    ----------
    table : pandas.DataFrame
        As for `performance_profile`.
    first : str
        Name of the rule that is compared with all others.
    value : str, default "score"
        Column of the score, of which less is better; two runs without a right answer are a tie.
    by : str, default "instance"
        Column of the instance.
    level : float, default 0.95
        Confidence of each interval by itself, two-sided.
    draws : int, default 2000
        Number of bootstrap samples.
    seed : int, default 0
        Seed of the bootstrap.

    Returns
    -------
    pandas.DataFrame
        Indexed by algorithm (the other rule), with probability, low and high.

    Raises
    ------
    ValueError
        If a rule has not played every instance, if the numbers of runs of two rules on an instance differ, or if
        `first` is not in the table.

    Notes
    -----
    With scores x_ir of `first` and y_is of the other: 1/M sum_i 1/N_i^2 sum_rs (1{x_ir < y_is} + 1/2 1{x_ir = y_is}),
    in every instance the statistic of Mann and Whitney (1947) over N_i^2, all pairs of runs being compared, as
    Agarwal et al. (2021, section 4.3) do. Runs of equal number met the same problem and the same noise and are not
    independent, so they are drawn again together. The interval is at least as wide as said in `performance_profile`.

    References
    ----------
    .. [1] Agarwal, Schwarzer, Castro, Courville, Bellemare. "Deep reinforcement learning at the edge of the statistical
       precipice". NeurIPS 2021.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"algorithm": [*"aabb"], "instance": "i", "run": [0, 1, 0, 1], "score": [1, 3, 3, 4]})
    >>> probability_of_improvement(table, "a").round(3).loc["b", "probability"].item()
    0.875
    """
    rules = _rules(table, by)
    if first not in rules:
        raise ValueError(f"the table has no rule {first!r}; it has {', '.join(rules)}")
    own, found = _scores(rules.pop(first), value, by), []
    for name, rows in rules.items():
        wins = [_wins(x, y, first, name) for x, y in zip(own, _scores(rows, value, by), strict=True)]
        rng, means = np.random.default_rng(seed), []
        for each in wins:
            weights = _weights(len(each), draws, rng)
            means.append(((weights @ each) * weights).sum(axis=1))
        share = [np.mean([each.mean() for each in wins])]
        found.append(_frame(share, np.mean(means, axis=0)[:, None], sum(map(len, wins)), level))
    return pd.concat(found).set_index(pd.Index(rules, name="algorithm")).rename(columns={"share": "probability"})


def _rules(table, by):
    """{rule: its rows}, each with all instances."""
    rules, everywhere = dict(tuple(table.groupby("algorithm", sort=False))), set(table[by])
    for name, rows in rules.items():
        if missing := everywhere - set(rows[by]):
            lacking = ", ".join(sorted(map(str, missing)))
            raise ValueError(f"{name} has not played {lacking}: leave these instances out, or the rule")
    return rules


def _scores(rows, value, by):
    """The scores of each instance, by its name and in the order of the runs."""
    return [each.sort_values("run")[value].to_numpy(dtype=float) for _, each in rows.groupby(by, sort=True)]


def _wins(x, y, first, second):
    """1 where a run of the one is better than one of the other, 1/2 where they are level: (N, N)."""
    if len(x) != len(y):
        raise ValueError(f"{first} has {len(x)} runs of an instance and {second} {len(y)}: compare as many of each")
    return (x[:, None] < y) + 0.5 * (x[:, None] == y)


def _weights(n, draws, rng):
    """For each bootstrap sample of n runs the share of every run: (draws, n)."""
    return rng.multinomial(n, np.full(n, 1 / n), size=draws) / n


def _frame(share, means, runs, level):
    """Shares with percentiles of the bootstrap, and the least that is left to either side."""
    share = np.asarray(share, dtype=float)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=0)
    least = wilson_interval(0, runs, level)[2]
    low, high = np.minimum(low, (1 - least) * share), np.maximum(high, share + least * (1 - share))
    return pd.DataFrame({"share": share, "low": low, "high": high})
