"""GSE: generalised successive elimination with a fixed budget (Azizi, Kveton, Ghavamzadeh 2022, Algorithm 1).

The budget is split evenly over s = ceil(log_eta K) stages; each pulls the arms that are left, fits a model to the
pulls of this stage alone, and keeps the best 1/eta of them. Where text and published code differ:
- s is found with whole numbers, as floating logarithms are off by one (log 125 / log 5 > 3).
- keep: ceil(m / eta) of m arms (text), or floor(m / eta) (code), which can leave the last stages unspent.
- remainder: the text drops the budget mod s pulls; the code gives one each to as many last stages.
- rounding: by regret minimisation (text); the code takes every n pi_i up ("ceil") or draws ("multinomial").
- projection: on what the arms in play span (text). The code projects what it projected before: as soon as the arms do
  not span their space it keeps 3 axes ("cumulative"). Arms that it maps to one point have equal estimates: the code
  orders them by rounding errors, this file by a coin. "first3" takes 3 axes of the arms themselves in every stage.
- design: the default is certified, where the paper's FWG stalls.
- cost: the budget is the total cost, and a stage minimises the largest width that its share of it can buy.
- Arms are ranked by x'theta_hat, without the mean function of eq. (4), which is monotone.
- model "logistic" takes a ridge, where the paper's maximum-likelihood estimate is often infinite.
"""

from collections.abc import Callable
from functools import partial
from math import ceil

import numpy as np

from bandits_lib.checks import check_budget, check_cost, check_noisy, check_option, check_positive, check_ridge
from bandits_lib.design import xy_design
from bandits_lib.design.rounding import check_floor, evenly, per_cost
from bandits_lib.fixed_budget.logistic import logistic_fit
from bandits_lib.fixed_budget.stages import (
    Stage,
    allocate,
    by_design,
    check_explorer,
    measure,
    plan_of,
    project,
    projected,
)
from bandits_lib.numerics.least_squares import norms
from bandits_lib.numerics.linear_algebra import along, combine
from bandits_lib.numerics.ties import argmax, top
from bandits_lib.protocol import BATCHES, FALLS, SPENT, After, Algorithm, Result, Round, Row, rule


@rule(
    label="GSE",
    row=Row(BATCHES, "first choice; model='logistic' for 0 and 1", "azizi2022, Algorithm 1", FALLS),
    guarantee=After("in play", SPENT),
)
def gse(
    arms: np.ndarray,
    *,
    budget: int,
    sigma: float | np.ndarray = 1.0,
    cost: np.ndarray | None = None,
    model: str = "linear",
    design: str | Callable = "certified",
    eta: float = 2,
    keep: str = "ceil",
    remainder: str = "drop",
    rounding: str = "regret",
    projection: str = "span",
    ridge: float = 1e-3,
    floor: float = 0.0,
    rng: np.random.Generator | None = None,
) -> Algorithm:
    """Find the best arm within a budget, by successive elimination in a structured model (azizi2022, Algorithm 1).

    Parameters
    ----------
    arms : (K, d) array_like
        Arms that can be pulled; identical ones are allowed.
    budget, sigma : int, and float or (K,) array_like
        Number of pulls, and standard deviation of the noise; of several the largest counts.
    cost : (K,) array_like, optional
        Cost of a pull of each arm; `budget` is then the total cost allowed, and the design the certified one.
    model : {"linear", "logistic"}
        Least squares, or logistic regression for rewards 0 and 1.
    design : str or callable
        G-optimal "certified", "fwg" (Algorithm 2), "wynn", "greedy" (sequential), "uniform", "clusters" (appendix H),
        or a function (arms (m, r), n, rng) -> counts (m,) of sum n.
    eta, keep : int and {"ceil", "floor"}
        A stage keeps m / eta of m arms, eta at least 2, rounded up (text) or down (code).
    remainder : {"drop", "last"}
        Pulls that the stages do not share evenly are dropped (text), or go to the last stages (code).
    rounding : {"regret", "ceil", "multinomial"}
        How a named design becomes whole pulls: the text's, and two of the code.
    projection : {"span", "first3", "cumulative"}
        What the arms in play are seen in: what they span (text), its first three axes, or as in the code.
    ridge : float
        Penalty of the logistic fit, positive.
    floor : float
        Share of every stage's pulls, in [0, 1), that its arms get evenly, so that lack of fit can be seen.
    rng : numpy.random.Generator, optional
        For design="uniform", rounding="multinomial" and projection="cumulative".

    Yields
    ------
    (K,) int array
        Pulls to make next, answered with a `Sample`. Returns a `Result`: the best arm (int), one `Round` a stage, whose
        `width` is the largest standard deviation of a difference from the leader.

    Raises
    ------
    ValueError
        For bad input, a budget below ceil(log_eta K) times the rank of the arms (it says the smallest that runs), a
        missing `rng`, and rewards other than 0 and 1 for the logistic model.

    Examples
    --------
    >>> from bandits_lib import instances, play
    >>> problem = instances.benchmark(2, angle=1.0)
    >>> play(gse(problem.arms, budget=60), problem, np.random.default_rng(0)).result.recommendation
    0
    """
    arms, sigma = check_noisy(arms, sigma)
    check_option("model", model, ("linear", "logistic"))
    check_option("keep", keep, ("ceil", "floor"))
    check_option("remainder", remainder, ("drop", "last"))
    check_explorer(design, rounding, projection, rng)
    ridge = check_positive("ridge", ridge)
    floor = check_floor(floor)
    cost = check_cost(cost, len(arms))
    if cost is not None and (design, rounding) != ("certified", "regret"):
        raise ValueError("cost needs design='certified' and rounding='regret'; the other designs share out pulls alone")
    budgets = stage_budgets(arms, budget, eta, remainder, projection, floor, 1.0 if cost is None else cost.max())
    if model == "logistic" and len(arms) > 1:
        check_ridge(arms, ridge)

    active, history = np.arange(len(arms)), []
    seen, again = Stage(arms, np.eye(arms.shape[1])), projection == "cumulative"
    for t, n in enumerate(budgets, start=1):
        if len(active) == 1 or not seen.arms.any():  # keep="floor" ends early; arms that are all 0 are as good
            break
        stage = projected(seen, projection)  # Alg. 1, line 2
        if cost is None:
            plan = with_floor(stage, n, floor, partial(allocate, design=design, rounding=rounding, rng=rng))  # line 3
        else:
            plan = affordable(stage, n, floor, cost[active])
        sample, told, as_asked = yield from measure(stage, active, plan.counts, len(arms))
        if not as_asked:
            plan = plan_of(stage.arms, told.counts, plan.value)
        theta, covariance = estimate(model, stage, plan, told, sigma, ridge)  # line 4
        values = along(stage.arms, theta)
        width = np.sqrt(norms(covariance, stage.arms - stage.arms[argmax(values)]).max())
        rank, theta_hat = float(len(theta)), stage.basis @ theta  # the least value of g (Kiefer and Wolfowitz)
        history.append(Round(t, active, sample.counts, plan.value, rank, float(width), theta_hat))
        size = -(-len(active) // eta) if keep == "ceil" else max(1, len(active) // eta)
        kept = top_at_random(values, int(size), rng) if again else top(values, int(size))
        active = active[kept]  # line 5
        seen = Stage(stage.arms[kept], stage.basis) if again else Stage(arms[active], seen.basis)
    return Result(int(rng.choice(active) if again and rng is not None else active[0]), tuple(history))


def with_floor(stage, n, floor, give_out):
    """The `Plan` of n pulls: those of the floor evenly, the others by `give_out(arms, pulls)`."""
    extra = min(int(floor * n), n - stage.arms.shape[1])
    plan = give_out(stage.arms, n - extra)
    return plan_of(stage.arms, plan.counts + evenly(extra, plan.counts)) if extra else plan


def affordable(stage, money, floor, cost):
    """The `Plan` of the most pulls that cost at most `money`, in the shares of the design of least cost."""
    found = per_cost(xy_design, stage.arms, stage.arms, cost)
    n = int(money / (found.weights @ cost))
    while True:
        plan = with_floor(stage, n, floor, partial(by_design, lambda arms: (found.weights, found.value)))
        if (spent := plan.counts @ cost) <= money:
            return plan
        n = max(stage.arms.shape[1], min(n - 1, int(n * money / spent)))


def top_at_random(values, size, rng):
    """Indices (size,) of the largest values (m,), in increasing order; a coin decides among equal ones."""
    order = rng.permutation(len(values))
    return np.sort(order[top(values[order], size)])


def stage_budgets(arms, budget, eta, remainder, projection="span", floor=0.0, dearest=1.0):
    """Pulls of each of the s = ceil(log_eta K) stages, each at least the rank beside the floor, or a ValueError.

    With costs the budgets are money, and each buys the rank of the dearest arm.
    """
    if not isinstance(eta, int | float | np.integer | np.floating) or not (eta >= 2 and eta % 1 == 0):
        raise ValueError(f"eta must be a whole number of at least 2 (a stage keeps 1/eta of its arms); got {eta}")
    if len(arms) == 1:
        return []
    stages = stages_needed(len(arms), int(eta))
    rank = project(arms, projection).arms.shape[1]
    why = f"GSE has {stages} stages, and each must measure {rank} dimensions{' beside the floor' if floor else ''}"
    why += f", at up to {dearest:g} a pull" if dearest != 1 else ""
    n, left = divmod(check_budget(budget, stages * ceil((int((rank - 1) / (1 - floor)) + 1) * dearest), why), stages)
    return [n + (remainder == "last" and t >= stages - left) for t in range(stages)]


def stages_needed(K, eta):
    """ceil(log_eta K): the least s with eta^s >= K, for whole numbers."""
    stages, reach = 0, 1
    while reach < K:
        stages, reach = stages + 1, reach * eta
    return stages


def estimate(model, stage, plan, sample, sigma, ridge):
    """theta_hat (r,) in the coordinates of the stage and its covariance (r, r), from its sample (eqs. 1, 4)."""
    if model == "linear":
        return along(plan.inverse, combine(sample.sums, stage.arms)), sigma**2 * plan.inverse
    fit = logistic_fit(stage.arms, sample, ridge=ridge)
    return fit.theta_hat, fit.inverse
