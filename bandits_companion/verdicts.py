"""What an interval says of one part of a sentence (a letter), and what all parts and readings say together (a word).

Letters, from the best to the worst: H holds, W weaker than said but in the right direction, L level, P holds in some of
the settings and falls in others, U open, F falls.
"""

from collections.abc import Collection, Sequence
from math import exp, inf, isnan, log, nan, sqrt
from typing import NamedTuple

LETTERS = {"H": "holds", "W": "weaker", "L": "level", "P": "partly", "U": "open", "F": "falls"}
WORDS = ("holds", "partly", "falls", "open", "not contradicted", "not tested")
AGREES = ("holds", "not contradicted")
KINDS = ("text", "program", "other")
# of a tie; the first unless said otherwise
MARGINS = {"ratio": (1.1, 1.05), "accuracy": (0.02, 0.05), "exponent": (0.1,)}
# closeness holds to the first, and falls from the second
RULER = {"ratio": (1.1, 2.0), "accuracy": (0.05, 0.1), "exponent": (0.2, 0.3)}
ROUNDING = 1e-12  # of logarithms of an edge and of its inverse
DETECTS = 1.25  # the largest deviation from a printed number that may go unseen, as a ratio


class Criterion(NamedTuple):
    """When a statement is true of a number."""

    low: float = -inf  # the least value for which it is true
    high: float = inf  # the largest one
    # "large" of a ratio from 2 on, "small" of its inverse; or "ratio", "accuracy", "exponent": closeness
    graded: str = ""
    side: str = ""  # of closeness: "below" if only larger values contradict it, "both" if smaller ones do, too.
    # Of any rule: "some" if one instance is enough ("may", "can"), so that no run can make the statement fall
    printed: float = nan  # a number as printed
    half: float = nan  # half-width of its own 95 % interval
    tie_low: float = nan  # between tie_low and tie_high there is no difference; nan without a margin
    tie_high: float = nan


def word(letters: Collection[str]) -> str:
    """Return the word of a cell from the letters of its parts and readings, before controls are asked.

    What is open could still agree with what is decided, unless that differs already."""
    decided = {*letters} - {"U"}
    if not letters:
        return "not tested"
    if len(decided) > 1 or decided & {"W", "L", "P"}:
        return "partly"
    return "open" if "U" in letters else LETTERS[decided.pop()]


def letter(rule: Criterion, interval: Sequence[float], margin: float = 1.0) -> str:
    """Return the letter of a statement; all margins of ties and closeness are made `margin` times as wide."""
    return "U" if (found := _letter(rule, interval, margin)) == "F" and rule.side == "some" else found


def _letter(rule, interval, margin):
    if not isnan(rule.printed):
        return _of_printed(rule, interval)
    if rule.graded in ("large", "small"):
        large, level = RULER["ratio"][1], RULER["ratio"][0] ** margin
        interval = _as_large(rule, interval)
        beside = _beside(interval, 1 / level, 1.0, level)
        return {">": "H" if interval[1] >= large else "W", "<": "F"}.get(beside, beside)
    if rule.graded:
        return _close(rule, interval, margin)
    _, low, high = interval
    beside = "" if isnan(rule.tie_low) else _beside(interval, *_tie(rule, margin))
    if beside in ("L", "U"):
        return beside
    return "H" if rule.low <= low and high <= rule.high else "F" if high < rule.low or low > rule.high else "U"


def _beside(interval, least, edge, most):
    """Return on which side of a tie an interval lies, > or <; L if it is level, U if it may be ahead or level.

    It is ahead only if it excludes the edge and its estimate is beyond the margin, too."""
    estimate, low, high = interval
    side = ">" if low > edge else "<" if high < edge else "U"
    return "L" if least <= low and high <= most or (side != "U" and least <= estimate <= most) else side


def _tie(rule, margin):
    """Return the edge about which a tie lies, between its ends, `margin` times as far; a ratio in the logarithm."""
    low, high = rule.tie_low, rule.tie_high
    if low > 0:
        return low**margin, 1.0, high**margin
    edge = (low + high) / 2
    return edge + margin * (low - edge), edge, edge + margin * (high - edge)


def _as_large(rule, interval):
    """Return the interval of the ratio that is above 1 if a graded word is true."""
    estimate, low, high = interval
    return interval if rule.graded == "large" else tuple(1 / x if x > 0 else inf for x in (estimate, high, low))


def _close(rule, interval, margin):
    """The letter of "competitive", "nearly", "hardly", of a ratio about 1 or a difference about 0."""
    (_, low, high), (near, far) = interval, RULER[rule.graded]
    if rule.graded == "ratio":
        low, high = (log(x) if x > 0 else -inf for x in (low, high))
        near, far = log(near), log(far)
    near *= margin
    far = max(near, far)
    if rule.side == "below":
        low, high = max(low, 0.0), max(high, 0.0)
    if -near - ROUNDING <= low and high <= near:
        return "H"
    inner = max(low, -high)
    if inner >= far - ROUNDING:
        return "F"
    return "W" if -far < low and high < far and inner > near else "U"


def _of_printed(rule, interval):
    below, above = _with_printed(rule, interval)
    if not interval[0] - below <= rule.printed <= interval[0] + above:
        return "F"
    return "H" if detects(rule, interval) <= DETECTS else "U"


def _with_printed(rule, interval):
    """Return how far the interval of measured minus printed reaches below and above (Zou and Donner, 2008)."""
    estimate, low, high = interval
    return sqrt((estimate - low) ** 2 + rule.half**2), sqrt((high - estimate) ** 2 + rule.half**2)


def detects(rule: Criterion, interval: Sequence[float]) -> float:
    """Return the ratio to a printed number that would be found with probability 0.8; nan for other statements.

    The half-width is 1.96 standard errors, and (1.96 + 0.84) of them are found with probability 0.8.
    """
    if isnan(rule.printed):
        return nan
    return exp(min((1.96 + 0.84) / 1.96 * max(_with_printed(rule, interval)) / abs(rule.printed), 700.0))


def held(rule: Criterion, settings: Sequence[Sequence[float]]) -> int:
    """Return in how many settings a statement holds by itself."""
    return sum(letter(rule, setting) == "H" for setting in settings)


def as_described(rule: Criterion, interval: Sequence[float]) -> bool | None:
    """Return whether an estimate lies on the side of equality that a statement describes; None if it names none."""
    if rule.graded in ("large", "small"):
        return _as_large(rule, interval)[0] > 1
    if rule.graded == "exponent":
        return letter(rule, interval) in "HW"
    if isnan(rule.tie_low):
        return None
    edge = _tie(rule, 1.0)[1]
    return bool(interval[0] > edge if rule.low == edge else interval[0] < edge)
