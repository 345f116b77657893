"""What a plan says of a rule, computed from its runs, and how it is shown: in words and numbers, and as a picture."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import NullFormatter
from scipy.stats import binomtest

from bandits_lib.simulate.intervals import student_interval

QUANTILE = 0.9  # of the pulls: nine of ten experiments need no more
INK, PULLS, FLOOR, BUDGET = "0.2", "#0173b2", "0.35", "#de8f05"


def row_of(rows):
    """What the runs of one rule say."""
    if rows.empty:
        names = ("pulls", "low", "high", "nine_in_ten", "wrong", "wrong_low", "wrong_high", "requests")
        return {"runs": 0, **dict.fromkeys(names, np.nan), "cut": 1.0}
    mean, _, low, high = student_interval(rows["pulls"])
    ended = int(rows["stopped"].sum())
    wrong = ended - int(rows["correct"].sum())
    exact = binomtest(wrong, ended).proportion_ci(0.95, method="exact") if ended else (0.0, 1.0)
    pulls = {"pulls": mean, "low": low, "high": high}
    pulls["nine_in_ten"] = float(np.quantile(rows["pulls"].to_numpy(float), QUANTILE, method="higher"))
    rates = {"wrong": wrong / ended if ended else np.nan, "wrong_low": float(exact[0]), "wrong_high": float(exact[1])}
    return {"runs": len(rows), **pulls, **rates, "requests": rows["requests"].mean(), "cut": 1 - ended / len(rows)}


def in_words(plan):
    """A `Plan` as text: the guess, the floor, and a line per rule."""
    problem = plan.problem
    gap, sigma = np.sort(problem.gaps)[1], problem.sigma.max()
    noise = "0 or 1" if problem.noise == "bernoulli" else f"noise {sigma:.4g}"
    head = (
        f"Guess: item {problem.best_item} is best, the next is {gap:.4g} behind; {noise}.\n"
        f"Floor: no rule with delta = {plan.delta:g} needs fewer than {plan.floor:,.0f} pulls on average there.\n"
    )
    return f"{head}{_cells(plan).to_string()}{''.join(f'{chr(10)}{note}' for note in notes(plan))}"


def notes(plan):
    """What is to be said of a plan beside its numbers, in sentences."""
    largest = plan.problem.gaps.max()
    if "rage" in plan.table.index and plan.table.loc["rage", "requests"] == 1 and largest > 1:
        yield (
            "rage ends in its first request, which is made for an accuracy of half a unit of reward: that may be more "
            "than is needed. Choose the unit of rewards and sigma so that the largest difference that you expect is "
            f"about 1 (here {largest:.4g})."
        )


def in_html(plan):
    """The same for a notebook."""
    first, second, *_ = in_words(plan).split("\n")
    return f"<p>{first}<br>{second}</p>{_cells(plan).to_html()}{''.join(f'<p>{note}</p>' for note in notes(plan))}"


def _cells(plan):
    """The table in rounded numbers."""
    return pd.DataFrame([_cell(row) for _, row in plan.table.iterrows()], index=plan.table.index)


def _cell(row):
    if row["runs"] == 0:
        return dict.fromkeys(("pulls", "nine in ten", "wrong", "requests"), "not played") | {"cut off": "all"}
    least = "at least " if row["cut"] else ""
    return {
        "pulls": f"{least}{_whole(row['pulls'])}{_between(row)}",
        "nine in ten": f"{'at least ' if row['cut'] > 0.1 else ''}{_whole(row['nine_in_ten'])}",
        "wrong": _wrong(row),
        "requests": _whole(row["requests"]) if np.isfinite(row["requests"]) else "?",
        "cut off": f"{row['cut']:.0%}",
    }


def _between(row):
    """The interval of the mean, where there is one."""
    return f" ({_whole(row['low'])} to {_whole(row['high'])})" if row["low"] < row["high"] else ""


def _wrong(row):
    return f"{row['wrong']:.1%} ({row['wrong_low']:.1%} to {row['wrong_high']:.1%})" if row["cut"] < 1 else "?"


def _whole(number):
    """A number in whole pulls, of more than a million four digits."""
    if not np.isfinite(number):
        return "?"
    return f"{number:,.0f}" if number < 1e6 else f"{float(f'{number:.4g}'):,.0f}"


def draw(plan, ax=None):
    """A `Plan` as a picture: a row per rule, pulls on a logarithmic axis, the rest in words beside it."""
    table = plan.table
    if ax is None:
        _, ax = plt.subplots(figsize=(7, 1.2 + 0.4 * len(table)), layout="constrained")
    for row, (_, rule) in enumerate(table.iterrows()):
        if rule["runs"] == 0:
            ax.annotate(
                "more than were allowed: not played", (0.5, row), xycoords=("axes fraction", "data"), ha="center"
            )
            continue
        low, high = np.nan_to_num([rule["low"], rule["high"]], neginf=rule["pulls"], posinf=rule["pulls"])
        ax.plot([max(low, rule["pulls"] / 10), high], [row, row], color=PULLS, lw=5, alpha=0.4, solid_capstyle="butt")
        ax.plot([rule["pulls"], rule["nine_in_ten"]], [row, row], color=PULLS, lw=1)
        ax.plot(rule["pulls"], row, marker=">" if rule["cut"] else "o", ms=6, color=PULLS)
        ax.plot(rule["nine_in_ten"], row, marker="|", ms=10, color=PULLS)
        said = f"wrong {_wrong(rule)}, {_whole(rule['requests'])} requests"
        ax.annotate(said, (1.02, row), xycoords=("axes fraction", "data"), va="center", fontsize=8, color=INK)
    for pulls, colour, style, word in ((plan.floor, FLOOR, "--", "floor"), (plan.budget or 0, BUDGET, ":", "budget")):
        if pulls > 0:
            ax.axvline(pulls, color=colour, ls=style, lw=1)
            ax.annotate(word, (pulls, 1.02), xycoords=("data", "axes fraction"), ha="center", color=colour, fontsize=8)
    ax.set(xscale="log", yticks=range(len(table)), ylim=(len(table) - 0.4, -0.6), xlabel="pulls")
    ax.set_yticklabels(table.index)
    return _marked(ax)


def _marked(ax):
    """Ticks with numbers, also where the axis covers less than a decade."""
    low, high = ax.get_xlim()
    if high / low < 30:
        ax.xaxis.set_minor_formatter(NullFormatter())
        ticks = [digit * 10.0**k for k in range(-1, 20) for digit in (1, 2, 5)]
        ax.set_xticks([tick for tick in ticks if low <= tick <= high])
    ax.xaxis.set_major_formatter(lambda tick, _: f"{tick:,.0f}")
    return ax
