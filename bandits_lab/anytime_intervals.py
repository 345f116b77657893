"""What is known at this moment, whatever rule asked for the pulls: estimates, intervals, and what is still in play.

The set {theta : ||theta_hat - theta||^2_A <= 2 beta(delta, t)} with the threshold beta of jedra2020, eq. 9, contains
theta_star at all times t with A_t >= c I together, with probability at least 1 - delta and for any way of choosing
the arms: the bound is self-normalised. So intervals may be looked at after every pull, and an item whose
lead over some other is proved negative is out of play for good. The same bound is honest after any rule has ended: it
does not ask how the arms were chosen, or why no more were pulled.

What an experiment's rule was told of the arms, the items, the noise and delta, for those who look at it later.

What is known of an experiment at one moment, as a table, in a sentence and as a picture.
"""

from math import inf, log
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from bandits_lab.measurements import nothing
from bandits_lib.checks import check_arms, check_delta, check_items, check_positive, check_sigma
from bandits_lib.likelihood_ratio import opening
from bandits_lib.numerics.least_squares import least_squares
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import total

DELTA = 0.05  # of rules with a budget, for which a delta is no probability of error, and of those without one
LOGISTIC = "rewards 0 and 1, every arm by itself"
BOUNDED = "rewards between 0 and 1, whose noise is never larger"


def from_rule(experiment, **here):
    """The arms, items, sigma and delta of an `Experiment`, but for those given `here`, and the `source` of sigma."""
    told = dict(experiment.arguments)
    if "arms" not in told and "d" in told or told.get("objective") == "level":
        raise ValueError(f"standings rank items, and the answer of this {experiment.rule} is none of them")
    found: dict[str, Any] = {key: told.get(key) for key in ("arms", "items", "sigma")}
    found["delta"] = told.get("delta", DELTA) if "budget" not in told else DELTA
    source = "the rule's"
    if experiment.rule == "ucb_glm" or told.get("model") == "logistic":
        found, source = found | {"arms": np.eye(len(told["arms"])), "items": None, "sigma": 0.5}, LOGISTIC
    elif experiment.rule == "bounded_rage":
        found, source = found | {"sigma": 0.5}, BOUNDED
    elif "sigma" not in told and "sigma_max" in told:
        found, source = found | {"sigma": told["sigma_max"]}, "the rule's sigma_max"
    elif "sigma" in told and told["sigma"] == experiment.defaults.get("sigma"):
        source = "the rule's default: is it yours?"
    source = source if here.get("sigma") is None else "given here"
    found |= {key: value for key, value in here.items() if value is not None}
    for key in ("arms", "sigma"):
        if found[key] is None:
            raise ValueError(f"{experiment.rule} was told no {key}: give it as standings(lab, {key}=...)")
    largest = ", the largest of the arms'" if np.ndim(found["sigma"]) else ""
    return found | {"source": source + largest}


IN_PLAY, OUT, ANSWER = "#0173b2", "0.6", "#029e73"
MARKERS = {IN_PLAY: "o", OUT: "x", ANSWER: "*"}


class Standings(NamedTuple):
    """What is known at this moment. It prints as a table with a sentence.

    Attributes
    ----------
    table : pandas.DataFrame
        As `intervals` returns it; after the end `behind` is what an item is behind the answer (negative: ahead of it).
    leader : int
        Row of the item of largest estimate; after the end, of the answer.
    lead : tuple of float
        Interval of the true lead of that item over the best of the others, in units of reward; below 0 it is not the
        best.
    ended : bool
        Whether the rule has named its answer.
    pulls : int
        Number of pulls so far.
    sigma : float
        The standard deviation of the noise that the intervals rest on.
    source : str
        Where it is from.
    delta : float
        Error probability allowed: that any interval, at any time, is wrong.

    Examples
    --------
    >>> from bandits_lab import Lab
    >>> from bandits_lib import Sample
    >>> from bandits_lib.fixed_budget import gse
    >>> lab = Lab(gse(np.eye(2), budget=400, sigma=0.5))
    >>> lab.tell(Sample(np.array([200, 200]), np.array([200.0, 0.0]), np.array([250.0, 50.0])))
    >>> tuple(round(end, 2) for end in lab.standings().lead)
    (0.71, 1.29)
    """

    table: pd.DataFrame
    leader: int
    lead: tuple[float, float]
    ended: bool
    pulls: int
    sigma: float
    source: str
    delta: float

    def __repr__(self):
        return f"{self.table.to_string(float_format='{:.4g}'.format)}\n{_in_words(self)}"

    def _repr_html_(self):
        return f"{self.table.to_html()}<p>{_in_words(self)}</p>"

    @property
    def alt(self):
        """The picture in words, for those who cannot see it.

        Returns
        -------
        str
            What is in play, the lead, and what the intervals rest on.

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"behind": [0.0], "low": [0.0], "high": [0.0], "in_play": [True]}, index=["a"])
        >>> Standings(table, 0, (np.inf, np.inf), False, 5, 1.0, "given", 0.05).alt.partition(":")[0]
        'How far 1 item is behind a, with intervals'
        """
        some = "1 item is" if len(self.table) == 1 else f"{len(self.table)} items are"
        return f"How far {some} behind {self.table.index[self.leader]}, with intervals: {_in_words(self)}"

    def plot(self, ax=None, *, most=50):
        """How far every item is behind the leader, with intervals; blue dots are in play, grey crosses out.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure, as high as the items need.
        most : int, default 50
            Number of items drawn, the best of them; a line says how many there are beside.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"behind": [0.0], "low": [0.0], "high": [0.0], "in_play": [True]}, index=["a"])
        >>> Standings(table, 0, (np.inf, np.inf), False, 5, 1.0, "given", 0.05).plot().get_xlabel()
        'behind a'
        """
        return _draw(self, ax, most)


def _in_words(known):
    """A `Standings` in sentences."""
    leader, table = known.table.index[known.leader], known.table
    if known.ended:
        said = f"After {known.pulls:,} pulls the answer is {leader}: {_lead(*known.lead)}."
    else:
        count = int(table["in_play"].sum())
        said = f"After {known.pulls:,} pulls {count} of {len(table)} may still be the best"
        said += f", and {leader} has the largest estimate." if known.pulls else "."
    return (
        f"{said} All intervals are right together, at all times, with probability {1 - known.delta:.6g} if the noise "
        f"has a standard deviation of at most {known.sigma:.4g} ({known.source})."
    )


def _lead(low, high):
    """What the interval of the answer's lead means."""
    if low == np.inf:
        return "there is no other"
    if low == -np.inf:
        return "these pulls alone say nothing about its lead"
    between = f"its lead over the best of the others lies between {low:.4g} and {high:.4g}"
    if low > 0:
        return f"{between}, so it is proved to be the best"
    if high < 0:
        return f"{between}, so another is better"
    return f"{between}, so these pulls alone do not prove it: another may be better, by {-low:.4g} at most"


def _draw(known, ax=None, most=50):
    """A `Standings` as a picture: a row per item, the best at the top."""
    order = known.table.sort_values("behind", kind="stable")
    shown = order.iloc[: max(1, most)]
    if ax is None:
        _, ax = plt.subplots(figsize=(5, 1.0 + 0.19 * len(shown)), layout="constrained")
    low, high = _limits(shown)
    answer = known.table.index[known.leader] if known.ended else None
    for row, item in enumerate(shown.itertuples()):
        colour = ANSWER if answer is not None and item.Index == answer else IN_PLAY if item.in_play else OUT
        ax.plot(np.clip([item.low, item.high], low, high), [row, row], color=colour, lw=1.3)
        ax.plot(item.behind, row, MARKERS[colour], ms=8 if colour == ANSWER else 4.5, color=colour)
    ax.axvline(0, color="0.35", lw=0.8, ls="--", zorder=0)
    ax.set(xlim=(low, high), ylim=(len(shown) - 0.4, -0.6), yticks=range(len(shown)))
    ax.set_yticklabels(shown.index, fontsize=max(5, min(8, 300 / len(shown))))
    hidden = order.iloc[len(shown) :]
    beside = f"; {len(hidden)} more items, {int(hidden['in_play'].sum())} of them in play" if len(hidden) else ""
    ax.set_xlabel(f"behind {known.table.index[known.leader]}{beside}")
    return ax


def _limits(shown):
    """Ends of the axis: those of the finite intervals, with room; others run out of the picture."""
    ends = shown[["low", "high", "behind"]].to_numpy(float)
    ends = np.append(ends[np.isfinite(ends)], 0.0)
    low, high = ends.min(), ends.max()
    room = 0.05 * (high - low) or 1.0
    return low - room, high + room


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
    >>> from bandits_lab import Lab
    >>> from bandits_lib import Sample
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
