"""Give every figure one look: a label, a colour and a marker for each rule, and plots of tables without titles."""

from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.colors import hsv_to_rgb, to_hex
from matplotlib.path import Path as Outline
from numpy.typing import ArrayLike

from bandits_lib import fixed_budget, fixed_confidence, variance
from bandits_lib.figures import results

PALETTE = sns.color_palette("colorblind", 10).as_hex()
APART = 0.08  # distance of the first and the last rule from their setting, in distances of settings
MARKERS = "os^DvXPp<>8Hdh*"
OWN = ("#000000", "#bf00e6", "#0000e6")  # for rules of a reader's own: far from all below, and dark on white
ARROW = [(-0.2, -1), (-0.2, -0.4), (-0.5, -0.4), (0, 0), (0.5, -0.4), (0.2, -0.4), (0.2, -1), (-0.2, -1)]
UPWARDS, RIGHTWARDS = Outline(ARROW), Outline([(y, x) for x, y in ARROW])


class Look(NamedTuple):
    """The label of a rule in legends and tables, its colour and its marker."""

    label: str
    colour: str
    marker: str


LOOKS = {  # a rule under its own name has the label of its decorator
    "rage": Look(fixed_confidence.rage.label, PALETTE[0], "o"),
    "rage_halving": Look(fixed_confidence.rage_halving.label, "#332288", "h"),
    "bounded_rage": Look(fixed_confidence.bounded_rage.label, "#117733", "d"),
    "xy_static": Look(fixed_confidence.xy_static.label, PALETTE[1], "s"),
    "xy_oracle": Look(fixed_confidence.xy_oracle.label, PALETTE[2], "^"),
    "xy_oracle_certified": Look("Oracle, certified", "#00553d", "<"),
    "xy_adaptive": Look(fixed_confidence.xy_adaptive.label, PALETTE[4], "v"),
    "lingape": Look(fixed_confidence.lingape.label, PALETTE[3], "D"),
    "alba": Look(fixed_confidence.alba.label, PALETTE[5], "X"),
    "lower_bound": Look("lower bound", "0.35", ""),
    # fixed budget: GSE in blues (linear) and purples (logistic), dark to light; competitors in colours far from these
    "gse_lin_certified": Look("GSE-Lin-G", "#00233f", "o"),
    "gse_lin_fwg": Look("GSE-Lin-FWG", PALETTE[0], "s"),
    "gse_lin_fwg_fair": Look("GSE-Lin-FWG, fair coin", "#4f9bc4", "H"),
    "gse_lin_fwg_loaded": Look("GSE-Lin-FWG, coin for $e_1$", "#004c7a", "8"),
    "gse_lin_wynn": Look("GSE-Lin-Wynn", "#6a7fd1", "^"),
    "gse_lin_greedy": Look("GSE-Lin-Greedy", PALETTE[9], "v"),
    "gse_lin_uniform": Look("GSE-Lin", "#9db7c9", "d"),
    "gse_log_certified": Look("GSE-Log-G", "#2d004b", "o"),
    "gse_log_fwg": Look("GSE-Log-FWG", "#6a3d9a", "s"),
    "gse_log_wynn": Look("GSE-Log-Wynn", "#8c6bb1", "^"),
    "gse_log_greedy": Look("GSE-Log-Greedy", "#9e9ac8", "v"),
    "gse_log_uniform": Look("GSE-Log", "#bcbddc", "d"),
    "od_linbai": Look(fixed_budget.od_linbai.label, PALETTE[5], "h"),
    "peace": Look(fixed_budget.peace.label, PALETTE[4], "p"),
    "peace_ratio": Look("Peace (ratio)", "#e7298a", "*"),
    "bayes_gap_linear": Look("BayesGap-Lin", "#b3a400", "<"),
    "bayes_gap_exponential": Look("BayesGap-exp", PALETTE[1], ">"),
    "bayes_gap_matern": Look("BayesGap-M", "#8a5a00", "8"),
    "bayes_gap_empirical": Look("BayesGap-cov", "#665c00", "H"),
    "linucb": Look(fixed_budget.linucb.label, PALETTE[2], "P"),
    "linucb_disjoint": Look("LinUCB (disjoint)", "#00553d", "X"),
    "ucb_glm": Look(fixed_budget.ucb_glm.label, "#66c2a4", "P"),
    "lingape_budget": Look(fixed_budget.lingape_budget.label, PALETTE[3], "D"),
    "lingape_budget_greedy": Look("LinGapE-Greedy", "#8c2d04", "d"),
    # variance estimators: HEAD in blues, separate arms in oranges
    "head": Look(variance.head.label, PALETTE[0], "o"),
    "h_rage": Look(fixed_confidence.h_rage.label, PALETTE[3], "D"),
    "h_rage_theory": Look("H-RAGE, proved burn-in", PALETTE[3], "D"),
    "h_rage_printed": Look("H-RAGE, burn-in of 784", "#a65628", "P"),
    "h_rage_paper": Look("H-RAGE, burn-in of 2,000", "#7a3500", "X"),
    "h_rage_code": Look("H-RAGE, published burn-in", "#ee8f3c", "s"),
    "h_rage_shortest": Look("H-RAGE, shortest burn-in", PALETTE[4], "v"),
    "heteroskedastic_oracle": Look("heteroskedastic oracle", PALETTE[2], "^"),
    "heteroskedastic_oracle_verifying": Look("heteroskedastic oracle, verifying", PALETTE[2], "^"),
    "heteroskedastic_oracle_told": Look("heteroskedastic oracle, told", "#66c2a4", "^"),
    "homoskedastic_oracle": Look("homoskedastic oracle", PALETTE[9], "<"),
    "homoskedastic_oracle_verifying": Look("homoskedastic oracle, verifying", PALETTE[9], "<"),
    "homoskedastic_oracle_told": Look("homoskedastic oracle, told", "#a6cee3", "<"),
    "head_tenth": Look("HEAD, 1/10 for theta", PALETTE[9], "d"),
    "uniform_estimator": Look(variance.uniform_estimator.label, PALETTE[2], "^"),
    "separate_arm": Look(variance.separate_arm_estimator.label, PALETTE[3], "s"),
    "separate_arm_volume": Look("Separate Arm, volume", PALETTE[1], "D"),
    "separate_arm_printed": Look("Separate Arm, as printed", "#8a5a00", "X"),
    # tracking rules
    "lazy_track_and_stop": Look(fixed_confidence.lazy_track_and_stop.label, "#c51b7d", "P"),
    "lazy_track_and_stop_current": Look("LT&S, no averaging", "#e9a3c9", "p"),
    "lazy_track_and_stop_smaller_union": Look("LT&S, no averaging, t^1.5", "#7a0b48", "d"),
    "uniform_tracking": Look("uniform tracking", "0.55", "*"),
    "oracle_tracking": Look("oracle tracking", "#1a1a1a", "8"),
    "lin_game": Look(fixed_confidence.lin_game.label, PALETTE[1], "v"),
    "fws": Look(fixed_confidence.fws.label, "#117733", "h"),
    "l_t3c": Look(fixed_confidence.l_t3c.label, PALETTE[9], "<"),
    "l_t3c_best": Look("L-T3C, empirical leader", "#6a7fd1", ">"),
    # stopping rules on the sphere
    "sphere_direct": Look("direct", PALETTE[0], "o"),
    "sphere_safe": Look("safe", PALETTE[2], "s"),
    "sphere_half": Look("paper's, $\\varepsilon_t = \\varepsilon/2$", PALETTE[1], "^"),
    "sphere_two_thirds": Look("paper's, $\\varepsilon_t = 2\\varepsilon/3$", PALETTE[5], "<"),
    "sphere_log_4": Look("as restored, $L = \\log 4$", PALETTE[4], "v"),
    "sphere_printed": Look("as restored, $L = \\log 4t^d$", PALETTE[3], "D"),
}


YOURS = {"own": Look("your rule", OWN[0], "*")}  # the rule of a notebook's parameter `own`


def look(name: str) -> Look:
    """Return the label, the colour and the marker of a rule.

    A rule that is not in LOOKS has its name as label. The first rules of this kind get the colours farthest from all
    others; variants described in words get hues of their own.

    Parameters
    ----------
    name : str
        Name of the rule, as in the column `algorithm`.

    Returns
    -------
    Look
        Its label, colour and marker.

    Examples
    --------
    >>> look("rage").label, look("my_rule").label
    ('RAGE', 'my_rule')
    """
    if name in YOURS:
        return YOURS[name]
    if name not in LOOKS:
        taken = {known.colour for known in LOOKS.values()}
        hues = (to_hex(tuple(hsv_to_rgb((0.618 * k % 1, 0.9, 0.6)))) for k in count(1))  # each far from those before
        colour = next(hue for hue in chain(OWN if str(name).isidentifier() else (), hues) if hue not in taken)
        LOOKS[name] = Look(str(name), colour, MARKERS[len(LOOKS) % len(MARKERS)])
    return LOOKS[name]


def label(name: str) -> str:
    """Return the label of a rule, for tables (`rename(index=style.label)`); return any other value unchanged.

    Parameters
    ----------
    name : str
        As for `look`.

    Returns
    -------
    str
        The label.

    Examples
    --------
    >>> label("xy_static"), label(50)
    ('XY-static', 50)
    """
    return look(name).label if name in (*LOOKS, *YOURS) else name


def drawn(name: str) -> dict[str, Any]:
    """Return the look of a rule as arguments of matplotlib's lines: `ax.plot(x, y, **style.drawn("rage"))`.

    Parameters
    ----------
    name : str
        Name of the rule.

    Returns
    -------
    dict
        With keys label, color and marker.

    Examples
    --------
    >>> drawn("rage")["label"]
    'RAGE'
    """
    return dict(zip(("label", "color", "marker"), look(name), strict=True))


def use() -> None:
    """Set matplotlib and pandas to the look of this project, whatever the user's settings; start as `results.start`.

    >>> import matplotlib.pyplot as plt
    >>> with plt.rc_context():
    ...     use()
    ...     plt.rcParams["axes.spines.top"]
    False
    """
    plt.style.use(["default", Path(__file__).with_name("paper.mplstyle")])
    pd.set_option("display.max_colwidth", None, "display.width", 160)
    results.start()


def sample_complexity(ax: Axes, estimates: pd.DataFrame, x: str) -> None:
    """Draw pulls against a setting, one line per algorithm with its 95 % interval, on a logarithmic axis of pulls.

    If runs were cut off, the mean is unknown: a hollow arrow stands at the top of the axes instead.

    Parameters
    ----------
    ax, estimates, x : Axes, pandas.DataFrame, str
        Where to draw, a `summary` indexed by (x, algorithm), and the name of the setting.
    """
    for name, points in estimates.groupby(level="algorithm", sort=False):
        at, mean = points.index.get_level_values(x), points["mean"].to_numpy()
        spread = np.abs(points[["low", "high"]].to_numpy().T - mean)
        spread[0] = np.minimum(spread[0], mean * (1 - 1e-3))  # a logarithmic axis ends above 0
        ax.errorbar(at, mean, yerr=np.where(np.isnan(mean), 0, spread), **drawn(name))
        for _, row in points[points["mean"].isna()].reset_index(x).iterrows():
            edge = {at.min(): "left", at.max(): "right"} if len(at) > 1 else {}
            cut_off(ax, row[x], row, name, edge.get(row[x], "center"))
    ax.set(yscale="log", xlabel=x, ylabel="pulls")


def cut_off(ax: Axes, place: float, row: pd.Series, name: str, side: str = "center", *, upwards: bool = True) -> None:
    """Draw an arrow at the end of the axis of pulls for a rule whose mean is unknown, because runs were cut off.

    Parameters
    ----------
    ax, place : Axes, float
        Where to draw, and the place on the other axis.
    row, name : pandas.Series, str
        Row of a `summary`, which has the numbers of runs and of those that were cut off, and the name of the rule.
    side : {"center", "left", "right"}
        Side of the words that is at `place`: at the first setting, the words begin there.
    upwards : bool, default True
        Whether the axis of pulls is the vertical one.
    """
    colour, words = look(name).colour, f"cut off {row['not_stopped']:.0f}/{row['runs']:.0f}"
    arrow: dict[str, Any] = {"ls": "none", "ms": 20, "mfc": "none", "mec": colour, "clip_on": False}
    text: dict[str, Any] = {"textcoords": "offset points", "fontsize": 7, "color": colour}
    if upwards:
        ax.margins(y=0.25)  # for the words
        along, at, arrow["marker"] = ax.get_xaxis_transform(), (place, 1.0), UPWARDS
        words, text = words.replace("off ", "off\n"), text | {"xytext": (0, -12), "ha": side, "va": "top"}
    else:
        along, at, arrow["marker"] = ax.get_yaxis_transform(), (1.0, place), RIGHTWARDS
        text |= {"xytext": (-13, 0), "ha": "right", "va": "center"}
    ax.plot([at[0]], [at[1]], transform=along, **arrow)
    ax.annotate(words, at, xycoords=along, **text)


def accuracy(ax: Axes, estimates: pd.DataFrame, x: str) -> None:
    """Draw accuracy (share of runs with the best item) against a setting, with Wilson's 95 % interval.

    Parameters
    ----------
    ax, estimates, x : Axes, pandas.DataFrame, str
        As for `sample_complexity`.
    """
    settings = list(dict.fromkeys(estimates.index.get_level_values(x)))
    lines = list(estimates.groupby(level="algorithm", sort=False))
    shifts = np.linspace(-APART, APART, len(lines)) if len(lines) > 1 else [0.0]
    for shift, (name, points) in zip(shifts, lines, strict=True):
        at = [settings.index(value) + shift for value in points.index.get_level_values(x)]
        rate = points["error_rate"]
        spread = np.abs([points["error_high"] - rate, rate - points["error_low"]])
        ax.errorbar(at, 1 - rate.to_numpy(), yerr=spread, lw=0.7, capsize=0, **drawn(name))
    ax.set(xlabel=x, xticks=range(len(settings)), xticklabels=settings, ylabel="accuracy")


def bound(ax: Axes, x: ArrayLike, pulls: ArrayLike, label: str = LOOKS["lower_bound"].label) -> None:
    """Draw a theoretical number of pulls at the settings as a dashed line.

    Parameters
    ----------
    ax, x, pulls : Axes, (n,) array_like, (n,) array_like
        Where to draw, settings, and pulls at the settings.
    label : str, default "lower bound"
        Label in the legend.
    """
    ax.plot(x, pulls, ls="--", marker="", color=look("lower_bound").colour, label=label)
