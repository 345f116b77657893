"""Simulate how many pulls rules need, and how often they are wrong, for a guess of the truth.

`plan` plays every rule many times against a guess of the truth, which `hardest` makes. Its numbers hold for this guess
only, while the guarantees of the rules hold for every truth. The floor is a theorem: no rule that is wrong with
probability at most delta on every problem needs fewer pulls on average on this problem (jedra2020, Theorem 1).
"""

import inspect
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from math import ceil
from time import perf_counter
from typing import Any, NamedTuple

import joblib
import numpy as np
import pandas as pd

from bandits_lab.arms import Arms
from bandits_lab.measurements import several
from bandits_lib.checks import check_arms, check_delta, check_positive, check_sigma
from bandits_lib.complexity import hardest, lower_bound
from bandits_lib.problem import LinearBandit
from bandits_lib.protocol import OWN, Loop, Result
from bandits_lib.rules import rule_named, rules_for
from bandits_lib.simulate.intervals import student_interval
from bandits_lib.simulate.monte_carlo import monte_carlo
from bandits_lib.simulate.play import play

FIRST, FIRST_WITH_A_BUDGET = ("rage", "xy_static", "fws"), ("gse", "od_linbai", "peace")
PATIENCE = 60.0  # seconds that a plan may take without a warning


def players(rules, problem, given):
    """Return {name: make(problem, rng)} for names, a dict or None, where every rule counts its requests."""
    if isinstance(rules, str):
        raise ValueError(f"rules must be a list of names; got {rules!r}: write rules=[{rules!r}]")
    ready = {}
    for name in _defaults(given) if rules is None else rules:
        try:
            make = rules[name] if isinstance(rules, dict) else maker(name, given)
            if not isinstance(rules, dict) and rules_for().loc[name, "noise"] == OWN:
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
    draws = "rng" in parameters
    return lambda problem, rng: rule_named(name)(problem.arms, **arguments, **({"rng": rng} if draws else {}))


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


def limit(make, problem, max_pulls):
    """Return the pulls at which runs are cut off, and the seconds of a run; the first of two runs also compiles.

    A rule in batches is not cut off (None), because its time does not grow with its pulls.
    """
    loops: list = []
    for _ in range(2):
        run, seconds = _timed(make, problem, max_pulls, loops)
    if not run.stopped and not loops:
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


def _measured(rows, problem, run):
    """Return the number of requests of a run for `monte_carlo`, and add its row to `rows`."""
    right, asked = False, np.nan
    if run.result is not None:
        batches, in_batches = run.result.history  # a pull outside of batches is a request of its own
        right = run.result.recommendation == problem.best_item
        asked = int(batches + run.counts.sum() - in_batches)
    rows.append({"pulls": int(run.counts.sum()), "correct": right, "stopped": run.stopped, "requests": asked})
    return {"requests": asked}


COLUMNS = ["runs", "pulls", "low", "high", "nine_in_ten", "wrong", "requests", "cut"]
QUANTILE = 0.9  # of the pulls, which nine of ten experiments do not exceed


def row_of(rows):
    """Return the row of the table for the runs of one rule."""
    mean, _, low, high = student_interval(rows["pulls"])
    ended = int(rows["stopped"].sum())
    return {
        "runs": len(rows),
        "pulls": mean,
        "low": low,
        "high": high,
        "nine_in_ten": np.quantile(rows["pulls"].to_numpy(float), QUANTILE, method="higher"),
        "wrong": (ended - int(rows["correct"].sum())) / ended if ended else np.nan,
        "requests": rows["requests"].mean(),
        "cut": 1 - ended / len(rows),
    }


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


def _cells(row):
    """Return the printed row of a rule."""
    ended = round(row["runs"] * (1 - row["cut"]))
    least = "at least " if row["cut"] else ""
    if not row["runs"]:
        return dict.fromkeys(("measurements", "nine in ten", "wrong", "requests"), "not played")
    between = f" ({row['low']:,.0f} to {row['high']:,.0f})" if row["low"] < row["high"] < np.inf else ""
    return {
        "measurements": f"{least}{row['pulls']:,.0f}{between}",
        "nine in ten": f"{least}{row['nine_in_ten']:,.0f}",
        "wrong": f"{round(row['wrong'] * ended)} of {ended}" if ended else "?",
        "requests": f"{row['requests']:,.0f}" if ended else "?",
    }


class Plan(NamedTuple):
    """The pulls, errors and requests to expect of several rules if a guess is right; it prints as a table."""

    # columns: runs; pulls, their mean, with low and high (95 %, Student); nine_in_ten, their 90 % quantile; wrong, the
    # share among runs that ended; requests, their mean; cut, the share of runs cut off
    table: pd.DataFrame
    floor: float  # mean number of pulls that no rule with this delta can beat, for the guess; 0 for delta >= 0.5
    problem: LinearBandit  # the guess
    delta: float
    names: tuple[str, ...] = ()  # names of the items, if they are known
    unit: str = ""  # unit of the reward, if it is known

    def __repr__(self):
        rows = pd.DataFrame([_cells(row) for _, row in self.table.iterrows()], index=self.table.index)
        return "\n".join([*guess_in_words(self), rows.to_string()])


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
        The `table` and the guess. The object prints as a table.

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
    slow = rules_for().query("given == 'confidence' and asks == 'pull by pull'").index
    cut_off = slow if least > max_pulls else []  # hardly any run would end
    tried = {name: make for name, make in makers.items() if name not in cut_off}
    found = {name: limit(make, problem, int(max_pulls)) for name, make in tried.items()}
    seconds = {name: each * runs / joblib.effective_n_jobs(n_jobs) for name, (_, each) in found.items()}
    if (whole := sum(seconds.values())) > patience:
        warnings.warn(
            f"{runs} simulated experiments with {', '.join(seconds)} will take about {duration(whole)}. Ctrl-C "
            "ends them, and the plan then holds what was simulated",
            stacklevel=2,
        )
    played: dict[str, Any] = {}
    how: dict[str, Any] = {
        "runs": int(runs),
        "seed": seed,
        "n_jobs": n_jobs,
        "scheduler": scheduler,
        "progress": progress,
    }
    try:
        for name, make in tried.items():
            played[name] = []  # the rows of the runs that are finished, if Ctrl-C ends them
            measure = partial(_measured, played[name])
            played[name] = monte_carlo({name: make}, problem, max_pulls=found[name][0], measure=measure, **how)
    except KeyboardInterrupt:
        if not any(map(len, played.values())):
            raise
    none = {"runs": 0, "cut": 1.0}
    rows = [row_of(pd.DataFrame(played[name])) if len(played.get(name, ())) else none for name in makers]
    table = pd.DataFrame(rows, pd.Index(makers, name="rule"), COLUMNS)
    return Plan(table, least, problem, delta, names)


def _given(problem, sigma, delta, budget):
    """Return the arguments of the rules by name; those that are None are not passed."""
    given = {"sigma": sigma, "delta": delta, "budget": budget, "theta_star": problem.theta}
    given |= {"theta_bound": float(np.linalg.norm(problem.theta)), "burn_in": problem.sigma if np.ndim(sigma) else None}
    return given | {"sigma_min": float(problem.sigma.min()), "sigma_max": float(problem.sigma.max())}
