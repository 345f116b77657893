"""List the rules for each situation, and simulate how many pulls they need and how often they are wrong for a guess.

`rules_for` lists the rules. Part of its table is read from their signatures, the rest from the `Row` of the decorator.

`plan` plays every rule many times against a guess of the truth. Its numbers hold for this guess only, while the
guarantees of the rules hold for every truth. The floor is a theorem: no rule that is wrong with probability at most
delta on every problem needs fewer pulls on average on this problem (jedra2020, Theorem 1).

If only the smallest gap that matters is known, `hardest` makes the guess. No gap is larger than the features force it
to be, because an experiment takes less time when any gap grows. For each item that can be best, `closest` finds the
parameter whose gaps have the smallest sum of squares, and `hardest` takes the one with the largest characteristic time.
The gaps are minimised instead of theta, because the norm of theta depends on the units of the features. No parameter
with such gaps takes longer than the design that is best for the smallest gap of each item by itself. For arms without
structure, for factors and for a line, `hardest` reaches this bound. In other cases a local search found parameters that
take at most 8 % longer. If there are many items, `hardest` looks at MOST of them.
"""

import inspect
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from html import escape
from math import ceil
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import joblib
import numpy as np
import pandas as pd
import scipy
from scipy.optimize import nnls

from bandits_lab.arms import Arms
from bandits_lab.experiment import PLAYED
from bandits_lab.measurements import several
from bandits_lib.checks import check_arms, check_delta, check_items, check_option, check_positive, check_sigma
from bandits_lib.complexity import CONVENTIONS, lower_bound, oracle_design
from bandits_lib.design import g_design
from bandits_lib.numerics.least_squares import information_inverse, norms
from bandits_lib.problem import LinearBandit
from bandits_lib.protocol import OWN, PULLS, Loop, Played, Result
from bandits_lib.simulate.intervals import student_interval
from bandits_lib.simulate.monte_carlo import monte_carlo
from bandits_lib.simulate.play import play

if TYPE_CHECKING:  # pictures take a second to load
    from matplotlib.axes import Axes

NAMES = tuple(name for name, played in PLAYED.items() if played.row)  # each half begins with the first choice


def rules_for(**wanted: Any) -> pd.DataFrame:
    """Return a table of the public rules, of all of them or of those for one situation.

    Parameters
    ----------
    **wanted : str or bool
        Columns of the table and their wanted values, such as `given="confidence", asks="batches", items=True`.

    Returns
    -------
    pandas.DataFrame
        A row per rule, with the rule to try first in the first row. The columns are given ("confidence" or "budget"),
        asks ("batches", or "pull by pull" if each result decides about the next pull), items (whether items may differ
        from the arms), level_sets, noise (which of several sigma the rule uses: the "largest", their "ratios", or
        "each", given or estimated; rules for "0/1 rewards" need no sigma), needs (required arguments besides arms and
        delta or budget), situation, paper and promise.

    Raises
    ------
    ValueError
        For a column or a value that is not in the table; the message lists those that are.

    Examples
    --------
    >>> list(rules_for(given="budget", items=True).index)
    ['peace']
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
    """Return the public rule of `fixed_confidence` or `fixed_budget` that has this name.

    Parameters
    ----------
    name : str
        Name of the rule, as in the index of `rules_for()`.

    Returns
    -------
    callable
        The decorated function.

    Raises
    ------
    ValueError
        For an unknown name; the message lists the known names.

    Examples
    --------
    >>> rule_named("rage").__module__
    'bandits_lib.fixed_confidence.rage'
    """
    return PLAYED[check_option("rule", name, NAMES)]


def _signature(played):
    """Return the columns of the table that follow from the signature of a rule."""
    parameters = inspect.signature(played).parameters
    own = {"arms", "budget" if "budget" in parameters else "delta"}
    needed = [key for key, parameter in parameters.items() if parameter.default is parameter.empty and key not in own]
    return {
        "given": "budget" if "budget" in parameters else "confidence",
        "items": "items" in parameters,
        "level_sets": {"objective", "threshold"} <= parameters.keys(),
        "needs": ", ".join(needed),
    }


FIRST, FIRST_WITH_A_BUDGET = ("rage", "xy_static", "fws"), ("gse", "od_linbai", "peace")
WARM, TRIAL = 100, 100_000  # pulls of the two short runs that predict the time of all runs
OFTEN = 25  # pulls of a pull-by-pull rule at delta = 0.05, in multiples of the floor: a rough value for its time
PATIENCE = 60.0  # seconds that a plan may take without a warning


def players(rules, problem, given):
    """Return {name: make(problem, rng)} for names, a dict or None, where every rule counts its requests."""
    if isinstance(rules, str):
        raise ValueError(f"rules must be a list of names; got {rules!r}: write rules=[{rules!r}]")
    ready = {}
    for name in _defaults(given) if rules is None else rules:
        try:
            make = rules[name] if isinstance(rules, dict) else maker(name, given)
            if not isinstance(rules, dict) and name in rules_for(given="confidence", noise=OWN).index:
                raise ValueError("it is for rewards 0 and 1, but a plan simulates Gaussian rewards")
            next(make(problem, np.random.default_rng(0)), None)
        except (TypeError, ValueError) as error:
            if rules is not None or name in FIRST:
                raise ValueError(f"{name} cannot be planned: {error}") from error
            warnings.warn(f"{name} is left out of the plan: {error}", stacklevel=3)
        else:
            ready[name] = partial(counted, make)
    if not ready:
        raise ValueError("rules must name at least one rule; got none")
    return ready


def _defaults(given):
    """Return the names of the default rules for the arguments of a plan."""
    names = FIRST + ("h_rage",) * (np.ndim(given["sigma"]) > 0)
    return names + FIRST_WITH_A_BUDGET * (given["budget"] is not None)


def maker(name, given):
    """Return make(problem, rng) of a public rule, with its arguments from `given`; ValueError if it cannot run."""
    parameters = inspect.signature(rule_named(name)).parameters
    if "arms" not in parameters:
        raise ValueError("it measures every direction, not a list of arms")
    if "budget" in parameters and given["budget"] is None:
        raise ValueError("it needs budget=, a number of measurements")
    arguments = {key: given[key] for key in parameters if given.get(key) is not None}
    return partial(_fresh, name, arguments, "rng" in parameters)


def _fresh(name, arguments, draws, problem, rng):
    return rule_named(name)(problem.arms, **arguments, **({"rng": rng} if draws else {}))


def counted(make, problem, rng, loops=None):
    """Run the rule of `make`, whose Result gets the history (batches, pulls in batches); collect Loops in `loops`."""
    rule, reply, batches, pulls = make(problem, rng), None, 0, 0
    while True:
        try:
            request = rule.send(reply)
        except StopIteration as stop:
            return Result(stop.value.recommendation, (batches, pulls))
        if isinstance(request, Loop):
            if loops is not None:
                loops.append(request.choose)
        elif np.any(request):
            batches, pulls = batches + 1, pulls + int(np.sum(request))
        reply = yield request


def limit(make, problem, expected, max_pulls):
    """Return the pulls at which runs are cut off, and the seconds that a run takes, from a short trial.

    A rule in batches is not cut off (None), because its time does not grow with its pulls; `expected` is the pulls of a
    rule that pulls one by one.
    """
    loops: list = []
    for pulls in (WARM, TRIAL):
        run, seconds = _timed(make, problem, pulls, loops)
    if not run.stopped and loops:
        seconds *= min(max_pulls, max(expected, TRIAL)) / run.counts.sum()
    elif not run.stopped:
        run, seconds = _timed(make, problem, None, loops)
    return max_pulls if loops else None, seconds


def _timed(make, problem, max_pulls, loops):
    """Return a run and the seconds that it took."""
    start = perf_counter()
    run = play(make(problem, np.random.default_rng(0), loops), problem, np.random.default_rng(1), max_pulls)
    return run, perf_counter() - start


def duration(seconds):
    """Return a time in words."""
    if seconds < 90:
        return several(ceil(seconds), "second")
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def _played(name, make, problem, runs, max_pulls, **how):
    """Return the rows of `monte_carlo`; after an interruption (Ctrl-C) of one process, those that are finished."""
    rows = []

    def measured(problem, run):
        right, pulls, asked = False, int(run.counts.sum()), np.nan
        if run.result is not None:
            batches, in_batches = run.result.history  # a pull outside of batches is a request of its own
            right, asked = run.result.recommendation == problem.best_item, int(batches + pulls - in_batches)
        rows.append({"pulls": pulls, "correct": right, "stopped": run.stopped, "requests": asked})
        return {"requests": asked}

    try:
        return monte_carlo({name: make}, problem, runs=runs, max_pulls=max_pulls, measure=measured, **how), True
    except KeyboardInterrupt:
        if not rows:
            raise
        return pd.DataFrame(rows), False


ROUNDING = 1e-10  # a singular value that counts as zero, relative to the largest
FEASIBLE = 1e-8  # residual of nonnegative least squares below which no parameter makes the item best
REGULAR = 0.01  # share of the G-optimal design in the designs that give bounds
MOST = 20  # items for which the characteristic time is computed


class Guess(NamedTuple):
    """A parameter to plan with, its best item and its characteristic time."""

    theta: np.ndarray  # (d,)
    best: int  # row of the best item
    time: float  # characteristic time T* of jedra2020, in pulls


def closest(items, best, gap):
    """Return the theta (d,) whose gaps are at least `gap` with the smallest sum of squares; None if `best` cannot lead.

    An item cannot lead if it lies in the convex hull of the others, up to rounding errors.
    """
    # The gaps are Gx, where G has orthonormal columns; find the smallest |x| with Gx >= 1 (Lawson and Hanson 1974,
    # chapter 23, LDP). Let r be the residual of min |[G'; 1'] u - e| over u >= 0, with e the last unit vector. If r = 0
    # there is no solution; otherwise x = -r_j / r_last.
    items = np.asarray(items, dtype=float)
    leads = items[best] - np.delete(items, best, axis=0)
    units = np.abs(leads).max(axis=0)
    units[units == 0] = 1.0
    across, sizes, axes = np.linalg.svd(leads / units, full_matrices=False)
    kept = sizes > ROUNDING * sizes[0]
    across, least = across[:, kept], 1 / np.sqrt(len(leads))
    solution, distance = nnls(np.vstack([across.T, np.full(len(leads), least)]), np.append(np.zeros(kept.sum()), 1.0))
    if distance <= FEASIBLE:
        return None
    x = across.T @ solution / (1 - least * solution.sum())
    smallest = (across @ x).min()
    return None if smallest <= 0 else gap / smallest * (axes[kept].T @ (x / sizes[kept])) / units


def hardest(arms, *, gap, sigma=1.0):
    """Return the `Guess` with the largest characteristic time among the `closest` parameters of all arms."""
    # Every design bounds the characteristic time from above. An item whose bound from the designs so far is below the
    # largest time so far needs no optimal design of its own.
    arms = check_arms(arms)
    items, gap, sigma = check_items(None, arms), check_positive("gap", gap), check_sigma(sigma, len(arms))
    if len(items) < 2:
        raise ValueError("arms must be at least two: a single arm is the best without an experiment")
    thetas = {b: theta for b in range(len(items)) if (theta := closest(items, b, gap)) is not None}
    even = g_design(arms / sigma[:, None]).weights
    known = [information_inverse(arms, even / sigma**2)]
    bounds = {b: _value(items, b, theta, known[0]) for b, theta in thetas.items()}
    found = Guess(np.zeros(arms.shape[1]), -1, 0.0)
    for b in sorted(bounds, key=bounds.__getitem__, reverse=True):
        if len(known) > MOST:
            break
        enough = found.time / CONVENTIONS["jedra2020"]
        if any(_value(items, b, thetas[b], inverse) <= enough for inverse in reversed(known)):
            continue
        design = oracle_design(arms, items, theta=thetas[b], sigma=sigma)
        if (time := CONVENTIONS["jedra2020"] * design.value) > found.time:
            found = Guess(thetas[b], b, time)
        weights = (1 - REGULAR) * design.weights + REGULAR * even
        known.append(information_inverse(arms, weights / sigma**2))
    return found


def _value(items, best, theta, inverse):
    """Return max over z of ||best - z||^2 / gap^2 in the norm of `inverse`: psi of a design, which is at least psi*."""
    leads = items[best] - np.delete(items, best, axis=0)
    return float(np.max(norms(inverse, leads) / (leads @ theta) ** 2))


QUANTILE = 0.9  # of the pulls, which nine of ten experiments do not exceed
INK, PULLS_COLOUR, FLOOR, BUDGET_COLOUR = "0.2", "#0173b2", "0.35", "#de8f05"


def row_of(rows):
    """Return the row of the table for the runs of one rule."""
    if rows.empty:
        names = ("pulls", "low", "high", "nine_in_ten", "wrong", "wrong_low", "wrong_high", "requests")
        return {"runs": 0, **dict.fromkeys(names, np.nan), "cut": 1.0}
    mean, _, low, high = student_interval(rows["pulls"])
    ended = int(rows["stopped"].sum())
    wrong = ended - int(rows["correct"].sum())
    exact = scipy.stats.binomtest(wrong, ended).proportion_ci(0.95, method="exact") if ended else (0.0, 1.0)
    pulls = {"pulls": mean, "low": low, "high": high}
    pulls["nine_in_ten"] = float(np.quantile(rows["pulls"].to_numpy(float), QUANTILE, method="higher"))
    rates = {"wrong": wrong / ended if ended else np.nan, "wrong_low": float(exact[0]), "wrong_high": float(exact[1])}
    return {"runs": len(rows), **pulls, **rates, "requests": rows["requests"].mean(), "cut": 1 - ended / len(rows)}


def guess_in_words(plan):
    """Return a sentence on the guess and a sentence on the floor."""
    problem, unit = plan.problem, f" {plan.unit}" if plan.unit else ""
    gap, sigma = np.sort(problem.gaps)[1], problem.sigma.max()
    best = plan.names[problem.best_item] if plan.names else f"item {problem.best_item}"
    return (
        f"Supposed: {best} is best, the next is {gap:.4g}{unit} behind; noise {sigma:.4g}{unit}.",
        f"Floor: no rule with delta = {plan.delta:g} needs fewer than {plan.floor:,.0f} measurements on average in "
        "this case.",
    )


def rounded(plan):
    """Return the table of a `Plan` with rounded numbers, as text."""
    return pd.DataFrame([_cell(row) for _, row in plan.table.iterrows()], index=plan.table.index)


def _cell(row):
    if row["runs"] == 0:
        return dict.fromkeys(("measurements", "nine in ten", "wrong", "requests"), "not played") | {"cut off": "all"}
    least = "at least " if row["cut"] else ""
    between = f" ({_whole(row['low'])} to {_whole(row['high'])})" if row["low"] < row["high"] else ""
    return {
        "measurements": f"{least}{_whole(row['pulls'])}{between}",
        "nine in ten": f"{'at least ' if row['cut'] > 0.1 else ''}{_whole(row['nine_in_ten'])}",
        "wrong": _wrong(row),
        "requests": _whole(row["requests"]),
        "cut off": f"{row['cut']:.0%}",
    }


def _wrong(row):
    return f"{row['wrong']:.1%} ({row['wrong_low']:.1%} to {row['wrong_high']:.1%})" if row["cut"] < 1 else "?"


def _whole(number):
    return f"{number:,.0f}" if np.isfinite(number) else "?"


class Plan(NamedTuple):
    """The pulls, errors and requests to expect of several rules if a guess is right; it prints as a table."""

    # columns: runs; pulls, their mean, with low and high (95 %, Student); nine_in_ten, their 90 % quantile; wrong, the
    # share among runs that ended, with wrong_low and wrong_high (95 %, Clopper and Pearson); requests, their mean; cut,
    # the share of runs cut off
    table: pd.DataFrame
    floor: float  # mean number of pulls that no rule with this delta can beat, for the guess; 0 for delta >= 0.5
    problem: LinearBandit  # the guess
    delta: float
    budget: int | None  # pulls, for rules with a budget
    names: tuple[str, ...] = ()  # names of the items, if they are known
    unit: str = ""  # unit of the reward, if it is known

    def __repr__(self):
        return "\n".join([*guess_in_words(self), rounded(self).to_string()])

    def _repr_html_(self):
        said = "<br>".join(escape(text, quote=False) for text in guess_in_words(self))
        return f"<p>{said}</p>{rounded(self).to_html()}"

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the pulls of every rule on one axis, with the floor, the budget and the share of wrong answers."""
        import matplotlib.pyplot as plt

        table = self.table
        if ax is None:
            _, ax = plt.subplots(figsize=(7, 1.2 + 0.4 * len(table)), layout="constrained")
        beside = ax.get_yaxis_transform()
        for row, (_, rule) in enumerate(table.iterrows()):
            if rule["runs"] == 0:
                ax.annotate("not played", (0.5, row), xycoords=beside, ha="center")
                continue
            low, high = np.nan_to_num([rule["low"], rule["high"]], neginf=rule["pulls"], posinf=rule["pulls"])
            ends = [max(low, rule["pulls"] / 10), high]
            ax.plot(ends, [row, row], color=PULLS_COLOUR, lw=5, alpha=0.4, solid_capstyle="butt")
            ax.plot([rule["pulls"], rule["nine_in_ten"]], [row, row], color=PULLS_COLOUR, lw=1)
            ax.plot(rule["pulls"], row, marker=">" if rule["cut"] else "o", ms=6, color=PULLS_COLOUR)
            ax.plot(rule["nine_in_ten"], row, marker="|", ms=10, color=PULLS_COLOUR)
            said = f"wrong {_wrong(rule)}, {_whole(rule['requests'])} requests"
            ax.annotate(said, (1.02, row), xycoords=beside, va="center", fontsize=8, color=INK)
        marks = (self.floor, FLOOR, "--", "floor"), (self.budget or 0, BUDGET_COLOUR, ":", "budget")
        for pulls, colour, style, word in marks:
            if pulls > 0:
                ax.axvline(pulls, color=colour, ls=style, lw=1)
                ax.annotate(
                    word, (pulls, 1.02), xycoords=ax.get_xaxis_transform(), ha="center", color=colour, fontsize=8
                )
        ax.set(xscale="log", yticks=range(len(table)), ylim=(len(table) - 0.4, -0.6), xlabel="measurements")
        ax.set_yticklabels(table.index)
        ax.xaxis.set_major_formatter(lambda tick, _: f"{tick:,.0f}")
        return ax


def plan(
    arms: np.ndarray | Arms,
    *,
    gap: float,
    sigma: float | np.ndarray = 1.0,
    delta: float = 0.05,
    budget: int | None = None,
    rules: Iterable[str] | dict[str, Callable] | None = None,
    runs: int = 100,
    seed: int = 0,
    n_jobs: int = 1,
    scheduler: str | None = None,
    max_pulls: int = 1_000_000,
    patience: float = PATIENCE,
    progress: bool = True,
) -> Plan:
    """Play rules many times against a guess of the truth, and return the pulls, requests and errors to expect.

    Parameters
    ----------
    arms : (K, d) array_like or Arms
        Arms, one per row, or the result of `read_arms`, which also has their names.
    gap : float
        Smallest lead of the best arm that would matter, in units of reward. The guess is the hardest case: every other
        arm is at least `gap` behind, and as little more as the features allow.
    sigma : float or (K,) array_like, default 1.0
        Standard deviation of the noise, one value or one for each arm.
    delta : float, default 0.05
        Allowed error probability.
    budget : int, optional
        Number of pulls, for rules with a budget.
    rules : iterable of str, or dict of {str: callable}, optional
        Names of public rules, which get the arguments of the plan, or functions make(problem, rng) that return a fresh
        rule. The default is rage, xy_static and fws, for a `sigma` of several values also h_rage, and
        with a budget also gse, od_linbai and peace, as far as they run with the budget.
    runs : int, default 100
        Number of simulated experiments.
    seed : int, default 0
        Seed of all streams.
    n_jobs : int, default 1
        Number of processes.
    scheduler : str, optional
        Address of a dask scheduler to use instead of processes, as for `monte_carlo`.
    max_pulls : int, default 1_000_000
        Number of pulls at which runs of pull-by-pull rules are cut off. If the lower bound `Plan.floor` is larger,
        such a rule is not played.
    patience : float, default 60
        Seconds that the plan may take without a warning, which says how long it will take.
    progress : bool, default True
        Whether to show a progress bar after a minute.

    Returns
    -------
    Plan
        The `table` and the guess. The object prints as a table, and ``plot()`` draws it.

    Raises
    ------
    ValueError
        For bad input, a gap that is not positive, a single arm, an unknown rule, and a rule that cannot run (without a
        budget, for rewards 0 and 1, ...).

    Warns
    -----
    UserWarning
        Before a plan that will take longer than `patience` according to a short trial.

    Notes
    -----
    An interruption (Ctrl-C) ends the simulation. If a run is finished, the plan holds what was simulated until then.

    References
    ----------
    .. [1] Jedra, Proutiere. "Optimal best-arm identification in linear bandits". NeurIPS 2020. Theorem 1.

    Examples
    --------
    >>> planned = plan(np.eye(3), gap=1.0, budget=60, rules=["rage", "gse"], runs=20)
    >>> planned.table[["pulls", "requests"]].loc["gse"].tolist()
    [60.0, 2.0]
    """
    names = tuple(arms.names) if isinstance(arms, Arms) else ()
    features, delta = check_arms(arms.features if isinstance(arms, Arms) else arms), check_delta(delta)
    if runs != int(runs) or runs < 1:
        raise ValueError(f"runs must be a whole number of at least 1; got {runs!r}")
    check_positive("max_pulls", max_pulls)
    sigma = check_sigma(sigma, len(features)) if np.ndim(sigma) else check_positive("sigma", sigma)
    problem = LinearBandit(features, theta=hardest(features, gap=gap, sigma=sigma).theta, sigma=sigma)
    least = lower_bound(features, theta=problem.theta, delta=delta, sigma=problem.sigma) if delta < 0.5 else 0.0
    makers = players(rules, problem, _given(problem, sigma, delta, budget))
    cut_off = rules_for(given="confidence", asks=PULLS).index if least > max_pulls else []  # hardly any run would end
    expected = max(OFTEN * least, budget or 0)
    tried = {name: make for name, make in makers.items() if name not in cut_off}
    found = {name: limit(make, problem, expected, int(max_pulls)) for name, make in tried.items()}
    seconds = {name: each * runs / joblib.effective_n_jobs(n_jobs) for name, (_, each) in found.items()}
    if (whole := sum(seconds.values())) > patience:
        warnings.warn(
            f"{runs} simulated experiments with {', '.join(seconds)} will take about {duration(whole)}. Ctrl-C "
            "ends them, and the plan then holds what was simulated",
            stacklevel=2,
        )
    played, going = {}, True
    how = {"seed": seed, "n_jobs": n_jobs, "scheduler": scheduler, "progress": progress}
    for name, make in makers.items():
        played[name] = pd.DataFrame(columns=["pulls", "correct", "stopped", "requests"])
        if name in found and going:
            played[name], going = _played(name, make, problem, int(runs), found[name][0], **how)
    table = pd.DataFrame(map(row_of, played.values()), index=pd.Index(played, name="rule"))
    return Plan(table, least, problem, delta, budget, names)


def _given(problem, sigma, delta, budget):
    """Return the arguments of the rules by name; those that are None are not passed."""
    given = {"sigma": sigma, "delta": delta, "budget": budget, "theta_star": problem.theta}
    given |= {"theta_bound": float(np.linalg.norm(problem.theta)), "burn_in": problem.sigma if np.ndim(sigma) else None}
    return given | {"sigma_min": float(problem.sigma.min()), "sigma_max": float(problem.sigma.max())}
