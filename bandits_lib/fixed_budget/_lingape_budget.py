"""LinGapE stopped at a budget (Xu, Honda, Sugiyama 2018, Algorithm 1), a baseline of azizi2022, section 8.

Each arm once; then the leader i and its most ambiguous rival j are compared, and the arm is pulled that the optimal
allocation for the direction x_i - x_j lacks most ("ratio") or that shrinks its norm most ("greedy"), until the budget
is spent; the answer is the leader then. There is no stop on the way and no guarantee at the end: `delta` only sets how
much width a rival gets.

Departures: the program min |w|_1 subject to X'w = x_i - x_j is solved for w of either sign, as the analysis has it.
formula="code" repeats what the code published with azizi2022 does: the program with w >= 0, which has no solution where
x_i - x_j is not in the cone of the arms (`nonnegative`), and the width
sigma^2 sqrt(d log(K^2 (1 + t) / (ridge delta))) + 2 sqrt(ridge) after t pulls, the variance where the deviation is
meant.
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
from bandits_lib.design.pair_allocations import allocations, enter, find, nonnegative_allocations
from bandits_lib.fixed_confidence._lingape import begin, compare, explore, lagging, shrinking
from bandits_lib.numerics.kernels import inlined
from bandits_lib.numerics.ridge import learn, products, ridge_regression
from bandits_lib.numerics.span import basis
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import Result
from bandits_lib.rules import LARGEST, NONE, ONE_BY_ONE, PULLS, After, Row, rule

FORMULAS = ("paper", "code")


@rule(
    label="LinGapE",
    row=Row(PULLS, LARGEST, "for comparison with gse", "Xu et al. 2018", NONE),
    guarantee=After("", ONE_BY_ONE),
)
def lingape_budget(
    arms, *, budget, delta, sigma=1.0, theta_bound=1.0, ridge=1e-8, rule="ratio", formula="paper", trace=0
):
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
    formula : {"paper", "code"}, default "paper"
        The program and the width of Xu et al., or those of the published code (see the head of this file), in which
        theta_bound has no part.
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
    check_option("formula", formula, FORMULAS)
    if len(arms) == 1:
        return Result(0)
    check_ridge(arms, ridge if formula == "paper" else 10 * ridge)  # the published one may pull an arm once only

    sample = yield np.ones(len(arms), dtype=np.int64)  # Alg. 1: pull each arm once
    given, arms = arms, arms @ basis(arms)
    fit = ridge_regression(arms, ridge, sample)
    if formula == "code":
        table, bias = nonnegative_allocations(given), 2 * sqrt(ridge)
        constants = {"sigma": sigma**2 * sqrt(given.shape[1]), "delta": ridge * delta}
    else:
        table, bias = allocations(arms), sqrt(ridge) * theta_bound  # greedy needs none
        constants = {"sigma": sigma, "delta": delta}
    state = begin(sample, fit, table, rule, **constants, bias=bias, epsilon=-np.inf)
    chosen = choose_as_published if formula == "code" else choose
    return (yield from explore(chosen, learn, state, table, trace=trace, first=trace, budget=budget))


@inlined
def choose(state):
    """The arm to pull; -1 at the budget, at a look, or at a pair that the loop cannot solve for."""
    leader, now = argmax(state.fit.values), state.now
    distances(state, leader)
    if not compare(state, leader, state.gains):
        return -1
    if state.greedy:
        return shortening(state)
    if now.row < 0:
        now.row = enter(state.table, state.program, leader, now.rival)
    return lagging(state)


@inlined
def choose_as_published(state):
    """As `choose`, by the published width; its pairs are ordered, and solved between two loops."""
    fit, now, leads, apart = state.fit, state.now, state.leads, state.gains
    leader = argmax(fit.values)
    distances(state, leader)
    width = state.sigma * np.sqrt(state.union + np.log(1 + now.pulls))
    for k in range(leads.shape[0]):
        leads[k] = fit.values[k] - fit.values[leader] + np.sqrt(max(0.0, apart[k])) * (width + state.bias)
    leads[leader] = -np.inf
    rival = argmax(leads)
    now.leader, now.rival, now.lead = leader, rival, leads[rival]
    if now.pulls >= now.due:
        return -1
    if state.greedy:
        return shortening(state)
    now.row = find(state.table, leader * leads.shape[0] + rival)
    return lagging(state)


@inlined
def distances(state, leader):
    """Set state.gains to ||x_k - x_leader||^2 in the norm of A^-1, and the fit's products to those of the leader."""
    apart, squares, along = state.gains, state.fit.squares, state.fit.along
    products(state.fit, leader, along)
    for k in range(apart.shape[0]):
        apart[k] = squares[k] + squares[leader] - 2 * along[k]


@inlined
def shortening(state):
    """The arm that shrinks the direction of the pair most; the leader's products are at hand."""
    fit, gains = state.fit, state.gains
    products(fit, state.now.rival, gains)
    for k in range(gains.shape[0]):
        gains[k] = fit.along[k] - gains[k]
    return shrinking(state, fit.squares)
