"""LinGame: the lower bound as a game, played round by round (Degenne, Menard, Shang, Valko 2020, Algorithm 1).

Each item that has ever led has a learner, AdaHedge, which chooses a mixture w of the arms. The opponent answers with
lambda, the parameter nearest to theta in the norm of A(w) at which another item is as good. The learner receives the
optimistic gains U_k = min(log t, (|x_k'(theta - lambda)| / sigma + sqrt(2 log t ||x_k||^2))^2 / 2) with norms in A^-1.
The pulls track the sum of all mixtures. Departures:
- The stopping rule is that of jedra2020 (`glr`); the paper's rule needs a bound on |theta|.
- Items other than the arms are allowed.
- A(w) is computed at w + 1e-12 / K, because weights of the learner underflow.

The losses of the learners reserve 8 M K bytes of memory, of which only the rows of items that led are ever touched.
"""

from typing import NamedTuple

import numpy as np

from bandits_lib.glr import (
    Evidence,
    arm_norms,
    leading,
    nearest_rival,
    stop_by_glr,
    stopped,
    toward,
    update_norms,
)
from bandits_lib.numerics.kernels import along_all, inlined, inverse_of, kernel
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import OPTIMAL, PULLS, SEQUENTIAL, Algorithm, Row, rule

MIXABILITY = 0.01  # the mixability gap AdaHedge starts from; its learning rate is log K / (sum of the gaps)
GUARD = 1e-12  # share of the uniform mixture in A(w)


@rule(label="LinGame", row=Row(PULLS, SEQUENTIAL, "Degenne et al. 2020", OPTIMAL))
def lin_game(
    arms: np.ndarray,
    items: np.ndarray | None = None,
    *,
    delta: float,
    sigma: float | np.ndarray = 1.0,
    u: float = 1.0,
    delta_schedule: str | float = "anytime",
    threshold: str = "determinant",
    eliminate: str = "none",
) -> Algorithm:
    """Find the best item with probability at least 1 - delta, by the game of the lower bound (Degenne et al. 2020).

    Parameters
    ----------
    arms, items, delta, sigma : (K, d) and (M, d) array_like, float, and float or (K,) array_like
        As for `rage`.
    u, delta_schedule, threshold, eliminate : float, str or float, str, and str
        As for `lazy_track_and_stop`.

    Examples
    --------
    >>> from bandits_lib import instances, play
    >>> problem = instances.benchmark(2, angle=1.0)
    >>> play(lin_game(problem.arms, delta=0.05), problem, np.random.default_rng(0)).result.recommendation
    0
    """
    stopping = delta, sigma, u, delta_schedule, threshold, eliminate
    return (yield from stop_by_glr(arms, items, stopping, choose, update_norms, first_state))


@inlined
def choose(state):
    """Play one round; return the arm that lags behind the mixtures most, or -1 when done."""
    evidence, gains = state.evidence, state.gains
    if stopped(evidence):
        return -1
    leader = leading(evidence.items, evidence.theta, evidence.values)
    learner = evidence.rows[leader]
    losses, eta = state.losses[learner], np.log(gains.shape[0]) / state.mixability[learner]
    before = mixture(losses, eta, state.weights)  # the agent plays first,
    optimistic_gains(state, leader)  # and nature answers
    state.mixability[learner] += feed(losses, eta, state.weights, gains, before)
    for k in range(gains.shape[0]):  # C-tracking
        state.tracked[k] += state.weights[k]
        gains[k] = state.tracked[k] - evidence.counts[k]
    return argmax(gains)


@kernel
def optimistic_gains(state, leader):
    """Write the optimistic gains U_k against the best response into `gains` (K,)."""
    evidence, inverse, gains = state.evidence, state.inverse, state.gains
    items, theta, y, direction = evidence.items, evidence.theta, evidence.step, state.direction
    weigh(evidence.columns, state.weights, state.information)
    inverse_of(state.information, inverse)
    rival, _ = nearest_rival(items, theta, inverse, leader, evidence.values, y)  # lambda is the tie with this item
    gap, square = toward(items, leader, rival, theta, inverse, y, direction)
    along_all(evidence.columns, direction, gains)
    scale, log_t = gap / (square * evidence.stopping.sigma), np.log(evidence.status.pulls)
    for k in range(gains.shape[0]):
        root = abs(gains[k]) * scale + np.sqrt(2 * log_t * state.arm_squares[k])
        gains[k] = min(log_t, 0.5 * root * root)  # U_k


@kernel
def mixture(losses, eta, weights):
    """Set AdaHedge's weights (K,), proportional to exp(-eta losses), and return -log(sum exp(-eta losses)) / eta."""
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
    """Add the losses -gains to AdaHedge and return the mixability gap of the round; overwrites `gains`."""
    mean = 0.0
    for k in range(losses.shape[0]):
        losses[k] -= gains[k]
        mean -= weights[k] * gains[k]
    mixed = mixture(losses, eta, gains) - before
    return max(0.0, mean - mixed) if losses.shape[0] > 1 else 0.0


@kernel
def weigh(columns, weights, information):
    """Write A(w + GUARD / K), the weighted sum of xx' over the arms, columns (r, K), into `information` (r, r)."""
    r, K = columns.shape
    for i in range(r):
        for j in range(i + 1):
            along = 0.0
            for k in range(K):
                along += (weights[k] + GUARD / K) * columns[i, k] * columns[j, k]
            information[i, j] = information[j, i] = along


class State(NamedTuple):
    counts: np.ndarray  # (K,), those of the evidence
    evidence: Evidence
    arm_squares: np.ndarray  # (K,), x'A^-1x
    losses: np.ndarray  # (M, K), cumulative losses of each learner
    mixability: np.ndarray  # (M,), cumulative mixability gaps of each learner
    tracked: np.ndarray  # (K,), sum of all mixtures so far
    weights: np.ndarray  # (K,), the mixture of this round
    gains: np.ndarray  # (K,), scratch
    information: np.ndarray  # (r, r), scratch: A(w)
    inverse: np.ndarray  # (r, r), scratch: A(w)^-1
    direction: np.ndarray  # (r,), scratch


def first_state(evidence):
    """Return the state after the opening: no item has led, and nothing is tracked."""
    (K, r), M = evidence.arms.shape, len(evidence.items)
    return State(
        counts=evidence.counts,
        evidence=evidence,
        arm_squares=arm_norms(evidence),
        losses=np.zeros((M, K)),
        mixability=np.full(M, MIXABILITY),
        tracked=np.zeros(K),
        weights=np.empty(K),
        gains=np.empty(K),
        information=np.empty((r, r)),
        inverse=np.empty((r, r)),
        direction=np.empty(r),
    )
