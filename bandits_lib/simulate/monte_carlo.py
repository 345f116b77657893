"""Many runs of many algorithms: one row per run, the same problem and the same streams whatever runs beside it."""

import contextlib
import functools
import json
import os
import threading
from pathlib import Path
from time import perf_counter, sleep
from typing import NamedTuple, TextIO

import joblib
import numpy as np
import pandas as pd
from threadpoolctl import ThreadpoolController
from tqdm import tqdm

from bandits_lib.checks import check_positive
from bandits_lib.simulate.fingerprint import fingerprint, source_fingerprint
from bandits_lib.simulate.intervals import student_interval, wilson_interval
from bandits_lib.simulate.play import play

BAR = {"desc": "runs", "delay": 60, "mininterval": 5, "leave": False}  # a minute of silence, then a bar
COLUMNS = ["algorithm", "run", "pulls", "correct", "stopped", "recommendation", "seconds"]


def best_item(problem, recommendation):
    """Whether the recommended row of items has the best true value; any maximiser is correct.

    problem : LinearBandit; recommendation : int. Returns a bool.

    >>> from bandits_lib import instances
    >>> best_item(instances.benchmark(2), 0)
    True
    """
    best = problem.item_values.max()
    return bool(problem.item_values[recommendation] >= best - 1e-12 * max(1.0, abs(best)))


class correct_level(NamedTuple):
    """A `correct` for level sets: is the recommended (M,) of bool the set of items of value above `threshold`?

    threshold : reward. An item exactly on it has no right answer: `monte_carlo` refuses the problem before any pull.

    >>> from bandits_lib import LinearBandit
    >>> correct_level(0.5)(LinearBandit(np.eye(2), theta=[0.9, 0.1]), np.array([True, False]))
    True
    """

    threshold: float

    def check(self, problem):
        """Refuse a problem with an item whose value is the threshold, to 12 digits.

        problem : LinearBandit. Raises ValueError that names the item.

        >>> from bandits_lib import LinearBandit
        >>> correct_level(0.5).check(LinearBandit(np.eye(2), theta=[0.9, 0.1]))
        """
        distance = np.abs(problem.item_values - self.threshold)
        on = int(np.argmin(distance))
        if distance[on] <= 1e-12 * max(1.0, abs(self.threshold)):
            raise ValueError(
                f"threshold {self.threshold} is the value of item {on}: no rule can tell on which side it lies;"
                " move the threshold or drop the item"
            )

    def __call__(self, problem, recommendation):
        """Whether every item is on its right side."""
        self.check(problem)
        return bool(np.array_equal(recommendation, problem.item_values > self.threshold))


def correct_sphere(epsilon):
    """A `correct` for unit vectors recommended on the unit sphere: is the regret at most epsilon (jedra2020, Def. 2)?

    epsilon : accepted regret, in units of reward. Returns function (problem, recommendation (d,)) -> bool.
    Raises ValueError for an epsilon that is not positive.

    >>> from bandits_lib import LinearBandit
    >>> correct_sphere(0.1)(LinearBandit(np.eye(2), theta=[1.0, 0.0]), np.array([1.0, 0.0]))
    True
    """
    return functools.partial(_regret_within, epsilon=check_positive("epsilon", epsilon))


def _regret_within(problem, recommendation, *, epsilon):
    return bool(sphere_regret(problem, recommendation) <= epsilon * (1 + 1e-12))


def sphere_regret(problem, recommendation):
    """How much worse than the best unit vector `recommendation` (d,) is: |theta| - theta'recommendation.

    problem : LinearBandit. Returns a float, in units of reward.
    Raises ValueError for a problem without theta, and for anything but a unit vector.

    >>> from bandits_lib import LinearBandit
    >>> round(float(sphere_regret(LinearBandit(np.eye(2), theta=[2.0, 0.0]), np.array([0.6, 0.8]))), 6)
    0.8
    """
    vector = np.asarray(recommendation, dtype=float)
    if problem.theta is None or vector.shape != problem.theta.shape or abs(vector @ vector - 1) > 1e-9:
        raise ValueError(f"recommendation must be a unit vector, and the problem have a theta; got {recommendation!r}")
    return float(np.linalg.norm(problem.theta) - problem.theta @ vector)


def monte_carlo(
    algorithms,
    make_problem,
    *,
    runs=20,
    seed=0,
    n_jobs=1,
    correct=best_item,
    measure=None,
    max_pulls=None,
    checkpoint=None,
    scheduler=None,
    progress=True,
):
    """Play every algorithm `runs` times on problems drawn by `make_problem`, and return one row per algorithm and run.

    Parameters
    ----------
    algorithms : {name: make}, make(problem, rng) -> a fresh generator; rng is the rule's own.
    make_problem : function (rng) -> LinearBandit; the same problem for every algorithm of a run.
    runs, seed : run r draws problem, rule and rewards from SeedSequence(seed, spawn_key=(r,)).spawn(3), so adding an
        algorithm, or more runs, changes no other row.
    n_jobs : processes (joblib); scheduler : address of a dask scheduler in their place, "" or None for none.
    correct : function (problem, recommendation) -> bool; measure : function (problem, Run) -> {column: number}.
    max_pulls : cut every run off there. progress : a bar on standard error after a minute.
    checkpoint : a file that survives a kill: finished runs are appended and not played again. Its first line holds a
        hash of everything that decides the rows (the library's source included); a file of another experiment is
        refused. A folder (it exists, or the path ends in /): the file is named by the hash, so none is ever refused.
        "" or None: nothing is kept.

    Returns a DataFrame with columns algorithm, run, pulls, correct, stopped, recommendation, seconds and those of
    `measure`, ordered by algorithm (as given) and run. `correct` is False for runs that did not stop.
    Raises ValueError for no algorithms, runs < 1, or a checkpoint of another experiment.

    >>> from bandits_lib import instances
    >>> from bandits_lib.fixed_confidence import rage
    >>> players = {"rage": lambda problem, rng: rage(problem.arms, delta=0.05)}
    >>> table = monte_carlo(players, lambda rng: instances.benchmark(2, angle=1.0), runs=3)
    >>> table["correct"].tolist()
    [True, True, True]
    """
    if not algorithms or runs < 1:
        raise ValueError(f"monte_carlo needs at least one algorithm and one run; got {len(algorithms)} and {runs}")
    task = (dict(algorithms), make_problem, seed, correct, measure, max_pulls)
    done, keep = _resume(checkpoint, fingerprint(source_fingerprint(), *task))
    left = [r for r in range(runs) if r not in done]
    with keep, _backend(scheduler):
        parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered")
        finished = parallel(joblib.delayed(_run_below)(os.getpid(), r, *task) for r in left)
        for r, rows in tqdm(finished, total=len(left), disable=not progress, **BAR):
            done[r] = rows
            keep.append(r, rows)
    rows = [row for r in range(runs) for row in done[r]]
    order = {name: position for position, name in enumerate(algorithms)}
    rows.sort(key=lambda row: order[row["algorithm"]])
    return pd.DataFrame(rows, columns=list(dict.fromkeys([*COLUMNS, *(key for row in rows for key in row)])))


def _run_below(parent, *task):
    end_with(parent)
    return one_run(*task)


@functools.cache
def end_with(parent):
    """End this process when its parent does: a joblib worker does not notice a kill, and would compute on."""

    def watch():
        while os.getppid() == parent:
            sleep(1)
        os._exit(1)

    if os.getppid() == parent:
        threading.Thread(target=watch, daemon=True).start()


@functools.cache
def _threads():
    return ThreadpoolController()


def one_run(r, algorithms, make_problem, seed, correct, measure, max_pulls):
    """One run, as plain JSON values, so that computed, sent and resumed rows are the same to the digit.

    r : number of the run; algorithms, make_problem, seed, correct, measure, max_pulls : as for `monte_carlo`.
    Returns (r, list of rows). Raises ValueError for a problem that `correct` refuses.
    """
    problem_seed, rule_seed, reward_seed = np.random.SeedSequence(seed, spawn_key=(r,)).spawn(3)
    with _threads().limit(limits=1):
        problem = make_problem(np.random.default_rng(problem_seed))
        if isinstance(correct, correct_level):
            correct.check(problem)
        rows = []
        for name, make in algorithms.items():
            rule, rewards = np.random.default_rng(rule_seed), np.random.default_rng(reward_seed)
            start = perf_counter()
            run = play(make(problem, rule), problem, rewards, max_pulls)
            row = {"algorithm": name, "run": r, "pulls": int(run.counts.sum())}
            row |= _verdict(problem, run, correct) | {"seconds": perf_counter() - start}
            rows.append(row | ({} if measure is None else measure(problem, run)))
    return r, json.loads(json.dumps(rows, default=_plain))


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


def summary(table, by=(), level=0.95):
    """Estimates with intervals, per algorithm (and per value of the columns `by`).

    table : as `monte_carlo` returns it; level : of confidence. Returns a DataFrame indexed by (*by, algorithm), in the
    table's order, with runs, mean pulls, se (ddof 1), low, high (Student), error_rate among the runs that stopped,
    error_low, error_high (Wilson), and not_stopped, the number of runs that were cut off (their pulls count in the mean
    as they are).

    >>> import pandas as pd
    >>> table = pd.DataFrame({"algorithm": "a", "pulls": [90, 110], "correct": True, "stopped": True})
    >>> summary(table).loc["a", ["mean", "se", "error_rate"]].tolist()
    [100.0, 10.0, 0.0]
    """
    keys = [*by, "algorithm"]
    groups = table.groupby(keys, sort=False)
    rows = [dict(zip(keys, key, strict=True)) | _estimates(rows, level) for key, rows in groups]
    return pd.DataFrame(rows).set_index(keys)


def _estimates(rows, level):
    stopped = int(rows["stopped"].sum())
    errors = stopped - int(rows["correct"].sum())
    mean, se, low, high = student_interval(rows["pulls"], level)
    rate, error_low, error_high = wilson_interval(errors, stopped, level)
    pulls = {"runs": len(rows), "mean": mean, "se": se, "low": low, "high": high}
    rates = {"error_rate": rate, "error_low": error_low, "error_high": error_high}
    return pulls | rates | {"not_stopped": len(rows) - stopped}


class _Checkpoint:
    """A file of JSON lines: the hash of the experiment, then one line per finished run."""

    def __init__(self, path, identity):
        self.path, self.identity = path, identity
        self.file: TextIO | None = None

    def __enter__(self):
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            fresh = not self.path.exists()
            self.file = open(self.path, "a")
            if fresh:
                self._line({"experiment": self.identity})
        return self

    def __exit__(self, *error):
        if self.file is not None:
            self.file.close()

    def append(self, r, rows):
        if self.file is not None:
            self._line({"run": r, "rows": rows})

    def _line(self, content):
        print(json.dumps(content), file=self.file, flush=True)

    def read(self):
        """{run: rows} of the finished runs; a last line cut short by a kill is dropped from the file."""
        if self.path is None or not self.path.exists():
            return {}
        whole, newline, _ = self.path.read_bytes().rpartition(b"\n")
        lines = whole.splitlines()
        if not lines:
            self.path.unlink()
            return {}
        if json.loads(lines[0]).get("experiment") != self.identity:
            raise ValueError(
                f"checkpoint {self.path} is of another experiment (its first line says so): an algorithm, a parameter, "
                "the seed or the library differs. Remove the file, or name another"
            )
        os.truncate(self.path, len(whole + newline))
        return {line["run"]: line["rows"] for line in map(json.loads, lines[1:])}


def _resume(checkpoint, identity):
    """({run: rows} already done, the checkpoint to append to)."""
    if not checkpoint:
        path = None
    else:
        folder = str(checkpoint).endswith(("/", os.sep)) or Path(checkpoint).is_dir()
        path = Path(checkpoint) / f"{identity}.jsonl" if folder else Path(checkpoint)
    keep = _Checkpoint(path, identity)
    return keep.read(), keep


@contextlib.contextmanager
def _backend(scheduler):
    """joblib's own processes, or a dask cluster whose workers have been seen to hold this very package."""
    scheduler = scheduler or os.environ.get("DASK_SCHEDULER_ADDRESS")
    if not scheduler:
        yield
        return
    from distributed import Client

    with Client(scheduler, timeout=10, set_as_default=False) as client:
        check_workers(client)
        with joblib.parallel_config(backend="dask", client=client):
            yield


def check_workers(client):
    """Refuse a dask cluster without workers, or one whose workers lack this package or hold another version of it.

    client : of dask. Raises RuntimeError that says which worker and what to do; without this check joblib's dask
    backend hangs.
    """
    if not client.scheduler_info()["workers"]:
        raise RuntimeError(f"the scheduler {client.scheduler.address} has no workers: start some with `dask worker`")
    ours = source_fingerprint()
    for worker, theirs in client.run(_worker_source, on_error="return").items():
        if theirs != ours:
            failed = isinstance(theirs, Exception)
            reason = f"cannot import bandits_lib ({theirs!r})" if failed else "holds another version of bandits_lib"
            raise RuntimeError(f"dask worker {worker} {reason}: install this one there and restart the worker")


def _worker_source():
    import importlib

    return importlib.import_module("bandits_lib.simulate.fingerprint").source_fingerprint()
