"""What an experiment's rule was told of the arms, the items, the noise and delta, for those who look at it later."""

from typing import Any

import numpy as np

DELTA = 0.05  # of rules with a budget, for which a delta is no probability of error, and of those without one
LOGISTIC = "rewards 0 and 1, every arm by itself"
BOUNDED = "rewards between 0 and 1, whose noise is never larger"


def from_rule(experiment, **here):
    """The arms, items, sigma and delta of an `Experiment`, but for those given `here`, and the `source` of sigma."""
    told = dict(experiment.arguments)
    if "arms" not in told and "d" in told or told.get("objective") == "level":
        raise ValueError(f"standings rank items, and the answer of this {experiment.rule} is none of them")
    found: dict[str, Any] = {key: told.get(key) for key in ("arms", "items", "sigma")}
    found["delta"] = told.get("delta", DELTA) if "budget" not in told else DELTA
    source = "the rule's"
    if experiment.rule == "ucb_glm" or told.get("model") == "logistic":
        found, source = found | {"arms": np.eye(len(told["arms"])), "items": None, "sigma": 0.5}, LOGISTIC
    elif experiment.rule == "bounded_rage":
        found, source = found | {"sigma": 0.5}, BOUNDED
    elif "sigma" not in told and "sigma_max" in told:
        found, source = found | {"sigma": told["sigma_max"]}, "the rule's sigma_max"
    elif "sigma" in told and told["sigma"] == experiment.defaults.get("sigma"):
        source = "the rule's default: is it yours?"
    source = source if here.get("sigma") is None else "given here"
    found |= {key: value for key, value in here.items() if value is not None}
    for key in ("arms", "sigma"):
        if found[key] is None:
            raise ValueError(f"{experiment.rule} was told no {key}: give it as standings(lab, {key}=...)")
    largest = ", the largest of the arms'" if np.ndim(found["sigma"]) else ""
    return found | {"source": source + largest}
