"""Test whether the replicates of an experiment contradict the `sigma` of its rule, and bound sigma from a pilot.

The squares within arms, W = sum over arms of (squares - sum^2 / count), have df = pulls - arms pulled. For Gaussian
noise with standard deviation sigma and counts fixed beforehand, W / sigma^2 is chi-square with df degrees of freedom.

Sigma too small: the test holds for any choice of the arms, at all times simultaneously, for sub-Gaussian noise e. For u
in (0, 1] and a standard normal g, E exp((1-u) e^2 / (2 sigma^2)) = E exp(sqrt(1-u) g e / sigma)
<= E exp((1-u) g^2 / 2) = u^-1/2. So, with Q the sum of squared noise of all N pulls so far, ::

    M(u) = u^(N/2) exp((1-u) Q / (2 sigma^2))

is a supermartingale that starts at 1, and so is its mean over uniform u. W <= Q, so with s = W / (2 sigma^2) and
c = N/2 + 1 the integral ::

    integral over (0, 1) of u^(N/2) exp((1-u) s) du = e^s s^-c gamma(c, s)    (lower incomplete gamma function)

is at most that mean, and the probability that it ever exceeds 1 / alpha is at most alpha (Ville 1939).

Sigma too large: from LOW_DF degrees of freedom on, a chi-square bound at the level LOW_LEVEL tests whether the standard
deviation is below LOW sigma. Only rules with a `delta` are tested. If a rule has several sigma, the largest is tested.
"""

from bisect import bisect_left
from math import inf, isfinite, log, sqrt

import numpy as np
from scipy.special import gammainc, gammaincinv, gammaln

from bandits_lib.checks import check_delta
from bandits_lib.numerics.least_squares import rounding_error, within
from bandits_lib.protocol import Sample


def chi_square(probability, df):
    """Return the quantile of the chi-square distribution at a probability."""
    return 2 * gammaincinv(df / 2, probability)


ALPHA = 1e-4  # probability of a false warning that sigma is too small, over a whole experiment
LOW, LOW_LEVEL, LOW_DF = 0.7, 1e-3, 10
TOO_SMALL = (
    "{scatter}. With noise so large, the answer may be wrong with a larger probability than delta. Likely causes: "
    "rewards in another unit than {name} (mV told as V), sums or squares rounded before they were told, or a {name} "
    "chosen too small. Correct the rewards, or begin a new experiment with a larger {name}; "
    "`sigma_upper` computes a bound from a pilot"
)
TOO_LARGE = (
    "{scatter}. {wasted} Likely causes: rewards in another unit than sigma (V told as mV), values copied as "
    "replicates, squares computed from means, or a sigma chosen large for safety. To save measurements, begin a new "
    "experiment with a smaller sigma; `sigma_upper` computes a bound from a pilot"
)
EQUAL = (
    "Replicates that are all equal say nothing about the noise, so they cannot show whether sigma is right. The answer "
    "is only as sure as sigma."
)


DRIFT_DF, DRIFT_SLACK = 30, 6.0  # replicates needed to bound the noise, and the slack in deviations of the bound
DRIFT = (
    "the means of the same arms, told at different times, differ {ratio:.3g} times as much as their noise explains. "
    "Likely causes: a day, batch or operator effect, a drift, or another unit. The rule takes such a change for a "
    "difference between arms, and its answer may be wrong with a larger probability than promised. Measure all arms of "
    "a request on the same day in random order, or, if one day is not enough, the same share of each arm on each day"
)


ONE_BY_ONE = (
    "each arm was told by itself, one after the other: the effect of a day, an operator or a drift would look like a "
    "difference between arms, and no test could show it. Measure all arms of a request on the same day in random order"
)
FEW = 3  # a Lab warns if at least so many arms were told one after the other


class DriftWarning(UserWarning):
    """The warning that an arm's rewards change between the times when they were told, or that no test can show this.

    Notes
    -----
    For parts i of arm k with n_ik rewards and means m_ik, B = sum n_ik (m_ik - m_k)^2 is at most the sum of the squares
    n_ik (m_ik - mu_k)^2, which are independent given the past. Therefore the supermartingale of `SigmaWarning`, with
    parts instead of pulls, bounds B at all times. The noise is the smaller of the rule's sigma and an upper bound from
    replicates within parts. The probability of a false warning is about 1e-4 over a whole experiment. Every rule is
    tested, also those without sigma. A Lab also warns if several arms were told one after the other, each in parts of
    its own, because then no test can distinguish days from arms.

    Examples
    --------
    >>> import warnings
    >>> warnings.simplefilter("error", DriftWarning)
    """


class SigmaWarning(UserWarning):
    """The warning that the replicates in a `Lab` contradict the `sigma` of its rule.

    Notes
    -----
    The message says by how much, the likely causes, and what to do. A Lab warns once in each direction. The probability
    of a false warning that sigma is too small is at most 1e-4 over a whole experiment, whichever rule chose the arms.

    Examples
    --------
    >>> import warnings
    >>> warnings.simplefilter("error", SigmaWarning)
    """


class Watch:
    """The squares within and between the parts of each arm so far, and the warnings that follow from them."""

    def __init__(self, arguments):
        self.name, self.sigma = promised(arguments)
        self.pulled: dict[int, tuple[int, float]] = {}  # {arm: (its pulls, their mean)}
        self.squares = self.blur = 0.0  # W / sigma^2, and the largest effect of rounding on it
        self.pulls = self.df = 0
        self.binary = True  # whether all rewards are 0 or 1
        self.parts = self.inside_df = 0  # number of means, one per arm and Sample; replicates beyond the first in them
        self.between = self.inside = 0.0  # squares between the means of an arm, and within Samples, in reward^2
        self.said: set[str] = set()
        self.apart, self.last = True, -1  # whether the arms were told one after the other; the last arm

    def take(self, sample):
        """Add the squares of a Sample."""
        arms = np.flatnonzero(sample.counts).tolist()
        self.apart = self.apart and len(arms) < 2 and all(k == self.last or k not in self.pulled for k in arms)
        self.last = arms[-1] if arms else self.last
        for arm in np.flatnonzero(sample.counts).tolist():
            self._add(arm, int(sample.counts[arm]), float(sample.sums[arm]), float(sample.squares[arm]))

    def _add(self, arm, n, total, square):
        """Add the squares within n pulls of an arm, and between their mean and the mean of its earlier pulls."""
        before, mean = self.pulled.get(arm, (0, 0.0))
        step = total / n - mean
        inside = max(square - total * (total / n), 0.0) if n > 1 else 0.0
        between = step * step * before * n / (before + n)
        if self.sigma:
            self.squares += (inside + between) / self.sigma / self.sigma
            self.blur += rounding_error(n, square) / self.sigma / self.sigma
        self.parts, self.between = self.parts + 1, self.between + between
        self.inside, self.inside_df = self.inside + inside + rounding_error(n, square), self.inside_df + n - 1
        self.pulled[arm] = before + n, mean + step * n / (before + n)
        self.binary = self.binary and square == total
        self.pulls += n
        self.df += n if before else n - 1

    def is_above(self):
        """Return whether the noise is larger than sigma."""
        return bool(self.sigma and self.df) and log_evidence(self.pulls, self.squares - self.blur) > -log(ALPHA)

    def message(self):
        """Return the next warning about sigma, or None; each warning comes once."""
        if not self.sigma or not self.df:
            return None
        if "above" not in self.said and self.is_above():
            self.said.add("above")
            return TOO_SMALL.format(scatter=self.scatter(), name=self.name)
        if "below" not in self.said and self._is_below():
            self.said.add("below")
            return self._below()
        return None

    def drift(self):
        """Return the next warning about drift, or None; each warning comes once."""
        if self.apart and len(self.pulled) >= FEW and self.pulls >= 2 * len(self.pulled) and "apart" not in self.said:
            self.said.add("apart")
            return ONE_BY_ONE
        if "drift" in self.said or not (ratio := self.drifted()):
            return None
        self.said.add("drift")
        return DRIFT.format(ratio=ratio)

    def drifted(self):
        """Return how many times as much as their noise explains the means of the same arms differ; 0 if they do not."""
        bounds = [self.sigma] * (self.sigma > 0)
        if self.inside_df >= DRIFT_DF and self.inside > 0:
            bounds.append(sqrt(self.inside / self.inside_df * (1 + DRIFT_SLACK / sqrt(self.inside_df))))
        if not bounds or log_evidence(self.parts, self.between / min(bounds) / min(bounds)) <= -log(ALPHA):
            return 0.0
        return sqrt(self.between / max(self.parts - len(self.pulled), 1)) / min(bounds)

    def against(self):
        """Return why the rewards contradict what the rule assumes of the noise, or an empty text."""
        if self.is_above():
            return self.scatter()
        return "the means of the same arms, told at different times, differ too much" if self.drifted() else ""

    def _is_below(self):
        if self.name != "sigma" or self.df < LOW_DF or (self.binary and self.sigma <= 0.5):
            return False
        squares = self.squares + self.blur
        return squares < LOW**2 * self.df and bool(squares < LOW**2 * chi_square(LOW_LEVEL, self.df))

    def _below(self):
        says = EQUAL if self.squares <= self.blur else wasted(sqrt(self.squares / self.df))
        return TOO_LARGE.format(scatter=self.scatter(), wasted=says)

    def scatter(self):
        """Return in words how large the noise is beside sigma."""
        ratio = sqrt(self.squares / self.df)
        times = f"{ratio:,.0f}" if 100 <= ratio < 1e9 else f"{ratio:.3g}"
        return (
            f"replicates have a standard deviation of {ratio * self.sigma:.3g} ({self.df} degrees of freedom), {times} "
            f"times the {self.name} = {self.sigma:.3g} that the rule was given"
        )


def wasted(ratio):
    """Return in words the cost of a sigma that is too large by the factor 1 / ratio."""
    share = f"about {ratio**2:.0%}" if ratio > 0.1 else "less than 1 %"
    return f"The answer is as sure as promised, but {share} of the measurements would be enough."


def promised(arguments):
    """Return the name and the largest value of the standard deviation that a rule's proof assumes, or ("", 0.0)."""
    name = next((name for name in ("sigma", "sigma_max") if name in arguments), "")
    if not name or "delta" not in arguments:
        return "", 0.0
    try:
        sigma = float(np.max(np.asarray(arguments[name], dtype=float)))
    except (TypeError, ValueError):
        return "", 0.0
    return (name, sigma) if isfinite(sigma) and sigma > 0 else ("", 0.0)


def log_evidence(pulls, squares):
    """Return the logarithm of the integral above, or 0 if squares = W / sigma^2 <= pulls, where it is negative."""
    s, c = squares / 2, pulls / 2 + 1
    if s <= pulls / 2:
        return 0.0
    if not s < 1e300:  # this includes NaN, from sums that overflow
        return inf
    return float(s - c * log(s) + gammaln(c) + np.log(gammainc(c, s)))


MOST, CHANCE = 10**12, 0.9  # degrees of freedom of the largest pilot; probability that a pilot is large enough


def sigma_upper(sample: Sample, delta: float) -> float:
    """Return an upper confidence bound on the standard deviation of the noise, computed from a pilot.

    Parameters
    ----------
    sample : Sample
        The pilot. The number of pulls of each arm was fixed beforehand, and at least one arm was pulled twice.
    delta : float
        Probability, in (0, 1), that the bound is too small. Use a share of the rule's delta.

    Returns
    -------
    float
        The bound, in units of reward: the square root of W / q, where W is the sum of the squares within arms and q the
        delta-quantile of the chi-square distribution with pulls - arms degrees of freedom.

    Raises
    ------
    ValueError
        If no arm was pulled twice, if all replicates are equal, for sums that are not finite, and for a wrong delta.

    Notes
    -----
    The bound holds with probability 1 - delta for Gaussian noise, equal on all arms, and counts fixed beforehand. The
    first batch of a rule is such a pilot; its later batches are not. By a union bound, `rage(arms,
    sigma=sigma_upper(pilot, share * delta), delta=(1 - share) * delta)` is wrong with probability at most delta. Tell
    the rule the sums of the pilot, `lab.tell_history(pilot, planned=True)`, or nothing of it: for Gaussian noise the
    sum of an arm is independent of the squares within it, and thus of the bound. If the noise differs between arms,
    bound each arm with a share of delta. `rage` and `xy_static` also take sigma=None and learn it from all replicates,
    as the command line does; the command pilot uses the bound as a hint for the user only.

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
            "no arm was measured twice, and only replicates distinguish noise from differences between arms: "
            "measure an arm again (`pilot_size` says how often)"
        )
    if squares <= blur:
        raise ValueError(
            "the replicates of every arm are equal, so nothing bounds the noise: if the instrument rounds, begin with "
            "sigma=STEP, the step of its last digit; if floating-point numbers round the rewards because they are far "
            "from 0, subtract the same number from all of them"
        )
    return float(np.sqrt((squares + blur) / chi_square(delta, df)))


def pilot_size(factor: float, delta: float, *, n_arms: int = 1) -> int:
    """Return the size of a pilot whose `sigma_upper` is at most `factor` times the true value with probability 0.9.

    Parameters
    ----------
    factor : float
        Largest ratio of the bound to the true value, above 1. A rule that is given the bound pulls factor^2 times as
        often.
    delta : float
        Error probability of the bound, in (0, 1), as for `sigma_upper`.
    n_arms : int, default 1
        Number of arms in the pilot. The first pull of each arm says nothing about the noise.

    Returns
    -------
    int
        Number of pulls: `n_arms` plus the smallest df with q(0.9) <= factor^2 q(delta), where q are the quantiles of
        the chi-square distribution.

    Raises
    ------
    ValueError
        For a factor of 1 or less, a factor too close to 1 for any pilot, and a delta outside (0, 1).

    Examples
    --------
    >>> pilot_size(1.5, 0.01), pilot_size(1.2, 0.01), pilot_size(1.5, 0.01, n_arms=12)
    (45, 205, 56)
    """
    delta = check_delta(delta)
    if not (isinstance(factor, int | float | np.number) and 1 < factor < np.inf):
        raise ValueError(f"factor, the bound divided by the true sigma, must be above 1; got {factor!r}: try 1.2")
    if not isinstance(n_arms, int | np.integer) or n_arms < 1:
        raise ValueError(f"n_arms must be a whole number of at least 1; got {n_arms!r}")

    def enough(df):
        return bool(chi_square(CHANCE, df) <= factor**2 * chi_square(delta, df))

    if not enough(MOST):
        raise ValueError(f"factor {factor} would need a pilot of more than {MOST:.0e} measurements: pass 1.05 or more")
    return bisect_left(range(1, MOST), True, key=enough) + 1 + int(n_arms)
