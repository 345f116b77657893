"""BayesGap: gap-based exploration with a Gaussian process (Hoffman, Shahriari and de Freitas 2014).

The values of the arms have a normal prior of covariance eta^2 k(x, x'); rewards have normal noise. With posterior
means mu_k and standard deviations s_k, U_k = mu_k + beta s_k and L_k = mu_k - beta s_k, the index
B_k = max_{i != k} U_i - L_k bounds the regret of arm k. Let J be the arm of least index and j its best rival; pull the
one of the two that is less certain; recommend the J whose index was the least of all times.

beta is fixed by the budget T: beta^2 = ((T - K) / sigma^2 + kappa / eta^2) / (4 H), kappa = sum_k k(x_k, x_k)^-1,
H = sum_k max((Delta_k + epsilon) / 2, epsilon)^-2, so that the error is at most K T exp(-beta^2 / 2) (azizi2022, D.1).
The gaps are unknown: as the authors suggest they are estimated before every pull by
max_{i != k} (mu_i + 3 s_i) - (mu_k - 3 s_k). With estimated gaps there is no bound.

Departures: every arm is pulled once before the rule begins, as in azizi2022; an index is taken after the last pull
too. formula="code" repeats what the code published with azizi2022 does: variances s^2 wherever standard deviations s
are meant, beta without its square root, H a sum of max(.) and not of its inverse square, and, for the Matern kernel,
the rows of the kernel matrix as features, whose covariance is its square.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from scipy.spatial.distance import pdist, squareform

from bandits_lib.checks import (
    check_arms,
    check_budget,
    check_matrix,
    check_option,
    check_positive,
    check_ridge,
    check_sigma,
)
from bandits_lib.numerics.ties import TIE, argmax
from bandits_lib.protocol import NO_LIMIT, Loop, Result, Trace

KERNELS = ("linear", "exponential", "matern")
FORMULAS = ("paper", "code")
SPREAD = 3.0  # standard deviations in the estimate of the gaps
LEAST_GAP = 1e-6  # estimated gaps are clipped from below
REFRESH = 1_000  # pulls between two fresh posteriors


class State(NamedTuple):
    """What the compiled loop reads and writes; scalars that change sit in arrays of length one."""

    prior: np.ndarray  # (K, K), covariance of the values before any pull
    counts: np.ndarray  # (K,)
    sums: np.ndarray  # (K,), of rewards
    clock: np.ndarray  # pulls so far, pulls at the next look (trace), budget
    mean: np.ndarray  # (K,), posterior
    covariance: np.ndarray  # (K, K), posterior
    spread: np.ndarray  # (K,), scratch: s_k, or s_k^2 for the code's formula
    column: np.ndarray  # (K,), scratch
    levels: np.ndarray  # B_J and beta at this moment, the least B_J of all times
    pair: np.ndarray  # J and j at this moment, the arm recommended
    settled: np.ndarray  # (1,), pulls at which the index was last taken
    limits: np.ndarray  # sigma^2, (T - K) / sigma^2 + kappa / eta^2, epsilon, 1.0 for the code's formula


def bayes_gap(
    arms, *, budget, sigma=1.0, kernel="linear", length=None, eta=50.0, epsilon=0.0, formula="paper", trace=0
):
    """Best arm after exactly `budget` pulls, by the index of Hoffman et al. (2014, Algorithm 1) on a Gaussian process.

    Parameters
    ----------
    arms : (K, d), copies allowed; budget : pulls, at least K.
    sigma : standard deviation of the noise; of several the largest is used.
    kernel : "linear", x'x'; "exponential", exp(-|x - x'|^2 / length); "matern" (3/2), (1 + r) exp(-r) with
        r = sqrt(3) |x - x'| / length; or a (K, K) covariance matrix. length : needed for the second and third.
    eta : standard deviation of the prior, in units of reward (azizi2022: 50).
    epsilon : accepted distance from the best value (azizi2022: 0).
    formula : "paper", or "code", the errors of the published code (header of this file).
    trace : record a Trace every `trace` pulls; 0, never.

    Returns Result(arm (int), history of Trace): statistic is -B_J, the threshold 0. One arm: at once.
    Raises ValueError for bad input, an unknown kernel, a kernel without its length, and a budget below K.

    >>> from bandits_lib import instances, play
    >>> problem = instances.benchmark(2, angle=1.0)
    >>> rule = bayes_gap(problem.arms, budget=60)
    >>> play(rule, problem, np.random.default_rng(0)).result.recommendation
    0
    """
    arms = check_arms(arms)
    sigma = check_sigma(sigma, len(arms)).max()
    check_option("formula", formula, FORMULAS)
    eta = check_positive("eta", eta)
    if not epsilon >= 0:
        raise ValueError(f"epsilon must be at least 0 (accepted distance from the best value); got {epsilon}")
    covariance = covariance_of(arms, kernel, length, formula)
    budget = check_budget(budget, len(arms), "one pull of each arm")
    if len(arms) == 1:
        return Result(0)
    if isinstance(kernel, str) and kernel == "linear":  # the posterior mean is ridge regression
        check_ridge(arms, (sigma / eta) ** 2, "sigma^2 / eta^2")

    sample = yield np.ones(len(arms), dtype=np.int64)
    alone = np.diag(covariance)
    kappa = (1 / alone[alone > 0]).sum()  # an arm at the origin has a known value
    scale = (budget - len(arms)) / sigma**2 + kappa / eta**2
    state = _start(eta**2 * covariance, sample, budget, np.array([sigma**2, scale, epsilon, formula == "code"]), trace)
    history = []
    while True:
        yield Loop(choose, update, state)
        if state.clock[0] >= state.clock[1]:
            history.append(_look(state))
            state.clock[1] += trace
        if state.clock[0] >= budget:
            return Result(int(state.pair[2]), tuple(history))


def covariance_of(arms, kernel, length, formula):
    """(K, K) covariance of the values of arms (K, d) for a prior of scale 1. Arguments as for `bayes_gap`."""
    if not isinstance(kernel, str):
        return _check_covariance(kernel, len(arms))
    check_option("kernel", kernel, KERNELS)
    if kernel == "linear":
        return arms @ arms.T
    if length is None:
        raise ValueError(f"length must be given for kernel={kernel!r}, in units of the arms; got None")
    length, distances = check_positive("length", length), squareform(pdist(arms))
    if kernel == "exponential":
        return np.exp(-(distances**2) / length)
    near = np.sqrt(3) * distances / length
    covariance = (1 + near) * np.exp(-near)
    return covariance @ covariance if formula == "code" else covariance


def _check_covariance(kernel, K):
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


def _start(prior, sample, budget, limits, trace):
    K, pulls = len(prior), int(sample.counts.sum())
    state = State(
        prior=np.ascontiguousarray(prior),
        counts=sample.counts.astype(np.int64),
        sums=sample.sums.astype(float),
        clock=np.array([pulls, pulls if trace else NO_LIMIT, budget]),
        mean=np.empty(K),
        covariance=np.empty((K, K)),
        spread=np.empty(K),
        column=np.empty(K),
        levels=np.array([np.inf, np.nan, np.inf]),
        pair=np.array([0, 0, 0]),
        settled=np.array([-1]),
        limits=limits,
    )
    refresh(state)
    return state


def _look(state):
    return Trace(int(state.clock[0]), state.counts.copy(), -float(state.levels[0]), 0.0, int(state.pair[0]))


@njit(cache=True, error_model="numpy")
def refresh(state):
    """Compute the posterior afresh: C = P - P D (sigma^2 I + D P D)^-1 D P with D = diag(counts)^(1/2)."""
    prior, counts, noise = state.prior, state.counts, state.limits[0]
    root = np.sqrt(counts.astype(np.float64))
    scaled = prior * root
    inner = (scaled.T * root).T.copy()
    for k in range(len(root)):
        inner[k, k] += noise
    covariance = prior - np.dot(scaled, np.linalg.solve(inner, scaled.T.copy()))
    state.covariance[:] = (covariance + covariance.T) / 2
    state.mean[:] = np.dot(state.covariance, state.sums) / noise


@njit(cache=True, error_model="numpy")
def take_index(state):
    """J, j, beta and B_J at this moment; the J of least B_J so far is the recommendation."""
    mean, covariance, spread, code = state.mean, state.covariance, state.spread, state.limits[3] > 0
    K = mean.shape[0]
    for k in range(K):
        variance = max(0.0, covariance[k, k])
        spread[k] = variance if code else np.sqrt(variance)
    beta = _beta(mean, spread, state.limits)
    first, second = _two_largest(mean, spread, beta)
    index = state.column
    for k in range(K):
        index[k] = mean[k] - beta * spread[k] - (mean[first] + beta * spread[first])
    index[first] = mean[first] - beta * spread[first] - (mean[second] + beta * spread[second])
    leader = argmax(index)  # of -B_k
    state.levels[0], state.levels[1] = -index[leader], beta
    state.pair[0], state.pair[1] = leader, second if leader == first else first
    if -index[leader] < state.levels[2] - TIE * abs(state.levels[2]) or state.levels[2] == np.inf:
        state.levels[2], state.pair[2] = -index[leader], leader
    state.settled[0] = state.clock[0]


@njit(cache=True, forceinline=True, error_model="numpy")
def _beta(mean, spread, limits):
    """The factor of the standard deviations, from the estimated gaps."""
    first, second = _two_largest(mean, spread, SPREAD)
    hardness = 0.0
    for k in range(mean.shape[0]):
        other = second if k == first else first
        gap = mean[other] + SPREAD * spread[other] - (mean[k] - SPREAD * spread[k])
        share = max(0.5 * (max(gap, LEAST_GAP) + limits[2]), limits[2])
        hardness += share if limits[3] > 0 else 1 / (share * share)
    squared = limits[1] / (4 * hardness)
    return squared if limits[3] > 0 else np.sqrt(squared)


@njit(cache=True, forceinline=True, error_model="numpy")
def _two_largest(mean, spread, factor):
    """The arms of largest and second largest mean + factor spread, ties to the first."""
    K = mean.shape[0]
    bounds = np.empty(K)
    for k in range(K):
        bounds[k] = mean[k] + factor * spread[k]
    first = argmax(bounds)
    bounds[first] = -np.inf
    return first, argmax(bounds)


@njit(cache=True, forceinline=True, error_model="numpy")
def choose(state):
    """The less certain of J and j; -1 at the budget or a look."""
    if state.settled[0] != state.clock[0]:
        take_index(state)
    if state.clock[0] >= state.clock[2] or state.clock[0] >= state.clock[1]:
        return -1
    leader, rival, spread = state.pair[0], state.pair[1], state.spread
    return rival if spread[rival] > spread[leader] * (1 + TIE) else leader


@njit(cache=True, forceinline=True, error_model="numpy")
def update(state, arm, reward):
    """Condition the posterior on one reward of `arm`: O(K^2)."""
    mean, covariance, column = state.mean, state.covariance, state.column
    K = mean.shape[0]
    state.counts[arm] += 1
    state.sums[arm] += reward
    state.clock[0] += 1
    if state.clock[0] % REFRESH == 0:
        refresh(state)
        return
    scale = 1 / (covariance[arm, arm] + state.limits[0])
    surprise = (reward - mean[arm]) * scale
    for k in range(K):
        column[k] = covariance[arm, k]
        mean[k] += surprise * column[k]
    for k in range(K):
        weight = column[k] * scale
        if weight != 0.0:
            for i in range(K):
                covariance[k, i] -= weight * column[i]
