"""L-T3C: top-two sampling by transportation cost, for linear bandits.

T3C (Shang, de Heide, Kaufmann, Menard, Valko 2020) takes a leader from a posterior sample and as challenger the item
whose transportation cost from the leader is least; L-T3C is its linear form, known from published code. The arm is
pulled that shrinks the width of leader minus challenger most. No proof says that it is optimal; in practice it is
among the best. With `leader="best"`, the empirical leader in the place of the sampled one, it is LinGapE's greedy
rule with the cost in the place of the upper bound.

Departures: the stopping rule is that of jedra2020 (`stopping`), for comparison at equal terms. A sampled leader that
others beat has challengers of cost 0; where the paper draws among them, here it is the one that beats it by the most
standard deviations. Items other than the arms are allowed (ours).
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from bandits_lib.checks import check_option
from bandits_lib.likelihood_ratio import Evidence, arm_norms, compare, leading, over, stop_by_glr, toward, update_norms
from bandits_lib.numerics.kernels import along_all, cholesky, inlined, kernel, record
from bandits_lib.numerics.ties import argmax
from bandits_lib.rules import DELTA, LARGEST, PULLS, SEQUENTIAL, STOPPING, After, Row, rule

DRAWS = 1_024  # posterior samples drawn at a time


@rule(
    label="L-T3C",
    row=Row(PULLS, LARGEST, SEQUENTIAL, "Shang et al. 2020", DELTA),
    guarantee=After("restart", STOPPING),
)
def l_t3c(
    arms,
    items=None,
    *,
    delta,
    sigma=1.0,
    leader="sample",
    u=1.0,
    delta_schedule="anytime",
    threshold="determinant",
    history=None,
    trace=0,
    rng,
):
    """Best item with probability at least 1 - delta, by top-two sampling (L-T3C, after Shang et al. 2020).

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
    leader : {"sample", "best"}, default "sample"
        The item that is best under a draw from N(theta_hat, sigma^2 A^-1), or under theta_hat itself.
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
    rng : numpy.random.Generator
        Draws the posterior samples.

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
    .. [1] Shang, de Heide, Kaufmann, Menard, Valko. "Fixed-confidence guarantees for Bayesian best-arm identification".
       AISTATS 2020.

    Examples
    --------
    >>> from bandits_lib import instances, play
    >>> problem = instances.benchmark(2, angle=1.0)
    >>> rule = l_t3c(problem.arms, delta=0.05, rng=np.random.default_rng(1))
    >>> play(rule, problem, np.random.default_rng(0)).result.recommendation
    0
    """
    check_option("leader", leader, ("sample", "best"))
    stopping_rule = {"delta": delta, "sigma": sigma, "u": u, "delta_schedule": delta_schedule, "threshold": threshold}
    begin = partial(first_state, draws=DRAWS if leader == "sample" else 0)
    more = {"history": history, "trace": trace}
    return (
        yield from stop_by_glr(arms, items, choose, update_norms, begin, partial(drawn, rng), **more, **stopping_rule)
    )


@inlined
def choose(state):
    """The arm that shrinks leader minus challenger most; -1 when done, at a look, or when the draws are used up."""
    evidence, normals, now, gains = state.evidence, state.normals, state.now, state.gains
    if over(evidence):
        return -1
    if normals.shape[0] > 0:
        if now.used == normals.shape[0]:
            return -1
        posterior_sample(evidence, normals[now.used], state.factor, state.sampled)
        now.used += 1
        leader = leading(evidence.items, state.sampled, evidence.values)
    else:
        leader = leading(evidence.items, evidence.theta, evidence.values)
    challenger(evidence, leader, state.direction)
    along_all(evidence.columns, state.direction, gains)
    for k in range(gains.shape[0]):
        gains[k] = gains[k] ** 2 / (1 + state.arm_squares[k])
    return argmax(gains)


@kernel
def posterior_sample(evidence, normals, factor, sampled):
    """A draw from N(theta_hat, sigma^2 A^-1), into `sampled` (r,). normals : (r,), standard; scratch: factor (r, r)."""
    cholesky(evidence.inverse, 1.0, 0.0, factor)
    for i in range(sampled.shape[0]):
        sampled[i] = evidence.theta[i]
        for j in range(i + 1):
            sampled[i] += evidence.stopping.sigma * factor[i, j] * normals[j]


@kernel
def challenger(evidence, leader, direction):
    """A^-1 y into `direction` (r,), y = leader - z for the z of least sign(y'theta) (y'theta)^2 / ||y||^2."""
    items, theta, inverse, costs, y = evidence.items, evidence.theta, evidence.inverse, evidence.values, evidence.step
    for m in range(items.shape[0]):
        gap, square = compare(items, leader, m, theta, inverse, y)
        costs[m] = -gap * abs(gap) / square
    costs[leader] = -np.inf
    toward(items, leader, argmax(costs), theta, inverse, y, direction)


# ---- what it remembers


class State(NamedTuple):
    """What the compiled loop reads and writes."""

    counts: np.ndarray  # (K,), those of the evidence
    evidence: Evidence
    arm_squares: np.ndarray  # (K,), x'A^-1x
    normals: np.ndarray  # (n, r), draws for the posterior samples to come; (0, r) for the empirical leader
    now: np.record  # used, the draws used
    factor: np.ndarray  # (r, r), scratch: Cholesky's factor of A^-1
    sampled: np.ndarray  # (r,), scratch
    direction: np.ndarray  # (r,), scratch: A^-1 (leader minus challenger)
    gains: np.ndarray  # (K,), scratch


def first_state(evidence, draws):
    """After the opening: all draws are used."""
    K, r = evidence.arms.shape
    return State(
        evidence.counts,
        evidence,
        arm_squares=arm_norms(evidence),
        normals=np.empty((draws, r)),
        now=record(used=draws),
        factor=np.empty((r, r)),
        sampled=np.empty(r),
        direction=np.empty(r),
        gains=np.empty(K),
    )


def drawn(rng, state):
    """The state with draws for the samples to come."""
    if 0 < len(state.normals) == state.now.used:
        state.normals[:] = rng.standard_normal(state.normals.shape)
        state.now.used = 0
    return state
