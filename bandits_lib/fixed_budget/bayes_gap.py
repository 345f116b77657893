"""BayesGap: gap-based exploration with a Gaussian process (Hoffman, Shahriari and de Freitas 2014, Algorithm 1).

The index of arm k is B_k = max_{i != k} U_i - L_k with U_k = mu_k + beta s_k and L_k = mu_k - beta s_k. J is the arm of
smallest index, and j is its best rival. The rule pulls the less certain of the two. It recommends the J whose index was
the smallest at any pull. Here
    beta^2 = ((T - K) / sigma^2 + kappa / eta^2) / (4 H),   kappa = sum_k k(x_k, x_k)^-1,
    H = sum_k max((Delta_k + epsilon) / 2, epsilon)^-2,
and the gaps Delta_k are estimated by max_{i != k} (mu_i + 3 s_i) - (mu_k - 3 s_k). The error bound K T exp(-beta^2 / 2)
(azizi2022, Azizi et al., D.1) does not cover estimated gaps. Departures:
- Every arm is pulled once before the rule begins, as in azizi2022. The index is computed after the last pull, too.
- formula="code" repeats the published code of azizi2022. It has variances s^2 instead of standard deviations s, beta
  without its square root, and H as a sum of max(.). For the Matern kernel, features are the rows of the kernel matrix;
  for the other kernels, they come from eigenvectors by np.linalg.eig. If eigenvalues are equal, rounding errors decide
  the eigenvectors of the published code; here `rng` draws them.
"""

from typing import NamedTuple

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import pdist, squareform

from bandits_lib.checks import check_budget, check_matrix, check_noisy, check_option, check_positive, check_ridge
from bandits_lib.numerics.kernels import compiled, merged, record, regularised_cholesky, solve_transposed_in_place
from bandits_lib.numerics.ties import TIE, argmax
from bandits_lib.protocol import PULLS, Algorithm, Loop, Result, Row, rule

KERNELS = ("linear", "exponential", "matern")
REFRESH = 1_000  # pulls between two fresh posteriors
SAME = 1e-12  # eigenvalues that differ by less than this share of the largest count as equal


class Posterior(NamedTuple):
    """Posterior of the values of K arms."""

    prior: np.ndarray  # (K, K), covariance of the values before any pull
    sums: np.ndarray  # (K,), of rewards
    mean: np.ndarray  # (K,)
    covariance: np.ndarray  # (K, K)
    column: np.ndarray  # (K,), scratch
    noise: float  # variance of a reward


def posterior(prior, noise, sample):
    """Return the `Posterior` after a first Sample, from a prior covariance (K, K) and the variance of the noise."""
    K = len(prior)
    fit = Posterior(
        prior=np.ascontiguousarray(prior),
        sums=sample.sums.astype(float),
        mean=np.empty(K),
        covariance=np.empty((K, K)),
        column=np.empty(K),
        noise=float(noise),
    )
    refresh(fit, sample.counts.astype(np.int64))
    return fit


@compiled
def refresh(fit, counts):
    """Compute the posterior afresh: C = P - W'W, R'R = noise I + D P D, W = R'^-1 D P, with D = diag(counts)^(1/2)."""
    prior, K = fit.prior, len(counts)
    inner, upper, W = np.empty((K, K)), np.empty((K, K)), np.empty((K, K))
    for i in range(K):
        for k in range(K):
            W[i, k] = np.sqrt(counts[i]) * prior[i, k]
            inner[i, k] = W[i, k] * np.sqrt(counts[k])
        inner[i, i] += fit.noise
    regularised_cholesky(inner, upper)
    solve_transposed_in_place(upper, W)
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


@merged
def learn(state, arm, reward):
    """Update state.fit, state.counts (K,) and state.status by one reward of `arm`."""
    fit, status = state.fit, state.status
    state.counts[arm] += 1
    status.pulls += 1
    fit.sums[arm] += reward
    if status.pulls % REFRESH == 0:
        refresh(fit, state.counts)
    else:
        shift(fit, arm, reward)


@merged
def shift(fit, arm, reward):
    """Update the posterior by one reward of `arm`, a rank-one update."""
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
    """Return the covariance (K, K) of the values of arms (K, d), for the arguments of `bayes_gap`."""
    if isinstance(kernel, str):
        check_option("kernel", kernel, KERNELS)
        if kernel == "linear":
            return arms @ arms.T
        covariance = covariance_by_distance(arms, kernel, length)
    else:
        covariance = check_covariance(kernel, len(arms))
    if formula == "paper":
        return covariance
    if isinstance(kernel, str) and kernel == "matern":
        return covariance @ covariance.T
    return published_covariance(covariance, rng)


def covariance_by_distance(arms, kernel, length):
    """Return the covariance (K, K) of the exponential or the Matern kernel."""
    if length is None:
        raise ValueError(f"length must be given for kernel={kernel!r}, in units of the arms; got None")
    length, distances = check_positive("length", length), squareform(pdist(arms))
    if kernel == "exponential":
        return np.exp(-(distances**2) / length)
    scaled = np.sqrt(3) * distances / length
    return (1 + scaled) * np.exp(-scaled)


def published_covariance(covariance, rng):
    """Return the covariance (K, K) of features V D^(1/2), V by np.linalg.eig; `rng` draws V for equal ones."""
    published = covariance.copy()
    count, label = connected_components(covariance != 0, directed=False)  # blocks of arms linked by nonzero covariances
    for block in (np.flatnonzero(label == k) for k in range(count)):
        values, axes = np.linalg.eigh(covariance[np.ix_(block, block)])
        for equal in np.split(np.arange(len(values)), 1 + np.flatnonzero(np.diff(values) > SAME * values[-1])):
            if len(equal) > 1 and values[equal[-1]] > SAME * values[-1]:
                published[np.ix_(block, block)] += values[equal].mean() * rotated_change(axes[:, equal], rng)
    return published


def rotated_change(axes, rng):
    """Return W W' - A A' (n, n), for unit vectors W drawn in the span of the orthonormal axes A (n, m)."""
    if rng is None:
        raise ValueError(
            "rng must be given for formula='code' and a kernel with equal eigenvalues, because their eigenvectors are "
            "drawn; got None: pass np.random.default_rng(seed)"
        )
    projection = axes @ axes.T
    eigenvectors = projection @ rng.standard_normal(axes.shape)
    eigenvectors /= np.sqrt((eigenvectors**2).sum(axis=0))
    return eigenvectors @ eigenvectors.T - projection


def check_covariance(kernel, K):
    """Return the given covariance (K, K), symmetric and without negative eigenvalues; refuse any other."""
    covariance = check_matrix("kernel", kernel)
    if covariance.shape != (K, K) or not np.allclose(covariance, covariance.T, rtol=1e-9, atol=1e-12):
        raise ValueError(
            f"kernel must be one of {', '.join(KERNELS)} or a symmetric ({K}, {K}) covariance matrix of the arms; got "
            f"shape {covariance.shape}: make it symmetric, with one row and column per arm"
        )
    values = np.linalg.eigvalsh(covariance)
    if values[0] < -1e-9 * max(values[-1], 1e-300):
        raise ValueError(f"kernel must have no negative eigenvalue (a covariance); got {values[0]:.3g}: correct it")
    return covariance


SPREAD = 3.0  # number of standard deviations in the estimate of the gaps
LEAST_GAP = 1e-6  # lower limit of estimated gaps


@rule(
    label="BayesGap",
    row=Row(
        PULLS,
        "rewards that are not linear in the features: a Gaussian process",
        "Hoffman et al. 2014",
        "none for gaps that are not known",
    ),
)
def bayes_gap(
    arms: np.ndarray,
    *,
    budget: int,
    sigma: float | np.ndarray = 1.0,
    kernel: str | np.ndarray = "linear",
    length: float | None = None,
    eta: float = 50.0,
    epsilon: float = 0.0,
    formula: str = "paper",
    rng: np.random.Generator | None = None,
) -> Algorithm:
    """Find the best arm with a fixed budget, by the index of Hoffman et al. (2014, Algorithm 1) on a Gaussian process.

    Parameters
    ----------
    arms, budget, sigma : (K, d) array_like, int, and float or (K,) array_like
        As for `gse`; the budget is at least K.
    kernel : {"linear", "exponential", "matern"} or (K, K) array_like
        Covariance of the values of arms x and z: x'z ("linear"), exp(-|x - z|^2 / length) ("exponential"), Matern's
        with smoothness 3/2, (1 + r) exp(-r) for r = sqrt(3) |x - z| / length ("matern"), or a matrix.
    length : float, optional
        Length of the exponential and the Matern kernel, in units of the arms (exponential: their square).
    eta, epsilon : float
        Standard deviation of the prior, and accepted distance from the best value (azizi2022: 50 and 0).
    formula : {"paper", "code"}
        Formulas of the paper, or of the published code with their errors (see the head of this file).
    rng : numpy.random.Generator, optional
        Generator that draws eigenvectors of equal eigenvalues; formula="code" needs it then.

    Yields
    ------
    (K,) int array or Loop
        As for `linucb`. A `Trace` has the statistic -B_J and the threshold 0.

    Examples
    --------
    >>> from bandits_lib import instances, play
    >>> problem = instances.benchmark(2, angle=1.0)
    >>> play(bayes_gap(problem.arms, budget=60), problem, np.random.default_rng(0)).result.recommendation
    0
    """
    arms, sigma = check_noisy(arms, sigma)
    check_option("formula", formula, ("paper", "code"))
    eta = check_positive("eta", eta)
    if not 0 <= epsilon < np.inf:
        raise ValueError(
            f"epsilon must be finite and at least 0 (accepted distance from the best value); got {epsilon}"
        )
    prior = covariance_of(arms, kernel, length, formula, rng)
    budget = check_budget(budget, len(arms), "one pull of each arm")
    if len(arms) == 1:
        return Result(0)
    if isinstance(kernel, str) and kernel == "linear":  # the posterior mean is ridge regression
        check_ridge(arms, (sigma / eta) ** 2, "sigma^2 / eta^2")

    sample = yield np.ones(len(arms), dtype=np.int64)
    variances = np.diag(prior)
    kappa = (1 / variances[variances > 0]).sum()  # azizi2022, D.1; an arm of prior variance 0 has a known value
    scale = (budget - len(arms)) / sigma**2 + kappa / eta**2  # azizi2022, D.1: numerator of the exponent
    state = State(
        counts=sample.counts.astype(np.int64),
        status=record(pulls=len(arms), due=budget, leader=0, rival=0, index=np.inf, answer=0, least=np.inf),
        fit=posterior(eta**2 * prior, sigma**2, sample),
        spread=np.empty(len(arms)),
        bounds=np.empty(len(arms)),
        scale=float(scale),
        epsilon=float(epsilon),
        code=formula == "code",
    )
    yield Loop(choose, learn, state, look)
    return Result(int(state.status.answer))


@merged
def choose(state):
    """Return the less certain of J and j; -1 at the budget."""
    status, spread = state.status, state.spread
    take_index(state)
    if status.pulls >= status.due:
        return -1
    return status.rival if spread[status.rival] > spread[status.leader] * (1 + TIE) else status.leader


@merged
def take_index(state):
    """Set J, j and B_J for this moment; the answer is the J of the smallest B_J so far."""
    status, mean, spread, index = state.status, state.fit.mean, state.spread, state.bounds
    for k in range(mean.shape[0]):
        variance = max(0.0, state.fit.covariance[k, k])
        spread[k] = variance if state.code else np.sqrt(variance)
    factor = beta(state)
    first, second = two_largest(mean, spread, factor, index)
    for k in range(mean.shape[0]):
        index[k] = mean[k] - factor * spread[k] - (mean[first] + factor * spread[first])  # L_k - max U_i = -B_k
    index[first] = mean[first] - factor * spread[first] - (mean[second] + factor * spread[second])
    status.leader = argmax(index)  # J, the arm of smallest B_k
    status.rival, status.index = second if status.leader == first else first, -index[status.leader]
    if status.least == np.inf or status.index < status.least - TIE * abs(status.least):
        status.least, status.answer = status.index, status.leader


@merged
def beta(state):
    """Return beta, the factor of the standard deviations, from the estimated gaps."""
    mean, spread, epsilon = state.fit.mean, state.spread, state.epsilon
    first, second = two_largest(mean, spread, SPREAD, state.bounds)
    hardness = 0.0
    for k in range(mean.shape[0]):
        other = second if k == first else first
        gap = mean[other] + SPREAD * spread[other] - (mean[k] - SPREAD * spread[k])
        half_gap = max(0.5 * (max(gap, LEAST_GAP) + epsilon), epsilon)  # azizi2022, D.1: H_epsilon
        hardness += half_gap if state.code else 1 / (half_gap * half_gap)
    squared = state.scale / (4 * hardness)
    return squared if state.code else np.sqrt(squared)


@merged
def two_largest(mean, spread, factor, bounds):
    """Return the arms of largest and second largest mean + factor spread, first of ties; bounds : (K,), scratch."""
    for k in range(bounds.shape[0]):
        bounds[k] = mean[k] + factor * spread[k]
    first = argmax(bounds)
    bounds[first] = -np.inf
    return first, argmax(bounds)


class State(NamedTuple):
    counts: np.ndarray  # (K,)
    # pulls; due, the budget; leader J, rival j and index B_J; answer, the J of the smallest B_J so far; least, that
    # B_J
    status: np.record
    fit: Posterior
    spread: np.ndarray  # (K,), s_k, or s_k^2 for the code's formula
    bounds: np.ndarray  # (K,), scratch
    scale: float  # (T - K) / sigma^2 + kappa / eta^2
    epsilon: float
    code: bool  # the published code's formula


def look(state):
    """Return -B_J, 0 and J of this moment."""
    take_index(state)
    return -float(state.status.index), 0.0, int(state.status.leader)
