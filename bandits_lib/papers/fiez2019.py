"""Problems of fiez2019, called as `instances.benchmark` and so on.

Options of `benchmark`, `sphere` and `many_arms` give the problems of azizi2022's sections 8.1, 8.3 and E.3. If text and
published code differ, an argument chooses between them. `rng` draws what is random; `sigma` is the standard deviation
of the noise, one for all arms or one for each arm; `angle` is in radians.
"""

from itertools import combinations, product

import numpy as np
from scipy.spatial import KDTree

from bandits_lib.checks import check_dimension, check_matrix, check_option, check_positive
from bandits_lib.numerics import linear_algebra
from bandits_lib.numerics.span import RANK_TOL, basis
from bandits_lib.numerics.ties import argmax, ranked
from bandits_lib.problem import LinearBandit


def benchmark(d: int, *, angle: float = 0.01, scale: float = 2.0, sigma: float | np.ndarray = 1.0) -> LinearBandit:
    """Return the benchmark of Soare et al. (2014): arms e_1, ..., e_d and x' = cos(angle) e_1 + sin(angle) e_2.

    fiez2019 section 5 (Figure 1a) has angle 0.01 and scale 2. azizi2022 section 8.1 has angle 0.1, scale 1 and
    sigma^2 = 10.

    Parameters
    ----------
    d, angle : int, float
        Dimension, at least 2, and the angle between e_1 and x', by default 0.01.
    scale : float, default 2.0
        Length of theta, which is scale times e_1.
    sigma : float or (d + 1,) array_like, default 1.0
        Standard deviation of the noise.

    Returns
    -------
    LinearBandit
        The problem, with arms (d + 1, d), of which row 0 is best.

    Examples
    --------
    >>> benchmark(2).arms.round(2).tolist()
    [[1.0, 0.0], [0.0, 1.0], [1.0, 0.01]]
    """
    check_dimension("d", d, 2)
    almost = np.zeros(d)
    almost[:2] = np.cos(angle), np.sin(angle)
    theta = np.zeros(d)
    theta[0] = check_positive("scale", scale)
    return LinearBandit(np.vstack([np.eye(d), almost]), theta=theta, sigma=sigma)


def many_arms(n: int, rng: np.random.Generator, angles: str, *, sigma: float | np.ndarray = 1.0) -> LinearBandit:
    """Return many arms in the plane with moderate gaps: fiez2019 Figure 1b, jedra2020 Table 1, azizi2022 E.3.

    Parameters
    ----------
    n, rng : int, numpy.random.Generator
        Number of arms, at least 3, and the generator that draws the angles of all arms but two.
    angles : {"code", "sd.09", "variance.09"}
        Distribution of the angles, in radians. "code" is 0.78 + U[0, 0.1] with (-0.707, 0.707) as the informative arm,
        as in the published code; the gap is about 0.289 for every n. "sd.09" is pi/4 + N(0, 0.09^2), as azizi2022 reads
        it. "variance.09" is pi/4 + N(0, 0.09), as the texts of fiez2019 and jedra2020 say; gaps fall to 1e-5 and below.
    sigma : float or (n,) array_like, default 1.0
        Standard deviation of the noise.

    Returns
    -------
    LinearBandit
        The problem with theta = e_1 and arms (n, 2): n - 2 drawn arms, then (1, 0), then the informative arm at 3 pi/4.

    Examples
    --------
    >>> many_arms(5, np.random.default_rng(0), "code").arms.round(2).tolist()
    [[0.66, 0.75], [0.69, 0.72], [0.71, 0.71], [1.0, 0.0], [-0.71, 0.71]]
    """
    check_dimension("n", n, 3)
    check_option("angles", angles, ("code", "sd.09", "variance.09"))
    if angles == "code":
        phi, informative = 0.78 + 0.1 * rng.random(n - 2), (-0.707, 0.707)
    else:
        spread = 0.09 if angles == "sd.09" else 0.3
        phi = np.pi / 4 + spread * rng.standard_normal(n - 2)
        informative = (np.cos(3 * np.pi / 4), np.sin(3 * np.pi / 4))
    arms = np.vstack([np.column_stack([np.cos(phi), np.sin(phi)]), (1.0, 0.0), informative])
    return LinearBandit(arms, theta=np.array([1.0, 0.0]), sigma=sigma)


def sphere(
    n: int,
    rng: np.random.Generator,
    *,
    d: int = 9,
    mix: float = 0.0,
    sigma: float | np.ndarray = 1.0,
    law: str = "sphere",
) -> LinearBandit:
    """Return arms uniform on the unit sphere, theta between the two closest: fiez2019 Figure 1c, azizi2022 section 8.3.

    Parameters
    ----------
    n, rng : int, numpy.random.Generator
        Number of arms, at least 2, and the generator that draws them.
    d : int, default 9
        Dimension, at least 1; 9 in fiez2019, 10 in azizi2022.
    mix : float, default 0.0
        Theta is x + mix (x' - x) for the two closest arms x, x'; 0 in fiez2019, 0.01 in azizi2022.
    sigma : float or (n,) array_like, default 1.0
        Standard deviation of the noise.
    law : {"sphere", "cube"}, default "sphere"
        Draw arms uniformly on the sphere, or uniformly on [-1, 1]^d and scaled to length 1, as in azizi2022's code.

    Returns
    -------
    LinearBandit
        The problem, with arms (n, d).

    Examples
    --------
    >>> problem = sphere(20, np.random.default_rng(0), d=3, mix=0.01)
    >>> problem.arms.shape, problem.best_item
    ((20, 3), 14)
    """
    check_dimension("n", n, 2)
    check_dimension("d", d, 1)
    check_option("law", law, ("sphere", "cube"))
    arms = rng.standard_normal((n, d)) if law == "sphere" else rng.uniform(-1, 1, (n, d))
    arms /= np.linalg.norm(arms, axis=1, keepdims=True)
    distance, neighbour = KDTree(arms).query(arms, k=2)
    first = int(np.argmin(distance[:, 1]))
    second = int(neighbour[first, 1])
    return LinearBandit(arms, theta=arms[first] + mix * (arms[second] - arms[first]), sigma=sigma)


def transductive(d: int, *, reading: str = "text", angle: float = 0.1, sigma: float | np.ndarray = 1.0) -> LinearBandit:
    """Return arms e_1, ..., e_D and items e_j, cos(angle) e_j + sin(angle) e_{j + D/2}, j <= D/2: fiez2019 Figure 1d.

    Parameters
    ----------
    d : int
        The d of the paper, at least 1, and even for reading="text".
    reading : {"text", "code"}, default "text"
        With "text", D = d. With "code", D = 2 d, because the published sweep has twice the dimensions that it names.
    angle : float, default 0.1
        Angle between an item and its rotated copy.
    sigma : float or (D,) array_like, default 1.0
        Standard deviation of the noise.

    Returns
    -------
    LinearBandit
        The problem, with arms (D, D), items (D, D), of which row 0 is best, and theta = e_1.

    Examples
    --------
    >>> transductive(2).items.round(2).tolist()
    [[1.0, 0.0], [1.0, 0.1]]
    """
    check_option("reading", reading, ("text", "code"))
    check_dimension("d", d, 2 if reading == "text" else 1)
    if reading == "text" and d % 2:
        raise ValueError(f"d must be even (half of the items are rotated copies of the other half); got {d}")
    dimension = d if reading == "text" else 2 * d
    half = dimension // 2
    basis = np.eye(dimension)
    rotated = np.cos(angle) * basis[:half] + np.sin(angle) * basis[half:]
    return LinearBandit(basis, np.vstack([basis[:half], rotated]), theta=basis[0], sigma=sigma)


def multivariate(
    D: int, rng: np.random.Generator, *, weights: str = "text", sigma: float | np.ndarray = 1.0
) -> LinearBandit:
    """Return a multivariate test of 2^D layouts w in {-1, 1}^D, with features 1, w_j and w_k w_l: fiez2019 Figure 2a.

    Parameters
    ----------
    D, rng : int, numpy.random.Generator
        Number of factors, at least 2; weights are drawn again until the best layout is unique (gap at least 1e-5).
    weights : {"text", "code"}, default "text"
        With "text", weights are uniform on the 0.01 grid in [-0.3, 0.3], and interactions are halved (alpha_2 = 0.5).
        With "code", they are uniform on the grid in [-0.10, 0.09], and only the first interaction is halved.
    sigma : float or (2^D,) array_like, default 1.0
        Standard deviation of the noise.

    Returns
    -------
    LinearBandit
        The problem, with arms (2^D, 1 + D + D(D-1)/2).

    Examples
    --------
    >>> multivariate(3, np.random.default_rng(0)).arms.shape
    (8, 7)
    """
    check_option("weights", weights, ("text", "code"))
    check_dimension("D", D, 2)
    layouts = np.array(list(product((-1.0, 1.0), repeat=D)))
    interactions = [layouts[:, j] * layouts[:, k] for j, k in combinations(range(D), 2)]
    arms = np.column_stack([np.ones(len(layouts)), layouts, *interactions])
    halved = slice(D + 1, None) if weights == "text" else slice(D + 1, D + 2)
    low, high = (-30, 31) if weights == "text" else (-10, 10)
    while True:
        theta = rng.integers(low, high, arms.shape[1:]) / 100
        theta[halved] /= 2
        second, first = np.sort(linear_algebra.along(arms, theta))[-2:]
        if first - second >= 1e-5:
            return LinearBandit(arms, theta=theta, sigma=sigma)


def click_through(
    features: np.ndarray,
    theta: np.ndarray,
    rng: np.random.Generator,
    *,
    n: int = 40,
    min_gap: float = 0.01,
    tol: float = 1e-5,
) -> LinearBandit:
    """Return a problem with records of a click log as arms and Bernoulli rewards of mean x'theta: fiez2019 Figure 2b.

    The arms are the best record and n - 1 records that are worse by at least `min_gap`. They are drawn again until they
    are distinct and span the same space as all records; the published code requires rank 36.

    Parameters
    ----------
    features, theta, rng : (N, d) array_like, (d,) array_like, numpy.random.Generator
        Records, as `data.click_log` returns them, the regression on them, as `data.ridge` returns it, and the generator
        that draws the records.
    n, min_gap : int and float, default 40 and 0.01
        Number of arms, at least 2, and the smallest gap of those other than the best, in clicks per view.
    tol : float, default 1e-5
        A direction is dropped if the features' extent along it is below this share of their largest extent. Memberships
        add up to 1 only to six decimals, so 36 features span 25 dimensions and rounding errors.

    Returns
    -------
    LinearBandit
        The problem, with arms (n, r), the best first, and theta (r,), in orthonormal coordinates of the r directions
        that are left.

    Examples
    --------
    >>> from bandits_lib import data
    >>> log = data.click_log_stand_in(np.random.default_rng(0), records=2000)
    >>> problem = click_through(log.features, data.ridge(log.features, log.clicks), np.random.default_rng(1))
    >>> problem.arms.shape, problem.best_item
    ((40, 25), 0)
    """
    check_dimension("n", n, 2)
    features, theta = check_matrix("features", features), np.asarray(theta, dtype=float)
    squared, axes = linear_algebra.squared_extents(features)
    kept = squared > max(tol, RANK_TOL) ** 2 * squared.max()
    axes = axes[kept][ranked(-squared[kept])]
    arms, theta = linear_algebra.product(features, linear_algebra.transposed(axes)), linear_algebra.along(axes, theta)
    best = argmax(linear_algebra.along(arms, theta))
    others = np.flatnonzero(linear_algebra.along(arms[best] - arms, theta) >= min_gap)
    if len(others) < n - 1 or n < len(theta):
        raise ValueError(
            f"n = {n} needs {n - 1} records with a gap of at least {min_gap}, and there are {len(others)};"
            f" the arms must also span {len(theta)} dimensions: lower min_gap, or choose another n"
        )
    for _ in range(1_000):
        chosen = arms[np.append(best, rng.choice(others, n - 1, replace=False))]
        if len(np.unique(chosen, axis=0)) == n and basis(chosen).shape[1] == len(theta):
            return LinearBandit(chosen, theta=theta, noise="bernoulli")
    raise ValueError(f"no {n} records in 1,000 draws were distinct and spanned {len(theta)} dimensions: raise n")
