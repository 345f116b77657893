"""The small experiments of the simulated users: eight versions in four dimensions, and what is true of them."""

import numpy as np

from bandits_lib.design import xy_design
from bandits_lib.problem import LinearBandit

HALVES = np.array([[1, 1, 1, 1], [1, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1]]) / 2
ARMS = np.vstack([np.eye(4), HALVES])
NAMES = [f"version {letter}" for letter in "ABCDEFGH"]
DELTA, SIGMA = 0.1, 0.5
MACHINE = np.zeros(len(ARMS))  # by how much this machine computes other weights than the first


def design_here(arms, directions, **more):
    """`xy_design` as this machine computes it: weights that differ in the third digit, and a value that allows for it.

    Parameters
    ----------
    arms : (K, d) array
        Arms, one per row; the last of eight if arms were dropped.
    directions : (n, d) array
        As for `xy_design`.
    **more
        As for `xy_design`.

    Returns
    -------
    Design
        Weights off by up to .3 %, with a value that is .6 % larger, which bounds what they do.

    Examples
    --------
    >>> from bandits_lib.design import pairs
    >>> design_here(np.eye(2), pairs(np.eye(2))).weights.tolist()
    [0.5, 0.5]
    """
    found = xy_design(arms, directions, **more)
    weights = found.weights * (1 + MACHINE[: len(arms)])
    return found._replace(weights=weights / weights.sum(), value=found.value * (1 + 2 * np.abs(MACHINE).max()))


def world(rng, size=0.2, least=0.2, curved=0.0, odd=0.0, noise="gaussian"):
    """Eight versions in four dimensions whose best leads by `least`: a `LinearBandit`, or with `curved` none.

    Parameters
    ----------
    rng : numpy.random.Generator
        Draws the parameter.
    size, least : float
        Standard deviation of its entries and the smallest gap, in units of reward.
    curved : float, default 0.0
        Standard deviation of the coefficients of a quadratic form that is added to the means.
    odd : float, default 0.0
        What one version is better by than its features say, and so the best.
    noise : {"gaussian", "bernoulli"}, default "gaussian"
        Law of the rewards; 0 and 1 have means about 1/2.

    Returns
    -------
    LinearBandit
        The truth.

    Examples
    --------
    >>> bool(np.sort(world(np.random.default_rng(0)).gaps)[1] >= 0.2)
    True
    """
    arms = np.column_stack([ARMS, np.ones(len(ARMS))]) if noise == "bernoulli" else ARMS
    while True:
        theta = size * rng.standard_normal(4)
        form = curved * rng.standard_normal((4, 4))
        means = ARMS @ theta + np.einsum("ki,ij,kj->k", ARMS, form, ARMS) + 0.5 * (noise == "bernoulli")
        one = rng.integers(len(ARMS)) if odd else np.argmax(means)
        means[one] += odd
        inside = noise == "gaussian" or 0 < means.min() < means.max() < 1
        if inside and np.argmax(means) == one and np.subtract(*np.sort(means)[:-3:-1]) >= least:
            return LinearBandit(arms, means=means, sigma=SIGMA, noise=noise)
