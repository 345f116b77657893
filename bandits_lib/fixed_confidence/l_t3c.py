"""L-T3C: top-two sampling by transportation cost (Shang, de Heide, Kaufmann, Menard, Valko 2020), for linear bandits.

The leader is the best item of a posterior sample. The challenger has the smallest transportation cost from the leader.
The rule pulls the arm that shrinks the width of their difference most, the form of published code. Departures:
- The stopping rule is that of jedra2020 (`glr`), and items other than the arms are allowed.
- Challengers that beat a sampled leader all have cost 0. The paper draws one of them; here it is the challenger that
  leads by the most standard deviations.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bandits_lib.checks import check_option
from bandits_lib.glr import (
    Evidence,
    arm_norms,
    compare,
    leading,
    stop_by_glr,
    stopped,
    toward,
    update_norms,
)
from bandits_lib.numerics.kernels import along_all, cholesky, inlined, kernel
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import DELTA, PULLS, SEQUENTIAL, Algorithm, Row, rule


@rule(label="L-T3C", row=Row(PULLS, SEQUENTIAL, "Shang et al. 2020", DELTA))
def l_t3c(
    arms: np.ndarray,
    items: np.ndarray | None = None,
    *,
    delta: float,
    sigma: float | np.ndarray = 1.0,
    leader: str = "sample",
    u: float = 1.0,
    delta_schedule: str | float = "anytime",
    threshold: str = "determinant",
    eliminate: str = "none",
    rng: np.random.Generator,
) -> Algorithm:
    """Find the best item with probability at least 1 - delta, by top-two sampling (after Shang et al. 2020).

    Parameters
    ----------
    arms, items, delta, sigma : (K, d) and (M, d) array_like, float, and float or (K,) array_like
        As for `rage`.
    leader : {"sample", "best"}
        The leader is the best item under a draw from N(theta_hat, sigma^2 A^-1), or under theta_hat.
    u, delta_schedule, threshold, eliminate : float, str or float, str, and str
        As for `lazy_track_and_stop`.
    rng : numpy.random.Generator
        Generator that draws the posterior samples.

    Examples
    --------
    >>> from bandits_lib import instances, play
    >>> problem = instances.benchmark(2, angle=1.0)
    >>> rule = l_t3c(problem.arms, delta=0.05, rng=np.random.default_rng(1))
    >>> play(rule, problem, np.random.default_rng(0)).result.recommendation
    0
    """
    check_option("leader", leader, ("sample", "best"))
    if leader == "sample" and not isinstance(rng, np.random.Generator):
        raise ValueError(f"rng must be a Generator, which draws leaders; got {rng!r}: pass np.random.default_rng(seed)")
    stopping = delta, sigma, u, delta_schedule, threshold, eliminate
    choose = choose_by_sample if leader == "sample" else choose_by_estimate
    return (yield from stop_by_glr(arms, items, stopping, choose, update_norms, partial(first_state, rng)))


@inlined
def choose_by_sample(state):
    """Return the arm to pull for the best item of a posterior sample; -1 when done."""
    evidence, sampled = state.evidence, state.sampled
    if stopped(evidence):
        return -1
    for i in range(sampled.shape[0]):
        state.normals[i] = state.rng.standard_normal()
    posterior_sample(evidence, state.normals, state.factor, sampled)
    return shrinking(state, leading(evidence.items, sampled, evidence.values))


@inlined
def choose_by_estimate(state):
    """Return the arm to pull for the best item of the estimate; -1 when done."""
    evidence = state.evidence
    return -1 if stopped(evidence) else shrinking(state, leading(evidence.items, evidence.theta, evidence.values))


@inlined
def shrinking(state, leader):
    """Return the arm that shrinks the width of leader minus challenger most."""
    evidence, gains = state.evidence, state.gains
    challenger(evidence, leader, state.direction)
    along_all(evidence.columns, state.direction, gains)
    for k in range(gains.shape[0]):
        gains[k] = gains[k] ** 2 / (1 + state.arm_squares[k])  # ||y||^2 falls by this
    return argmax(gains)


@kernel
def posterior_sample(evidence, normals, upper, sampled):
    """Draw from N(theta_hat, sigma^2 A^-1) into `sampled` (r,). normals : (r,), standard; scratch: upper (r, r)."""
    cholesky(evidence.inverse, 1.0, 0.0, upper)
    for i in range(sampled.shape[0]):
        sampled[i] = evidence.theta[i]
        for j in range(i + 1):
            sampled[i] += evidence.stopping.sigma * upper[j, i] * normals[j]


@kernel
def challenger(evidence, leader, direction):
    """Write A^-1 y into `direction` (r,), y = leader - z, for the z of smallest sign(y'theta) (y'theta)^2 / ||y||^2."""
    items, theta, inverse, costs, y = evidence.items, evidence.theta, evidence.inverse, evidence.values, evidence.step
    for m in range(items.shape[0]):
        gap, square = compare(items, leader, m, theta, inverse, y)
        costs[m] = -gap * abs(gap) / square  # minus twice the transportation cost, with its sign
    costs[leader] = -np.inf
    toward(items, leader, argmax(costs), theta, inverse, y, direction)


class State(NamedTuple):
    counts: np.ndarray  # (K,), those of the evidence
    evidence: Evidence
    arm_squares: np.ndarray  # (K,), x'A^-1x
    rng: Any  # draws the posterior samples
    normals: np.ndarray  # (r,), scratch: the draws of one sample
    factor: np.ndarray  # (r, r), scratch: Cholesky's factor of A^-1
    sampled: np.ndarray  # (r,), scratch
    direction: np.ndarray  # (r,), scratch: A^-1 (leader minus challenger)
    gains: np.ndarray  # (K,), scratch


def first_state(rng, evidence):
    """Return the state after the opening."""
    K, r = evidence.arms.shape
    return State(
        counts=evidence.counts,
        evidence=evidence,
        arm_squares=arm_norms(evidence),
        rng=rng,
        normals=np.empty(r),
        factor=np.empty((r, r)),
        sampled=np.empty(r),
        direction=np.empty(r),
        gains=np.empty(K),
    )
