"""What is known at this moment, whatever rule asked for the pulls: estimates, intervals, and what is still in play.

The set {theta : ||theta_hat - theta||^2_A <= 2 beta(delta, t)} with the threshold beta of jedra2020, eq. 9, contains
theta_star at all times t with A_t >= c I together, with probability at least 1 - delta and for any way of choosing
the arms: the bound is self-normalised. So intervals may be looked at after every pull, and an item whose
lead over some other is proved negative is out of play for good. The same bound is honest after any rule has ended: it
does not ask how the arms were chosen, or why no more were pulled.
"""

from math import inf, log

import numpy as np
import pandas as pd

from bandits_lib.checks import check_arms, check_delta, check_items, check_positive, check_sigma
from bandits_lib.fixed_confidence.first_arms import opening
from bandits_lib.lab.known import Standings
from bandits_lib.lab.stock import nothing
from bandits_lib.lab.told import from_rule
from bandits_lib.numerics.least_squares import least_squares
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import total


def intervals(arms, sample, *, items=None, sigma=1.0, delta=0.05, u=1.0, names=None):
    """Every item beside the leader: how far it is behind, with an interval, and whether it may still be the best.

    Parameters
    ----------
    arms : (K, d) array_like
        Arms, one per row.
    sample : Sample
        All pulls so far (`total(lab.log)`).
    items : (M, d) array_like, optional
        Items, one per row, by default the arms.
    sigma : float or (K,) array_like, default 1.0
        Positive standard deviation of the noise, or a bound on it (1/2 for rewards in [0, 1]); of several the largest
        counts.
    delta : float, default 0.05
        Error probability allowed: that any interval, at any time, is wrong.
    u : float, default 1.0
        Free constant of eq. 9, positive.
    names : sequence, optional
        M labels, by default 0..M-1.

    Returns
    -------
    pandas.DataFrame
        Indexed by `names`, with estimate (z'theta_hat), behind ((leader - z)'theta_hat), low and high (interval of the
        true lead of the leader over z, units of reward), in_play (low <= 0).

    Raises
    ------
    ValueError
        If an argument is refused by its check.

    Notes
    -----
    Until the pulled arms span what the arms span, the interval is the whole line and all items are in play. The bound
    is jedra2020's, Proposition 2 and eq. 9, made into intervals here.

    References
    ----------
    .. [1] Jedra, Proutiere. "Optimal best-arm identification in linear bandits". NeurIPS 2020. Proposition 2.

    Examples
    --------
    >>> from bandits_lib import Sample
    >>> sample = Sample(np.array([200, 200]), np.array([200.0, 0.0]), np.array([400.0, 200.0]))
    >>> intervals(np.eye(2), sample).loc[1, ["behind", "low", "high"]].round(2).tolist()
    [1.0, 0.42, 1.58]
    """
    arms = check_arms(arms)
    items = check_items(items, arms, distinct=False)
    sigma, delta, u = float(check_sigma(sigma, len(arms)).max()), check_delta(delta), check_positive("u", u)
    names = range(len(items)) if names is None else names
    return _compare(arms, sample, items, sigma, delta, u, names)


def _compare(arms, sample, items, sigma, delta, u, names, leader=None):
    """The table of `intervals`, with the leads of the item of largest estimate, or of another `leader`."""
    beta, estimate = _threshold(arms, sample.counts, sigma, delta, u), np.zeros(len(items))
    fit = least_squares(arms, sample) if sample.counts.any() else None
    if fit is not None:
        estimate = items @ fit.theta_hat
    leader = int(argmax(estimate)) if leader is None else leader
    lead = items[leader] - items
    behind = np.zeros(len(items)) if fit is None else lead @ fit.theta_hat
    width = np.full(len(items), inf) if beta == inf or fit is None else np.sqrt(2 * beta * fit.variances(lead))
    width[leader] = 0.0
    table = {"estimate": estimate, "behind": behind, "low": behind - width, "high": behind + width}
    frame = pd.DataFrame(table, index=pd.Index(names, name="item"))
    return frame.assign(in_play=frame["low"] <= 0)


def _threshold(arms, counts, sigma, delta, u):
    """beta of eq. 9 with c the least eigenvalue of spanning arms; infinite while A >= c I does not hold."""
    start = opening(arms, arms)
    information = (start.arms.T * counts) @ start.arms
    if np.linalg.eigvalsh(information)[0] < start.c * (1 - 1e-9):
        return inf
    _, logdet = np.linalg.slogdet(information / (u * start.c) + np.eye(len(information)))
    return (1 + u) * sigma**2 * (logdet / 2 - log(delta))


def standings(lab, *, names=None, arms=None, items=None, sigma=None, delta=None, u=1.0):
    """What is known of an experiment at any time: who leads, who is in play, and by how much the leader leads.

    Parameters
    ----------
    lab : Lab
        The experiment; `lab.standings(...)` is the same.
    names : sequence, optional
        M labels of the items, by default 0..M-1.
    arms : (K, d) array_like, optional
        Arms, one per row, by default those that the rule was called with.
    items : (M, d) array_like, optional
        Items, by default those that the rule was called with, else the arms.
    sigma : float or (K,) array_like, optional
        The standard deviation of the noise, or a bound on it; by default what the rule was called with, of several the
        largest, its `sigma_max` if it has that in the place of sigma, and 1/2 for `bounded_rage`.
    delta : float, optional
        Error probability allowed, by default the rule's, or 0.05 if it is given a budget.
    u : float, default 1.0
        Free constant of the bound, positive.

    Returns
    -------
    Standings
        A table that prints and plots itself.

    Raises
    ------
    ValueError
        If arms or sigma are to be had neither from the rule nor from the call, for other bad arguments, and for rules
        whose answer is no item (level sets, the sphere).

    Notes
    -----
    The intervals are those of `intervals`: right together, at all times, whatever rule has chosen the arms, and so also
    at the end of a budget. The lead over the best of the others is the least of the leads, and its ends are the
    least of theirs. Rewards 0 and 1 under a logistic model are no linear function of the features: every arm is then
    an item by itself, and sigma is 1/2.

    Examples
    --------
    >>> from bandits_lib import Lab, Sample
    >>> from bandits_lib.fixed_confidence import rage
    >>> lab = Lab(rage(np.eye(3), delta=0.05))
    >>> lab.tell(Sample.of([0, 1, 2], [1.0, 0.1, 0.2], K=3))
    >>> standings(lab, names=["a", "b", "c"]).table["in_play"].tolist()
    [True, True, True]
    """
    told = from_rule(lab.experiment, arms=arms, items=items, sigma=sigma, delta=delta)
    arms, u = check_arms(told["arms"]), check_positive("u", u)
    items = check_items(told["items"], arms, distinct=False)
    sigma, delta = float(check_sigma(told["sigma"], len(arms)).max()), check_delta(told["delta"])
    names = list(range(len(items)) if names is None else names)
    if len(names) != len(items):
        raise ValueError(f"names must be one for each of the {len(items)} items; got {len(names)}")
    sample, ended = total([nothing(len(arms)), *lab.log]), lab.result is not None
    table = _compare(arms, sample, items, sigma, delta, u, names, lab.result.recommendation if ended else None)
    leader = int(lab.result.recommendation if ended else argmax(table["estimate"].to_numpy()))
    others = table[np.arange(len(table)) != leader]
    lead = (float(others["low"].min()), float(others["high"].min())) if len(others) else (inf, inf)
    return Standings(table, leader, lead, ended, int(sample.counts.sum()), sigma, told["source"], delta)
