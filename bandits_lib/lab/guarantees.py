"""What stands of a rule's guarantee when an arm is dropped, or a request is closed with fewer pulls than it asked for.

In every line it is supposed that neither has to do with the rewards: a bottle broke, a page was taken down. Then the
pulls of a phase are as fixed as if they had been planned that way, and so is what can be pulled from then on. An arm
that is dropped because it did badly, or a reading that is missing because it was too high, voids all of them.

How a rule goes on:
- "anew"     the open request and all later ones are designed for the arms that are left
- "as if"    the one design of the rule is made as if the arm had never been there; what was pulled counts
- "restart"  the rule begins again with the arms that are left and all pulls so far, and, if the arms left do not
             measure what some items differ in, without those that the same bound has put out
- "without"  it asks as before, and the arm is left out of what it asks
"""

from typing import NamedTuple

import numpy as np

WIDTHS = (
    "stands: items go by the widths of the pulls that were made, which the union bound covers whatever their number"
)
HALVING = "stands: a phase decides by 2^-l or by the widths of the pulls that were made, whichever is wider"
STOPPING = "stands: eq. 9 of jedra2020 holds at all times for any choice of arms, with all pulls so far"
SHARES = "stands: the shares that were pulled are the design of the phase, and its widths are made of them"
BETS = "stands: bets are settled by the pulls that were made"
ENDS = "stands: the end is told by the widths of all pulls made, whose number does not depend on rewards"
RIDGE = "stands: the ridge regression's ellipsoid holds at all times for any choice of arms"
BUDGET = "no confidence is promised with a budget, and the probability of error grows with every pull that is not made"
ENTRIES = "it measures every entry of a matrix of variances, and few arms can stand in for another there"
ONE_BY_ONE = "it asks arm by arm, and would ask for the one that is dropped for ever"


class After(NamedTuple):
    """What comes after a drop or an early end of a request."""

    how: str  # "anew", "as if", "restart" or "without"; "" if it cannot be
    why: str  # what stands, or why it cannot be
    closes: bool = True  # whether a request may be closed with fewer pulls


TABLE = {
    "rage": After("anew", WIDTHS),
    "rage_halving": After("anew", HALVING),
    "h_rage": After("anew", HALVING),
    "bounded_rage": After("anew", BETS),
    "xy_static": After("as if", ENDS),
    "xy_oracle": After("as if", ENDS),
    "lingape": After("as if", RIDGE),
    "lazy_track_and_stop": After("restart", STOPPING),
    "lin_game": After("restart", STOPPING),
    "fws": After("restart", STOPPING),
    "l_t3c": After("restart", STOPPING),
    "alba": After("without", SHARES),
    "gse": After("without", BUDGET),
    "od_linbai": After("without", BUDGET),
    "peace": After("without", BUDGET),
    "uniform_estimator": After("", ENTRIES),
    "separate_arm_estimator": After("", ENTRIES),
    "head": After("", ENTRIES),
    "xy_adaptive": After("", "its greedy pulls would go on asking for the arm, in phases that never get shorter"),
    "linucb": After("", ONE_BY_ONE),
    "bayes_gap": After("", ONE_BY_ONE),
    "ucb_glm": After("", ONE_BY_ONE),
    "lingape_budget": After("", ONE_BY_ONE),
    "peps": After("", ONE_BY_ONE),
    "sphere_track_and_stop": After("", "its blocks measure every coordinate alike", closes=False),
}
UNKNOWN = After("without", "whether its guarantee stands is not known, for it is not in the table of lab.guarantees")
UNPROVED = (BUDGET, UNKNOWN.why)
GREEDY = "with rule='greedy' it looks at all arms at every pull, and would ask for the one that is dropped for ever"
DRAWN = "with initial='random' the constant of its threshold was drawn, and would be drawn anew"
BURN_IN = "the variances must be known up to half of themselves, and the burn-in is as long as that takes"


def after(experiment, request):
    """The `After` of an `Experiment` whose request of this number is open."""
    rule, arguments = experiment.rule, experiment.arguments
    found = TABLE.get(rule, UNKNOWN)
    if rule == "lingape" and arguments.get("rule") == "greedy":
        return found._replace(how="", why=GREEDY)
    if rule == "lazy_track_and_stop" and arguments.get("initial") == "random":
        return found._replace(how="", why=DRAWN)
    if rule == "h_rage" and request <= 2 and np.ndim(arguments.get("burn_in", "")) == 0:
        return After("", BURN_IN, closes=False)
    return found


def going_on(experiment, request):
    """The `After` of a rule that goes on without an arm; ValueError with the reason for one that cannot."""
    found = after(experiment, request)
    if not found.how:
        raise ValueError(
            f"{experiment.rule} cannot go on without an arm: {found.why}. The way out is another experiment without "
            f"these arms, {experiment.rule}(arms left, ...), whose probability of error is its own"
        )
    return found
