"""How pulls grow with a setting: exponents, of means as the papers plot them and of the runs' logarithms."""

import numpy as np
import pandas as pd

from bandits_lib.simulate.interval import Interval
from bandits_lib.simulate.means import slope_interval
from bandits_lib.simulate.unseen import by_run, log_interval


def mean_growth(table, algorithm, x, *, against=None, level=0.95, value="pulls", mean="arithmetic", unseen=4.0):
    """Exponent a in mean pulls ~ x^a: the slope of log mean pulls against log x, runs of equal number kept together.

    Parameters
    ----------
    table : pandas.DataFrame
        As `monte_carlo` returns it, with a column `x`.
    algorithm : str
        Name of the algorithm.
    x : str
        Column of the setting; it holds positive numbers.
    against : str, optional
        Name of another algorithm: the exponent is then that of the ratio of the two means.
    level : float, default 0.95
        Confidence of the interval, two-sided.
    value : str, default "pulls"
        As for `mean_ratio`.
    mean : str, default "arithmetic"
        As for `mean_ratio`.
    unseen : float or dict of {str: float}, default 4.0
        As for `mean_pulls`.

    Returns
    -------
    Interval
        Estimate, low and high.

    Raises
    ------
    ValueError
        For a table of one setting, or one that lacks an algorithm.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"algorithm": "a", "run": 2 * [0, 1], "n": [10, 10, 40, 40], "pulls": [9, 11, 21, 19]})
    >>> round(mean_growth(table, "a", "n")[0], 2)
    0.5
    """
    settings = np.sort(table[x].unique())
    if len(settings) < 2:
        raise ValueError("a slope needs two settings at least; the table holds one")
    signs = {algorithm: 1} | ({} if against is None else {against: -1})
    at = np.log(settings.astype(float))
    slope = (at - at.mean()) / ((at - at.mean()) ** 2).sum()
    runs = pd.concat([by_run(table[table[x] == setting], signs, value) for setting in settings], axis=1)
    return log_interval(runs, signs, slope, level=level, mean=mean, unseen=unseen)


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
    return Interval(
        *slope_interval(np.log(rows.index.get_level_values(x).to_numpy(dtype=float)), rows.to_numpy(), level)
    )
