"""The benchmark problems of fiez2019, one function each; where text and published code differ, the caller says which.

Every function returns a LinearBandit with noise of standard deviation `sigma` (default 1). azizi2022's sections 8.1,
8.3 and E.3 are options of `benchmark`, `sphere` and `many_arms`. The names are those of `instances`, from which they
are meant to be called.
"""

from itertools import combinations, product

import numpy as np
from scipy.spatial import KDTree

from bandits_lib.checks import check_dimension, check_matrix, check_option, check_positive
from bandits_lib.numerics import ordered
from bandits_lib.numerics.axes import squared_extents
from bandits_lib.numerics.span import RANK_TOL, basis
from bandits_lib.numerics.ties import argmax, ranked
from bandits_lib.problem import LinearBandit


def benchmark(d, *, angle=0.01, scale=2.0, sigma=1.0):
    """The benchmark of Soare et al. (2014): e_1, ..., e_d and x' = cos(angle) e_1 + sin(angle) e_2, theta = scale e_1.

    fiez2019 section 5 (Figure 1a): angle .01, scale 2; azizi2022 section 8.1: angle .1, scale 1, sigma^2 = 10.
    d : dimension, at least 2; angle : radians; scale : |theta|; sigma : standard deviation of the noise.
    Returns a LinearBandit: arms (d + 1, d), best arm 0. Raises ValueError for d < 2.

    >>> benchmark(2).arms.round(2).tolist()
    [[1.0, 0.0], [0.0, 1.0], [1.0, 0.01]]
    """
    check_dimension("d", d, 2)
    almost = np.zeros(d)
    almost[:2] = np.cos(angle), np.sin(angle)
    theta = np.zeros(d)
    theta[0] = check_positive("scale", scale)
    return LinearBandit(np.vstack([np.eye(d), almost]), theta=theta, sigma=sigma)


def many_arms(n, rng, angles, *, sigma=1.0):
    """Many arms with moderate gaps, in the plane: fiez2019 Figure 1b, jedra2020 Table 1, azizi2022 E.3. theta = e_1.

    n : arms, at least 3; rng : draws the angles of all but two of them; sigma : standard deviation of the noise.
    angles : which instance:
    "code"        .78 + U[0, .1], then (1, 0) and (-.707, .707): the published code, and flat in n as the published
                  results are (gap .289 or so for every n);
    "sd.09"       pi/4 + N(0, .09^2) (azizi2022's reading);
    "variance.09" pi/4 + N(0, .09), fiez2019's and jedra2020's text: gaps fall to 1e-5 and below.
    Returns a LinearBandit: arms (n, 2): the many, then (1, 0), then the informative one. Raises ValueError for n < 3.

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


def sphere(n, rng, *, d=9, mix=0.0, sigma=1.0):
    """n arms uniform on the unit sphere; theta = x + mix (x' - x) for the two closest arms x, x'.

    fiez2019 Figure 1c: d = 9, mix 0 (theta = x); azizi2022 section 8.3: d = 10, mix .01.
    n, d : arms and dimension; rng : draws the arms; mix : share of the way to x'; sigma : standard deviation.
    Returns a LinearBandit: arms (n, d). Raises ValueError for n < 2 or d < 1.

    >>> problem = sphere(20, np.random.default_rng(0), d=3, mix=0.01)
    >>> problem.arms.shape, problem.best_item
    ((20, 3), 14)
    """
    check_dimension("n", n, 2)
    check_dimension("d", d, 1)
    arms = rng.standard_normal((n, d))
    arms /= np.linalg.norm(arms, axis=1, keepdims=True)
    distance, neighbour = KDTree(arms).query(arms, k=2)
    first = int(np.argmin(distance[:, 1]))
    second = int(neighbour[first, 1])
    return LinearBandit(arms, theta=arms[first] + mix * (arms[second] - arms[first]), sigma=sigma)


def transductive(d, *, reading="text", angle=0.1, sigma=1.0):
    """fiez2019 Figure 1d: arms e_1 ... e_D; items e_j and cos(angle) e_j + sin(angle) e_{j + D/2}, j <= D/2; theta e_1.

    d : the paper's d; reading "text": D = d, d even; "code": D = 2 d (the published sweep d = 20 ... 80 counts half);
    angle : radians; sigma : standard deviation.
    Returns a LinearBandit: arms (D, D), items (D, D); best item 0. Raises ValueError for d < 1, or d odd in the text's
    reading.

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


def multivariate(D, rng, *, weights="text", sigma=1.0):
    """Multivariate testing, fiez2019 Figure 2a: 2^D layouts w in {-1, 1}^D with features 1, w_j and w_k w_l.

    D : factors, at least 2; rng : draws the weights, again until the best layout is unique (gap at least 1e-5);
    weights "text": uniform on the .01 grid in [-.3, .3], interactions halved (alpha_2 = .5);
    "code": on the grid in [-.10, .09], only the first interaction halved.
    sigma : standard deviation of the noise.
    Returns a LinearBandit: arms (2^D, 1 + D + D(D-1)/2). Raises ValueError for D < 2.

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
        theta = rng.integers(low, high, arms.shape[1]) / 100
        theta[halved] /= 2
        second, first = np.sort(ordered.along(arms, theta))[-2:]
        if first - second >= 1e-5:
            return LinearBandit(arms, theta=theta, sigma=sigma)


def click_through(features, theta, rng, *, n=40, min_gap=0.01, tol=1e-5):
    """Click-through rates, fiez2019 Figure 2b: n records of a click log as arms, Bernoulli rewards of mean x'theta.

    The best record, and n - 1 at random among those worse by at least `min_gap`, drawn again until they are distinct
    and span what all records span (the published code asks for rank 36).

    features : (N, d), as `clicks.click_log` returns them; theta : (d,), the fit; rng : draws the records; n : arms;
    min_gap : in clicks per view.
    tol : directions in which the features extend less than `tol` times the farthest are dropped. Memberships of a user
        or article add up to 1 to six decimals, so 36 features span 25 dimensions and rounding errors: theta leaves
        these alone, but a rule would have to measure them. 0 keeps whatever double precision can hold.
    Returns a LinearBandit: arms (n, r), the best first, and theta (r,), in orthonormal coordinates of the r dimensions
    that are left.
    Raises ValueError for means outside [0, 1], fewer than n - 1 records with that gap, n < r, or 1,000 failed draws.

    >>> from bandits_lib import clicks
    >>> log = clicks.click_log_stand_in(np.random.default_rng(0), records=2000)
    >>> problem = click_through(log.features, clicks.ridge(log.features, log.clicks), np.random.default_rng(1))
    >>> problem.arms.shape, problem.best_item
    ((40, 25), 0)
    """
    check_dimension("n", n, 2)
    features, theta = check_matrix("features", features), np.asarray(theta, dtype=float)
    squared, axes = squared_extents(features)
    kept = squared > max(tol, RANK_TOL) ** 2 * squared.max()
    axes = axes[kept][ranked(-squared[kept])]
    arms, theta = ordered.product(features, ordered.transposed(axes)), ordered.along(axes, theta)
    best = argmax(ordered.along(arms, theta))
    others = np.flatnonzero(ordered.along(arms[best] - arms, theta) >= min_gap)
    if len(others) < n - 1 or n < len(theta):
        raise ValueError(
            f"n = {n} arms need {n - 1} records with a gap of {min_gap} or more, and must span {len(theta)} dimensions;"
            f" features hold {len(others)} such records: lower n or min_gap, or raise n"
        )
    for _ in range(1_000):
        chosen = arms[np.append(best, rng.choice(others, n - 1, replace=False))]
        if len(np.unique(chosen, axis=0)) == n and basis(chosen).shape[1] == len(theta):
            return LinearBandit(chosen, theta=theta, noise="bernoulli")
    raise ValueError(f"no {n} records in 1,000 draws were distinct and spanned {len(theta)} dimensions: raise n")
