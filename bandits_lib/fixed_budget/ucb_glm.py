"""UCB-GLM stopped at a budget, for 0/1 rewards (Li, Lu, Zhou 2017, Algorithm 1), a baseline of azizi2022, section 8.

The rule pulls each arm once, and then argmax x'theta_hat + alpha ||x||_{V^-1}. Here V = sum xx', and theta_hat is the
logistic regression on all rewards. The rule recommends the arm pulled most often (Azizi et al. 2022, appendix F) and
has no guarantee. Departures:
- A ridge keeps theta_hat finite when the rewards separate the arms (see `fixed_budget.logistic`).
- The first pulls are one of each arm; Li et al. draw arms at random until V is large.
- width="squared" with alpha=0.5 repeats the published code of azizi2022.
"""

from math import log, sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from bandits_lib.checks import (
    check_arms,
    check_budget,
    check_delta,
    check_option,
    check_positive,
    check_ridge,
)
from bandits_lib.fixed_budget.linucb import most_pulled
from bandits_lib.fixed_budget.logistic import Room, check_successes, newton, room_for
from bandits_lib.numerics.kernels import along_all, merged, record
from bandits_lib.numerics.ridge import Ridge, learn, ridge_regression
from bandits_lib.numerics.span import basis
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import NONE, OWN, PULLS, Algorithm, Loop, Result, Row, rule

SIGMA = 0.5  # a reward in [0, 1] is 1/2-sub-Gaussian


@rule(
    label="UCB-GLM",
    row=Row(PULLS, "as linucb, for rewards 0 and 1 (give alpha)", "Li et al. 2017", NONE, OWN),
)
def ucb_glm(
    arms: np.ndarray,
    *,
    budget: int,
    theta_bound: float | None = None,
    alpha: float | None = None,
    width: str = "norm",
    delta: float | None = None,
    ridge: float = 1e-3,
) -> Algorithm:
    """Find the arm that UCB-GLM pulls most in `budget` 0/1 rewards (Li et al. 2017, Alg. 1; azizi2022, appendix F).

    Parameters
    ----------
    arms, budget : (K, d) array_like and int
        As for `gse`; the budget is at least K.
    theta_bound, alpha : float, optional
        Bound on the Euclidean norm of theta, and factor of the norm. The default factor, that of Li et al., Theorem 2,
        needs the bound.
    width : {"norm", "squared"}
        Bonus alpha ||x||_{V^-1}, or alpha x'V^-1 x (the published code of azizi2022, with alpha = 0.5).
    delta : float, optional
        Error probability in the alpha of Theorem 2; by default 1 / (budget + 1).
    ridge : float
        Penalty of the logistic regression; positive.

    Yields
    ------
    (K,) int array or Loop
        As for `linucb`. A reward other than 0 and 1 raises a ValueError.

    Examples
    --------
    >>> from bandits_lib import LinearBandit, play
    >>> problem = LinearBandit(np.eye(2), theta=[2.0, -2.0], link="logistic")
    >>> play(ucb_glm(np.eye(2), budget=60, alpha=1.0), problem, np.random.default_rng(0)).result.recommendation
    0
    """
    arms = check_arms(arms)
    budget = check_budget(budget, len(arms), "each arm once")
    check_option("width", width, ("norm", "squared"))
    ridge, delta = check_positive("ridge", ridge), 1 / (budget + 1) if delta is None else check_delta(delta)
    alpha = alpha_of_theorem(arms, budget, theta_bound, delta) if alpha is None else check_positive("alpha", alpha)
    if len(arms) == 1:
        return Result(0)
    check_ridge(arms, ridge)

    sample = yield np.ones(len(arms), dtype=np.int64)
    check_successes(sample)
    coordinates = np.ascontiguousarray(arms @ basis(arms))
    state = State(
        counts=sample.counts.astype(np.int64),
        status=record(pulls=len(arms), due=budget, refused=False),
        arms=coordinates,
        sums=np.array(sample.sums, dtype=float),
        theta=np.zeros(coordinates.shape[1]),
        room=room_for(coordinates),
        fit=ridge_regression(coordinates, 0.0, sample),
        alpha=float(alpha),
        squared=width == "squared",
        ridge=ridge,
        values=np.empty(len(arms)),
        bounds=np.empty(len(arms)),
    )
    refit(state)
    yield Loop(choose, update, state, look)
    if state.status.refused:
        raise ValueError("rewards must be 0 or 1 for the logistic model; one of them was neither: use linucb")
    return Result(most_pulled(state.counts, state.values))


def alpha_of_theorem(arms, budget, theta_bound, delta):
    """Return the alpha of Li et al. (2017), Theorem 2; kappa : minimum of h'(x'theta), |theta| <= theta_bound + 1."""
    if theta_bound is None:
        raise ValueError("theta_bound (a bound on the norm of theta) or alpha must be given; got None for both")
    reach = np.linalg.norm(arms, axis=1).max() * (check_positive("theta_bound", theta_bound) + 1)
    kappa, r = expit(reach) * expit(-reach), basis(arms).shape[1]
    return SIGMA / kappa * sqrt(r / 2 * log(1 + 2 * budget / r) + log(1 / delta))  # Theorem 2


class State(NamedTuple):
    counts: np.ndarray  # (K,)
    status: np.record  # pulls; due, the budget; refused, whether a reward was neither 0 nor 1
    arms: np.ndarray  # (K, r)
    sums: np.ndarray  # (K,), successes
    theta: np.ndarray  # (r,), the logistic regression
    room: Room  # scratch of Newton's method
    fit: Ridge  # only its squares x'V^-1 x are used
    alpha: float
    squared: bool  # whether the bonus is alpha x'V^-1 x
    ridge: float
    values: np.ndarray  # (K,), x'theta
    bounds: np.ndarray  # (K,), scratch: upper confidence bounds


def look(state):
    """Return the largest bound, no threshold and the most pulled arm."""
    choose(state)  # sets the bounds
    return float(state.bounds.max()), np.inf, most_pulled(state.counts, state.values)


@merged
def refit(state):
    """Fit the logistic regression to all rewards, starting from the last fit, and set the values x'theta_hat."""
    newton(state.arms, state.counts, state.sums, state.ridge, state.theta, state.room)  # azizi2022, eq. (4)
    along_all(state.fit.columns, state.theta, state.values)


@merged
def choose(state):
    """Return argmax x'theta_hat + alpha ||x||_{V^-1} (Li et al. 2017, Alg. 1); -1 at the budget or a bad reward."""
    status, values, squares, bounds = state.status, state.values, state.fit.squares, state.bounds
    for k in range(bounds.shape[0]):
        bounds[k] = values[k] + state.alpha * (squares[k] if state.squared else np.sqrt(squares[k]))
    return -1 if status.pulls >= status.due or status.refused else argmax(bounds)  # Alg. 1


@merged
def update(state, arm, reward):
    """Update by one reward: refit the logistic regression, and update the norms by rank one."""
    if reward != 0.0 and reward != 1.0:
        state.status.refused = True
        return
    state.sums[arm] += reward
    learn(state, arm, reward)
    refit(state)
