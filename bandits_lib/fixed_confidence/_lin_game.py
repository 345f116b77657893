"""LinGame: the lower bound as a game, played round by round (Degenne, Menard, Shang, Valko 2020, Algorithm 1).

1 / T* is the value of a game: one player mixes arms, the other picks the parameter, under which another item is best,
that this mixture tells apart least. Here the first player is AdaHedge, one learner for each item that has ever led;
the second answers its mixture w with the best response lambda, the parameter under which some item is as good as the
leader that is nearest to theta in the norm of A(w). The learner is fed optimistic gains (the true ones, were theta
known, are at most these with high probability), with ||x_k|| the norm in A^-1,
    U_k = min(log t, (|x_k'(theta - lambda)| / sigma + sqrt(2 log t ||x_k||^2))^2 / 2),
and the pulls track the sum of its mixtures. The mixability gap of a round, which sets the learning rate, is its mean
loss minus its mix loss, the change of -log(sum exp(-eta losses)) / eta. Asymptotically optimal.

Departures: the stopping rule is that of jedra2020 (`stopping`), for comparison at equal terms; the paper's own asks
for a bound on |theta|. Items other than the arms are allowed (ours). A(w) is taken at w + 1e-12 / K: the
learner's weights fall below the smallest double.
"""

from typing import NamedTuple

import numpy as np

from bandits_lib.likelihood_ratio import (
    Evidence,
    arm_norms,
    leading,
    nearest_rival,
    over,
    stop_by_glr,
    toward,
    update_norms,
)
from bandits_lib.numerics.kernels import along_all, inlined, inverse_of, kernel, record
from bandits_lib.numerics.ties import argmax
from bandits_lib.rules import LARGEST, OPTIMAL, PULLS, SEQUENTIAL, STOPPING, After, Row, rule

LEARNERS = 4  # the table of learners holds these at first
MIXABILITY = 0.01  # AdaHedge's first mixability gap; its learning rate is log K over the gaps so far
GUARD = 1e-12  # share of the uniform mixture in A(w)


@rule(
    label="LinGame",
    row=Row(PULLS, LARGEST, SEQUENTIAL, "Degenne et al. 2020", OPTIMAL),
    guarantee=After("restart", STOPPING),
)
def lin_game(
    arms,
    items=None,
    *,
    delta,
    sigma=1.0,
    u=1.0,
    delta_schedule="anytime",
    threshold="determinant",
    history=None,
    trace=0,
):
    """Best item with probability at least 1 - delta, by the game of the lower bound (Degenne et al. 2020, LinGame).

    Parameters
    ----------
    arms : (K, d) array_like
        Feature vectors of the K arms that can be pulled.
    items : (M, d) array_like, optional
        Feature vectors of the M items that are ranked; by default the arms.
    delta : float
        Error probability allowed, in (0, 1).
    sigma : float or (K,) array_like, default 1.0
        The standard deviation of the noise; of several the largest is used.
    u : float, default 1.0
        Positive constant of the threshold (jedra2020, eq. 9; its published code: 0.1).
    delta_schedule : {"anytime", "union"} or float, default "anytime"
        The threshold's delta: delta itself, or 6 delta / (pi^2 t^2) at the t-th pull (jedra2020, section 5); a number
        p > 0 puts t^p there.
    threshold : {"determinant", "simple", "logarithm", "loglog"}, default "determinant"
        Equation 9 of jedra2020, its Remark 1, or one of two that no proof covers here (see
        `fixed_confidence.stopping`).
    history : Sample or (features, Sample), optional
        Measurements made before, as for `fws`.
    trace : int, default 0
        Record a `Trace` every `trace` pulls; 0 records none.

    Yields
    ------
    (K,) int array or Loop
        Pulls of each arm to be made next, answered with a `Sample`, or a `Loop` of single pulls. Returns a `Result`:
        the best item (int) and the history of `Trace`. One item: at once, without a pull.

    Raises
    ------
    ValueError
        For bad input (shapes, NaN, identical items, items outside the span of the arms, a number out of range).

    References
    ----------
    .. [1] Degenne, Menard, Shang, Valko. "Gamification of pure exploration for linear bandits". ICML 2020. Algorithm 1.

    Examples
    --------
    >>> from bandits_lib import instances, play
    >>> problem = instances.benchmark(2, angle=1.0)
    >>> rule = lin_game(problem.arms, delta=0.05)
    >>> play(rule, problem, np.random.default_rng(0)).result.recommendation
    0
    """
    stopping_rule = {"delta": delta, "sigma": sigma, "u": u, "delta_schedule": delta_schedule, "threshold": threshold}
    begin = first_state if history is None else after_history
    more = {"history": history, "trace": trace}
    return (yield from stop_by_glr(arms, items, choose, update_norms, begin, with_room, **more, **stopping_rule))


@inlined
def choose(state):
    """One round of the game, then the arm that lags behind the mixtures most; -1 when done, at a look or table full."""
    evidence, gains, now = state.evidence, state.gains, state.now
    if over(evidence):
        return -1
    leader = leading(evidence.items, evidence.theta, evidence.values)
    if state.row_of[leader] < 0:
        if now.learners == state.losses.shape[0]:
            return -1
        state.row_of[leader] = now.learners
        now.learners += 1
    row = state.row_of[leader]
    losses, eta = state.losses[row], np.log(gains.shape[0]) / state.mixability[row]
    before = mixture(losses, eta, state.weights)
    optimistic_gains(state, leader)
    state.mixability[row] += feed(losses, eta, state.weights, gains, before)
    for k in range(gains.shape[0]):  # C-tracking
        state.tracked[k] += state.weights[k]
        gains[k] = state.tracked[k] - evidence.counts[k]
    return argmax(gains)


@kernel
def optimistic_gains(state, leader):
    """The optimistic gains U_k against the best response, into `gains` (K,)."""
    evidence, inverse, gains = state.evidence, state.inverse, state.gains
    items, theta, y, direction = evidence.items, evidence.theta, evidence.step, state.direction
    weigh(evidence.columns, state.weights, state.information)
    inverse_of(state.information, inverse)
    rival, _ = nearest_rival(items, theta, inverse, leader, evidence.values, y)
    gap, square = toward(items, leader, rival, theta, inverse, y, direction)
    along_all(evidence.columns, direction, gains)
    scale, log_t = gap / (square * evidence.stopping.sigma), np.log(evidence.now.pulls)
    for k in range(gains.shape[0]):
        root = abs(gains[k]) * scale + np.sqrt(2 * log_t * state.arm_squares[k])
        gains[k] = min(log_t, 0.5 * root * root)


@kernel
def mixture(losses, eta, weights):
    """AdaHedge's weights (K,), proportional to exp(-eta losses); returns -log(sum exp(-eta losses)) / eta."""
    least, total = np.inf, 0.0
    for k in range(losses.shape[0]):
        least = min(least, losses[k])
    for k in range(losses.shape[0]):
        weights[k] = np.exp(-eta * (losses[k] - least))
        total += weights[k]
    for k in range(losses.shape[0]):
        weights[k] /= total
    return least - np.log(total) / eta


@kernel
def feed(losses, eta, weights, gains, before):
    """Tell AdaHedge the losses -gains; returns the mixability gap of the round. `gains` is overwritten."""
    mean = 0.0
    for k in range(losses.shape[0]):
        losses[k] -= gains[k]
        mean -= weights[k] * gains[k]
    mixed = mixture(losses, eta, gains) - before
    return max(0.0, mean - mixed) if losses.shape[0] > 1 else 0.0


@kernel
def weigh(columns, weights, information):
    """A(w + GUARD / K), the weighted sum of xx' over the arms, columns (r, K), into (r, r)."""
    r, K = columns.shape
    for i in range(r):
        for j in range(i + 1):
            along = 0.0
            for k in range(K):
                along += (weights[k] + GUARD / K) * columns[i, k] * columns[j, k]
            information[i, j] = information[j, i] = along


# ---- what it remembers


class State(NamedTuple):
    """What the compiled loop reads and writes."""

    counts: np.ndarray  # (K,), those of the evidence
    evidence: Evidence
    arm_squares: np.ndarray  # (K,), x'A^-1x
    row_of: np.ndarray  # (M,), an item's row in the table of learners; -1, none yet
    now: np.record  # learners, the rows in use
    losses: np.ndarray  # (C, K), cumulative losses of each learner
    mixability: np.ndarray  # (C,), cumulative mixability gaps of each learner
    tracked: np.ndarray  # (K,), sum of all mixtures so far
    weights: np.ndarray  # (K,), the mixture of this round
    gains: np.ndarray  # (K,), scratch
    information: np.ndarray  # (r, r), scratch: A(w)
    inverse: np.ndarray  # (r, r), scratch: A(w)^-1
    direction: np.ndarray  # (r,), scratch


def first_state(evidence):
    """After the opening: no item has led, nothing is tracked."""
    K, r = evidence.arms.shape
    return State(
        evidence.counts,
        evidence,
        arm_squares=arm_norms(evidence),
        row_of=np.full(len(evidence.items), -1),
        now=record(learners=0),
        losses=np.zeros((LEARNERS, K)),
        mixability=np.full(LEARNERS, MIXABILITY),
        tracked=np.zeros(K),
        weights=np.empty(K),
        gains=np.empty(K),
        information=np.empty((r, r)),
        inverse=np.empty((r, r)),
        direction=np.empty(r),
    )


def after_history(evidence):
    """After measurements made before: they are what has been tracked."""
    return first_state(evidence)._replace(tracked=evidence.counts.astype(float))


def with_room(state):
    """The state with room for another learner."""
    if state.now.learners < len(state.losses):
        return state
    return state._replace(
        losses=np.concatenate([state.losses, np.zeros_like(state.losses)]),
        mixability=np.concatenate([state.mixability, np.full_like(state.mixability, MIXABILITY)]),
    )
