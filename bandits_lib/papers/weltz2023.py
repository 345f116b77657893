"""Problems of weltz2023, section 5, called as `instances.three_arms` and so on.

The noise depends on the arm: sigma_x^2 = x'Sigma x with Sigma diagonal.
"""

from itertools import combinations, product

import numpy as np

from bandits_lib.checks import check_dimension, check_option, check_positive
from bandits_lib.numerics.linear_algebra import along
from bandits_lib.problem import LinearBandit


def three_arms(kappa: float, *, variances: str = "free", angle: float = 0.5) -> LinearBandit:
    """Return arms e_1, e_2 and (cos(angle), sin(angle)) with theta = e_1 and unequal noise: weltz2023 Figure 1.

    Parameters
    ----------
    kappa : float
        Largest variance divided by the smallest, at least 1.
    variances : {"free", "diagonal", "singular"}, default "free"
        Variances of the three arms, which the paper does not print. "free" is (1, kappa, 1), as the text describes; no
        Sigma has these variances for kappa above ((1 + cos) / sin)^2 = 15.3. "diagonal" is x'Sigma x with Sigma =
        diag(1, kappa). "singular" is x'Sigma x with Sigma = vv', v = (-1, sqrt(kappa)). It needs a kappa of at least
        ((1 + cos) / sin)^2; below that value, the third arm would have a variance below 1.
    angle : float, default 0.5
        Angle between the first and the third arm, in radians.

    Returns
    -------
    LinearBandit
        The problem, with arms (3, 2), of which row 0 is best.

    Examples
    --------
    >>> three_arms(4.0).sigma.tolist()
    [1.0, 2.0, 1.0]
    """
    check_option("variances", variances, ("free", "diagonal", "singular"))
    if not (np.isfinite(kappa) and kappa >= 1):
        raise ValueError(f"kappa must be at least 1 (largest over smallest variance); got {kappa}")
    c, s = np.cos(angle), np.sin(angle)
    if variances == "singular" and np.sqrt(kappa) * s < 1 + c:
        raise ValueError(f"kappa must be at least {((1 + c) / s) ** 2:.4g} for variances='singular'; got {kappa}")
    third = {"free": 1.0, "diagonal": c**2 + kappa * s**2, "singular": (np.sqrt(kappa) * s - c) ** 2}[variances]
    arms = np.array([[1.0, 0.0], [0.0, 1.0], [c, s]])
    return LinearBandit(arms, theta=[1.0, 0.0], sigma=np.sqrt([1.0, kappa, third]))


def two_spheres(d: int, rng: np.random.Generator, *, diagonal: str = "text", n: int = 2000) -> LinearBandit:
    """Return arms on two spheres, a tenth on radius 1, the rest on 0.1, with theta = (1, ..., 1): weltz2023 Figure 2.

    Parameters
    ----------
    d, rng : int, numpy.random.Generator
        Dimension, and the generator that draws the arms.
    diagonal : {"text", "code"}, default "text"
        Sigma is diag(1, 0.1, 1, ...) ("text") or diag(0.1, 1, 0.1, ...) ("code").
    n : int, default 2,000
        Number of arms, at least 10.

    Returns
    -------
    LinearBandit
        The problem, with arms (n, d), the long ones first.

    Examples
    --------
    >>> two_spheres(4, np.random.default_rng(0), n=50).arms.shape
    (50, 4)
    """
    check_option("diagonal", diagonal, ("text", "code"))
    check_dimension("d", d, 1)
    check_dimension("n", n, 10)
    arms = rng.standard_normal((n, d))
    arms /= np.linalg.norm(arms, axis=1, keepdims=True)
    arms[n // 10 :] *= 0.1
    Sigma = np.resize([1.0, 0.1] if diagonal == "text" else [0.1, 1.0], d)
    return LinearBandit(arms, theta=np.ones(d), sigma=np.sqrt(along(arms**2, Sigma)))


def signal_to_noise(d: int = 4, *, angle: float = 0.02, q: float = 0.4, estimation: str = "text") -> LinearBandit:
    """Return near-optimal arms and informative arms whose noise equals their length: weltz2023 Figure 3a.

    Parameters
    ----------
    d, angle, q : int, float, float
        Dimension, at least 4 (the default); angle between e_1 and the near-optimal arms in radians, 0.02 in the text,
        half a degree in the published code; length of the arms e_3, ..., e_d, by default 0.4.
    estimation : {"text", "code", "identified"}, default "text"
        Arms G, from which the variances are estimated. "text" is 0.5 (e_1 + e_2) + 0.1 e_3 and 0.5 (e_1 + e_2) +
        0.1 (e_3 + e_4); for d = 4 the K = 9 arms cannot span the M = 10 dimensions that the text claims. "code" adds a
        tenth arm that repeats cos(angle) e_1 + sin(angle) e_2 and is not an item. "identified" adds a tenth arm
        0.5 (e_1 + e_2) + 0.1 e_4, so that the arms span these dimensions.

    Returns
    -------
    LinearBandit
        The problem, with arms (K, d): e_1, e_2, q e_3, ..., q e_d, then cos(angle) e_1 + sin(angle) e_i, then G. Here
        theta = e_1, and Sigma is the identity, so that sigma_x is the length of x. Item 0 is the best.

    Examples
    --------
    >>> signal_to_noise().arms.shape
    (9, 4)
    """
    check_option("estimation", estimation, ("text", "code", "identified"))
    check_dimension("d", d, 4)
    basis = np.eye(d)
    lengths = np.where(np.arange(d) < 2, 1.0, check_positive("q", q))
    near = np.cos(angle) * basis[0] + np.sin(angle) * basis[1:]
    middle = 0.5 * (basis[0] + basis[1])
    items = np.vstack([basis * lengths[:, None], near, middle + 0.1 * basis[2], middle + 0.1 * (basis[2] + basis[3])])
    if estimation == "identified":
        items = np.vstack([items, middle + 0.1 * basis[3]])
    arms = np.vstack([items, near[0]]) if estimation == "code" else items
    return LinearBandit(arms, items, theta=basis[0], sigma=quadratic_sigma(arms, np.ones(d)))


def bent_benchmark(d: int = 3, *, angle: float = 0.02, alpha2: float = 1.0, beta2: float = 0.2) -> LinearBandit:
    """Return the benchmark with informative arms rotated by 45 degrees: weltz2023 experiment 2 (Figure 3b).

    Parameters
    ----------
    d, angle : int, float
        Dimension, at least 3 (the default), and the angle between the first two arms in radians, 0.02 in the text, half
        a degree in the published code.
    alpha2, beta2 : float
        Positive variances in Sigma = diag(alpha2, beta2, beta2, alpha2, ...), by default 1 and 0.2.

    Returns
    -------
    LinearBandit
        The problem, with arms (d + d(d-1)/2, d): e_1, cos(angle) e_1 + sin(angle) e_2, e_3, ..., e_d and (e_i + e_j) /
        sqrt(2) for i < j. Here theta = e_1, and item 0 is the best.

    Examples
    --------
    >>> bent_benchmark().sigma.round(2).tolist()
    [1.0, 1.0, 0.45, 0.77, 0.77, 0.45]
    """
    check_dimension("d", d, 3)
    basis = np.eye(d)
    near = np.cos(angle) * basis[0] + np.sin(angle) * basis[1]
    bent = [(basis[i] + basis[j]) / np.sqrt(2) for i, j in combinations(range(d), 2)]
    arms = np.vstack([basis[0], near, basis[2:], *bent])
    variances = np.full(d, check_positive("alpha2", alpha2))
    variances[1:3] = check_positive("beta2", beta2)
    return LinearBandit(arms, theta=basis[0], sigma=quadratic_sigma(arms, variances))


def multivariate_testing(*, effects: str = "text", coding: str = "reference", noise: float = 0.7) -> LinearBandit:
    """Return a multivariate test of two variations in three dimensions: weltz2023 experiment 3 (Figure 3c).

    Parameters
    ----------
    effects : {"text", "code"}, default "text"
        Main effects of the second variations: 0.01, 0.015, 0.02 ("text") or half of these values ("code"). Interactions
        are -0.1.
    coding : {"reference", "indicators"}, default "reference"
        "reference" has 7 features 1, w_j, w_j w_k of the second variations w in {0, 1}^3, like the printed theta and
        Sigma. "indicators" has a feature for each variation and pair, as the text defines x. These are 19 features of
        rank 7 (the text says 31), with the same rewards and noise.
    noise : float, default 0.7
        Variance of the first dimension's second variation: Sigma = diag(0.3, noise, 0.001, 0.001, ...).

    Returns
    -------
    LinearBandit
        The problem, with arms (8, 7) or (8, 19), w in lexicographic order.

    Examples
    --------
    >>> multivariate_testing().sigma.round(2).tolist()
    [0.55, 0.55, 0.55, 0.55, 1.0, 1.0, 1.0, 1.0]
    """
    check_option("effects", effects, ("text", "code"))
    check_option("coding", coding, ("reference", "indicators"))
    layouts = np.array(list(product((0.0, 1.0), repeat=3)))
    both = [layouts[:, i] * layouts[:, j] for i, j in combinations(range(3), 2)]
    arms = np.column_stack([np.ones(8), layouts, *both])
    main = np.array([0.01, 0.015, 0.02]) * (1.0 if effects == "text" else 0.5)
    theta = np.array([0.0, *main, -0.1, -0.1, -0.1])
    variances = np.array([0.3, check_positive("noise", noise), *[1e-3] * 5])
    sigma = quadratic_sigma(arms, variances)
    if coding == "indicators":
        arms, second = _indicators(layouts)
        wide = np.zeros(arms.shape[1])
        wide[second] = theta
        theta = wide
    return LinearBandit(arms, theta=theta, sigma=sigma)


def _indicators(layouts):
    """Return (8, 19) indicators of variations and of their pairs, and the (7,) columns that "reference" keeps."""
    single = np.stack([1 - layouts, layouts], axis=2)  # layout, dimension, variation
    pairs = product(combinations(range(3), 2), product((0, 1), repeat=2))
    paired = [single[:, i, a] * single[:, j, b] for (i, j), (a, b) in pairs]
    return np.column_stack([np.ones(8), single.reshape(8, 6), *paired]), [0, 2, 4, 6, 10, 14, 18]


def quadratic_sigma(arms, variances):
    """Return standard deviations with sigma_x^2 = x'Sigma x, for `variances` (d,) on the diagonal of Sigma (eq. 1)."""
    return np.sqrt(arms**2 @ np.asarray(variances, dtype=float))


def published_noise(problem: LinearBandit, told: str = "own") -> LinearBandit:
    """Return the problem of weltz2023's published code, which passes variances instead of standard deviations.

    Parameters
    ----------
    problem : LinearBandit
        The problem with the correct noise.
    told : {"own", "largest"}, default "own"
        Standard deviation of arm x: sigma_x^2 ("own", for H-RAGE after its burn-in and the heteroskedastic oracle) or
        sigma_max^2 ("largest", for RAGE and the homoskedastic oracle).

    Returns
    -------
    LinearBandit
        The problem with the arms, items and theta of `problem`, and the published noise.

    Examples
    --------
    >>> from bandits_lib import instances
    >>> published_noise(instances.bent_benchmark()).sigma.round(2).tolist()
    [1.0, 1.0, 0.2, 0.6, 0.6, 0.2]
    """
    check_option("told", told, ("own", "largest"))
    sigma = problem.sigma**2 if told == "own" else np.full(len(problem.arms), problem.sigma.max() ** 2)
    return LinearBandit(problem.arms, problem.items, problem.theta, sigma)
