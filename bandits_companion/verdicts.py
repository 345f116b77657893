"""How a verdict follows from an interval: rules, grades and margins, the same for every statement of every paper."""

from math import inf, isnan, nan, sqrt
from typing import NamedTuple

VERDICTS = ("reproduced", "compatible", "no difference above the margin", "undecided", "not reproduced")
STANDS = VERDICTS[:3]
GRADES = {"ratio": (1.1, 1.25, 2.0, 3.0), "accuracy": (0.02, 0.05, 0.1), "exponent": (0.1, 0.2, 0.3)}
ENOUGH = {"ratio": 2.0, "accuracy": 0.05, "exponent": 0.2}  # what a word of closeness must keep to
COARSE = 1.0  # of a printed number: where twice as much would not show, nothing is decided
MARGINS = {"ratio": (1.1,), "accuracy": (0.02, 0.05), "exponent": (0.1,)}  # of a tie; the first unless said otherwise


class Rule(NamedTuple):
    """When a statement is true of a number.

    Attributes
    ----------
    low, high : float
        The least and the largest value under which it is true; of a word of closeness those that are close enough.
    closeness : str
        "ratio", "accuracy" or "exponent" of a word of closeness ("competitive", "nearly"), else "".
    side : str
        Of a word of closeness: "below" if only larger values speak against it, "both" if smaller ones do, too.
    printed, half : float
        A number as printed and the half-width of its own 95 % interval; nan of other statements.
    tie_low, tie_high : float
        Between these two there is no difference; nan where no margin was declared.

    Examples
    --------
    >>> Rule(0.0, 1.0).high
    1.0
    """

    low: float = -inf
    high: float = inf
    closeness: str = ""
    side: str = ""
    printed: float = nan
    half: float = nan
    tie_low: float = nan
    tie_high: float = nan


def close(kind, side="below"):
    """The rule of a word of closeness.

    Parameters
    ----------
    kind : str
        "ratio", "accuracy" or "exponent".
    side : str, default "below"
        "below" or "both".

    Returns
    -------
    Rule
        True within the grade that is enough: a factor 2, an accuracy of .05, an exponent of .2.

    Examples
    --------
    >>> close("ratio").high, close("ratio", "both").low
    (2.0, 0.5)
    """
    low, high = _band(kind, side, ENOUGH[kind])
    return Rule(low, high, kind, side)


def _band(kind, side, grade):
    """The values that a grade of closeness allows."""
    least = 1 / grade if kind == "ratio" else -grade
    return (least if side == "both" else 0.0 if kind == "ratio" else -inf), grade


def verdict(rule, interval):
    """The verdict: whether the interval lies where the statement is true.

    Parameters
    ----------
    rule : Rule
        When the statement is true.
    interval : tuple of float
        Estimate, low, high.

    Returns
    -------
    str
        Of a printed number "not reproduced", if it lies outside of the interval that counts both errors; inside
        "compatible", or "undecided" where not even a deviation by the number itself would have shown.
        Else "reproduced", if the interval lies inside; "no difference above the margin", if it lies inside the margin;
        "not reproduced", if outside; or "undecided".

    Examples
    --------
    >>> from bandits_companion.verdicts import Rule
    >>> verdict(Rule(0, 1), (0.5, 0.4, 0.6)), verdict(Rule(0, 1), (0.9, 0.7, 1.1))
    ('reproduced', 'undecided')
    """
    _, low, high = interval
    if not isnan(rule.printed):
        below, above = _with_printed(rule, interval)
        if not interval[0] - below <= rule.printed <= interval[0] + above:
            return "not reproduced"
        return "compatible" if detects(rule, interval) <= COARSE else "undecided"
    if rule.low <= low and high <= rule.high:
        return "reproduced"
    if rule.tie_low <= low and high <= rule.tie_high:
        return "no difference above the margin"
    return "not reproduced" if high < rule.low or low > rule.high else "undecided"


def _with_printed(rule, interval):
    """How far the interval of measured less printed reaches below and above: squares add (Zou and Donner, 2008)."""
    estimate, low, high = interval
    return sqrt((estimate - low) ** 2 + rule.half**2), sqrt((high - estimate) ** 2 + rule.half**2)


def grade(rule, interval):
    """The smallest grade of closeness whose band contains the interval.

    Parameters
    ----------
    rule : Rule
        When the statement is true.
    interval : tuple of float
        Estimate, low, high.

    Returns
    -------
    float
        One of `GRADES`; nan if none of them does, or for other statements.

    Examples
    --------
    >>> from bandits_companion.verdicts import close
    >>> grade(close("ratio"), (1.1, 1.0, 1.2))
    1.25
    """
    for allowed in GRADES.get(rule.closeness, ()):
        least, most = _band(rule.closeness, rule.side, allowed)
        if least <= interval[1] and interval[2] <= most:
            return allowed
    return nan


def detects(rule, interval):
    """The smallest deviation from a printed number that would have shown.

    Parameters
    ----------
    rule : Rule
        When the statement is true.
    interval : tuple of float
        Estimate, low, high.

    Returns
    -------
    float
        Share of the printed number; nan for other statements.

    Examples
    --------
    >>> from bandits_companion.verdicts import Rule
    >>> round(detects(Rule(printed=100.0, half=40.0), (110.0, 80.0, 140.0)), 2)
    0.5
    """
    return nan if isnan(rule.printed) else max(_with_printed(rule, interval)) / abs(rule.printed)


def reach(rule, interval):
    """The strongest threshold at which the statement would still hold, so that a reader can judge by another.

    Parameters
    ----------
    rule : Rule
        When the statement is true.
    interval : tuple of float
        Estimate, low, high.

    Returns
    -------
    str
        In words; "" of a printed number.

    Examples
    --------
    >>> from bandits_companion.verdicts import Rule
    >>> reach(Rule(0, 1), (0.5, 0.4, 0.6)), reach(Rule(1, np.inf), (3.0, 2.5, 4.0))
    ('at most 0.6', 'at least 2.5')
    """
    _, low, high = interval
    if not isnan(rule.printed) or (rule.low, rule.high) == (-inf, inf):
        return ""
    if rule.closeness and rule.side == "both":
        if rule.closeness == "ratio":
            return f"within a factor {max(high, 1 / low) if low > 0 else inf:.3g}"
        return f"within {max(abs(low), abs(high)):.3g}"
    if rule.low == -inf or (rule.low == 0 <= low and rule.high > 0):
        return f"at most {high:.3g}" if rule.high < inf else f"at least {low:.3g}"
    if rule.high == inf or (rule.high == 1 >= high and rule.low > 0):
        return f"at least {low:.3g}"
    return f"{low:.3g} to {high:.3g}"
