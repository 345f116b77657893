"""H-RAGE: RAGE for noise that differs between arms (Weltz, Fiez, Volfovsky, Laber, Mason, Nassif, Jain 2023, Alg. 2).

Departures (`rage_halving` lists those of the phases; the burn-in spends delta / 2):
- Line 5 allows an error of half of sigma^2; Lemma E.1 needs half of the estimate, for which `burn_in` is long enough.
- The estimates are clipped, as line 5 prints; the published code does not clip them. d is the rank of the arms.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from bandits_lib.checks import check_option, check_sigma
from bandits_lib.design import weighted_design
from bandits_lib.fixed_confidence.rage_halving import checked, halving
from bandits_lib.numerics.span import basis
from bandits_lib.protocol import BATCHES, DELTA, EACH, Algorithm, Result, Row, rule
from bandits_lib.variance import burn_in as burn_in_pulls
from bandits_lib.variance import head
from bandits_lib.variance.head import FORMS
from bandits_lib.variance.quadratic import check_bounds


@rule(
    label="H-RAGE",
    row=Row(
        BATCHES,
        "each arm has its own noise, unknown between two bounds, or known (burn_in)",
        "weltz2023, Algorithm 2",
        f"{DELTA}, if the variances are x'Sigma x",
        EACH,
    ),
)
def h_rage(
    arms: np.ndarray,
    items: np.ndarray | None = None,
    *,
    delta: float,
    sigma_min: float,
    sigma_max: float,
    objective: str = "best",
    threshold: float | None = None,
    burn_in: str | int | np.ndarray = "theory",
    log_items: str = "paper",
    design: Callable = weighted_design,
    floor: float = 0.0,
) -> Algorithm:
    """Find the best item, or the level set, with probability at least 1 - delta, for unknown noise (weltz2023, Alg. 2).

    It yields pulls, returns a `Result` and raises errors as `rage` does, and for a burn-in
    that is too short for its designs (the message gives the shortest). The recommendation for objective="level" is an
    (M,) bool array. The two stages of the burn-in are Rounds of index -1 and 0.

    Parameters
    ----------
    arms, items, delta : array_like and float
        As for `rage`.
    sigma_min, sigma_max : float
        Bounds on the standard deviations of the arms; the model of their variances is x'Sigma x.
    objective, threshold : {"best", "level"}, and float or None
        As for `rage_halving`.
    burn_in : {"theory", "printed", "paper", "code"}, int or (K,) array_like
        Length of the burn-in, by a form of `variance.burn_in` or in pulls. Standard deviations (K,) replace the
        burn-in; the square of each must differ from the true variance by at most half of itself. Each is moved into
        [sigma_min, sigma_max] if it lies outside.
    log_items, design, floor : {"paper", "code"}, callable and float
        As for `rage_halving`; the design is called with `sigma=`, too. The floor does not apply to the burn-in.

    Examples
    --------
    >>> from bandits_lib import instances, play
    >>> problem = instances.benchmark(2, angle=1.0)
    >>> rule = h_rage(problem.arms, delta=0.05, sigma_min=1.0, sigma_max=1.0)
    >>> play(rule, problem, np.random.default_rng(0)).result.recommendation
    0
    """
    arms, items, settings = checked(arms, items, delta, objective, threshold, log_items, floor)
    bounds = check_bounds(sigma_min, sigma_max)
    if objective == "best" and len(items) == 1:
        return Result(0)
    if np.ndim(burn_in) == 0:
        pulls = _pulls(burn_in, arms, bounds, settings["delta"])
        estimate, stages = yield from head(arms, budget=pulls, sigma_min=sigma_min, sigma_max=sigma_max)  # line 5
        sigma, history = estimate.sigma, tuple(stage._replace(index=stage.index - 2) for stage in stages)
    else:
        sigma, history = np.clip(check_sigma(burn_in, len(arms), "burn_in"), *bounds), ()
    weighted = partial(design, sigma=sigma)
    result = yield from halving(arms, items, **settings, sigma=sigma, factor=3.0, design=weighted)  # lines 6 to 24
    return Result(result.recommendation, history + result.history)


def _pulls(burn_in, arms, bounds, delta):
    """Return the length of the burn-in in pulls."""
    if isinstance(burn_in, int | float | np.integer) and not isinstance(burn_in, bool) and burn_in % 1 == 0:
        return int(burn_in)
    if not isinstance(burn_in, str):
        raise ValueError(
            f"burn_in must be {', '.join(map(repr, FORMS))}, a whole number of pulls, or (K,) standard deviations; got "
            f"{burn_in!r}"
        )
    check_option("burn_in", burn_in, FORMS)
    rank = basis(arms).shape[1]
    return burn_in_pulls(burn_in, K=len(arms), d=rank, sigma_min=bounds[0], sigma_max=bounds[1], delta=delta)
