"""When to stop, whatever the sampling rule: the generalised likelihood ratio test of jedra2020, section 3.4.

With A the sum of xx' over the pulls and theta the least-squares estimate, the statistic is (Lemma 7)
    Z = min over items z other than the leader of  ((leader - z)'theta)^2 / (2 ||leader - z||^2),   norms in A^-1,
and a rule stops when Z exceeds a threshold beta. With c no larger than the least eigenvalue of A, and any u > 0,
    beta = (1 + u) sigma^2 log( det(A / (u c) + I)^(1/2) / delta )                                  (eq. 9)
makes every sampling rule delta-correct: A^-1 <= (1 + u) (A + u c I)^-1, and Z <= ||theta - theta_star||^2 / 2 in the
norm of A when the leader is wrong, which a self-normalised bound controls for all t at once. Here A begins with one
pull each of spanning arms (A_0 in the paper) and c is the least eigenvalue of their sum, so A >= c I always holds.

A rule is then what it pulls next: `stop_by_glr` has the rest, and `over` ends its loops. A rule hands it `choose` and
`update` of its Loop, first_state(evidence), the Loop's state, and between(state), that of the next Loop; its opening
(`first_arms`), and whether the stop is recorded as a look (`last_look`).

Departures and readings:
- Section 5 takes beta at 6 delta / (pi^2 t^2) ("union"). Proposition 2 already holds for all t together, so plain delta
  will do ("anytime"), and so will 6 delta / (pi^2 t^p) with any p > 0, which is less than delta. The paper has u = 1,
  its published code .1.
- "simple" (Remark 1; theirs is u = 1): no determinant, and c = max ||a||^2. As the trace of A is at most c t,
  det(A / (u c) + I) <= (1 + t / (u r))^r, so (1 + u) sigma^2 log(max(t, 1 + t / (u r))^(r/2) / delta) is no smaller
  than eq. 9 with this c; from u = 1 and r, t >= 2 on the maximum is t. The rule waits until A >= c I, and takes no
  history of features that are not arms, for these could be longer.
- Beside these there are two thresholds that no proof covers here, for comparison: "logarithm",
  (1 + u) sigma^2 (log(1 / delta) + log(t) / 2 + r log(1 + 1 / u) / 2), of the published code; and "loglog",
  sigma^2 log((1 + log t) / delta), of published experiments with LinGame and FWS.
- The published code begins with the sum of A_0 without pulling it. Here A_0 is pulled, and counted.
- A pull costs O(d^2), not O(M d). If at some parameter two items tie for the best, then whichever item leads, one of
  the two is an alternative to it, so Z <= ||theta - tie||^2 / 2 in the norm of A, always. The nearest tie of the last
  full look is kept, and the items are looked at again only when that bound exceeds the threshold. The rule stops at
  the same pull as if it had looked every time.
- Items other than the arms are allowed (ours), and arms that do not span R^d: all is done in coordinates of their span,
  orthonormal unless the arms' scales are decades apart. A change of coordinates makes one linear bandit of another,
  with the same values: eq. 9 holds in any, with c the least eigenvalue of A_0 there.
"""

from math import log

import numpy as np

from bandits_lib.checks import check_arms, check_delta, check_items, check_option, check_positive, check_sigma
from bandits_lib.fixed_confidence.evidence import Stopping, begin, scan
from bandits_lib.fixed_confidence.first_arms import opening, reopening
from bandits_lib.numerics.kernels import cholesky, inlined, kernel, squared_distance
from bandits_lib.protocol import Loop, Result, Trace

SLACK = 1e-9  # relative: a bound this close to the threshold is not relied on
THRESHOLDS = ("determinant", "logarithm", "loglog", "simple")
POWERS = {"anytime": 0.0, "union": 2.0}  # p of delta_t


def check_stopping(*, delta, sigma, u=1.0, delta_schedule="anytime", threshold="determinant"):
    """The arguments of the stopping rule, checked, as a `Stopping`; ValueError for values out of range."""
    delta, u = check_delta(delta), check_positive("u", u)
    check_option("threshold", threshold, THRESHOLDS)
    largest, power = float(np.max(sigma)), _check_schedule(delta_schedule)
    return Stopping(largest, largest**2, u, -log(delta), power, THRESHOLDS.index(threshold))


def _check_schedule(delta_schedule):
    """p of delta_t = 6 delta / (pi^2 t^p), 0 for delta itself."""
    if isinstance(delta_schedule, str):
        return POWERS[check_option("delta_schedule", delta_schedule, tuple(POWERS))]
    return check_positive("delta_schedule", delta_schedule)


def stop_by_glr(
    arms,
    items,
    choose,
    update,
    first_state,
    between=None,
    *,
    trace,
    last_look=False,
    first_arms=opening,
    history=None,
    **rule,
):
    """Sub-generator: pull what `choose` says until Z > beta. Returns the rule's Result, with a Trace of every look."""
    arms = check_arms(arms)
    items = check_items(items, arms)
    stopping = check_stopping(**rule | {"sigma": check_sigma(rule["sigma"], len(arms))})
    if len(items) == 1:
        return Result(0)

    start, earlier = (first_arms(arms, items), None) if history is None else reopening(arms, items, history)
    if earlier and THRESHOLDS[stopping.kind] == "simple" and earlier.counts.sum() < earlier.pulls:
        raise ValueError('threshold must not be "simple" beside a history of other features: its c is that of the arms')
    evidence = begin(start, (yield start.counts), stopping, trace, earlier)
    state, now, looks = first_state(evidence), evidence.now, []
    while True:
        yield Loop(choose, update, state)
        if now.pulls >= now.next_look or (now.done and trace and last_look):
            looks.append(look(evidence))
            now.next_look += trace
        if now.done:
            return Result(int(now.leader), tuple(looks))
        state = between(state) if between else state


def look(evidence):
    """The `Trace` of this moment, statistic and threshold computed now."""
    scan(evidence)
    beta, now = threshold(evidence), evidence.now
    return Trace(int(now.pulls), evidence.counts.copy(), float(now.statistic), float(beta), int(now.leader))


@inlined
def over(evidence):
    """Whether the rule may stop, or a look is due: then `choose` returns -1."""
    return stopped(evidence) or evidence.now.pulls >= evidence.now.next_look


@kernel
def stopped(evidence):
    """Whether Z > beta now. O(r^2) while the kept tie proves the contrary, else a full look, O(M r^2)."""
    now = evidence.now
    if not _may_stop(evidence, now.threshold) or not _may_stop(evidence, threshold(evidence)):
        return False
    scan(evidence)
    now.done = now.statistic > now.threshold and (evidence.stopping.kind != 3 or explored(evidence))
    return now.done


@inlined
def _may_stop(evidence, beta):
    """Whether the bound on Z that the kept tie gives exceeds `beta`, or is as large as that."""
    return 0.5 * squared_distance(evidence.theta, evidence.tie, evidence.information) > beta * (1 - SLACK)


@kernel
def explored(evidence):
    """Whether A >= c I with c = max ||a||^2, the condition beside "simple"."""
    largest = 0.0
    for k in range(evidence.arms.shape[0]):
        square = 0.0
        for i in range(evidence.arms.shape[1]):
            square += evidence.arms[k, i] ** 2
        largest = max(largest, square)
    return cholesky(evidence.information, 1.0, -largest * (1 - SLACK), evidence.square) > -np.inf


@kernel
def threshold(evidence):
    """beta(delta, t), kept in `now.threshold`. It must not fall as pulls come: `stopped` tries the last one first."""
    rule, t, r = evidence.stopping, evidence.now.pulls, evidence.theta.shape[0]
    u, log_confidence = rule.u, rule.log_confidence
    if rule.power == 2:
        log_confidence += np.log((np.pi * t) ** 2 / 6)
    elif rule.power > 0:
        log_confidence += np.log(np.pi**2 / 6) + rule.power * np.log(t)
    if rule.kind == 0:  # "determinant", eq. (9)
        log_root = 0.5 * cholesky(evidence.information, u * evidence.c, 1.0, evidence.square)
        beta = (1 + u) * rule.sigma2 * (log_root + log_confidence)
    elif rule.kind == 1:  # "logarithm"
        beta = (1 + u) * rule.sigma2 * (log_confidence + 0.5 * np.log(t) + 0.5 * r * np.log(1 + 1 / u))
    elif rule.kind == 2:  # "loglog"
        beta = rule.sigma2 * (np.log(1 + np.log(t)) + log_confidence)
    else:  # "simple", Remark 1
        beta = (1 + u) * rule.sigma2 * (0.5 * r * np.log(max(t, 1 + t / (u * r))) + log_confidence)
    evidence.now.threshold = beta
    return beta
