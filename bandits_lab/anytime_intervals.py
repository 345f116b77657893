"""Compute estimates, intervals, and the items that may still be the best, at any time and for any rule.

The confidence set is {theta : ||theta_hat - theta||^2_A <= 2 beta(delta, t)}, with the threshold beta of jedra2020,
eq. 9. With probability at least 1 - delta it contains theta_star at all times t with A_t >= c I simultaneously, for any
choice of the arms, since the bound is self-normalised. You may therefore look at the intervals after every pull and
after the end of any rule. An item whose lead over another item was once proved negative cannot be the best.
"""

from collections.abc import Sequence
from math import inf, log
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bandits_lab.diagnosis import rejected
from bandits_lab.measurements import nothing
from bandits_lab.noise import sigma_upper
from bandits_lib.checks import check_arms, check_items, check_sigma
from bandits_lib.glr import opening
from bandits_lib.numerics.least_squares import least_squares
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import total

DELTA = 0.05  # for rules with a budget or without a delta
REPLICATES, SHARE = "replicates", 0.1  # the value of sigma that means a bound, and the share of delta spent on it
ACCEPTED = {"rage": "accept", "lingape": "epsilon"}  # the arguments that allow an answer behind the best


class Proof(NamedTuple):
    """What the answer of a rule proves, with probability 1 - delta."""

    within: float  # the answer is at most so far behind the best; inf without an answer or a promise
    against: str = ""  # why the measurements contradict the assumptions of the rule, or an empty text
    rejected: bool = False  # whether they contradict the linear model

    @property
    def is_best(self):
        """Return whether the answer is proved to be the best."""
        return self.within == 0 and not self.against


def proof(lab: Any) -> Proof:
    """Return what is proved in an experiment. Whoever says that an item is proved to be the best must ask here.

    Parameters
    ----------
    lab : Lab
        The experiment.

    Returns
    -------
    Proof
        Its fields are `within`, `against` and `rejected`, and its property is `is_best`.

    Examples
    --------
    >>> from bandits_lab import Lab
    >>> from bandits_lib.fixed_confidence import rage
    >>> proof(Lab(rage(np.eye(3), delta=0.05))).is_best
    False
    """
    told, rule = lab.experiment.arguments, lab.experiment.rule
    promised = lab.result is not None and "delta" in told and "budget" not in told
    within = float(told.get(ACCEPTED.get(rule, ""), 0.0)) if promised else inf
    p_value = rejected(lab.experiment, lab.log)
    if p_value is not None:
        return Proof(within, f"they contradict the assumed model (lack-of-fit test, p = {p_value:.2g})", True)
    return Proof(within, lab.watch.against())


def from_rule(experiment, sigma=None):
    """Return arms, items, delta, sigma, given here or by the `Experiment`, its `source`, and `by_itself`."""
    told = experiment.arguments
    if ("arms" not in told and "d" in told) or told.get("objective") == "level":
        raise ValueError(
            f"standings rank items, and the answer of this {experiment.rule} is not an item: use lab.result"
        )
    if told.get("arms") is None:
        raise ValueError(f"standings need the arms, but {experiment.rule} was given none: use lab.result")
    by_itself = experiment.rule == "ucb_glm" or told.get("model") == "logistic"
    found, source = told.get("sigma", told.get("sigma_max")), "the rule's"
    if sigma is not None:
        found, source = sigma, "given here"
    elif by_itself:
        found, source = 0.5, "rewards 0 and 1, every arm by itself"
    elif experiment.rule == "bounded_rage":
        found, source = 0.5, "rewards between 0 and 1, whose noise is never larger"
    return {
        "arms": check_arms(told["arms"]),
        "items": None if by_itself else told.get("items"),
        "delta": told.get("delta", DELTA) if "budget" not in told else DELTA,
        "sigma": REPLICATES if found is None else found,
        "source": source,
        "by_itself": by_itself,
    }


IN_PLAY, OUT, ANSWER = "#0173b2", "0.6", "#029e73"
MARKERS = {IN_PLAY: "o", OUT: "x", ANSWER: "*"}


class Standings(NamedTuple):
    """The state of an experiment at one moment; it prints as a table with a sentence."""

    table: pd.DataFrame  # of `intervals`; after the end, `behind` refers to the answer
    leader: int  # row of the item with the largest estimate, or after the end of the answer
    lead: tuple[float, float]  # interval of its true lead over the best of the others, in units of reward
    answer: int | None  # row of the item that the rule recommends; None until it is done
    pulls: int
    sigma: float
    source: str  # where sigma comes from
    delta: float
    proof: Proof = Proof(inf)
    by_itself: bool = False  # whether every arm is estimated from its own rewards alone, without a linear model

    @property
    def may_be_best(self):
        """Return which items may still be the best, as a column of the table."""
        if self.proof.is_best:
            return pd.Series(np.arange(len(self.table)) == self.answer, self.table.index)
        return self.table["in_play"] | bool(self.proof.against and not self.by_itself)

    def __repr__(self):
        return f"{self.table.to_string(float_format='{:.4g}'.format)}\n{_in_words(self)}"

    @property
    def alt(self):
        """Return a description of the picture in words."""
        leader = self.table.index[self.leader]
        return f"How far {len(self.table)} items are behind {leader}, with intervals: {_in_words(self)}"

    def plot(self, ax=None, *, rows=range(50), estimates=False):
        """Draw how far some `rows` of all in the order of the estimates are behind the leader.

        With `estimates` the axis shows estimates instead. Blue dots are in play, grey crosses are not.
        """
        import matplotlib.pyplot as plt

        order = np.argsort(self.table["behind"].to_numpy(), kind="stable")
        shown = order[[row for row in rows if row < len(order)]]
        names, in_play = self.table.index[shown], self.table["in_play"].to_numpy()
        middle, low, high = self.table[["behind", "low", "high"]].to_numpy(float)[shown].T
        if estimates:
            middle, low, high = self.table["estimate"].iloc[self.leader] - np.array([middle, high, low])
        if ax is None:
            _, ax = plt.subplots(figsize=(5, 1.0 + 0.19 * len(shown)), layout="constrained")
        left, right = _limits(np.concatenate([middle, low, high, [0.0] * (not estimates)]))
        for row, k in enumerate(shown):
            colour = IN_PLAY if in_play[k] else OUT
            if k == self.answer and not self.proof.against:
                colour = ANSWER
            ax.plot(np.clip([low[row], high[row]], left, right), [row, row], color=colour, lw=1.3)
            ax.plot(middle[row], row, MARKERS[colour], ms=8 if colour == ANSWER else 4.5, color=colour)
        if not estimates:
            ax.axvline(0, color="0.35", lw=0.8, ls="--", zorder=0)
        ax.set(xlim=(left, right), ylim=(len(shown) - 0.4, -0.6), yticks=range(len(shown)))
        ax.set_yticklabels(names, fontsize=max(5, min(8, 300 / len(shown))))
        ax.set_xlabel("estimate" if estimates else f"behind {self.table.index[self.leader]}")
        return ax


def _in_words(known):
    names, table, proved = known.table.index, known.table, known.proof
    leader, count = names[known.leader], int(known.may_be_best.sum())
    begin = f"After {known.pulls:,} measurements"
    if proved.against:
        rule = "" if known.answer is None else f"the rule's answer is {names[known.answer]}, but "
        said = f"{begin} {rule}nothing is proved, because {proved.against}."
        if known.by_itself:
            said += f" Without the model, {leader} has the largest mean, and {count} of {len(table)} may be the best."
        if proved.rejected:
            said += (
                " Add features, or squares or products of features, to the model and begin again with these rewards."
            )
    elif known.answer is not None:
        said = f"{begin} the answer is {leader}: {_lead(known)}."
        if (first := table["behind"].to_numpy()).min() < 0:
            said += (
                f" {names[int(first.argmin())]} has the largest estimate from all measurements; the rule decided by "
                "those of its last stage."
            )
    else:
        said = f"{begin} {count} of {len(table)} may still be the best"
        said += f", and {leader} has the largest estimate." if known.pulls else "."
    linear = "" if known.by_itself else "rewards are linear in the features and "
    return (
        f"{said} All intervals hold simultaneously, at all times, with probability {1 - known.delta:.6g} if {linear}"
        f"the noise has a standard deviation of at most {known.sigma:.4g} ({known.source})."
    )


def _lead(known):
    low, high = known.lead
    within, between = known.proof.within, "these measurements alone say nothing about its lead"
    if low > -inf:
        between = f"its lead over the best of the others lies between {low:.4g} and {high:.4g}"
    elif within == inf:
        return between
    if low > 0:
        return f"{between}, so it is proved to be the best"
    if high < 0:
        return f"{between}, so another item is better"
    if within == 0:
        return (
            f"{between}. These intervals hold at all times, so they are wider than those of the rule's own test, which "
            "has proved the answer"
        )
    if within < inf:
        return f"the rule has proved that it is at most {within:.4g} behind the best, so another item may be the best"
    return (
        f"{between}, so these measurements alone do not prove that it is the best: another item may be better, by "
        f"{-low:.4g} at most"
    )


def _limits(ends):
    """Return the ends of an axis, which contain the finite numbers with a margin."""
    ends = ends[np.isfinite(ends)]
    room = 0.05 * np.ptp(ends) or 1.0
    return ends.min() - room, ends.max() + room


def intervals(arms, sample, items, *, sigma, delta, names, u=1.0, leader=None):
    """Return how far every item is behind the leader, with intervals, and whether it may still be the best (in_play).

    The bound is jedra2020, Proposition 2 and eq. 9, with its free constant u. All items are in play until the pulled
    arms span the others. The leader is the item with the largest estimate unless it is given.
    """
    beta, estimate = _threshold(arms, sample.counts, sigma, delta, u), np.zeros(len(items))
    fit = least_squares(arms, sample) if sample.counts.any() else None
    if fit is not None:
        estimate = items @ fit.theta_hat
    leader = int(argmax(estimate)) if leader is None else leader
    lead = items[leader] - items
    behind = np.zeros(len(items)) if fit is None else lead @ fit.theta_hat
    width = np.full(len(items), inf) if beta == inf or fit is None else np.sqrt(2 * beta * fit.variances(lead))
    return _table(estimate, behind, width, names, leader), leader


def by_itself(sample, *, sigma, delta, names, u=1.0, leader=None):
    """Return the table of `intervals` for arms without a model: the measured arms are a basis, for which c = 1."""
    measured, n = sample.counts > 0, np.maximum(sample.counts, 1)
    mean = np.where(measured, sample.sums / n, np.nan)
    if leader is None:
        leader = int(argmax(np.where(measured, mean, -inf)))
    beta = (1 + u) * sigma**2 * (np.log(sample.counts / u + 1).sum() / 2 - log(delta))
    width = np.where(measured & measured[leader], np.sqrt(2 * beta * (1 / n + 1 / n[leader])), inf)
    return _table(mean, mean[leader] - mean, width, names, leader), leader


def _table(estimate, behind, width, names, leader):
    width[leader] = 0.0
    low, high = (np.where(np.isnan(behind), side * inf, behind + side * width) for side in (-1, 1))
    table = {"estimate": estimate, "behind": behind, "low": low, "high": high}
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


def _bounded_by_replicates(lab, told):
    """Return a bound on sigma, its source, and delta without the share that is spent on the bound.

    Given the past, the counts of each request are fixed, so each request has a bound with a share of its own. The
    shares 1/2, 1/6, 1/12, ... add up to 1.
    """
    if told["sigma"] != REPLICATES:
        raise ValueError(
            f"sigma must be a number, a list of one number for each arm, or {REPLICATES!r}; got {told['sigma']!r}"
        )
    parts: dict[int, list] = {}
    for sample, request in zip(lab.log, lab.requests, strict=True):
        parts.setdefault(request, []).append(sample)
    wrong = "no arm was measured twice in one request, and only replicates show the noise"
    share, found = SHARE * told["delta"], []
    for n, request in enumerate(sorted(parts), start=1):
        sample = total(parts[request])
        try:
            found += [sigma_upper(sample, share / (n * (n + 1)))] if sample.counts.max() > 1 else []
        except ValueError as error:
            wrong = str(error)
    if not found:
        raise ValueError(f"sigma is not known yet, and standings need it: {wrong}")
    source = f"a bound from replicates, itself wrong with probability {share:.4g}"
    return {"sigma": min(found), "delta": told["delta"] - share, "source": source}


def standings(lab: Any, *, names: Sequence | None = None, sigma: float | np.ndarray | str | None = None) -> Standings:
    """Return the leader of an experiment, the items that may still be the best, and the interval of the lead.

    Parameters
    ----------
    lab : Lab
        The experiment; `lab.standings(...)` returns the same. Arms, items and delta are those of its rule; delta is
        0.05 for rules with a budget.
    names : sequence, optional
        M labels of the items; by default those of the Lab, or 0..M-1.
    sigma : float or (K,) array_like or "replicates", optional
        Standard deviation of the noise, or an upper bound on it; the largest of several values counts. The default is
        the rule's sigma or sigma_max, and 0.5 for `bounded_rage`. "replicates", the default if the rule has no
        sigma, means the smallest of the bounds of `sigma_upper` from each request, which share a tenth of delta.

    Returns
    -------
    Standings
        The object prints as a table with a sentence. Its ``table`` has a row per item: estimate, behind (the leader),
        low and high (the interval of the leader's true lead over the item, in units of reward), and in_play.
        ``may_be_best`` also uses what the rule has proved (`proof`). ``plot()`` draws the table, and ``alt`` describes
        the picture. ``lead`` is the interval of the lead over the best of the others.

    Raises
    ------
    ValueError
        If the rule has no arms, if the replicates do not bound sigma yet, if the answer of the rule is not an item
        (level sets, the sphere), and for other bad arguments.

    Notes
    -----
    All intervals hold simultaneously, at all times and for any rule, with probability 1 - delta, if rewards are linear
    in the features. The lower end of `lead` is the smallest lower end of the leads over single items, and the upper end
    is the smallest upper end. The features are not used for a logistic model, where sigma is 0.5, and after the
    measurements have rejected the linear model: each arm is then estimated from its own rewards alone, which is valid
    with and without the model. Each look tests the model at the level 0.001.

    References
    ----------
    .. [1] Jedra, Proutiere. "Optimal best-arm identification in linear bandits". NeurIPS 2020. Proposition 2, eq. 9.

    Examples
    --------
    >>> from bandits_lab import Lab
    >>> from bandits_lib import Sample
    >>> from bandits_lib.fixed_confidence import rage
    >>> lab = Lab(rage(np.eye(3), delta=0.05))
    >>> lab.tell(Sample.of([0, 1, 2], [1.0, 0.1, 0.2], K=3)).counted
    3
    >>> standings(lab, names=["a", "b", "c"]).table["in_play"].tolist()
    [True, True, True]
    """
    told, proved = from_rule(lab.experiment, sigma), proof(lab)
    if isinstance(told["sigma"], str):
        told |= _bounded_by_replicates(lab, told)
    arms, alone = told["arms"], told["by_itself"] or (proved.rejected and told["items"] is None)
    items = check_items(told["items"], arms, distinct=False)
    highest = float(check_sigma(told["sigma"], len(arms)).max())
    own = lab.names if told["items"] is None else None
    names = list(own or range(len(items)) if names is None else names)
    if len(names) != len(items):
        raise ValueError(f"there must be one name for each of the {len(items)} items; got {len(names)} names")
    sample = total([nothing(len(arms)), *lab.log])
    answer = None if lab.result is None else int(lab.result.recommendation)
    how = {"sigma": highest, "delta": told["delta"], "names": names, "leader": None if proved.rejected else answer}
    table, leader = by_itself(sample, **how) if alone else intervals(arms, sample, items, **how)
    others = table[np.arange(len(table)) != leader]
    lead = (float(others["low"].min()), float(others["high"].min())) if len(others) else (inf, inf)
    pulls = int(sample.counts.sum())
    return Standings(table, leader, lead, answer, pulls, highest, told["source"], told["delta"], proved, alone)
