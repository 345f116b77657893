"""At the end of an experiment, what its measurements say of linearity, on which every promise of a rule rests.

The lack-of-fit test of `diagnose`, at the level LEVEL, where linearity is an assumption: more different arms than
dimensions, and a rule that promises something and fits a line. F takes the noise of all arms for the same, but a sigma
may be a bound that some arms stay far below: the test is made once more with each arm's own replicates, and both must
refuse. Without replicates that differ, the promised sigma takes their place. It bounds the noise, so L / sigma^2 is at
most chi-square.

Arms that were never measured, and those through whose means the fit goes whatever they are (leverage 1), may differ
from the model by anything, and no test sees it: they are named. Optimal designs leave such arms in most experiments.
So are, where the answer is an arm, those of which a departure by TWICE what they are behind would be found with a
probability below .8 (`visible` of `diagnose`). In simulated experiments of which each had one arm raised above the best
by a departure of 1.3 or 2 times what it was behind, up to 22 % were wrong without a word before that, and below 1 %
with it, at floors of .1 and .3.

The lack-of-fit test: whether the means of the arms differ from a linear fit by more than their replicates allow.

With n_k pulls of arm k, mean y_k, and m arms pulled, squares split into those within arms (W, pure error) and those of
the means about the fit, L = sum of n_k (y_k - x_k'theta_hat)^2, with df = N - m and m - rank. If rewards are linear,
noise is Gaussian and counts were fixed beforehand, F = (L / (m - rank)) / (W / (N - m)) has Fisher's distribution.
A departure delta of arm k alone makes it noncentral by lambda = n_k (1 - h_k) delta^2 / sigma^2, where the leverage
h_k = n_k x_k'A^-1x_k is the share of its own mean in its fitted value. At h_k = 1 the fit goes through the mean
whatever it is, and nothing can be seen. n_k (1 - h_k) = 1 / (1 / n_k + x_k'A_o^-1x_k), with A_o of the other arms.

A `Diagnosis` in words and as a picture.

What the measurements themselves say of two assumptions: the noise that was promised, and linearity.
"""

import textwrap
from math import inf, isfinite, nan, sqrt
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats
from scipy.optimize import brentq
from scipy.special import stdtrit

from bandits_lab.noise import chi_square, within
from bandits_lib.checks import check_arms, check_delta, check_matrix, check_sigma
from bandits_lib.numerics.least_squares import weighted_least_squares
from bandits_lib.numerics.span import basis
from bandits_lib.protocol import Sample, total

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


WIDTH, MARGIN = 100, 12  # characters
FEW = 4  # arms that are named
WAY_OUT = "give the rule a floor= (a share of every batch for all arms)"
MISSING = "Add what is missing to the features (squares, products), or take np.eye(K) as arms, which assumes nothing."


def say(found):
    """A Diagnosis as a text."""
    parts = {"noise": _noise(found), "linearity": _linearity(found), "arms": _arms_in_words(found)}
    if isfinite(found.p_value):
        parts["caution"] = "where earlier rewards chose the later pulls, p is approximate."
    indent = " " * MARGIN
    return "\n".join(
        textwrap.fill(text, WIDTH, initial_indent=f"{name:<{MARGIN}}", subsequent_indent=indent)
        for name, text in parts.items()
        if text
    )


def _noise(found):
    if found.noise_df == 0:
        return "unknown: no arm was pulled twice, and only replicates tell noise from differences between arms."
    if found.noise == 0:
        return (
            f"none to be seen: the replicates (df = {found.noise_df}) are equal up to rounding. Were they "
            "copied, does the instrument round, or are rewards so far from 0 that digits are lost?"
        )
    interval = f"{1 - found.level:.4g} interval {found.noise_low:.3g} to {found.noise_high:.3g}, df = {found.noise_df}"
    text = f"replicates have a standard deviation of {found.noise:.3g} ({interval})"
    if found.sigma is None:
        return f"{text}."
    ratio = f"{found.noise / found.sigma:.3g} times the sigma = {found.sigma:.3g} that was assumed"
    if found.noise_low > found.sigma:
        return f"{text}: {ratio}, and more than it. The rule's promise does not hold; are the units the same?"
    if found.noise_high < found.sigma:
        share = (found.noise / found.sigma) ** 2
        about = f"about {share:.0%}" if share > 0.01 else "less than 1 %"
        return f"{text}: {ratio}. The promise holds; {about} of the measurements would do."
    return f"{text}: {ratio}, and no contradiction."


def _linearity(found):
    if found.df == 0:
        return (
            "cannot be seen: there are as many unknown numbers as arms pulled, so the fit goes through every mean. "
            f"To see it, {WAY_OUT}."
        )
    if not isfinite(found.p_value):
        return "cannot be tested without noise to compare with: pull some arms again."
    test = f"p = {found.p_value:.2g}, F = {found.F:.3g} on {found.df} and {found.noise_df} df"
    if found.p_value < found.level:
        return f"contradicted ({test}). {MISSING} {_power(found)}"
    return f"no sign against it ({test}). {_power(found)}"


def _power(found):
    visible = found.table["visible"]
    seen = visible[np.isfinite(visible)]
    if not len(seen):
        return "With these counts hardly any misfit is seen: pull more, so that the noise is known."
    text = f"In 8 of 10 such experiments the test finds a misfit of {found.visible:.2g} (root mean square of the pulls)"
    text += f", or one arm alone that is off by {seen.min():.2g} ({seen.idxmin()})"
    text += f" to {seen.max():.2g} ({seen.idxmax()})" if len(seen) > 1 else ""
    blind = found.table.index[np.isinf(visible) & (found.table["pulls"] > 0)]
    return f"{text}.{f' No departure is seen of {_some(blind)} (leverage 1).' if len(blind) else ''}"


def _arms_in_words(found):
    table, text = found.table, ""
    residual = table["residual"].dropna()
    if len(residual):
        worst = residual.abs().idxmax()
        away = (table["mean"] - table["fitted"]).to_numpy()[table.index.get_loc(worst)]
        side = "above" if away > 0 else "below"
        text = f"farthest in standard errors is {worst}: {abs(away):.2g} {side} the fit ({residual[worst]:+.1f}). "
    never = table.index[table["pulls"] == 0]
    if len(never):
        text += f"Never pulled, and known only if rewards are linear: {_some(never)}"
        text += f"; {WAY_OUT}." if found.df else "."
    return text.strip()


def _some(labels):
    shown = ", ".join(map(str, labels[:FEW]))
    return shown if len(labels) <= FEW else f"{shown}, ... ({len(labels)} in all)"


def draw(found, ax=None):
    """A Diagnosis on matplotlib axes."""
    import matplotlib.pyplot as plt

    table = found.table[found.table["pulls"] > 0].iloc[::-1]
    rows, away = np.arange(len(table)), (table["mean"] - table["fitted"]).to_numpy()
    if ax is None:
        _, ax = plt.subplots(figsize=(4.5, 0.9 + 0.17 * max(len(table), 4)), layout="constrained")
    visible = table["visible"].to_numpy()
    blind = np.isinf(visible)
    ax.barh(rows, np.where(blind, 0, 2 * visible), left=np.where(blind, 0, -visible), height=0.8, color="0.9")
    half = stdtrit(found.noise_df, 1 - found.level / 2) * table["error"] if found.noise > 0 else 0.0
    ax.errorbar(away, rows, xerr=half, fmt="none", ecolor="#0173b2", elinewidth=1.2)
    ax.scatter(away, rows, s=14, zorder=3, edgecolors="#0173b2", c=np.where(blind, "white", "#0173b2"))
    ax.axvline(0, color="0.35", lw=0.8)
    ax.set(yticks=rows, ylim=(-0.7, len(rows) - 0.3), xlabel="mean - linear fit (units of reward)")
    ax.set_yticklabels([str(label) for label in table.index], fontsize=7)
    return ax


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
    >>> from bandits_lab.diagnosis import diagnose
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
        >>> from bandits_lab.diagnosis import diagnose
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


LEVEL = 1e-3  # probability of a warning where rewards are linear and their noise is Gaussian
DIGITS = 9  # arms that agree to so many, in units of the largest, are one
LISTED = 6
TWICE = 2.0
WAY = "With floor=0.1, or more, the rules that take a design give every arm a share"


class LinearityWarning(UserWarning):
    """The measurements contradict a linear model, or could not have contradicted it.

    Parameters
    ----------
    message : str
        Which of the two, and what to do.

    Notes
    -----
    Once, when the algorithm is done, from rules that rank by a linear fit, where there are more arms than dimensions.
    A departure that is small beside the noise is not seen either: `diagnose` says for each arm what would be.

    Examples
    --------
    >>> import warnings
    >>> warnings.simplefilter("error", LinearityWarning)
    """

    def __init__(self, message):
        super().__init__(message)


def message(experiment, log, result=None):
    """What to warn of at the end of an experiment, with its `Result`, or an empty text."""
    arms = _arms(experiment.arguments, experiment.rule)
    if not log or arms is None or arms.shape[0] != len(log[0].counts) or not arms.any():
        return ""
    if not np.isfinite(total(log)).all():
        return ""
    kinds, kind = np.unique(np.round(in_units(arms), DIGITS), axis=0, return_inverse=True)
    if len(kinds) <= basis(kinds).shape[1]:
        return ""
    p_value, found = _tested(arms, log, experiment.arguments.get("sigma"))
    if p_value < LEVEL:
        return (
            "rewards are not linear in the features: the means of the arms differ from a linear fit by more than "
            f"their noise (lack-of-fit test, p = {p_value:.2g}). The answer rests on a model that is wrong. "
            "`diagnose(arms, total(lab.log), sigma)` says which arms are off; squares or products among the features, "
            "or np.eye(K) for arms, mend it"
        )
    is_arm = experiment.arguments.get("items") is None and isinstance(
        getattr(result, "recommendation", None), int | np.integer
    )
    return _unseen(kinds, kind.ravel(), total(log)) or (_hardly_seen(found, result.recommendation) if is_arm else "")


def _arms(told, rule):
    """The arms (K, d) of a rule that promises something and fits a line; None for others."""
    try:
        arms = np.asarray(told.get("arms", []), dtype=float)
        np.asarray(told.get("sigma", 1.0), dtype=float)
    except (TypeError, ValueError):
        return None
    promises = "sigma" in told or rule in ("h_rage", "bounded_rage")
    curved = told.get("model", "linear"), told.get("kernel", "linear"), told.get("mode", "linear")
    if not promises or arms.ndim != 2 or not np.isfinite(arms).all():
        return None
    if {"logistic", "disjoint"} & {*curved} or curved[1] != "linear":
        return None
    return arms


def _tested(arms, log, sigma):
    """The p-value of linearity, 1 without a test, and the `Diagnosis` of it if there was a test by replicates.

    The larger of those of the F test and of the test with each arm's own noise.
    """
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
    """The p-value of the misfit if the noise is at most sigma."""
    means, fitted = fit(in_units(arms), sample, np.full(len(arms), sigma))[:2]
    return float(stats.chi2.sf(np.nansum(sample.counts * (means - fitted) ** 2) / sigma**2, df))


def _made_up(log):
    """Whether all replicates that were told together are equal: squares computed from means, and no noise."""
    found = [within(sample) for sample in log]
    return any(f.df for f in found) and all(f.squares <= BLURRED * f.blur for f in found)


def _own(sample, noise):
    """The standard deviation of each arm's replicates, `noise` where there are none or all are equal."""
    n = np.maximum(sample.counts, 2)
    squares = np.maximum(sample.squares - sample.sums * (sample.sums / n), 0.0)
    own = np.sqrt(squares / (n - 1))
    return np.where((sample.counts > 1) & (own > 1e-6 * noise), own, noise)


def _unseen(kinds, kind, sample):
    """Which arms may differ from the model by anything; kinds : different arms, kind : (K,) which of them an arm is."""
    merged = Sample(*(np.bincount(kind, field, len(kinds)) for field in sample))
    free = fit(kinds, merged._replace(counts=merged.counts.astype(np.int64)), np.ones(len(kinds)))[3]
    blind = np.flatnonzero((free == 0)[kind])
    if not len(blind):
        return ""
    if len(blind) == len(kind):
        measured = int(np.count_nonzero(merged.counts))
        return (
            "whether rewards are linear in the features cannot be seen: a linear fit goes through the means of "
            f"{measured} arms, as many as were measured, whatever they are. The answer is as sure as that assumption. "
            f"{WAY}"
        )
    one = len(blind) == 1
    return (
        f"whether rewards are linear in the features cannot be seen for arm{_listed(blind)}: never "
        "measured, or the linear fit goes through the mean whatever it is. That "
        f"{'it is' if one else 'these are'} not the best is as sure as that assumption. {WAY}"
    )


def _hardly_seen(found, answer):
    """Arms that may be better than the answer with no more than a few times the departure that would be found."""
    if found is None:
        return ""
    behind = found.table["fitted"].to_numpy()[answer] - found.table["fitted"].to_numpy()
    behind[answer] = np.min(np.delete(behind, answer))
    faint = np.flatnonzero(found.table["visible"].to_numpy() > TWICE * np.maximum(behind, 0.0))
    if not len(faint):
        return ""
    return (
        f"whether rewards are linear in the features can hardly be seen for arm{_listed(faint)}: a departure by "
        f"{TWICE:g} times what lies between it and the answer (for the answer: the next) would be missed with a "
        "probability above 0.2, and the answer could be wrong. `diagnose(arms, total(lab.log), sigma)` says what would "
        f"be seen of each arm. {WAY}"
    )


def _listed(arms):
    more = f", ... ({len(arms)} in all)" if len(arms) > LISTED else ""
    return f"{'' if len(arms) == 1 else 's'} {', '.join(map(str, arms[:LISTED]))}{more}"
