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

from typing import NamedTuple

import numpy as np
from numba import njit

from bandits_lib.checks import check_arms, check_items, check_option, check_sigma
from bandits_lib.fixed_confidence.comparisons import arm_norms, compare, follow
from bandits_lib.fixed_confidence.stopping import Evidence, begin, check_stopping, leading, look, opening, stopped, tell
from bandits_lib.numerics.kernels import along_all
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import Loop, Result, Trace


class State(NamedTuple):
    """What the compiled loop reads and writes."""

    counts: np.ndarray  # (K,), those of the evidence
    evidence: Evidence
    columns: np.ndarray  # (r, K), the arms
    arm_squares: np.ndarray  # (K,), x'A^-1x
    normals: np.ndarray  # (n, r), draws for the posterior samples to come; (0, r) for the empirical leader
    used: np.ndarray  # (1,), draws used
    sigma: np.ndarray  # (1,)
    factor: np.ndarray  # (r, r), scratch: Cholesky's factor of A^-1
    sampled: np.ndarray  # (r,), scratch
    direction: np.ndarray  # (r,), scratch: leader minus challenger
    gains: np.ndarray  # (K,), scratch


DRAWS = 1_024  # posterior samples drawn at a time


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
    trace=0,
    rng,
):
    """Best item with probability at least 1 - delta, by top-two sampling (L-T3C, after Shang et al. 2020).

    Parameters
    ----------
    arms : (K, d); items : (M, d), default the arms; delta : error probability allowed.
    sigma : standard deviation of the noise; of several the largest is used.
    leader : "sample", best under a draw from N(theta_hat, sigma^2 A^-1), or "best", under theta_hat itself.
    u, delta_schedule, threshold : of the stopping rule, see `stopping.check_stopping`.
    trace : record a Trace every `trace` pulls; 0, never. rng : draws the posterior samples.

    Returns Result(item (int), history of Trace). One item: at once. Raises ValueError for bad input.

    >>> from bandits_lib import instances, play
    >>> problem = instances.benchmark(2, angle=1.0)
    >>> rule = l_t3c(problem.arms, delta=0.05, rng=np.random.default_rng(1))
    >>> play(rule, problem, np.random.default_rng(0)).result.recommendation
    0
    """
    arms = check_arms(arms)
    items = check_items(items, arms)
    sigma = check_sigma(sigma, len(arms)).max()
    rule = check_stopping(delta=delta, sigma=sigma, u=u, delta_schedule=delta_schedule, threshold=threshold)
    check_option("leader", leader, ("sample", "best"))
    if len(items) == 1:
        return Result(0)

    start = opening(arms, items)
    sample = yield start.counts
    evidence = begin(start, sample, rule, trace)
    state = _start(evidence, sigma, leader)
    history: list[Trace] = []
    while True:
        if leader == "sample" and state.used[0] == len(state.normals):
            state.normals[:] = rng.standard_normal(state.normals.shape)
            state.used[0] = 0
        yield Loop(choose, update, state)
        if evidence.clock[0] >= evidence.clock[1]:
            history.append(look(evidence))
            evidence.clock[1] += trace
        if evidence.done[0]:
            return Result(int(evidence.best[0]), tuple(history))


def _start(evidence, sigma, leader):
    K, r = evidence.arms.shape
    draws = DRAWS if leader == "sample" else 0
    return State(
        counts=evidence.counts,
        evidence=evidence,
        columns=np.ascontiguousarray(evidence.arms.T),
        arm_squares=arm_norms(evidence),
        normals=np.empty((draws, r)),
        used=np.array([draws]),
        sigma=np.array([sigma]),
        factor=np.empty((r, r)),
        sampled=np.empty(r),
        direction=np.empty(r),
        gains=np.empty(K),
    )


@njit(cache=True, forceinline=True, error_model="numpy")
def choose(state):
    """The arm that shrinks leader minus challenger most; -1 when done, at a look, or when the draws are used up."""
    evidence, normals = state.evidence, state.normals
    if stopped(evidence) or evidence.clock[0] >= evidence.clock[1]:
        return -1
    if normals.shape[0] > 0:
        if state.used[0] == normals.shape[0]:
            return -1
        posterior_sample(evidence, normals[state.used[0]], state.sigma[0], state.factor, state.sampled)
        state.used[0] += 1
        leader = leading(evidence.items, state.sampled, evidence.costs)
    else:
        leader = leading(evidence.items, evidence.theta, evidence.costs)
    challenger(evidence, leader, state.direction)
    along_all(state.columns, state.direction, state.gains)
    for k in range(state.gains.shape[0]):
        state.gains[k] = state.gains[k] ** 2 / (1 + state.arm_squares[k])
    return argmax(state.gains)


@njit(cache=True, error_model="numpy")
def posterior_sample(evidence, normals, sigma, factor, sampled):
    """A draw from N(theta_hat, sigma^2 A^-1), into `sampled` (r,). normals : (r,), standard; scratch: factor (r, r)."""
    inverse, theta = evidence.inverse, evidence.theta
    for i in range(theta.shape[0]):
        sampled[i] = theta[i]
        for j in range(i + 1):
            rest = inverse[i, j]
            for k in range(j):
                rest -= factor[i, k] * factor[j, k]
            factor[i, j] = np.sqrt(max(rest, 0.0)) if i == j else rest / factor[j, j]
            sampled[i] += sigma * factor[i, j] * normals[j]


@njit(cache=True, error_model="numpy")
def challenger(evidence, leader, direction):
    """A^-1 y into `direction` (r,), y = leader - z for the z of least sign(y'theta) (y'theta)^2 / ||y||^2."""
    items, theta, inverse, costs, y = evidence.items, evidence.theta, evidence.inverse, evidence.costs, evidence.step
    r = theta.shape[0]
    for m in range(items.shape[0]):
        gap, square = compare(items, leader, m, theta, inverse, y)
        costs[m] = -gap * abs(gap) / square
    costs[leader] = -np.inf
    rival = argmax(costs)
    for i in range(r):
        direction[i] = 0.0
        for j in range(r):
            direction[i] += inverse[i, j] * (items[leader, j] - items[rival, j])


@njit(cache=True, forceinline=True, error_model="numpy")
def update(state, arm, reward):
    """Tell one reward."""
    tell(state.evidence, arm, reward)
    follow(state.evidence, arm, state.columns, state.arm_squares, state.gains)
