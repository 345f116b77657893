"""Lazy Track-and-Stop (Jedra and Proutiere 2020, Algorithm 1): track the allocation that is optimal for the estimate.

Departures and readings:
- w is certified and A_0 are arms far apart; section 5 uses Frank-Wolfe and draws A_0 (`design`, `initial`).
- The first d pulls are those of A_0; w is uniform on A_0 until the first time of T that is at least d.
- If two items tie for the best, w stays. The update at t gives w(t), as in Algorithm 1; section 3.3 has w(t + 1).
- The head of `glr`, which has the stopping rule and A_0, lists its own departures.
- The lag of an arm is compared relative to t, so that rounding errors do not decide between arms that tie.
"""

import warnings
from functools import partial
from typing import NamedTuple

import numpy as np

from bandits_lib.checks import check_arms, check_option
from bandits_lib.design import frank_wolfe_design, xy_design
from bandits_lib.glr import Evidence, add_reward, opening, stop_by_glr, stopped
from bandits_lib.numerics.kernels import cholesky, inlined, kernel, record
from bandits_lib.numerics.linear_algebra import along
from bandits_lib.numerics.span import basis
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import NO_LIMIT, OPTIMAL, PULLS, SEQUENTIAL, Algorithm, Row, rule

AHEAD = 1.25  # the least eigenvalue is first compared with f(t) times this factor
FRANK_WOLFE_STEPS = 1_000  # at most, in an update of the allocation


@rule(
    label="LT&S",
    row=Row(
        PULLS,
        f"{SEQUENTIAL}, with less computing; can be stuck where worse items tie",
        "jedra2020, Algorithm 1",
        OPTIMAL,
    ),
)
def lazy_track_and_stop(
    arms: np.ndarray,
    items: np.ndarray | None = None,
    *,
    delta: float,
    sigma: float | np.ndarray = 1.0,
    update: str | int | list[int] = "doubling",
    averaging: bool = True,
    u: float = 1.0,
    delta_schedule: str | float = "anytime",
    threshold: str = "determinant",
    eliminate: str = "none",
    initial: str = "spanning",
    design: str = "certified",
    warm_start: bool = True,
    allocation: np.ndarray | None = None,
    rng: np.random.Generator | None = None,
) -> Algorithm:
    """Find the best item with probability at least 1 - delta, tracking the plug-in allocation (jedra2020, Algorithm 1).

    Where worse items tie, a run can be stuck: the allocation may separate these items, and forced exploration is small.
    One of 500 runs on `instances.tied_arms` had not stopped after 3,000,000 pulls, where half of the runs take fewer
    than 70,000. The longest took 1,516,896 with `fws` and 281,546 with design="frank_wolfe" (companion_other_papers).

    Parameters
    ----------
    arms, items, delta, sigma : (K, d) and (M, d) array_like, float, and float or (K,) array_like
        As for `rage`.
    update : {"doubling"}, int or sequence of int
        T, the times of the updates: 1, 2, 4, ...; or 1, 1 + P, 1 + 2 P, ... for a period P; or the times given.
    averaging : bool
        If true, track the sum of all allocations so far; if false, t times the present allocation (section 5).
    u : float
        Positive constant of the threshold (eq. 9; section 5: 1).
    delta_schedule : {"anytime", "union"} or float
        The delta in the threshold: delta itself, or 6 delta / (pi^2 t^2) at the t-th pull (section 5). A number p > 0
        replaces t^2 by t^p.
    threshold : {"determinant", "simple", "logarithm", "loglog", "log_pulls"}
        Equation 9, Remark 1, or one of three thresholds without a proof (see `glr`).
    eliminate : {"none", "stop", "sample"}
        Selective elimination (Tirinzoni and Degenne 2022): with "stop", an item that the leader has once beaten at the
        threshold need not be beaten again; with "sample", the sampling rule leaves it out, too.
    initial : {"spanning", "random"}
        A_0: spanning arms that lie far apart, or arms that `rng` draws (section 5).
    design, warm_start : {"certified", "frank_wolfe"} and bool
        Solver of w: certified to 0.1 %, or section 5's Frank-Wolfe, which starts from the previous w if `warm_start` is
        true and from uniform weights otherwise.
    allocation, rng : (K,) array_like, and numpy.random.Generator, optional
        Weights to track instead of w, for comparison, and the generator that draws A_0.

    Yields
    ------
    (K,) int array or Loop
        Pulls to make next, which are answered by a `Sample`; or a `Loop`, which chooses single pulls itself. The rule
        returns a `Result`: the best item (int). A single item needs no pull. Errors are raised as by `rage`.

    Examples
    --------
    >>> from bandits_lib import instances, play
    >>> problem = instances.benchmark(2, angle=1.0)
    >>> rule = lazy_track_and_stop(problem.arms, delta=0.05)
    >>> play(rule, problem, np.random.default_rng(0)).result.recommendation
    0
    """
    arms = check_arms(arms)
    next_time, fixed = update_times(update), check_allocation(allocation, len(arms))
    check_option("design", design, ("certified", "frank_wolfe"))
    check_option("initial", initial, ("spanning", "random"))
    if initial == "random" and rng is None:
        raise ValueError(
            "rng must be given when initial='random' (it draws the first arms); got None: pass "
            "np.random.default_rng(seed)"
        )

    def first_state(evidence):  # t = d: each arm of A_0 was pulled once
        state = uniform_on_A_0(evidence, averaging)
        if fixed is not None:
            return track(state, fixed)
        state.status.next_update = next_time(int(evidence.status.pulls))
        return state

    def at_update(state):  # t in T: w is argmax of psi for the estimate of this moment
        t = int(state.evidence.status.pulls)
        if t < state.status.next_update:
            return state
        state.status.next_update = next_time(t + 1)
        return track(state, plug_in(state, design, warm_start))

    stopping = delta, sigma, u, delta_schedule, threshold, eliminate
    first = partial(opening, initial=initial, rng=rng)
    return (
        yield from stop_by_glr(arms, items, stopping, choose, update_evidence, first_state, at_update, first_arms=first)
    )


@kernel
def choose(state):
    """Return the arm of Algorithm 1 at time t; -1 when Z > beta (eq. 8), and at a time of T."""
    evidence, status, t = state.evidence, state.status, state.evidence.status.pulls
    if stopped(evidence) or t >= status.next_update:
        return -1
    status.forced = unexplored(state)
    if status.forced:  # eq. (5); the arms of A_0 take turns
        return evidence.first[status.turn]
    support, W, w, lag, present = state.support, state.W, state.w, state.lag, t - status.since + 1
    for s in range(support.shape[0]):  # eq. (6)
        k = support[s]
        target = W[k] + present * w[k] if state.averaging else t * w[k]
        lag[s] = t + target - state.counts[k]  # t added: ties are judged relative to numbers of the size of t
    return support[argmax(lag)]


@inlined
def unexplored(state):
    """Return whether the smallest eigenvalue of A, which never falls, is below f(t) = c sqrt(t / d)."""
    evidence, status = state.evidence, state.status
    f = evidence.c / np.sqrt(evidence.first.shape[0]) * np.sqrt(evidence.status.pulls) * (1 - 1e-9)  # Lemma 5
    if status.eigenvalue >= f:
        return False
    for level in (AHEAD * f, f):  # A - level I is positive definite if and only if the least eigenvalue exceeds level
        if cholesky(evidence.information, 1.0, -level, evidence.square) > -np.inf:
            status.eigenvalue = level
            return False
    return True


@kernel
def update_evidence(state, arm, reward):
    """Update the evidence by one reward; after a forced pull, the next arm of A_0 has its turn."""
    first, status = state.evidence.first, state.status
    if status.forced:
        status.turn = (status.turn + 1) % first.shape[0]  # eq. (4)
    add_reward(state.evidence, arm, reward)


def plug_in(state, design, warm_start):
    """Return argmax over w of psi(theta_hat, w), eq. (3), an XY-design; return the present w if the best item ties."""
    arms, items, theta = state.evidence.arms, state.evidence.items, state.evidence.theta
    best = int(argmax(along(items, theta)))
    directions = items[best] - np.delete(items, best, axis=0)
    gaps = along(directions, theta)
    if not (gaps > 0).all():
        return state.w
    directions *= (gaps.min() / gaps)[:, None]  # eq. (3), at a scale at which no direction becomes longer
    if design == "certified":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # certified to 0.11 % where rounding allows no better
            return xy_design(arms, directions).weights
    spans = warm_start and basis(arms[state.w > 0]).shape[1] == arms.shape[1]
    start = state.w if spans else None
    return frank_wolfe_design(arms, directions, max_iter=FRANK_WOLFE_STEPS, start=start).weights


def track(state, w):
    """Return the state that tracks w (K,) from this pull on, with the sum of all earlier allocations in W."""
    t = state.evidence.status.pulls
    W = state.W + (t - state.status.since) * state.w  # the sum of eq. (6)
    state.status.since = t
    support = np.flatnonzero((W > 0) | (w > 0) if state.averaging else w)
    return state._replace(support=support, W=W, w=np.array(w), lag=np.empty(len(support)))


class State(NamedTuple):
    evidence: Evidence
    counts: np.ndarray  # (K,), those of the evidence
    # turn, the position in A_0 of the next forced pull; forced, whether the last choice was one; eigenvalue, what the
    # smallest eigenvalue of A exceeds; since and next_update, t at the last update and at the next
    status: np.record
    averaging: bool
    support: np.ndarray  # (s,), arms with weight in any allocation so far (averaging), or in the present one
    W: np.ndarray  # (K,), sum of w(s) before the last update
    w: np.ndarray  # (K,), since the last update
    lag: np.ndarray  # (s,), scratch


def uniform_on_A_0(evidence, averaging):
    """Return the state after the opening: w is uniform on A_0 from the start."""
    first, pulls = evidence.first, int(evidence.status.pulls)
    w, W = np.zeros(len(evidence.counts)), np.zeros(len(evidence.counts))
    w[first], W[first] = 1 / len(first), (pulls - 1) / len(first)
    state = State(
        evidence=evidence,
        counts=evidence.counts,
        status=record(turn=0, forced=False, eigenvalue=evidence.c, since=pulls, next_update=NO_LIMIT),
        averaging=bool(averaging),
        support=first,
        W=W,
        w=w,
        lag=w,
    )
    return track(state, w)


def update_times(update):
    """Return T as a function: its first time at or after t, or NO_LIMIT after the last time of a sequence."""
    if isinstance(update, str):
        check_option("update", update, ("doubling",))
        return lambda t: 1 << (t - 1).bit_length()
    times = update if np.iterable(update) else [update]
    numbers = [isinstance(s, int | float | np.number) and not isinstance(s, bool) for s in times]
    if not all(numbers) or any(s < 1 or s % 1 != 0 for s in times):
        raise ValueError(
            "update must be 'doubling', a whole number of pulls, at least 1, or a sequence of such numbers; "
            f"got {update!r}"
        )
    if not np.iterable(update):
        return lambda t: t + (1 - t) % int(update)
    times = [int(s) for s in times if s < NO_LIMIT]
    return lambda t: min((s for s in times if s >= t), default=NO_LIMIT)


def check_allocation(allocation, K):
    """Return weights (K,) of sum 1, or None."""
    if allocation is None:
        return None
    weights = np.asarray(allocation, dtype=float)
    if weights.shape != (K,) or not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise ValueError(f"allocation must be ({K},) finite, non-negative weights, not all zero; got {allocation}")
    return weights / weights.sum()
