"""An estimate with its 95 % interval, alone or as the worst of several settings, and how many runs would decide.

The mean of a sample and the slope of a line with Student's intervals, and a share with Wilson's.
"""

from math import inf, log

import numpy as np
from scipy.special import ndtri, stdtrit

MOST = 2**40  # times the runs beyond which no number of runs decides


class Interval(tuple):
    """Estimate, low and high, which unpack as three numbers; of the worst of several settings it keeps them all.

    Parameters
    ----------
    estimate : float
        What was measured.
    low, high : float
        Ends of its interval.
    **how
        `settings`, the intervals of which this is the worst, and `worst`, which chose it (max, min or "both"); `log`,
        whether the interval shrinks as a factor (default False); `rate`, as which power of the number of runs it
        shrinks (default 0.5; 1 where nothing but one value was seen).

    Examples
    --------
    >>> estimate, low, high = Interval(0.5, 0.4, 0.6)
    >>> low, Interval(0.5, 0.4, 0.6)
    (0.4, (0.5, 0.4, 0.6))
    """

    def __new__(cls, estimate, low, high, **how):
        return super().__new__(cls, map(float, (estimate, low, high)))

    def __init__(self, estimate, low, high, *, settings=(), worst=max, log=False, rate=0.5):
        self.settings, self.worst, self.log, self.rate = tuple(settings), worst, log, rate

    def __getnewargs__(self):
        return tuple(self)

    def after(self, times):
        """The interval that so many times the runs would give, if every estimate stayed.

        Parameters
        ----------
        times : float
            Multiple of the runs, 1 or more.

        Returns
        -------
        Interval
            The shorter interval.

        Examples
        --------
        >>> Interval(0.5, 0.3, 0.7).after(4)
        (0.5, 0.4, 0.6)
        """
        if self.settings:
            return worst_of([setting.after(times) for setting in self.settings], self.worst)
        (estimate, low, high), share = self, times**-self.rate
        if self.log:
            low, high = (estimate * (end / estimate) ** share for end in (low, high))
        else:
            low, high = estimate - (estimate - low) * share, estimate + (high - estimate) * share
        return Interval(estimate, low, high, log=self.log, rate=self.rate)


def worst_of(settings, worst=max):
    """The interval of the largest (or least) of several values, from simultaneous intervals of each.

    Parameters
    ----------
    settings : sequence of Interval
        One interval per setting, of a level that holds for all of them together.
    worst : callable or str, default max
        Which value stands for all of them: max or min; or "both", for statements that a value on either side speaks
        against.

    Returns
    -------
    Interval
        The worst estimate, the worst low and the worst high, which may be of different settings. Of "both" the estimate
        farthest from no difference (1 of a ratio, else 0), the least low and the largest high.

    Examples
    --------
    >>> from bandits_lib.simulate.interval import Interval
    >>> worst_of([Interval(0.5, 0.1, 1.2), Interval(0.9, 0.85, 0.95)])
    (0.9, 0.85, 1.2)
    >>> worst_of([Interval(0.5, 0.1, 1.2), Interval(0.9, 0.85, 0.95)], "both")
    (0.9, 0.1, 1.2)
    """
    estimates, lows, highs = zip(*settings, strict=True)
    if worst == "both":
        ratio = settings[0].log
        farthest = max(estimates, key=lambda value: abs(log(value)) if ratio else abs(value))
        return Interval(farthest, min(lows), max(highs), settings=settings, worst=worst, log=ratio)
    return Interval(worst(estimates), worst(lows), worst(highs), settings=settings, worst=worst, log=settings[0].log)


def runs_needed(interval, decided):
    """How many times as many runs would decide, if every estimate stayed.

    Parameters
    ----------
    interval : Interval
        What was measured. Of several settings each shrinks about its own estimate, so the number is that of the
        setting that decides.
    decided : callable
        Function (Interval) -> bool.

    Returns
    -------
    int or float
        The least whole number; 1 when it is decided, inf when no number of runs decides.

    Examples
    --------
    >>> from bandits_lib.simulate.interval import Interval, worst_of
    >>> def below_one(interval):
    ...     return interval[2] <= 1 or interval[1] > 1
    >>> runs_needed(Interval(0.9, 0.7, 1.1), below_one)
    4
    >>> settings = [Interval(0.5, 0.1, 1.2), Interval(0.9, 0.85, 0.95)]
    >>> runs_needed(worst_of(settings), below_one)
    2
    """
    if decided(interval):
        return 1
    few, many = 1, 2
    while not decided(interval.after(many * (1 + 1e-9))):
        few, many = many, 2 * many
        if many > MOST:
            return inf
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if decided(interval.after(middle * (1 + 1e-9))) else (middle, many)
    return many


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
