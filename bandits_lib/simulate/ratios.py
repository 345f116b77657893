"""How many times the pulls of one rule another takes: of means, as the papers plot them, and run by run."""

import numpy as np

from bandits_lib.simulate.interval import Interval, worst_of
from bandits_lib.simulate.means import student_interval
from bandits_lib.simulate.unseen import by_run, log_interval


def mean_pulls(table, algorithm, *, level=0.95, value="pulls", mean="arithmetic", unseen=4.0):
    """Mean pulls of an algorithm, with an interval that holds for pulls of two or three values.

    Parameters
    ----------
    table : pandas.DataFrame
        As `monte_carlo` returns it. Of several settings each run counts by its sum over them.
    algorithm : str
        Name of the algorithm.
    level : float, default 0.95
        Confidence of the interval, two-sided.
    value : str, default "pulls"
        Column that is averaged; it holds positive numbers.
    mean : str, default "arithmetic"
        Or "geometric".
    unseen : float or dict of {str: float}, default 4.0
        How many times the largest (or smallest) pulls seen a run may take (or save) that was not seen, where nothing
        was seen beyond the most common value: the step from one phase to the next. 1 of a rule that can do no other.

    Returns
    -------
    Interval
        Estimate, low and high, in the unit of the value.

    Raises
    ------
    ValueError
        If the table lacks the algorithm.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"algorithm": "a", "run": range(20), "pulls": 100})
    >>> tuple(round(value) for value in mean_pulls(table, "a"))
    (100, 87, 155)
    """
    return _ratio(table, {algorithm: 1}, level, value, mean, unseen)


def mean_ratio(table, first, second, *, by=None, worst=max, level=0.95, value="pulls", mean="arithmetic", unseen=4.0):
    """How many times the mean pulls of `second` the algorithm `first` takes: a ratio of means, as the papers plot them.

    Parameters
    ----------
    table : pandas.DataFrame
        As `monte_carlo` returns it. Runs of equal number belong together, also of several settings (without `by` each
        counts by its sum over them); where only one of the two has played, the run counts for its mean alone.
    first, second : str
        Names of the algorithms.
    by : str or list of str, optional
        Columns that hold the settings, each with a ratio of its own; by default one ratio.
    worst : callable or str, default max
        Which ratio stands for several settings, with Bonferroni's simultaneous interval: max, min, or "both" as for
        `worst_of`.
    level : float, default 0.95
        Confidence of the interval, two-sided.
    value : str, default "pulls"
        Column that is compared; it holds positive numbers.
    mean : str, default "arithmetic"
        Or "geometric": the mean of the paired log ratios, where a few runs are most of the arithmetic mean.
    unseen : float or dict of {str: float}, default 4.0
        As for `mean_pulls`, for both or for each.

    Returns
    -------
    Interval
        Estimate, low and high, and the settings.

    Raises
    ------
    ValueError
        If the table lacks one of the two.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"algorithm": [*"aaabbb"], "run": 2 * [0, 1, 2], "pulls": [20, 22, 18, 40, 42, 39]})
    >>> tuple(round(value, 2) for value in mean_ratio(table, "a", "b"))
    (0.5, 0.43, 0.55)
    """
    groups = [table] if by is None else [rows for _, rows in table.groupby(by, sort=False)]
    each = 1 - (1 - level) / len(groups)
    ratios = [_ratio(rows, {first: 1, second: -1}, each, value, mean, unseen) for rows in groups]
    return ratios[0] if by is None else worst_of(ratios, worst)


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
    settings = [Interval(*map(np.exp, ratio), log=True) for ratio in ratios]
    return settings[0] if by is None else worst_of(settings, worst)


def _log_ratio(rows, first, second, level, value):
    pulls = rows.pivot(index="run", columns="algorithm", values=value)
    pulls = pulls.reindex(columns=[first, second]).dropna()
    if pulls.empty:
        held = ", ".join(rows["algorithm"].unique())
        raise ValueError(f"table has no run of both {first} and {second}; it holds {held}")
    mean, _, low, high = student_interval(np.log(pulls[first] / pulls[second]), level)
    return mean, low, high


def _ratio(rows, signs, level, value, mean, unseen):
    """The ratio (or the mean) that the `signs`, 1 and -1, of the algorithms stand for."""
    found = log_interval(by_run(rows, signs, value), signs, 1.0, level=level, mean=mean, unseen=unseen)
    with np.errstate(over="ignore"):
        return Interval(*np.exp(found), log=True, rate=found.rate)
