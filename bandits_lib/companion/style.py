"""One look for every figure: colours and labels by algorithm, plots of tables, files that can be redrawn.

Every plot function takes `ax`, draws and returns `ax`. No titles: captions are prose.
"""

import json
import os
import subprocess
import sys
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
    "gse_lin_uniform": "GSE-Lin",
    "gse_lin_fwg": "GSE-Lin-FWG",
    "gse_lin_wynn": "GSE-Lin-Wynn",
    "gse_lin_greedy": "GSE-Lin-Greedy",
    "gse_lin_certified": "GSE-Lin-G",
    "gse_log_uniform": "GSE-Log",
    "gse_log_fwg": "GSE-Log-FWG",
    "gse_log_wynn": "GSE-Log-Wynn",
    "gse_log_greedy": "GSE-Log-Greedy",
    "gse_log_certified": "GSE-Log-G",
    "od_linbai": "OD-LinBAI",
    "peace": "Peace",
    "peace_ratio": "Peace (ratio)",
    "bayes_gap_linear": "BayesGap-Lin",
    "bayes_gap_exponential": "BayesGap-exp",
    "bayes_gap_matern": "BayesGap-M",
    "bayes_gap_empirical": "BayesGap-cov",
    "linucb": "LinUCB",
    "linucb_disjoint": "LinUCB (disjoint)",
    "ucb_glm": "UCB-GLM",
    "lingape_budget": "LinGapE",
    "lingape_budget_greedy": "LinGapE-Greedy",
    "peps": "PEPS",
    "head": "HEAD",
    "h_rage": "H-RAGE",
    "h_rage_theory": "H-RAGE, proved burn-in",
    "h_rage_paper": "H-RAGE, rounded burn-in",
    "h_rage_code": "H-RAGE, published burn-in",
    "h_rage_shortest": "H-RAGE, shortest burn-in",
    "heteroskedastic_oracle": "heteroskedastic oracle",
    "homoskedastic_oracle": "homoskedastic oracle",
    "head_tenth": "HEAD, 1/10 for theta",
    "uniform_estimator": "Uniform",
    "separate_arm": "Separate Arm",
    "separate_arm_volume": "Separate Arm, volume",
    "separate_arm_printed": "Separate Arm, as printed",
    "lazy_track_and_stop": "LT&S",
    "lazy_track_and_stop_current": "LT&S, no averaging",
    "uniform_tracking": "uniform tracking",
    "oracle_tracking": "oracle tracking",
    "lin_game": "LinGame",
    "fws": "FWS",
    "l_t3c": "L-T3C",
    "l_t3c_best": "L-T3C, empirical leader",
    "sphere_direct": "direct",
    "sphere_safe": "safe",
    "sphere_half": "paper's, $\\varepsilon_t = \\varepsilon/2$",
    "sphere_printed": "paper's, as printed",
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
    # fixed budget: GSE in blues (linear) and purples (logistic), dark to light; competitors as far away as they go
    "gse_lin_certified": "#00233f",
    "gse_lin_fwg": _PALETTE[0],
    "gse_lin_wynn": "#6a7fd1",
    "gse_lin_greedy": _PALETTE[9],
    "gse_lin_uniform": "#9db7c9",
    "gse_log_certified": "#2d004b",
    "gse_log_fwg": "#6a3d9a",
    "gse_log_wynn": "#8c6bb1",
    "gse_log_greedy": "#9e9ac8",
    "gse_log_uniform": "#bcbddc",
    "od_linbai": _PALETTE[5],
    "peace": _PALETTE[4],
    "peace_ratio": "#e7298a",
    "bayes_gap_linear": "#b3a400",
    "bayes_gap_exponential": _PALETTE[1],
    "bayes_gap_matern": "#8a5a00",
    "bayes_gap_empirical": "#665c00",
    "linucb": _PALETTE[2],
    "linucb_disjoint": "#00553d",
    "ucb_glm": "#66c2a4",
    "lingape_budget": _PALETTE[3],
    "lingape_budget_greedy": "#8c2d04",
    "peps": "0.45",
    # variance estimators: HEAD in blues, separate arms in oranges
    "head": _PALETTE[0],
    "h_rage": _PALETTE[3],
    "h_rage_theory": _PALETTE[3],
    "h_rage_paper": "#7a3500",
    "h_rage_code": "#ee8f3c",
    "h_rage_shortest": _PALETTE[4],
    "heteroskedastic_oracle": _PALETTE[2],
    "homoskedastic_oracle": _PALETTE[9],
    "head_tenth": _PALETTE[9],
    "uniform_estimator": _PALETTE[2],
    "separate_arm": _PALETTE[3],
    "separate_arm_volume": _PALETTE[1],
    "separate_arm_printed": "#8a5a00",
    # tracking rules
    "lazy_track_and_stop": "#c51b7d",
    "lazy_track_and_stop_current": "#e9a3c9",
    "uniform_tracking": "0.55",
    "oracle_tracking": "#1a1a1a",
    "lin_game": _PALETTE[1],
    "fws": _PALETTE[4],
    "l_t3c": _PALETTE[9],
    "l_t3c_best": "#6a7fd1",
    # stopping rules on the sphere
    "sphere_direct": _PALETTE[0],
    "sphere_safe": _PALETTE[2],
    "sphere_half": _PALETTE[1],
    "sphere_printed": _PALETTE[3],
}
MARKER = {
    "rage": "o",
    "xy_static": "s",
    "xy_oracle": "^",
    "lingape": "D",
    "xy_adaptive": "v",
    "alba": "X",
    "gse_lin_certified": "o",
    "gse_lin_fwg": "s",
    "gse_lin_wynn": "^",
    "gse_lin_greedy": "v",
    "gse_lin_uniform": "d",
    "gse_log_certified": "o",
    "gse_log_fwg": "s",
    "gse_log_wynn": "^",
    "gse_log_greedy": "v",
    "gse_log_uniform": "d",
    "od_linbai": "h",
    "peace": "p",
    "peace_ratio": "*",
    "bayes_gap_linear": "<",
    "bayes_gap_exponential": ">",
    "bayes_gap_matern": "8",
    "bayes_gap_empirical": "H",
    "linucb": "P",
    "linucb_disjoint": "X",
    "ucb_glm": "P",
    "lingape_budget": "D",
    "lingape_budget_greedy": "d",
    "peps": "*",
    "head": "o",
    "h_rage": "D",
    "h_rage_theory": "D",
    "h_rage_paper": "X",
    "h_rage_code": "s",
    "h_rage_shortest": "v",
    "heteroskedastic_oracle": "^",
    "homoskedastic_oracle": "<",
    "head_tenth": "d",
    "uniform_estimator": "^",
    "separate_arm": "s",
    "separate_arm_volume": "D",
    "separate_arm_printed": "X",
    "lazy_track_and_stop": "P",
    "lazy_track_and_stop_current": "p",
    "uniform_tracking": "*",
    "oracle_tracking": "8",
    "lin_game": "v",
    "fws": "h",
    "l_t3c": "<",
    "l_t3c_best": ">",
    "sphere_direct": "o",
    "sphere_safe": "s",
    "sphere_half": "^",
    "sphere_printed": "D",
}
LABEL["rage_halving"], COLOUR["rage_halving"], MARKER["rage_halving"] = "RAGE by halving", "#332288", "h"
_PACKAGES = ("numpy", "scipy", "numba", "pandas", "matplotlib", "bandits_lib")
_CHECKOUT = Path(__file__).resolve().parent.parent
_started = perf_counter()


def use():
    """Set matplotlib and pandas to the look of this project and start the clock that `save` reports.

    A notebook's relative paths (`out`, `checkpoint`) count from its folder, where Jupyter starts kernels. papermill
    starts them where it is called: a kernel anywhere else in a checkout of this project moves to its notebooks/.

    >>> import matplotlib.pyplot as plt
    >>> with plt.rc_context():
    ...     use()
    ...     plt.rcParams["axes.spines.top"]
    False
    """
    global _started
    plt.style.use(Path(__file__).with_name("paper.mplstyle"))
    pd.set_option("display.max_colwidth", None, "display.width", 160)
    _started = perf_counter()
    if _in_kernel() and (folder := _notebooks_for(Path.cwd())):
        os.chdir(folder)


def _in_kernel():
    """Whether this is the kernel of a notebook, and no script or shell."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


def _notebooks_for(folder):
    """The checkout's notebooks/ if `folder` lies in the checkout and holds none of its notebooks, else None."""
    home = _CHECKOUT / "notebooks"
    inside = folder.resolve().is_relative_to(_CHECKOUT) and (home / "paper.yaml").exists()
    return home if inside and not any((folder / file.name).exists() for file in home.glob("*.ipynb")) else None


def sample_complexity(ax, estimates, x):
    """Pulls against the setting `x`, one line per algorithm with its 95 % interval.

    ax : of matplotlib; estimates : a `summary` indexed by (x, algorithm). Logarithmic in pulls. Returns ax.

    >>> import matplotlib.pyplot as plt
    >>> import pandas as pd
    >>> from bandits_lib import summary
    >>> table = pd.DataFrame({"d": 2, "algorithm": "rage", "pulls": [90, 110], "correct": True, "stopped": True})
    >>> sample_complexity(plt.subplots()[1], summary(table, by=["d"]), "d").get_yscale()
    'log'
    """
    for name, points in _lines(estimates):
        at, mean = points.index.get_level_values(x), points["mean"].to_numpy()
        spread = np.abs(points[["low", "high"]].to_numpy().T - mean)
        spread[0] = np.minimum(spread[0], mean * (1 - 1e-3))  # a logarithmic axis ends above 0
        ax.errorbar(at, mean, yerr=spread, label=LABEL[name], color=COLOUR[name], marker=MARKER[name])
    ax.set(yscale="log", xlabel=x, ylabel="pulls")
    return ax


def accuracy(ax, estimates, x):
    """Accuracy (share of runs with the best item) against the setting `x`, with Wilson's 95 % interval.

    ax : of matplotlib; estimates : a `summary` indexed by (x, algorithm). Settings stand at equal distances, algorithms
    side by side at each, joined by thin lines. Returns ax.

    >>> import matplotlib.pyplot as plt
    >>> import pandas as pd
    >>> from bandits_lib import summary
    >>> table = pd.DataFrame({"d": 2, "algorithm": "rage", "pulls": [90, 110], "correct": True, "stopped": True})
    >>> accuracy(plt.subplots()[1], summary(table, by=["d"]), "d").get_ylabel()
    'accuracy'
    """
    lines = list(_lines(estimates))
    settings = list(dict.fromkeys(estimates.index.get_level_values(x)))
    shifts = np.linspace(-0.3, 0.3, len(lines)) if len(lines) > 1 else [0.0]
    for shift, (name, points) in zip(shifts, lines, strict=True):
        at = [settings.index(value) + shift for value in points.index.get_level_values(x)]
        right = 1 - points["error_rate"].to_numpy()
        spread = [points["error_high"] - points["error_rate"], points["error_rate"] - points["error_low"]]
        look = {"label": LABEL[name], "color": COLOUR[name], "marker": MARKER[name], "lw": 0.7, "capsize": 0}
        ax.errorbar(at, right, yerr=np.abs(spread), **look)
    ax.set(xlabel=x, ylabel="accuracy", xticks=range(len(settings)), xticklabels=settings)
    return ax


def error_rates(ax, estimates, x, delta):
    """Error rate against the setting `x` with Wilson's 95 % interval, beside the rate `delta` that is allowed.

    ax : of matplotlib; estimates : a `summary` indexed by (x, algorithm); algorithms stand side by side;
    delta : error probability allowed. Returns ax.

    >>> import matplotlib.pyplot as plt
    >>> import pandas as pd
    >>> from bandits_lib import summary
    >>> table = pd.DataFrame({"d": 2, "algorithm": "rage", "pulls": [90, 110], "correct": True, "stopped": True})
    >>> error_rates(plt.subplots()[1], summary(table, by=["d"]), "d", 0.05).get_ylabel()
    'error rate'
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

    ax : of matplotlib; estimates : a `summary` indexed by algorithm alone; delta : error probability allowed.
    Returns ax.

    >>> import matplotlib.pyplot as plt
    >>> import pandas as pd
    >>> from bandits_lib import summary
    >>> table = pd.DataFrame({"d": 2, "algorithm": "rage", "pulls": [90, 110], "correct": True, "stopped": True})
    >>> pooled_error_rates(plt.subplots()[1], summary(table), 0.05).get_xlabel()
    'error rate'
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
    """A theoretical number of pulls at the settings `x`, dashed.

    ax : of matplotlib; x, pulls : (n,) settings and numbers; label : in the legend. Returns ax.

    >>> import matplotlib.pyplot as plt
    >>> bound(plt.subplots()[1], [2, 4], [100, 300]).get_legend_handles_labels()[1]
    ['lower bound']
    """
    ax.plot(x, pulls, ls="--", marker="", color=COLOUR["lower_bound"], label=label)
    return ax


def save(fig, figure, out, *, estimates, runs=None, parameters, notebook, alt):
    """Write <out>/figures/<figure>.png, .pdf, .csv (estimates), .json, and _runs.csv (the raw rows).

    fig : of matplotlib; out : folder;
    figure : "<paper>/fig_1a"; estimates, runs : DataFrames behind the picture; parameters : of the notebook;
    notebook : its name; alt : the picture in words. png and pdf carry no date. `seconds` is left out of the runs.

    >>> import matplotlib.pyplot as plt
    >>> import pandas as pd
    >>> about = dict(estimates=pd.DataFrame({"mean": [1.0]}), parameters={"runs": 2}, notebook="demo", alt="nothing")
    >>> save(plt.figure(), "demo/fig_1", ".", **about)
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
    """A DataFrame as csv with its index, floats to the last digit, lines ending in newline on every system.

    frame : DataFrame; path : of the file.

    >>> import pandas as pd
    >>> from pathlib import Path
    >>> save_table(pd.DataFrame({"mean": [0.1]}), "table.csv")
    >>> Path("table.csv").read_text().split()
    [',mean', '0,0.10000000000000001']
    """
    frame.to_csv(path, float_format="%.17g", lineterminator="\n")


def save_data(frame, name, out, *, parameters, notebook):
    """Write a table that belongs to no picture: <out>/figures/<name>.csv, and .json with what it came from.

    name : "<paper>/<table>"; frame : DataFrame, saved with its index; out : folder; parameters, notebook : as for
    `save`.

    >>> import pandas as pd
    >>> save_data(pd.DataFrame({"mean": [0.1]}), "demo/table_1", ".", parameters={"runs": 2}, notebook="demo")
    """
    path = Path(out) / "figures" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    save_table(frame, path.with_suffix(".csv"))
    path.with_suffix(".json").write_text(json.dumps(provenance(parameters, notebook), indent=1) + "\n")


def provenance(parameters, notebook):
    """What a figure came from: parameters, versions, git commit, the command that redraws it, wall time in seconds.

    parameters : {name: value} of the notebook; notebook : its name. Returns a dict.

    >>> provenance({"runs": 2}, "demo")["command"]
    'papermill notebooks/demo.ipynb out.ipynb --cwd notebooks -p runs 2'
    """
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
