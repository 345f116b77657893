"""Does a burn-in do what H-RAGE needs of it: every |sigma_hat_x^2 - sigma_x^2| <= sigma_hat_x^2 / 2 (weltz2023)?

That is the event of Lemma D.1, on which Lemmas E.1 and E.9 rest. Line 5 of Algorithm 2 prints half of sigma_x^2
instead, which is not enough: an estimate of half of the variance satisfies it, and sigma_x^2 is twice that estimate.
Measured by simulation on a problem whose variances are known; a rule could not do this.
"""

import numpy as np

from bandits_lib.checks import check_option
from bandits_lib.simulate.intervals import wilson_interval
from bandits_lib.simulate.play import play
from bandits_lib.variance._head import head

STEP = 2**0.25  # between one length tried and the next


def within_half(problem, estimate, half_of="estimate"):
    """Whether all variances of a VarianceEstimate are off by at most half.

    Parameters
    ----------
    problem : LinearBandit
        The truth.
    estimate : VarianceEstimate
        What a burn-in recommends.
    half_of : {"estimate", "truth"}, default "estimate"
        Half of sigma_hat_x^2, as the proof needs (Lemma D.1), or of sigma_x^2, as line 5 of Algorithm 2 prints.

    Returns
    -------
    bool
        True if every |sigma_hat_x^2 - sigma_x^2| is at most half of sigma_hat_x^2, or of sigma_x^2.

    Raises
    ------
    ValueError
        For an unknown `half_of`.

    Examples
    --------
    >>> from bandits_lib import LinearBandit
    >>> from bandits_lib.variance import VarianceEstimate
    >>> estimate = VarianceEstimate(np.array([1.1, 0.9]), np.eye(2), 2, np.array([50, 50]))
    >>> within_half(LinearBandit(np.eye(2), theta=[1.0, 0.5]), estimate)
    True
    """
    check_option("half_of", half_of, ("estimate", "truth"))
    found, true = estimate.sigma**2, problem.sigma**2
    return bool((np.abs(found - true) <= (found if half_of == "estimate" else true) / 2).all())


def one_burn_in(problem, budget, rng):
    """The VarianceEstimate of one simulated burn-in by HEAD, told the true bounds on sigma.

    Parameters
    ----------
    problem : LinearBandit
        The truth.
    budget : int
        Number of pulls.
    rng : numpy.random.Generator
        Draws the rewards.

    Returns
    -------
    VarianceEstimate
        What HEAD recommends.

    Examples
    --------
    >>> from bandits_lib import LinearBandit
    >>> problem = LinearBandit(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), theta=[1.0, 0.5])
    >>> one_burn_in(problem, 400, np.random.default_rng(0)).sigma.shape
    (3,)
    """
    rule = head(problem.arms, budget=budget, sigma_min=problem.sigma.min(), sigma_max=problem.sigma.max())
    result = play(rule, problem, rng).result
    assert result is not None
    return result.recommendation


def coverage(problem, budget, *, runs, seed=0, half_of="estimate"):
    """How often HEAD, told the true bounds on sigma, has all variances within half (weltz2023, Lemma D.1).

    Parameters
    ----------
    problem : LinearBandit
        The truth.
    budget : int
        Number of pulls of each burn-in.
    runs : int
        Number of burn-ins.
    seed : int, default 0
        Run r draws from SeedSequence(seed, spawn_key=(r,)), whatever the budget, so that two budgets see the same
        normals.
    half_of : {"estimate", "truth"}, default "estimate"
        As for `within_half`.

    Returns
    -------
    rate : float
        Share of the runs that cover.
    low, high : float
        Wilson's interval, of confidence 0.95.

    References
    ----------
    .. [1] Weltz, Fiez, Volfovsky, Laber, Mason, Nassif, Jain. "Experimental designs for heteroskedastic variance".
       NeurIPS 2023. Algorithm 2 and appendix D.

    Examples
    --------
    >>> from bandits_lib import LinearBandit
    >>> problem = LinearBandit(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), theta=[1.0, 0.5])
    >>> tuple(round(value, 2) for value in coverage(problem, 400, runs=20))
    (1.0, 0.84, 1.0)
    """
    right = 0
    for r in range(runs):
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(r,)))
        right += within_half(problem, one_burn_in(problem, budget, rng), half_of)
    return wilson_interval(right, runs)


def shortest_burn_in(problem, *, delta, runs, seed=0, half_of="estimate"):
    """The shortest burn-in that is seen to cover: the lower end of its coverage is at least 1 - delta / 2.

    Parameters
    ----------
    problem : LinearBandit
        The truth.
    delta : float
        Error probability allowed.
    runs : int
        Number of burn-ins per length.
    seed : int, default 0
        As for `coverage`.
    half_of : {"estimate", "truth"}, default "estimate"
        As for `within_half`.

    Returns
    -------
    int
        Number of pulls, one of 100 * 2^(k/4), k = 0, 1, ..., found by bisection.

    Raises
    ------
    ValueError
        If `runs` cannot show such a coverage.

    Notes
    -----
    A yardstick beside the lengths of `burn_in` (weltz2023, appendix D), no rule, since it needs the truth.

    References
    ----------
    .. [1] Weltz, Fiez, Volfovsky, Laber, Mason, Nassif, Jain. "Experimental designs for heteroskedastic variance".
       NeurIPS 2023. Appendix D.

    Examples
    --------
    >>> from bandits_lib import LinearBandit
    >>> problem = LinearBandit(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), theta=[1.0, 0.5])
    >>> shortest_burn_in(problem, delta=0.5, runs=20)
    100
    """
    if wilson_interval(runs, runs)[1] < 1 - delta / 2:
        raise ValueError(f"runs must be more than {runs} to show a coverage of {1 - delta / 2:.4g}: even all would not")
    simulated = {"runs": runs, "seed": seed, "half_of": half_of}
    low, high = -1, 16
    while coverage(problem, _length(high), **simulated)[1] < 1 - delta / 2:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        covers = coverage(problem, _length(middle), **simulated)[1] >= 1 - delta / 2
        low, high = (low, middle) if covers else (middle, high)
    return _length(high)


def _length(k):
    return round(100 * STEP**k)
