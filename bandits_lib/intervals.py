"""Interval estimates from Monte Carlo runs, for summaries and claims. All are two-sided."""

import numpy as np
from scipy import stats


def student_interval(values, level=0.95):
    """mean, standard error (ddof 1), low, high of a sample (Student); one value: an infinite interval."""
    values = np.asarray(values, dtype=float)
    mean = float(values.mean())
    if len(values) < 2:
        return mean, np.nan, -np.inf, np.inf
    se = float(stats.sem(values))
    if se == 0:
        return mean, 0.0, mean, mean
    low, high = stats.t.interval(level, len(values) - 1, loc=mean, scale=se)
    return mean, se, float(low), float(high)


def wilson_interval(successes, trials, level=0.95):
    """rate, low, high of a binomial proportion (Wilson's score interval); no trials: nan, 0, 1."""
    if trials == 0:
        return np.nan, 0.0, 1.0
    interval = stats.binomtest(int(successes), int(trials)).proportion_ci(level, method="wilson")
    return successes / trials, float(interval.low), float(interval.high)


def paired_ratio(table, first, second, by=None, worst=max, level=0.95, value="pulls"):
    """How many times the pulls of `second` does `first` take, run by run on the same problem?

    table : as `monte_carlo` returns it, with a column `by` when it holds several settings. Runs that only one of the
    two has played are left out. value : the column compared, positive numbers.
    The ratio is the geometric mean over runs (the mean of paired log-ratios, Student). With several settings,
    `worst` (max or min) of the ratios, with Bonferroni's simultaneous interval. Returns estimate, low, high.
    Raises ValueError if they have no run in common.
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
    """Exponent a in pulls ~ x^a: slope of log pulls against log x over all runs. Returns estimate, low, high.

    table : as `monte_carlo` returns it with a column `x`. against : the exponent of the ratio of `algorithm`'s pulls
    to those of this one, paired by run. The interval is Student's for the slope.
    """
    pulls = np.log(table.pivot(index=[x, "run"], columns="algorithm", values="pulls").astype(float))
    rows = (pulls[algorithm] if against is None else pulls[algorithm] - pulls[against]).dropna()
    fit = stats.linregress(np.log(rows.index.get_level_values(x).to_numpy(dtype=float)), rows.to_numpy())
    half = stats.t.ppf((1 + level) / 2, len(rows) - 2) * fit.stderr
    return float(fit.slope), float(fit.slope - half), float(fit.slope + half)


def accuracy_difference(table, first, second, by=None, worst=min, level=0.95):
    """By how much more often than `second` is `first` right, on the same problem and run?

    table : as `monte_carlo` returns it, with a column `by` when it holds several settings. Runs that only one of the
    two has played are left out. The interval is that of Agresti and Min (2005) for matched pairs, which keeps its level
    where they hardly ever differ. With several settings, `worst` (min or max) of the differences, with Bonferroni's
    simultaneous interval. Returns estimate, low, high. Raises ValueError if they have no run in common.
    """
    groups = [table] if by is None else [rows for _, rows in table.groupby(by, sort=False)]
    ends = [_matched_pairs(_paired(rows, first, second), 1 - (1 - level) / len(groups)) for rows in groups]
    return tuple(float(worst(column)) for column in zip(*ends, strict=True))


def accuracy_slope(table, first, x, second=None, level=0.95):
    """Change of the accuracy of `first`, or of its lead over `second`, per doubling of the setting `x`, over all runs.

    table : as `monte_carlo` returns it with a column `x`. The interval is Student's for the slope of correct (0 or 1),
    or of the paired difference, against log2 x. Returns estimate, low, high.
    """
    wide = table.pivot(index=[x, "run"], columns="algorithm", values="correct").astype(float)
    rows = (wide[first] if second is None else wide[first] - wide[second]).dropna()
    fit = stats.linregress(np.log2(rows.index.get_level_values(x).to_numpy(dtype=float)), rows.to_numpy())
    half = stats.t.ppf((1 + level) / 2, len(rows) - 2) * fit.stderr
    return float(fit.slope), float(fit.slope - half), float(fit.slope + half)


def _paired(rows, first, second):
    correct = rows.pivot(index="run", columns="algorithm", values="correct")
    correct = correct.reindex(columns=[first, second]).dropna().astype(int)
    if correct.empty:
        raise ValueError(f"table has no run of both {first} and {second}; it holds {list(rows['algorithm'].unique())}")
    return (correct[first] - correct[second]).to_numpy()


def _matched_pairs(difference, level):
    n, won, lost = len(difference), int((difference > 0).sum()), int((difference < 0).sum())
    pairs, lead = n + 2, won - lost
    half = stats.norm.ppf((1 + level) / 2) * np.sqrt(won + lost + 1 - lead**2 / pairs) / pairs
    return lead / n, max(-1.0, lead / pairs - half), min(1.0, lead / pairs + half)
