"""What an interval says of a statement (a letter), and what the letters of its readings say of a sentence (an outcome).

Letters, from the worst to the best: F falls, U undecided, L level, W weaker than said but in the right direction, H
holds. Printed numbers: I incompatible, T too weak to tell, C compatible.
"""

from collections.abc import Mapping, Sequence
from math import exp, inf, isnan, log, nan, sqrt
from typing import NamedTuple

LETTERS = {
    "H": "holds",
    "W": "weaker",
    "L": "level",
    "U": "undecided",
    "F": "falls",
    "C": "compatible",
    "T": "too weak",
    "I": "incompatible",
    "D": "depends",
    "–": "not run",
}
WORST_FIRST = "FIUTLWHC"
OUTCOMES = (
    "holds by the text",
    "holds in the published program only",
    "not contradicted",
    "compatible",
    "weaker than said",
    "level",
    "depends on the reading",
    "too weak to tell",
    "undecided",
    "untestable",
    "incompatible",
    "falls by the text",
)
AGREES, FALLS = OUTCOMES[:4], OUTCOMES[-2:]
KINDS = ("text", "program", "other")
MARGINS = {
    "ratio": (1.1, 1.05),
    "accuracy": (0.02, 0.05),
    "exponent": (0.1,),
}  # of a tie; the first unless said otherwise
RULER = {
    "ratio": (1.1, 2.0),
    "accuracy": (0.05, 0.1),
    "exponent": (0.2, 0.3),
}  # closeness holds to the first, and falls from the second
BY_THE_TEXT = {
    "F": "falls by the text",
    "L": "level",
    "W": "weaker than said",
    "C": "compatible",
    "I": "incompatible",
    "T": "too weak to tell",
}
ROUNDING = 1e-12  # of logarithms of an edge and of its inverse
DETECTS = 1.25  # the largest deviation from a printed number that may go unseen, as a ratio


class Criterion(NamedTuple):
    """When a statement is true of a number."""

    low: float = -inf  # the least value for which it is true
    high: float = inf  # the largest one
    graded: str = (
        ""  # "large" of a ratio from 2 on, "small" of its inverse; or "ratio", "accuracy", "exponent": closeness
    )
    side: str = ""  # of closeness: "below" if only larger values contradict it, "both" if smaller ones do, too.
    # Of any rule: "some" if one instance is enough ("may", "can"), so that no run can make the statement fall
    printed: float = nan  # a number as printed
    half: float = nan  # half-width of its own 95 % interval
    tie_low: float = nan  # between tie_low and tie_high there is no difference; nan without a margin
    tie_high: float = nan


def letter(rule: Criterion, interval: Sequence[float], margin: float = 1.0) -> str:
    """Return the letter of a statement; all margins of ties and closeness are made `margin` times as wide."""
    found = _letter(rule, interval, margin)
    return "U" if found == "F" and rule.side == "some" else found


def _letter(rule, interval, margin):
    _, low, high = interval
    if not isnan(rule.printed):
        return _of_printed(rule, interval)
    if rule.graded in ("large", "small"):
        low, high = _as_large(rule, low, high)
        return _graded(low, high, margin)
    if rule.graded:
        return _close(rule, low, high, margin)
    least, most = _scaled(rule, margin)
    if least <= low and high <= most:
        return "L"
    if rule.low <= low and high <= rule.high:
        return "U" if _edge(rule) in (low, high) else "H"
    return "F" if high < rule.low or low > rule.high else "U"


def sign(rule: Criterion, interval: Sequence[float]) -> str:
    """Return "+" or "-" if an interval says that a statement is true or false without its margin, or else ""."""
    _, low, high = interval
    if rule.graded:
        low, high = _as_large(rule, low, high)
        return "+" if low > 1 else "-" if high < 1 else ""
    edge = _edge(rule)
    if not (low > edge or high < edge):
        return ""
    return "+" if rule.low <= low and high <= rule.high else "-"


def _edge(rule):
    """Return the value about which a tie lies; nan without a margin."""
    return 1.0 if rule.tie_low > 0 else (rule.tie_low + rule.tie_high) / 2


def _scaled(rule, margin):
    """Return the ends of a tie, `margin` times as far from its edge; a ratio is stretched in the logarithm."""
    if margin == 1 or isnan(rule.tie_low):
        return rule.tie_low, rule.tie_high
    if rule.tie_low > 0:
        return rule.tie_low**margin, rule.tie_high**margin
    edge = _edge(rule)
    return edge + margin * (rule.tie_low - edge), edge + margin * (rule.tie_high - edge)


def _as_large(rule, low, high):
    """Return the ratio that is above 1 if a graded word is true."""
    return (low, high) if rule.graded == "large" else (_inverse(high), _inverse(low))


def _inverse(value):
    return 1 / value if value > 0 else inf


def _graded(low, high, margin):
    """The letter of "large", "significantly", "loose", of a ratio that is above 1 if they are true."""
    level, large = RULER["ratio"][0] ** margin, RULER["ratio"][1]
    if low >= large:
        return "H"
    if 1 / level <= low and high <= level:
        return "L"
    return "W" if low > 1 else "F" if high < 1 else "U"


def _close(rule, low, high, margin):
    """The letter of "competitive", "nearly", "hardly", of a ratio about 1 or a difference about 0."""
    near, far = RULER[rule.graded]
    if rule.graded == "ratio":
        low, high, near, far = log(low) if low > 0 else -inf, log(high) if high > 0 else -inf, log(near), log(far)
    near *= margin
    far = max(near, far)
    if rule.side == "below":
        low, high = max(low, 0.0), max(high, 0.0)
    if -near - ROUNDING <= low and high <= near:
        return "H"
    if low >= far or high <= -far + ROUNDING:
        return "F"
    reaches_near = low <= near and high >= -near  # what may be as near as said is not weaker
    return "W" if -far < low and high < far and not reaches_near else "U"


def _of_printed(rule, interval):
    below, above = _with_printed(rule, interval)
    if not interval[0] - below <= rule.printed <= interval[0] + above:
        return "I"
    return "C" if detects(rule, interval) <= DETECTS else "T"


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


def of_kind(letters: Mapping[tuple[str, str], str]) -> str:
    """Return the letter of one kind of readings from {(part, reading): letter}: the worst part of each reading.

    Of several readings, return the common letter, or "D" if some hold and some do not, or else the worst letter.
    """
    readings: dict[str, str] = {}
    for (_, reading), found in letters.items():
        readings[reading] = worst(readings.get(reading, found), found)
    different = set(readings.values())
    if not different:
        return "–"
    if "H" in different and different & set("FLW"):
        return "D"
    return worst(*different)


def worst(*letters: str) -> str:
    """Return the worst of some letters."""
    return min(letters, key=WORST_FIRST.index)


def outcome(text: str, program: str) -> str:
    """Return the outcome of a sentence from the letters of its text and of the published program."""
    if text == "D":
        return "depends on the reading"
    if text == "H":
        return "holds by the text"
    if program == "H":
        return "holds in the published program only"
    return BY_THE_TEXT.get(text, "undecided")
