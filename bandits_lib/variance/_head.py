"""HEAD: heteroskedasticity estimation by adaptive designs (Weltz, Fiez, Volfovsky, Laber, Mason, Nassif, Jain 2023).

Departures:
- Exactly `budget` pulls are made: `round_design` rounds both halves, where ceil(lambda_x Gamma / 2) adds up to more.
- Sigma need not be identified: design and regression live in the span of the phi's (`variance.quadratic`).
"""

from collections.abc import Callable, Generator
from math import ceil, floor
from typing import Any

import numpy as np

from bandits_lib.checks import check_arms, check_budget, check_told
from bandits_lib.design import g_design, round_design
from bandits_lib.numerics.least_squares import least_squares
from bandits_lib.numerics.linear_algebra import along, product, squares, transposed
from bandits_lib.protocol import Result, Round
from bandits_lib.rules import ENTRIES, After, rule
from bandits_lib.variance.quadratic import check_bounds, estimate, features, fit_quadratic, isometric, squared_residuals


@rule(label="HEAD", guarantee=After("", ENTRIES))
def head(
    arms: np.ndarray,
    *,
    budget: int,
    sigma_min: float,
    sigma_max: float,
    share: float = 0.5,
    design: Callable = g_design,
) -> Generator[Any, Any, Result]:
    """Estimate the variances of the arms by two G-designs, for means and for variances (weltz2023, Algorithm 1).

    Parameters
    ----------
    arms : (K, d) array_like
        Arms that can be pulled.
    budget : int
        Number of pulls; all are made.
    sigma_min, sigma_max : float
        Bounds on the standard deviations of the arms; the estimates are clipped to them.
    share : float
        Share of the pulls, in (0, 1), that estimate theta (rounded down); the paper's half is generous.
    design : callable
        Function (vectors (K, n)) -> `Design`, called with the arms, then with their phi.

    Yields
    ------
    (K,) int array
        Pulls to make next, answered with a `Sample`. Returns a `Result`: the `VarianceEstimate`, and one `Round` a
        stage, whose `width` is the largest standard error that a noise of sigma_max allows.

    Raises
    ------
    ValueError
        For bad input, and for a budget that leaves an arm of a design without a pull (it names the smallest).

    Examples
    --------
    >>> from bandits_lib import LinearBandit, play
    >>> problem = LinearBandit(np.eye(2), theta=[1.0, 0.5], sigma=[0.5, 1.2])
    >>> rule = head(problem.arms, budget=3000, sigma_min=0.3, sigma_max=2.0)
    >>> play(rule, problem, np.random.default_rng(0)).result.recommendation.sigma.round(1).tolist()
    [0.5, 1.2]
    """
    arms, (sigma_min, sigma_max) = check_arms(arms), check_bounds(sigma_min, sigma_max)
    lam, dagger = design(arms), design(features(arms))  # lines 4 and 9
    first, second = stages(budget, share, np.count_nonzero(lam.weights), np.count_nonzero(dagger.weights))

    asked = round_design(lam.weights / lam.weights.sum(), first)
    sample = yield asked  # line 5
    check_told(asked, sample, arms, arms)
    mean = least_squares(arms, sample)  # line 7
    error = sigma_max * np.sqrt(mean.variances(arms).max())
    everything = np.arange(len(arms))
    stage_1 = Round(1, everything, sample.counts, lam.value, lam.lower_bound, float(error), mean.theta_hat)

    asked = round_design(dagger.weights / dagger.weights.sum(), second)
    sample = yield asked  # line 10
    check_told(asked, sample, features(arms), features(arms))
    fit = fit_quadratic(arms, sample.counts, squared_residuals(along(arms, mean.theta_hat), sample))  # lines 12, 13
    error = sigma_max**2 * np.sqrt(2 * squares(product(isometric(arms), transposed(fit.root))).max())
    stage_2 = Round(2, everything, sample.counts, dagger.value, dagger.lower_bound, float(error), mean.theta_hat)
    found = estimate(arms, fit, stage_1.counts + stage_2.counts, sigma_min, sigma_max)
    return Result(found, (stage_1, stage_2))


def stages(budget, share, atoms, atoms_of_phi):
    """Pulls of the two stages, each enough for the arms of its design."""
    if not 0 < share < 1:
        raise ValueError(f"share must lie strictly between 0 and 1 (of the pulls, for theta); got {share}: use 0.5")
    least = ceil(max(atoms / share, atoms_of_phi / (1 - share)) - 1e-9)
    why = f"its stages measure {atoms} and {atoms_of_phi} arms"
    budget = check_budget(budget, least, why)
    first = floor(share * budget + 1e-9)
    return first, budget - first
