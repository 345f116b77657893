"""A `Diagnosis` in words and as a picture."""

import textwrap
from math import isfinite

import numpy as np
from scipy.special import stdtrit

WIDTH, MARGIN = 100, 12  # characters
FEW = 4  # arms that are named
WAY_OUT = "give the rule a floor= (a share of every batch for all arms)"
MISSING = "Add what is missing to the features (squares, products), or take np.eye(K) as arms, which assumes nothing."


def say(found):
    """A Diagnosis as a text."""
    parts = {"noise": _noise(found), "linearity": _linearity(found), "arms": _arms(found)}
    if isfinite(found.p_value):
        parts["caution"] = "where earlier rewards chose the later pulls, p is approximate."
    indent = " " * MARGIN
    return "\n".join(
        textwrap.fill(text, WIDTH, initial_indent=f"{name:<{MARGIN}}", subsequent_indent=indent)
        for name, text in parts.items()
        if text
    )


def _noise(found):
    if found.noise_df == 0:
        return "unknown: no arm was pulled twice, and only replicates tell noise from differences between arms."
    if found.noise == 0:
        return (
            f"none to be seen: the replicates (df = {found.noise_df}) are equal up to rounding. Were they "
            "copied, does the instrument round, or are rewards so far from 0 that digits are lost?"
        )
    interval = f"{1 - found.level:.4g} interval {found.noise_low:.3g} to {found.noise_high:.3g}, df = {found.noise_df}"
    text = f"replicates have a standard deviation of {found.noise:.3g} ({interval})"
    if found.sigma is None:
        return f"{text}."
    ratio = f"{found.noise / found.sigma:.3g} times the sigma = {found.sigma:.3g} that was assumed"
    if found.noise_low > found.sigma:
        return f"{text}: {ratio}, and more than it. The rule's promise does not hold; are the units the same?"
    if found.noise_high < found.sigma:
        share = (found.noise / found.sigma) ** 2
        about = f"about {share:.0%}" if share > 0.01 else "less than 1 %"
        return f"{text}: {ratio}. The promise holds; {about} of the measurements would do."
    return f"{text}: {ratio}, and no contradiction."


def _linearity(found):
    if found.df == 0:
        return (
            "cannot be seen: there are as many unknown numbers as arms pulled, so the fit goes through every mean. "
            f"To see it, {WAY_OUT}."
        )
    if not isfinite(found.p_value):
        return "cannot be tested without noise to compare with: pull some arms again."
    test = f"p = {found.p_value:.2g}, F = {found.F:.3g} on {found.df} and {found.noise_df} df"
    if found.p_value < found.level:
        return f"contradicted ({test}). {MISSING} {_power(found)}"
    return f"no sign against it ({test}). {_power(found)}"


def _power(found):
    visible = found.table["visible"]
    seen = visible[np.isfinite(visible)]
    if not len(seen):
        return "With these counts hardly any misfit is seen: pull more, so that the noise is known."
    text = f"In 8 of 10 such experiments the test finds a misfit of {found.visible:.2g} (root mean square of the pulls)"
    text += f", or one arm alone that is off by {seen.min():.2g} ({seen.idxmin()})"
    text += f" to {seen.max():.2g} ({seen.idxmax()})" if len(seen) > 1 else ""
    blind = found.table.index[np.isinf(visible) & (found.table["pulls"] > 0)]
    return f"{text}.{f' No departure is seen of {_some(blind)} (leverage 1).' if len(blind) else ''}"


def _arms(found):
    table, text = found.table, ""
    residual = table["residual"].dropna()
    if len(residual):
        worst = residual.abs().idxmax()
        away = (table["mean"] - table["fitted"]).to_numpy()[table.index.get_loc(worst)]
        side = "above" if away > 0 else "below"
        text = f"farthest in standard errors is {worst}: {abs(away):.2g} {side} the fit ({residual[worst]:+.1f}). "
    never = table.index[table["pulls"] == 0]
    if len(never):
        text += f"Never pulled, and known only if rewards are linear: {_some(never)}"
        text += f"; {WAY_OUT}." if found.df else "."
    return text.strip()


def _some(labels):
    shown = ", ".join(map(str, labels[:FEW]))
    return shown if len(labels) <= FEW else f"{shown}, ... ({len(labels)} in all)"


def draw(found, ax=None):
    """A Diagnosis on matplotlib axes."""
    import matplotlib.pyplot as plt

    table = found.table[found.table["pulls"] > 0].iloc[::-1]
    rows, away = np.arange(len(table)), (table["mean"] - table["fitted"]).to_numpy()
    if ax is None:
        _, ax = plt.subplots(figsize=(4.5, 0.9 + 0.17 * max(len(table), 4)), layout="constrained")
    visible = table["visible"].to_numpy()
    blind = np.isinf(visible)
    ax.barh(rows, np.where(blind, 0, 2 * visible), left=np.where(blind, 0, -visible), height=0.8, color="0.9")
    half = stdtrit(found.noise_df, 1 - found.level / 2) * table["error"] if found.noise > 0 else 0.0
    ax.errorbar(away, rows, xerr=half, fmt="none", ecolor="#0173b2", elinewidth=1.2)
    ax.scatter(away, rows, s=14, zorder=3, edgecolors="#0173b2", c=np.where(blind, "white", "#0173b2"))
    ax.axvline(0, color="0.35", lw=0.8)
    ax.set(yticks=rows, ylim=(-0.7, len(rows) - 0.3), xlabel="mean - linear fit (units of reward)")
    ax.set_yticklabels([str(label) for label in table.index], fontsize=7)
    return ax
