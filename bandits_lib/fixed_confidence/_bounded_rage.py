"""RAGE by betting, for rewards 0 and 1 or between: not of the four papers; the proof stands in betting.py.

The phases are those of RAGE (fiez2019, Algorithm 1): an XY design on the pairs of active items, rounded, and items that
are proved not to be the best go. What differs:
- The proof. RAGE bounds sub-Gaussian noise, which for rewards in [0, 1] is sigma = 1/2 whatever their rate, and shares
  delta out to phases and pairs. Here every item has a wealth, won by bets against its being the best, and goes when
  that reaches 1 / delta. Bets adapt to the variance, and delta is not shared.
- An item's rival is the leader so far, the leader's the runner-up.
- Pulls of all phases count, so that phases may grow more slowly: `growth` times instead of four.
- Designs and least squares are weighted by the variances that earlier phases showed (as in weltz2023, section 4).
"""

from math import ceil, log, sqrt

import numpy as np

from bandits_lib.checks import check_arms, check_delta, check_items, check_told
from bandits_lib.design import pairs, round_design, weighted_design
from bandits_lib.fixed_confidence.betting import WEIGHTS, check_fractions, first_guess, guess, log_wealth
from bandits_lib.fixed_confidence.elimination import feasible
from bandits_lib.numerics.least_squares import weighted_least_squares
from bandits_lib.numerics.ordered import along
from bandits_lib.numerics.span import basis
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import Result, Round, total


def bounded_rage(arms, items=None, *, delta, growth=2.0, design=weighted_design):
    """Best item with probability at least 1 - delta, from rewards in [0, 1] of unknown noise, 0 and 1 included.

    RAGE's phases with a proof by betting: what counts is the true variance, p (1 - p) for a rate p, and no sigma is
    asked for.

    Parameters
    ----------
    arms : (K, d) array_like
        Feature vectors of the K arms that can be pulled; their mean rewards x'theta lie in [0, 1].
    items : (M, d) array_like, optional
        Feature vectors of the M items that are ranked; by default the arms.
    delta : float
        Error probability allowed, in (0, 1).
    growth : float, default 2.0
        How many times as many pulls the next phase has, with the same items in play; above 1. The smaller, the more
        phases and the fewer pulls.
    design : callable, default weighted_design
        Function (arms, directions, sigma=) -> `Design`, called with `pairs(active items)`.

    Yields
    ------
    (K,) int array
        Pulls of each arm to be made next, answered with a `Sample`. Returns a `Result`: the best item (int) and the
        history of `Round`. One item: at once, without a pull.

    Raises
    ------
    ValueError
        For bad input (shapes, NaN, identical items, items outside the span of the arms, delta, growth), for rewards
        outside [0, 1], and for items that no number of pulls can tell apart.

    Notes
    -----
    Let X in [0, 1] have the mean p, and let the past fix s and q. Then E[1 + s (X - q)] = 1 + s (p - q)
    <= exp(s (p - q)). With s = lam c_x and c the coefficients of least squares for y = rival - item,
    the sum of s p over a phase is lam y'theta, which is at most 0 if the item is best. So for the best item the product
    of all 1 + s (X - q), times exp(sum of s q), is at most a supermartingale that starts at 1; by Ville's inequality it
    ever reaches 1 / delta with probability at most delta. An item goes when it does. No rate and no variance is
    assumed: those of earlier phases choose q, lam and the design, and if they are wrong that costs pulls only.

    Rewards between 0 and 1 are treated by the variance that their squares show. Where their noise is small and known,
    `rage` with that sigma is shorter. Rewards outside [0, 1] are refused, as far as sums and squares of an arm show it.

    The width of a Round is the lead that its pulls alone can show, sqrt(2 (1 + log(1 / delta)) V); theta_hat is from
    all pulls so far. Phase t has 2 rho (1 + log(1 / delta)) growth^t / u^2 pulls, at least two for every arm of the
    design; u^2 = rho_1 / r for r the rank of the arms.

    References
    ----------
    .. [1] Fiez, Jain, Jamieson, Ratliff. "Sequential experimental design for transductive linear bandits". NeurIPS
       2019. Algorithm 1: the phases.
    .. [2] Waudby-Smith, Ramdas. "Estimating means of bounded random variables by betting". JRSS B 86, 2024. Bets of
       the form 1 + s (X - q).
    .. [3] Fan, Grama, Liu. "Exponential inequalities for martingales with applications". EJP 20, 2015. The lower bound
       on log(1 + u) for rewards between 0 and 1.

    Examples
    --------
    >>> from bandits_lib import LinearBandit, play
    >>> pages = LinearBandit([[1.0, 0.0], [1.0, 1.0]], theta=[0.1, 0.05], noise="bernoulli")
    >>> play(bounded_rage(pages.arms, delta=0.05), pages, np.random.default_rng(0)).result.recommendation
    1
    """
    arms = check_arms(arms)
    items = check_items(items, arms)
    delta, growth = check_delta(delta), _check_growth(growth)
    demand = 2 * (1 - log(delta))  # a lead shows when lead^2 / V comes to about as much

    active, history, rank = np.arange(len(items)), list[Round](), basis(arms).shape[1]
    wealth = np.tile(np.log(WEIGHTS), (len(items), 1))  # logarithms, (M, J)
    likely, values, told, unit = first_guess(len(arms)), np.zeros(len(items)), None, 0.0
    while len(active) > 1:
        t = len(history) + 1
        lam = design(arms, pairs(items[active]), sigma=likely.sd)
        unit = unit or sqrt(lam.value / rank)
        scale = unit * growth ** (-t / 2)
        n = feasible(demand * lam.value / scale**2, t, active, scale=f"{scale:.2g}")
        n = max(ceil(n), 2 * np.count_nonzero(lam.weights))
        asked = round_design(lam.weights / lam.weights.sum(), n)
        away = rivals(items[active], values[active]) - items[active]  # named by the past
        sample = yield asked
        check_told(asked, sample, arms, away)
        check_fractions(sample)
        won, V = log_wealth(arms, sample, likely, away, unit)
        wealth[active] += won
        told = total([told, sample]) if told else sample
        theta_hat = weighted_least_squares(arms, told, likely.sd).theta_hat
        values, likely = along(items, theta_hat), guess(arms, told, theta_hat)
        width = sqrt(demand * V.max())
        history.append(Round(t, active, sample.counts, lam.value, lam.lower_bound, width, theta_hat))
        kept = active[np.logaddexp.reduce(wealth[active], axis=1) < -log(delta)]
        active = kept if len(kept) else active[[argmax(values[active])]]
    return Result(int(active[0]), tuple(history))


def rivals(items, values):
    """(m, d): the leader by the values (m,), for the leader the runner-up."""
    leader = argmax(values)
    others = np.delete(np.arange(len(items)), leader)
    against = np.tile(items[leader], (len(items), 1))
    against[leader] = items[others[argmax(values[others])]]
    return against


def _check_growth(growth):
    """A number above 1, at most 1000."""
    if not isinstance(growth, int | float | np.number) or not 1 < growth <= 1000:
        raise ValueError(
            f"growth must be a number above 1 and at most 1000 (times as many pulls a phase); got {growth!r}"
        )
    return float(growth)
