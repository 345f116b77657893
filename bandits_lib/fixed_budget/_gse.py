"""GSE: generalised successive elimination with a fixed budget (Azizi, Kveton, Ghavamzadeh 2022, Algorithm 1).

The budget is split evenly over s = ceil(log_eta K) stages; each pulls the arms that are left, fits a model to the
pulls of this stage alone, and keeps the best 1/eta of them.

What the paper leaves open, and where its published code differs from its text; each is an argument:
- s is found with whole numbers, as floating logarithms are off by one (log 125 / log 5 > 3).
- keep: the text keeps ceil(m / eta) of m arms, which ends with one arm after s stages. The code keeps floor(m / eta),
  which can need fewer stages than the budget was split for, and leaves the rest unspent.
- remainder: the text drops the budget mod s pulls; the code gives one each to as many last stages.
- rounding: the text rounds a design by regret minimisation (Allen-Zhu et al. 2017); the code takes every n pi_i up,
  and so passes the budget by up to the number of arms ("ceil"), or draws ("multinomial", for Wynn's method).
- projection: the text projects the arms in play on what they span. The code projects what it projected before: as
  soon as the arms in play do not span their space it keeps 3 axes, for the rest of the run ("cumulative"). Arms that
  differ in other directions become one point; the code ranks them by rounding errors, this file by a coin. Of axes of
  one length those with the first coordinates are kept, as the code's solver mostly does. "first3" takes 3 axes of the
  arms themselves in every stage, also of arms that span the space.
- design: the default is certified. The paper's FWG stalls (design/g_optimal.py); in simulations it costs little.
- model "logistic" takes a ridge where the paper takes the maximum-likelihood estimate, which is often infinite
  (`bandits_lib.fixed_budget.logistic`). Its designs are those of the linear model, as in the paper.
"""

import numpy as np

from bandits_lib.checks import check_arms, check_budget, check_option, check_positive, check_ridge, check_sigma
from bandits_lib.design.rounding import check_floor, evenly
from bandits_lib.fixed_budget.logistic import logistic_fit
from bandits_lib.fixed_budget.stages import (
    EXPLORERS,
    PROJECTIONS,
    ROUNDINGS,
    Stage,
    allocate,
    draws,
    measure,
    plan_of,
    project,
    projected,
)
from bandits_lib.numerics.least_squares import norms
from bandits_lib.numerics.linear_algebra import along, combine
from bandits_lib.numerics.ties import argmax, top
from bandits_lib.protocol import Result, Round
from bandits_lib.rules import BATCHES, FALLS, LARGEST, SPENT, After, Row, rule


@rule(
    label="GSE",
    row=Row(BATCHES, LARGEST, "first choice; model='logistic' for 0 and 1", "azizi2022, Algorithm 1", FALLS),
    guarantee=After("in play", SPENT),
)
def gse(
    arms,
    *,
    budget,
    sigma=1.0,
    model="linear",
    design="certified",
    eta=2,
    keep="ceil",
    remainder="drop",
    rounding="regret",
    projection="span",
    ridge=1e-3,
    floor=0.0,
    rng=None,
):
    """Best arm within a budget of pulls, by successive elimination in a structured model (azizi2022, Algorithm 1).

    Parameters
    ----------
    arms : (K, d) array_like
        Feature vectors of the K arms that can be pulled; identical ones are allowed.
    budget : int
        Number of pulls; the defaults never spend more, and the history says what each stage took.
    sigma : float or (K,) array_like, default 1.0
        The standard deviation of the noise, for the widths in the history only; of several the largest is used.
    model : {"linear", "logistic"}, default "linear"
        Least squares, or logistic regression for rewards 0 and 1.
    design : str or callable, default "certified"
        G-optimal "certified", "fwg" (the paper's Algorithm 2), "wynn", "greedy" (sequential), "uniform", "clusters"
        (appendix H), or a function (arms (m, r), n, rng) -> counts (m,) of sum n, on arms that span R^r;
        `partial(by_design, solve)` of `explorers` makes one of a function (arms) -> `Design`.
    eta : int, default 2
        A stage keeps 1/eta of its arms; at least 2.
    keep : {"ceil", "floor"}, default "ceil"
        Rounding of m / eta, the number of arms kept, of the text or of the published code.
    remainder : {"drop", "last"}, default "drop"
        The pulls that the stages do not share evenly are dropped (text), or go to the last stages (published code).
    rounding : {"regret", "ceil", "multinomial"}, default "regret"
        How a design given by its name becomes whole pulls; the first is the text's, the others the published code's.
    projection : {"span", "first3", "cumulative"}, default "span"
        The arms in play are seen in what they span (text), in the first three axes of it, or as the published code sees
        them: the first time that they do not span the space they are projected on three axes, and from then on the
        projected ones are projected. Among arms that have become one point a coin decides.
    ridge : float, default 1e-3
        Penalty of the logistic fit, positive.
    floor : float, default 0.0
        Share of every stage's pulls, in [0, 1), that its arms get evenly, so that lack of fit can be seen; the design
        has the others. What cannot be shared evenly goes to the arms that it pulls least.
    rng : numpy.random.Generator, optional
        For design="uniform", which gives what is left over to random arms, rounding="multinomial", and the coin of
        projection="cumulative".

    Yields
    ------
    (K,) int array
        Pulls of each arm to be made next, answered with a `Sample`. Returns a `Result`: the best arm (int) and the
        history of `Round`, whose `width` is the largest standard deviation of an estimated difference from the stage's
        leader (logistic: of x'theta). One arm: at once, without a pull.

    Raises
    ------
    ValueError
        For bad input, a budget below ceil(log_eta K) times the rank of the arms (it says the smallest that runs), `rng`
        missing where it is needed, and rewards other than 0 and 1 for the logistic model.

    References
    ----------
    .. [1] Azizi, Kveton, Ghavamzadeh. "Fixed-budget best-arm identification in structured bandits". IJCAI 2022.
       Algorithm 1.

    Examples
    --------
    >>> from bandits_lib import instances, play
    >>> problem = instances.benchmark(2, angle=1.0)
    >>> rule = gse(problem.arms, budget=60)
    >>> play(rule, problem, np.random.default_rng(0)).result.recommendation
    0
    """
    arms, sigma = check_arms(arms), check_sigma(sigma, len(arms)).max()
    check_option("model", model, ("linear", "logistic"))
    check_option("keep", keep, ("ceil", "floor"))
    check_option("remainder", remainder, ("drop", "last"))
    check_option("rounding", rounding, ROUNDINGS)
    check_option("projection", projection, PROJECTIONS)
    ridge = check_positive("ridge", ridge)
    if not callable(design):
        check_option("design", design, EXPLORERS)
        if draws(design, rounding) and rng is None:
            raise ValueError(f"rng must be given: design={design!r} with rounding={rounding!r} draws; got None")
    if projection == "cumulative" and rng is None:
        raise ValueError("rng must be given: projection='cumulative' draws among arms that became one point; got None")
    floor = check_floor(floor)
    budgets = stage_budgets(arms, budget, eta, remainder, projection, floor)
    if model == "logistic" and len(arms) > 1:
        check_ridge(arms, ridge)

    active, history = np.arange(len(arms)), []
    seen, again = Stage(arms, np.eye(arms.shape[1])), projection == "cumulative"
    for t, n in enumerate(budgets, start=1):
        if len(active) == 1 or not seen.arms.any():  # keep="floor" ends early; arms that are all 0 are as good
            break
        stage = projected(seen, projection)  # Alg. 1, line 2
        extra = min(int(floor * n), n - stage.arms.shape[1])
        plan = allocate(stage.arms, n - extra, design, rounding, rng)  # line 3
        if extra:
            plan = plan_of(stage.arms, plan.counts + evenly(extra, plan.counts))
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
    return Result(int(rng.choice(active) if again else active[0]), tuple(history))


def top_at_random(values, size, rng):
    """Indices (size,) of the largest values (m,), in increasing order; a coin decides among equal ones."""
    order = rng.permutation(len(values))
    return np.sort(order[top(values[order], size)])


def stage_budgets(arms, budget, eta, remainder, projection="span", floor=0.0):
    """Pulls of each of the s = ceil(log_eta K) stages, each at least the rank beside the floor, or a ValueError."""
    if not isinstance(eta, int | float | np.integer | np.floating) or not (eta >= 2 and eta % 1 == 0):
        raise ValueError(f"eta must be a whole number of at least 2 (a stage keeps 1/eta of its arms); got {eta}")
    if len(arms) == 1:
        return []
    stages = stages_needed(len(arms), int(eta))
    rank = project(arms, projection).arms.shape[1]
    why = f"GSE has {stages} stages, and each must measure {rank} dimensions{' beside the floor' if floor else ''}"
    n, left = divmod(check_budget(budget, stages * (int((rank - 1) / (1 - floor)) + 1), why), stages)
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
