"""Whether the replicates of an experiment contradict the `sigma` that its rule was given, and bounds on sigma.

Squares within arms, W = sum over arms of (squares - sum^2 / count), have df = pulls - arms pulled. For Gaussian noise
with standard deviation sigma and counts fixed beforehand, W / sigma^2 is chi-square with df degrees of freedom.

Sigma too small: a test that holds for any choice of the arms, at all times together, for sub-Gaussian noise e. For u in
(0, 1] and a standard normal g, E exp((1-u) e^2 / (2 sigma^2)) = E exp(sqrt(1-u) g e / sigma)
<= E exp((1-u) g^2 / 2) = u^-1/2. So, with Q the sum of squared noise of all N pulls so far, ::

    M(u) = u^(N/2) exp((1-u) Q / (2 sigma^2))

is a supermartingale from 1, and so is its mean over uniform u. W <= Q, so with s = W / (2 sigma^2) and c = N/2 + 1 ::

    integral over (0, 1) of u^(N/2) exp((1-u) s) du = e^s s^-c gamma(c, s)    (lower incomplete gamma function)

stays below the mean and exceeds 1 / alpha, ever, with probability at most alpha (Ville 1939).

Sigma too large: a chi-square bound at the level LOW_LEVEL on the deviation below LOW sigma, from LOW_DF degrees of
freedom on. Only rules with a `delta` are watched. Of several standard deviations the largest counts, as in the rules.
"""

from bisect import bisect_left
from math import inf, isfinite, log, sqrt

import numpy as np
from scipy.special import gammainc, gammaincinv, gammaln

from bandits_lib.checks import check_delta
from bandits_lib.numerics.least_squares import rounding, within
from bandits_lib.protocol import Sample


def chi_square(probability, df):
    """Return a quantile of the chi-square distribution."""
    return 2 * gammaincinv(df / 2, probability)


ALPHA = 1e-4  # probability, over a whole experiment, of a wrong warning that sigma is too small
LOW, LOW_LEVEL, LOW_DF = 0.7, 1e-3, 10
TOO_SMALL = (
    "{scatter}. With noise so large its answer may be wrong with more than the probability delta. Likely causes: "
    "rewards in another unit than {name} (mV told as V), sums or squares rounded before they were told, or a {name} "
    "that was too hopeful. Mend what was told, or begin anew with a larger {name}, "
    "which a pilot bounds (`sigma_upper`)"
)
TOO_LARGE = (
    "{scatter}. {wasted} Likely causes: rewards in another unit than sigma (V told as mV), values that were copied as "
    "replicates, squares that were made up from means, or a sigma that was chosen for safety. If it matters, begin "
    "anew with a smaller sigma, which a pilot bounds (`sigma_upper`)"
)
EQUAL = (
    "Replicates that are all equal tell nothing of the noise: whether sigma is right cannot be seen, and the answer is "
    "as sure as that."
)
BINARY = (
    "rewards are all 0 or 1, for which sigma = 0.5 is always enough, and the rule was given {sigma:.3g}. {wasted} "
    "If it matters, begin anew with sigma=0.5"
)


DRIFT_DF, DRIFT_SLACK = 30, 6.0  # replicates that bound the noise, and by how many of the bound's own deviations
DRIFT = (
    "the means of the same arms, told at different times, differ {ratio:.3g} times as much as their noise explains. "
    "Likely causes: a day, batch or operator effect, a drift, or another unit. The rule takes it for a difference of "
    "arms, and its answer may be wrong with more than the probability promised. Measure all arms of a request on the "
    "same day in random order, and if one day does not do, the same share of each arm on "
    "each day"
)


ONE_BY_ONE = (
    "each arm was told by itself, one after the other: the effect of a day, an operator or a drift would look like a "
    "difference of arms, and nothing could show it. Measure all arms of a request on the same day in random order"
)
FEW = 3  # arms, told one after the other, of which a Lab warns


class DriftWarning(UserWarning):
    """The parts of an arm, told to a `Lab` at different times, differ by more than their noise, or could not show it.

    Notes
    -----
    For parts i of arm k with n_ik rewards and means m_ik, B = sum n_ik (m_ik - m_k)^2 is at most the sum of the squares
    n_ik (m_ik - mu_k)^2, which are independent given the past, so that the supermartingale of `SigmaWarning` with a
    part in the place of a pull bounds B at all times. The noise is the smaller of the rule's sigma and an upper bound
    from replicates within parts. A wrong warning has probability about 1e-4 over a whole experiment. Every rule is
    watched, also those without sigma. A Lab also warns if each of several arms was told in parts of its own, one arm
    after the other, so that no test can tell days from arms.

    Examples
    --------
    >>> import warnings
    >>> warnings.simplefilter("error", DriftWarning)
    """


class SigmaWarning(UserWarning):
    """The replicates told to a `Lab` contradict the `sigma` of its rule.

    Notes
    -----
    The message says by how much, the likely causes, and what to do. A Lab warns once in each direction. A wrong warning
    that sigma is too small has probability at most 1e-4 over a whole experiment, whatever rule chose the arms.

    Examples
    --------
    >>> import warnings
    >>> warnings.simplefilter("error", SigmaWarning)
    """


class Watch:
    """Squares within arms of all Samples so far, in units of the promised sigma^2."""

    def __init__(self, arguments):
        self.name, self.sigma = promised(arguments)
        self.pulled: dict[int, tuple[int, float]] = {}  # arm: its pulls and their mean
        self.squares = self.blur = 0.0  # W / sigma^2, and the largest effect of rounding on it
        self.pulls = self.df = 0
        self.binary = True  # all rewards 0 or 1
        self.parts = self.inside_df = 0  # means of an arm in a Sample, and replicates beyond the first in them
        self.between = self.inside = 0.0  # squares between the means of an arm, and within Samples, in reward^2
        self.said: set[str] = set()
        self.apart, self.last = True, -1  # whether every Sample had one arm, and no arm came back; the last arm

    def take(self, sample):
        """Add a Sample."""
        arms = np.flatnonzero(sample.counts).tolist()
        self.apart = self.apart and len(arms) < 2 and all(k == self.last or k not in self.pulled for k in arms)
        self.last = arms[-1] if arms else self.last
        for arm in np.flatnonzero(sample.counts).tolist():
            self._add(arm, int(sample.counts[arm]), float(sample.sums[arm]), float(sample.squares[arm]))

    def _add(self, arm, n, total, square):
        """Add the squares within n pulls of an arm, and between their mean and that of the pulls before."""
        before, mean = self.pulled.get(arm, (0, 0.0))
        step = total / n - mean
        inside = max(square - total * (total / n), 0.0) if n > 1 else 0.0
        between = step * step * before * n / (before + n)
        if self.sigma:
            self.squares += (inside + between) / self.sigma / self.sigma
            self.blur += rounding(n, square) / self.sigma / self.sigma
        self.parts, self.between = self.parts + 1, self.between + between
        self.inside, self.inside_df = self.inside + inside + rounding(n, square), self.inside_df + n - 1
        self.pulled[arm] = before + n, mean + step * n / (before + n)
        self.binary = self.binary and square == total
        self.pulls += n
        self.df += n if before else n - 1

    def message(self):
        """Return the next warning, or None."""
        if not self.sigma or not self.df:
            return None
        if "above" not in self.said and log_evidence(self.pulls, self.squares - self.blur) > -log(ALPHA):
            self.said.add("above")
            return TOO_SMALL.format(scatter=self._scatter(), name=self.name)
        if "below" not in self.said and self._is_below():
            self.said.add("below")
            return self._below()
        return None

    def drift(self):
        """Return the warning that parts of an arm differ by more than their noise, or cannot; each once; or None."""
        if self.apart and len(self.pulled) >= FEW and self.pulls >= 2 * len(self.pulled) and "apart" not in self.said:
            self.said.add("apart")
            return ONE_BY_ONE
        bounds = [self.sigma] * (self.sigma > 0)
        if self.inside_df >= DRIFT_DF and self.inside > 0:
            bounds.append(sqrt(self.inside / self.inside_df * (1 + DRIFT_SLACK / sqrt(self.inside_df))))
        if (
            not bounds
            or "drift" in self.said
            or log_evidence(self.parts, self.between / min(bounds) ** 2) <= -log(ALPHA)
        ):
            return None
        self.said.add("drift")
        ratio = sqrt(self.between / max(self.parts - len(self.pulled), 1)) / min(bounds)
        return DRIFT.format(ratio=ratio)

    def _is_below(self):
        if self.name != "sigma" or self.df < LOW_DF or (self.binary and self.sigma <= 0.5):
            return False
        squares = self.squares + self.blur
        return squares < LOW**2 * self.df and bool(squares < LOW**2 * chi_square(LOW_LEVEL, self.df))

    def _below(self):
        if self.binary:
            return BINARY.format(sigma=self.sigma, wasted=wasted(0.5 / self.sigma))
        says = EQUAL if self.squares <= self.blur else wasted(sqrt(self.squares / self.df))
        return TOO_LARGE.format(scatter=self._scatter(), wasted=says)

    def _scatter(self):
        ratio = sqrt(self.squares / self.df)
        times = f"{ratio:,.0f}" if 100 <= ratio < 1e9 else f"{ratio:.3g}"
        return (
            f"replicates have a standard deviation of {ratio * self.sigma:.3g} ({self.df} degrees of freedom), {times} "
            f"times the {self.name} = {self.sigma:.3g} that the rule was given"
        )


def wasted(ratio):
    """Return in words what a sigma costs that is too large by the factor 1 / ratio."""
    share = f"about {ratio**2:.0%}" if ratio > 0.1 else "less than 1 %"
    return f"Its answer is as sure as promised, but {share} of the measurements would do."


def promised(arguments):
    """Return name and value of the largest standard deviation that a rule's proof assumes, or ("", 0.0)."""
    name = next((name for name in ("sigma", "sigma_max") if name in arguments), "")
    if not name or "delta" not in arguments:
        return "", 0.0
    try:
        sigma = float(np.max(np.asarray(arguments[name], dtype=float)))
    except (TypeError, ValueError):
        return "", 0.0
    return (name, sigma) if isfinite(sigma) and sigma > 0 else ("", 0.0)


def log_evidence(pulls, squares):
    """Return the logarithm of the mixture, or 0 where it is below 1; squares: W / sigma^2."""
    s, c = squares / 2, pulls / 2 + 1
    if s <= pulls / 2:
        return 0.0
    if not s < 1e300:  # also NaN, of sums that overflow
        return inf
    return float(s - c * log(s) + gammaln(c) + np.log(gammainc(c, s)))


MOST = 10**12  # degrees of freedom


def sigma_upper(sample: Sample, delta: float) -> float:
    """Return an upper confidence bound on the standard deviation of the noise, from a pilot.

    Parameters
    ----------
    sample : Sample
        The pilot: pulls whose numbers were fixed beforehand, at least one arm twice.
    delta : float
        Probability, in (0, 1), that the bound is too small; use a share of the rule's delta.

    Returns
    -------
    float
        The bound, in units of reward: the square root of W / q, where W is the squares within arms and q the
        delta-quantile of chi-square with pulls - arms degrees of freedom.

    Raises
    ------
    ValueError
        If no arm was pulled twice, if all replicates are equal, for sums that are not finite, and for delta.

    Notes
    -----
    The bound holds with probability 1 - delta for Gaussian noise, equal on all arms, and counts fixed beforehand. The
    first batch of a rule is such a pilot; its later batches are not. By a union bound, `rage(arms,
    sigma=sigma_upper(pilot, share * delta), delta=(1 - share) * delta)` is wrong with probability at most delta. Tell
    the rule the pilot in sums, `lab.tell_history(pilot, planned=True)`, or not at all: for Gaussian noise the sum of an
    arm does not depend on the squares within it, so that the bound has not seen it. If the noise differs between arms,
    bound each arm with a share of delta.

    References
    ----------
    .. [1] Hahn, Meeker. "Statistical intervals". Wiley 1991. Section 4.3.

    Examples
    --------
    >>> from bandits_lib import Sample
    >>> pilot = Sample.of([0, 0, 0, 1, 1, 1], [1.0, 1.2, 1.1, 3.0, 3.1, 3.2], 2)
    >>> round(sigma_upper(pilot, 0.01), 2)
    0.37
    """
    delta = check_delta(delta)
    if not (np.isfinite(sample.sums).all() and np.isfinite(sample.squares).all()):
        raise ValueError(f"sums and squares of the pilot must be finite; got sums {sample.sums}: remove that reward")
    squares, df, blur = within(sample)
    if df < 1:
        raise ValueError(
            "no arm was measured twice, and only replicates tell noise from differences between arms: "
            "measure an arm again (pilot_size says how often)"
        )
    if squares <= blur:
        raise ValueError(
            "all replicates of an arm are equal, so nothing bounds the noise: if the instrument rounds, give the step "
            "of its last digit as sigma; if rewards are far from 0, subtract the same number from all"
        )
    return float(np.sqrt((squares + blur) / chi_square(delta, df)))


def pilot_size(factor: float, delta: float, *, n_arms: int = 1, chance: float = 0.9) -> int:
    """Return the pulls of a pilot after which `sigma_upper` is at most `factor` times the true standard deviation.

    Parameters
    ----------
    factor : float
        Largest ratio of the bound to the true value, above 1. A rule then pulls factor^2 times as often.
    delta : float
        Error probability of the bound, in (0, 1), as for `sigma_upper`.
    n_arms : int, default 1
        Number of arms in the pilot. The first pull of each says nothing about the noise.
    chance : float, default 0.9
        Probability, in (0, 1), that the bound is that small.

    Returns
    -------
    int
        Number of pulls: the least df with q(chance) <= factor^2 q(delta), for chi-square quantiles q, plus `n_arms`.

    Raises
    ------
    ValueError
        For a factor of 1 or less, or too near to 1 for any pilot, and for probabilities outside (0, 1).

    Examples
    --------
    >>> pilot_size(1.5, 0.01), pilot_size(1.2, 0.01), pilot_size(1.5, 0.01, n_arms=12)
    (45, 205, 56)
    """
    delta = check_delta(delta)
    if not isinstance(chance, int | float | np.number) or not 0 < chance < 1:
        raise ValueError(f"chance must lie strictly between 0 and 1 (that the pilot is as good); got {chance!r}")
    if not (isinstance(factor, int | float | np.number) and 1 < factor < np.inf):
        raise ValueError(f"factor must be above 1 (the bound over the true sigma); got {factor!r}: 1.2 is a good pilot")
    if not isinstance(n_arms, int | np.integer) or n_arms < 1:
        raise ValueError(f"n_arms must be a whole number of at least 1; got {n_arms!r}")

    def enough(df):
        return bool(chi_square(float(chance), df) <= factor**2 * chi_square(delta, df))

    if not enough(MOST):
        raise ValueError(f"factor {factor} would need a pilot of more than {MOST:.0e} measurements: take 1.05 or more")
    return bisect_left(range(1, MOST), True, key=enough) + 1 + int(n_arms)
