"""Means of runs whose pulls take few values: random weights, and one run more than was seen.

Pulls of a rule that works in phases take two or three values, one of them perhaps rare and large. Student's interval of
20 equal values has no width, and with a few rare ones among them it is too short. Here every run has a random weight
(exponential: the Bayesian bootstrap, Rubin 1981), and beside the n runs stands one that was not seen, which speaks for
the end of the interval that is sought. Were its value a bound on all values, a share would have the interval of Clopper
and Pearson (1934), and a mean the one of Gaffke (2005).

What the unseen run takes: what the run took that was seen to speak most for this end. But where the largest value seen
is the most common one, nothing was seen of what lies beyond it: then `unseen` times that value, a factor which the
caller must know (the pulls of the next phase: 4 where phases halve the accuracy). Likewise the smallest. So n equal
values v have the upper limit v (1 + (unseen - 1) (1 - .025^(1/n))): a run of another value has a probability of at most
1 - .025^(1/n), if none of n was one, and adds (unseen - 1) v.

Limits are stretched about the estimate by Student's quantile over the normal one, which tells with 20 to 40 runs. How
often such intervals cover is simulated in tests/simulate/test_coverage_of_intervals.py.
"""

import numpy as np
from scipy.special import ndtri, stdtrit

from bandits_lib.simulate.interval import Interval

DRAWS = 20_000  # of the weights, always the same ones: the same runs have the same interval


def by_run(table, names, value):
    """One row per run and one column per algorithm: the sum over the run's rows, nan where it has fewer than others."""
    rows = table[table["algorithm"].isin(list(names))].groupby(["run", "algorithm"])[value].agg(["sum", "size"])
    if lacking := [name for name in names if name not in rows.index.get_level_values("algorithm")]:
        raise ValueError(f"table has no run of {', '.join(lacking)}; it holds {', '.join(table['algorithm'].unique())}")
    whole = rows["size"] == rows.groupby(level="algorithm")["size"].transform("max")
    return rows.loc[whole, "sum"].unstack("algorithm")[list(names)]


def log_interval(runs, signs, weights, *, level, mean, unseen):
    """`limits` as an Interval: signs {algorithm: 1 or -1} of a block of columns, and weights of the blocks."""
    if mean not in ("arithmetic", "geometric"):
        raise ValueError(f"mean must be 'arithmetic' or 'geometric'; got {mean!r}")
    factors = [unseen.get(name, 4.0) if isinstance(unseen, dict) else unseen for name in signs]
    if min(factors) < 1:
        raise ValueError(f"unseen must be factors of 1 or more; got {unseen}")
    values, blocks = runs.to_numpy(dtype=float), np.size(weights)
    across = np.outer(weights, list(signs.values())).ravel()
    found = limits(values, across, level, np.tile(factors, blocks), mean == "geometric")
    alike = (np.nanmin(values, axis=0) == np.nanmax(values, axis=0)).all()
    return Interval(*found, rate=1.0 if alike else 0.5)


def limits(runs, signs, level=0.95, unseen=4.0, geometric=False, draws=DRAWS):
    """Estimate, low and high of sum_j signs_j log(mean of column j): the log of a ratio, or a slope of log means.

    runs (n, m, ...) : positive; a row holds what belongs together, nan where a run is missing from a column. signs
    (m,). unseen : a factor, or one for each column. geometric : means of logs in the place of logs of means. Further
    axes are so many samples, each for itself.
    """
    runs = np.asarray(runs, dtype=float)
    signs, unseen = (_column(values, runs) for values in (signs, unseen))
    seen = ~np.isnan(runs)
    filled = np.where(seen, runs, np.nanmean(runs, axis=0))
    values, means = (np.log(filled), 1.0) if geometric else (filled, np.nanmean(runs, axis=0))
    speaks = (signs * values / means).sum(axis=1)
    weighted = _weighted(values, seen, draws)
    ends = {}
    for side in (-1, 1):
        chosen = np.broadcast_to((side * speaks).argmax(axis=0)[None, None], (1, *runs.shape[1:]))
        further = _beyond(runs, np.take_along_axis(filled, chosen, axis=0)[0], unseen, side * signs)
        found = _statistic(weighted, signs, further, geometric)
        ends[side] = np.quantile(found, (1 + side * level) / 2, axis=0)
    means = np.mean(values, axis=0, where=seen)
    estimate = (signs * (means if geometric else np.log(means))).sum(axis=0)
    return estimate, *_stretched(estimate, ends[-1], ends[1], level, seen.sum(axis=0).min(axis=0))


def _column(values, runs):
    """One value, or one for each column, so that it lies along the columns of `runs`."""
    whole = np.broadcast_to(np.asarray(values, dtype=float), runs.shape[1:2])
    return whole.reshape(-1, *(1,) * (runs.ndim - 2))


def _weighted(values, seen, draws):
    """Of each draw of weights: the sums (draws, m, ...) of the values, those of the weights, the weight of one more."""
    rng, more = np.random.default_rng(0), (1,) * (values.ndim - 1)
    sums, whole = np.zeros((draws, *values.shape[1:])), seen.all()
    weights = np.zeros((draws, *more) if whole else sums.shape)
    for row, there in zip(values, seen, strict=True):
        weight = rng.standard_exponential(draws).reshape(-1, *more)
        sums += weight * np.where(there, row, 0.0)
        weights += weight if whole else weight * there
    return sums, weights, rng.standard_exponential(draws).reshape(-1, *more)


def _statistic(weighted, signs, further, geometric):
    """The statistic of each draw of weights, one run more having the values `further`."""
    sums, weights, weight = weighted
    means = (sums + weight * (np.log(further) if geometric else further)) / (weights + weight)
    return (signs * (means if geometric else np.log(means))).sum(axis=1)


def _beyond(runs, further, unseen, direction):
    """`further`, but a value not seen in columns whose largest (direction > 0) or smallest is the most common one."""
    low, high = np.nanmin(runs, axis=0), np.nanmax(runs, axis=0)
    inner = _most_common(np.where((runs == low) | (runs == high), np.nan, runs))
    lows, highs = (runs == low).sum(axis=0), (runs == high).sum(axis=0)
    top = highs > np.maximum(np.maximum(inner, 1), np.where(low == high, 0, lows))
    bottom = lows > np.maximum(np.maximum(inner, 1), np.where(low == high, 0, highs))
    further = np.where((direction > 0) & top, high * unseen, further)
    return np.where((direction < 0) & bottom, low / unseen, further)


def _most_common(runs):
    """How often the most common value of each column is there; nan counts as a value that is there once."""
    order = np.sort(runs, axis=0)
    most = length = np.ones(runs.shape[1:], dtype=int)
    for above, below in zip(order[1:], order[:-1], strict=True):
        length = np.where(above == below, length + 1, 1)
        most = np.maximum(most, length)
    return most


def _stretched(estimate, low, high, level, n):
    """Limits farther from the estimate by Student's quantile over the normal one; of one run no limits."""
    share = (1 + level) / 2
    factor = np.where(n > 1, stdtrit(np.maximum(n - 1, 1), share) / ndtri(share), np.inf)
    below, above = np.maximum(estimate - low, 0.0), np.maximum(high - estimate, 0.0)
    with np.errstate(invalid="ignore"):  # 0 times infinity, of one run
        ends = estimate - factor * below, estimate + factor * above
    return np.where(n > 1, ends[0], -np.inf), np.where(n > 1, ends[1], np.inf)
