"""Interval estimates from Monte Carlo runs, for summaries and claims. All are two-sided."""

import numpy as np
import pandas as pd
from scipy.special import ndtri, stdtrit


def summary(table, by=(), level=0.95):
    """Estimates with intervals, per algorithm (and per value of the column or columns `by`).

    Parameters
    ----------
    table : pandas.DataFrame
        One row per algorithm and run, as `monte_carlo` returns it.
    by : str or sequence of str, default ()
        Columns that hold the settings.
    level : float, default 0.95
        Confidence of the intervals, two-sided.

    Returns
    -------
    pandas.DataFrame
        Indexed by the columns `by` and the algorithm, in the table's order, with runs, mean pulls, se (ddof 1), low,
        high (Student), error_rate among the runs that stopped, error_low, error_high (Wilson), and not_stopped, the
        number of runs that were cut off (their pulls count in the mean as they are).

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"algorithm": "a", "pulls": [90, 110], "correct": True, "stopped": True})
    >>> summary(table).loc["a", ["mean", "se", "error_rate"]].tolist()
    [100.0, 10.0, 0.0]
    """
    keys = [*([by] if isinstance(by, str) else by), "algorithm"]
    groups = table.groupby(keys, sort=False)
    rows = [dict(zip(keys, key, strict=True)) | _estimates(rows, level) for key, rows in groups]
    return pd.DataFrame(rows).set_index(keys)


def _estimates(rows, level):
    stopped = int(rows["stopped"].sum())
    errors = stopped - int(rows["correct"].sum())
    mean, se, low, high = student_interval(rows["pulls"], level)
    rate, error_low, error_high = wilson_interval(errors, stopped, level)
    pulls = {"runs": len(rows), "mean": mean, "se": se, "low": low, "high": high}
    rates = {"error_rate": rate, "error_low": error_low, "error_high": error_high}
    return pulls | rates | {"not_stopped": len(rows) - stopped}


def student_interval(values, level=0.95):
    """Mean of a sample with its standard error (ddof 1) and Student's interval; one value: an infinite interval.

    Parameters
    ----------
    values : (n,) array_like
        The sample.
    level : float, default 0.95
        Confidence of the interval, two-sided.

    Returns
    -------
    mean : float
        Mean, in the units of the values.
    se : float
        Standard error, in the units of the values; nan of one value.
    low, high : float
        Interval, in the units of the values.

    Examples
    --------
    >>> tuple(round(value, 2) for value in student_interval([1.0, 2.0, 3.0]))
    (2.0, 0.58, -0.48, 4.48)
    """
    values = np.asarray(values, dtype=float)
    mean = float(values.mean())
    if len(values) < 2:
        return mean, np.nan, -np.inf, np.inf
    se = float(values.std(ddof=1) / np.sqrt(len(values)))
    if se == 0:
        return mean, 0.0, mean, mean
    low, high = (se * float(stdtrit(len(values) - 1, share)) + mean for share in ((1 - level) / 2, (1 + level) / 2))
    return mean, se, low, high


def wilson_interval(successes, trials, level=0.95):
    """A binomial proportion with Wilson's score interval.

    Parameters
    ----------
    successes, trials : int
        Whole numbers, the first at most the second.
    level : float, default 0.95
        Confidence of the interval, two-sided.

    Returns
    -------
    rate : float
        Share of successes; nan without trials.
    low, high : float
        Interval; 0 and 1 without trials.

    Examples
    --------
    >>> tuple(round(value, 3) for value in wilson_interval(2, 50))
    (0.04, 0.011, 0.135)
    """
    if trials == 0:
        return np.nan, 0.0, 1.0
    rate, z = successes / trials, float(ndtri(0.5 + 0.5 * level))
    whole = 2 * (trials + z**2)
    centre = (2 * trials * rate + z**2) / whole
    half = z / whole * float(np.sqrt(4 * trials * rate * (1 - rate) + z**2))
    return rate, 0.0 if successes == 0 else centre - half, 1.0 if successes == trials else centre + half


def paired_ratio(table, first, second, by=None, worst=max, level=0.95, value="pulls"):
    """How many times the pulls of `second` the algorithm `first` takes, run by run on the same problem.

    Parameters
    ----------
    table : pandas.DataFrame
        As `monte_carlo` returns it, with a column `by` when it holds several settings. Runs that only one of the two
        has played are left out.
    first, second : str
        Names of the algorithms.
    by : str or list of str, optional
        Columns that hold the settings; by default the table holds one.
    worst : callable, default max
        Which ratio stands for several settings: max or min, with Bonferroni's simultaneous interval.
    level : float, default 0.95
        Confidence of the interval, two-sided.
    value : str, default "pulls"
        Column that is compared; it holds positive numbers.

    Returns
    -------
    estimate : float
        Geometric mean of the ratio over runs.
    low, high : float
        Interval, Student's for the mean of the paired log-ratios.

    Raises
    ------
    ValueError
        If the two have no run in common.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"algorithm": [*"aaabbb"], "run": 2 * [0, 1, 2], "pulls": [20, 22, 18, 40, 42, 39]})
    >>> tuple(round(value, 2) for value in paired_ratio(table, "a", "b"))
    (0.49, 0.42, 0.58)
    """
    groups = [table] if by is None else [rows for _, rows in table.groupby(by, sort=False)]
    ratios = [_log_ratio(rows, first, second, 1 - (1 - level) / len(groups), value) for rows in groups]
    return tuple(float(np.exp(worst(column))) for column in zip(*ratios, strict=True))


def _log_ratio(rows, first, second, level, value):
    pulls = rows.pivot(index="run", columns="algorithm", values=value)
    pulls = pulls.reindex(columns=[first, second]).dropna()
    if pulls.empty:
        held = ", ".join(rows["algorithm"].unique())
        raise ValueError(f"table has no run of both {first} and {second}; it holds {held}")
    mean, _, low, high = student_interval(np.log(pulls[first] / pulls[second]), level)
    return mean, low, high


def growth_exponent(table, algorithm, x, against=None, level=0.95):
    """Exponent a in pulls ~ x^a: slope of log pulls against log x over all runs.

    Parameters
    ----------
    table : pandas.DataFrame
        As `monte_carlo` returns it, with a column `x`.
    algorithm : str
        Name of the algorithm.
    x : str
        Column of the setting; it holds positive numbers.
    against : str, optional
        Name of another algorithm: the exponent is then that of the ratio of `algorithm`'s pulls to those of this one,
        paired by run.
    level : float, default 0.95
        Confidence of the interval, two-sided.

    Returns
    -------
    estimate : float
        Exponent.
    low, high : float
        Interval, Student's for the slope.

    Raises
    ------
    ValueError
        For a table of one setting.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"algorithm": "a", "run": 2 * [0, 1], "n": [10, 10, 40, 40], "pulls": [9, 11, 21, 19]})
    >>> tuple(round(value, 2) for value in growth_exponent(table, "a", "n"))
    (0.5, 0.15, 0.85)
    """
    pulls = np.log(table.pivot(index=[x, "run"], columns="algorithm", values="pulls").astype(float))
    rows = (pulls[algorithm] if against is None else pulls[algorithm] - pulls[against]).dropna()
    return _slope(np.log(rows.index.get_level_values(x).to_numpy(dtype=float)), rows.to_numpy(), level)


def _slope(x, y, level):
    """Least-squares slope of y against x, with Student's interval for it."""
    (xx, xy), (_, yy) = np.cov(x, y, bias=True)
    if xx == 0:
        raise ValueError("a slope needs two settings at least; the table holds one")
    slope, free = xy / xx, len(x) - 2
    if free == 0 or yy == 0:  # nothing tells how y is spread
        return float(slope), np.nan, np.nan
    unexplained = 1 - min(1.0, abs(xy) / np.sqrt(xx * yy)) ** 2
    half = stdtrit(free, (1 + level) / 2) * np.sqrt(unexplained * yy / xx / free)
    return float(slope), float(slope - half), float(slope + half)


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
    ends = [_matched_pairs(_paired(rows, first, second), 1 - (1 - level) / len(groups)) for rows in groups]
    return tuple(float(worst(column)) for column in zip(*ends, strict=True))


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
    return _slope(np.log2(rows.index.get_level_values(x).to_numpy(dtype=float)), rows.to_numpy(), level)


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
