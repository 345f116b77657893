"""Which rule for which situation: every public rule with what it wants to be told, how it asks and what it promises.

What a signature says is read from it (items, level sets, what else must be given), so it cannot go out of date; the
rest is written here, and tests hold it against the rules' requests and answers.
"""

import inspect

import pandas as pd

from bandits_lib import fixed_budget, fixed_confidence
from bandits_lib.checks import check_option

CONFIDENCE, BUDGET = "confidence", "budget"
BATCHES, PULLS = "batches", "pull by pull"
LARGEST, EACH, RATIOS, OWN = "largest", "each", "ratios", "0/1 rewards"
FRACTIONS = "rewards 0 and 1, or between: pays for their true variance"
DELTA = "wrong with probability at most delta"
OPTIMAL = f"{DELTA}; no rule needs fewer as delta falls to 0 (a limit: at delta .05 rage is often shorter)"
FALLS = "probability of error that falls exponentially with the budget"
ELSEWHERE = f"{FALLS}, proved for other constants than these"
NONE = "none for the best arm"
COLUMNS = ("given", "asks", "noise", "situation", "paper", "promise")
SEQUENTIAL = "as lazy_track_and_stop"
KNOWN = "each arm has its own noise, unknown between two bounds, or known (burn_in)"
AT_LEVEL = "which items are above a threshold, not which is best"
STATIC = "as rage, with fixed shares: more batches, small at first (give rng)"
GAUSSIAN = "rewards that are not linear in the features: a Gaussian process"
REGRET = DELTA.replace("wrong", "regret above epsilon")
QUADRATIC = f"{DELTA}, if the variances are x'Sigma x"
ADVICE = {  # in each half the rule to try first comes first
    "rage": (CONFIDENCE, BATCHES, LARGEST, "first choice: a few large batches", "fiez2019, Algorithm 1", DELTA),
    "bounded_rage": (CONFIDENCE, BATCHES, OWN, FRACTIONS, "none: proof in betting.py", DELTA),
    "xy_static": (CONFIDENCE, BATCHES, LARGEST, STATIC, "Soare et al. 2014", DELTA),
    "lazy_track_and_stop": (CONFIDENCE, PULLS, LARGEST, "each result comes at once", "jedra2020, Algorithm 1", OPTIMAL),
    "h_rage": (CONFIDENCE, BATCHES, EACH, KNOWN, "weltz2023, Algorithm 2", QUADRATIC),
    "rage_halving": (CONFIDENCE, BATCHES, LARGEST, AT_LEVEL, "weltz2023, Algorithm 5", DELTA),
    "lingape": (CONFIDENCE, PULLS, LARGEST, f"{SEQUENTIAL}, with a bound on theta", "Xu et al. 2018", DELTA),
    "lin_game": (CONFIDENCE, PULLS, LARGEST, SEQUENTIAL, "Degenne et al. 2020", OPTIMAL),
    "fws": (CONFIDENCE, PULLS, LARGEST, SEQUENTIAL, "Wang et al. 2021", OPTIMAL),
    "l_t3c": (CONFIDENCE, PULLS, LARGEST, SEQUENTIAL, "Shang et al. 2020", DELTA),
    "xy_adaptive": (CONFIDENCE, BATCHES, LARGEST, "for comparison with rage", "Soare et al. 2014", DELTA),
    "alba": (CONFIDENCE, BATCHES, LARGEST, "for comparison with rage", "Tao et al. 2018", DELTA),
    "sphere_track_and_stop": (CONFIDENCE, PULLS, LARGEST, "arms: all directions", "jedra2020, section 4.2", REGRET),
    "xy_oracle": (CONFIDENCE, BATCHES, EACH, "a yardstick: it is told theta", "fiez2019, section 5", DELTA),
    "gse": (BUDGET, BATCHES, LARGEST, "first choice; model='logistic' for 0 and 1", "azizi2022, Algorithm 1", FALLS),
    "od_linbai": (BUDGET, BATCHES, LARGEST, "as gse, fewer batches", "Yang and Tan 2021", FALLS),
    "peace": (BUDGET, BATCHES, RATIOS, "items other than the arms", "Katz-Samuels et al. 2020", ELSEWHERE),
    "peps": (BUDGET, PULLS, LARGEST, "each result comes at once; very many items", "Li et al. 2024", ELSEWHERE),
    "bayes_gap": (BUDGET, PULLS, LARGEST, GAUSSIAN, "Hoffman et al. 2014", "none for gaps that are not known"),
    "lingape_budget": (BUDGET, PULLS, LARGEST, "for comparison with gse", "Xu et al. 2018", NONE),
    "linucb": (BUDGET, PULLS, LARGEST, "rewards should be good on the way, too", "Li et al. 2010", NONE),
    "ucb_glm": (BUDGET, PULLS, OWN, "as linucb, for rewards 0 and 1 (give alpha)", "Li et al. 2017", NONE),
}


def rules_for(**wanted):
    """Rules with what they are for, all of them or those of one situation.

    Parameters
    ----------
    **wanted : str or bool
        Columns of the table and the value wanted, such as `given="confidence", asks="batches", items=True`.

    Returns
    -------
    pandas.DataFrame
        Indexed by rule, the one to try first at the top, with given ("confidence": delta is given and the pulls come
        out, "budget": the other way round), asks ("batches", or "pull by pull": each result decides about the next),
        items (whether they may be other than the arms), level_sets, noise (of several sigma the "largest" counts, or
        their "ratios"; "each" is used or estimated; "0/1 rewards" have their own), needs (what it must be told beside
        arms and delta or budget), situation, paper and promise.

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
    rows = [{"rule": name, **dict(zip(COLUMNS, row, strict=True)), **_signature(name)} for name, row in ADVICE.items()]
    order = ["given", "asks", "items", "level_sets", "noise", "needs", "situation", "paper", "promise"]
    table = pd.DataFrame(rows).set_index("rule")[order]
    for column, value in wanted.items():
        check_option("column", column, order)
        table = table[table[column] == check_option(column, value, table[column].unique().tolist())]
    return table


def rule_named(name):
    """A public rule of `fixed_confidence` or `fixed_budget`.

    Parameters
    ----------
    name : str
        Its name.

    Returns
    -------
    callable
        The generator function.

    Raises
    ------
    ValueError
        For another name; it lists those there are.

    Examples
    --------
    >>> rule_named("rage").__module__
    'bandits_lib.fixed_confidence._rage'
    """
    check_option("rule", name, tuple(ADVICE))
    return getattr(fixed_confidence if hasattr(fixed_confidence, name) else fixed_budget, name)


def _signature(name):
    """What the signature of a rule says."""
    parameters = inspect.signature(rule_named(name)).parameters.values()
    named = {p.name for p in parameters}
    own = {"arms", "budget" if "budget" in named else "delta"}
    needed = [p.name for p in parameters if p.default is p.empty and p.name not in own]
    return {"items": "items" in named, "level_sets": {"objective", "threshold"} <= named, "needs": ", ".join(needed)}
