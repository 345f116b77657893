"""Problems of the papers, and options that reproduce printed numbers; `bandits_lib.instances` is the same module.

Every problem function returns a LinearBandit. If text and published code differ, an argument chooses between them.
"""

from functools import partial
from typing import Any

from bandits_lib.checks import check_option
from bandits_lib.design import frank_wolfe_design, wolfe_atwood_design
from bandits_lib.papers.azizi2022 import logistic, published_job, rows_of_data, static
from bandits_lib.papers.fiez2019 import benchmark, click_through, many_arms, multivariate, sphere, transductive
from bandits_lib.papers.tirinzoni2022 import tied_arms
from bandits_lib.papers.weltz2023 import (
    bent_benchmark,
    multivariate_testing,
    published_noise,
    signal_to_noise,
    three_arms,
    two_spheres,
)

__all__ = ["option_set"]
__all__ += ["benchmark", "click_through", "many_arms", "multivariate", "sphere", "transductive"]
__all__ += ["logistic", "published_job", "rows_of_data", "static"]
__all__ += ["tied_arms"]
__all__ += ["bent_benchmark", "multivariate_testing", "published_noise", "signal_to_noise", "three_arms", "two_spheres"]


def option_set(name: str) -> dict[str, dict[str, Any]]:
    """Return the keyword arguments by algorithm that reproduce the published numbers of a paper's code.

    "fiez2019_code": RAGE has log(2 M^2 / delta_t) in its pulls and log(2 K^2 / delta_t) in its widths. Its Frank-Wolfe
    designs report the value before the last step, and weights below 1e-5 are dropped without rescaling the others.
    XY-static and the oracle advance the phase index twice per phase, and the largest weight receives the dropped
    weights. XY-adaptive divides its value by n once more and counts a ridge as d pulls. ALBA's pulls grow by 1.1^2 per
    phase. LinGapE is the same in text and code.

    "weltz2023_code": both rules have log(8 l^2 M^2 / delta), H-RAGE has the burn-in of the code, and the oracles stop
    as soon as the true best item leads. Frank-Wolfe designs are not pruned, because pruned designs leave some
    directions of experiment 1 unmeasured.

    "azizi2022_code": GSE rounds down the number of arms that it keeps, spends the remainder in the last stages, rounds
    up every share and projects its earlier projection again. Arms may then coincide; `rng` breaks such ties. OD-LinBAI
    computes its design by away steps. LinUCB has a regression for each arm, and UCB-GLM adds alpha times the squared
    norm. LinGapE solves for nonnegative weights, and BayesGap has variances instead of standard deviations.

    Parameters
    ----------
    name : {"fiez2019_code", "weltz2023_code", "azizi2022_code"}
        The paper whose published code is reproduced.

    Returns
    -------
    dict of dict
        {algorithm: {argument: value}}, for calls such as `rage(arms, **option_set(name)["rage"], ...)`.

    Examples
    --------
    >>> option_set("weltz2023_code")["rage_halving"]["log_items"]
    'code'
    """
    check_option("name", name, ("fiez2019_code", "weltz2023_code", "azizi2022_code"))
    if name == "azizi2022_code":
        return {
            "gse": {"keep": "floor", "remainder": "last", "rounding": "ceil", "projection": "cumulative"},
            "od_linbai": {"design": wolfe_atwood_design},
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
