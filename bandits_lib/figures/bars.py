"""Draw figures with one row or one bar for each rule: pulls with their burn-in, error rates, shares of pulls.

Also draw rules over many instances as Agarwal et al. (2021) do: profiles and probabilities of improvement.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from bandits_lib.figures.style import OWN, cut_off, drawn, look

MILLION = 1e6


def pulls(ax: Axes, estimates: pd.DataFrame) -> None:
    """Draw the mean pulls of each rule as one bar per row, with its 95 % interval; the paler part is burn-in.

    A rule of which runs were cut off has a hollow arrow at the right end of the axes instead.

    Parameters
    ----------
    ax, estimates : Axes, pandas.DataFrame
        Where to draw, and a `summary` indexed by algorithm alone, with a column burn_in (pulls).
    """
    rows = range(len(estimates))
    for row, (name, e) in zip(rows, estimates.iterrows(), strict=True):
        if np.isnan(e["mean"]):
            cut_off(ax, row, e, name, upwards=False)
            continue
        bar: dict[str, Any] = {"height": 0.72, "color": look(name).colour}
        mean, low, high, burn_in = e[["mean", "low", "high", "burn_in"]] / MILLION
        ax.barh(row, burn_in, alpha=0.4, **bar)
        ax.barh(row, mean - burn_in, left=burn_in, **bar)
        colour = "0.1" if look(name).colour != OWN[0] else "0.6"
        ax.errorbar(mean, row, xerr=[[mean - low], [high - mean]], color=colour, lw=1, marker="")
    ax.set(yticks=rows, yticklabels=[look(name).label for name in estimates.index], xlim=(0, None))
    ax.set_xlabel("pulls / $10^6$")
    ax.grid(axis="y", visible=False)
    ax.invert_yaxis()


def shares(ax: Axes, designs: pd.DataFrame) -> None:
    """Draw the share of pulls that each arm gets, designs side by side.

    Parameters
    ----------
    ax, designs : Axes, pandas.DataFrame
        Where to draw, and the shares, one row per arm (its label) and one column per algorithm.
    """
    width = 0.8 / designs.shape[1]
    for column, name in enumerate(designs.columns):
        at = np.arange(len(designs)) + (column - (designs.shape[1] - 1) / 2) * width
        ax.bar(at, designs[name], width, color=look(name).colour, label=look(name).label)
    ax.set(xticks=range(len(designs)), xticklabels=designs.index, ylabel="share of pulls")
    ax.grid(axis="x", visible=False)


def pooled_error_rates(ax: Axes, estimates: pd.DataFrame, delta: float) -> Axes:
    """Draw the error rate of each algorithm over all settings with Wilson's 95 % interval, and the allowed rate.

    Parameters
    ----------
    ax, estimates, delta : Axes, pandas.DataFrame, float
        Where to draw, a `summary` indexed by algorithm alone, and the allowed error probability.

    Returns
    -------
    matplotlib.axes.Axes
        The axes `ax`.
    """
    in_rows(ax, estimates, ["error_rate", "error_low", "error_high"], delta)
    ax.annotate("$\\delta$", (delta, 1.01), xycoords=("data", "axes fraction"), ha="center", va="bottom")
    ax.set(xlabel="error rate", xlim=(0, None))
    ax.invert_yaxis()
    return ax


def in_rows(ax, table, columns, beside):
    """Draw an estimate with its interval for each rule, one row each, and a dashed line at `beside`."""
    for row, (name, (estimate, low, high)) in enumerate(table[list(columns)].iterrows()):
        _, colour, marker = look(name)
        spread = [[estimate - low], [high - estimate]]
        ax.errorbar(estimate, row, xerr=spread, color=colour, marker=marker, clip_on=False)
    ax.axvline(beside, color="0.35", ls="--", lw=1)
    ax.set(yticks=range(len(table)), yticklabels=[look(name).label for name in table.index])
    return ax


def settings(
    axes: Sequence[Axes],
    estimates: pd.DataFrame,
    by: str,
    labels: dict[Any, str],
    pooled: pd.DataFrame,
    delta: float,
) -> None:
    """Draw a panel of `pulls` for each setting, with its lower bound dashed, and a panel of the pooled error rates.

    Parameters
    ----------
    axes : sequence of matplotlib.axes.Axes
        Where to draw: one panel more than there are settings, with a common y axis.
    estimates, by : pandas.DataFrame, str
        A `summary` indexed by (by, algorithm), with columns burn_in and lower_bound (pulls).
    labels : dict
        {setting: its label}.
    pooled, delta : pandas.DataFrame, float
        As for `pooled_error_rates`.
    """
    *panels, last = axes
    for ax, (setting, rows) in zip(panels, estimates.groupby(level=by, sort=False), strict=True):
        pulls(ax, rows.droplevel(by))
        ax.axvline(rows["lower_bound"].iloc[0] / MILLION, color=look("lower_bound").colour, ls="--", lw=1)
        ax.set_xlabel(f"pulls / $10^6$ ({labels[setting]})")
    pooled_error_rates(last, pooled, delta)
    last.set(ylim=(len(pooled) - 0.4, -0.6), xticks=[0, delta], yticklabels=[look(name).label for name in pooled.index])


def profiles(ax: Axes, shares: pd.DataFrame) -> None:
    """Draw the share of runs whose score is at most tau, as a line with its band for each rule.

    Parameters
    ----------
    ax, shares : Axes, pandas.DataFrame
        Where to draw, and what `performance_profile` returns.
    """
    rules = shares.groupby(level="algorithm", sort=False)
    for k, (name, points) in enumerate(rules):
        tau = points.index.get_level_values("tau")
        ax.fill_between(tau, points["low"], points["high"], color=look(name).colour, alpha=0.15, lw=0)
        apart = (0.2 * k / rules.ngroups, 0.2)  # markers of one line lie between those of the others
        ax.plot(tau, points["share"], markevery=apart, **drawn(name))
    ax.set(xlabel="$\\tau$", ylabel="runs with at most $\\tau$", ylim=(-0.02, 1.02))


def improvements(ax: Axes, probabilities: pd.DataFrame) -> None:
    """Draw the probability that a rule is better than each other rule, one row each, with the interval and the tie.

    Parameters
    ----------
    ax, probabilities : Axes, pandas.DataFrame
        Where to draw, and what `probability_of_improvement` returns.
    """
    in_rows(ax, probabilities, ["probability", "low", "high"], 0.5)
    ax.set(xlim=(0, 1), ylim=(len(probabilities) - 0.5, -0.5))
    ax.grid(axis="y", visible=False)
