"""LinGapE stopped at a budget (Xu, Honda, Sugiyama 2018, Algorithm 1), a baseline of Azizi et al. (2022).

The rule pulls each arm once, and then the arms that `fixed_confidence.lingape` would pull, until the budget is spent.
It recommends the leader at that moment. `delta` only sets the confidence width of a rival. Departures:
- The program min |w|_1 subject to X'w = x_i - x_j is solved for w of either sign, as in the paper's analysis.
- formula="code" repeats the published code of azizi2022. It requires w >= 0, so that there is no solution if x_i - x_j
  is outside the cone of the arms. The width after t pulls is sigma^2 sqrt(d log(K^2 (1 + t) / (ridge delta))) +
  2 sqrt(ridge).
"""

from math import sqrt

import numpy as np

from bandits_lib.checks import check_budget, check_delta, check_noisy, check_option, check_positive, check_ridge
from bandits_lib.design.pair_allocations import allocations, enter, find, nonnegative_allocations
from bandits_lib.fixed_confidence.lingape import begin, compare, explore, lagging, shrinking
from bandits_lib.numerics.kernels import inlined
from bandits_lib.numerics.ridge import learn, products, ridge_regression
from bandits_lib.numerics.span import basis
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import NONE, PULLS, Algorithm, Result, Row, rule


@rule(label="LinGapE", row=Row(PULLS, "for comparison with gse", "Xu et al. 2018", NONE))
def lingape_budget(
    arms: np.ndarray,
    *,
    budget: int,
    delta: float,
    sigma: float | np.ndarray = 1.0,
    theta_bound: float = 1.0,
    ridge: float = 1e-8,
    rule: str = "ratio",
    formula: str = "paper",
) -> Algorithm:
    """Find the leader of LinGapE after `budget` pulls (Xu et al. 2018, Algorithm 1; azizi2022, section 8).

    Parameters
    ----------
    arms, budget, delta, sigma : (K, d) array_like, int, float, and float or (K,) array_like
        As for `gse`, with a budget of at least K. The probability `delta` in (0, 1) sets the width of the rivals.
    theta_bound, ridge : float
        Bound on the Euclidean norm of theta, and regulariser lambda; both are positive.
    rule : {"ratio", "greedy"}
        As for `lingape`.
    formula : {"paper", "code"}
        Use the program and the width of Xu et al., or those of the published code (see the head of this file).

    Yields
    ------
    (K,) int array or Loop
        As for `linucb`; the `Result` has the leader. A `Trace` has minus the largest lead of a rival as statistic.

    Examples
    --------
    >>> from bandits_lib import instances, play
    >>> problem = instances.benchmark(2, angle=1.0)
    >>> rule = lingape_budget(problem.arms, budget=60, delta=0.1)
    >>> play(rule, problem, np.random.default_rng(0)).result.recommendation
    0
    """
    arms, sigma = check_noisy(arms, sigma)
    budget, delta = check_budget(budget, len(arms), "each arm once"), check_delta(delta)
    theta_bound, ridge = check_positive("theta_bound", theta_bound), check_positive("ridge", ridge)
    check_option("rule", rule, ("ratio", "greedy"))
    check_option("formula", formula, ("paper", "code"))
    if len(arms) == 1:
        return Result(0)
    check_ridge(arms, ridge if formula == "paper" else 10 * ridge)  # the published formula may pull an arm only once

    sample = yield np.ones(len(arms), dtype=np.int64)  # Alg. 1: pull each arm once
    coordinates = arms @ basis(arms)
    fit = ridge_regression(coordinates, ridge, sample)
    if formula == "code":
        choose_arm, table, bias = choose_as_published, nonnegative_allocations(arms), 2 * sqrt(ridge)
        sigma, delta = sigma**2 * sqrt(arms.shape[1]), ridge * delta
    else:
        choose_arm, table, bias = choose, allocations(coordinates), sqrt(ridge) * theta_bound
    state = begin(sample, fit, table, rule, sigma=sigma, delta=delta, bias=bias, epsilon=-np.inf)
    return (yield from explore(choose_arm, learn, state, table, budget=budget))


@inlined
def choose(state):
    """Return the arm to pull; -1 at the budget, or at a pair that the loop cannot solve for."""
    leader, status = argmax(state.fit.values), state.status
    distances(state, leader)
    if not compare(state, leader, state.gains):
        return -1
    if state.greedy:
        return shortening(state)
    if status.row < 0:
        status.row = enter(state.table, state.program, leader, status.rival)
    return lagging(state)


@inlined
def choose_as_published(state):
    """Return the arm to pull by the published width; its ordered pairs are solved for between two loops."""
    fit, status, leads, apart = state.fit, state.status, state.leads, state.gains
    leader = argmax(fit.values)
    distances(state, leader)
    width = state.sigma * np.sqrt(state.union + np.log(1 + status.pulls))  # of the published code, not Alg. 1
    for k in range(leads.shape[0]):
        leads[k] = fit.values[k] - fit.values[leader] + np.sqrt(max(0.0, apart[k])) * (width + state.bias)
    leads[leader] = -np.inf
    rival = argmax(leads)
    status.leader, status.rival, status.lead = leader, rival, leads[rival]
    if status.pulls >= status.due:
        return -1
    if state.greedy:
        return shortening(state)
    status.row = find(state.table, leader * leads.shape[0] + rival)
    return lagging(state)


@inlined
def distances(state, leader):
    """Set state.gains to ||x_k - x_leader||^2 in the norm of A^-1, and fit.along to the leader's products."""
    apart, squares, along = state.gains, state.fit.squares, state.fit.along
    products(state.fit, leader, along)
    for k in range(apart.shape[0]):
        apart[k] = squares[k] + squares[leader] - 2 * along[k]


@inlined
def shortening(state):
    """Return the arm that shrinks the direction of the pair most, given the leader's products in fit.along."""
    fit, gains = state.fit, state.gains
    products(fit, state.status.rival, gains)
    for k in range(gains.shape[0]):
        gains[k] = fit.along[k] - gains[k]
    return shrinking(state, fit.squares)
