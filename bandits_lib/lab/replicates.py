"""What replicates say of the noise, whatever the means of the arms are: several pulls of one arm differ by noise alone.

Squares within arms, W = sum over arms of (squares - sum^2 / count), have df = pulls - arms pulled. For Gaussian noise
of one standard deviation sigma and counts fixed beforehand W / sigma^2 is chi-square with df degrees of freedom.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import gammaincinv


class Within(NamedTuple):
    """Squares within arms, of one or of all."""

    squares: float  # W, in units of reward^2
    df: int
    blur: float  # how far rounding may have moved W


def within(sample, scale=1.0):
    """The `Within` of a Sample, rewards divided by `scale` (one number or (K,))."""
    squares, blur = squares_within(sample)
    scale = np.broadcast_to(scale, squares.shape) ** 2
    pulled = sample.counts > 0
    df = int(sample.counts.sum()) - int(np.count_nonzero(pulled))
    return Within(float((squares[pulled] / scale[pulled]).sum()), df, float((blur / scale)[pulled].sum()))


def squares_within(sample):
    """W of each arm (K,), 0 for a single pull, and how far rounding of its sums may have moved it, (K,)."""
    counts = np.maximum(sample.counts, 1)
    squares = np.maximum(sample.squares - sample.sums * (sample.sums / counts), 0.0)
    blur = 4 * np.finfo(float).eps * np.sqrt(counts) * sample.squares
    return np.where(sample.counts > 1, squares, 0.0), np.where(sample.counts > 1, blur, 0.0)


def chi_square(probability, df):
    """The quantile of a chi-square variable."""
    return 2 * gammaincinv(df / 2, probability)
