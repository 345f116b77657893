"""LinGapE: linear gap-based exploration (Xu, Honda, Sugiyama 2018), as analysed there and run in fiez2019.

Pull by pull: the leader i and its most ambiguous rival j are compared, and the arm is pulled that the optimal
allocation for the single direction z_i - z_j lacks most ("ratio", the analysed rule) or that shrinks the width of
that direction most ("greedy", the rule of the original experiments). The optimal allocation solves
min |w|_1 subject to X'w = z_i - z_j, which by Elfving's theorem is the XY-design of that one direction.

Departures: items other than the arms are allowed, with i and j among the items and M^2 in the union bound (ours;
the paper has arms only).
"""

from math import sqrt

import numpy as np

from bandits_lib.checks import (
    check_arms,
    check_delta,
    check_items,
    check_option,
    check_positive,
    check_ridge,
    check_sigma,
)
from bandits_lib.design import xy_design
from bandits_lib.design.allocations import Allocations
from bandits_lib.design.gaps import begin, compare, explore, lagging, shrinking
from bandits_lib.numerics.distances import distances, learn, measure, toward
from bandits_lib.numerics.kernels import inlined
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import Result


def lingape(
    arms, items=None, *, delta, theta_bound, sigma=1.0, epsilon=0.0, ridge=1.0, rule="ratio", design=xy_design, trace=0
):
    """Best item (up to epsilon) with probability at least 1 - delta, pull by pull (Xu et al. 2018, Algorithm 1).

    Parameters
    ----------
    arms : (K, d) array_like
        Feature vectors of the K arms that can be pulled.
    items : (M, d) array_like, optional
        Feature vectors of the M items that are ranked; by default the arms.
    delta : float
        Error probability allowed, in (0, 1).
    theta_bound : float
        Bound on the Euclidean norm of theta, which the confidence width needs.
    sigma : float or (K,) array_like, default 1.0
        The standard deviation of the noise; of several the largest is used.
    epsilon : float, default 0.0
        Accepted distance from the best value, in units of reward (fiez2019: 0).
    ridge : float, default 1.0
        Regulariser lambda, positive (fiez2019: 1).
    rule : {"ratio", "greedy"}, default "ratio"
        The analysed rule, or that of the original experiments.
    design : callable, default xy_design
        Function (arms, directions) -> `Design`, called with the single direction of the ratio rule.
    trace : int, default 0
        Record a `Trace` every `trace` pulls; 0 records none.

    Yields
    ------
    (K,) int array or Loop
        Pulls of each arm to be made next, answered with a `Sample`, or a `Loop` of single pulls. Returns a `Result`:
        the best item (int) and the history of `Trace`: statistic minus the rival's largest lead, threshold -epsilon.
        One item: at once, without a pull.

    Raises
    ------
    ValueError
        For bad input (shapes, NaN, identical items, items outside the span of the arms, a number out of range).

    References
    ----------
    .. [1] Xu, Honda, Sugiyama. "A fully adaptive algorithm for pure exploration in linear bandits". AISTATS 2018.
       Algorithm 1.
    .. [2] Fiez, Jain, Jamieson, Ratliff. "Sequential experimental design for transductive linear bandits". NeurIPS
       2019. Section 5.

    Examples
    --------
    >>> from bandits_lib import instances, play
    >>> problem = instances.benchmark(2, angle=1.0)
    >>> rule = lingape(problem.arms, delta=0.05, theta_bound=2.0)
    >>> play(rule, problem, np.random.default_rng(0)).result.recommendation
    0
    """
    arms = check_arms(arms)
    items = check_items(items, arms)
    delta, sigma = check_delta(delta), check_sigma(sigma, len(arms)).max()
    theta_bound, ridge = check_positive("theta_bound", theta_bound), check_positive("ridge", ridge)
    check_option("rule", rule, ("ratio", "greedy"))
    if not epsilon >= 0:
        raise ValueError(f"epsilon must be at least 0 (accepted distance from the best value); got {epsilon}")
    if len(items) == 1:
        return Result(0)
    check_ridge(arms, ridge)

    def allocate(i, j):
        return design(arms, (items[i] - items[j])[None, :]).weights

    sample = yield np.ones(len(arms), dtype=np.int64)  # Alg. 1: pull each arm once
    fit = distances(arms, items, ridge, sample, norms=rule == "greedy")
    table = Allocations(allocate, len(items), arms.shape[1])
    bias = sqrt(ridge) * theta_bound
    state = begin(sample, fit, table, rule, sigma=sigma, delta=delta, bias=bias, epsilon=epsilon)
    return (yield from explore(choose, learn, state, table, trace=trace))


@inlined
def choose(state):
    """The arm to pull; -1 when done, at a look, or at a pair whose allocation is not known."""
    fit, now = state.fit, state.now
    leader = argmax(fit.values)
    if leader != now.leader:
        measure(fit, leader)
    if not compare(state, leader, fit.apart):
        return -1
    if not state.greedy:
        return lagging(state)
    toward(fit, leader, now.rival, state.gains)
    return shrinking(state, fit.norms)
