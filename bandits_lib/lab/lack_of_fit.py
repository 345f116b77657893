"""The lack-of-fit test: whether the means of the arms differ from a linear fit by more than their replicates allow.

With n_k pulls of arm k, mean y_k, and m arms pulled, squares split into those within arms (W, pure error) and those of
the means about the fit, L = sum of n_k (y_k - x_k'theta_hat)^2, with df = N - m and m - rank. If rewards are linear,
noise is Gaussian and counts were fixed beforehand, F = (L / (m - rank)) / (W / (N - m)) has Fisher's distribution.
A departure delta of arm k alone makes it noncentral by lambda = n_k (1 - h_k) delta^2 / sigma^2, where the leverage
h_k = n_k x_k'A^-1x_k is the share of its own mean in its fitted value. At h_k = 1 the fit goes through the mean
whatever it is, and nothing can be seen. n_k (1 - h_k) = 1 / (1 / n_k + x_k'A_o^-1x_k), with A_o of the other arms.
"""

from math import inf, nan, sqrt

import numpy as np
from scipy import stats
from scipy.optimize import brentq

from bandits_lib.lab.replicates import chi_square, within
from bandits_lib.numerics.least_squares import weighted_least_squares

POWER = 0.8  # probability with which a departure is called visible
NEARLY = 1e-6  # leverages so close to 1 are computed from the other arms
MOST = 1e6  # noncentrality: there the noise is hardly known
BLURRED = 10  # times what rounding may have moved: squares within arms below it are no noise


def replicates(sample, scale, level):
    """The standard deviation of replicates over `scale` (K,), its interval, and its degrees of freedom."""
    squares, df, blur = within(sample, scale)
    if df == 0:
        return nan, nan, nan, 0
    if squares <= BLURRED * blur:
        return 0.0, 0.0, 0.0, df
    low, high = (sqrt(squares / chi_square(tail, df)) for tail in (1 - level / 2, level / 2))
    return sqrt(squares / df), low, high, df


def in_units(arms):
    """The arms (K, d), every feature divided by its largest size: the fit is the same, and no rank hangs on units."""
    largest = np.abs(arms).max(axis=0)
    return arms / np.where(largest > 0, largest, 1.0)


def fit(arms, sample, scale):
    """Of each arm its mean, x'theta_hat (NaN where unknown), leverage and n (1 - leverage), (K,); and the rank."""
    found = weighted_least_squares(arms, sample, scale)
    pulled = sample.counts > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.where(pulled, sample.sums / sample.counts, nan)
    fitted = np.where(found.estimable(arms), arms @ found.theta_hat, nan)
    leverage = np.where(pulled, sample.counts / scale**2 * found.variances(arms), 0.0)
    free = sample.counts * (1 - leverage)
    for k in np.flatnonzero(leverage > 1 - NEARLY):
        free[k] = _free(arms, sample, scale, k)
        leverage[k] = 1 - free[k] / sample.counts[k]
    return means, fitted, leverage, free, len(found.root)


def _free(arms, sample, scale, k):
    """n (1 - leverage) of arm k, from the other arms: 0 where they do not measure its direction."""
    counts = sample.counts.copy()
    counts[k] = 0
    others = weighted_least_squares(arms, sample._replace(counts=counts), scale) if counts.any() else None
    if others is None or not others.estimable(arms[k : k + 1])[0]:
        return 0.0
    return 1 / (1 / sample.counts[k] + others.variances(arms[k : k + 1])[0] / scale[k] ** 2)


def detectable(df, noise_df, level):
    """The noncentrality at which the F test of that level finds a misfit with probability POWER; inf above MOST."""
    critical, high = stats.f.isf(level, df, noise_df), 1.0

    def beyond(noncentrality):
        return stats.ncf.sf(critical, df, noise_df, noncentrality) - POWER

    while beyond(high) < 0:
        high *= 2
        if high > MOST:
            return inf
    return float(brentq(beyond, 0.0, high)) if level < POWER else 0.0
