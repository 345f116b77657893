"""A pilot: replicates made before an experiment, to bound the noise that its rule has to be told of as `sigma`."""

from bisect import bisect_left

import numpy as np

from bandits_lib.checks import check_delta
from bandits_lib.lab.replicates import chi_square, within

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
