"""Interval estimates from Monte Carlo runs, for summaries and claims. All are two-sided."""

import pandas as pd

from bandits_lib.simulate.interval import Interval, slope_interval, student_interval, wilson_interval, worst_of
from bandits_lib.simulate.proportions import (
    accuracy_difference,
    accuracy_lead,
    accuracy_slope,
    accuracy_trend,
    worst_error_rate,
)
from bandits_lib.simulate.ratios import growth_exponent, mean_growth, mean_pulls, mean_ratio, paired_ratio

__all__ = [
    "Interval",
    "accuracy_difference",
    "accuracy_lead",
    "accuracy_slope",
    "accuracy_trend",
    "growth_exponent",
    "mean_growth",
    "mean_pulls",
    "mean_ratio",
    "paired_ratio",
    "slope_interval",
    "student_interval",
    "summary",
    "wilson_interval",
    "worst_error_rate",
    "worst_of",
]


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
