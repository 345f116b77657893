"""The settings behind published numbers, where a paper's code does something else than its text."""

from functools import partial

from bandits_lib.checks import check_option
from bandits_lib.design import frank_wolfe_design


def option_set(name):
    """Keyword arguments by algorithm that reproduce published numbers, of fiez2019, weltz2023 or azizi2022.

    Parameters
    ----------
    name : {"fiez2019_code", "weltz2023_code", "azizi2022_code"}
        Whose published code.

    Returns
    -------
    dict of dict
        {algorithm: {argument: value}}, to be used as `rage(arms, **option_set(name)["rage"], ...)`.

    Raises
    ------
    ValueError
        For an unknown name.

    Notes
    ----- "fiez2019_code": RAGE takes log(2 M^2 / delta_t) for the pulls and log(2 K^2 / delta_t) for the widths, M
    items and K arms, Frank-Wolfe designs with the value before the last step, weights below 1e-5 lost; static and
    oracle advance the phase index twice per phase and give the lost weight to the largest; XY-adaptive divides its
    value by n once more and counts a ridge as d pulls; ALBA's pulls grow by 1.1^2 a phase. LinGapE has no difference.

    "weltz2023_code": both rules take log(8 l^2 M^2 / delta), H-RAGE the shorter burn-in, the oracles stop when they are
    right; all designs are Frank-Wolfe's, without pruning, which would leave experiment 1 with directions that cannot be
    estimated.

    "azizi2022_code": GSE keeps the floor, spends the remainder in the last stages, rounds every share up and projects
    what it projected before (it needs `rng`); LinUCB has a regression for each arm, UCB-GLM adds alpha times the
    squared norm. LinGapE solves for nonnegative weights and BayesGap takes variances for deviations, as their modules
    say.

    Examples
    --------
    >>> option_set("weltz2023_code")["rage_halving"]["log_items"]
    'code'
    """
    check_option("name", name, ("fiez2019_code", "weltz2023_code", "azizi2022_code"))
    if name == "azizi2022_code":
        return {
            "gse": {"keep": "floor", "remainder": "last", "rounding": "ceil", "projection": "cumulative"},
            "linucb": {"mode": "disjoint", "alpha": 0.513},
            "ucb_glm": {"alpha": 0.5, "width": "squared"},
            "lingape_budget": {"delta": 0.4, "formula": "code"},
            "bayes_gap": {"eta": 50.0, "formula": "code"},
        }
    if name == "weltz2023_code":
        return {
            "rage_halving": {"log_items": "code", "design": partial(frank_wolfe_design, prune=0.0)},
            "h_rage": {"log_items": "code", "burn_in": "code", "design": partial(frank_wolfe_design, prune=0.0)},
            "xy_oracle": {"batches": "rounds", "stop": "truth"},
        }
    as_published = partial(frank_wolfe_design, value_at="before")
    return {
        "rage": {
            "delta_schedule": "fiez2019",
            "log_items": "code",
            "eliminate": "pairs",
            "design": partial(as_published, pruned="lost"),
        },
        "xy_static": {"phases": "odd", "start": "d", "design": partial(as_published, pruned="largest")},
        "xy_oracle": {"phases": "odd", "design": partial(as_published, pruned="largest")},
        "xy_adaptive": {"ratio": "per_pull", "start": "ridge"},
        "alba": {"growth": 1.1},
    }
