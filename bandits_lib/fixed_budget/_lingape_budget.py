"""LinGapE stopped at a budget (Xu, Honda, Sugiyama 2018, Algorithm 1), a baseline of azizi2022, section 8.

Each arm once; then the leader i and its most ambiguous rival j are compared, and the arm is pulled that the optimal
allocation for the direction x_i - x_j lacks most ("ratio") or that shrinks its norm most ("greedy"), until the budget
is spent; the answer is the leader then. There is no stop on the way and no guarantee at the end: `delta` only sets how
much width a rival gets.

Departures: the program min |w|_1 subject to X'w = x_i - x_j is solved for w of either sign, as the analysis has it.
The published code of azizi2022 restricts it to w >= 0, which has no solution for most pairs. Its width, too, is
another: it multiplies by the variance where the deviation is meant (pass sigma=10 for noise of variance 10).
"""

from math import sqrt

import numpy as np

from bandits_lib.checks import (
    check_arms,
    check_budget,
    check_delta,
    check_option,
    check_positive,
    check_ridge,
    check_sigma,
)
from bandits_lib.design.allocations import allocations, enter
from bandits_lib.design.gaps import begin, compare, explore, lagging, shrinking
from bandits_lib.numerics.kernels import inlined
from bandits_lib.numerics.ridge import learn, products, ridge_regression
from bandits_lib.numerics.span import basis
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import Result


def lingape_budget(arms, *, budget, delta, sigma=1.0, theta_bound=1.0, ridge=1e-8, rule="ratio", trace=0):
    """The leader of LinGapE after `budget` pulls (Xu et al. 2018, Algorithm 1; azizi2022, section 8).

    Parameters
    ----------
    arms : (K, d) array_like
        Feature vectors of the K arms that can be pulled.
    budget : int
        Number of pulls, at least K; all are made.
    delta : float
        Probability that sets the width of the rivals, in (0, 1), and no error probability (azizi2022 tunes it on a
        grid).
    sigma : float or (K,) array_like, default 1.0
        The standard deviation of the noise; of several the largest is used.
    theta_bound : float, default 1.0
        Bound on the Euclidean norm of theta; it enters the width times sqrt(ridge), next to nothing by default.
    ridge : float, default 1e-8
        Regulariser lambda, positive (the default is that of azizi2022's code).
    rule : {"ratio", "greedy"}, default "ratio"
        Pull what the optimal allocation of the pair lacks most, or what shrinks the width of the pair most.
    trace : int, default 0
        Record a `Trace` every `trace` pulls; 0 records none.

    Yields
    ------
    (K,) int array or Loop
        Pulls of each arm to be made next, answered with a `Sample`, or a `Loop` of single pulls. Returns a `Result`:
        the leader (int) and the history of `Trace`: statistic minus the rival's largest lead, threshold inf. One arm:
        at once, without a pull.

    Raises
    ------
    ValueError
        For bad input (shapes, NaN, a number out of range), and for a budget below K.

    References
    ----------
    .. [1] Xu, Honda, Sugiyama. "A fully adaptive algorithm for pure exploration in linear bandits". AISTATS 2018.
       Algorithm 1.
    .. [2] Azizi, Kveton, Ghavamzadeh. "Fixed-budget best-arm identification in structured bandits". IJCAI 2022. Section
       8.

    Examples
    --------
    >>> from bandits_lib import instances, play
    >>> problem = instances.benchmark(2, angle=1.0)
    >>> rule = lingape_budget(problem.arms, budget=60, delta=0.1)
    >>> play(rule, problem, np.random.default_rng(0)).result.recommendation
    0
    """
    arms = check_arms(arms)
    budget, delta = check_budget(budget, len(arms), "each arm once"), check_delta(delta)
    sigma = check_sigma(sigma, len(arms)).max()
    theta_bound, ridge = check_positive("theta_bound", theta_bound), check_positive("ridge", ridge)
    check_option("rule", rule, ("ratio", "greedy"))
    if len(arms) == 1:
        return Result(0)
    check_ridge(arms, ridge)

    sample = yield np.ones(len(arms), dtype=np.int64)  # Alg. 1: pull each arm once
    arms = arms @ basis(arms)
    table = allocations(arms)  # greedy needs none
    fit, bias = ridge_regression(arms, ridge, sample), sqrt(ridge) * theta_bound
    state = begin(sample, fit, table, rule, sigma=sigma, delta=delta, bias=bias, epsilon=-np.inf)
    return (yield from explore(choose, learn, state, table, trace=trace, first=trace, budget=budget))


@inlined
def choose(state):
    """The arm to pull; -1 at the budget, at a look, or at a pair that the loop cannot solve for."""
    fit, now, apart = state.fit, state.now, state.gains
    leader, squares, along = argmax(fit.values), fit.squares, fit.along
    products(fit, leader, along)
    for k in range(apart.shape[0]):
        apart[k] = squares[k] + squares[leader] - 2 * along[k]
    if not compare(state, leader, apart):
        return -1
    if state.greedy:
        return shortening(state)
    if now.row < 0:
        now.row = enter(state.table, state.program, leader, now.rival)
    return lagging(state)


@inlined
def shortening(state):
    """The arm that shrinks the direction of the pair most; the leader's products are at hand."""
    fit, gains = state.fit, state.gains
    products(fit, state.now.rival, gains)
    for k in range(gains.shape[0]):
        gains[k] = fit.along[k] - gains[k]
    return shrinking(state, fit.squares)
