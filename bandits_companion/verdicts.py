"""Verdicts: what an interval says of a statement, by rules, grades and margins that all papers share."""

from math import inf, isnan, nan, sqrt
from typing import NamedTuple

VERDICTS = ("reproduced", "compatible", "no difference above the margin", "undecided", "not reproduced")
STANDS = VERDICTS[:3]
GRADES = {"ratio": (1.1, 1.25, 2.0, 3.0), "accuracy": (0.02, 0.05, 0.1), "exponent": (0.1, 0.2, 0.3)}
ENOUGH = {"ratio": 2.0, "accuracy": 0.05, "exponent": 0.2}  # what a word of closeness must keep to
COARSE = 1.0  # of a printed number: where twice as much would not show, nothing is decided
MARGINS = {"ratio": (1.1,), "accuracy": (0.02, 0.05), "exponent": (0.1,)}  # of a tie; the first unless said otherwise


class Rule(NamedTuple):
    """When a statement is true of a number."""

    low: float = -inf  # the least value for which it is true, or close enough
    high: float = inf  # the largest one
    closeness: str = ""  # "ratio", "accuracy" or "exponent" of a word of closeness
    side: str = ""  # of closeness: "below" if only larger values contradict it, "both" if smaller ones do, too
    printed: float = nan  # a number as printed
    half: float = nan  # half-width of its own 95 % interval
    tie_low: float = nan  # between tie_low and tie_high there is no difference; nan without a margin
    tie_high: float = nan


def close(kind, side="below"):
    """Return the rule of a word of closeness ("competitive", "nearly")."""
    low, high = _band(kind, side, ENOUGH[kind])
    return Rule(low, high, kind, side)


def _band(kind, side, grade):
    """Return the values that a grade of closeness allows."""
    least = 1 / grade if kind == "ratio" else -grade
    return (least if side == "both" else 0.0 if kind == "ratio" else -inf), grade


def verdict(rule, interval):
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
    """Return how far the interval of measured minus printed reaches below and above (Zou and Donner, 2008)."""
    estimate, low, high = interval
    return sqrt((estimate - low) ** 2 + rule.half**2), sqrt((high - estimate) ** 2 + rule.half**2)


def grade(rule, interval):
    """Return the smallest grade of closeness whose band contains the interval; nan if there is none."""
    for allowed in GRADES.get(rule.closeness, ()):
        least, most = _band(rule.closeness, rule.side, allowed)
        if least <= interval[1] and interval[2] <= most:
            return allowed
    return nan


def detects(rule, interval):
    """Return the smallest relative deviation from a printed number that the interval would detect; nan for others."""
    return nan if isnan(rule.printed) else max(_with_printed(rule, interval)) / abs(rule.printed)


def reach(rule, interval):
    """Return in words the strongest threshold at which the statement still holds."""
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
