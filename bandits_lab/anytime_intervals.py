"""Compute estimates, intervals, and the items that may still be the best, at any time and for any rule.

The confidence set is {theta : ||theta_hat - theta||^2_A <= 2 beta(delta, t)}, with the threshold beta of jedra2020,
eq. 9. With probability at least 1 - delta it contains theta_star at all times t with A_t >= c I simultaneously, for any
choice of the arms, since the bound is self-normalised. You may therefore look at the intervals after every pull and
after the end of any rule. An item whose lead over another item was once proved negative cannot be the best.
"""

from collections.abc import Sequence
from html import escape
from math import inf, log
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bandits_lab.measurements import nothing
from bandits_lab.noise import sigma_upper
from bandits_lib.checks import check_arms, check_delta, check_items, check_positive, check_sigma
from bandits_lib.glr import opening
from bandits_lib.numerics.least_squares import least_squares
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import total

DELTA = 0.05  # for rules with a budget or without a delta
FIRST, SHARE = "first request", 0.1  # the replicates that bound sigma, and the share of delta spent on that bound
LOGISTIC = "rewards 0 and 1, every arm by itself"
BOUNDED = "rewards between 0 and 1, whose noise is never larger"


def from_rule(experiment, **here):
    """Return arms, items, sigma and delta, given `here` or by the `Experiment`, and the `source` of sigma."""
    told = dict(experiment.arguments)
    if "arms" not in told and "d" in told or told.get("objective") == "level":
        raise ValueError(
            f"standings rank items, and the answer of this {experiment.rule} is not an item: use lab.result"
        )
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
        source = "the rule's default; check that it is yours"
    source = source if here.get("sigma") is None else "given here"
    found |= {key: value for key, value in here.items() if value is not None}
    found["sigma"] = FIRST if found["sigma"] is None else found["sigma"]
    if found["arms"] is None:
        raise ValueError(f"standings need the arms, but {experiment.rule} was given none: pass arms= to standings")
    largest = ", the largest of the arms'" if np.ndim(found["sigma"]) else ""
    return found | {"source": source + largest}


IN_PLAY, OUT, ANSWER = "#0173b2", "0.6", "#029e73"
MARKERS = {IN_PLAY: "o", OUT: "x", ANSWER: "*"}


class Standings(NamedTuple):
    """The state of an experiment at one moment; it prints as a table with a sentence."""

    table: pd.DataFrame  # of `intervals`; after the end, `behind` refers to the answer
    leader: int  # row of the item with the largest estimate, or after the end of the answer
    lead: tuple[float, float]  # interval of its true lead over the best of the others, in units of reward
    ended: bool
    pulls: int
    sigma: float
    source: str  # where sigma comes from
    delta: float
    proved: bool = False  # whether a rule that promises delta has ended with this answer

    def __repr__(self):
        return f"{self.table.to_string(float_format='{:.4g}'.format)}\n{_in_words(self)}"

    def _repr_html_(self):
        return f"{self.table.to_html()}<p>{escape(_in_words(self), quote=False)}</p>"

    @property
    def alt(self):
        """Return a description of the picture in words."""
        some = "1 item is" if len(self.table) == 1 else f"{len(self.table)} items are"
        return f"How far {some} behind {self.table.index[self.leader]}, with intervals: {_in_words(self)}"

    def plot(self, ax=None, *, most=50):
        """Draw how far the `most` best items are behind the leader; blue dots are in play, grey crosses are not."""
        import matplotlib.pyplot as plt

        order = self.table.sort_values("behind", kind="stable")
        shown = order.iloc[: max(1, most)]
        if ax is None:
            _, ax = plt.subplots(figsize=(5, 1.0 + 0.19 * len(shown)), layout="constrained")
        low, high = _limits(shown)
        answer = self.table.index[self.leader] if self.ended else None
        for row, item in enumerate(shown.itertuples()):
            colour = ANSWER if answer is not None and item.Index == answer else IN_PLAY if item.in_play else OUT
            ax.plot(np.clip([item.low, item.high], low, high), [row, row], color=colour, lw=1.3)
            ax.plot(item.behind, row, MARKERS[colour], ms=8 if colour == ANSWER else 4.5, color=colour)
        ax.axvline(0, color="0.35", lw=0.8, ls="--", zorder=0)
        ax.set(xlim=(low, high), ylim=(len(shown) - 0.4, -0.6), yticks=range(len(shown)))
        ax.set_yticklabels(shown.index, fontsize=max(5, min(8, 300 / len(shown))))
        hidden = order.iloc[len(shown) :]
        beside = f"; {len(hidden)} more items, {int(hidden['in_play'].sum())} of them in play" if len(hidden) else ""
        ax.set_xlabel(f"behind {self.table.index[self.leader]}{beside}")
        return ax


def _in_words(known):
    leader, table = known.table.index[known.leader], known.table
    if known.ended:
        said = f"After {known.pulls:,} measurements the answer is {leader}: {_lead(known)}."
    else:
        count = int(table["in_play"].sum())
        said = f"After {known.pulls:,} measurements {count} of {len(table)} may still be the best"
        said += f", and {leader} has the largest estimate." if known.pulls else "."
    return (
        f"{said} All intervals hold simultaneously, at all times, with probability {1 - known.delta:.6g} if the noise "
        f"has a standard deviation of at most {known.sigma:.4g} ({known.source})."
    )


def _lead(known):
    low, high = known.lead
    if low == np.inf:
        return "there is no other item"
    if low == -np.inf:
        return "these measurements alone say nothing about its lead"
    between = f"its lead over the best of the others lies between {low:.4g} and {high:.4g}"
    if low > 0:
        return f"{between}, so it is proved to be the best"
    if high < 0:
        return f"{between}, so another item is better"
    if known.proved:
        ahead = np.sort(known.table["behind"].to_numpy())[1]
        return (
            f"it is about {ahead:.3g} ahead of the next. The intervals hold simultaneously and at all times, so they "
            "are wider than those of the rule's own test, which has proved the answer"
        )
    return (
        f"{between}, so these measurements alone do not prove that it is the best: another item may be better, by "
        f"{-low:.4g} at most"
    )


def _limits(shown):
    """Return the ends of the axis, which contain the finite intervals with a margin."""
    ends = shown[["low", "high", "behind"]].to_numpy(float)
    ends = np.append(ends[np.isfinite(ends)], 0.0)
    low, high = ends.min(), ends.max()
    room = 0.05 * (high - low) or 1.0
    return low - room, high + room


def intervals(arms, sample, *, items=None, sigma=1.0, delta=0.05, u=1.0, names=None):
    """Return how far every item is behind the leader, with intervals, and whether it may still be the best (in_play).

    The bound is jedra2020, Proposition 2 and eq. 9. All items are in play until the pulled arms span the others.
    """
    arms = check_arms(arms)
    items = check_items(items, arms, distinct=False)
    sigma, delta, u = float(check_sigma(sigma, len(arms)).max()), check_delta(delta), check_positive("u", u)
    names = range(len(items)) if names is None else names
    return _compare(arms, sample, items, sigma, delta, u, names)


def _compare(arms, sample, items, sigma, delta, u, names, leader=None):
    """Return the table of `intervals` for checked arguments; the leader is the largest estimate unless it is given."""
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
    """Return beta of eq. 9, where c is the smallest eigenvalue of spanning arms; inf until A >= c I."""
    start = opening(arms, arms)
    information = (start.arms.T * counts) @ start.arms
    if np.linalg.eigvalsh(information)[0] < start.c * (1 - 1e-9):
        return inf
    _, logdet = np.linalg.slogdet(information / (u * start.c) + np.eye(len(information)))
    return (1 + u) * sigma**2 * (logdet / 2 - log(delta))


def _bounded_by_first_request(lab, told):
    """Return a bound on sigma, its source, and delta without the share that is spent on the bound."""
    if told["sigma"] != FIRST:
        raise ValueError(
            f"sigma must be a number, a list of one number for each arm, or {FIRST!r}; got {told['sigma']!r}"
        )
    first = [sample for sample, request in zip(lab.log, lab.requests, strict=True) if request == 1]
    share = SHARE * check_delta(told["delta"])
    try:
        sigma = sigma_upper(total([nothing(len(told["arms"])), *first]), share)
    except ValueError as error:
        raise ValueError(f"sigma is not known yet, and standings need it: {error}") from None
    source = f"a bound from the first request, itself wrong with probability {share:.4g}"
    return {"sigma": sigma, "delta": told["delta"] - share, "source": source}


def standings(
    lab: Any,
    *,
    names: Sequence | None = None,
    arms: np.ndarray | None = None,
    items: np.ndarray | None = None,
    sigma: float | np.ndarray | str | None = None,
    delta: float | None = None,
    u: float = 1.0,
) -> Standings:
    """Return the leader of an experiment, the items that may still be the best, and the interval of the lead.

    Parameters
    ----------
    lab : Lab
        The experiment; `lab.standings(...)` returns the same.
    names : sequence, optional
        M labels of the items; by default those of the Lab, or 0..M-1.
    arms : (K, d) array_like, optional
        Arms, one per row; by default those of the rule.
    items : (M, d) array_like, optional
        Items, one per row; by default those of the rule, or the arms.
    sigma : float or (K,) array_like or "first request", optional
        Standard deviation of the noise, or an upper bound on it; the largest of several values counts. The default is
        the rule's sigma or sigma_max, and 0.5 for `bounded_rage`. "first request", the default if the rule has no
        sigma, means the bound of `sigma_upper` from the replicates of the first request, with a tenth of delta.
    delta : float, optional
        Error probability; by default that of the rule, or 0.05 for rules with a budget.
    u : float, default 1.0
        Free constant u of eq. 9, positive.

    Returns
    -------
    Standings
        The object prints as a table with a sentence. Its ``table`` has a row per item: estimate, behind (the leader),
        low and high (the interval of the leader's true lead over the item, in units of reward), and in_play. ``plot()``
        draws it, and ``alt`` describes the picture. ``lead`` is the interval of the lead over the best of the others.

    Raises
    ------
    ValueError
        If neither the rule nor the call has arms, if the replicates do not bound sigma yet, if the answer of the rule
        is not an item (level sets, the sphere), and for other bad arguments.

    Notes
    -----
    All intervals hold simultaneously, at all times and for any rule, with probability 1 - delta. The lower end
    of `lead` is the smallest lower end of the leads over single items, and the upper end is the smallest upper end. For
    a logistic model the features are not used: each arm is estimated from its own rewards alone, and sigma is 0.5.

    References
    ----------
    .. [1] Jedra, Proutiere. "Optimal best-arm identification in linear bandits". NeurIPS 2020. Proposition 2, eq. 9.

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
    if isinstance(told["sigma"], str):
        told |= _bounded_by_first_request(lab, told)
    arms, u = check_arms(told["arms"]), check_positive("u", u)
    items = check_items(told["items"], arms, distinct=False)
    sigma, delta = float(check_sigma(told["sigma"], len(arms)).max()), check_delta(told["delta"])
    own = None if told["items"] is not None else lab.names
    names = list(own or range(len(items)) if names is None else names)
    if len(names) != len(items):
        raise ValueError(f"there must be one name for each of the {len(items)} items; got {len(names)} names")
    sample, ended = total([nothing(len(arms)), *lab.log]), lab.result is not None
    table = _compare(arms, sample, items, sigma, delta, u, names, lab.result.recommendation if ended else None)
    leader = int(lab.result.recommendation if ended else argmax(table["estimate"].to_numpy()))
    others = table[np.arange(len(table)) != leader]
    lead = (float(others["low"].min()), float(others["high"].min())) if len(others) else (inf, inf)
    given, pulls = lab.experiment.arguments, int(sample.counts.sum())
    proved = ended and "delta" in given and "budget" not in given
    return Standings(table, leader, lead, ended, pulls, sigma, told["source"], delta, proved)
