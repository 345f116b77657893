"""Rules over many instances at once, as Agarwal et al. (2021) draw them: profiles and probabilities of improvement."""

from bandits_lib.companion.bars import in_rows
from bandits_lib.companion.style import drawn, look


def profiles(ax, shares, label="runs with at most $\\tau$"):
    """The share of runs whose score is at most tau, a line for each rule with its band.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    shares : DataFrame
        As `performance_profile` returns it.
    label : str, default "runs with at most $\\\\tau$"
        Words at the upright axis.

    Returns
    -------
    matplotlib.axes.Axes
        The axes `ax`.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import pandas as pd
    >>> index = pd.MultiIndex.from_tuples([("rage", 1.0), ("rage", 2.0)], names=["algorithm", "tau"])
    >>> shares = pd.DataFrame({"share": [0.5, 1.0], "low": [0.4, 0.9], "high": [0.6, 1.0]}, index=index)
    >>> profiles(plt.subplots()[1], shares).get_legend_handles_labels()[1]
    ['RAGE']
    """
    rules = shares.groupby(level="algorithm", sort=False)
    for k, (name, points) in enumerate(rules):
        tau = points.index.get_level_values("tau")
        ax.fill_between(tau, points["low"], points["high"], color=look(name).colour, alpha=0.15, lw=0)
        apart = (0.2 * k / rules.ngroups, 0.2)  # markers of one line stand between those of the others
        ax.plot(tau, points["share"], markevery=apart, **drawn(name))
    ax.set(xlabel="$\\tau$", ylabel=label, ylim=(-0.02, 1.02))
    return ax


def improvements(ax, probabilities):
    """How probably a rule is better than each other one, a row each from the top, with the interval and the tie.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    probabilities : DataFrame
        As `probability_of_improvement` returns it.

    Returns
    -------
    matplotlib.axes.Axes
        The axes `ax`.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import pandas as pd
    >>> found = pd.DataFrame({"probability": [0.7], "low": [0.6], "high": [0.8]}, index=["rage"])
    >>> [text.get_text() for text in improvements(plt.subplots()[1], found).get_yticklabels()]
    ['RAGE']
    """
    in_rows(ax, probabilities, ["probability", "low", "high"], 0.5)
    ax.set(xlim=(0, 1), ylim=(len(probabilities) - 0.5, -0.5))
    ax.grid(axis="y", visible=False)
    return ax
