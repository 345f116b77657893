"""Track-and-Stop on the unit sphere (Jedra and Proutiere 2020, section 4): round robin, and three stopping rules.

The proofs are in the notebook jedra2020_4_sphere. Stopping is checked only after n whole blocks of d pulls, when the
information matrix is n I. With S = n theta_hat, each stopping rule stops when |S| reaches a boundary that depends on n
alone. With probability at least 1 - delta, n |theta_hat - theta|^2 <= q_n at all n >= c, where (eq. 9, Proposition 2)
    q_n = 2 (1 + u) sigma^2 zeta_n,   zeta_n = d/2 log(1 + n / (u c)) + log(1 / delta).
- "direct" (ours): stop when no theta in that ball gives the recommendation a regret above epsilon.
- "paper" (eq. 11-12): stop when Z >= q_n / 2 and n m^2 >= q_n epsilon_t^2 / (epsilon - epsilon_t)^2. Here m is the
  length of the estimate and Z = n m epsilon_t. Our copy of eq. (11) lacks the divisor m^2 of rho; the proof has it.
- The default epsilon_t is Theorem 5's. Our copy of it lacks a part of a logarithm; log(4 t^d) is our reading.
- "safe" (ours): stop when Z >= q_n / 2 and n >= 2 q_n epsilon_t / (m epsilon^2).
"""

from math import log, nan
from typing import NamedTuple

import numpy as np

from bandits_lib.checks import check_delta, check_option, check_positive, check_sigma
from bandits_lib.numerics.kernels import kernel, merged, record
from bandits_lib.protocol import DELTA, PULLS, Algorithm, Loop, Result, Row, rule

STOPS = ("direct", "safe", "paper")


class Settings(NamedTuple):
    """The arguments of the rule, which the boundary depends on besides the number of blocks."""

    d: float
    epsilon: float
    log_confidence: float  # log(1 / delta)
    sigma: float
    stop: int  # place in STOPS
    share: float  # NaN: Theorem 5's sequence
    u: float
    c: float
    union: bool


class State(NamedTuple):
    counts: np.ndarray  # (d,)
    sums: np.ndarray  # (d,), S
    batch: np.ndarray  # (d,), of a loop in batches: the pulls before the next check
    rewards: np.ndarray  # (d,), the sums of their rewards
    growth: float
    # turn, the next arm; length, |S| after the last block; boundary, the length at which the rule stops
    status: np.record
    settings: Settings


@rule(
    label="Track-and-Stop on the sphere",
    row=Row(PULLS, "arms: all directions", "jedra2020, section 4.2", DELTA.replace("wrong", "regret above epsilon")),
)
def sphere_track_and_stop(
    d: int,
    *,
    epsilon: float,
    delta: float,
    sigma: float | np.ndarray = 1.0,
    stop: str = "direct",
    share: float | None = None,
    u: float = 1.0,
    c: float = 1.0,
    delta_schedule: str = "anytime",
    growth: float = 0.0,
) -> Algorithm:
    """Find a unit vector of regret at most epsilon with probability at least 1 - delta (jedra2020, section 4.2).

    Parameters
    ----------
    d : int
        Dimension, at least 2. Play the rule on `LinearBandit(np.eye(d), theta=theta)`.
    epsilon : float
        Accepted regret |theta| - theta'recommendation, in units of reward.
    delta, sigma : float, and float or (d,) array_like
        As for `rage`.
    stop : {"direct", "safe", "paper"}
        Stopping rule; see the head of this file.
    share : float, optional
        The ratio epsilon_t / epsilon for "safe" and "paper", in (0, 1); by default Theorem 5's, which tends to 1.
    u, c : float
        Constants of the threshold (eq. 9; the paper has u = 1). The rule never stops before c blocks.
    delta_schedule : {"anytime", "union"}
        Term log(1 / delta) of zeta_n ("anytime"), or Proposition 3's log 2 - log delta_t with
        delta_t = delta / (2 t^2), which is our choice ("union").
    growth : float
        After n blocks, the next check comes max(1, growth n) blocks later; with 0, after every block.

    Yields
    ------
    (d,) int array or Loop
        As for `lazy_track_and_stop`; the arms are the basis vectors, and the `Result` has a unit vector (d,). A `Trace`
        has |S|, its boundary and the recommendation; `growth` must be 0, and `trace` a multiple of d.

    Examples
    --------
    >>> from bandits_lib import LinearBandit, play
    >>> problem = LinearBandit(np.eye(2), theta=[2.0, 0.0])
    >>> rule = sphere_track_and_stop(2, epsilon=0.5, delta=0.1)
    >>> play(rule, problem, np.random.default_rng(0)).result.recommendation.round(1).tolist()
    [1.0, 0.1]
    """
    settings = checked(d, epsilon, delta, sigma, stop, share, u, c, delta_schedule)
    if not (np.isfinite(growth) and growth >= 0):
        raise ValueError(f"growth must be at least 0 and finite (a batch divided by the pulls before it); got {growth}")
    status = record(turn=0, length=0.0, boundary=np.inf)
    counts, batch = np.zeros((2, d), dtype=np.int64)
    sums, rewards = np.zeros((2, d))
    state = State(counts, sums, batch, rewards, float(growth), status, settings)
    sample = yield np.ones(d, dtype=int)  # a batch shows whether there are d arms
    counts += sample.counts
    sums += sample.sums
    if growth == 0:
        yield Loop(choose, update, state, look)
    else:
        yield Loop(choose_block, update_block, state, batches=True)
    return Result(direction(sums))


def checked(d, epsilon, delta, sigma, stop, share, u, c, delta_schedule):
    """Return the checked arguments as `Settings`."""
    if not isinstance(d, int | np.integer) or d < 2:
        raise ValueError(f"d must be an integer of at least 2 (the sphere in one dimension is two points); got {d!r}")
    delta, sigma = check_delta(delta), check_sigma(sigma, d).max()
    epsilon, u, c = check_positive("epsilon", epsilon), check_positive("u", u), check_positive("c", c)
    check_option("stop", stop, STOPS)
    check_option("delta_schedule", delta_schedule, ("anytime", "union"))
    if share is not None and not 0 < share < 1:
        raise ValueError(f"share must lie strictly between 0 and 1 (epsilon_t / epsilon), or be None; got {share}")
    if share is not None and stop == "direct":
        raise ValueError(f"share must be None for stop='direct', which has no epsilon_t; got {share}")
    return Settings(
        d=float(d),
        epsilon=epsilon,
        log_confidence=log(1 / delta),
        sigma=sigma,
        stop=STOPS.index(stop),
        share=nan if share is None else float(share),
        u=u,
        c=c,
        union=delta_schedule == "union",
    )


def direction(sums):
    """Return the recommendation (d,), argmax of a'theta_hat over unit vectors a: theta_hat normalised, or e_1 for 0."""
    length = np.linalg.norm(sums)
    return sums / length if length > 0 else np.eye(len(sums))[0]


def look(state):
    """Return |S|, its boundary after the whole blocks, and the recommendation."""
    sums = state.sums
    return float(np.linalg.norm(sums)), float(boundary(state.counts.min(), state.settings)), direction(sums)


@kernel
def largest_regret(length, radius):
    """Return sup of |theta| - theta'theta_hat / |theta_hat| over theta within `radius` of a theta_hat of `length`."""
    if radius <= 2 * length:
        return radius**2 / (2 * length) if radius > 0 else 0.0
    return 2 * (radius - length)


@kernel
def squared_radius(n, settings):
    """Return q_n: with probability at least 1 - delta, n |theta_hat - theta|^2 <= q_n for all n >= c (n: blocks)."""
    zeta = 0.5 * settings.d * np.log1p(n / (settings.u * settings.c)) + settings.log_confidence
    if settings.union:
        zeta += np.log(2.0) + np.log(2 * (n * settings.d) ** 2)  # Proposition 3, delta_t = delta / (2 t^2)
    return 2 * (1 + settings.u) * settings.sigma**2 * zeta  # twice beta of eqs. (9) and (12)


@kernel
def accepted_gap(n, settings):
    """Return epsilon_t, t = n d: epsilon / (1 + epsilon / sqrt(4 sigma^2 log(4 t^d))) (Theorem 5), or share epsilon."""
    if settings.share > 0:
        return settings.share * settings.epsilon
    log_4td = np.log(4.0) + settings.d * np.log(n * settings.d)
    return settings.epsilon / (1 + settings.epsilon / np.sqrt(4 * settings.sigma**2 * log_4td))  # Theorem 5


@kernel
def boundary(n, settings):
    """Return the length of S at which the rule stops after n blocks (infinite before block c)."""
    epsilon = settings.epsilon
    if n < settings.c:
        return np.inf
    q = squared_radius(n, settings)
    if settings.stop == 0:  # "direct": largest_regret(|S| / n, sqrt(q / n)) <= epsilon, solved for |S|
        radius = np.sqrt(q / n)
        return q / (2 * epsilon) if radius >= epsilon else max(0.0, n * (radius - epsilon / 2))
    gap = accepted_gap(n, settings)
    glr = max(q / (2 * gap), n * gap / 2)  # Z >= q / 2, and 2 m >= epsilon_t, or else no b is that much worse
    if settings.stop == 1:  # "safe"
        return max(glr, 2 * q * gap / epsilon**2)
    return max(glr, np.sqrt(n * q) * gap / (epsilon - gap))  # eq. (11), lambda_min >= rho / |theta_hat|^2


@merged
def reached(state):
    """Return whether |S| has reached its boundary after whole blocks."""
    sums, status, square = state.sums, state.status, 0.0
    for i in range(sums.shape[0]):
        square += sums[i] * sums[i]
    status.length, status.boundary = np.sqrt(square), boundary(state.counts[0], state.settings)
    return status.length >= status.boundary


@merged
def choose(state):
    """Return the next arm of the round robin; -1 when a complete block reaches the boundary."""
    if state.status.turn == 0 and reached(state):
        return -1
    return state.status.turn  # a_t = u_(t mod d), the sampling rule of section 4.2


@merged
def update(state, arm, reward):
    """Update the state by one reward."""
    status = state.status
    state.sums[arm] += reward
    state.counts[arm] += 1
    status.turn = arm + 1 if arm + 1 < state.counts.shape[0] else 0


@merged
def choose_block(state):
    """Ask for `growth` times the blocks so far; return -1 when the boundary is reached."""
    if reached(state):
        return -1
    state.batch[:] = max(1, int(state.growth * state.counts[0]))
    return 0


@merged
def update_block(state):
    """Update the state by the rewards of a batch."""
    for i in range(state.sums.shape[0]):
        state.sums[i] += state.rewards[i]
        state.counts[i] += state.batch[i]
