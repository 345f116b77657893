"""GSE: generalised successive elimination with a fixed budget (Azizi, Kveton, Ghavamzadeh 2022, Algorithm 1).

The budget is split evenly over s = ceil(log_eta K) stages. Each stage pulls the arms that are left, fits a model to its
own pulls alone, and keeps the best 1/eta of the arms. Departures, and differences between the text and published code:
- s is computed with whole numbers, because floating-point logarithms can be off by one (log 125 / log 5 > 3).
- keep="floor", as in the code, may end before the last stages.
- projection="cumulative" projects the earlier projection again: once the arms do not span their space, it keeps 3 axes.
  Arms that it maps to one point have equal estimates. The code orders them by rounding errors, this file at random.
- The default design is certified; the paper's FWG can stall above the optimum.
- Costs are ours: the budget is the total cost, and a stage minimises the largest width that its share can buy.
- Arms are ranked by x'theta_hat, without the mean function of eq. (4), because it is monotone.
- model="logistic" has a ridge, because the paper's maximum-likelihood estimate is often infinite.
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
from bandits_lib.protocol import BATCHES, FALLS, Algorithm, Result, Round, Row, rule


@rule(
    label="GSE",
    row=Row(BATCHES, "first choice; model='logistic' for 0 and 1", "azizi2022, Algorithm 1", FALLS),
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
        Number of pulls, and standard deviation of the noise. If each arm has its own, the largest is used.
    cost : (K,) array_like, optional
        Cost of one pull of each arm; `budget` is then the total cost allowed, and the design must be "certified".
    model : {"linear", "logistic"}
        Least squares, or logistic regression for rewards 0 and 1.
    design : str or callable
        G-optimal "certified", "fwg" (Algorithm 2), "wynn", "greedy" (sequential), "uniform", "clusters" (appendix H),
        or a function (arms (m, r), n, rng) -> counts (m,) of sum n.
    eta, keep : int and {"ceil", "floor"}
        A stage keeps m / eta of m arms, rounded up (text) or down (code); eta is at least 2.
    remainder : {"drop", "last"}
        Drop the pulls that cannot be shared evenly (text), or give them to the last stages, one each (code).
    rounding : {"regret", "ceil", "multinomial"}
        Method that turns a design into whole pulls: "regret" (text), or "ceil" and "multinomial" (code).
    projection : {"span", "first3", "cumulative"}
        Coordinates of the arms in play: in their span (text), in its first three axes, or as in the code.
    ridge : float
        Penalty of the logistic fit, positive.
    floor : float
        Share in [0, 1) of the pulls of every stage that is spread evenly, so that a lack of fit can be detected.
    rng : numpy.random.Generator, optional
        Generator for design="uniform", rounding="multinomial" and projection="cumulative".

    Yields
    ------
    (K,) int array
        Pulls to make next; the reply is a `Sample`. The rule returns a `Result`: the best arm (int), and one `Round`
        per stage, whose `width` is the largest standard deviation of a difference from the leader.

    Raises
    ------
    ValueError
        If an argument is invalid or `rng` is missing, if the budget is below ceil(log_eta K) times the rank of the arms
        (the message gives the smallest budget), or if the logistic model gets rewards other than 0 and 1.

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
        raise ValueError(
            "cost needs design='certified' and rounding='regret', because other designs ignore costs: omit both options"
        )
    budgets = stage_budgets(arms, budget, eta, remainder, projection, floor, 1.0 if cost is None else cost.max())
    if model == "logistic" and len(arms) > 1:
        check_ridge(arms, ridge)

    active, history = np.arange(len(arms)), []  # A_1
    previous, cumulative = Stage(arms, np.eye(arms.shape[1])), projection == "cumulative"
    for t, n in enumerate(budgets, start=1):  # Alg. 1, line 1
        if len(active) == 1 or not previous.arms.any():  # keep="floor" can end early; arms all 0 are equally good
            break
        stage = projected(previous, projection)  # line 2
        if cost is None:
            plan = with_floor(stage, n, floor, partial(allocate, design=design, rounding=rounding, rng=rng))  # line 3
        else:
            plan = affordable(stage, n, floor, cost[active])  # line 3
        sample, of_active = yield from measure(active, plan.counts, len(arms))
        theta, covariance = estimate(model, stage, plan, of_active, sigma, ridge)  # line 4: eq. (1) or (4)
        values = along(stage.arms, theta)
        width = np.sqrt(norms(covariance, stage.arms - stage.arms[argmax(values)]).max())
        history.append(
            Round(
                index=t,
                active=active,
                counts=sample.counts,
                design_value=plan.value,
                lower_bound=float(len(theta)),  # the rank is the minimum of g (Kiefer and Wolfowitz)
                width=float(width),
                theta_hat=stage.basis @ theta,
            )
        )
        size = -(-len(active) // eta) if keep == "ceil" else max(1, len(active) // eta)
        kept = top_at_random(values, int(size), rng) if cumulative else top(values, int(size))
        active = active[kept]  # line 5: A_(t+1)
        previous = Stage(stage.arms[kept], stage.basis) if cumulative else Stage(arms[active], previous.basis)
    best = rng.choice(active) if cumulative and rng is not None else active[0]  # line 8
    return Result(int(best), tuple(history))


def with_floor(stage, n, floor, give_out):
    """Return the `Plan` of n pulls: those of the floor evenly, the others as `give_out(arms, pulls)` allocates them."""
    extra = min(int(floor * n), n - stage.arms.shape[1])
    plan = give_out(stage.arms, n - extra)
    return plan_of(stage.arms, plan.counts + evenly(extra, plan.counts)) if extra else plan


def affordable(stage, money, floor, cost):
    """Return the `Plan` with the most pulls for at most `money`, allocated by the cheapest design."""
    design = per_cost(xy_design, stage.arms, stage.arms, cost)
    n = int(money / (design.weights @ cost))
    while True:
        plan = with_floor(stage, n, floor, partial(by_design, lambda arms: (design.weights, design.value)))
        if (spent := plan.counts @ cost) <= money:
            return plan
        n = max(stage.arms.shape[1], min(n - 1, int(n * money / spent)))


def top_at_random(values, size, rng):
    """Return indices (size,) of the largest values (m,), in increasing order; ties are broken at random."""
    order = rng.permutation(len(values))
    return np.sort(order[top(values[order], size)])


def stage_budgets(arms, budget, eta, remainder, projection="span", floor=0.0, highest_cost=1.0):
    """Return the pulls of each of the s = ceil(log_eta K) stages; each must cover the rank besides the floor.

    With costs, budgets are costs; each must pay for as many pulls of the most expensive arm as the rank.
    """
    if not isinstance(eta, int | float | np.integer | np.floating) or not (eta >= 2 and eta % 1 == 0):
        raise ValueError(f"eta must be a whole number of at least 2 (a stage keeps 1/eta of its arms); got {eta}")
    if len(arms) == 1:
        return []
    stages = stages_needed(len(arms), int(eta))
    rank = project(arms, projection).arms.shape[1]
    why = f"GSE has {stages} stages, and each must measure {rank} dimensions{' besides the floor' if floor else ''}"
    why += f", at a cost of up to {highest_cost:g} per pull" if highest_cost != 1 else ""
    least = ceil((int((rank - 1) / (1 - floor)) + 1) * highest_cost)  # of one stage
    n, undivided = divmod(check_budget(budget, stages * least, why), stages)
    return [n + (remainder == "last" and t >= stages - undivided) for t in range(stages)]


def stages_needed(K, eta):
    """Return ceil(log_eta K), the smallest s with eta^s >= K, computed with whole numbers."""
    stages, reach = 0, 1
    while reach < K:
        stages, reach = stages + 1, reach * eta
    return stages


def estimate(model, stage, plan, sample, sigma, ridge):
    """Return theta_hat (r,) in coordinates of the stage and its covariance (r, r), from the sample (eqs. 1, 4)."""
    if model == "linear":
        return along(plan.inverse, combine(sample.sums, stage.arms)), sigma**2 * plan.inverse  # eq. (1)
    fit = logistic_fit(stage.arms, sample, ridge=ridge)  # eq. (4)
    return fit.theta_hat, fit.inverse
