"""List the public rules, with the situation for which each is made.

Part of the table is read from their signatures, the rest from the `Row` of the decorator.
"""

import inspect

import pandas as pd

from bandits_lib import fixed_budget, fixed_confidence, variance
from bandits_lib.checks import check_option
from bandits_lib.protocol import Played

PLAYED: dict[str, Played] = {
    name: getattr(package, name)
    for package in (fixed_confidence, fixed_budget, variance)
    for name in package.__all__
    if hasattr(getattr(package, name), "label")
}
NAMES = tuple(name for name, played in PLAYED.items() if played.row)  # each half begins with the first choice


def rules_for() -> pd.DataFrame:
    """Return a table of the public rules, from which pandas selects those for one situation.

    Returns
    -------
    pandas.DataFrame
        A row per rule, with the rule to try first in the first row. The columns are given ("confidence" or "budget"),
        asks ("batches", or "pull by pull" if each result decides about the next pull), items (whether items may differ
        from the arms), level_sets, noise (which of several sigma the rule uses: the "largest", their "ratios", or
        "each", given or estimated; rules for "0/1 rewards" need no sigma), needs (required arguments besides arms and
        delta or budget), situation, paper and promise.

    Examples
    --------
    >>> list(rules_for().query("given == 'budget' and items").index)
    ['peace']
    >>> rules_for().query("given == 'confidence' and noise == 'each'")["needs"].tolist()
    ['sigma_min, sigma_max', 'theta_star, rng']
    """
    order = ["given", "asks", "items", "level_sets", "noise", "needs", "situation", "paper", "promise"]
    rows = [played.row._asdict() | _signature(played) for played in PLAYED.values() if played.row]
    return pd.DataFrame(rows, index=pd.Index(NAMES, name="rule"))[order]


def rule_named(name: str) -> Played:
    """Return the public rule of `fixed_confidence` or `fixed_budget` that has this name.

    Parameters
    ----------
    name : str
        Name of the rule, as in the index of `rules_for()`.

    Returns
    -------
    callable
        The decorated function.

    Raises
    ------
    ValueError
        For an unknown name; the message lists the known names.

    Examples
    --------
    >>> rule_named("rage").__module__
    'bandits_lib.fixed_confidence.rage'
    """
    return PLAYED[check_option("rule", name, NAMES)]


def _signature(played):
    """Return the columns of the table that follow from the signature of a rule."""
    parameters = inspect.signature(played).parameters
    own = {"arms", "budget" if "budget" in parameters else "delta"}
    needed = [key for key, parameter in parameters.items() if parameter.default is parameter.empty and key not in own]
    return {
        "given": "budget" if "budget" in parameters else "confidence",
        "items": "items" in parameters,
        "level_sets": {"objective", "threshold"} <= parameters.keys(),
        "needs": ", ".join(needed),
    }
