"""HEAD: heteroskedasticity estimation by adaptive designs (Weltz, Fiez, Volfovsky, Laber, Mason, Nassif, Jain 2023).

Departures:
- Exactly `budget` pulls are made; the paper's ceil(lambda_x Gamma / 2) can add up to more.
- Line 13 returns Sigma alone; here the clipped standard deviations come with it. `share` may differ from one half.
- Sigma need not be identified: design and regression use the span of the phi's (`variance.quadratic`).

`burn_in("theory", ...)` returns a Gamma for which, with probability 1 - delta / 2, sigma_x^2 <= 3/2 sigma_hat_x^2 for
all arms, as Lemma E.1 needs. D.2 bounds every |sigma_hat_x^2 - sigma_x^2| by A + B + C, with L = log(12 |X| / delta)
and S = 1 + 6 epsilon:
    A = 4 S d L sigma_max^2 / Gamma,    B = sigma_max^2 sqrt(128 S d^2 L / Gamma),
    C = 4 S sigma_max^2 sqrt(40 d^3 L (d log 6 + L)) / Gamma.
Departures of `burn_in`:
- L is in all three terms, for all arms at once, and C is doubled: its last display lacks a factor of 2.
- A + B + C <= sigma_min^2 / 2 suffices for clipped estimates; without clipping, sigma_min^2 / 3 would be needed.
- The other branch of the maximum in B, 16 S d^2 L sigma_max^2 / Gamma, is larger only below 2 S d^2 L pulls.
"""

from collections.abc import Callable
from math import ceil, floor, log, sqrt

import numpy as np

from bandits_lib.checks import check_arms, check_budget, check_delta, check_option
from bandits_lib.design import g_design, round_design
from bandits_lib.numerics.least_squares import least_squares
from bandits_lib.numerics.linear_algebra import along, product, squares, transposed
from bandits_lib.protocol import Algorithm, Result, Round, rule
from bandits_lib.variance.quadratic import check_bounds, estimate, features, fit_quadratic, isometric, squared_residuals

FORMS = ("theory", "printed", "paper", "code")
SLACK = 1 + 6 / 60  # 1 + 6 epsilon, for rounding, as in the published code
PER_ATOM = 21  # pulls of a stage per atom of its design; rounding and a 0.1 % certificate then cost less than SLACK


@rule(label="HEAD")
def head(
    arms: np.ndarray,
    *,
    budget: int,
    sigma_min: float,
    sigma_max: float,
    share: float = 0.5,
    design: Callable = g_design,
) -> Algorithm:
    """Estimate the variances of the arms by two G-designs, for means and for variances (weltz2023, Algorithm 1).

    It yields pulls and raises errors as `gse` does, also if the budget leaves an arm of a design without a pull (the
    message gives the smallest budget). The recommendation is a `VarianceEstimate`. A Round is one of the
    two stages; its `width` is the largest standard error if all noise has standard deviation sigma_max.

    Parameters
    ----------
    arms : (K, d) array_like
        Arms that can be pulled.
    budget : int
        Number of pulls; the rule makes all of them.
    sigma_min, sigma_max : float
        Bounds on the standard deviations of the arms; the estimates are clipped to them.
    share : float
        Share in (0, 1) of the pulls that estimate theta, rounded down; the paper has one half.
    design : callable
        Function (vectors (K, n)) -> `Design`, called with the arms, then with their phi.

    Examples
    --------
    >>> from bandits_lib import LinearBandit, play
    >>> problem = LinearBandit(np.eye(2), theta=[1.0, 0.5], sigma=[0.5, 1.2])
    >>> rule = head(problem.arms, budget=3000, sigma_min=0.3, sigma_max=2.0)
    >>> play(rule, problem, np.random.default_rng(0)).result.recommendation.sigma.round(1).tolist()
    [0.5, 1.2]
    """
    arms, (sigma_min, sigma_max) = check_arms(arms), check_bounds(sigma_min, sigma_max)
    lam, lam_dagger = design(arms), design(features(arms))  # lines 4 and 9
    first, second = stages(budget, share, np.count_nonzero(lam.weights), np.count_nonzero(lam_dagger.weights))

    sample = yield round_design(lam.weights / lam.weights.sum(), first)  # line 5
    fit = least_squares(arms, sample)  # line 7
    width = sigma_max * np.sqrt(fit.variances(arms).max())
    all_arms = np.arange(len(arms))
    stage_1 = Round.of(1, all_arms, sample, lam, width, fit.theta_hat)

    sample = yield round_design(lam_dagger.weights / lam_dagger.weights.sum(), second)  # line 10
    residuals = squared_residuals(along(arms, fit.theta_hat), sample)
    quadratic = fit_quadratic(arms, sample.counts, residuals)  # lines 12 and 13
    width = sigma_max**2 * np.sqrt(2 * squares(product(isometric(arms), transposed(quadratic.root))).max())
    stage_2 = Round.of(2, all_arms, sample, lam_dagger, width, fit.theta_hat)
    estimated = estimate(arms, quadratic, stage_1.counts + stage_2.counts, sigma_min, sigma_max)
    return Result(estimated, (stage_1, stage_2))


def stages(budget, share, atoms, atoms_of_phi):
    """Return the pulls of the two stages, each enough for the arms of its design."""
    if not 0 < share < 1:
        raise ValueError(f"share must lie strictly between 0 and 1 (share of pulls for theta); got {share}: use 0.5")
    least = ceil(max(atoms / share, atoms_of_phi / (1 - share)) - 1e-9)
    why = f"the designs of the two stages have {atoms} and {atoms_of_phi} arms; h_rage has burn_in as its budget"
    budget = check_budget(budget, least, why)
    first = floor(share * budget + 1e-9)
    return first, budget - first


def burn_in(form: str, *, K: int, d: int, sigma_min: float, sigma_max: float, delta: float) -> int:
    """Return the pulls after which sigma_x^2 is at most 3/2 of its clipped estimate, for all arms (weltz2023, D.2).

    Parameters
    ----------
    form : {"theory", "printed", "paper", "code"}
        Formula, taken from appendix D.2 or the published code; see Notes.
    K, d : int
        Number and dimension of the arms.
    sigma_min, sigma_max, delta : float
        As for `h_rage`.

    Returns
    -------
    int
        Number of pulls.

    Notes
    -----
    "theory" solves kappa (A + B + C) = sigma_max^2 / 2 (head of this module): the fewest pulls with a general proof.
    The others are c (1 + 6 epsilon) kappa^2 d^2 times a logarithm, kappa = (sigma_max / sigma_min)^2, epsilon = 1 / 60:

    - "printed": c = 4 * 784 and log(12 K / delta), the second of two bounds in the appendix with 784 = 7^2 * 16.
    - "paper": c = 4 * 2000 and log(K / delta), from the end of the proof of Theorem 3.1 (D.2).
    - "code": c = 4 * 256 and log(12 / delta), truncated to an integer, as published: the first bound with 256 instead
      of 784. It is proved for clipped estimates
      and up to 190, 174 and 167 arms in the three experiments of the paper.

    Examples
    --------
    >>> setting = {"K": 9, "d": 4, "sigma_min": 1.0, "sigma_max": 2.5, "delta": 0.05}
    >>> [burn_in(form, **setting) for form in ("theory", "printed", "paper", "code")]
    [2765049, 16553474, 28561263, 3858369]
    """
    check_option("form", form, FORMS)
    delta, (low, high) = check_delta(delta), check_bounds(sigma_min, sigma_max)
    kappa, scale = (high / low) ** 2, 4 * SLACK * (high / low) ** 4 * d**2
    if form == "code":
        return int(256 * scale * log(12 / delta))
    if form == "theory":
        root, linear = _terms(K, d, delta)
        solved = ceil((kappa * (sqrt(root) + sqrt(root + 2 * linear / kappa))) ** 2)  # kappa (A + B + C) = 1/2
        M = d * (d + 1) // 2
        return max(solved, 2 * PER_ATOM * min(K, M * (M + 1) // 2))  # the most atoms of a design of the phi's
    return ceil(784 * scale * log(12 * K / delta) if form == "printed" else 2000 * scale * log(K / delta))


def error(pulls, *, K, d, delta):
    """Return A + B + C of appendix D.2, corrected, after `pulls` pulls, as a multiple of sigma_max^2."""
    L = log(12 * K / delta)
    root, linear = _terms(K, d, delta)
    return max(sqrt(root / pulls), 16 * SLACK * d**2 * L / pulls) + linear / pulls  # B, both branches, + (A + C)


def _terms(K, d, delta):
    """Return `root` and `linear`: over sigma_max^2, B = sqrt(root / n) and A + C = linear / n after n pulls."""
    L = log(12 * K / delta)
    return 128 * SLACK * d**2 * L, 4 * SLACK * (d * L + sqrt(40 * d**3 * L * (d * log(6) + L)))
