"""What weltz2023, section 5, says of its experiments, as claims."""

from functools import partial

from bandits_lib.companion.claims import claim
from bandits_lib.simulate.intervals import paired_ratio, wilson_interval
from bandits_lib.variance._burn_in import FORMS

WORDS = {"theory": "proved", "printed": "printed", "paper": "rounded", "code": "published", "shortest": "shortest"}


def exact(id, place, statement, value, holds, explanation=""):
    """A claim of weltz2023 about a number that was computed and not sampled.

    Parameters
    ----------
    id : str
        "<notebook>/<short name>".
    place : str
        Where the statement stands.
    statement : str
        The statement in words.
    value : float
        The number.
    holds : tuple of float
        The least and the largest value under which the statement is true.
    explanation : str, default ""
        Of a failure.

    Returns
    -------
    Claim
        The claim, with an interval of no width.

    Raises
    ------
    ValueError
        For an id without notebook, NaN, or bounds of `holds` in the wrong order.

    Examples
    --------
    >>> exact("weltz2023_demo/arms", "Section 5", "9 arms", 9, (9, 9)).verdict
    'reproduced'
    """
    return claim(id, "weltz2023", place, statement, value, value, value, holds, explanation)


def figure_3(table, coverages, by, labels, *, delta, notebook, place, explanations):
    """What section 5 says of Figure 3, as claims: H-RAGE below RAGE for each burn-in and setting, and what it rests on.

    Parameters
    ----------
    table : DataFrame
        Runs, as `monte_carlo` returns them for `heteroskedastic.algorithms`.
    coverages : DataFrame
        As `heteroskedastic.covered` returns them.
    by : str
        Column of the settings.
    labels : dict
        {setting: words}.
    delta : float
        Error probability allowed.
    notebook : str
        Name of the notebook, the first part of every id.
    place : str
        Where the statements stand.
    explanations : dict
        {(form, setting): words}, of failures.

    Returns
    -------
    list of Claim
        The claims.

    Raises
    ------
    ValueError
        If two rules that are compared have no run in common.
    """
    say = partial(_sampled_claim, notebook)
    found = []
    for setting, words in labels.items():
        rows = table[table[by] == setting]
        for form, name in WORDS.items():
            ratio = paired_ratio(rows, f"h_rage_{form}", "rage")
            text = f"H-RAGE / RAGE: fewer pulls, {name} burn-in, {words}"
            found.append(
                say(f"below_{form}_{setting}", place, text, ratio, (0, 1), explanations.get((form, setting), ""))
            )
    ratio = paired_ratio(table, *[f"{name}_oracle_verifying" for name in ("heteroskedastic", "homoskedastic")], by=by)
    found.append(say("oracles", place, "heteroskedastic / homoskedastic oracle: fewer pulls", ratio, (0, 1)))
    for form in FORMS:
        text = f"{WORDS[form]} burn-in: all variances within half, with probability 1 - delta / 2 or more"
        rate = tuple(coverages.loc[form, ["coverage", "low", "high"]])
        found.append(say(f"covers_{form}", "Lemma D.1", text, rate, (1 - delta / 2, 1)))
    wrong = wilson_interval(int((~table["correct"]).sum()), len(table))
    return [*found, say("failures", "Section 5", "no rule fails more often than delta", wrong, (0, delta))]


def _sampled_claim(notebook, name, place, statement, measured, holds, explanation=""):
    """A claim of weltz2023 about something sampled, `measured` being estimate, low and high."""
    estimate, low, high = measured
    return claim(f"{notebook}/{name}", "weltz2023", place, statement, estimate, low, high, holds, explanation)
