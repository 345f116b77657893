"""Many runs of many algorithms: one row per run, the same problem and the same streams whatever runs beside it.

Finished runs on disk, so that a kill loses none: JSON lines under the hash of the experiment that they belong to.

The first line is the hash, each of the others one finished run. The place is the path of the file, or a folder (it is
there, or the path ends in /) in which the hash names the file; "" or None for no file.

Where runs are computed: in processes that end with their parent, or on a dask cluster that holds this package.
"""

import contextlib
import functools
import hashlib
import json
import os
import threading
import warnings
from numbers import Real
from pathlib import Path
from time import perf_counter, sleep
from zlib import crc32

import joblib
import numpy as np
import pandas as pd
from threadpoolctl import ThreadpoolController
from tqdm import tqdm

from bandits_lib.files import append, locked, replace
from bandits_lib.simulate.correct import best_item, correct_level
from bandits_lib.simulate.fingerprint import fingerprint, source_fingerprint
from bandits_lib.simulate.play import play


class Checkpoint:
    """Finished runs, at a `place`, of the experiment whose hash is `identity`; nothing is kept without a place."""

    def __init__(self, place, identity):
        self.kept, self.path = bool(place), Path(os.path.realpath(place or "."))
        self.head = _line({"experiment": identity})
        if str(place).endswith(("/", os.sep)) or self.path.is_dir():
            self.path /= f"{identity}.jsonl"

    def read(self):
        """{run: rows} of the finished runs, without a last line that a kill cut short; begins the file if need be."""
        if not self.kept:
            return {}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not self._begun():
            self._add(b"")
        lines = self.path.read_bytes().rpartition(b"\n")[0].splitlines()[1:]
        found = [_content(line) for line in lines]
        if damaged := [str(number) for number, content in enumerate(found, start=2) if content is None]:
            warnings.warn(
                f"{self.path}: lines {', '.join(damaged)} are damaged, their runs are played again", stacklevel=2
            )
        return {content["run"]: content["rows"] for content in found if content is not None}

    def append(self, r, rows):
        """Keep the rows of a finished run."""
        if self.kept:
            self._add(_line({"run": r, "rows": rows}))

    def _add(self, line):
        with locked(self.path):
            if self._begun():
                append(self.path, line, sync=False)
            else:
                replace(self.path, self.head + line)

    def _begun(self):
        """Whether the file has its first line; ValueError if that is another."""
        start = b""
        if self.path.exists():
            with open(self.path, "rb") as file:
                start = file.read(len(self.head))
        if not self.head.startswith(start):
            raise ValueError(
                f"checkpoint {self.path} is of another experiment (its first line says so): an algorithm, a parameter, "
                "the seed or the library differs. Remove the file, or name another"
            )
        return start == self.head


def _line(content):
    """A line of JSON that ends with the checksum of what stands before it."""
    text = json.dumps(content)[:-1]
    return f'{text}, "crc32": "{crc32(text.encode()):08x}"}}\n'.encode()


def _content(line):
    """What stands in a line, or None if its checksum is wrong."""
    text, _, given = line.rpartition(b', "crc32": "')
    return json.loads(line) if given == b'%08x"}' % crc32(text) else None


ANOTHER = (
    "holds another version of bandits_lib (one changed byte of the package is another version; a rule of your own"
    " belongs in a file outside it, as notebooks/companion_your_own_rule.ipynb shows)"
)


def in_parallel(function, tasks, *, n_jobs=1, scheduler=None):
    """The results of `function(*task)` for each task as they come, in any order, from processes or a dask scheduler."""
    with _backend(scheduler or os.environ.get("DASK_SCHEDULER_ADDRESS")):
        parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered")
        yield from parallel(joblib.delayed(_below)(os.getpid(), function, task) for task in tasks)


@contextlib.contextmanager
def _backend(scheduler):
    """joblib's own processes, or a dask cluster whose workers have been seen to hold this very package."""
    if not scheduler:
        yield
        return
    from distributed import Client

    with Client(scheduler, timeout=10, set_as_default=False) as client:
        check_workers(client)
        with joblib.parallel_config(backend="dask", client=client):
            yield


def _below(parent, function, task):
    end_with(parent)
    return function(*task)


@functools.cache
def end_with(parent):
    """End this process when its parent does: a joblib worker does not notice a kill, and would compute on."""

    def watch():
        while os.getppid() == parent:
            sleep(1)
        os._exit(1)

    if os.getppid() == parent:
        threading.Thread(target=watch, daemon=True).start()


def check_workers(client):
    """Refuse dask workers that are not there, or lack this very package: joblib's dask backend would hang."""
    if not client.scheduler_info()["workers"]:
        raise RuntimeError(f"the scheduler {client.scheduler.address} has no workers: start some with `dask worker`")
    ours = source_fingerprint()
    for worker, theirs in client.run(_worker_source, on_error="return").items():
        if theirs != ours:
            failed = isinstance(theirs, Exception)
            reason = f"cannot import bandits_lib ({theirs!r})" if failed else ANOTHER
            raise RuntimeError(f"dask worker {worker} {reason}: install this one there and restart the worker")


def _worker_source():
    import importlib

    return importlib.import_module("bandits_lib.simulate.fingerprint").source_fingerprint()


BAR = {"desc": "runs", "delay": 60, "mininterval": 5, "leave": False}  # a minute of silence, then a bar
COLUMNS = ["algorithm", "run", "pulls", "correct", "stopped", "recommendation", "seconds"]


def monte_carlo(
    algorithms,
    make_problem,
    *,
    by=None,
    runs=20,
    seed=0,
    streams="shared",
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
    algorithms : dict of {str: callable}, or callable
        By name, make(problem, rng) -> a fresh generator; rng is the rule's own. With `by` it may be a function
        (setting) -> {name: make}.
    make_problem : LinearBandit, callable, or dict of these
        Function (rng) -> LinearBandit, the same problem for every algorithm of a run; or a LinearBandit, for all runs.
        With `by`, {setting: function or LinearBandit}.
    by : str or list of str, optional
        Name of a column, to play in several settings; of settings that are tuples, a list of names.
    runs : int, default 20
        Number of runs, at least 1.
    seed : int, default 0
        Run r draws problem, rule and rewards from SeedSequence(seed, spawn_key=(r,)).spawn(3), so adding an algorithm,
        a setting, or more runs, changes no other row.
    streams : str, default "shared"
        With `by`: "shared", as just said, so that run r meets the same normals in every setting and five settings are
        no five samples; or "own", SeedSequence(seed, spawn_key=(h, r)) with h a hash of the setting's value, so that
        settings are independent, whatever stands beside them and in whatever order (5 and 5.0 are one value). Either
        way a row depends on nothing else, and algorithms of a setting and run share their streams.
    n_jobs : int, default 1
        Number of processes (joblib).
    correct : callable, default best_item
        Function (problem, recommendation) -> bool.
    measure : callable, optional
        Function (problem, Run) -> {column: number}; by default nothing more is measured.
    max_pulls : int, optional
        Number of pulls at which every run is cut off; by default none.
    checkpoint : path or str, optional
        A file that survives a kill: finished runs are appended and not played again. Its first line holds a hash of
        everything that decides the rows (the library's source included); a file of another experiment is refused. A
        folder (it exists, or the path ends in /; with `by`, always): the file is named by the hash, so none is ever
        refused. "" or None: nothing is kept.
    scheduler : str, optional
        Address of a dask scheduler in the place of the processes; "" or None for what DASK_SCHEDULER_ADDRESS says, or
        none.
    progress : bool, default True
        Whether to show a bar on standard error after a minute.

    Returns
    -------
    pandas.DataFrame
        Columns algorithm, run, pulls, correct, stopped, recommendation, seconds, those of `measure` and `by`, ordered
        by setting and algorithm (as given) and run. `correct` is False for runs that did not stop.

    Raises
    ------
    ValueError
        For no algorithms, `runs` < 1, settings without `by`, a checkpoint of another experiment, a problem that
        `correct` refuses, or, with streams of their own, settings that are no numbers, strings or tuples of these.

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
        given = f"{type(make_problem).__name__} and by={by!r}"
        raise ValueError(f"make_problem must be a dictionary of settings where `by` names their column; got {given}")
    if streams not in ("shared", "own"):
        raise ValueError(f"streams must be 'shared' or 'own'; got {streams!r}")
    settings, names = ({(): make_problem}, ()) if by is None else (make_problem, [by] if isinstance(by, str) else by)
    folder = f"{checkpoint}/" if checkpoint and by is not None else checkpoint
    tasks = []
    for setting, make in settings.items():
        players = dict(algorithms(setting) if callable(algorithms) else algorithms)
        of_setting = (seed, _number(setting)) if streams == "own" and by is not None else seed
        tasks.append((players, make, of_setting, correct, measure, max_pulls))
    played = _rows(tasks, runs, folder, progress, n_jobs=n_jobs, scheduler=scheduler)
    tables = []
    for setting, (players, *_), rows in zip(settings, tasks, played, strict=True):
        values = (setting,) if isinstance(by, str) else setting
        tables.append(_frame(rows, list(players)).assign(**dict(zip(names, values, strict=True))))
    return pd.concat(tables, ignore_index=True)


def _number(setting):
    """A number of 64 bits that the value of a setting decides, in every process and for ever."""
    return int.from_bytes(hashlib.sha256(_value(setting).encode()).digest()[:8], "big")


def _value(setting):
    """The text of a setting; a tuple of one value is that value, and numbers are what they are worth."""
    if isinstance(setting, tuple):
        return _value(setting[0]) if len(setting) == 1 else f"({','.join(map(_value, setting))})"
    if isinstance(setting, Real):
        return repr(float(setting))
    if isinstance(setting, str):
        return repr(str(setting))
    raise ValueError(
        f"a setting with streams of its own must be a number, a string or a tuple of these; got {setting!r}"
    )


def _rows(tasks, runs, checkpoint, progress, **where):
    """For each task the rows of all runs in their order, those of the checkpoint not played again.

    The runs of all tasks stand in one queue, so no worker waits for the last run of a setting.
    """
    for players, *_ in tasks:
        if not players or runs < 1:
            raise ValueError(f"monte_carlo needs at least one algorithm and one run; got {len(players)} and {runs}")
    keeps = [Checkpoint(checkpoint, fingerprint(source_fingerprint(), *task)) for task in tasks]
    done = [keep.read() for keep in keeps]
    left = [(k, r, *task) for k, task in enumerate(tasks) for r in range(runs) if r not in done[k]]
    for k, r, rows in tqdm(in_parallel(_run_of, left, **where), total=len(left), disable=not progress, **BAR):
        done[k][r] = rows
        keeps[k].append(r, rows)
    return [[row for r in range(runs) for row in finished[r]] for finished in done]


def _run_of(task, r, *arguments):
    """Which of the tasks, which run, and its rows."""
    return task, *one_run(r, *arguments)


def _frame(rows, order):
    """Rows as a DataFrame, algorithm by algorithm."""
    rows.sort(key=lambda row: order.index(row["algorithm"]))
    return pd.DataFrame(rows, columns=list(dict.fromkeys([*COLUMNS, *(key for row in rows for key in row)])))


@functools.cache
def _threads():
    return ThreadpoolController()


def one_run(r, algorithms, make_problem, seed, correct, measure, max_pulls):
    """One run, as plain JSON values, so that computed, sent and resumed rows are the same to the digit.

    Parameters
    ----------
    r : int
        Number of the run.
    algorithms : dict of {str: callable}
        As for `monte_carlo`.
    make_problem : LinearBandit or callable
        As for `monte_carlo`.
    seed : int or tuple of int
        As for `monte_carlo`; with streams of its own, the seed and the number of the setting.
    correct : callable
        As for `monte_carlo`.
    measure : callable or None
        As for `monte_carlo`.
    max_pulls : int or None
        As for `monte_carlo`.

    Returns
    -------
    r : int
        Number of the run.
    rows : list of dict
        One row per algorithm.

    Raises
    ------
    ValueError
        For a problem that `correct` refuses.
    """
    whole, *of_setting = seed if isinstance(seed, tuple) else (seed,)
    problem_seed, rule_seed, reward_seed = np.random.SeedSequence(whole, spawn_key=(*of_setting, r)).spawn(3)
    with _threads().limit(limits=1):
        problem = make_problem(np.random.default_rng(problem_seed)) if callable(make_problem) else make_problem
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
