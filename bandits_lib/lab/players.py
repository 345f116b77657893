"""Rules made ready for a plan: called with its arguments, their requests counted, their time tried out beforehand."""

import inspect
import warnings
from functools import partial
from time import perf_counter

import joblib
import numpy as np

from bandits_lib.lab.rules import ADVICE, BUDGET, CONFIDENCE, OWN, PULLS, rule_named, rules_for
from bandits_lib.protocol import Loop, Result
from bandits_lib.simulate.play import play

FIRST = {CONFIDENCE: ("rage", "xy_static", "lazy_track_and_stop"), BUDGET: ("gse", "od_linbai", "peace")}
WARM, TRIAL = 100, 100_000  # pulls of the two short runs that tell how long all will take
OFTEN = 25  # pulls of a rule that decides pull by pull, in floors, at delta = .05: a rule of thumb for its time
PATIENCE = 60.0  # seconds that a rule may take without a warning


def players(rules, problem, given):
    """{name: make(problem, rng)} for names, a dict, or None, where every rule counts its requests; ValueError."""
    if isinstance(rules, str):
        raise ValueError(f"rules must be a list of names; got {rules!r}: write rules=[{rules!r}]")
    ready = {}
    for name in _defaults(given) if rules is None else rules:
        try:
            make = rules[name] if isinstance(rules, dict) else maker(name, given)
            next(make(problem, np.random.default_rng(0)), None)
        except (TypeError, ValueError) as error:
            if rules is not None or name in FIRST[CONFIDENCE]:
                raise ValueError(f"{name} cannot be planned: {error}") from error
            warnings.warn(f"{name} is left out of the plan: {error}", stacklevel=3)
        else:
            ready[name] = partial(counted, make)
    if not ready:
        raise ValueError("rules must name at least one rule")
    return ready


def _defaults(given):
    """Rules that a laboratory tries first."""
    names = FIRST[CONFIDENCE] + ("h_rage",) * (np.ndim(given["sigma"]) > 0)
    names += FIRST[BUDGET] * (given["budget"] is not None)
    return [name for name in names if given["items"] is None or name in rules_for(items=True).index]


def maker(name, given):
    """The function make(problem, rng) of a public rule, with those of the arguments that it has; ValueError."""
    parameters = inspect.signature(rule_named(name)).parameters
    if "arms" not in parameters:
        raise ValueError("it measures every direction, not a list of arms")
    if given["items"] is not None and "items" not in parameters:
        raise ValueError(f"it ranks the arms alone; items can be ranked by {', '.join(rules_for(items=True).index)}")
    if "budget" in parameters and given["budget"] is None:
        raise ValueError("it needs budget=, a number of pulls")
    if ADVICE[name][2] == OWN and "budget" not in parameters and given.get("noise", "bernoulli") != "bernoulli":
        raise ValueError(
            "it is for rewards 0 and 1: plan it with theta= and noise='bernoulli', such as plan(np.eye(2), "
            f"theta=[0.3, 0.1], noise='bernoulli', rules=[{name!r}]), where arms @ theta are the rates"
        )
    arguments = {key: given[key] for key in parameters if given.get(key) is not None}
    return partial(_fresh, name, arguments, "rng" in parameters)


def _fresh(name, arguments, draws, problem, rng):
    return rule_named(name)(problem.arms, **arguments, **({"rng": rng} if draws else {}))


def counted(make, problem, rng, loops=None):
    """The rule that `make` makes, its result with (batches, pulls in them) for a history; Loops also into `loops`."""
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


def requests(problem, run):
    """How often a `counted` rule asked: every batch is one request, and so is every pull outside of batches."""
    if run.result is None:
        return {"requests": np.nan}
    batches, pulls = run.result.history
    return {"requests": int(batches + run.counts.sum() - pulls)}


def hopeless(name, floor, max_pulls):
    """Whether next to no run of the rule could end before it is cut off."""
    return name in ADVICE and ADVICE[name][:2] == (CONFIDENCE, PULLS) and floor > max_pulls


def limit(name, make, problem, expected, runs, n_jobs, max_pulls):
    """The pulls at which runs are cut off, None for a rule in batches, which costs the same at any number of pulls.

    A short trial tells, and warns of a rule that will take long; `expected` pulls are those of a rule pull by pull.
    """
    loops: list = []
    for pulls in (WARM, TRIAL):
        run, seconds = _timed(make, problem, pulls, loops)
    if not run.stopped and loops:
        expected = min(max_pulls, max(expected, TRIAL))
        seconds *= expected / run.counts.sum()
    elif not run.stopped:
        run, seconds = _timed(make, problem, None, loops)
        expected = int(run.counts.sum())
    seconds *= runs / joblib.effective_n_jobs(n_jobs)
    if seconds > PATIENCE:
        warnings.warn(
            f"{name} will take about {_duration(seconds)} ({runs} runs of about {expected:,.0f} pulls): shorter with "
            "fewer runs=, a smaller max_pulls=, more processes n_jobs=, or without it in rules=",
            stacklevel=3,
        )
    return max_pulls if loops else None


def _timed(make, problem, max_pulls, loops):
    """A run and the seconds it took."""
    start = perf_counter()
    run = play(make(problem, np.random.default_rng(0), loops), problem, np.random.default_rng(1), max_pulls)
    return run, perf_counter() - start


def _duration(seconds):
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"
