"""Limits for logs of means from random weights of the runs and one unseen run (Rubin 1981; Gaffke 2005).

A rule that works in phases takes two or three values of pulls, one of them perhaps rare and large. Student's interval
is then too short: of 20 equal values it has no width. Here every run has an exponential weight (the Bayesian
bootstrap), and one run is added that was not seen. It takes the value of the seen run that speaks most for the end in
question. If the largest value seen is the most common one, nothing was seen beyond it. Then the added run takes
`unseen` times that value, the step to the next phase (4 where phases halve the accuracy); likewise for the smallest
value. So n equal values v have the upper limit v (1 + (unseen - 1) (1 - 0.025^(1/n))), Clopper and Pearson's (1934).

The limits are stretched about the estimate by Student's quantile over the normal one, which matters for 20 to 40 runs.
tests/simulate/test_coverage_of_intervals.py simulates how often the intervals cover.
"""

import numpy as np
from scipy.special import ndtri, stdtrit

DRAWS = 20_000  # of the weights, always the same ones: the same runs have the same interval


def limits(runs, signs, level=0.95, unseen=4.0, geometric=False, draws=DRAWS):
    """Return estimate, low and high of sum_j signs_j log(mean of column j): the log of a ratio, or a slope of logs."""
    # runs (n, m, ...) are positive; a row holds what belongs together, nan where a run is missing from a column. signs
    # and unseen are numbers or (m,). `geometric` takes means of logs for logs of means. Further axes are samples.
    runs = np.asarray(runs, dtype=float)
    signs, unseen = (_column(values, runs) for values in (signs, unseen))
    seen = ~np.isnan(runs)
    filled = np.where(seen, runs, np.nanmean(runs, axis=0))
    values, means = (np.log(filled), 1.0) if geometric else (filled, np.nanmean(runs, axis=0))
    speaks = (signs * values / means).sum(axis=1)
    sums, weights, weight = _weighted(values, seen, draws)
    ends = {}
    for side in (-1, 1):
        chosen = np.broadcast_to((side * speaks).argmax(axis=0)[None, None], (1, *runs.shape[1:]))
        further = _beyond(runs, np.take_along_axis(filled, chosen, axis=0)[0], unseen, side * signs)
        means = (sums + weight * (np.log(further) if geometric else further)) / (weights + weight)
        found = (signs * (means if geometric else np.log(means))).sum(axis=1)
        ends[side] = np.quantile(found, (1 + side * level) / 2, axis=0)
    means = np.mean(values, axis=0, where=seen)
    estimate = (signs * (means if geometric else np.log(means))).sum(axis=0)
    return estimate, *_stretched(estimate, ends[-1], ends[1], level, seen.sum(axis=0).min(axis=0))


def _column(values, runs):
    """One value, or one for each column, along the columns of `runs`."""
    whole = np.broadcast_to(np.asarray(values, dtype=float), runs.shape[1:2])
    return whole.reshape(-1, *(1,) * (runs.ndim - 2))


def _weighted(values, seen, draws):
    """For each draw of weights: the weighted sums (draws, m, ...), the sums of the weights, the unseen run's weight."""
    rng, more = np.random.default_rng(0), (1,) * (values.ndim - 1)
    sums, whole = np.zeros((draws, *values.shape[1:])), seen.all()
    weights = np.zeros((draws, *more) if whole else sums.shape)
    for row, there in zip(values, seen, strict=True):
        weight = rng.standard_exponential(draws).reshape(-1, *more)
        sums += weight * np.where(there, row, 0.0)
        weights += weight if whole else weight * there
    return sums, weights, rng.standard_exponential(draws).reshape(-1, *more)


def _beyond(runs, further, unseen, direction):
    """`further`, or an unseen value in columns whose largest (direction > 0) or smallest value is the most common."""
    low, high = np.nanmin(runs, axis=0), np.nanmax(runs, axis=0)
    inner = np.maximum(_most_common(np.where((runs == low) | (runs == high), np.nan, runs)), 1)
    lows, highs = (runs == low).sum(axis=0), (runs == high).sum(axis=0)
    top = highs > np.maximum(inner, np.where(low == high, 0, lows))
    bottom = lows > np.maximum(inner, np.where(low == high, 0, highs))
    further = np.where((direction > 0) & top, high * unseen, further)
    return np.where((direction < 0) & bottom, low / unseen, further)


def _most_common(runs):
    """How often the most common value of each column occurs; nan counts as a value that occurs once."""
    order = np.sort(runs, axis=0)
    most = length = np.ones(runs.shape[1:], dtype=int)
    for above, below in zip(order[1:], order[:-1], strict=True):
        length = np.where(above == below, length + 1, 1)
        most = np.maximum(most, length)
    return most


def _stretched(estimate, low, high, level, n):
    """Limits farther from the estimate by Student's quantile over the normal one; no limits from one run."""
    share = (1 + level) / 2
    factor = np.where(n > 1, stdtrit(np.maximum(n - 1, 1), share) / ndtri(share), np.inf)
    below, above = np.maximum(estimate - low, 0.0), np.maximum(high - estimate, 0.0)
    with np.errstate(invalid="ignore"):  # 0 times infinity, from one run
        ends = estimate - factor * below, estimate + factor * above
    return np.where(n > 1, ends[0], -np.inf), np.where(n > 1, ends[1], np.inf)
