"""A Gaussian process on a finite set of arms: its kernels, and its posterior, kept pull by pull for O(K^2)."""

from typing import NamedTuple

import numpy as np
from numba import njit
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import pdist, squareform

from bandits_lib.checks import check_matrix, check_option, check_positive
from bandits_lib.numerics.kernels import forward, inlined, regularised_cholesky

KERNELS = ("linear", "exponential", "matern")
REFRESH = 1_000  # pulls between two fresh posteriors
SAME = 1e-12  # eigenvalues that differ by less, relative to the largest, are equal up to rounding


class Posterior(NamedTuple):
    """The posterior of the values of K arms."""

    prior: np.ndarray  # (K, K), covariance of the values before any pull
    sums: np.ndarray  # (K,), of rewards
    mean: np.ndarray  # (K,)
    covariance: np.ndarray  # (K, K)
    column: np.ndarray  # (K,), scratch
    noise: float  # variance of a reward


def posterior(prior, noise, sample):
    """The `Posterior` after a first Sample, from a prior covariance (K, K) and the variance of the noise."""
    K, sums = len(prior), sample.sums.astype(float)
    fit = Posterior(np.ascontiguousarray(prior), sums, np.empty(K), np.empty((K, K)), np.empty(K), float(noise))
    refresh(fit, sample.counts.astype(np.int64))
    return fit


@njit(cache=True, error_model="numpy")
def refresh(fit, counts):
    """Compute the posterior afresh: C = P - W'W, LL' = noise I + D P D, W = L^-1 D P, with D = diag(counts)^(1/2)."""
    prior, K = fit.prior, len(counts)
    inner, factor, W = np.empty((K, K)), np.empty((K, K)), np.empty((K, K))
    for i in range(K):
        for k in range(K):
            W[i, k] = np.sqrt(counts[i]) * prior[i, k]
            inner[i, k] = W[i, k] * np.sqrt(counts[k])
        inner[i, i] += fit.noise
    regularised_cholesky(inner, factor)
    forward(factor, W)
    for i in range(K):
        fit.mean[i] = 0.0
        for k in range(K):
            fit.covariance[i, k] = prior[i, k]
    for j in range(K):
        for i in range(K):
            for k in range(K):
                fit.covariance[i, k] -= W[j, i] * W[j, k]
    for i in range(K):
        for k in range(K):
            fit.mean[k] += fit.covariance[i, k] * (fit.sums[i] / fit.noise)


@njit(cache=True, forceinline=True, error_model="numpy")
def learn(state, arm, reward):
    """Tell one reward of `arm` to state.fit, and count it in state.counts (K,) and in the pulls of state.now."""
    fit, now = state.fit, state.now
    state.counts[arm] += 1
    now.pulls += 1
    fit.sums[arm] += reward
    if now.pulls % REFRESH == 0:
        refresh(fit, state.counts)
    else:
        shift(fit, arm, reward)


@inlined
def shift(fit, arm, reward):
    """One reward of `arm` by a rank-one update."""
    mean, covariance, column = fit.mean, fit.covariance, fit.column
    scale = 1 / (covariance[arm, arm] + fit.noise)
    surprise = (reward - mean[arm]) * scale
    for k in range(mean.shape[0]):
        column[k] = covariance[arm, k]
        mean[k] += surprise * column[k]
    for k in range(mean.shape[0]):
        weight = column[k] * scale
        if weight != 0.0:
            for i in range(mean.shape[0]):
                covariance[k, i] -= weight * column[i]


def covariance_of(arms, kernel, length, formula="paper", rng=None):
    """(K, K) covariance of the values of arms (K, d), told as to `bayes_gap`."""
    if isinstance(kernel, str):
        check_option("kernel", kernel, KERNELS)
        if kernel == "linear":
            return arms @ arms.T
        covariance = _by_distance(arms, kernel, length)
    else:
        covariance = _check_covariance(kernel, len(arms))
    if formula == "paper":
        return covariance
    if isinstance(kernel, str) and kernel == "matern":
        return covariance @ covariance.T
    return loosened(covariance, rng)


def _by_distance(arms, kernel, length):
    """(K, K) covariance by the exponential or the Matern kernel."""
    if length is None:
        raise ValueError(f"length must be given for kernel={kernel!r}, in units of the arms; got None")
    length, distances = check_positive("length", length), squareform(pdist(arms))
    if kernel == "exponential":
        return np.exp(-(distances**2) / length)
    near = np.sqrt(3) * distances / length
    return (1 + near) * np.exp(-near)


def loosened(covariance, rng):
    """Covariance (K, K) of the features V D^(1/2) of a covariance, V by np.linalg.eig, which knows of no symmetry.

    It is the covariance itself, but where eigenvalues are equal: there that routine's vectors need not be orthogonal.
    Of an eigenspace of dimension m it finds m unit vectors that only rounding errors distinguish from others, and
    V D V' has another covariance than the kernel: some arms are less certain than others for no reason but their
    places. What these vectors are differs from processor to processor; here they are drawn, each uniformly from the
    unit sphere of its eigenspace. Arms that have no covariance with others are parted before, as that routine does.
    """
    found = covariance.copy()
    for block in _blocks(covariance):
        values, axes = np.linalg.eigh(covariance[np.ix_(block, block)])
        for equal in np.split(np.arange(len(values)), 1 + np.flatnonzero(np.diff(values) > SAME * values[-1])):
            if len(equal) > 1 and values[equal[-1]] > SAME * values[-1]:
                found[np.ix_(block, block)] += values[equal].mean() * _strayed(axes[:, equal], rng)
    return found


def _blocks(covariance):
    """The rows that are linked by a covariance other than 0, block by block."""
    count, label = connected_components(covariance != 0, directed=False)
    return [np.flatnonzero(label == block) for block in range(count)]


def _strayed(axes, rng):
    """W W' - A A' (n, n): m unit vectors W of the span of the orthonormal axes A (n, m), in place of these."""
    if rng is None:
        raise ValueError(
            "rng must be given for formula='code' and a kernel with equal eigenvalues, whose eigenvectors are drawn; "
            "got None"
        )
    across = axes @ axes.T
    drawn = across @ rng.standard_normal(axes.shape)
    drawn /= np.sqrt((drawn**2).sum(axis=0))
    return drawn @ drawn.T - across


def _check_covariance(kernel, K):
    """A covariance (K, K) that was given, symmetric and without negative eigenvalues, or a ValueError."""
    covariance = check_matrix("kernel", kernel)
    if covariance.shape != (K, K) or not np.allclose(covariance, covariance.T, rtol=1e-9, atol=1e-12):
        raise ValueError(
            f"kernel must be one of {', '.join(KERNELS)} or a symmetric ({K}, {K}) covariance matrix of the arms; "
            f"got shape {covariance.shape}"
        )
    values = np.linalg.eigvalsh(covariance)
    if values[0] < -1e-9 * max(values[-1], 1e-300):
        raise ValueError(f"kernel must have no negative eigenvalue, being a covariance; got {values[0]:.3g}")
    return covariance
