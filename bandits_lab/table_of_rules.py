"""Which rule for which situation: every public rule with what it must be told, how it asks and what it promises.

Part of this is read from the rule's signature, and the rest is the `Row` that its decorator was given.
"""

import inspect
from typing import Any

import pandas as pd

from bandits_lib import fixed_budget, fixed_confidence, variance
from bandits_lib.checks import check_option
from bandits_lib.protocol import Played

PLAYED: dict[str, Played] = {
    name: getattr(package, name)
    for package in (fixed_confidence, fixed_budget, variance)
    for name in package.__all__
    if hasattr(getattr(package, name), "guarantee")
}
NAMES = tuple(name for name, played in PLAYED.items() if played.row)  # in each half the one to try first comes first


def rules_for(**wanted: Any) -> pd.DataFrame:
    """List the public rules, all of them or those for one situation.

    Parameters
    ----------
    **wanted : str or bool
        Columns of the table and the value wanted, such as `given="confidence", asks="batches", items=True`.

    Returns
    -------
    pandas.DataFrame
        Indexed by rule, the one to try first at the top. Columns: given ("confidence" or "budget"), asks ("batches", or
        "pull by pull": each result decides about the next), items (whether they may be other than the arms),
        level_sets, noise (of several sigma the "largest" counts, or their "ratios"; "each" is used or estimated;
        "0/1 rewards" have their own), needs (required arguments beside arms and delta or budget), situation, paper and
        promise.

    Raises
    ------
    ValueError
        For a column or a value that the table does not have; it lists them.

    Examples
    --------
    >>> list(rules_for(given="budget", items=True).index)
    ['peace', 'peps']
    >>> rules_for(given="confidence", noise="each")["needs"].tolist()
    ['sigma_min, sigma_max', 'theta_star, rng']
    """
    order = ["given", "asks", "items", "level_sets", "noise", "needs", "situation", "paper", "promise"]
    rows = [played.row._asdict() | _signature(played) for played in PLAYED.values() if played.row]
    table = pd.DataFrame(rows, index=pd.Index(NAMES, name="rule"))[order]
    for column, value in wanted.items():
        check_option("column", column, order)
        table = table[table[column] == check_option(column, value, table[column].unique().tolist())]
    return table


def rule_named(name: str) -> Played:
    """Return a public rule of `fixed_confidence` or `fixed_budget`.

    Parameters
    ----------
    name : str
        Its name.

    Returns
    -------
    callable
        The decorated function.

    Raises
    ------
    ValueError
        For another name; it lists those there are.

    Examples
    --------
    >>> rule_named("rage").__module__
    'bandits_lib.fixed_confidence._rage'
    """
    return PLAYED[check_option("rule", name, NAMES)]


def _signature(played):
    """What the signature of a rule says."""
    parameters = inspect.signature(played).parameters
    own = {"arms", "budget" if "budget" in parameters else "delta"}
    needed = [key for key, parameter in parameters.items() if parameter.default is parameter.empty and key not in own]
    return {
        "given": "budget" if "budget" in parameters else "confidence",
        "items": "items" in parameters,
        "level_sets": {"objective", "threshold"} <= parameters.keys(),
        "needs": ", ".join(needed),
    }
