"""Lazy Track-and-Stop (Jedra and Proutiere 2020, Algorithm 1): track the allocation that is optimal for the estimate.

At the times T, as sparse as one likes, the rule computes w, which maximises psi(theta_hat, w) = min over rivals z of
gap^2 / (2 ||best - z||^2), norms in A(w)^-1: the XY-design of (best - z) / gap. In between it pulls the arm that lags
most behind the allocations so far, argmin over their support of N_b(t) - sum of w_b(s), s <= t; and where the least
eigenvalue of A has fallen behind f(t) = c sqrt(t / d), an arm of A_0 in turn. `stopping` says when to stop, and what
departs. Taken literally, Algorithm 1 has nothing to track at t = 0; w is uniform on A_0 until the first time of T.
"""

import warnings
from functools import partial
from numbers import Real
from typing import NamedTuple

import numpy as np

from bandits_lib.checks import check_arms, check_option
from bandits_lib.design import frank_wolfe_design, xy_design
from bandits_lib.likelihood_ratio import Evidence, opening, over, stop_by_glr, tell
from bandits_lib.numerics.kernels import cholesky, inlined, kernel, record
from bandits_lib.numerics.linear_algebra import along
from bandits_lib.numerics.span import basis
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import NO_LIMIT
from bandits_lib.rules import LARGEST, OPTIMAL, PULLS, STOPPING, After, Row, rule

AHEAD = 1.25  # whether the least eigenvalue exceeds f(t) is tried this far ahead first
FRANK_WOLFE_STEPS = 1_000  # at most, in an update of the allocation


@rule(
    label="LT&S",
    row=Row(PULLS, LARGEST, "each result comes at once", "jedra2020, Algorithm 1", OPTIMAL),
    guarantee=lambda given, request: (
        After("", "with initial='random' the constant of its threshold was drawn, and would be drawn anew")
        if given["initial"] == "random"
        else After("restart", STOPPING)
    ),
)
def lazy_track_and_stop(
    arms,
    items=None,
    *,
    delta,
    sigma=1.0,
    update="doubling",
    averaging=True,
    u=1.0,
    delta_schedule="anytime",
    threshold="determinant",
    initial="spanning",
    design="certified",
    warm_start=True,
    allocation=None,
    rng=None,
    history=None,
    trace=0,
):
    """Best item with probability at least 1 - delta, by tracking the plug-in allocation (jedra2020, Algorithm 1).

    Parameters
    ----------
    arms, items : (K, d) and (M, d) array_like
        Feature vectors of the K arms that can be pulled, and of the M items that are ranked, by default the arms.
    delta : float
        Error probability allowed, in (0, 1).
    sigma : float or (K,) array_like, default 1.0
        The standard deviation of the noise; of several the largest is used.
    update : {"doubling"}, int or sequence of int, default "doubling"
        The allocation w is computed at t = 1, 2, 4, ..., or with a period P at t = 1, 1 + P, 1 + 2 P, ..., or at the
        times given (T of Algorithm 1), and after the last of them no more.
    averaging : bool, default True
        Track all allocations so far, or w alone: argmin over its support of N_b(t) - t w_b(t) (section 5).
    u, delta_schedule, threshold : float, str or float, and str
        Of the stopping rule, as for `fws`; section 5 has u = 1 and "union". With the published code's own draws, 1.5
        comes within .2 % of three of the four cells of Table 1 without averaging, and "union" is 11 to 17 % above them.
    initial : {"spanning", "random"}, default "spanning"
        How A_0 is found; "random" (section 5) needs `rng`, and makes c and the threshold a matter of luck.
    design, warm_start : {"certified", "frank_wolfe"} and bool, default "certified" and True
        Solver of w, certified to .1 %, or the paper's, which begins at the previous w; False: uniform, its published
        code.
    allocation : (K,) array_like, optional
        Weights to track throughout, for comparison; by default the plug-in allocation.
    rng : numpy.random.Generator, optional
        Draws A_0 when `initial` is "random", nothing else.
    history : Sample or (features, Sample), optional
        Measurements made before, as for `fws`.
    trace : int, default 0
        Record a `Trace` every `trace` pulls; 0 records none.

    Yields
    ------
    (K,) int array or Loop
        Pulls of each arm to be made next, answered with a `Sample`, or a `Loop` of single pulls. Returns a `Result`:
        the best item (int) and the history of `Trace`, the last when it stopped. One item: at once, without a pull.

    Raises
    ------
    ValueError
        For bad input (shapes, NaN, identical items, items outside the span of the arms, a number out of range).

    Examples
    --------
    >>> from bandits_lib import instances, play
    >>> problem = instances.benchmark(2, angle=1.0)
    >>> rule = lazy_track_and_stop(problem.arms, delta=0.05)
    >>> play(rule, problem, np.random.default_rng(0)).result.recommendation
    0
    """
    arms = check_arms(arms)
    times, allocation = _check_update(update), _check_allocation(allocation, len(arms))
    check_option("design", design, ("certified", "frank_wolfe"))
    check_option("initial", initial, ("spanning", "random"))
    if initial == "random" and rng is None:
        raise ValueError("rng must be given when initial='random' (it draws the first arms); got None")
    if initial == "random" and history is not None:
        raise ValueError("initial must be 'spanning' beside a history: drawn arms would set the threshold anew")

    def first_state(evidence):
        if history is not None:
            state = _after_history(_first_state(evidence, averaging, int(evidence.now.pulls)))
        else:
            state = _first_state(evidence, averaging, _update_from(int(evidence.now.pulls), times))
        if allocation is not None:
            state.now.next_update = NO_LIMIT
            return updated(state, allocation)
        return state

    def between(state):
        t = int(state.evidence.now.pulls)
        if t < state.now.next_update:
            return state
        state.now.next_update = _update_from(t + 1, times)
        return updated(state, plug_in(state, design, warm_start))

    stopping_rule = {"delta": delta, "sigma": sigma, "u": u, "delta_schedule": delta_schedule, "threshold": threshold}
    more = {"first_arms": partial(opening, initial=initial, rng=rng), "trace": trace, "last_look": True}
    more["history"] = history
    return (yield from stop_by_glr(arms, items, choose, inform, first_state, between, **more, **stopping_rule))


@kernel
def choose(state):
    """Forced pull, eq. (5), or the arm that lags most, eq. (6); -1 when done, at an update or a look."""
    evidence, now, t = state.evidence, state.now, state.evidence.now.pulls
    if over(evidence) or t >= now.next_update:
        return -1
    now.forced = behind(state)
    if now.forced:
        return evidence.first[now.turn]
    tracked, past, weights, lag, present = state.tracked, state.past, state.weights, state.lag, t - now.since + 1
    for s in range(tracked.shape[0]):
        target = past[s] + present * weights[s] if state.averaging else t * weights[s]
        lag[s] = t + target - state.counts[tracked[s]]  # t added: ties are judged relative to numbers of the size of t
    return tracked[argmax(lag)]


@inlined
def behind(state):
    """Whether the least eigenvalue of A, which never falls, is below f(t), eq. (5); tested only if not known."""
    evidence, now = state.evidence, state.now
    f = evidence.c / np.sqrt(evidence.first.shape[0]) * np.sqrt(evidence.now.pulls) * (1 - 1e-9)
    if now.eigenvalue >= f:
        return False
    for level in (AHEAD * f, f):  # A - level I is positive definite if and only if the least eigenvalue exceeds level
        if cholesky(evidence.information, 1.0, -level, evidence.square) > -np.inf:
            now.eigenvalue = level
            return False
    return True


@kernel
def inform(state, arm, reward):
    """Tell one reward; a forced pull, if it was made, hands the turn to the next arm of A_0."""
    first, now = state.evidence.first, state.now
    if now.forced and arm == first[now.turn]:
        now.turn = (now.turn + 1) % first.shape[0]
    tell(state.evidence, arm, reward)


def plug_in(state, design, warm_start):
    """argmax over w of psi(theta_hat, w), weights (K,); where the best item is not unique, the present allocation."""
    arms, items, theta, before = state.evidence.arms, state.evidence.items, state.evidence.theta, current(state)
    best = int(argmax(along(items, theta)))
    directions = items[best] - np.delete(items, best, axis=0)
    gaps = along(directions, theta)
    if not (gaps > 0).all():
        return before
    directions *= (gaps.min() / gaps)[:, None]  # no direction becomes longer than it is
    if design == "certified":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # certified to .11 % where rounding allows no better
            return xy_design(arms, directions).weights
    spans = warm_start and basis(arms[before > 0]).shape[1] == arms.shape[1]
    start = before if spans else None
    return frank_wolfe_design(arms, directions, max_iter=FRANK_WOLFE_STEPS, start=start).weights


def updated(state, weights):
    """The state with `weights` (K,) as the allocation from now on, the earlier ones added up."""
    t, past = state.evidence.now.pulls, np.zeros(len(weights))
    past[state.tracked] = state.past + (t - state.now.since) * state.weights
    tracked = np.flatnonzero((past > 0) | (weights > 0) if state.averaging else weights)
    state.now.since = t
    return state._replace(tracked=tracked, past=past[tracked], weights=weights[tracked], lag=np.empty(len(tracked)))


def current(state):
    """The allocation of this moment, weights (K,)."""
    weights = np.zeros(len(state.counts))
    weights[state.tracked] = state.weights
    return weights


class State(NamedTuple):
    """What the compiled loop reads and writes."""

    evidence: Evidence
    counts: np.ndarray  # (K,), those of the evidence
    now: np.record  # turn, forced, eigenvalue, since, next_update: see `_first_state`
    averaging: bool
    tracked: np.ndarray  # (s,), arms that were ever in the allocation (averaging), or are (not averaging)
    past: np.ndarray  # (s,), sum of w(s) before the last update
    weights: np.ndarray  # (s,), w since the last update
    lag: np.ndarray  # (s,), scratch


def _first_state(evidence, averaging, next_update):
    """After the opening: uniform weights on A_0, as at every pull before."""
    r, pulls = len(evidence.first), int(evidence.now.pulls)
    return State(
        evidence,
        evidence.counts,
        now=record(
            turn=0,  # position in A_0 of the next forced pull
            forced=False,  # whether the last choice was forced
            eigenvalue=evidence.c,  # what the least eigenvalue of A is known to be above
            since=pulls,  # t at the last update
            next_update=next_update,  # t at the next one
        ),
        averaging=bool(averaging),
        tracked=np.sort(evidence.first),
        past=np.full(r, (pulls - 1) / r),
        weights=np.full(r, 1 / r),
        lag=np.empty(r),
    )


def _after_history(state):
    """The state in which the pulls made before are what has been tracked so far."""
    if not state.averaging:
        return state
    weights = current(state)
    tracked = np.flatnonzero((state.counts > 0) | (weights > 0))
    past = state.counts[tracked].astype(float)
    return state._replace(tracked=tracked, past=past, weights=weights[tracked], lag=np.empty(len(tracked)))


def _update_from(t, times):
    """The first time of T at or after t; none is left after the last of a sequence."""
    if isinstance(times, tuple):
        return min((s for s in times if s >= t), default=NO_LIMIT)
    return t + (1 - t) % times if times else 1 << (t - 1).bit_length()


def _check_update(update):
    """The period, 0 for doubling; or the times, a tuple of those that can come."""
    if isinstance(update, str):
        check_option("update", update, ("doubling",))
        return 0
    several = not isinstance(update, Real)
    if any(isinstance(s, bool) or s < 1 or s % 1 != 0 for s in (update if several else [update])):
        wanted = "'doubling', a whole number of pulls, at least 1, or a sequence of such"
        raise ValueError(f"update must be {wanted}; got {update!r}")
    return tuple(int(s) for s in update if s < NO_LIMIT) if several else int(update)


def _check_allocation(allocation, K):
    """Weights (K,) of sum 1, or None."""
    if allocation is None:
        return None
    weights = np.asarray(allocation, dtype=float)
    if weights.shape != (K,) or not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise ValueError(f"allocation must be ({K},) finite, non-negative weights, not all zero; got {allocation}")
    return weights / weights.sum()
