"""An estimate with its 95 % interval, alone or as the worst of several settings, and how many runs would decide."""

from math import inf, log

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
