"""XY-oracle: a rule that knows theta_star and only verifies its best item (Fiez et al. 2019; weltz2023, section 5).

Departures and readings:
- For drawn arms the default design is Frank-Wolfe, which gives arms with large gaps more weight than the certified one.
  With the certified design the oracle makes 1.5 to 2.4 times as many pulls in fiez2019's Figure 1a, and 0.4 to 1 times
  as many in Figure 1d. With whole pulls ("rounds") the certified design needs fewer.
- The default keeps all weights; appendix F sets weights below 1e-5 to zero (design=frank_wolfe_design).
- The oracles in the code of weltz2023 stop when the true best item leads, without a width (stop="truth").
"""

from collections.abc import Callable
from functools import partial
from itertools import count
from math import inf, log, sqrt

import numpy as np

from bandits_lib.checks import check_option, check_problem, check_sigma, check_theta
from bandits_lib.complexity import oracle_directions
from bandits_lib.design import frank_wolfe_design
from bandits_lib.fixed_confidence.xy_static import check_growth, drawn, others_from, pull_until, separated
from bandits_lib.numerics.ties import argmax
from bandits_lib.protocol import BATCHES, DELTA, EACH, Algorithm, Result, Row, rule

UNPRUNED = partial(frank_wolfe_design, prune=0.0)


@rule(
    label="Oracle",
    row=Row(BATCHES, "a yardstick: it is told theta", "fiez2019, section 5", DELTA, EACH),
)
def xy_oracle(
    arms: np.ndarray,
    items: np.ndarray | None = None,
    *,
    theta_star: np.ndarray,
    delta: float,
    sigma: float | np.ndarray = 1.0,
    growth: float = 1.1,
    phases: str = "every",
    batches: str = "draws",
    stop: str = "widths",
    design: Callable = UNPRUNED,
    rng: np.random.Generator,
) -> Algorithm:
    """Verify the best item of a known theta_star with probability at least 1 - delta (fiez2019, appendix F).

    It yields pulls, returns a `Result` and raises errors as `rage` does, and for a best item
    that is not unique.

    Parameters
    ----------
    arms, items, theta_star, delta : (K, d), (M, d) and (d,) array_like, and float
        As for `rage`; `theta_star` is the true parameter, which no other rule knows.
    sigma : float or (K,) array_like
        Standard deviation of the noise. With one per arm, design and least squares are weighted (weltz2023).
    growth, phases : float and {"every", "odd"}
        As for `xy_static`; they apply to batches="draws", as does `rng`.
    batches : {"draws", "rounds"}
        With "draws", phase t draws ceil(growth^t) arms and all data count (fiez2019). With "rounds", phase t makes
        ceil(2 t psi log(4 t^2 M / delta) lambda_x) pulls of x, and only its data count (the code of weltz2023).
    stop : {"widths", "truth"}
        Stop when the best item beats every other item by its confidence width, or as soon as the best item leads.
    design : callable
        Function (arms, directions) -> `Design`, by default the papers' Frank-Wolfe without pruning.
    rng : numpy.random.Generator
        Generator that draws the arms.

    Examples
    --------
    >>> from bandits_lib import instances, play
    >>> problem = instances.benchmark(2, angle=1.0)
    >>> rule = xy_oracle(problem.arms, theta_star=problem.theta, delta=0.05, rng=np.random.default_rng(1))
    >>> play(rule, problem, np.random.default_rng(0)).result.recommendation
    0
    """
    arms, items, delta, sigma_max = check_problem(arms, items, delta, sigma)
    relative_sigma, growth = check_sigma(sigma, len(arms)) / sigma_max, check_growth(growth)
    check_option("phases", phases, ("every", "odd"))
    check_option("batches", batches, ("draws", "rounds"))
    check_option("stop", stop, ("widths", "truth"))
    if len(items) == 1:
        return Result(0)
    theta_star = check_theta("theta_star", theta_star, items.shape[1])
    best = int(argmax(items @ theta_star))  # z*
    differences = others_from(items, best)  # Y*(Z)

    def decide(fit, t, _):
        radius = sigma_max * sqrt(2 * log(2 * t**2 * len(items) / delta))
        passed, width = separated(differences, fit, radius)  # the stopping condition of appendix F, for z' = z*
        if stop == "truth":
            passed = width < inf and bool((differences @ fit.theta_hat > 0).all())
        return (best if passed else None), width

    lam = design(arms / relative_sigma[:, None], oracle_directions(items, theta_star))  # eq. (1)
    afresh = batches == "rounds"
    requests = rounds(lam, sigma_max, len(items), delta) if afresh else drawn(lam, growth, phases, rng)
    item, history = yield from pull_until(arms, lam, requests, decide, sigma=relative_sigma, afresh=afresh)
    return Result(item, history)


def rounds(design, sigma, M, delta):
    """Yield batches without end: ceil(n lambda_x) whole pulls of each x, n = 2 t psi log(4 t^2 M / delta)."""
    for t in count(1):
        n = 2 * t * sigma**2 * design.value * log(4 * t**2 * M / delta)
        yield t, np.ceil(n * design.weights).astype(np.int64)
