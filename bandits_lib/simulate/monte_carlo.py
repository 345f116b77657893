"""Play many algorithms many times; the row of an algorithm and a run does not depend on what else is played.

A checkpoint keeps finished runs as lines of JSON. Its first line is the hash of the experiment.
"""

import functools
import hashlib
import json
import os
import threading
from collections.abc import Callable
from contextlib import contextmanager, nullcontext
from numbers import Real
from pathlib import Path
from time import perf_counter, sleep
from typing import NamedTuple

import joblib
import numpy as np
import pandas as pd
from threadpoolctl import ThreadpoolController
from tqdm import tqdm

from bandits_lib.checks import check_positive
from bandits_lib.files import append, locked, replace
from bandits_lib.problem import LinearBandit
from bandits_lib.simulate.fingerprint import call_number, fingerprint, source_fingerprint
from bandits_lib.simulate.play import play

# --- when a recommendation is right: for best items, level sets and the unit sphere


def best_item(problem: LinearBandit, recommendation: int) -> bool:
    """Return whether the recommended item has the largest true value; any maximiser is correct.

    Parameters
    ----------
    problem, recommendation : LinearBandit, int
        The true problem, and the row of an item.

    Returns
    -------
    bool
        True if no item's value is larger by more than rounding errors.

    Examples
    --------
    >>> from bandits_lib import instances
    >>> best_item(instances.benchmark(2), 0)
    True
    """
    best = problem.item_values.max()
    return bool(problem.item_values[recommendation] >= best - 1e-12 * max(1.0, abs(best)))


class correct_level(NamedTuple):
    """A `correct` for level sets: the recommended (M,) bool array must be the set of items of value above `threshold`.

    Attributes
    ----------
    threshold : float
        Threshold, in units of reward. `monte_carlo` refuses a problem with an item exactly on it.

    Examples
    --------
    >>> from bandits_lib import LinearBandit
    >>> correct_level(0.5)(LinearBandit(np.eye(2), theta=[0.9, 0.1]), np.array([True, False]))
    True
    """

    threshold: float

    def check(self, problem: LinearBandit) -> None:
        """Refuse a problem in which an item's value is the threshold, to 12 digits.

        Parameters
        ----------
        problem : LinearBandit
            The true problem.
        """
        distance = np.abs(problem.item_values - self.threshold)
        on = int(np.argmin(distance))
        if distance[on] <= 1e-12 * max(1.0, abs(self.threshold)):
            raise ValueError(
                f"threshold {self.threshold} is the value of item {on}: no rule can tell on which side it lies;"
                " move the threshold or drop the item"
            )

    def __call__(self, problem: LinearBandit, recommendation: np.ndarray) -> bool:
        self.check(problem)
        return bool(np.array_equal(recommendation, problem.item_values > self.threshold))


def correct_sphere(epsilon: float) -> Callable[[LinearBandit, np.ndarray], bool]:
    """Return a function for the argument `correct`: whether the regret of a unit vector is at most epsilon.

    Parameters
    ----------
    epsilon : float
        Accepted regret, positive, in units of reward.

    Returns
    -------
    callable
        Function (problem, recommendation) -> bool, with the arguments of `sphere_regret` (jedra2020).
    """
    return functools.partial(_regret_within, epsilon=check_positive("epsilon", epsilon))


def _regret_within(problem, recommendation, *, epsilon):
    return bool(sphere_regret(problem, recommendation) <= epsilon * (1 + 1e-12))


def sphere_regret(problem: LinearBandit, recommendation: np.ndarray) -> float:
    """Return the regret of the recommendation against the best unit vector: |theta| - theta'recommendation.

    Parameters
    ----------
    problem, recommendation : LinearBandit, (d,) array_like
        The true problem, with a theta, and a unit vector.

    Returns
    -------
    float
        The regret, in units of reward.

    Examples
    --------
    >>> from bandits_lib import LinearBandit
    >>> round(sphere_regret(LinearBandit(np.eye(2), theta=[2.0, 0.0]), np.array([0.6, 0.8])), 6)
    0.8
    """
    vector = np.asarray(recommendation, dtype=float)
    if problem.theta is None or vector.shape != problem.theta.shape or abs(vector @ vector - 1) > 1e-9:
        raise ValueError(f"recommendation must be a unit vector, and the problem needs a theta; got {recommendation!r}")
    return float(np.linalg.norm(problem.theta) - problem.theta @ vector)


# --- checkpoints, processes and runs


class Checkpoint:
    """Finished runs of the experiment with the hash `identity`, kept at a `place`; without a place none are kept.

    Each run is a line of JSON; a line that a killed process left incomplete is ignored.
    """

    def __init__(self, place, identity):
        self.kept, self.path = bool(place), Path(os.path.realpath(place or "."))
        self.head = json.dumps({"experiment": identity}).encode() + b"\n"
        if str(place).endswith(("/", os.sep)) or self.path.is_dir():
            self.path /= f"{identity}.jsonl"

    def read(self):
        """Return {run: rows} of the finished runs; begin a missing file."""
        if not self.kept:
            return {}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not self._begun():
            self._add(b"")
        _, *lines = self.path.read_bytes().splitlines()
        contents = [_content(line) for line in lines]
        return {content["run"]: content["rows"] for content in contents if content is not None}

    def append(self, r, rows):
        """Add the rows of a finished run to the file."""
        if self.kept:
            self._add(json.dumps({"run": r, "rows": rows}).encode() + b"\n")

    def _add(self, line):
        with locked(self.path):
            if self._begun():
                append(self.path, line, sync=False)
            else:
                replace(self.path, self.head + line)

    def _begun(self):
        """Return whether the file has its first line; refuse another first line."""
        start = b""
        if self.path.exists():
            with open(self.path, "rb") as file:
                start = file.read(len(self.head))
        if not self.head.startswith(start):
            raise ValueError(
                f"checkpoint {self.path} is of another experiment (its first line says so): an algorithm, a parameter, "
                "the seed or the library differs. Remove the file, or pass another path"
            )
        return start == self.head


def _content(line):
    """Return the content of a line, or None if it is incomplete."""
    try:
        return json.loads(line)
    except ValueError:
        return None


ANOTHER = (
    "holds another version of bandits_lib (one changed byte of what computes is another version; a rule of your own"
    " belongs in a file outside it, as notebooks/companion_your_own_rule.ipynb shows)"
)


def in_parallel(function, tasks, *, n_jobs=1, scheduler=None):
    """Yield the results of `function(*task)` in any order, from processes or a dask scheduler."""
    calls = (joblib.delayed(_below)(os.getpid(), function, task) for task in tasks)
    address = scheduler or os.environ.get("DASK_SCHEDULER_ADDRESS")
    with _cluster(address) if address else nullcontext():
        yield from joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered")(calls)


@contextmanager
def _cluster(address):
    """Let joblib use a dask scheduler; refuse one without workers, or with another version of this package."""
    from distributed import Client

    with Client(address, timeout=10, set_as_default=False) as client:
        versions = client.run(source_fingerprint, on_error="return")
        if not versions:
            raise RuntimeError(f"the scheduler {address} has no workers: start some with `dask worker`")
        for worker, theirs in versions.items():
            if theirs != source_fingerprint():
                why = f"cannot import bandits_lib ({theirs!r})" if isinstance(theirs, Exception) else ANOTHER
                raise RuntimeError(f"dask worker {worker} {why}: install this version there and restart the worker")
        with joblib.parallel_config(backend="dask", client=client):
            yield


def _below(parent, function, task):
    end_with(parent)
    return function(*task)


@functools.cache
def end_with(parent):
    """End this process when its parent ends, because a joblib worker would not notice a kill of its parent."""

    def watch():
        while os.getppid() == parent:
            sleep(1)
        os._exit(1)

    if os.getppid() == parent:
        threading.Thread(target=watch, daemon=True).start()


BAR = {"desc": "runs", "delay": 60, "mininterval": 5, "leave": False}  # shown after a minute


def monte_carlo(
    algorithms: dict[str, Callable] | Callable,
    make_problem: LinearBandit | Callable | dict,
    *,
    by: str | list[str] | None = None,
    runs: int = 20,
    seed: int = 0,
    streams: str = "shared",
    n_jobs: int = 1,
    correct: Callable = best_item,
    measure: Callable | None = None,
    max_pulls: int | None = None,
    misspecified: bool = False,
    trace: int | Callable = 0,
    checkpoint: str | os.PathLike | None = None,
    scheduler: str | None = None,
    progress: bool = True,
) -> pd.DataFrame:
    """Return a table of `runs` runs of every algorithm, on problems drawn by `make_problem`.

    Parameters
    ----------
    algorithms : dict of {str: callable}, or callable
        {name: make}, where make(problem, rng) returns a fresh generator; rng belongs to the rule. With `by` it may be
        a function (setting) -> {name: make}.
    make_problem : LinearBandit, callable, or dict of these
        Function (rng) -> LinearBandit that draws the problem of a run, or a LinearBandit for all runs. With `by`,
        {setting: function or LinearBandit}.
    by : str or list of str, optional
        Name of the column of the settings; a list of names for settings that are tuples.
    runs : int, default 20
        Number of runs, at least 1.
    seed : int, default 0
        Run r draws problem, rule and rewards from SeedSequence(seed, spawn_key=(r,)).spawn(3), so another algorithm,
        another setting or more runs change no other row.
    streams : str, default "shared"
        With `by`: "shared" gives run r the same streams in every setting, so settings are not independent. "own" uses
        SeedSequence(seed, spawn_key=(h, r)), where h is a hash of the setting's value (5 and 5.0 are the same value):
        then settings are independent. Algorithms of a setting and run always share their streams.
    n_jobs : int, default 1
        Number of processes (joblib).
    correct : callable, default best_item
        Function (problem, recommendation) -> bool.
    measure : callable, optional
        Function (problem, Run) -> {column: number} for further columns.
    max_pulls : int, optional
        Number of pulls at which a run is cut off, by default none.
    misspecified : bool, default False
        Whether rules may be told another noise level than the problem has; otherwise such rules are refused (`play`).
    trace : int or callable, default 0
        Pulls between two records of a rule that pulls one by one (`play`), or a function (problem) that returns this
        number. `measure` finds the records in `Run.trace`.
    checkpoint : path or str, optional
        A file to which finished runs are added; after an interruption they are not played again. Its first line is a
        hash of the texts that decide the rows: the modules of the library that compute, the executed cells or the
        script, and the user's modules, but not files that a rule reads. A file with another hash is refused. A path is
        a folder if it exists as one, if it ends in /, or if `by` is given; the file in it is then named after the hash.
        With "" or None nothing is kept.
    scheduler : str, optional
        Address of a dask scheduler, by default DASK_SCHEDULER_ADDRESS if that is set.
    progress : bool, default True
        Whether to show a bar on standard error after a minute.

    Returns
    -------
    pandas.DataFrame
        A row per algorithm and run, ordered by setting, algorithm and run, with the columns algorithm, run, pulls,
        correct, stopped, recommendation, seconds, and those of `measure` and `by`. `correct` is False for runs that did
        not stop.

    Raises
    ------
    ValueError
        For no algorithms, `runs` < 1, settings without `by`, a checkpoint of another experiment, a problem that
        `correct` refuses, a rule with another noise level than the problem, and own streams for settings that are not
        numbers, strings or tuples of these.

    Examples
    --------
    >>> from bandits_lib import instances
    >>> from bandits_lib.fixed_confidence import rage
    >>> players = {"rage": lambda problem, rng: rage(problem.arms, delta=0.05)}
    >>> table = monte_carlo(players, {d: instances.benchmark(d, angle=1.0) for d in (2, 3)}, by="d", runs=2)
    >>> table[["d", "correct"]].to_numpy().tolist()
    [[2, True], [2, True], [3, True], [3, True]]
    """
    if isinstance(make_problem, dict) != (by is not None):
        got = f"{type(make_problem).__name__} and by={by!r}"
        raise ValueError(f"make_problem must be a dictionary of settings if `by` is given, and only then; got {got}")
    if streams not in ("shared", "own"):
        raise ValueError(f"streams must be 'shared' or 'own'; got {streams!r}")
    settings = make_problem if isinstance(make_problem, dict) else {(): make_problem}
    names = [by] if isinstance(by, str) else by or []
    folder = f"{checkpoint}/" if checkpoint and by is not None else checkpoint
    tasks = []
    for setting, make in settings.items():
        players = dict(algorithms(setting) if callable(algorithms) else algorithms)
        of_setting = (seed, _number(setting)) if streams == "own" and by is not None else seed
        tasks.append((players, make, of_setting, correct, measure, max_pulls, trace))
    played = _rows(tasks, [*settings], runs, misspecified, folder, progress, n_jobs=n_jobs, scheduler=scheduler)
    tables = []
    for setting, (players, *_), rows in zip(settings, tasks, played, strict=True):
        values = (setting,) if isinstance(by, str) else setting
        tables.append(_frame(rows, list(players)).assign(**dict(zip(names, values, strict=True))))
    return pd.concat(tables, ignore_index=True)


def _number(setting):
    """Return a number of 64 bits that depends only on the value of a setting."""
    return int.from_bytes(hashlib.sha256(_value(setting).encode()).digest()[:8], "big")


def _value(setting):
    """Return the text of a setting; a tuple of one value is that value, and 5 is 5.0."""
    if isinstance(setting, tuple):
        return _value(setting[0]) if len(setting) == 1 else f"({','.join(map(_value, setting))})"
    if isinstance(setting, Real):
        return repr(float(setting))
    if isinstance(setting, str):
        return repr(str(setting))
    raise ValueError(
        f"a setting with streams of its own must be a number, a string or a tuple of these; got {setting!r}"
    )


def _rows(tasks, settings, runs, misspecified, checkpoint, progress, **where):
    """Return the rows of all runs for each task; tasks share one queue, so no worker waits for the end of a setting."""
    for players, *_ in tasks:
        if not players or runs < 1:
            raise ValueError(
                f"monte_carlo needs at least one algorithm and one run; got {len(players)} algorithms and runs={runs}"
            )
    called, of_settings = call_number(), zip(settings, tasks, strict=True)
    keys = (_key(called, setting, task, misspecified) if checkpoint else "" for setting, task in of_settings)
    keeps = [Checkpoint(checkpoint, key) for key in keys]
    done = [keep.read() for keep in keeps]
    unfinished = [(k, r, *task, misspecified) for k, task in enumerate(tasks) for r in range(runs) if r not in done[k]]
    played = in_parallel(one_run, unfinished, **where)
    if progress:  # a bar that is not shown still takes a lock that forked processes share
        played = tqdm(played, total=len(unfinished), **BAR)
    for k, r, rows in played:
        done[k][r] = rows
        keeps[k].append(r, rows)
    return [[row for r in range(runs) for row in finished[r]] for finished in done]


def _key(called, setting, task, misspecified):
    """Return the key of a checkpoint: of the code that was executed, and of this call and setting."""
    players, _, seed, _, _, max_pulls, _ = task
    files = [getattr(make, "source", "") for make in players.values()]  # of rules that `own_rule.load` has read
    return fingerprint(called, repr(setting), [*players], seed, max_pulls, misspecified, *files)


def _frame(rows, order):
    """Return the rows as a DataFrame, algorithm by algorithm."""
    return pd.DataFrame(sorted(rows, key=lambda row: order.index(row["algorithm"])))


@functools.cache
def _threads():
    return ThreadpoolController()


def one_run(task, r, algorithms, make_problem, seed, correct, measure, max_pulls, trace, misspecified):
    """Return the numbers of the task and the run, and its rows as plain JSON values, which a checkpoint keeps."""
    whole, *of_setting = seed if isinstance(seed, tuple) else (seed,)
    problem_seed, rule_seed, reward_seed = np.random.SeedSequence(whole, spawn_key=(*of_setting, r)).spawn(3)
    with _threads().limit(limits=1):
        problem = make_problem(np.random.default_rng(problem_seed)) if callable(make_problem) else make_problem
        if isinstance(correct, correct_level):
            correct.check(problem)
        rows, every = [], trace(problem) if callable(trace) else trace
        for name, make in algorithms.items():
            rule, rewards = np.random.default_rng(rule_seed), np.random.default_rng(reward_seed)
            start = perf_counter()
            run = play(make(problem, rule), problem, rewards, max_pulls, misspecified=misspecified, trace=every)
            row = {"algorithm": name, "run": r, "pulls": int(run.counts.sum())}
            row |= _verdict(problem, run, correct) | {"seconds": perf_counter() - start}
            rows.append(row | ({} if measure is None else measure(problem, run)))
    return task, r, json.loads(json.dumps(rows, default=_plain))


def _verdict(problem, run, correct):
    if not run.stopped:
        return {"correct": False, "stopped": False, "recommendation": None}
    recommendation = run.result.recommendation
    shown = recommendation if isinstance(recommendation, int | np.integer | np.ndarray) else None
    return {"correct": bool(correct(problem, recommendation)), "stopped": True, "recommendation": shown}


def _plain(value):
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"measure must return numbers, strings or lists; got {type(value).__name__}")
