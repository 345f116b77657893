"""One look for every figure: colours and labels by algorithm, plots of tables, files that can be redrawn.

Every plot function takes `ax`, draws and returns `ax`. No titles: captions are prose.
"""

import json
import subprocess
from importlib.metadata import version
from pathlib import Path
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns

LABEL = {
    "rage": "RAGE",
    "xy_static": "XY-static",
    "xy_oracle": "Oracle",
    "xy_adaptive": "XY-adaptive",
    "lingape": "LinGapE",
    "alba": "ALBA",
    "lower_bound": "lower bound",
}
_PALETTE = sns.color_palette("colorblind", 10).as_hex()
COLOUR = {
    "rage": _PALETTE[0],
    "xy_static": _PALETTE[1],
    "xy_oracle": _PALETTE[2],
    "lingape": _PALETTE[3],
    "xy_adaptive": _PALETTE[4],
    "alba": _PALETTE[5],
    "lower_bound": "0.35",
}
MARKER = {
    "rage": "o",
    "xy_static": "s",
    "xy_oracle": "^",
    "lingape": "D",
    "xy_adaptive": "v",
    "alba": "X",
}
_PACKAGES = ("numpy", "scipy", "numba", "pandas", "matplotlib", "bandits_lib")
_started = perf_counter()


def use():
    """Set matplotlib and pandas to the look of this project and start the clock that `save` reports."""
    global _started
    plt.style.use(Path(__file__).with_name("paper.mplstyle"))
    pd.set_option("display.max_colwidth", None, "display.width", 160)
    _started = perf_counter()


def sample_complexity(ax, estimates, x):
    """Pulls against the setting `x`, one line per algorithm with its 95 % interval.

    estimates : a `summary` indexed by (x, algorithm). Logarithmic in pulls. Returns ax.
    """
    for name, points in _lines(estimates):
        at, mean = points.index.get_level_values(x), points["mean"].to_numpy()
        spread = np.abs(points[["low", "high"]].to_numpy().T - mean)
        spread[0] = np.minimum(spread[0], mean * (1 - 1e-3))  # a logarithmic axis ends above 0
        ax.errorbar(at, mean, yerr=spread, label=LABEL[name], color=COLOUR[name], marker=MARKER[name])
    ax.set(yscale="log", xlabel=x, ylabel="pulls")
    return ax


def error_rates(ax, estimates, x, delta):
    """Error rate against the setting `x` with Wilson's 95 % interval, beside the rate `delta` that is allowed.

    estimates : a `summary` indexed by (x, algorithm); algorithms stand side by side. Returns ax.
    """
    lines = list(_lines(estimates))
    settings = list(dict.fromkeys(estimates.index.get_level_values(x)))
    for shift, (name, points) in zip(np.linspace(-0.3, 0.3, len(lines)), lines, strict=True):
        at = [settings.index(value) + shift for value in points.index.get_level_values(x)]
        rate = points["error_rate"].to_numpy()
        spread = np.abs(points[["error_low", "error_high"]].to_numpy().T - rate)
        ax.errorbar(at, rate, yerr=spread, ls="none", label=LABEL[name], color=COLOUR[name], marker=MARKER[name])
    ax.axhline(delta, color="0.35", ls="--", lw=1)
    ax.annotate("$\\delta$", (1.01, delta), xycoords=("axes fraction", "data"), va="center")
    ax.set(xlabel=x, ylabel="error rate", xticks=range(len(settings)), xticklabels=settings)
    return ax


def pooled_error_rates(ax, estimates, delta):
    """Error rate of each algorithm over all settings, one row each, with Wilson's 95 % interval and the rate `delta`.

    estimates : a `summary` indexed by algorithm alone. Returns ax.
    """
    for row, (name, points) in enumerate(estimates.iterrows()):
        spread = [[points["error_rate"] - points["error_low"]], [points["error_high"] - points["error_rate"]]]
        ax.errorbar(points["error_rate"], row, xerr=spread, color=COLOUR[name], marker=MARKER[name], clip_on=False)
    ax.axvline(delta, color="0.35", ls="--", lw=1)
    ax.annotate("$\\delta$", (delta, 1.01), xycoords=("data", "axes fraction"), ha="center", va="bottom")
    names = [LABEL[name] for name in estimates.index]
    ax.set(yticks=range(len(names)), yticklabels=names, xlabel="error rate", xlim=(0, None))
    ax.invert_yaxis()
    return ax


def bound(ax, x, pulls, label=LABEL["lower_bound"]):
    """A theoretical number of pulls at the settings `x`, dashed. Returns ax."""
    ax.plot(x, pulls, ls="--", marker="", color=COLOUR["lower_bound"], label=label)
    return ax


def save(fig, figure, out, *, estimates, runs=None, parameters, notebook, alt):
    """Write <out>/figures/<figure>.png, .pdf, .csv (estimates), .json, and _runs.csv (the raw rows).

    figure : "<paper>/fig_1a"; estimates, runs : DataFrames behind the picture; parameters : of the notebook;
    notebook : its name; alt : the picture in words. png and pdf carry no date. `seconds` is left out of the runs.
    """
    path = Path(out) / "figures" / figure
    path.parent.mkdir(parents=True, exist_ok=True)
    fig.savefig(path.with_suffix(".png"), metadata={"Software": None})
    fig.savefig(path.with_suffix(".pdf"), metadata={"CreationDate": None, "Creator": None, "Producer": None})
    save_table(estimates, path.with_suffix(".csv"))
    if runs is not None:
        kept = runs.drop(columns="seconds", errors="ignore")
        save_table(kept.set_index(kept.columns[0]), f"{path}_runs.csv")
    path.with_suffix(".json").write_text(json.dumps(provenance(parameters, notebook) | {"alt": alt}, indent=1) + "\n")


def save_table(frame, path):
    """A DataFrame as csv with its index, floats to the last digit, lines ending in newline on every system."""
    frame.to_csv(path, float_format="%.17g", lineterminator="\n")


def provenance(parameters, notebook):
    """What a figure came from: parameters, versions, git commit, the command that redraws it, wall time in seconds."""
    given = " ".join(f"-p {name} {_shown(value)}" for name, value in parameters.items() if name != "out")
    return {
        "parameters": parameters,
        "versions": {name: version(name) for name in _PACKAGES},
        "commit": _commit(),
        "command": f"papermill notebooks/{notebook}.ipynb out.ipynb --cwd notebooks {given}",
        "wall_seconds": round(perf_counter() - _started, 1),
    }


def _lines(estimates):
    for name in dict.fromkeys(estimates.index.get_level_values("algorithm")):
        yield name, estimates.xs(name, level="algorithm", drop_level=True)


def _shown(value):
    return json.dumps(json.dumps(value)) if isinstance(value, list | str) else value


def _commit():
    asked = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=40"]
    try:
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
