"""What is known at this moment, whatever rule asked for the pulls: estimates, intervals, and what is still in play.

The set {theta : ||theta_hat - theta||^2_A <= 2 beta(delta, t)} with the threshold beta of jedra2020, eq. 9, contains
theta_star at all times t with A_t >= c I together, with probability at least 1 - delta and for any way of choosing
the arms: the bound is self-normalised. So intervals may be looked at after every pull, and an item whose
lead over some other is proved negative is out of play for good.
"""

from math import inf, log

import numpy as np
import pandas as pd

from bandits_lib.checks import check_arms, check_delta, check_items, check_positive, check_sigma
from bandits_lib.fixed_confidence.first_arms import opening
from bandits_lib.numerics.least_squares import least_squares
from bandits_lib.numerics.ties import argmax


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
    fit = least_squares(arms, sample)
    leader = int(argmax(items @ fit.theta_hat))
    lead = items[leader] - items
    beta = _threshold(arms, sample.counts, sigma, delta, u)
    width = np.full(len(items), inf) if beta == inf else np.sqrt(2 * beta * fit.variances(lead))
    behind = lead @ fit.theta_hat
    width[leader] = 0.0
    table = {"estimate": items @ fit.theta_hat, "behind": behind, "low": behind - width, "high": behind + width}
    frame = pd.DataFrame(table, index=pd.Index(range(len(items)) if names is None else names, name="item"))
    return frame.assign(in_play=frame["low"] <= 0)


def _threshold(arms, counts, sigma, delta, u):
    """beta of eq. 9 with c the least eigenvalue of spanning arms; infinite while A >= c I does not hold."""
    start = opening(arms, arms)
    information = (start.arms.T * counts) @ start.arms
    if np.linalg.eigvalsh(information)[0] < start.c * (1 - 1e-9):
        return inf
    _, logdet = np.linalg.slogdet(information / (u * start.c) + np.eye(len(information)))
    return (1 + u) * sigma**2 * (logdet / 2 - log(delta))
