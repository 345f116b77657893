"""Test what measurements say about noise and linearity, at any time (`diagnose`) and at the end of a Lab.

The lack-of-fit test compares the means of the arms with a linear fit. Arm k has n_k pulls with mean y_k, and m arms
were pulled, N times in all. The sum of squares splits into the squares within arms, W (pure error), with N - m degrees
of freedom, and those of the means about the fit, L = sum of n_k (y_k - x_k'theta_hat)^2, with m - rank. If rewards are
linear, noise is Gaussian and counts were fixed beforehand, F = (L / (m - rank)) / (W / (N - m)) has an F distribution.
If arm k alone departs from the model by delta, F has the noncentrality lambda = n_k (1 - h_k) delta^2 / sigma^2, where
the leverage h_k = n_k x_k'A^-1x_k is the share of the arm's own mean in its fitted value. At h_k = 1 no departure can
be detected.

At the end of a Lab, linearity is tested at LEVEL if the rule has a guarantee, fits a linear model, and has more
different arms than dimensions. The noise of some arms may be far below sigma, so the test is repeated with each arm's
own replicates, and both tests must reject. Without replicates that differ, L / sigma^2 is compared with the chi-square
distribution. In simulated experiments with floors of 0.1 and 0.3, one arm departed from the model by 1.3 or 2 times its
distance from the best arm, and so exceeded it. Fewer than 1 % of the answers were wrong without a warning.
"""

from collections.abc import Sequence
from functools import cache
from math import inf, isfinite, nan, sqrt
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy
from scipy.optimize import brentq

from bandits_lab.measurements import checked_sample, some
from bandits_lab.noise import chi_square, within
from bandits_lib.checks import check_arms, check_delta, check_matrix, check_sigma
from bandits_lib.numerics.least_squares import weighted_least_squares
from bandits_lib.numerics.span import basis
from bandits_lib.protocol import Sample, total

POWER = 0.8  # probability with which the F test finds a departure that counts as visible
NEARLY = 1e-6  # a leverage so close to 1 counts as 1
MOST = 1e6  # largest noncentrality that is searched
BLURRED = 10  # squares within arms below this multiple of the effect of rounding do not count as noise


def replicates(sample, scale, level):
    """Return the standard deviation of replicates in units of `scale` (K,), its interval and degrees of freedom."""
    squares, df, blur = within(sample, scale)
    if df == 0:
        return nan, nan, nan, 0
    if squares <= BLURRED * blur:
        return 0.0, 0.0, 0.0, df
    low, high = (sqrt(squares / chi_square(tail, df)) for tail in (1 - level / 2, level / 2))
    return sqrt(squares / df), low, high, df


def in_units(arms):
    """Return the arms (K, d) with every feature divided by its largest size, so that the rank is free of units."""
    largest = np.abs(arms).max(axis=0)
    return arms / np.where(largest > 0, largest, 1.0)


def fit(arms, sample, scale):
    """Return mean, x'theta_hat (NaN if unknown), leverage and n (1 - leverage) of the arms (K,), and the rank."""
    found = weighted_least_squares(arms, sample, scale)
    pulled = sample.counts > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.where(pulled, sample.sums / sample.counts, nan)
    fitted = np.where(found.estimable(arms), arms @ found.theta_hat, nan)
    leverage = np.where(pulled, sample.counts / scale**2 * found.variances(arms), 0.0)
    leverage[leverage > 1 - NEARLY] = 1.0  # rounding errors would be larger than what is left
    free = sample.counts * (1 - leverage)
    return means, fitted, leverage, free, len(found.root)


@cache
def detectable(df, noise_df, level):
    """Return the noncentrality at which the F test rejects with probability POWER, or inf if it is above MOST."""
    critical = scipy.stats.f.isf(level, df, noise_df)

    def beyond(noncentrality):
        return scipy.stats.ncf.sf(critical, df, noise_df, noncentrality) - POWER

    if level >= POWER:
        return 0.0
    return float(brentq(beyond, 0.0, MOST)) if beyond(MOST) > 0 else inf


FEW = 4  # arms that a text names
MISSING = "Add the missing features (squares, products), or give every arm a feature of its own, which assumes nothing."


def parts(found):
    """Return the texts of a Diagnosis on noise, linearity and arms, by subject."""
    said = {"noise": _noise(found), "linearity": _linearity(found), "arms": _arms_in_words(found)}
    if isfinite(found.p_value):
        said["caution"] = "if the later measurements were chosen from earlier rewards, p is approximate."
    return {name: text for name, text in said.items() if text}


def _noise(found):
    if found.noise_df == 0:
        return (
            "unknown: no arm was measured twice, and only replicates distinguish noise from differences between arms."
        )
    if found.noise == 0:
        return (
            f"not visible: the replicates (df = {found.noise_df}) are equal up to rounding. Were they copied, does the "
            "instrument round, or are rewards so far from 0 that digits are lost?"
        )
    interval = f"{1 - found.level:.4g} interval {found.noise_low:.3g} to {found.noise_high:.3g}, df = {found.noise_df}"
    text = f"replicates have a standard deviation of {found.noise:.3g} ({interval})"
    if found.sigma is None:
        return f"{text}."
    return f"{text}; sigma = {found.sigma:.3g} was assumed."


def _linearity(found):
    if found.df == 0:
        return "cannot be tested: there are as many unknown numbers as arms pulled, so the fit goes through every mean."
    if not isfinite(found.p_value):
        return "cannot be tested without noise to compare with: measure some arms again."
    test = f"p = {found.p_value:.2g}, F = {found.F:.3g} on {found.df} and {found.noise_df} df"
    if found.p_value < found.level:
        return f"contradicted ({test}). {MISSING} {_power(found)}"
    return f"not contradicted ({test}). {_power(found)}"


def _power(found):
    visible = found.table["visible"]
    seen = visible[np.isfinite(visible)]
    if not len(seen):
        return "With these counts the test hardly finds any misfit: measure more, so that the noise is known."
    text = f"In 8 of 10 such experiments the test finds a misfit of {found.visible:.2g} (root mean square over the "
    text += f"measurements), or one arm alone that is off by {seen.min():.2g} ({seen.idxmin()})"
    text += f" to {seen.max():.2g} ({seen.idxmax()})" if len(seen) > 1 else ""
    blind = found.table.index[np.isinf(visible) & (found.table["pulls"] > 0)]
    return f"{text}.{f' No departure of {some(blind, FEW)} can be found (leverage 1).' if len(blind) else ''}"


def _arms_in_words(found):
    table, text = found.table, ""
    residual = table["residual"].dropna()
    if len(residual):
        worst = residual.abs().idxmax()
        away = (table["mean"] - table["fitted"]).to_numpy()[table.index.get_loc(worst)]
        side = "above" if away > 0 else "below"
        text = f"farthest in standard errors is {worst}, {abs(away):.2g} {side} the fit ({residual[worst]:+.1f}). "
    never = table.index[table["pulls"] == 0]
    if len(never):
        text += f"Never measured, and known only if rewards are linear: {some(never, FEW)}."
    return text.strip()


class Diagnosis(NamedTuple):
    """The result of `diagnose`; it prints as a short text.

    A number that cannot be computed is NaN. A departure that cannot be detected is inf.
    """

    table: pd.DataFrame  # a row per arm
    noise: float  # standard deviation of replicates in units of reward, or for several sigma as a multiple of them
    noise_low: float
    noise_high: float
    noise_df: int  # pulls - arms pulled
    sigma: float | None  # the assumed sigma, 1.0 for several
    F: float  # lack-of-fit statistic
    p_value: float
    df: int  # arms pulled - their rank
    visible: float  # root mean square over the pulls of a misfit that the test finds with probability 0.8
    level: float

    def __repr__(self):
        return "\n".join(f"{name}: {text}" for name, text in parts(self).items())


def diagnose(
    arms: np.ndarray,
    sample: Sample,
    sigma: float | np.ndarray | None = None,
    *,
    level: float = 0.05,
    names: Sequence | None = None,
) -> Diagnosis:
    """Return what the measurements show about noise and linearity, and what they cannot show with these counts.

    Parameters
    ----------
    arms : (K, d) array_like
        Arms, one per row.
    sample : Sample
        All pulls so far (`total(lab.log)`).
    sigma : float or (K,) array_like, optional
        Standard deviation that the rule was given, which is compared with the noise; one per arm for a weighted fit.
    level : float, default 0.05
        Error probability of the F test and of the confidence interval of the noise.
    names : sequence, optional
        K labels of the arms; by default 0..K-1.

    Returns
    -------
    Diagnosis
        The object prints as a text. Its fields are noise, noise_low, noise_high, noise_df, sigma, F, p_value, df,
        visible, level and table. ``table`` has a row per arm: `pulls`, `mean` and its standard `error`, `fitted`,
        `residual` (in its own standard errors), `leverage`, and `visible`, the smallest departure of this arm alone
        that the F test finds with probability 0.8.

    Raises
    ------
    ValueError
        For bad arguments; for a sample that has no pulls, sums that are not finite, or not K arms; and for names that
        are not K.

    Notes
    -----
    The F test is exact for Gaussian noise and counts fixed beforehand. We also simulated counts that a rule chose from
    earlier rewards, 4,000 experiments on each of three instances. At the level 0.05 the test rejected a true linear
    model in 4.1 to 5.0 % of them with `rage`, and in 4.3 to 5.1 % with `lazy_track_and_stop` (standard error 0.3 %).
    The test cannot find a misfit that is linear on the arms pulled, or a misfit of an arm with leverage 1. Optimal
    designs pull few more arms than dimensions; the option `floor` of the rules gives every arm a share.

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
    sample, labels = checked_sample(sample, len(arms)), range(len(arms)) if names is None else names
    if not sample.counts.any():
        raise ValueError("counts must be positive for some arm; got none: measure first")
    if len(labels) != len(arms):
        raise ValueError(f"there must be one name for each of the {len(arms)} arms; got {len(labels)} names")
    sds = np.ones(len(arms)) if sigma is None else check_sigma(sigma, len(arms))
    scale = sds if sigma is not None and np.ndim(sigma) else np.ones(len(arms))
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
    p_value = float(scipy.stats.f.sf(F, df, noise_df)) if testable else nan
    whole = reach / sqrt(weights.sum())
    table = pd.DataFrame(columns, index=pd.Index(labels, name="arm"))
    return Diagnosis(table, noise, low, high, noise_df, assumed, F, p_value, df, whole, level)


LEVEL = 1e-3  # probability of a false warning, for linear rewards with Gaussian noise
DIGITS = 9  # arms that agree to so many decimals, in units of the largest feature, are the same
TWICE = 2.0


class LinearityWarning(UserWarning):
    """The warning that the measurements contradict a linear model, or could not have contradicted it.

    Notes
    -----
    A Lab warns once, when its algorithm is done, if the rule ranks by a linear fit and has more arms than dimensions.
    `diagnose` says which departures of each arm the test would find. With the option `floor=0.1` of a rule, every arm
    gets a share of each batch, so that the test can find more of them.

    Examples
    --------
    >>> import warnings
    >>> warnings.simplefilter("error", LinearityWarning)
    """


def message(experiment, log, result=None):
    """Return the warning about linearity at the end of an experiment with this `Result`, or an empty text."""
    if (arms := _testable(experiment, log)) is None:
        return ""
    p_value, found = _tested(arms, log, experiment.arguments.get("sigma"))
    if p_value < LEVEL:
        return (
            "rewards are not linear in the features: the means of the arms differ from a linear fit by more than "
            f"their noise (lack-of-fit test, p = {p_value:.2g}). The answer rests on a model that is wrong. `diagnose` "
            "says which arms are off; add squares or products of features to the model"
        )
    answer = getattr(result, "recommendation", None)
    is_arm = experiment.arguments.get("items") is None and isinstance(answer, int | np.integer)
    names = np.array(experiment.names or range(len(arms)), dtype=object)
    return _unseen(arms, total(log), names) or (_hardly_seen(found, answer, names) if is_arm else "")


def rejected(experiment, log):
    """Return the p-value with which the rewards in a log reject the linear model of a rule, or None."""
    arms = _testable(experiment, log)
    p_value = 1.0 if arms is None else _tested(arms, log, experiment.arguments.get("sigma"))[0]
    return p_value if p_value < LEVEL else None


def _kinds(arms):
    """Return the arms (m, d) that differ, and for each of the K arms its row among them."""
    kinds, kind = np.unique(np.round(in_units(arms), DIGITS), axis=0, return_inverse=True)
    return kinds, kind.ravel()


def _testable(experiment, log):
    """Return the arms (K, d) of a rule that has a guarantee and fits a linear model; None if nothing can be tested."""
    told, rule = experiment.arguments, experiment.rule
    try:
        arms = np.asarray(told.get("arms", []), dtype=float)
        np.asarray(told.get("sigma", 1.0), dtype=float)
    except (TypeError, ValueError):
        return None
    promises = "sigma" in told or rule in ("h_rage", "bounded_rage")
    curved = told.get("model", "linear"), told.get("kernel", "linear"), told.get("mode", "linear")
    linear = not {"logistic", "disjoint"} & {*curved} and curved[1] == "linear"
    if not (promises and linear and log and arms.shape[:1] == log[0].counts.shape and arms.ndim == 2 and arms.any()):
        return None
    if not (np.isfinite(arms).all() and np.isfinite(total(log)).all()):
        return None
    kinds = _kinds(arms)[0]
    return arms if len(kinds) > basis(kinds).shape[1] else None


def _tested(arms, log, sigma):
    """Return the larger p-value of the two tests, 1 without a test, and the `Diagnosis` if there are replicates."""
    sample, sds = total(log), None if sigma is None else np.asarray(sigma, dtype=float)
    found = diagnose(arms, sample, sds if sds is not None and sds.ndim else None, level=LEVEL)
    if found.df == 0:
        return 1.0, None
    if not found.noise > 0 or _made_up(log):
        return (1.0 if sds is None else _against_sigma(arms, sample, sds.max(), found.df)), None
    if found.p_value >= LEVEL:
        return found.p_value, found
    own = diagnose(arms, sample, _own(sample, found.noise), level=LEVEL)
    return max(found.p_value, own.p_value), found


def _against_sigma(arms, sample, sigma, df):
    """Return the p-value of the misfit for noise with a standard deviation of at most sigma."""
    means, fitted = fit(in_units(arms), sample, np.full(len(arms), sigma))[:2]
    return float(scipy.stats.chi2.sf(np.nansum(sample.counts * (means - fitted) ** 2) / sigma**2, df))


def _made_up(log):
    """Return whether all replicates told together are equal, as if their squares were computed from means."""
    found = [within(sample) for sample in log]
    return any(f.df for f in found) and all(f.squares <= BLURRED * f.blur for f in found)


def _own(sample, noise):
    """Return the standard deviation of each arm's replicates, or `noise` if they do not differ."""
    n = np.maximum(sample.counts, 2)
    squares = np.maximum(sample.squares - sample.sums * (sample.sums / n), 0.0)
    own = np.sqrt(squares / (n - 1))
    return np.where((sample.counts > 1) & (own > 1e-6 * noise), own, noise)


def _unseen(arms, sample, names):
    """Return the warning about arms whose departure from the model cannot be found."""
    kinds, kind = _kinds(arms)
    merged = Sample(*(np.bincount(kind, field, len(kinds)) for field in sample))
    free = fit(kinds, merged._replace(counts=merged.counts.astype(np.int64)), np.ones(len(kinds)))[3]
    blind = np.flatnonzero((free == 0)[kind])
    if not len(blind):
        return ""
    if len(blind) == len(kind):
        measured = int(np.count_nonzero(merged.counts))
        return (
            "whether rewards are linear in the features cannot be seen: a linear fit goes through the means of "
            f"all {measured} measured arms, whatever these means are. The answer is only as sure as the assumption "
            "that rewards are linear"
        )
    return (
        f"whether rewards are linear in the features cannot be seen for arms {some(names[blind])}: each was never "
        "measured, or the linear fit goes through its mean, whatever the mean is. That these are not the best is only "
        "as sure as the assumption that rewards are linear"
    )


def _hardly_seen(found, answer, names):
    """Return the warning about arms whose departure by TWICE their distance from the answer would be missed."""
    if found is None:
        return ""
    behind = found.table["fitted"].to_numpy()[answer] - found.table["fitted"].to_numpy()
    behind[answer] = np.min(np.delete(behind, answer))
    faint = np.flatnonzero(found.table["visible"].to_numpy() > TWICE * np.maximum(behind, 0.0))
    if not len(faint):
        return ""
    return (
        f"whether rewards are linear in the features can hardly be seen for arms {some(names[faint])}: they were "
        f"measured too rarely. Suppose that one of them is better than its fitted value by {TWICE:g} times its "
        f"distance from the answer, or that the answer is worse than its fitted value by {TWICE:g} times its lead: the "
        "test would miss this with a probability above 0.2. "
        "The answer is only as sure as the model"
    )
