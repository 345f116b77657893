"""Where runs are computed: in processes that end with their parent, or on a dask cluster that holds this package."""

import contextlib
import functools
import os
import threading
from time import sleep

import joblib

from bandits_lib.simulate.fingerprint import source_fingerprint

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
