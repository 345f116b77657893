"""Whether the replicates of a running experiment contradict the `sigma` that its rule was promised.

Too large: a test that holds for any way of choosing the arms, at all times together, and for all sub-Gaussian noise.
For u in (0, 1] and noise e with E exp(l e) <= exp(l^2 sigma^2 / 2) for all l, E exp((1-u) e^2 / (2 sigma^2)) <= u^-1/2:
with a standard normal g, exp((1-u) e^2 / (2 sigma^2)) = E exp(sqrt(1-u) g e / sigma) <= E exp((1-u) g^2 / 2). So, with
Q the sum of squared noise of all N pulls so far,
    M(u) = u^(N/2) exp((1-u) Q / (2 sigma^2))
is a supermartingale from 1, and so is its mean over uniform u. The squares within arms are W <= Q (an arm's mean is
nearest to its rewards), so with s = W / (2 sigma^2) and c = N/2 + 1
    integral over (0, 1) of u^(N/2) exp((1-u) s) du = e^s s^-c gamma(c, s)    (lower incomplete gamma function)
stays below it, and passes 1 / alpha, ever, with probability at most alpha (Ville 1939). It is below 1 for s <= N/2.

Too small: the promise holds, only measurements are wasted. An ordinary chi-square bound of the deviation below
LOW sigma at the level LOW_LEVEL, from LOW_DF degrees of freedom on. The factor makes looking at every tell cheap.

Only rules with a `delta` promise something that rests on sigma; several standard deviations count by the largest,
as in the rules.

What replicates say of the noise, whatever the means of the arms are: several pulls of one arm differ by noise alone.

Squares within arms, W = sum over arms of (squares - sum^2 / count), have df = pulls - arms pulled. For Gaussian noise
of one standard deviation sigma and counts fixed beforehand W / sigma^2 is chi-square with df degrees of freedom.

A pilot: replicates made before an experiment, to bound the noise that its rule has to be told of as `sigma`.
"""

from bisect import bisect_left
from math import inf, isfinite, log, sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import gammainc, gammaincinv, gammaln

from bandits_lib.checks import check_delta

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


ALPHA = 1e-4  # probability, over a whole experiment, of a warning that sigma is too small where it is not
LOW, LOW_LEVEL, LOW_DF = 0.7, 1e-3, 10
TOO_SMALL = (
    "{scatter}. With noise so large its answer may be wrong with more than the probability delta. Likely causes: "
    "rewards in another unit than {name} (mV told as V), sums or squares rounded before they were told, or a {name} "
    "that was too hopeful. Mend what was told, or begin anew with a larger {name}: "
    "bandits_lab.noise.sigma_upper bounds it from replicates"
)
TOO_LARGE = (
    "{scatter}. {wasted} Likely causes: rewards in another unit than sigma (V told as mV), values that were copied as "
    "replicates, squares that were made up from means, or a sigma that was chosen for safety. If it matters, begin "
    "anew with a smaller sigma: bandits_lab.noise.sigma_upper bounds it from replicates"
)
EQUAL = (
    "Replicates that are all equal tell nothing of the noise: whether sigma is right cannot be seen, and the answer is "
    "as sure as that."
)
BINARY = (
    "rewards are all 0 or 1, for which sigma = 0.5 is always enough, and the rule was given {sigma:.3g}. {wasted} "
    "If it matters, begin anew with sigma=0.5"
)


class SigmaWarning(UserWarning):
    """The replicates told to a `Lab` contradict the `sigma` of its rule.

    Parameters
    ----------
    message : str
        By how much, what is likely, and what to do.

    Notes
    -----
    Each direction once for every Lab. That sigma is too small where it is not is said with probability at most 1e-4
    over a whole experiment (`bandits_lab.noise` derives it), whatever rule chose the arms.

    Examples
    --------
    >>> import warnings
    >>> warnings.simplefilter("error", SigmaWarning)
    """

    def __init__(self, message):
        super().__init__(message)


class Watch:
    """Squares within arms, summed up as Samples come in, in units of the promised sigma^2."""

    def __init__(self, arguments):
        self.name, self.sigma = promised(arguments)
        self.pulled: dict[int, tuple[int, float]] = {}  # arm: its pulls and their mean
        self.squares = self.blur = 0.0  # W / sigma^2 and how far rounding may have moved it
        self.pulls = self.df = 0
        self.binary = True  # all rewards 0 or 1
        self.said: set[str] = set()

    def take(self, sample):
        """Add a Sample."""
        if self.sigma:
            for arm in np.flatnonzero(sample.counts).tolist():
                self._add(arm, int(sample.counts[arm]), float(sample.sums[arm]), float(sample.squares[arm]))

    def _add(self, arm, n, total, square):
        """Add n pulls of an arm: squares within them, and about their mean and that of the pulls before."""
        before, mean = self.pulled.get(arm, (0, 0.0))
        step = total / n - mean
        inside = max(square - total * (total / n), 0.0) if n > 1 else 0.0
        between = step * step * before * n / (before + n)
        self.squares += (inside + between) / self.sigma / self.sigma
        self.blur += rounding(n, square) / self.sigma / self.sigma
        self.pulled[arm] = before + n, mean + step * n / (before + n)
        self.binary = self.binary and square == total
        self.pulls += n
        self.df += n if before else n - 1

    def message(self):
        """What to warn of now, or None."""
        if not self.sigma or not self.df:
            return None
        if "above" not in self.said and log_evidence(self.pulls, self.squares - self.blur) > -log(ALPHA):
            self.said.add("above")
            return self._above()
        if "below" not in self.said and self._is_below():
            self.said.add("below")
            return self._below()
        return None

    def _is_below(self):
        if self.name != "sigma" or self.df < LOW_DF or (self.binary and self.sigma <= 0.5):
            return False
        squares = self.squares + self.blur
        return squares < LOW**2 * self.df and bool(squares < LOW**2 * chi_square(LOW_LEVEL, self.df))

    def _above(self):
        return TOO_SMALL.format(scatter=self._scatter(), name=self.name)

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
    """What a sigma costs that is too large by 1 / ratio."""
    share = f"about {ratio**2:.0%}" if ratio > 0.1 else "less than 1 %"
    return f"Its answer is as sure as promised, but {share} of the measurements would do."


def promised(arguments):
    """The name and the value of the largest standard deviation that a rule's proof counts on; ("", 0.0) if none."""
    name = next((name for name in ("sigma", "sigma_max") if name in arguments), "")
    if not name or "delta" not in arguments:
        return "", 0.0
    try:
        sigma = float(np.max(np.asarray(arguments[name], dtype=float)))
    except (TypeError, ValueError):
        return "", 0.0
    return (name, sigma) if isfinite(sigma) and sigma > 0 else ("", 0.0)


def log_evidence(pulls, squares):
    """The logarithm of the mixture against "sigma is right", or 0 where it is below 1; squares: W / sigma^2."""
    s, c = squares / 2, pulls / 2 + 1
    if s <= pulls / 2:
        return 0.0
    if not s < 1e300:  # also NaN, of sums that overflow
        return inf
    return float(s - c * log(s) + gammaln(c) + np.log(gammainc(c, s)))


MOST = 10**12  # degrees of freedom


def sigma_upper(sample, delta):
    """An upper confidence bound of the noise's standard deviation, from a pilot: what to tell a rule as `sigma`.

    Parameters
    ----------
    sample : Sample
        The pilot: rewards of pulls whose numbers were fixed beforehand, at least one arm twice (arms may differ in
        their means in any way).
    delta : float
        Probability, in (0, 1), with which the bound may be too small: a share of the rule's.

    Returns
    -------
    float
        Square root of W / q: W the squares within arms, q the delta-quantile of chi-square with pulls - arms degrees of
        freedom. In units of reward.

    Raises
    ------
    ValueError
        If no arm was pulled twice, if all replicates are equal (nothing bounds the noise then), for sums that are not
        finite, and for delta.

    Notes
    -----
    It holds with probability 1 - delta for Gaussian noise, equal on all arms, and counts fixed beforehand. (The data of
    a rule that chose its pulls by looking are no pilot; its first batch is.) Then `rage(arms, sigma=sigma_upper(pilot,
    share * delta), delta=(1 - share) * delta)` is wrong with probability at most delta in all: given the pilot, whose
    noise is independent of what the rule meets, the rule is wrong with probability at most (1 - share) delta wherever
    the bound holds, and it fails with probability share * delta (a union bound). The pilot's own rewards must not be
    told to the rule again. Noise that differs between arms needs a bound for the noisiest: a pilot, and a share, of
    each.

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
            "no arm was pulled twice, and only replicates tell noise from differences between arms: "
            "pull an arm again (pilot_size says how often)"
        )
    if squares <= blur:
        raise ValueError(
            "all replicates of an arm are equal, so nothing bounds the noise: if the instrument rounds, give the step "
            "of its last digit as sigma; if rewards are far from 0, subtract the same number from all"
        )
    return float(np.sqrt((squares + blur) / chi_square(delta, df)))


def pilot_size(factor, delta, *, n_arms=1, chance=0.9):
    """Pulls of a pilot after which `sigma_upper` is at most `factor` times the true standard deviation.

    Parameters
    ----------
    factor : float
        What the bound may be too large by, above 1. A rule pulls factor^2 times as often as with the true sigma.
    delta : float
        Error probability of the bound, in (0, 1), as for `sigma_upper`.
    n_arms : int, default 1
        Number of arms that the pilot is spread over; of each the first pull tells nothing of the noise.
    chance : float, default 0.9
        Probability, in (0, 1), that the bound is so small.

    Returns
    -------
    int
        Pulls in all: the least df with q(chance) <= factor^2 q(delta), of chi-square quantiles, and `n_arms`.

    Raises
    ------
    ValueError
        For a factor of 1 or less, or so near to 1 that no pilot will do, and for probabilities outside (0, 1).

    Notes
    -----
    The bound is at most factor * sigma when W / sigma^2 <= factor^2 q(delta), and W / sigma^2 is chi-square.

    Examples
    --------
    >>> pilot_size(1.5, 0.01), pilot_size(1.2, 0.01), pilot_size(1.5, 0.01, n_arms=12)
    (45, 205, 56)
    """
    delta, chance = check_delta(delta), _check_chance(chance)
    if not (isinstance(factor, int | float | np.number) and 1 < factor < np.inf):
        raise ValueError(f"factor must be above 1 (the bound over the true sigma); got {factor!r}: 1.2 is a good pilot")
    if not isinstance(n_arms, int | np.integer) or n_arms < 1:
        raise ValueError(f"n_arms must be a whole number of at least 1; got {n_arms!r}")

    def enough(df):
        return bool(chi_square(chance, df) <= factor**2 * chi_square(delta, df))

    if not enough(MOST):
        raise ValueError(f"factor {factor} would need a pilot of more than {MOST:.0e} pulls: take 1.05 or more")
    return bisect_left(range(1, MOST), True, key=enough) + 1 + int(n_arms)


def _check_chance(chance):
    if not isinstance(chance, int | float | np.number) or not 0 < chance < 1:
        raise ValueError(f"chance must lie strictly between 0 and 1 (that the pilot is as good); got {chance!r}")
    return float(chance)
