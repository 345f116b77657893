"""How many times the pulls of one rule another takes: of means, as the papers plot them, and run by run.

Means of runs whose pulls take few values: random weights, and one run more than was seen.

Pulls of a rule that works in phases take two or three values, one of them perhaps rare and large. Student's interval of
20 equal values has no width, and with a few rare ones among them it is too short. Here every run has a random weight
(exponential: the Bayesian bootstrap, Rubin 1981), and beside the n runs stands one that was not seen, which speaks for
the end of the interval that is sought. Were its value a bound on all values, a share would have the interval of Clopper
and Pearson (1934), and a mean the one of Gaffke (2005).

What the unseen run takes: what the run took that was seen to speak most for this end. But where the largest value seen
is the most common one, nothing was seen of what lies beyond it: then `unseen` times that value, a factor which the
caller must know (the pulls of the next phase: 4 where phases halve the accuracy). Likewise the smallest. So n equal
values v have the upper limit v (1 + (unseen - 1) (1 - .025^(1/n))): a run of another value has a probability of at most
1 - .025^(1/n), if none of n was one, and adds (unseen - 1) v.

Limits are stretched about the estimate by Student's quantile over the normal one, which tells with 20 to 40 runs. How
often such intervals cover is simulated in tests/simulate/test_coverage_of_intervals.py.

How pulls grow with a setting: exponents, of means as the papers plot them and of the runs' logarithms.
"""

import numpy as np
import pandas as pd
from scipy.special import ndtri, stdtrit

from bandits_lib.simulate.interval import Interval, slope_interval, student_interval, worst_of

DRAWS = 20_000  # of the weights, always the same ones: the same runs have the same interval


def by_run(table, names, value):
    """One row per run and one column per algorithm: the sum over the run's rows, nan where it has fewer than others."""
    rows = table[table["algorithm"].isin(list(names))].groupby(["run", "algorithm"])[value].agg(["sum", "size"])
    if lacking := [name for name in names if name not in rows.index.get_level_values("algorithm")]:
        raise ValueError(f"table has no run of {', '.join(lacking)}; it holds {', '.join(table['algorithm'].unique())}")
    whole = rows["size"] == rows.groupby(level="algorithm")["size"].transform("max")
    return rows.loc[whole, "sum"].unstack("algorithm")[list(names)]


def log_interval(runs, signs, weights, *, level, mean, unseen):
    """`limits` as an Interval: signs {algorithm: 1 or -1} of a block of columns, and weights of the blocks."""
    if mean not in ("arithmetic", "geometric"):
        raise ValueError(f"mean must be 'arithmetic' or 'geometric'; got {mean!r}")
    factors = [unseen.get(name, 4.0) if isinstance(unseen, dict) else unseen for name in signs]
    if min(factors) < 1:
        raise ValueError(f"unseen must be factors of 1 or more; got {unseen}")
    values, blocks = runs.to_numpy(dtype=float), np.size(weights)
    across = np.outer(weights, list(signs.values())).ravel()
    found = limits(values, across, level, np.tile(factors, blocks), mean == "geometric")
    alike = (np.nanmin(values, axis=0) == np.nanmax(values, axis=0)).all()
    return Interval(*found, rate=1.0 if alike else 0.5)


def limits(runs, signs, level=0.95, unseen=4.0, geometric=False, draws=DRAWS):
    """Estimate, low and high of sum_j signs_j log(mean of column j): the log of a ratio, or a slope of log means.

    runs (n, m, ...) : positive; a row holds what belongs together, nan where a run is missing from a column. signs
    (m,). unseen : a factor, or one for each column. geometric : means of logs in the place of logs of means. Further
    axes are so many samples, each for itself.
    """
    runs = np.asarray(runs, dtype=float)
    signs, unseen = (_column(values, runs) for values in (signs, unseen))
    seen = ~np.isnan(runs)
    filled = np.where(seen, runs, np.nanmean(runs, axis=0))
    values, means = (np.log(filled), 1.0) if geometric else (filled, np.nanmean(runs, axis=0))
    speaks = (signs * values / means).sum(axis=1)
    weighted = _weighted(values, seen, draws)
    ends = {}
    for side in (-1, 1):
        chosen = np.broadcast_to((side * speaks).argmax(axis=0)[None, None], (1, *runs.shape[1:]))
        further = _beyond(runs, np.take_along_axis(filled, chosen, axis=0)[0], unseen, side * signs)
        found = _statistic(weighted, signs, further, geometric)
        ends[side] = np.quantile(found, (1 + side * level) / 2, axis=0)
    means = np.mean(values, axis=0, where=seen)
    estimate = (signs * (means if geometric else np.log(means))).sum(axis=0)
    return estimate, *_stretched(estimate, ends[-1], ends[1], level, seen.sum(axis=0).min(axis=0))


def _column(values, runs):
    """One value, or one for each column, so that it lies along the columns of `runs`."""
    whole = np.broadcast_to(np.asarray(values, dtype=float), runs.shape[1:2])
    return whole.reshape(-1, *(1,) * (runs.ndim - 2))


def _weighted(values, seen, draws):
    """Of each draw of weights: the sums (draws, m, ...) of the values, those of the weights, the weight of one more."""
    rng, more = np.random.default_rng(0), (1,) * (values.ndim - 1)
    sums, whole = np.zeros((draws, *values.shape[1:])), seen.all()
    weights = np.zeros((draws, *more) if whole else sums.shape)
    for row, there in zip(values, seen, strict=True):
        weight = rng.standard_exponential(draws).reshape(-1, *more)
        sums += weight * np.where(there, row, 0.0)
        weights += weight if whole else weight * there
    return sums, weights, rng.standard_exponential(draws).reshape(-1, *more)


def _statistic(weighted, signs, further, geometric):
    """The statistic of each draw of weights, one run more having the values `further`."""
    sums, weights, weight = weighted
    means = (sums + weight * (np.log(further) if geometric else further)) / (weights + weight)
    return (signs * (means if geometric else np.log(means))).sum(axis=1)


def _beyond(runs, further, unseen, direction):
    """`further`, but a value not seen in columns whose largest (direction > 0) or smallest is the most common one."""
    low, high = np.nanmin(runs, axis=0), np.nanmax(runs, axis=0)
    inner = _most_common(np.where((runs == low) | (runs == high), np.nan, runs))
    lows, highs = (runs == low).sum(axis=0), (runs == high).sum(axis=0)
    top = highs > np.maximum(np.maximum(inner, 1), np.where(low == high, 0, lows))
    bottom = lows > np.maximum(np.maximum(inner, 1), np.where(low == high, 0, highs))
    further = np.where((direction > 0) & top, high * unseen, further)
    return np.where((direction < 0) & bottom, low / unseen, further)


def _most_common(runs):
    """How often the most common value of each column is there; nan counts as a value that is there once."""
    order = np.sort(runs, axis=0)
    most = length = np.ones(runs.shape[1:], dtype=int)
    for above, below in zip(order[1:], order[:-1], strict=True):
        length = np.where(above == below, length + 1, 1)
        most = np.maximum(most, length)
    return most


def _stretched(estimate, low, high, level, n):
    """Limits farther from the estimate by Student's quantile over the normal one; of one run no limits."""
    share = (1 + level) / 2
    factor = np.where(n > 1, stdtrit(np.maximum(n - 1, 1), share) / ndtri(share), np.inf)
    below, above = np.maximum(estimate - low, 0.0), np.maximum(high - estimate, 0.0)
    with np.errstate(invalid="ignore"):  # 0 times infinity, of one run
        ends = estimate - factor * below, estimate + factor * above
    return np.where(n > 1, ends[0], -np.inf), np.where(n > 1, ends[1], np.inf)


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
