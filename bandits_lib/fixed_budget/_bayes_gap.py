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
the rows of the kernel matrix as features, whose covariance is its square; of other kernels (and of a given matrix)
eigenvectors by np.linalg.eig, which rounding errors make where eigenvalues are equal, and which are not orthogonal
there, so that the covariance is another: they are drawn by `rng` (`gaussian_process.loosened`).
"""

from typing import NamedTuple

import numpy as np

from bandits_lib.checks import check_arms, check_budget, check_option, check_positive, check_ridge, check_sigma
from bandits_lib.fixed_budget.gaussian_process import Posterior, covariance_of, learn, posterior
from bandits_lib.fixed_budget.spending import spend
from bandits_lib.numerics.kernels import inlined, record
from bandits_lib.numerics.ties import TIE, argmax
from bandits_lib.protocol import Result

FORMULAS = ("paper", "code")
SPREAD = 3.0  # standard deviations in the estimate of the gaps
LEAST_GAP = 1e-6  # estimated gaps are clipped from below


def bayes_gap(
    arms, *, budget, sigma=1.0, kernel="linear", length=None, eta=50.0, epsilon=0.0, formula="paper", rng=None, trace=0
):
    """Best arm after exactly `budget` pulls, by the index of Hoffman et al. (2014, Algorithm 1) on a Gaussian process.

    Parameters
    ----------
    arms : (K, d) array_like
        Feature vectors of the K arms that can be pulled; copies are allowed.
    budget : int
        Number of pulls, at least K; all are made.
    sigma : float or (K,) array_like, default 1.0
        The standard deviation of the noise; of several the largest is used.
    kernel : {"linear", "exponential", "matern"} or (K, K) array_like, default "linear"
        The covariance x'x'; exp(-|x - x'|^2 / length); Matern's (3/2), (1 + r) exp(-r) with
        r = sqrt(3) |x - x'| / length; or the covariance matrix of the arms.
    length : float, optional
        Length of the exponential and the Matern kernel, in units of the arms (the exponential's: their square).
    eta : float, default 50.0
        Standard deviation of the prior, in units of reward (azizi2022: 50).
    epsilon : float, default 0.0
        Accepted distance from the best value, in units of reward (azizi2022: 0).
    formula : {"paper", "code"}, default "paper"
        The paper's formulas, or the errors of the published code (see the head of this file).
    rng : numpy.random.Generator, optional
        Draws eigenvectors of equal eigenvalues, with formula="code" and a kernel that has such.
    trace : int, default 0
        Record a `Trace` every `trace` pulls; 0 records none.

    Yields
    ------
    (K,) int array or Loop
        Pulls of each arm to be made next, answered with a `Sample`, or a `Loop` of single pulls. Returns a `Result`:
        the arm (int) and the history of `Trace`: statistic -B_J, threshold 0. One arm: at once, without a pull.

    Raises
    ------
    ValueError
        For bad input, an unknown kernel, a kernel without its length, a budget below K, and eigenvectors to be drawn
        without `rng`.

    References
    ----------
    .. [1] Hoffman, Shahriari, de Freitas. "On correlation and budget constraints in model-based bandit optimization
       with application to automatic machine learning". AISTATS 2014. Algorithm 1.
    .. [2] Azizi, Kveton, Ghavamzadeh. "Fixed-budget best-arm identification in structured bandits". IJCAI 2022.
       Appendix D.1.

    Examples
    --------
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
    prior = covariance_of(arms, kernel, length, formula, rng)
    budget = check_budget(budget, len(arms), "one pull of each arm")
    if len(arms) == 1:
        return Result(0)
    if isinstance(kernel, str) and kernel == "linear":  # the posterior mean is ridge regression
        check_ridge(arms, (sigma / eta) ** 2, "sigma^2 / eta^2")

    sample = yield np.ones(len(arms), dtype=np.int64)
    alone = np.diag(prior)
    kappa = (1 / alone[alone > 0]).sum()  # an arm at the origin has a known value
    scale = (budget - len(arms)) / sigma**2 + kappa / eta**2
    fit = posterior(eta**2 * prior, sigma**2, sample)
    state = _start(sample, fit, scale, epsilon, formula)
    history = yield from spend(choose, learn, state, _look, budget=budget, trace=trace)
    return Result(int(state.now.answer), history)


@inlined
def choose(state):
    """The less certain of J and j; -1 at the budget or a look."""
    now, spread = state.now, state.spread
    take_index(state)
    if now.pulls >= now.due:
        return -1
    return now.rival if spread[now.rival] > spread[now.leader] * (1 + TIE) else now.leader


@inlined
def take_index(state):
    """J, j and B_J at this moment; the J of least B_J so far is the answer."""
    now, mean, spread, index = state.now, state.fit.mean, state.spread, state.bounds
    for k in range(mean.shape[0]):
        variance = max(0.0, state.fit.covariance[k, k])
        spread[k] = variance if state.code else np.sqrt(variance)
    factor = beta(state)
    first, second = two_largest(mean, spread, factor, index)
    for k in range(mean.shape[0]):
        index[k] = mean[k] - factor * spread[k] - (mean[first] + factor * spread[first])
    index[first] = mean[first] - factor * spread[first] - (mean[second] + factor * spread[second])
    now.leader = argmax(index)  # of -B_k
    now.rival, now.index = second if now.leader == first else first, -index[now.leader]
    if now.least == np.inf or now.index < now.least - TIE * abs(now.least):
        now.least, now.answer = now.index, now.leader


@inlined
def beta(state):
    """The factor of the standard deviations, from the estimated gaps."""
    mean, spread, epsilon = state.fit.mean, state.spread, state.epsilon
    first, second = two_largest(mean, spread, SPREAD, state.bounds)
    hardness = 0.0
    for k in range(mean.shape[0]):
        other = second if k == first else first
        gap = mean[other] + SPREAD * spread[other] - (mean[k] - SPREAD * spread[k])
        share = max(0.5 * (max(gap, LEAST_GAP) + epsilon), epsilon)
        hardness += share if state.code else 1 / (share * share)
    squared = state.scale / (4 * hardness)
    return squared if state.code else np.sqrt(squared)


@inlined
def two_largest(mean, spread, factor, bounds):
    """The arms of largest and second largest mean + factor spread, ties to the first; bounds : (K,), scratch."""
    for k in range(bounds.shape[0]):
        bounds[k] = mean[k] + factor * spread[k]
    first = argmax(bounds)
    bounds[first] = -np.inf
    return first, argmax(bounds)


class State(NamedTuple):
    """What the compiled loop reads and writes."""

    counts: np.ndarray  # (K,)
    now: np.record  # see `_start`
    fit: Posterior
    spread: np.ndarray  # (K,), s_k, or s_k^2 for the code's formula
    bounds: np.ndarray  # (K,), scratch
    scale: float  # (T - K) / sigma^2 + kappa / eta^2
    epsilon: float
    code: bool  # the published code's formula


def _start(sample, fit, scale, epsilon, formula):
    """The state after one pull of each arm."""
    K, counts = len(sample.counts), sample.counts.astype(np.int64)
    now = record(
        pulls=counts.sum(),
        due=0,
        leader=0,  # J
        rival=0,  # j
        index=np.inf,  # B_J
        answer=0,  # the J of the least B_J of all times
        least=np.inf,  # that B_J
    )
    return State(counts, now, fit, np.empty(K), np.empty(K), float(scale), float(epsilon), formula == "code")


def _look(state):
    """Statistic, threshold and leader of a Trace."""
    return -float(state.now.index), 0.0, int(state.now.leader)
