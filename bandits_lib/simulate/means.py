"""The mean of a sample and the slope of a line with Student's intervals, and a share with Wilson's."""

import numpy as np
from scipy.special import ndtri, stdtrit

from bandits_lib.simulate.interval import Interval


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
        return Interval(np.nan, 0.0, 1.0)
    rate, z = successes / trials, float(ndtri(0.5 + 0.5 * level))
    whole = 2 * (trials + z**2)
    centre = (2 * trials * rate + z**2) / whole
    half = z / whole * float(np.sqrt(4 * trials * rate * (1 - rate) + z**2))
    low, high = 0.0 if successes == 0 else centre - half, 1.0 if successes == trials else centre + half
    return Interval(rate, low, high, rate=1.0 if successes in (0, trials) else 0.5)


def slope_interval(x, y, level=0.95):
    """Least-squares slope of y against x, with Student's interval for it; rows are taken for independent.

    Parameters
    ----------
    x, y : (n,) array_like
        Points, of two values of x at least.
    level : float, default 0.95
        Confidence of the interval, two-sided.

    Returns
    -------
    estimate : float
        Slope, in units of y per unit of x.
    low, high : float
        Interval; nan of two points, or where y is constant: nothing tells how y is spread.

    Raises
    ------
    ValueError
        For points of one x.

    Examples
    --------
    >>> tuple(round(value, 2) for value in slope_interval([0, 1, 2], [0.0, 1.1, 2.0]))
    (1.0, 0.27, 1.73)
    """
    (xx, xy), (_, yy) = np.cov(x, y, bias=True)
    if xx == 0:
        raise ValueError("a slope needs two settings at least; the table holds one")
    slope, free = xy / xx, len(x) - 2
    if free == 0 or yy == 0:  # nothing tells how y is spread
        return float(slope), np.nan, np.nan
    unexplained = 1 - min(1.0, abs(xy) / np.sqrt(xx * yy)) ** 2
    half = stdtrit(free, (1 + level) / 2) * np.sqrt(unexplained * yy / xx / free)
    return float(slope), float(slope - half), float(slope + half)
