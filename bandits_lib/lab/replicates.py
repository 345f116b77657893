"""What replicates say of the noise, whatever the means of the arms are: several pulls of one arm differ by noise alone.

Squares within arms, W = sum over arms of (squares - sum^2 / count), have df = pulls - arms pulled. For Gaussian noise
of one standard deviation sigma and counts fixed beforehand W / sigma^2 is chi-square with df degrees of freedom.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import gammaincinv

EPSILON = float(np.finfo(float).eps)


class Within(NamedTuple):
    """Squares within arms, of one or of all."""

    squares: float  # W, in units of reward^2
    df: int
    blur: float  # how far rounding may have moved W


def within(sample, scale=1.0):
    """The `Within` of a Sample, rewards divided by `scale` (one number or (K,))."""
    again = sample.counts > 1
    counts, sums, squares = (np.asarray(field)[again] for field in sample)
    scale = np.broadcast_to(scale, again.shape)[again]
    inside = np.maximum(squares - sums * (sums / counts), 0.0) / scale**2
    return Within(float(inside.sum()), int((counts - 1).sum()), float((rounding(counts, squares) / scale**2).sum()))


def rounding(count, square):
    """How far rounding may have moved the squares within `count` pulls of an arm, of which `square` is the sum."""
    return 4 * EPSILON * count**0.5 * square * (count > 1)


def chi_square(probability, df):
    """The quantile of a chi-square variable."""
    return 2 * gammaincinv(df / 2, probability)
