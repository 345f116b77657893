"""Shares of right answers, their differences and their trends, with intervals that hold where answers hardly differ."""

import numpy as np
import pandas as pd
from scipy.special import ndtri, stdtrit

from bandits_lib.simulate.interval import Interval, slope_interval, wilson_interval, worst_of


def worst_error_rate(table, *, by=(), level=0.95):
    """The largest share of wrong answers of any rule in any setting; a run that was cut off is wrong.

    Parameters
    ----------
    table : pandas.DataFrame
        As `monte_carlo` returns it.
    by : str or sequence of str, default ()
        Columns that hold the settings.
    level : float, default 0.95
        Confidence that all rules and settings hold to their intervals (Wilson's, by Bonferroni), two-sided.

    Returns
    -------
    Interval
        Of the worst, and one for each rule and setting.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"algorithm": 100 * ["a"] + 100 * ["b"], "correct": 199 * [True] + [False]})
    >>> tuple(round(value, 3) for value in worst_error_rate(table))
    (0.01, 0.001, 0.065)
    """
    groups = table.groupby([*([by] if isinstance(by, str) else by), "algorithm"], sort=False)["correct"]
    each = 1 - (1 - level) / groups.ngroups
    return worst_of([wilson_interval(int((~right).sum()), len(right), each) for _, right in groups])


def accuracy_lead(table, first, second, *, by=None, worst=min, level=0.95):
    """By how much more often `first` is right than `second`, runs of equal number kept together.

    Parameters
    ----------
    table : pandas.DataFrame
        As `monte_carlo` returns it. Runs of equal number belong together, also of several settings, which may share
        their instances: without `by` each counts by its mean over them.
    first, second : str
        Names of the algorithms.
    by : str or list of str, optional
        Columns that hold the settings, each with a difference of its own; by default one difference.
    worst : callable or str, default min
        Which difference stands for several settings, with Bonferroni's simultaneous interval: min, max, or "both" as
        for `worst_of`.
    level : float, default 0.95
        Confidence of the interval, two-sided.

    Returns
    -------
    Interval
        Difference of the shares of right answers, low and high, and the settings.

    Raises
    ------
    ValueError
        If the two have no run in common.

    Notes
    -----
    Student's interval for the means of the runs, two runs being added: one that is right with `first` alone in all
    settings, and one with `second` alone. So it keeps its level where the two hardly ever differ, as the interval of
    Agresti and Min (2005) does, which adds half as much and is too short where only one of the two is ever wrong.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"algorithm": [*"aaaaaabbbbbb"], "run": 2 * [*range(6)]})
    >>> table["correct"] = 6 * [True] + 3 * [True, False]
    >>> tuple(round(value, 2) for value in accuracy_lead(table, "a", "b"))
    (0.5, -0.25, 1.0)
    """
    groups = [table] if by is None else [rows for _, rows in table.groupby(by, sort=False)]
    each = 1 - (1 - level) / len(groups)
    leads = [_bounded(_shares(rows, first, second), 1.0, each) for rows in groups]
    return leads[0] if by is None else worst_of(leads, worst)


def accuracy_trend(table, first, x, *, second=None, level=0.95):
    """Change of the accuracy of `first`, or of its lead over `second`, per doubling of `x`, runs kept together.

    Parameters
    ----------
    table : pandas.DataFrame
        As `monte_carlo` returns it, with a column `x`. Runs of equal number belong together: settings may share their
        instances.
    first : str
        Name of the algorithm.
    x : str
        Column of the setting; it holds positive numbers.
    second : str, optional
        Name of another algorithm, compared with `first` by run; by default none.
    level : float, default 0.95
        Confidence of the interval, two-sided.

    Returns
    -------
    Interval
        Slope of correct (0 or 1), or of the paired difference, against log2 x; low and high as for `accuracy_lead`.

    Raises
    ------
    ValueError
        For a table of one setting, or one in which no run has all settings.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"algorithm": "a", "run": 2 * [0, 1], "n": [10, 10, 20, 20]})
    >>> table["correct"] = [True, True, True, False]
    >>> round(accuracy_trend(table, "a", "n")[0], 2)
    -0.5
    """
    settings = np.sort(table[x].unique())
    if len(settings) < 2:
        raise ValueError("a slope needs two settings at least; the table holds one")
    rows = [_shares(table[table[x] == setting], first, second) for setting in settings]
    at = np.log2(settings.astype(float))
    slope = (at - at.mean()) / ((at - at.mean()) ** 2).sum()
    most = np.abs(slope).sum() * (0.5 if second is None else 1.0)
    return _bounded(pd.concat(rows, axis=1).dropna().to_numpy() @ slope, most, level)


def _shares(table, first, second):
    """The share of right answers of `first`, or its lead over `second`, of each run that has all rows of both."""
    names = [first] if second is None else [first, second]
    rows = table[table["algorithm"].isin(names)].groupby(["run", "algorithm"])["correct"].agg(["mean", "size"])
    shares = rows.loc[rows["size"] == rows["size"].max(), "mean"].unstack("algorithm").reindex(columns=names).dropna()
    if shares.empty:
        held = ", ".join(table["algorithm"].unique())
        raise ValueError(f"table has no run of {' and '.join(names)}; it holds {held}")
    return shares[first] if second is None else shares[first] - shares[second]


def _bounded(values, most, level):
    """Mean of values between -most and most with Student's interval, a value at either end being added."""
    n, more = len(values), np.append(values, [most, -most])
    half = stdtrit(n + 1, (1 + level) / 2) * more.std(ddof=1) / np.sqrt(n + 2)
    low, high = max(-most, more.mean() - half), min(most, more.mean() + half)
    mean = float(np.mean(values))
    return Interval(mean, min(low, mean), max(high, mean), rate=1.0 if np.ptp(values) == 0 else 0.5)


def accuracy_difference(table, first, second, by=None, worst=min, level=0.95):
    """By how much more often `first` is right than `second`, on the same problem and run.

    Parameters
    ----------
    table : pandas.DataFrame
        As `monte_carlo` returns it, with a column `by` when it holds several settings. Runs that only one of the two
        has played are left out.
    first, second : str
        Names of the algorithms.
    by : str or list of str, optional
        Columns that hold the settings; by default the table holds one.
    worst : callable, default min
        Which difference stands for several settings: min or max, with Bonferroni's simultaneous interval.
    level : float, default 0.95
        Confidence of the interval, two-sided.

    Returns
    -------
    estimate : float
        Difference of the shares of right answers.
    low, high : float
        Interval of Agresti and Min (2005) for matched pairs, which keeps its level where they hardly ever differ.

    Raises
    ------
    ValueError
        If the two have no run in common.

    References
    ----------
    .. [1] Agresti, Min. "Simple improved confidence intervals for comparing matched proportions". Statist. Med. 24,
       2005.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"algorithm": [*"aaaaaabbbbbb"], "run": 2 * [*range(6)]})
    >>> table["correct"] = 6 * [True] + 3 * [True, False]
    >>> tuple(round(value, 2) for value in accuracy_difference(table, "a", "b"))
    (0.5, -0.04, 0.79)
    """
    groups = [table] if by is None else [rows for _, rows in table.groupby(by, sort=False)]
    each = 1 - (1 - level) / len(groups)
    settings = [Interval(*_matched_pairs(_paired(rows, first, second), each)) for rows in groups]
    return settings[0] if by is None else worst_of(settings, worst)


def accuracy_slope(table, first, x, second=None, level=0.95):
    """Change of the accuracy of `first`, or of its lead over `second`, per doubling of the setting `x`, over all runs.

    Parameters
    ----------
    table : pandas.DataFrame
        As `monte_carlo` returns it, with a column `x`.
    first : str
        Name of the algorithm.
    x : str
        Column of the setting; it holds positive numbers.
    second : str, optional
        Name of another algorithm, compared with `first` by run; by default none.
    level : float, default 0.95
        Confidence of the interval, two-sided.

    Returns
    -------
    estimate : float
        Slope of correct (0 or 1), or of the paired difference, against log2 x.
    low, high : float
        Interval, Student's for the slope.

    Raises
    ------
    ValueError
        For a table of one setting.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"algorithm": "a", "run": [*range(4)], "n": [10, 10, 20, 20]})
    >>> table["correct"] = [True, True, True, False]
    >>> tuple(round(value, 2) for value in accuracy_slope(table, "a", "n"))
    (-0.5, -2.65, 1.65)
    """
    wide = table.pivot(index=[x, "run"], columns="algorithm", values="correct").astype(float)
    rows = (wide[first] if second is None else wide[first] - wide[second]).dropna()
    return Interval(
        *slope_interval(np.log2(rows.index.get_level_values(x).to_numpy(dtype=float)), rows.to_numpy(), level)
    )


def _paired(rows, first, second):
    correct = rows.pivot(index="run", columns="algorithm", values="correct")
    correct = correct.reindex(columns=[first, second]).dropna().astype(int)
    if correct.empty:
        raise ValueError(f"table has no run of both {first} and {second}; it holds {list(rows['algorithm'].unique())}")
    return (correct[first] - correct[second]).to_numpy()


def _matched_pairs(difference, level):
    n, won, lost = len(difference), int((difference > 0).sum()), int((difference < 0).sum())
    pairs, lead = n + 2, won - lost
    half = ndtri((1 + level) / 2) * np.sqrt(won + lost + 1 - lead**2 / pairs) / pairs
    return lead / n, max(-1.0, lead / pairs - half), min(1.0, lead / pairs + half)
