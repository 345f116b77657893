"""ALBA with Y-ElimTil (Tao, Blanco, Zhou 2018), as run in fiez2019 (Fiez et al., section 5 and appendix F).

Departures and readings:
- The paper bounds rewards by 1. Here L = theta_bound times the length of the longest arm bounds the mean rewards, and
  sigma is the standard deviation of the noise.
- The width bounds the variance of the draws by L^2 ||y||^2 or by the estimate from the phase, whichever is smaller.
- growth=1.1 repeats the published code: n_s grows as if epsilon_s were about 4 / 1.1^s. Its widths are not proved.
- The design minimises a maximum over all arms in the span of the active arms. floor(d / 2^r) = 0 is read as 1.
"""

from collections.abc import Callable
from math import ceil, log, sqrt

import numpy as np

from bandits_lib.checks import check_option, check_positive, check_problem
from bandits_lib.design import g_design
from bandits_lib.elimination import basel_delta, behind, feasible
from bandits_lib.numerics.span import RANK_TOL, basis, outside, quick_inverse_root
from bandits_lib.protocol import BATCHES, DELTA, Algorithm, Result, Round, Row, rule

WAY_OUT = (
    "The rule assumes mean rewards of up to {:.2g}, theta_bound times the length of the longest arm. The best arm must "
    "be unique: drop one of these arms, rescale the coordinates so that the arms have similar lengths"
)


@rule(
    label="ALBA",
    row=Row(BATCHES, "for comparison with rage", "Tao et al. 2018", DELTA),
)
def alba(
    arms: np.ndarray,
    *,
    delta: float,
    theta_bound: float,
    sigma: float | np.ndarray = 1.0,
    growth: float = 2,
    design: Callable = g_design,
    rng: np.random.Generator,
) -> Algorithm:
    """Find the best arm with probability at least 1 - delta, by halving the number of arms (Tao et al. 2018).

    It yields pulls, returns a `Result` and raises errors as `rage` does.

    Parameters
    ----------
    arms, delta, theta_bound, sigma : (K, d) array_like, float, float, and float or (K,) array_like
        As for `rage`, with the arms as items. `theta_bound` is a bound on the Euclidean norm of theta.
    growth : {2, 1.1}
        With 2, phase s has the accuracy 2^-s of the paper. With 1.1, as in the published code, the pulls of a phase
        grow by a factor of 1.1^2.
    design : callable
        Function (arms,) -> `Design`, by default the certified G-optimal design; fiez2019 uses its Frank-Wolfe solver.
    rng : numpy.random.Generator
        Generator that draws the arms.

    Examples
    --------
    >>> from bandits_lib import instances, play
    >>> problem = instances.benchmark(2, angle=1.0)
    >>> rule = alba(problem.arms, delta=0.05, theta_bound=2.0, rng=np.random.default_rng(1))
    >>> play(rule, problem, np.random.default_rng(0)).result.recommendation
    0
    """
    arms, _, delta, sigma = check_problem(arms, None, delta, sigma)
    theta_bound = check_positive("theta_bound", theta_bound)
    check_option("growth", growth, (2, 1.1))

    active, history, r = np.arange(len(arms)), (), 0
    while len(active) > 1:
        most = max(1, arms.shape[1] // 2**r)  # floor(d / 2^r)
        delta_r = basel_delta(delta, r + 1)
        active, rounds = yield from y_elim_til(arms, active, most, delta_r, theta_bound, sigma, growth, rng, design)
        history += tuple(phase._replace(index=len(history) + s) for s, phase in enumerate(rounds, start=1))
        r += 1
    return Result(int(active[0]), history)


def y_elim_til(arms, active, most, delta, theta_bound, sigma, growth, rng, design=g_design):
    """Eliminate arms by one run of Y-ElimTil until at most `most` are left; return the active arms and the Rounds."""
    rounds, size, d = list[Round](), len(active), arms.shape[1]
    limit = theta_bound * np.linalg.norm(arms, axis=1).max()  # L
    while len(active) > most:
        s, in_view = len(rounds) + 1, arms[active]
        scale = pulls_scale(s, growth, d, limit / sigma)  # l_s
        n = scale * log(5 * size**2 / (2 * basel_delta(delta, s)))
        n = ceil(feasible(n, s, active, way_out=WAY_OUT.format(limit)))  # n_s
        rows = np.flatnonzero(in_span(arms, in_view))  # X_S
        lam = design(arms[rows])  # lambda, G-optimal for X_S
        weights, counts = np.zeros(len(arms)), np.zeros(len(arms), dtype=np.int64)
        weights[rows] = lam.weights / lam.weights.sum()
        counts[rows] = rng.multinomial(n, weights[rows])
        sample = yield counts
        root, _ = quick_inverse_root(arms[weights > 0], weights[weights > 0])
        theta_hat = root.T @ (sample.sums @ (arms @ root.T)) / n  # by the expected information matrix, n A(lambda)
        gaps, differences = behind(in_view, theta_hat)
        widths = confidence(differences, arms, weights, root, theta_hat, scale, theta_bound, sigma, sigma * 2.0**-s)
        rounds.append(Round.of(s, active, sample, lam, widths.max(), theta_hat))
        active = active[gaps <= widths]
    return active, rounds


def pulls_scale(s, growth, d, limit):
    """Return l_s, the pulls of phase s divided by their logarithmic factor; limit : L in units of sigma."""
    c0 = max(4 * limit**2, 3)
    if growth == 2:
        half = 2.0**-s / 2  # epsilon_s / 2
        return c0 * (2 + (6 + half) * d) / half**2
    return 4 * c0 * (2 + (6 + 4 / growth**s) * d) * (growth**s / 4) ** 2


def confidence(directions, arms, weights, root, theta_hat, scale, theta_bound, sigma, accuracy):
    """Return widths (n,) of y'theta_hat for rows y of `directions` (n, d): the smaller of `blind` and `informed`."""
    d = arms.shape[1]
    limit = theta_bound * np.linalg.norm(arms, axis=1).max()
    whitened = directions @ root.T
    squares, means = (whitened**2).sum(axis=1), np.abs(arms @ theta_hat) + accuracy / 2
    influence = np.sqrt(squares * d)  # bounds |y'A^-1x|, since ||x||^2 <= d for a G-optimal design
    noise = sigma * np.sqrt(2 * squares / scale * (sqrt(3 * d / scale) + 1))
    lengths = theta_bound * np.linalg.norm(directions, axis=1)  # bounds |y'theta|
    blind = limit * np.sqrt(2 * squares / scale) + 2 * (lengths + limit * influence) / (3 * scale)
    support = weights > 0
    variance = (whitened @ (arms[support] @ root.T).T) ** 2 @ (weights * means**2)[support]
    values = np.abs(directions @ theta_hat) + accuracy / 2
    informed = np.sqrt(2 * variance / scale) + (2 * values + limit * influence) / (3 * scale)
    return np.minimum(blind, informed) + noise


def in_span(arms, spanning):
    """Return whether each arm lies in the span of the rows of `spanning` (m, d), not all zero, as a (K,) bool array."""
    return outside(arms, basis(spanning)) <= RANK_TOL * np.linalg.norm(arms, axis=1)
