"""Estimate from Monte Carlo runs, with two-sided intervals: pulls, ratios, growth, accuracies, the worst setting.

Parameters of several functions:

- `table`: a DataFrame as `monte_carlo` returns it. Runs of equal number belong together.
- `algorithm`, `first`, `second`: names of algorithms in the table.
- `by`: the column or columns of the settings; each setting then has its own interval. Without `by`, a run counts by its
  sum or mean over its rows, and a run that lacks some of the rows is left out.
- `worst`: how the settings become one number, as for `worst_of`.
- `level`: confidence of the interval, or of the intervals of all settings together (`each_setting`).
- `value`: the column that is averaged, positive numbers.
- `x`: the column of the setting along which values grow or fall, positive numbers; two settings at least.
- `mean`: "arithmetic" or "geometric". The geometric one suits pulls whose mean comes mostly from a few runs.
- `unseen`: by what factor an unseen run may exceed the largest value seen (or fall below the smallest) if this is the
  most common value: the step to the next phase. A dictionary has a factor for each rule. It is 1 for a rule that takes
  the same pulls in every run.

`mean_pulls`, `mean_ratio` and `mean_growth` compute limits for logs of means, with random weights for the runs and for
one unseen run (Rubin 1981; Gaffke 2005). The pulls of a rule that works in phases take only two or three values, of
which one may be rare and large. Student's interval is then too short: for 20 equal values its width is zero. Here every
run has an exponential weight (the Bayesian bootstrap), and one unseen run is added. It takes the value of the seen run
that moves the estimate farthest towards the end in question. If the largest value seen is the most common one, nothing
was seen beyond it. Then the added run takes `unseen` times that value. So n equal values v have the upper limit
v (1 + (unseen - 1) (1 - 0.025^(1/n))), by Clopper and Pearson (1934). The limits are then stretched about the estimate
by the ratio of Student's quantile to the normal one, which matters for 20 to 40 runs.
tests/simulate/test_coverage_of_intervals.py simulates how often the intervals cover.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from math import exp, inf, log
from typing import Any, Literal

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike
from scipy.special import ndtri, stdtrit

DRAWS = 20_000  # number of draws of the weights, always the same ones: the same runs have the same interval
DOUBLINGS = [2**k for k in range(1, 41)]  # multiples of the number of runs; if none of them decides, no number does
By = str | Sequence[str]
Worst = Callable[..., Any] | Literal["distance", "excess"]
Unseen = float | Mapping[str, float]


class Interval(tuple):
    """Estimate, low and high, which unpack as three numbers.

    Parameters
    ----------
    estimate, low, high : float
        What was measured, and the ends of its interval.
    **how
        `settings`, the intervals of the settings that this one stands for, and `worst`, how (see `worst_of`); `log`,
        whether the interval shrinks on the scale of logarithms (default False); `rate`, the power of the number of runs
        with which it shrinks (default 0.5; 1 if all runs gave the same value); `error`, the standard error of the
        estimate (default nan, unknown). Only the interval allows for values that no run has shown.
    """

    def __new__(cls, estimate: float, low: float, high: float, **how: Any) -> "Interval":
        return super().__new__(cls, map(float, (estimate, low, high)))

    def __init__(
        self,
        estimate: float,
        low: float,
        high: float,
        *,
        settings: Sequence["Interval"] = (),
        worst: Worst = max,
        log: bool = False,
        rate: float = 0.5,
        error: float = np.nan,
    ) -> None:
        self.settings, self.worst, self.log, self.rate, self.error = tuple(settings), worst, log, rate, error

    def __getnewargs__(self):
        return tuple(self)

    def after(self, times: float) -> "Interval":
        """Return the interval that `times` as many runs would give if every estimate stayed the same.

        Parameters
        ----------
        times : float
            Multiple of the number of runs, 1 or more.

        Returns
        -------
        Interval
            The shorter interval.
        """
        if self.settings:
            return worst_of([setting.after(times) for setting in self.settings], self.worst)
        (estimate, low, high), share = self, times**-self.rate
        if self.log:
            low, high = (estimate * (end / estimate) ** share for end in (low, high))
        else:
            low, high = estimate - (estimate - low) * share, estimate + (high - estimate) * share
        return Interval(estimate, low, high, log=self.log, rate=self.rate)


def worst_of(settings: Sequence[Interval], worst: Worst = max) -> Interval:
    """Return one interval for several settings: that of the largest or smallest value, or of the mean distance.

    Parameters
    ----------
    settings : sequence of Interval
        One interval per setting, as `each_setting` chooses their levels.
    worst : callable or str, default max
        One of max, min, another function that takes the argument `key` as they do, or, for closeness, "distance": the
        mean over the settings of the distance from no difference, in which no setting makes up for another one. It is
        the geometric mean of max(r, 1 / r) for ratios, and the mean of |d| for differences. For "excess" only values
        above no difference are distant: max(r, 1) and max(d, 0).

    Returns
    -------
    Interval
        The worst estimate, the worst low and the worst high, perhaps of different settings; or the mean distance.

    Examples
    --------
    >>> from bandits_lib.simulate.intervals import Interval
    >>> settings = [Interval(0.5, 0.1, 1.2), Interval(0.9, 0.85, 0.95)]
    >>> worst_of(settings)
    (0.9, 0.85, 1.2)
    >>> worst_of(settings, "distance")
    (0.7, 0.475, 1.075)
    """
    ratio = settings[0].log
    how: dict[str, Any] = {"settings": settings, "worst": worst, "log": ratio}
    if isinstance(worst, str):
        if worst not in ("distance", "excess"):
            raise ValueError(f"worst must be a function such as max, or 'distance' or 'excess'; got {worst!r}")
        distances = [_distance(setting, ratio, worst == "excess") for setting in settings]
        estimate, low, high = (exp(x) if ratio else x for x in np.mean(distances, axis=0))
        return Interval(estimate, low, high, **how)
    chosen = worst(settings, key=lambda setting: setting[0])
    _, lows, highs = zip(*settings, strict=True)
    return Interval(chosen[0], worst(lows), worst(highs), error=chosen.error, **how)


def _distance(setting, ratio, one_sided):
    """Return estimate, low and high of the distance from no difference; of a ratio's logarithm."""
    estimate, low, high = ((log(x) if x > 0 else -inf) if ratio else x for x in setting)
    if one_sided:
        return [max(x, 0.0) for x in (estimate, low, high)]
    return [abs(estimate), max(low, -high, 0.0), max(abs(low), abs(high))]


def each_setting(at: Callable[[float], Sequence[Interval]], worst: Worst = max, level: float = 0.95) -> Interval:
    """Return one interval for several settings, in which each end has the level that it needs.

    A statement about every setting holds if each setting passes at the level by itself (intersection-union), and it
    fails if one setting fails at a level that holds for all of them together (Bonferroni). So the upper end of the
    largest value, and the lower end of the smallest, is not adjusted.

    Parameters
    ----------
    at : callable
        Returns the intervals of the settings for a level that each of them has by itself.
    worst : callable or str, default max
        As for `worst_of`.
    level : float, default 0.95
        Confidence of each of the two ends.

    Returns
    -------
    Interval
        The interval, with its settings.
    """
    single = at(level)
    if len(single) == 1 and not isinstance(worst, str):
        return worst_of(single, worst)
    joint = at(1 - (1 - level) / len(single))
    if worst not in (max, min):
        return worst_of(joint, worst)
    lower, upper = (joint, single) if worst is max else (single, joint)
    settings = [
        Interval(one[0], low[1], high[2], log=one.log, rate=one.rate, error=one.error)
        for one, low, high in zip(joint, lower, upper, strict=True)
    ]
    return worst_of(settings, worst)


def pooled_ratio(
    ours: ArrayLike,
    ours_error: ArrayLike,
    printed: ArrayLike,
    printed_error: ArrayLike,
    *,
    correlation: float | np.ndarray = 1.0,
    columns: int = 1,
) -> Interval:
    """Return the ratio of measured to printed means, pooled over the cells of a printed column.

    Parameters
    ----------
    ours, ours_error, printed, printed_error : (K,) array_like
        Means of our runs and of the paper, and their standard errors.
    correlation : float or (K, K) array_like, default 1.0
        Correlation of the printed cells; 1 if one seed made all of them and nothing else is known.
    columns : int, default 1
        Number of columns that are judged together (Bonferroni).

    Returns
    -------
    Interval
        The exponential of the mean logarithm of the ratios, with its 95 % interval.

    Examples
    --------
    >>> ratio = pooled_ratio([110, 220], [1, 2], [100, 200], [5, 10])
    >>> tuple(round(value, 2) for value in ratio)
    (1.1, 1.0, 1.21)
    """
    ours, ours_error, printed, printed_error = map(np.asarray, (ours, ours_error, printed, printed_error))
    K, s = len(ours), printed_error / printed
    between = np.where(np.eye(K, dtype=bool), 1.0, correlation)
    variance = ((ours_error / ours) ** 2).sum() + s @ between @ s
    mean = np.log(ours / printed).mean()
    half = ndtri(1 - 0.025 / columns) * np.sqrt(variance) / K
    return Interval(*np.exp([mean, mean - half, mean + half]), log=True)


def runs_needed(interval, decided):
    """Return the multiple of the runs that would decide if every estimate stayed the same; inf if none would."""
    if decided(interval):
        return 1

    def enough(times):
        return decided(interval.after(times * (1 + 1e-9)))

    many = next((many for many in DOUBLINGS if enough(many)), None)
    return inf if many is None else bisect_left(range(many), True, many // 2 + 1, key=enough)


def student_interval(values: ArrayLike, level: float = 0.95) -> tuple[float, float, float, float]:
    """Return the mean of a sample, its standard error and Student's interval.

    Parameters
    ----------
    values, level : (n,) array_like, float
        The sample, and the confidence of the interval.

    Returns
    -------
    mean, se, low, high : float
        Mean, standard error (ddof 1) and interval. For one value the standard error is nan and the interval infinite.

    Examples
    --------
    >>> tuple(round(value, 2) for value in student_interval([1.0, 2.0, 3.0]))
    (2.0, 0.58, -0.48, 4.48)
    """
    values = np.asarray(values, dtype=float)
    mean = float(values.mean())
    if len(values) < 2:
        return mean, np.nan, -np.inf, np.inf
    se = float(scipy.stats.sem(values))
    low, high = scipy.stats.t.interval(level, len(values) - 1, mean, se) if se else (mean, mean)
    return mean, se, float(low), float(high)


def wilson_interval(successes: int, trials: int, level: float = 0.95) -> Interval:
    """Return a binomial proportion with Wilson's score interval.

    Parameters
    ----------
    successes, trials, level : int, int, float
        Whole numbers, of which the first is at most the second, and the confidence of the interval.

    Returns
    -------
    Interval
        Share of successes and its interval; nan, 0 and 1 if there are no trials.

    Examples
    --------
    >>> tuple(round(value, 3) for value in wilson_interval(2, 50))
    (0.04, 0.011, 0.135)
    """
    if trials == 0:
        return Interval(np.nan, 0.0, 1.0)
    low, high = scipy.stats.binomtest(successes, trials).proportion_ci(level, method="wilson")
    return Interval(successes / trials, low, high, rate=1.0 if successes in (0, trials) else 0.5)


def summary(table: pd.DataFrame, by: By = (), level: float = 0.95) -> pd.DataFrame:
    """Return estimates with intervals for each algorithm and setting.

    Parameters
    ----------
    table, by, level : pandas.DataFrame, str or sequence of str, float
        As in the head of this module; each interval holds by itself.

    Returns
    -------
    pandas.DataFrame
        Indexed by the columns `by` and the algorithm, in the table's order: runs, mean pulls, se (ddof 1), low, high
        (Student), error_rate among the runs that stopped, error_low, error_high (Wilson), and not_stopped, the number
        of runs that were cut off. If there are any, mean and se are nan, low is the mean of the pulls that were made,
        and high is inf.

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
    mean, se, low, high = student_interval(rows["pulls"], level)
    if stopped < len(rows):  # without the cut, a run could have taken any number
        mean, se, low, high = np.nan, np.nan, mean, np.inf
    rate, error_low, error_high = wilson_interval(stopped - int(rows["correct"].sum()), stopped, level)
    pulls = {"runs": len(rows), "mean": mean, "se": se, "low": low, "high": high}
    rates = {"error_rate": rate, "error_low": error_low, "error_high": error_high}
    return pulls | rates | {"not_stopped": len(rows) - stopped}


def _over_settings(table, by, worst, level, interval):
    """Return `interval(rows, level)` of the table, or one interval for its settings."""
    if by is None:
        return interval(table, level)
    groups = [rows for _, rows in table.groupby(by, sort=False)]
    return each_setting(lambda each: [interval(rows, each) for rows in groups], worst, level)


def _slope(table, x, log):
    """Return the settings `x` in increasing order, and weights with which values there add up to a slope in log x."""
    settings = np.sort(table[x].unique())
    if len(settings) < 2:
        raise ValueError("a slope needs two settings at least; the table holds one: add runs of another setting")
    at = log(settings.astype(float))
    return settings, (at - at.mean()) / ((at - at.mean()) ** 2).sum()


# --- right answers


def worst_error_rate(table: pd.DataFrame, *, by: By = (), level: float = 0.95) -> Interval:
    """Return the largest share of wrong answers of any rule in any setting; a run that was cut off counts as wrong.

    Parameters
    ----------
    table, by, level : pandas.DataFrame, str or sequence of str, float
        As in the head of this module.

    Returns
    -------
    Interval
        The worst of one interval (Wilson's) for each rule and setting.
    """
    groups = table.groupby([*([by] if isinstance(by, str) else by), "algorithm"], sort=False)["correct"]
    counts = [(int((~right).sum()), len(right)) for _, right in groups]
    return each_setting(lambda each: [wilson_interval(*count, each) for count in counts], max, level)


def accuracy_lead(
    table: pd.DataFrame, first: str, second: str, *, by: By | None = None, worst: Worst = min, level: float = 0.95
) -> Interval:
    """Return how much more often `first` is right than `second`.

    Parameters
    ----------
    table, first, second, by, worst, level : optional
        As in the head of this module. A run that lacks a row of either rule is left out.

    Returns
    -------
    Interval
        Difference of the shares of right answers, with Student's interval for the means of the runs. Two runs are
        added: one in which only `first` is right in all settings, and one in which only `second` is. With them the
        interval keeps its level even if the two rules hardly ever differ. Agresti and Min (2005) add half as many,
        which is too few if only one of the two rules ever errs.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"algorithm": [*"aaaaaabbbbbb"], "run": 2 * [*range(6)]})
    >>> table["correct"] = 6 * [True] + 3 * [True, False]
    >>> tuple(round(value, 2) for value in accuracy_lead(table, "a", "b"))
    (0.5, -0.25, 1.0)
    """
    return _over_settings(table, by, worst, level, lambda rows, each: _bounded(_shares(rows, first, second), 1.0, each))


def accuracy_trend(
    table: pd.DataFrame, first: str, x: str, *, second: str | None = None, level: float = 0.95
) -> Interval:
    """Return the change of the accuracy of `first`, or of its lead over `second`, per doubling of `x`.

    Parameters
    ----------
    table, first, x, second, level : optional
        As in the head of this module. A run that lacks a setting is left out.

    Returns
    -------
    Interval
        Slope of correct (0 or 1), or of the paired difference, against log2 x; the interval as for `accuracy_lead`.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"algorithm": "a", "run": 2 * [0, 1], "n": [10, 10, 20, 20]})
    >>> table["correct"] = [True, True, True, False]
    >>> round(accuracy_trend(table, "a", "n")[0], 2)
    -0.5
    """
    settings, slope = _slope(table, x, np.log2)
    rows = [_shares(table[table[x] == setting], first, second) for setting in settings]
    most = np.abs(slope).sum() * (0.5 if second is None else 1.0)
    return _bounded(pd.concat(rows, axis=1).dropna().to_numpy() @ slope, most, level)


def _shares(table, first, second):
    """Return the share of right answers of `first`, or its lead over `second`, for each run that has all rows."""
    names = [first] if second is None else [first, second]
    run, right, means = table["run"].to_numpy(), table["correct"].to_numpy(float), {}
    for name in names:
        rows = (table["algorithm"] == name).to_numpy()  # a slice of the table would copy all of its columns
        runs, place, size = np.unique(run[rows], return_inverse=True, return_counts=True)
        means[name] = runs, size, np.bincount(place, right[rows], len(runs)) / size
    most = max(size.max(initial=0) for _, size, _ in means.values())
    whole = {name: pd.Series(mean[size == most], runs[size == most]) for name, (runs, size, mean) in means.items()}
    shares = pd.DataFrame(whole).dropna().rename_axis("run")
    if shares.empty:
        algorithms = ", ".join(table["algorithm"].unique()) or "no row: are there too few settings?"
        raise ValueError(f"table has no run of {' and '.join(names)}; it holds {algorithms}")
    return shares[first] if second is None else shares[first] - shares[second]


def _bounded(values, most, level):
    """Return the mean of values from -most to most with Student's interval, for which a value at each end is added."""
    n, extended = len(values), np.append(values, [most, -most])
    half = stdtrit(n + 1, (1 + level) / 2) * extended.std(ddof=1) / np.sqrt(n + 2)
    low, high = max(-most, extended.mean() - half), min(most, extended.mean() + half)
    mean = float(np.mean(values))
    return Interval(mean, min(low, mean), max(high, mean), rate=1.0 if np.ptp(values) == 0 else 0.5)


# --- pulls


def mean_pulls(
    table: pd.DataFrame,
    algorithm: str,
    *,
    level: float = 0.95,
    value: str = "pulls",
    mean: str = "arithmetic",
    unseen: Unseen = 4.0,
) -> Interval:
    """Return the mean pulls of an algorithm, with an interval that holds even if pulls have two or three values.

    Parameters
    ----------
    table, algorithm, level, value, mean, unseen : optional
        As in the head of this module.

    Returns
    -------
    Interval
        The mean, in the unit of the value.
    """
    return _ratio(table, {algorithm: 1}, level, value, mean, unseen)


def mean_ratio(
    table: pd.DataFrame,
    first: str,
    second: str,
    *,
    by: By | None = None,
    worst: Worst = max,
    level: float = 0.95,
    value: str = "pulls",
    mean: str = "arithmetic",
    unseen: Unseen = 4.0,
) -> Interval:
    """Return the ratio of the mean pulls of `first` to those of `second`.

    Parameters
    ----------
    table, first, second, by, worst, level, value, mean, unseen : optional
        As in the head of this module. A run that only one of the two rules has counts for the mean of this rule alone.
        The geometric mean is that of the paired ratios.

    Returns
    -------
    Interval
        The ratio, with its settings.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"algorithm": [*"aaabbb"], "run": 2 * [0, 1, 2], "pulls": [20, 22, 18, 40, 42, 39]})
    >>> tuple(round(value, 2) for value in mean_ratio(table, "a", "b"))
    (0.5, 0.43, 0.55)
    """
    signs = {first: 1, second: -1}
    return _over_settings(table, by, worst, level, lambda rows, each: _ratio(rows, signs, each, value, mean, unseen))


def mean_growth(
    table: pd.DataFrame,
    algorithm: str,
    x: str,
    *,
    against: str | None = None,
    level: float = 0.95,
    value: str = "pulls",
    mean: str = "arithmetic",
    unseen: Unseen = 4.0,
) -> Interval:
    """Return the exponent a in mean pulls ~ x^a: the slope of log mean pulls against log x.

    Parameters
    ----------
    table, algorithm, x, level, value, mean, unseen : optional
        As in the head of this module.
    against : str, optional
        Name of another algorithm; the exponent is then that of the ratio of the two means.

    Returns
    -------
    Interval
        The exponent.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"algorithm": "a", "run": 2 * [0, 1], "n": [10, 10, 40, 40], "pulls": [9, 11, 21, 19]})
    >>> round(mean_growth(table, "a", "n")[0], 2)
    0.5
    """
    signs = {algorithm: 1} | ({} if against is None else {against: -1})
    settings, slope = _slope(table, x, np.log)
    runs = pd.concat([by_run(table[table[x] == setting], signs, value) for setting in settings], axis=1)
    return log_interval(runs, signs, slope, level=level, mean=mean, unseen=unseen)


def _ratio(rows, signs, level, value, mean, unseen):
    """Return the ratio (or the mean) that the `signs`, 1 and -1, of the algorithms define."""
    logs = log_interval(by_run(rows, signs, value), signs, 1.0, level=level, mean=mean, unseen=unseen)
    with np.errstate(over="ignore"):
        return Interval(*np.exp(logs), log=True, rate=logs.rate, error=np.exp(logs[0]) * logs.error)


def by_run(table: pd.DataFrame, names: Sequence[str] | Mapping[str, Any], value: str) -> pd.DataFrame:
    """Return one row per run and one column per algorithm, with the sum of `value` over the run's rows.

    Parameters
    ----------
    table, names, value : pandas.DataFrame, sequence of str, str
        As `monte_carlo` returns it; the algorithms, and the column that is summed.

    Returns
    -------
    pandas.DataFrame
        Sums; nan if a run has fewer rows than other runs of the algorithm. Pulls of runs that were cut off are refused.

    Examples
    --------
    >>> import pandas as pd
    >>> by_run(pd.DataFrame({"algorithm": "a", "run": [0, 0, 1], "pulls": [1, 2, 5]}), ["a"], "pulls")["a"].tolist()
    [3]
    """
    algorithms = table["algorithm"].unique()
    if lacking := [name for name in names if name not in algorithms]:
        raise ValueError(f"table has no run of {', '.join(lacking)}; it holds {', '.join(algorithms)}")
    table = table[table["algorithm"].isin(list(names))]
    _check_stopped(table, value)
    if not table.duplicated(["run", "algorithm"]).any():  # nothing to sum
        return table.pivot(index="run", columns="algorithm", values=value)[list(names)]
    rows = table.groupby(["run", "algorithm"])[value].agg(["sum", "size"])
    whole = rows["size"] == rows.groupby(level="algorithm")["size"].transform("max")
    return rows.loc[whole, "sum"].unstack("algorithm")[list(names)]


def _check_stopped(table, value):
    if value == "pulls" and "stopped" in table and not (stopped := table["stopped"].astype(bool)).all():
        cut = ", ".join(table.loc[~stopped, "algorithm"].unique())
        raise ValueError(
            f"{(~stopped).sum()} runs of {cut} were cut off before they stopped: their pulls have no mean. "
            "Raise max_pulls, or leave these rules out"
        )


def log_interval(
    runs: pd.DataFrame,
    signs: Mapping[str, int],
    weights: float | np.ndarray,
    *,
    level: float,
    mean: str,
    unseen: Unseen,
) -> Interval:
    """Return an interval for the sum of weight times sign times log mean pulls, as `limits` computes it.

    Parameters
    ----------
    runs : pandas.DataFrame
        One row per run; blocks of columns as `by_run` returns them, one block for each setting.
    signs, weights : dict of {str: int}, float or (settings,) array_like
        1 or -1 for each algorithm of a block, and the weight of each block.
    level, mean, unseen : float, str, float or dict
        As in the head of this module.

    Returns
    -------
    Interval
        The interval, on the scale of the logs.

    Examples
    --------
    >>> import pandas as pd
    >>> runs = pd.DataFrame({"a": [2.0, 4.0], "b": [1.0, 1.0]})
    >>> round(log_interval(runs, {"a": 1, "b": -1}, 1.0, level=0.95, mean="arithmetic", unseen=1.0)[0], 2)
    1.1
    """
    if mean not in ("arithmetic", "geometric"):
        raise ValueError(f"mean must be 'arithmetic' or 'geometric'; got {mean!r}")
    factors = [unseen.get(name, 4.0) if isinstance(unseen, Mapping) else unseen for name in signs]
    if min(factors) < 1:
        raise ValueError(f"unseen must be factors of 1 or more; got {unseen}")
    values, blocks = runs.to_numpy(dtype=float), np.size(weights)
    across = np.outer(weights, list(signs.values())).ravel()
    ends = limits(values, across, level, np.tile(factors, blocks), mean == "geometric")
    constant = (np.nanmin(values, axis=0) == np.nanmax(values, axis=0)).all()
    return Interval(*ends, rate=1.0 if constant else 0.5, error=_error(values, across, mean == "geometric"))


def _error(values, signs, geometric):
    """Return the standard error of the estimate of `limits`, by the delta method."""
    scaled = np.log(values) if geometric else values / np.nanmean(values, axis=0)
    deviations = signs * (scaled - np.nanmean(scaled, axis=0))
    return np.sqrt((np.nansum(deviations / (~np.isnan(values)).sum(axis=0), axis=1) ** 2).sum())


def limits(runs, signs, level=0.95, unseen=4.0, geometric=False, draws=DRAWS):
    """Return estimate, low and high of sum_j signs_j log(mean of column j): the log of a ratio, or a slope of logs."""
    # runs (n, m, ...) are positive; a row holds what belongs together, nan where a run is missing from a column. signs
    # and unseen are numbers or (m,). `geometric` takes means of logs instead of logs of means. Other axes are samples.
    runs = np.asarray(runs, dtype=float)
    signs, unseen = (_column(values, runs) for values in (signs, unseen))
    seen = ~np.isnan(runs)
    filled = np.where(seen, runs, np.nanmean(runs, axis=0))
    values, means = (np.log(filled), 1.0) if geometric else (filled, np.nanmean(runs, axis=0))
    contributions = (signs * values / means).sum(axis=1)
    sums, weights, weight = _weighted(values, seen, draws)
    ends = {}
    for side in (-1, 1):
        chosen = np.broadcast_to((side * contributions).argmax(axis=0)[None, None], (1, *runs.shape[1:]))
        further = _beyond(runs, np.take_along_axis(filled, chosen, axis=0)[0], unseen, side * signs)
        means = (sums + weight * (np.log(further) if geometric else further)) / (weights + weight)
        draws_of_estimate = (signs * (means if geometric else np.log(means))).sum(axis=1)
        ends[side] = np.quantile(draws_of_estimate, (1 + side * level) / 2, axis=0)
    means = np.mean(values, axis=0, where=seen)
    estimate = (signs * (means if geometric else np.log(means))).sum(axis=0)
    return estimate, *_stretched(estimate, ends[-1], ends[1], level, seen.sum(axis=0).min(axis=0))


def _column(values, runs):
    """Return one value, or one for each column, along the columns of `runs`."""
    whole = np.broadcast_to(np.asarray(values, dtype=float), runs.shape[1:2])
    return whole.reshape(-1, *(1,) * (runs.ndim - 2))


def _weighted(values, seen, draws):
    """Return for each draw of weights: weighted sums (draws, m, ...), sums of weights, weight of the unseen run."""
    stream, one, whole = _weights(draws), (1,) * (values.ndim - 1), seen.all()
    sums = np.zeros((*values.shape[1:], draws))  # the long axis last: adding along short ones is slow
    weights = np.zeros((*one, draws) if whole else sums.shape)
    for row, present in zip(np.where(seen, values, 0.0)[..., None], seen[..., None], strict=True):
        weight = next(stream)
        sums += weight * row
        weights += weight if whole else weight * present
    draws_first = (np.ascontiguousarray(np.moveaxis(totals, -1, 0)) for totals in (sums, weights))
    return *draws_first, next(stream).reshape(-1, *one)


def _weights(draws):
    """Yield the weights of one run after the other, the same ones in every call."""
    rng = np.random.default_rng(0)
    while True:
        yield rng.standard_exponential(draws)


def _beyond(runs, further, unseen, direction):
    """Return `further`, or an unseen value where the largest (direction > 0) or smallest value is the most common."""
    low, high = np.nanmin(runs, axis=0), np.nanmax(runs, axis=0)
    inner = np.maximum(_most_common(np.where((runs == low) | (runs == high), np.nan, runs)), 1)
    lows, highs = (runs == low).sum(axis=0), (runs == high).sum(axis=0)
    top = highs > np.maximum(inner, np.where(low == high, 0, lows))
    bottom = lows > np.maximum(inner, np.where(low == high, 0, highs))
    further = np.where((direction > 0) & top, high * unseen, further)
    return np.where((direction < 0) & bottom, low / unseen, further)


def _most_common(runs):
    """Return how often the most common value of each column occurs; nan counts as a value that occurs once."""
    order = np.sort(runs, axis=0)
    most = length = np.ones(runs.shape[1:], dtype=int)
    for above, below in zip(order[1:], order[:-1], strict=True):
        length = np.where(above == below, length + 1, 1)
        most = np.maximum(most, length)
    return most


def _stretched(estimate, low, high, level, n):
    """Return limits farther from the estimate by Student's quantile over the normal one; infinite for one run."""
    factor = stdtrit(np.maximum(n - 1, 1), (1 + level) / 2) / ndtri((1 + level) / 2)
    low, high = (
        estimate - factor * np.maximum(estimate - low, 0.0),
        estimate + factor * np.maximum(high - estimate, 0.0),
    )
    return np.where(n > 1, low, -np.inf), np.where(n > 1, high, np.inf)
