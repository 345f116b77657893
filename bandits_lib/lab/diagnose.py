"""What the measurements themselves say of two assumptions: the noise that was promised, and linearity."""

from math import inf, nan, sqrt
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from bandits_lib.checks import check_arms, check_delta, check_matrix, check_sigma
from bandits_lib.lab.findings import draw, say
from bandits_lib.lab.lack_of_fit import detectable, fit, in_units, replicates
from bandits_lib.protocol import Sample


class Diagnosis(NamedTuple):
    """What `diagnose` found; prints as a short text.

    Attributes
    ----------
    table : pandas.DataFrame
        Per arm `pulls`, `mean` and its standard `error`, `fitted` (x'theta_hat), `residual` (mean - fitted, in its own
        standard errors), `leverage`, and `visible`: the smallest departure of this arm alone from linearity (units of
        reward) that the F test finds with probability .8 under these counts; inf where there is none.
    noise, noise_low, noise_high : float
        Standard deviation of replicates and its interval, in units of reward (of several sigma: as a multiple of
        these); NaN without replicates, 0 if all replicates are equal.
    noise_df : int
        Degrees of freedom of it, pulls less arms pulled.
    sigma : float or None
        Standard deviation that was assumed (1.0 for several, of which `noise` is a multiple).
    F, p_value : float
        Lack-of-fit statistic and its probability under linearity; NaN where there is no test.
    df : int
        Degrees of freedom of the misfit, arms pulled less their rank.
    visible : float
        Root mean square over the pulls of a misfit (units of reward) that the test finds with probability .8; inf where
        there is no test.
    level : float
        Probability of error allowed, of the test and of the interval.

    Examples
    --------
    >>> from bandits_lib import Sample
    >>> from bandits_lib.lab.diagnose import diagnose
    >>> found = diagnose(np.eye(2), Sample.of([0, 0, 1, 1], [1.0, 1.2, 0.1, 0.0], 2))
    >>> isinstance(found, Diagnosis), found.noise_df, round(found.noise, 3), found.df
    (True, 2, 0.112, 0)
    """

    table: pd.DataFrame
    noise: float
    noise_low: float
    noise_high: float
    noise_df: int
    sigma: float | None
    F: float
    p_value: float
    df: int
    visible: float
    level: float

    def __repr__(self):
        return say(self)

    def plot(self, ax=None):
        """How far the mean of every arm is from its fitted value, and how far it would have to be to be seen.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default new axes, as high as there are arms.

        Returns
        -------
        matplotlib.axes.Axes
            One row per arm that was pulled: a dot for mean - fitted with the interval of the mean, and a grey bar as
            far as departures of this arm alone are not seen. A hollow dot: no departure would be seen.

        Examples
        --------
        >>> from bandits_lib import Sample
        >>> from bandits_lib.lab.diagnose import diagnose
        >>> sample = Sample.of([0, 0, 1, 1, 2, 2], [0.1, 0.0, 1.2, 1.0, 2.1, 2.0], 3)
        >>> diagnose([[1, 0], [1, 1], [1, 2]], sample).plot().get_xlabel()
        'mean - linear fit (units of reward)'
        """
        return draw(self, ax)


def diagnose(arms, sample, sigma=None, *, level=0.05, names=None):
    """Noise and linearity as the measurements show them, and what they can and cannot show with these counts.

    Parameters
    ----------
    arms : (K, d) array_like
        Arms, one per row.
    sample : Sample
        All pulls so far (`total(lab.log)`).
    sigma : float or (K,) array_like, optional
        Standard deviation that the rule was given; `noise` is compared with it. Several: each arm's own, whose ratios
        weigh the fit.
    level : float, default 0.05
        Level of the F test, and one minus that of the interval of the noise.
    names : sequence, optional
        K labels, by default 0..K-1.

    Returns
    -------
    Diagnosis
        It prints as a text; ``.table`` has a row per arm, ``.plot()`` draws it.

    Raises
    ------
    ValueError
        If an argument is refused by its check, for a sample of another number of arms, without pulls, or not finite,
        and for names of another number.

    Notes
    -----
    The F test is exact for Gaussian noise and counts fixed beforehand. A rule chooses later counts by earlier rewards,
    which hardly matters: of 4,000 simulated experiments with a true linear model, on each of three instances, the test
    at level .05 refused 4.1 to 5.0 % under `rage` and 4.3 to 5.1 % under `lazy_track_and_stop` (standard error .3 %).
    It cannot see a misfit that is itself linear on the arms pulled, nor one of an arm of leverage 1. Optimal designs
    pull few arms more than they have dimensions: the option `floor` of the rules gives every arm a share.

    References
    ----------
    .. [1] Draper, Smith. "Applied regression analysis". Wiley 1998. Section 2.1.

    Examples
    --------
    >>> from bandits_lib import LinearBandit
    >>> line = np.column_stack([np.ones(5), np.arange(5)])
    >>> bent = LinearBandit(line, means=[0.0, 1.0, 1.7, 2.1, 2.2], sigma=0.2)
    >>> found = diagnose(line, bent.pull(np.full(5, 20), np.random.default_rng(0)), sigma=0.2)
    >>> found.df, found.p_value < 0.001
    (3, True)
    """
    arms, level = check_arms(in_units(check_matrix("arms", arms))), check_delta(level)
    sample, labels = _checked(sample, names, len(arms))
    sds = np.ones(len(arms)) if sigma is None else check_sigma(sigma, len(arms))
    scale = sds if np.ndim(sigma) else np.ones(len(arms))
    assumed = None if sigma is None else float((sds / scale)[0])

    noise, low, high, noise_df = replicates(sample, scale, level)
    means, fitted, leverage, free, rank = fit(arms, sample, scale)
    df = int(np.count_nonzero(sample.counts)) - rank
    testable = df > 0 and noise > 0
    weights = sample.counts / scale**2
    F = float(np.nansum(weights * (means - fitted) ** 2)) / df / noise**2 if testable else nan
    reach = noise * sqrt(detectable(df, noise_df, level)) if testable else inf
    spread = scale * (noise if noise > 0 else nan if assumed is None else assumed)
    with np.errstate(divide="ignore", invalid="ignore"):
        columns = {
            "pulls": sample.counts,
            "mean": means,
            "error": spread / np.sqrt(sample.counts),
            "fitted": fitted,
            "residual": np.where(free > 0, (means - fitted) / (spread * np.sqrt(free) / sample.counts), nan),
            "leverage": leverage,
            "visible": np.where(free > 0, reach * scale / np.sqrt(free), inf),
        }
    p_value = float(stats.f.sf(F, df, noise_df)) if testable else nan
    whole = reach / sqrt(weights.sum())
    table = pd.DataFrame(columns, index=labels)
    return Diagnosis(table, noise, low, high, noise_df, assumed, F, p_value, df, whole, level)


def _checked(sample, names, K):
    """The sample with float sums, and the labels; or a ValueError."""
    counts, sums, squares = (np.asarray(field) for field in (sample.counts, sample.sums, sample.squares))
    if not counts.shape == sums.shape == squares.shape == (K,):
        raise ValueError(f"sample must have one count, sum and square per arm, {K}; got shapes {counts.shape}")
    if not (np.isfinite(sums).all() and np.isfinite(squares).all()):
        raise ValueError(f"sums and squares must be finite; got sums {sums}: leave that reward out")
    if not counts.any() or (counts < 0).any():
        raise ValueError(f"counts must be positive for some arm and negative for none; got {counts}")
    if names is not None and len(names) != K:
        raise ValueError(f"names must be one per arm, {K}; got {len(names)}")
    return Sample(counts, sums.astype(float), squares.astype(float)), pd.Index(
        range(K) if names is None else names, name="arm"
    )
